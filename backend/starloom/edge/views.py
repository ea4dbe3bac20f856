"""Read models of the edge: the fleet, open questions, and a headline of each constellation. Fed by events only.

They hold committed state for quick answers; what is not here is read through the store's `ReadPort`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from starloom.access.view import AccessView
from starloom.edge.fanout import Fanout
from starloom.store.port import ReadPort
from starloom_protocol.entities import (
    Answer,
    Device,
    Enrollment,
    Head,
    Offer,
    Question,
    ToolOffer,
    decode_entity,
)
from starloom_protocol.feed import ACCESS, FLEET, Event
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, ConstellationState

HEADLINES_MAX = 5_000
_PAGE = 200


class FleetView:
    """Devices, offers and enrollments by id, as committed."""

    def __init__(self) -> None:
        self.seq = 0
        self.devices: dict[str, Device] = {}
        self.offers: dict[str, Offer] = {}
        self.enrollments: dict[str, Enrollment] = {}
        self._by_code: dict[str, str] = {}

    def reset(self, seq: int, entities: Mapping[str, bytes]) -> None:
        """Take the whole stream as committed."""
        self.seq = seq
        self.devices.clear()
        self.offers.clear()
        self.enrollments.clear()
        self._by_code.clear()
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
        if raw is None:
            if kind == "device":
                self.devices.pop(identity, None)
            elif kind == "offer":
                self.offers.pop(identity, None)
            elif kind == "enrollment":
                self.enrollments.pop(identity, None)
            return
        record = decode_entity(key, raw)
        if isinstance(record, Device):
            self.devices[identity] = record
        elif isinstance(record, Offer):
            self.offers[identity] = record
        elif isinstance(record, Enrollment):
            self.enrollments[identity] = record
            self._by_code[record.code_hash] = identity

    def enrollment_of(self, code_hash: str) -> Enrollment | None:
        """Return the enrollment of a code's hash."""
        identity = self._by_code.get(code_hash)
        return self.enrollments.get(identity) if identity else None

    def device(self, text: str) -> Device | None:
        """Return a device by id, or by its unique name."""
        found = self.devices.get(text)
        if found is None:
            found = next((device for device in self.devices.values() if device.name == text), None)
        return found

    def tools(self) -> dict[str, dict[str, ToolOffer]]:
        """Return the offered tools: tool -> device -> offer, for devices that still belong here."""
        table: dict[str, dict[str, ToolOffer]] = {}
        for device, offer in self.offers.items():
            known = self.devices.get(device)
            if known is None or known.revoked:
                continue
            for tool in offer.tools:
                table.setdefault(tool.name, {})[device] = tool
        return table


class QuestionsView:
    """Open questions of all constellations: (constellation, question id) -> question."""

    def __init__(self) -> None:
        self.open: dict[tuple[str, str], Question] = {}

    def take(self, stream: str, entities: Mapping[str, bytes]) -> None:
        """Take the questions of one constellation as committed."""
        for key, raw in entities.items():
            if key.startswith("question/"):
                self._put(stream, key, raw)

    def apply(self, event: Event) -> None:
        if event.stream in (FLEET, ACCESS):
            return
        for key, raw in event.puts.items():
            if key.startswith("question/"):
                self._put(event.stream, key, None if raw is None else bytes(raw))
            elif key == "head" and raw is not None and self.open:
                self._drop_if_final(event.stream, bytes(raw))

    def _put(self, stream: str, key: str, raw: bytes | None) -> None:
        where = (stream, key.partition("/")[2])
        record = None if raw is None else decode_entity(key, raw)
        if isinstance(record, Question) and record.answer is None:
            self.open[where] = record
        else:
            self.open.pop(where, None)

    def _drop_if_final(self, stream: str, raw: bytes) -> None:
        if not any(where[0] == stream for where in self.open):
            return
        head = decode_entity("head", raw)
        if isinstance(head, Head) and head.state in FINAL_CONSTELLATION_STATES:
            for where in [where for where in self.open if where[0] == stream]:
                del self.open[where]


class Headlines:
    """Head and answer of constellations, the most recently changed ones; misses are read from the store."""

    def __init__(self, reads: ReadPort) -> None:
        self._reads = reads
        self._known: OrderedDict[str, tuple[Head, Answer | None]] = OrderedDict()

    def apply(self, event: Event) -> None:
        if event.stream in (FLEET, ACCESS) or not ("head" in event.puts or "answer" in event.puts):
            return
        head, answer = self._known.get(event.stream, (None, None))
        for key in ("head", "answer"):
            raw = event.puts.get(key)
            if raw is None:
                continue
            record = decode_entity(key, raw)
            if isinstance(record, Head):
                head = record
            elif isinstance(record, Answer):
                answer = record
        if head is not None:
            self._keep(event.stream, head, answer)

    def _keep(self, stream: str, head: Head, answer: Answer | None) -> None:
        self._known[stream] = (head, answer)
        self._known.move_to_end(stream)
        while len(self._known) > HEADLINES_MAX:
            self._known.popitem(last=False)

    async def of(self, stream: str) -> tuple[Head, Answer | None] | None:
        """Return head and answer of a constellation, or None if there is no such one."""
        found = self._known.get(stream)
        if found is None:
            read = await self._reads.entities(stream)
            if read is None or "head" not in read[1]:
                return None
            found = self._known.get(stream) or headline_of(read[1])
            self._keep(stream, *found)
        return found


def headline_of(entities: Mapping[str, bytes]) -> tuple[Head, Answer | None]:
    """Return head and answer among a constellation's entities."""
    head = decode_entity("head", entities["head"])
    answer = decode_entity("answer", entities["answer"]) if "answer" in entities else None
    if not isinstance(head, Head) or not (answer is None or isinstance(answer, Answer)):
        raise TypeError("head and answer of a constellation are of another kind")
    return head, answer


async def live_constellations(reads: ReadPort) -> list[str]:
    """Return the ids of all constellations that are not final."""
    found: list[str] = []
    for state in ConstellationState:
        if state in FINAL_CONSTELLATION_STATES:
            continue
        before: tuple[int, str] | None = None
        while True:
            rows = await reads.constellations(state=state, text=None, device=None, before=before, limit=_PAGE)
            found += [row.id for row in rows]
            if len(rows) < _PAGE:
                break
            before = (rows[-1].created_ms, rows[-1].id)
    return found


@dataclass(frozen=True, slots=True)
class Others:
    """The read models that need no whole stream."""

    headlines: Headlines
    questions: QuestionsView


async def fill_views(reads: ReadPort, fanout: Fanout, access: AccessView, fleet: FleetView, others: Others) -> None:
    """Load the read models from committed state and let them follow; nothing that happens meanwhile is missed."""
    early: list[Event] = []

    def note(event: Event) -> None:
        early.append(event)

    fanout.listeners.append(note)
    read: dict[str, tuple[int, dict[str, bytes]]] = {}
    for stream in (ACCESS, FLEET, *await live_constellations(reads)):
        found = await reads.entities(stream)
        if found is not None:
            read[stream] = found
    # No await from here on: what was published while reading is in `early`, what comes next goes to the models.
    fanout.listeners.remove(note)
    access.reset(read.get(ACCESS, (0, {}))[1])
    fleet.reset(*read.get(FLEET, (0, {})))
    for stream, (_, entities) in read.items():
        if stream not in (ACCESS, FLEET):
            others.questions.take(stream, entities)
    hear = (access.apply, fleet.apply, others.questions.apply, others.headlines.apply)
    for event in early:
        if event.seq > read.get(event.stream, (0, {}))[0]:
            for apply in hear:
                apply(event)
    fanout.listeners.extend(hear)
