"""`starloom doctor --from-outside`: tries the hub by the names that other machines use, as a stranger would.

Sends no token. It names the faults that it cannot see from here: a firewall between, another network's DNS.
"""

from __future__ import annotations

import json
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import connect

from starloom.host.examination.doctor import Finding
from starloom.process.settings import Settings, SettingsInvalid, is_loopback, load

TRY_S = 10.0
SOCKET = "/aip/v1"
_UNTRUSTED = (
    "Its certificate is not trusted here: has it run out, or is it for another name? SSL_CERT_FILE names the authority "
    "where it is one of your own."
)


def examine_outside(home: Path | None) -> list[Finding]:
    """Return the findings at the public address of the hub of this data folder (or the usual one)."""
    try:
        settings = load({"home": home} if home is not None else {}).settings
    except SettingsInvalid:
        return []  # the examination of this machine has reported their faults already
    return look_from_outside(settings)


def look_from_outside(settings: Settings) -> list[Finding]:
    """Return the findings at the public address; one finding says so if there is none."""
    url = settings.public_url
    if url is None:
        return [
            Finding(
                "outside",
                is_loopback(settings.host) and not settings.lan,
                "no public address is set; other machines reach this hub by ssh tunnel or the local network only",
                "Set STARLOOM_PUBLIC_URL, or see docs/reach.md.",
            )
        ]
    try:
        answered = _answers(url)
    except _NotTrusted as error:
        untrusted = Finding("outside encryption", False, f"{url} cannot be connected to: {error}", _UNTRUSTED)
        # The other faults do not hide behind it.
        return [untrusted, _answers(url, verify=False)]
    return [answered] if not answered.good else [answered, _secure(url), _sockets(url)]


class _NotTrusted(Exception):
    """This machine does not trust the certificate of the public address."""


def _answers(url: str, *, verify: bool = True) -> Finding:
    """Return whether the hub answers at the public address.

    Raises:
        _NotTrusted: nothing was asked, as its certificate is not trusted.
    """
    subject = "outside address"
    try:
        address = f"{url}/healthz"
        # As agents do, with the authority that SSL_CERT_FILE names.
        context = ssl.create_default_context() if verify else False
        response = httpx.get(address, timeout=TRY_S, trust_env=False, follow_redirects=False, verify=context)
    except httpx.ConnectError as error:
        if verify and _is_of_certificate(error):
            raise _NotTrusted(_error_words(error)) from error
        return Finding(subject, False, f"{url} cannot be connected to: {_error_words(error)}", _connect_fix(error))
    except httpx.HTTPError as error:
        fix = "Does the proxy run, and does it lead to the hub's port?"
        return Finding(subject, False, f"{url} does not answer: {_error_words(error)}", fix)
    code = _code(response)
    if code == "bad_host":
        fix = (
            "Have the proxy pass the Host on with its port (nginx: proxy_set_header Host $http_host; its $host leaves "
            "the port out), and set STARLOOM_PUBLIC_URL to it."
        )
        return Finding(subject, False, f"{url} leads to the hub with another Host", fix)
    if response.status_code in (502, 503, 504):
        fix = "Is the hub up, and is the proxy's upstream its port?"
        return Finding(subject, False, f"{url} is a proxy that does not reach the hub ({response.status_code})", fix)
    if response.is_redirect:
        where = response.headers.get("location", "")
        return Finding(subject, False, f"{url} sends to {where}", "Set STARLOOM_PUBLIC_URL to the address it ends at.")
    if response.status_code != 200:
        words = f"{url} is answered with status {response.status_code}, which is not this hub's"
        return Finding(subject, False, words, "Does the name lead to this machine?")
    return Finding(subject, True, f"{url} answers (seen from this machine; a firewall may still stand outside)")


def _secure(url: str) -> Finding:
    if urlsplit(url).scheme == "https":
        return Finding("outside encryption", True, "HTTPS with a certificate that this machine trusts")
    return Finding("outside encryption", False, f"{url} is not encrypted", "Use https:// in front of it.")


def _sockets(url: str) -> Finding:
    """Open the socket that agents use, and close it before any message."""
    target = url.replace("http", "ws", 1) + SOCKET
    try:
        with connect(target, open_timeout=TRY_S, close_timeout=1.0, proxy=None, compression=None):
            return Finding("outside sockets", True, f"{SOCKET} opens: agents and the live page get through")
    except InvalidStatus as refusal:
        words = f"{target} is answered with status {refusal.response.status_code} instead of a socket"
    except (OSError, TimeoutError, InvalidHandshake, InvalidURI) as error:
        words = f"{target} does not open: {_error_words(error)}"
    fix = "Have the proxy pass upgrades on (nginx: proxy_http_version 1.1, Upgrade and Connection; see docs/reach.md)."
    return Finding("outside sockets", False, words, fix)


def _is_of_certificate(error: Exception) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _connect_fix(error: Exception) -> str:
    if "Name or service" in str(error) or "nodename" in str(error):
        return "The name is not known: add it to the DNS, or correct STARLOOM_PUBLIC_URL."
    return "Does the proxy or tunnel run, and is its port open?"


def _code(response: httpx.Response) -> str:
    try:
        problem = json.loads(response.text)
    except ValueError:
        return ""
    return str(problem.get("code", "")) if isinstance(problem, dict) else ""


def _error_words(error: Exception) -> str:
    return str(error) or type(error).__name__
