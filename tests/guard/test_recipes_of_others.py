"""T232: a recipe that somebody without the right to approve writes is started by others who trust its name."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from starloom.core.state import inputs as i
from starloom_protocol.plan import check_plan
from starloom_protocol.vocabulary import Code, Role
from tests.builders import TOOLS, Driver
from tests.edge.world import World
from tests.guard.test_rights import READ, V1, recipe, worker
from tests.guard.test_schedule_notices import other_person
from tests.guard.test_wide_trash import TRASH, WIPES

R = f"{V1}/recipes"
MINE: dict[str, Any] = {"recipe": recipe("tidy", READ)}
THEIRS: dict[str, Any] = {"recipe": recipe("tidy", {**READ, "id": "hidden"}), "base_version": 1}


async def saved(http: httpx.AsyncClient, body: dict[str, Any]) -> int:
    return (await http.post(R, json=body)).status_code


@pytest.mark.parametrize("scopes", [("read", "run"), ()])
async def test_t232_only_its_owner_or_an_approver_replaces_a_recipe(world: World, scopes: tuple[str, ...]) -> None:
    await worker(world)
    async with world.client() as owner, world.client(await other_person(owner, Role.OPERATOR, *scopes)) as eva:
        assert await saved(owner, MINE) == 201
        may = not scopes
        assert await saved(eva, THEIRS) == (201 if may else 403)
        gone = await eva.delete(f"{R}/tidy")
        assert gone.status_code == (204 if may else 403), gone.text
        if not may:
            assert "save yours under another name" in gone.text.lower()
            assert len((await owner.get(f"{R}/tidy/versions")).json()["items"]) == 1
        own = {"recipe": recipe("mine", READ)}
        assert [await saved(eva, one) for one in (own, {**own, "base_version": 1})] == [201, 201]
        assert (await eva.delete(f"{R}/mine")).status_code == 204


def test_t232_an_assistant_replaces_no_recipe_of_a_person() -> None:
    driver = Driver("nas")
    assert not driver.do(i.RecipeSaved(by="person:ann", id="s", name="tidy", text="x", title="Tidy")).faults
    for item in (
        i.RecipeSaved(approves=False, base_version=1, by="assistant:ann", id="t", name="tidy", text="y", title="Tidy"),
        i.RecipeRemoved(approves=False, by="assistant:ann", id="r", name="tidy"),
    ):
        assert [fault.code for fault in driver.do(item).faults] == [Code.FORBIDDEN]
    assert driver.shard.fleet.recipes["tidy/1"].text == "x"


@pytest.mark.parametrize("approves", [True, False])
def test_t232_a_recipe_of_somebody_who_may_not_approve_asks_for_all_that_it_trashes(approves: bool) -> None:
    check = check_plan({"starloom": 1, "name": "Sweep", "tasks": [WIPES]}, recipe="sweep")
    assert check.plan is not None, check.faults
    driver = Driver()
    driver.add_device("nas", tools=[*TOOLS, TRASH])
    save = i.RecipeSaved(approves=approves, by="person:eva", id="s", name="sweep", text="x", title="Sweep")
    assert not driver.do(save).faults
    driver.submit(check.plan, recipe="sweep")
    assert driver.state() == ("active" if approves else "awaiting_approval")
    driver.folded_equals_state()
