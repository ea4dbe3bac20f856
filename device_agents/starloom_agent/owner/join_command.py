"""The command `starloom-agent join` at a terminal: asks for the profile, shows the words, starts the agent."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec

import starloom_agent
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.identity import load_or_make
from starloom_agent.home.locking import running_pid
from starloom_agent.home.status_file import read_status
from starloom_agent.install import background, linking, service, upgrading
from starloom_agent.platforms import processes
from starloom_agent.policy.file import checked, write_policy
from starloom_agent.policy.policy import ANSWERS_HUB, PROFILE_WORDS, Policy
from starloom_agent.wire import joining, signed_requests
from starloom_agent.wire.dialling import Route
from starloom_protocol.vocabulary import Profile

JOIN_CODE = "STARLOOM_JOIN_CODE"
"""The variable with the code if the command line has `-`, because other users of a computer can read command lines."""


class CannotDo(Exception):
    """The command cannot be carried out; the text says why and what to type instead."""


class UsageFault(CannotDo):
    """The command line itself is wrong; the text says what to type instead."""


def show(text: str) -> None:
    print(text, flush=True)


def answer_to(question: str) -> str:
    """Ask the person at this terminal; the end of the input (Ctrl-D) is an empty answer."""
    try:
        return input(question)
    except EOFError:
        show("")
        return ""


def ask_profile() -> Policy:
    """Ask the person at this terminal; without a terminal the answer is `observe`.

    Raises:
        CannotDo: the input ended (Ctrl-D) before the person chose a profile.
    """
    if not sys.stdin.isatty():
        return Policy()
    try:
        return _ask_profile()
    except EOFError:
        raise CannotDo("the input ended before you said what the hub may do; nothing was joined") from None


def _ask_profile() -> Policy:
    show("What may the hub do on this device?")
    profiles = list(Profile)
    for number, profile in enumerate(profiles, 1):
        show(f"  {number}  {profile:8} {PROFILE_WORDS[profile]}")
    while True:
        text = input("Number or name [1 observe]: ").strip().lower() or "1"
        answer = next((p for i, p in enumerate(profiles, 1) if text in (str(i), p.value)), None)
        if answer is not None:
            break
        show(f"{text} is none of them")
    policy = policy_for(answer, []) if answer is Profile.OBSERVE else _ask_folders(answer)
    if answer is Profile.OPERATE:
        show("Before a change it asks you here. May a person who is signed in at the hub answer as well?")
        if input("[y/N]: ").strip().lower() in ("y", "yes"):
            policy = replace(policy, answers=ANSWERS_HUB)
    return policy


def _ask_folders(profile: Profile) -> Policy:
    """Ask for folders until each of them is there."""
    while True:
        text = input("Folders it may read and write, separated by spaces; quote one with a space in it [none]: ")
        try:
            return policy_for(profile, shlex.split(text))
        except (UsageFault, ValueError) as fault:
            show(f"{fault}")


def policy_for(profile: Profile, folders: list[str]) -> Policy:
    """Return the policy of a profile with its folders.

    Raises:
        UsageFault: if `observe` is given folders, or a folder does not exist.
    """
    if profile is Profile.OBSERVE and folders:
        raise UsageFault("the profile observe has no folders; did you mean: --profile files " + " ".join(folders))
    roots = [str(Path(item).expanduser().resolve()) for item in folders]
    for root in roots:
        if not Path(root).is_dir():
            raise UsageFault(f"{root} is not a folder; make it first, or name another")
    return Policy(profile=profile, read=tuple(roots), write=tuple(roots))


def join(options: argparse.Namespace) -> int:
    home = AgentHome.at(options.home)
    hub = joining.hub_address(options.url)
    route = Route(hub, options.pin, options.via)
    code = os.environ.pop(JOIN_CODE, "") if options.code == "-" else options.code
    if not code:
        raise UsageFault(f"the code - means that it stands in the variable {JOIN_CODE}, which is not set")
    joined_key = ""
    if home.hub.exists() and not options.yes:
        before = home.joined()
        if before.hub != hub:
            raise CannotDo(f"{home.root} has joined {before.hub}; type first: starloom-agent leave, or add --yes")
        joined_key = before.hub_key
        current = _current_record(home, msgspec.structs.replace(before, pin=options.pin or before.pin, via=options.via))
        if current is not None:
            return _keep_joined(home, current, options)
    profile, folders = options.profile, options.folder or []
    if profile is None and folders:
        raise UsageFault("folders belong to a profile; add --profile files")
    policy = ask_profile() if profile is None else policy_for(Profile(profile[0]), [*profile[1:], *folders])
    if options.answers:
        policy = replace(policy, answers=options.answers)
    name = options.name or platform.node().split(".")[0] or "device"
    labels = tuple(options.label or ())
    request = joining.Asked(code=code, name=name, os=processes.os_name(), profile=policy.profile, labels=labels)
    record = enter(home, route, request, policy, say=show, joined_key=joined_key)
    show(f"This device has joined {hub} as {record.name}, profile {policy.profile}.")
    link = linking.link_program()
    show(f"Its commands are typed so:    {home.line_for('status')}{f' (or starloom-agent, by {link})' if link else ''}")
    if options.start:
        keep_running(home)
    else:
        show(f"Start it:                     {home.line_for('start')}")
        show(f"Start it with the computer:   {home.line_for('install-service')}")
    return 0


def _current_record(home: AgentHome, joined: Joined) -> Joined | None:
    """Return the record of a device that its hub, proved by its key, still knows; None where that hub has let it go.

    Raises:
        JoinRefused: the hub is silent, or something else answers at its address.
    """
    try:
        offered = signed_requests.release(joined, load_or_make(home.key))
    except joining.JoinRefused as fault:
        if isinstance(fault, joining.HubSilent) or not fault.code:
            raise
        return None
    return msgspec.structs.replace(joined, name=offered.name or joined.name)


def _keep_joined(home: AgentHome, joined: Joined, options: argparse.Namespace) -> int:
    """Leave a device that has joined as it is, and have the agent that is installed now run in place of the one before.

    Raises:
        background.AgentControlFault: the agent does not end, or does not start.
        CannotUpgrade: its calls do not end in time.
    """
    running, status, now = running_pid(home), read_status(home), starloom_agent.__version__
    before = status.version if status is not None else ""
    show(f"This device has joined {joined.hub} as {joined.name} already; its key, name, folders and policy stay.")
    if options.profile or options.folder or options.answers:
        show(f"To change what the hub may do here: {home.line_for('policy')} --help")
    if options.name not in (None, joined.name):
        show(f"To rename it, type at the hub: starloom device rename {joined.name} {shlex.quote(options.name)}")
    home.join(joined)
    show(f"Its agent is upgraded from {before} to {now}." if before not in ("", now) else f"Its agent is {now}.")
    if not options.start:
        again = f"{home.line_for('stop')} && {home.line_for('start')}" if running else home.line_for("start")
        show(f"Start it{' again' if running else ''}: {again}")
        return 0
    if running and _is_of_these_packages(home):
        show(f"It runs already, process {running}.")
        return 0
    if running:
        then = "starloom-agent stop && starloom-agent start"
        upgrading.wait_for_calls(home, joined.name, show, upgrading.UpgradeOptions().wait_s, then=then)
        background.stop(home, show)
    slots = status.slots if status is not None and status.slots and not home.slots.exists() else home.slots_kept()
    background.start(home, show, slots=slots)
    return 0


def _is_of_these_packages(home: AgentHome) -> bool:
    """Whether the agent that runs was started after the packages of this environment were installed."""
    installed = Path(starloom_agent.__file__).stat().st_mtime
    return (home.run / "agent.pid").stat().st_mtime > installed


def enter(
    home: AgentHome,
    route: Route,
    request: joining.Asked,
    policy: Policy,
    *,
    say: Callable[[str], None],
    joined_key: str = "",
) -> Joined:
    """Make a home, let its key join the hub, and keep both the record and the policy there.

    `joined_key` is the key of the only hub that may answer, if this home has joined one.

    Raises:
        JoinRefused: by the hub, with its reason.
        PolicyFault: the policy would open the agent's own files; nothing is made then.
    """
    checked(policy, home.root)
    home.make()
    record = joining.join(
        route, request, load_or_make(home.key), say=say, joined_key=joined_key, keep_limit=home.keep_limit
    )
    if home.hub.exists() and not joined_key:
        # A cut before both are written leaves neither hub with what the owner allowed to the other one.
        write_policy(home.policy, Policy())
    home.join(record)
    write_policy(home.policy, policy)
    return record


def keep_running(home: AgentHome) -> None:
    """Start the agent now; on a terminal offer to start it with the computer."""
    if sys.stdin.isatty():
        answer = answer_to("Start it with this computer from now on? [Y/n]: ").strip().lower()
        if answer in ("", "y", "yes"):
            try:
                service.install(home, show, slots=home.slots_kept())
            except service.ServiceFault as fault:
                show(str(fault))
            else:
                return
    background.start(home, show, slots=home.slots_kept())
    show(f"It runs until this computer stops. To start it with the computer: {home.line_for('install-service')}")
