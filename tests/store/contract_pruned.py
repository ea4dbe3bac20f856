"""What every store must do when finished constellations are pruned; part of `contract.StoreContract`."""

from __future__ import annotations

import msgspec
import pytest

from starloom.store.chain import Break, Walk
from starloom.store.port import ActivityFilter, EndedConstellation, Ownership, Refused, Tombstone, Unavailable
from starloom_protocol.vocabulary import ConstellationState
from tests.store.harness import Store, World
from tests.store.sample import attempt, commit, head, seqs, task

WHY = "history_keep_days"


async def finish(store: Store, own: Ownership, name: str, *, first: int, ended_ms: int) -> None:
    """Commit a constellation in three commits from `first` on; the fleet and the access streams have parts of them."""
    begun, ended = head(name), head(name, state=ConstellationState.SUCCEEDED, ended_ms=ended_ms)
    steps = [
        [("access", (first + 2) // 3, {"idem/k": b"{}"}), (name, 1, {"head": begun, "task/a": task("ready")})],
        [(name, 2, {"attempt/a/1": attempt("d")})],
        [(name, 3, {"task/a": task("succeeded"), "head": ended})],
    ]
    for pos, parts in enumerate(steps, first):
        made = commit(own, pos, parts, sent_pos=pos - 1)  # type: ignore[arg-type]
        await store.commit(msgspec.structs.replace(made, inputs=[b"input %d" % pos]))


async def three(store: Store, own: Ownership) -> list[EndedConstellation]:
    """Finish c1, c2 and c3, in this order, and begin c4; return those that have ended as the history has them."""
    for number in range(3):
        await finish(store, own, f"c{number + 1}", first=1 + 3 * number, ended_ms=10 * (number + 1))
    await store.commit(commit(own, 10, [("c4", 1, {"head": head("c4")})], sent_pos=9))
    while await store.watermark(9) < 10:
        pass
    await store.retire([(f"c{number}", 3) for number in (1, 2, 3)])
    return await store.ended((0, ""), 10)


async def walked(store: Store, *, anchors: list[tuple[int, bytes]] | None = None) -> Walk:
    walk = Walk(anchors=anchors or [], prunings=await store.prunings(0, 100))
    walk.take(await store.commits_after(0, 100))
    walk.ended(10 if not walk.pos > 10 else walk.pos)
    return walk


def listed(found: list[EndedConstellation]) -> list[tuple[str, int, list[str]]]:
    return [(item.id, item.ended_ms, item.devices) for item in found]


class PrunedContract:
    """Mixed into a test class that has a `world` fixture."""

    async def test_finished_ones_are_listed_by_their_end(self, world: World) -> None:
        store = await world.store()
        ended = await three(store, await store.take("a", 1))
        assert listed(ended) == [("c1", 10, ["d"]), ("c2", 20, ["d"]), ("c3", 30, ["d"])]
        assert all(item.bytes > 0 for item in ended)
        assert listed(await store.ended((10, "c1"), 1)) == [("c2", 20, ["d"])]

    async def test_a_pruned_constellation_is_gone_and_says_so(self, world: World) -> None:
        store = await world.store()
        ended = await three(store, await store.take("a", 1))
        before = await store.history_size()
        done = await store.prune(ended[:2], 500, WHY)
        assert (done.constellations, done.commits, done.more) == (["c1", "c2"], 4, False)
        assert await store.tombstone("c1") == Tombstone(at_ms=500, why=WHY)
        assert (await store.tombstone("c3"), await store.tombstone("nobody")) == (None, None)
        assert (await store.entities("c1"), await store.headlines(["c1"])) == (None, {})
        assert await store.events("c1", 0, 10) == []
        assert await store.recall(["c1"]) == {}
        rows = await store.constellations(states=(), text=None, device="d", before=None, limit=9)
        assert [row.id for row in rows] == ["c3"]
        assert await store.pruned_since(0, 10) == (1, ["c1", "c2"])
        assert await store.pruned_since(1, 10) == (1, [])
        after = await store.history_size()
        assert after.bytes < before.bytes
        assert (after.constellations, after.pruned, after.pruned_ms) == (2, 2, 500)

    async def test_what_no_pruning_frees_is_counted_apart(self, world: World) -> None:
        store = await world.store()
        ended = await three(store, await store.take("a", 1))
        before = await store.lasting_bytes()
        assert before < (await store.history_size()).bytes
        await store.prune(ended, 500, WHY)
        # What a commit had beside the pruned constellations stays from now on.
        assert before < await store.lasting_bytes() <= (await store.history_size()).bytes

    async def test_what_stays_is_as_it_was(self, world: World) -> None:
        store = await world.store()
        ended = await three(store, await store.take("a", 1))
        before = await store.load()
        kept = await store.entities("c3")
        await store.prune(ended[:2], 500, WHY)
        assert await store.load() == before
        assert await store.entities("c3") == kept
        assert seqs(await store.events("access", 0, 10)) == [1, 2, 3]
        assert seqs(await store.events("c3", 0, 10)) == [1, 2, 3]
        page = await store.activity(ActivityFilter(), None, 100)
        assert [pos for pos, _, _ in page.events] == [10, 9, 8, 7, 7, 4, 1]

    async def test_the_chain_goes_on_across_what_was_pruned(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        ended = await three(store, own)
        whole = await store.commits_after(0, 100)
        anchors = [(item.pos, item.chain or b"") for item in whole]
        await store.prune(ended[1:2], 500, WHY)
        assert (await walked(store)).breaks == []
        await store.commit(commit(own, 11, [("c4", 2, {"task/a": task("ready")})], sent_pos=10))
        await store.watermark(10)
        await store.prune([ended[2]], 600, WHY)
        await store.prune([ended[0]], 700, WHY)
        walk = await walked(store, anchors=anchors)
        assert (walk.breaks, walk.pos, walk.pruned) == ([], 11, 6)
        assert sorted(walk.unseen) == [1, 2, 4, 5, 7, 8]
        left = {
            item.pos: (seqs(item.events), item.inputs, item.pruning > 0) for item in await store.commits_after(0, 100)
        }
        assert left == {
            1: ([1], [], True),
            4: ([2], [], True),
            7: ([3], [], True),
            10: ([1], [], False),
            11: ([2], [], False),
        }

    async def test_a_later_pruning_takes_what_an_earlier_one_left(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        ends = [head(name, state=ConstellationState.FAILED, ended_ms=5) for name in ("c1", "c2")]
        await store.commit(commit(own, 1, [("c1", 1, {"head": ends[0]}), ("c2", 1, {"head": ends[1]})]))
        await store.commit(commit(own, 2, [("c3", 1, {"head": head("c3")})], sent_pos=1))
        await store.watermark(1)
        await store.retire([("c1", 1), ("c2", 1)])
        first, second = await store.ended((0, ""), 9)
        assert (await store.prune([first], 500, WHY)).commits == 0
        assert [seqs(item.events) for item in await store.commits_after(0, 9)] == [[1], [1]]
        assert (await store.prune([second], 600, WHY)).commits == 1
        assert [item.pos for item in await store.commits_after(0, 9)] == [2]
        walk = Walk(prunings=await store.prunings(0, 9))
        walk.take(await store.commits_after(0, 9))
        walk.ended(2)
        assert walk.breaks == []

    async def test_only_what_was_chosen_as_it_is_goes(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        ended = await three(store, own)
        moved = msgspec.structs.replace(ended[0], ended_ms=11)
        unknown = msgspec.structs.replace(ended[0], id="nobody")
        live = msgspec.structs.replace(ended[0], id="c4", ended_ms=0)
        done = await store.prune([moved, unknown, live], 500, WHY)
        assert (done.constellations, done.commits) == ([], 0)
        assert await store.prunings(0, 9) == []
        assert (await store.tombstone("c1"), await store.tombstone("c4")) == (None, None)

    async def test_only_the_owner_prunes(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        with pytest.raises(Refused):
            await first.prune([], 1, WHY)
        ended = await three(first, await first.take("a", 1))
        await second.take("b", 2)
        with pytest.raises(Refused):
            await first.prune(ended, 500, WHY)
        assert await second.tombstone("c1") is None
        assert (await second.prune(ended, 500, WHY)).constellations == ["c1", "c2", "c3"]

    async def test_pruning_without_a_history_says_so(self, world: World) -> None:
        store = await world.store()
        ended = await three(store, await store.take("a", 1))
        world.history_down(True)
        for asked in (store.prune(ended, 500, WHY), store.ended((0, ""), 9), store.tombstone("c1")):
            with pytest.raises(Unavailable):
                await asked
        world.history_down(False)
        assert (await walked(store)).breaks == []

    async def test_a_redis_made_anew_has_nothing_of_what_is_gone(self, world: World) -> None:
        store = await world.store()
        ended = await three(store, await store.take("a", 1))
        before = await store.load()
        await store.prune(ended, 500, WHY)
        await store.close()
        await world.wipe_redis()
        new = await world.store()
        own = await new.take("b", 2, ["c1"])
        assert (await new.load()).entities == before.entities
        await new.commit(commit(own, 11, [("c4", 2, {"task/a": task("ready")})], sent_pos=10))
        assert await new.watermark(10) == 11
        assert seqs(await new.events("c4", 0, 9)) == [1, 2]
        assert (await walked(new)).breaks == []

    async def test_the_last_commit_and_what_is_not_sent_stay(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        ended = head("c1", state=ConstellationState.FAILED, ended_ms=5)
        for pos in (1, 2, 3):
            await store.commit(commit(own, pos, [("c1", pos, {"head": ended})], sent_pos=min(pos - 1, 1)))
        await store.watermark(2)
        await store.retire([("c1", 3)])
        done = await store.prune(await store.ended((0, ""), 9), 500, WHY)
        assert (done.constellations, done.commits) == (["c1"], 1)
        assert [item.pos for item in await store.commits_after(0, 9)] == [2, 3]
        assert await store.entities("c1") is None
        assert await store.position_of("c1", 0) is None
        await store.commit(commit(own, 4, [("fleet", 1, {"device/d": b"{}"})], sent_pos=4))
        await store.watermark(3)
        assert (await store.prune([], 600, WHY)).commits == 2
        walk = Walk(prunings=await store.prunings(0, 9), anchors=[])
        walk.take(await store.commits_after(0, 9))
        walk.ended(4)
        assert walk.breaks == list[Break]()

    async def test_a_redis_that_forgot_that_one_left_has_it_no_more(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await finish(store, own, "c1", first=1, ended_ms=5)
        await store.commit(commit(own, 4, [("c4", 1, {"head": head("c4")})], sent_pos=3))
        await store.watermark(3)
        mark = await world.mark()
        await store.retire([("c1", 3)])
        await store.prune(await store.ended((0, ""), 9), 500, WHY)
        await store.close()
        await world.restart_redis(mark)
        new = await world.store()
        assert set((await new.take("b", 2)).heads) == {"access", "c4"}
        assert set((await new.load()).heads) == {"access", "c4"}
        assert await new.entities("c1") is None
