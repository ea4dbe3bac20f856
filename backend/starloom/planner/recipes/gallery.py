"""The gallery of recipes: for each its shape of tasks, and its sentence filled with the devices that are here.

Pure over a recipe and the picture of the fleet. Starts nothing: a sentence is text to type, the preview judges it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from starloom.planner.abilities import ability
from starloom.planner.fleet import DeviceSnapshot, FleetSnapshot, of_class
from starloom.planner.recipes.catalogue import param_title
from starloom_protocol.api.recipes import (
    LackRow,
    RecipeCard,
    RecipeDemo,
    RecipeSentence,
    RecipeShape,
    SentencePart,
    ShapeTask,
)
from starloom_protocol.plan import ParamDoc, Recipe

SHAPE_TASKS_MOST: Final = 24
"""A picture of more tasks than this cannot be read at the size of a card."""
NAMED_MOST: Final = 2
_SLOT: Final = re.compile(r"\{([^{}]*)\}")
_KINDS: Final = {"phone": "phone", "picture": "phone", "desk": "desktop", "server": "server", "target": "server"}
"""Word of a parameter or its title -> the class of device that people mean by it."""
_EXAMPLES: Final = {
    "argv": "`uptime`",
    "file": "invoice",
    "files": "PDFs",
    "hosts": "example.org",
    "path": "Documents",
    "service": "nginx",
    "since": "yesterday",
    "url": "example.org",
}
_TAB_ONLY: Final = ("camera.", "file.pick", "file.save", "clipboard.", "location.", "share.")
"""Tools that only a browser tab offers, which joins as a phone does."""


@dataclass(frozen=True)
class Part:
    """A piece of the sentence: plain words, the name of a device, or a value that a person may change."""

    text: str
    kind: Literal["words", "device", "value", "missing"] = "words"

    def plain(self) -> SentencePart:
        return {"kind": self.kind, "text": self.text}


@dataclass
class Filled:
    """A recipe's sentence on a fleet. `lacks` says for each slot without a device what is needed; `ungranted` names
    devices whose owners have not allowed what it needs.
    """

    parts: list[Part] = field(default_factory=list)
    lacks: list[LackRow] = field(default_factory=list)
    ungranted: list[str] = field(default_factory=list)

    single: bool = False
    """A slot for several devices has one, as there is no other."""

    @property
    def words(self) -> str:
        return "".join(part.text for part in self.parts)

    def plain(self) -> RecipeSentence:
        """Return it as a JSON value."""
        return {
            "lacks": self.lacks,
            "parts": [part.plain() for part in self.parts],
            "ungranted": self.ungranted,
            "words": self.words,
        }


def card(recipe: Recipe, fleet: FleetSnapshot) -> RecipeCard:
    """Return the gallery's card of a recipe on this fleet, as a JSON value."""
    return {
        "demo": _demo(recipe, fleet),
        "purpose": recipe.purpose,
        "sentence": filled(recipe, fleet).plain(),
        "shape": shape(recipe.plan),
    }


def _demo(recipe: Recipe, fleet: FleetSnapshot) -> RecipeDemo | None:
    """Return the trial of a recipe with the demo devices that are here; None if it is not made for them.

    `words` are empty while no demo device is in reach.
    """
    if recipe.demo is None:
        return None
    demos = FleetSnapshot(tuple(device for device in fleet.devices if device.demo and device.online))
    phrase = filled(recipe, demos, recipe.demo.params, every_device=True)
    ready = not phrase.lacks and not phrase.ungranted
    devices = [part.text for part in phrase.parts if part.kind == "device"]
    return {"devices": devices, "leaves": recipe.demo.leaves, "words": phrase.words if ready else ""}


def filled(
    recipe: Recipe, fleet: FleetSnapshot, values: Mapping[str, str] | None = None, *, every_device: bool = False
) -> Filled:
    """Return a phrase of a recipe filled with devices that offer its tools: the first that leaves nothing open.

    `every_device`: a phrase that names its devices is taken, as groups over all pass demo devices over.
    """
    values_given = values or {}
    phrase = _phrase(recipe, set(values_given), every_device=every_device)
    return _fill(recipe, phrase, fleet, values_given) if phrase else Filled([Part(recipe.title)])


def every_sentence(recipe: Recipe, fleet: FleetSnapshot, *, most: int = NAMED_MOST) -> list[Filled]:
    """Return each phrase of a recipe filled with devices that are here, at most so many for each of its places."""
    return [_fill(recipe, phrase, fleet, {}, most) for phrase in recipe.phrases]


def _phrase(recipe: Recipe, needed: set[str], *, every_device: bool) -> str:
    for name, param in recipe.params.items():
        open_ = param.default is None and not param.optional
        if open_ or (every_device and param.type == "device" and not param.optional):
            needed = needed | {name}
    fitting = [phrase for phrase in recipe.phrases if needed <= set(_SLOT.findall(phrase))]
    return next(iter([*fitting, *recipe.phrases]), "")


def _fill(
    recipe: Recipe, phrase: str, fleet: FleetSnapshot, values: Mapping[str, str], most: int = NAMED_MOST
) -> Filled:
    sentence, devices_of = Filled(), dict[str, tuple[str, ...]]()
    at = 0
    for slot in _SLOT.finditer(phrase):
        sentence.parts += [Part(phrase[at : slot.start()])] if slot.start() > at else []
        at = slot.end()
        name = slot.group(1)
        param = recipe.params[name]
        if param.type == "device":
            sentence.parts += _devices(recipe, phrase, name, fleet, devices_of, sentence, most)
        else:
            sentence.parts.append(Part(values.get(name) or _value(name, param), "value"))
    sentence.parts += [Part(phrase[at:])] if at < len(phrase) else []
    _look_beyond(recipe, phrase, fleet, devices_of, sentence)
    return sentence


def _devices(
    recipe: Recipe,
    phrase: str,
    name: str,
    fleet: FleetSnapshot,
    devices_of: dict[str, tuple[str, ...]],
    sentence: Filled,
    most: int,
) -> Iterator[Part]:
    param = recipe.params[name]
    used = {one for names in devices_of.values() for one in names}
    fitting = _fitting(name, param, fleet, used | _alone_able(name, recipe, phrase, fleet))
    barred = set(devices_of.get(param.not_same or "", ()))
    devices = [device for device in fitting if device.name not in barred]
    devices = devices[: most if param.takes_many else 1]
    if not devices:
        sentence.lacks.append(_lack(name, param, second=bool(fitting)))
        yield Part(f"another {_noun(name, param)}" if fitting else f"a {_noun(name, param)}", "missing")
        return
    devices_of[name] = tuple(device.name for device in devices)
    sentence.single = sentence.single or (param.takes_many and len(devices) == 1)
    for at, device in enumerate(devices):
        if at:
            yield Part(" and ")
        yield Part(device.name, "device")
        if not _allowed(device, param) and device.name not in sentence.ungranted:
            sentence.ungranted.append(device.name)


def _alone_able(name: str, recipe: Recipe, phrase: str, fleet: FleetSnapshot) -> set[str]:
    """Return the devices that alone can fill another slot of the phrase: a phone is left for the slot of the phone."""
    alone: set[str] = set()
    for other in _SLOT.findall(phrase):
        param = recipe.params[other]
        able = fleet.able(param.needs) if param.type == "device" and other != name else ()
        alone.update({able[0].name} if len(able) == 1 else ())
    return alone


def _look_beyond(
    recipe: Recipe, phrase: str, fleet: FleetSnapshot, devices_of: Mapping[str, tuple[str, ...]], sentence: Filled
) -> None:
    """Note what a device parameter lacks that the phrase does not name: its default must meet a device, too."""
    for name, param in recipe.params.items():
        if param.type == "device" and not param.optional and name not in devices_of and f"{{{name}}}" not in phrase:
            able = fleet.able(param.needs)
            if not able:
                sentence.lacks.append(_lack(name, param, second=False))
            elif not any(_allowed(device, param) for device in able):
                sentence.ungranted += [device.name for device in able if device.name not in sentence.ungranted][
                    :NAMED_MOST
                ]


def _fitting(name: str, param: ParamDoc, fleet: FleetSnapshot, used: Iterable[str]) -> list[DeviceSnapshot]:
    """Return the devices that offer the tools of a slot, the best first: own, of its kind, allowed, in reach, free."""
    able = [device for device in fleet.able(param.needs) if device.tools]
    kind = _kind(name, param)
    alike = {device.name for device in of_class(kind, able, guess=False)} if kind else set[str]()
    elsewhere = set(used)
    return sorted(
        able,
        key=lambda device: (
            device.demo,
            device.name in elsewhere,
            device.name not in alike,
            not _allowed(device, param),
            not device.online,
            device.name,
        ),
    )


def _kind(name: str, param: ParamDoc) -> str:
    words = re.findall(r"[a-z]+", f"{name} {param.title or ''}".casefold())
    return next((_KINDS[word.rstrip("s")] for word in words if word.rstrip("s") in _KINDS), "")


def _allowed(device: DeviceSnapshot, param: ParamDoc) -> bool:
    return all(not device.tools[tool].unavailable for tool in param.needs if tool in device.tools)


def _lack(name: str, param: ParamDoc, *, second: bool) -> LackRow:
    tab = any(tool.startswith(_TAB_ONLY) for tool in param.needs)
    if second:
        reason = "it takes a second device"
    else:
        reason = f"no device here can {ability(param.needs)}{'; the browser of a phone can' if tab else ''}"
    return {"reason": reason, "slot": param_title(name, param), "way": "phone" if tab else "line"}


def _noun(name: str, param: ParamDoc) -> str:
    return {"phone": "phone", "server": "server", "desktop": "computer"}.get(_kind(name, param), "device")


def _value(name: str, param: ParamDoc) -> str:
    if param.example:
        return param.example
    if param.values:
        return param.values[str(param.default)][0]
    if isinstance(param.default, str | int | float) and str(param.default).strip(". "):
        return str(param.default)
    return _EXAMPLES.get(param.type) or param_title(name, param).casefold()


def shape(plan: Mapping[str, Any]) -> RecipeShape:
    """Return the tasks of a plan as a small drawing: columns in order of what follows what, rows within a column.

    `on` is the device parameter of a task, `many` whether it runs once for each of a list. Empty for a plan that is too
    large for a card.
    """
    tasks = [task for task in plan.get("tasks", []) if isinstance(task, dict) and "id" in task]
    links = _links(plan, tasks)
    if not 0 < len(tasks) <= SHAPE_TASKS_MOST:
        return {"columns": 0, "links": [], "rows": 0, "tasks": []}
    columns = _columns([str(task["id"]) for task in tasks], links)
    filled_rows: dict[int, int] = {}
    drawn: list[ShapeTask] = []
    same = {str(task["id"]): task for task in tasks}
    for task in tasks:
        column = columns[str(task["id"])]
        row = filled_rows.get(column, 0)
        filled_rows[column] = row + 1
        drawn.append(
            {"column": column, "many": "for_each" in task, "on": _place(task, same), "row": row, "tool": _tool(task)}
        )
    index = {str(task["id"]): at for at, task in enumerate(tasks)}
    return {
        "columns": max(columns.values()) + 1,
        "links": [(index[first], index[second]) for first, second in links],
        "rows": max(filled_rows.values()),
        "tasks": drawn,
    }


def _tool(task: Mapping[str, Any]) -> str:
    tool = task.get("tool")
    return tool if isinstance(tool, str) else ""


def _place(task: Mapping[str, Any], tasks: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the device parameter that a task runs on, by its own word or by the group that it repeats."""
    seen: set[str] = set()
    while True:
        group = task.get("for_each")
        for selector in (task.get("device"), group.get("devices") if isinstance(group, dict) else None):
            if isinstance(selector, dict) and isinstance(selector.get("param"), str):
                return str(selector["param"])
        follows = group.get("same") if isinstance(group, dict) else None
        if not isinstance(follows, str) or follows in seen or follows not in tasks:
            return None
        seen.add(follows)
        task = tasks[follows]


def _links(plan: Mapping[str, Any], tasks: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    ids = {str(task["id"]) for task in tasks}
    links: dict[tuple[str, str], None] = {}
    for task in tasks:
        group = task.get("for_each")
        sources = [group.get("from"), group.get("same")] if isinstance(group, dict) else []
        inputs = task.get("inputs")
        inputs_given = list(inputs.values()) if isinstance(inputs, dict) else []
        sources += [one.get("from") for one in inputs_given if isinstance(one, dict)]
        links.update({(source, str(task["id"])): None for source in sources if source in ids})
    for item in plan.get("dependencies", []):
        if isinstance(item, dict) and item.get("from") in ids and item.get("to") in ids:
            links[str(item["from"]), str(item["to"])] = None
    return list(links)


def _columns(names: Sequence[str], links: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Return the longest way to each task; a circle, which no plan that runs has, ends after as many rounds."""
    columns = dict.fromkeys(names, 0)
    for _ in names:
        moved = False
        for first, second in links:
            if columns[second] <= columns[first]:
                columns[second], moved = columns[first] + 1, True
        if not moved:
            break
    return columns
