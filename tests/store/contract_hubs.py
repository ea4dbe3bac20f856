"""What every store must do for several hubs: who may take the shard, how it is proved, given up and followed."""

from __future__ import annotations

import pytest

from starloom.store.port import Ownership, Refused, Unavailable
from tests.store.harness import Store, World
from tests.store.sample import commit, task


async def fill(store: Store, own: Ownership, count: int) -> None:
    for number in range(1, count + 1):
        await store.commit(commit(own, number, [("c1", number, {f"task/t{number}": task("ready")})]))


class HubsContract:
    """Part of the contract suite."""

    async def test_another_hubs_shard_is_not_taken_politely(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        one = await first.take("a", 1, polite=True)
        with pytest.raises(Refused) as refused:
            await second.take("b", 2, polite=True)
        assert refused.value.why == "held"
        await fill(first, one, 1)
        again = await second.take("a", 3, polite=True)
        assert again.term == one.term + 1, "a hub that was restarted has its own shard at once"

    async def test_an_owner_takes_again_only_what_nobody_took_since(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        one = await first.take("a", 1)
        again = await first.take("a", 2, over=one.term)
        assert again.term == one.term + 1
        await second.take("b", 3)
        with pytest.raises(Refused) as refused:
            await first.take("a", 4, over=again.term)
        assert refused.value.why == "held"

    async def test_a_taking_whose_reply_was_lost_is_no_other_hubs(self, world: World) -> None:
        store = await world.store()
        one = await store.take("a", 1)
        await fill(store, one, 1)
        for _ in range(2):
            world.lose_next_taking()
            with pytest.raises(Unavailable):
                await store.take("a", 2, over=one.term)
        again = await store.take("a", 3, over=one.term)
        assert again.term == one.term + 3
        await store.commit(commit(again, 2, [("c1", 2, {"task/t2": task("ready")})]))
        assert await store.watermark(1) == 2

    async def test_another_hub_that_took_after_a_lost_reply_keeps_the_shard(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        one = await first.take("a", 1)
        world.lose_next_taking()
        with pytest.raises(Unavailable):
            await first.take("a", 2, over=one.term)
        await second.take("b", 3)
        with pytest.raises(Refused) as refused:
            await first.take("a", 4, over=one.term)
        assert refused.value.why == "held"

    async def test_a_wiped_redis_is_no_way_around_a_later_owner(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        one = await first.take("a", 1)
        await second.take("b", 2)
        await world.wipe_redis()
        with pytest.raises((Refused, Unavailable)) as refused:
            await first.take("a", 3, over=one.term)
        if isinstance(refused.value, Unavailable):  # the old connection was found broken first
            with pytest.raises(Refused):
                await first.take("a", 3, over=one.term)

    async def test_ownership_is_proved_by_the_term(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        one = await first.take("a", 1)
        assert await first.owns(one.term)
        two = await second.take("b", 2)
        assert not await first.owns(one.term)
        assert await second.owns(two.term)

    async def test_a_shard_that_was_given_up_is_free_at_once(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        one = await first.take("a", 1)
        assert await second.log.holder() == "a"
        await first.leave(release=True)
        assert await second.log.holder() == ""
        with pytest.raises(Refused) as refused:
            await first.commit(commit(one, 1, []))
        assert refused.value.why == "not_taken"
        assert (await second.take("b", 2, polite=True)).term == one.term + 1

    async def test_an_owner_that_was_replaced_gives_nothing_up(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        await first.take("a", 1)
        await second.take("b", 2)
        await first.leave(release=True)
        assert await second.log.holder() == "b"

    async def test_the_log_is_followed_in_order_and_looked_up(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        own = await first.take("a", 1)
        await fill(first, own, 3)
        assert await second.log.end() == (3, own.incarnation)
        followed = await second.log.read_on(1, 10)
        assert [one.pos for one in followed] == [2, 3]
        assert {one.incarnation for one in followed} == {own.incarnation}
        assert await second.log.commit_at(2) == followed[0]
        assert await second.log.commit_at(9) is None
        assert await second.log.read_on(3, 10) == []
