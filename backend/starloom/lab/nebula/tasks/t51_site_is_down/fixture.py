"""The shop of srv-b does not come up while its log is large."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground

LOG_BYTES_MOST = 1000


def lay(ground: Ground) -> dict[str, Any]:
    detail = "the log volume is full: logs/app.log"
    log = str(ground.files("srv-b") / "logs" / "app.log")
    services = ground.state("srv-b", "svc")["services"]
    blocked = {"path": log, "bytes": LOG_BYTES_MOST, "detail": detail}
    services["shop"].update(state="failed", detail=detail, blocked=blocked)
    ground.set_state("srv-b", "svc", {"services": services})
    return {}
