"""Celery beat as a hint: every half minute it asks a worker to ask the hub whether a schedule is due.

The hub's own timers fire schedules, and the clock in its state decides; so any number of beats, or none, changes
nothing but how soon a late timer is noticed. `python -m starloom.jobs.beat` runs one; nothing starts it by itself.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from types import FrameType

from celery import Celery
from celery.beat import Scheduler, Service

from starloom.jobs.broker import make_celery
from starloom.jobs.poking import POKE_TASK
from starloom.jobs.worker import WorkerPlaces

EVERY_S = 30.0
_log = logging.getLogger(__name__)


def beat_of(app: Celery, every_s: float = EVERY_S) -> Service:
    """Return a beat that keeps no file: what is due is known to the hub alone. A late message is dropped."""
    app.conf.update(
        beat_schedule={"schedules": {"task": POKE_TASK, "schedule": every_s, "options": {"expires": every_s}}},
        timezone="UTC",
    )
    return Service(app, scheduler_cls=Scheduler, max_interval=every_s, remote_control=False)


def main() -> None:
    """Run a beat until SIGTERM."""
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    places = WorkerPlaces.from_environment(os.environ)
    beat = beat_of(make_celery(places.broker_url), EVERY_S / places.time_scale)

    def end(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    _log.info("beat ready")
    beat.start()


if __name__ == "__main__":
    main()
