"""`http.request`: one HTTP request to a listed host. Redirects are answers, not orders: they are not followed."""

from __future__ import annotations

import http.client
import urllib.parse
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.faults import has_no_room, os_fault
from starloom_agent.toolkit.files.encodings import text_of_web
from starloom_agent.toolkit.interface import SECRET, Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Stored
from starloom_agent.toolkit.text.links import links_of
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_INLINE_BYTES = 256 * 1024
"""A longer text would not be read in a result; it becomes a file."""
_BODY_BYTES_MOST = 64 * 1024 * 1024
_WITH_LINKS = ("text/html", "application/xhtml+xml")
_HEADERS_SHOWN = ("content-type", "content-length", "location", "etag", "last-modified", "retry-after")


class Request(Args, frozen=True, kw_only=True):
    """Give `json` or `text` as the body. `accept` lists the statuses that count as success; without it 200 to 399.

    A text answer comes inline up to 256 KiB, anything else as an artifact.
    """

    url: str
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = "GET"
    headers: Annotated[dict[str, str], SECRET] = msgspec.field(default_factory=dict)
    json: Annotated[Any, SECRET] = None
    text: Annotated[str | None, SECRET] = None
    accept: tuple[int, ...] = ()
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=300)] = 30


def _parts(url: str) -> tuple[bool, str, int, str]:
    try:
        parsed = urllib.parse.urlsplit(url)
        port = parsed.port
    except ValueError as error:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{url} is not an address: {error}", effect=False) from error
    if parsed.scheme not in ("http", "https") or not parsed.hostname or parsed.username or parsed.password:
        raise ToolFailed(
            Code.BAD_ARGUMENTS, f"{url} is not an http(s) address without a user and password in it", effect=False
        )
    target = urllib.parse.quote(parsed.path or "/", safe="/%:@!$&'()*+,;=-._~")
    query = "?" + urllib.parse.quote(parsed.query, safe="/?%:@!$&'()*+,;=-._~") if parsed.query else ""
    secure = parsed.scheme == "https"
    return secure, parsed.hostname, port or (443 if secure else 80), target + query


def _body(args: Request) -> tuple[bytes | None, dict[str, str]]:
    if args.json is not None and args.text is not None:
        raise ToolFailed(Code.BAD_ARGUMENTS, "give json or text, not both", effect=False)
    if args.json is not None:
        return msgspec.json.encode(args.json), {"Content-Type": "application/json"}
    if args.text is not None:
        return args.text.encode(), {"Content-Type": "text/plain; charset=utf-8"}
    return None, {}


class WebBody(TypedDict):
    """A short text, as data where it is JSON; else a file, as is a text whose bytes do not fit its charset. `links` are
    addresses by the words of the link.
    """

    bytes: int
    file: NotRequired[Stored]
    json: NotRequired[Any]
    json_fault: NotRequired[str]
    links: NotRequired[dict[str, str]]
    media: str
    text: NotRequired[str]


class WebAnswer(WebBody):
    headers: dict[str, str]
    status: int


def _part(answer: http.client.HTTPResponse) -> bytes:
    """Return the next bytes of an answer, more than may be inline where it has so many; none at its end.

    Raises:
        IncompleteRead: it ended before the length that it announced, which the library notices for a whole read alone.
    """
    data = answer.read(_INLINE_BYTES + 1)
    if answer.length and len(data) <= _INLINE_BYTES:
        raise http.client.IncompleteRead(data, answer.length)
    return data


def _receive(context: ToolContext, answer: http.client.HTTPResponse) -> WebBody:
    media = (answer.getheader("content-type") or "application/octet-stream").partition(";")[0].strip()
    textual = media.startswith("text/") or media.endswith(("json", "xml", "javascript"))
    data = _part(answer)
    text = text_of_web(data, answer.headers.get_content_charset("")) if textual and len(data) <= _INLINE_BYTES else None
    if text is not None:
        value: WebBody = {"text": text, "bytes": len(data), "media": media}
        if media.endswith("json"):
            try:
                value["json"] = msgspec.json.decode(data)
            except msgspec.DecodeError:
                value["json_fault"] = "the answer says that it is JSON, but it is not"
        return value
    path = context.workdir / "body"
    size = 0
    with path.open("wb") as file:
        while data:
            size += len(data)
            if size > _BODY_BYTES_MOST:
                raise ToolFailed(Code.OUTPUT_TOO_BIG, f"the answer is larger than {_BODY_BYTES_MOST} bytes")
            file.write(data)
            context.progress(done_bytes=size)
            data = _part(answer)
    return {"file": context.put(path, name="answer", media=media), "bytes": size, "media": media}


def request(context: ToolContext, args: Request) -> WebAnswer:
    secure, host, port, target = _parts(args.url)
    context.check_host(host)
    body, body_headers = _body(args)
    make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    connection = make(host, port, timeout=args.timeout_s)
    try:
        headers = {"User-Agent": "starloom-agent", "Accept-Encoding": "identity", **body_headers, **args.headers}
        connection.request(args.method, target, body=body, headers=headers)
        with connection.getresponse() as answer:
            value = _receive(context, answer)
            answer_headers = {name: header for name in _HEADERS_SHOWN if (header := answer.getheader(name)) is not None}
            status = answer.status
            page = value.get("text", "") if value["media"] in _WITH_LINKS else ""
            if links := links_of(page, answer.getheader("link", ""), args.url):
                value["links"] = links
    except TimeoutError as error:
        raise ToolFailed(Code.NETWORK, f"{host} did not answer within {args.timeout_s:g} s") from error
    except http.client.IncompleteRead as error:
        lacking = f" (bytes missing: {error.expected})" if error.expected else ""
        raise ToolFailed(Code.NETWORK, f"{host} cut its answer off{lacking}") from error
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and has_no_room(error):
            raise os_fault(error, context.workdir, "keeping the answer") from error
        raise ToolFailed(Code.NETWORK, f"{host} could not be asked: {error or type(error).__name__}") from error
    except ValueError as error:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"the request cannot be sent: {error}", effect=False) from error
    finally:
        connection.close()
    if status not in args.accept if args.accept else not 200 <= status < 400:
        words = context.hidden.text(str(value.get("text", "")))
        raise ToolFailed(Code.TOOL_FAILED, f"{host} answered {status}: {words[:300]}")
    return {"status": status, "headers": answer_headers, **value}


TOOLS = (
    Tool(
        name="http.request",
        title="Ask a web address",
        args=Request,
        run=request,
        effects=(Effect.REACH,),
        repeatability=Repeatability.NEVER,
        confined=True,
        grant="net:reach",
    ),
)
