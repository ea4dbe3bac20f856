"""`net.check`: the reachability of a host: its names, a connection, its certificate, its page; listed hosts only.

Faults are in `findings`, the rows by which recipes order the causes of several tools.
"""

from __future__ import annotations

import http.client
import re
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Annotated, NotRequired
from urllib.parse import urlsplit

import msgspec
from cryptography import x509

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Finding, Named, of_device
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_HOST = re.compile(r"[A-Za-z0-9._:\-]{1,253}")
_PATH = re.compile(r"/[\x21-\x7e]*")
_CERTIFICATE_SOON_DAYS = 21
"""Automatic renewals come thirty days before the end: one that is late by nine has failed."""


class Check(Args, frozen=True, kw_only=True):
    """Give `host`, or `url` in place of host, port, tls and path; `at` asks that very machine instead (`127.0.0.1`),
    with the name of the url. Without `port`, `tls` and `path` only the name is looked up. `path` asks for a page (GET,
    nothing is followed). The days of a certificate come also where this device does not accept it; with
    `any_certificate` such a host counts as up, and its page is asked for.
    """

    any_certificate: bool = False

    host: Annotated[str, msgspec.Meta(examples=["example.org"], max_length=253, pattern=r"^[A-Za-z0-9._:\-]*$")] = ""
    url: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    at: Annotated[str, msgspec.Meta(max_length=253, pattern=r"^[A-Za-z0-9._:\-]*$")] = ""
    name_only: bool = False
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] | None = None
    tls: bool = False
    path: Annotated[str, msgspec.Meta(pattern=r"^(/[\x21-\x7e]*)?$")] = ""
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=60)] = 10
    device_name: str = ""


def days_left(until_s: float, now_s: float) -> int:
    """Return whole days until a certificate ends; negative once it has."""
    return int((until_s - now_s) // 86_400)


@dataclass(frozen=True)
class _Target:
    """The target of a check: `machine` is the address to connect to, `host` the name in certificate and request."""

    host: str
    machine: str
    port: int | None
    tls: bool
    path: str
    any_certificate: bool


def _target(args: Check) -> _Target:
    """Read the arguments.

    Raises:
        ToolFailed: `bad_arguments`, with what is wrong.
    """
    host, port, tls, path = args.host, args.port, args.tls, args.path
    if bool(args.host) == bool(args.url):
        raise ToolFailed(Code.BAD_ARGUMENTS, "give a host or a url, one of the two", effect=False)
    if args.url:
        try:
            parts = urlsplit(args.url)
            host, port = parts.hostname or "", parts.port
        except ValueError as error:
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{args.url} is no address: {error}", effect=False) from error
        tls = parts.scheme == "https"
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        if parts.scheme not in ("http", "https") or not _HOST.fullmatch(host) or not _PATH.fullmatch(path):
            raise ToolFailed(Code.BAD_ARGUMENTS, f"{args.url} is no address such as https://example.org", effect=False)
    if args.name_only:
        port, tls, path = None, False, ""
    else:
        port = port or (443 if tls else 80 if path else None)
    return _Target(host, args.at or host, port, tls, path, args.any_certificate)


class HostAnswer(Named):
    """The answer of one host; fields that were not asked for, or not found out, are left out."""

    addresses: NotRequired[list[str]]
    certificate_accepted: NotRequired[bool]
    certificate_days_left: NotRequired[int]
    certificate_until_s: NotRequired[int]
    connect_ms: NotRequired[int]
    host: str
    page_ms: NotRequired[int]
    port: int | None
    reason: str
    status: NotRequired[int]
    up: bool


class NetCheck(HostAnswer):
    addresses_text: str
    findings: list[Finding]
    severity: int
    why: str


def _certificate(secure: ssl.SSLSocket, row: HostAnswer, *, accepted: bool) -> None:
    """Note whether the certificate of a connection is accepted, and when it ends."""
    certificate = x509.load_der_x509_certificate(secure.getpeercert(binary_form=True) or b"")
    until_s = certificate.not_valid_after_utc.timestamp()
    row["certificate_accepted"] = accepted
    row["certificate_days_left"] = days_left(until_s, time.time())
    row["certificate_until_s"] = int(until_s)


def _secured(target: _Target, port: int, timeout_s: float, row: HostAnswer) -> ssl.SSLSocket:
    """Return a connection with TLS. The certificate of one that is not accepted is read over a second connection.

    Raises:
        ssl.SSLCertVerificationError: it is not accepted, and the call asks for one that is.
    """
    begin = time.monotonic()
    plain = socket.create_connection((target.machine, port), timeout=timeout_s)
    row["connect_ms"] = round((time.monotonic() - begin) * 1000)
    try:
        secure = ssl.create_default_context().wrap_socket(plain, server_hostname=target.host)
    except ssl.SSLCertVerificationError:
        unchecked = ssl.create_default_context()
        unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
        plain = socket.create_connection((target.machine, port), timeout=timeout_s)
        secure = unchecked.wrap_socket(plain, server_hostname=target.host)
        _certificate(secure, row, accepted=False)
        if not target.any_certificate:
            secure.close()
            raise
        return secure
    _certificate(secure, row, accepted=True)
    return secure


def _ask(target: _Target, port: int, timeout_s: float, row: HostAnswer) -> None:
    """Connect and ask over one connection: certificate and page are those of the same machine."""
    connection = http.client.HTTPConnection(target.host, port, timeout=timeout_s)
    try:
        if target.tls:
            connection.sock = _secured(target, port, timeout_s, row)
        else:
            begin = time.monotonic()
            connection.sock = socket.create_connection((target.machine, port), timeout=timeout_s)
            row["connect_ms"] = round((time.monotonic() - begin) * 1000)
        if target.path:
            begin = time.monotonic()
            standard = port == (443 if target.tls else 80)
            name = target.host if standard else f"{target.host}:{port}"
            headers = {"Host": name, "User-Agent": "starloom-agent", "Accept": "*/*", "Connection": "close"}
            connection.request("GET", target.path, headers=headers)
            answer = connection.getresponse()
            answer.read(1024)
            row["page_ms"] = round((time.monotonic() - begin) * 1000)
            row["status"] = answer.status
    finally:
        connection.close()


def check(context: ToolContext, args: Check) -> NetCheck:
    target = _target(args)
    context.check_host(target.machine)
    row: HostAnswer = {"host": target.host, "port": target.port, "up": False, "reason": ""}
    if args.device_name:
        row["device"] = args.device_name
    try:
        addresses = socket.getaddrinfo(target.machine, target.port, type=socket.SOCK_STREAM)
        row["addresses"] = sorted({str(address[4][0]) for address in addresses})
        if target.port is not None:
            _ask(target, target.port, args.timeout_s, row)
        row["up"] = row.get("status", 200) < 500
        row["reason"] = "" if row["up"] else f"the page answers {row['status']}"
    except socket.gaierror as error:
        row["reason"] = f"the name is not known here: {error.strerror}"
    except ssl.SSLCertVerificationError as error:
        row["reason"] = f"its certificate is not accepted: {error.verify_message}"
    except TimeoutError:
        row["reason"] = f"no answer within {args.timeout_s:g} s"
    except (OSError, http.client.HTTPException) as error:
        row["reason"] = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
    except ValueError as error:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{target.host} cannot be asked: {error}", effect=False) from error
    severity, why = _judge(target, row, at=args.at)
    device = of_device(args.device_name)
    return {
        **row,
        "addresses_text": ", ".join(row.get("addresses", [])),
        "severity": severity,
        "why": why,
        "findings": [{**device, "looked_at": "network", "severity": severity, "why": why}] if why else [],
    }


def _judge(target: _Target, row: HostAnswer, *, at: str) -> tuple[int, str]:
    """Return the severity (as `system.info` counts) and the reason, in words that name the target."""
    what = target.host if target.port is None else f"{target.host} port {target.port}"
    where = f" at {at}" if at and at != target.host else ""
    days = row.get("certificate_days_left")
    if not row["up"]:
        if not row.get("certificate_accepted", True):
            return 3, f"{what}{where} is not trusted here: {row['reason']}; it ends in {days} days"
        return 3, f"{what}{where} does not answer: {row['reason']}"
    if days is not None and days < _CERTIFICATE_SOON_DAYS:
        return 2, f"the certificate of {target.host} ends in {days} days"
    return 0, ""


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
