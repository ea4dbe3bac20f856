"""The person's decisions after a fault: about work that may have happened, and about a device that is lost for good.

A person looks before they decide: where a device's own tools note a call, it happened. A device that is lost is revoked
once the hub shows it as off, and what only it could do is given up. Everything goes by the controls that anybody has.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starloom.client import routes
from starloom.client.problems import Problem
from starloom.client.view import View
from starloom.lab.nebula.person.person import CHANGED, Asking
from starloom.lab.nebula.world.checked_world import Call
from starloom.lab.nebula.world.devices import PREFIX
from starloom_protocol.records.entities import Attempt, Selector, TaskRecord, TaskSpec
from starloom_protocol.vocabulary import TaskState

THINKS_S: Final = 2.0
LOOKS_AGAIN_S: Final = 1.0
OFF_S: Final = 8.0
"""How long a lost device is off before its owner revokes it: the hub's own recovery comes first."""
AGAIN: Final = frozenset({"python.run", "http.request", "net.check"})
"""Tools of the tasks' plans whose work lies in a folder of its own, or only asks: a person lets them run again."""
ILLEGAL: Final = "illegal_control"
"""The code of a control that came too late."""


@dataclass(frozen=True)
class Decision:
    """One control of one task, with the reason that a person gives."""

    task: str
    action: str
    reason: str
    state: str = ""
    value: Any = None

    def body(self) -> dict[str, Any]:
        """Return the body of the request."""
        more: dict[str, Any] = {"confirm": [self.task]} if self.action == "retry" else {}
        if self.action == "mark":
            more = {"state": self.state, **({"value": self.value} if self.value is not None else {})}
        return {"reason": self.reason, **more}


def only(selector: Selector | None, device: str, name: str) -> bool:
    """Return whether a selector takes this device and no other."""
    if selector is None:
        return False
    if selector.any:
        return all(only(one, device, name) for one in selector.any)
    return device == selector.id or name == selector.name


def about_doubt(
    task: str, spec: TaskSpec, attempt: Attempt, view: View, calls: Sequence[Call], name: str, lost: bool
) -> Decision:
    """Decide about work that may have happened on a device; `calls` are those of its own tools."""
    tool = spec.tool or ""
    if tool.startswith(f"{PREFIX}."):
        calls_made = sum(call.tool == tool.removeprefix(f"{PREFIX}.") and call.counts for call in calls)
        done = sum(_succeeded_there(view, other, record, tool, attempt.device) for other, record in view.tasks.items())
        if calls_made > done:
            return Decision(task, "mark", f"{name} has done it", "succeeded", {})
    elif tool not in AGAIN:
        return Decision(task, "mark", f"nobody can tell whether {name} has done it", "failed")
    if lost and only(spec.device, attempt.device, name):
        return Decision(task, "mark", f"{name} is lost", "failed")
    return Decision(task, "retry", f"{name} has not done it" if tool not in AGAIN else "it may run again")


def _succeeded_there(view: View, task: str, record: TaskRecord, tool: str, device: str) -> bool:
    spec = view.specs.get(task)
    return record.state is TaskState.SUCCEEDED and record.device == device and spec is not None and spec.tool == tool


def about_loss(view: View, device: str, name: str) -> list[Decision]:
    """Return the tasks that are given up, since only the lost device could do them."""
    specs = view.specs
    return [
        Decision(task, "cancel", f"{name} is lost")
        for task, record in view.tasks.items()
        if record.state is TaskState.READY and only(specs[task].device, device, name)
    ]


ENDED_BADLY: Final = frozenset({TaskState.CANCELLED, TaskState.FAILED, TaskState.UNKNOWN})


def movable(view: View, device: str, name: str) -> list[str]:
    """Return the tasks that did not end well without a lost device, though others may do them."""
    specs = view.specs
    return [
        task
        for task, record in view.tasks.items()
        if device and record.state in ENDED_BADLY and not only(specs[task].device, device, name)
    ]


class Doubts:
    """`look` is called again and again while a task runs; `decided` says in words what the person did."""

    def __init__(
        self,
        client: Asking,
        names: Mapping[str, str],
        calls: Callable[[], Sequence[Call]],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._names = names
        self._calls = calls
        self._now = now
        self._since: dict[str, float] = {}
        self._looked_s = -LOOKS_AGAIN_S
        self._off_since: float | None = None
        self._revoked = False
        self.decided: list[str] = []

    def look(self, view: View, lost: str = "") -> None:
        """Decide about all that has stood in doubt, or waited for the lost device, long enough."""
        open_now = {task for task, record in view.tasks.items() if record.state is TaskState.UNKNOWN}
        self._since = {task: self._since.get(task, self._now()) for task in open_now}
        specs = view.specs
        for task, since in list(self._since.items()):
            attempt = view.last_attempt(task)
            if attempt is not None and self._now() - since >= THINKS_S:
                name = self._names.get(attempt.device, attempt.device)
                calls = [call for call in self._calls() if call.device == name]
                self._do(view, about_doubt(task, specs[task], attempt, view, calls, name, lost=attempt.device == lost))
        if lost and self._now() - self._looked_s >= LOOKS_AGAIN_S:
            self._looked_s = self._now()
            self._give_up(view, lost, self._names[lost])

    def _give_up(self, view: View, device: str, name: str) -> None:
        if self._off_since is None and self._is_off(device):
            self._off_since = self._now()
        off_s = 0.0 if self._off_since is None else self._now() - self._off_since
        if not self._revoked and off_s >= OFF_S:
            self._client.post(routes.post_device_action(device, "revoke"))
            self._revoked = True
            self.decided.append(f"{name} is revoked: it is lost")
        if self._revoked:
            for decision in about_loss(view, device, name):
                self._do(view, decision)

    def _is_off(self, device: str) -> bool:
        devices = self._client.get(routes.get_devices())["items"]
        return any(item["id"] == device and item["link"] != "online" for item in devices)

    def _do(self, view: View, decision: Decision) -> None:
        call = routes.post_constellation_task_action(view.constellation, decision.task, decision.action)
        try:
            self._client.post(call, decision.body())
        except Problem as problem:
            if problem.code not in (*CHANGED, ILLEGAL):
                raise
            return
        self._since.pop(decision.task, None)
        what = f"{decision.action} {decision.state}".rstrip()
        self.decided.append(f"{decision.task}: {what} ({decision.reason})")
