"""The two kinds of installation that a storm breaks, with leases as shipped, and the faults that each can have.

A fault returns when it is over, but for what the installation has to mend. Faults are called on the main thread: what
they start ends with the thread that started it.
"""

from __future__ import annotations

import contextlib
import random
import signal
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import psutil

from starloom.client.discovery import HubAddress, read_local
from starloom.lab.proxy.fault_proxy import FaultProxy, ThreadedProxy
from starloom_protocol.records.lab import FaultKind
from tests.chaos.pair import HUBS, Pair
from tests.chaos.postgres import Postgres
from tests.chaos.skewed import DAY_S, Skewed
from tests.chaos.stack import Stack, frozen
from tests.chaos.storm_goals import StormGoals
from tests.chaos.witness import Witness
from tests.waiting import until

AS_SHIPPED = {"STARLOOM_TIME_SCALE": "1"}
DIRECT = ("north", "south")
BEHIND = "east"
DEVICES = (*DIRECT, BEHIND)
FROZEN_S = (0.3, 1.0, 4.0, 8.0, 20.0)
LINE_S = (0.5, 2.0, 8.0, 25.0)
KEPT = (0.0, 0.3, 0.7, 0.95, 0.999)
CLOCKS_S = (-3 * DAY_S, -90.0, 0.0, 45.0, 2 * DAY_S)

Fault = Callable[[], None]


class Stormy(ABC):
    """An installation under faults. `told` counts them by name; `forget` makes clients forget what went with both."""

    def __init__(self, stack: Stack, seed: int) -> None:
        self.stack = stack
        self.random = random.Random(seed)
        self.told: Counter[str] = Counter()
        self.forget: Callable[[], None] = stack.keep_what_is_durable
        self.now = ""
        self.goals = StormGoals(stack, DEVICES)

    @abstractmethod
    def start(self) -> None:
        """Start it, with every device online."""

    @abstractmethod
    def finders(self) -> list[Callable[[], HubAddress | None]]:
        """Return what finds each of its hubs."""

    @abstractmethod
    def heal(self) -> None:
        """Take every fault back and start what is not there."""

    @abstractmethod
    def own_faults(self) -> list[Fault]:
        """Return the faults that only this kind has, the frequent ones more than once."""

    @abstractmethod
    def reset_line(self, fault: Callable[[FaultProxy], None]) -> None:
        """Do something to the line of the device behind the proxy."""

    def end(self) -> None:
        self.stack.end()

    def blow(self) -> str:
        """Break the next thing; return what it was."""
        faults = [*self.own_faults(), self.agent_killed, self.agent_killed, self.agent_frozen, self.agent_frozen]
        faults += [self.line_cut, self.line_dead, self.line_mangled, self.line_slow, self.date_set]
        faults += [self.model_killed, self.model_killed]
        fault = self.random.choice(faults)
        self.now = fault.__name__
        fault()
        self.told[fault.__name__] += 1
        return fault.__name__

    def agent_killed(self) -> None:
        name = self.random.choice(DEVICES)
        self.stack.kill_agent(name)
        time.sleep(self.random.choice((0.0, 1.0, 10.0)))
        self.stack.start_agent(name)

    def agent_frozen(self) -> None:
        with self.stack.agent_frozen(self.random.choice(DEVICES)):
            self._meanwhile()

    def line_cut(self) -> None:
        self.reset_line(FaultProxy.reset)
        time.sleep(self.random.choice(LINE_S))
        self.reset_line(FaultProxy.heal)

    def line_dead(self) -> None:
        up, down = self.random.choice(((True, True), (True, False), (False, True)))
        self.reset_line(lambda proxy: proxy.black_hole(up=up, down=down))
        time.sleep(self.random.choice(LINE_S))
        self.reset_line(FaultProxy.heal)

    def line_mangled(self) -> None:
        kind = self.random.choice((FaultKind.DROP, FaultKind.DUPLICATE, FaultKind.REORDER, FaultKind.CORRUPT))
        self.reset_line(lambda proxy: proxy.mangle(kind))
        time.sleep(self.random.choice(LINE_S))
        self.reset_line(FaultProxy.heal)

    def line_slow(self) -> None:
        self.reset_line(lambda proxy: proxy.delay(0.2, 1.0))
        time.sleep(self.random.choice(LINE_S))
        self.reset_line(FaultProxy.heal)

    def model_killed(self) -> None:
        self.goals.kill(self.random)

    def date_set(self) -> None:
        assert isinstance(self.stack, Skewed)
        self.stack.set_date(self.random.choice(self.clocks()), self.random.choice(CLOCKS_S))

    def clocks(self) -> tuple[str, ...]:
        return DEVICES

    def _meanwhile(self) -> None:
        """Let the time of a freeze pass, and now and then kill an agent in it."""
        lasts_s = self.random.choice(FROZEN_S)
        if self.random.random() < 0.3:
            time.sleep(lasts_s / 2)
            name = self.random.choice(DEVICES)
            self.stack.kill_agent(name)
            self.stack.start_agent(name)
            lasts_s /= 2
        time.sleep(lasts_s)


class EmbeddedStack(Skewed, Stack):
    """`starloom up` as shipped; the dates of agents can be set."""

    def __init__(self, home: Path, witness: Path) -> None:
        super().__init__(home, AS_SHIPPED)
        self.reconnect = ()
        self.place = Witness(witness)
        for name in DEVICES:
            self.set_date(name, 0.0)


class Embedded(Stormy):
    """One hub, its worker and its Redis under their supervisor, the history in SQLite."""

    def __init__(self, home: Path, witness: Path, seed: int) -> None:
        super().__init__(EmbeddedStack(home, witness), seed)

    def start(self) -> None:
        self.stack.start(DIRECT, (BEHIND,))
        self.goals.start()

    def finders(self) -> list[Callable[[], HubAddress | None]]:
        return [lambda: read_local(self.stack.hub_home)]

    def reset_line(self, fault: Callable[[FaultProxy], None]) -> None:
        self.stack.fault(fault)

    def heal(self) -> None:
        self.reset_line(FaultProxy.heal)
        self.stack.until_up()
        self.stack.until_online(*DEVICES)

    def own_faults(self) -> list[Fault]:
        often: list[Fault] = [self.hub_killed, self.hub_killed, self.hub_frozen, self.hub_frozen]
        often += [self.redis_killed, self.redis_frozen, self.redis_log_torn, self.redis_log_torn]
        often += [self.worker_killed, self.worker_frozen]
        return [*often, self.supervisor_killed, self.supervisor_frozen, self.tree_killed, self.hub_and_redis_log_torn]

    def hub_killed(self) -> None:
        self.stack.kill_hub()

    def hub_frozen(self) -> None:
        with self.stack.hub_frozen():
            self._meanwhile()

    def redis_killed(self) -> None:
        self.stack.kill_redis()

    def redis_frozen(self) -> None:
        with frozen(self.stack.redis):
            self._meanwhile()

    def worker_killed(self) -> None:
        self.stack.kill_worker()

    def worker_frozen(self) -> None:
        with frozen(self.stack.worker):
            self._meanwhile()

    def redis_log_torn(self) -> None:
        """Under a hub that is there: it gives back what it has seen and the history has not yet."""
        self.stack.until_up()
        with self.stack.supervisor_held():
            self.stack.kill_redis()
            self.stack.cut_redis_log(self.random.choice(KEPT))

    def hub_and_redis_log_torn(self) -> None:
        with self.stack.supervisor_held():
            self.stack.kill_hub()
            self.stack.kill_redis()
            self.stack.cut_redis_log(self.random.choice(KEPT))
            self.forget()

    def supervisor_frozen(self) -> None:
        """With a part killed, which it must bring back afterwards."""
        with self.stack.supervisor_held():
            self.random.choice((self.stack.kill_hub, self.stack.kill_worker, self.stack.kill_redis))()
            time.sleep(self.random.choice(FROZEN_S))

    def supervisor_killed(self) -> None:
        """Alone: what it started ends with it."""
        children = self._children()
        self.stack.supervisor.kill()
        self.stack.supervisor.wait()
        until(lambda: not any(_lives(one) for one in children), "what the supervisor started is gone")
        self.stack.start_again()

    def tree_killed(self) -> None:
        """As a machine that loses its power, with the log of Redis as far as its disk has it."""
        tree = [psutil.Process(self.stack.supervisor.pid), *self._children()]
        self.stack.kills.hub += 1
        self.stack.kills.redis += 1
        self.stack.kills.worker += 1
        for process in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.stack.supervisor.wait()
        until(lambda: not any(_lives(one) for one in tree), "the whole tree is gone")
        if self.random.random() < 0.5:
            self.stack.cut_redis_log(self.random.choice(KEPT))
            self.forget()
        self.stack.start_again()

    def _children(self) -> list[psutil.Process]:
        return psutil.Process(self.stack.supervisor.pid).children(recursive=True)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


class PairStack(Skewed, Pair):
    """Two hubs as shipped, on one Redis and one PostgreSQL; a line behind which one agent is."""

    def __init__(self, home: Path, witness: Path, postgres: Postgres) -> None:
        super().__init__(home, AS_SHIPPED)
        self.reconnect = ()
        self.postgres = postgres
        self.place = Witness(witness)
        for name in ("hubs", *DEVICES):
            self.set_date(name, 0.0)

    @property
    def database_url(self) -> str:
        return self.postgres.url

    @property
    def history(self) -> str:
        return self.postgres.direct_url

    def start_behind(self, name: str, hub: str) -> None:
        """Start an agent whose line to its hub can be broken."""
        self.proxy = ThreadedProxy(self.port_of(hub))
        self._join(name, self.proxy.url)
        self.start_agent(name)
        self.until_online(name)

    def _freeze(self, name: str) -> bool:
        """Wherever it is: PostgreSQL takes back what a stopped client holds."""
        self._hubs[name].send_signal(signal.SIGSTOP)
        return True


class TwoHubs(Stormy):
    """Two hubs, a worker and a Redis without a supervisor, the history in PostgreSQL."""

    def __init__(self, home: Path, witness: Path, seed: int) -> None:
        self.postgres = Postgres()
        self.pair = PairStack(home, witness, self.postgres)
        super().__init__(self.pair, seed)

    def start(self) -> None:
        self.postgres.start()
        self.pair.start_pair({"north": "a", "south": "b"})
        self.pair.start_behind(BEHIND, "b")
        self.goals.start()

    def end(self) -> None:
        super().end()
        self.postgres.close()

    def finders(self) -> list[Callable[[], HubAddress | None]]:
        return [lambda name=name: read_local(self.pair.home_of(name)) for name in HUBS]  # type: ignore[misc]

    def reset_line(self, fault: Callable[[FaultProxy], None]) -> None:
        self.pair.fault(fault)

    def clocks(self) -> tuple[str, ...]:
        return ("hubs", *DEVICES)

    def heal(self) -> None:
        self.reset_line(FaultProxy.heal)
        self.postgres.line.do(FaultProxy.heal)
        for name in HUBS:
            self.pair.until_ready(name)
        self.pair.until_online(*DEVICES)

    def own_faults(self) -> list[Fault]:
        often: list[Fault] = [self.owner_killed, self.owner_killed, self.owner_frozen, self.owner_frozen]
        often += [self.standby_killed, self.standby_frozen, self.redis_killed, self.redis_frozen, self.redis_log_torn]
        often += [self.postgres_killed, self.postgres_frozen, self.postgres_cut, self.worker_killed, self.worker_frozen]
        return [*often, self.both_hubs_killed, self.everything_killed]

    def _hub_killed(self, name: str) -> None:
        self.pair.kill(name)
        time.sleep(self.random.choice((0.0, 2.0, 10.0)))
        self.pair.bring_back(name)

    def _hub_frozen(self, name: str) -> None:
        with self.pair.frozen(name):
            self._meanwhile()

    def owner_killed(self) -> None:
        self._hub_killed(self.pair.owner())

    def standby_killed(self) -> None:
        self._hub_killed(self.pair.standby())

    def owner_frozen(self) -> None:
        self._hub_frozen(self.pair.owner())

    def standby_frozen(self) -> None:
        self._hub_frozen(self.pair.standby())

    def both_hubs_killed(self) -> None:
        for name in HUBS:
            self.pair.kill(name)
        for name in self.random.sample(HUBS, len(HUBS)):
            self.pair.bring_back(name)

    def worker_killed(self) -> None:
        self.pair.kill_worker()
        self.pair.start_worker()

    def worker_frozen(self) -> None:
        with frozen(self.pair.worker):
            self._meanwhile()

    def redis_killed(self) -> None:
        self.pair.kill_redis()
        time.sleep(self.random.choice((0.0, 1.0, 5.0)))
        self.pair.start_redis()

    def redis_frozen(self) -> None:
        with frozen(self.pair.redis):
            self._meanwhile()

    def redis_log_torn(self) -> None:
        """Under hubs that are there: the owner gives back what it has seen and the history has not yet."""
        for name in HUBS:
            self.pair.until_ready(name)
        self.pair.kill_redis()
        self.pair.cut_redis_log(self.random.choice(KEPT))
        self.pair.start_redis()

    def postgres_killed(self) -> None:
        self.postgres.kill()
        self.pair.kills.postgres += 1
        time.sleep(self.random.choice((0.0, 1.0, 5.0)))
        self.postgres.start()

    def postgres_frozen(self) -> None:
        with self.postgres.frozen():
            self._meanwhile()

    def postgres_cut(self) -> None:
        self.postgres.line.do(FaultProxy.black_hole)
        time.sleep(self.random.choice(LINE_S))
        self.postgres.line.do(FaultProxy.reset)
        self.postgres.line.do(FaultProxy.heal)

    def everything_killed(self) -> None:
        """Hubs, worker, Redis with its log torn, and PostgreSQL: a machine that loses its power."""
        for name in HUBS:
            self.pair.kill(name)
        self.pair.kill_redis()
        self.pair.kill_worker()
        self.postgres.kill()
        self.pair.kills.postgres += 1
        self.pair.cut_redis_log(self.random.choice(KEPT))
        self.postgres.start()
        self.forget()
        self.pair.start_redis()
        self.pair.start_worker()
        for name in HUBS:
            self.pair.bring_back(name)
