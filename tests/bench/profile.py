"""What limits it: the time of the hub's loop by room, and its dearest functions, from a profiled run.

A profiler makes every call dearer, so shares count here and times do not.
"""

from __future__ import annotations

import asyncio
import pstats
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.graphs import Graph, plan
from tests.bench.hub_client import BenchFailed
from tests.bench.profiled_hub import OUT
from tests.bench.stack import Stack

RUNS = 3
WRITTEN_S = 20.0
FUNCTIONS = 12
_PARTS = (
    ("starloom/core/", "core"),
    ("starloom/engine/", "engine"),
    ("starloom/store/", "store"),
    ("starloom/edge/", "edge"),
    ("starloom/", "rest of the hub"),
    ("starloom_protocol/", "protocol"),
    ("uvicorn/", "uvicorn"),
    ("websockets/", "websockets"),
    ("msgspec", "msgspec"),
    ("starlette/", "FastAPI and Starlette"),
    ("fastapi/", "FastAPI and Starlette"),
    ("pydantic", "pydantic"),
    ("sqlalchemy", "SQL"),
    ("sqlite", "SQL"),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """Shares in per cent of the loop's own time: by room, and the dearest functions."""

    parts: list[tuple[str, float]]
    functions: list[tuple[str, float, float]]


async def measure(folder: Path, agents: int, slots: int, graph: Graph) -> Profile:
    """Run a graph some times on a profiled hub of its own."""
    out = folder / "hub.profile"
    module = "tests.bench.profiled_hub"
    async with Stack(folder, agents, slots, module, {OUT: str(out)}) as stack:
        client = stack.client()
        try:
            await client.open()
            document = plan(graph)
            await client.run(document)
            async with taken(stack, out):
                for _ in range(RUNS):
                    await client.run(document)
                await stack.settled(client)
        finally:
            await client.close()
    return read(out, RUNS * len(graph))


@asynccontextmanager
async def taken(stack: Stack, out: Path) -> AsyncIterator[None]:
    """Profile what the hub of a stack, a `tests.bench.profiled_hub`, does meanwhile; `out` is written after it."""
    out.unlink(missing_ok=True)  # noqa: ASYNC240 - before the hub is measured
    stack.signal_hub(signal.SIGUSR1)
    yield
    stack.signal_hub(signal.SIGUSR2)
    await _written(out)


async def _written(out: Path) -> None:
    try:
        async with asyncio.timeout(WRITTEN_S):
            while not out.exists():  # noqa: ASYNC110, ASYNC240 - another process writes it
                await asyncio.sleep(0.05)
    except TimeoutError as error:
        raise BenchFailed(f"the profile was not written within {WRITTEN_S:g} s") from error


def read(out: Path, tasks: int) -> Profile:
    """Return the shares of a written profile; calls are told for each task."""
    stats = pstats.Stats(str(out))
    rows = [
        (_name(place), _part(place), calls / tasks, own)
        for place, (_, calls, own, _, _) in stats.stats.items()  # type: ignore[attr-defined]
    ]
    whole = sum(own for *_, own in rows)
    parts: dict[str, float] = {}
    for _, part, _, own in rows:
        parts[part] = parts.get(part, 0.0) + own
    dearest = sorted(rows, key=lambda row: row[3], reverse=True)[:FUNCTIONS]
    return Profile(
        parts=sorted(((part, own / whole * 100) for part, own in parts.items()), key=lambda row: row[1], reverse=True),
        functions=[(name, own / whole * 100, calls) for name, _, calls, own in dearest],
    )


def _part(place: tuple[str, int, str]) -> str:
    file, _, name = place
    text = file if file != "~" else name
    return next((part for word, part in _PARTS if word in text), "Python and its library")


def _name(place: tuple[str, int, str]) -> str:
    file, line, name = place
    if file == "~":
        return name
    parts = Path(file).parts
    start = max(
        (at for at, part in enumerate(parts) if part in ("site-packages", "main", "backend", "protocol")), default=-3
    )
    return f"{'/'.join(parts[start + 1 :])}:{line} {name}"
