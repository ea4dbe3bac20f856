"""Files in other encodings than UTF-8: read as they are, or refused; never changed."""

from __future__ import annotations

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

LATIN = "Müller;12,50\r\n".encode("latin-1")


def test_bytes_that_are_no_utf8_are_refused(device: Device) -> None:
    device.write("orders.csv", LATIN)
    with pytest.raises(ToolFailed) as failed:
        device.call("fs.read", path="orders.csv")
    assert failed.value.detail == (
        "orders.csv is no utf-8: byte 0xfc at 1. Read it with `encoding: guess`, or the encoding that it has, "
        "or hand over the file itself (artifact.put)"
    )


@pytest.mark.parametrize("encoding", ["latin-1", "windows-1252"])
def test_a_named_encoding_reads_the_file(device: Device, encoding: str) -> None:
    device.write("orders.csv", LATIN)
    found = device.call("fs.read", path="orders.csv", encoding=encoding)
    assert (found["text"], found["encoding"]) == ("Müller;12,50\r\n", encoding)


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "windows-1252"])
@pytest.mark.parametrize("limit", [1, 64])
def test_an_encoding_is_guessed_and_named(device: Device, codec: str, limit: int) -> None:
    """Each part of a file is read in the same encoding, also one that has plain letters alone."""
    text = "1;Müller;12,50 €\n"
    device.write("orders.csv", text.encode(codec))
    found = device.call("fs.read", path="orders.csv", encoding="guess", limit=limit)
    assert found["encoding"] == codec
    assert text.startswith(found["text"])
    assert found["truncated"] is (limit == 1)


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 64])
def test_a_mark_names_the_encoding(device: Device, codec: str, limit: int) -> None:
    text = "Łódź 🚲 0,5 €"
    device.write("export.txt", text.encode(codec))
    parts, at = "", 0
    while True:
        found = device.call("fs.read", path="export.txt", offset=at, limit=limit)
        assert found["encoding"] == codec
        parts, at = parts + found["text"], found["next_offset"]
        if not found["truncated"]:
            break
    assert parts == text


def test_big_endian_utf16_is_known_by_its_mark(device: Device) -> None:
    device.write("export.txt", b"\xfe\xff" + "Müller".encode("utf-16-be"))
    assert device.call("fs.read", path="export.txt")["text"] == "Müller"


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_parts_of_a_text_end_between_characters(device: Device, limit: int) -> None:
    text = "aü€🚲" * 3
    device.write("a.txt", text)
    parts, at, more = "", 0, True
    while more:
        found = device.call("fs.read", path="a.txt", offset=at, limit=limit)
        parts, at, more = parts + found["text"], found["next_offset"], found["truncated"]
    assert parts == text
    assert "encoding" not in found


def test_an_offset_inside_a_character_begins_with_the_next(device: Device) -> None:
    device.write("a.txt", "€uro")
    assert device.call("fs.read", path="a.txt", offset=1)["text"] == "uro"


def test_a_text_that_ends_inside_a_character_is_refused(device: Device) -> None:
    device.write("a.txt", "ab€".encode()[:-1])
    with pytest.raises(ToolFailed, match="byte 0xe2 at 2"):
        device.call("fs.read", path="a.txt")


def test_a_wrong_name_of_an_encoding_changes_nothing(device: Device) -> None:
    device.write("a.txt", b"\x81\x8d")
    with pytest.raises(ToolFailed, match=r"no windows-1252: byte 0x81 at 0\. Name the encoding"):
        device.call("fs.read", path="a.txt", encoding="windows-1252")


@pytest.mark.parametrize("name", ["rot13", "unicode_escape", "UTF 9"])
def test_an_encoding_that_is_not_known_is_refused(device: Device, name: str) -> None:
    device.write("a.txt", "a")
    with pytest.raises(ToolFailed, match="is no encoding that is known here: guess, cp437, ") as failed:
        device.call("fs.read", path="a.txt", encoding=name)
    assert failed.value.code is Code.BAD_ARGUMENTS


def test_a_program_names_the_file_that_is_no_utf8(device: Device) -> None:
    ref = device.store.take(LATIN, name="orders.csv")
    with pytest.raises(ToolFailed, match=r'orders\.csv is no UTF-8: byte 0xfc at 1\. Open it with encoding="windows'):
        device.call("python.run", code="print(open('orders.csv').read())", files=[ref])
