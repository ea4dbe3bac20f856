"""The lab as the hub sees it: reports of faults, and runs of scenarios. Joins the two; breaks nothing."""

from __future__ import annotations

from collections.abc import Mapping

from starloom.lab.fault_report import Events, report
from starloom.lab.scenario_runs import ScenarioRuns
from starloom_protocol.api.lab import FaultMeeting
from starloom_protocol.records.lab import LabFault


class Desk:
    """The lab of one hub."""

    def __init__(self, log: Events, runs: ScenarioRuns) -> None:
        self._log = log
        self._runs = runs
        self.scenarios = runs.scenarios
        self.start = runs.start
        self.run = runs.run
        self.stop = runs.stop
        self.close = runs.close
        self.heard = runs.heard

    async def report(self, fault: LabFault, names: Mapping[str, str], now_ms: int) -> list[FaultMeeting]:
        """Return the report on the work that a fault affected."""
        return await report(self._log, fault, names, now_ms)
