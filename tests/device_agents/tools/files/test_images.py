"""Scaling, sizes, camera previews and the contact sheet."""

from __future__ import annotations

import base64
import io
import random
import struct
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageCms

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.pictures import decoding, headers, png
from starloom_agent.toolkit.pictures.demo_pictures import draw_all
from starloom_agent.toolkit.pictures.png import Picture
from starloom_agent.toolkit.pictures.scaling import fitted, shrink
from tests.device_agents.tools.conftest import Device


def jpeg(width: int, height: int, preview: bytes = b"") -> bytes:
    """Return the segments of a JPEG's head, with a camera's preview where given."""
    exif = b""
    if preview:
        second = (
            struct.pack("<H", 2)
            + struct.pack("<HHII", 0x0201, 4, 1, 56)
            + struct.pack("<HHII", 0x0202, 4, 1, len(preview))
        )
        body = b"II*\x00" + struct.pack("<I", 8) + struct.pack("<H", 0) + struct.pack("<I", 14) + second + bytes(4)
        body = body.ljust(56, b"\x00") + preview
        exif = b"\xff\xe1" + struct.pack(">H", len(body) + 8) + b"Exif\x00\x00" + body
    frame = struct.pack(">BHHB", 8, height, width, 3)
    return b"\xff\xd8" + exif + b"\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xda\x00\x00"


@given(st.integers(1, 4000), st.integers(1, 4000), st.integers(8, 4096))
def test_the_fitted_size_keeps_within_the_bound_and_never_grows(width: int, height: int, longest: int) -> None:
    new_width, new_height = fitted(width, height, longest)
    assert 1 <= new_width <= width
    assert 1 <= new_height <= height
    assert max(new_width, new_height) <= max(1, longest)


@given(st.integers(9, 60), st.integers(1, 60), st.tuples(*[st.integers(0, 255)] * 3))
def test_one_colour_stays_that_colour(width: int, height: int, colour: tuple[int, int, int]) -> None:
    small = shrink(Picture(width, height, bytes(colour) * (width * height)), 8)
    assert small.pixels == bytes(colour) * (small.width * small.height)


def test_halves_stay_where_they_are() -> None:
    row = b"\x00" * 3 * 50 + b"\xff" * 3 * 50
    small = shrink(Picture(100, 40, row * 40), 10)
    assert (small.width, small.height) == (10, 4)
    assert small.pixels == (b"\x00" * 15 + b"\xff" * 15) * 4


def test_sizes_are_read_from_the_heads_of_files(device: Device) -> None:
    gif = b"GIF89a" + struct.pack("<HH", 7, 5) + b"rest"
    bmp = b"BM" + bytes(16) + struct.pack("<ii", 9, -4)
    names = {"a.jpg": jpeg(640, 480), "b.gif": gif, "c.bmp": bmp, "d.txt": b"text"}
    for name, data in names.items():
        device.write(name, data)
    device.write("e.png", png.encode(Picture(3, 2, bytes(18))))
    found = device.call("image.info", files=[{"path": name} for name in (*names, "e.png")])
    assert [(row.get("kind"), row.get("width"), row.get("height")) for row in found["files"]] == [
        ("jpeg", 640, 480),
        ("gif", 7, 5),
        ("bmp", 9, 4),
        (None, None, None),
        ("png", 3, 2),
    ]
    assert found["unreadable"] == 1


def test_a_png_that_is_cut_short_is_not_readable(device: Device) -> None:
    whole = png.encode(Picture(200, 100, random.Random(7).randbytes(60_000)))
    for cut in (30, 40, len(whole) // 2, len(whole) - 13, len(whole) - 1):
        device.write("a.png", whole[:cut])
        (row,) = device.call("image.info", files=[{"path": "a.png"}])["files"]
        assert row == {"bytes": cut, "name": "a.png", "readable": False, "reason": "the PNG is cut off"}
    device.write("a.png", whole + b"some programs write more")
    (row,) = device.call("image.info", files=[{"path": "a.png"}])["files"]
    assert (row["readable"], row["width"]) == (True, 200)


def test_a_picture_that_is_not_there_ends_no_look_at_the_others(device: Device) -> None:
    device.write("a.png", png.encode(Picture(3, 2, bytes(18))))
    files = [{"path": "gone.png"}, {"path": "a.png"}]
    found = device.call("image.info", files=files)
    assert [row["readable"] for row in found["files"]] == [False, True]
    assert (found["unreadable"], found["files"][0]["reason"]) == (1, "it does not exist on this device")
    small = device.call("image.resize", files=files)
    assert [row["name"] for row in small["files"]] == ["a.png"]
    assert [(row["name"], row["reason"]) for row in small["skipped"]] == [
        ("gone.png", "it does not exist on this device")
    ]
    with pytest.raises(ToolFailed, match=r"gone\.png cannot be made smaller: it does not exist"):
        device.call("image.resize", files=files, unreadable="fail")


@given(st.binary(max_size=300))
def test_any_bytes_give_a_size_or_none(data: bytes) -> None:
    for start in (b"", b"\xff\xd8\xff\xe1", png.SIGNATURE, b"GIF89a", b"BM"):
        assert headers.measure(start + data) is None or isinstance(headers.measure(start + data), headers.Measured)
        headers.jpeg_preview(start + data)


def test_small_versions_are_made_and_what_cannot_be_read_is_named(device: Device) -> None:
    picture = device.store.take(png.encode(Picture(400, 300, bytes(range(240)) * 1500)), name="big.png")
    preview = jpeg(160, 120)
    camera = device.store.take(jpeg(4000, 3000, preview), name="camera.jpg")
    bare = device.store.take(jpeg(4000, 3000), name="bare.jpg")
    found = device.call("image.resize", files=[picture, camera, bare], longest_px=100)
    assert [(file["name"], file["width"], file["height"], file["media"]) for file in found["files"]] == [
        ("big.png", 100, 75, "image/png"),
        ("camera.jpg", 160, 120, "image/jpeg"),
    ]
    assert found["files"][0]["source"] == picture["artifact"]
    assert png.decode(device.store.read(found["files"][0])).width == 100
    assert device.store.read(found["files"][1]) == preview
    assert found["skipped"][0]["name"] == "bare.jpg"
    assert "JPEG" in found["skipped"][0]["reason"]
    with pytest.raises(ToolFailed, match=r"bare\.jpg cannot be made smaller"):
        device.call("image.resize", files=[bare], unreadable="fail")


def rows_of(device: Device) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    whole = device.store.take(png.encode(Picture(40, 30, bytes(3600))), name="<b>one</b>.png", media="image/png")
    thumb = device.call("image.resize", files=[whole], longest_px=16)["files"]
    row = {"path": "P/x.png", "name": "<b>one</b>.png", "source": "Pictures/Harbour/x.png", "bytes": 3600}
    rows = [
        {**row, "sha256": whole["artifact"]},
        {"path": "P/y.jpg", "name": "=cmd()", "sha256": "0" * 64, "bytes": 5},
    ]
    return rows, thumb


def test_the_contact_sheet_holds_everything_and_runs_nothing(device: Device) -> None:
    rows, thumbs = rows_of(device)
    found = device.call("image.sheet", rows=rows, thumbs=thumbs)
    page = device.store.read(found["index"]).decode()
    assert (found["count"], found["previews"]) == (2, 1)
    assert base64.b64encode(device.store.read(thumbs[0])).decode() in page
    assert "&lt;b&gt;one&lt;/b&gt;.png" in page
    assert "<b>one" not in page
    assert "Harbour" in page
    assert "no preview" in page
    assert not any(word in page for word in ("<script", "http://", "https://", "url("))
    table = device.store.read(found["catalogue"]).decode().splitlines()
    assert table[0] == "folder,name,bytes,sha256,path"
    assert "'=cmd()" in table[2]


def test_the_contact_sheet_says_why_a_picture_has_no_preview(device: Device) -> None:
    rows, thumbs = rows_of(device)
    found = device.call(
        "image.sheet",
        rows=rows,
        thumbs=thumbs,
        skipped=[{"source": "0" * 64, "name": "y", "reason": "its <data> is cut"}],
    )
    page = device.store.read(found["index"]).decode()
    assert "no preview<br>its &lt;data&gt; is cut" in page
    assert "2 pictures in 2 folders" in page
    assert "; 1 without a preview" in page


def test_the_demo_pictures_are_many_different_and_one_folder_twice(device: Device) -> None:
    size = draw_all(device.folder, seed=5)
    found = device.call("fs.find", kinds=["image"], group_by="folder")
    hashed = device.call("fs.hash", folders=found["folders"], find_duplicates="folders")
    assert [len(folder["files"]) for folder in hashed["folders"]] == [3] * 8
    assert hashed["duplicates"] == [7]
    hashes = {file["sha256"] for folder in hashed["folders"] for file in folder["files"]}
    assert len(hashes) == 21
    assert 2_500_000 < size == found["total_bytes"] < 3_800_000
    again = device.workdir / "again"
    other = device.workdir / "other"
    draw_all(again, seed=5)
    draw_all(other, seed=6)
    name = "Harbour/harbour-1.png"
    assert (again / name).read_bytes() == (device.folder / name).read_bytes() != (other / name).read_bytes()


def test_a_jpeg_without_a_preview_may_stay_as_it_is(device: Device) -> None:
    plain = device.store.take(jpeg(4000, 3000), name="plain.jpg")
    odd = device.store.take(b"GIF89a" + bytes(20), name="odd.gif")
    found = device.call("image.resize", files=[plain, odd], unreadable="original")
    assert [(file["name"], file["width"], file["media"]) for file in found["files"]] == [
        ("plain.jpg", 4000, "image/jpeg")
    ]
    assert found["files"][0]["artifact"] == plain["artifact"]
    assert [file["name"] for file in found["skipped"]] == ["odd.gif"]
    assert device.call("image.resize", files=[plain])["files"] == []


def photo(kind: str, size: tuple[int, int], *, turned: bool = False) -> bytes:
    """Return a picture as a camera or a program writes it, without a preview; `turned`: the camera was held upright."""
    out = io.BytesIO()
    exif = Image.Exif()
    if turned:
        exif[0x0112] = 6
    Image.new("RGB", size, (200, 40, 40)).save(out, kind, exif=exif)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "TIFF"])
def test_photos_are_made_small(device: Device, kind: str) -> None:
    given = device.store.take(photo(kind, (1600, 1200)), name="photo")
    (small,) = device.call("image.resize", files=[given], longest_px=160)["files"]
    assert (small["width"], small["height"], small["media"]) == (160, 120, "image/jpeg")
    with Image.open(io.BytesIO(device.store.read(small))) as shown:
        assert (shown.format, shown.size) == ("JPEG", (160, 120))


def test_a_photo_stands_as_the_camera_was_held(device: Device) -> None:
    given = device.store.take(photo("JPEG", (1600, 1200), turned=True), name="photo.jpg")
    (small,) = device.call("image.resize", files=[given], longest_px=160)["files"]
    assert (small["width"], small["height"]) == (120, 160)


@pytest.mark.parametrize("kind", ["JPEG", "WEBP", "TIFF", "PNG"])
def test_a_small_version_has_the_same_colours_and_says_when_and_by_whom_it_was_taken(device: Device, kind: str) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")).tobytes()
    exif = Image.Exif()
    exif[0x0110], exif[0x8298], exif[0x0112] = "A camera", "Amara", 6
    exif.get_ifd(0x8769)[0x9003] = "2026:10:04 11:12:13"
    exif.get_ifd(0x8825)[1] = "N"
    out = io.BytesIO()
    Image.new("RGB", (160, 120), (200, 40, 40)).save(out, kind, exif=exif, icc_profile=profile)
    with Image.open(io.BytesIO(out.getvalue())) as whole:
        taken = whole.getexif().get_ifd(0x8769).get(0x9003)
    assert (taken is None) == (kind == "TIFF"), "Pillow writes no date of taking into a TIFF"
    given = device.store.take(out.getvalue(), name="photo")
    (small,) = device.call("image.resize", files=[given], longest_px=40)["files"]
    with Image.open(io.BytesIO(device.store.read(small))) as shown:
        assert shown.info["icc_profile"] == profile
        if kind == "PNG":
            return
        noted = shown.getexif()
        assert (noted[0x0110], noted[0x8298], noted.get(0x0112)) == ("A camera", "Amara", None)
        assert noted.get_ifd(0x8769).get(0x9003) == taken
        assert not noted.get_ifd(0x8825), "the place where it was taken stays with the original"


def test_a_profile_that_is_no_longer_true_goes_and_one_that_is_too_large_is_refused(device: Device) -> None:
    out = io.BytesIO()
    Image.new("CMYK", (80, 60)).save(out, "JPEG", icc_profile=b"of a printer")
    large = io.BytesIO()
    Image.new("RGB", (80, 60)).save(large, "JPEG", icc_profile=bytes(300 * 1024))
    given = [device.store.take(one.getvalue(), name="photo") for one in (out, large)]
    found = device.call("image.resize", files=given, longest_px=40)
    with Image.open(io.BytesIO(device.store.read(found["files"][0]))) as shown:
        assert "icc_profile" not in shown.info
    assert [one["reason"] for one in found["skipped"]] == ["its colour profile has more than 256 KiB"]


def test_a_picture_with_a_palette_keeps_what_is_clear(device: Device) -> None:
    out = io.BytesIO()
    Image.new("P", (300, 200)).save(out, "GIF", transparency=0)
    given = device.store.take(out.getvalue(), name="drawing.gif")
    (small,) = device.call("image.resize", files=[given], longest_px=30)["files"]
    assert (small["width"], small["height"], small["media"]) == (30, 20, "image/png")
    assert small["name"] == "drawing.gif.png"


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_a_picture_of_several_frames_or_pages_says_that_one_is_left(device: Device, kind: str) -> None:
    frames = [Image.new("RGB", (80, 40), colour) for colour in ("red", "green", "blue")]
    for more in ([], frames[1:]):
        out = io.BytesIO()
        frames[0].save(out, kind, save_all=True, append_images=more)
        given = device.store.take(out.getvalue(), name=f"moving.{kind.lower()}")
        found = device.call("image.resize", files=[given], longest_px=30)
        assert [row["reason"] for row in found["lessened"]] == ([png.FRAMES_LOST] if more else [])
        data = device.store.read(found["files"][0])
        assert found["files"][0]["name"].endswith(".png" if data.startswith(png.SIGNATURE) else ".jpg")


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_a_png_that_is_clear_somewhere_says_that_it_is_white_there(device: Device, mode: str) -> None:
    for clear in (True, False):
        out = io.BytesIO()
        picture = Image.new("RGBA", (80, 40), (0, 0, 255, 255))
        if clear:
            picture.paste((0, 0, 0, 0), (0, 0, 40, 40))
        picture.convert(mode).save(out, "PNG")
        found = device.call("image.resize", files=[device.store.take(out.getvalue(), name="drawing.png")])
        assert [row["reason"] for row in found["lessened"]] == (["its transparent parts are white"] if clear else [])


def test_a_broken_photo_is_named_as_broken(device: Device) -> None:
    cut = device.store.take(photo("JPEG", (1600, 1200))[:700], name="cut.jpg")
    text = device.store.take(b"no picture", name="letter.jpg")
    skipped = device.call("image.resize", files=[cut, text])["skipped"]
    assert [(one["name"], one["reason"].partition(":")[0]) for one in skipped] == [
        ("cut.jpg", "its JPEG data is broken or cut short"),
        ("letter.jpg", "its picture's data is broken or of a kind that this device does not decode"),
    ]


def test_a_picture_whose_pixels_would_fill_the_memory_is_not_decoded(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10_000)
    given = [device.store.take(photo("TIFF", size), name="large.tif") for size in ((110, 100), (400, 400))]
    skipped = device.call("image.resize", files=given)["skipped"]
    assert {one["reason"] for one in skipped} == {"it has more pixels than this device decodes"}


def test_without_pillow_a_photo_is_named_with_the_reason(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    given = device.store.take(photo("JPEG", (1600, 1200)), name="photo.jpg")
    monkeypatch.setitem(sys.modules, "PIL", None)
    (skipped,) = device.call("image.resize", files=[given])["skipped"]
    assert skipped["reason"] == "it is a JPEG, and this device decodes PNG alone: its agent has no Pillow"


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
@pytest.mark.parametrize("kind", decoding.FORMATS)
def test_a_photo_made_to_break_its_decoder_is_shown_or_named(kind: str) -> None:
    """One hostile picture may not end the work on the others: the decoder raises nothing else."""
    chance, sound = random.Random(7), photo(kind, (60, 40))
    named = 0
    for _ in range(300):
        data = bytearray(sound)
        for _ in range(chance.choice((1, 5, 20))):
            data[chance.randrange(min(len(data), chance.choice((40, 400, len(data)))))] = chance.randrange(256)
        if chance.random() < 0.3:
            del data[chance.randrange(len(data)) :]
        try:
            _, _, width, height, _ = decoding.small_version(bytes(data), 32)
            assert 1 <= max(width, height) <= 32
        except png.NotReadable as reason:
            named += bool(str(reason))
    assert named > 0
