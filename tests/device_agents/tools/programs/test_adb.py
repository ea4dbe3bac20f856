"""A phone on a cable, played by a small program: what is listed, taken, refused - and that words stay words."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools.programs.adb import TOOLS
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

# The phone's disk is the folder `phone`; what is asked of its shell runs there with that folder as its root.
ADB = """#!/bin/sh
echo "$*" >> {folder}/asked
case "$1" in
devices) cat {folder}/plugged; exit 0 ;;
esac
[ "$1" = -s ] || exit 9
shift 2
case "$1" in
shell) case "$2" in
    screencap*) printf PNG > {folder}/screen ;;
    rm*) rm -f {folder}/screen ;;
    *) cd {folder} && sh -c "$2" ;;
    esac ;;
pull) case "$2" in
    */starloom-screen.png) cp {folder}/screen "$3" ;;
    *) [ -f "{folder}$2" ] || {{ echo "adb: error: failed to stat remote object" >&2; exit 1; }}
       cp "{folder}$2" "$3" ;;
    esac ;;
esac
"""
ONE = "List of devices attached\nR58M123 device usb:1-1 product:beyond model:SM_G973F\n\n"


@pytest.fixture
def phone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cable"
    folder.mkdir()
    program = folder / "adb"
    program.write_text(ADB.format(folder=folder), encoding="utf-8")
    program.chmod(0o755)
    (folder / "plugged").write_text(ONE, encoding="utf-8")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_phones_are_listed_with_what_keeps_them(device: Device, phone: Path) -> None:
    (phone / "plugged").write_text(ONE + "emulator-5554 unauthorized transport_id:2\n", encoding="utf-8")
    found = device.call("adb.devices")
    assert found["ready"] == 1
    assert found["rows"] == [
        {"serial": "R58M123", "state": "device", "model": "SM_G973F", "way_out": ""},
        {
            "serial": "emulator-5554", "state": "unauthorized", "model": "",
            "way_out": "unlock the phone and allow this computer in its dialogue",
        },
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("plugged", "serial", "code", "said"),
    [
        ("List of devices attached\n\n", "", Code.TOOL_UNAVAILABLE, "no phone is plugged"),
        (ONE, "OTHER", Code.TOOL_UNAVAILABLE, "no phone 'OTHER' is plugged into this computer; there is R58M123"),
        (ONE + "X2 device usb:2\n", "", Code.BAD_ARGUMENTS, "name one as serial: R58M123, X2"),
        ("List of devices attached\nX1 unauthorized usb:1\n", "", Code.TOOL_UNAVAILABLE, "unlock the phone"),
        (ONE, "-s x", Code.BAD_ARGUMENTS, "not the serial number"),
    ],
)
def test_it_is_clear_which_phone_is_meant(
    device: Device, phone: Path, plugged: str, serial: str, code: Code, said: str
) -> None:
    (phone / "plugged").write_text(plugged, encoding="utf-8")
    with pytest.raises(ToolFailed, match=said) as failed:
        device.call("adb.files", serial=serial)
    assert (failed.value.code, failed.value.effect) == (code, False)


def test_files_come_with_size_and_time_and_can_be_taken(device: Device, phone: Path) -> None:
    pictures = phone / "Pictures of it's"
    pictures.mkdir()
    (pictures / "a b.jpg").write_bytes(b"12345")
    found = device.call("adb.files", path=str(pictures))
    (row,) = found["files"]
    assert (row["name"], row["bytes"], row["media"], found["complete"]) == ("a b.jpg", 5, "image/jpeg", True)
    taken = device.call("adb.get", paths=[{"path": "/Pictures of it's/a b.jpg"}])
    assert device.store.read(taken["files"][0]) == b"12345"
    assert taken["files"][0]["path"] == "/Pictures of it's/a b.jpg"
    with pytest.raises(ToolFailed, match="failed to stat"):
        device.call("adb.get", paths=["/nothing"])
    with pytest.raises(ToolFailed, match="not an absolute path"):
        device.call("adb.get", paths=["--help"])


def test_a_folder_that_is_a_link_is_listed_and_a_closed_one_makes_the_list_incomplete(
    device: Device, phone: Path
) -> None:
    (phone / "storage").mkdir()
    (phone / "storage/a.jpg").write_bytes(b"1")
    (phone / "sdcard").symlink_to("storage")
    found = device.call("adb.files", path=str(phone / "sdcard"))
    assert (found["count"], found["complete"]) == (1, True)
    program = phone / "find"
    program.write_text('#!/bin/sh\n/usr/bin/find "$@"\necho "find: data: Permission denied" >&2\nexit 1\n')
    program.chmod(0o755)
    found = device.call("adb.files", path=str(phone / "storage"))
    assert (found["count"], found["complete"]) == (1, False)


def test_a_path_is_never_a_command_on_the_phone(device: Device, phone: Path) -> None:
    with pytest.raises(ToolFailed, match="cannot be listed"):
        device.call("adb.files", path="/x; touch caught; $(touch caught)`touch caught`")
    for path in ("-delete", "DCIM", ""):
        with pytest.raises((ToolFailed, msgspec.ValidationError)):
            device.call("adb.files", path=path)
    assert not (phone / "asked").read_text(encoding="utf-8").count("-delete")
    assert not (phone / "caught").exists()


def test_the_screen_is_a_picture_and_leaves_nothing_behind(device: Device, phone: Path) -> None:
    found = device.call("adb.screen")
    assert device.store.read(found["file"]) == b"PNG"
    assert not (phone / "screen").exists()


def test_without_adb_it_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert all("adb is not installed" in str(tool.probe()) for tool in TOOLS)
