"""Five fleets and what a planner is told of each: `python -m tests.planner.prompts` writes `golden/`, `--table` sizes.

The offers are those of the real tools with their schemas; the fleets with many tools add such as MCP servers have.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from starloom.planner.context.assembly import Asking, Context, joined, request_part
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.prompt import planning_context
from starloom.planner.recipes.catalogue import load_catalogue
from starloom_agent.policy.offers import schema_of
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.entities import Device, Offer, ToolOffer
from starloom_protocol.tools.results import built_in, name_of
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import DeviceLink, Effect, Profile, Repeatability
from tests.planner.fleets import device, fleet

FOLDER = Path(__file__).parent / "golden"
TODAY = "Wednesday, 2026-11-25 (time zone Europe/Berlin)"
BYTES_MAX = 25_200
"""7,000 tokens at the 3.6 bytes that a token of such a text has."""
READS = ("files:read", "net:reach")
WORKS = (*READS, "files:write", "python:run", "shell:run", "service:restart", "git:run", "process:kill")
DESK = (*WORKS, "screen:view", "clipboard:use", "desktop:use")
ALL = tuple(sorted({tool.grant for tool in all_tools() if tool.grant}))


@dataclass(frozen=True)
class Case:
    """One fleet with a request, and what a planner has to find in the text."""

    words: str
    fleet: Callable[[], FleetSnapshot]
    needs: tuple[str, ...]


@cache
def offer(grants: tuple[str, ...], without: tuple[str, ...] = ()) -> Offer:
    """Return the offer of an agent with these grants, schemas and all."""
    tools = [
        ToolOffer(
            args=schema_of(tool.args),
            effects=list(tool.effects),
            grant=tool.grant,
            name=tool.name,
            repeatability=tool.repeatability,
            returns=name_of(built_in()[tool.name]),
            title=tool.title,
            unavailable=None if tool.grant is None or tool.grant in grants else f"{tool.grant} is not allowed",
        )
        for tool in all_tools()
        if not tool.lab_only and not tool.name.startswith(without)
    ]
    return Offer(digest="x", grants=sorted(grants), slots=3, tools=tools)


def mcp_tools(server: int) -> list[ToolOffer]:
    """Return twenty tools as an MCP server of a business has them, different on each device."""
    things = ("invoice", "ticket", "customer", "contract", "delivery")
    deeds = {"list": Effect.READ, "read": Effect.READ, "create": Effect.CHANGE, "close": Effect.CHANGE}
    return [
        ToolOffer(
            args=_args({"limit": "integer"} if deed == "list" else {"id": "string", "note": "string"}),
            effects=[effect],
            grant=f"mcp:office{server:02}",
            name=f"mcp.office{server:02}.{deed}_{thing}",
            repeatability=Repeatability.NEVER,
            returns=canonical({"type": "object", "properties": {f"{thing}s": {"type": "array"}}}),
            title=f"{deed.capitalize()} {thing}s of office {server:02}",
        )
        for thing in things
        for deed, effect in deeds.items()
    ]


def _args(fields: Mapping[str, str]) -> str:
    properties: dict[str, Any] = {name: {"type": kind} for name, kind in fields.items()}
    return canonical({"description": "The fields of one record.", "properties": properties, "type": "object"})


def _one() -> FleetSnapshot:
    return fleet(device("laptop"), offers={"laptop": offer(())})


def _two() -> FleetSnapshot:
    phone = device("phone", labels=["phone"], os="android")
    offers = {"desk": offer(DESK), "phone": offer(("files:read",), PHONE_LACKS)}
    return fleet(_as(device("desk"), Profile.OPERATE), phone, offers=offers)


PHONE_LACKS = ("adb.", "browser.", "container.", "desktop.", "git.", "package.", "service.", "shell.", "screen.")


def _nebula() -> FleetSnapshot:
    devices = [
        _as(device("desk", labels=["desk"]), Profile.OPERATE),
        *(_as(device(name, labels=["server"]), Profile.OPERATE) for name in ("srv-a", "srv-b")),
        _as(device("gpu", labels=["gpu", "server"]), Profile.OPERATE),
        device("phone", labels=["phone"], os="android", online=False),
    ]
    offers = dict.fromkeys(("srv-a", "srv-b", "gpu"), offer(WORKS, ("adb.", "desktop.", "screen.", "clipboard.")))
    return fleet(*devices, offers={**offers, "desk": offer(DESK), "phone": offer(READS, PHONE_LACKS)})


def _many(names: Iterable[str], offers: Callable[[int], Offer]) -> FleetSnapshot:
    devices = [_as(device(name, labels=["server"]), Profile.OPERATE) for name in names]
    return fleet(*devices, offers={item.name: offers(number) for number, item in enumerate(devices, 1)})


@cache
def _alike() -> FleetSnapshot:
    return _many((f"srv-{number:02}" for number in range(1, 51)), lambda _: offer(ALL))


@cache
def _mcp() -> FleetSnapshot:
    plain = offer(WORKS)
    return _many(
        (f"office-{number:02}" for number in range(1, 51)),
        lambda number: msgspec.structs.replace(
            plain, grants=[*plain.grants, f"mcp:office{number:02}"], tools=[*plain.tools, *mcp_tools(number)]
        ),
    )


def _as(made: Device, profile: Profile) -> Device:
    return msgspec.structs.replace(made, profile=profile)


LANGUAGE = ("rules?:", "undo?:", "verify?:", "in_turn?:", "on_absence?:", "repeatability?:", "`plan: {", "on_failure?:")
BASICS = ("system.info(", "log.search(", "disk.usage(", "data.merge(", "copy-file(", '"kind": "more_tools"', TODAY)
CASES: dict[str, Case] = {
    "one": Case(
        "which of my machines has the least free disk?",
        _one,
        ('"laptop"', "linux", "free_bytes: int", "starloom-agent grant files:read ~/FOLDER", "fs.find"),
    ),
    "two": Case(
        "put the newest pictures of my phone on the desk",
        _two,
        ('"phone"', "android", "artifact.put(", "fs.write(", "phone-to-desk("),
    ),
    "nebula": Case(
        "find out why srv-b answers slowly and restart what hangs",
        _nebula,
        ('"srv-a", "srv-b"', '"gpu"', "Offline now", "service.restart(", "process.list(", "may mean: "),
    ),
    "alike": Case(
        "search the logs of all servers for timeouts",
        _alike,
        ('"srv-01" to "srv-50" (50 devices, group 1)', "log.search(", "service.status("),
    ),
    "mcp": Case(
        "close the tickets of office 17",
        _mcp,
        ("mcp.office17.close_ticket(", "mcp.office17.list_ticket(", "mcp.office50.*: 20", "shell.run(", "python.run("),
    ),
}


def asking(case: Case, words: str | None = None) -> Asking:
    return Asking(
        words=case.words if words is None else words,
        fleet=case.fleet(),
        recipes=tuple(load_catalogue().all()),
        before=("how are my machines?",),
        today=TODAY,
    )


@cache
def made(case: Case, words: str | None = None) -> Context:
    return planning_context(asking(case, words))


def text_of(case: Case, words: str | None = None) -> str:
    """Return the whole prompt as one text."""
    found = made(case, words)
    request = request_part(case.words if words is None else words, {})
    return joined(part.text for part in (*found.parts, request)) + "\n"


def away(view: FleetSnapshot) -> FleetSnapshot:
    """Return the fleet with every second device offline."""
    records = [
        msgspec.structs.replace(record, link=DeviceLink.OFFLINE if number % 2 else record.link)
        for number, record in enumerate(view.records.values())
    ]
    return FleetSnapshot.of({record.id: record for record in records}, view.offers)


def table() -> list[str]:
    """Return the figures of each prompt; `docs/benchmarks.md` has their range."""
    rows = []
    for name, case in CASES.items():
        text, found = text_of(case), made(case)
        stable = len(found.stable.encode())
        total = len(text.encode())
        tools = len({tool for seen in found.shelf.tools for tool in (seen.offer.name,)})
        count = len(case.fleet().devices)
        rows.append(f"| {name} | {count} | {tools} | {total:,} | {round(total / 3.6):,} | {stable / total:.0%} |")
    return rows


def main(argv: list[str]) -> int:
    """Write the golden prompts, or print the table."""
    if "--table" in argv:
        sys.stdout.write("\n".join(table()) + "\n")
        return 0
    FOLDER.mkdir(exist_ok=True)
    for name, case in CASES.items():
        (FOLDER / f"{name}.txt").write_text(text_of(case), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
