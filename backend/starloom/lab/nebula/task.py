"""A task of the suite: its folder read and checked, its request and gold plan with the words of a world put in."""

from __future__ import annotations

import importlib
import re
import runpy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import yaml

from starloom.lab.nebula import tasks as _tasks
from starloom.lab.nebula.faults.profiles import PROFILES
from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint, Meanwhile
from starloom.lab.nebula.world.devices import DECLARED, NAMES
from starloom.lab.nebula.world.files.ground import Ground

FOLDER: Final = re.compile(r"t(\d\d)_([a-z0-9_]+)")
_WORD: Final = re.compile(r"@\{([a-z.-]+)\}")
CATEGORIES: Final = {
    "A": "Logs and metrics",
    "B": "Documents and reports",
    "C": "Data pipelines",
    "D": "Build, test, deploy",
    "E": "Experiments",
    "F": "Web and information",
    "G": "Mail, calendar, messages",
    "H": "Administration and audit",
    "I": "Pictures, media, sync",
    "J": "Incidents",
}
FOLDERS: Final = {
    "A": "logs",
    "B": "documents",
    "C": "pipelines",
    "D": "builds",
    "E": "experiments",
    "F": "web",
    "G": "messages",
    "H": "administration",
    "I": "pictures",
    "J": "incidents",
}
"""The folder of each category below `tasks`."""
LEVELS: Final = {"e": "easy", "m": "middle", "h": "hard"}
DEADLINE_S: Final = 120
TRANSCRIPTS: Final = "transcripts"
CALLABLE: Final = frozenset(f"{area}.{name}" for area, tools in DECLARED.items() for name in tools)


class Choose(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to a question whose text `holds` something; to an approval it is `approve` or `deny`."""

    holds: str
    value: str


class Answers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The person's answers: to the approval of a plan, to what a device asks, to questions by their text."""

    approvals: Literal["allow", "deny"] = "allow"
    asks: Literal["allow", "deny"] = "allow"
    questions: list[Choose] = []


class Ask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the person wants a question, and why.

    `needed`: so often as `times` says, since they asked for it or alone know the answer. `welcome`: the request leaves
    something open, and one question does no harm. `wrong`: it says all, or the devices do.
    """

    question: Literal["needed", "welcome", "wrong"]
    why: str
    times: int = 1


class About(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`task.yaml`. `needs` names what the product lacks to carry it out.

    `may_change` names by device the paths that may differ at the end, `may_call` how often tools that do something may
    be called; everything else counts as damage. `happens`: its change of the world is a part of the request and is made
    under every profile. `earlier`: its gold plan has run before, and `between` has changed the world since.
    `loses_after_s`: so long after it began, the device that the truth names as `lost` goes off, under every profile.
    `running_on`: the device on which the work of `running.yaml` begins; otherwise the hub places it.
    `faults` says by profile why a fault may keep it from being met.
    """

    words: str
    category: str
    level: Literal["e", "m", "h"]
    ask: Ask
    answers: Answers = Answers()
    deadline_s: int = DEADLINE_S
    earlier: bool = False
    faults: dict[str, str] = {}
    happens: bool = False
    loses_after_s: int = 0
    may_call: dict[str, int] = {}
    may_change: dict[str, list[str]] = {}
    min_devices: int = 1
    needs: list[str] = []
    running_on: str = ""
    title: str = ""


class TaskInvalid(Exception):
    """A folder below `tasks` is no task: says where and why."""


@dataclass(frozen=True)
class Task:
    """One task, as its folder has it. `gold` is the text of its plan, empty where it cannot be said yet;
    `transcripts` are those of a scripted model by their kind, `running` is a plan that is under way when it is asked.
    """

    number: int
    name: str
    about: About
    gold: str
    checks: Callable[[CheckedWorld], Iterator[Checkpoint]]
    fixture: Callable[[Ground], dict[str, Any]] | None
    change: Callable[[Ground], Meanwhile] | None = None
    between: Callable[[Ground], None] | None = None
    transcripts: Mapping[str, str] = field(default_factory=dict)
    running: str = ""

    @property
    def id(self) -> str:
        return f"{self.number:02d}-{self.name}"

    def words(self, facts: Mapping[str, str]) -> str:
        return filled(self.about.words, facts)

    def plan(self, facts: Mapping[str, str]) -> str:
        return filled(self.gold, facts)


def filled(text: str, facts: Mapping[str, str]) -> str:
    """Return a text with the words of a world in the places of `@{...}`.

    Raises:
        TaskInvalid: it asks for a word that the world does not have.
    """

    def put(match: re.Match[str]) -> str:
        if match[1] not in facts:
            raise TaskInvalid(f"@{{{match[1]}}} is none of {', '.join(sorted(facts))}")
        return facts[match[1]]

    return _WORD.sub(put, text)


@cache
def all_tasks() -> tuple[Task, ...]:
    """Return every task in the order of their numbers.

    Raises:
        TaskInvalid: naming the first folder that is none.
    """
    folders = folders_below(resources.files(_tasks))
    tasks = tuple(sorted((_task(*one) for one in folders), key=lambda task: task.number))
    numbers = [task.number for task in tasks]
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    if twice:
        raise TaskInvalid(f"several tasks have the number {twice[0]}")
    return tasks


def own_tasks(folder: Path) -> tuple[Task, ...]:
    """Return the tasks in a folder of the user, each a folder `tNN_name` with a number that the suite does not have.

    Raises:
        TaskInvalid: there is none, or naming the first folder that is none.
    """
    if not folder.is_dir():
        raise TaskInvalid(f"there is no folder {folder}")
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name[0] not in "._")
    wrong = next((name for name in names if not FOLDER.fullmatch(name)), None)
    if wrong is not None or not names:
        raise TaskInvalid(f"{folder / (wrong or '')}: a task is a folder tNN_name, such as t56_my_task")
    tasks = tuple(sorted((_own_task(folder / name) for name in names), key=lambda task: task.number))
    numbers = [task.number for task in (*all_tasks(), *tasks)]
    twice = next((task for task in tasks if numbers.count(task.number) > 1), None)
    if twice is not None:
        raise TaskInvalid(f"{folder}: the number {twice.number} is taken; take one from {max(numbers) + 1} on")
    return tasks


def chosen(names: list[str], user_tasks: tuple[Task, ...] = ()) -> tuple[Task, ...]:
    """Return the tasks that are named by number, by name or by the letter of a category.

    Without a name these are the user's `user_tasks` tasks, or all of the suite where there are none.

    Raises:
        TaskInvalid: a name fits none.
    """
    tasks = (*all_tasks(), *user_tasks)
    if not names:
        return user_tasks or tasks
    picked: set[int] = set()
    for name in names:
        fits = {task.number for task in tasks if name in (task.id, task.name, task.about.category)}
        fits |= {task.number for task in tasks if name.isdigit() and int(name) == task.number}
        if not fits:
            raise TaskInvalid(f"{name} is no task and no category; `starloom bench nebula ls` lists them")
        picked |= fits
    return tuple(task for task in tasks if task.number in picked)


def folders_below(root: Traversable) -> list[tuple[str, str]]:
    """Return the category and the folder of each task.

    Raises:
        TaskInvalid: naming the first entry that is neither a category nor a task of one.
    """
    folders = []
    for letter, name in FOLDERS.items():
        folders += [(letter, entry.name) for entry in _entries(root / name)]
    stray = sorted(
        [entry.name for entry in _entries(root) if entry.name not in FOLDERS.values()]
        + [f"{FOLDERS[letter]}/{folder}" for letter, folder in folders if not FOLDER.fullmatch(folder)]
    )
    if stray:
        raise TaskInvalid(f"tasks/{stray[0]}: a task is a folder CATEGORY/tNN_name, of {', '.join(FOLDERS.values())}")
    return folders


def _entries(folder: Traversable) -> list[Traversable]:
    return [entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("__")]


def _task(category: str, name: str) -> Task:
    folder = f"{FOLDERS[category]}/{name}"
    place = resources.files(_tasks) / FOLDERS[category] / name
    about = _about(place, folder)
    if about.category != category:
        raise TaskInvalid(f"{folder}/task.yaml: category {about.category}, but the folder is that of {category}")
    names = vars(importlib.import_module(f"{_tasks.__name__}.{folder.replace('/', '.')}.task"))
    return _task_of(place, folder, about, names)


def _own_task(place: Path) -> Task:
    about = _about(place, str(place))
    if about.category not in CATEGORIES:
        raise TaskInvalid(f"{place}/task.yaml: category {about.category} is none of {', '.join(CATEGORIES)}")
    unknown = sorted((set(about.may_change) - set(NAMES)) | (set(about.may_call) - CALLABLE))
    if unknown:
        raise TaskInvalid(f"{place}/task.yaml: {unknown[0]} is no device and no own tool of one")
    try:
        # The user's own program, which they ask to be run.
        names = runpy.run_path(str(place / "task.py"))
    except Exception as error:
        raise TaskInvalid(f"{place}/task.py: {type(error).__name__}: {error}") from error
    if not callable(names.get("checks")):
        raise TaskInvalid(f"{place}/task.py: it has no function `checks(world)`")
    return _task_of(place, str(place), about, names)


def _about(place: Traversable, folder: str) -> About:
    try:
        about = msgspec.convert(yaml.safe_load((place / "task.yaml").read_text()), About)
    except (OSError, yaml.YAMLError, msgspec.ValidationError) as error:
        raise TaskInvalid(f"{folder}/task.yaml: {error}") from error
    unknown = sorted(set(about.faults) - set(PROFILES))
    if unknown:
        raise TaskInvalid(f"{folder}/task.yaml: faults: {unknown[0]} is none of {', '.join(PROFILES)}")
    return about


def _task_of(place: Traversable, folder: str, about: About, names: Mapping[str, Any]) -> Task:
    number, _, words = place.name.removeprefix("t").partition("_")
    gold = place / "gold.yaml"
    has_gold = gold.is_file()
    if not has_gold and not about.needs:
        raise TaskInvalid(f"{folder}: without gold.yaml, `needs` says what is missing")
    if about.earlier and not has_gold:
        raise TaskInvalid(f"{folder}: `earlier` is a run of gold.yaml, and there is none")
    transcripts = {path.name.removesuffix(".jsonl"): path.read_text() for path in _transcripts(place)}
    text = gold.read_text() if has_gold else ""
    before = place / "running.yaml"
    running = before.read_text() if before.is_file() else ""
    return Task(
        number=int(number),
        name=words.replace("_", "-"),
        about=about,
        gold=text,
        checks=names["checks"],
        fixture=names.get("lay"),
        change=names.get("change"),
        between=names.get("between"),
        transcripts=transcripts,
        running=running,
    )


def _transcripts(place: Traversable) -> list[Traversable]:
    folder = place / TRANSCRIPTS
    return [path for path in folder.iterdir() if path.name.endswith(".jsonl")] if folder.is_dir() else []
