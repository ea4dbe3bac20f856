"""The replies of the blind examination are still taken as they were: parsed, lowered, or refused with their fault.

The planner was a language model that saw nothing but the prompts. Only its replies count here: the prompts may change,
and a reply that once became a plan has to be one on the same fleet. `came` is what each planning reply came to.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.answers import Stage
from starloom.planner.model.conversations.answering import Words
from starloom.planner.model.conversations.looking import LookRound
from starloom.planner.model.conversations.planning import Conversation, Planned, Withdrawn
from starloom.planner.model.port import ModelFault, Reply, Turn
from starloom.planner.model.reading import Asked, Looked, Worded, read_reply
from starloom.planner.model.transport.recorded import RecordedModel, prompt_text, replies_in
from starloom.planner.recipes.catalogue import load_catalogue
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import Offer, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Effect, Profile, Repeatability, Sharing
from tests.planner.blind.household import TOOLS
from tests.planner.fleets import device, fleet
from tests.planner.prompts import offer

HERE = Path(__file__).parent
REPLIES = HERE / "replies"
REQUESTS = {one["id"]: one for one in yaml.safe_load((HERE / "requests.yaml").read_text(encoding="utf-8"))}
FILES = sorted(file.stem for file in REPLIES.glob("*.jsonl"))
FIRST = "-first"
NONE_LEFT = "no reply is left to "
FAULTS_TOLD = "It has these faults."
READS = ("files:read",)
WRITES = (*READS, "files:write")
WORKS = (*WRITES, "git:run", "python:run")
ACTS = {
    "rooms": (Effect.READ, Repeatability.PURE),
    "set": (Effect.CHANGE, Repeatability.NEVER),
    "inbox": (Effect.READ, Repeatability.PURE),
    "read": (Effect.READ, Repeatability.PURE),
    "send": (Effect.REACH, Repeatability.NEVER),
}


def with_server(made: Offer, area: str) -> Offer:
    """Return an offer with the tools of one MCP server of the household, as an agent offers them."""
    tools = [
        ToolOffer(
            args=canonical(takes),
            effects=[ACTS[name][0]],
            grant=f"mcp:{area}",
            name=f"mcp.{area}.{name}",
            repeatability=ACTS[name][1],
            returns=canonical({"type": "object", "properties": {"structured": gives, "text": {"type": "string"}}}),
            title=title,
        )
        for name, (_, title, takes, gives) in TOOLS[area].items()
    ]
    return msgspec.structs.replace(made, grants=[*made.grants, f"mcp:{area}"], tools=[*made.tools, *tools])


def household() -> FleetSnapshot:
    profiles = {
        "mira-laptop": Profile.OPERATE,
        "attic": Profile.WORK,
        "kitchen-pi": Profile.FILES,
        "pixel": Profile.OBSERVE,
    }
    offers = {
        "mira-laptop": offer(WORKS),
        "attic": with_server(offer(WORKS), "thermo"),
        "kitchen-pi": with_server(offer(WRITES), "post"),
        "pixel": offer(READS),
    }
    made = [msgspec.structs.replace(device(name), profile=profile) for name, profile in profiles.items()]
    return fleet(*made, offers=offers)


@dataclass
class Repeated:
    """Gives the recorded replies in order; the conversation ends where there is none left."""

    replies: Sequence[str]
    given: int = 0
    turns: list[Sequence[Turn]] = field(default_factory=list)

    async def ask(self, _instructions: str, turns: Sequence[Turn], _stage: Stage = Stage.PLANNING) -> Reply:
        if self.given == len(self.replies):
            raise ModelFault(Code.MODEL_UNREACHABLE, f"{NONE_LEFT}{turns[-1].text[: len(FAULTS_TOLD)]}")
        self.turns.append(list(turns))
        self.given += 1
        return Reply(self.replies[self.given - 1])


def lines_of(stem: str, stage: Stage) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (REPLIES / f"{stem}.jsonl").read_text(encoding="utf-8").splitlines()]
    return [line | {"text": json.loads(line["reply"])["text"]} for line in found if line["stage"] == stage]


async def came_to(stem: str) -> list[str]:
    """Repeat the planning of one request and return what each reply came to."""
    request = REQUESTS[stem.removesuffix(FIRST)]
    replies = [line["text"] for line in lines_of(stem, Stage.PLANNING)]
    asked: list[tuple[str, str]] = []
    rounds: list[LookRound] = []
    came: list[str] = []
    while len(came) < len(replies):
        model = Repeated(replies[len(came) :])
        talk = Conversation(
            model,
            request["words"],
            {},
            household(),
            asked=asked,
            recipes=load_catalogue().all(),
            rounds=rounds,
            sharing=Sharing(request["share"]),
        )
        planned = await talk.plan()
        came += [*_between(model), _kind(planned)]
        if isinstance(planned, Looked):
            rounds.append(LookRound(answer=replies[len(came) - 1], cards="DATA looks", shown=planned.shown))
        if isinstance(planned, Asked):
            asked.append((planned.text, str(request["person"]["question"])))
    return came


def _between(model: Repeated) -> list[str]:
    """Return what followed each reply but the last: more tools, or faults."""
    told = [turns[-1].text.partition("\n")[0] for turns in model.turns[1:]]
    return ["tools" if text.startswith("DATA tools") else "faults" for text in told]


def _kind(planned: Planned) -> str:
    if isinstance(planned, LoweredPlan):
        return "recipe" if planned.recipe else "plan"
    if isinstance(planned, Looked):
        return "look"
    if isinstance(planned, Asked):
        return "question"
    if isinstance(planned, Words):
        return "answer"
    if isinstance(planned, Withdrawn):
        return "withdrawn"
    if planned.reason == NONE_LEFT + FAULTS_TOLD or "still has faults" in planned.reason:
        return "faults"
    return "cannot" if "says that it cannot" in planned.reason else planned.reason


@pytest.mark.parametrize("stem", FILES)
async def test_each_reply_comes_to_what_it_came_to_then(stem: str) -> None:
    assert await came_to(stem) == [line["came"] for line in lines_of(stem, Stage.PLANNING)]


def test_every_request_has_its_replies() -> None:
    assert {stem.removesuffix(FIRST) for stem in FILES} == set(REQUESTS)


@pytest.mark.parametrize("stem", FILES)
def test_each_answer_in_words_is_read_as_one(stem: str) -> None:
    for line in lines_of(stem, Stage.ANSWERING):
        read = read_reply(Reply(line["text"]))
        assert isinstance(read, Worded), read


async def test_a_recording_without_prompts_repeats_by_their_hashes() -> None:
    file = REPLIES / f"{FILES[0]}.jsonl"
    replies = replies_in(file.read_bytes().splitlines())
    assert set(replies) == {json.loads(line)["asked"] for line in file.read_text(encoding="utf-8").splitlines()}
    turns = [Turn("starloom", "How full is it?")]
    prompt = prompt_text("Plan.", turns, Stage.PLANNING)
    line = canonical(
        {"asked": sha256(prompt.encode()).hexdigest(), "reply": canonical({"text": "{}"}), "stage": "planning"}
    )
    model = RecordedModel(replies_in([line.encode()]), "x.jsonl")
    assert (await model.ask("Plan.", turns)).text == "{}"
    with pytest.raises(ModelFault, match="no reply to this prompt"):
        await model.ask("Plan it.", turns)
