"""`stop-all`: cancels everything, then waits and lists the devices that confirmed and those that are away.

Also what `cancel --of` cancels, all that one person asked for, and `cancel --on`, all that has work on one device.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.nearest import unknown
from starloom.client.exits import Exit
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_constellation,
    get_constellations,
    get_device,
    get_people,
    get_stop_all,
    post_constellation_cancel,
    post_stop_all,
)
from starloom.client.terminal.values import duration_s
from starloom_protocol.stream.authors import name_of
from starloom_protocol.text.wording import counted, few
from starloom_protocol.vocabulary import AT_WORK_TASK_STATES, FINAL_CONSTELLATION_STATES, Code, ConstellationState

if TYPE_CHECKING:
    from starloom_protocol.api.constellations import ConstellationRow, Stop, Stopped, StopRow

POLL_S = 0.5
OF_ONE_MOST = 1000
SCHEDULES_NAMED = 5
"""More lines than these would hide the devices that have not confirmed."""
GOING_ON = tuple(state for state in ConstellationState if state not in FINAL_CONSTELLATION_STATES)


def register(app: typer.Typer) -> None:
    hub_command(app, "stop-all")(stop_all)


def stop_all(
    run: Invocation,
    wait: Annotated[
        str, typer.Option("--wait", metavar="TIME", help="How long to wait for every device to confirm.")
    ] = "30s",
    reason: Annotated[str, typer.Option("--reason", help="Kept in the log.")] = "",
) -> None:
    """Cancel everything on all devices, and wait for their confirmations."""
    wait_s = duration_s(wait)
    stop = run.client.post(post_stop_all(), {"reason": reason} if reason else {})
    stopped = stop["constellations"]
    if not run.as_json and not stopped:
        print("Nothing runs.")
        _tell_schedules(stop)
        return
    if not run.as_json:
        print(f"Stopping {counted(len(stopped), 'constellation')}.")
    confirmations = confirmed(lambda: run.client.get(get_stop_all()), stop, wait_s)
    unconfirmed = [item for item in confirmations["devices"] if not item["confirmed_at"]]
    if run.as_json:
        run.emit({**confirmations, **{name: stop[name] for name in ("constellations", "left_out", "schedules")}})
    else:
        for item in confirmations["devices"]:
            print("  " + line_of(item))
        if not confirmations["devices"]:
            print("  No device had work.")
        _tell_schedules(stop)
    if unconfirmed:
        raise typer.Exit(Exit.ATTENTION)


def _tell_schedules(stop: Stopped) -> None:
    """Tell which firings were left out, and how the schedules that fire again are paused."""
    if stop["left_out"]:
        print(f"Left out: {counted(stop['left_out'], 'firing')} of schedules.")
    if names := stop["schedules"]:
        print(f"{counted(len(names), 'schedule')} will fire again. To pause {'it' if len(names) == 1 else 'them'}:")
        for name in names[:SCHEDULES_NAMED]:
            print(f"  starloom schedule pause {quote(name)}")
        if len(names) > SCHEDULES_NAMED:
            print(f"  {len(names) - SCHEDULES_NAMED} more: starloom schedule ls")


@dataclass(frozen=True)
class Selection:
    """The constellations of a person or of a device: `words` follow their count, `option` chooses them again."""

    words: str
    option: str
    none: str
    hint: str
    rows: list[ConstellationRow]

    @classmethod
    def of(cls, run: Invocation, name: str) -> Selection:
        rows = [
            row
            for state in GOING_ON
            for row in run.client.pages(get_constellations(of=name, state=state), most=OF_ONE_MOST)
        ]
        none, hint = f"nothing that {name} asked for goes on", "Names stand in the column `by` of: starloom ls"
        return cls(f"of {name}", f"--of {name}", none, hint, rows)

    @classmethod
    def on(cls, run: Invocation, device: str) -> Selection:
        device_row = run.client.get(get_device(device))
        name, rows = device_row["name"], [row for row, _ in at_work(run, device_row["id"])]
        hint = f"The device and its work: starloom device show {quote(name)}"
        return cls(f"with work on {name}", f"--on {quote(name)}", f"no task is at work on {name}", hint, rows)


def refuse_unknown_person(run: Invocation, name: str) -> None:
    """Refuse a name that no person, program or assistant has or had: an empty list would say that there is nothing.

    Raises:
        Problem: nobody has it. Without it the name is known, or this caller may not read the names.
    """
    try:
        names = {row["name"] for row in run.client.get(get_people())["items"]}
    except Problem as problem:
        if problem.code != Code.FORBIDDEN:
            raise
        return
    plain = name_of(name) if ":" in name else name
    if plain.casefold() not in map(str.casefold, names):
        raise unknown("nobody is called", plain, names, "starloom person ls")


def at_work(run: Invocation, device: str) -> list[tuple[ConstellationRow, list[str]]]:
    """Return the constellations with tasks at work on a device, each with these tasks."""
    work = []
    for state in GOING_ON:
        for row in run.client.pages(get_constellations(device=device, state=state), most=OF_ONE_MOST):
            tasks = run.client.get(get_constellation(row["id"]))["tasks"]
            names = [task["id"] for task in tasks if task["device"] == device and task["state"] in AT_WORK_TASK_STATES]
            if names:
                work.append((row, names))
    return work


def stop_selection(run: Invocation, selection: Selection, *, asks: bool, reason: str) -> None:
    """Cancel all that was chosen and has not ended, after a question that counts it.

    Raises:
        Problem: nothing of it goes on, or nobody can answer the question.
    """
    rows = [row for row in selection.rows if row["state"] != ConstellationState.CANCELLING]
    if not rows:
        raise usage(selection.none, selection.hint)
    count = counted(len(rows), "constellation")
    if asks:
        if not sys.stdin.isatty() or run.as_json:
            line = f"Without the question: starloom cancel {selection.option} --yes"
            raise usage(f"this cancels {count} {selection.words}", line)
        for row in rows:
            print(f"  {row['id']}  {row['name'] or row['request']}")
        if not typer.confirm(f"Cancel {count} {selection.words}?", default=False):
            print("Nothing was cancelled.")
            return
    cancelled = [
        run.client.post(post_constellation_cancel(row["id"]), {"reason": reason} if reason else {}) for row in rows
    ]
    if run.emits(cancelled):
        return
    for row, answer in zip(rows, cancelled, strict=True):
        print(f"{row['id']} is {answer['state'] or 'cancelling'}")


def confirmed(ask: Callable[[], Stop], first: Stop, wait_s: float) -> Stop:
    """Return the hub's list of devices once all reachable ones have confirmed, or when the time is over."""
    stop, until = first, time.monotonic() + wait_s
    while time.monotonic() < until and any(
        not item["confirmed_at"] and item["link"] == "online" for item in stop["devices"]
    ):
        time.sleep(POLL_S)
        stop = ask()
    return stop


def line_of(item: StopRow) -> str:
    """Return the line of one device: confirmed, still stopping, or away with the work that it may still run."""
    tasks = counted(item["asked"], "task")
    if item["confirmed_at"]:
        return f"{item['name']}: confirmed, {tasks} ended"
    names = few([entry.rpartition("/")[0] for entry in item["left"]], 3)
    if item["link"] == "online":
        return f"{item['name']}: has not confirmed yet: {names}"
    return f"{item['name']}: is away ({item['link']}), so it has not confirmed: {names}"
