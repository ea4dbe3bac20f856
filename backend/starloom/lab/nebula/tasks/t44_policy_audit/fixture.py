"""Four services that should run and do not, two that run and should not."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground

POLICY = {"shop": "running", "db": "running", "cache": "running", "mailer": "stopped"}
DOWN = {"srv-a": ("db", "cache"), "srv-b": ("shop", "cache")}


def lay(ground: Ground) -> dict[str, Any]:
    ground.write("desk", "policy.txt", "".join(f"{name}: {state}\n" for name, state in POLICY.items()))
    for server, names in DOWN.items():
        services = ground.state(server, "svc")["services"]
        for name in names:
            services[name]["state"] = "stopped"
        ground.set_state(server, "svc", {"services": services})
    fixes = [[server, name] for server, names in DOWN.items() for name in names]
    return {"fixes": fixes, "others": [[server, "mailer"] for server in DOWN]}
