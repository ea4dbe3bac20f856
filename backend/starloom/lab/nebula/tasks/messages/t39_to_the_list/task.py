"""Each address of the list got exactly one mail with the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    people = sorted(set(world.had("desk", "Reports/list.txt").decode().split()))
    receivers: list[str] = []
    for call in world.calls("desk", "mail.send"):
        receivers += call.args["to"] if isinstance(call.args["to"], list) else [call.args["to"]]
    yield "everybody exactly once", sorted(receivers) == people, 3
    report = world.had("desk", "Reports/report.md").decode().strip()
    yield (
        "the report",
        bool(receivers) and all(report in call.args["text"] for call in world.calls("desk", "mail.send")),
        1,
    )


def lay(ground: Ground) -> dict[str, Any]:
    """A report and a list on which two people stand twice."""
    draw = ground.draw("list")
    people = [f"p{number}@example.org" for number in range(1, 9)]
    rows = [*people, people[1], people[4]]
    draw.shuffle(rows)
    ground.write("desk", "Reports/list.txt", "\n".join(rows) + "\n")
    ground.write("desk", "Reports/report.md", f"# Report\n\nAll is well: {draw.randrange(1000)}.\n")
    return {}
