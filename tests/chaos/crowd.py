"""The people of a storm: clients that ask and cancel through every outage, and one that watches all that was accepted.

Each runs on a thread of its own, with a client of its own, and finds its hub as the command line does.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starloom.client.discovery import HubAddress
from starloom.client.problems import Problem, unreachable
from starloom.client.rest import Client
from starloom.client.view import View
from starloom.store.port import Unavailable
from starloom_protocol.records.entities import Question
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import FINAL_TASK_STATES, TaskState
from tests.chaos.sql_log import read_log
from tests.chaos.stack import Accepted, Stack
from tests.chaos.storm_goals import StormGoals, answer_to
from tests.chaos.witness import Witness
from tests.chaos.work import echoes
from tests.waiting import until

ASK_AGAIN = ("hub_unreachable", "overloaded", "store_unavailable", "unsettled")
PAUSE_S = (0.5, 3.0)
OPEN_MOST = 24
"""More are not asked for while so many are under way: it is a storm of faults, not of load."""
TWICE, CANCELLED, ECHOES, WORDS, GOALS = 0.15, 0.1, 0.1, 0.05, 0.25
"""Which part of the requests is sent twice, cancelled, of instant tasks only, written in words, and a goal."""

Find = Callable[[], HubAddress | None]


@dataclass
class CrowdNotes:
    """What the crowd saw, one sentence for each fault; `waits_s` is how long each request took to be accepted."""

    doubled: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    waits_s: list[float] = field(default_factory=list)
    again: int = 0
    cancelled: int = 0
    marked: int = 0
    answered: int = 0


class _Connection:
    """A client of the hub that answers, found anew after each failure."""

    def __init__(self, *find: Find) -> None:
        self._find = list(find)
        self._client: Client | None = None

    def get(self) -> Client:
        if self._client is None:
            address = self._find[0]()
            if address is None:
                self._next()
                raise unreachable("it left no address", "")
            self._client = Client(address)
        return self._client

    def failed(self) -> None:
        self.close()
        self._next()

    def _next(self) -> None:
        self._find.append(self._find.pop(0))

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class Asker:
    """Submits one request after the other until it is told to stop."""

    def __init__(
        self,
        stack: Stack,
        name: str,
        find: Find,
        devices: tuple[str, ...],
        seed: int,
        told: CrowdNotes,
        goals: StormGoals,
    ) -> None:
        assert isinstance(stack.place, Witness)
        self._goals = goals
        self._stack, self._witness, self._devices, self._told = stack, stack.place, devices, told
        self._name = name
        self._random = random.Random(f"{seed} {name}")
        self._line = _Connection(find)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name)
        self.failed: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def join(self, within_s: float) -> None:
        self._thread.join(within_s)
        if self.failed is not None:
            raise AssertionError(f"the client {self._name} failed") from self.failed

    def _run(self) -> None:
        number = 0
        try:
            while not self._stop.is_set():
                if len(open_of(self._stack)) >= OPEN_MOST:
                    self._stop.wait(0.5)
                    continue
                self._one(f"{self._name}-{number}")
                number += 1
                self._stop.wait(self._random.uniform(*PAUSE_S))
        except BaseException as error:
            self.failed = error
        finally:
            self._line.close()

    def _one(self, name: str) -> None:
        key, began = uuid.uuid4().hex, time.monotonic()
        body = self._body(name)
        made = self._persistently(lambda client: client.create("/constellations", body, key=key))
        if made is None:
            return
        self._told.waits_s.append(time.monotonic() - began)
        identity = str(made["id"])
        self._stack.remember(identity, name)
        if self._random.random() < TWICE:
            again = self._persistently(lambda client: client.create("/constellations", body, key=key))
            if again is not None and str(again["id"]) != identity:
                self._told.doubled.append(f"{name} is {identity} and with the same key {again['id']}")
        if self._random.random() < CANCELLED:
            self._stop.wait(self._random.uniform(0, 4))
            self._cancel(identity)

    def _body(self, name: str) -> dict[str, Any]:
        drawn = self._random.random()
        if drawn < WORDS:
            return {"request": "find holiday.jpg"}
        if drawn < WORDS + ECHOES:
            return {"plan": echoes(name, 4, side_by_side=2, tries=20)}
        if drawn < WORDS + ECHOES + GOALS:
            return {"plan": self._goals.drawn(name, self._random)}
        return {"plan": self._witness.drawn(name, self._devices, self._random)}

    def _cancel(self, identity: str) -> None:
        with contextlib.suppress(_Refused):  # it had ended before
            self._persistently(lambda client: client.post(f"/constellations/{identity}/cancel", {"reason": "enough"}))
            self._told.cancelled += 1

    def _persistently(self, ask: Callable[[Client], Any]) -> Any:
        """Ask until it is answered, as a person repeats a command; None if stopped before.

        Raises:
            _Refused: the hub said that this cannot be.
        """
        while not self._stop.is_set():
            try:
                return ask(self._line.get())
            except Problem as problem:
                status = int(problem.document.get("status", 0))
                if problem.code in ASK_AGAIN or status >= 500 or status == 429:
                    self._told.again += 1
                    self._line.failed()
                    self._stop.wait(0.3)
                    continue
                if status == 409:
                    raise _Refused from problem
                self._told.refused.append(f"{problem.code}: {problem}")
                raise
        return None


class _Refused(Exception):
    pass


class Watcher:
    """Reads every accepted request to its end, and settles what is in doubt as its owner does after a look.

    `lock` is held while it reads: who takes it may let clients forget.
    """

    def __init__(self, stack: Stack, told: CrowdNotes, *find: Find) -> None:
        assert isinstance(stack.place, Witness)
        self._stack, self._witness, self._told = stack, stack.place, told
        self._line = _Connection(*find)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watcher")
        self.lock = threading.Lock()
        self.failed: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(90)
        self._line.close()

    def healthy(self) -> None:
        if self.failed is not None:
            raise AssertionError("the watcher failed") from self.failed

    def forget(self) -> None:
        """Let clients forget what they saw and the history does not have: it went with Redis and its only owner.

        To be called while neither hub nor Redis runs.
        """
        with self.lock:
            durable = {(event.stream, event.seq) for event in until(self._history, "the history can be read")}
            for request in self._stack.accepted.values():
                kept = {seq: event for seq, event in request.seen.items() if (request.id, seq) in durable}
                if len(kept) < len(request.seen):
                    request.seen, request.view = kept, View(request.id)
                    request.view.apply(kept[seq] for seq in sorted(kept))

    def _history(self) -> list[Event]:
        with contextlib.suppress(Unavailable):  # a server that was killed recovers before it answers
            return read_log(self._stack.history)[1]
        return []

    def compare(self, client: Client) -> list[str]:
        """Read every request again and return each whose end is not the one that was seen."""
        found = []
        for request in self._stack.accepted.values():
            state = str(client.get(f"/constellations/{request.id}")["state"])
            if request.view.final and state != str(request.view.state):
                found.append(f"{request.name} was seen as {request.view.state} and is {state}")
        return found

    def _run(self) -> None:
        try:
            while not self._stop.wait(0.5):
                for request in open_of(self._stack):
                    if self._stop.is_set():
                        return
                    try:
                        self._look(request)
                    except Problem as problem:
                        if problem.document.get("status") == 404:
                            raise
                        self._line.failed()
                        self._stop.wait(0.5)
        except BaseException as error:
            self.failed = error

    def _look(self, request: Accepted) -> None:
        client = self._line.get()
        with self.lock:
            for event in client.events(request.id, request.view.seq, limit=2_000):
                request.seen[event.seq] = event
                request.view.apply([event])
        for name, task in request.view.tasks.items():
            if task.state is TaskState.UNKNOWN and task.device is not None:
                ended = any(line.what == "end" for line in self._witness.lines(f"{request.name}/{name}"))
                state = "succeeded" if ended else "failed"
                with contextlib.suppress(Problem):
                    body = {"state": state, "reason": "looked on the device", **({"value": {}} if ended else {})}
                    client.post(f"/constellations/{request.id}/tasks/{name}/mark", body)
                    self._told.marked += 1
        asked_before = len(request.view.each("question", Question)) - len(request.view.open_questions)
        for name, question in request.view.open_questions.items():
            with contextlib.suppress(Problem):  # it may be answered already, or gone with its goal
                body = {"value": answer_to(question, asked_before), "reason": "as agreed"}
                client.post(f"/approvals/{request.id}:{name}/answer", body)
                self._told.answered += 1


def open_of(stack: Stack) -> list[Accepted]:
    """Return the accepted requests that have not been seen to end."""
    return [request for request in list(stack.accepted.values()) if not request.view.final]


def effects_missing(stack: Stack) -> list[str]:
    """Return each task that succeeded by its device's word and whose program never ended."""
    found = []
    for request in stack.accepted.values():
        specs = request.view.specs
        for name, task in request.view.tasks.items():
            spec = specs.get(name)
            if task.state is not TaskState.SUCCEEDED or spec is None or spec.tool != "shell.run":
                continue
            if not any(line.what == "end" for line in stack.place.lines(f"{request.name}/{name}")):
                found.append(f"{request.name}/{name} succeeded and its program never ended")
    return found


def states_of(stack: Stack) -> dict[str, int]:
    """Return how many tasks ended in each state."""
    found: dict[str, int] = {}
    for request in stack.accepted.values():
        for task in request.view.tasks.values():
            if task.state in FINAL_TASK_STATES:
                found[str(task.state)] = found.get(str(task.state), 0) + 1
    return found
