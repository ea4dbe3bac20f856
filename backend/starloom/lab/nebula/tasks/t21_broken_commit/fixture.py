"""A repository in which commit 8 breaks test_price."""

from __future__ import annotations

import subprocess
from typing import Any

from starloom.lab.nebula.base.desk import BROKEN_AT, lay_shop
from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    lay_shop(ground, broken_at=BROKEN_AT)
    folder = ground.files("desk") / "shop"
    told = subprocess.run(["git", "log", "--format=%H", "--reverse"], cwd=folder, capture_output=True, check=True)
    commits = told.stdout.decode().split()
    broken = commits[BROKEN_AT - 1]
    return {"broken": broken, "others": [one for one in commits if one != broken]}
