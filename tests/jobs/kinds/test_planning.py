from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.core.state.inputs import AnyInput, PlanProposed
from starloom.jobs.claiming import Answered, NotOurs, WorkerJob
from starloom.jobs.kinds.planning import PlanJobs, fleet_of, plan_of
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.store.port import StreamState
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Device, Fault, Head, Offer, Record, ToolOffer, encode_entity
from starloom_protocol.stream.feed import FLEET
from starloom_protocol.vocabulary import Code, ConstellationState, DeviceLink, Repeatability

WORDS = "Back up the pictures of my phone to the server, check every copy, and put a contact sheet on my desktop."
TOOLS = (
    *("artifact.put", "disk.usage", "fs.find", "fs.hash", "fs.trash", "fs.verify", "fs.write"),
    *("image.check", "image.resize", "image.sheet", "notify", "system.info"),
)
CATALOGUE = load_catalogue()


def fleet_entities() -> dict[str, bytes]:
    tools = [ToolOffer(name=name, repeatability=Repeatability.IDEMPOTENT) for name in TOOLS]
    records: dict[str, Record] = {}
    for name, label in (("demo-phone", "phone"), ("demo-server", "server"), ("workbench", "desktop")):
        identity = f"d-{name}"
        device = Device(
            id=identity, joined_ms=1, key="k", name=name, labels=[label], os="linux", link=DeviceLink.ONLINE
        )
        records[f"device/{identity}"] = device
        records[f"offer/{identity}"] = Offer(digest="x", tools=tools)
    return {key: encode_entity(record) for key, record in records.items()}


def head(**fields: Any) -> Head:
    return Head(author="person:me", created_ms=1, id="c-1", name="", state=ConstellationState.PLANNING, **fields)


def test_the_words_of_the_sample_become_its_plan() -> None:
    plan = plan_of(head(request=WORDS), fleet_of(fleet_entities()), CATALOGUE)
    assert isinstance(plan, LoweredPlan), plan
    assert len(plan.specs) == 15
    assert plan.recipe == "photo-backup"


def test_a_recipe_with_parameters_becomes_a_plan() -> None:
    params = '{"source":"demo-phone","target":"demo-server"}'
    plan = plan_of(head(recipe="photo-backup", params=params), fleet_of(fleet_entities()), CATALOGUE)
    assert isinstance(plan, LoweredPlan), plan
    assert "sheet" not in {spec.id for spec in plan.specs}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"request": "sing me a song about the sea"}, Code.REQUEST_NOT_UNDERSTOOD),
        ({"request": "back up the pictures of my phone"}, Code.REQUEST_AMBIGUOUS),
        ({"recipe": "nonsense"}, Code.UNKNOWN_RECIPE),
        ({"recipe": "photo-backup"}, Code.MISSING_PARAM),
    ],
)
def test_what_cannot_be_planned_says_why(fields: dict[str, Any], code: Code) -> None:
    found = plan_of(head(**fields), fleet_of(fleet_entities()), CATALOGUE)
    assert isinstance(found, Fault)
    assert found.code is code
    assert found.reason
    assert found.hint


def test_every_fault_is_told_in_the_one_that_is_kept() -> None:
    found = plan_of(head(recipe="photo-backup"), fleet_of(fleet_entities()), CATALOGUE)
    assert isinstance(found, Fault)
    assert "source" in found.reason
    assert "target" in found.reason


class Reads:
    """A `ReadPort` with fixed streams."""

    def __init__(self, streams: dict[str, dict[str, bytes]]) -> None:
        self.streams = streams

    async def entities(self, stream: str) -> StreamState | None:
        found = self.streams.get(stream)
        return None if found is None else StreamState(1, found)


class Inbox:
    def __init__(self, answers: list[Answered]) -> None:
        self.answers = answers
        self.posted: list[PlanProposed] = []

    async def post(self, raw: bytes, *, answer_within_s: float | None) -> bytes:
        item: Any = msgspec.json.decode(raw, type=AnyInput)
        self.posted.append(item)
        return msgspec.json.encode(self.answers.pop(0))


async def carry_out(request: Head | None, inbox: Inbox) -> None:
    streams = {FLEET: fleet_entities()}
    if request is not None:
        streams["c-1"] = {"head": encode_entity(request)}
    jobs = PlanJobs(CATALOGUE)
    await jobs.carry_out(WorkerJob(Reads(streams), inbox, "c-1", "j-1", "w-1"))  # type: ignore[arg-type]


async def test_the_plan_is_proposed() -> None:
    inbox = Inbox([Answered(value={"accepted": True})])
    await carry_out(head(request=WORDS), inbox)
    [proposed] = inbox.posted
    assert proposed.plan is not None
    assert proposed.fault is None
    assert (proposed.job, proposed.worker) == ("j-1", "w-1")


async def test_a_plan_that_the_engine_refuses_becomes_its_fault() -> None:
    refusal = [
        Fault(code=Code.PLAN_CYCLE, reason="a cycle", place="dependencies[0]"),
        Fault(code=Code.UNKNOWN_TASK, reason="no task x", place="rules[0]"),
    ]
    inbox = Inbox([Answered(faults=refusal), Answered(value={"accepted": True})])
    await carry_out(head(request=WORDS), inbox)
    fault = inbox.posted[1].fault
    assert fault is not None
    assert fault.code is Code.PLAN_CYCLE
    assert "a cycle" in fault.reason
    assert "no task x" in fault.reason


async def test_a_constellation_that_is_gone_is_nobodys_job() -> None:
    with pytest.raises(NotOurs):
        await carry_out(None, Inbox([]))
