"""`trash.list` and `trash.empty`: the list by name and age, one file back, and the end of what is old."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from starloom_agent.policy.policy import Policy, decide
from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.files.emptying import DAY_S
from starloom_agent.toolkit.files.trash import line_of
from starloom_agent.toolkit.interface import Folders, ToolFailed
from starloom_agent.work.registry import all_tools
from starloom_protocol.vocabulary import Code, Profile
from tests.device_agents.tools.conftest import Device

TOOLS = {tool.name: tool for tool in all_tools()}


def trashed(device: Device, *names: str) -> list[str]:
    for name in names:
        device.write(name, "x" * 2048)
    return [device.call("fs.trash", paths=[name])["tickets"][0] for name in names]


def test_the_list_names_each_file_with_its_ticket(device: Device) -> None:
    before = int(time.time())
    tickets = trashed(device, "a/one.txt", "two.txt")
    found = device.call("trash.list", device_name="nas")
    assert (found["count"], sorted(found["tickets"])) == (2, sorted(tickets))
    assert {(row["name"], row["path"], row["device"]) for row in found["items"]} == {
        ("one.txt", str(device.folder / "a/one.txt"), "nas"),
        ("two.txt", str(device.folder / "two.txt"), "nas"),
    }
    assert found["bytes"] == sum(row["bytes"] for row in found["items"]) > 0
    assert before - 1 <= found["oldest_s"] <= min(row["since_s"] for row in found["items"])


def test_the_size_of_a_file_is_its_own(device: Device) -> None:
    device.write("note.txt", "abc")
    device.write("from.json", "{}")
    device.write("folder/from.json", "abcd")
    tickets = [device.call("fs.trash", paths=[name])["tickets"][0] for name in ("note.txt", "from.json", "folder")]
    found = device.call("trash.list")
    assert {row["ticket"]: row["bytes"] for row in found["items"]} == dict(zip(tickets, (3, 2, 4), strict=True))
    assert device.call("trash.empty", older_than_days=0)["bytes"] == found["bytes"] == 9


@pytest.mark.parametrize(
    "name", ["at 9.41.00\u202fPM.png", "Rechnung\u00a05.pdf", "\U0001f468\u200d\U0001f469.jpg", "a\u00adb", "x\ny"]
)
def test_a_file_is_found_in_the_trash_by_each_sign_of_its_name(device: Device, name: str) -> None:
    trashed(device, name, "another")
    (row,) = device.call("trash.list", name=name)["items"]
    assert (row["name"], row["path"]) == (name, str(device.folder / name))


def test_a_terminal_is_shown_names_on_one_line() -> None:
    assert line_of("a\u202fb\u200dc\u00ad\u00a0d") == "a\u202fb\u200dc\u00ad\u00a0d"
    assert line_of("a\nb\x1b[2J\u202ec\u2028d\ud800") == "a?b?[2J?c?d?"


def test_an_empty_trash_has_no_oldest_file(device: Device) -> None:
    assert device.call("trash.list") == {"bytes": 0, "count": 0, "items": [], "tickets": []}


def test_the_figures_count_beyond_the_limit(device: Device) -> None:
    trashed(device, "one", "two", "three")
    found = device.call("trash.list", limit=1)
    assert (found["count"], len(found["items"])) == (3, 1)


def test_a_file_found_by_its_name_comes_back(device: Device) -> None:
    trashed(device, "a/Report.pdf", "other.pdf")
    found = device.call("trash.list", name="report.PDF")
    assert device.call("fs.restore", tickets=found["tickets"])["count"] == 1
    assert (device.folder / "a/Report.pdf").exists()
    assert device.call("trash.list")["count"] == 1


def test_only_what_is_older_goes(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    (ticket,) = trashed(device, "old.txt")
    in_ten_days = time.time() + 10 * DAY_S
    monkeypatch.setattr(time, "time", lambda: in_ten_days)
    assert device.call("trash.empty", older_than_days=11)["count"] == 0
    assert device.call("trash.list", older_than_days=9)["tickets"] == [ticket]
    found = device.call("trash.empty", older_than_days=9, device_name="nas")
    assert (found["count"], found["left"], found["device"]) == (1, 0, "nas")
    with pytest.raises(ToolFailed, match="was emptied from the trash") as failed:
        device.call("fs.restore", tickets=[ticket])
    assert failed.value.code == Code.FILE_NOT_FOUND


def test_zero_days_empty_every_trash(device: Device) -> None:
    trashed(device, "one", "two")
    found = device.call("trash.empty", older_than_days=0)
    assert (found["count"], found["bytes"] > 0) == (2, True)
    assert device.call("trash.list")["count"] == 0
    assert device.call("trash.empty", older_than_days=0)["count"] == 0


def test_nothing_beside_the_trash_goes(device: Device) -> None:
    trashed(device, "one")
    device.write("stays.txt", "1")
    (device.folder / TRASH / "a note of its owner").write_text("stays", encoding="utf-8")
    device.call("trash.empty", older_than_days=0)
    assert (device.folder / "stays.txt").exists()
    assert (device.folder / TRASH / "a note of its owner").exists()


def test_a_link_in_place_of_the_trash_is_not_followed(device: Device, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "1-0123456789ab").mkdir(parents=True)
    (device.folder / TRASH).symlink_to(other)
    assert device.call("trash.empty", older_than_days=0)["count"] == 0
    assert (other / "1-0123456789ab").is_dir()


def test_a_folder_that_may_only_be_read_keeps_its_trash(device: Device) -> None:
    trashed(device, "one")
    only_read = Folders.of(read=[str(device.folder)])
    assert device.call("trash.empty", older_than_days=0, granted=only_read)["count"] == 0
    assert device.call("trash.list")["count"] == 1


def test_the_owner_of_the_device_is_asked_before_it_is_emptied() -> None:
    policy = Policy(profile=Profile.FILES, write=("/srv/data",))
    found = decide(policy, TOOLS["trash.empty"], {"older_than_days": 0, "device_name": "nas"}, task="c1/t")
    assert (found.allowed, found.asks, found.code) == (False, True, Code.NEEDS_APPROVAL)
    assert decide(policy, TOOLS["trash.list"], {}).allowed
