"""`starloom enroll --ssh`: examines the server, opens the tunnel, installs the agent, and waits until it is online.

Each step is printed with its seconds; a failure leaves no tunnel and no half-joined device at the hub. A person who may
sign in there by ssh is trusted to let the device in, so no words are compared.
"""

from __future__ import annotations

import asyncio
import re
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from starloom.client.problems import Problem, usage
from starloom.client.rest import Client
from starloom.client.routes import (
    get_device,
    get_devices,
    get_enrollment,
    post_constellations,
    post_device_action,
    post_enrollment_deny,
    post_enrollments,
)
from starloom.host.servers import remote, ssh, tunnels
from starloom.host.servers.ssh import run_there
from starloom_protocol.codes import Code
from starloom_protocol.text.look_alikes import called_fault, look_of
from starloom_protocol.vocabulary import ConstellationState, Profile

if TYPE_CHECKING:
    from starloom_protocol.api.fleet import DeviceDetail

INSTALL_S = 240.0
ONLINE_S = 120.0
TEST_S = 30
START_S = 60.0
LEAVE_S = 60.0
NAME_MOST = 63
SERVER_LABEL = "server"
"""A machine that is reached by ssh is meant by *the server* in words."""
FAULTS_TOLD_AT = 3
"""So many failed starts of the kept tunnel are no chance: the first may meet the port of the one before it."""
_STEP_S = 0.1


@dataclass(frozen=True)
class ServerEnrollment:
    """The options of `enroll --ssh`. `kept_in` is the data folder of the service that keeps the tunnel."""

    target: ssh.Target
    label: str = ""
    profile: Profile = Profile.OBSERVE
    folders: Sequence[str] = field(default_factory=tuple)
    remote_home: str = "~/.starloom-agent"
    remote_port: int | None = None
    service: bool = True
    kept_in: Path | None = None


@dataclass(frozen=True)
class Enrolled:
    """A device that has joined and carried out its test task."""

    device: str
    name: str
    tools: int
    kept: bool
    answer: str


async def enroll(
    client: Client, enrollment: ServerEnrollment, say: Callable[[str], None], stop: asyncio.Event
) -> Enrolled:
    """Add the server; without a service to keep the tunnel hold it until `stop`, after the device is ready.

    Raises:
        Problem: something is missing there or here; it names the remedy.
    """
    hub = _hub_of(client)
    ssh.find_program()
    await asyncio.to_thread(client.require_agent_wheels)
    await asyncio.to_thread(_judge_name, client, enrollment.label)
    with _step(say, f"look at {enrollment.target.destination}"):
        server = await look(
            enrollment.target, enrollment.remote_home, enrollment.remote_port or hub.port, enrollment.folders
        )
        if await _is_revoked(client, server):
            server = await _let_leave(enrollment, server, say)
    judge(enrollment, server)
    record = _record(enrollment, server, hub, enrollment.label or server.name)
    with _step(say, "open the tunnel"):
        tunnel = tunnels.Tunnel(record)
        tunnel.start()
        await _or_stop(tunnel, tunnel.until_up())
    try:
        with _step(say, f"install the agent in {server.home}"):
            device = await _install(client, enrollment, server, record, hub)
        if enrollment.kept_in is None:
            enrolled = await _await_ready(client, device, is_kept=False, say=say)
            say(f"{enrolled.name} is ready. Its tunnel lives as long as this command; Ctrl-C ends it.")
            await stop.wait()
            return enrolled
    finally:
        await tunnel.stop()
    if labels := [label for label in device["labels"] if label != SERVER_LABEL]:
        say(f"  it has the labels of the device that had this name: {', '.join(labels)}")
    if device["name"] != record.device:
        say(f"  a device is or was called {record.device} already, so this one is called {device['name']}")
    record_of_device = msgspec.structs.replace(record, device=device["name"], device_id=device["id"])
    await asyncio.to_thread(tunnels.keep, enrollment.kept_in, record_of_device)
    return await _await_ready(client, device, is_kept=True, say=say, kept_in=enrollment.kept_in)


async def _or_stop(tunnel: tunnels.Tunnel, wait: Any) -> None:
    try:
        await wait
    except BaseException:
        await tunnel.stop()
        raise


@dataclass(frozen=True)
class _Hub:
    """The tunnel's end at the hub, and its address for the server. With `socket` it is TLS with the key in `pin`."""

    url: str
    host: str
    port: int
    socket: str = ""
    pin: str = ""


def _hub_of(client: Client) -> _Hub:
    address = client.address
    parts = urlsplit(address.url)
    host, port = parts.hostname or "127.0.0.1", parts.port or (443 if parts.scheme == "https" else 80)
    if address.own is None:
        return _Hub(address.url, host, port)
    # The Host that the hub sees is its own; on the way there is its certificate for tunnels.
    host_words = f"[{host}]" if ":" in host else host
    own_host = address.own
    return _Hub(f"https://{host_words}:{port}", host, port, str(own_host.tunnel_socket), own_host.tunnel_pin)


def _record(enrollment: ServerEnrollment, server: remote.Server, hub: _Hub, name: str) -> tunnels.Record:
    target = enrollment.target
    return tunnels.Record(
        destination=target.destination,
        port=target.port,
        identity=target.identity and str(Path(target.identity).expanduser().absolute()),
        config=target.config and str(Path(target.config).expanduser().absolute()),
        options=list(target.options),
        remote_port=enrollment.remote_port or server.port,
        hub_host=hub.host,
        hub_port=hub.port,
        hub_socket=hub.socket,
        home=server.home,
        device=name,
    )


def _judge_name(client: Client, name: str) -> None:
    """Check the name that a person chose, before anything is looked at.

    Raises:
        Problem: no device may have it, or one of the fleet has it.
    """
    if not name:
        return
    wrong = called_fault(name, most=NAME_MOST)
    if wrong is not None:
        raise usage(wrong, "Choose another with --name.")
    for item in client.get(get_devices())["items"]:
        if not item["revoked"] and look_of(item["name"]) == look_of(name):
            rename = f"starloom device rename {shlex.quote(item['name'])} NAME"
            way = f"Choose another with --name, or rename that one: {rename}"
            raise usage(f"a device is called {item['name']} already", way)


async def _is_revoked(client: Client, server: remote.Server) -> bool:
    """Return whether this hub has revoked the device that the agent there was: it can only join as a new one."""
    if not server.joined or not server.joined_device:
        return False
    try:
        device = await asyncio.to_thread(lambda: client.get(get_device(server.joined_device)))
    except Problem as problem:
        if problem.code != Code.UNKNOWN_DEVICE:
            raise
        return False  # it has joined another hub
    return device["revoked"]


async def _let_leave(enrollment: ServerEnrollment, server: remote.Server, say: Callable[[str], None]) -> remote.Server:
    """Let a revoked agent leave, whose key is never accepted again, and return the server without it.

    Raises:
        Problem: it cannot leave.
    """
    say(f"  its agent joined as {server.joined_as}, which was revoked: it leaves, and joins as a new device")
    code, out, err = await run_there(enrollment.target, remote.agent(server.home, "leave"), LEAVE_S)
    if code != 0:
        raise ssh.refused(
            enrollment.target,
            f"its agent joined as {server.joined_as}, which was revoked, and cannot leave: {ssh.last_line(out or err)}",
            f"Let it leave there: {_leave_line(enrollment.target, server)}",
        )
    return msgspec.structs.replace(server, joined="", joined_as="", joined_device="")


def _leave_line(target: ssh.Target, server: remote.Server) -> str:
    words = [*shlex.split(target.typed), f"{server.home}/venv/bin/starloom-agent", "leave", "--home", server.home]
    return shlex.join(words)


async def look(target: ssh.Target, home: str, port: int, folders: Sequence[str] = ()) -> remote.Server:
    """Return the probe of the server.

    Raises:
        Problem: ssh failed, there is no Python, it is too old, or this is no system with a POSIX shell.
    """
    code, out, err = await run_there(target, remote.probe(home, port, folders), 60)
    if code == remote.NO_PYTHON:
        raise ssh.refused(
            target, "there is no Python", "Install Python 3.11 or newer there (Debian, Ubuntu: python3 python3-venv)."
        )
    if code == remote.OLD_PYTHON:
        raise ssh.refused(
            target,
            f"its Python is {out.strip()}; 3.11 or newer is needed",
            "Install a newer one beside it (for example python3.12); it is found by its name in the PATH.",
        )
    lines = out.strip().splitlines()
    try:
        return msgspec.json.decode(lines[-1] if lines else "", type=remote.Server)
    except msgspec.DecodeError as error:
        fault = ssh.last_line(err) or ssh.last_line(out) or f"exit code {code}"
        raise ssh.refused(
            target, f"its shell did not run a plain sh text: {fault}", f"Does `sh -s` work there? {target.typed}"
        ) from error


def judge(enrollment: ServerEnrollment, server: remote.Server) -> None:
    """Check the server before anything is changed.

    Raises:
        Problem: with the way out.
    """
    target = enrollment.target
    if server.joined:
        raise ssh.refused(
            target,
            f"its agent in {server.home} has joined {server.joined} already, as {server.joined_as}",
            f"Use it, or let it leave first: {_leave_line(target, server)}; or another folder: --remote-home DIR.",
        )
    if enrollment.folders and enrollment.profile is Profile.OBSERVE:
        raise ssh.refused(target, "the profile observe has no folders", "Add --profile files, or leave out --folder.")
    if server.no_folders:
        raise ssh.refused(
            target,
            f"there is no folder {', '.join(server.no_folders)}",
            "Make it there first, or name another with --folder.",
        )
    if not server.writable:
        raise ssh.refused(
            target, f"you may not write to {server.home} there", "Name another folder with --remote-home DIR."
        )
    if server.free_bytes < remote.NEEDED_BYTES:
        needed, free = remote.NEEDED_BYTES // 10**6, server.free_bytes // 10**6
        raise ssh.refused(
            target,
            f"{needed} MB are needed at {server.home} there, {free} MB are free",
            "Free some space, or name a folder on another disk with --remote-home DIR.",
        )
    if not server.venv:
        raise ssh.refused(
            target,
            f"its Python {server.python} has no venv module",
            "Install it there (Debian, Ubuntu: apt-get install python3-venv).",
        )


async def _install(
    client: Client, enrollment: ServerEnrollment, server: remote.Server, record: tunnels.Record, hub: _Hub
) -> DeviceDetail:
    """Join with a code made for this one server, start the agent there, and return its device.

    Raises:
        Problem: it did not join, or does not start; what the hub had of it is taken back, or named with the way out.
    """
    body = {
        "label": record.device,
        "labels": [SERVER_LABEL],
        "name": record.device,
        "preapproved": True,
        "installs": True,
    }
    code_row = await asyncio.to_thread(lambda: client.create(post_enrollments(), body))
    joining = remote.Joining(
        hub=hub.url,
        pin=hub.pin,
        code=code_row["code"],
        via=f"127.0.0.1:{record.remote_port}",
        home=server.home,
        name=record.device,
        profile=enrollment.profile,
        folders=enrollment.folders,
    )
    target = enrollment.target
    try:
        code, out, err = await run_there(target, remote.join(join_script(), joining), INSTALL_S)
        joined = await asyncio.to_thread(lambda: client.get(get_enrollment(code_row["id"])))
        device = joined["device"]
        if code != 0 or not device:
            raise ssh.refused(target, *install_fault(err or out))
        await _start(enrollment, server)
        return await asyncio.to_thread(lambda: client.get(get_device(device)))
    except Problem as problem:
        hint = f"{problem.hint} {await _take_back(client, target, server, record, code_row['id'])}".strip()
        raise replace(problem, hint=hint, document={**problem.document, "hint": hint}) from problem


async def _start(enrollment: ServerEnrollment, server: remote.Server) -> None:
    """Start the agent there, with the computer where its service manager can.

    Raises:
        Problem: it does not start.
    """
    target = enrollment.target
    code, out, err = await run_there(
        target, remote.agent(server.home, "install-service" if enrollment.service else "start"), START_S
    )
    if code != 0 and enrollment.service:
        # No service manager for this user there: the tunnel starts the agent whenever it comes up.
        code, out, err = await run_there(target, remote.agent(server.home, "start"), START_S)
    if code != 0:
        raise ssh.refused(target, f"the agent does not start: {ssh.last_line(out or err)}", f"Look: {target.typed}")


async def _take_back(
    client: Client, target: ssh.Target, server: remote.Server, record: tunnels.Record, enrollment: str
) -> str:
    """Take back what the hub has of a server that could not be added; say what is left, and how to go on.

    The agent leaves itself, so that nothing remains there either; if it cannot, its key is revoked here, and the next
    try lets it leave.
    """
    name = shlex.quote(record.device)
    try:
        row = await asyncio.to_thread(lambda: client.get(get_enrollment(enrollment)))
        if row["state"] == "open":
            reason = {"reason": "the server could not be added by ssh"}
            await asyncio.to_thread(lambda: client.post(post_enrollment_deny(enrollment), reason))
        identity = row["device"]
        if not identity:
            return ""
        has_left = await _has_left(target, server)
        device = await asyncio.to_thread(lambda: client.get(get_device(identity)))
        name = shlex.quote(device["name"])
        if not device["revoked"]:
            has_left = False
            reason = {"reason": "its agent did not start"}
            await asyncio.to_thread(lambda: client.post(post_device_action(identity, "revoke"), reason))
    except Problem as problem:
        return (
            f"If {name} is listed by `starloom devices`, it is still a device of this hub, which could not take it "
            f"back ({problem}); type: starloom device revoke {name}. Then type the same line again."
        )
    how = "has left again" if has_left else "was revoked, and its agent leaves with the next try"
    return f"The device {name} {how}; what was installed there is used again by the same line again."


async def _has_left(target: ssh.Target, server: remote.Server) -> bool:
    try:
        code, _, _ = await run_there(target, remote.agent(server.home, "leave"), LEAVE_S)
    except Problem:
        return False  # the line to the server is what failed
    return code == 0


_INSTALL_FAULTS: tuple[tuple[str, str, str], ...] = (
    (
        r"ensurepip|python3-venv",
        "its Python cannot make virtual environments",
        "Install the module there (Debian, Ubuntu: apt-get install python3-venv).",
    ),
    (
        r"No space left on device",
        "its disk is full",
        "Free some space there, or name a folder on another disk with --remote-home DIR.",
    ),
    (
        r"No matching distribution|Could not find a version|new connection|Read timed out|name resolution",
        "it cannot get msgspec, cryptography and websockets from its package index",
        "Give it a way to an index (PIP_INDEX_URL there), or copy wheels and set PIP_FIND_LINKS in its pip.conf.",
    ),
    (r"Permission denied", "something may not be written there", "Name another folder with --remote-home DIR."),
    (
        r"does not answer",
        "it does not reach the hub through the tunnel",
        "Is AllowTcpForwarding yes in its sshd_config?",
    ),
)


def install_fault(output: str) -> tuple[str, str]:
    """Return the fault of a failed installation of the agent, and its remedy."""
    # join.py ends with the command that failed; the output of that command comes before.
    lines = [line for line in output.splitlines() if not line.startswith("join.py: this did not work")]
    last = ssh.last_line("\n".join(lines) or output).removeprefix("join.py: ").removeprefix("starloom-agent: ")
    for pattern, sentence, way in _INSTALL_FAULTS:
        if re.search(pattern, output):
            return f"{sentence} ({last})", way
    return f"the agent could not be installed: {last}", "Run it again; what was made there is used again."


def join_script() -> str:
    """Return the text of join.py: packaged in the wheel, or beside it in a checkout.

    Raises:
        Problem: this installation has none.
    """
    package = Path(str(files("starloom")))
    for path in (package / "_agent" / "join.py", package.parents[1] / "device_agents" / "join.py"):
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise usage("this installation has no join.py", "Install starloom-agent on the server yourself.")


def _judge_tunnel(kept_in: Path | None, device: DeviceDetail) -> None:
    """Check the tunnel that the service has begun to keep.

    Raises:
        Problem: it does not come up, with what the service knows of it.
    """
    condition = tunnels.condition_of(kept_in, device["id"]) if kept_in is not None else None
    if condition is None or condition.state != "down" or condition.starts < FAULTS_TOLD_AT:
        return
    name = shlex.quote(device["name"])
    raise usage(
        f"{device['name']} has joined, but the service cannot open its tunnel: {condition.fault}",
        f"{condition.hint} The service goes on trying, with the PATH and the ssh settings that it was started with. "
        f"To take the device away again: starloom device revoke {name}",
    )


async def _await_ready(
    client: Client, device: DeviceDetail, *, is_kept: bool, say: Callable[[str], None], kept_in: Path | None = None
) -> Enrolled:
    """Wait until the device is online, and let it carry out a task of a second.

    Raises:
        Problem: it is not online in time, or the task failed.
    """
    identity, name = device["id"], device["name"]
    with _step(say, f"{name} comes online"):
        deadline = time.monotonic() + ONLINE_S
        while not (device["link"] == "online" and device["tools"]):
            if time.monotonic() > deadline:
                raise usage(
                    f"{name} has joined but did not come online within {ONLINE_S:g} s",
                    "See its tunnel: starloom tunnel ls. "
                    f"To take the device away again: starloom device revoke {shlex.quote(name)}",
                )
            _judge_tunnel(kept_in, device)
            await asyncio.sleep(_STEP_S)
            device = await asyncio.to_thread(lambda: client.get(get_device(identity)))
    with _step(say, "test task"):
        plan = {
            "starloom": 1,
            "name": f"Test of {name}",
            "tasks": [{"id": "look", "tool": "system.info", "device": {"id": identity}}],
        }
        body = {"labels": {"test": "device"}, "plan": plan}
        test = await asyncio.to_thread(lambda: client.create(post_constellations(), body, wait_s=TEST_S))
    if test["state"] != ConstellationState.SUCCEEDED:
        raise usage(f"{name} is online, but its test task is {test['state']}", f"See: starloom why {test['id']}")
    sentence = test["answer"]["sentence"] if "answer" in test else ""
    able = [tool for tool in device["tools"] if not tool["unavailable"]]
    return Enrolled(identity, name, len(able), is_kept, sentence)


@contextmanager
def _step(say: Callable[[str], None], title: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    say(f"  {title}: {time.monotonic() - began:.1f} s")
