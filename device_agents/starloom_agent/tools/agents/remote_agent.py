"""`agent.NAME` for an agent of others that is reached over the network by A2A: one piece of work, its answer, its end.

Each tool is made from an entry with `url` in the owner's `agents.toml`. The words of the work leave the device, so the
effect `reach` is always there; the rest is the owner's word. Its answer is data and never an instruction.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final, NotRequired

import msgspec

from starloom_agent.toolkit.clients.a2a.card import read_card
from starloom_agent.toolkit.clients.a2a.messages import TaskFault
from starloom_agent.toolkit.clients.a2a.session import A2aSession
from starloom_agent.toolkit.clients.acp.record import one_line
from starloom_agent.toolkit.clients.http_streams import AddressFault
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named
from starloom_protocol.vocabulary import Code, Effect, Repeatability

MODULE: Final = __name__.partition(".tools.")[2]
"""The name by which the process of a call finds this module among the tools."""


class RemoteAgentSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that the process of a call has to know of an agent; `returns` is a JSON schema."""

    name: str
    title: str
    url: str
    headers: dict[str, str]
    effects: list[Effect]
    silent_s: float
    returns: str


class RemoteWork(Args, frozen=True, kw_only=True):
    """`text` is the work in words. After `timeout_s` the call fails, and the agent hears that it is to stop."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=32_768)]
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 1800
    device_name: str = ""


class RemoteDone(Named):
    """`text` and `data` are what the agent gave back. `stop` is its state at the end, `questions` counts those that it
    asked, `refused` those that a person said no to."""

    complete: bool
    data: NotRequired[list[Any]]
    questions: int
    refused: int
    stop: str
    text: str


class _Stopped(BaseException):
    """The call was ended from outside. No handler of faults takes it for one."""


def tool_of(settings: RemoteAgentSettings) -> Tool:
    """Return the tool as the agent of this device offers it and as its process runs it."""
    name = f"agent.{settings.name}"
    return Tool(
        name=name,
        title=settings.title,
        args=RemoteWork,
        run=_runner(settings),
        effects=tuple(settings.effects),
        repeatability=Repeatability.NEVER,
        grant=f"agent:{settings.name}",
        returns=settings.returns,
        settings=msgspec.json.encode(settings).decode(),
        asks_within=(name,),
        hears=True,
    )


def tool_from(settings: str) -> Tool:
    """Return the tool that `Tool.settings` describes: the form that a tool process is given."""
    return tool_of(msgspec.json.decode(settings, type=RemoteAgentSettings))


def _runner(settings: RemoteAgentSettings) -> Callable[[ToolContext, Any], Any]:
    def run(context: ToolContext, args: RemoteWork) -> RemoteDone:
        try:
            session = _session(settings, context, args)
            with _cancelling(session):
                session.work(args.text)
        except (AddressFault, TaskFault) as fault:
            raise ToolFailed(Code.TOOL_FAILED, f"the agent {settings.name}: {fault}") from fault
        task = session.task
        if task.state != "COMPLETED" and not session.refused:
            words = one_line(task.words or "it gave no reason", 500)
            raise ToolFailed(Code.TOOL_FAILED, f"the agent {settings.name} ended with {task.state.lower()}: {words}")
        done: RemoteDone = {
            "complete": task.is_complete,
            "questions": session.questions,
            "refused": session.refused,
            "stop": "refused" if session.refused else "completed",
            "text": context.hidden.text(task.text or task.words),
        }
        if task.data:
            done["data"] = task.data
        if args.device_name:
            done["device"] = args.device_name
        return done

    return run


def _session(settings: RemoteAgentSettings, context: ToolContext, args: RemoteWork) -> A2aSession:
    return A2aSession(
        read_card(settings.url, settings.headers),
        settings.headers,
        name=f"agent.{settings.name}",
        attempt=context.workdir.name,
        permits=context.permits,
        tell=lambda line: context.log(one_line(line)),
        all_s=args.timeout_s,
        silent_s=settings.silent_s,
    )


@contextmanager
def _cancelling(session: A2aSession) -> Iterator[None]:
    """Tell the agent to stop when the call fails or is ended; a process that is killed at once tells nobody."""

    def stop(*_: object) -> None:
        raise _Stopped

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        yield
    except BaseException:
        session.cancel()
        raise
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


TOOLS: tuple[Tool, ...] = ()
"""None of its own: each tool is made from an entry of `agents.toml` (`tool_of`)."""
