"""`stop-all`: cancels everything, then waits and lists the devices that confirmed and those that are away."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.client.exits import Exit
from starloom.client.routes import get_stop_all, post_stop_all
from starloom.client.terminal.values import duration_s
from starloom_protocol.text.wording import counted, few

if TYPE_CHECKING:
    from starloom_protocol.api.constellations import Stop, StopRow

POLL_S = 0.5


def register(app: typer.Typer) -> None:
    """Add this module's command."""
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
    made = run.client.post(post_stop_all(), {"reason": reason} if reason else {})
    stopped = made["constellations"]
    if not run.as_json and not stopped:
        print("Nothing runs.")
        return
    if not run.as_json:
        print(f"Stopping {counted(len(stopped), 'constellation')}.")
    found = confirmed(lambda: run.client.get(get_stop_all()), made, wait_s)
    left = [item for item in found["devices"] if not item["confirmed_at"]]
    if run.as_json:
        run.emit({**found, "constellations": stopped})
    else:
        for item in found["devices"]:
            print("  " + line_of(item))
        if not found["devices"]:
            print("  No device had work.")
    if left:
        raise typer.Exit(Exit.ATTENTION)


def confirmed(
    ask: Callable[[], Stop],
    first: Stop,
    wait_s: float,
    *,
    now: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Stop:
    """Return the hub's list of devices once all reachable ones have confirmed, or when the time is over."""
    found, until = first, now() + wait_s
    while any(not item["confirmed_at"] and item["link"] == "online" for item in found["devices"]) and now() < until:
        sleep(POLL_S)
        found = ask()
    return found


def line_of(item: StopRow) -> str:
    """Return the line of one device: confirmed, still stopping, or away with the work that it may still run."""
    tasks = counted(item["asked"], "task")
    if item["confirmed_at"]:
        return f"{item['name']}: confirmed, {tasks} ended"
    names = few([entry.rpartition("/")[0] for entry in item["left"]], 3)
    if item["link"] == "online":
        return f"{item['name']}: has not confirmed yet: {names}"
    return f"{item['name']}: is away ({item['link']}), so it has not confirmed: {names}"
