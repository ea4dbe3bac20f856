"""How a new constellation stands at once: the question that it waits for, or the device that cannot take its tasks.

Words and recipes are planned after they are accepted, so the hub is asked again for a short time.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Final, TypedDict

from starloom.cli.constellations.explaining import explained, ways_out
from starloom.cli.constellations.reasons import alike
from starloom.client.problems import Problem
from starloom.client.routes import get_constellation_why
from starloom.client.terminal.typed import say
from starloom_protocol.text.wording import escaped, listed
from starloom_protocol.vocabulary import Code, ConstellationState, Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starloom.cli.invocation import Invocation
    from starloom.client.rest import Client
    from starloom_protocol.api.constellations import AskedRow, WhyAll, WhyRow
    from starloom_protocol.api.previews import Created


class HeldTask(TypedDict):
    """A task that cannot begin, for itself and for those alike."""

    task: str | None
    reason: Reason | None
    sentence: str
    ways: list[str]


class Standing(TypedDict):
    """A new constellation with its open questions, and with the tasks that wait for a device or beside one."""

    id: str
    state: str
    version: int
    questions: list[AskedRow]
    waiting: list[HeldTask]


_PAUSES_S: Final = (0.05, 0.1, 0.2, 0.4, 0.8)
"""The pauses between the looks at one that is planned; a plan by a model takes longer, and its command goes on."""
_SENTENCES_MOST: Final = 4
_HELD_FOR: Final = frozenset(
    {
        Reason.DEVICE_ASIDE,
        Reason.DEVICE_AWAY,
        Reason.MISSING_GRANT,
        Reason.MISSING_SECRET,
        Reason.NO_CAPABLE_DEVICE,
        Reason.OWNER_ASKED,
        Reason.TAP,
    }
)
"""The reasons of tasks that begin when a device, or a person beside one, has changed something."""


def tell_accepted(run: Invocation, created: Created) -> None:
    """Print a new constellation: its address, and for what it waits already."""
    run.constellation = created["id"]
    standing, may_read = _state_now(run.client, created)
    if run.emits(standing):
        return
    print(f"{created['id']} accepted: {run.client.address.url}/constellations/{created['id']}")
    _tell_standing(standing)
    follow = "Follow it: starloom watch - its answer: starloom result"
    say(follow if may_read else "This token may not read it; submit --wait waits for its answer and prints it.")


def _state_now(client: Client, created: Created) -> tuple[Standing, bool]:
    """Return a new constellation as it stands, and whether the token may read it.

    It is accepted whatever becomes of this look: where the hub cannot answer, it stands as it was made.
    """
    try:
        explanation = _planned(client, created["id"])
    except Problem as problem:
        return _standing(created, created["state"], [], []), problem.code != Code.FORBIDDEN
    waiting: list[HeldTask] = [
        {
            "task": group.first["task"],
            "reason": group.first.get("reason"),
            "sentence": group.sentence,
            "ways": ways_out(group.first, created["id"]),
        }
        for group in alike(item for item in explained(explanation) if item.get("reason") in _HELD_FOR)
    ]
    return _standing(created, explanation["state"], explanation.get("questions") or [], waiting), True


def _standing(created: Created, state: str, questions: list[AskedRow], waiting: list[HeldTask]) -> Standing:
    return {
        "id": created["id"],
        "state": state,
        "version": created["version"],
        "questions": questions,
        "waiting": waiting,
    }


def _planned(client: Client, identity: str) -> WhyAll | WhyRow:
    explanation = client.get(get_constellation_why(identity))
    for pause_s in _PAUSES_S:
        if explanation["state"] != ConstellationState.PLANNING:
            break
        client.pause(pause_s)
        explanation = client.get(get_constellation_why(identity))
    return explanation


def _tell_standing(standing: Standing) -> None:
    """Print for what a new constellation waits, with the lines to type; nothing where it goes on."""
    if standing["state"] == ConstellationState.AWAITING_APPROVAL:
        print("It waits for an approval:")
    tell_questions(standing["questions"])
    for task in standing["waiting"][:_SENTENCES_MOST]:
        say(task["sentence"])
        if task["ways"]:
            say(f"The way out: {' - or: '.join(task['ways'])}")
    if len(standing["waiting"]) > _SENTENCES_MOST:
        say(f"More: starloom why {standing['id']}")


def tell_questions(questions: Sequence[AskedRow]) -> None:
    """Print open questions, each with who asks and the lines that answer it."""
    for question in questions:
        # Not by `say`: a model may have written it, and no command in it is one to type.
        print(f"Asked by {question['by']}: {escaped(question['text'])}")
        lines = [_line_for(value, question["id"]) for value in question["values"]]
        lines += [f"starloom approve {question['id']} --value WORDS"] if question["words"] else []
        if question.get("yours", True):
            say(f"To answer: {' - or: '.join(lines)}")
        elif question.get("only"):
            say(f"Only the answer of {listed(question['only'])} counts.")
        else:
            from starloom.cli.text.constellation_text import OTHERS_ANSWER

            say(OTHERS_ANSWER)


def _line_for(value: str, identity: str) -> str:
    short = {"allow": f"starloom approve {identity}", "deny": f"starloom deny {identity}"}
    return short.get(value) or f"starloom approve {identity} --value {quote(value)}"
