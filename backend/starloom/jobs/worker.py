"""The Celery worker's process: `python -m starloom.jobs.worker`. Threads, because jobs wait more than they compute.

It exits when the broker has not answered for 30 s (its supervisor starts a new one), and when its parent exits.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starloom.process import heap
from starloom.process.log_lines import log_to_stderr

if __name__ == "__main__":
    heap.begin()

from celery import Celery
from celery.platforms import SecurityWarning
from celery.signals import setup_logging
from redis import Redis
from redis.exceptions import RedisError

from starloom.jobs.artifacts import HubArtifacts, blobs_of
from starloom.jobs.broker import (
    ANSWER_TASK,
    GOAL_TASK,
    JUDGE_TASK,
    PLAN_TASK,
    QUEUE,
    REVIEW_TASK,
    broker_url_of,
    make_celery,
)
from starloom.jobs.claiming import CLAIM_TTL_S
from starloom.jobs.kinds.answering import AnswerJobs
from starloom.jobs.kinds.judging import JudgeJobs
from starloom.jobs.kinds.planning import PlanJobs
from starloom.jobs.kinds.pursuing import GoalJobs
from starloom.jobs.kinds.reviewing import ReviewJobs
from starloom.jobs.modelling import ModelJobs
from starloom.jobs.running import ClaimedJobs
from starloom.jobs.sketching import OpenSketches
from starloom.planner.model.endpoints.page_settings import folder_of
from starloom.store.redis.sketches import open_sketches
from starloom_protocol.text.wording import quoted

SILENCE_S = 30.0
PING_S = 5.0
CONCURRENCY = 8
"""Jobs at once. A plan may wait for a free thread; a review or an answer is lost if nobody claims it within 3 s. So
there are more threads than plans that a person has made at the same time."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class WorkerPlaces:
    """The addresses to which a worker connects."""

    redis_url: str
    database_url: str
    broker_url: str
    time_scale: float = 1.0
    """Divides how long a claim lasts, as it divides leases (STARLOOM_TIME_SCALE)."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> WorkerPlaces:
        """Return the places set by the supervisor, or by the person who runs a worker.

        Raises:
            SystemExit: a variable is missing; the message names it.
        """
        missing = [name for name in ("STARLOOM_REDIS_URL", "STARLOOM_DATABASE_URL") if not environment.get(name)]
        if missing:
            sys.exit(f"the worker needs {' and '.join(missing)}; `starloom up` starts workers with everything set")
        redis_url = environment["STARLOOM_REDIS_URL"]
        broker_url = environment.get("STARLOOM_BROKER_URL") or broker_url_of(redis_url)
        try:
            time_scale = float(environment.get("STARLOOM_TIME_SCALE") or 1.0)
        except ValueError:
            sys.exit(
                f"STARLOOM_TIME_SCALE is {quoted(environment['STARLOOM_TIME_SCALE'])}; it must be a number above 0"
            )
        return cls(redis_url, environment["STARLOOM_DATABASE_URL"], broker_url, time_scale)


def worker_name() -> str:
    """Return the name under which this process claims jobs, unique to it."""
    return f"{socket.gethostname()}-{os.getpid()}-{os.urandom(3).hex()}"


def add_tasks(app: Celery, claimed: ClaimedJobs, models: ModelJobs, sketches: OpenSketches) -> None:
    """Register the worker's Celery tasks, one for each kind of job; `sketches` draw what a model writes."""
    plans, reviews = PlanJobs(models=models, sketches=sketches), ReviewJobs(models, sketches)
    answers, judges, goals = AnswerJobs(models, sketches), JudgeJobs(models), GoalJobs(models)

    def plan(constellation: str, job: str) -> None:
        claimed.run(constellation, job, plans)

    def review(constellation: str, job: str) -> None:
        claimed.run(constellation, job, reviews, reviews.takes_s)

    def answer(constellation: str, job: str) -> None:
        claimed.run(constellation, job, answers)

    def judge(constellation: str, job: str) -> None:
        claimed.run(constellation, job, judges)

    def goal(constellation: str, job: str) -> None:
        claimed.run(constellation, job, goals, tiers=models.tiers)

    app.task(plan, name=PLAN_TASK)
    app.task(goal, name=GOAL_TASK)
    app.task(review, name=REVIEW_TASK)
    app.task(answer, name=ANSWER_TASK)
    app.task(judge, name=JUDGE_TASK)


class Watchdog(threading.Thread):
    """Pings the broker every few seconds and ends the process after too long a silence."""

    def __init__(
        self,
        ping: Callable[[], object],
        end: Callable[[], None],
        *,
        silence_s: float = SILENCE_S,
        every_s: float = PING_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(name="broker-watchdog", daemon=True)
        self._ping = ping
        self._end = end
        self._silence_s = silence_s
        self._every_s = every_s
        self._now = now
        self._heard_s = now()
        self._stopped = threading.Event()

    def check(self) -> bool:
        """Ping once; False when the silence has lasted too long."""
        try:
            self._ping()
            self._heard_s = self._now()
        except (RedisError, OSError) as error:
            silent_s = self._now() - self._heard_s
            _log.warning("the broker does not answer (%s), for %.0f s", error, silent_s)
            return silent_s < self._silence_s
        return True

    def run(self) -> None:
        while not self._stopped.wait(self._every_s):
            if not self.check():
                _log.error(
                    "no broker heard for %.0f s: this worker ends, its supervisor starts another", self._silence_s
                )
                self._end()
                return

    def stop(self) -> None:
        self._stopped.set()


def _broker_client(broker_url: str) -> Redis:
    url = broker_url.replace("redis+socket://", "unix://").replace("virtual_host=", "db=")
    return Redis.from_url(url, socket_timeout=3, socket_connect_timeout=3)


def _keep_logging(**_: object) -> None:
    """Do nothing: a receiver of this signal keeps Celery from setting up its own logging."""


def _end_now() -> None:
    """Exit without waiting for a pool that may hang on the same broker; its claims run out."""
    logging.shutdown()
    os._exit(3)


def main() -> None:
    """Run a worker until SIGTERM."""
    log_to_stderr(logging.INFO)
    logging.getLogger("celery").setLevel(logging.WARNING)
    logging.getLogger("kombu").setLevel(logging.WARNING)
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    setup_logging.connect(_keep_logging, weak=False)
    # It warns of pickle, which `accept_content` rules out.
    warnings.filterwarnings("ignore", category=SecurityWarning)
    places = WorkerPlaces.from_environment(os.environ)
    app = make_celery(places.broker_url)
    models = ModelJobs(os.environ, folder_of(os.environ), artifacts=HubArtifacts(blobs_of(os.environ)))
    name = worker_name()
    if models.tiers():
        import starloom.store.opening  # noqa: F401 - or the first job would be claimed later than the others
    claimed = ClaimedJobs(places.redis_url, places.database_url, name, CLAIM_TTL_S / places.time_scale)
    add_tasks(app, claimed, models, sketches=lambda: open_sketches(places.redis_url))
    watchdog = Watchdog(_broker_client(places.broker_url).ping, _end_now)
    watchdog.start()
    worker = app.Worker(
        concurrency=CONCURRENCY,
        hostname=f"starloom@{socket.gethostname()}",
        loglevel="WARNING",
        optimization="fair",
        pool="threads",
        queues=[QUEUE],
        quiet=True,
        without_gossip=True,
        without_heartbeat=True,
        without_mingle=True,
    )
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the supervisor sends SIGTERM
    _log.info("worker ready")
    worker.start()
    watchdog.stop()
    sys.exit(worker.exitcode or 0)


if __name__ == "__main__":
    main()
