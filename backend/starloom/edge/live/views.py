"""Read models of the edge: the fleet, open questions, a headline of each constellation, its work, rules on progress.

Fed by events only and never change anything. They hold committed state for quick answers, and are filled again after a
restart; everything else is read through the store's `ReadPort`. `agents.progress_lines` reads the output that a rule is
about.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec

from starloom.core.state.model import ToolSets
from starloom.edge.access.callers import AccessView
from starloom.edge.live import entity_json
from starloom.edge.live.fanout import Fanout
from starloom.planner.equivalents import Equivalents, equivalents
from starloom.store.port import ReadPort, StreamState
from starloom_protocol.plan import Signature, signature_of
from starloom_protocol.records.approvals import DeviceAsks, PendingAsk, Standing
from starloom_protocol.records.entities import (
    Answer,
    Device,
    Enrollment,
    Head,
    Offer,
    Question,
    RecipeRuns,
    RecipeVersion,
    TaskSpec,
    ToolOffer,
    decode_entity,
)
from starloom_protocol.records.fleet import Health, Pace, Stopping
from starloom_protocol.records.lab import LabFault
from starloom_protocol.records.models import Spending
from starloom_protocol.records.schedules import Schedule, ScheduledPlan, with_course
from starloom_protocol.stream.events import EventKind
from starloom_protocol.stream.feed import ACCESS, FLEET, Event
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.values import composed
from starloom_protocol.vocabulary import (
    AT_WORK_TASK_STATES,
    FINAL_CONSTELLATION_STATES,
    ConstellationState,
    DeviceLink,
    Repeatability,
    most_careful,
)
from starloom_protocol.wire.frames import LeaseRef

HEADLINES_MAX = 5_000
"""The list of constellations is answered from these; an older one is read from the history."""
HEADLINES_BYTES_MAX = 8 * 1024 * 1024
"""Headlines hold requests in words, which may be long: their number alone would not bound the memory."""
ANSWERED_MAX = 50
"""The list of approvals shows the last answers; older ones are in the logs of their constellations."""
_PAGE = 200
_HAS_RULE: Final = re.compile(b'"stop_when"').search
"""Only the encoded spec of a task with a rule on progress has these bytes, so that no other is decoded."""
_MAY_WORK: Final = re.compile(rb'"state":"(?:%s)"' % "|".join(sorted(AT_WORK_TASK_STATES)).encode()).search
"""Finds a record of a task that may be at work, so that the others of nearly every event are not decoded."""
_PLACED_BY: Final[Mapping[str, bool]] = {EventKind.TASK_LEASED: True, EventKind.TASK_SUCCEEDED: False}
"""The two events of nearly every task, of its attempt and itself: the kind says whether it is on a device."""
_NONE_WORKS: Final[Mapping[str, bool]] = {EventKind.PLAN_MADE: True, EventKind.TASKS_READY: False}
"""The events of whose many tasks none is on a device: whether they have more than tasks and attempts."""
_TASK: Final = "task/"
_TASK_END: Final = len(_TASK)
_SPEC: Final = "spec/"
_SPEC_END: Final = len(_SPEC)
_QUESTION: Final = "question/"
_QUESTION_END: Final = len(_QUESTION)
_ATTEMPT: Final = "attempt/"
_ATTEMPT_END: Final = len(_ATTEMPT)


class StopRules:
    """The name that each task with a rule on progress reports: constellation -> task -> name."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, str]] = {}

    def reset(self) -> None:
        """Forget everything."""
        self._names.clear()

    def take(self, stream: str, entities: Mapping[str, bytes]) -> None:
        """Take the tasks of one constellation as committed."""
        for key, raw in entities.items():
            if key.startswith(_SPEC):
                self._put(stream, key, raw)

    def apply(self, event: Event) -> None:
        stream, names = event.stream, self._names
        # A plan has thousands of records, and nearly none has a rule.
        if stream not in names and not any(map(_HAS_RULE, filter(None, event.puts.values()))):
            return
        for key, raw in event.puts.items():
            if key[:_SPEC_END] == _SPEC:
                if stream in names or (raw is not None and _HAS_RULE(raw)):
                    self._put(stream, key, None if raw is None else bytes(raw))
            elif key == "head" and raw is not None and stream in names:
                head = decode_entity(key, bytes(raw))
                if isinstance(head, Head) and head.state in FINAL_CONSTELLATION_STATES:
                    del names[stream]

    def name_of(self, at: LeaseRef) -> str | None:
        """Return the name that a task's rule reads, None for a task without one."""
        return self._names.get(at.constellation, {}).get(at.task)

    def _put(self, stream: str, key: str, raw: bytes | None) -> None:
        task = key.partition("/")[2]
        if raw is None or not _HAS_RULE(raw):
            self._names.get(stream, {}).pop(task, None)
            return
        spec = decode_entity(key, raw)
        if isinstance(spec, TaskSpec) and spec.stop_when is not None:
            self._names.setdefault(stream, {})[task] = spec.stop_when.name


class _Placed(msgspec.Struct):
    """The part of a task's record that says whether it runs: nearly every event has a task, so no more is decoded."""

    state: str
    reason: str | None = None


class AtWork:
    """The tasks of each constellation that are on a device now: constellation -> tasks."""

    def __init__(self) -> None:
        self._tasks: dict[str, set[str]] = {}
        self._decoder = msgspec.json.Decoder(_Placed)

    def reset(self) -> None:
        """Forget everything."""
        self._tasks.clear()

    def take(self, stream: str, entities: Mapping[str, bytes]) -> None:
        """Take the tasks of one constellation as committed."""
        working = {key for key, raw in entities.items() if key.startswith(_TASK) and self._is_at_work(raw)}
        if working:
            self._tasks[stream] = working

    def apply(self, event: Event) -> bool:
        """Take the tasks of one event; return whether it has more than tasks and attempts."""
        placed = _PLACED_BY.get(event.kind)
        if placed is not None and len(event.puts) == 2:
            first, task = event.puts
            # A slice and no call of `startswith`: every running task passes here.
            if first[:_ATTEMPT_END] == _ATTEMPT:
                self._place(event.stream, task, at_work=placed)
                return False
        if event.kind in _NONE_WORKS:
            return _NONE_WORKS[event.kind]
        has_more = False
        for key, raw in event.puts.items():
            if key[:_TASK_END] == _TASK:
                at_work = raw is not None and self._is_at_work(raw)
                if at_work or event.stream in self._tasks:
                    self._place(event.stream, key, at_work=at_work)
            elif key[:_ATTEMPT_END] != _ATTEMPT:
                has_more = True
        return has_more

    def _place(self, stream: str, task: str, *, at_work: bool) -> None:
        working = self._tasks.get(stream)
        if at_work:
            if working is None:
                working = self._tasks[stream] = set()
            working.add(task)
        elif working is not None:
            working.discard(task)
            if not working:
                del self._tasks[stream]

    def of(self, stream: str) -> int:
        """Return the number of a constellation's tasks that are on a device now."""
        return len(self._tasks.get(stream, ()))

    def _is_at_work(self, raw: bytes | msgspec.Raw) -> bool:
        if not _MAY_WORK(raw):
            return False
        placed = self._decoder.decode(raw)
        return entity_json.is_at_work(placed.state, placed.reason)


class FleetView:
    """Devices, offers, enrollments, schedules and standing allowances by id, as committed."""

    def __init__(self) -> None:
        self.seq = 0
        self.devices: dict[str, Device] = {}
        self.offers: dict[str, Offer] = {}
        self.on_revoked: list[Callable[[Device], None]] = []
        self.enrollments: dict[str, Enrollment] = {}
        self.recipe_runs: dict[str, RecipeRuns] = {}
        self.recipes: dict[str, RecipeVersion] = {}
        self.schedules: dict[str, Schedule] = {}
        self.scheduled_plans: dict[str, ScheduledPlan] = {}
        self.standing: dict[str, Standing] = {}
        self.health: dict[str, Health] = {}
        self.paces: dict[str, Pace] = {}
        self.spendings: dict[str, Spending] = {}
        self.stopping: dict[str, Stopping] = {}
        self.asks: dict[str, DeviceAsks] = {}
        self.answered_asks: dict[tuple[str, str], PendingAsk] = {}  # of a device, by action; those lately answered
        self.lab_faults: dict[str, LabFault] = {}
        self._tables: dict[str, dict[str, Any]] = {
            "device": self.devices,
            "offer": self.offers,
            "enrollment": self.enrollments,
            "recipe": self.recipes,
            "recipe_runs": self.recipe_runs,
            "schedule": {},
            "schedule_course": {},
            "scheduled_plan": self.scheduled_plans,
            "standing": self.standing,
            "health": self.health,
            "pace": self.paces,
            "spending": self.spendings,
            "stopping": self.stopping,
            "asks": self.asks,
            "lab_fault": self.lab_faults,
        }
        self._by_code: dict[str, str] = {}
        self._pairings: dict[tuple[str, str], str] = {}
        self._tool_sets = ToolSets()
        self._tools: dict[str, dict[str, ToolOffer]] | None = None
        self._repeatabilities: dict[str, Repeatability] | None = None
        self._signatures: dict[str, Signature] | None = None
        self._equivalents: Equivalents | None = None
        self._names: dict[str, None] | None = None
        self._by_link: dict[DeviceLink, int] = dict.fromkeys(DeviceLink, 0)
        self._changes = dict.fromkeys(self._tables, 0)

    def reset(self, seq: int, entities: Mapping[str, bytes]) -> None:
        """Take the whole stream as committed."""
        self.seq = seq
        self._offers_changed()
        for kind in self._changes:
            self._changes[kind] += 1
        self._by_link = dict.fromkeys(DeviceLink, 0)
        self._tool_sets.clear()
        for table in (*self._tables.values(), self.schedules):
            table.clear()
        self._by_code.clear()
        self._pairings.clear()
        self.answered_asks.clear()
        for key, raw in entities.items():
            self._put(key, raw)

    def apply(self, event: Event) -> None:
        """Take one event of the stream `fleet`."""
        if event.stream != FLEET or event.seq <= self.seq:
            return
        self.seq = event.seq
        for key, raw in event.puts.items():
            self._put(key, None if raw is None else bytes(raw))

    def _put(self, key: str, raw: bytes | None) -> None:
        kind, _, identity = key.partition("/")
        if kind == "offer":
            self._offers_changed()
        record: Any = None if raw is None else decode_entity(key, raw)
        if kind == "enrollment":
            self._index_enrollment(identity, record)
        table = self._tables.get(kind)
        if table is None:
            return
        self._changes[kind] += 1
        former = table.get(identity)
        if isinstance(record, Offer):
            record = self._tool_sets.share(record)
            self._tool_sets.take(identity, record.tools)
        elif kind == "offer":
            self._tool_sets.leave(identity)
        if isinstance(record, DeviceAsks):
            for ask in record.open:
                if ask.answer:
                    _keep_newest(self.answered_asks, (identity, ask.action), ask)
        if record is None:
            table.pop(identity, None)
        else:
            table[identity] = record
        if kind == "device":
            self._device_changed(former, record)
        elif kind in ("schedule", "schedule_course"):
            self._schedule_changed(identity)

    def _schedule_changed(self, identity: str) -> None:
        kept: Schedule | None = self._tables["schedule"].get(identity)
        if kept is None:
            self.schedules.pop(identity, None)
        else:
            self.schedules[identity] = with_course(kept, self._tables["schedule_course"].get(identity))

    def _device_changed(self, former: Device | None, present: Device | None) -> None:
        if former is not None and not former.revoked:
            self._by_link[former.link] -= 1
        if present is not None and not present.revoked:
            self._by_link[present.link] += 1
        if former is None or present is None or (former.revoked, former.name) != (present.revoked, present.name):
            self._offers_changed()
        if present is not None and present.revoked and former is not None and not former.revoked:
            for hear in self.on_revoked:
                hear(present)

    def _index_enrollment(self, identity: str, record: Enrollment | None) -> None:
        """Find an enrollment by its code, and one that stands for a device by the code it used."""
        removed = self.enrollments.get(identity) if record is None else None
        if removed is not None:
            if self._by_code.get(removed.code_hash) == identity:
                del self._by_code[removed.code_hash]
            if removed.code_of:
                self._pairings.pop((removed.code_of, removed.device or ""), None)
        elif record is not None and record.code_of:
            self._pairings[record.code_of, record.device or ""] = identity
        elif record is not None:
            self._by_code[record.code_hash] = identity

    def _offers_changed(self) -> None:
        """Forget what is made of all devices and their offers until it is asked for again."""
        self._tools = self._repeatabilities = self._signatures = self._equivalents = self._names = None

    def changes(self, *kinds: str) -> tuple[int, ...]:
        """Return how often entities of each of these kinds have changed: equal numbers mean equal entities."""
        return tuple(self._changes[kind] for kind in kinds)

    def enrollment_of(self, code_hash: str) -> Enrollment | None:
        """Return the enrollment of a code's hash."""
        identity = self._by_code.get(code_hash)
        return self.enrollments.get(identity) if identity else None

    def pairing_of(self, enrollment: Enrollment, device: str) -> Enrollment:
        """Return the pairing of a device with a code; of a code for several devices each has a record of its own."""
        return self.enrollments.get(self._pairings.get((enrollment.id, device), ""), enrollment)

    def device(self, text: str) -> Device | None:
        """Return a device by id, or by its name or one that it had before: of several one in the fleet, the latest."""
        if text in self.devices:
            return self.devices[text]
        text = composed(text)
        alike = [device for device in self.devices.values() if text == device.name or text in device.former_names]
        return min(alike, key=lambda each: (each.revoked, text != each.name, -each.joined_ms), default=None)

    def tools(self) -> Mapping[str, Mapping[str, ToolOffer]]:
        """Return the offered tools: tool -> device -> offer, for devices that still belong here.

        Every plan and edit asks for it; it is rebuilt only when a device or its offer has changed.
        """
        if self._tools is None:
            self._tools = self._table_of_tools()
        return self._tools

    def repeatabilities(self) -> Mapping[str, Repeatability]:
        """Return every offered tool with the most careful repeatability that a device states; kept like `tools`."""
        if self._repeatabilities is None:
            self._repeatabilities = {
                tool: most_careful(offer.repeatability for offer in offers)
                for tool, offers in self._distinct_offers().items()
            }
        return self._repeatabilities

    def known_tools(self) -> Mapping[str, Repeatability] | None:
        """Return `repeatabilities`; None while no device has offered any tool, so that no plan is judged by it."""
        return self.repeatabilities() or None

    def names(self) -> Set[str]:
        """Return the names and ids of devices that a plan may use, in the order of the fleet; kept like `tools`."""
        if self._names is None:
            devices = [device for device in self.devices.values() if not device.revoked]
            names = dict.fromkeys(name for device in devices for name in (device.name, device.id))
            self._names = names | dict.fromkeys(name for device in devices for name in device.former_names)
        return self._names.keys()

    def equivalents(self) -> Equivalents:
        """Return the tools that stand for others by their owners' word; kept like `tools`."""
        if self._equivalents is None:
            stand_in = any(tool.stands_for for tools in self._tool_sets.different() for tool in tools.values())
            self._equivalents = equivalents(self.devices, self.offers) if stand_in else {}
        return self._equivalents

    def by_link(self) -> Mapping[DeviceLink, int]:
        """Return the number of devices by link; a revoked one has none."""
        return self._by_link

    def signatures(self) -> Mapping[str, Signature]:
        """Return the signature of every offered tool; kept like `tools`."""
        if self._signatures is None:
            self._signatures = {tool: signature_of(offers) for tool, offers in self._distinct_offers().items()}
        return self._signatures

    def _distinct_offers(self) -> dict[str, list[ToolOffer]]:
        """Return the different offers of each tool by the devices that belong here, and those of the hub itself."""
        offers = (offer for device, offer in self.offers.items() if self.belongs(device))
        distinct: dict[str, list[ToolOffer]] = {}
        for tools in {id(offer.tools): offer.tools for offer in offers}.values():
            for tool in tools:
                distinct.setdefault(tool.name, []).append(tool)
        # While no device has offered anything, no plan is judged by what there is.
        return distinct | {name: [offer] for name, offer in HUB_TOOLS.items()} if distinct else distinct

    def belongs(self, device: str) -> bool:
        """Tell whether a device is one of the hub and was not revoked."""
        record = self.devices.get(device)
        return record is not None and not record.revoked

    def _table_of_tools(self) -> dict[str, dict[str, ToolOffer]]:
        table: dict[str, dict[str, ToolOffer]] = {}
        for device, offer in self.offers.items():
            if not self.belongs(device):
                continue
            for tool in offer.tools:
                table.setdefault(tool.name, {})[device] = tool
        return table


def _keep_newest(answered: dict[tuple[str, str], Any], where: tuple[str, str], record: Any) -> None:
    """Put an answer last, and drop the oldest of too many."""
    answered.pop(where, None)
    answered[where] = record
    if len(answered) > ANSWERED_MAX:
        del answered[next(iter(answered))]


class QuestionsView:
    """Open questions of all constellations: (constellation, question id) -> question; and those lately `answered`."""

    def __init__(self) -> None:
        self.open: dict[tuple[str, str], Question] = {}
        self.answered: dict[tuple[str, str], Question] = {}

    def reset(self) -> None:
        """Forget everything."""
        self.open.clear()
        self.answered.clear()

    def take(self, stream: str, entities: Mapping[str, bytes]) -> None:
        """Take the questions of one constellation as committed."""
        for key, raw in entities.items():
            if key.startswith(_QUESTION):
                self._put(stream, key, raw)

    def apply(self, event: Event) -> None:
        for key, raw in event.puts.items():
            if key[:_QUESTION_END] == _QUESTION:
                self._put(event.stream, key, None if raw is None else bytes(raw))
        head = event.puts.get("head") if self.open else None
        if head is not None:
            self._drop_if_final(event.stream, bytes(head))

    def _put(self, stream: str, key: str, raw: bytes | None) -> None:
        where = (stream, key.partition("/")[2])
        record = None if raw is None else decode_entity(key, raw)
        if isinstance(record, Question) and record.answer is None:
            self.open[where] = record
            return
        self.open.pop(where, None)
        if isinstance(record, Question) and record.answer:
            _keep_newest(self.answered, where, record)

    def _drop_if_final(self, stream: str, raw: bytes) -> None:
        if not any(where[0] == stream for where in self.open):
            return
        head = decode_entity("head", raw)
        if isinstance(head, Head) and head.state in FINAL_CONSTELLATION_STATES:
            for where in [where for where in self.open if where[0] == stream]:
                del self.open[where]


class Headline(NamedTuple):
    """The head and the answer of a constellation."""

    head: Head
    answer: Answer | None


class Headlines:
    """Head and answer of constellations, the most recently changed ones; misses are read from the store.

    Bounded by number and by the bytes of what they were decoded from. `ended` counts those that ended since this hub
    was started, by the state in which they did.
    """

    def __init__(self, reads: ReadPort, *, bytes_max: int = HEADLINES_BYTES_MAX) -> None:
        self._reads = reads
        self._bytes_max = bytes_max
        self._bytes = 0
        self._changes_missed = 0  # a headline that is loaded while this rises is not kept: it may be an old one
        self.ended: Counter[ConstellationState] = Counter()
        self._known: OrderedDict[str, _Sized] = OrderedDict()

    def forget(self, streams: Iterable[str]) -> None:
        """Drop constellations that were pruned from the history."""
        for stream in streams:
            headline = self._known.pop(stream, None)
            self._bytes -= headline.size if headline is not None else 0
        self._changes_missed += 1

    def reset(self) -> None:
        """Forget everything."""
        self._known.clear()
        self._bytes = 0
        self._changes_missed += 1

    def apply(self, event: Event) -> None:
        if not ("head" in event.puts or "answer" in event.puts):
            return
        kept = self._known.get(event.stream)
        head, answer = event.puts.get("head"), event.puts.get("answer")
        if kept is None and event.seq > 1 and (head is None or "answer" not in event.puts):
            # The other of the two is unknown here, so the reader loads both.
            self._changes_missed += 1
        elif head is not None:
            headline = _sized(bytes(head), bytes(answer) if answer is not None else None)
            if event.kind == EventKind.ENDED:
                self.ended[headline.head.state] += 1
            if "answer" not in event.puts and kept is not None:
                headline = replace(kept, head=headline.head, head_bytes=headline.head_bytes)
            self._keep(event.stream, headline)
        elif kept is not None:
            record = None if answer is None else _answer(bytes(answer))
            self._keep(event.stream, replace(kept, answer=record, answer_bytes=len(answer or b"")))

    def _keep(self, stream: str, headline: _Sized) -> None:
        old = self._known.pop(stream, None)
        self._known[stream] = headline
        self._bytes += headline.size - (old.size if old is not None else 0)
        while len(self._known) > HEADLINES_MAX or (self._bytes > self._bytes_max and len(self._known) > 1):
            _, oldest = self._known.popitem(last=False)
            self._bytes -= oldest.size

    async def of(self, stream: str) -> Headline | None:
        """Return head and answer of a constellation, or None if there is no such one."""
        return (await self.of_all([stream])).get(stream)

    async def of_all(self, streams: Sequence[str]) -> dict[str, Headline]:
        """Return head and answer of constellations by name, without those that there are not, by one read."""
        headlines = {stream: one for stream in streams if (one := self._known.get(stream)) is not None}
        if missing := [stream for stream in streams if stream not in headlines]:
            missed_before = self._changes_missed
            for stream, records in (await self._reads.headlines(missing)).items():
                headline = self._known.get(stream)
                if headline is None:
                    headline = _sized(*records)
                    if missed_before == self._changes_missed:
                        self._keep(stream, headline)
                headlines[stream] = headline
        return {stream: Headline(headline.head, headline.answer) for stream, headline in headlines.items()}


@dataclass(frozen=True, slots=True)
class _Sized:
    """A headline with the sizes of what it was decoded from."""

    head: Head
    answer: Answer | None
    head_bytes: int
    answer_bytes: int

    @property
    def size(self) -> int:
        return self.head_bytes + self.answer_bytes


def _sized(head: bytes, answer: bytes | None) -> _Sized:
    record = decode_entity("head", head)
    if not isinstance(record, Head):
        raise TypeError("the head of a constellation is of another kind")
    answer_record = _answer(answer) if answer is not None else None
    return _Sized(record, answer_record, len(head), len(answer or b""))


def _answer(raw: bytes) -> Answer:
    record = decode_entity("answer", raw)
    if not isinstance(record, Answer):
        raise TypeError("the answer of a constellation is of another kind")
    return record


async def live_constellations(reads: ReadPort) -> list[str]:
    """Return the ids of all constellations that are not final."""
    names: list[str] = []
    states = [state for state in ConstellationState if state not in FINAL_CONSTELLATION_STATES]
    cursor: tuple[int, str] | None = None
    while True:
        rows = await reads.constellations(states=states, text=None, device=None, before=cursor, limit=_PAGE)
        names += [row.id for row in rows]
        if len(rows) < _PAGE:
            return names
        cursor = (rows[-1].created_ms, rows[-1].id)


@dataclass(frozen=True, slots=True)
class Views:
    """The read models of a hub: of the streams `access` and `fleet` one each, the rest over all constellations."""

    access: AccessView
    fleet: FleetView
    at_work: AtWork
    headlines: Headlines
    questions: QuestionsView
    stop_rules: StopRules

    def apply(self, event: Event) -> None:
        """Take one event; most have only tasks and attempts, of which only `at_work` takes the tasks."""
        if event.stream == FLEET:
            self.fleet.apply(event)
        elif event.stream == ACCESS:
            self.access.apply(event)
        elif self.at_work.apply(event):
            if event.kind != EventKind.PLAN_MADE:  # it asks nothing yet
                self.questions.apply(event)
            self.stop_rules.apply(event)
            self.headlines.apply(event)

    async def fill(self, reads: ReadPort, fanout: Fanout) -> None:
        """Load the read models from committed state and subscribe them; no event in between is missed.

        It may be called again after the log went back: then the models are reset.
        """
        hear = self.apply
        if hear in fanout.listeners:
            fanout.listeners.remove(hear)
        for view in (self.at_work, self.questions, self.stop_rules, self.headlines):
            view.reset()
        early: list[Event] = []

        def note(event: Event) -> None:
            early.append(event)

        fanout.listeners.append(note)
        streams = [ACCESS, FLEET, *await live_constellations(reads)]
        loaded = await reads.live_entities(streams)
        for stream in streams:
            # It has left Redis since it was listed; the history has it.
            if stream not in loaded and (state := await reads.entities(stream)) is not None:
                loaded[stream] = state
        # No await from here on: what was published while reading is in `early`, what comes next goes to the models.
        fanout.listeners.remove(note)
        absent = StreamState(0, {})
        self.access.reset(loaded.get(ACCESS, absent).entities)
        self.fleet.reset(*loaded.get(FLEET, absent))
        for stream, (_, entities) in loaded.items():
            if stream not in (ACCESS, FLEET):
                self.at_work.take(stream, entities)
                self.questions.take(stream, entities)
                self.stop_rules.take(stream, entities)
        for event in early:
            if event.seq > loaded.get(event.stream, absent).seq:
                hear(event)
        fanout.listeners.append(hear)
