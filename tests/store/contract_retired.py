"""What every store must do with streams that leave the live copy and come back; part of `contract.StoreContract`."""

from __future__ import annotations

import msgspec
import pytest

from starloom.store.port import Ownership, Refused, Unavailable
from starloom_protocol.vocabulary import ConstellationState
from tests.store.harness import Store, World
from tests.store.sample import commit, head, seqs, task

FINISHED_HEAD = head("c1", state=ConstellationState.SUCCEEDED, ended_ms=9)


async def finish(store: Store, own: Ownership, name: str, *, first: int) -> None:
    """Commit a whole small constellation in two commits from position `first` on."""
    ended = head(name, state=ConstellationState.SUCCEEDED, ended_ms=9)
    await store.commit(commit(own, first, [(name, 1, {"head": head(name), "task/a": task("running")})]))
    puts: dict[str, bytes | None] = {"task/a": task("succeeded"), "answer": b'{"items":[]}', "head": ended}
    await store.commit(commit(own, first + 1, [(name, 2, puts)]))


class RetiredContract:
    """Mixed into a test class that has a `world` fixture."""

    async def test_a_retired_stream_is_read_from_the_history_alone(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1)
        await store.commit(commit(own, 3, [("c2", 1, {"head": head("c2")})]))
        before = await store.entities("c1")
        assert before is not None
        ended = {"c1": (FINISHED_HEAD, b'{"items":[]}')}
        assert await store.headlines(["c1"]) == ended
        await store.watermark(2)
        await store.retire([("c1", 2)])
        assert (await store.load()).heads == {"c2": 1}
        assert "c1" not in (await store.load()).entities
        assert await store.entities("c1") == before
        assert await store.live_records("c1", ["head"]) == {}
        assert await store.headlines(["nobody", "c1", "c2"]) == ended | {"c2": (head("c2"), None)}
        assert await store.headlines([]) == {}
        assert seqs(await store.events("c1", 0, 10)) == [1, 2]
        assert seqs(await store.events("c1", 1, 10)) == [2]
        rows = await store.constellations(states=(), text=None, device=None, before=None, limit=9)
        assert [row.id for row in rows] == ["c2", "c1"]

    async def test_a_recalled_stream_is_live_whole_and_goes_on(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1)
        await store.watermark(1)
        before = await store.load()
        await store.retire([("c1", 2)])
        assert await store.recall(["c1", "nobody"]) == {"c1": (2, before.entities["c1"])}
        assert await store.load() == before
        await store.commit(commit(own, 3, [("c1", 3, {"task/a": task("waiting")})]))
        found = await store.entities("c1")
        assert found == (3, before.entities["c1"] | {"task/a": task("waiting")})
        assert await store.watermark(2) == 3
        assert await store.entities_at("c1", 3) == found[1]

    async def test_retiring_leaves_what_has_moved_and_may_be_repeated(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1)
        await finish(store, own, "c2", first=3)
        await store.watermark(3)
        await store.retire([("c1", 1), ("c2", 2), ("nobody", 4)])
        assert (await store.load()).heads == {"c1": 2}
        await store.retire([("c2", 2)])
        assert (await store.load()).heads == {"c1": 2}

    async def test_only_the_owner_retires_and_recalls(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        with pytest.raises(Refused):
            await first.retire([("c1", 2)])
        own = await first.take("a", 1)
        await finish(first, own, "c1", first=1)
        await first.watermark(1)
        await second.take("b", 2)
        for asked in (first.retire([("c1", 2)]), first.recall(["c1"])):
            with pytest.raises(Refused) as refused:
                await asked
            assert refused.value.why in ("term", "link")
        assert (await second.load()).heads == {"c1": 2}

    async def test_an_owner_of_a_replaced_redis_neither_retires_nor_recalls(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1)
        await store.watermark(1)
        await world.restart_redis()
        await store.position()
        for asked in (store.retire([("c1", 2)]), store.recall(["c1"])):
            with pytest.raises(Refused) as refused:
                await asked
            assert refused.value.why == "replaced"

    async def test_a_rebuild_leaves_finished_ones_in_the_history_but_for_those_still_held(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1)
        await finish(store, own, "c2", first=3)
        await store.commit(commit(own, 5, [("c3", 1, {"head": head("c3")}), ("fleet", 1, {"device/d": b"{}"})]))
        await store.watermark(4)
        before = await store.load()
        await store.close()
        await world.wipe_redis()
        new = await world.store()
        await new.take("b", 2, ["c2", "c3", "not yet durable"])
        assert await new.load() == msgspec.structs.replace(
            before,
            entities={name: before.entities[name] for name in ("c2", "c3", "fleet")},
            heads={"c2": 2, "c3": 1, "fleet": 1},
        )
        assert await new.entities("c1") == (2, before.entities["c1"])

    async def test_taking_brings_back_what_is_held_and_not_live(self, world: World) -> None:
        """As after a Redis that has forgotten a recall, which no position tells."""
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1)
        await finish(store, own, "c2", first=3)
        await store.watermark(3)
        before = await store.load()
        await store.retire([("c1", 2), ("c2", 2)])
        again = await store.take("a", 2, ["c1"])
        loaded = await store.load()
        assert loaded.entities == {"c1": before.entities["c1"]}
        assert loaded.heads == {"c1": 2}
        await store.commit(commit(again, 5, [("c1", 3, {"task/a": None})]))
        assert (await store.load()).entities == {"c1": {"head": FINISHED_HEAD, "answer": b'{"items":[]}'}}

    async def test_retiring_without_redis_or_history_says_so(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1)
        await store.watermark(1)
        await store.retire([("c1", 2)])
        world.history_down(True)
        with pytest.raises(Unavailable):
            await store.recall(["c1"])
        world.history_down(False)
        await world.redis_away()
        with pytest.raises(Unavailable):
            await store.retire([("c1", 2)])
        with pytest.raises(Unavailable):
            await store.recall(["c1"])
