"""One call of a tool of an MCP server that the owner of this device has configured, or one read of its texts.

The agent keeps a session with the server for the constellation, and the call goes through it (`work.sessions`). Where
none is kept, the server is started for this call alone and ends with it. Its output is data: bounded, and never an
instruction.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import mimetypes
import socket
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.clients.mcp import reading
from starloom_agent.toolkit.clients.mcp.carriers import carrier_of
from starloom_agent.toolkit.clients.mcp.conversation import Conversation, Exchange, ServerFault
from starloom_agent.toolkit.clients.mcp.keeping import CALL, Keep, Went, decode_told, encode, lines_of
from starloom_agent.toolkit.clients.mcp.keeping import Ask as AskKept
from starloom_agent.toolkit.clients.mcp.reading import Ask
from starloom_agent.toolkit.files.naming import portable_name
from starloom_agent.toolkit.interface import ArgsType, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Stored
from starloom_protocol.text.wording import few, quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

MODULE: Final = __name__.partition(".tools.")[2]
"""The name by which the process of a call finds this module among the tools."""
_TEXT_CHARS_MOST: Final = 512 * 1024
"""It becomes the result of a task; `complete` says whether more was there."""
_FAULT_CHARS_MOST: Final = 1000
_SAID_CHARS: Final = 120
_LACKING_NAMED_MOST: Final = 4
_FILES_MOST: Final = 20
_SUFFIX_CHARS_MOST: Final = 12
"""A subtype that is longer, as those of office documents are, is no suffix that a program knows."""
_WIDER: Final = frozenset(
    {"$dynamicRef", "$ref", "allOf", "anyOf", "dependentSchemas", "if", "oneOf", "patternProperties"}
)
"""The words of a JSON schema by which arguments may have names beyond `properties`."""
_CALL_S: Final = 600.0
_READING: Final = frozenset({Effect.READ, Effect.REACH})


class McpToolSettings(msgspec.Struct, frozen=True, kw_only=True):
    """All that the process of a call has to know; `schema` and `returns` are JSON schemas, of arguments and result."""

    name: str
    remote: str
    title: str
    argv: list[str]
    env: dict[str, str]
    schema: str
    effects: list[Effect]
    repeatability: Repeatability
    grant: str
    headers: dict[str, str] = {}
    keep_s: float = 0.0
    method: str = CALL
    owes: list[str] | None = None
    """The fields that its structured result must have; None: its server tells no schema of results."""
    returns: str = ""
    server: str = ""
    stands_for: str = ""
    url: str = ""


@contextlib.contextmanager
def talking(keep: Keep, *, within_s: float, quiet: bool = False, apart: bool = False) -> Iterator[Conversation]:
    """Start or reach a server, yield the conversation after its beginning, and end it with all that it started."""
    conversation = Conversation()
    conversation.use(carrier_of(conversation, keep, quiet=quiet, apart=apart))
    try:
        conversation.begin(within_s)
        yield conversation
    finally:
        conversation.close()


def arguments_of(schema: Mapping[str, Any]) -> ArgsType:
    """Return the type of arguments made from a JSON schema; the server judges the values.

    Where the schema names all arguments, they are strict: names and which are needed. Else they are a map as it is.
    """
    properties = schema.get("properties")
    if _takes_other_names(schema):
        return dict
    needed = _needed(schema)
    names = list(properties) if isinstance(properties, dict) else []
    # Needed ones first: a field without a default may not follow one that has one.
    ordered = [name for name in names if name in needed] + [name for name in names if name not in needed]
    alias = {f"field_{number}": name for number, name in enumerate(ordered)}
    fields: list[Any] = [(mine, Any) if name in needed else (mine, Any, msgspec.UNSET) for mine, name in alias.items()]
    return msgspec.defstruct("Arguments", fields, rename=alias, forbid_unknown_fields=True, frozen=True, kw_only=True)


def _takes_other_names(schema: Mapping[str, Any]) -> bool:
    """Tell whether arguments may have names that `properties` does not have.

    A schema that names some and says nothing of others is taken to name all: a name with a typo is then refused here.
    """
    if schema.get("additionalProperties", schema.get("unevaluatedProperties")) is False:
        return "patternProperties" in schema
    return "properties" not in schema or "additionalProperties" in schema or not _WIDER.isdisjoint(schema)


def _needed(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def tool_of(settings: McpToolSettings) -> Tool:
    """Return the tool as the agent offers it and as its process runs it."""
    return Tool(
        name=settings.name,
        title=settings.title,
        args=arguments_of(msgspec.json.decode(settings.schema)),
        run=_runner(settings),
        effects=tuple(settings.effects),
        repeatability=settings.repeatability,
        grant=settings.grant,
        schema=settings.schema,
        returns=settings.returns,
        stands_for=settings.stands_for,
        settings=msgspec.json.encode(settings).decode(),
        kept_by=settings.server if settings.keep_s else "",
    )


def tool_from(settings: str) -> Tool:
    """Return the tool that `Tool.settings` describes: what a tool process is given."""
    return tool_of(msgspec.json.decode(settings, type=McpToolSettings))


class McpAnswer(TypedDict):
    """`complete`: nothing of the text was cut, and no part is of a kind that is not known.

    `structured` is what the server gives beside its text, of the schema that it tells itself.
    """

    complete: bool
    files: list[Stored]
    structured: NotRequired[Any]
    text: str


def keep_of(settings: McpToolSettings, folder: str) -> Keep:
    """Return what a keeper needs to know of the server of a tool."""
    return Keep(argv=settings.argv, env=settings.env, folder=folder, headers=settings.headers, url=settings.url)


def _runner(settings: McpToolSettings) -> Callable[[ToolContext, Any], Any]:
    needed = _needed(msgspec.json.decode(settings.schema))

    def run(context: ToolContext, args: Any) -> Any:
        arguments = msgspec.to_builtins(args)
        if lacking := [name for name in needed if name not in arguments]:
            detail = f"{settings.name} needs {few(lacking, _LACKING_NAMED_MOST)}"
            raise ToolFailed(Code.BAD_ARGUMENTS, detail, effect=False)
        try:
            with _asking(context, settings) as ask:
                return _done(context, settings, arguments, ask)
        except ServerFault as fault:
            raise ToolFailed(Code.TOOL_FAILED, f"the MCP server of {settings.name}: {fault}") from fault

    return run


def _done(context: ToolContext, settings: McpToolSettings, arguments: dict[str, Any], ask: Ask) -> Any:
    if settings.method == "resources/list":
        return reading.resources_of(ask)
    if settings.method == "prompts/list":
        return reading.prompts_of(ask)
    work = {CALL: _call, "prompts/get": _prompt, "resources/read": _read}
    return work[settings.method](context, settings, arguments, ask)


def _call(context: ToolContext, settings: McpToolSettings, arguments: dict[str, Any], ask: Ask) -> McpAnswer:
    result = ask(CALL, {"name": settings.remote, "arguments": arguments})
    answer = _value(context, settings, result, result.get("content"))
    if settings.owes is not None:
        _hold_to_schema(settings, settings.owes, answer)
    return answer


def _hold_to_schema(settings: McpToolSettings, owed: list[str], answer: McpAnswer) -> None:
    """Refuse a result that lacks what the schema of its tool promises: a plan reads its fields.

    Raises:
        ToolFailed: it is a fault of the server, by the specification of the protocol.
    """
    structured = answer.get("structured")
    lacking = [name for name in owed if name not in structured] if isinstance(structured, dict) else []
    if structured is None:
        why = "gave only text, and no `structuredContent`"
    elif not isinstance(structured, dict):
        why = "gave a `structuredContent` that is no object"
    elif lacking:
        why = f"gave a `structuredContent` without {few(lacking, _LACKING_NAMED_MOST)}"
    else:
        return
    whose = f"the MCP server {settings.server} has a fault: its tool {settings.remote}"
    words = f"; it said {quoted(answer['text'][:_SAID_CHARS])}" if answer["text"] else ""
    raise ToolFailed(Code.TOOL_FAILED, f"{whose} tells an `outputSchema` and {why}{words}")


def _read(context: ToolContext, settings: McpToolSettings, arguments: dict[str, Any], ask: Ask) -> McpAnswer:
    uri = arguments["uri"]
    if not isinstance(uri, str) or not 0 < len(uri) <= reading.URI_CHARS_MOST:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"`uri` has 1 to {reading.URI_CHARS_MOST} characters", effect=False)
    return _value(context, settings, {}, reading.contents_of(ask(settings.method, {"uri": uri})))


def _prompt(context: ToolContext, settings: McpToolSettings, fields: dict[str, Any], ask: Ask) -> McpAnswer:
    values = fields.get("arguments") or {}
    if not isinstance(fields["name"], str) or not isinstance(values, dict):
        raise ToolFailed(Code.BAD_ARGUMENTS, "`name` is a text, and `arguments` a map of texts", effect=False)
    words = {str(name): str(value) for name, value in values.items()}
    return _value(
        context, settings, {}, reading.messages_of(ask(settings.method, {"name": fields["name"], "arguments": words}))
    )


@contextlib.contextmanager
def _asking(context: ToolContext, settings: McpToolSettings) -> Iterator[Ask]:
    """Yield the way to the server: the session that the agent keeps, or one for this call alone."""
    deadline = time.monotonic() + _CALL_S
    if context.session:
        yield lambda method, params: _through(context, settings, method, params, deadline)
        return
    with talking(keep_of(settings, str(context.workdir)), within_s=_CALL_S) as talk:

        def ask(method: str, params: dict[str, Any]) -> Mapping[str, Any]:
            exchange = Exchange(method, (lambda progress: _progressed(context, progress)) if method == CALL else None)
            return talk.finish(exchange, params, max(0.0, deadline - time.monotonic()))

        yield ask


def _through(
    context: ToolContext, settings: McpToolSettings, method: str, params: dict[str, Any], deadline: float
) -> dict[str, Any]:
    """Ask through the session that the agent keeps; the end of this process gives the call up."""
    left_s = max(0.1, deadline - time.monotonic())
    request = AskKept(method=method, params=params, reads=set(settings.effects) <= _READING, within_s=left_s)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.settimeout(left_s)
        try:
            link.connect(context.session)
            link.sendall(encode(request) + b"\n")
            for line in lines_of(link):
                answer = decode_told(line)
                if isinstance(answer, Went):
                    _progressed(context, {"progress": answer.done, "total": answer.total, "message": answer.note})
                elif answer.result is None:
                    raise ServerFault(answer.fault)
                else:
                    return dict(answer.result)
        except TimeoutError as error:
            raise ServerFault(f"{method}: no answer in time") from error
        except ConnectionError as error:
            raise ServerFault(f"{method}: its session ended without an answer") from error
        except (OSError, msgspec.DecodeError) as error:
            raise ServerFault(f"its session cannot be used: {error}") from error
    raise ServerFault(f"{method}: its session ended without an answer")


def _progressed(context: ToolContext, progress: Mapping[str, Any]) -> None:
    """Tell how far the server says that it is; a figure that is none tells nothing."""
    done, total, note = progress.get("progress"), progress.get("total"), str(progress.get("message") or "")
    fraction = None
    if isinstance(done, int | float) and isinstance(total, int | float) and total > 0:
        fraction = min(1.0, max(0.0, done / total))
    context.progress(fraction=fraction, note=note)


def _value(context: ToolContext, settings: McpToolSettings, result: Mapping[str, Any], content: Any) -> McpAnswer:
    """Return the parts of an answer as text and files."""
    parts = [_source(part) for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [_words(part) for part in parts]
    text = "\n".join(words for words in texts if words)
    if result.get("isError"):
        raise ToolFailed(Code.TOOL_FAILED, f"{settings.name}: {_cause_first(text)}")
    holders = [part for part in parts if _holds_file(part)]
    if len(holders) > _FILES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"more than {_FILES_MOST} files came back")
    files = [_file(context, settings, part, number) for number, part in enumerate(holders, 1)]
    unread = any(words is None and not _holds_file(part) for part, words in zip(parts, texts, strict=True))
    complete = len(text) <= _TEXT_CHARS_MOST and not unread
    answer: McpAnswer = {"text": text[:_TEXT_CHARS_MOST], "complete": complete, "files": files}
    structured = result.get("structuredContent")
    if structured is not None:
        answer["structured"] = structured
    return answer


def _source(part: dict[str, Any]) -> dict[str, Any]:
    """Return what holds the text or the bytes of a part: the resource that is embedded in it, or the part."""
    inner = part.get("resource")
    return inner if isinstance(inner, dict) else part


def _cause_first(text: str) -> str:
    """Return the words of a failure; the last line of a traceback, which names the cause, stands first."""
    words = text.strip() or "it failed without words"
    if "Traceback (most recent call last)" not in words:
        return words[:_FAULT_CHARS_MOST]
    return f"{words.splitlines()[-1].strip()}\n{words}"[:_FAULT_CHARS_MOST]


def _words(part: Mapping[str, Any]) -> str | None:
    """Return the text of a part, or the address that it names; None where it has neither."""
    words = part.get("text", part.get("uri"))
    return None if words is None else str(words)


def _holds_file(part: Mapping[str, Any]) -> bool:
    return "data" in part or "blob" in part


def _file(context: ToolContext, settings: McpToolSettings, part: Mapping[str, Any], number: int) -> Stored:
    media = str(part.get("mimeType") or "application/octet-stream")[:100]
    try:
        data = base64.b64decode(str(part["data"] if "data" in part else part["blob"]), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ToolFailed(Code.TOOL_FAILED, f"file {number} of the answer is no base64") from error
    path = context.workdir / f"part-{number}"
    path.write_bytes(data)
    return context.put(path, name=_file_name(part, f"{settings.remote}-{number}", media), media=media)


def _file_name(part: Mapping[str, Any], otherwise: str, media: str) -> str:
    """Return the name that the address of a part ends with, or one of the tool; with a suffix of its type."""
    kind, _, subtype = media.partition(";")[0].strip().lower().rpartition("/")
    short = subtype if kind and subtype.isalnum() and len(subtype) <= _SUFFIX_CHARS_MOST else "bin"
    suffix = mimetypes.guess_extension(f"{kind}/{subtype}") or f".{short}"
    address = urllib.parse.unquote(str(part.get("uri") or "").partition("#")[0].partition("?")[0])
    last = address.rstrip("/").rpartition("/")[2].strip(" .")
    name = portable_name(last)
    if not last or not name.isprintable():
        return otherwise + suffix
    return name if PurePath(name).suffix else name + suffix


TOOLS: tuple[Tool, ...] = ()
"""None of its own: each tool is made from the data of a server (`tool_of`)."""
