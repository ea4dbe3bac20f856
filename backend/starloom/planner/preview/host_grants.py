"""The hosts that a task asks, and whether a device allows them: what its owner lists with `net:reach`.

Pure; the device alone decides. A tool with other work beside it has no grant of its own and checks its host in the
call, so a missing host is seen here by the arguments that name one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from starloom_protocol.records.entities import TaskSpec
from starloom_protocol.values import parse

NET_REACH: Final = "net:reach"
HOSTS: Final = "hosts"
"""The fact of an offer that lists hosts, one a line; `*` is any."""
_BY_TOOL: Final[Mapping[str, tuple[str, ...]]] = {
    "browser.capture": ("url",),
    "browser.read": ("url",),
    "browser.steps": ("url",),
    "git.clone": ("url",),
    "http.request": ("url",),
    "net.check": ("at", "url", "host"),
    "wait.until": ("host",),
}
"""The arguments of each tool that checks a host, in the order in which it asks them."""


def asked_host(spec: TaskSpec) -> str | None:
    """Return the host that a task asks, an empty text if only its run shows which, None if it asks none."""
    names = _BY_TOOL.get(spec.tool or "")
    if names is None:
        return None
    if any(item.name in names for item in spec.inputs):
        return ""
    args = parse(spec.args)
    given = next((args[name] for name in names if args.get(name)), None) if isinstance(args, dict) else None
    return _host(given) if given is not None else None


def _host(given: Any) -> str:
    if not isinstance(given, str) or "{{" in given:
        return ""
    try:
        found = urlsplit(given if "//" in given else f"//{given}").hostname
    except ValueError:
        return ""
    return (found or "").lower()


def lacks_host(host: str, facts: Mapping[str, str]) -> bool:
    """Tell whether a device that grants `net:reach` has told its hosts, and this one is not among them."""
    listed = facts.get(HOSTS)
    return bool(host) and listed is not None and not {"*", host} & set(listed.splitlines())
