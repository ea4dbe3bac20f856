"""Contacts on desk and phone: some on both, two of those with other numbers."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground

NAMES = ("Ann", "Ben", "Cyd", "Dan", "Eva", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Lea")


def lay(ground: Ground) -> dict[str, Any]:
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
