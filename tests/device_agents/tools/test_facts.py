"""The tools that say how a machine is: what they read out of what systems write, and that they work here."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from starloom_agent.toolkit.files.filling import used_percent
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.text.durations import seconds_of
from starloom_agent.tools.system.packages import from_apk, from_apt, from_brew, from_dnf, from_pacman
from starloom_agent.tools.system.processes import from_ps, from_stat
from starloom_agent.tools.system.services import failed_from, launchd_from, units_from
from starloom_agent.tools.system.system import memory_from, os_title, trouble
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device


def test_a_machine_tells_what_it_is(device: Device) -> None:
    found = device.call("system.info", device_name="box")
    assert found["device"] == "box"
    assert found["cpus"] >= 1
    assert 0 < found["disk_free_bytes"] <= found["disk_total_bytes"]
    assert isinstance(found["severity"], int)


@pytest.mark.parametrize(
    ("facts", "severity", "word"),
    [
        ({"disk_used_percent": 50}, 0, ""),
        ({"disk_used_percent": 92}, 2, "disk 92 % full (nearly full from 90 % on)"),
        ({"disk_used_percent": 99}, 3, "disk 99 % full (nearly full from 90 % on)"),
        ({"memory_total_bytes": 100, "memory_available_bytes": 5}, 2, "memory 95 % used"),
        ({"load_5m_percent": 250, "cpus": 4}, 1, "load 250 %"),
        ({"reboot_required": True}, 1, "restart"),
        ({"battery_percent": 9}, 1, "battery"),
    ],
)
def test_health_is_judged_with_its_reason(facts: dict[str, int], severity: int, word: str) -> None:
    found = trouble(facts)
    assert max((bad for _, bad, _ in found), default=0) == severity
    assert word in "; ".join(why for _, _, why in found)


def test_a_clock_that_is_off_is_trouble() -> None:
    assert trouble({}, -7300) == [("clock", 2, "its clock is 2 h 2 min behind the hub's")]
    assert trouble({}, 0) == []


def test_the_system_s_own_texts_are_read() -> None:
    assert memory_from("MemTotal: 1000 kB\nMemFree: 1 kB\nMemAvailable: 500 kB\n") == (1_024_000, 512_000)
    assert memory_from("MemTotal: 1000 kB\n") is None
    assert os_title('NAME="x"\nPRETTY_NAME="Debian GNU/Linux 13"\n') == "Debian GNU/Linux 13"
    stat = "42 (my (odd) name) S 1 1 1 0 -1 4194304 1 0 0 0 250 50 0 0 20 0 7 0 100 1000 30 " + "0 " * 20
    found = from_stat(stat, 100, 4096)
    assert found == {
        "pid": 42,
        "name": "my (odd) name",
        "state": "S",
        "cpu_s": 3,
        "memory_bytes": 122_880,
        "threads": 7,
    }
    assert from_stat("nonsense", 100, 4096) is None
    assert from_ps("  1  2048 1:02:03 /sbin/launchd\nbroken\n") == [
        {"pid": 1, "name": "launchd", "cpu_s": 3723, "memory_bytes": 2_097_152}
    ]


def test_waiting_updates_are_read_from_each_package_manager() -> None:
    apt = (
        "Listing...\nlibc6/stable-security,stable 2.36-10 amd64 [upgradable from: 2.36-9]\n"
        "vim/stable 9.1 amd64 [upgradable from: 9.0]\nN: There are 2 more versions.\n"
    )
    assert [(row["name"], row["current"], row["security"]) for row in from_apt(apt)] == [
        ("libc6", "2.36-9", True),
        ("vim", "9.0", False),
    ]
    assert from_dnf("\nkernel.x86_64  6.9-1.fc40  updates\nObsoleting Packages\nold.x 1 2\n")[0]["name"] == "kernel"
    assert from_pacman("linux 6.1-1 -> 6.2-1\nodd line\n")[0]["available"] == "6.2-1"
    assert from_apk("Installed: Available:\nmusl-1.2.4-r1 < 1.2.5-r0\n") == [
        {"name": "musl", "current": "1.2.4-r1", "available": "1.2.5-r0", "security": False}
    ]
    assert from_brew("git (2.1, 2.2) < 2.3\nnode (20) != 21\n")[0]["available"] == "2.3"


def test_services_are_read_from_systemd_and_launchd() -> None:
    shown = (
        "Id=a.service\nDescription=A\nLoadState=loaded\nActiveState=failed\nSubState=failed\nNRestarts=3\n\n"
        "Id=b.service\nLoadState=not-found\nActiveState=inactive\n"
    )
    rows = units_from(shown)
    assert [(row["service"], row["known"], row["state"], row["restarts"]) for row in rows] == [
        ("a.service", True, "failed", 3),
        ("b.service", False, "inactive", 0),
    ]
    assert failed_from("a.service loaded failed failed A\n\n") == ["a.service"]
    listed = "PID\tStatus\tLabel\n1\t0\tgood\n-\t78\tbad\n-\t0\tidle\n"
    assert [row["service"] for row in launchd_from(listed, [])] == ["bad"]
    assert launchd_from(listed, ["idle"])[0]["state"] == "inactive"


@pytest.mark.parametrize("name", ["-evil", "a b", "a;b", ""])
def test_an_odd_service_name_is_refused(device: Device, name: str) -> None:
    with pytest.raises(ToolFailed, match="not the name of a service"):
        device.call("service.status", names=[name])


def test_the_fact_tools_answer_on_this_machine(device: Device) -> None:
    assert device.call("process.list", limit=3)["count"] > 0
    assert device.call("process.list", name="surely-not-running")["rows"] == []
    word = f"in-no-log-{uuid4().hex}"
    found = device.call("log.search", since="1h", contains=word, device_name="box")
    assert found["summary"]["device"] == "box"
    assert found["window"] == {"contains": word, "lines": 0, "seconds": 3600}
    assert device.call("service.status")["summary"]["severity"] in (0, 2)


def test_room_on_the_disk_is_compared_with_the_need(device: Device) -> None:
    found = device.call("disk.usage", need_bytes=10, need_factor=2)
    assert (found["need_bytes"], found["enough"]) == (20, True)
    assert found["path"] == str(device.folder)
    assert device.call("disk.usage", need_bytes=2**60, need_factor=2)["enough"] is False
    assert device.call("disk.usage", path="not/yet/there")["free_bytes"] > 0


def test_a_disk_tells_its_room_and_names_only_allowed_folders(device: Device, tmp_path: Path) -> None:
    device.write("films/a.bin", b"x" * 200_000)
    (tmp_path / "private").mkdir()
    mount = device.folder
    while not mount.is_mount():
        mount = mount.parent
    found = device.call("disk.usage", path=str(mount), top=200)
    assert (found["path"], found["free_bytes"] > 0, found["complete"]) == (str(mount), True, False)
    assert found["unread"] == "all but the granted folders"
    assert [row["folder"] for row in found["rows"]][:2] == [str(device.folder), str(device.folder / "films")]
    assert all(Path(row["folder"]).is_relative_to(device.folder) for row in found["rows"])


def test_what_is_elsewhere_is_refused_alike_whether_it_exists(device: Device, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "q-file").write_text("x")
    (outside / "q-folder").mkdir()
    (outside / "q-circle").symlink_to(outside / "q-circle")
    (outside / "q-way").symlink_to(device.folder / "..")
    (device.folder / "link").symlink_to(outside)
    told = set()
    for name in ("q-file", "q-folder", "q-circle", "q-way", "q-absent", "q" * 5000, "q-folder/deeper"):
        for path, kind in ((outside / name, "outside"), (device.folder / "link" / name, "link")):
            with pytest.raises(ToolFailed) as refused:
                device.call("disk.usage", path=str(path), top=5)
            assert refused.value.code is Code.POLICY_REFUSED
            told.add((kind, refused.value.detail.replace(name, "NAME")))
    assert len(told) == 2
    users = set()
    for user in ("root", "nobody-of-this-name"):
        with pytest.raises(ToolFailed) as refused:
            device.call("disk.usage", path=f"~{user}/x")
        users.add(refused.value.code)
    assert users == {Code.POLICY_REFUSED}


def test_the_biggest_folders_come_first_and_links_count_once(device: Device) -> None:
    big = device.write("films/a.bin", b"x" * 200_000)
    device.write("notes/b.txt", b"x" * 5_000)
    (device.folder / "films/same.bin").hardlink_to(big)
    found = device.call("disk.usage", top=5, device_name="box", path=str(device.folder))
    assert [row["folder"].rpartition("/")[2] for row in found["rows"]] == ["films", "notes"]
    assert 200_000 <= found["rows"][0]["bytes"] < 300_000
    assert found["rows"][0]["device"] == "box"
    assert (found["complete"], found["unread"]) == (True, "")


@pytest.mark.parametrize(
    ("text", "seconds"), [(5, 5), ("90s", 90), ("15m", 900), ("2 h", 7200), ("3d", 259_200), ("7", 7)]
)
def test_durations_are_read(text: str | int, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "-3s", -1, "3y", "٣s"])
def test_what_is_no_duration_is_refused(text: str | int) -> None:
    with pytest.raises(ToolFailed, match="not a duration"):
        seconds_of(text)


def test_a_disk_is_as_full_as_df_says() -> None:
    assert used_percent(44, 58) == 44
    assert used_percent(0, 0) == 0
    assert used_percent(1, 999) == 1
