"""The finished objects that the edge works with, made and handed over by `starloom.app`. No behaviour of its own.

`Planner` is the edge's port to recipes, matching and previews. Its calls are pure and quick, because a page asks for a
preview while a person types.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from starloom.core.placement.queue_position import Held, Position
from starloom.edge.access.callers import AccessView, Tickets
from starloom.edge.access.rate_limits import Limits
from starloom.edge.access.refusals import Refusals
from starloom.edge.access.vault import Vault
from starloom.edge.agents.attempt_logs import LogWriter
from starloom.edge.agents.hub_keys import HubKey
from starloom.edge.agents.links import Links
from starloom.edge.agents.vital_lines import VitalLines
from starloom.edge.listeners.connections import Places
from starloom.edge.listeners.local_network import Lan, NoLan
from starloom.edge.live.endpoint import next_frame
from starloom.edge.live.fanout import Fanout
from starloom.edge.live.views import AtWork, FleetView, Headlines, QuestionsView, StopRules
from starloom.edge.peers.neighbours import Ownership
from starloom.edge.web.computing import Computing
from starloom.edge.web.hub_seals import HubSeals
from starloom.edge.web.shield import Reach
from starloom.engine.orders.secrets import DispatchedSecrets
from starloom.engine.ports import Inbox
from starloom.planner.context.assembly import PromptPart
from starloom.planner.context.brief import Brief
from starloom.planner.forecast.plans import Change
from starloom.planner.forecast.runs import RunAsked
from starloom.planner.requests.matching import Matched
from starloom.process.program import NAME
from starloom.process.settings import Settings
from starloom.store.blobs.artifacts import Blobs
from starloom.store.blobs.logs import AttemptLogs
from starloom.store.port import ReadPort
from starloom_protocol.api.lab import FaultMeeting, RunRow, ScenarioRow
from starloom_protocol.api.previews import PlanPreview, RunWhatIf, WhatIf
from starloom_protocol.api.recipes import ExampleTried, ProposalRow, RecipeRow, RecipeWhole, RunsRow
from starloom_protocol.plan import PlanCheck, Recipe
from starloom_protocol.records.approvals import Call
from starloom_protocol.records.edits import EditOperation, LoweredPlan
from starloom_protocol.records.entities import Dependency, Fault, RecipeProposal, RecipeVersion, RuleRecord, TaskSpec
from starloom_protocol.records.lab import LabFault
from starloom_protocol.records.specs import Approved
from starloom_protocol.vocabulary import Sharing


class Planner(Protocol):
    """Recipes and matching, on the fleet as it is now."""

    def still(self) -> Planner:
        """Return a planner that stays on the fleet and recipes of now, for work in a thread while entities change."""
        ...

    def understand(self, words: str, params: Mapping[str, Any], by: str, *, shown: bool = False) -> Matched: ...

    def refused(self, matched: Matched) -> Fault: ...

    def examples(self, matched: Matched) -> tuple[str, ...]: ...

    def plan_recipe(self, name: str, params: Mapping[str, Any]) -> PlanCheck: ...

    def preview(
        self, plan: LoweredPlan, *, words: bool, by: str, approves: bool = True, micros: int = 0
    ) -> PlanPreview: ...

    def unable(self, plan: LoweredPlan) -> list[Fault]: ...

    def unfit(
        self, operations: Iterable[EditOperation], tasks: Mapping[str, TaskSpec], *, able: bool = True
    ) -> list[Fault]: ...

    def changing_calls(
        self, specs: Sequence[TaskSpec], rules: Iterable[RuleRecord], approved: Approved | None = None
    ) -> list[Call]: ...

    def ungranted(self, specs: Sequence[TaskSpec], dependencies: Iterable[Dependency]) -> list[str]: ...

    def run_forecast(self, request: RunAsked) -> Callable[[], RunWhatIf]: ...

    def what_if(self, plan: LoweredPlan, change: Change, *, words: str, within_ms: int | None) -> WhatIf: ...

    def brief(self, words: str, today: str = "") -> Brief: ...

    def prompt(self, words: str, today: str) -> list[PromptPart]: ...

    def first_prompt(
        self, words: str, params: Mapping[str, Any], *, by: str, before: Sequence[str], today: str, sharing: Sharing
    ) -> list[PromptPart]: ...

    def recipes(self) -> list[RecipeRow]: ...

    def tried(self, recipe: Recipe) -> list[ExampleTried]: ...

    def phrases_taken(self, recipe: Recipe) -> list[Fault]: ...

    def recipe(self, name: str) -> RecipeWhole | None: ...

    def version(self, saved: RecipeVersion) -> RecipeWhole | None: ...

    def proposal(self, proposal: RecipeProposal) -> ProposalRow | None: ...

    def runs(self, version: RecipeVersion) -> RunsRow: ...


class LabDesk(Protocol):
    """The lab's own programs: what became of a fault, and scenarios that run in installations of their own.

    Runs are documents; an unknown scenario or run is a `KeyError`, a second run at once a `RuntimeError`.
    """

    heard: list[Callable[[], None]]
    """Called whenever a run of a scenario has changed."""

    async def report(self, fault: LabFault, names: Mapping[str, str], now_ms: int) -> list[FaultMeeting]: ...

    async def scenarios(self) -> list[ScenarioRow]: ...

    async def start(self, scenario: str, seed: int | None) -> RunRow: ...

    def run(self, scenario: str, run: str) -> RunRow: ...

    async def stop(self, scenario: str, run: str) -> RunRow: ...


@dataclass(frozen=True, slots=True)
class Hub:
    """The objects of one hub process, as routes and sockets use them; None for a part that this hub does without."""

    access: AccessView
    artifacts: Blobs
    at_work: AtWork
    attempt_logs: AttemptLogs
    fanout: Fanout
    fleet: FleetView
    headlines: Headlines
    inbox: Inbox
    key: HubKey
    limits: Limits
    links: Links
    logs: LogWriter
    monotonic_s: Callable[[], float]
    now_ms: Callable[[], int]
    planner: Planner
    position: Callable[[str, str], Position | None]
    held_by_others: Callable[[str], list[Held]]
    questions: QuestionsView
    reach: Reach
    reads: ReadPort
    ready: Callable[[], list[str]]
    received: Callable[[str], int]
    settings: Settings
    stop_rules: StopRules
    tickets: Tickets
    vault: Vault
    vitals: VitalLines
    computing: Computing = field(default_factory=Computing)
    drawn: Callable[[], Awaitable[None]] = next_frame
    dispatched_secrets: DispatchedSecrets = field(default_factory=DispatchedSecrets)
    history: str = ""
    lab: LabDesk | None = None
    lan: Lan = field(default_factory=NoLan)
    seals: HubSeals | None = None
    places: Places = field(default_factory=Places)
    ownership: Ownership | None = None
    program: str = NAME
    """As an owner types it, with the folders of the hub's computer."""
    program_here: str = NAME
    """As anybody on that computer may read it, without them."""
    refusals: Refusals = field(default_factory=Refusals)
