"""The Celery application: broker only. JSON, no result backend, no `eta`; a message just wakes a worker.

The broker is another database number of the same Redis under its own key prefix, unless one is named. The content, the
claim and the outcome of a job are in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

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


def broker_url_of(redis_url: str) -> str:
    """Return the URL under which Celery uses the same server as `redis_url`, in a database of its own.

    Raises:
        ValueError: the URL is not one of a Redis.
    """
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        password = f":{parts.password}@" if parts.password else ""
        return f"redis+socket://{password}{parts.path}?virtual_host={_next(_number(parts.query))}"
    if parts.scheme in ("redis", "rediss"):
        path = parts.path.strip("/")
        base = int(path) if path.isdecimal() else _number(parts.query)
        return parts._replace(path=f"/{_next(base)}", query="").geturl()
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

    app = Celery("starloom", broker=broker_url, backend=None)
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
    app.conf.update(settings)
    return app
