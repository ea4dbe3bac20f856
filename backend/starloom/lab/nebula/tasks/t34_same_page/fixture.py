"""Two pages that differ in one line."""

from __future__ import annotations

from typing import Any

from starloom.lab.nebula.base.ground import Ground


def lay(ground: Ground) -> dict[str, Any]:
    draw = ground.draw("notice")
    lines = [f"<p>Notice {draw.randrange(10_000, 99_999)}</p>" for _ in range(20)]
    at = draw.randrange(1, len(lines))
    other = [*lines[:at], "<p>Closed on Monday</p>", *lines[at + 1 :]]
    for server, page in (("srv-a", lines), ("srv-b", other)):
        ground.write(server, "site/notice.html", "\n".join(page) + "\n")
    return {"lines": [lines[at], other[at]], "same": lines[at - 1]}
