"""The arguments of tools that are ages, moments or durations, read by the protocol's reader."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, TypeAlias

import msgspec

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.tools import ages
from starloom_protocol.vocabulary import Code

_Seconds: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Age: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"format": ages.AGE})] | _Seconds
Duration: TypeAlias = Annotated[str, msgspec.Meta(extra_json_schema={"format": ages.DURATION})] | _Seconds


def seconds_of(value: str | int) -> int:
    """Return whole seconds.

    Raises:
        ToolFailed: `bad_arguments` for anything that is not a duration.
    """
    try:
        return ages.seconds_of(value)
    except ValueError as error:
        raise ToolFailed(Code.BAD_ARGUMENTS, str(error), effect=False) from error


def begin_of(since: str | int, now: datetime) -> float:
    """Return the moment that `since` means, in seconds since 1970, as `ages.begin_of`.

    Raises:
        ToolFailed: `bad_arguments`.
    """
    try:
        return ages.begin_of(since, now)
    except ValueError as error:
        raise ToolFailed(Code.BAD_ARGUMENTS, str(error), effect=False) from error
