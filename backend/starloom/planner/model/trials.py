"""The trial of a model: five plans, a review, an answer, a verdict, a choice and two turns of a goal, judged by code.

Owns the requests, what is expected of each answer, and what the outcome says about the model. A plan passes the check
that any plan passes, and an expectation beside it. Nothing of a trial is run, and no model judges another. Has no clock
and no wire: the caller gives the model.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from starloom.core.placement.feasible import selects
from starloom.core.plan.goals.tiers import TIERS
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.answers import Stage
from starloom.planner.model.conversations.answering import AnswerTalk, Words, answer_parts
from starloom.planner.model.conversations.judging import ChoiceTalk, JudgeTalk, choice_parts, judge_parts
from starloom.planner.model.conversations.planning import Conversation, Planned, Withdrawn
from starloom.planner.model.conversations.pursuing import GoalTalk, SeenGoal, goal_parts, turns_of
from starloom.planner.model.conversations.reviewing import Review, ReviewTalk, review_parts
from starloom.planner.model.port import Model, ModelFault, Reply, Turn
from starloom.planner.model.prompt import PromptPart
from starloom.planner.model.reading import Asked, Looked, Reached, Stepped, Turned
from starloom.planner.model.trial_world import (
    BUSIEST,
    DESK,
    ERRORS,
    FAILED,
    RIGHT_BALLOT,
    RIGHT_FOLDER,
    SEARCH,
    STEP,
    STORE,
    failed_plan,
    goal_begun,
    goal_with_a_result,
    results_of_a_vote,
    trial_fleet,
    two_results,
)
from starloom_protocol.records.edits import AddTask, LoweredPlan, Supersede
from starloom_protocol.records.entities import Fault, TaskSpec
from starloom_protocol.records.specs import Condition
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Gate, Op, Sharing

CALLS_MOST: Final = 40
"""All requests with all their repairs stay below it."""
ANSWER_TOKENS: Final = 400
"""The estimate for one answer; a model that thinks writes more."""
SIMPLE_PLANS: Final = 3
_ANSWER_REQUEST: Final = "Which service has the most errors, and how many?"
_SENTENCE: Final = "2 tasks are done."
_CHOICE: Final = "Which result names the service with the most errors, with their number?"
_WRONG_CLAIM: Final = "Do the results show that print-room has the most errors?"

Check = Callable[[LoweredPlan], str]
"""Returns what is missing in a plan, empty if nothing is."""


@dataclass(frozen=True)
class PlanTrial:
    """One request for a plan; `check` None: the right answer is a question."""

    name: str
    words: str
    check: Check | None


@dataclass(frozen=True)
class Outcome:
    """The outcome of one trial; `missing` is empty if the model passed it."""

    name: str
    stage: Stage
    missing: str = ""

    @property
    def passed(self) -> bool:
        """Whether the model did what was expected."""
        return not self.missing


def _tool(plan: LoweredPlan) -> str:
    calls = _calls(plan, "process.list")
    return "" if calls and _only_on(calls, DESK) else f"process.list on {DESK} and nowhere else"


def _device(plan: LoweredPlan) -> str:
    calls = _calls(plan, "disk.usage")
    return "" if calls and _only_on(calls, STORE) else f"disk.usage on {STORE}, the machine with the label storage"


def _order(plan: LoweredPlan) -> str:
    first, then = _calls(plan, "fs.find"), _calls(plan, "archive.pack")
    if first and then and any(_waits(plan, first, then, gate) for gate in (Gate.SUCCESS, Gate.DATA, Gate.OUTPUT)):
        return ""
    return "archive.pack that waits for the success of fs.find"


def _condition(plan: LoweredPlan) -> str:
    first, then = _calls(plan, "disk.usage"), _calls(plan, "notify")
    gated = any(
        _is_full(gate.condition) and gate.source in _ids(first) and gate.target in _ids(then)
        for gate in plan.dependencies
    )
    ruled = not then and any(_is_full(rule.condition) and rule.task in _ids(first) for rule in plan.rules)
    return "" if gated or ruled else "notify only if /used_percent of disk.usage is above 90"


def _is_full(condition: Condition | None) -> bool:
    return condition is not None and condition.output == "/used_percent" and condition.op in (Op.GT, Op.GE)


PLANS: Final = (
    PlanTrial("the right tool", f"Which programs use the most memory on {DESK}?", _tool),
    PlanTrial("the right device", "How full is the disk of the machine for storage?", _device),
    PlanTrial(
        "a dependency",
        f"Find all CSV files in the folder reports of {DESK}. If that has succeeded, pack the folder reports there.",
        _order,
    ),
    PlanTrial(
        "a condition",
        f"Look how full the disk of {STORE} is. Only if more than 90 percent is used, show me a notice on {DESK}.",
        _condition,
    ),
    PlanTrial("a question where one is needed", "Restart it.", None),
)


async def try_plan(model: Model, trial: PlanTrial) -> Outcome:
    """Have one plan made and judged."""
    result = await _conversation(model, trial.words).plan()
    return Outcome(trial.name, Stage.PLANNING, _judged(trial, result))


async def try_review(model: Model) -> Outcome:
    """Have one failed plan reviewed; the message of its task has the right folder."""
    review = await ReviewTalk(model, failed_plan(), trial_fleet()).answer()
    return Outcome("mending a failed task", Stage.REVIEWING, _mended(review))


async def try_answer(model: Model) -> Outcome:
    """Have one answer in words written and held against its results."""
    words = await AnswerTalk(model, _ANSWER_REQUEST, _SENTENCE, two_results()).write()
    missing = words.reason
    if not missing and words.struck:
        missing = f"a sentence that its results show, in place of: {words.struck[0]}"
    figures = words.words.replace(",", "").replace(".", "").replace(" ", "")
    if not missing and (BUSIEST not in words.words or str(ERRORS) not in figures):
        missing = f"{BUSIEST} with its {ERRORS} errors"
    return Outcome("an answer in words", Stage.ANSWERING, missing)


async def try_step(model: Model, stage: Stage) -> Outcome:
    """Have the first step of a goal made."""
    turn = await GoalTalk(model, goal_begun(_tiers(stage)), trial_fleet()).answer()
    return Outcome("a step of a goal", stage, _stepped(turn))


async def try_reaching(model: Model, stage: Stage) -> Outcome:
    """Have a goal answered whose result shows the answer."""
    turn = await GoalTalk(model, goal_with_a_result(_tiers(stage)), trial_fleet()).answer()
    return Outcome("the answer of a goal", stage, _reached(turn))


def _tiers(stage: Stage) -> tuple[str, ...]:
    return TIERS if stage is Stage.TIERED else ()


def _stepped(turn: Turned) -> str:
    if isinstance(turn, Fault):
        return turn.reason
    if not isinstance(turn, Stepped):
        return "a step: nothing was looked at yet"
    wrong = [call for call in turn.calls if call.tool != SEARCH or call.device not in ("", STORE)]
    return f"{SEARCH} on {STORE} and nothing else" if wrong else ""


def _reached(turn: Turned) -> str:
    if isinstance(turn, Fault):
        return turn.reason
    if not isinstance(turn, Reached):
        return f"an answer: the result of {STEP} shows it"
    if turn.value != {"errors": ERRORS, "service": BUSIEST}:
        return f"the value with {BUSIEST} and its {ERRORS} errors"
    return "" if [cite.task for cite in turn.cites] == [STEP] else f"a cite of {STEP}"


async def try_judge(model: Model) -> Outcome:
    """Have a claim judged that the results contradict."""
    judgement = await JudgeTalk(model, _ANSWER_REQUEST, _WRONG_CLAIM, two_results()).judge()
    missing = "" if judgement.holds == "no" else f"a no, in place of: {judgement.holds or judgement.because}"
    return Outcome("a verdict on a wrong claim", Stage.JUDGING, missing)


async def try_choice(model: Model) -> Outcome:
    """Have one of the results of a vote chosen; the other one asks to be chosen."""
    judgement = await ChoiceTalk(model, _ANSWER_REQUEST, _CHOICE, results_of_a_vote()).choose()
    choice = judgement.cites[0].task if judgement.cites else ""
    missing = (
        ""
        if choice == RIGHT_BALLOT
        else f"{RIGHT_BALLOT}, in place of: {choice or judgement.holds or judgement.because}"
    )
    return Outcome("a choice between the results of a vote", Stage.CHOOSING, missing)


def all_trials() -> list[tuple[Stage, Callable[[Model], Awaitable[Outcome]]]]:
    """Return the trials with their stage, in order; those of the last stage are for a small model only."""
    plans = [(Stage.PLANNING, _bound(trial)) for trial in PLANS]
    others = [
        (Stage.REVIEWING, try_review),
        (Stage.ANSWERING, try_answer),
        (Stage.JUDGING, try_judge),
        (Stage.CHOOSING, try_choice),
    ]
    turns = [
        (stage, partial(trial, stage=stage))
        for stage in (Stage.WORKING, Stage.TIERED)
        for trial in (try_step, try_reaching)
    ]
    return [*plans, *others, *turns]


def expected_bytes() -> dict[Stage, list[int]]:
    """Return the size of the first prompt of each trial, by stage."""
    planning = [_size(_conversation(_Silent(), trial.words).parts) for trial in PLANS]
    return {
        Stage.PLANNING: planning,
        Stage.REVIEWING: [_size(review_parts(failed_plan(), trial_fleet()))],
        Stage.ANSWERING: [_size(answer_parts(_ANSWER_REQUEST, _SENTENCE, two_results()))],
        Stage.JUDGING: [_size(judge_parts(_ANSWER_REQUEST, _WRONG_CLAIM, two_results()))],
        Stage.CHOOSING: [_size(choice_parts(_ANSWER_REQUEST, _CHOICE, results_of_a_vote()))],
        **{stage: [_turn_size(stage, seen) for seen in _GOALS] for stage in (Stage.WORKING, Stage.TIERED)},
    }


def uses(outcomes: list[Outcome]) -> dict[Stage, str]:
    """Return in words what the model can be used for, by stage."""
    by_stage = {stage: [item for item in outcomes if item.stage is stage] for stage in Stage}
    return {stage: _use(stage, items) for stage, items in by_stage.items() if items}


_NAMES: Final = {
    Stage.PLANNING: "plans",
    Stage.REVIEWING: "reviews",
    Stage.ANSWERING: "answers in words",
    Stage.JUDGING: "verdicts",
    Stage.CHOOSING: "choices between results",
    Stage.WORKING: "turns of goals",
    Stage.TIERED: "first turns of goals",
}


def _use(stage: Stage, outcomes: list[Outcome]) -> str:
    right, name = sum(item.passed for item in outcomes), _NAMES[stage]
    if right == len(outcomes):
        return f"{name}: yes ({right} of {len(outcomes)})"
    if right >= SIMPLE_PLANS:
        return f"{name}: simple ones, read each before you allow it ({right} of {len(outcomes)})"
    return f"{name}: no ({right} of {len(outcomes)})"


_GOALS: Final = (goal_begun, goal_with_a_result)


def _turn_size(stage: Stage, seen: Callable[[tuple[str, ...]], SeenGoal]) -> int:
    goal, fleet = seen(_tiers(stage)), trial_fleet()
    return _size(goal_parts(goal, fleet)) + sum(len(turn.text.encode()) for turn in turns_of(goal, fleet))


class _Silent:
    """Stands for a model where only the size of a prompt is wanted."""

    async def ask(self, _instructions: str, _turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        raise ModelFault(Code.MODEL_NOT_SET, f"no model is asked at this stage ({stage})")


def _bound(trial: PlanTrial) -> Callable[[Model], Awaitable[Outcome]]:
    return lambda model: try_plan(model, trial)


def _conversation(model: Model, words: str) -> Conversation:
    # No looks: there is no device that could answer them.
    return Conversation(model, words, {}, trial_fleet(), sharing=Sharing.NAMES)


def _judged(trial: PlanTrial, result: Planned) -> str:
    if isinstance(result, Withdrawn):
        return result.fault.reason
    if isinstance(result, Fault):
        return result.reason
    if trial.check is None:
        return "" if isinstance(result, Asked) else "a question: the request names neither a service nor a device"
    if isinstance(result, Asked):
        return f"a plan, in place of the question: {result.text}"
    if isinstance(result, Looked):
        return "a plan, in place of a look"
    if isinstance(result, Words):
        return "a plan, in place of an answer"
    missing = trial.check(result)
    return f"the plan is valid and lacks {missing}" if missing else ""


def _mended(review: Review) -> str:
    if review.look is not None:
        return "an edit, in place of a look: the message of the failed task says enough"
    if not review.operations:
        return review.wish or review.reason
    specs = {item.spec.id: item.spec for item in review.operations if isinstance(item, AddTask)}
    for item in review.operations:
        if isinstance(item, Supersede) and item.task == FAILED and item.by in specs:
            spec = specs[item.by]
            if spec.tool == "archive.pack" and parse(spec.args).get("path") == RIGHT_FOLDER:
                return ""
    return f"the edit is valid and lacks archive.pack of {RIGHT_FOLDER} that supersedes {FAILED}"


def _calls(plan: LoweredPlan, tool: str) -> list[TaskSpec]:
    return [spec for spec in plan.specs if spec.tool == tool]


def _ids(specs: list[TaskSpec]) -> set[str]:
    return {spec.id for spec in specs}


def _waits(plan: LoweredPlan, first: list[TaskSpec], then: list[TaskSpec], gate: Gate) -> bool:
    return any(
        item.source in _ids(first) and item.target in _ids(then) and item.gate is gate for item in plan.dependencies
    )


def _only_on(specs: list[TaskSpec], name: str) -> bool:
    fleet = trial_fleet()
    return all(_devices_of(spec, fleet) == {name} for spec in specs)


def _devices_of(spec: TaskSpec, fleet: FleetSnapshot) -> set[str]:
    """Return the devices that a task may run on; a group over devices runs on each that fits."""
    selector = spec.device or (spec.for_each.devices if spec.for_each is not None else None)
    devices = [(device.name, fleet.records[device.id], device.tools) for device in fleet.devices]
    return {name for name, record, tools in devices if selector is None or selects(selector, record, tools)}


def _size(parts: list[PromptPart]) -> int:
    return sum(len(part.text.encode()) for part in parts)
