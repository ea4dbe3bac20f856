"""An invoice for each of the people who write."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground

NAMES = ("ann", "ben", "cyd", "dan", "eva")


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("invoices")
    for name in NAMES:
        ground.write("desk", f"Invoices/{name}.pdf", f"%PDF-1.4\n% invoice of {name} {draw.randrange(10**9)}\n%%EOF\n")
    return {}
