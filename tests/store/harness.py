"""Two worlds for the contract suite: the memory twin, and a real Redis with SQLite behind a socket that can break."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from redis.asyncio import Redis
from sqlalchemy import Connection

from starloom.store.port import Unavailable
from starloom.store.redis import scripts
from starloom.store.redis.embedded import EmbeddedRedis
from starloom.store.redis.store import RedisStore
from starloom.store.sql.database import Database, open_database
from tests.store.memory import CommitFailure, MemoryHistory, MemoryRedis, MemoryStore
from tests.waiting import REDIS_WAITS, SLOWER

P = ParamSpec("P")
T = TypeVar("T")

Store = RedisStore | MemoryStore

OWNER_TTL_MS = 3_600_000
"""No lease of an owner runs out by itself, however slow the machine is."""


class World(Protocol):
    """What outlives a hub, and what can go wrong with it."""

    async def store(self) -> Store:
        """Return a new hub's store; every one is closed at the end."""
        ...

    def fail_next_commit(self, failure: CommitFailure) -> None: ...

    def lose_next_taking(self) -> None:
        """Let the shard be taken, and lose the reply."""
        ...

    def history_down(self, down: bool) -> None: ...

    async def mark(self) -> int:
        """Return how far Redis's own log reaches now, for `restart_redis`."""
        ...

    async def restart_redis(self, cut_to: int | None = None) -> None:
        """End Redis by force and start it again; with `cut_to` its log is cut there first."""
        ...

    async def wipe_redis(self) -> None: ...

    async def redis_away(self) -> None:
        """End Redis and leave it so."""
        ...

    async def close(self) -> None: ...


class MemoryWorld:
    def __init__(self) -> None:
        self.redis = MemoryRedis()
        self.history = MemoryHistory()
        self._stores: list[MemoryStore] = []

    async def store(self) -> Store:
        self._stores.append(MemoryStore(self.redis, self.history, sleep=_no_sleep))
        return self._stores[-1]

    def fail_next_commit(self, failure: CommitFailure) -> None:
        self.redis.failures.append(failure)

    def lose_next_taking(self) -> None:
        self.redis.lost_takings += 1

    def forget_failures(self) -> None:
        """What was to go wrong and did not come about goes wrong no more."""
        self.redis.failures.clear()
        self.redis.lost_takings = 0

    def history_down(self, down: bool) -> None:
        self.history.down = down

    async def mark(self) -> int:
        return len(self.redis.writes)

    async def restart_redis(self, cut_to: int | None = None) -> None:
        self.redis.restart(keep=cut_to)

    async def wipe_redis(self) -> None:
        self.redis.wipe()

    async def redis_away(self) -> None:
        self.redis.down = True

    async def close(self) -> None:
        for store in self._stores:
            await store.close()


class BreakableDatabase:
    """A database that can be switched off between two calls."""

    def __init__(self, inner: Database, world: RedisWorld) -> None:
        self.place = inner.place
        self._inner = inner
        self._world = world

    async def write(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._reach()
        return await self._inner.write(work, *args, **kwargs)

    async def read(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        self._reach()
        return await self._inner.read(work, *args, **kwargs)

    @property
    def damage(self) -> str:
        return self._inner.damage

    @damage.setter
    def damage(self, told: str) -> None:
        self._inner.damage = told

    async def check(self, within_s: float | None) -> bool:
        return await self._inner.check(within_s)

    async def migrate(self) -> None:
        await self._inner.migrate()

    async def close(self) -> None:
        await self._inner.close()

    def _reach(self) -> None:
        if self._world.database_is_down:
            raise Unavailable("the database is switched off by the test")


_first: list[bytes] = []


async def migrate(url: str) -> None:
    """Bring a database to the newest schema; a new one of SQLite is a copy of the first, which took all steps."""
    path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
    if path is not None and _copied(path):
        return
    database = open_database(url)
    await database.migrate()
    await database.close()
    if path is not None:
        _keep(path)


def _copied(path: Path) -> bool:
    if path.exists() or not _first:
        return False
    path.write_bytes(_first[0])
    return True


def _keep(path: Path) -> None:
    if not _first:
        _first.append(path.read_bytes())


class RedisWorld:
    """A real server; stores reach it through a socket of ours that can lose a commit or its reply."""

    def __init__(self, home: Path, database_url: str | None = None) -> None:
        self.home = home
        self.embedded = EmbeddedRedis(home)
        self.database_url = database_url or f"sqlite:///{home / 'history.db'}"
        self.database_is_down = False
        self._failures: list[tuple[bytes, CommitFailure]] = []
        self._stores: list[RedisStore] = []
        self._proxy: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self.proxy_path = home / "proxy.sock"

    async def __aenter__(self) -> RedisWorld:
        self.home.mkdir(exist_ok=True)
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        await self.embedded.start()
        self._proxy = await asyncio.start_unix_server(self._serve, self.proxy_path)
        await migrate(self.database_url)

    async def store(self) -> Store:
        database = BreakableDatabase(open_database(self.database_url), self)
        url = f"unix://{self.proxy_path}?db=0"
        waits = {"connect_within_s": 5.0 * SLOWER, "reply_within_s": 10.0 * SLOWER}
        self._stores.append(RedisStore(url, database, owner_ttl_ms=OWNER_TTL_MS, sleep=_no_sleep, **waits))
        return self._stores[-1]

    def fail_next_commit(self, failure: CommitFailure) -> None:
        self._failures.append((scripts.COMMIT.sha.encode(), failure))

    def lose_next_taking(self) -> None:
        self._failures.append((scripts.TAKE.sha.encode(), CommitFailure.REPLY_LOST))

    def forget_failures(self) -> None:
        """What was to go wrong and did not come about goes wrong no more."""
        self._failures.clear()

    def history_down(self, down: bool) -> None:
        self.database_is_down = down

    async def mark(self) -> int:
        await self.direct("WAITAOF", 1, 0, 3000)
        return self._log_file().stat().st_size

    async def restart_redis(self, cut_to: int | None = None) -> None:
        await self._kill()
        if cut_to is not None:
            os.truncate(self._log_file(), cut_to)
        await self.embedded.start()

    async def wipe_redis(self) -> None:
        await self._kill()
        for path in (self.embedded.data_dir / "appendonlydir").iterdir():
            path.unlink()
        await self.embedded.start()

    async def redis_away(self) -> None:
        await self._kill()

    async def close(self) -> None:
        for store in self._stores:
            await store.close()
        if self._proxy is not None:
            self._proxy.close()
        for task in list(self._serving):
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)
        await self._kill()

    async def direct(self, *args: Any) -> Any:
        """Send a command past the stores."""
        async with Redis.from_url(self.embedded.url, **REDIS_WAITS) as client:
            return await client.execute_command(*args)  # type: ignore[no-untyped-call]

    def _log_file(self) -> Path:
        return max((self.embedded.data_dir / "appendonlydir").glob("*.incr.aof"))

    async def _kill(self) -> None:
        pid = self.embedded.pid
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        await self.embedded.stop()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection to Redis and back until either side ends it, or a failure cuts it."""
        ends = [writer]
        pipes: list[asyncio.Task[None]] = []
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            up_reader, up_writer = await asyncio.open_unix_connection(str(self.embedded.socket))
            ends.append(up_writer)
            replies = asyncio.create_task(_copy(up_reader, writer))
            pipes = [replies, asyncio.create_task(self._requests(reader, up_writer, replies))]
            await asyncio.wait(pipes, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.gather(pipes[1], return_exceptions=True) if replies.cancelled() else None
        except (OSError, asyncio.CancelledError):
            pass  # Redis is away, or the world ends
        finally:
            self._serving.discard(task)
            for pipe in pipes:
                pipe.cancel()
            for end in ends:
                end.close()

    async def _requests(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, replies: asyncio.Task[None]
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 20):
                if self._failures and self._failures[0][0] in data:
                    _script, failure = self._failures.pop(0)
                    if failure is CommitFailure.REPLY_LOST:
                        replies.cancel()
                        writer.write(data)
                        await writer.drain()
                        await self.direct("PING")  # answered after the script: Redis takes its requests in order
                    return
                writer.write(data)
                await writer.drain()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(1 << 20):
            writer.write(data)
            await writer.drain()


async def _no_sleep(_seconds: float) -> None:
    await asyncio.sleep(0)
