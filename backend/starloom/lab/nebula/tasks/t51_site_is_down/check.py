"""The service runs again, only the log was moved aside, and the answer names the cause."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    yield "it runs again", w.state("srv-b", "svc")["services"]["shop"]["state"] == "running", 2
    yield "restarted once", [call.device for call in w.calls(tool="svc.restart")] == ["srv-b"], 1
    yield "the log is kept", w.file("srv-b", "logs/app.log.1") == w.had("srv-b", "logs/app.log"), 1
    yield "and moved aside", not w.file("srv-b", "logs/app.log"), 1
    yield "the cause is named", w.answer.says("log volume"), 1
