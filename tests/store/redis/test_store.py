"""What only a real Redis can show: late commits, forgotten scripts, trimming, damage, passwords, workers."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import pytest
from redis.asyncio import Redis
from sqlalchemy import Connection

from starloom.store.opening import open_store
from starloom.store.port import Damaged, Refused, Unavailable
from starloom.store.redis import keys, scripts, takeover
from starloom.store.redis.inbox import RedisInbox
from starloom.store.redis.link import ReplyError, open_link, place_of
from starloom.store.redis.store import TRIM_MARGIN, RedisStore
from starloom.store.sql import history
from starloom.store.sql.database import open_database
from tests.store.contract import fill
from tests.store.harness import RedisWorld
from tests.store.sample import commit, seqs, task
from tests.waiting import PATIENCE_S, REDIS_WAITS, SLOWER

PATIENT = {"connect_within_s": PATIENCE_S, "reply_within_s": PATIENCE_S}
P = ParamSpec("P")
T = TypeVar("T")


async def opened(world: RedisWorld) -> RedisStore:
    store = await world.store()
    assert isinstance(store, RedisStore)
    return store


async def test_a_commit_that_arrives_late_on_an_old_link_is_refused(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 1)
    late = commit(own, 2, [("c1", 2, {"task/late": task("ready")})])
    names, args = scripts.commit_call(late, term=own.term, incarnation=own.incarnation, link=store._token, trim_below=0)
    store._drop_link()
    assert (await store.position())[0] == 1
    old = await open_link(world.embedded.url, **PATIENT)
    with pytest.raises(Refused) as refused:
        scripts.read_commit_reply(await old.run(scripts.COMMIT, names, args))
    assert refused.value.why == "link"
    old.close()
    await fill(store, own, 2, first=2)
    assert (await store.load()).entities["c1"] == {"task/t2": task("ready")}


async def test_an_old_owner_cannot_take_the_link_from_the_new_one(world: RedisWorld) -> None:
    old, new = await opened(world), await opened(world)
    await old.take("a", 1)
    own = await new.take("b", 1)
    old._drop_link()
    await old.position()
    await fill(new, own, 1)
    assert (await new.position())[0] == 1


@pytest.mark.parametrize("wiped", [False, True])
async def test_a_taking_that_failed_halfway_is_no_other_hubs(
    world: RedisWorld, monkeypatch: pytest.MonkeyPatch, wiped: bool
) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 1)

    async def away(*_args: Any) -> None:
        raise Unavailable("Redis went away")

    with monkeypatch.context() as patch:
        patch.setattr(takeover, "_settle", away)
        with pytest.raises(Unavailable, match="went away"):
            await store.take("a", 2, over=own.term)
    if wiped:
        # The history alone knows the term of the try.
        await world.wipe_redis()
    again = await store.take("a", 3, over=own.term)
    assert again.term == own.term + 2
    await fill(store, again, 2, first=2)
    assert (await store.load()).heads == {"c1": 2}


async def test_a_cancelled_commit_is_decided_by_the_position(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    task_ = asyncio.create_task(store.commit(commit(own, 1, [("c1", 1, {})])))
    await asyncio.sleep(0)
    task_.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task_
    pos, _, _ = await store.position()
    await fill(store, own, pos + 1, first=pos + 1)
    assert await store.watermark(pos) == pos + 1


async def test_forgotten_scripts_are_sent_again(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await world.direct("SCRIPT", "FLUSH")
    await fill(store, own, 2)
    await world.direct("SCRIPT", "FLUSH")
    await store.inbox.post(b"x", answer_within_s=None)
    async for delivery, raw in store.inbox.take():
        assert raw == b"x"
        await store.inbox.settle(delivery, b"")
        break
    assert await world.direct("XLEN", keys.INBOX) == 0


async def test_the_log_is_trimmed_below_what_is_durable_and_sent(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    last = 2 * TRIM_MARGIN + 300
    for pos in range(1, last + 1):
        await store.commit(commit(own, pos, [("c1", pos, {"task/a": task("ready")})], sent_pos=pos - 1))
        if pos % 500 == 0:
            await store.watermark(pos - 1)
    kept = await world.direct("XLEN", keys.LOG)
    assert TRIM_MARGIN <= kept < last
    assert seqs(await store.events("c1", 0, 10_000)) == list(range(1, last + 1))
    again = await opened(world)
    await again.take("b", 2)
    assert (await again.load()).pos == last


async def test_nothing_that_is_not_sent_is_trimmed(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    for pos in range(1, TRIM_MARGIN + 300):
        await store.commit(commit(own, pos, [], outbox=[b"x"], sent_pos=3))
    assert await world.direct("XLEN", keys.LOG) == TRIM_MARGIN + 299
    assert len((await store.load()).outbox) == TRIM_MARGIN + 299 - 3


async def test_a_log_trimmed_between_two_looks_is_read_again(
    world: RedisWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 4)
    await store.watermark(3)
    reader = await opened(world)
    stale = [True]
    real = reader._database.read

    async def read(work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> Any:
        found = await real(work, *args, **kwargs)
        if work is history.read_events and stale:
            stale.clear()
            await world.direct("XTRIM", keys.LOG, "MINID", "4-0")
            return 1, found[1][:1]  # type: ignore[index]
        return found

    monkeypatch.setattr(reader._database, "read", read)
    assert seqs(await reader.events("c1", 0, 10)) == [1, 2, 3, 4]


async def test_a_history_that_does_not_belong_to_redis_is_not_papered_over(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 5)
    await store.watermark(4)
    await store.close()
    await world.direct("XTRIM", keys.LOG, "MINID", "3-0")
    other = await open_store(world.embedded.url, f"sqlite:///{world.home / 'other.db'}")
    with pytest.raises(Damaged, match="ends at commit 0, the log in Redis is at 5 but begins at 3"):
        await other.take("b", 2)
    await other.close()


async def test_a_new_history_is_filled_from_a_whole_log(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 5)
    await store.close()
    other = await open_store(world.embedded.url, f"sqlite:///{world.home / 'other.db'}")
    again = await other.take("b", 2)
    assert again.watermark == 5
    assert again.term > own.term
    await other.close()


async def test_a_log_of_before_a_restore_is_neither_played_nor_taken(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 5)
    await store.watermark(4)
    before = await world.direct("MGET", keys.TERM, keys.OWNER, keys.POS)
    database = open_database(world.database_url)
    await database.write(history.begin_new_lives)
    await database.close()
    other = await opened(world)
    with pytest.raises(Damaged, match=r"restored from a backup, and this Redis has a log .* commit 5; the hub a runs"):
        await other.take("b", 2)
    assert await world.direct("MGET", keys.TERM, keys.OWNER, keys.POS) == before
    await store.close()
    await world.direct("FLUSHDB")
    again = await other.take("b", 3)
    assert again.watermark == 5


async def test_a_rebuild_cut_short_is_done_again(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 5)
    await store.watermark(4)
    before = await store.load()
    await store.close()
    await world.direct("DEL", keys.POS, keys.HEADS, keys.LOG)
    await world.direct("HSET", keys.entities("c1"), "task/half", "x")
    new = await opened(world)
    again = await new.take("b", 2)
    assert (again.replaced, again.watermark) == (True, 5)
    assert await new.load() == before


async def test_a_log_torn_in_the_middle_of_a_commit_loses_that_commit_whole(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 3)
    mark = await world.mark()
    await fill(store, own, 4, first=4)
    torn = await world.mark()
    await store.watermark(3)
    await store.close()
    await world.restart_redis(cut_to=(mark + torn) // 2)
    assert await world.direct("GET", keys.POS) == b"3"
    assert await world.direct("HKEYS", keys.entities("c1")) == [b"task/t3"]
    new = await opened(world)
    again = await new.take("b", 2)
    assert (again.replaced, again.watermark) == (True, 4)
    assert (await new.load()).entities == {"c1": {"task/t4": task("ready")}}


async def test_entities_come_from_the_history_while_redis_is_rebuilt(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 5)
    await store.watermark(4)
    await world.direct("DEL", keys.POS, keys.HEADS, keys.LOG, keys.entities("c1"))
    assert await store.entities("c1") == (5, {"task/t5": task("ready")})


async def test_a_write_whose_fate_is_unknown_is_recognised(world: RedisWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    real = store._database.write
    cut = [True]

    async def write(work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        found = await real(work, *args, **kwargs)
        if cut:
            cut.clear()
            await fill(store, own, 3, first=2)  # the next batch begins with what is already written
            raise Unavailable("the connection was lost after COMMIT")
        return found

    monkeypatch.setattr(store._database, "write", write)
    await fill(store, own, 1)
    with pytest.raises(Unavailable):
        await store.watermark(0)
    assert await store.watermark(2) == 3
    assert seqs(await store.events("c1", 0, 10)) == [1, 2, 3]


async def test_an_owner_that_was_replaced_does_not_write_the_history(world: RedisWorld) -> None:
    old, new = await opened(world), await opened(world)
    own = await old.take("a", 1)
    asleep, awake = asyncio.Event(), asyncio.Event()

    async def pause(_seconds: float) -> None:
        asleep.set()
        await awake.wait()

    old._projector._sleep = pause
    world.history_down(True)
    await fill(old, own, 1)
    await asleep.wait()
    world.history_down(False)
    await new.take("b", 2)
    awake.set()
    with pytest.raises(Unavailable, match="term 1 do not follow the history, which is at 1 in term 2"):
        await old.watermark(0)
    assert seqs(await new.events("c1", 0, 10)) == [1]


async def test_a_burst_of_readers_is_served(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 2)
    found = await asyncio.gather(*(store.entities("c1") for _ in range(300)))
    assert all(state == (2, {"task/t2": task("ready")}) for state in found)


async def test_a_frozen_redis_cannot_apply_a_commit_after_it_was_decided(world: RedisWorld) -> None:
    store = RedisStore(world.embedded.url, open_database(world.database_url), reply_within_s=0.2 * SLOWER)
    own = await store.take("a", 1)
    await fill(store, own, 2)
    assert world.embedded.pid is not None
    os.kill(world.embedded.pid, signal.SIGSTOP)
    try:
        with pytest.raises(Unavailable, match=r"did not answer within"):
            await store.commit(commit(own, 3, [("c1", 3, {"task/frozen": task("ready")})]))
        with pytest.raises(Unavailable):
            await store.position()
    finally:
        os.kill(world.embedded.pid, signal.SIGCONT)
    while True:
        try:
            pos, _, _ = await store.position()
            break
        except Unavailable:
            continue
    assert pos in (2, 3)
    await fill(store, own, pos + 2, first=pos + 1)
    assert await store.watermark(pos + 1) == pos + 2
    assert seqs(await store.events("c1", 0, 10)) == list(range(1, pos + 3))
    assert (await store.position())[0] == pos + 2
    await store.close()


async def test_a_redis_without_memory_refuses_and_nothing_is_half_done(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 2)
    await world.direct("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(Unavailable, match="OOM"):
        await store.commit(commit(own, 3, [("c1", 3, {"task/t3": task("ready")})]))
    assert (await store.position())[0] == 2
    await world.direct("CONFIG", "SET", "maxmemory", "0")
    await fill(store, own, 3, first=3)
    assert await store.watermark(2) == 3


async def test_a_redis_by_address_works_alike(world: RedisWorld) -> None:
    proxy = await asyncio.start_server(world._serve, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    store = await open_store(f"redis://127.0.0.1:{port}/0", world.database_url)
    own = await store.take("a", 1)
    await fill(store, own, 3)
    assert await store.watermark(2) == 3
    assert (await store.load()).pos == 3
    await store.close()
    proxy.close()


async def test_a_history_that_cannot_be_migrated_is_said_at_opening(tmp_path: Path) -> None:
    path = tmp_path / "broken.db"
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(Unavailable, match=r"broken\.db is corrupt"):
        await open_store("unix:///nowhere.sock", f"sqlite:///{path}")


async def test_a_full_inbox_refuses(world: RedisWorld) -> None:
    async with Redis.from_url(world.embedded.url, **REDIS_WAITS) as client:
        inbox = RedisInbox(client, world.embedded.url, most=2)
        await inbox.post(b"1", answer_within_s=None)
        await inbox.post(b"2", answer_within_s=None)
        with pytest.raises(Unavailable, match="full"):
            await inbox.post(b"3", answer_within_s=None)
        async for delivery, raw in inbox.take():
            await inbox.settle(delivery, b"")
            if raw == b"2":
                break
        await inbox.post(b"3", answer_within_s=None)


async def test_taking_goes_on_when_redis_was_replaced(world: RedisWorld) -> None:
    store = await opened(world)
    seen: asyncio.Queue[bytes] = asyncio.Queue()

    async def consume() -> None:
        async for delivery, raw in store.inbox.take():
            seen.put_nowait(raw)
            if raw == b"1":
                await store.inbox.settle(delivery, b"")

    consumer = asyncio.create_task(consume())
    for raw in (b"1", b"2"):
        await store.inbox.post(raw, answer_within_s=None)
        assert await asyncio.wait_for(seen.get(), PATIENCE_S) == raw
    await world.restart_redis()
    await store.inbox.post(b"3", answer_within_s=None)
    assert await asyncio.wait_for(seen.get(), PATIENCE_S) == b"3"
    await world.wipe_redis()
    await store.inbox.post(b"4", answer_within_s=None)
    assert await asyncio.wait_for(seen.get(), PATIENCE_S) == b"4"
    assert seen.empty()
    consumer.cancel()
    await asyncio.gather(consumer, return_exceptions=True)


async def test_a_worker_reads_and_posts_but_writes_no_history(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    await fill(store, own, 3)
    await store.watermark(2)
    worker = await open_store(world.embedded.url, world.database_url, owner=False)
    assert seqs(await worker.events("c1", 0, 10)) == [1, 2, 3]
    assert await worker.inbox.post(b"x", answer_within_s=None) is None
    with pytest.raises(Unavailable, match="readonly"):
        await worker.take("worker", 1)
    await worker.close()


async def test_a_worker_before_the_first_hub_says_so(tmp_path: Path, world: RedisWorld) -> None:
    worker = await open_store(world.embedded.url, f"sqlite:///{tmp_path / 'none.db'}", owner=False)
    with pytest.raises(Unavailable):
        await worker.events("c1", 0, 10)
    await worker.close()


async def test_a_password_is_used_and_never_told(world: RedisWorld) -> None:
    await world.direct("CONFIG", "SET", "requirepass", "opensesame")
    place = world.embedded.socket
    link = await open_link(f"unix://{place}?password=opensesame&db=1", **PATIENT)
    assert await link.call("PING") == b"PONG"
    with pytest.raises(ReplyError, match="unknown command"):
        await link.call("NONSENSE")
    link.close()
    link.close()
    with pytest.raises(Unavailable):
        await link.call("PING")
    with pytest.raises(Unavailable) as refused:
        await open_link(f"unix://{place}?password=wrongword", **PATIENT)
    assert "wrongword" not in str(refused.value)
    assert str(place) in str(refused.value)


async def test_a_server_that_does_not_answer_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "silent.sock"
    ended = asyncio.Event()

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        ended.set()

    server = await asyncio.start_unix_server(swallow, path)
    with pytest.raises(Unavailable, match=r"silent\.sock cannot be used"):
        await open_link(f"unix://{path}", connect_within_s=5, reply_within_s=0.05)
    await ended.wait()
    server.close()


@pytest.mark.parametrize(
    ("url", "place"),
    [("redis://user:secret@host:7000/3", "host:7000"), ("redis://host", "host:6379"), ("unix:///a/b?db=1", "/a/b")],
)
def test_a_place_never_holds_a_password(url: str, place: str) -> None:
    assert place_of(url) == place


async def test_many_commits_in_one_batch_are_projected_in_order(world: RedisWorld) -> None:
    store = await opened(world)
    own = await store.take("a", 1)
    world.history_down(True)
    await fill(store, own, 300)
    with pytest.raises(Unavailable):
        await store.watermark(299)
    world.history_down(False)
    while True:
        try:
            assert await store.watermark(299) == 300
            break
        except Unavailable:
            continue
    database = open_database(world.database_url, read_only=True)
    assert [entry.pos for entry in await database.read(history.read_commits, 0, 1000)] == list(range(1, 301))
    await database.close()
