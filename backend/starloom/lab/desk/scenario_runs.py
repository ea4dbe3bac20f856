"""Runs of scenarios from the page: each is a process `starloom chaos run`, one at a time, within bounds.

The process makes an installation of its own and ends it. This module keeps its story as it comes and its verdict, in
memory alone, for the latest `RUNS_KEPT` runs; they are lost with this process.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from starloom.process.ending import end_process
from starloom.process.signals import ends_with_parent
from starloom_protocol.api.lab import FaultTime, RunRow, RunState, ScenarioFault, ScenarioRow, StoryRow
from starloom_protocol.plan.scenario import FaultDoc, Scenario, read_scenario

RUNS_KEPT: Final = 20
LINES_MOST: Final = 1_000
SAID_MOST: Final = 20
LINE_BYTES_MAX: Final = 1024 * 1024
START_S: Final = 420.0
SPARE_S: Final = 60.0
STOP_S: Final = 30.0
CLOSE_S: Final = 4.0


@dataclass
class Run:
    """One run. State: starting, running, then met, not_met, stopped or failed."""

    id: str
    scenario: str
    seed: int
    began_at: str | None
    within_s: float
    state: RunState = "starting"
    ended_at: str | None = None
    lines: list[StoryRow] = field(default_factory=list)
    said: deque[str] = field(default_factory=lambda: deque(maxlen=SAID_MOST))
    report: dict[str, Any] | None = None
    why: str = ""
    process: asyncio.subprocess.Process | None = None
    stopping: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event)

    def document(self) -> RunRow:
        """Return the run as a JSON value; after the final report, its story is in the order of its times."""
        report = self.report or {}
        return {
            "id": self.id,
            "scenario": self.scenario,
            "seed": self.seed,
            "state": self.state,
            "began_at": self.began_at,
            "ended_at": self.ended_at,
            "story": report.get("story", self.lines),
            "said": list(self.said),
            "why": self.why,
            "misses": report.get("misses", []),
            "effects": report.get("effects", {}),
            "took_s": report.get("took_s"),
            "end": report.get("state"),
        }


class ScenarioRuns:
    """The scenarios of a folder and their runs.

    `now` returns the time as the API writes it. `command` starts a run; its arguments follow.
    """

    def __init__(self, folder: Path, now: Callable[[], str | None], command: Sequence[str] | None = None) -> None:
        self._folder = folder
        self._now = now
        self._command = tuple(command or (sys.executable, "-P", "-m", "starloom.cli", "chaos", "run", "--live"))
        self._read: dict[str, Scenario] | None = None
        self._runs: dict[str, Run] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.heard: list[Callable[[], None]] = []
        """Called whenever a run has changed."""

    async def scenarios(self) -> list[ScenarioRow]:
        """Return every scenario of the folder, with its latest run."""
        readable = await self._scenarios()
        latest = {run.scenario: run for run in self._runs.values()}
        return [_row(name, scenario, latest.get(name)) for name, scenario in readable.items()]

    async def _scenarios(self) -> dict[str, Scenario]:
        """Read the scenarios once: they belong to the installation."""
        if self._read is None:
            self._read = await asyncio.to_thread(_read_all, self._folder)
        return self._read

    async def start(self, scenario: str, seed: int | None) -> RunRow:
        """Start a run and return it.

        Raises:
            KeyError: there is no such scenario.
            RuntimeError: another run has not ended.
        """
        read = (await self._scenarios())[scenario]
        busy = next((run for run in self._runs.values() if not run.done.is_set()), None)
        if busy is not None:
            raise RuntimeError(f"{busy.scenario} is running already")
        path = self._folder / f"{scenario}.yaml"
        seed_chosen = read.seed if seed is None else seed
        within_s = START_S + read.expect.within_s + sum(fault.for_s for fault in read.faults) + SPARE_S
        run = Run(uuid.uuid4().hex[:12], scenario, seed_chosen, self._now(), within_s)
        self._runs[run.id] = run
        for old in list(self._runs)[:-RUNS_KEPT]:
            del self._runs[old]
        task = asyncio.create_task(self._carry(run, path), name=f"scenario {scenario}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._say()
        return run.document()

    def run(self, scenario: str, run: str) -> RunRow:
        """Return a run.

        Raises:
            KeyError: there is no such run.
        """
        return self._find(scenario, run).document()

    async def stop(self, scenario: str, run: str) -> RunRow:
        """End a run that is still going.

        Raises:
            KeyError: there is no such run.
        """
        found_run = self._find(scenario, run)
        found_run.stopping = found_run.stopping or not found_run.done.is_set()
        await _end(found_run, STOP_S)
        await found_run.done.wait()
        return found_run.document()

    async def close(self) -> None:
        """End the run that is still going, if there is one."""
        for run in self._runs.values():
            run.stopping = run.stopping or not run.done.is_set()
            await _end(run, CLOSE_S)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _find(self, scenario: str, run: str) -> Run:
        candidate = self._runs[run]
        if candidate.scenario != scenario:
            raise KeyError(run)
        return candidate

    async def _carry(self, run: Run, path: Path) -> None:
        code = -1
        try:
            run.process = await asyncio.create_subprocess_exec(
                *(*self._command, str(path), "--seed", str(run.seed)),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LINE_BYTES_MAX,
                env={name: value for name, value in os.environ.items() if not name.startswith("STARLOOM_")},
                start_new_session=True,
                preexec_fn=ends_with_parent(),
            )
            if run.stopping:
                run.process.terminate()
            try:
                async with asyncio.timeout(run.within_s):
                    code = await self._follow(run, run.process)
            except TimeoutError:
                run.why = f"it did not end within {run.within_s:g} s"
                await _end(run, STOP_S)
        except (OSError, ValueError) as error:
            run.why = f"it could not be carried out: {error}"
            await _end(run, STOP_S)
        finally:
            self._judge(run, code)

    async def _follow(self, run: Run, process: asyncio.subprocess.Process) -> int:
        if process.stdout is None or process.stderr is None:
            raise ValueError("the run says nothing by a pipe")
        await asyncio.gather(_read_story(run, process.stdout, self._say), _read_said(run, process.stderr))
        return await process.wait()

    def _judge(self, run: Run, code: int) -> None:
        run.ended_at = self._now()
        if run.report is not None and not run.why:
            run.state = "met" if run.report["met"] else "not_met"
        elif run.stopping and not run.why:
            run.state = "stopped"
        else:
            run.state = "failed"
            run.why = run.why or f"it ended with exit code {code} and no verdict"
        run.process = None
        run.done.set()
        self._say()

    def _say(self) -> None:
        for hear in self.heard:
            hear()


def _read_all(folder: Path) -> dict[str, Scenario]:
    read = {path.stem: read_scenario(path.read_bytes()).scenario for path in sorted(folder.glob("*.yaml"))}
    return {name: scenario for name, scenario in read.items() if scenario is not None}


async def _read_story(run: Run, stream: asyncio.StreamReader, say: Callable[[], None]) -> None:
    async for raw in stream:
        try:
            line = json.loads(raw)
        except ValueError:
            run.said.append(raw.decode(errors="replace").rstrip())
            continue
        match line:
            case {"told": dict(report)}:
                run.report = report
            case {"line": {"at_s": float(at_s), "kind": str(kind), "text": str(text)}} if len(run.lines) < LINES_MOST:
                run.state = "running"
                run.lines.append({"at_s": at_s, "kind": kind, "text": text})
                say()


async def _read_said(run: Run, stream: asyncio.StreamReader) -> None:
    async for raw in stream:
        run.said.append(raw.decode(errors="replace").rstrip()[:500])


async def _end(run: Run, within_s: float) -> None:
    """Ask a run's process to end, which ends its installation first; by force if it does not."""
    process = run.process
    if process is None or process.returncode is not None:
        return
    await end_process(process, within_s)


def _row(name: str, scenario: Scenario, latest: Run | None) -> ScenarioRow:
    expect = scenario.expect
    return {
        "name": name,
        "title": scenario.name,
        "about": scenario.about,
        "seed": scenario.seed,
        "devices": scenario.devices,
        "faults": [_fault(fault) for fault in scenario.faults],
        "expect": {"state": expect.state, "within_s": expect.within_s},
        "latest": None if latest is None else {"id": latest.id, "state": latest.state, "ended_at": latest.ended_at},
    }


def _fault(fault: FaultDoc) -> ScenarioFault:
    return {
        "target": fault.target,
        "kind": fault.kind,
        "device": fault.device,
        "for_s": fault.for_s,
        "at": cast("FaultTime", fault.at.model_dump(exclude_none=True)),
    }
