"""T173: a schedule that was removed since the backup, or whose person has gone, begins nothing after a restore."""

from __future__ import annotations

import pytest

from starloom.core.state import inputs as i
from starloom_protocol.records.entities import Principal
from starloom_protocol.vocabulary import Role, ScheduleState
from tests.engine.test_loop import Wires, build, kill
from tests.engine.test_schedules import a_hub, fired, put_on_clock

BEA = Principal(created_ms=0, id="p-bea", name="bea", role=Role.OWNER)
ENDS = {
    "removed": i.EndedRights(schedules=["s-look"]),
    "its person may only look": i.EndedRights(roles={"p-ann": Role.VIEWER}),
    "nothing": i.EndedRights(),
}


@pytest.mark.parametrize("how", ENDS)
async def test_t173_a_moment_that_passed_is_not_made_up_by_an_ended_right(how: str) -> None:
    """The moment is due when the hub starts, so its timer is there as early as the mark of the restore."""
    async with a_hub() as hubs:
        first = await put_on_clock(hubs[0])
        await hubs[0].engine.inbox.ask(i.PrincipalAdded(by="engine", id="b", principal=BEA))
        await kill(hubs[0])
        hubs[0].clock.ms = first
        mark = i.HistoryRestored(by="engine", ended=ENDS[how], id="restored-1", made_ms=1)
        hubs.append(await build(hubs[0].clock, hubs[0].redis, hubs[0].history, Wires(), first=lambda: [mark]))
        await hubs[-1].clock.turn(2_000)
        schedule = hubs[-1].engine.shard.fleet.schedules["s-look"]
        assert bool(fired(hubs[-1])) == (schedule.state is ScheduleState.ACTIVE) == (how == "nothing")
