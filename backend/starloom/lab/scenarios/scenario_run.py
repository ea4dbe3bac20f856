"""One scenario from beginning to end: a folder with an installation is made, the run is carried out, both are removed.

Owns the time of each fault. `injection` breaks, `follower` reads the log, `verdict` judges."""

from __future__ import annotations

import queue
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from starloom.client import routes
from starloom.client.rest import Client
from starloom.client.view import View
from starloom.lab.attempt_counts import AttemptCounts, count, read_ledger
from starloom.lab.injection import Breaker, Broken, Impossible, broken_words
from starloom.lab.installation import Installation
from starloom.lab.scenarios.follower import Follower
from starloom.lab.scenarios.verdict import misses, state_of
from starloom.lab.story import FAULT, HEALED, NOTE, Line, Story
from starloom.process.signals import undisturbed
from starloom_protocol.plan.scenario import AtDoc, FaultDoc, Scenario
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import FINAL_TASK_STATES

TURN_S: Final = 0.02
STOP_S: Final = 10.0
SETTLED_S: Final = 0.5
"""The time for which a constellation must wait for a person before it counts as waiting: events may be on their way."""


@dataclass
class ScenarioReport:
    """The full report of one run."""

    scenario: Scenario
    constellation: str
    state: str
    took_s: float
    story: Story
    effects: AttemptCounts
    misses: list[str]

    @property
    def met(self) -> bool:
        return not self.misses

    def document(self) -> dict[str, Any]:
        """Return the whole as JSON has it."""
        return {
            "scenario": self.scenario.name,
            "seed": self.scenario.seed,
            "met": self.met,
            "misses": self.misses,
            "constellation": self.constellation,
            "state": self.state,
            "took_s": round(self.took_s, 3),
            "story": self.story.document(),
            "effects": {task: dict(on) for task, on in self.effects.begun.items()},
        }

    def text(self) -> str:
        """Return the whole as a person reads it."""
        parts = [self.story.text(), "", "Begun, by the devices' own ledgers:"]
        parts += [f"  {line}" for line in self.effects.lines()] or ["  nothing"]
        if self.met:
            parts += ["", f"Met: {self.state} after {self.took_s:.1f} s."]
        else:
            parts += ["", "Not met:", *(f"  {one}" for one in self.misses)]
        return "\n".join(parts)


@dataclass
class Due:
    """A fault that has not happened yet, or that lasts."""

    fault: FaultDoc
    broken: Broken | None = None
    over_at: float = 0.0
    done: bool = False
    why_not: str = "its time did not come"


@dataclass
class Run:
    """The state of one run; `carry_out` drives it."""

    scenario: Scenario
    breaker: Breaker
    follower: Follower
    names: dict[str, str]
    view: View | None = None
    story: Story = field(default_factory=Story)
    dues: list[Due] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    accepted_at: float = 0.0

    def turn(self) -> None:
        """Take faults back that are over, and do those whose time has come."""
        now = time.monotonic()
        for due in self.dues:
            if due.broken is not None and not due.done and now >= due.over_at:
                self._heal(due)
            elif due.broken is None and not due.done and self._has_come(due.fault.at, now):
                self._do(due, now)

    def before_asking(self) -> None:
        """Inject the faults that are due when the request comes."""
        for due in self.dues:
            if due.fault.at.after_s == 0:
                self._do(due, time.monotonic())

    def heal_all(self) -> None:
        for due in self.dues:
            if due.broken is not None and not due.done:
                self._heal(due)

    @property
    def lasts(self) -> bool:
        """Return whether a fault has still to come or to end."""
        return any(not due.done for due in self.dues)

    @property
    def not_done(self) -> list[str]:
        return [f"{told_of(due.fault)} ({due.why_not})" for due in self.dues if due.broken is None]

    def _has_come(self, at: AtDoc, now: float) -> bool:
        view = self.view
        if view is None:
            return False
        if at.after_s is not None:
            return now - self.accepted_at >= at.after_s
        if at.progress is not None:
            tasks = view.tasks
            ended = sum(task.state in FINAL_TASK_STATES for task in tasks.values())
            return bool(tasks) and ended / len(tasks) >= at.progress
        return any(event.kind == at.event and at.task in (None, event.about) for event in self.events)

    def _holder(self, task: str | None) -> str:
        """Return the device that has a task; empty where none does."""
        record = self.view.tasks.get(task) if self.view is not None and task is not None else None
        return self.names.get(record.device, "") if record is not None and record.device else ""

    def _do(self, due: Due, now: float) -> None:
        try:
            due.broken = self.breaker.do(due.fault, self._holder(due.fault.at.task))
        except Impossible as impossible:
            due.done, due.why_not = True, str(impossible)
            self.story.note(_now_ms(), NOTE, f"could not be broken: {impossible}")
            return
        due.over_at = now + due.fault.for_s
        sentence = f"{broken_words(due.broken)}, for {due.fault.for_s:g} s"
        self.story.note(_now_ms(), FAULT, sentence)
        self.follower.note(sentence)

    def _heal(self, due: Due) -> None:
        if due.broken is not None:
            self.breaker.heal(due.broken)
            self.story.note(_now_ms(), HEALED, broken_words(due.broken))
        due.done = True


def carry_out(
    scenario: Scenario, installation: Installation, hear: Callable[[Line], None] | None = None
) -> ScenarioReport:
    """Carry out a scenario on a started installation; `hear` is called with each line of its story as it comes.

    Raises:
        Problem: the hub took neither words nor plan.
    """
    client = installation.new_client()
    follower = Follower(client, _body(scenario, client))
    run = Run(scenario, Breaker(installation, scenario.seed), follower, installation.device_names(), story=Story(hear))
    run.dues = [Due(fault) for fault in scenario.faults]
    try:
        run.before_asking()
        run.follower.start()
        took_s = _until_end(run)
        run.heal_all()
        view = run.view
        if view is None:
            raise TimeoutError("the hub never took the request")
        _finish_notes(run, view)
        rows = [
            row
            for name in installation.devices
            for row in read_ledger(name, installation.ledger(name), view.constellation)
        ]
        effects = count(rows)
        missed = misses(scenario.expect, view, effects, took_s, run.not_done)
        return ScenarioReport(scenario, view.constellation, state_of(view), took_s, run.story, effects, missed)
    finally:
        run.heal_all()
        run.follower.stop(STOP_S)


def told_of(fault: FaultDoc) -> str:
    """Return in words a fault that did not happen, with its intended target."""
    return broken_words(Broken(fault, device=fault.device or ""))


def _body(scenario: Scenario, client: Client) -> dict[str, Any]:
    """Return the body of the request; words are previewed first, and the hash approves exactly that plan."""
    if scenario.plan is not None:
        return {"plan": scenario.plan}
    preview = client.post(routes.post_constellations_preview(), {"request": scenario.request})
    approved = {"plan_hash": preview["plan_hash"]} if preview.get("plan_hash") else {}
    return {"request": scenario.request, **approved}


def _until_end(run: Run) -> float:
    """Drive the run until nothing more is to come, or until its time is over; return how long the end took."""
    within_s = run.scenario.expect.within_s
    deadline = time.monotonic() + within_s + sum(fault.for_s for fault in run.scenario.faults) + STOP_S
    rested_at: float | None = None
    while time.monotonic() < deadline:
        run.turn()
        moved = _take(run, TURN_S)
        if run.follower.refused is not None:
            raise run.follower.refused
        now = time.monotonic()
        if run.view is None or not (run.view.final or run.view.needs_person()):
            rested_at = None
            if run.view is not None and now - run.accepted_at > within_s:
                return now - run.accepted_at
        elif rested_at is None or moved:
            rested_at = now if rested_at is None or not run.view.final else rested_at
        if rested_at is not None and run.view is not None and _may_end(run, rested_at, now):
            return rested_at - run.accepted_at
    return time.monotonic() - run.accepted_at if run.accepted_at else within_s


def _may_end(run: Run, rested_at: float, now: float) -> bool:
    """Return whether nothing more is expected: a final state is the end, also of faults that were never due."""
    if run.view is not None and run.view.final:
        return not any(due.broken is not None and not due.done for due in run.dues) or now - rested_at > SETTLED_S
    return not run.lasts and now - rested_at > SETTLED_S


def _take(run: Run, wait_s: float) -> bool:
    """Take the events that the follower has read; return whether there were any new ones."""
    if run.view is None and run.follower.accepted is not None:
        run.view, run.accepted_at = View(run.follower.accepted), time.monotonic()
    try:
        events = run.follower.events.get(timeout=wait_s)
    except queue.Empty:
        return False
    if run.view is None:
        run.view, run.accepted_at = View(str(run.follower.accepted)), time.monotonic()
    fresh = run.view.apply(events)
    run.events.extend(fresh)
    run.story.read(fresh, run.names)
    return bool(fresh)


def _finish_notes(run: Run, view: View) -> None:
    """Wait until the log has every fault, so that the constellation's feed shows them."""
    deadline = time.monotonic() + STOP_S
    while time.monotonic() < deadline:
        _take(run, TURN_S)
        if run.follower.told:
            break
    run.story.note(_now_ms(), NOTE, f"the constellation is {state_of(view)}")


def _now_ms() -> int:
    return int(time.time() * 1000)


def run_apart(
    scenario: Scenario, say: Callable[[str], None], hear: Callable[[Line], None] | None = None
) -> ScenarioReport:
    """Run a scenario in a folder of its own, which is kept only if the expectation was not met or something failed.

    `hear` is called with each line of the story as it comes.

    Raises:
        Problem: the installation did not start, or the hub refused the request.
    """
    # Not below a long path: that of a Unix socket must be short.
    home = Path(tempfile.mkdtemp(prefix="sl-lab-"))
    installation = Installation(home, scenario.devices, scenario.seed)
    keep = True
    try:
        say(f"{scenario.name}: starting a hub, a worker, Redis and {len(scenario.devices)} devices of its own")
        installation.start()
        report = carry_out(scenario, installation, hear)
        keep = not report.met
    except KeyboardInterrupt:
        keep = False
        raise
    else:
        return report
    finally:
        with undisturbed():
            installation.close()
        left = installation.left_over()
        if left:
            say("these outlived the installation: " + "; ".join(left))
        if keep or left:
            say(f"logs and ledgers are kept in {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
