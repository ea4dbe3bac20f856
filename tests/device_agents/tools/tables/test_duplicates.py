"""`data.duplicates`: which of equal files stays, why, and what is said of the others."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.tools.conftest import Device

SHA = "a" * 64
OTHER = "b" * 64


def _file(path: str, mtime_s: int = 0, sha256: str = SHA, **more: Any) -> dict[str, Any]:
    return {"path": path, "bytes": 10, "mtime_s": mtime_s, "sha256": sha256, **more}


@pytest.mark.parametrize(
    ("files", "kept", "why"),
    [
        ([_file("IMG_1 (copy).jpg", 5), _file("IMG_1.jpg", 9)], "IMG_1.jpg", "its name does not say copy"),
        ([_file("IMG_1 (1).jpg", 5), _file("deep/er/IMG_1.jpg", 9)], "deep/er/IMG_1.jpg", "its name does not say copy"),
        ([_file("Copy of a.txt"), _file("z.txt")], "z.txt", "its name does not say copy"),
        ([_file("a - Kopie 2.txt"), _file("z.txt")], "z.txt", "its name does not say copy"),
        ([_file("a.txt~"), _file("z.txt")], "z.txt", "its name does not say copy"),
        (
            [_file("backup/IMG_1.jpg", 5), _file("phone/IMG_1.jpg", 9)],
            "phone/IMG_1.jpg",
            "its folder does not say copy",
        ),
        ([_file("a.jpg", 9), _file("b.jpg", 5)], "b.jpg", "it was changed longest ago"),
        ([_file("a/b.jpg", 5), _file("b.jpg", 5)], "b.jpg", "its path is the shortest"),
        ([_file("b.jpg", 5), _file("a.jpg", 5)], "a.jpg", "it is the first by name"),
        ([_file("b.jpg", 5), _file("a.jpg")], "a.jpg", "it is the first by name"),
        ([_file("photocopy.jpg", 5), _file("scan.jpg", 9)], "photocopy.jpg", "it was changed longest ago"),
        ([_file("Copyright.txt", 5), _file("b.txt", 9)], "Copyright.txt", "it was changed longest ago"),
    ],
)
def test_the_original_stays_and_the_reason_is_said(
    device: Device, files: list[dict[str, Any]], kept: str, why: str
) -> None:
    for given in (files, files[::-1]):
        found = device.call("data.duplicates", files=given)
        (row,) = found["rows"]
        assert (row["path"], row["why"]) == (kept, why)
        assert [(extra["path"], extra["kept"]) for extra in found["rest"]] == [
            (file["path"], kept) for file in files if file["path"] != kept
        ]


def test_a_folder_that_is_named_keeps_its_files(device: Device) -> None:
    files = [_file("backup/IMG_1 (copy).jpg", 9), _file("IMG_1.jpg", 5)]
    (row,) = device.call("data.duplicates", files=files, keep_in="./backup")["rows"]
    assert (row["path"], row["why"]) == ("backup/IMG_1 (copy).jpg", "it lies in './backup'")
    found = device.call("data.duplicates", files=files, keep_in="Elsewhere")
    assert found["rows"][0]["path"] == "IMG_1.jpg"
    assert "none of them lies in 'Elsewhere'" in found["lines"][0]["stays"]


def test_a_device_is_told_with_number_room_and_first_names(device: Device) -> None:
    files = [
        *(_file(f"x/{number}.txt", 5, device="nas") for number in range(7)),
        *(_file(name, 5, OTHER, device="nas") for name in ("b.txt", "b (1).txt")),
        _file("alone.txt", 5, OTHER, device="vps"),
    ]
    found = device.call("data.duplicates", files=files)
    assert {line["device"] for line in found["lines"]} == {"nas"}
    first, named, *_, more = [(line["into_the_trash"], line["stays"]) for line in found["lines"]]
    assert first == ("7 extra copies of 2 files, 70 bytes", "one of each")
    assert named == ("'x/1.txt'", "'x/0.txt', as it is the first by name")
    assert (len(found["lines"]), more) == (7, ("and 2 more", ""))


def test_long_and_odd_names_stay_short_and_harmless(device: Device) -> None:
    files = [_file("a" * 4000 + "1.txt"), _file("\u202e\x1b[2J" + "b" * 4000 + "2.txt")]
    _, line = device.call("data.duplicates", files=files)["lines"]
    assert all(len(words) < 120 and words.isprintable() for words in line.values())
    assert "1.txt', as" in line["stays"]


def test_files_of_several_devices_are_told_with_each_place(device: Device) -> None:
    files = [
        _file("a (copy).txt", device="nas"),
        _file("a.txt", device="laptop"),
        _file("a.txt", device="vps"),
        *(_file(name, 5, OTHER, device="nas") for name in ("b.txt", "c.txt")),
    ]
    for given in (files, files[::-1]):
        found = device.call("data.duplicates", files=given, across=True)
        (row,) = found["rows"]
        assert (row["device"], row["path"], row["others"]) == ("laptop", "a.txt", "vps: a.txt, nas: a (copy).txt")
        assert (found["count"], found["rest"], found["lines"]) == (1, [], [])


def test_a_file_without_a_hash_is_refused(device: Device) -> None:
    with pytest.raises(ToolFailed, match="'a' has no hash"):
        device.call("data.duplicates", files=[_file("a", sha256="")])
