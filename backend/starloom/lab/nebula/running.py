"""One task from its world to its score: reset, ask, answer like the person, wait for the end, look, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starloom.client.problems import Problem
from starloom.client.view import View
from starloom.lab.nebula.damage import unnoticed
from starloom.lab.nebula.measuring import Figures, figures_of
from starloom.lab.nebula.person import Person
from starloom.lab.nebula.score import ENDED, Scored, not_run, score, score_hostile
from starloom.lab.nebula.script import GOOD, HOSTILE, Script, read_script, unspoken, untold
from starloom.lab.nebula.script_server import ScriptServer
from starloom.lab.nebula.seen import AnswerSeen, Seen, take_snapshot
from starloom.lab.nebula.task import Task
from starloom.lab.nebula.world import NebulaWorld
from starloom_protocol.feed import Event, encode_event

WAIT_S: Final = 0.25
CANCEL_S: Final = 45.0
GOLD: Final = "gold"
NONE: Final = "none"
SCRIPT: Final = "script"
PLANNERS: Final = (GOLD, NONE, SCRIPT)
REFUSED: Final = "refused"
CANNOT_SAY: Final = "cannot be said yet"
NO_TRANSCRIPT: Final = "there is no transcript of the kind"
NOT_TAKEN: Final = "no recipe takes these words"
TOLD_MOST: Final = 5


@dataclass(frozen=True)
class Ran:
    """One run of one task. `fault` says why there was no end state, or what went wrong on the way."""

    task: Task
    seed: int
    state: str
    scored: Scored
    figures: Figures = field(default_factory=Figures)
    fault: str = ""
    approvals: int = 0
    asked: Sequence[str] = ()
    unnoticed: Sequence[str] = ()
    constellation: str = ""
    log: Sequence[bytes] = ()
    seen: Seen | None = None
    lost: Sequence[str] = ()
    """The faults of the transcript, such as a prompt that lacks what the planner needs."""
    hostile: bool = False
    """Whether the model obeyed a stranger's text, so that the right end is one without any effect."""

    @property
    def completed(self) -> bool:
        """Whether it ended with an answer and was not cancelled."""
        return self.state in ENDED

    @property
    def success(self) -> bool:
        return (self.completed or self.hostile) and self.scored.met and not self.lost

    @property
    def note(self) -> str:
        """Its faults, in one line."""
        missed = self.scored.missed if self.state else []
        return "; ".join(dict.fromkeys([*self.lost, *missed, *([self.fault] if self.fault else [])]))

    @property
    def false_done(self) -> bool:
        return self.state == "succeeded" and not self.scored.met


class Runner:
    """Runs tasks one after the other on a started world."""

    def __init__(
        self,
        world: NebulaWorld,
        planner: str,
        *,
        examine: bool = False,
        server: ScriptServer | None = None,
        kind: str = GOOD,
    ) -> None:
        self._world = world
        self._planner = planner
        self._examine = examine
        self._server = server
        self._kind = kind
        self._client = world.new_client()

    def close(self) -> None:
        self._client.close()

    def run(self, task: Task, seed: int) -> Ran:
        """Run a task in a fresh copy of its world, and judge what it left."""
        facts, truth = self._world.reset(seed, task.fixture)
        words = facts.words()
        script = self._script_of(task, words)
        if script is not None:
            self._world.lay(script.opening.lay)
        before = take_snapshot(self._world.root / "devices")
        untouched = Seen(before, before, AnswerSeen(""), truth, words)
        if self._planner == GOLD and not task.gold:
            fault = f"{CANNOT_SAY}: needs {', '.join(task.about.needs)}"
            return Ran(task, seed, "", not_run(task, untouched), fault=fault)
        if self._planner == SCRIPT and script is None:
            return Ran(task, seed, "", not_run(task, untouched), fault=f"{NO_TRANSCRIPT} {self._kind}")
        if self._server is not None and script is not None:
            self._server.begin(script)
        try:
            body = self._body(task, words)
            if body is None:
                return Ran(task, seed, "", not_run(task, untouched), fault=NOT_TAKEN)
            made = self._client.create("/constellations", body)
            return self._judged(task, seed, str(made["id"]), untouched, script)
        except Problem as problem:
            return Ran(task, seed, REFUSED, not_run(task, untouched), fault=_told(problem))

    def _script_of(self, task: Task, words: dict[str, str]) -> Script | None:
        """Return the task's transcript, if a scripted model plans and has one."""
        text = task.transcripts.get(self._kind, "")
        place = f"{task.id}, transcript {self._kind}"
        return read_script(text, task.gold, words, place) if self._server is not None and text else None

    def _judged(self, task: Task, seed: int, constellation: str, untouched: Seen, script: Script | None) -> Ran:
        """Follow a constellation to its end and judge what it left."""
        answers = script.opening.answers if script is not None else None
        person = Person(self._client, answers or task.about.answers)
        view, events, fault = self._follow(constellation, person, task.about.deadline_s)
        after = take_snapshot(self._world.root / "devices")
        found = self._client.get(f"/constellations/{view.constellation}/result")
        seen = replace(
            untouched, after=after, answer=_answer_in(str(view.state), found), events=events, asked=tuple(person.asked)
        )
        failures = _failures(view)
        lost = self._server.end() if self._server is not None else []
        if script is not None:
            # A hostile model's run has no other way to fail than by its end: it has to have one.
            lost += [fault] if fault else []
            lost += unspoken(script, found)
            lost += untold(script, [*person.asked, *_reasons(view), *failures])
        hostile = self._server is not None and self._kind == HOSTILE
        scored = score_hostile(task, seen) if hostile else score(task, seen)
        return Ran(
            task,
            seed,
            str(view.state),
            scored,
            figures_of(view, events),
            fault or "; ".join([*_reasons(view), *failures][:TOLD_MOST]),
            person.approvals,
            tuple(person.asked),
            tuple(unnoticed(task, seen)) if self._examine and scored.met and not hostile else (),
            view.constellation,
            [encode_event(event) for event in events],
            seen,
            lost,
            hostile,
        )

    def _body(self, task: Task, words: dict[str, str]) -> dict[str, Any] | None:
        """Return the body of the request, or None where no recipe takes the words."""
        if self._planner == GOLD:
            return {"plan": task.plan(words)}
        request = task.words(words)
        if self._planner == SCRIPT:
            return {"request": request}
        shown = self._client.post("/constellations/preview", {"request": request})
        return {"request": request, "plan_hash": shown["plan_hash"]} if shown.get("plan_hash") else None

    def _follow(self, constellation: str, person: Person, deadline_s: float) -> tuple[View, list[Event], str]:
        """Follow a constellation to its end; one that is not final in time is cancelled."""
        view, events = View(constellation), []
        fault = ""

        def final() -> bool:
            events.extend(view.apply(self._client.events(constellation, view.seq, wait_s=WAIT_S)))
            person.look(view)
            return view.final

        if not _until(final, deadline_s):
            told = f"; asked and not foreseen: {person.unforeseen[0]}" if person.unforeseen else ""
            fault = f"not final within {deadline_s:g} s{told}"
            self._client.post(f"/constellations/{constellation}/cancel")
            if not _until(final, CANCEL_S):
                fault += f", nor {CANCEL_S:g} s after it was cancelled"
        return view, events, fault


def _answer_in(state: str, found: dict[str, Any]) -> AnswerSeen:
    items = [(str(item["title"]), _value(item)) for item in found["items"]]
    # Words of a model stand above the hub's own sentence, as a person sees them.
    sentence = "\n".join([*filter(None, [found.get("words")]), str(found["sentence"])])
    return AnswerSeen(state, sentence, items)


def _until(so: Callable[[], bool], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while not so():
        if time.monotonic() > deadline:
            return False
    return True


def _value(item: dict[str, Any]) -> Any:
    """Return the value of an item; a file is named by its hash."""
    return item["value"] if item["value"] is not None else {"artifact": item["artifact"], "bytes": item["bytes"]}


def _told(problem: Problem) -> str:
    places = [f"{place.where}: {place.reason}" for place in problem.places[:TOLD_MOST]]
    return "; ".join([problem.reason, *places])


def _reasons(view: View) -> list[str]:
    """Return why the whole ended before or beside its tasks."""
    fault = view.head.fault if view.head is not None else None
    return [fault.reason] if fault is not None else []


def _failures(view: View) -> list[str]:
    """Return a sentence for each task that failed."""
    found = []
    for name, task in sorted(view.tasks.items()):
        last = view.last_attempt(name)
        if task.state in ("failed", "unknown") and last is not None:
            found.append(f"{name} {task.state}: {last.code} {last.detail}")
    return found
