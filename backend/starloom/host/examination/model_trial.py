"""`starloom doctor model`: asks the set models known requests, and reports what they can be used for.

The requests are about imaginary devices, so nothing of this fleet leaves. The costs are named before the first call.
Nothing is counted in the hub's budget, and nothing here decides what a model may do.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from starloom.host.examination.doctor import Finding
from starloom.planner.model.answers import Stage
from starloom.planner.model.endpoints.endpoint import Endpoint, ModelRole, endpoint_from, tiers_from
from starloom.planner.model.endpoints.page_settings import in_force
from starloom.planner.model.endpoints.spending import MICROS
from starloom.planner.model.port import Model, ModelAway, ModelFault, Reply, ToolsRefused, Turn
from starloom.planner.model.transport.connecting import connect, price_of, price_words
from starloom.planner.model.trials import ANSWER_TOKENS, CALLS_MOST, Outcome, all_trials, expected_bytes, uses
from starloom.process.settings import FILE_NAME, Settings, SettingsInvalid, load
from starloom_protocol.api.models import ModelState
from starloom_protocol.text.wording import counted
from starloom_protocol.vocabulary import Code

STAGES: Final = {
    ModelRole.PLANNER: Stage.PLANNING,
    ModelRole.REVIEWER: Stage.REVIEWING,
    ModelRole.WRITER: Stage.ANSWERING,
    ModelRole.JUDGE: Stage.JUDGING,
    ModelRole.WORKER: Stage.WORKING,
    ModelRole.SMALL: Stage.TIERED,
}
BYTES_A_TOKEN: Final = 3
"""The estimate for prompts that no endpoint has counted yet; rather too few bytes than too many."""
_SAME_PLACE: Final = (
    f"To try the hub's model, type this where the hub was started, or keep its lines in {FILE_NAME} of its data folder"
)
_FIX: Final = "Use another or a larger model for this, or a recipe, rows or a plan of your own, which need none."


@dataclass
class Used:
    """The usage of the calls so far; money in millionths of a dollar."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    micros: int = 0
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """Return it for JSON, money in dollars."""
        return {
            "calls": self.calls,
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
            "dollars": self.micros / MICROS,
            "seconds": round(self.seconds, 1),
        }

    def since(self, earlier: Used) -> Used:
        """Return what came after an earlier state."""
        return Used(*(getattr(self, name) - getattr(earlier, name) for name in self.__dataclass_fields__))


@dataclass
class Report:
    """The result of a trial: a finding for each request, and what each model can be used for."""

    findings: list[Finding] = field(default_factory=list)
    uses: list[str] = field(default_factory=list)
    costs: list[Used] = field(default_factory=list)
    used: Used = field(default_factory=Used)
    price_known: bool = True

    @property
    def good(self) -> bool:
        """Whether every request was answered as expected."""
        return all(finding.good for finding in self.findings)

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        costs = [cost.document() for cost in self.costs] + [{}] * (len(self.findings) - len(self.costs))
        rows = zip(self.findings, costs, strict=True)
        items = [{**finding.document(), **cost} for finding, cost in rows]
        return {"items": items, "uses": self.uses, "used": {**self.used.document(), "price_known": self.price_known}}

    def lines(self) -> list[str]:
        """Return what it comes to, in words."""
        if not self.used.calls:
            return []
        used = self.used
        money = f"{used.micros / MICROS:.4f} dollars" if self.price_known else "at a price that is not known here"
        total = (
            f"Together: {used.calls} calls, {used.input_tokens:,} tokens read ({used.cached_tokens:,} of them from "
            f"the cache) and {used.output_tokens:,} written, {money}, "
            f"{used.seconds / used.calls:.1f} s a call."
        )
        return ["It can be used for", *(f"  {use}" for use in self.uses), total]


class _CountedModel:
    """A model whose calls are counted and timed, and refused beyond the most of a trial."""

    def __init__(self, model: Model, cost: Used) -> None:
        self._model = model
        self._cost = cost
        self._answered = False
        self.broken: ModelFault | None = None
        """Why its endpoint gives no reply: it is away or has never given one. No question follows."""

    async def ask(self, instructions: str, turns: Sequence[Turn], stage: Stage = Stage.PLANNING) -> Reply:
        if self._cost.calls >= CALLS_MOST:
            raise ModelFault(Code.MODEL_BUDGET, f"the trial has made its {CALLS_MOST} calls")
        self._cost.calls += 1
        began_s = time.monotonic()
        try:
            reply = await self._model.ask(instructions, turns, stage)
        except ToolsRefused:
            raise
        except ModelFault as fault:
            if isinstance(fault, ModelAway) or not self._answered:
                self.broken = fault
            raise
        finally:
            self._cost.seconds += time.monotonic() - began_s
        self._answered = True
        self._cost.input_tokens += reply.input_tokens
        self._cost.cached_tokens += reply.cached_tokens
        self._cost.output_tokens += reply.output_tokens
        self._cost.micros += reply.micros
        return reply


def examine_model(
    home: Path | None, tell: Callable[[str], None], show: Callable[[str], None], hub: ModelState | None = None
) -> Report:
    """Try the models that are set here; `tell` gets the costs before the first call, `show` each finding as it comes.

    `hub` is what the hub says of its own model: another one is named, since a variable of this terminal, or of the one
    in which the hub was started, is not known to the other.
    """
    try:
        settings = load({"home": home} if home is not None else {}).settings
    except SettingsInvalid as invalid:
        return _report_of(Finding("settings", False, str(invalid), "Correct the named variable or line."), show)
    try:
        endpoints = endpoints_of(settings)
        if not endpoints:
            return _report_of(_none_set(hub), show)
        for line in [*of_another_hub(hub, endpoints[Stage.PLANNING]), *announced(endpoints)]:
            tell(line)
        models = {endpoint: connect(endpoint) for endpoint in set(endpoints.values())}
    except ModelFault as error:
        return _report_of(Finding("model", False, error.fault.reason, error.fault.hint or ""), show)
    return asyncio.run(_run(endpoints, models, show))


def endpoints_of(settings: Settings) -> dict[Stage, Endpoint]:
    """Return the endpoint of each stage; none if no model is set, and none for a small model that is no other.

    Raises:
        ModelFault: the settings of one are wrong.
    """
    values = in_force(settings.llm_variables, settings.model_folder)
    roles = [role for role in STAGES if role is not ModelRole.SMALL or role in tiers_from(values)]
    endpoints = {STAGES[role]: endpoint_from(values, role) for role in roles}
    endpoints[Stage.CHOOSING] = endpoints[Stage.JUDGING]
    return {stage: endpoint for stage, endpoint in endpoints.items() if endpoint is not None}


def _none_set(hub: ModelState | None) -> Finding:
    if hub is not None and hub["set"]:
        words = f"none is set in this terminal; the hub uses {hub['model']} at {hub['host']}"
        return Finding("model", False, words, f"{_SAME_PLACE}.")
    fix = "Set STARLOOM_LLM_URL and STARLOOM_LLM_MODEL, or Settings > Model (docs/models.md)."
    return Finding("model", False, "none is set", fix)


def of_another_hub(hub: ModelState | None, planner: Endpoint) -> list[str]:
    """Return a warning where the hub that answers here uses another model than the one that is tried."""
    if hub is None or (hub["set"] and (hub["model"], hub["host"]) == (planner.model, planner.host)):
        return []
    its = f"uses {hub['model']} at {hub['host']}" if hub["set"] else "has no model"
    words = f"The hub {its}; this terminal's settings name {planner.model} at {planner.host}, which is tried now"
    return [f"{words}. {_SAME_PLACE}."]


def announced(endpoints: Mapping[Stage, Endpoint]) -> list[str]:
    """Return what a trial asks, whom, and what it will cost.

    Raises:
        ModelFault: the libraries for a model are not installed.
    """
    sizes = expected_bytes()
    count = sum(len(sizes[stage]) for stage in endpoints)
    lines = [f"This asks {count} questions about three imaginary devices. Nothing about yours leaves this machine."]
    for endpoint in dict.fromkeys(endpoints.values()):
        stages = [stage for stage, used in endpoints.items() if used == endpoint]
        prompts = [size // BYTES_A_TOKEN for stage in stages for size in sizes[stage]]
        output = ANSWER_TOKENS * len(prompts)
        roles = ", ".join(role for role, stage in STAGES.items() if stage in stages)
        lines.append(
            f"{endpoint.model} at {endpoint.host} ({roles}): about {sum(prompts) + output:,} tokens in {len(prompts)} "
            f"calls, {price_words(endpoint, sum(prompts), output)}"
        )
    lines.append(f"Answers with faults are asked for again, {CALLS_MOST} calls at most. The hub's budget counts none.")
    return lines


async def _run(
    endpoints: Mapping[Stage, Endpoint], models: Mapping[Endpoint, Model], show: Callable[[str], None]
) -> Report:
    report = Report()
    trial_models = {endpoint: _CountedModel(model, report.used) for endpoint, model in models.items()}
    outcomes: list[Outcome] = []
    for stage, trial in all_trials():
        if stage not in endpoints:
            continue
        model = trial_models[endpoints[stage]]
        earlier = Used(**vars(report.used))
        if model.broken is not None:
            continue
        outcome = await trial(model)
        outcomes.append(outcome)
        cost = report.used.since(earlier)
        report.costs.append(cost)
        several = len(models) > 1
        subject = f"{outcome.name} ({endpoints[stage].model})" if several else outcome.name
        _add(report, replace(_finding(outcome, cost, model.broken), subject=subject), show)
    broken = [endpoint for endpoint, model in trial_models.items() if model.broken is not None]
    complete = [item for item in outcomes if endpoints[item.stage] not in broken]
    report.uses = list(uses(complete).values())
    report.price_known = all(price_of(endpoint, 1000, 1000) is not None for endpoint in models)
    return report


def _finding(outcome: Outcome, cost: Used, broken: ModelFault | None) -> Finding:
    spent = f"{counted(cost.calls, 'call')}, {cost.input_tokens + cost.output_tokens:,} tokens"
    spent += f", {cost.seconds:.1f} s"
    words = f"as expected ({spent})" if outcome.passed else f"{outcome.missing} ({spent})"
    if broken is None:
        return Finding(outcome.name, outcome.passed, words, _FIX)
    words = f"{broken.fault.reason} ({spent}). This says nothing about the model; no other question was asked"
    return Finding(outcome.name, False, words, broken.fault.hint or "")


def _report_of(finding: Finding, show: Callable[[str], None]) -> Report:
    report = Report()
    _add(report, finding, show)
    return report


def _add(report: Report, finding: Finding, show: Callable[[str], None]) -> None:
    report.findings.append(finding)
    show(finding.line())
