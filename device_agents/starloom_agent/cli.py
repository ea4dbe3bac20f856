"""`starloom-agent`: what the owner of this device types. Every change of what is allowed happens here, on the device.

Exit codes: 0 done, 1 it did not work, 2 usage, 3 the hub refuses this device for good.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

import starloom_agent
from starloom_agent import joining, service
from starloom_agent.connection import Address
from starloom_agent.home import AgentHome, Joined, NotJoined
from starloom_agent.identity import load_or_make
from starloom_agent.ledger import Ledger, LedgerFault
from starloom_agent.locking import AlreadyRunning, hold_home, running_pid
from starloom_agent.platforms import processes
from starloom_agent.policy import PROFILE_WORDS, Policy, PolicyFault, with_grant, without_grant
from starloom_agent.policy_file import checked, read_policy, to_toml, write_policy
from starloom_agent.runtime import Agent, Settings
from starloom_agent.sandbox import levels
from starloom_agent.tools import registry
from starloom_protocol.vocabulary import Profile

EXIT_FAILED, EXIT_REFUSED = 1, 3
_STOP_WITHIN_S = 15.0


class CannotDo(Exception):
    """The command cannot be carried out; the text says why and what to type instead."""


def say(text: str) -> None:
    """Write one line for the owner, with the time, to stderr."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def show(text: str) -> None:
    print(text, flush=True)


# -- join


def ask_profile() -> Policy:
    """Ask the person at this terminal; without a terminal the answer is `observe`."""
    if not sys.stdin.isatty():
        return Policy()
    show("What may the hub do on this device?")
    profiles = list(Profile)
    for number, profile in enumerate(profiles, 1):
        show(f"  {number}  {profile:8} {PROFILE_WORDS[profile]}")
    while True:
        text = input("Number or name [1 observe]: ").strip().lower() or "1"
        chosen = next((p for i, p in enumerate(profiles, 1) if text in (str(i), p.value)), None)
        if chosen is not None:
            break
        show(f"{text} is none of them")
    folders: list[str] = []
    if chosen is not Profile.OBSERVE:
        folders = input("Folders it may read and write, separated by spaces [none]: ").split()
    return policy_for(chosen, folders)


def policy_for(profile: Profile, folders: list[str]) -> Policy:
    """Return the policy of a profile with its folders.

    Raises:
        CannotDo: if `observe` is given folders, or a folder does not exist.
    """
    if profile is Profile.OBSERVE and folders:
        raise CannotDo("the profile observe has no folders; did you mean: --profile files " + " ".join(folders))
    roots = [str(Path(item).expanduser().resolve()) for item in folders]
    for root in roots:
        if not Path(root).is_dir():
            raise CannotDo(f"{root} is not a folder; make it first, or name another")
    return Policy(profile=profile, read=tuple(roots), write=tuple(roots))


def join(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    hub = joining.hub_address(options.url)
    if home.hub.exists() and not options.yes:
        before = home.joined()
        if before.hub != hub:
            raise CannotDo(f"{home.root} has joined {before.hub}; type first: starloom-agent leave, or add --yes")
    given = options.profile
    policy = checked(ask_profile() if given is None else policy_for(Profile(given[0]), given[1:]), home.root)
    home.make()
    identity = load_or_make(home.key)
    name = options.name or platform.node().split(".")[0] or "device"
    asked = joining.Asked(code=options.code, name=name, os=processes.os_name(), profile=policy.profile)
    record = joining.join(hub, asked, identity, say=show)
    home.join(replace_labels(record, options.label))
    write_policy(home.policy, policy)
    show(f"This device has joined {hub} as {record.name}, profile {policy.profile}.")
    here = f" --home {home.root}" if options.home else ""
    show(f"Start it:            starloom-agent run{here}")
    show(f"Start it for ever:   starloom-agent install-service{here}")
    return 0


def replace_labels(record: Joined, labels: list[str] | None) -> Joined:
    return msgspec.structs.replace(record, labels=list(labels or []))


# -- run


def run(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    joined = home.joined()
    home.make()
    with hold_home(home):
        identity = load_or_make(home.key)
        ledger = Ledger(home.ledger)
        try:
            return asyncio.run(_serve(home, joined, Agent(
                home=home,
                address=Address(hub=options.hub or joined.hub, hub_key=joined.hub_key),
                identity=identity,
                ledger=ledger,
                tools=registry.all_tools(),
                modules=dict(registry.module_of()),
                settings=Settings(
                    slots=options.slots,
                    lab=options.lab,
                    labels=tuple(joined.labels) + tuple(options.label or ()),
                    reconnect_most_s=options.reconnect_most_s,
                ),
                say=say,
                sandbox=find_sandbox(),
            )))  # fmt: skip
        finally:
            ledger.close()


def find_sandbox() -> levels.Sandbox:
    """Try what this machine has, and say what came of it."""
    found = levels.find()
    say(f"sandbox {found.level}" + (f" ({found.reason})" if found.reason else ""))
    return found


async def _serve(home: AgentHome, joined: Joined, agent: Agent) -> int:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, agent.stop)
    say(f"starloom-agent {starloom_agent.__version__}, {joined.name}, device {agent.identity.device}, home {home.root}")
    agent.recover()
    ended = await agent.run()
    if ended is not None:
        say(ended.reason)
        return EXIT_REFUSED
    return 0


# -- what is allowed


def _change(home: AgentHome, change: Callable[[Policy], Policy]) -> Policy:
    policy = change(read_policy(home.policy))
    home.make()
    write_policy(home.policy, policy)
    return policy


def grant(options: argparse.Namespace) -> int:
    policy = _change(AgentHome.at(options.home), lambda before: with_grant(before, options.grant, options.what))
    show(f"granted; in force now: {', '.join(sorted(policy.allowed)) or 'nothing beyond observe'}")
    return 0


def ungrant(options: argparse.Namespace) -> int:
    policy = _change(AgentHome.at(options.home), lambda before: without_grant(before, options.grant, options.what))
    show(f"taken away; in force now: {', '.join(sorted(policy.allowed)) or 'nothing beyond observe'}")
    return 0


def policy(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    if options.action == "log":
        ledger = Ledger(home.ledger) if home.ledger.exists() else None
        rows = ledger.decisions(options.last) if ledger else []
        for row in reversed(rows):
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.at_s))
            show(f"{when} {'allowed' if row.allowed else 'REFUSED'} {row.tool} {row.lease}: {row.reason}")
        if not rows:
            show("no call was decided here yet")
        return 0
    if options.action == "profile":
        if not options.value:
            raise CannotDo(f"name one of {', '.join(Profile)}: starloom-agent policy profile work")
        chosen = Profile(options.value)
        _change(home, lambda before: replace(before, profile=chosen))
    current = read_policy(home.policy)
    show(f"# {home.policy}\n# in force: {', '.join(sorted(current.allowed)) or 'nothing beyond observe'}")
    show(to_toml(current).rstrip())
    return 0


# -- state


def status(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    joined = home.joined()
    pid = running_pid(home)
    show(f"device    {joined.name} ({load_or_make(home.key).device})")
    show(f"hub       {joined.hub}")
    show(f"profile   {read_policy(home.policy).profile}")
    show(f"agent     {f'runs, process {pid}' if pid else 'does not run; start it: starloom-agent run'}")
    try:
        told = msgspec.json.decode((home.run / "status.json").read_bytes())
    except FileNotFoundError:
        return 0
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(told["since_s"]))
    show(f"link      {told['state'] if pid else 'stopped'} since {since}: {told['reason']}")
    return 0


def stop(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    pid = running_pid(home)
    if pid is None:
        show("no agent runs with this home")
        return 0
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_WITHIN_S
    while running_pid(home) == pid:
        if time.monotonic() > deadline:
            raise CannotDo(f"process {pid} did not end within {_STOP_WITHIN_S:g} s; end it yourself: kill -9 {pid}")
        time.sleep(0.05)
    show("stopped")
    return 0


def leave(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    stop(options)
    service.remove(home, show)
    for path in (home.hub, home.key, home.policy):
        path.unlink(missing_ok=True)
    for folder in (home.run, home.work):
        shutil.rmtree(folder, ignore_errors=True)
    show(f"This device has left its hub; its key is gone. The ledger and {home.workspace} were kept.")
    return 0


def install_service(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    home.joined()
    service.install(home, show, slots=options.slots)
    return 0


# -- the command line


def _profile(values: list[str]) -> list[str]:
    if values[0] not in list(Profile):
        raise CannotDo(f"{values[0]} is no profile; there are {', '.join(Profile)}")
    return values


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    home = argparse.ArgumentParser(add_help=False)
    home.add_argument("--home", metavar="DIR", help="the agent's home (default ~/.starloom-agent)")
    root = argparse.ArgumentParser(prog="starloom-agent", description="The light Starloom agent of this device.")
    root.add_argument("--version", action="version", version=starloom_agent.__version__)
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, does: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, parents=[home], help=text, description=text)
        made.set_defaults(does=does)
        return made

    command = add("join", join, "join a hub with the code that it shows")
    command.add_argument("url")
    command.add_argument("code")
    command.add_argument("--name", help="what the device is called (default: the computer's name)")
    command.add_argument("--label", action="append", help="a label to select the device by; may be repeated")
    command.add_argument(
        "--profile", nargs="+", metavar=("PROFILE", "DIR"), help=f"{', '.join(Profile)}; then the folders it may use"
    )
    command.add_argument("--yes", action="store_true", help="replace the hub that this home has joined")
    command = add("run", run, "run the agent in the foreground")
    command.add_argument("--hub", metavar="URL", help="reach the same hub by another address")
    command.add_argument("--lab", action="store_true", help="offer the lab's tools too")
    command.add_argument("--label", action="append")
    command.add_argument("--slots", type=_slots, default=4, help="how many calls run at once (default 4)")
    command.add_argument("--reconnect-most-s", type=float, default=60.0, help="longest wait between two tries")
    command = add("install-service", install_service, "start the agent with the computer")
    command.add_argument("--slots", type=_slots, default=4)
    add("status", status, "say what this agent is and how it is connected")
    for name, does, text in (("grant", grant, "allow something more"), ("ungrant", ungrant, "take something away")):
        command = add(name, does, f"{text} on this device")
        command.add_argument("grant", help="files:read, files:write, net:reach, python:run, shell:run, ...")
        command.add_argument("what", nargs="*", help="a folder, a host, or after -- a command; {PATTERN} is a word")
    command = add("policy", policy, "show or change what this device allows; `policy log` shows decisions")
    command.add_argument("action", nargs="?", choices=("show", "log", "profile"), default="show")
    command.add_argument("value", nargs="?", choices=[*Profile])
    command.add_argument("--last", type=int, default=50)
    add("stop", stop, "stop the running agent and everything it runs")
    add("leave", leave, "leave the hub and forget this device's key")
    return root


def _slots(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 4096:
        raise argparse.ArgumentTypeError("a number from 1 to 4096")
    return number


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    options = parser().parse_args(argv)
    try:
        if options.command == "join" and options.profile:
            _profile(options.profile)
        code: int = options.does(options)
    except (CannotDo, NotJoined, PolicyFault, LedgerFault, AlreadyRunning, joining.JoinRefused, ValueError) as fault:
        print(f"starloom-agent: {fault}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_FAILED
    return code
