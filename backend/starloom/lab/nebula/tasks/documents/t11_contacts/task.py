"""The merged list has every person once, and the answer names the two that contradict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint
from starloom.lab.nebula.world.files.ground import Ground


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    mine, theirs = (_people(world.had(device, "Contacts/contacts.csv").decode()) for device in ("desk", "phone"))
    merged = world.text("desk", "Contacts/merged.csv")
    yield "everybody once", _people(merged) == {**theirs, **mine}, 2
    yield "no line twice", len(merged.splitlines()) == len({**theirs, **mine}) + 1, 1
    conflicts = {name for name in mine.keys() & theirs.keys() if mine[name] != theirs[name]}
    same = (mine.keys() | theirs.keys()) - conflicts
    yield "the conflicts are named", world.answer.says(*conflicts), 2
    yield "and no others", bool(world.answer.items) and not any(world.answer.says(name) for name in same), 1


def _people(text: str) -> dict[str, tuple[str, ...]]:
    rows = [line.strip().split(",") for line in text.splitlines()[1:] if line.strip()]
    return {row[0]: tuple(row[1:]) for row in rows}


NAMES = ("Ann", "Ben", "Cyd", "Dan", "Eva", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea")


def lay(ground: Ground) -> dict[str, Any]:
    """Contacts on desk and phone: some on both, two of those with other numbers."""
    draw = ground.draw("contacts")
    surnames = [f"{name} {draw.choice('ABCDEFGH')}{number}son" for number, name in enumerate(NAMES)]
    numbers = {name: f"+49-{draw.randrange(100, 999)}-{draw.randrange(1000, 9999)}" for name in surnames}
    both, conflicts = surnames[3:9], surnames[4:6]
    for device, names in (("desk", surnames[:9]), ("phone", both + surnames[9:])):
        lines = ["name,phone,mail"]
        for name in names:
            number = "+49-1-1" if device == "phone" and name in conflicts else numbers[name]
            lines.append(f"{name},{number},{name.split()[0].lower()}@example.org")
        ground.write(device, "Contacts/contacts.csv", "\n".join(lines) + "\n")
    return {}
