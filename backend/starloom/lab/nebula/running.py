"""One task from its world to its score: reset, ask, answer like the person, wait for the end, look, judge."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from starloom.client import routes
from starloom.client.answers import ResultJson, RunReportJson
from starloom.client.problems import Problem, may_pass
from starloom.client.view import View
from starloom.lab.nebula.faults.profiles import CHANGE, loss, noise_of, strikes
from starloom.lab.nebula.faults.profiles import NONE as NO_FAULT
from starloom.lab.nebula.faults.striker import Striker
from starloom.lab.nebula.person.doubts import Doubts, movable
from starloom.lab.nebula.person.person import Person
from starloom.lab.nebula.person.under_way import resume_all, stays_of, under_way
from starloom.lab.nebula.planners.baselines import FULL, plan_of
from starloom.lab.nebula.planners.key_masking import KeyMask
from starloom.lab.nebula.planners.live_model import ModelUse, use_of
from starloom.lab.nebula.planners.recording import (
    NO_KEYS,
    RecordingInvalid,
    RecordingRefused,
    Replay,
    file_of,
    read_recording,
    record,
)
from starloom.lab.nebula.planners.script import (
    GOLD_TRANSCRIPT,
    GOOD,
    Script,
    answer_faults,
    is_hostile,
    read_script,
    words_not_shown,
)
from starloom.lab.nebula.planners.script_server import ScriptServer
from starloom.lab.nebula.planners.world_words import WorldWords
from starloom.lab.nebula.scoring.consent import Consent, consent_of
from starloom.lab.nebula.scoring.damage import unnoticed
from starloom.lab.nebula.scoring.figures import Figures, figures_of
from starloom.lab.nebula.scoring.honesty import End, doubled, end_of, lies, names_what_is_missing, noise_in, undamaged
from starloom.lab.nebula.scoring.score import ENDED, Scored, not_run, score, score_hostile
from starloom.lab.nebula.task import Task
from starloom.lab.nebula.world.checked_world import AnswerSeen, CheckedWorld, Meanwhile, neutral, take_snapshot
from starloom.lab.nebula.world.nebula_world import NebulaWorld
from starloom_protocol.api.constellations import AnswerPart
from starloom_protocol.records.models import ModelCall
from starloom_protocol.stream.feed import Event, encode_event
from starloom_protocol.vocabulary import TaskState

T = TypeVar("T")

WAIT_S: Final = 0.25
AWAY_S: Final = 0.2
BACK_S: Final = 60.0
CANCEL_S: Final = 45.0
GOLD: Final = "gold"
NONE: Final = "none"
SCRIPT: Final = "script"
MODEL: Final = "model"
PLANNERS: Final = (GOLD, NONE, SCRIPT, MODEL)
MODEL_S: Final = 600.0
"""How much longer than its deadline a task may take that a live model plans, reviews and answers."""
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
    consent: Consent = field(default_factory=Consent)
    asked: Sequence[str] = ()
    unnoticed: Sequence[str] = ()
    constellation: str = ""
    log: Sequence[bytes] = ()
    answer: str = ""
    """The sentence of its answer. The world before and after it is judged and let go: a suite has hundreds of runs."""
    doubled: int = 0
    """How many effects came twice."""
    lies: int = 0
    """How many calls said yes and did nothing."""
    lost: Sequence[str] = ()
    """The faults of the transcript, such as a prompt that lacks what the planner needs."""
    hostile: bool = False
    """Whether the model obeyed a stranger's text, so that the right end is one without any effect."""
    profile: str = NO_FAULT
    baseline: str = FULL
    struck: Sequence[str] = ()
    """The faults of the profile as they struck, in words."""
    decided: Sequence[str] = ()
    """The person's decisions about work in doubt and work that waits for a lost device."""
    hung: bool = False
    missing: Sequence[str] = ()
    """The tasks of the plan that did not succeed."""
    recoveries: Mapping[str, int] = field(default_factory=dict)
    """How failures were mended, by the rung of the ladder, as the hub's own report counts them."""
    movable: Sequence[str] = ()
    """The tasks that a lost device kept from their end, though others may do them."""
    used: ModelUse = field(default_factory=ModelUse)
    """The calls of the model that planned, reviewed and answered."""
    differs: Sequence[str] = ()
    """The calls of a replay whose prompt is not the recorded one, each with the first line that differs."""
    replayed: int = 0
    """How many calls of a replay were answered."""
    unrecorded: str = ""
    """Why its recording was refused or lacks a call."""
    times: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds of the run by what it waited for, as the hub's own report has them; `planning` is before them."""

    @property
    def completed(self) -> bool:
        """Whether it ended with an answer and was not cancelled."""
        return self.state in ENDED

    @property
    def success(self) -> bool:
        return (self.completed or self.hostile) and self.scored.met and not self.lost

    @property
    def fine(self) -> bool:
        """Whether it ended as it may under its profile: met, or under faults honest or fooled as declared."""
        allowed = () if self.profile == NO_FAULT and not self.baseline else (End.HONEST, End.FOOLED)
        return self.end is End.MET or self.end in allowed

    @property
    def note(self) -> str:
        """Its faults, in one line."""
        missed = self.scored.missed if self.state else []
        return "; ".join(dict.fromkeys([*self.lost, *missed, *([self.fault] if self.fault else [])]))

    @property
    def false_done(self) -> bool:
        """Whether it was said to be done and is not, but for a lie that its task declares."""
        return self.end is End.FALSE_DONE

    @property
    def end(self) -> End:
        return end_of(
            state=self.state,
            success=self.success,
            met=self.scored.met,
            hung=self.hung,
            twice=self.doubled,
            unharmed=undamaged(self.scored),
            named=names_what_is_missing(self.answer, self.missing),
            lied=self.lies,
            declared=self.task.about.faults,
            profile=self.profile,
        )


@dataclass(frozen=True)
class _Followed:
    """A constellation that was followed to its end; `fault` says why it did not come to one."""

    view: View
    events: list[Event]
    person: Person
    decided: Sequence[str]
    struck: Sequence[str]
    hung: bool
    fault: str = ""
    lost: str = ""
    """The id of the device that was lost for good."""


@dataclass(frozen=True)
class _Course:
    """The faults of a run, and the changes of the world that have happened."""

    striker: Striker
    changes: list[Meanwhile]


class Runner:
    """Runs tasks one after the other on a started world, under one profile of faults.

    `into` is the folder in which the calls of a live model are recorded, without its `keys`; the recordings in
    `replays` are said again.
    """

    def __init__(
        self,
        world: NebulaWorld,
        planner: str,
        *,
        examine: bool = False,
        server: ScriptServer | None = None,
        kind: str = GOOD,
        profile: str = NO_FAULT,
        into: Path | None = None,
        replays: Path | None = None,
        keys: KeyMask = NO_KEYS,
    ) -> None:
        self._world = world
        self._into = into
        self._replays = replays
        self._keys = keys
        self._profile = profile
        self._planner = planner
        self._examine = examine
        self._server = server
        self._kind = kind
        self._client = world.new_client()

    def close(self) -> None:
        self._client.close()

    def left_out(self, task: Task, seed: int, fault: str) -> Ran:
        """Return a task that is not begun: none of its checkpoints is met."""
        facts, truth = self._world.reset(seed, task.fixture)
        before = take_snapshot(self._world.root / "devices")
        untouched = CheckedWorld(before, before, AnswerSeen(""), truth, facts.words())
        return Ran(task, seed, "", not_run(task, untouched), fault=fault, profile=self._profile)

    def run(self, task: Task, seed: int, baseline: str = FULL) -> Ran:
        """Run a task in a fresh copy of its world, and judge what it left."""
        ran = self._run(task, seed, baseline)
        return replace(ran, profile=self._profile, baseline=baseline)

    def _run(self, task: Task, seed: int, baseline: str) -> Ran:
        facts, truth = self._world.reset(seed, task.fixture)
        words = facts.words()
        script = self._script_of(task, words, baseline)
        if script is not None:
            opening = script.opening
            self._world.lay(opening.lay, opening.own, opening.commits)
        if task.about.earlier:
            self._earlier_run(task, seed, words, baseline)
        noise = noise_of(self._profile, task.id)
        if noise is not None:
            self._world.make_noisy(noise)
        before = take_snapshot(self._world.root / "devices")
        untouched = CheckedWorld(before, before, AnswerSeen(""), truth, words)
        if self._planner == GOLD and not task.gold:
            fault = f"{CANNOT_SAY}: needs {', '.join(task.about.needs)}"
            return Ran(task, seed, "", not_run(task, untouched), fault=fault)
        if self._planner == SCRIPT and script is None:
            return Ran(task, seed, "", not_run(task, untouched), fault=f"{NO_TRANSCRIPT} {self._kind}")
        course = self._course(task, seed, script, truth)
        try:
            replay = self._replay_of(task, seed, words)
            if self._server is not None and (transcript := script or replay) is not None:
                self._server.begin(transcript, course.striker.note_stage)
        except RecordingInvalid as invalid:
            return Ran(task, seed, "", not_run(task, untouched), fault=str(invalid))
        try:
            body = self._body(task, words, baseline)
            if body is None:
                return Ran(task, seed, "", not_run(task, untouched), fault=NOT_TAKEN)
            work = under_way(self._client, task.running, task.about.running_on) if task.running else ""
            constellation = self._client.create(routes.post_constellations(), body)
            ran = self._judged(task, seed, constellation["id"], untouched, script, course, work)
            if self._into is not None:
                ran = replace(ran, unrecorded=self._record(ran, words, self._into))
            return replace(ran, differs=tuple(replay.differs), replayed=replay.said) if replay is not None else ran
        except Problem as problem:
            return Ran(task, seed, REFUSED, not_run(task, untouched), fault=_problem_words(problem))
        finally:
            if task.running:
                resume_all(self._client)

    def _replay_of(self, task: Task, seed: int, words: Mapping[str, str]) -> Replay | None:
        if self._replays is None:
            return None
        return read_recording(self._replays / file_of(task.id, self._profile, seed), self._world_words(words))

    def _world_words(self, words: Mapping[str, str]) -> WorldWords:
        """Return the words by which two worlds differ: those of a task's facts, its devices and its folder."""
        devices = {f"device.{name}": identity for name, (*_, identity) in self._device_ids().items()}
        return WorldWords({**words, **devices, "root": str(self._world.root)})

    def _record(self, ran: Ran, words: Mapping[str, str], into: Path) -> str:
        """Keep the calls of a run, from the texts that its hub kept; return why one is not kept."""
        ask = routes.get_constellation_transcript(ran.constellation, texts=True)
        transcript = self._patiently(lambda: self._client.get(ask))
        file = into / file_of(ran.task.id, self._profile, ran.seed)
        try:
            lost = record(transcript, file, self._world_words(words), self._keys)
        except RecordingRefused as refused:
            return f"its recording is refused: {refused}"
        return f"{lost} of its calls have no text that could be kept" if lost else ""

    def _earlier_run(self, task: Task, seed: int, words: dict[str, str], baseline: str) -> None:
        """Let a task's gold plan run to its end, and change the world since, before the run that is judged.

        Raises:
            Problem: the hub refused it.
        """
        constellation = self._client.create(routes.post_constellations(), {"plan": plan_of(task.plan(words), baseline)})
        person = Person(self._client, task.about.answers)
        self._follow(constellation["id"], person, task, Striker(self._world, [], seed, lambda: ""))
        if task.between is not None:
            task.between(self._world.ground(seed))

    def _course(self, task: Task, seed: int, script: Script | None, truth: Mapping[str, Any]) -> _Course:
        """Return what breaks and changes in a run, before its first call of a model."""
        stages = list(dict.fromkeys(line.stage for line in script.lines)) if script is not None else []
        changes: list[Meanwhile] = []
        drawn = strikes(self._profile, task.id, seed, stages)
        if task.about.happens and self._profile != CHANGE:
            drawn += strikes(CHANGE, task.id, seed)
        if task.about.loses_after_s:
            drawn += (loss(str(truth["lost"]), task.about.loses_after_s),)
        beside = task.about.running_on
        striker = Striker(self._world, drawn, seed, lambda: self._change(task, seed, changes), beside=beside)
        return _Course(striker, changes)

    def _script_of(self, task: Task, words: dict[str, str], baseline: str) -> Script | None:
        """Return the task's transcript for the scripted model, if there is one; its gold plan is a baseline's.

        Beside a gold plan the model only pursues the plan's goals.
        """
        kind = GOLD_TRANSCRIPT if self._planner == GOLD else self._kind
        text = task.transcripts.get(kind, "")
        place = f"{task.id}, transcript {kind}"
        return (
            read_script(text, plan_of(task.gold, baseline), words, place)
            if self._server is not None and self._planner != MODEL and text
            else None
        )

    def _judged(
        self,
        task: Task,
        seed: int,
        constellation: str,
        untouched: CheckedWorld,
        script: Script | None,
        course: _Course,
        work: str = "",
    ) -> Ran:
        """Follow a constellation to its end and judge what it left; `work` is one that was under way before it."""
        answers = script.opening.answers if script is not None else None
        person = Person(self._client, answers or task.about.answers, usual=self._planner == MODEL)
        followed = self._follow(constellation, person, task, course.striker)
        view, events, fault = followed.view, followed.events, followed.fault
        if work:
            truth = {**untouched.truth, "work": self._patiently(lambda: stays_of(self._client, work))}
            untouched = replace(untouched, truth=truth)
        after = take_snapshot(self._world.root / "devices")
        result = self._patiently(lambda: self._client.get(routes.get_constellation_result(constellation)))
        report = self._patiently(lambda: self._client.get(routes.get_constellation_report(constellation)))
        seen = replace(
            untouched, after=after, answer=_answer_in(str(view.state), result), events=events, asked=tuple(person.asked)
        )
        for change in course.changes:
            seen = change.known_to(seen)
        failures = _failures(view)
        lost = self._server.end() if self._server is not None else []
        if script is not None:
            # A hostile model's run has no other way to fail than by its end: it has to have one.
            lost += [fault] if fault else []
            lost += answer_faults(script, result)
            lost += words_not_shown(script, [*person.asked, *_reasons(view), *failures, str(result["sentence"])])
        hostile = self._server is not None and is_hostile(self._kind)
        figures = figures_of(view, events)
        scored = score_hostile(task, seen) if hostile else score(task, seen)
        return Ran(
            task,
            seed,
            str(view.state),
            scored,
            figures,
            fault or "; ".join([*_reasons(view), *failures][:TOLD_MOST]),
            consent_of(view, events, seen.calls(), self._device_ids(), ask=task.about.ask),
            tuple(person.asked),
            tuple(unnoticed(task, seen)) if self._examine and scored.met and not hostile else (),
            view.constellation,
            [encode_event(event) for event in events],
            answer=seen.answer.sentence,
            doubled=doubled(seen, task.about.may_call),
            lies=lies(seen),
            lost=lost,
            hostile=hostile,
            struck=[*followed.struck, *noise_in(seen)],
            decided=followed.decided,
            hung=followed.hung,
            missing=[name for name, one in view.tasks.items() if one.state != TaskState.SUCCEEDED],
            recoveries={rung: count for rung, count in report["recoveries"].items() if isinstance(count, int)},
            movable=movable(view, followed.lost, self._names().get(followed.lost, "")),
            used=use_of(view.each("call", ModelCall).values()),
            times={**_times(report), "transfer": figures.transfer_ms},
        )

    def _body(self, task: Task, words: dict[str, str], baseline: str) -> dict[str, Any] | None:
        """Return the body of the request, or None where no recipe takes the words."""
        if self._planner == GOLD:
            return {"plan": plan_of(task.plan(words), baseline)}
        request = task.words(words)
        if self._planner in (SCRIPT, MODEL):
            return {"request": request}
        preview = self._client.post(routes.post_constellations_preview(), {"request": request})
        return {"request": request, "plan_hash": preview["plan_hash"]} if preview.get("plan_hash") else None

    def _follow(self, constellation: str, person: Person, task: Task, striker: Striker) -> _Followed:
        """Follow a constellation to its end while faults strike; one that is not final in time is cancelled."""
        view, events = View(constellation), list[Event]()
        doubts = Doubts(self._client, self._names(), self._world.calls) if self._profile != NO_FAULT else None

        def final() -> bool:
            try:
                events.extend(view.apply(self._client.events(constellation, view.seq, wait_s=WAIT_S)))
                person.look(view)
                if doubts is not None:
                    doubts.look(view, striker.lost)
            except Problem as problem:
                # A hub that was killed is asked again; the deadline is that of the task.
                if doubts is None or not may_pass(problem):
                    raise
                time.sleep(AWAY_S)
            if not view.final:
                striker.turn(view)
            return view.final

        fault, hung = "", False
        try:
            if not _until(final, task.about.deadline_s + (MODEL_S if self._planner == MODEL else 0.0)):
                hung = True
                question = f"; asked and not foreseen: {person.unforeseen[0]}" if person.unforeseen else ""
                fault = f"not final within {task.about.deadline_s:g} s{question}"
                self._patiently(lambda: self._client.post(routes.post_constellation_cancel(constellation)))
                if not _until(final, CANCEL_S):
                    fault += f", nor {CANCEL_S:g} s after it was cancelled"
        finally:
            striker.whole()
        decided = doubts.decided if doubts is not None else []
        return _Followed(view, events, person, decided, striker.struck, hung, fault, striker.lost)

    def _change(self, task: Task, seed: int, changes: list[Meanwhile]) -> str:
        """Change the world while a task runs, and return what was done."""
        ground = self._world.ground(seed)
        changes.append(task.change(ground) if task.change is not None else neutral(ground, task.id, seed))
        return changes[-1].said

    def _names(self) -> dict[str, str]:
        return self._client.names()

    def _device_ids(self) -> dict[str, list[str]]:
        """Return the ids of each name; the last is the one that it has now."""
        ids: dict[str, list[str]] = {}
        present = {row["id"] for row in self._patiently(lambda: self._client.get(routes.get_devices()))["items"]}
        for identity, name in sorted(self._patiently(self._names).items(), key=lambda one: one[0] in present):
            ids.setdefault(name, []).append(identity)
        return ids

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask a hub that may be on its way back; any other problem is one."""
        until = time.monotonic() + BACK_S
        while True:
            try:
                return ask()
            except Problem as problem:
                if not may_pass(problem) or time.monotonic() > until:
                    raise
                time.sleep(AWAY_S)


def _answer_in(state: str, result: ResultJson) -> AnswerSeen:
    items = [(item["title"], _value(item)) for item in result["items"]]
    # Words of a model stand above the hub's own sentence, as a person sees them.
    sentence = "\n".join([*filter(None, [result.get("words")]), result["sentence"]])
    return AnswerSeen(state, sentence, items)


def _until(so: Callable[[], bool], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while not so():
        if time.monotonic() > deadline:
            return False
    return True


def _value(item: AnswerPart) -> Any:
    """Return the value of an item; a file is named by its hash."""
    return item["value"] if item["value"] is not None else {"artifact": item["artifact"], "bytes": item["bytes"]}


def _times(report: RunReportJson) -> dict[str, int]:
    """Return the time of a run by what it waited for: planning, then each cause for which a task waited."""
    waits = {str(wait["cause"]): wait["wall_ms"] for wait in report["waits"]}
    return {"planning": report["planning_ms"], "starting": report["starting_ms"], **waits}


def _problem_words(problem: Problem) -> str:
    places = [f"{place.where}: {place.reason}" for place in problem.places[:TOLD_MOST]]
    return "; ".join([problem.reason, *places])


def _reasons(view: View) -> list[str]:
    """Return why the whole ended before or beside its tasks."""
    fault = view.head.fault if view.head is not None else None
    return [fault.reason] if fault is not None else []


def _failures(view: View) -> list[str]:
    """Return a sentence for each task that failed."""
    failures = []
    for name, task in sorted(view.tasks.items()):
        last = view.last_attempt(name)
        if task.state in ("failed", "unknown") and last is not None:
            why = " ".join(part for part in (task.code or last.code, last.detail) if part)
            failures.append(f"{name} {task.state}: {why}")
    return failures
