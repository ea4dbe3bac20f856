"""What the agent and the runner of one tool call say to each other: lines of JSON on the runner's stdin and stdout.

The first line in is the `CallSpec`; after it come `Order`s. Out come a `Grouped`, any number of `Said`, and one
`Ended` as the last line. Clock readings are those of `platforms.processes.awake_clock_s`, the same in all processes
of one machine.
"""

from __future__ import annotations

import msgspec

from starloom_protocol.entities import FileOut
from starloom_protocol.frames import DispatchInput
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome

OUTPUT_BYTES_MAX = 10 * 1024 * 1024
TAIL_BYTES = 4 * 1024


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What every line is."""


class CallSpec(Line, frozen=True, kw_only=True):
    """One call. `args` is canonical text; `fence_at` None: no fence; `effectless`: a failure leaves no traces; `cage`
    as in `ToolContext`; `confined`, `reads` and `told` as in `Tool`; `memory_bytes_max` is for all processes of the
    call, 0 is no limit."""

    tool: str
    module: str
    args: str
    fence: str
    workdir: str
    connection_file: str
    start_to_close_s: float
    effectless: bool
    cage: str = ""
    confined: bool = False
    fence_at: float | None = None
    files_out: list[FileOut] = []
    hosts: list[str] = []
    lab: bool = False
    inputs: list[DispatchInput] = []
    memory_bytes_max: int = 0
    network: bool = False
    notes: str = ""
    read: list[str] = []
    reads: list[str] = []
    secrets: dict[str, str] = {}
    told: str = ""
    wants: list[str] = []
    write: list[str] = []


class Order(Line, frozen=True, kw_only=True):
    """Move the fence, or stop: `stop` is why, and the call then ends without a result."""

    fence_at: float | None = None
    stop: str = ""


class Grouped(Line, frozen=True, kw_only=True, tag_field="k", tag="group"):
    """The process group of the tool, and the mark that tells its leader from a later process of that number."""

    group: int
    mark: str


class Said(Line, frozen=True, kw_only=True, tag_field="k", tag="said"):
    """Output or progress; `offset` counts the bytes of text before it, so that what was dropped is visible."""

    stream: str = ""
    offset: int = 0
    text: str = ""
    done_bytes: int = 0
    fraction_1000: int = -1
    note: str = ""


class Detached(Line, frozen=True, kw_only=True):
    """A program that a call left running on purpose; `token` is in the environment of all that it starts.

    `kind` names what it is for: of each kind the agent keeps one, for `keep_s`. Without it the program is on its own.
    """

    pid: int
    mark: str
    token: str
    kind: str = ""
    keep_s: int = 0


class Ended(Line, frozen=True, kw_only=True, tag_field="k", tag="end"):
    """How the call ended. `stopped` (cancel, gone, fence, ...) means that it was ended from outside: no result."""

    outcome: Outcome
    artifact: str | None = None
    bytes: int = 0
    code: Code | None = None
    detail: str = ""
    effect: EffectSeen = EffectSeen.NONE
    facts: dict[str, str] = {}
    facts_too_big: dict[str, int] = {}
    stopped: str = ""
    tail: str = ""
    value: str | None = None
    detached: list[Detached] = []


RunnerLine = Grouped | Said | Ended

encode = msgspec.json.Encoder().encode
decode_line = msgspec.json.Decoder(RunnerLine).decode
