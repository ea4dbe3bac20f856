"""One message was sent, and it has every entry of tomorrow with its time."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.world.checked_world import CheckedWorld, Checkpoint


def checks(world: CheckedWorld) -> Iterator[Checkpoint]:
    events = [one for one in world.before.states["desk"]["cal"]["events"] if one["day"] == world.words["tomorrow"]]
    texts = [str(call.args["text"]) for call in world.calls("phone", "msg.send")]
    yield "one message", len(texts) == 1, 1
    for event in events:
        yield f"{event['title']} is in it", event["title"] in texts[0] and event["start"] in texts[0], 1
