"""Each address of the list got exactly one mail with the report."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    people = sorted(set(w.had("desk", "Reports/list.txt").decode().split()))
    told: list[str] = []
    for call in w.calls("desk", "mail.send"):
        told += call.args["to"] if isinstance(call.args["to"], list) else [call.args["to"]]
    yield "everybody exactly once", sorted(told) == people, 3
    report = w.had("desk", "Reports/report.md").decode().strip()
    yield "the report", bool(told) and all(report in call.args["text"] for call in w.calls("desk", "mail.send")), 1
