"""The service runs again, only the log was moved aside, and the answer names the cause."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    yield "it runs again", world.state("srv-b", "svc")["services"]["shop"]["state"] == "running", 2
    yield "restarted once", [call.device for call in world.calls(tool="svc.restart")] == ["srv-b"], 1
    yield "the log is kept", world.file("srv-b", "logs/app.log.1") == world.had("srv-b", "logs/app.log"), 1
    yield "and moved aside", not world.file("srv-b", "logs/app.log"), 1
    yield "the cause is named", world.answer.says("log volume"), 1


LOG_BYTES_MOST = 1000


def lay(ground: Ground) -> dict[str, Any]:
    """The shop of srv-b does not come up while its log is large."""
    detail = "the log volume is full: logs/app.log"
    log = str(ground.files("srv-b") / "logs" / "app.log")
    services = ground.state("srv-b", "svc")["services"]
    blocked = {"path": log, "bytes": LOG_BYTES_MOST, "detail": detail}
    services["shop"].update(state="failed", detail=detail, blocked=blocked)
    ground.set_state("srv-b", "svc", {"services": services})
    return {}
