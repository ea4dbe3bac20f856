"""What happened in a schedule, in words and in order: faults, people, hubs, and the log of what a violation names."""

from __future__ import annotations

from collections.abc import Iterator

from starloom_protocol.stream.feed import ACCESS, decode_event
from tests.sim.schedule import Outcome
from tests.sim.script import Act, Fault, Script
from tests.sim.virtual import START_MS

LINES_MOST = 200


def story(script: Script, outcome: Outcome) -> Iterator[str]:
    """Yield the parts of the schedule, then what it did, then what it broke."""
    yield f"seed {script.seed}: devices {', '.join(script.devices)}"
    parts: list[Fault | Act] = [*script.faults, *script.acts]
    yield from (f"  {part}" for part in sorted(parts, key=lambda part: part.at_s))
    yield "What happened:"
    lines = sorted((*outcome.told, *_events(outcome)), key=lambda line: line[0])
    if len(lines) > LINES_MOST:
        yield f"  ({len(lines) - LINES_MOST} lines before these are left out)"
    yield from (f"  {at_s:8.2f} s  {words}" for at_s, words in lines[-LINES_MOST:])
    yield "What it broke:"
    yield from (f"  {violation[:1000]}" for violation in outcome.violations[:5])


def _events(outcome: Outcome) -> Iterator[tuple[float, str]]:
    """Yield the log of every stream that a violation names; of all constellations if none is named."""
    words = "\n".join(outcome.violations)
    named = [name for name in outcome.streams if name in words] or [name for name in outcome.streams if name != ACCESS]
    for name in named:
        for raw in outcome.streams[name]:
            event = decode_event(raw)
            yield (
                (event.at_ms - START_MS) / 1000,
                f"{name} {event.seq}: {event.kind} {event.about} {event.note}".rstrip(),
            )
