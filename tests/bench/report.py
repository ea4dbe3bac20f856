"""The readable report, which is printed, and the rows that `docs/benchmarks.md` keeps of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.figures import GOALS, Measured, best_half, median, of_runs
from tests.bench.profile import Profile

_ABOUT = """# Benchmarks

`make bench` measures this, in one run on one machine, the parts one after the other in each of {rounds} rounds;
each figure, of every side alike, is the median of the better half of its runs, because the machine is shared and other
work only ever makes a run worse. Ratios are what counts. Before each run, of Starloom, echo and Dask alike,
the bench waits for a quiet moment ({patience_s:g} s in all), and the table says how many CPUs' worth of work other
processes did during those of Starloom. No figure here is asserted by a test.

- Measured by `{command}`, seed {seed}. {when}.
- Machine: {machine}. Load at the start {load}.
- Starloom: a hub (`python -m starloom.app`, embedded Redis, SQLite), {agents} agents as processes with {slots} slots
  each, tool `lab.echo` in the agent's process, one client with a live socket. Time is from the client's
  submit (plan as JSON over REST, checked, installed, durable in SQL) until its live socket shows the end.
- Every task is committed to Redis before it is dispatched, and again before what waits for it is.
- The client asks by HTTP/1.1 of its own (`tests/bench/requests.py`): a request by httpx takes 1.0 to 1.3 ms of CPU
  here, twice what the hub takes to answer it, on the same two CPUs.
- The hub tells a page together what happened within a frame of the screen (16 ms). A hop is the time between two such
  messages, shared by the ends of tasks in the later one (messages that came at once, because the client read late,
  count as one); the median over tasks.
- CPU a task is that of the hub process alone, all threads, from submit until the SQL history has everything.
- Echo: FastAPI, uvicorn, uvloop, websockets-sansio; 500 bytes; {connections} connections, one with one outstanding
  message for the round trip: from a bare protocol and the next one at once, so that both are hot. The kernel places
  its ends: that is the yardstick as first defined, and `w2_hop_vs_echo_rtt` is judged by it. Mostly both share a CPU
  then, and no message wakes one; a hub and a device have a CPU each, so a second yardstick keeps the ends apart
  (`_two_cpus`) and a third keeps them together (`_one_cpu`). All three are judged. Not judged: with an agent's line (on
  `websockets`) at the other end, and with a millisecond between messages, because in a chain of tasks each process
  sleeps while the others work.
- Dask: `distributed`, {workers} worker processes of one thread, the same graphs, from `get` until the client has the
  result; it keeps nothing on disk. Dask has no W4.
- W3: each task waits for two of the layer above. W4: W3 and an edit by REST every 50 completions, which adds a task
  behind one of the last layer, so W4 has a layer more than W3. A run in which too many edits came after its end is
  repeated, and the table says how often.
- W5: 1,000 calls each of `data.sort`, `fs.stat` and `fs.read`, independent of each other, on 4 devices of 4 slots. Each
  tool has processes, folders and limits of its own, in which its calls follow each other; all are confined. Dask
  (8 processes) and Celery (prefork, 8 processes, an own Redis as broker and for results) call the same code of the tool
  in their workers, without any of this. Time is from submit until the client has the last result.
- `never`: work that must not be repeated waits for SQL before its dispatch, and for the agent's ledger (fsync).
"""


@dataclass(frozen=True, slots=True)
class Setting:
    """What was run, where and when."""

    command: str
    seed: int
    rounds: int
    when: str
    machine: str
    load: str
    agents: int
    slots: int
    connections: int
    workers: int
    patience_s: float


def markdown(setting: Setting, measured: Measured, figures: dict[str, float], profile: Profile, profiled: str) -> str:
    """Return the whole report."""
    parts = [
        _ABOUT.format(**{name: getattr(setting, name) for name in setting.__dataclass_fields__}),
        "## Must and aim\n\n" + _goals(figures),
        "## Workloads\n\n" + workloads_table(measured),
        "## Real tools\n\n" + measured.real.table(),
        "## Yardsticks\n\n" + _yardsticks(measured, figures),
        "## What limits it\n\n" + profile_text(profile, f"while it ran {profiled}"),
    ]
    return "\n".join(parts)


PAGE_HEAD = """# Benchmarks

One table: a figure, its bound, the command that measures it, and where it was measured last. `make bench` writes its
own rows and prints the whole report with its yardsticks and a profile; the other rows are written by hand after their
command, on a machine like it unless they say more. Ratios count: figures differ more between machines than between
versions. Bold figures miss their bound. No test asserts one. Machine of `make bench`: {machine}.

W1: 1,000 independent tasks. W2: a chain of 200. W3: 20 layers of 50, each task after two. W4: W3 with an edit by REST
every 50 completions, each a task behind the last layer, so one layer more. W5: calls of real tools, each confined to
its folders in a process of its tool alone. *never*: work that must not be repeated, so SQL and the ledger are waited
for. Time is from the client's submit to the end on its live socket; CPU is that of the hub process alone. *Echo* is 500
bytes over the hub's socket stack. Each figure of `make bench` is the median of the better half of its runs.

"""
PAGE_COLUMNS = ("figure", "measured", "must", "aim", "command", "measured on")
COMMAND = "make bench"
OTHER_RUNS = "the same in other runs"
"""How the row of `make bench` begins that is written by hand."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the page."""

    figure: str
    measured: str
    must: str
    aim: str
    command: str
    where: str

    def line(self) -> str:
        shown = (self.figure, self.measured, self.must, self.aim, f"`{self.command}`", self.where)
        return "| " + " | ".join(shown) + " |"


def page_rows(setting: Setting, measured: Measured, figures: dict[str, float], profile: Profile) -> list[Row]:
    """Return the rows of `make bench`: figures with a bound, then each workload, real tools, memory and the profile."""
    where = f"{setting.when}, load {setting.load.split()[0]}"
    found = []
    for goal in GOALS:
        value, sign = figures[goal.key], ">=" if goal.least else "<="
        told = f"**{value:g}**" if goal.verdict(value) == "MISSED" else f"{value:g}"
        found.append(Row(goal.text, told, f"{sign} {goal.must:g}", f"{sign} {goal.aim:g}", COMMAND, where))
    for name, runs in measured.runs.items():
        speed = of_runs(runs, lambda run: run.tasks_s, high=True)
        hub_us = of_runs(runs, lambda run: run.hub_us)
        peer = measured.dask.get(name)
        beside = f"; Dask {best_half(peer, high=True):,.0f}/s" if peer else ""
        told = f"{speed:,.0f} tasks/s, hub {hub_us:.0f} us of CPU a task{beside}"
        found.append(Row(f"{name}, {runs[0].tasks:,} tasks", told, "", "", COMMAND, where))
    for tool in measured.real.seconds.get("Starloom", {}):
        told = ", ".join(f"{side} {measured.real.ms(side, tool):.2f}" for side in measured.real.seconds)
        found.append(Row(f"W5 `{tool}`, ms a call", told, "", "", COMMAND, where))
    memory = f"hub {measured.hub_rss_bytes / 2**20:.0f} MiB after all runs, agent {figures['agent_rss_mb']:g} MiB"
    memory += f", one more idle agent {figures['kib_per_idle_agent']:g} KiB of the hub"
    found.append(Row("memory", memory, "", "", COMMAND, where))
    limits = ", ".join(f"{part} {share:.0f} %" for part, share in profile.parts if share >= 1)
    found.append(Row("what limits W3: the hub's loop under a profiler", limits, "", "", COMMAND, where))
    return found


def page(before: str, machine: str, rows: list[Row]) -> str:
    """Return the page with new rows of `make bench`, and the rows of all other commands as they were."""
    table = [line for line in before.splitlines() if line.startswith("| ")][1:]
    others = [line for line in table if f"`{COMMAND}`" not in line or line.startswith(f"| {OTHER_RUNS}")]
    head = ["| " + " | ".join(PAGE_COLUMNS) + " |", "|---|---:|---:|---:|---|---|"]
    return PAGE_HEAD.format(machine=machine) + "\n".join([*head, *(row.line() for row in rows), *others]) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _goals(figures: dict[str, float]) -> str:
    rows = []
    for goal in GOALS:
        sign = ">=" if goal.least else "<="
        value = figures[goal.key]
        rows.append([goal.text, f"{value:g}", f"{sign} {goal.must:g}", f"{sign} {goal.aim:g}", goal.verdict(value)])
    table = _table(["figure", "measured", "must", "aim", "reached"], rows)
    return table + "\nIn words:\n\n" + "".join(f"- {goal.sentence(figures[goal.key])}\n" for goal in GOALS)


def workloads_table(measured: Measured) -> str:
    """Return what was run, with its medians."""
    rows = []
    for name, runs in measured.runs.items():
        peer = measured.dask.get(name)
        speed = of_runs(runs, lambda run: run.tasks_s, high=True)
        peer_speed = best_half(peer, high=True) if peer else 0.0
        rows.append(
            [
                name,
                f"{runs[0].tasks:,}",
                _counted(len(runs), measured.repeated.get(name, 0)),
                f"{of_runs(runs, lambda run: run.wall_s):.3f}",
                f"{of_runs(runs, lambda run: run.accept_s):.3f}",
                f"{speed:,.0f}",
                f"{peer_speed:,.0f}" if peer else "-",
                f"{speed / peer_speed:.1f}x" if peer else "-",
                f"{of_runs(runs, lambda run: run.hub_us):.0f}",
                f"{of_runs(runs, lambda run: run.redis_us):.0f}",
                f"{of_runs(runs, lambda run: run.agents_us):.0f}",
                f"{of_runs(runs, lambda run: run.hop_p50_ms):.2f}" if name.startswith("W2") else "-",
                f"{median(run.others_busy for run in runs):.2f}",
            ]
        )
    head = ["workload", "tasks", "runs", "wall s", "of it accepting s", "tasks/s", "Dask tasks/s", "ratio"]
    return _table([*head, "hub CPU us/task", "Redis us", "agents us", "hop p50 ms", "CPUs taken by others"], rows)


def _counted(runs: int, repeated: int) -> str:
    return f"{runs}, {repeated} repeated" if repeated else str(runs)


def _yardsticks(measured: Measured, figures: dict[str, float]) -> str:
    rows = [
        ["echo messages/s", f"{best_half((echo.messages_s for echo in measured.echo), high=True):,.0f}"],
        ["echo CPU us a message", f"{best_half(echo.cpu_us for echo in measured.echo):.1f}"],
        [
            "echo round trip p50 us, the kernel places its ends",
            f"{best_half(echo.rtt_p50_us for echo in measured.echo):.0f}",
        ],
        [
            "echo round trip p50 us, its ends on a CPU each",
            f"{best_half(echo.rtt_two_cpus_p50_us for echo in measured.echo):.0f}",
        ],
        [
            "echo round trip p50 us, both ends on one CPU",
            f"{best_half(echo.rtt_one_cpu_p50_us for echo in measured.echo):.0f}",
        ],
        [
            "echo round trip p50 us with the agent's line at the other end",
            f"{best_half(echo.rtt_agent_p50_us for echo in measured.echo):.0f}",
        ],
        [
            "echo round trip p50 us with a millisecond between messages",
            f"{best_half(echo.rtt_paced_p50_us for echo in measured.echo):.0f}",
        ],
        ["hub memory after all runs, MiB", f"{measured.hub_rss_bytes / 2**20:.0f}"],
        ["agent memory, MiB", f"{figures['agent_rss_mb']:g}"],
        ["hub memory for one more idle agent, KiB", f"{figures['kib_per_idle_agent']:g}"],
    ]
    return _table(["yardstick", "measured"], rows)


def profile_text(profile: Profile, profiled: str, each: str = "task") -> str:
    """Return a profile as two tables; its calls were told for `each` of something."""
    head = (
        f"The hub's loop under `cProfile` {profiled}; shares of its own time, which a profiler distorts "
        "towards code of many small calls. Work in other threads, as the check of a plan, is not among them.\n\n"
    )
    rooms = _table(["part", "share"], [[part, f"{share:.0f} %"] for part, share in profile.parts if share >= 0.5])
    functions = _table(
        ["function", "share", f"calls a {each}"],
        [[f"`{name}`", f"{share:.1f} %", f"{calls:.1f}"] for name, share, calls in profile.functions],
    )
    return head + rooms + "\n" + functions
