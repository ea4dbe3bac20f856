"""The context of a model: the one builder of the text for a planner, a reviewer, a stranger and an assistant.

Pure and bounded: it reads no clock and no store. Parts that do not depend on the request or the minute stand first and
are sorted, so that two prompts of one fleet begin with the same bytes. Texts of devices stand in fences under `DATA`.
No id, key, address, folder, host, file or result is in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from starloom.planner.context import brief_words as told
from starloom.planner.context import recipes as context_recipes
from starloom.planner.context import tools
from starloom.planner.context.cards import one_line
from starloom.planner.context.devices import Devices
from starloom.planner.context.earlier import EARLIER_MOST
from starloom.planner.context.tools import Shelf
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.quoting import in_a_fence, quoted
from starloom.planner.requests.fitting import Candidate
from starloom_protocol.plan import Recipe
from starloom_protocol.values import canonical

CONTEXT_BYTES_MAX: Final = 24_000
"""The size to which the parts are filled, the fixed words included; the request comes on top."""
DEVICES_BYTES: Final = 1_600
NEAR_BYTES: Final = 4_500
NEAR_BYTES_LEAST: Final = 1_500
BEFORE_CHARS: Final = 160


@dataclass(frozen=True)
class PromptPart:
    """One part of a context: its title for people, the exact text, and whether it is the same for every request."""

    title: str
    text: str
    stable: bool = True


@dataclass(frozen=True, kw_only=True)
class Asking:
    """All that a context is made of. `today` is the date with the zone, `before` what the same person asked earlier.

    `needed` are tools that have to be shown; `fill` uses up the room, for a reader who cannot ask for more.
    """

    words: str
    fleet: FleetSnapshot
    params: Mapping[str, Any] = field(default_factory=dict)
    recipes: Sequence[Recipe] = ()
    near: Sequence[tuple[Recipe, Candidate]] = ()
    asked: Sequence[tuple[str, str]] = ()
    before: Sequence[str] = ()
    today: str = ""
    needed: Collection[str] = ()
    fill: bool = False


@dataclass(frozen=True)
class Context:
    """The parts in order, the stable ones first. `left_out` lists in sentences what had no room; the text has them."""

    parts: tuple[PromptPart, ...]
    left_out: tuple[str, ...]
    shelf: Shelf

    @property
    def stable(self) -> str:
        """The text that the next context of this fleet begins with, too."""
        return joined(part.text for part in self.parts if part.stable)


def context(asking: Asking, opening: PromptPart, more_by: str) -> Context:
    """Return the context of a request. `opening` are the fixed words; `more_by` says how more tools are asked for."""
    devices = Devices(asking.fleet)
    shelf = tools.shelf(asking.fleet, devices)
    left_out: list[str] = []
    stable = [opening, *_tools(shelf, left_out, more_by)]
    asking = replace(asking, recipes=tuple(context_recipes.possible(asking.recipes, asking.fleet)))
    recipes = context_recipes.all_of(asking.recipes)
    if recipes:
        stable.append(_part("Recipes", "The recipes", told.RECIPES, "recipes", recipes))
    stable.append(_devices(devices, left_out))
    volatile = _volatile(asking, devices)
    if asking.recipes and not recipes:
        volatile.insert(0, _near_recipes(asking, left_out, more_by))
    room = CONTEXT_BYTES_MAX - sum(size(part.text) + 2 for part in [*stable, *volatile]) - 200
    room = max(room if asking.fill else min(room, NEAR_BYTES), NEAR_BYTES_LEAST)
    near = tools.near(shelf, asking.words, room, asking.needed, fill=asking.fill)
    if near:
        about = "The nearest to the request."
        volatile.insert(0, _part("Tools near your words", "Tools near the words", about + "\n", "near", near, False))
    return Context((*stable, *volatile), tuple(left_out), shelf)


def request_part(words: str, params: Mapping[str, Any]) -> PromptPart:
    """Return the request itself, as data of the person."""
    wish = canonical({"request": words, **({"values": dict(params)} if params else {})})
    return PromptPart("Your request", f"The person asks for this:\n{wish}", stable=False)


def opening_words(fleet: FleetSnapshot, about: str, answer: str) -> str:
    """Return the fixed words: the language, two plans that are right, and how to answer.

    The device that the second plan names can run it, if one of the fleet can.
    """
    able = [device.name for device in fleet.devices if device.can_now(told.TOOLS_WITH_A_QUESTION)]
    device = min(able or (device.name for device in fleet.devices), default="DEVICE")
    # As a plan writes it: any name can stand in a plan as a JSON string.
    example = told.WITH_A_QUESTION.replace("DEVICE", quoted(device, 256))
    examples = f"Two plans that are right:\n\n```yaml\n{told.ONE_FOR_EACH_DEVICE}```\n\n```yaml\n{example}```\n"
    return (
        f"{about}\n{told.RULES}\n## The language\n\n{told.LANGUAGE}\n{examples}\n## How to answer\n\n{answer}".rstrip()
    )


def date_words(moment: datetime) -> str:
    """Return a moment of a known zone as the date that a context tells: weekday, date, zone; never the hour."""
    offset = moment.strftime("%z")
    return f"{moment:%A, %Y-%m-%d} (time zone {moment.tzname()}, UTC{offset[:3]}:{offset[3:5]})"


def fenced(kind: str, lines: Iterable[str]) -> str:
    """Return lines of data in a fence under their mark. No line can end the fence, as the name of a device would."""
    return f"DATA {kind}\n```text\n" + "\n".join(lines).replace("```", "'''") + "\n```"


def fenced_faults(lines: Iterable[str]) -> str:
    """Return what is wrong with an answer, in a fence: reasons repeat names of devices and words of their schemas."""
    return fenced("faults", map(in_a_fence, lines))


def joined(texts: Iterable[str]) -> str:
    """Return parts as one text."""
    return "\n\n".join(texts)


def size(text: str) -> int:
    """Return the bytes of a text."""
    return len(text.encode("utf-8", "replace"))


def _part(
    title: str, head: str, about: str, kind: str, lines: Sequence[str], stable: bool = True, more: str = ""
) -> PromptPart:
    return PromptPart(title, f"## {head}\n\n{about}\n{fenced(kind, lines)}{more}", stable)


def _tools(shelf: Shelf, left_out: list[str], more_by: str) -> Iterable[PromptPart]:
    lines = [tools.guided_line(tool, shelf.devices) for tool in shelf.full] or ["(no tool can be used now)"]
    yield _part("Their tools", "The tools", told.TOOLS, "tools", lines)
    missing: list[str] = []
    rest = tools.index(shelf, missing)
    if rest or missing:
        more = f"\n{missing[0]} {more_by}"
        left_out += missing
        yield _part("More tools by name", "More tools", told.MORE_TOOLS + "\n", "more", rest, more=more)
    unlisted: list[str] = []
    refused = tools.not_granted(shelf, tools.NOT_GRANTED_BYTES, unlisted)
    if refused:
        left_out += unlisted
        more = "".join(f"\n{sentence}" for sentence in unlisted)
        yield _part("Tools that are not allowed", "Not allowed yet", told.NOT_GRANTED, "grants", refused, more=more)


def _devices(devices: Devices, left_out: list[str]) -> PromptPart:
    missing: list[str] = []
    lines = devices.lines(DEVICES_BYTES, missing)
    left_out += missing
    if not lines:
        lines = ["(no device has joined yet; say so, or write the plan for devices that will)"]
    more = "".join(f"\n{sentence}" for sentence in missing)
    return _part("Your devices", "The devices", told.DEVICES + "\n", "devices", lines, more=more)


def _near_recipes(asking: Asking, left_out: list[str], more_by: str) -> PromptPart:
    lines = context_recipes.nearest(asking.recipes, asking.words)
    left_out.append(f"{len(asking.recipes) - len(lines)} of {len(asking.recipes)} recipes are not listed.")
    more = f"\n{left_out[-1]} {more_by}"
    return _part("Recipes near your words", "Recipes near the words", told.RECIPES, "recipes", lines, False, more)


def _volatile(asking: Asking, devices: Devices) -> list[PromptPart]:
    parts: list[PromptPart] = []
    if asking.near:
        lines = [context_recipes.candidate_line(recipe, candidate) for recipe, candidate in asking.near]
        about = "The words do not fit them exactly. `params` are the values found in the words.\n"
        parts.append(_part("Recipes that may be meant", "Recipes that may be meant", about, "meant", lines, False))
    now = [line for line in (devices.away(), devices.hint_of(asking.words)) if line]
    if now:
        parts.append(_part("Your devices now", "The devices now", "Of this minute.\n", "now", now, False))
    if asking.asked:
        lines = [one_line({"answer": answer, "question": question}) for question, answer in asking.asked]
        about = "Questions of the planner, and the person's answers.\n"
        parts.append(_part("What was asked and answered", "Answers", about, "answers", lines, False))
    if asking.before:
        lines = [one_line(text[:BEFORE_CHARS]) for text in asking.before[:EARLIER_MOST]]
        about = "Earlier requests of this person, the newest first, for `it` and `the same`.\n"
        parts.append(_part("What you asked before", "Asked before", about, "before", lines, False))
    if asking.today:
        parts.append(PromptPart("The date", f"Today is {asking.today}.", stable=False))
    return parts
