"""One message went to Ann, a person was asked, and one event stands at the time that was chosen."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    sent = [call.args for call in world.calls("phone", "msg.send")]
    yield "Ann was asked", len(sent) == 1 and "ann" in sent[0]["to"].lower(), 1
    yield "with all three times", all(time in sent[0]["text"] for time in ("10:00", "13:00", "16:00")), 1
    yield "a person said what she chose", any("Ann" in text for text in world.asked), 1
    booked = [(call.args["day"], call.args["start"]) for call in world.calls("desk", "cal.add")]
    yield "booked once, at her time", booked == [(world.words["tomorrow"], "13:00")], 2
