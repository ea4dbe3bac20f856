"""`python -m tests.guard.report`: matrices, threats, fuzzing, the OpenAPI and the canary, told for people.

Ends with one line of JSON; exit code 1 if anything in it is not as it must be. `FRAMES`, `CASES`, `REAL` (requests to a
hub that runs as a person starts it, 2,000), `FULL` and `SEED` say how much and from where, `ROWS` names the rows of the
threat table (all, without it); a case that was not handled is printed with its seed and kept in `seeds.txt`. With `FOR`
(`10m`) nothing runs but the attackers over real processes, so long each; `FULL` runs them for a minute each beside the
rest.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from starloom.edge.access.guard import ROUTES
from tests.edge.test_guard import routes_of
from tests.edge.world import a_world
from tests.guard import api, fuzzing, served
from tests.guard.drivers import running
from tests.guard.evil_device import Stage
from tests.guard.frames import keep_seed
from tests.guard.sockets import Siege, rss_bytes
from tests.guard.threat import Threat
from tests.guard.threats import THREATS
from tests.spans import seconds

ROOT = Path(__file__).parents[2]
MATRICES = ("tests/guard/test_matrix.py", "tests/edge/test_guard.py", "tests/edge/web/test_shield.py")
CANARY = "tests/recipes/test_secrets.py"
RSS_GROWTH_MOST = 96 * 1024 * 1024
TESTS_S_MOST = 1800
UNHANDLED_MOST = 10
"""A hub that answers no more would leave every further connection waiting: the siege ends with what it has."""
TOLD_EVERY = 200
ATTACKED = ("attacks", "attack_refusals", "attack_unlogged", "attack_effects")
EVIL, EVIL_FULL = 100, 2_000
"""Connections of the device that lies, before its result and again after it."""

DRIVEN_S = 60.0
"""How long each attacker over real processes goes on with FULL."""

Said = dict[str, int]


def tests(rows: tuple[Threat, ...]) -> tuple[dict[str, bool], str]:
    """Run every test that a row names; return whether each passed, by `path::name`, and what they printed."""
    wanted = {CANARY, "tests/guard/test_threats.py", *(name for row in rows for name in row.tests)}
    wanted |= set(MATRICES) if rows == THREATS else set()
    files = {name for name in wanted if "::" not in name}
    chosen = sorted(name for name in wanted if name in files or name.partition("::")[0] not in files)
    with tempfile.TemporaryDirectory(prefix="starloom-guard-") as folder:
        told = Path(folder) / "junit.xml"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-o", "junit_logging=system-out"]
        subprocess.run(
            [*command, "-o", "junit_family=xunit1", f"--junit-xml={told}", *chosen],
            cwd=ROOT,
            check=False,
            timeout=TESTS_S_MOST,
        )
        cases = list(ET.parse(told).getroot().iter("testcase"))  # noqa: S314 - written by pytest just now
    passed: dict[str, bool] = {}
    for case in cases:
        name = f"{case.get('file')}::{str(case.get('name')).partition('[')[0]}"
        bad = any(case.find(word) is not None for word in ("failure", "error", "skipped"))
        passed[name] = passed.get(name, True) and not bad
    return passed, "\n".join(case.findtext("system-out") or "" for case in cases)


def judged(row: Threat, passed: dict[str, bool]) -> str:
    """Return `green`, `red` or `out of reach`."""
    if row.beyond:
        return "out of reach"
    mine: list[bool] = []
    for wanted in row.tests:
        found = [ok for name, ok in passed.items() if name == wanted or name.startswith(wanted + "::")]
        mine += found or [False]
    return "green" if mine and all(mine) else "red"


def fuzzed(frames: int, documents: int, first: int) -> Said:
    """Run the fuzzer of frames and of documents."""
    said = {"frames_mutated": 0, "unhandled": 0}
    for kind, cases in (("frames", frames), ("documents", documents)):
        began = time.monotonic()
        found = fuzzing.run(kind, cases, first=first)
        said["frames_mutated"] += found.cases if kind == "frames" else 0
        said["unhandled"] += len(found.unhandled)
        _tell(f"{found.cases} {kind} in {time.monotonic() - began:.0f} s", dict(found.said.most_common()))
        for seed, reason in found.unhandled:
            print(f"  NOT HANDLED {kind} seed {seed}: {reason}")
            keep_seed(kind, seed, reason.strip().splitlines()[-1])
    return said


async def besieged(messages: int, first: int) -> Said:
    """Attack a live hub; return what was sent and what was not handled."""
    with tempfile.TemporaryDirectory(prefix="starloom-guard-") as home:
        async with a_world(Path(home), lab=True) as world:
            siege, sent, number, warm = Siege(world), 0, first, 0
            try:
                await siege.open()
                while sent < messages and len(siege.unhandled) < UNHANDLED_MOST:
                    sent += await siege.attack(number)
                    number += 1
                    warm = warm or (rss_bytes() if sent > messages // 4 else 0)
                    if number % TOLD_EVERY == 0:
                        print(f"  {sent} messages sent on {number - first} connections", flush=True)
            finally:
                siege.close()
            grown = rss_bytes() - (warm or rss_bytes())
            _tell(f"{sent} messages on {number - first} live connections", dict(siege.said))
            print(f"  memory grew by {grown / 2**20:.1f} MiB after the first quarter")
            for seed, reason in siege.unhandled:
                print(f"  NOT HANDLED sockets seed {seed}: {reason}")
                keep_seed("sockets", seed, reason)
            assert siege.victim.ws is not None
            await siege.victim.ws.leave()
    return {"frames_mutated": sent, "unhandled": len(siege.unhandled) + (grown > RSS_GROWTH_MOST)}


async def lied(connections: int, first: int) -> Said:
    """Have a joined device lie about the work of others; return what it sent, and how often it had an effect."""
    sent, wrong, said = 0, 0, Counter[str]()
    # A hub each: one takes no more than so many failed connections in a minute, and the clock stands still.
    for seed in range(first, first + connections, EVIL):
        with tempfile.TemporaryDirectory(prefix="starloom-guard-") as home:
            async with a_world(Path(home), lab=True) as world:
                stage = Stage(world)
                sent += await stage.besiege(min(EVIL, first + connections - seed), first=seed)
        wrong, said = wrong + len(stage.wrong), said + stage.said
        for number, reason in stage.wrong[:20]:
            print(f"  WRONG evil seed {number}: {reason}")
    _tell(f"{sent} messages of a device that lies", dict(said))
    return {"frames_mutated": sent, "unhandled": wrong}


async def asked(each: int, seed: int) -> Said:
    """Send what schemathesis makes, with the store up and away; count the routes beside it."""
    with tempfile.TemporaryDirectory(prefix="starloom-guard-") as home:
        async with a_world(Path(home), lab=True) as world:
            routes = routes_of(world)
            real = await api.real_things(world)
            made = api.requests(world.app.openapi(), each, real, seed)
            up = await api.ask_all(world, made, down=False)
            with api.store_away(world):
                down = await api.ask_all(world, made, down=True)
    for name, answers in (("up", up), ("away", down)):
        _tell(f"{answers.cases} requests of schemathesis, store {name}", dict(sorted(answers.statuses.items())))
        for error in answers.errors[:20]:
            print(f"  WRONG {error[:500]}")
    return {
        "routes": len(routes),
        "unguarded": len(routes ^ set(ROUTES)),
        "schemathesis_cases": up.cases + down.cases,
        "server_errors": len(up.errors) + len(down.errors),
    }


def asked_for_real(least: int, seed: int) -> Said:
    """Send what schemathesis makes to real processes."""
    answers = served.asked(least, seed)
    _tell(f"{answers.cases} requests of schemathesis to real processes", dict(sorted(answers.statuses.items())))
    for error in answers.errors[:20]:
        print(f"  WRONG {error[:500]}")
    # Fewer than were asked for show less than this report says.
    short = answers.cases < least
    if short:
        print(f"  WRONG only {answers.cases} of {least} requests were answered")
    return {"real_requests": answers.cases, "server_errors": len(answers.errors) + short}


def _tell(what: str, more: Said | dict[int, int] | dict[str, int]) -> None:
    print(f"{what}: " + ", ".join(f"{key} {value}" for key, value in more.items()), flush=True)


def _number(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text else otherwise


def driven(named: list[str], span_s: float, seed: int) -> int:
    """Run the attackers of these rows alone, all of them without a row; return the exit code."""
    if unknown := sorted(set(named) - set(running.DRIVERS)):
        print(f"no attacker goes on for a time for {', '.join(unknown)}; there are {', '.join(running.DRIVERS)}")
        return 2
    told = running.run(named or running.DRIVERS, span_s, seed)
    print(json.dumps({"seed": seed, **told}))
    return 1 if told["attack_unlogged"] or told["attack_effects"] else 0


def main() -> int:
    frames, seed = _number("FRAMES", fuzzing.CI_FRAMES), _number("SEED", 0)
    named = os.environ.get("ROWS", "").replace(",", " ").upper().split()
    if unknown := sorted(set(named) - {row.id for row in THREATS}):
        print(f"ROWS names no row of the threat table: {', '.join(unknown)}")
        return 2
    if span := os.environ.get("FOR", ""):
        return driven(named, seconds(span), seed)
    rows = tuple(row for row in THREATS if row.id in named) if named else THREATS
    passed, printed = tests(rows)
    states = {row.id: judged(row, passed) for row in rows}
    print("\nThreats")
    for row in rows:
        why = row.beyond or row.part
        print(f"  {row.id:3} {states[row.id]:12} {row.threat}: {row.held_by}" + (f" ({why})" if why else ""))
    hits = re.findall(r"canary_hits=(\d+)", printed)
    print(f"\nCanary: {sum(map(int, hits))} hits in {len(hits)} runs")
    logging.disable(logging.WARNING)
    parts: list[Callable[[], Said]] = [
        lambda: fuzzed(frames, max(frames // 10, 1), seed),
        lambda: asyncio.run(besieged(max(frames // 20, 1), seed)),
        lambda: asyncio.run(lied(EVIL_FULL if os.environ.get("FULL") else EVIL, seed)),
        lambda: asyncio.run(asked(_number("CASES", 3), seed)),
        lambda: asked_for_real(_number("REAL", served.REQUESTS_LEAST), seed),
    ]
    if os.environ.get("FULL"):
        parts.append(lambda: running.run([row.id for row in rows], DRIVEN_S, seed))
    told: Said = dict.fromkeys(ATTACKED, 0)
    for part in parts:
        for name, count in part().items():
            told[name] = told.get(name, 0) + count
    reached = [state for state in states.values() if state != "out of reach"]
    # Without a run of the canary nothing is known, which is no nought.
    told["canary_hits"] = sum(map(int, hits)) if hits else -1
    told |= {"threats": len(reached), "threats_green": reached.count("green")}
    red = sorted(name for name, ok in passed.items() if not ok)
    attacks = f", and {told['attacks']} attacks over real processes" if os.environ.get("FULL") else ""
    print(f"\n{told['real_requests']} requests went to real processes (hub, worker, Redis, agent){attacks}.")
    if not attacks:
        print("This was the short form; `make guard FULL=1` lets each attacker go on over real processes for a minute.")
    print("Tests that failed: " + (", ".join(red) or "none"))
    names = (
        "routes unguarded frames_mutated unhandled schemathesis_cases server_errors threats threats_green canary_hits"
    )
    print(json.dumps({name: told[name] for name in (*names.split(), "real_requests", *ATTACKED)}))
    wrong = (
        told["attack_unlogged"]
        + told["attack_effects"]
        + told["unguarded"]
        + told["unhandled"]
        + told["server_errors"]
        + abs(told["canary_hits"])
        + len(red)
    )
    return 1 if wrong or told["threats"] != told["threats_green"] else 0


if __name__ == "__main__":
    sys.exit(main())
