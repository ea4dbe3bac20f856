"""The version of the agent, by its command and by its option."""

from __future__ import annotations

import pytest

from starloom_agent import __version__
from starloom_agent.cli import main
from starloom_agent.policy.offers import build


def test_the_command_prints_what_the_option_does_and_the_build(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out.splitlines() == [f"{__version__} build {build()}", __version__]
