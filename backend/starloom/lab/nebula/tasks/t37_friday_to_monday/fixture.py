"""Four meetings on Friday, two on Monday at the same times, people who take part in several."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    words = ground.facts.words()
    people = [f"{name}@example.org" for name in ("ann", "ben", "cyd", "dan")]
    rows = [
        ("Planning", "friday", "09:00", people[:2]),
        ("Budget", "friday", "10:00", people[1:3]),
        ("Design", "friday", "13:00", people[:1]),
        ("Retrospective", "friday", "15:00", people),
        ("Board", "monday", "09:00", []),
        ("Interview", "monday", "13:00", []),
    ]
    events = [
        {"id": f"e-{number}", "title": title, "day": words[day], "start": start, "minutes": 60, "attendees": attendees}
        for number, (title, day, start, attendees) in enumerate(rows, 1)
    ]
    ground.set_state("desk", "cal", {"events": events})
    return {}
