"""The Celery application, and the engine's `JobSender` for it: a message just wakes a worker.

Broker only: JSON, no result backend, no `eta`. It is another database number of the same Redis under its own key
prefix, unless one is named; the content, the claim and the outcome of a job are in the log. Wake-ups are handed to a
thread, so that a slow broker never holds the loop. The queue is bounded and may lose one: a sweeper sends open jobs
again.
"""

from __future__ import annotations

import logging
import queue
import ssl
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

if TYPE_CHECKING:
    from celery import Celery

PLAN_TASK = "starloom.plan"
REVIEW_TASK = "starloom.review"
ANSWER_TASK = "starloom.answer"
JUDGE_TASK = "starloom.judge"
GOAL_TASK = "starloom.goal"
QUEUE = "starloom"
KEY_PREFIX = "sl:celery:"
DATABASE = 1
_TLS_FILES = frozenset({"ssl_ca_certs", "ssl_ca_path", "ssl_certfile", "ssl_keyfile"})
"""The options of an address that name certificates, as the client of Redis knows them."""


def broker_url_of(redis_url: str) -> str:
    """Return the URL under which Celery uses the same server as `redis_url`, in a database of its own.

    Of the options of an address by TLS, the files of certificates stay; nothing turns their check off.

    Raises:
        ValueError: the URL is not one of a Redis.
    """
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        who = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
        return f"redis+socket://{who}{parts.path}?virtual_host={_next(_number(parts.query))}"
    if parts.scheme in ("redis", "rediss"):
        path = parts.path.strip("/")
        base = int(path) if path.isdecimal() else _number(parts.query)
        files = {name: value for name, value in parse_qsl(parts.query) if name in _TLS_FILES}
        query = urlencode(files) if parts.scheme == "rediss" else ""
        return parts._replace(path=f"/{_next(base)}", query=query).geturl()
    raise ValueError(f"{parts.scheme}:// is not a Redis address; use redis://, rediss:// or unix://")


def _number(query: str) -> int:
    text = parse_qs(query).get("db", ["0"])[0]
    return int(text) if text.isdecimal() else 0


def _next(database: int) -> int:
    """Return the number of another database than the given one; a server has at least 16."""
    return DATABASE if database != DATABASE else DATABASE + 1


def make_celery(broker_url: str) -> Celery:
    """Return the application; it connects on first use."""
    from celery import Celery  # here, because a hub needs it only for its first job

    address, _, options = broker_url.partition("?") if broker_url.startswith("rediss:") else (broker_url, "", "")
    app = Celery("starloom", broker=address, backend=None)
    settings: dict[str, Any] = {
        "accept_content": ["json"],
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {"global_keyprefix": KEY_PREFIX, "socket_timeout": 10, "socket_connect_timeout": 5},
        "event_serializer": "json",
        "result_backend": None,
        "task_default_queue": QUEUE,
        "task_ignore_result": True,
        "task_serializer": "json",
        "worker_cancel_long_running_tasks_on_connection_loss": False,
        "worker_enable_remote_control": False,
        "worker_hijack_root_logger": False,
        "worker_prefetch_multiplier": 1,
        "worker_send_task_events": False,
    }
    if broker_url.startswith("rediss:"):
        # Celery would give its password to whoever answers: without this it checks no certificate. Options that stay in
        # the address would take its place.
        checks = {"ssl_cert_reqs": ssl.CERT_REQUIRED, "ssl_check_hostname": True}
        settings["broker_use_ssl"] = {**dict(parse_qsl(options)), **checks}
    app.conf.update(settings)
    return app


if TYPE_CHECKING:
    from celery import Celery

QUEUED_MOST = 1_000
_TASKS = {"plan": PLAN_TASK, "review": REVIEW_TASK, "answer": ANSWER_TASK, "judge": JUDGE_TASK, "goal": GOAL_TASK}
_log = logging.getLogger(__name__)

Wake = tuple[str, str, str]


class CelerySender:
    """Sends wake-ups in order from one daemon thread, which makes the application at the first one.

    `close` waits until the thread has ended.
    """

    def __init__(self, make: Callable[[], Celery], *, queued_most: int = QUEUED_MOST) -> None:
        self._make = make
        self._queue: queue.Queue[Wake | None] = queue.Queue(queued_most)
        self.dropped = 0
        self.sent = 0
        self._thread = threading.Thread(target=self._run, name="job-sender", daemon=True)
        self._thread.start()

    def wake(self, kind: str, constellation: str, job: str) -> None:
        """Queue a wake-up; a full queue drops and counts it.

        Raises:
            KeyError: workers have no task of this kind.
        """
        wake = (_TASKS[kind], constellation, job)
        try:
            self._queue.put_nowait(wake)
        except queue.Full:
            self.dropped += 1
            _log.warning("the broker is slow: wake-up of job %s dropped, the sweeper sends it again", job)

    def close(self, within_s: float = 3.0) -> None:
        """Stop; wake-ups that are still queued may be lost."""
        try:
            self._queue.put_nowait(None)
        except queue.Full:
            self._drop_all()
            self._queue.put_nowait(None)
        self._thread.join(within_s)

    def _drop_all(self) -> None:
        try:
            while True:
                self._queue.get_nowait()
                self.dropped += 1
        except queue.Empty:
            return

    def _run(self) -> None:
        app: Celery | None = None
        while True:
            wake = self._queue.get()
            if wake is None:
                if app is not None:
                    app.close()
                return
            task, constellation, job = wake
            try:
                app = app or self._make()
                app.send_task(task, args=[constellation, job], retry=False)
                self.sent += 1
            except Exception as error:
                self.dropped += 1
                _log.warning(
                    "the broker did not take the wake-up of job %s (%s); the sweeper sends it again", job, error
                )
