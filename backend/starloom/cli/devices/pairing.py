"""Commands for pairing: `enroll` by a line or by ssh, the pairing's words and answer, and `tunnel ls|rm`."""

from __future__ import annotations

import shlex
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.cli.text.vital_text import replaces_words
from starloom.client.exits import Exit
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_devices,
    get_enrollment,
    post_enrollment_approve,
    post_enrollment_deny,
    post_enrollments,
)
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import duration_s
from starloom_protocol.text.look_alikes import look_of
from starloom_protocol.text.wording import escaped
from starloom_protocol.vocabulary import Code, Profile

if TYPE_CHECKING:
    from starloom.host.servers.tunnels import Condition, Record
    from starloom_protocol.api.fleet import NewEnrollment


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    hub_command(app, "enroll")(enroll)
    tunnel = typer.Typer(help="Tunnels to servers that were added by ssh.", no_args_is_help=True)
    hub_command(tunnel, "ls")(tunnel_list)
    hub_command(tunnel, "rm")(tunnel_remove)
    app.add_typer(tunnel, name="tunnel")


SSH = "With --ssh"


def enroll(
    run: Invocation,
    server: Annotated[str, typer.Argument(hidden=True)] = "",
    name: Annotated[
        str,
        typer.Option("--name", help="The name of the device. Labels are given where it joins: join ... --label gpu."),
    ] = "",
    label: Annotated[str, typer.Option("--label", hidden=True)] = "",
    profile: Annotated[
        Profile | None,
        typer.Option("--profile", help="The most that its owner may choose there; with --ssh: what is chosen."),
    ] = None,
    replace: Annotated[
        str, typer.Option("--replace", metavar="DEVICE", help="It takes the name of this device, which is revoked.")
    ] = "",
    devices: Annotated[
        int, typer.Option("--devices", min=1, max=10_000, help="How many devices may join by this line.")
    ] = 1,
    ends_in: Annotated[
        str, typer.Option("--ends-in", metavar="DURATION", help="How long it is good, such as 2h; default: 10 minutes.")
    ] = "",
    preapproved: Annotated[
        bool,
        typer.Option("--preapproved", help="They join without words to compare, and get no label that they ask for."),
    ] = False,
    end: Annotated[str, typer.Option("--end", metavar="ID", help="End a code before its time; nothing else.")] = "",
    qr: Annotated[bool, typer.Option("--qr", help="Also show the phone's page as a QR code.")] = False,
    wait: Annotated[
        bool | None, typer.Option("--wait/--no-wait", help="Stay and approve it here; default: on a terminal.")
    ] = None,
    ssh: Annotated[
        str, typer.Option("--ssh", metavar="USER@HOST", help="Bring the agent there by ssh, through a tunnel.")
    ] = "",
    folder: Annotated[
        list[str] | None, typer.Option("--folder", help=f"{SSH}: a folder there that it may use.")
    ] = None,
    port: Annotated[int | None, typer.Option("--port", min=1, max=65535, help=f"{SSH}: the SSH server's port.")] = None,
    identity: Annotated[str, typer.Option("--identity", metavar="FILE", help=f"{SSH}: the private key.")] = "",
    ssh_config: Annotated[str, typer.Option("--ssh-config", metavar="FILE", help=f"{SSH}: another ssh_config.")] = "",
    remote_home: Annotated[
        str, typer.Option("--remote-home", metavar="DIR", help=f"{SSH}: the agent's folder there.")
    ] = "~/.starloom-agent",
    remote_port: Annotated[
        int | None, typer.Option("--remote-port", min=1, max=65535, help=f"{SSH}: the tunnel's port there.")
    ] = None,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep/--no-keep",
            help=f"{SSH}: `starloom up` keeps the tunnel, over restarts; else this command holds it. "
            "Default: keep where a service runs on this computer.",
        ),
    ] = None,
    service: Annotated[
        bool, typer.Option("--service/--no-service", help=f"{SSH}: start the agent with the server where it can.")
    ] = True,
) -> None:
    """Add a device: print the line that joins it, or with --ssh bring the agent there."""
    if server:
        way = f"For a server that you can sign in to: starloom enroll --ssh {shlex.quote(server)}"
        raise usage(f"`enroll` takes options only, and {server} is none", way)
    if label:
        joining = f"Labels are given where it joins: join ... --label {shlex.quote(label)}."
        if name:
            raise usage("`enroll` gives a device its name, and no label", joining)
        # Lines of earlier versions give the name by this word.
        name = label
        say(f"--label is the name of the device here, as --name is. {joining}", sys.stderr)
    if end:
        run.client.post(post_enrollment_deny(end), {"reason": "its owner has ended the code"})
        say("The code is ended; devices that have joined with it stay.")
        return
    if ssh:
        _refuse_with_ssh(qr=qr, replace=replace)
        from starloom.host.servers.enrolling import ServerEnrollment
        from starloom.host.servers.ssh import Target

        enrollment = ServerEnrollment(
            target=Target(ssh, port, identity, ssh_config),
            label=name,
            profile=profile or Profile.OBSERVE,
            folders=tuple(folder or ()),
            remote_home=remote_home,
            remote_port=remote_port,
            service=service,
            kept_in=_keeping_home(run, keep),
        )
        _enroll_by_ssh(run, enrollment)
        return
    _refuse_without_ssh(
        port=port, identity=identity, folder=folder, ssh_config=ssh_config, remote_port=remote_port, keep=keep
    )
    join_line = _JoinLine(name, profile or Profile.OPERATE, replace, devices, ends_in, preapproved, qr, wait)
    _enroll_by_line(run, join_line)


@dataclass(frozen=True, slots=True)
class _JoinLine:
    """A join line as the options of `enroll` ask for it; `wait` is None where the terminal decides."""

    name: str
    profile: Profile
    replace: str
    devices: int
    ends_in: str
    preapproved: bool
    qr: bool
    wait: bool | None


def _enroll_by_line(run: Invocation, join_line: _JoinLine) -> None:
    """Make a join code, print the line that uses it, and wait for the device where a person is there to approve it."""
    enrollment = _make_code(run, join_line)
    if run.as_json:
        run.emit(enrollment)
        return
    _print_lines(enrollment)
    if join_line.qr:
        _print_phone(enrollment)
    is_single = join_line.devices == 1
    times = "once" if is_single else f"for {join_line.devices:,} devices"
    print(f"The code is good {times}, until {_until(enrollment)}.")
    waits = join_line.wait or (join_line.wait is None and sys.stdin.isatty() and sys.stdout.isatty())
    if not join_line.preapproved and not (is_single and waits):
        _tell_approval(enrollment["id"] if is_single else "ID")
    if not is_single:
        print(f"To end it before: starloom enroll --end {enrollment['id']}")
    elif waits:
        _wait_for_device(run, str(enrollment["id"]))


def _make_code(run: Invocation, join_line: _JoinLine) -> NewEnrollment:
    """Ask the hub for the join code; first refuse a line that could not install an agent."""
    body: dict[str, Any] = {"profile_most": join_line.profile.value}
    if join_line.name:
        body["label"] = join_line.name
    if join_line.replace:
        from starloom.cli.devices.fleet import resolve

        body["replaces"] = resolve(run, join_line.replace)["id"]
    if not join_line.qr:
        run.client.require_agent_wheels()
    if join_line.name and not join_line.replace and join_line.devices == 1:
        _tell_taken_name(run, join_line.name)
    if join_line.devices > 1:
        body["devices"] = join_line.devices
    if join_line.ends_in:
        body["ends_in_s"] = duration_s(join_line.ends_in)
    if join_line.preapproved:
        body |= {"preapproved": True, "installs": True}
    enrollment: NewEnrollment = run.client.create(post_enrollments(), body)
    return enrollment


def _tell_taken_name(run: Invocation, name: str) -> None:
    """Say which name the new device gets where a device of the fleet has this one, or one that looks like it."""
    try:
        devices = run.client.get(get_devices())["items"]
    except Problem as problem:
        if problem.code != Code.FORBIDDEN:  # a token that adds devices need not read the fleet
            raise
        return
    names_by_look = {look_of(device["name"]): device["name"] for device in devices if not device.get("revoked")}
    has_it = names_by_look.get(look_of(name))
    if has_it is None:
        revoked = [device for device in devices if device.get("revoked") and device["name"] == name]
        if revoked:
            _tell_free_name(name, left=bool(revoked[-1].get("left")))
        return
    number = 2
    while look_of(f"{name}-{number}") in names_by_look:
        number += 1
    say(
        f"A device is called {escaped(has_it)} already, so the new one will be called {escaped(f'{name}-{number}')}. "
        f"To put it in its place: starloom enroll --replace {escaped(shlex.quote(has_it))}",
        sys.stderr,
    )


def _tell_free_name(name: str, *, left: bool) -> None:
    """Say that the name of a device which is gone is free, and when the hub does not give it."""
    how = "has left" if left else "was revoked"
    name_shown = escaped(name)
    say(
        f"A device called {name_shown} {how}, so the new one will be called {name_shown}, too, "
        f"unless work still waits for the one that {'left' if left else how}: then it will be called "
        f"{escaped(f'{name}-2')} and gets none of that work.",
        sys.stderr,
    )


def _refuse_with_ssh(*, qr: bool, replace: str) -> None:
    if qr:
        raise usage("--qr shows a phone's page, --ssh brings an agent to a server", "Leave one of them out.")
    if replace:
        raise usage(
            "--replace goes with a join line for now", "Add it under another name, then: starloom device rename."
        )


def _refuse_without_ssh(**given: Any) -> None:
    used = [f"--{name.replace('_', '-')}" for name, value in given.items() if value not in (None, "", [])]
    if used:
        raise usage(f"{', '.join(used)}: only with --ssh", "Add --ssh user@host, or leave it out.")


def _keeping_home(run: Invocation, keep: bool | None) -> Path | None:
    """Return the data folder whose running service will keep the tunnel, None where this command holds it."""
    from starloom.host.supervisor import home_in_service

    home = home_in_service(run.client.address)
    if keep and home is None:
        raise usage(
            f"no `starloom up` of this computer serves {run.client.address.url}, so nothing here can keep a tunnel",
            "Run this where the service runs, or leave out --keep and let this command hold the tunnel.",
        )
    return None if keep is False else home


def _enroll_by_ssh(run: Invocation, enrollment: Any) -> None:
    import asyncio  # no other command needs a loop

    from starloom.host.servers.enrolling import enroll as by_ssh

    async def go() -> Any:
        stop = asyncio.Event()
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        ready = asyncio.Event()

        def interrupted() -> None:
            if ready.is_set():
                stop.set()
            elif task is not None:
                task.cancel()

        def tell_step(text: str) -> None:
            if "is ready" in text:
                ready.set()
            say(text, sys.stderr if run.as_json else sys.stdout)

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, interrupted)
        return await by_ssh(run.client, enrollment, tell_step, stop)

    try:
        enrolled = asyncio.run(go())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    if run.as_json:
        run.emit(
            {"device": enrolled.device, "name": enrolled.name, "tools": enrolled.tools, "tunnel_kept": enrolled.kept}
        )
        return
    print(f"{enrolled.name} is in the fleet, with {enrolled.tools} tools. {enrolled.answer}")
    if enrolled.kept:
        say("Its tunnel is kept by `starloom up`; see it with: starloom tunnel ls")


def _print_lines(enrollment: NewEnrollment) -> None:
    from urllib.parse import urlsplit

    from starloom.process.settings import is_loopback

    lan, near = enrollment["lan"], is_loopback(urlsplit(enrollment["url"]).hostname or "")
    place = "On this computer, or through a tunnel" if lan or near else "On the device"
    print(f"{place}, paste this line (Python 3.11 or newer):\n\n  {enrollment['line']}\n")
    if lan:
        print(f"On a device in the same network:\n\n  {lan['line']}\n")
    elif near:
        say(
            "The hub listens on this computer only, so the line does not work on another one. "
            "For another one nearby, press *Allow this network* in Add device on the page (`starloom open`), or start "
            "the hub with `starloom up --lan`; then enroll again. "
            "For a server: starloom enroll --ssh user@host\n"
        )


def _tell_approval(identity: str) -> None:
    """Say that six words follow, and the line that approves them."""
    say(
        "The device then shows six words and waits for you. See the hub's words with `starloom approvals`; "
        f"if they are the same: starloom approve {identity}"
    )


def _print_phone(enrollment: NewEnrollment) -> None:
    from starloom.client.terminal.qr import print_qr

    phone = enrollment["phone"]
    if not phone["url"]:
        way_out = phone.get("way_out") or "Start it with: starloom up --lan"
        raise usage(phone["why"] or "a phone needs an https address", way_out)
    print_qr(phone["url"])
    print(phone["url"])
    if phone["words"]:
        print("The phone warns once that it does not know this hub's certificate. Its key, in words:")
        print(f"\n    {phone['words']}\n")


def _until(enrollment: NewEnrollment) -> str:
    return clock(enrollment["expires_at"])


def drop_typeahead(terminal: TextIO) -> None:
    """Forget what was typed before a question: it answers nothing that its writer has not read."""
    if terminal.isatty() and sys.platform != "win32":
        import termios  # Windows has none

        termios.tcflush(terminal.fileno(), termios.TCIFLUSH)


def _wait_for_device(run: Invocation, enrollment: str) -> None:
    """Poll the pairing; show the six words when the device asks, and let the person decide here."""
    print("Waiting for the device, which then shows six words to compare here ... (Ctrl-C leaves; approve it in Fleet)")
    is_asked = False
    while True:
        pairing = run.client.get(get_enrollment(enrollment))
        state = pairing["state"]
        if state == "asking" and not is_asked:
            is_asked = True
            print()
            tell(f"{pairing['name']} ({pairing['os']}) asks to join. Both screens must show the same words:")
            print(f"\n    {pairing['words']}\n")
            if pairing.get("labels"):
                print(f"It gets the labels {', '.join(pairing['labels'])}, by which plans choose devices.\n")
            if replaces := replaces_words(pairing, run.client.get(get_devices())["items"]):
                tell(f"{replaces}\n")
            drop_typeahead(sys.stdin)
            allow = typer.confirm("Are they the same, and may it join?", default=False)
            body = {} if allow else {"reason": "refused at the command line"}
            decide = post_enrollment_approve if allow else post_enrollment_deny
            run.client.post(decide(enrollment), body)
        elif state in ("approved", "used"):
            tell(f"{pairing['name'] or 'The device'} has joined.")
            return
        elif state in ("denied", "expired"):
            reason = f": {pairing['reason']}" if pairing.get("reason") else ""
            print(f"The pairing is {state}{reason}")
            finish(Exit.FAILED)
        time.sleep(0.5)


def _home(run: Invocation) -> Path:
    from starloom.host.supervisor import home_of

    home = home_of(run.client.address)
    if home is None:
        raise usage(
            f"{run.client.address.url} is not a hub of this computer, and tunnels are kept where it runs",
            "Type this on the hub's computer.",
        )
    return home


def _shown_name(key: str, record: Record | str, condition: Condition | None) -> str:
    """Return the name of a tunnel: the device's present one, or the one that it joined with."""
    if condition is not None and condition.name:
        return condition.name
    return key if isinstance(record, str) else record.device


def tunnel_list(run: Invocation) -> None:
    """List the kept tunnels: their servers, whether they are up, and the last fault with its remedy."""
    from starloom.host.servers import tunnels

    home = _home(run)
    records, conditions = tunnels.records(home), tunnels.conditions(home)
    items: list[dict[str, Any]] = []
    for name, record in records.items():
        if isinstance(record, str):
            items.append({"name": name, "state": "unreadable", "fault": record, "hint": f"starloom tunnel rm {name}"})
            continue
        state = conditions.get(name)
        items.append(
            {
                "name": _shown_name(name, record, state),
                "agent": state.agent if state else "",
                "to": record.destination,
                "remote_port": record.remote_port,
                "state": state.state if state else "stopped",
                "since_s": state.since_s if state else None,
                "starts": state.starts if state else 0,
                "fault": state.fault if state else "`starloom up` does not run",
                "hint": state.hint if state else "Start it: starloom up",
            }
        )
    if run.as_json:
        run.emit({"items": items})
        return
    if not items:
        say("No tunnel is kept. Make one: starloom enroll --ssh user@host")
    for item in items:
        since = f" since {clock(item['since_s'] * 1000)}" if item.get("since_s") else ""
        agent = f", agent {item['agent']}" if item.get("agent") else ""
        line = f"{item['state']}{since}{agent}  {item.get('to', '')}  started {item.get('starts', 0)}x"
        tell(f"{item['name']:<20} {line}")
        if item["fault"]:
            say(f"    {item['fault']}")
            say(f"    the way out: {item['hint']}")


def tunnel_remove(
    run: Invocation, name: Annotated[str, typer.Argument(metavar="NAME", help="As `starloom tunnel ls` lists it.")]
) -> None:
    """Remove a tunnel; the device stays in the fleet, out of reach."""
    from starloom.host.servers import tunnels

    home = _home(run)
    records, conditions = tunnels.records(home), tunnels.conditions(home)
    names = {key: _shown_name(key, record, conditions.get(key)) for key, record in records.items()}
    key = next((key for key, shown in names.items() if name in (key, shown)), None)
    if key is None or not tunnels.forget(home, key):
        listed = ", ".join(names.values()) or "none"
        raise usage(f"no tunnel is called {name}; there are: {listed}", "See `starloom tunnel ls`.")
    if run.as_json:
        run.emit({"removed": name})
    else:
        say(f"The tunnel to {name} has ended. To let the device go too: starloom device revoke {name}")
