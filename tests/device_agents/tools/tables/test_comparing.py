"""`data.compare`: files of two folders side by side, by their hashes."""

from __future__ import annotations

from typing import Any

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.tools.conftest import Device


def file(below: str, sign: str, size: int = 1) -> dict[str, Any]:
    return {"below": below, "path": f"/x/{below}", "sha256": sign * 64, "bytes": size}


def test_files_are_the_same_by_their_place_below_their_folder(device: Device) -> None:
    first = [file("Fotos/a.png", "a"), file("Fotos/in/b.png", "b", 2), file("Fotos/c.png", "c")]
    second = [file("Copy/a.png", "a"), file("Copy/in/b.png", "d", 3), file("Copy/e.png", "e")]
    found = device.call("data.compare", first=first, second=second)
    assert found["rows"] == [
        {"path": "c.png", "state": "only in the first", "first_bytes": 1},
        {"path": "e.png", "state": "only in the second", "second_bytes": 1},
        {"path": "in/b.png", "state": "different", "first_bytes": 2, "second_bytes": 3},
    ]
    counts = {name: found[name] for name in ("count", "same", "different", "only_first", "only_second", "equal")}
    assert counts == {"count": 3, "same": 1, "different": 1, "only_first": 1, "only_second": 1, "equal": False}
    assert device.call("data.compare", first=first, second=first)["equal"] is True


def test_equal_contents_under_another_name_are_no_difference(device: Device) -> None:
    """A photo backup names its copies by their hashes; all of them had looked missing."""
    first = [file("Bilder/a.jpg", "a", 5), file("Bilder/a copy.jpg", "a", 5), file("Bilder/b.jpg", "b")]
    second = [file("Copy/aaaa.jpg", "a", 5), file("Copy/other.jpg", "c")]
    found = device.call("data.compare", first=first, second=second)
    assert [(row["path"], row["state"]) for row in found["rows"]] == [
        ("b.jpg", "only in the first"),
        ("other.jpg", "only in the second"),
    ]
    assert found["renamed"] == [
        {"bytes": 5, "first": "a copy.jpg", "second": "aaaa.jpg"},
        {"bytes": 5, "first": "a.jpg", "second": "aaaa.jpg"},
    ]
    assert (found["count"], found["same"], found["moved"], found["only_first"]) == (2, 2, 2, 1)
    alone = device.call("data.compare", first=first[:1], second=second[:1])
    assert (alone["equal"], alone["same"], alone["moved"]) == (True, 1, 1)


def test_a_file_that_is_missing_is_not_found_in_another_one_that_is_there(device: Device) -> None:
    equal = [file("F/settings.ini", "c"), *(file(f"F/p{number}/__init__.py", "e", 0) for number in range(3))]
    first = [*equal, file("F/backup.ini", "c")]
    found = device.call("data.compare", first=first, second=equal[:2])
    assert [(row["path"], row["state"]) for row in found["rows"]] == [
        (path, "only in the first") for path in ("backup.ini", "p1/__init__.py", "p2/__init__.py")
    ]
    assert (found["same"], found["renamed"], found["equal"]) == (2, [], False)


def test_the_rows_are_bounded_and_the_counts_are_not(device: Device) -> None:
    first = [file(f"F/{number}", "a") for number in range(5)]
    found = device.call("data.compare", first=first, second=[], limit=2)
    assert (len(found["rows"]), found["count"], found["only_first"]) == (2, 5, 5)


def test_a_file_without_a_hash_is_refused(device: Device) -> None:
    with pytest.raises(ToolFailed, match="has no hash"):
        device.call("data.compare", first=[{"path": "a", "sha256": ""}], second=[])
