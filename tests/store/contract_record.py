"""What every store tells of its past: whole commits with their links, activity newest first, what stood at a moment."""

from __future__ import annotations

import msgspec

from starloom.store.chain import BEGINNING, Walk, digest_of, link_of
from starloom.store.port import ActivityFilter, Commit, Ownership
from starloom.store.sql.history import past_of
from starloom_protocol.stream.feed import decode_event
from starloom_protocol.vocabulary import ConstellationState
from tests.store.harness import Store, World
from tests.store.sample import attempt, commit, head, task


async def record(store: Store, own: Ownership) -> list[Commit]:
    """Five commits: c1 begins and ends, c2 begins; the fleet learns of a device between."""
    made = [
        commit(own, 1, [("fleet", 1, {"device/d": b"{}"})], at_ms=10),
        commit(own, 2, [("c1", 1, {"head": head("c1", created_ms=20)})], at_ms=20),
        commit(own, 3, [("c1", 2, {"attempt/a/1": attempt("d")}), ("fleet", 2, {"device/d": b"{}"})], at_ms=30),
        commit(own, 4, [("c2", 1, {"head": head("c2", created_ms=40)})], at_ms=40),
        commit(
            own,
            5,
            [("c1", 3, {"head": head("c1", created_ms=20, ended_ms=50, state=ConstellationState.SUCCEEDED)})],
            at_ms=50,
        ),
        commit(own, 6, [("c2", 2, {"task/a": task("ready")})], at_ms=60),
    ]
    made = [msgspec.structs.replace(item, inputs=[b"input %d" % item.pos]) for item in made]
    for item in made:
        await store.commit(item)
    while await store.watermark(0) < made[-1].pos:
        await store.watermark(made[-1].pos - 1)
    return made


class RecordContract:
    """Mixed into the contract of stores."""

    async def test_commits_are_kept_whole_with_inputs_and_links(self, world: World) -> None:
        store = await world.store()
        made = await record(store, await store.take("a", 1))
        kept = [*await store.commits_after(0, 4), *await store.commits_after(4, 100)]
        assert [(item.pos, item.events, item.inputs) for item in kept] == [
            (item.pos, item.events, item.inputs) for item in made
        ]
        link = BEGINNING
        for item, found in zip(made, kept, strict=True):
            link = link_of(link, digest_of(past_of(item)))
            assert found.chain == link
        walk = Walk()
        walk.take(kept)
        walk.ended(made[-1].pos)
        assert (walk.breaks, walk.commits, walk.events) == ([], 6, 7)

    async def test_the_chain_goes_on_with_the_next_owner(self, world: World) -> None:
        store = await world.store()
        await record(store, await store.take("a", 1))
        other = await world.store()
        own = await other.take("b", 2)
        await other.commit(commit(own, 7, [("c2", 3, {"task/a": None})], at_ms=70))
        await other.watermark(6)
        walk = Walk()
        walk.take(await other.commits_after(0, 100))
        assert (walk.breaks, walk.pos, walk.unchained) == ([], 7, 0)
        assert (await other.owned_since(3), await other.owned_since(7)) == (1, 7)

    async def test_what_stood_before_a_commit_is_found(self, world: World) -> None:
        store = await world.store()
        await record(store, await store.take("a", 1))
        assert await store.live_before(4) == {"fleet": 2, "c1": 2}
        assert await store.live_before(6) == {"fleet": 2, "c2": 1}
        assert (await store.last_before("c1", 3), await store.last_before("c2", 4)) == (1, 0)
        assert (await store.position_of("c1", 1), await store.position_of("c1", 0)) == (2, 5)
        assert await store.position_of("nobody", 1) is None

    async def test_activity_is_told_newest_first_page_by_page(self, world: World) -> None:
        store = await world.store()
        await record(store, await store.take("a", 1))
        seen: list[tuple[int, int]] = []
        before: tuple[int, int] | None = None
        while True:
            page = await store.activity(ActivityFilter(), before, 2)
            seen += [(pos, place) for pos, place, _ in page.events]
            before = page.next
            if before is None:
                break
        assert seen == [(6, 0), (5, 0), (4, 0), (3, 1), (3, 0), (2, 0), (1, 0)]

    async def test_activity_is_filtered(self, world: World) -> None:
        store = await world.store()
        await record(store, await store.take("a", 1))

        async def found(wanted: ActivityFilter) -> list[tuple[str, int]]:
            page = await store.activity(wanted, None, 100)
            events = [decode_event(raw) for _, _, raw in page.events]
            return [(event.stream, event.seq) for event in events]

        assert await found(ActivityFilter(stream="c2")) == [("c2", 2), ("c2", 1)]
        assert await found(ActivityFilter(about="d")) == [("c1", 2)]
        assert await found(ActivityFilter(kinds=["task_changed"], by="engine", stream="c1", text="C1"))
        assert await found(ActivityFilter(by="person:ann")) == []
        assert await found(ActivityFilter(kinds=["device_joined"])) == []
        assert await found(ActivityFilter(without=["task_changed"])) == []
        assert await found(ActivityFilter(kinds=["task_changed"], without=["task_changed"])) == []
