"""T237: the title of a recipe is a command, and runs in the shell of whoever presses Tab."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_commands import StubHub, hub
from tests.cli.test_terminal import in_a_shell

__all__ = ["hub"]

AS_ZSH = """
_arguments() { local inner=${1#*'(('}; eval "ws=( ${inner%'))'} )"; printf '%s\\n' "${ws[@]}"; }
eval "$(starloom)"
"""
"""The two evaluations of zsh: of what Typer prints, and in `_arguments` of what is within the brackets."""


@pytest.mark.parametrize(
    "title",
    [
        "Keep $(touch ran) well",
        "Keep \\$(touch ran) well",
        "Keep \\`touch ran` well",
        "Keep [b]\\[/b]$(touch ran) well",
        "Keep \"$(touch ran)\" '$(touch ran)' well",
        "Keep\n\\\\$(touch ran) well",
    ],
)
def test_t237_no_words_of_a_completion_run(hub: StubHub, tmp_path: Path, title: str) -> None:
    rows = [{"name": "kept", "title": title}, {"name": "--hub=https://evil.example", "title": "Other"}]
    hub.answers["GET", "/recipes"] = (200, {"items": rows})
    asks = {"_STARLOOM_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "starloom recipe run "}
    shell = f"cd {tmp_path}; {AS_ZSH}"
    done = in_a_shell(shell, tmp_path, STARLOOM_URL=hub.url, STARLOOM_TOKEN="t", **asks)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("kept:Keep"), done.stdout
    assert "well" in done.stdout
    assert "evil" not in done.stdout
    assert not (tmp_path / "ran").exists()
