"""The first source is down."""

from __future__ import annotations

import json
from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    rate = round(1 + ground.draw("rate").random(), 4)
    ground.write("srv-a", "site/rate.json", json.dumps({"rate": 0.5}))
    ground.write("srv-b", "site/rate.json", json.dumps({"rate": rate}))
    services = ground.state("srv-a", "svc")["services"]
    services["shop"]["state"] = "stopped"
    ground.set_state("srv-a", "svc", {"services": services})
    return {"rate": rate}
