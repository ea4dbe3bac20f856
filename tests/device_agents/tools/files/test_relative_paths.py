"""A relative path is looked for in every granted folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args
from unicodedata import normalize

import pytest

from starloom_agent.toolkit.interface import Folders, ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

Form = Literal["NFC", "NFD"]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    made = tmp_path / "lumiere"
    made.mkdir()
    return made


def _granted(device: Device, other: Path) -> Folders:
    return Folders.of(read=[str(device.folder), str(other)], write=[str(device.folder)])


def test_a_folder_in_the_second_granted_folder_is_found(device: Device, other: Path) -> None:
    (other / "Rechnungen").mkdir()
    (other / "Rechnungen" / "a.pdf").write_bytes(b"a")
    granted = _granted(device, other)
    assert [row["name"] for row in device.call("fs.list", path="Rechnungen", granted=granted)["entries"]] == ["a.pdf"]
    found = device.call("fs.find", root="Rechnungen", granted=granted)["files"]
    assert [row["path"] for row in found] == [str(other / "Rechnungen" / "a.pdf")]
    assert device.call("archive.pack", path="Rechnungen", granted=granted)["summary"]["files"] == 1
    assert device.call("fs.read", path="Rechnungen/a.pdf", granted=granted)["text"] == "a"


def test_a_path_in_several_granted_folders_is_refused_by_name(device: Device, other: Path) -> None:
    device.write("Pictures/index.html", b"sample")
    (other / "Pictures").mkdir()
    with pytest.raises(ToolFailed) as failed:
        device.call("fs.find", root="Pictures", granted=_granted(device, other))
    assert failed.value.code is Code.BAD_ARGUMENTS
    assert str(device.folder / "Pictures") in failed.value.detail
    assert str(other / "Pictures") in failed.value.detail


def test_a_granted_folder_called_like_one_of_the_first_is_refused(device: Device, other: Path) -> None:
    device.write("lumiere/index.html", b"sample")
    with pytest.raises(ToolFailed, match="2 folders"):
        device.call("fs.list", path="lumiere", granted=_granted(device, other))


def test_found_files_of_one_name_in_two_folders_are_read_each(device: Device, other: Path) -> None:
    device.write("a.txt", b"same")
    (other / "a.txt").write_bytes(b"same")
    granted = _granted(device, other)
    found = device.call("fs.find", granted=granted)["files"]
    assert {row["path"] for row in found} == {str(device.folder / "a.txt"), str(other / "a.txt")}
    assert len(device.call("fs.hash", files=found, granted=granted)["files"]) == 2


def test_a_written_file_is_read_by_the_same_path(device: Device, other: Path) -> None:
    granted = Folders.of(read=[str(other)], write=[str(device.folder)])
    device.call("fs.write", path="notiz.txt", text="one", granted=granted)
    assert device.call("fs.read", path="notiz.txt", granted=granted)["text"] == "one"


def test_a_file_is_written_into_the_one_folder_that_exists(device: Device, other: Path) -> None:
    (other / "Rechnungen").mkdir()
    granted = Folders.of(write=[str(device.folder), str(other)])
    device.call("fs.write", path="Rechnungen/b.txt", text="b", granted=granted)
    assert (other / "Rechnungen" / "b.txt").read_bytes() == b"b"
    device.call("fs.write", path="new/b.txt", text="b", granted=granted)
    assert (device.folder / "new" / "b.txt").is_file()


@pytest.mark.parametrize("name", ["lumiere", "Rechnungen", "new"])
def test_a_second_copy_sends_nothing_again(device: Device, other: Path, name: str) -> None:
    """What a copy need not send is looked for where the first one went: a granted folder of its name, or one in it."""
    granted = Folders.of(write=[str(device.folder), str(other)])
    (other / "Rechnungen").mkdir()
    sent = {**device.store.take(b"b", name="b.txt"), "path": f"{name}/b.txt"}
    device.call("fs.write", files=[sent], under=".", name_by="path", granted=granted)
    device.call("fs.write", folders=[{"path": f"{name}/empty"}], under=".", name_by="path", granted=granted)
    folders = [{"path": name, "files": [{**sent, "sha256": sent["artifact"]}]}, {"path": f"{name}/empty"}]
    found = device.call("fs.verify", folders=folders, under=".", granted=granted)
    assert (found["to_send"], found["to_make"], found["here"]) == ([], [], 1)


def test_a_missing_path_names_the_folders_that_were_searched(device: Device, other: Path) -> None:
    context = device.context(granted=_granted(device, other))
    context.resolve_read("nowhere")
    assert context.with_folders("nowhere does not exist on this device.") == (
        "nowhere does not exist on this device. A relative path is looked for in the folders that this device "
        f"allows: {device.folder}, {other}"
    )
    assert context.with_folders("b is not there") == "b is not there"


def test_a_link_out_of_the_second_folder_is_no_place(device: Device, other: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (other / "out").symlink_to(tmp_path / "secret")
    context = device.context(granted=_granted(device, other))
    assert context.resolve_read("out") == device.folder / "out"
    with pytest.raises(ToolFailed, match="outside the folders"):
        context.resolve_read("../lumiere/../secret")


def test_written_files_are_verified_where_another_folder_has_the_name(device: Device, other: Path) -> None:
    device.write("Pictures/a.txt", b"a")
    (other / "Pictures").mkdir()
    granted = _granted(device, other)
    hashed = device.call("fs.hash", files=[{"path": "Pictures/a.txt"}], granted=granted)["files"]
    verified = device.call("fs.verify", catalogue=hashed, under="Pictures", granted=granted)
    assert (verified["wrong"], verified["files"]) == ([], 1)


@pytest.mark.parametrize("name", ["~$rechnung.xlsx", "~session0.tmp", "~/a.txt"])
def test_a_found_name_that_begins_with_a_tilde_is_a_name(device: Device, name: str) -> None:
    device.write(name, b"same")
    device.write("copy.txt", b"same")
    found = device.call("fs.find", same_size=True)["files"]
    hashed = device.call("fs.hash", files=found)["files"]
    assert len({row["sha256"] for row in hashed}) == 1
    assert len(hashed) == 2


def test_a_typed_tilde_is_the_home_folder(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(device.folder))
    device.write("a.txt", b"one")
    assert device.call("fs.read", path="~/a.txt")["text"] == "one"
    assert [row["name"] for row in device.call("fs.list", path="~")["entries"]] == ["a.txt"]


@pytest.mark.parametrize(("there", "asked"), [("NFD", "NFC"), ("NFC", "NFD")])
def test_a_name_is_found_in_each_form_of_its_accents(device: Device, there: Form, asked: Form) -> None:
    folder, name = (normalize(there, text) for text in ("Vertr\u00e4ge", "M\u00fcller.pdf"))
    device.write(f"{folder}/{name}", "x")
    path = normalize(asked, f"{folder}/{name}")
    assert device.call("fs.read", path=path)["text"] == "x"
    ways: tuple[dict[str, Any], ...] = (
        {"file": normalize(asked, name)},
        {"pattern": normalize(asked, "M\u00fcl*")},
        {"what": normalize(asked, "M\u00fcller*")},
    )
    for asks in ways:
        (found,) = device.call("fs.find", root=normalize(asked, folder), **asks)["files"]
        assert found["name"] == name
    assert device.call("fs.find", root=".", not_under=normalize(asked, folder))["files"] == []
    assert device.call("fs.search", root=".", text="xx", pattern=normalize(asked, "M\u00fcl*"))["files_read"] == 1
    device.call("fs.move", path=path, to=normalize(asked, f"{folder}/new.pdf"))
    assert [one.name for one in device.folder.iterdir() if not one.name.startswith(".")] == [folder]


def test_two_forms_of_one_name_are_two_files(device: Device) -> None:
    name, forms = "M\u00fcller", get_args(Form)
    for form in forms:
        device.write(normalize(form, name), form)
    for form in forms:
        assert device.call("fs.read", path=normalize(form, name))["text"] == form
