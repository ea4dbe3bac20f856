"""A device of its own process that asks its owner before it runs one kind of command."""

from __future__ import annotations

import subprocess

from starloom_agent.policy.commands import CommandRule
from starloom_agent.policy.file import write_policy
from starloom_agent.policy.policy import Policy
from starloom_protocol.vocabulary import Profile
from tests.e2e.stack import Stack
from tests.waiting import SLOWER

ECHO = CommandRule.of(["echo", {"word": "[a-z]+"}])


def asking_device(stack: Stack, name: str, answers: str, rule: CommandRule = ECHO) -> subprocess.Popen[bytes]:
    """Let it join and run; `answers` says where its owner answers: `hub` or `here`, on the device."""
    made = stack.client.create("/enrollments", {"preapproved": True, "name": name})
    joining = stack.ask_to_join(made["code"], name)
    assert joining.process.wait(60 * SLOWER) == 0, joining.said()
    write_policy(joining.home / "policy.toml", Policy(profile=Profile.OPERATE, commands=(rule,), answers=answers))
    agent = stack.run_agent(joining)
    stack.until_online(name)
    return agent
