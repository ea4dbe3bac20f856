"""The answer names the cause and the server, and quotes lines that really stand in its log."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(w: CheckedWorld) -> Iterator[Checkpoint]:
    yield "the cause", w.answer.says("db timeout"), 2
    yield "the connection", w.answer.says("conn=7"), 1
    yield "the server", w.answer.says("srv-b"), 1
    log = w.had("srv-b", "logs/app.log").decode().splitlines()
    quoted = [line for line in log if "db timeout" in line and line in w.answer.text]
    yield "three lines as evidence", len(quoted) >= 3, 2
