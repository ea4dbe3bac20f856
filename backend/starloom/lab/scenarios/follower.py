"""The follower: submits a scenario's request and reads its log, in a thread of its own, because a hub may be frozen.

Passes events on by a queue. A hub that is away is asked again; nothing is decided here.
"""

from __future__ import annotations

import queue
import threading
import uuid
from collections.abc import Callable
from typing import Any

from starloom.client.problems import Problem, may_pass
from starloom.client.rest import Client
from starloom.client.routes import post_constellations, post_lab_notes
from starloom_protocol.stream.feed import Event

WAIT_S = 0.5
AWAY_S = 0.1


class Follower:
    """Runs between `start` and `stop`; `refused` is the problem of a request that was refused."""

    def __init__(self, client: Client, body: dict[str, Any]) -> None:
        self.events: queue.Queue[list[Event]] = queue.Queue()
        self.accepted: str | None = None
        self.refused: Problem | None = None
        self._client = client
        self._body = body
        self._notes: queue.Queue[str] = queue.Queue()
        self._notes_waiting = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def note(self, sentence: str) -> None:
        """Note in the log that this was broken, as soon as a hub is there."""
        self._notes_waiting += 1
        self._notes.put(sentence)

    @property
    def told(self) -> bool:
        """Return whether every note is in the log."""
        return self._notes_waiting == 0

    def stop(self, within_s: float) -> None:
        """End the thread; a hub that hangs is cut off."""
        self._stopping.set()
        self._thread.join(WAIT_S * 4)
        self._client.close()
        self._thread.join(within_s)

    def _run(self) -> None:
        key = uuid.uuid4().hex
        constellation_json: Any = self._again(lambda: self._client.create(post_constellations(), self._body, key=key))
        if constellation_json is None:
            return
        constellation = str(constellation_json["id"])
        self.accepted = constellation
        seen = 0
        while not self._stopping.is_set():
            self._tell(constellation)
            after = seen
            events = self._again(lambda: self._client.events(constellation, after, wait_s=WAIT_S))  # noqa: B023
            if events:
                seen = max(event.seq for event in events)
                self.events.put(events)

    def _tell(self, constellation: str) -> None:
        while not self._stopping.is_set():
            try:
                note = self._notes.get_nowait()
            except queue.Empty:
                return
            body = {"constellation": constellation, "note": note}
            self._again(lambda: self._client.post(post_lab_notes(), body))  # noqa: B023
            self._notes_waiting -= 1

    def _again(self, ask: Callable[[], Any]) -> Any:
        """Ask until there is an answer; None when stopped, or where the hub says no."""
        while not self._stopping.is_set():
            try:
                return ask()
            except Problem as problem:
                if not may_pass(problem):
                    self.refused = problem
                    return None
                self._stopping.wait(AWAY_S)
        return None
