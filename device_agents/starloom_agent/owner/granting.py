"""The words of `starloom-agent grant` as its owner types them: one that allows nothing is refused with the nearest.

Owns the checks of a typed grant, its folders and its hosts. Changes no policy, and decides about no call.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Sequence
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starloom_agent.home.directory import AgentHome
from starloom_agent.owner import agents, mcp
from starloom_agent.policy.policy import FILES_READ, FILES_WRITE, NET_REACH, PYTHON_UNCONFINED, SHELL_RUN
from starloom_agent.work.registry import all_tools
from starloom_protocol.text.wording import quoted

_HOST: Final = re.compile(r"[\w-]+(\.[\w-]+)*\.?")
_FILES: Final = {"mcp": "mcp.toml", "agent": "agents.toml"}
"""The prefix of a grant for a server or an agent -> the file in which its owner names it."""
_NAMES_LOOKED_AT: Final = 500
"""The names of a folder are for an error text; a longer look would hold it up."""


class NotMeant(Exception):
    """The words of a grant mean nothing here; the text says what to type instead."""


def check_grant(home: AgentHome, grant: str, what: Sequence[str]) -> None:
    """Check a typed grant and what it is for.

    Raises:
        NotMeant: no tool of this agent needs the grant, or a folder or host cannot be one.
    """
    prefix, colon, name = grant.partition(":")
    listed_names = _own_names(home, prefix)
    if listed_names is None or not colon or not name:
        grants = sorted({tool.grant for tool in all_tools() if tool.grant} | {PYTHON_UNCONFINED})
        if grant not in grants:
            listed = ", ".join((*grants, "mcp:NAME", "agent:NAME"))
            raise NotMeant(f"{quoted(grant)} is no grant{_hint(grant, grants)} There are {listed}")
    elif name not in listed_names and (hint := _hint(name, listed_names)) != ".":
        raise NotMeant(f"{home.root / _FILES[prefix]} names no {quoted(name)}{hint}")
    if grant == SHELL_RUN and what and not what[0].strip():
        raise NotMeant(f"a command begins with the name of its program: starloom-agent grant {SHELL_RUN} -- uptime")
    for word in what:
        if grant in (FILES_READ, FILES_WRITE):
            _check_folder(word)
        elif grant == NET_REACH:
            _check_host(word)


def _own_names(home: AgentHome, prefix: str) -> Collection[str] | None:
    """Return the names in the owner's file of such grants; None for a grant of a tool."""
    if prefix not in _FILES:
        return None
    with suppress(mcp.McpFault, agents.AgentsFault):  # the agent and `agents check` say what is wrong with a file
        return mcp.read_servers(home.root / _FILES[prefix]) if prefix == "mcp" else agents.read_agents(home.root)[0]
    return ()


def unnamed(home: AgentHome, grant: str) -> str:
    """Return why a grant for a server or an agent allows nothing yet; empty where its file names it."""
    prefix, _, name = grant.partition(":")
    listed_names = _own_names(home, prefix)
    if listed_names is None or name in listed_names:
        return ""
    return f"{home.root / _FILES[prefix]} names no {name} yet, so this grant allows nothing until it does"


def _hint(word: str, names: Collection[str]) -> str:
    near = get_close_matches(word.casefold(), names, n=1)
    return f"; did you mean {near[0]}?" if near else "."


def _check_folder(word: str) -> None:
    try:
        place = Path(word).expanduser().resolve()
    except RuntimeError:  # `~name` of a user that there is not
        raise NotMeant(f"{word} begins with the home folder of a user that is not here; name the whole path") from None
    if place.is_dir():
        return
    if place.exists():
        raise NotMeant(f"{place} is a file, and a grant names folders: {place.parent} is the one that holds it")
    names: list[str] = []
    with suppress(OSError):
        names = [one.name for one in islice(place.parent.iterdir(), _NAMES_LOOKED_AT) if one.is_dir()]
    by_form = {name.casefold(): name for name in sorted(names)}
    near = get_close_matches(place.name.casefold(), by_form, n=1)
    hint = f"; did you mean {place.parent / by_form[near[0]]}?" if near else ". Make it, then type this line again"
    raise NotMeant(f"{place} is not a folder{hint}")


def _check_host(word: str) -> None:
    with suppress(ValueError):
        ipaddress.ip_address(word)
        return
    if word == "*" or _HOST.fullmatch(word):
        return
    host = ""
    with suppress(ValueError):
        host = urlsplit(word if "://" in word else f"//{word}").hostname or ""
    hint = f": starloom-agent grant {NET_REACH} {host}" if _HOST.fullmatch(host) else ""
    raise NotMeant(f"{quoted(word)} is no host, which has no scheme, port, path or pattern (* alone is any){hint}")
