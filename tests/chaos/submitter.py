"""A client that goes on asking, whatever is broken meanwhile."""

from __future__ import annotations

import threading
import uuid
from typing import Any

from starloom.client.discovery import HubAddress
from starloom.client.problems import Problem
from starloom.client.rest import Client
from tests.chaos.stack import Accepted, Stack
from tests.chaos.work import echoes
from tests.waiting import PATIENCE_S, until


class Submitter:
    """A client that posts small requests one after the other from a thread, through every outage."""

    def __init__(self, stack: Stack, name: str, address: HubAddress | None = None) -> None:
        """`address`: the hub to ask, where there are several."""
        self._stack = stack
        self._address = address
        self._name = name
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"submit {name}")
        self.accepted: list[Accepted] = []
        self.failed: BaseException | None = None

    @property
    def count(self) -> int:
        if self.failed is not None:
            raise AssertionError(f"submitting {self._name} failed") from self.failed
        return len(self.accepted)

    def more(self, count: int) -> None:
        """Wait until so many more requests are accepted than now."""
        wanted = self.count + count
        until(lambda: self.count >= wanted, f"{count} more requests of {self._name} are accepted")

    def __enter__(self) -> Submitter:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        client = Client(self._address or self._stack.client.address)
        try:
            while not self._stop.is_set():
                name = f"{self._name}-{len(self.accepted)}"
                made = _persistently(client, {"plan": echoes(name, 2)}, self._stop)
                if made is not None:
                    self.accepted.append(self._stack.remember(str(made["id"]), name))
                self._stop.wait(0.05)
        except BaseException as error:
            self.failed = error
        finally:
            client.close()


def _persistently(client: Client, body: dict[str, Any], stop: threading.Event) -> Any:
    """Post with one idempotency key until it is accepted; None if stopped before."""
    key = uuid.uuid4().hex
    while not stop.is_set():
        try:
            return client.create("/constellations", body, key=key)
        except Problem as problem:
            if problem.code not in ("disk_full", "hub_unreachable", "overloaded", "store_unavailable", "unsettled"):
                raise
            stop.wait(0.1)
    return None
