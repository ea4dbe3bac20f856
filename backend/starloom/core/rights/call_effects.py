"""The effects and the places of a call, with everything that its task adds to it. Pure; the only source of both.

A task changes the world by its tool, by the files that it saves beside its result (`files_out`), by the call that
undoes it (`undo`), by the call that checks for its effect (`verify`) and by other calls that it may take (`any_of`).
Approval, preview, review and rights all use this module, so that every part of a task counts everywhere.

A call that may put a whole folder, or many files, into the trash needs the agreement of a person, though the trash
gives all back: a folder that is gone stops the work of its owner, and nobody misses one of many files in time. Some
files that the plan names, and files about which it asks a person itself, go unasked.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from starloom.core.state.model import Fleet
from starloom_protocol.records.entities import (
    Choice,
    Dependency,
    FileOut,
    OtherCall,
    RuleRecord,
    Selector,
    TaskSpec,
    ToolOffer,
    UndoCall,
    VerifyCall,
)
from starloom_protocol.records.specs import Shows
from starloom_protocol.text.wording import counted, few, quoted
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.tools.ways_back import LEFT_BY, OF_TOOLS, UNDOING, leaves_saved, way_back
from starloom_protocol.values import canonical, holds, list_key, parse
from starloom_protocol.vocabulary import RISKY_EFFECTS, Effect, Gate, Op, Repeatability

Offers = Callable[[str], Iterable[ToolOffer]]
"""Returns the offers of known devices under a tool's name."""

ASKING: Final = RISKY_EFFECTS | {Effect.REACH}
"""Effects that need a person's approval unless the plan's policy waives it."""
CHANGING: Final = frozenset(Effect) - {Effect.READ, Effect.REACH}
EVERY: Final = frozenset(Effect)

PLACES: Final = frozenset({"cwd", "folder", "path", "paths", "put_back", "target", "tickets", "to", "under"})
"""Arguments of built-in tools that name the places that a call changes."""
_BESIDE: Final = frozenset({"any_exit", "device_name", "timeout_s"})
"""Arguments that change nothing about the work of a program."""

FILES_WRITE: Final = "files:write"
"""The grant of the tools that change files in the folders of a device."""
TRASH: Final = "fs.trash"
ROTATE: Final = "archive.rotate"
"""It chooses which backups go into the trash: those beyond the last `keep`."""
_TRASHING: Final = frozenset({TRASH, ROTATE})
MOVE: Final = "fs.move"
_LEAVING: Final = _TRASHING | {MOVE}
_ADDING: Final = frozenset({"archive.unpack", "artifact.get", "fs.copy", "fs.write", "git.clone", "python.run"})
"""Tools with the effect *write* that leave everything in its place, unless their `on_clash` says otherwise."""
NAMED_FILES_MOST: Final = 20
"""As many as a person reads one by one before an answer."""
_PATHS: Final = "paths"
_ON_CLASH: Final = "on_clash"
_ANSWER: Final = "/value"
"""The part of a question's result that is the answer."""
_REPLACE: Final = "replace"
_ADDED: Final = "added"
"""The part of a result that lists what the call itself has made."""
_HOLDING_BACK: Final = frozenset({Gate.DATA, Gate.OUTPUT, Gate.SUCCESS})
"""A task behind one of these does not run where the task before it fails or is left out."""
_WORDS_MOST: Final = 3
_PATH_CHARS_MOST: Final = 60
_ENDING_CHARS_MOST: Final = 5
_ENDINGS_OF_FOLDERS: Final = frozenset({"app", "d", "git"})

_DECIDING: dict[str, Any] = {
    "any_of": list[OtherCall],
    "args": str,
    "files_out": list[FileOut],
    "secrets": list[str],
    "tool": str,
    "undo": UndoCall | None,
    "verify": VerifyCall | None,
}
"""The fields of a task that decide its work."""


def offers_in(fleet: Fleet) -> Offers:
    """Return the look-up of offers over all devices of a fleet, equal ones once; the hub's own tools are its alone."""

    def of(tool: str) -> list[ToolOffer]:
        own_tool = HUB_TOOLS.get(tool)
        if own_tool is not None:
            return [own_tool]
        return [tools[tool] for tools in fleet.tool_sets.different() if tool in tools]

    return of


class KnownEffects:
    """The effects of calls over all devices, looked up once for a tool where only the tool decides them.

    Where arguments decide too, the devices that `runs_on` names for a call count alone, as each has its own rules for
    commands; all do where it names none.
    """

    def __init__(self, fleet: Fleet, runs_on: Callable[[TaskSpec], Iterable[str]] = lambda _: ()) -> None:
        self._fleet, self._runs_on = fleet, runs_on
        self._offers = offers_in(fleet)
        self._offered: dict[str, bool] = {}
        self._by_tool: dict[str, frozenset[Effect] | None] = {}

    def is_offered(self, tool: str) -> bool:
        if tool not in self._offered:
            self._offered[tool] = any(True for _ in self._offers(tool))
        return self._offered[tool]

    def may_change_files(self, spec: TaskSpec) -> bool:
        """Tell whether a task that writes may do more than add something; `wide_trash` tells what takes files away.

        The *write* of a tool of others may be anything, and a goal chooses its arguments itself.
        """
        if spec.goal is not None:
            return any(self._writes(tool) for tool in spec.goal.tools)
        if overwriting_words(spec) or (spec.undo is not None and spec.undo != OF_TOOLS.get(spec.tool or "")):
            return True
        return any(self._writes(way.tool or "") for way in ways_of(spec) if way.tool not in _ADDING | _LEAVING)

    def _writes(self, tool: str) -> bool:
        return any(Effect.WRITE in offer.effects for offer in self._offers(tool))

    def repeats(self, spec: TaskSpec) -> int:
        """Return how many times a task may repeat a call that does more than read."""
        return repeats_effects(spec, self._offers) if spec.for_each is not None else 0

    def of(self, spec: TaskSpec) -> frozenset[Effect]:
        """Return the effects of a task; a tool that no device offers has none."""
        tool = spec.tool or ""
        if tool not in self._by_tool:
            offers = list(self._offers(tool))
            whole = frozenset(effect for offer in offers for effect in offer.effects)
            self._by_tool[tool] = None if any(offer.effects_by for offer in offers) else whole
        effects = self._by_tool[tool]
        if spec.goal is not None:
            return effects_of_task(spec, self._offers)
        if effects is not None and not adds(spec):
            return effects
        devices = () if adds(spec) else tuple(self._runs_on(spec))
        if devices:
            on_devices = (self._fleet.tools[device][tool] for device in devices)
            return frozenset[Effect]().union(*(effects_of_call(offer, spec, self._offers) for offer in on_devices))
        return effects_of_task(spec, self._offers)


def repeats_effects(spec: TaskSpec, offers: Offers) -> int:
    """Return how many times a task may repeat a call that does more than read; 0 for any other task.

    The tool's own repeatability decides, whatever the plan says of it; a tool that no device offers may do anything.
    """
    repeat = spec.for_each.repeat if spec.for_each is not None else None
    if repeat is None or spec.tool is None:
        return 0
    tool_offers = list(offers(spec.tool))
    reads = bool(tool_offers) and all(offer.repeatability is Repeatability.PURE for offer in tool_offers)
    return 0 if reads and not adds(spec) else repeat.most


def effects_of_call(offer: ToolOffer, spec: TaskSpec, others: Offers) -> frozenset[Effect]:
    """Return the effects of a task whose tool has this offer; `others` finds those of the other tools it names."""
    effects = _effects_with_args(offer, spec.args, {item.name for item in spec.inputs})
    if not adds(spec):
        return effects
    return effects | _added_effects(spec, others)


def effects_of_task(spec: TaskSpec, offers: Offers) -> frozenset[Effect]:
    """Return the effects of a task over all devices that offer its tool; a tool that no device offers has none."""
    if spec.goal is not None:
        effects = [frozenset(offer.effects) for tool in spec.goal.tools for offer in offers(tool)]
        return frozenset({Effect.READ}).union(*effects)
    effects_by_offer = [effects_of_call(offer, spec, offers) for offer in offers(spec.tool or "")]
    return frozenset[Effect]().union(*effects_by_offer, _added_effects(spec, offers) if adds(spec) else ())


def adds(spec: TaskSpec) -> bool:
    """Tell whether a task does more than call its tool."""
    return bool(spec.files_out or spec.any_of or spec.undo or spec.verify)


def ways_of(spec: TaskSpec) -> list[TaskSpec]:
    """Return a task with each of the calls that it may take, its own first; none of them has others.

    Where a task may go, and what it may do there, is judged for each of these.
    """
    if not spec.any_of:
        return [spec]
    own_call = replace(spec, any_of=[])
    return [
        own_call,
        *(replace(own_call, args=call.args, device=call.device, secrets=[], tool=call.tool) for call in spec.any_of),
    ]


def added_to(spec: TaskSpec) -> str:
    """Return in words the work of a task besides the call of its tool; empty if there is none."""
    parts = [
        *(f"saves {item.to}" for item in spec.files_out),
        *(f"may call {call.tool} instead" for call in spec.any_of),
        *([f"names {spec.undo.tool} to take it back"] if spec.undo is not None else []),
        *([f"names {spec.verify.tool} to look for its effect"] if spec.verify is not None else []),
    ]
    return " and ".join(parts)


def work_of(spec: TaskSpec) -> tuple[Any, ...]:
    """Return the fields that decide a task's work: two tasks with equal fields do the same, wherever they run."""
    undo, verify = spec.undo, spec.verify
    return (
        spec.tool,
        spec.args,
        tuple((item.output, item.to) for item in spec.files_out),
        None if undo is None else (undo.tool, undo.args, tuple(sorted(undo.outputs.items()))),
        None if verify is None else (verify.tool, verify.args),
        tuple(spec.secrets),
        tuple(spec.any_of),
    )


def named_offers(spec: TaskSpec, offers: Mapping[str, ToolOffer]) -> list[ToolOffer]:
    """Return the offers of one device that a task calls there: its tool's, and those of the other tools it names."""
    names = [spec.tool or "", *(call.tool for call in (spec.undo, spec.verify) if call is not None)]
    return [offers[name] for name in names if name in offers]


def places_of(offer: ToolOffer, spec: TaskSpec) -> frozenset[str]:
    """Return the places where a task changes files, from its arguments.

    A place that another task's result decides is named by that result, since it is not known yet.
    """
    places = {item.to for item in spec.files_out}
    late = {item.name: f"{item.source}{item.output}" for item in spec.inputs}
    if _effects_with_args(offer, spec.args, late.keys()) & CHANGING:
        args = parse(spec.args)
        places.update(place for name, value in args.items() if name in PLACES for place in _place_texts(value))
        places.update(f"the result of {source}" for name, source in late.items() if name in PLACES)
    if spec.undo is not None:
        args = parse(spec.undo.args)
        places.update(place for name, value in args.items() if name in PLACES for place in _place_texts(value))
    return frozenset(places)


def specs_by_rules(rules: Iterable[RuleRecord], specs: Iterable[TaskSpec]) -> list[TaskSpec]:
    """Return the tasks that rules may add, and those of `specs` as rules may change their work."""
    specs_of_rules: list[TaskSpec] = []
    by_id: dict[str, TaskSpec] = {}
    for rule in rules:
        for operation in parse(rule.operations):
            change = operation.get("spec") or operation.get("changes") or {}
            if not any(change.get(name) for name in _DECIDING):
                continue
            by_id = by_id or {spec.id: spec for spec in specs}
            name = str(change.get("id") or operation.get("id"))
            old_spec = by_id.get(name) if "changes" in operation else None
            new_spec = _with(old_spec or TaskSpec(changed_in=0, id=name), change)
            if new_spec.tool:
                specs_of_rules.append(new_spec)
    return specs_of_rules


def _with(spec: TaskSpec, change: Mapping[str, Any]) -> TaskSpec:
    """Return a task with the work that a rule gives it; values that only the firing decides count as any value."""
    fields: dict[str, Any] = {}
    for name, kind in _DECIDING.items():
        if name in change:
            try:
                fields[name] = msgspec.convert(change[name], kind)
            except msgspec.ValidationError:
                fields |= {"args": "{}"} if name == "args" else {"undo": UndoCall(tool="")}
    if "device" in change:
        fields["device"] = _selector(change["device"])
    return replace(spec, **fields)


def _selector(value: Any) -> Selector | None:
    """Return the devices that a rule names; any device where only the firing decides."""
    try:
        return msgspec.convert(value, Selector | None)
    except msgspec.ValidationError:
        return None


def _place_texts(value: Any) -> Iterable[str]:
    if isinstance(value, list):
        return [place for item in value for place in _place_texts(item)]
    return [value if isinstance(value, str) else canonical(value)]


def _added_effects(spec: TaskSpec, offers: Offers) -> frozenset[Effect]:
    effects: frozenset[Effect] = frozenset({Effect.WRITE}) if spec.files_out else frozenset()
    for call in (spec.undo, spec.verify):
        if call is not None:
            effects |= _call_effects(call, offers)
    for other in spec.any_of:
        effects |= _call_effects(other, offers, {item.name for item in spec.inputs})
    return effects


def _call_effects(
    call: UndoCall | VerifyCall | OtherCall, offers: Offers, inputs: Iterable[str] = ()
) -> frozenset[Effect]:
    """Return the effects of a call that a task names; all effects for a tool that no device offers."""
    late = call.outputs.keys() if isinstance(call, UndoCall) else inputs
    effects = [_effects_with_args(offer, call.args, late) for offer in offers(call.tool)]
    return frozenset[Effect]().union(*effects) if effects else EVERY


def _effects_with_args(offer: ToolOffer, text: str, late: Iterable[str]) -> frozenset[Effect]:
    """Return a tool's effects with these arguments; all of them if the deciding argument is not known yet.

    A list decides alone: what else a call gives a program, such as its input or its folder, may do anything.
    """
    if offer.effects_by:
        args = parse(text)
        for argument, by_value in offer.effects_by.items():
            value = args.get(argument)
            if isinstance(value, list) and not ({*args, *late} - {argument} - _BESIDE):
                value = list_key(value)
            if argument not in late and isinstance(value, str) and value in by_value:
                return frozenset(by_value[value])
    return frozenset(offer.effects)


def wide_trash(
    specs: Iterable[TaskSpec], dependencies: Iterable[Dependency], *, guided: bool = False
) -> dict[str, str]:
    """Return the tasks that may put a folder or many files into the trash, each with the reason.

    Files that a result names count where no question on the way to the task shows them. `specs` may have a task
    more than once, as rules may change it: it counts as the widest of these. Files that tasks name count together.
    `guided`: a model chose the words, so a single file counts, and one that is moved away counts as well.
    """
    most, leaving = (0, _LEAVING) if guided else (NAMED_FILES_MOST, _TRASHING)
    tasks = list(specs)
    # An edit is held against each task of its plan, so a task that trashes nothing costs no call here.
    calls = [
        spec
        for spec in tasks
        if spec.key is None
        and (
            spec.tool in leaving
            or (spec.undo is not None and spec.undo.tool in leaving)
            or (spec.goal is not None and not leaving.isdisjoint(spec.goal.tools))
            or (spec.any_of and any(call.tool in leaving for call in spec.any_of))
        )
    ]
    if not calls:
        return {}
    by_id = {spec.id: spec for spec in reversed(tasks)}
    incoming: dict[str, list[Dependency]] = {}
    for edge in dependencies:
        incoming.setdefault(edge.target, []).append(edge)
    reasons: dict[str, str] = {}
    counts: dict[str, int] = {}
    for spec in calls:
        reason = _why_wide(spec, by_id, incoming, most) or _why_undo_is_wide(spec, most)
        if guided and not reason and any(way.tool == MOVE for way in ways_of(spec)):
            reason = f"{spec.id} moves a file or folder away"
        if reason:
            reasons.setdefault(spec.id, reason)
        paths = max((len(_trashed_paths(way.args)) for way in ways_of(spec) if way.tool == TRASH), default=0)
        counts[spec.id] = max(paths, counts.get(spec.id, 0))
    together = sum(counts.values())
    if together > most:
        for task, paths in counts.items():
            if paths:
                reasons.setdefault(task, f"{task} and other tasks put {together} files into the trash")
    return reasons


UNSEEN_TRASH = "move files that are not known yet to the trash"
"""The words for a call whose list another task or an item gives it."""


def leaving_words(spec: TaskSpec) -> list[str]:
    """Return, in words, what a task may put into the trash or move, by each of the calls that it may take."""
    return [words for way in ways_of(spec) if (words := _leaving_words(way))]


def only_leaves(spec: TaskSpec) -> bool:
    """Tell whether each of the calls that a task may take writes in no other way."""
    return not spec.files_out and all(_leaving_words(way) for way in ways_of(spec))


def _leaving_words(spec: TaskSpec) -> str:
    if spec.tool == MOVE and not adds(spec):
        args = parse(spec.args)
        paths = _trashed_paths(spec.args) or [args.get("path")]
        named = [quoted(_short(path)) for path in paths if isinstance(path, str) and path]
        source = few(named, _WORDS_MOST) if named else "a place not known yet"
        to = quoted(_short(args["to"])) if isinstance(args.get("to"), str) else "a place not known yet"
        return f"move {'files that are not known yet' if _takes_paths(spec) else source} to {to}"
    if spec.tool not in _TRASHING:
        return ""
    if spec.tool == ROTATE:
        return _rotated_words(spec.args)
    paths = _trashed_paths(spec.args)
    of_a_list = spec.for_each is not None and spec.for_each.devices is None
    if _takes_paths(spec) or of_a_list or not all(paths):
        return UNSEEN_TRASH
    names = few([quoted(_short(path)) for path in paths], _WORDS_MOST)
    return f"move {names} to the trash"


def file_words(spec: TaskSpec) -> list[str]:
    """Return, in words, the files that a call may take from their place or write over, where its plan names them."""
    words = [overwriting_words(spec), *leaving_words(spec)]
    if spec.files_out:
        places = few([quoted(_short(item.to)) for item in spec.files_out], _WORDS_MOST)
        words.append(f"replace what is there already at {places}; that goes to the trash of the device")
    return [one for one in words if one and one != UNSEEN_TRASH]


def taking_away(
    question: str, specs: Mapping[str, TaskSpec], dependencies: Iterable[Dependency], destroying: Container[str] = ()
) -> list[str]:
    """Return the answers to a question after which files leave their place, where another answer leaves all of them.

    A call counts that may put files into the trash or overwrite them, and each of the tasks `destroying`.
    """
    outgoing: dict[str, list[Dependency]] = {}
    for edge in dependencies:
        outgoing.setdefault(edge.source, []).append(edge)
    choices = specs[question].choices if question in specs else []
    taking = [one.value for one in choices if _takes_away(_run_after(one, question, outgoing), specs, destroying)]
    return taking if len(taking) < len(choices) else []


def _run_after(choice: Choice, question: str, outgoing: Mapping[str, Sequence[Dependency]]) -> set[str]:
    """Return the tasks that may run after an answer."""
    targets = {edge.target for edge in outgoing.get(question, ()) if _lets_on(edge, choice)}
    ahead = list(targets)
    while ahead:
        new = {edge.target for edge in outgoing.get(ahead.pop(), ())} - targets
        targets |= new
        ahead += new
    return targets


def _lets_on(edge: Dependency, choice: Choice) -> bool:
    if edge.gate is Gate.FINISH:
        return True
    if choice.fails or edge.gate is Gate.FAILURE:
        return choice.fails and edge.gate is Gate.FAILURE
    condition = edge.condition
    if condition is None or condition.output != _ANSWER:
        return True
    return holds(condition.op, choice.value, None if condition.value is None else parse(condition.value))


def _takes_away(tasks: Iterable[str], specs: Mapping[str, TaskSpec], destroying: Container[str]) -> bool:
    known_specs = [specs[task] for task in tasks if task in specs]
    return any(
        spec.id in destroying or overwriting_words(spec) or any(way.tool in _TRASHING for way in ways_of(spec))
        for spec in known_specs
    )


def overwriting_words(spec: TaskSpec) -> str:
    """Return, in words, what a call may overwrite by its `on_clash`; empty for one that keeps what is there.

    How many files are in its way is known on the device alone, when the call is made.
    """
    late = any(item.name == _ON_CLASH for item in spec.inputs)
    ways = [way for way in ways_of(spec) if late or parse(way.args).get(_ON_CLASH) == _REPLACE]
    places = list(dict.fromkeys(place for way in ways if (place := _written_place(way.args))))
    if not ways:
        return ""
    where = f" at {few([quoted(_short(place)) for place in places], _WORDS_MOST)}" if places else ""
    return f"overwrite files that are there already{where}"


def stays_words(specs: Iterable[TaskSpec], offers: Offers) -> str:
    """Return, in words, which calls write files in a way that no undo takes back; empty if there is none."""
    tasks = [
        spec.id
        for spec in specs
        if spec.key is None
        and (
            leaves_saved(spec)
            or (
                way_back(replace(spec, files_out=[])) is None
                and any(offer.grant == FILES_WRITE and CHANGING & {*offer.effects} for offer in offers(spec.tool or ""))
            )
        )
    ]
    return f"An undo will not take back the files of {few(tasks, _WORDS_MOST)}." if tasks else ""


def _written_place(args: str) -> str:
    values = parse(args)
    return next((place for name in ("to", "under", "path") if isinstance(place := values.get(name), str)), "")


def _why_wide(
    spec: TaskSpec, specs: Mapping[str, TaskSpec], incoming: Mapping[str, Sequence[Dependency]], most: int
) -> str:
    if spec.goal is not None:
        return f"{spec.id} may put into the trash what a model names"
    ways = ways_of(spec)
    rotating = next((way for way in ways if way.tool == ROTATE), None)
    if rotating is not None:
        return f"{spec.id} may {_rotated_words(rotating.args)}"
    if not any(way.tool == TRASH for way in ways):
        return ""
    files = list_of(spec, specs)
    if _takes_paths(spec) or files is not None:
        shown = files is not None and is_shown_before(spec.id, files, specs, incoming)
        return "" if shown else f"{spec.id} puts files into the trash that the results of other tasks name"
    whys = (_why_args_are_wide(spec.id, way.args, most) for way in ways if way.tool == TRASH)
    return next((why for why in whys if why), "")


def _why_args_are_wide(who: str, args: str, most: int) -> str:
    items = parse(args).get(_PATHS)
    paths = _trashed_paths(args)
    if len(paths) > most:
        return f"{who} puts {counted(len(paths), 'file')} into the trash"
    folder = next((path for path, item in zip(paths, items or [], strict=False) if _may_be_folder(item)), None)
    return "" if folder is None else f"{who} may put the whole folder {quoted(_short(folder))} into the trash"


def _why_undo_is_wide(spec: TaskSpec, most: int) -> str:
    """Return why an undo may trash more than the files that its task has made."""
    if spec.undo is None or spec.undo.tool not in _TRASHING:
        return ""
    if spec.undo.tool == ROTATE:
        return f"the undo of {spec.id} may {_rotated_words(spec.undo.args)}"
    who = f"the undo of {spec.id}"
    pointer = spec.undo.outputs.get(_PATHS, _ADDED)
    if pointer.rpartition("/")[2] != _ADDED:
        return f"{who} puts files into the trash that its result names"
    return _why_args_are_wide(who, spec.undo.args, most)


def _rotated_words(args: str) -> str:
    keep = parse(args).get("keep")
    last = f"the last {keep}" if isinstance(keep, int) else "the last ones"
    return f"move all backups but {last} to the trash"


def _takes_paths(spec: TaskSpec) -> bool:
    return any(item.name == _PATHS for item in spec.inputs)


def takes_what_was_left(spec: TaskSpec) -> bool:
    """Tell whether a task that is no undo takes back what another one left on a device, by any of its calls.

    Nobody sees the files before the call, so only the hub's own undo may.
    """
    calls = [(way.tool, way.args) for way in ways_of(spec)] if spec.undoes is None else []
    calls += [(call.tool, call.args) for call in (spec.undo, spec.verify) if call is not None]
    drawn = {item.name for item in spec.inputs} | (spec.undo.outputs.keys() if spec.undo is not None else set())
    return any(tool in UNDOING and (LEFT_BY in drawn or LEFT_BY in parse(args)) for tool, args in calls)


def list_of(spec: TaskSpec, specs: Mapping[str, TaskSpec]) -> Shows | None:
    """Return the part of a result that names the files of a call to the trash; None if its own arguments name them."""
    of_paths = next((item for item in spec.inputs if item.name == _PATHS), None)
    if of_paths is not None:
        return None if of_paths.topic else Shows(output=of_paths.output, source=of_paths.source)
    each = specs.get(spec.family or spec.id, spec).for_each if spec.for_each is not None else None
    if each is None or each.source is None or each.devices is not None:
        return None
    return Shows(output=each.output, source=each.source)


def is_shown_before(
    task: str, files: Shows, specs: Mapping[str, TaskSpec], incoming: Mapping[str, Sequence[Dependency]]
) -> bool:
    """Tell whether a person sees the files of a task, or what is made of them, and can keep it from running.

    The answer stands on a way to the task that ends with whatever is on it.
    """
    ahead, seen = [task], {task}
    while ahead:
        for edge in incoming.get(ahead.pop(), ()):
            if edge.source in seen or edge.optional or edge.topic or edge.gate not in _HOLDING_BACK:
                continue
            source = specs.get(edge.source)
            shown = source.shows if source is not None and _can_be_refused(source, edge) else None
            if shown is not None and _is_made_of(shown.source, files.source, incoming):
                return True
            seen.add(edge.source)
            ahead.append(edge.source)
    return False


def _is_made_of(part: str, source: str, incoming: Mapping[str, Sequence[Dependency]]) -> bool:
    """Tell whether a result is that of a task, or has values of it."""
    ahead, seen = [part], {part}
    while ahead and source not in seen:
        sources = [edge.source for edge in incoming.get(ahead.pop(), ()) if edge.gate is Gate.DATA]
        ahead += [name for name in sources if name not in seen]
        seen.update(sources)
    return source in seen


def _can_be_refused(question: TaskSpec, edge: Dependency) -> bool:
    decides = edge.condition is not None and edge.condition.op is Op.EQ and len(question.choices) > 1
    return decides or any(choice.fails for choice in question.choices)


def _trashed_paths(args: str) -> list[str]:
    items = parse(args).get(_PATHS)
    return [_path_of(item) for item in items] if isinstance(items, list) else []


def _path_of(item: Any) -> str:
    return str(item.get("path", "")) if isinstance(item, dict) else str(item)


def _may_be_folder(item: Any) -> bool:
    """Tell whether a path may be that of a folder: only an ending as files have it speaks against that."""
    name = _path_of(item).rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    is_files = bool(stem) and ending.isalnum() and not ending.isdigit() and len(ending) <= _ENDING_CHARS_MOST
    listed_folder = isinstance(item, dict) and bool(item.get("folder"))
    return listed_folder or not is_files or ending.casefold() in _ENDINGS_OF_FOLDERS


def _short(path: str) -> str:
    return path if len(path) <= _PATH_CHARS_MOST else f"...{path[-_PATH_CHARS_MOST:]}"
