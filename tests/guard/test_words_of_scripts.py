"""T272: no text of a request is an option or part of the script that shows it, or markup of a notice or a question."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.device_agents.tools.conftest import Device, device

__all__ = ["device"]
OSASCRIPT = """#!/bin/sh
# It reads its options as the one of macOS: by getopt, until the first word that is none.
while getopts e:hil:s: option; do echo "option $option" >> {said}; done
shift $((OPTIND - 1))
for word in "$@"; do echo "word $word" >> {said}; done
echo answered
"""
RUNS = 'property x : do shell script "id"'
CALLS: dict[str, dict[str, Any]] = {
    "ask": {"text": "{}", "choices": (RUNS,)},
    "desktop.type": {"text": "{}"},
    "notify": {"title": "{}", "text": RUNS},
}


def played(folder: Path, monkeypatch: pytest.MonkeyPatch, platform: str, name: str, script: str) -> None:
    """Have a script play a program of a desktop of this platform."""
    (folder / name).write_text(script)
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr("sys.platform", platform)


@pytest.mark.parametrize("first", ["-e", f"-e{RUNS}", "-lJavaScript", "--", "-", "-i"])
@pytest.mark.parametrize("tool", CALLS)
def test_t272_a_text_is_no_option_of_the_script(
    tool: str, first: str, device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = tmp_path / "said"
    played(tmp_path, monkeypatch, "darwin", "osascript", OSASCRIPT.format(said=said))
    args: dict[str, Any] = {
        name: value.format(first) if isinstance(value, str) else value for name, value in CALLS[tool].items()
    }
    device.call(tool, **args)
    options = [line for line in said.read_text().splitlines() if line.startswith("option ")]
    words = [line for line in said.read_text().splitlines() if line.startswith("word ")]
    assert options == ["option e"]
    assert words[0] == f"word {first}"


def test_t272_a_notice_has_no_link_and_no_picture(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played(tmp_path, monkeypatch, "linux", "notify-send", f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/said\n')
    device.call("notify", title="R&D", text='<a href="http://evil.example">Your bank</a>')
    body = '&lt;a href="http://evil.example"&gt;Your bank&lt;/a&gt;'
    assert (tmp_path / "said").read_text() == f"--app-name=Starloom|--|R&D|{body}|"


def test_t272_a_question_is_shown_as_it_is_written(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f'#!/bin/sh\nprintf "%s|" "$@" > {tmp_path}/said\necho yes\n'
    played(tmp_path, monkeypatch, "linux", "zenity", script)
    question = r"Is <b>R&D</b> in C:\new_files?"
    device.call("ask", text=question)
    assert r"|--text=Is <b>R&D</b> in C:\\new__files?|" in (tmp_path / "said").read_text()
    device.call("ask", text=question, choices=("yes", "no"))
    assert r"|--text=Is &lt;b&gt;R&amp;D&lt;/b&gt; in C:\\new_files?|" in (tmp_path / "said").read_text()
