"""Paces: how long the calls of a tool take on a device, learned from ended attempts, and what is expected from them.

Owns the records with their keys and the bound on their number, the expected times by tool, size class and device, and
the devices that are slow beside their peers. Excludes none and places nothing.

An attempt that ends becomes a sample by an event of the fleet. The hub measures from lease to end by its own clock, so
a device cannot state a time; it can only be slow. Of a row with many calls one end in `SPARSE` is taken, by the input's
random number, so that the log of the fleet grows slowly; of short calls one in `SPARSE_SHORT`.

Times are kept as logarithms in whole numbers, so that paces are the same bytes on every machine. A doubling is
`OCTAVE`. Between powers of two they are straight lines; `power_of` is the exact inverse, so the mean of like times is
that time.

Expected times are a pure function of the records, brought up to date when read. A device without calls of a tool is
expected to take the median of all devices, times its own factor over the tools that it is known for; each of its first
calls replaces a part of that. The median, because one device that lies or stalls must not move what is expected of the
others.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from math import isqrt
from typing import Final

from msgspec.structs import replace

from starloom.core.placement.health import hinders_its_tool
from starloom.core.state.model import Constellation, Fleet
from starloom.core.state.work import Put, Work
from starloom_protocol.records.entities import Attempt, TaskSpec
from starloom_protocol.records.fleet import PACE_CALLS_LEAST, PACE_OCTAVE, Pace, ToolOffer
from starloom_protocol.stream.authors import ENGINE
from starloom_protocol.stream.events import EventKind
from starloom_protocol.vocabulary import Repeatability

OCTAVE: Final = PACE_OCTAVE
_BITS: Final = 10


def log_of(value: int) -> int:
    """Return the logarithm of a number; of anything below 1, that of 1."""
    value = max(value, 1)
    exponent = value.bit_length() - 1
    return exponent * OCTAVE + ((value << _BITS) >> exponent) - OCTAVE


def power_of(log: int) -> int:
    """Return the number with a logarithm, at least 1."""
    log = max(log, 0)
    return ((OCTAVE + (log & (OCTAVE - 1))) << (log >> _BITS)) >> _BITS


def spread_of(count: int, logs: int, squares: int) -> int:
    """Return the standard deviation of `count` logarithms, from their sum and that of their squares; 0 below two."""
    if count < 2:
        return 0
    return isqrt(max(0, (squares * count - logs * logs) // (count * (count - 1))))


TRANSFER: Final = ""
"""The tool of a device's row for transfers; no tool is called so."""
LONGEST_MS: Final = 86_400_000
"""A longer time counts as this one, so that a single end cannot move a mean without bound."""
COUNT_MOST: Final = 64
"""At so many calls all sums lose half of their weight: what a device does now counts more than what it did."""
SMALL_BYTES: Final = 65_536
SIZES_MOST: Final = 5


def size_of(count: int) -> int:
    """Return the size class of so many bytes of inputs: below 64 KiB, then eight times as much for each class."""
    return min(SIZES_MOST, ((count // SMALL_BYTES).bit_length() + 2) // 3)


def key_of(tool: str, device: str, size: int) -> str:
    """Return the key of a row."""
    return f"{tool}/{device}/{size}"


def with_sample(row: Pace, took_ms: int, given_bytes: int, at_ms: int) -> Pace:
    """Return a row with one call more."""
    time, size = log_of(min(took_ms, LONGEST_MS)), log_of(given_bytes)
    row = faded(row)
    return Pace(
        byte_logs=row.byte_logs + size,
        byte_squares=row.byte_squares + size * size,
        count=row.count + 1,
        device=row.device,
        failures=row.failures,
        last_ms=at_ms,
        logs=row.logs + time,
        size=row.size,
        squares=row.squares + time * time,
        tool=row.tool,
    )


def with_failure(row: Pace, at_ms: int) -> Pace:
    """Return a row with one end more by a fault of the device."""
    row = faded(row)
    return replace(row, failures=row.failures + 1, last_ms=at_ms)


def faded(row: Pace) -> Pace:
    """Return a row with half of its weight if it has all that it may have."""
    if row.count + row.failures < COUNT_MOST:
        return row
    # The kept share is that of the counts, so that means stay exact when a count is odd.
    count = row.count // 2
    share = (count, max(row.count, 1))
    return replace(
        row,
        byte_logs=row.byte_logs * share[0] // share[1],
        byte_squares=row.byte_squares * share[0] // share[1],
        count=count,
        failures=row.failures // 2,
        logs=row.logs * share[0] // share[1],
        squares=row.squares * share[0] // share[1],
    )


def oldest(rows: Mapping[str, Pace], most: int) -> list[str]:
    """Return the keys that give way before a new row: none, or a sixteenth at once, the least recently used ones."""
    if len(rows) < most:
        return []
    by_age = sorted(rows, key=lambda key: (rows[key].last_ms, key))
    return by_age[: len(rows) - most + most // 16 + 1]


SAMPLES_LEAST: Final = PACE_CALLS_LEAST
"""A device with fewer calls of a tool is judged by the other devices, and taken whenever it is free."""
TOOLS_LEAST: Final = 3
"""A device that is known for so many tools has a factor by which a task may wait for a better one."""
TRANSFERS_LEAST: Final = 32
_NONE = (0, 0)
FACTOR_MOST: Final = 4 * OCTAVE
FAILURES_MOST: Final = 2 * OCTAVE
TOOLS_MOST: Final = 64
"""A plan of more tools is ranked by the slowest of them; the others count as their mean."""
MIB: Final = 1_048_576
MIB_MS: Final = 100
"""Milliseconds for a MiB to a device of which no transfer is known."""
_Key = tuple[str, int]


class PaceIndex:
    """The logarithms of expected times by (tool, size class) and device, with their sorted values for medians.

    `sure` are the devices with enough calls, and how many; `changed` has, by tool, the number of each device's last
    change in order.
    """

    __slots__ = ("_devices", "_sorted", "changed", "logs", "number", "rates", "rows", "sizes", "sure")

    def __init__(self) -> None:
        self.number = 0
        self.rows: dict[str, Pace] = {}
        self.logs: dict[_Key, dict[str, int]] = {}
        self.sure: dict[_Key, dict[str, int]] = {}
        self.sizes: dict[str, dict[int, int]] = {}
        self.rates: dict[str, tuple[int, int]] = {}
        self.changed: dict[str, dict[str, int]] = {}
        self._sorted: dict[_Key, list[int]] = {}
        self._devices: dict[str, dict[_Key, int]] = {}

    def take(self, key: str, row: Pace | None, number: int) -> None:
        """Take the present state of one row; None if it is gone."""
        old = self.rows.pop(key, None)
        if old is not None:
            self._leave(old)
        if row is not None:
            self.rows[key] = row
            self._join(row)
        either = row or old
        if either is not None:
            changed = self.changed.setdefault(either.tool, {})
            changed.pop(either.device, None)
            changed[either.device] = number
        self.number = max(self.number, number)

    def expected(self, tool: str, size: int, device: str) -> int:
        """Return the milliseconds that a call should take on a device; 0 if nothing is known of the tool."""
        at = tool, size
        if device in self.sure.get(at, ()):
            return power_of(self.logs[at][device])
        usual = self.median(tool, size)
        if usual is None:
            return 0
        log, count = self._own_log(tool, size, device)
        return power_of((log * count + (usual + self.factor(device)) * (SAMPLES_LEAST - count)) // SAMPLES_LEAST)

    def median(self, tool: str, size: int) -> int | None:
        """Return the median logarithm over devices, of the nearest size class that is known; None if none is."""
        sizes = self.sizes.get(tool)
        if not sizes:
            return None
        near = size if size in sizes else min(sizes, key=lambda known: (abs(known - size), known))
        logs = self._sorted[tool, near]
        return (logs[(len(logs) - 1) // 2] + logs[len(logs) // 2]) // 2

    def factor(self, device: str) -> int:
        """Return the mean logarithm of how much longer a device takes than the median, over what it is known for."""
        beside = self._beside_peers(device)
        return max(-FACTOR_MOST, min(FACTOR_MOST, sum(beside) // len(beside))) if beside else 0

    def least(self, tool: str, size: int, device: str) -> int:
        """Return the milliseconds that a call takes at least where a device is known by its factor; 0 if it is not.

        The spread of the factor over its tools is taken off.
        """
        beside, usual = self._beside_peers(device), self.median(tool, size)
        if usual is None or len(beside) < TOOLS_LEAST:
            return 0
        total = sum(beside)
        spread = spread_of(len(beside), total, sum(one * one for one in beside))
        factor = max(-FACTOR_MOST, min(FACTOR_MOST, total // len(beside)))
        log, count = self._own_log(tool, size, device)
        return power_of((log * count + (usual + factor - spread) * (SAMPLES_LEAST - count)) // SAMPLES_LEAST)

    def _own_log(self, tool: str, size: int, device: str) -> tuple[int, int]:
        """Return the mean logarithm of the few calls of a device, and their number."""
        row = self.rows.get(key_of(tool, device, size))
        return (expected_log(row), min(row.count, SAMPLES_LEAST)) if row is not None and row.count else (0, 0)

    def _beside_peers(self, device: str) -> list[int]:
        differences = []
        for at, log in self._devices.get(device, {}).items():
            ordered = self._sorted[at]
            differences.append(log - (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) // 2)
        return differences

    def transfer_ms(self, device: str, count: int) -> int:
        """Return the milliseconds for so many bytes to a device."""
        logs_own, count_own = self.rates.get(device, _NONE)
        if count_own < TRANSFERS_LEAST:
            # Transfers pass the same hub, so the first ones to any device tell of all.
            calls = sum(calls for _logs, calls in self.rates.values())
            if calls < SAMPLES_LEAST:
                return count * MIB_MS // MIB
            logs_own, count_own = sum(logs for logs, _calls in self.rates.values()), calls
        return count * power_of(logs_own // count_own) // MIB

    def _join(self, row: Pace) -> None:
        if not row.count:
            return
        if row.tool == TRANSFER:
            self.rates[row.device] = row.logs, row.count
            return
        at, log = (row.tool, row.size), expected_log(row)
        self.logs.setdefault(at, {})[row.device] = log
        insort(self._sorted.setdefault(at, []), log)
        self._devices.setdefault(row.device, {})[at] = log
        sizes = self.sizes.setdefault(row.tool, {})
        sizes[row.size] = sizes.get(row.size, 0) + 1
        if row.count >= SAMPLES_LEAST:
            self.sure.setdefault(at, {})[row.device] = row.count

    def _leave(self, row: Pace) -> None:
        if not row.count:
            return
        if row.tool == TRANSFER:
            self.rates.pop(row.device, None)
            return
        at = row.tool, row.size
        log = self.logs[at].pop(row.device)
        ordered = self._sorted[at]
        del ordered[bisect_left(ordered, log)]
        del self._devices[row.device][at]
        sizes = self.sizes[row.tool]
        sizes[row.size] -= 1
        if not sizes[row.size]:
            del sizes[row.size]
        self.sure.get(at, {}).pop(row.device, None)


def index_over(paces: Mapping[str, Pace]) -> PaceIndex:
    """Return an index over paces that nobody keeps up to date."""
    index = PaceIndex()
    for number, (key, row) in enumerate(paces.items(), start=1):
        index.take(key, row, number)
    return index


def expected_log(row: Pace) -> int:
    """Return the logarithm of the time that a row leads to expect; failures lengthen it, fourfold at most."""
    log = row.logs // row.count
    if row.failures:
        tries = log_of((row.count + row.failures) * OCTAVE // row.count) - log_of(OCTAVE)
        log += min(tries, FAILURES_MOST)
    return log


def index_of(fleet: Fleet) -> PaceIndex:
    """Return the index over the fleet's paces, up to date."""
    index: PaceIndex | None = fleet.pace_index
    if index is None:
        index = fleet.pace_index = PaceIndex()
    if index.number != fleet.pace_number:
        newer: list[tuple[str, int]] = []
        for key in reversed(fleet.pace_changed):
            number = fleet.pace_changed[key]
            if number <= index.number:
                break
            newer.append((key, number))
        for key, number in reversed(newer):
            index.take(key, fleet.paces.get(key), number)
        for key, _number in newer:
            if key not in fleet.paces:
                del fleet.pace_changed[key]
        index.number = fleet.pace_number
    return index


def usual_ms(fleet: Fleet, tools: Iterable[str]) -> dict[str, int]:
    """Return the usual milliseconds of those tools that have a pace, at most `TOOLS_MOST` of them, by name."""
    if not fleet.paces:
        return {}
    index = index_of(fleet)
    medians = ((tool, index.median(tool, 0)) for tool in sorted(set(tools)))
    times = {tool: power_of(log) for tool, log in medians if log is not None}
    return dict(sorted(sorted(times.items(), key=lambda item: (-item[1], item[0]))[:TOOLS_MOST]))


EACH_BELOW: Final = 8
SPARSE: Final = 8
SPARSE_SHORT: Final = 64
SHORT_MS: Final = 50
"""Of calls that are known as shorter than this, one in `SPARSE_SHORT` is taken: placement tells no such times apart."""
MOVED_LEAST: Final = 4 * SMALL_BYTES


def inputs_of(constellation: Constellation, spec: TaskSpec) -> dict[str, tuple[int, int]]:
    """Return, by device, how many inputs of a task lie there and how many bytes they have."""
    inputs: dict[str, tuple[int, int]] = {}
    for item in spec.inputs:
        source = constellation.last_attempt(item.source)
        if source is not None:
            count, size = inputs.get(source.device, (0, 0))
            inputs[source.device] = count + 1, size + source.bytes
    return inputs


def learn_success(work: Work, constellation: Constellation, spec: TaskSpec, ended: Attempt) -> None:
    """Take the time of an attempt that succeeded."""
    fleet = work.shard.fleet
    if not spec.inputs and work.roll % SPARSE:
        # Nearly every result ends here, as one that is not taken.
        row_known = fleet.paces.get(key_of(spec.tool or "", ended.device, 0))
        if row_known is not None and row_known.count + row_known.failures >= EACH_BELOW:
            return
    if not work.shard.settings.pace_rows_most or not _counts(work, spec, ended):
        return
    took_ms = max(0, ended.ended_ms - ended.leased_ms)
    if not spec.inputs:
        row = _row(work, spec.tool or "", ended.device, 0)
        if _is_taken(work, row, took_ms):
            _put(work, [("pace", key_of(row.tool, row.device, 0), with_sample(row, took_ms, ended.bytes, work.at_ms))])
        return
    inputs = inputs_of(constellation, spec)
    whole = sum(size for _count, size in inputs.values())
    moved = whole - inputs.get(ended.device, (0, 0))[1]
    index, size = index_of(fleet), size_of(whole)
    puts: list[Put] = []
    if moved >= MOVED_LEAST:
        transfer_ms = index.transfer_ms(ended.device, moved)
        # The part above the expected time is the transfer; where that is the smaller part, it would be mostly chance.
        expected_ms = index.expected(spec.tool or "", size, ended.device)
        rate = _row(work, TRANSFER, ended.device, 0)
        over_ms = max(took_ms - expected_ms, took_ms // 4) * MIB // moved
        if expected_ms and transfer_ms * 2 >= expected_ms and _is_taken(work, rate, over_ms):
            puts.append(("pace", key_of(TRANSFER, ended.device, 0), with_sample(rate, over_ms, moved, work.at_ms)))
        took_ms = max(took_ms // 4, took_ms - transfer_ms)
    row = _row(work, spec.tool or "", ended.device, size)
    if _is_taken(work, row, took_ms):
        key = key_of(row.tool, row.device, size)
        puts.append(("pace", key, with_sample(row, took_ms, ended.bytes, work.at_ms)))
    _put(work, puts)


def learn_failure(work: Work, spec: TaskSpec, ended: Attempt) -> None:
    """Count an end that makes the device a worse place for this tool."""
    if not work.shard.settings.pace_rows_most or not hinders_its_tool(ended) or not _counts(work, spec, ended):
        return
    row = _row(work, spec.tool or "", ended.device, 0)
    if _is_taken(work, row, SHORT_MS):
        _put(work, [("pace", key_of(row.tool, row.device, 0), with_failure(row, work.at_ms))])


def forget_device(work: Work, device: str) -> list[Put]:
    """Return the puts that remove the paces of a device that leaves."""
    return [("pace", key, None) for key, row in work.shard.fleet.paces.items() if row.device == device]


def _counts(work: Work, spec: TaskSpec, ended: Attempt) -> bool:
    device = work.shard.fleet.devices.get(ended.device)
    return spec.tool is not None and device is not None and not device.revoked and ended.origin is None


def _row(work: Work, tool: str, device: str, size: int) -> Pace:
    row = work.shard.fleet.paces.get(key_of(tool, device, size))
    return row or Pace(device=device, last_ms=work.at_ms, size=size, tool=tool)


def _is_taken(work: Work, row: Pace, took_ms: int) -> bool:
    is_short = took_ms < SHORT_MS and row.count >= EACH_BELOW and power_of(row.logs // row.count) < SHORT_MS
    if is_short and work.roll % SPARSE_SHORT:
        return False
    return row.count + row.failures < EACH_BELOW or work.roll % SPARSE == 0


def _put(work: Work, puts: list[Put]) -> None:
    if not puts:
        return
    fleet = work.shard.fleet
    new = sum(key not in fleet.paces for _kind, key, _row in puts)
    if new:
        stay = {key for _kind, key, _row in puts}
        removals = oldest(fleet.paces, work.shard.settings.pace_rows_most)
        puts = [*(("pace", key, None) for key in removals if key not in stay), *puts]
    work.emit(fleet, EventKind.PACE_LEARNED, puts[-1][1], puts, by=ENGINE)


SLOW_LEAST: Final = OCTAVE
"""Twice the median of its peers; less is within what tools and inputs vary by."""
PEERS_LEAST: Final = 2
_TENTHS: Final = 10
SURE: Final = SAMPLES_LEAST + 2
"""Below five calls a spread says little."""
_P90: Final = 1_282
"""Thousandths of a standard deviation above the mean, below which nine of ten are."""
_AT_LEAST: Final = OCTAVE // 4
"""A fifth more than usual is no delay, however alike the calls were so far."""


def slow_at(index: PaceIndex, tool: str, device: str) -> int:
    """Return how many tenths of its peers' time a call takes on a device, in the size class where it is slowest.

    0 if it is not slow, or too little is known: of the device itself, or of two others.
    """
    most = 0
    for size in index.sizes.get(tool, ()):
        sure, logs = index.sure.get((tool, size), {}), index.logs.get((tool, size), {})
        if device not in sure:
            continue
        peers = sorted(logs[other] for other in sure if other != device)
        if len(peers) < PEERS_LEAST:
            continue
        usual = (peers[(len(peers) - 1) // 2] + peers[len(peers) // 2]) // 2
        if logs[device] - usual >= SLOW_LEAST:
            most = max(most, power_of(logs[device]) * _TENTHS // power_of(usual))
    return most


def is_comparable(offer: ToolOffer) -> bool:
    """Tell whether calls of a tool are alike wherever they run.

    What must not be repeated runs a program, asks an address or a person: its time is that of its arguments.
    """
    return offer.repeatability is not Repeatability.NEVER


def slow_tools(index: PaceIndex, device: str, offers: Iterable[ToolOffer]) -> list[tuple[str, int]]:
    """Return the tools for which a device is slow with the tenths of its peers' time, the slowest first.

    `offers` are those of the device.
    """
    tools_known = {row.tool for row in index.rows.values() if row.device == device}
    tools = {offer.name for offer in offers if offer.name in tools_known and is_comparable(offer)}
    tenths_by_tool = ((tool, slow_at(index, tool, device)) for tool in sorted(tools))
    return sorted(((tool, tenths) for tool, tenths in tenths_by_tool if tenths), key=lambda item: (-item[1], item[0]))


def slow_words(tenths: int, tool: str) -> str:
    """Return the sentence part on one tool."""
    return f"takes {tenths // _TENTHS}.{tenths % _TENTHS} times as long as others for {tool}"


def slow_sentence(index: PaceIndex, device: str, offers: Iterable[ToolOffer]) -> str:
    """Return what the page of devices says of a device with these tools; empty if it is not slow."""
    tools = slow_tools(index, device, offers)
    if not tools:
        return ""
    more = f", and is slow for {len(tools) - 1} more tool{'s' if len(tools) > 2 else ''}" if len(tools) > 1 else ""
    return f"It {slow_words(tools[0][1], tools[0][0])} over past runs{more}. It is still used where it is free."


def p90_ms(index: PaceIndex, tool: str, device: str, size: int) -> int:
    """Return the time within which nine of ten calls end on a device; 0 below `SURE` calls of its own."""
    row = index.rows.get(key_of(tool, device, size))
    if row is None or row.count < SURE:
        return 0
    spread = spread_of(row.count, row.logs, row.squares)
    return power_of(expected_log(row) + max(_P90 * spread // 1_000, _AT_LEAST))
