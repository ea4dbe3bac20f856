"""`starloom-agent`: the commands of this device's owner. Every change of the policy happens here, on the device.

Exit codes: 0 done, 1 it did not work, 2 usage, 3 the hub refuses this device for good, 74 a file or the output
could not be written, 141 nobody read the output.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import errno
import itertools
import os
import re
import select
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, NoReturn

import msgspec

import starloom_agent
from starloom_agent.home.directory import DEFAULT_SLOTS, SLOTS_MOST, AgentHome, Joined, NotJoined, named_home
from starloom_agent.home.identity import load_or_make
from starloom_agent.home.locking import AlreadyRunning, running_pid
from starloom_agent.home.status_file import ONLINE, REFUSED, read_status
from starloom_agent.install import background, service, upgrading
from starloom_agent.owner import agents, answering, granting, leaving, mcp, trash
from starloom_agent.owner.join_command import JOIN_CODE, CannotDo, UsageFault, answer_to, join, show
from starloom_agent.policy.approvals import CannotAnswer
from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.courtesy import rule_of
from starloom_agent.policy.file import accept_policy, read_policy, to_toml, write_policy
from starloom_agent.policy.offered import until_offered
from starloom_agent.policy.offers import build, no_runner
from starloom_agent.policy.policy import (
    ANSWERS_HERE,
    ANSWERS_HUB,
    SHELL_RUN,
    Policy,
    with_grant,
    without_grant,
    written_beside,
)
from starloom_agent.policy.trash_rule import trash_rule_of
from starloom_agent.sandbox import levels
from starloom_agent.tools.agents.mcp import MODULE as MCP_MODULE
from starloom_agent.wire import joining
from starloom_agent.wire.connection import Address
from starloom_agent.wire.dialling import BadRoute, Route
from starloom_agent.work import registry
from starloom_agent.work.ledger import Ledger, LedgerFault
from starloom_agent.work.runtime import Agent, Settings
from starloom_agent.work.starting import begun_with_room
from starloom_protocol.text.wording import escaped, quoted
from starloom_protocol.tools.profiles import held_back_words, is_within
from starloom_protocol.vocabulary import Courtesy, Effect, Profile

ANSWERS_HINT = "whose answer counts where this device asks: one typed here, or also a person's at the hub"
EXIT_FAILED, EXIT_USAGE, EXIT_REFUSED, EXIT_INTERRUPTED = 1, 2, service.EXIT_REFUSED, 130
EXIT_OUTPUT_LOST = 74
"""The code that `sysexits.h` has for output that could not be written, as on a full disk."""
_LOST: Final = frozenset({errno.EBADF, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC})
_SHUT: Final = frozenset({errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EPERM, errno.EROFS})
"""Faults of a place that the owner or a disk has shut, rather than of this program."""
EXIT_READER_GONE = 141
"""The code that a shell shows for a program which a closed pipe has ended."""
_CHARS_MOST: Final = 4_096
"""No path of Linux is longer, and no name that a hub takes."""


def say(text: str) -> None:
    """Write one line for the owner, with date, time and zone, to stderr. A log on a full disk ends nothing."""
    with contextlib.suppress(OSError):
        print(f"{time.strftime('%Y-%m-%dT%H:%M:%S%z')} {escaped(text)}", file=sys.stderr, flush=True)


def run(options: argparse.Namespace) -> int:
    reason = no_runner()
    if reason is not None:
        raise CannotDo(f"{reason}: install it there and type the same line")
    home = AgentHome.at(options.home)
    joined = home.joined()
    with begun_with_room(home, say, takeover_s=options.takeover_s) as ledger:
        home.stopped.unlink(missing_ok=True)
        of_servers = mcp.find_tools(home.root, home.workspace, say)
        of_agents = agents.find_agents(home.root, say)
        return asyncio.run(_serve(home, joined, Agent(
            home=home,
            address=_address(options, joined),
            identity=load_or_make(home.key),
            ledger=ledger,
            tools=(*registry.all_tools(), *of_servers, *of_agents),
            modules={
                **registry.module_of(),
                **{tool.name: MCP_MODULE for tool in of_servers},
                **{tool.name: agents.module_of(tool) for tool in of_agents},
            },
            settings=Settings(
                slots=options.slots or home.slots_kept(),
                lab=options.lab,
                unattended=options.unattended,
                reconnect_most_s=options.reconnect_most_s,
            ),
            say=say,
            sandbox=find_sandbox(),
            later_tools=mcp.LaterTools(home.root, of_servers, say).of,
        )))  # fmt: skip


def _address(options: argparse.Namespace, joined: Joined) -> Address:
    # Another address is not reached by the socket of this computer's hub.
    via = "" if options.hub and joined.via.startswith("/") else joined.via
    return Address(options.hub or joined.hub, joined.hub_key, joined.pin, via)


def find_sandbox() -> levels.Sandbox:
    """Try the sandbox layers of this machine, and print the result."""
    sandbox = levels.find()
    say(f"sandbox {sandbox.level}" + (f" ({sandbox.reason})" if sandbox.reason else ""))
    return sandbox


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


def _change(options: argparse.Namespace, change: Callable[[Policy], Policy]) -> Policy:
    home = AgentHome.of_owner(options.home)
    if not home.named(options.home) and not home.hub.exists():
        raise CannotDo(
            f"no agent has joined a hub in {home.root}, so there is nothing to allow there. Name the folder of the "
            "agent that you mean with --home DIR, or set STARLOOM_AGENT_HOME; `starloom why` and Fleet show whole "
            "lines. The agent of `make run` is in .starloom/agents/"
        )
    before = read_policy(home.policy)
    try:
        policy = change(before)
    except PolicyFault as fault:  # a word of the command line, as what was in force is valid
        raise UsageFault(str(fault)) from fault
    home.make()
    write_policy(home.policy, policy)
    if not until_offered(home):
        show("the agent that runs has not told its hub yet; it does so as soon as it can")
    if service.is_stale(home):
        show(
            "the installed service still protects the agent for the policy before this change; type: starloom-agent "
            "install-service"
        )
    return policy


def _show_in_force(home: AgentHome, policy: Policy, title: str, held_title: str = "not in force") -> None:
    """Print the device, the grants that count, and those that its join code forbids, with the way out.

    Several agents may run on one computer, and a line that was pasted may mean another of them.
    """
    most = home.profile_most()
    beyond = sorted(grant for grant in policy.allowed if not is_within(grant, most))
    show(f"{title} on {home.device()}: {', '.join(sorted(policy.allowed - set(beyond))) or 'nothing beyond observe'}")
    if beyond:
        show(f"{held_title}: {', '.join(beyond)}: {held_back_words(most, home.joined().name)}")


def grant(options: argparse.Namespace) -> int:
    home = AgentHome.of_owner(options.home)
    granting.check_grant(home, options.grant, options.what)
    policy = _change(options, lambda old: with_grant(old, options.grant, options.what, options.effects, options.cwd))
    if options.cwd and (folder := written_beside(policy, options.cwd)):
        say(f"The hub may write in {folder}, so it chooses what this command finds in {options.cwd}.")
    _show_in_force(home, policy, "granted; in force now")
    if reason := granting.unnamed(home, options.grant):
        show(reason)
    program = options.what[0] if options.grant == SHELL_RUN and options.what else ""
    if program and "{" not in program and shutil.which(program) is None:
        show(
            f"there is no program {program} in the PATH here, so this grant allows nothing yet. Install it, or grant "
            "one that is here; a script is named by its absolute path"
        )
    return 0


def ungrant(options: argparse.Namespace) -> int:
    policy = _change(options, lambda before: without_grant(before, options.grant, options.what))
    _show_in_force(AgentHome.of_owner(options.home), policy, "taken away; in force now")
    return 0


def _profile_in(words: list[str]) -> Profile:
    """Return the profile that words behind `policy profile` name; a folder among them is no part of a profile.

    Raises:
        UsageFault: they name none, or more.
    """
    names = [word for word in words if word in list(Profile)]
    other = next((word for word in words if word not in list(Profile)), "")
    name = names[0] if names else Profile.FILES
    if os.sep in other or other.startswith(("~", ".")):
        folder = shlex.quote(other)
        raise UsageFault(
            f"a profile names no folder. Type `starloom-agent policy profile {name}`, then `starloom-agent grant "
            f"files:read {folder}`, or files:write where tasks may also write there"
        )
    if other or len(names) != 1:
        wrong = f"{quoted(other)} is no profile; " if other else ""
        raise UsageFault(f"{wrong}name one of {', '.join(Profile)}: starloom-agent policy profile work")
    return Profile(name)


def policy(options: argparse.Namespace) -> int:
    if options.value and options.action != "profile":
        raise UsageFault(
            f"`policy {options.action}` takes no more words; a profile: starloom-agent policy profile work"
        )
    home = AgentHome.of_owner(options.home)
    if options.action == "log":
        ledger = Ledger(home.ledger) if home.ledger.exists() else None
        rows = ledger.decisions(options.last) if ledger else []
        for row in reversed(rows):
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(row.at_s))
            verdict = "allowed" if row.allowed else "ASKED" if row.asked else "REFUSED"
            show(f"{when} {verdict} {row.tool} {row.lease}: {row.reason}")
        if not rows:
            show("no call was decided here yet")
        return 0
    profile = _profile_in(options.value) if options.action == "profile" else None
    courtesy = _typed(options, "when_in_use", "on_battery_below", "quiet_hours")
    bounds = _typed(options, "keep_days", "most_gib")

    def changed(before: Policy) -> Policy:
        return replace(
            before,
            profile=profile or before.profile,
            answers=options.answers or before.answers,
            courtesy=rule_of({**before.courtesy.plain(), **courtesy}),
            trash=trash_rule_of({**before.trash.plain(), **bounds}),
        )

    if options.action == "accept":
        accept_policy(home.policy)
    if profile or options.answers or courtesy or bounds:
        _change(options, changed)
    current = read_policy(home.policy)
    show(f"# {home.policy}")
    _show_in_force(home, current, "# in force", "# not in force")
    show(to_toml(current).rstrip())
    return 0


def _typed(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def version(_options: argparse.Namespace) -> int:
    show(f"{starloom_agent.__version__} build {build()}")
    return 0


def status(options: argparse.Namespace) -> int:
    home = AgentHome.of_owner(options.home)
    joined = home.joined()
    pid = running_pid(home)
    show(f"device    {joined.name} ({load_or_make(home.key).device})")
    show(f"hub       {joined.hub}")
    show(f"profile   {read_policy(home.policy).profile}")
    last_status = read_status(home)
    refused = last_status is not None and last_status.state == REFUSED
    ended = "has ended: the hub refuses this device (see link). Join it again by a new code, or" if refused else ""
    how = f"runs, process {pid}" if pid else f"{ended or 'does not run;'} start it: {home.line_for('start')}"
    show(f"agent     {how}")
    slots = last_status.slots if pid and last_status is not None and last_status.slots else home.slots_kept()
    show(f"at once   {slots} {'task' if slots == 1 else 'tasks'}")
    if last_status is None:
        return 0
    if pid and last_status.pid and last_status.pid != pid:
        show("link      starting; the file of its state is of the agent that ran before")
        return 0
    if pid and last_status.version and last_status.version != starloom_agent.__version__:
        show(f"version   the agent that runs is {last_status.version}, this command {starloom_agent.__version__}")
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(last_status.since_s))
    if pid or last_status.state != ONLINE:
        state = last_status.state if pid or refused else "stopped"
        show(f"link      {state} since {since}: {last_status.reason}")
    else:
        # The agent was killed: nobody wrote down when.
        show(f"link      stopped without a word; it was online from {since}")
    return 0


def start(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    joined = home.joined()
    home.make()
    if options.hub is not None:
        _keep_address(home, joined, options)
    _keep_slots(home, options.slots)
    if options.slots and running_pid(home) is None and service.is_installed(home):
        # The file of the service names the number.
        service.install(home, show, slots=options.slots)
    background.start(home, show, slots=home.slots_kept())
    return 0


def _keep_slots(home: AgentHome, number: int | None) -> None:
    """Keep a number that was named, and say so where the agent that runs has another."""
    if number is None:
        return
    home.keep_slots(number)
    status = read_status(home) if running_pid(home) is not None else None
    if status is not None and status.slots != number:
        line = home.line_for("start")
        show(f"at once: {status.slots} until the next start; type: {home.line_for('stop')} && {line} --slots {number}")


def _keep_address(home: AgentHome, joined: Joined, options: argparse.Namespace) -> None:
    """Know the same hub, whose key stays pinned, by another address from now on; an agent that runs is ended."""
    address = _address(options, joined)
    try:
        hub = joining.hub_address(address.hub)
        Route(hub, address.pin, address.via)
    except (BadRoute, joining.JoinRefused) as error:
        raise UsageFault(str(error)) from error
    home.join(msgspec.structs.replace(joined, hub=hub, via=address.via))
    if running_pid(home) is not None:
        background.stop(home, show)


def stop(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    # Before the end: a hub that keeps a tunnel here must not start it again in between.
    background.note_stopped(home)
    background.stop(home, show)
    return 0


def upgrade(options: argparse.Namespace) -> int:
    wishes = upgrading.UpgradeOptions(
        again=options.again,
        downgrade=options.downgrade,
        dry_run=options.dry_run,
        now=options.now,
        wait_s=options.wait_s,
    )
    upgrading.upgrade(AgentHome.at(options.home), show, wishes)
    return 0


def leave(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    ask = answer_to if sys.stdin.isatty() and not options.keep else lambda _: ""
    leaving.leave(home, show, ask, purge=options.purge)
    return 0


def install_service(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    home.joined()
    home.make()
    if options.slots:
        home.keep_slots(options.slots)
    slots = home.slots_kept()
    ran = running_pid(home) is not None and not service.is_installed(home)
    if ran:
        background.stop(home, show)
    try:
        service.install(home, show, slots=slots)
    except service.ServiceFault:
        if ran:
            background.start(home, show, slots=slots)
        raise
    return 0


def uninstall_service(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    if not service.remove(home, show):
        show(f"no service was installed for {home.root}")
    return 0


def _profile(values: list[str]) -> list[str]:
    if values[0] not in list(Profile):
        raise UsageFault(f"{values[0]} is no profile; there are {', '.join(Profile)}")
    return values


_QUOTED: Final = re.compile(r"'([^']*)'")
_NUMBERS: Final = {"_slots": "number", "_count": "number", "float": "number", "int": "whole number"}
_VALUE: Final = re.compile(rf"invalid ({'|'.join(_NUMBERS)}) value: (.*)")
Does = Callable[[argparse.Namespace], int]
Add = Callable[[str, Does, str], argparse.ArgumentParser]


class _Parser(argparse.ArgumentParser):
    """A parser that answers a misspelt command or choice with the nearest."""

    def error(self, message: str) -> NoReturn:
        """End with what is wrong; argparse lists all choices, of which one was probably meant."""
        message = _VALUE.sub(lambda match: f"{match[2]} is not a {_NUMBERS[match[1]]}", message)
        typed, *choices = _QUOTED.findall(message) if "invalid choice" in message else [""]
        near = [f"profile {typed}"] if "profile" in choices and typed in list(Profile) else []
        near = near or get_close_matches(typed, choices, n=1)
        super().error(f"{message}\nDid you mean '{near[0]}'?" if near else message)


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    home = _Parser(add_help=False)
    home.add_argument("--home", metavar="DIR", help="the agent's home (default ~/.starloom-agent)")
    root = _Parser(prog="starloom-agent", description="The light Starloom agent of this device.")
    root.add_argument("--version", action="version", version=starloom_agent.__version__)
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, does: Does, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, parents=[home], help=text, description=text)
        command.set_defaults(does=does)
        return command

    _add_joining(add)
    _add_running(add)
    _add_granting(add)
    _add_answering(add)
    _add_agents(add)
    _add_trash(add)
    _add_ending(add)
    add("version", version, "print the version, as --version does")
    return root


def _add_joining(add: Add) -> None:
    command = add("join", join, "join a hub with the code that it shows")
    command.add_argument("url", metavar="URL", help="the address of the hub")
    command.add_argument("code", metavar="CODE", help=f"the code that the hub showed; - takes it from {JOIN_CODE}")
    command.add_argument("--name", help="what the device is called (default: the computer's name)")
    command.add_argument("--label", action="append", help="a label that plans select by, if it is approved; repeatable")
    command.add_argument(
        "--profile", nargs="+", metavar=("PROFILE", "DIR"), help=f"{', '.join(Profile)}; then the folders it may use"
    )
    command.add_argument("--folder", action="append", metavar="DIR", help="one more folder for --profile; repeatable")
    command.add_argument("--answers", choices=(ANSWERS_HERE, ANSWERS_HUB), help=ANSWERS_HINT)
    command.add_argument("--pin", default="", help="the public key that the hub's certificate must carry (sha256//...)")
    command.add_argument("--via", default="", metavar="HOST:PORT", help="where a tunnel to the hub ends, or its socket")
    command.add_argument("--start", action="store_true", help="start the agent when it has joined")
    command.add_argument("--yes", action="store_true", help="replace the hub that this home has joined")


def _add_running(add: Add) -> None:
    command = add("run", run, "run the agent in the foreground")
    command.add_argument("--hub", metavar="URL", help="reach the same hub by another address")
    command.add_argument("--lab", action="store_true", help="offer the lab's tools too")
    hint = "nobody is before this device: where no desktop takes a notice, its log shows it"
    command.add_argument("--unattended", action="store_true", help=hint)
    command.add_argument(
        "--slots", type=_slots, metavar="N", help="how many calls run at once, this time (default: the number kept)"
    )
    hint = "how long to wait for the end of another agent of this home"
    command.add_argument("--takeover-s", type=float, default=0.0, metavar="S", help=hint)
    command.add_argument(
        "--reconnect-most-s", type=float, default=60.0, metavar="S", help="longest wait between two tries"
    )
    for name, does, text in (
        ("start", start, "start the agent in the background"),
        ("install-service", install_service, "start the agent now and with the computer"),
    ):
        command = add(name, does, text)
        hint = f"how many calls run at once, kept for later starts (at first {DEFAULT_SLOTS})"
        command.add_argument("--slots", type=_slots, metavar="N", help=hint)
        if name == "start":
            hint = "know the same hub by another address from now on"
            command.add_argument("--hub", metavar="URL", default=None, help=hint)
    add("uninstall-service", uninstall_service, "no longer start the agent with the computer")
    add("status", status, "say what this agent is and how it is connected")


def _add_granting(add: Add) -> None:
    for name, does, text in (("grant", grant, "allow something more"), ("ungrant", ungrant, "take something away")):
        command = add(name, does, f"{text} on this device")
        command.add_argument(
            "grant", metavar="GRANT", help="files:read, files:write, net:reach, python:run, shell:run, ..."
        )
        command.add_argument(
            "what", metavar="WHAT", nargs="*", help="a folder, a host, or after -- a command; {PATTERN} is a word"
        )
        if name == "grant":
            hint = "what the command may do at most, such as read or read,write; without it you are asked each time"
            command.add_argument("--effects", type=_effects, default=[], help=hint)
            where = "the folder in which the command runs; without it, an empty one; another one asks you each time"
            command.add_argument("--cwd", metavar="DIR", default=None, help=where)
    hint = "show or change what this device allows; `log` shows decisions, `accept` takes over an edited file"
    command = add("policy", policy, hint)
    command.add_argument(
        "action", nargs="?", choices=("show", "log", "profile", "accept"), default="show", help="the default is show"
    )
    command.add_argument("value", nargs="*", metavar="PROFILE", help=f"behind profile: {', '.join(Profile)}")
    command.add_argument("--answers", choices=(ANSWERS_HERE, ANSWERS_HUB), help=ANSWERS_HINT)
    in_use = "new work while somebody sits here: any, only what no other device can do, or none"
    command.add_argument("--when-in-use", choices=[one.value for one in Courtesy], default=None, help=in_use)
    command.add_argument("--on-battery-below", metavar="PERCENT", default=None, help="no new work below; 0: always")
    command.add_argument("--quiet-hours", metavar="22:00-07:00", default=None, help="no new work then; off: none")
    keep = "how long files stay in the trash of a folder (30 days)"
    command.add_argument("--trash-keep-days", dest="keep_days", metavar="N", default=None, help=keep)
    most = "how much each trash may hold; 0: 10 GiB or 5 %% of the disk, whichever is more"
    command.add_argument("--trash-most-gib", dest="most_gib", metavar="N", default=None, help=most)
    command.add_argument("--last", type=_count, default=50, metavar="N", help="with log: so many decisions")


def _add_answering(add: Add) -> None:
    add(
        "approvals",
        lambda typed: answering.approvals(AgentHome.of_owner(typed.home), show),
        "list calls that wait for you",
    )
    command = add(
        "approve", lambda typed: answering.approve(AgentHome.of_owner(typed.home), typed, show), "allow one of them"
    )
    command.add_argument("id", metavar="ID", help="the call, as `approvals` lists it")
    command.add_argument("--always", action="store_true", help="from now on, with exactly these arguments")
    command = add(
        "deny", lambda typed: answering.deny(AgentHome.of_owner(typed.home), typed, show), "refuse one of them"
    )
    command.add_argument("id", metavar="ID", help="the call, as `approvals` lists it")
    command.add_argument("--reason", default="", help="the reason, for the person who asked")


def _add_agents(add: Add) -> None:
    hint = "`ls` lists the agents of agents.toml, `check` starts each of them for a greeting"
    command = add("agents", lambda options: agents.agents(AgentHome.of_owner(options.home), options, show), hint)
    command.add_argument("action", nargs="?", choices=("ls", "check"), default="ls", help="the default is ls")
    command.add_argument("name", metavar="NAME", nargs="?", help="only this agent")


def _add_ending(add: Add) -> None:
    command = add("upgrade", upgrade, "install the agent that the hub hands out, and go back if it does not work")
    command.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    command.add_argument("--again", action="store_true", help="also if this version is installed already")
    command.add_argument("--downgrade", action="store_true", help="also if the hub's version is older")
    command.add_argument("--now", action="store_true", help="end the calls that run instead of waiting for them")
    hint = "how long to wait for a moment without calls (default %(default)g)"
    command.add_argument("--wait-s", type=float, default=600.0, metavar="S", help=hint)
    add("stop", stop, "stop the running agent and everything it runs")
    command = add("leave", leave, "tell the hub that this device leaves, and forget its key")
    only = command.add_mutually_exclusive_group()
    only.add_argument("--purge", action="store_true", help="remove venv, ledger and all else of the agent, unasked")
    only.add_argument("--keep", action="store_true", help="keep them, unasked")


def _add_trash(add: Add) -> None:
    def carry_out(options: argparse.Namespace) -> int:
        ask = answer_to if sys.stdin.isatty() else None
        return trash.trash(AgentHome.of_owner(options.home), options, show, ask)

    hint = "list the trash of each granted folder; `empty` removes it for good, `log` says what was emptied"
    command = add("trash", carry_out, hint)
    command.add_argument("action", nargs="?", choices=("ls", "empty", "log"), default="ls", help="the default is ls")
    command.add_argument("tickets", nargs="*", metavar="TICKET", help="only these")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.add_argument("--yes", action="store_true", help="remove them unasked")


def _effects(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in list(Effect):
            near = get_close_matches(name, list(Effect), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise argparse.ArgumentTypeError(f"{quoted(name)} is none of {', '.join(Effect)}{hint}")
    return names


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("a number from 1 on")
    return number


def _slots(text: str) -> int:
    number = int(text)
    if not 1 <= number <= SLOTS_MOST:
        raise argparse.ArgumentTypeError(f"a number from 1 to {SLOTS_MOST}")
    return number


_MAKE_A_HOME: Final = frozenset({"join", "grant", "policy"})
"""Commands that may prepare the home of an agent which has not joined yet."""
_FAULTS = (
    agents.AgentsFault,
    CannotAnswer,
    CannotDo,
    NotJoined,
    PolicyFault,
    LedgerFault,
    AlreadyRunning,
    joining.JoinRefused,
    background.AgentControlFault,
    service.ServiceFault,
    trash.TrashFault,
    upgrading.CannotUpgrade,
)


def _parsed(argv: list[str]) -> argparse.Namespace:
    """Return the options; of `grant` argparse takes no words behind an option that follows the first one.

    Of `join --profile files DIR URL CODE` it takes the address and the code for folders, so they go first.
    """
    if argv[:1] == ["join"] and "--profile" in argv:
        first = argv.index("--profile") + 1
        profile_words = itertools.takewhile(lambda word: not word.startswith("--"), argv[first:])
        at = next((at for at, word in enumerate(profile_words, first) if "://" in word), 0)
        if at:
            argv = ["join", *argv[at : at + 2], *argv[1:at], *argv[at + 2 :]]
    at = argv.index("--") if "--" in argv else len(argv)
    _refuse_unusable(argv[:at])
    takes_words = argv[:1] in (["grant"], ["ungrant"])
    options, further = parser().parse_known_args(argv[:at] if takes_words else argv)
    if further and (not takes_words or any(word.startswith("-") for word in further)):
        parser().error(f"unrecognized arguments: {' '.join(further)}")
    if takes_words:
        options.what += [*further, *argv[at + 1 :]]
    return options


def _refuse_unusable(words: list[str]) -> None:
    """End with the first word that nobody can mean: an empty one, as of an unset variable, or a pasted file."""
    for before, word in itertools.pairwise(["", *words]):
        option, equals, value = word.partition("=") if word.startswith("--") else (before, "=", word)
        control = next((one for one in value if not one.isprintable() and one.isascii()), "")
        if equals and not value.strip() and option != "--quiet-hours":
            fault = "is empty"
        elif len(value) > _CHARS_MOST:
            fault = f"has {len(value):,} characters, and at most {_CHARS_MOST:,} are read"
        elif control and option != "--reason":
            fault = f"holds a control character (U+{ord(control):04X})"
        else:
            continue
        parser().error(f"{f'the word behind {option}' if option.startswith('-') else f'a word of {words[0]}'} {fault}")


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code; one whose output nobody reads any more ends quietly."""
    if sys.stdout is None:  # closed by the caller, as with `>&-`; a file in its place refuses each write as that does
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    try:
        try:
            return _carried_out(argv)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        if not hasattr(select, "poll") or not _reader_is_gone():
            raise
        return EXIT_READER_GONE
    except OSError as error:
        if error.errno in _SHUT and error.filename is not None:
            print(f"starloom-agent: {os.fsdecode(error.filename)}: {error.strerror}", file=sys.stderr)
            return EXIT_FAILED
        if error.filename is not None or error.errno not in _LOST:
            raise
        print(f"starloom-agent: a file, or the output, could not be written: {error.strerror}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # drops the rest
        return EXIT_OUTPUT_LOST


def _reader_is_gone() -> bool:
    """Tell whether the reader of the output closed the pipe, and drop the rest of the output then."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), select.POLLOUT)
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        return False
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return True


def _check_home(options: argparse.Namespace) -> None:
    """Check the home that was named.

    Raises:
        UsageFault: it cannot be one, or the command is about an agent and there is no such folder.
    """
    try:
        folder = named_home(getattr(options, "home", None))
    except RuntimeError:  # `~name` of a user that there is not
        raise UsageFault(f"{options.home} begins with the home folder of a user that is not here") from None
    if folder is None or folder.is_dir():
        return
    if folder.exists():
        raise UsageFault(f"{folder} is a file, and the home of an agent is a folder")
    if options.command not in _MAKE_A_HOME:
        raise UsageFault(f"there is no folder {folder}, so no agent is there. Name the home of the one that you mean")


def _carried_out(argv: list[str] | None) -> int:
    options = _parsed(sys.argv[1:] if argv is None else argv)
    try:
        _check_home(options)
        if options.command == "join" and options.profile:
            _profile(options.profile)
        code: int = options.does(options)
    except (UsageFault, granting.NotMeant, BadRoute) as fault:
        print(f"starloom-agent: {fault}", file=sys.stderr)
        return EXIT_USAGE
    except (*_FAULTS, ValueError) as fault:
        print(f"starloom-agent: {fault}", file=sys.stderr)
        return EXIT_FAILED
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code
