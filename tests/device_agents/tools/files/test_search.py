"""`fs.search`: lines of text files, found in any case, within bounds, and nothing outside the granted folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools.files import search
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device


def test_lines_with_the_text_are_found_in_any_case_and_without_accents(device: Device) -> None:
    device.write("Papers/letter.txt", "first\nThe R\u00c9SUM\u00c9 is here\n".encode())
    device.write("Papers/in/other.md", b"nothing")
    device.write("Papers/picture.bin", b"resume\0resume")
    found = device.call("fs.search", text="resume", root="Papers", device_name="nas")
    assert found["rows"] == [
        {"path": "Papers/letter.txt", "line": 2, "text": "The R\u00c9SUM\u00c9 is here", "device": "nas"}
    ]
    assert (found["count"], found["lines"], found["files_read"], found["complete"]) == (1, 1, 2, True)


def test_text_of_other_encodings_is_searched_and_a_doubt_is_told(device: Device) -> None:
    device.write("Papers/windows.txt", "a word\r\n".encode("utf-16"))
    found = device.call("fs.search", text="word", root="Papers")
    assert ([row["text"] for row in found["rows"]], found["complete"]) == (["a word"], True)
    device.write("Papers/old.txt", "has\u0142o: word".encode("windows-1250"))
    found = device.call("fs.search", text="word", root="Papers")
    assert [row["path"] for row in found["rows"]] == ["Papers/old.txt", "Papers/windows.txt"]
    assert [(row["path"], "no UTF-8" in row["why"]) for row in found["left_out"]] == [("Papers/old.txt", True)]
    assert not found["complete"]


def test_a_pattern_narrows_it_and_without_a_folder_all_are_searched(device: Device) -> None:
    device.write("a.md", b"word")
    device.write("b.txt", b"word")
    assert [row["path"] for row in device.call("fs.search", text="word")["rows"]] == ["a.md", "b.txt"]
    assert [row["path"] for row in device.call("fs.search", text="word", pattern="*.md")["rows"]] == ["a.md"]


def test_it_keeps_its_bounds_and_says_so(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device.write("many.txt", b"word\n" * 50)
    device.write("long.txt", b"x" * 1000 + b" word " + b"y" * 1000)
    found = device.call("fs.search", text="word", limit=15)
    assert (len(found["rows"]), found["lines"], found["complete"]) == (15, 51, False)
    assert found["rows"][-1]["more"] == 36
    assert "word" in found["rows"][0]["text"]
    assert len(found["rows"][0]["text"]) <= 246
    monkeypatch.setattr(search, "_FILE_BYTES_MOST", 100)
    cut = device.call("fs.search", text="word")
    assert {row["path"] for row in cut["left_out"]} == {"long.txt", "many.txt"}
    assert (cut["count"], cut["complete"]) == (0, False)


def test_links_lead_nowhere_and_other_folders_are_refused(device: Device, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("word")
    (device.folder / "out").symlink_to(tmp_path)
    (device.folder / "secret.txt").symlink_to(tmp_path / "secret.txt")
    assert device.call("fs.search", text="word")["count"] == 0
    with pytest.raises(ToolFailed) as failed:
        device.call("fs.search", text="word", root=str(tmp_path))
    assert failed.value.code is Code.POLICY_REFUSED
