"""A link swapper beside every file tool: nothing outside the granted folder is read or changed (T27).

Once with the door alone, by the kernel's own resolution and part by part, and once as a device runs a tool: in a
process of its own that Landlock holds. Git opens files itself, so it is raced in its cage only. FULL=1 takes minutes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from starloom_agent.toolkit import beneath
from starloom_agent.toolkit.interface import ToolContext
from starloom_agent.work import registry
from starloom_protocol.records.entities import FileOut
from tests.device_agents.played_call import Loop
from tests.device_agents.wire.test_artifacts import Store
from tests.guard.confined import as_a_device, storing
from tests.guard.links import CANARY, ROUNDS, Place, Swapper, attacks, furnish
from tests.waiting import PATIENCE_S

RACE_S = 0.1 * ROUNDS
CALLS = ROUNDS
TOOLS = {tool.name: tool for tool in registry.all_tools()}


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    """Runners that are forked, as an agent has them."""
    made = Loop(warm=True)
    yield made
    made.close()


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Place:
    made = Place(tmp_path)
    furnish(made, git="git-" in request.node.name)
    return made


NAMES = (
    "list", "find", "find-whole", "search", "read", "stat", "hash", "verify", "write-text", "write-files",
    "copy-into", "copy-from", "move-into", "move-from", "trash", "restore", "trash-list", "trash-empty", "put", "get",
    "pack", "zip", "unpack", "archive-verify", "rotate", "log", "image", "query", "database", "git-log",
    "git-archive", "git-clone",
)  # fmt: skip


def test_the_race_knows_every_file_tool(place: Place) -> None:
    raced = {name for name, _ in attacks(place).values()} | {"fs.stat"}
    takes_paths = {tool.name for tool in TOOLS.values() if tool.grant in ("files:read", "files:write", "git:run")}
    assert takes_paths - raced == {"git.status"}
    assert tuple(attacks(place)) == NAMES
    for name in raced:
        assert TOOLS[name].confined or TOOLS[name].caged, name


def test_the_swapper_catches_an_opening_by_name(place: Place) -> None:
    context: ToolContext = place.device.context()
    with Swapper(place):
        deadline = time.monotonic() + PATIENCE_S
        caught = False
        while not caught and time.monotonic() < deadline:
            try:
                caught = CANARY in context.resolve_read("d/id_rsa").read_text(encoding="utf-8")
            except Exception:  # noqa: S112 - a refusal is no catch
                continue
    assert caught


@pytest.mark.parametrize("way", ["kernel", "parts"])
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("git-")])
def test_no_tool_leaves_its_folder(name: str, way: str, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beneath, "kernel_resolves", lambda: way == "kernel")
    tool, args = attacks(place)[name]
    before = place.seen_outside()
    values = []
    with Swapper(place):
        deadline = time.monotonic() + RACE_S
        while True:
            values.append(place.call(tool, **args))
            if time.monotonic() > deadline:
                break
    assert place.seen_outside() == before
    assert place.leaked(*values) == []


@pytest.fixture
def hub(place: Place) -> Iterator[tuple[Store, Path]]:
    with storing(place) as made:
        yield made


@pytest.mark.parametrize("name", NAMES)
def test_no_confined_process_leaves_its_folder(name: str, loop: Loop, place: Place, hub: tuple[Store, Path]) -> None:
    store, connection = hub
    tool, args = attacks(place)[name]
    for kept in place.device.store.folder.iterdir():
        store.whole[kept.name] = kept.read_bytes()
    before = place.seen_outside()
    with Swapper(place):
        ends = [as_a_device(loop, place, connection, tool, args) for _ in range(CALLS)]
    assert place.seen_outside() == before
    assert place.leaked(*[(end.value, end.detail, end.tail) for end in ends], *store.whole.values()) == []


def test_a_result_file_leaves_no_folder(loop: Loop, place: Place, hub: tuple[Store, Path]) -> None:
    store, connection = hub
    before = place.seen_outside()
    out = [FileOut(output="/files/0", to="e/sub/rc")]
    with Swapper(place):
        for _ in range(CALLS):
            as_a_device(loop, place, connection, "artifact.put", {"paths": ["src/rc"]}, files_out=out)
    assert place.seen_outside() == before
    assert place.leaked(*store.whole.values()) == []


def test_a_program_in_the_cage_leaves_no_folder(loop: Loop, place: Place, hub: tuple[Store, Path]) -> None:
    store, connection = hub
    before = place.seen_outside()
    code = (
        "import os, pathlib\n"
        f"for name in ('d/id_rsa', 'inner/a.txt'):\n"
        f"    try: print(pathlib.Path('{place.docs}', name).read_text())\n"
        "    except OSError: pass\n"
        f"os.symlink('{place.outside}/d/id_rsa', 'out/a'); os.symlink('{place.outside}/d', 'out/d')\n"
        f"os.symlink('{place.outside}/d/id_rsa', 'result.json')\n"
    )
    with Swapper(place):
        ends = [as_a_device(loop, place, connection, "python.run", {"code": code}) for _ in range(CALLS)]
    assert place.seen_outside() == before
    assert place.leaked(*[(end.value, end.detail, end.tail) for end in ends], *store.whole.values()) == []
