"""Since the last run one sale of one month came in."""

from __future__ import annotations

from starloom.lab.nebula.base.ground import Ground

PLACE = "sales"


def between(ground: Ground) -> None:
    path = max(ground.files("srv-a").joinpath(PLACE).glob("*.csv"))
    day, region, customer, _ = path.read_text().splitlines()[-1].split(",")
    ground.write("srv-a", f"{PLACE}/{path.name}", f"{path.read_text()}{day},{region},{customer},12.34\n")
