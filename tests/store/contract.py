"""What every store must do, whatever it is made of; run by `test_contract.py` on the memory twin and a real Redis."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from starloom.store.port import Commit, Ownership, Refused, Unavailable
from starloom_protocol.vocabulary import ConstellationState
from tests.store.contract_ciphertexts import CiphertextContract
from tests.store.contract_hubs import HubsContract
from tests.store.contract_pruned import PrunedContract
from tests.store.contract_record import RecordContract
from tests.store.contract_retired import RetiredContract
from tests.store.harness import Store, World
from tests.store.memory import CommitFailure
from tests.store.sample import attempt, commit, head, seqs, task
from tests.waiting import SLOWER


async def fill(store: Store, own: Ownership, last: int, *, first: int = 1, sent_pos: int = 0) -> list[Commit]:
    """Commit `first`..`last` in stream c1; each puts one task and the one before it goes."""
    made = []
    for pos in range(first, last + 1):
        puts = {f"task/t{pos}": task("ready"), f"task/t{pos - 1}": None}
        made.append(commit(own, pos, [("c1", pos, puts)], outbox=[b"send %d" % pos], sent_pos=sent_pos))
        await store.commit(made[-1])
    return made


class StoreContract(RecordContract, RetiredContract, PrunedContract, CiphertextContract, HubsContract):
    """Mixed into a test class that has a `world` fixture."""

    async def test_a_commit_is_read_back_whole(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await store.commit(
            commit(
                own, 1, [("c1", 1, {"head": head("c1"), "task/a": task("ready")}), ("fleet", 1, {"device/d": b"{}"})]
            )
        )
        await store.commit(
            commit(own, 2, [("c1", 2, {"task/a": None, "task/b": task("waiting")})], outbox=[b"x", b"y"])
        )
        loaded = await store.load()
        assert loaded.entities == {
            "c1": {"head": head("c1"), "task/b": task("waiting")},
            "fleet": {"device/d": b"{}"},
        }
        assert loaded.heads == {"c1": 2, "fleet": 1}
        assert loaded.outbox == [(2, b"x"), (2, b"y")]
        assert (loaded.pos, loaded.sent_pos) == (2, 0)
        assert await store.entities("c1") == (2, loaded.entities["c1"])
        assert await store.entities("nobody") is None
        assert await store.live_records("c1", ["task/b", "task/a", "x"]) == {"task/b": task("waiting")}
        assert await store.live_records("nobody", ["head"]) == {}
        many = await store.live_entities(["nobody", *(f"n{number}" for number in range(100)), "c1", "fleet"])
        assert many == {"c1": (2, loaded.entities["c1"]), "fleet": (1, loaded.entities["fleet"])}

    async def test_t267_words_with_a_nul_hold_up_no_history(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        said = head("c1", name="Look\0", request="look \0 here")
        await store.commit(commit(own, 1, [("c1", 1, {"head": said})]))
        assert await store.watermark(0) == 1
        assert await store.headlines(["c1"]) == {"c1": (said, None)}
        rows = await store.constellations(states=(), text="look", device=None, before=None, limit=9)
        assert [row.id for row in rows] == ["c1"]

    async def test_the_outbox_begins_after_what_was_sent(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 3)
        assert (await store.load()).at_ms == 1
        await store.commit(commit(own, 4, [], at_ms=8, outbox=[b"send 4"], sent_pos=2))
        loaded = await store.load()
        assert loaded.at_ms == 8
        assert loaded.outbox == [(3, b"send 3"), (4, b"send 4")]
        assert loaded.sent_pos == 2

    async def test_a_commit_without_events_keeps_the_streams(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 1)
        await store.commit(commit(own, 2, [], outbox=[b"only"]))
        assert await store.watermark(1) == 2
        assert (await store.load()).heads == {"c1": 1}

    @pytest.mark.parametrize(
        ("change", "why"),
        [({"term": 7}, "term"), ({"incarnation": 9}, "incarnation"), ({"pos": 4}, "pos"), ({"pos": 2}, "pos")],
    )
    async def test_what_does_not_fit_is_refused_and_changes_nothing(
        self, world: World, change: dict[str, int], why: str
    ) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 2)
        before = await store.load()
        wanted = {"pos": 3, "term": own.term, "incarnation": own.incarnation} | change
        with pytest.raises(Refused) as refused:
            await store.commit(
                commit(
                    own,
                    wanted["pos"],
                    [("c1", 3, {"task/z": task("ready")})],
                    term=wanted["term"],
                    incarnation=wanted["incarnation"],
                )
            )
        assert refused.value.why == why
        assert (refused.value.found_pos, refused.value.found_term) == (2, own.term)
        assert await store.load() == before
        assert await store.position() == (2, own.term, own.run_id)
        await fill(store, own, 3, first=3)
        assert await store.watermark(2) == 3

    async def test_nothing_is_committed_before_the_shard_is_taken(self, world: World) -> None:
        store = await world.store()
        with pytest.raises(Refused):
            await store.commit(commit(Ownership(incarnation=1, replaced=False, run_id="", term=1, watermark=0), 1, []))

    async def test_a_large_commit(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        puts = {f"task/t{number}": task("waiting") for number in range(40_000)}
        await store.commit(commit(own, 1, [("c1", 1, dict(puts))]))
        gone = dict.fromkeys(list(puts)[:20000])
        await store.commit(commit(own, 2, [("c1", 2, dict(gone))]))
        found = await store.entities("c1")
        assert found is not None
        assert found[1] == {key: raw for key, raw in puts.items() if key not in gone}
        assert await store.watermark(1) == 2
        assert await store.entities_at("c1", 1) == puts

    @pytest.mark.parametrize("failure", list(CommitFailure))
    async def test_a_commit_in_doubt_is_decided_by_the_position(self, world: World, failure: CommitFailure) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 2)
        doubtful = commit(own, 3, [("c1", 3, {"task/t3": task("ready"), "task/t2": None})])
        world.fail_next_commit(failure)
        with pytest.raises(Unavailable):
            await store.commit(doubtful)
        pos, term, run_id = await store.position()
        assert (term, run_id) == (own.term, own.run_id)
        assert pos == (3 if failure is CommitFailure.REPLY_LOST else 2)
        if pos == 2:
            await store.commit(doubtful)
        await fill(store, own, 4, first=4)
        assert await store.watermark(3) == 4
        assert seqs(await store.events("c1", 0, 10)) == [1, 2, 3, 4]

    @pytest.mark.parametrize("failure", list(CommitFailure))
    async def test_a_commit_in_doubt_that_is_simply_tried_again(self, world: World, failure: CommitFailure) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 2)
        doubtful = commit(own, 3, [("c1", 3, {"task/t3": task("ready")})])
        world.fail_next_commit(failure)
        with pytest.raises(Unavailable):
            await store.commit(doubtful)
        if failure is CommitFailure.REPLY_LOST:
            with pytest.raises(Refused) as refused:
                await store.commit(doubtful)
            assert (refused.value.why, refused.value.found_pos) == ("pos", 3)
        else:
            await store.commit(doubtful)
        await fill(store, own, 4, first=4)
        assert await store.watermark(3) == 4
        assert seqs(await store.events("c1", 0, 10)) == [1, 2, 3, 4]

    @pytest.mark.parametrize("failure", list(CommitFailure))
    async def test_taking_the_shard_decides_a_commit_in_doubt(self, world: World, failure: CommitFailure) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 2)
        world.fail_next_commit(failure)
        with pytest.raises(Unavailable):
            await store.commit(commit(own, 3, [("c1", 3, {"task/t3": task("ready")})]))
        again = await store.take("a", 2)
        last = 3 if failure is CommitFailure.REPLY_LOST else 2
        assert again.watermark == last
        await fill(store, again, last + 1, first=last + 1)
        assert await store.watermark(last) == last + 1
        assert seqs(await store.events("c1", 0, 10)) == list(range(1, last + 2))

    async def test_terms_rise_and_the_old_owner_is_refused(self, world: World) -> None:
        first, second = await world.store(), await world.store()
        one = await first.take("a", 1)
        await fill(first, one, 2)
        two = await second.take("b", 2)
        assert (two.term, two.replaced, two.incarnation) == (one.term + 1, False, one.incarnation)
        with pytest.raises(Refused) as refused:
            await first.commit(commit(one, 3, []))
        assert refused.value.why == "term"
        assert not await first.renew("a", one.term, 3)
        assert await second.renew("b", two.term, 3)
        await fill(second, two, 3, first=3)
        assert seqs(await second.events("c1", 0, 10)) == [1, 2, 3]

    async def test_a_new_owner_finds_everything_durable(self, world: World) -> None:
        first = await world.store()
        own = await first.take("a", 1)
        world.history_down(True)
        await fill(first, own, 20)
        await first.close()
        world.history_down(False)
        second = await world.store()
        again = await second.take("b", 2)
        assert again.watermark == 20
        assert seqs(await second.events("c1", 0, 100)) == list(range(1, 21))
        assert (await second.load()).pos == 20

    async def test_an_owner_may_take_its_own_shard_again(self, world: World) -> None:
        store = await world.store()
        one = await store.take("a", 1)
        await fill(store, one, 3)
        two = await store.take("a", 2)
        assert (two.term, two.watermark, two.replaced) == (one.term + 1, 3, False)
        await fill(store, two, 4, first=4)
        assert await store.watermark(3) == 4

    async def test_a_restarted_redis_is_another_incarnation(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 3)
        await world.restart_redis()
        with pytest.raises((Refused, Unavailable)):
            await store.commit(commit(own, 4, []))
        pos, term, run_id = await store.position()
        assert (pos, term) == (3, own.term)
        assert run_id != own.run_id
        with pytest.raises(Refused) as refused:
            await store.commit(commit(own, 4, []))
        assert refused.value.why == "replaced"
        again = await store.take("a", 2)
        assert (again.replaced, again.incarnation, again.run_id) == (True, own.incarnation + 1, run_id)
        await fill(store, again, 4, first=4)
        assert (await store.load()).pos == 4

    async def test_a_redis_cut_short_is_rebuilt_from_the_history(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 4, sent_pos=1)
        mark = await world.mark()
        await fill(store, own, 7, first=5, sent_pos=2)
        await store.watermark(6)
        before = await store.load()
        await store.close()
        await world.restart_redis(cut_to=mark)
        new = await world.store()
        again = await new.take("b", 2)
        assert (again.replaced, again.incarnation, again.watermark) == (True, own.incarnation + 1, 7)
        assert again.term > own.term
        assert await new.load() == before
        assert [pos for pos, _ in before.outbox] == [3, 4, 5, 6, 7]
        await fill(new, again, 8, first=8)
        assert await new.watermark(7) == 8
        assert seqs(await new.events("c1", 5, 10)) == [6, 7, 8]

    async def test_a_wiped_redis_is_rebuilt_from_the_history(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 5)
        await store.commit(commit(own, 6, [("fleet", 1, {"device/d": b'{"id":"d"}'})], at_ms=9, sent_pos=6))
        await store.watermark(5)
        before = await store.load()
        assert (before.at_ms, before.outbox) == (9, [])
        await store.close()
        await world.wipe_redis()
        new = await world.store()
        again = await new.take("b", 2)
        assert again.term > own.term
        assert (again.replaced, again.watermark) == (True, 6)
        assert await new.load() == before
        assert await new.entities("fleet") == (1, {"device/d": b'{"id":"d"}'})

    async def test_without_redis_everything_says_so(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 1)
        await world.redis_away()
        with pytest.raises(Unavailable):
            await store.commit(commit(own, 2, []))
        with pytest.raises(Unavailable):
            await store.position()
        with pytest.raises(Unavailable):
            await store.entities("c1")
        with pytest.raises(Unavailable):
            await store.take("a", 2)
        with pytest.raises(Unavailable):
            await store.inbox.post(b"x", answer_within_s=None)

    async def test_the_watermark_is_waited_for(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        waiting = asyncio.create_task(store.watermark(2))
        await fill(store, own, 3)
        assert await waiting == 3
        assert await store.watermark(0) == 3

    async def test_a_history_that_is_down_lags_says_so_and_recovers(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        assert store.lag_ms(5_000) == 0
        world.history_down(True)
        await store.commit(commit(own, 1, [("c1", 1, {})], at_ms=1_000))
        await store.commit(commit(own, 2, [("c1", 2, {})], at_ms=2_000))
        with pytest.raises(Unavailable):
            await store.watermark(0)
        assert store.lag_ms(5_000) == 4_000
        world.history_down(False)
        while True:
            try:
                assert await store.watermark(1) == 2
                break
            except Unavailable:
                continue
        assert store.lag_ms(5_000) == 0

    async def test_the_shard_is_not_taken_without_its_history(self, world: World) -> None:
        store = await world.store()
        world.history_down(True)
        with pytest.raises(Unavailable):
            await store.take("a", 1)
        world.history_down(False)
        assert (await store.take("a", 1)).term >= 1

    async def test_events_page_through_history_and_log(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        for pos in range(1, 31):
            await store.commit(commit(own, pos, [("c1", pos, {"task/a": task("ready")}), ("fleet", pos, {})]))
        assert seqs(await store.events("c1", 0, 1000)) == list(range(1, 31))
        assert seqs(await store.events("c1", 28, 1000)) == [29, 30]
        assert seqs(await store.events("c1", 10, 5)) == [11, 12, 13, 14, 15]
        assert await store.events("c1", 30, 5) == []
        assert await store.events("nobody", 0, 5) == []
        await store.watermark(29)
        assert seqs(await store.events("fleet", 0, 1000)) == list(range(1, 31))

    async def test_events_are_complete_while_the_history_is_behind(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 5)
        await store.watermark(4)
        reader = await world.store()
        assert seqs(await reader.events("c1", 3, 10)) == [4, 5]
        await fill(store, own, 9, first=6)
        assert seqs(await reader.events("c1", 3, 10)) == [4, 5, 6, 7, 8, 9]

    async def test_state_at_any_past_event(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        await fill(store, own, 6)
        assert await store.entities_at("c1", 0) == {}
        assert await store.entities_at("c1", 4) == {"task/t4": task("ready")}
        found = await store.entities("c1")
        assert found is not None
        assert await store.entities_at("c1", 6) == found[1]
        with pytest.raises(ValueError, match="ends at 6"):
            await store.entities_at("c1", 7)

    async def test_the_list_of_constellations(self, world: World) -> None:
        store = await world.store()
        own = await store.take("a", 1)
        for number in range(1, 6):
            name = f"c{number}"
            record = head(name, created_ms=number // 2, name=f"Backup 100% {number}", request="Save My pictures")
            await store.commit(
                commit(own, number, [(name, 1, {"head": record, "attempt/a/1": attempt(f"d{number % 2}")})])
            )
        ended = head(
            "c2", created_ms=1, name="Übersicht der ÄRGER", state=ConstellationState.FAILED, ended_ms=9, version=3
        )
        await store.commit(commit(own, 6, [("c2", 2, {"head": ended})]))
        await store.watermark(5)

        async def ids(
            *,
            states: Sequence[str] = (),
            text: str | None = None,
            device: str | None = None,
            before: tuple[int, str] | None = None,
            limit: int = 10,
        ) -> list[str]:
            rows = await store.constellations(states=states, text=text, device=device, before=before, limit=limit)
            return [row.id for row in rows]

        assert await ids() == ["c5", "c4", "c3", "c2", "c1"]
        assert await ids(limit=2) == ["c5", "c4"]
        assert await ids(before=(2, "c4"), limit=2) == ["c3", "c2"]
        assert await ids(states=["failed"]) == ["c2"]
        assert await ids(states=["failed", "active"], limit=2) == ["c5", "c4"]
        assert await ids(states=["failed", "paused"]) == ["c2"]
        assert await ids(text="my PICTURES") == ["c5", "c4", "c3", "c1"]
        assert await ids(text="100% 5") == ["c5"]
        assert await ids(text="0%_5") == []
        assert await ids(text="c2") == await ids(text="übersicht der Ärger") == ["c2"]
        assert await ids(device="d1") == ["c5", "c3", "c1"]
        assert await ids(device="d1", before=(2, "c5")) == ["c3", "c1"]
        row = (await store.constellations(states=["failed"], text=None, device=None, before=None, limit=1))[0]
        assert (row.version, row.ended_ms, row.name) == (3, 9, "Übersicht der ÄRGER")
        assert await store.device_work(["d0", "d1", "d9"], 1) == {
            "d0": {"active": 1, "failed": 1},
            "d1": {"active": 2},
        }
        assert await store.device_work(["d1"], 3) == {}
        assert await store.failed_work(["d0", "d1", "d9"], 1) == {"c2": ["d0"]}
        assert await store.failed_work(["d1"], 1) == {}
        assert await store.failed_work(["d0"], 3) == {}

    async def test_an_input_is_taken_and_answered(self, world: World) -> None:
        store, worker = await world.store(), await world.store()
        asking = asyncio.create_task(worker.inbox.post(b"question", answer_within_s=5 * SLOWER))
        async for delivery, raw in store.inbox.take():
            assert raw == b"question"
            await store.inbox.settle(delivery, b"answer")
            break
        assert await asking == b"answer"

    async def test_inputs_come_in_order_and_unsettled_ones_again(self, world: World) -> None:
        store = await world.store()
        for number in range(5):
            assert await store.inbox.post(b"%d" % number, answer_within_s=None) is None
        seen = []
        async for delivery, raw in store.inbox.take():
            seen.append(raw)
            if raw in (b"0", b"2"):
                await store.inbox.settle(delivery, b"")
            if len(seen) == 4:
                break
        assert seen == [b"0", b"1", b"2", b"3"]
        again = []
        async for _, raw in (await world.store()).inbox.take():
            again.append(raw)
            if len(again) == 3:
                break
        assert again == [b"1", b"3", b"4"]

    async def test_an_answer_that_does_not_come(self, world: World) -> None:
        store = await world.store()
        with pytest.raises(Unavailable, match="may still be taken"):
            await store.inbox.post(b"x", answer_within_s=0.01)
