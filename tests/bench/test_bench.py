"""The pure parts of the bench: graphs that both sides can run, figures and verdicts that say what was measured."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from starloom.host.ports import free_port
from starloom_protocol.plan import check_plan
from starloom_protocol.plan.language.document import DOCUMENT_BYTES_MAX
from tests.arch.checkout import ROOT
from tests.bench import echo, machine
from tests.bench.echo import EchoFigures
from tests.bench.figures import GOALS, Measured, figures
from tests.bench.graphs import Graph, chain, fan, layers, plan
from tests.bench.hub_client import Conflict, Seen
from tests.bench.machine import on_cpus
from tests.bench.real_figures import RealTools
from tests.bench.report import PAGE_COLUMNS, Row, page, workloads_table
from tests.bench.tool_work import ARGUMENTS, furnish, work
from tests.bench.tool_work import plan as plan_of_calls
from tests.bench.workloads import Editor, Run, TooLate, hop_p50_ms

CANNOT_BE_PLACED = not hasattr(os, "sched_setaffinity")


def placed(pid: int) -> set[int]:
    """Return the CPUs that a process may run on, as far as the kernel tells."""
    return set() if CANNOT_BE_PLACED else os.sched_getaffinity(pid)


def ran(tasks: int, wall_s: float, hub_us: float, hop_p50_ms: float = 0.0) -> Run:
    return Run(
        tasks=tasks,
        wall_s=wall_s,
        accept_s=0.01,
        hub_us=hub_us,
        redis_us=20,
        agents_us=50,
        hop_p50_ms=hop_p50_ms,
        others_busy=0.0,
        resyncs=0,
    )


@pytest.mark.parametrize("graph", [fan(5), chain(7), layers(3, 4, seed=1)], ids=lambda graph: graph.name)
def test_a_plan_has_the_edges_of_its_graph(graph: Graph) -> None:
    checked = check_plan(plan(graph))
    assert checked.faults == []
    assert checked.plan is not None
    ids = [spec.id for spec in checked.plan.specs]
    edges = [(ids.index(item.source), ids.index(item.target)) for item in checked.plan.dependencies]
    assert sorted(edges) == sorted((parent, child) for child, above in enumerate(graph.parents) for parent in above)


def test_parents_come_first_so_that_there_is_no_cycle() -> None:
    for graph in (fan(1000), chain(200), layers(20, 50, seed=3)):
        assert all(parent < child for child, above in enumerate(graph.parents) for parent in above)
    assert (len(fan(1000)), len(chain(200)), len(layers(20, 50, seed=3))) == (1002, 200, 1000)


def test_a_seed_fixes_the_layers() -> None:
    assert layers(4, 6, seed=5) == layers(4, 6, seed=5)
    assert layers(4, 6, seed=5) != layers(4, 6, seed=6)


def test_ten_thousand_tasks_fit_into_one_document() -> None:
    document = plan(layers(200, 50, seed=1))
    assert len(json.dumps(document, separators=(",", ":"))) < DOCUMENT_BYTES_MAX


def hop_ms(*done_at: float) -> float:
    return hop_p50_ms(Seen(began=0.0, accepted=0.0, done_at=list(done_at)))


def test_ends_that_come_in_one_message_share_the_time_before_it() -> None:
    assert hop_ms(1.0, *[1.016] * 8, *[1.032] * 4, 1.048) == pytest.approx(2.0)
    assert hop_ms(1.0, 1.0) == 0.0


def test_messages_that_waited_for_the_client_are_not_taken_for_short_hops() -> None:
    assert hop_ms(1.0, *[1.064] * 16, *[1.0641] * 48, *[1.128] * 64) == pytest.approx(1.0, rel=0.01)


def test_figures_are_ratios_of_the_better_half() -> None:
    measured = Measured(
        echo=[
            EchoFigures(39_000, 20.0, 50.0, 95.0, 24.0, 150.0, 100.0),
            EchoFigures(41_000, 24.0, 70.0, 105.0, 26.0, 170.0, 140.0),
            EchoFigures(10_000, 90.0, 900.0, 950.0, 900.0, 990.0, 940.0),
        ],
        runs={
            "W1": [ran(1000, 0.25, 100.0), ran(1000, 0.25, 110.0), ran(1000, 1.0, 400.0)],
            "W2": [ran(200, 0.2, 500.0, hop_p50_ms=0.6)],
            "W3": [ran(1000, 0.25, 220.0)],
            "W4": [ran(1020, 0.3, 230.0)],
            "W3 10k": [ran(10_000, 3.0, 242.0)],
        },
        dask={"W1": [1000.0, 1000.0, 100.0]},
        agent_rss_bytes=[40 * 2**20, 44 * 2**20, 60 * 2**20],
        kib_per_idle_agent=32.0,
        real=RealTools(
            calls=1000,
            seconds={
                "Starloom": {"data.sort": [4.0, 9.0], "fs.stat": [6.0]},
                "Dask": {"data.sort": [1.0], "fs.stat": [1.5]},
                "Celery": {"data.sort": [2.0], "fs.stat": [3.0]},
            },
        ),
    )
    assert figures(measured) == {
        "w1_tasks_s": 4000,
        "w1_vs_dask": 4,
        "w1_vs_echo": 0.1,
        "cpu_per_task_vs_echo": 10,
        "w2_hop_p50_ms": 0.6,
        "w2_hop_vs_echo_rtt": 10,
        "w2_hop_vs_echo_rtt_two_cpus": 6,
        "w2_hop_vs_echo_rtt_one_cpu": 24,
        "w2_hop_vs_echo_rtt_agent": 5,
        "w2_hop_vs_echo_rtt_paced": 3.75,
        "cpu_10k_vs_1k": 1.1,
        "w4_vs_w3": 0.85,
        "kib_per_idle_agent": 32,
        "agent_rss_mb": 44,
        "w5_ms_per_call": 6,
        "w5_vs_dask": 0.25,
        "w5_vs_celery": 0.5,
    }
    assert "| `data.sort` | 4.00 | 1.00 | 2.00 |" in measured.real.table()


def test_the_ends_of_an_echo_are_kept_on_a_cpu_each_or_on_one_and_let_go_of() -> None:
    server = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        mine, its = placed(0), placed(server.pid)
        with on_cpus(server.pid, apart=True):
            assert len(placed(0)) == len(placed(server.pid)) == 1 or CANNOT_BE_PLACED
            assert placed(0) != placed(server.pid) or len(mine) == 1 or CANNOT_BE_PLACED
        with on_cpus(server.pid, apart=False):
            assert placed(0) == placed(server.pid)
            assert len(placed(0)) == 1 or CANNOT_BE_PLACED
        assert (placed(0), placed(server.pid)) == (mine, its)
    finally:
        server.communicate(b"\n")


def test_a_verdict_says_what_is_reached_and_what_is_not() -> None:
    said = {goal.key: [goal.verdict(value) for value in (goal.must, goal.aim)] for goal in GOALS}
    assert all(verdicts[1] == "aim" for verdicts in said.values())
    assert [said["w1_vs_dask"][0], said["w2_hop_vs_echo_rtt"][0]] == ["must", "must"]
    by_key = {goal.key: goal for goal in GOALS}
    assert by_key["w1_vs_dask"].verdict(3.99) == "MISSED"
    assert by_key["cpu_per_task_vs_echo"].verdict(8.01) == "MISSED"


def test_the_hop_is_judged_by_each_yardstick_in_words() -> None:
    """The key without an ending keeps the meaning that it was given first: the kernel places the ends of the echo."""
    by_key = {goal.key: goal for goal in GOALS}
    assert by_key["w2_hop_vs_echo_rtt"].sentence(18.4) == (
        "W2 hop p50 over echo round trip, the kernel places its ends: 18.4 MISSES the must of at most 10 "
        "(`w2_hop_vs_echo_rtt`)."
    )
    assert by_key["w2_hop_vs_echo_rtt_two_cpus"].sentence(6.28) == (
        "W2 hop p50 over echo round trip, its ends on a CPU each: 6.28 holds the must of at most 10 and misses the aim "
        "of 6 (`w2_hop_vs_echo_rtt_two_cpus`)."
    )
    assert by_key["w1_vs_dask"].sentence(9).endswith("9 reaches the aim of at least 8 (`w1_vs_dask`).")


def placing(kept: list[tuple[str, str]], name: str, how: list[str]) -> Callable[..., Any]:
    async def measured(*_: Any, pause_s: float = 0.0) -> list[float]:
        kept.append((name + (" paced" if pause_s else ""), how[-1]))
        return [1.0]

    return measured


async def test_the_kernel_places_the_ends_of_the_first_yardstick(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[tuple[str, str]] = []
    how = ["the kernel"]

    @contextmanager
    def on_cpus(_: int, *, apart: bool) -> Iterator[None]:
        how.append("apart" if apart else "together")
        yield
        how.pop()

    monkeypatch.setattr(echo, "_trips", placing(kept, "trips", how))
    monkeypatch.setattr(echo, "_agent_trips", placing(kept, "agent", how))
    monkeypatch.setattr(machine, "on_cpus", on_cpus)
    monkeypatch.setattr(echo, "LOAD_S", 0.05)
    await echo.measure(free_port(), tmp_path)
    assert kept == [
        ("trips", "the kernel"),
        ("trips paced", "the kernel"),
        ("agent", "the kernel"),
        ("trips", "apart"),
        ("trips", "together"),
    ]


class Deaf:
    """A client whose every edit comes after the end."""

    async def post(self, path: str, body: object) -> None:
        raise Conflict(f"{path}: 409 illegal_control: the constellation is succeeded")


async def edits_until_too_late(editor: Editor, seen: Seen) -> None:
    for done in range(50, 1000, 50):
        seen.done = done
        edit = editor.completed("c", seen)
        assert edit is not None
        await edit


async def test_a_run_whose_edits_come_too_late_says_so_and_is_counted_in_the_report() -> None:
    editor = Editor(Deaf(), layers(20, 50, seed=1))  # type: ignore[arg-type]
    seen = Seen(began=0, accepted=0)
    with pytest.raises(TooLate, match="6 of 6 edits"):
        await edits_until_too_late(editor, seen)
    assert editor.added == 0
    measured = Measured(runs={"W4": [ran(1020, 0.3, 230.0)]}, repeated={"W4": 2})
    assert "| 1, 2 repeated |" in workloads_table(measured)


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_the_work_of_real_tools_is_done_by_workers_too(tool: str, tmp_path: Path) -> None:
    furnish(tmp_path / "folder")
    assert work(tool, str(tmp_path / "folder")) > 2
    assert check_plan(plan_of_calls(tool, 3)).faults == []


def test_the_page_keeps_the_rows_of_other_commands_and_replaces_its_own() -> None:
    old = Row("W1, times Dask", "3", ">= 4", ">= 8", "make bench", "then")
    other = Row("restart", "2.61 s", "< 5 s", "", "python -m tests.bench.restart", "then")
    before = page("", "a machine", [old, other])
    after = page(before, "another machine", [replace(old, measured="4.83", where="now")])
    assert before.count("\n| ") == after.count("\n| ") == 3
    assert "Machine of `make bench`: another machine." in after
    assert old.line() not in after
    assert other.line() in after


def test_the_kept_page_is_one_table_with_a_command_in_each_row() -> None:
    text = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert text.endswith("\n".join(lines) + "\n"), "the table is one, and the last"
    assert [line for line in lines if line.count(" | ") != len(PAGE_COLUMNS) - 1 and line != lines[1]] == []
    commands = [line.split(" | ")[4] for line in lines[2:]]
    assert [
        command for command in commands if not re.fullmatch(r"`(make|python|pytest|starloom) [^`]+`", command)
    ] == []
    modules = {word for command in commands for word in re.findall(r"-m (tests[\w.]+)", command)}
    places = [ROOT / name.replace(".", "/") for name in modules]
    assert [str(place) for place in places if not (place.is_dir() or place.with_suffix(".py").exists())] == []
    assert len(commands) > len(GOALS)
