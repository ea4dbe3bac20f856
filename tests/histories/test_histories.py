"""Every landed version's logs still fold, and are decided again to the same events but for what changed on purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from starloom.engine.redeciding import redecide
from starloom.store.chain import Walk
from starloom_protocol.stream.feed import ACCESS, FLEET, decode_event, fold
from tests.histories.kept import FOLDER, expected, read
from tests.store.memory import MemoryHistory, MemoryStore

LOGS = sorted(FOLDER.glob("*/*.ndjson"))


def test_there_are_histories_of_the_first_version() -> None:
    assert len([path for path in LOGS if path.parent.name == "0.1.0"]) >= 3


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_a_history_is_decided_again(path: Path) -> None:
    history = read(path)
    store = MemoryStore(history=history)
    differences = 0
    for name in [stream for stream in history.streams if stream not in (ACCESS, FLEET)]:
        events = [decode_event(raw) for raw in history.streams[name]]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        assert "head" in fold({}, events)
        found = await redecide(store, name)
        assert found.exact, found.note
        differences = max(differences, len(found.differences))
    assert differences == expected(path.parent).get(path.stem, 0)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_a_history_verifies(path: Path) -> None:
    history = read(path)
    walk = Walk()
    walk.take(await MemoryStore(history=history).commits_after(0, len(history.commits)))
    walk.ended(history.meta.watermark)
    assert walk.breaks == []


async def decided_the_same() -> tuple[MemoryHistory, set[str]]:
    """Return a history with the constellations in it that are decided again without any difference."""
    for path in LOGS:
        history = read(path)
        store = MemoryStore(history=history)
        names = [stream for stream in history.streams if stream not in (ACCESS, FLEET)]
        same = {name for name in names if not (await redecide(store, name)).differences}
        if same:
            return history, same
    raise AssertionError("no history has a constellation that is decided the same")


async def test_an_input_of_a_removed_kind_leaves_the_history_readable() -> None:
    history, same = await decided_the_same()
    at = next(
        at
        for at, commit in enumerate(history.commits)
        if any(decode_event(raw).stream in same for raw in commit.events)
        and not any(raw.startswith(b'{"k":"taken"') for raw in commit.inputs)
    )
    stream = next(name for raw in history.commits[at].events if (name := decode_event(raw).stream) in same)
    removed = b'{"k":"propose","by":"device:d","device":"d","frame":{},"id":"x","operations":[]}'
    history.commits[at] = replace(history.commits[at], inputs=[removed])
    found = await redecide(MemoryStore(history=history), stream)
    assert found.differences == []
    assert (found.exact, found.without_inputs) == (False, 1)
    assert "no inputs that this version can decide" in found.note
