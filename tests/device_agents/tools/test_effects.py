"""What counts as read changes nothing: every built-in tool, with drawn arguments, beside the judge of approvals.

A call that the hub counts as reading is carried out in a folder full of files; the folder and the home are compared
before and after. Calls that count as more are not carried out: nothing is claimed of them. A task that saves files or
names further calls never counts as reading, whatever its tool and arguments are.
"""

from __future__ import annotations

import io
import os
import re
import shutil
import sqlite3
import stat
import tarfile
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from starloom.core.rights.call_effects import effects_of_call
from starloom_agent.toolkit.interface import Tool, ToolFailed
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.entities import FileOut, Input, TaskSpec, ToolOffer, UndoCall, VerifyCall
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.programs.test_git import git

ELSEWHERE: Final = ("adb.", "container.", "package.", "process.", "service.", "system.", "log.")
"""Tools that only ask other programs, which take no path of the caller; their answers depend on the machine."""
WORDS: Final = (
    "", "a.txt", "docs", "docs/b.txt", "new.txt", "data.db", "files.tar", "shop", "..", "~", "/", "x y", "HEAD", "name",
    "*.txt", "SELECT * FROM t", "INSERT INTO t VALUES (2)", "VACUUM INTO 'docs/copy.db'", "DROP TABLE t",
    "ATTACH 'docs/new.db' AS n", "PRAGMA journal_mode = WAL", "CREATE TABLE IF NOT EXISTS n AS SELECT 1",
)  # fmt: skip
TOOLS: Final = {tool.name: tool for tool in all_tools()}


def offer_of(tool: Tool) -> ToolOffer:
    by = {name: {value: list(effects) for value, effects in found.items()} for name, found in tool.effects_by.items()}
    return ToolOffer(effects=list(tool.effects), effects_by=by, name=tool.name, repeatability=tool.repeatability)


def offers(name: str) -> Iterable[ToolOffer]:
    return [offer_of(TOOLS[name])] if name in TOOLS else []


def only_reads(tool: Tool, spec: TaskSpec) -> bool:
    return effects_of_call(offer_of(tool), spec, offers) <= {Effect.READ}


def drawn(kind: inspect.Type, refs: list[dict[str, Any]], name: str = "") -> st.SearchStrategy[Any]:
    """Return a strategy for values of a type; what a type cannot say is refused by the tool's own reader."""
    match kind:
        case inspect.BoolType():
            return st.booleans()
        case inspect.NoneType():
            return st.none()
        case inspect.LiteralType(values=values):
            return st.sampled_from(values)
        case inspect.IntType():
            low = kind.ge if kind.ge is not None else 0
            return st.sampled_from([low, low + 1, min(low + 7, kind.le if kind.le is not None else low + 7)])
        case inspect.FloatType():
            return st.just(5.0 if name == "timeout_s" else max(kind.ge or 0, 0.001))
        case inspect.StrType():
            words = [word for word in WORDS if kind.pattern is None or re.search(kind.pattern, word)]
            return st.sampled_from(words or ["a"])
        case inspect.ListType() | inspect.VarTupleType():
            return st.lists(drawn(kind.item_type, refs), max_size=3)
        case inspect.DictType():
            return st.dictionaries(st.sampled_from(["a", "b"]), drawn(kind.value_type, refs), max_size=2)
        case inspect.UnionType(types=types):
            return st.one_of(*(drawn(item, refs, name) for item in types))
        case inspect.StructType() if {"artifact"} <= {field.encode_name for field in kind.fields}:
            return st.sampled_from(refs)
        case inspect.StructType():
            needed = {field.encode_name: drawn(field.type, refs, field.encode_name) for field in kind.fields}
            return st.fixed_dictionaries({}, optional=needed)
        case inspect.Metadata():
            return drawn(kind.type, refs, name)
        case _:
            return st.sampled_from([None, 1, "a.txt", [1], {"a": 1}])


def fill(device: Device) -> list[dict[str, Any]]:
    """Put files of each kind that a tool reads into the granted folder; return references to stored ones."""
    device.write("a.txt", "one\n")
    device.write("docs/b.txt", "two\n")
    database = sqlite3.connect(device.folder / "data.db")
    database.execute("CREATE TABLE t (n)")
    database.commit()
    database.close()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(device.folder / "a.txt", "a.txt")
    device.write("files.tar", packed.getvalue())
    (device.folder / "shop").mkdir()
    git(device.folder / "shop", "init", "-q", "-b", "main")
    device.write("shop/a.txt", "x\n")
    git(device.folder / "shop", "add", "-A")
    git(device.folder / "shop", "commit", "-q", "-m", "First")
    # The same bytes with another time: a program that refreshes its index would write here.
    os.utime(device.folder / "shop/a.txt", ns=(1, 1))
    made = [device.store.take(b"one\n", name="a.txt"), device.store.take(packed.getvalue(), name="files.tar")]
    return [{**ref, "path": ref["name"]} for ref in made]


def seen(*roots: Path) -> dict[str, Any]:
    """Return what stands below some folders: names, kinds, modes, links and bytes."""
    found: dict[str, Any] = {}
    for root in roots:
        for path in sorted(root.rglob("*")):
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                found[str(path)] = (mode, path.readlink())
            else:
                found[str(path)] = (mode, path.read_bytes() if stat.S_ISREG(mode) else b"")
    return found


@pytest.fixture(scope="module")
def world() -> Iterator[tuple[Device, Path, list[dict[str, Any]]]]:
    """A device with its files and a home of its own, for all examples: those that read leave it as it is."""
    home, own = Path(tempfile.mkdtemp()), os.environ.get("HOME")
    (home / "user").mkdir()
    os.environ["HOME"] = str(home / "user")
    device = Device(home)
    yield device, home / "user", fill(device)
    if own is None:
        del os.environ["HOME"]
    else:
        os.environ["HOME"] = own
    shutil.rmtree(home)


def may_only_read(tool: Tool) -> bool:
    narrowed = [effects for found in tool.effects_by.values() for effects in found.values()]
    return any(set(effects) <= {Effect.READ} for effects in (tool.effects, *narrowed))


READERS: Final = [name for name, tool in TOOLS.items() if may_only_read(tool) and not name.startswith(ELSEWHERE)]


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_a_call_that_counts_as_read_changes_nothing(
    name: str, world: tuple[Device, Path, list[dict[str, Any]]], data: st.DataObject
) -> None:
    device, home, refs = world
    tool = TOOLS[name]
    args = data.draw(drawn(inspect.type_info(tool.args), refs), label="args")
    try:
        read = msgspec.convert(args, tool.args)
    except msgspec.ValidationError:
        return  # refused before it begins
    if not only_reads(tool, TaskSpec(args=canonical(args), changed_in=1, id="t", tool=name)):
        return
    before = seen(device.folder, home)
    try:
        tool.run(device.context(), read)
    except (ToolFailed, OSError):
        pass
    finally:
        for left in device.workdir.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    assert seen(device.folder, home) == before


@given(
    name=st.sampled_from(sorted(TOOLS)),
    other=st.sampled_from(sorted(TOOLS)),
    args=st.dictionaries(
        st.sampled_from(["what", "source", "path", "to"]), st.sampled_from(["file", "x", 1]), max_size=3
    ),
    late=st.lists(st.sampled_from(["what", "source", "path"]), unique=True, max_size=2),
    saves=st.booleans(),
    undo=st.booleans(),
    verify=st.booleans(),
)
def test_a_task_has_the_effects_of_all_that_it_names(
    name: str, other: str, args: dict[str, Any], late: list[str], saves: bool, undo: bool, verify: bool
) -> None:
    given_args = {key: value for key, value in args.items() if key not in late}
    spec = TaskSpec(
        args=canonical(given_args),
        changed_in=1,
        files_out=[FileOut(output="/files/0", to="a.txt")] if saves else [],
        id="t",
        inputs=[Input(name=item, source="s") for item in late],
        tool=name,
        undo=UndoCall(tool=other) if undo else None,
        verify=VerifyCall(expect=[], tool=other) if verify else None,
    )
    found = effects_of_call(offer_of(TOOLS[name]), spec, offers)
    if saves:
        assert Effect.WRITE in found
    if undo or verify:
        assert found >= set(TOOLS[other].effects)
    if not TOOLS[name].effects_by:
        assert found >= set(TOOLS[name].effects)


def test_a_call_that_nobody_offers_may_do_everything() -> None:
    spec = TaskSpec(changed_in=1, id="t", tool="fs.read", undo=UndoCall(tool="not.there"))
    assert effects_of_call(offer_of(TOOLS["fs.read"]), spec, offers) == frozenset(Effect)
