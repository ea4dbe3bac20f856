"""The messages between an agent, the runner of a call and the process of its tool: lines of JSON.

Agent and runner share a socket: `Begin` (with the descriptors of the call) and `Order`s go in; `Ready` once, and for
each call `Grouped`, at times `Left`, and `Over` come out. The tool's process shares another socket with the agent: it
reads the `CallSpec` there and answers with any number of `Said` and one `Ended`; each `Asking` gets a `Permit`, each
`Listening` a `Heard`. So no runner ever holds the arguments or the result of a call. Clock readings are those of
`platforms.processes.awake_clock_s`, the same in all processes of one machine.
"""

from __future__ import annotations

import msgspec

from starloom_protocol.records.entities import FileOut
from starloom_protocol.vocabulary import Code, EffectSeen, Outcome
from starloom_protocol.wire.frames import DispatchInput

OUTPUT_BYTES_MAX = 10 * 1024 * 1024
TAIL_BYTES = 4 * 1024
"""The last words of a call stand in its result, which is kept in the state of the hub."""
ZYGOTE_READY = b"+"
ZYGOTE_FORK = b"f"
KEEPS_STATUS = 64
"""The exit status of a tool's process that left a program running on purpose."""


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The base of every line."""


class CallSpec(Line, frozen=True, kw_only=True):
    """One call. `args` is canonical text; `fence_at` None: no fence; `effectless`: a failure leaves no traces; `cage`
    as in `ToolContext`; `confined`, `reads` and `settings` as in `Tool`; `memory_bytes_max` is for all processes of the
    call, 0 is no limit. `reuse` as in `Begin`. `session` is the socket of a kept session, as in `ToolContext`.
    `environment` holds all variables of the tool's process, beside its fence. `journal` is the file in which the
    attempts of this task note their changes of files, empty where none is kept."""

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
    environment: dict[str, str] = {}
    fence_at: float | None = None
    clock_ahead_s: int = 0
    files_out: list[FileOut] = []
    hosts: list[str] = []
    inputs: list[DispatchInput] = []
    journal: str = ""
    memory_bytes_max: int = 0
    network: bool = False
    notes: str = ""
    read: list[str] = []
    reads: list[str] = []
    reuse: str = ""
    secrets: dict[str, str] = {}
    session: str = ""
    settings: str = ""
    trash_most_gib: int = 0
    unattended: bool = False
    wants: list[str] = []
    write: list[str] = []


class Begin(Line, frozen=True, kw_only=True, tag_field="k", tag="begin"):
    """One call for a runner. With it come the tool's end of its socket and the two pipes for its output.

    Calls of the same `reuse` may follow each other in one process; empty: the call has a process of its own.
    """

    start_to_close_s: float
    fence_at: float | None = None
    memory_bytes_max: int = 0
    reuse: str = ""


class Order(Line, frozen=True, kw_only=True, tag_field="k", tag="order"):
    """Move the fence, or stop: `stop` is why, and the call then ends without a result. `keep` answers a `Left`.

    `release`: end the process that is kept for another call.
    """

    fence_at: float | None = None
    keep: list[str] | None = None
    release: bool = False
    stop: str = ""


class Ready(Line, frozen=True, kw_only=True, tag_field="k", tag="ready"):
    """The first line of a runner: which process it is."""

    pid: int
    mark: str


class Grouped(Line, frozen=True, kw_only=True, tag_field="k", tag="group"):
    """The process group of the tool, and the mark that tells its leader from a later process of that number."""

    group: int
    mark: str


class Left(Line, frozen=True, kw_only=True, tag_field="k", tag="left"):
    """The tool's process ended and left programs running on purpose; the `Order` in reply names the tokens to spare."""


class Over(Line, frozen=True, kw_only=True, tag_field="k", tag="over"):
    """The call is over: none of its processes runs any more, except those that were kept.

    `status` is the wait status of the tool's process. `stopped` is the reason why it was ended from outside and
    `stopped_at` the time when that began; `too_much` is the sentence of an exceeded limit. `strays`: other processes
    than the tool's were left. `kept`: the tool's process has not ended, and waits for another call.
    """

    status: int
    kept: bool = False
    stopped: str = ""
    stopped_at: float = 0.0
    too_much: str = ""
    strays: bool = False


class Said(Line, frozen=True, kw_only=True, tag_field="k", tag="said"):
    """Output or progress; `offset` counts the bytes of text before it, so that dropped text is visible."""

    stream: str = ""
    offset: int = 0
    text: str = ""
    done_bytes: int = 0
    fraction_1000: int = -1
    note: str = ""


class Detached(Line, frozen=True, kw_only=True):
    """A program that a call left running on purpose; `token` is in the environment of all that it starts.

    `kind` names its purpose: the agent keeps one program of each kind, for `keep_s`. Without a kind the agent does not
    track the program.
    """

    pid: int
    mark: str
    token: str
    kind: str = ""
    keep_s: int = 0


class Begun(Line, frozen=True, kw_only=True, tag_field="k", tag="begun"):
    """The inputs of the call are there, and from here on it may change the world: before this it cannot have."""


class Ended(Line, frozen=True, kw_only=True, tag_field="k", tag="end"):
    """How the call ended. `stopped` (cancel, gone, fence, ...) means that it was ended from outside: no result.

    `made_at` is the time when its process reported it: a result after a stop does not count.
    """

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
    made_at: float = 0.0


class Asking(Line, frozen=True, kw_only=True, tag_field="k", tag="asking"):
    """A running call asks whether it may do something: a call of a tool, with its arguments (canonical text)."""

    tool: str
    args: str


class Permit(Line, frozen=True, kw_only=True):
    """The answer to an `Asking`. `open`: the owner has not answered yet, and the same question may be put again."""

    allowed: bool = False
    open: bool = False
    reason: str = ""


class Listening(Line, frozen=True, kw_only=True, tag_field="k", tag="listening"):
    """A running call asks for hints of people with a number above `after`."""

    after: int


class Heard(Line, frozen=True, kw_only=True):
    """The answer to a `Listening`: hints in the order in which they came, and the number of the last."""

    last: int = 0
    texts: list[str] = []


AgentLine = Begin | Order
RunnerLine = Ready | Grouped | Left | Over
ToolLine = Said | Begun | Ended | Asking | Listening


def sendable(text: str) -> str:
    """Return a text with what is no text written out: the name of a file may have bytes that are none."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def without_work(spec: CallSpec) -> CallSpec:
    """Return a spec without its work and its times: two calls of one process differ in these alone."""
    return msgspec.structs.replace(spec, args="", fence="", fence_at=None, inputs=[], start_to_close_s=0.0, wants=[])


encode = msgspec.json.Encoder().encode
decode_spec = msgspec.json.Decoder(CallSpec).decode
decode_agent_line = msgspec.json.Decoder(AgentLine).decode
decode_runner_line = msgspec.json.Decoder(RunnerLine).decode
decode_tool_line = msgspec.json.Decoder(ToolLine).decode
decode_permit = msgspec.json.Decoder(Permit).decode
decode_heard = msgspec.json.Decoder(Heard).decode
