"""Golden logs fold to the entities and hash they were written with, byte for byte, and load to a sound shard."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from starloom.core.state.apply import full_key, load
from starloom.core.state.invariants import check
from starloom.core.state.model import Shard
from starloom_protocol.records.entities import decode_entity, encode_entity
from starloom_protocol.stream.feed import decode_event, encode_event, fold, state_hash
from tests.core.golden_logs import FOLDER, SCENARIOS


class Log(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    stream: str
    hash: str
    events: list[msgspec.Raw]
    entities: dict[str, msgspec.Raw]


LOGS = sorted(FOLDER.glob("*.json"))


def test_every_scenario_has_its_log() -> None:
    assert {path.stem for path in LOGS} >= set(SCENARIOS)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_log_folds_to_its_entities(path: Path) -> None:
    log = msgspec.json.decode(path.read_bytes(), type=Log)
    events = [decode_event(raw) for raw in log.events]
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert {event.stream for event in events} == {log.stream}
    assert [encode_event(event) for event in events] == [bytes(raw) for raw in log.events]
    folded = fold({}, events)
    assert folded == {key: bytes(raw) for key, raw in log.entities.items()}
    assert state_hash(folded) == log.hash


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_log_loads_to_a_shard_that_holds(path: Path) -> None:
    log = msgspec.json.decode(path.read_bytes(), type=Log)
    shard = Shard()
    load(shard, log.stream, len(log.events), {key: decode_entity(key, raw) for key, raw in log.entities.items()})
    check(shard)
    stream = shard.stream(log.stream)
    now = {full_key(kind, key): encode_entity(record) for kind, key, record in stream.records()}
    assert now == {key: bytes(raw) for key, raw in log.entities.items()}


def test_the_family_log_tells_of_four_versions() -> None:
    log = msgspec.json.decode((FOLDER / "photo-backup.json").read_bytes(), type=Log)
    authors = [msgspec.json.decode(log.entities[f"version/{n}"])["author"] for n in range(1, 5)]
    assert authors == ["person:ann", "expand", "rule:duplicates", "rule:recheck"]
