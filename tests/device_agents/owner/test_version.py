"""The version of the agent, by its command and by its option."""

from __future__ import annotations

import pytest

from starloom_agent import __version__
from starloom_agent.cli import main


def test_the_command_prints_what_the_option_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.splitlines() == [__version__, __version__]
