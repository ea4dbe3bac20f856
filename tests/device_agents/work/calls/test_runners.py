"""The runners of an agent: none is lost while others are taken."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from starloom_agent.work.calls.runners import RunnerLink, Runners


class Link:
    """Stands in place of a runner without a call."""

    gone = False
    reuse = ""


class Zygote:
    """A zygote that goes on."""

    def __init__(self) -> None:
        self.process = self
        self.over = asyncio.Event()

    async def wait(self) -> None:
        await self.over.wait()


async def test_a_call_that_begins_during_the_trial_loses_no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner of the trial was put into a list that nobody had any more, and stayed to the end of the agent."""
    runners, zygote = Runners(), Zygote()
    trial, executed = cast(RunnerLink, Link()), cast(RunnerLink, Link())

    async def run_one() -> RunnerLink:
        return executed

    async def forked(_zygote: Any) -> RunnerLink:
        assert await runners.take() is executed
        return trial

    monkeypatch.setattr(runners, "_executed", run_one)
    monkeypatch.setattr(runners, "_forked", forked)
    serving = asyncio.create_task(runners._serve_with(cast(Any, zygote)))
    await runners.warmed()
    assert await runners.take() is trial
    zygote.over.set()
    await serving
