"""The fleet: `devices`, `device show|drain|resume|revoke|rename`, `enroll`."""

from __future__ import annotations

import sys
import time
from typing import Annotated, Any

import typer

from starloom.cli.exits import Exit
from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.cli.problems import usage
from starloom_protocol.vocabulary import Profile

DeviceArgument = Annotated[str, typer.Argument(metavar="DEVICE", help="A device's name or id.")]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    hub_command(app, "devices")(devices)
    device = typer.Typer(help="Look at one device, or change what it may get.", no_args_is_help=True)
    hub_command(device, "show")(show_device)
    hub_command(device, "drain")(drain)
    hub_command(device, "resume")(resume_device)
    hub_command(device, "revoke")(revoke)
    hub_command(device, "rename")(rename)
    app.add_typer(device, name="device")
    hub_command(app, "enroll")(enroll)


def devices(run: Invocation) -> None:
    """List the devices: whether they are there, what they do, what they may."""
    found = run.client.get("/devices")
    if run.as_json:
        run.emit(found)
        return
    if not found["items"]:
        print("No device yet. Add one: starloom enroll")
        return
    from rich.table import Table

    from starloom.cli.style import console

    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in ("name", "link", "load", "os", "profile", "tools", "id"):
        table.add_column(name, no_wrap=name in ("name", "id"))
    for item in found["items"]:
        chip = " (demo)" if item.get("demo") else ""
        link = "revoked" if item.get("revoked") else item["link"]
        tools = item.get("tools")
        count = str(len(tools)) if isinstance(tools, list) else str(tools if tools is not None else "")
        table.add_row(
            item["name"] + chip, link, str(item.get("load", "")), item["os"], item["profile"], count, item["id"]
        )
    console().print(table)


def resolve(run: Invocation, device: str) -> dict[str, Any]:
    """Return the device that a name or an id means.

    Raises:
        Problem: there is none.
    """
    items = run.client.get("/devices")["items"]
    for item in items:
        if device in (item["id"], item["name"]):
            return dict(item)
    names = ", ".join(item["name"] for item in items) or "none"
    raise usage(f"no device is called {device}; there are: {names}", "See `starloom devices`.")


def show_device(run: Invocation, device: DeviceArgument) -> None:
    """Show a device: facts, grants, each tool with what it may do and why it is not available."""
    found = run.client.get(f"/devices/{resolve(run, device)['id']}")
    if run.as_json:
        run.emit(found)
        return
    print(f"{found['name']}  {found['id']}  {found['link']}  profile {found['profile']}")
    offer = found.get("offer") or found
    for name, value in sorted((offer.get("facts") or {}).items()):
        print(f"  {name}: {value}")
    grants = offer.get("grants") or []
    print(f"  grants: {', '.join(grants) or 'none'}")
    for tool in offer.get("tools") or []:
        why = f"  not available: {tool['unavailable']}" if tool.get("unavailable") else ""
        effects = ", ".join(tool.get("effects") or []) or "-"
        print(f"  {tool['name']:<18} {effects:<14} {tool.get('repeatability', 'never')}{why}")


def _device_control(run: Invocation, device: str, action: str, reason: str) -> None:
    found = resolve(run, device)
    made = run.client.post(f"/devices/{found['id']}/{action}", {"reason": reason} if reason else {})
    if run.as_json:
        run.emit(made)
    else:
        print(f"{action} of {found['name']} accepted")


ReasonOption = Annotated[str, typer.Option("--reason", help="Kept in the log.")]


def drain(run: Invocation, device: DeviceArgument, reason: ReasonOption = "") -> None:
    """Give a device no new work; what it has goes on."""
    _device_control(run, device, "drain", reason)


def resume_device(run: Invocation, device: DeviceArgument, reason: ReasonOption = "") -> None:
    """Give a drained device work again."""
    _device_control(run, device, "resume", reason)


def revoke(run: Invocation, device: DeviceArgument, reason: ReasonOption = "") -> None:
    """Cut a device off at once; it must join again to come back."""
    _device_control(run, device, "revoke", reason)


def rename(run: Invocation, device: DeviceArgument, name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Give a device another name."""
    found = resolve(run, device)
    made = run.client.patch(f"/devices/{found['id']}", {"name": name})
    if run.as_json:
        run.emit(made)
    else:
        print(f"{found['name']} is now called {name}")


def enroll(
    run: Invocation,
    label: Annotated[str, typer.Option("--label", help="A label that the device gets.")] = "",
    profile: Annotated[
        Profile, typer.Option("--profile", help="The most that its owner may choose there.")
    ] = Profile.OPERATE,
    qr: Annotated[bool, typer.Option("--qr", help="Also show the address as a QR code.")] = False,
    wait: Annotated[
        bool | None, typer.Option("--wait/--no-wait", help="Stay and approve it here; default: on a terminal.")
    ] = None,
) -> None:
    """Print the line that joins a device; on a terminal stay until it has joined."""
    body: dict[str, Any] = {"profile_most": profile.value}
    if label:
        body["label"] = label
    made = run.client.create("/enrollments", body)
    if run.as_json:
        run.emit(made)
        return
    print("On the device, paste this line (Python 3.11 or newer):\n")
    print(f"  {made['line']}\n")
    if qr:
        from starloom.cli.qr import print_qr

        print_qr(str(made.get("url") or made["line"]))
    print(f"The code is good once, until {_until(made)}.")
    if wait is False or (wait is None and not (sys.stdin.isatty() and sys.stdout.isatty())):
        return
    _wait_for_device(run, str(made["id"]))


def _until(made: dict[str, Any]) -> str:
    from starloom.cli.style import clock

    return clock(made.get("expires_at") or made.get("expires_ms"))


def _wait_for_device(run: Invocation, enrollment: str) -> None:
    """Poll the pairing; show the six words when the device asks, and let the person decide here."""
    print("Waiting for the device ... (Ctrl-C leaves; approve it later in Fleet)")
    asked = False
    while True:
        found = run.client.get(f"/enrollments/{enrollment}")
        state = found["state"]
        if state == "asking" and not asked:
            asked = True
            print(f"\n{found['name']} ({found['os']}) asks to join. Both screens must show the same words:")
            print(f"\n    {found['words']}\n")
            allow = typer.confirm("Are they the same, and may it join?", default=False)
            body = {} if allow else {"reason": "refused at the command line"}
            run.client.post(f"/enrollments/{enrollment}/{'approve' if allow else 'deny'}", body)
        elif state in ("approved", "used"):
            print(f"{found['name'] or 'The device'} has joined.")
            return
        elif state in ("denied", "expired"):
            reason = f": {found['reason']}" if found.get("reason") else ""
            print(f"The pairing is {state}{reason}")
            finish(Exit.FAILED)
        time.sleep(0.5)
