"""Work that is under way before a task of the suite is asked for: begun, followed to its end, and its devices.

Goes by the routes that anybody has. Judges nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple, Protocol

from starloom.client import routes
from starloom.client.calls import Post
from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.client.view import View
from starloom.lab.nebula.person.person import A
from starloom.lab.nebula.person.person import Asking as AskingOnce
from starloom_protocol.api.fleet import DeviceRow
from starloom_protocol.records.entities import Attempt
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import TaskState

BEGUN_S: Final = 30.0
ENDED_S: Final = 90.0
WAIT_S: Final = 0.5
_NOT_BEGUN: Final = frozenset({TaskState.WAITING, TaskState.READY, TaskState.LEASED})


class Asking(AskingOnce, Protocol):
    """The part of a client that this needs."""

    def create(self, call: Post[A], /, body: Any) -> A: ...

    def events(self, constellation: str, after: int, *, wait_s: float) -> list[Event]: ...

    def names(self) -> dict[str, str]: ...


def under_way(client: Asking, plan: str, only_on: str = "") -> str:
    """Begin a plan and return the id of its constellation once its tasks have begun, and one of them still runs.

    `only_on`: they begin on that device, whatever the hub has learned of the others, which drain for that time.

    Raises:
        Problem: they have not begun in time.
    """
    if not only_on:
        return _start(client, plan)
    _control(client, "drain", lambda device: device["name"] != only_on)
    try:
        return _start(client, plan)
    finally:
        resume_all(client)


def _start(client: Asking, plan: str) -> str:
    constellation = client.create(routes.post_constellations(), {"plan": plan})["id"]

    def runs(view: View) -> bool:
        states = {task.state for task in view.tasks.values()}
        return TaskState.RUNNING in states and not states & _NOT_BEGUN

    if not _followed(client, View(constellation), runs, BEGUN_S):
        reason = f"it did not begin within {BEGUN_S:g} s"
        raise Problem("timeout", "The work that should be under way", reason, "Look at its log.", Exit.FAILED)
    return constellation


class Stay(NamedTuple):
    """One attempt of a task: on which device, and from when to when; `until_ms` is 0 where it has no end."""

    device: str
    from_ms: int
    until_ms: int

    def at(self, moment_ms: int) -> bool:
        """Tell whether the task was there at a moment."""
        return self.from_ms <= moment_ms and not 0 < self.until_ms < moment_ms


def stays_of(client: Asking, constellation: str) -> dict[str, list[Stay]]:
    """Follow a constellation to its end; return by task the devices that it was given to, in order."""
    view, names = View(constellation), client.names()
    _followed(client, view, lambda seen: seen.final, ENDED_S)
    stays_of_tasks: dict[str, list[Stay]] = {}
    for name, task in view.tasks.items():
        tries = (view.record(f"attempt/{name}/{number}", Attempt) for number in range(1, task.attempt + 1))
        stays = [
            Stay(names.get(one.device, one.device), one.leased_ms, one.ended_ms) for one in tries if one is not None
        ]
        if stays:
            stays_of_tasks[name] = stays
    return stays_of_tasks


def resume_all(client: Asking) -> None:
    """Give every device that drains work again, for the next task."""
    _control(client, "resume", lambda device: device["draining"])


def _control(client: Asking, action: str, of: Callable[[DeviceRow], bool]) -> None:
    for device in client.get(routes.get_devices())["items"]:
        if of(device):
            client.post(routes.post_device_action(device["id"], action), {})


def _followed(client: Asking, view: View, so: Callable[[View], bool], within_s: float) -> bool:
    until = time.monotonic() + within_s
    while not so(view):
        if time.monotonic() > until:
            return False
        view.apply(client.events(view.constellation, view.seq, wait_s=WAIT_S))
    return True
