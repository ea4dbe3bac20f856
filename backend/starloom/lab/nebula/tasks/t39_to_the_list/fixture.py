"""A report and a list on which two people stand twice."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("list")
    people = [f"p{number}@example.org" for number in range(1, 9)]
    rows = [*people, people[1], people[4]]
    draw.shuffle(rows)
    ground.write("desk", "Reports/list.txt", "\n".join(rows) + "\n")
    ground.write("desk", "Reports/report.md", f"# Report\n\nAll is well: {draw.randrange(1000)}.\n")
    return {}
