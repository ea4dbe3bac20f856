"""`starloom-agent approvals | approve | deny`: the owner's answers, on the device, to questions before a call."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace

from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.approvals import Ask, Asks
from starloom_agent.policy.file import read_policy, write_policy
from starloom_agent.policy.policy import ANSWERS_HUB, Always

Show = Callable[[str], None]


def approvals(home: AgentHome, show: Show) -> int:
    """List the questions that wait for an answer here."""
    waiting = Asks(home.asks).open()
    for ask in waiting:
        show(f"{ask.id}  {_question(ask)}  (for {ask.task}, asked {_when(ask.asked_s)})")
    if waiting:
        show("Allow one once: starloom-agent approve ID; for good, with these arguments: add --always; else deny ID")
    else:
        show(f"nothing waits for an answer on {home.device()}")
    if read_policy(home.policy).answers == ANSWERS_HUB:
        show("A person at the hub may answer too; to end that: starloom-agent policy --answers here")
    return 0


def approve(home: AgentHome, options: argparse.Namespace, show: Show) -> int:
    """Allow one call, or with `--always` this tool with these arguments for good."""
    ask = Asks(home.asks).answer(options.id, "allow")
    if options.always:
        policy = read_policy(home.policy)
        action = Always(ask.tool, ask.args)
        write_policy(home.policy, replace(policy, always=tuple(dict.fromkeys((*policy.always, action)))))
    show(f"allowed {'from now on' if options.always else 'once'} on {home.device()}: {_question(ask)}")
    return 0


def deny(home: AgentHome, options: argparse.Namespace, show: Show) -> int:
    """Refuse one call; the reason goes back to the author of the request."""
    ask = Asks(home.asks).answer(options.id, "deny", options.reason)
    show(f"denied on {home.device()}: {_question(ask)}")
    return 0


def _question(ask: Ask) -> str:
    return f"{ask.tool} {ask.args}"


def _when(at_s: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))
