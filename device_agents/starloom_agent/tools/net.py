"""`net.check`: whether a host answers: its names, a connection, its certificate, its page; listed hosts only."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec

from starloom_agent.tools.interface import Args, Tool, ToolContext, ToolFailed
from starloom_protocol.vocabulary import Code, Effect, Repeatability


class Check(Args, frozen=True, kw_only=True):
    """Without `port` and `tls` only the name is looked up. `path` asks for a page (GET, nothing is followed)."""

    host: Annotated[str, msgspec.Meta(min_length=1, max_length=253, pattern=r"^[A-Za-z0-9._:\-]+$")]
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] | None = None
    tls: bool = False
    path: Annotated[str, msgspec.Meta(pattern=r"^(/[\x21-\x7e]*)?$")] = ""
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=60)] = 10
    device_name: str = ""


def days_left(not_after: str, now: datetime) -> int:
    """Return whole days until a certificate's `notAfter` text; negative once it has passed."""
    return int((ssl.cert_time_to_seconds(not_after) - now.timestamp()) // 86_400)


def _connect(args: Check, port: int, row: dict[str, Any]) -> None:
    begin = time.monotonic()
    with socket.create_connection((args.host, port), timeout=args.timeout_s) as plain:
        row["connect_ms"] = round((time.monotonic() - begin) * 1000)
        if args.tls:
            with ssl.create_default_context().wrap_socket(plain, server_hostname=args.host) as secure:
                certificate = secure.getpeercert() or {}
                row["certificate_days_left"] = days_left(str(certificate.get("notAfter", "")), datetime.now(UTC))


def _page(args: Check, port: int, row: dict[str, Any]) -> None:
    make = http.client.HTTPSConnection if args.tls else http.client.HTTPConnection
    connection = make(args.host, port, timeout=args.timeout_s)
    try:
        begin = time.monotonic()
        connection.request("GET", args.path, headers={"User-Agent": "starloom-agent", "Accept": "*/*"})
        answer = connection.getresponse()
        answer.read(1024)
        row["page_ms"] = round((time.monotonic() - begin) * 1000)
        row["status"] = answer.status
    finally:
        connection.close()


def check(context: ToolContext, args: Check) -> dict[str, Any]:
    context.check_host(args.host)
    port = args.port or (443 if args.tls else 80 if args.path else None)
    row: dict[str, Any] = {"host": args.host, "port": port, "up": False, "reason": ""}
    if args.device_name:
        row["device"] = args.device_name
    try:
        found = socket.getaddrinfo(args.host, port, type=socket.SOCK_STREAM)
        row["addresses"] = sorted({str(address[4][0]) for address in found})
        if port is not None:
            _connect(args, port, row)
            if args.path:
                _page(args, port, row)
        row["up"] = row.get("status", 200) < 500
        row["reason"] = "" if row["up"] else f"the page answers {row['status']}"
    except socket.gaierror as error:
        row["reason"] = f"the name is not known here: {error.strerror}"
    except ssl.SSLCertVerificationError as error:
        row["reason"] = f"its certificate is not accepted: {error.verify_message}"
    except TimeoutError:
        row["reason"] = f"no answer within {args.timeout_s:g} s"
    except (OSError, http.client.HTTPException) as error:
        row["reason"] = str(error) or type(error).__name__
    except ValueError as error:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{args.host} cannot be asked: {error}", effect=False) from error
    return row


TOOLS = (
    Tool(
        name="net.check",
        title="Whether a host answers",
        args=Check,
        run=check,
        effects=(Effect.REACH,),
        repeatability=Repeatability.PURE,
    ),
)
