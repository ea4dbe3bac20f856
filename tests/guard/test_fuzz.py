"""A bounded part of the fuzzing in every run of CI; `make guard FRAMES=n` does any number."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.edge.world import World
from tests.guard import api, fuzzing
from tests.guard.frames import keep_seed, kept_seeds
from tests.guard.sockets import Siege


@pytest.mark.test
def test_damaged_messages_are_refused_whole_or_taken() -> None:
    found = fuzzing.run("frames", fuzzing.CI_FRAMES, first=0)
    assert found.cases >= 20_000
    assert found.unhandled == []
    assert found.said["taken"] > 200, "nearly nothing was sound enough to get through"


@pytest.mark.test
def test_damaged_documents_give_faults_or_a_plan() -> None:
    found = fuzzing.run("documents", 1500, first=0)
    assert found.unhandled == []
    assert sum(found.said.values()) >= 1500


async def test_a_hub_under_attack_goes_on_and_others_do_not_notice(world: World) -> None:
    siege = Siege(world)
    try:
        await siege.open()
        for number in range(40):
            await siege.attack(number)
    finally:
        siege.close()
    assert siege.unhandled == []
    assert siege.said["refused"] >= 20
    assert siege.said["taken"] >= 5
    assert siege.victim.ws is not None
    await siege.victim.ws.leave()


@pytest.mark.test
async def test_no_request_of_the_openapi_makes_an_error_of_the_server(world: World) -> None:
    real = await api.real_things(world)
    made = api.requests(world.app.openapi(), 1, real, 0)
    up = await api.ask_all(world, made, down=False)
    assert up.errors == []
    with api.store_away(world):
        down = await api.ask_all(world, made, down=True)
    assert down.errors == []
    assert up.cases > 80
    assert down.statuses[503] > 10


def test_a_failing_case_is_kept_once_and_read_back(tmp_path: Path) -> None:
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("# words\n", encoding="utf-8")
    keep_seed("frames", 7, "first\nsecond", seeds)
    keep_seed("frames", 7, "again", seeds)
    assert list(kept_seeds(seeds)) == [("frames", 7)]
