"""The engine's `JobSender`: hands wake-ups to a thread, so that a slow broker never holds the loop.

Bounded, and it may lose a wake-up: a sweeper sends open jobs again.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from starloom.jobs.broker import ANSWER_TASK, GOAL_TASK, JUDGE_TASK, PLAN_TASK, REVIEW_TASK

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
