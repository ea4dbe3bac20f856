"""`lab.echo`: gives back its arguments in the agent's own process; the lab and the bench measure the engine with it."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict

from starloom_agent.toolkit.interface import SECRET, Args, Tool, ToolContext
from starloom_protocol.vocabulary import Repeatability


class Echo(Args, frozen=True, kw_only=True):
    """`value` comes back as it is; `inputs` of the task may be named `value` as well."""

    value: Annotated[Any, SECRET] = None


class Echoed(TypedDict):
    value: Any


def echo(_context: ToolContext, args: Echo) -> Echoed:
    return {"value": args.value}


TOOLS = (
    Tool(
        name="lab.echo",
        title="Give back the value",
        args=Echo,
        run=echo,
        effects=(),
        repeatability=Repeatability.PURE,
        in_process=True,
        lab_only=True,
    ),
)
