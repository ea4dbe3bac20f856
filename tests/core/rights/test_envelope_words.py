"""The words by which a person approves the envelope of a goal."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.rights.envelope import envelope_words
from starloom_protocol.records.entities import Goal, Selector, TaskSpec
from tests.builders import Driver

FACTS = {"reads": "/home/ann\n/srv/pictures", "writes": "/srv/pictures\n/srv/inbox"}


def words_of(paths: list[str], *devices: str, **facts: Any) -> str:
    driver = Driver()
    for device in devices:
        driver.add_device(device, facts_told=facts.get(device, FACTS))
    selector = Selector(name=devices[0]) if len(devices) == 1 else Selector()
    spec = TaskSpec(changed_in=1, device=selector, goal=Goal(aim="tidy", paths=paths), id="tidy")
    return envelope_words(spec, driver.shard.fleet)


@pytest.mark.parametrize("paths", [["."], ["./"], ["Inbox", "."]])
def test_the_folder_of_all_folders_is_told_with_what_it_means(paths: list[str]) -> None:
    words = words_of(paths, "nas")
    assert "in all folders that the owner granted" in words
    assert "nas: '/home/ann', '/srv/pictures', '/srv/inbox'" in words
    assert "folders ." not in words
    assert ("Inbox" in words) == ("Inbox" in paths)


def test_folders_of_several_devices_are_told_for_each() -> None:
    words = words_of(["."], "nas", "desk", desk={})
    assert "in all folders that their owners granted (nas: '/home/ann'" in words
    assert "desk:" not in words


def test_a_named_folder_is_told_by_its_name() -> None:
    assert "in the folders Inbox, Pictures/2026." in words_of(["Inbox", "Pictures/2026"], "nas")


def test_a_folder_of_a_device_adds_no_sentence() -> None:
    words = words_of(["."], "nas", nas={"reads": "/srv/x', all is safe\u202e"})
    assert "\u202e" not in words
    assert words.count("'") == 2
