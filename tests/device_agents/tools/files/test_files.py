"""Hashing, writing, verifying, moving: what is on disk afterwards."""

from __future__ import annotations

import contextlib
import errno
import gc
import hashlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.files import trash
from starloom_agent.toolkit.files.naming import portable_name
from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.files.test_find import locked


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def paths(result: Any) -> list[str]:
    return [item["path"] for item in result["added"]]


def test_equal_folders_are_found_whatever_their_names(device: Device) -> None:
    for name in ("a/1", "b/2", "c/1"):
        device.write(name, b"same" if name != "b/2" else b"other")
    folders = [{"path": path[0], "files": [{"path": path}]} for path in ("a/1", "b/2", "c/1")]
    found = device.call("fs.hash", folders=folders, find_duplicates="folders")
    assert found["duplicates"] == [2]
    assert found["folders"][0]["files"][0]["sha256"] == sha(b"same")
    assert found["folders"][0]["digest"] == found["folders"][2]["digest"] != found["folders"][1]["digest"]


def test_empty_folders_are_no_duplicates(device: Device) -> None:
    empty = [{"path": "a", "files": []}, {"path": "b", "files": []}]
    assert device.call("fs.hash", folders=empty, find_duplicates="folders")["duplicates"] == []


def test_a_copy_is_compared_with_what_was_expected(device: Device) -> None:
    device.write("copies/x", b"good")
    file = {"path": "copies/x", "name": "x.png", "sha256": sha(b"good")}
    expect = [{"path": "from", "files": [{"path": "from/x.png", "sha256": sha(b"good")}]}]
    good = device.call("fs.hash", files=[file], expect=expect, folder="from", compare=True)
    assert good["equal"] is True
    assert good["files"] == [{"path": "copies/x", "name": "x.png", "sha256": sha(b"good"), "bytes": 4, "same": True}]
    device.write("copies/x", b"bad!")
    bad = device.call("fs.hash", files=[file], expect=expect, folder="from", compare=True)
    assert bad["equal"] is False
    assert bad["different"][0]["found"] == sha(b"bad!")
    assert bad["missing"][0]["name"] == "x.png"


def test_a_comparison_without_anything_to_compare_with_is_refused(device: Device) -> None:
    device.write("x", b"x")
    with pytest.raises(ToolFailed, match="nothing to compare") as failed:
        device.call("fs.hash", files=[{"path": "x"}], compare=True)
    assert failed.value.code is Code.BAD_ARGUMENTS
    with pytest.raises(ToolFailed, match="no folder"):
        device.call("fs.hash", files=[{"path": "x", "sha256": sha(b"x")}], compare=True, expect=[], folder="a")


def test_files_are_written_by_hash_and_kept_when_they_are_there(device: Device) -> None:
    ref = device.store.take(b"picture", name="A b.PNG", media="image/png") | {"path": "Pictures/A b.PNG"}
    args: dict[str, Any] = {"files": [ref], "under": "Pictures", "name_by": "hash", "on_same_hash": "keep"}
    first = device.call("fs.write", **args)
    path = f"Pictures/{sha(b'picture')}.png"
    assert first["files"] == [
        {
            "path": path,
            "name": "A b.PNG",
            "source": "Pictures/A b.PNG",
            "sha256": sha(b"picture"),
            "bytes": 7,
            "state": "written",
        }
    ]
    assert (device.folder / path).read_bytes() == b"picture"
    assert device.call("fs.write", **args)["files"][0]["state"] == "kept"
    (device.folder / path).write_bytes(b"damaged")
    assert device.call("fs.write", **args)["files"][0]["state"] == "written"
    assert (device.folder / path).read_bytes() == b"picture"
    assert [item.name for item in (device.folder / "Pictures").iterdir()] == [f"{sha(b'picture')}.png"]


def test_a_clash_of_names_gets_a_number_and_a_retry_finds_it(device: Device) -> None:
    device.write("out/a.txt", b"mine")
    ref = device.store.take(b"theirs", name="a.txt")
    first = device.call("fs.write", files=[ref], under="out")
    again = device.call("fs.write", files=[ref], under="out")
    assert (first["files"][0]["path"], first["written"]) == ("out/a (2).txt", 1)
    assert (again["files"][0]["path"], again["written"]) == ("out/a (2).txt", 0)
    assert (device.folder / "out/a.txt").read_bytes() == b"mine"
    with pytest.raises(ToolFailed, match="other contents"):
        device.call("fs.write", files=[ref], under="out", on_clash="fail")


@pytest.mark.parametrize("name", ["../../evil.txt", "/etc/evil.txt", "a\\..\\evil.txt", "ev\x01il.txt", "..", "  "])
def test_a_name_from_elsewhere_never_leads_out_of_the_folder(device: Device, name: str) -> None:
    ref = device.store.take(b"x", name=name)
    written = device.call("fs.write", files=[ref], under="in")["files"][0]["path"]
    assert (device.folder / written).parent == device.folder / "in"


def test_a_path_that_leads_out_is_refused(device: Device) -> None:
    ref = device.store.take(b"x") | {"below": "a/../../evil.txt"}
    with pytest.raises(ToolFailed):
        device.call("fs.write", files=[ref], under="in", name_by="path")
    with pytest.raises(ToolFailed) as failed:
        device.call("fs.write", files=[ref], under="../elsewhere")
    assert failed.value.code is Code.POLICY_REFUSED


def test_a_text_replaces_no_other_file_unless_it_is_asked_to(device: Device) -> None:
    """It replaced whatever stood there, also where `on_clash` said that it must not."""
    old = device.folder / "notes.txt"
    old.write_text("old")
    found = device.call("fs.write", path="notes.txt", text="new")
    assert (found["files"][0]["path"], paths(found)) == ("notes (2).txt", ["notes (2).txt"])
    assert found["changed"] == [{"file": "notes.txt", "path": "notes (2).txt", "why": "another file has its name"}]
    assert (old.read_text(), (device.folder / "notes (2).txt").read_text()) == ("old", "new")
    again = device.call("fs.write", path="notes.txt", text="new")
    assert (again["files"][0]["path"], again["kept"], again["added"]) == ("notes (2).txt", 1, [])
    with pytest.raises(ToolFailed, match=r"notes\.txt exists with other contents; allow on_clash: rename or replace"):
        device.call("fs.write", path="notes.txt", text="new", on_clash="fail")
    assert device.call("fs.write", path="notes.txt", text="old", on_clash="fail")["kept"] == 1
    assert old.read_text() == "old"
    replaced = device.call("fs.write", path="notes.txt", text="new", on_clash="replace")
    assert (replaced["written"], old.read_text()) == (1, "new")
    assert [item["path"] for item in replaced["added"]] == ["notes.txt"]


def test_an_artifact_replaces_no_other_file_unless_it_is_asked_to(device: Device) -> None:
    old = device.folder / "one.bin"
    old.write_bytes(b"old")
    new = device.store.take(b"new")
    found = device.call("artifact.get", artifact=new, to="one.bin")
    assert (found["path"], paths(found), found["name"]) == ("one (2).bin", ["one (2).bin"], "one (2).bin")
    assert (old.read_bytes(), (device.folder / "one (2).bin").read_bytes()) == (b"old", b"new")
    assert device.call("artifact.get", artifact=new, to="one.bin")["added"] == []
    with pytest.raises(ToolFailed, match=r"one\.bin exists with other contents"):
        device.call("artifact.get", artifact=new, to="one.bin", on_clash="fail")
    assert device.call("artifact.get", artifact=new, to="one.bin", on_clash="replace")["path"] == "one.bin"
    assert old.read_bytes() == b"new"


def test_an_artifact_keeps_its_own_name_in_a_folder(device: Device) -> None:
    rows = [{**device.store.take(text.encode()), "name": f"{text}.csv"} for text in ("one", "two")]
    for to, row in (("results/", rows[0]), ("results", rows[1]), ("results/", rows[1])):
        found = device.call("artifact.get", artifact=row, to=to)
        assert (found["path"], found["name"]) == (f"results/{row['name']}", row["name"])
    assert found["added"] == []
    assert sorted(path.name for path in (device.folder / "results").iterdir()) == ["one.csv", "two.csv"]
    climbing = {**rows[0], "name": "../../out.csv"}
    assert device.call("artifact.get", artifact=climbing, to="results/")["path"] == "results/out.csv"


def test_a_target_that_ends_in_a_slash_is_a_folder(device: Device) -> None:
    for name in ("one.pdf", "two.pdf", "tree/three.pdf"):
        device.write(name, name)
    for tool, path in (("fs.move", "one.pdf"), ("fs.copy", "two.pdf"), ("fs.move", "two.pdf"), ("fs.move", "tree")):
        to = "Copies/" if tool == "fs.copy" else "Papers/"
        for again in (False, True):
            found = device.call(tool, path=path, to=to)
            assert found["path"] == f"{to}{path}"
            assert found.get("moved", not again) is not again
    assert device.call("fs.copy", path="Papers/one.pdf", to="Copies")["path"] == "Copies/one.pdf"
    assert device.call("fs.copy", path="Papers/tree", to="Copies/")["added"][-1]["path"] == "Copies/tree/three.pdf"
    assert (device.folder / "Papers/tree/three.pdf").read_text() == "tree/three.pdf"
    with pytest.raises(ToolFailed, match="Copies exists already; to move it into that folder, write Copies/"):
        device.call("fs.move", path="Papers/two.pdf", to="Copies")
    with pytest.raises(ToolFailed, match="give path the name of a file"):
        device.call("fs.write", path="notes/", text="x")
    assert sorted(path.name for path in device.folder.iterdir()) == ["Copies", "Papers"]


def test_text_is_written_whole(device: Device) -> None:
    found = device.call("fs.write", path="notes/a.txt", text="grüße")
    assert (device.folder / "notes/a.txt").read_text(encoding="utf-8") == "grüße"
    assert found["files"][0]["sha256"] == sha("grüße".encode())
    with pytest.raises(ToolFailed, match="text goes with path"):
        device.call("fs.write", text="x")


def test_files_have_no_path_of_their_own(device: Device) -> None:
    there = device.write("report.txt", "precious")
    files = [device.store.take(b"other", name="report.txt")]
    with pytest.raises(ToolFailed, match="give under: inbox in its place") as refused:
        device.call("fs.write", files=files, path="inbox", on_clash="replace")
    assert refused.value.effect is False
    assert there.read_text(encoding="utf-8") == "precious"


def test_verify_counts_what_is_wrong_and_what_is_there_twice(device: Device) -> None:
    device.write("P/one", b"one")
    device.write("P/two", b"two")
    catalogue = [{"path": f"P/{name}", "sha256": sha(name.encode()), "bytes": 3} for name in ("one", "two")]
    good = device.call("fs.verify", under="P", catalogue=catalogue)
    assert (good["same"], good["twice"], good["files"], good["bytes"]) == (True, 0, 2, 6)
    device.write("P/sub/again", b"one")
    assert device.call("fs.verify", under="P", catalogue=catalogue)["twice"] == 1
    device.write("P/two", b"2wo")
    (device.folder / "P/one").unlink()
    bad = device.call("fs.verify", under="P", catalogue=catalogue)
    assert bad["same"] is False
    assert {row["path"] for row in bad["wrong"]} == {"P/one", "P/two"}


def test_an_entry_outside_the_folder_is_wrong_not_ignored(device: Device) -> None:
    device.write("elsewhere", b"one")
    (device.folder / "P").mkdir()
    found = device.call("fs.verify", under="P", catalogue=[{"path": "elsewhere", "sha256": sha(b"one")}])
    assert found["same"] is False


def test_artifacts_go_out_and_come_back(device: Device) -> None:
    os.utime(device.write("a/one.txt", b"one"), (7, 7))
    sent = device.call("artifact.put", paths=["a/one.txt", {"path": "a/one.txt", "sha256": sha(b"one")}])
    assert sent["files"][0] == {
        "artifact": sha(b"one"),
        "bytes": 3,
        "name": "one.txt",
        "media": "text/plain",
        "mtime_s": 7,
        "path": "a/one.txt",
        "sha256": sha(b"one"),
    }
    device.call("artifact.get", artifact=sent["files"][0], to="back/one.txt")
    assert (device.folder / "back/one.txt").read_bytes() == b"one"
    with pytest.raises(ToolFailed) as failed:
        device.call("artifact.put", paths=["a/none.txt"])
    assert failed.value.code is Code.FILE_NOT_FOUND


def test_a_file_that_changed_since_it_was_hashed_is_not_sent_as_if_it_had_not(device: Device) -> None:
    device.write("a", b"new")
    with pytest.raises(ToolFailed, match="changed since") as failed:
        device.call("artifact.put", paths=[{"path": "a", "sha256": sha(b"old")}])
    assert failed.value.code is Code.ARTIFACT_CORRUPT


def test_the_trash_gives_back_what_it_took(device: Device) -> None:
    device.write("a/b.txt", b"b")
    taken = device.call("fs.trash", paths=["a/b.txt", "a/none.txt"])
    assert not (device.folder / "a/b.txt").exists()
    assert taken["missing"] == ["a/none.txt"]
    device.call("fs.restore", tickets=[taken["items"][0]["ticket"]])
    assert (device.folder / "a/b.txt").read_bytes() == b"b"
    assert [path.name for path in (device.folder / ".starloom-trash").iterdir()] == [".restored"]


def test_what_changed_since_it_was_found_does_not_go_into_the_trash(device: Device) -> None:
    for name in ("found", "later", "grown", "copy", "twin"):
        device.write(name, b"the same")
    found = {row["path"]: row for row in device.call("fs.find", root=".")["files"]}
    device.write("later", b"others!!")
    os.utime(device.folder / "later", (1, 1))
    device.write("grown", b"the same and more")
    (device.folder / "twin").unlink()
    copy = {"path": "copy", "sha256": sha(b"the same"), "kept": "twin", "device": "nas"}
    changed = {"path": "grown", "sha256": sha(b"the same")}
    taken = device.call("fs.trash", paths=[found["found"], found["later"], changed, copy])
    assert [item["path"] for item in taken["items"]] == ["found"]
    assert [(left["path"], left.get("device")) for left in taken["left_out"]] == [
        ("later", None),
        ("grown", None),
        ("copy", "nas"),
    ]
    assert [left["why"] for left in taken["left_out"]][:2] == ["it was changed since it was found"] * 2
    assert "twin, which was to stay, is not there" in taken["left_out"][2]["why"]
    (device.folder / "twin").symlink_to("copy")
    assert device.call("fs.trash", paths=[copy])["count"] == 0
    (device.folder / "twin").unlink()
    device.write("twin", b"the same")
    assert device.call("fs.trash", paths=[copy])["count"] == 1


def test_a_restore_may_be_repeated(device: Device) -> None:
    device.write("a/b.txt", b"b")
    device.write("c.txt", b"c")
    tickets = device.call("fs.trash", paths=["a/b.txt", "c.txt"])["tickets"]
    device.write("c.txt", b"in its place")
    with pytest.raises(ToolFailed, match="exists again"):
        device.call("fs.restore", tickets=tickets)
    (device.folder / "c.txt").unlink()
    again = device.call("fs.restore", tickets=tickets)
    assert [item["moved"] for item in again["items"]] == [False, True]
    device.write("a/b.txt", b"changed since")
    (device.folder / "c.txt").rename(device.folder / "d.txt")
    last = device.call("fs.restore", tickets=tickets)
    assert [item["moved"] for item in last["items"]] == [False, False]
    assert (device.folder / "a/b.txt").read_bytes() == b"changed since"
    assert not (device.folder / "c.txt").exists()


def test_restored_tickets_are_remembered_up_to_a_limit(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trash, "RESTORED_MOST", 2)
    # A ticket begins with its second; these are as old as their order.
    tickets = []
    for second in range(4):
        device.write(f"{second}.txt", b"x")
        monkeypatch.setattr(time, "time", lambda second=second: 1_700_000_000 + second)
        tickets += device.call("fs.trash", paths=[f"{second}.txt"])["tickets"]
    device.call("fs.restore", tickets=tickets)
    kept = device.folder / ".starloom-trash" / ".restored"
    assert sorted(path.name for path in kept.iterdir()) == tickets[2:]


@pytest.mark.parametrize("ticket", ["../../etc", "", ".", "none"])
def test_a_wrong_ticket_restores_nothing(device: Device, ticket: str) -> None:
    with pytest.raises(ToolFailed):
        device.call("fs.restore", tickets=[ticket])


def test_a_granted_folder_itself_is_never_moved_or_thrown_away(device: Device) -> None:
    with pytest.raises(ToolFailed, match="granted folder"):
        device.call("fs.trash", paths=["."])
    with pytest.raises(ToolFailed, match="granted folder"):
        device.call("fs.move", path=".", to="x")
    assert device.folder.is_dir()


def test_copy_and_move_never_overwrite_unasked(device: Device) -> None:
    device.write("from/a", b"a")
    device.write("to/a", b"other")
    with pytest.raises(ToolFailed, match="other contents"):
        device.call("fs.copy", path="from", to="to")
    assert (device.folder / "to/a").read_bytes() == b"other"
    device.call("fs.copy", path="from", to="to", on_clash="replace")
    assert (device.folder / "to/a").read_bytes() == b"a"
    assert device.call("fs.copy", path="from", to="to")["kept"] == 1
    with pytest.raises(ToolFailed, match="exists already"):
        device.call("fs.move", path="from", to="to")
    assert device.call("fs.move", path="from", to="new/place")["moved"] is True
    assert device.call("fs.move", path="from", to="new/place")["moved"] is False
    with pytest.raises(ToolFailed, match="inside"):
        device.call("fs.copy", path="new", to="new/inner")


def test_text_is_read_in_parts_and_other_files_are_not(device: Device) -> None:
    device.write("a.txt", "0123456789")
    first = device.call("fs.read", path="a.txt", limit=4)
    assert (first["text"], first["truncated"], first["next_offset"]) == ("0123", True, 4)
    rest = device.call("fs.read", path="a.txt", offset=4)
    assert (rest["text"], rest["truncated"]) == ("456789", False)
    device.write("b.bin", b"\x00\x01")
    with pytest.raises(ToolFailed, match=r"artifact\.put"):
        device.call("fs.read", path="b.bin")
    rows = device.call("fs.stat", paths=["a.txt", "none"])["rows"]
    assert [(row["exists"], row.get("bytes")) for row in rows] == [(True, 10), (False, None)]


def test_files_of_equal_names_are_laid_out_by_origin(device: Device) -> None:
    given = [
        {**device.store.take(text.encode(), name="2026-09.csv"), "device": name}
        for name, text in (("one", "1"), ("two", "20"), ("three", "300"))
    ]
    code = (
        "import glob, json\n"
        "json.dump(sorted((n, open(n).read()) for n in glob.glob('*.csv')), open('result.json', 'w'))"
    )
    found = device.call("python.run", code=code, files=[*given, device.store.take(b"x", name="other.csv")])
    assert found["value"] == [
        ["one - 2026-09.csv", "1"],
        ["other.csv", "x"],
        ["three - 2026-09.csv", "300"],
        ["two - 2026-09.csv", "20"],
    ]


def test_files_of_equal_names_of_one_device_get_their_folders(device: Device) -> None:
    given = [
        {**device.store.take(b"x", name="a.csv"), "device": "one", "below": "x/a.csv"},
        {**device.store.take(b"x", name="A.csv"), "device": "one", "path": "y/A.csv"},
    ]
    code = "import glob, json; json.dump(sorted(glob.glob('*.csv')), open('result.json', 'w'))"
    assert device.call("python.run", code=code, files=given)["value"] == ["one - x - a.csv", "one - y - A.csv"]


def test_a_program_that_looks_for_a_file_by_another_name_is_told_those_beside_it(device: Device) -> None:
    given = [{**device.store.take(b"1", name="app.log"), "device": name} for name in ("one", "two")]
    with pytest.raises(ToolFailed) as failed:
        device.call("python.run", code="open('one/app.log')", files=given)
    assert "(beside it: 'input.json', 'one - app.log', 'two - app.log'): " in failed.value.detail
    with pytest.raises(ToolFailed) as failed:
        device.call("python.run", code="1 / 0", files=given)
    assert "beside it" not in failed.value.detail


def test_files_that_nothing_tells_apart_are_refused(device: Device) -> None:
    given = [device.store.take(text, name="a.csv") for text in (b"1", b"2")]
    with pytest.raises(ToolFailed, match=r"a\.csv") as failed:
        device.call("python.run", code="pass", files=given)
    assert (failed.value.code, failed.value.effect) == (Code.BAD_ARGUMENTS, False)
    assert "device_name" in failed.value.detail


def test_a_name_is_changed_only_where_it_cannot_be_stored(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that knows no question marks stands in for a stick with one of another kind."""
    place = Beneath.place

    def refuse(files: Beneath, source: Path, target: Path, **more: Any) -> int:
        if "?" in os.fspath(target):
            raise OSError(errno.EINVAL, "Invalid argument", os.fspath(target))
        return place(files, source, target, **more)

    monkeypatch.setattr(Beneath, "place", refuse)
    given = [
        {**device.store.take(b"x", name=".env"), "below": "proj/.env"},
        {**device.store.take(b"y", name="what?.txt"), "below": "proj/what?.txt"},
    ]
    found = device.call("fs.write", files=given, under="in", name_by="path")
    assert sorted(str(path.relative_to(device.folder)) for path in device.folder.rglob("*.*")) == [
        "in/proj/.env",
        "in/proj/what.txt",
    ]
    assert found["changed"] == [
        {"file": "proj/what?.txt", "path": "in/proj/what.txt", "why": "this device cannot store its name"}
    ]
    folders = [{"path": "proj", "files": [{**ref, "bytes": 1} for ref in given]}]
    assert device.call("fs.verify", under="in", folders=folders)["to_send"] == []


def test_a_portable_name_is_one_that_every_system_stores() -> None:
    names = ["a:b.txt", "CON.txt", "end. ", ".env", "x" * 300 + ".txt"]
    assert [portable_name(name) for name in names] == ["ab.txt", "_CON.txt", "end", ".env", "x" * 251 + ".txt"]


def test_only_paths_where_nothing_stood_are_added(device: Device) -> None:
    device.write("in/old.txt", "old")
    files = [device.store.take(b"old", name="old.txt"), device.store.take(b"new", name="new.txt")]
    found = device.call("fs.write", files=files, under="in")
    assert paths(found) == ["in/new.txt"]
    assert device.call("fs.write", files=files, under="in")["added"] == []
    assert device.call("fs.write", path="note.txt", text="a")["added"] == [{"path": "note.txt", "wrote": sha(b"a")}]
    (replaced,) = device.call("fs.write", path="note.txt", text="b", on_clash="replace")["added"]
    assert (replaced.keys(), replaced["wrote"]) == ({"path", "replaced", "wrote"}, sha(b"b"))


def test_descriptors_of_a_call_are_closed_after_it(tmp_path: Path) -> None:
    def held() -> int:
        count = 0
        for number in range(1024):
            with contextlib.suppress(OSError):
                count += os.path.samestat(os.fstat(number), tmp_path.stat())
        return count

    files = Beneath(read=(tmp_path,))
    assert files.is_folder(tmp_path)
    assert held() == 1
    del files
    gc.collect()
    assert held() == 0


def test_a_comparison_names_what_it_could_not_read(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said that no file was there twice, although the second one lay where it could not look."""
    device.write("in/a.txt", "same")
    hidden = device.write("in/b.txt", "same")
    device.write(".starloom-trash/t/a.txt", "same")
    device.write(os.fsdecode(b"in/nur\xe9.txt"), "same")
    locked(device, "in/locked", monkeypatch)
    opened = Beneath.open

    def refuse(files: Beneath, path: Path) -> Any:
        if path == hidden:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(files, path)

    monkeypatch.setattr(Beneath, "open", refuse)
    digest = hashlib.sha256(b"same").hexdigest()
    found = device.call("fs.verify", catalogue=[{"path": "in/a.txt", "sha256": digest, "bytes": 4}], under=".")
    assert (found["same"], found["twice"], found["unread_count"]) == (True, 0, 3)
    assert [row["path"] for row in found["unread"]] == ["in/b.txt", r"in/nur\xe9.txt", "in/locked"]
    assert "may not touch" in found["unread"][0]["reason"]
    assert found["unread"][2]["reason"] == "it cannot be read: Permission denied"


def test_the_progress_of_sending_is_a_share_of_all_files(device: Device) -> None:
    for number, size in enumerate((10, 30, 60)):
        (device.folder / f"{number}.bin").write_bytes(bytes(size))
    device.call("artifact.put", paths=["0.bin", "1.bin", "2.bin"])
    assert device.said.fractions == [0.05, 0.1, 0.25, 0.4, 0.7, 1.0]
