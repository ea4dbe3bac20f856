"""`image.check`: pictures that are empty or broken, and kinds that the device cannot judge."""

from __future__ import annotations

import io
import struct
import sys
import zlib

import pytest
from PIL import Image

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.pictures import png
from tests.device_agents.tools.conftest import Device

NOISE = bytes((x * 7919 + x // 97 * 31) % 256 for x in range(64 * 64 * 3))


def _picture(kind: str, mode: str = "RGB") -> bytes:
    out = io.BytesIO()
    Image.frombytes("RGB", (64, 64), NOISE).convert(mode).save(out, kind)
    return out.getvalue()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _png(data: bytes, width: int = 4, height: int = 4) -> bytes:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return png.SIGNATURE + head + _chunk(b"IDAT", data) + _chunk(b"IEND", b"")


def _check(device: Device, data: bytes, name: str) -> tuple[str, str]:
    """Return why a file is bad, and why it was not opened."""
    (device.folder / name).write_bytes(data)
    found = device.call("image.check", files=[{"path": name, "name": name}])
    assert (found["files"], found["bad_count"], found["unopened_count"]) == (
        1,
        len(found["bad"]),
        len(found["unopened"]),
    )
    return "".join(row["why"] for row in found["bad"]), "".join(row["why"] for row in found["unopened"])


@pytest.mark.parametrize("kind", ["JPEG", "GIF", "BMP", "TIFF", "WEBP", "PNG"])
def test_a_whole_picture_is_fine_whatever_it_is_called(device: Device, kind: str) -> None:
    assert _check(device, _picture(kind), "a.jpg") == ("", "")


@pytest.mark.parametrize("mode", ["1", "P", "LA", "RGBA"])
def test_a_png_of_any_depth_is_fine(device: Device, mode: str) -> None:
    whole = _picture("PNG", mode)
    assert _check(device, whole, "a.png") == ("", "")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (b"these are words", "it does not begin like a picture"),
        (bytes(4096), "it does not begin like a picture"),
        (_picture("JPEG")[:-400], "its JPEG data is broken or cut short"),
        (b"\xff\xd8\xff" + bytes(500), "its JPEG data is broken"),
        (_picture("WEBP")[:200], "its WEBP data is broken"),
        (_picture("PNG")[:-20], "the PNG is"),
        (_png(zlib.compress(bytes(13 * 4))[:-6]), "the PNG is cut off"),
        (_png(b"no deflate"), "its picture cannot be unpacked"),
        (_png(zlib.compress(bytes(1_000_000))), "it holds more than its picture"),
        (_png(b""), "the PNG has no picture in it"),
    ],
)
def test_an_empty_or_broken_picture_is_bad(device: Device, data: bytes, why: str) -> None:
    bad, unopened = _check(device, data, "a.jpg")
    assert why in bad
    assert not unopened


@pytest.mark.parametrize(
    ("data", "name", "why"),
    [
        (b"\0\0\0\x18ftypheic" + bytes(50), "a.heic", "no decoder for HEIC or AVIF"),
        (b"II*\0" + bytes(50), "a.dng", "no decoder for DNG"),
        (b"<svg/>", "a.svg", "no decoder for SVG"),
        (_png(b"", 60_000, 60_000), "a.png", "more pixels than this device decodes"),
    ],
)
def test_a_kind_without_a_decoder_is_not_called_broken(device: Device, data: bytes, name: str, why: str) -> None:
    bad, unopened = _check(device, data, name)
    assert not bad
    assert why in unopened


def test_without_pillow_nothing_but_a_png_is_judged(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _picture("JPEG")
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert _check(device, whole, "a.jpg")[1].startswith("it is a JPEG, and this device decodes PNG alone")
    assert _check(device, b"", "b.jpg") == ("it is empty", "")


def test_many_bad_pictures_are_told_in_one_bounded_sentence(device: Device) -> None:
    names = [f"{'x' * 200}\x1b{number}.jpg" for number in range(5)]
    for name in names:
        (device.folder / name).write_bytes(b"")
    (device.folder / "fine.jpg").write_bytes(_picture("JPEG"))
    (device.folder / "other.heic").write_bytes(b"\0\0\0\x18ftypheic")
    files = [{"path": name, "name": name} for name in [*names, "fine.jpg", "other.heic"]]
    first, second = [row["unseen"] for row in device.call("image.check", files=files)["unseen"]]
    assert first.startswith("5 of 7 are empty or cannot be opened as pictures: '")
    assert first.endswith("?2.jpg' (it is empty) and 2 more")
    assert first.isprintable()
    assert len(first) < 400
    assert second.startswith("1 of 7 is not opened, so nobody knows whether they are whole: 'other.heic' (")


def test_a_file_without_a_place_is_refused(device: Device) -> None:
    with pytest.raises(ToolFailed, match="neither an artifact nor a path"):
        device.call("image.check", files=[{"name": "a.jpg"}])


def test_a_row_with_an_artifact_is_read_from_the_hub(device: Device) -> None:
    """Its path is that of the device that sent it, and means nothing here."""
    kept = device.store.put(io.BytesIO(_picture("PNG")), name="a.png", media="image/png")
    row = {"artifact": kept["artifact"], "name": "a.png", "path": "viele/a.png"}
    found = device.call("image.check", files=[row])
    assert (found["files"], found["bad"], found["unopened"]) == (1, [], [])


def test_each_file_that_is_not_there_is_told_and_the_others_are_opened(device: Device) -> None:
    """The first one ended the call."""
    device.write("fine.png", _picture("PNG"))
    device.write("folder/a.png", b"")
    names = ["gone.jpg", "fine.png", "folder", "fine.png/inside", "folder/a.png"]
    found = device.call("image.check", files=[{"path": name} for name in names])
    assert {row["path"]: row["why"] for row in found["bad"]} == {
        "gone.jpg": "it does not exist on this device",
        "folder": "it is a folder",
        "fine.png/inside": "it does not exist on this device",
        "folder/a.png": "it is empty",
    }
    assert (found["files"], found["bad_count"], found["unopened_count"]) == (5, 4, 0)


def test_a_file_outside_is_refused_and_no_fault_of_a_picture(device: Device) -> None:
    files = [{"path": "/etc/hostname"}, {"path": "gone.jpg"}]
    for tool in ("image.check", "image.info", "image.resize"):
        with pytest.raises(ToolFailed, match="is outside the folders of files:read"):
            device.call(tool, files=files)
