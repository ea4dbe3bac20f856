"""`fs.search`: lines of text files, found in any case, within bounds, and nothing outside the granted folders."""

from __future__ import annotations

import contextlib
import io
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.text import office
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
    assert found["without_text"] == {"device": "nas", "files": 1, "kinds": "1 bin", "what": "without text"}


def test_files_without_text_are_counted_by_their_endings(device: Device) -> None:
    for number in range(3):
        device.write(f"scan{number}.pdf", b"%PDF-1.7\nword\n")
    device.write("photo.JPG", b"\xff\xd8\0word")
    device.write("program", b"\x7fELF\0word")
    found = device.call("fs.search", text="word")
    assert (found["count"], found["without_text"]["files"]) == (0, 5)
    assert found["without_text"]["kinds"] == "3 pdf, 1 jpg, 1 no ending"
    for number in range(9):
        device.write(f"a.{number}", b"\0")
    assert device.call("fs.search", text="word")["without_text"]["kinds"].endswith(", 6 kinds more")


def _document(**parts: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "part", "text"),
    [
        ("a.docx", "word/document.xml", "<w:p><w:r><w:t>a</w:t></w:r></w:p><w:p>Verj&#228;h<w:b/>rung &amp; x</w:p>"),
        ("a.odt", "content.xml", "<text:h>a</text:h><text:p>Verj\u00e4hrung &amp; x</text:p>"),
        ("a.XLSX", "xl/sharedStrings.xml", "<si><t>a</t></si><si><t>Verj\u00e4hrung &amp; x</t></si>"),
        ("a.pptx", "ppt/slides/slide1.xml", "<a:p>a</a:p><a:p>Verj\u00e4hrung &amp; x</a:p>"),
    ],
)
def test_office_documents_are_searched(device: Device, name: str, part: str, text: str) -> None:
    device.write(name, _document(**{part: text, "docProps/core.xml": "verjahrung"}))
    found = device.call("fs.search", text="verjahrung")
    assert found["rows"] == [{"path": name, "line": 2, "text": "Verj\u00e4hrung & x"}]
    assert (found["files_read"], found["complete"], found["without_text"]["files"]) == (1, True, 0)


def test_words_of_a_document_are_parted_as_they_are_seen(device: Device) -> None:
    breaks = "<w:p>Dear Ann,<w:br/>the sum is<w:tab/>40 EUR</w:p><w:p><w:br w:type='page'/>Second</w:p>"
    device.write("letter.docx", _document(**{"word/document.xml": breaks}))
    cells = (
        "<row><c r='A1' s='3'/><c r='A1' t='s'><v>17</v></c><c r='B1' t=\"n\"><v>2025</v></c>"
        "<c r='C1'><f>SUM(A2:A9)</f><v>110</v></c><c r='D1'><f t='shared' si='0'/><v>7</v></c></row>"
    )
    shared = "<si><t>item r</t></si>"
    device.write("sums.xlsx", _document(**{"xl/sharedStrings.xml": shared, "xl/worksheets/sheet1.xml": cells}))

    def lines(text: str) -> list[str]:
        return [row["text"] for row in device.call("fs.search", text=text)["rows"]]

    assert lines("the sum") == ["the sum is\t40 EUR"]
    assert lines("second") == ["Second"]
    assert lines("item r") == ["item r"]
    assert lines("2025") == ["2025\t110\t7"]
    for glued in ("page", "type", "17", "5110", "1107", "SUM("):
        assert lines(glued) == [], glued


def test_lines_are_counted_as_editors_count_them(device: Device) -> None:
    device.write("a.txt", "one\x0ctwo\u2028three\x85four\r\nneedle here\r\n")
    assert device.call("fs.search", text="needle")["rows"] == [{"path": "a.txt", "line": 2, "text": "needle here"}]


def test_a_document_that_is_none_or_a_bomb_is_told(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office, "_BYTES_MOST", 1_000)
    device.write("bomb.docx", _document(**{"word/document.xml": "word" * 100_000}))
    device.write("empty.docx", _document(mimetype="word"))
    device.write("false.docx", b"word")
    found = device.call("fs.search", text="word")
    assert (found["count"], found["complete"]) == (0, False)
    whys = {row["path"]: row["why"] for row in found["left_out"]}
    assert "larger than" in whys["bomb.docx"]
    assert whys["empty.docx"] == "it has no text that is known"
    assert "cannot be read as a document" in whys["false.docx"]


def test_t271_many_small_documents_that_unpack_to_books_are_bounded(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "_ALL_BYTES_MOST", 500_000)
    for number in range(5):
        device.write(f"{number}.docx", _document(**{"word/document.xml": "word" * 100_000}))
    found = device.call("fs.search", text="word")
    assert (found["count"], [row["why"] for row in found["left_out"]]) == (2, ["1 GiB was read before it"] * 3)


def test_text_of_other_encodings_is_searched_and_a_doubt_is_told(device: Device) -> None:
    device.write("Papers/windows.txt", "a word\r\n".encode("utf-16"))
    found = device.call("fs.search", text="word", root="Papers")
    assert ([row["text"] for row in found["rows"]], found["complete"]) == (["a word"], True)
    device.write("Papers/old.txt", "has\u0142o: word".encode("windows-1250"))
    found = device.call("fs.search", text="word", root="Papers")
    assert [row["path"] for row in found["rows"]] == ["Papers/old.txt", "Papers/windows.txt"]
    assert (found["left_out"], found["complete"]) == ([], True), "plain letters are the same in each of them"
    device.write("Papers/cut.txt", "a word\r\n".encode("utf-16")[:-1])
    found = device.call("fs.search", text="word", root="Papers")
    assert [(row["path"], row["why"]) for row in found["left_out"]] == [("Papers/cut.txt", "it is damaged")]
    (device.folder / "Papers/cut.txt").unlink()
    found = device.call("fs.search", text="hasło", root="Papers")
    assert (found["rows"], found["complete"]) == ([], False)
    assert {(row["path"], "no UTF-8" in row["why"]) for row in found["left_out"]} == {("Papers/old.txt", True)}


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
    assert found["left_out"] == []
    other = device.write("other.txt", b"word")
    (row,) = device.call("fs.search", text="word", limit=15, device_name="nas")["left_out"]
    assert row == {
        "device": "nas",
        "path": ".",
        "why": "1 more file has the text, and an answer has at most 15 lines",
    }
    other.unlink()
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


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_a_changed_document_gives_text_or_none(data: st.DataObject) -> None:
    whole = bytearray(_document(**{"word/document.xml": "<w:p>a word</w:p>" * 9, "[Content_Types].xml": "x"}))
    for _ in range(data.draw(st.integers(1, 6))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(office.NotADocument):
        assert isinstance(office.text_of(io.BytesIO(bytes(whole))), str)


def test_a_folder_that_is_not_there_fails_and_the_nearest_is_named(device: Device) -> None:
    device.write("Letters/may.txt", b"word")
    with pytest.raises(ToolFailed, match=r"Leters is not a folder on this device .*Letters") as fault:
        device.call("fs.search", text="word", root="Leters")
    assert fault.value.code is Code.FILE_NOT_FOUND
