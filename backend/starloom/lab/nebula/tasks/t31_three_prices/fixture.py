"""Three pages with a price each; the second answers 503 twice."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("prices")
    cents = draw.sample(range(500, 9900), 3)
    for number, price in enumerate(cents, 1):
        page = f"<html><h1>Article {number}</h1><p>{price / 100:.2f} EUR</p></html>\n"
        ground.write("srv-a", f"site/article-{number}.html", page)
    ground.set_state("srv-a", "site", {"flaky": {"article-2.html": 2}})
    return {"prices": [price / 100 for price in cents]}
