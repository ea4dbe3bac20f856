"""Errors as people and programs see them: `application/problem+json` with code, reason, hint and every fault.

One exception for the edge to raise, and the handlers that turn anything else into the same shape. An unexpected
error shows its request id only; the log has the rest.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from starloom.engine.ports import Overloaded, Reply
from starloom.store.blobs.artifacts import BlobRefused
from starloom.store.faults import has_no_room
from starloom.store.port import Damaged, Unavailable
from starloom_protocol.records.entities import Fault
from starloom_protocol.text.wording import listed, place_words
from starloom_protocol.vocabulary import CODES, Code

MEDIA = "application/problem+json"
_log = logging.getLogger(__name__)
_CHOICES = ("enum", "literal_error")
_PLAIN = {
    "missing": "is missing",
    "string_type": "must be a text",
    "string_too_short": "must have at least {min_length} characters",
    "string_too_long": "may have at most {max_length} characters",
    "too_short": "must have at least {min_length} entries",
    "too_long": "may have at most {max_length} entries",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_attributes_type": "must be an object",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be at most {le}",
    "enum": "must be one of {expected}",
    "literal_error": "must be one of {expected}",
}
"""Kinds of faults of the library that reads values -> the rule that the field keeps, as a predicate."""
_HTTP_CODES = {400: Code.BAD_REQUEST, 404: Code.NOT_FOUND, 405: Code.NOT_FOUND, 413: Code.TOO_LARGE}


class Problem(Exception):
    """A refusal. `status`, `hint` default to those of the code; `more` are further members of the document.

    `tasks` are the ids of a document's tasks in their order, for the places of its faults.
    """

    def __init__(
        self,
        code: Code,
        reason: str,
        *,
        hint: str = "",
        errors: Sequence[Fault] = (),
        status: int = 0,
        retry_after_s: float = 0,
        more: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        tasks: Sequence[str] = (),
    ) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.hint = hint or CODES[code].hint
        self.errors = list(errors)
        self.status = status or CODES[code].status
        self.retry_after_s = retry_after_s
        self.more = dict(more or {})
        self.headers = dict(headers or {})
        self.tasks = tasks

    def document(self, request_id: str = "") -> dict[str, Any]:
        """Return the JSON members of RFC 9457 and our own."""
        members: dict[str, Any] = {
            "type": f"urn:starloom:error:{self.code}",
            "title": CODES[self.code].title,
            "status": self.status,
            "code": str(self.code),
            "reason": self.reason,
            "hint": self.hint,
            "errors": [_fault(fault, self.tasks) for fault in self.errors],
        }
        if request_id:
            members["request_id"] = request_id
        return members | self.more

    def response(self, request_id: str = "") -> Response:
        headers = dict(self.headers)
        if self.retry_after_s > 0:
            headers["Retry-After"] = str(max(1, round(self.retry_after_s + 0.5)))
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        body = msgspec.json.encode(self.document(request_id))
        return Response(body, self.status, headers, media_type=MEDIA)


def _fault(fault: Fault, tasks: Sequence[str]) -> dict[str, str]:
    return {
        "code": str(fault.code),
        "reason": fault.reason,
        "place": fault.place,
        "where": place_words(fault.place, tasks),
        "hint": fault.hint or CODES[fault.code].hint,
    }


def problem_of_faults(
    faults: Sequence[Fault], *, more: Mapping[str, Any] | None = None, tasks: Sequence[str] = ()
) -> Problem:
    """Return one problem for all faults: their code if they agree, else `plan_invalid`."""
    codes = {fault.code for fault in faults}
    status = max(CODES[code].status for code in codes)
    if len(faults) == 1 or len(codes) == 1:
        first = faults[0]
        reason = first.reason if len(faults) == 1 else f"{len(faults)} places: {first.reason}, ..."
        return Problem(first.code, reason, hint=first.hint, errors=faults, status=status, more=more, tasks=tasks)
    reason = f"{len(faults)} faults; the first: {faults[0].reason}"
    return Problem(Code.PLAN_INVALID, reason, errors=faults, status=status, more=more, tasks=tasks)


def accepted(reply: Reply) -> Any:
    """Return the value of an accepted input.

    Raises:
        Problem: if it was refused.
    """
    if reply.faults:
        more = reply.value if isinstance(reply.value, dict) else None
        raise problem_of_faults(reply.faults, more=more)
    return reply.value


def place_of(parts: Iterable[Any]) -> str:
    """Return a place as people write it: `tasks[3].inputs.rows`."""
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else str(part))
    return text


def _validation(error: RequestValidationError, fields: Sequence[str]) -> Problem:
    faults = []
    for item in error.errors():
        where, *path = item["loc"] or ("body",)
        place = place_of(path if where == "body" else (where, *path))
        code, hint = Code.BAD_REQUEST, ""
        reason = _plain_reason(item, place)
        if item["type"] == "extra_forbidden":
            code, reason = Code.UNKNOWN_FIELD, f"there is no field {path[-1] if path else place} here"
            if len(path) == 1 and fields:
                hint = _nearest(str(path[0]), fields) or f"The fields here are {listed(fields)}."
        elif item["type"] == "json_invalid":
            place, reason = "", f"the body is not JSON: {item.get('ctx', {}).get('error', reason)}"
        elif item["type"] in _CHOICES:
            choices = re.findall("'([^']*)'", str(item["ctx"]["expected"]))
            hint = _nearest(str(item["input"]), choices)
        faults.append(Fault(code=code, hint=hint, place=place, reason=reason))
    return problem_of_faults(faults) if len({f.code for f in faults}) == 1 else _mixed(faults)


def _plain_reason(item: Mapping[str, Any], place: str) -> str:
    """Return what is wrong with one value, with the name of its field; the library that reads values says *String*."""
    plain = _PLAIN.get(item["type"])
    if plain is None:
        return str(item["msg"]).removeprefix("Value error, ")
    bounds = {name: f"{bound:,}" if isinstance(bound, int) else bound for name, bound in item.get("ctx", {}).items()}
    what = f"`{place.removeprefix('query.')}`" if place else "the body"
    return f"{what} {plain.format_map(bounds)}"


def _nearest(word: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, names, n=1)
    return f"Did you mean {close[0]}?" if close else ""


def problem_of_recipe(name: str, names: Sequence[str]) -> Problem:
    """Return the refusal of a recipe that there is not, with the nearest of those that there are."""
    close = difflib.get_close_matches(name[:64], names, n=1)
    hint = f"Did you mean `{close[0]}`?" if close else ""
    return Problem(Code.UNKNOWN_RECIPE, f"there is no recipe {name[:64]}", hint=hint)


def problem_of_parameters(unknown: Sequence[str], names: Sequence[str]) -> Problem:
    """Return the refusal of the parameters in an address that its route does not take."""
    way = f"It takes {listed(names)}." if names else "It takes none."
    faults = [
        Fault(
            code=Code.UNKNOWN_FIELD,
            reason=f"this address has no parameter {name[:100]}",
            place=place_of(("query", name[:100])),
            hint=_nearest(name, names) or way,
        )
        for name in unknown
    ]
    return problem_of_faults(faults)


def _mixed(faults: Sequence[Fault]) -> Problem:
    return Problem(Code.BAD_REQUEST, f"{len(faults)} faults; the first: {faults[0].reason}", errors=faults)


def request_id_of(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", ""))


def translate(error: Exception) -> Problem:
    """Return the problem that stands for an exception; an unknown one is `internal`."""
    match error:
        case Problem():
            return error
        case HTTPException(__cause__=Problem() as cause):
            # FastAPI calls a body unreadable when reading it was refused.
            return cause
        case BlobRefused():
            return _blob(error)
        case ClientDisconnect():
            return Problem(Code.BAD_REQUEST, "the connection ended before the body was whole", hint="Send it again.")
        case Overloaded():
            return Problem(error.code, error.reason, retry_after_s=error.retry_after_s)
        case Unavailable():
            return Problem(error.code, str(error) or "the store does not answer", retry_after_s=2)
        case Damaged():
            return Problem(Code.HISTORY_CORRUPT, str(error))
        case OSError() if has_no_room(error):
            return Problem(Code.DISK_FULL, f"the hub could not write a file: {error.strerror}", retry_after_s=2)
        case HTTPException():
            code = _HTTP_CODES.get(error.status_code, Code.BAD_REQUEST)
            reason = "this address does not exist" if error.status_code == 404 else str(error.detail)
            return Problem(code, reason, status=error.status_code)
        case _:
            return Problem(Code.INTERNAL, "the hub met an error that it did not expect")


def _blob(error: BlobRefused) -> Problem:
    fault = error.fault
    # An uploader at another offset than the store gets the offset at which to continue.
    headers = {"Upload-Offset": str(error.offset)} if fault.code is Code.CONFLICT else None
    status = 507 if fault.code is Code.NO_SPACE else 0
    return Problem(fault.code, fault.reason, hint=fault.hint, errors=[fault], status=status, headers=headers)


def _without_tokens(text: str) -> str:
    return re.sub(r"sl[tsi]_[A-Za-z0-9_-]+", "sl?_***", text)


def _other_method(request: Request) -> Problem:
    """Return the refusal of a method, with all that are possible at this address."""
    routes = [route for route in request.app.routes if isinstance(route, APIRoute)]
    methods = sorted(
        {method for one in routes if one.path_regex.match(request.url.path) for method in one.methods or ()}
    )
    reason = f"{request.method} is not possible here; {listed(methods)} {'is' if len(methods) == 1 else 'are'}"
    hint = "GET /api/v1/openapi.json has each address with its methods."
    return Problem(Code.NOT_FOUND, reason, hint=hint, status=405, headers={"Allow": ", ".join(methods)})


def _fields_of(request: Request) -> list[str]:
    """Return the fields of the body that the route of a request takes."""
    field = getattr(request.scope.get("route"), "body_field", None)
    kind = field.field_info.annotation if field is not None else None
    return list(kind.model_fields) if isinstance(kind, type) and issubclass(kind, BaseModel) else []


def answer_to(request: Request, error: Exception) -> Response:
    """Return the answer for an exception; a fault of the hub is logged with its traceback."""
    match error:
        case HTTPException(status_code=405):
            problem = _other_method(request)
        case RequestValidationError():
            problem = _validation(error, _fields_of(request))
        case _:
            problem = translate(error)
    if problem.status >= 500:
        unexpected = problem.code is Code.INTERNAL
        level = logging.ERROR if unexpected else logging.WARNING
        words = _without_tokens(str(error) or repr(error))
        _log.log(level, "%s %s: %s", request.method, request.url.path, words, exc_info=error if unexpected else None)
    return problem.response(request_id_of(request))


def install(app: FastAPI) -> None:
    """Answer in this shape also where no route is reached: unknown addresses and methods."""

    async def handle(request: Request, error: Exception) -> Response:
        return answer_to(request, error)

    for kind in (Problem, HTTPException, ClientDisconnect, Exception):
        app.add_exception_handler(kind, handle)
