"""`make fair-share REAL=1`: the two people and twelve constellations of `tests.sim.fair_share`, for real.

A hub, four agents with four slots each, programs that sleep for as long as their tasks take in virtual time, and two
people who are signed in. Each small constellation runs alone first. Prints a line for each and ends with one line of
JSON; exit code 1 if a small one took longer than the rule of the simulation allows, or one did not succeed.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES
from tests.chaos.stack import Stack, running
from tests.chaos.work import plan
from tests.sim.fair_share import DEVICES, TIMES_MOST, Asked, draw

PROGRAM = "import sys, time\ntime.sleep(float(sys.argv[1]))\n"
POLL_S = 0.1
PATIENCE_S = 600.0


def document(asked: Asked, command: list[str]) -> dict[str, Any]:
    """Return what a person submits for it."""
    tasks = [
        {"id": task, "tool": "shell.run", "args": {"argv": [*command, str(ms / 1000)]}, "repeatability": "idempotent"}
        for task, ms in asked.takes_ms.items()
    ]
    inputs = [(spec.id, given.source) for spec in asked.made.specs for given in spec.inputs]
    links = [{"from": source, "to": target, "when": "success"} for target, source in inputs]
    return {"plan": plan(asked.name, tasks) | {"dependencies": links}}


def person(stack: Stack, name: str) -> httpx.Client:
    """Invite a person and sign in with the link."""
    link = stack.client.create("/sign-in-links", {"for": name, "role": "operator"})["url"]
    identity, _, secret = link.rpartition("/")[2].partition(".")
    client = httpx.Client(base_url=f"{stack.client.address.url}/api/v1", trust_env=False, timeout=30)
    answer = client.post("/sign-in", json={"id": identity, "secret": secret}).raise_for_status().json()
    client.headers["X-Starloom-CSRF"] = answer["csrf"]
    return client


def took_s(stack: Stack, asked: list[Asked], people: dict[str, httpx.Client]) -> dict[str, float]:
    """Ask for all of it, each at its time; return how long each took from its submit to its end."""
    began = time.monotonic()
    coming, took = list(asked), dict[str, float]()
    open_now: dict[str, tuple[str, float]] = {}
    while coming or open_now:
        now = time.monotonic()
        if now - began > PATIENCE_S:
            raise TimeoutError(f"{sorted(name for name, _ in open_now.values())} did not end")
        while coming and coming[0].at_ms / 1000 <= now - began:
            one = coming.pop(0)
            answer = people[one.by].post("/constellations", json=document(one, stack.place.command))
            open_now[answer.raise_for_status().json()["id"]] = (one.name, time.monotonic())
        for key, (name, asked_at) in list(open_now.items()):
            head = stack.client.get(f"/constellations/{key}")
            if head["state"] in FINAL_CONSTELLATION_STATES:
                assert head["state"] == "succeeded", f"{name} has {head['state']}"
                took[name] = time.monotonic() - asked_at
                del open_now[key]
        time.sleep(POLL_S)
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    asked = draw(parser.parse_args().seed)
    longest_s = max(max(one.takes_ms.values()) for one in asked) / 1000
    with ExitStack() as stay:
        home = Path(stay.enter_context(tempfile.TemporaryDirectory(prefix="sl-fair-")))
        stack = Stack(home)
        stack.place.program.write_text(PROGRAM)
        stay.enter_context(running(stack, tuple(f"n{number}" for number in range(DEVICES))))
        people = {f"person:{name}": stay.enter_context(closing(person(stack, name))) for name in ("ann", "bob")}
        small = [one for one in asked if one.small]
        alone = {one.name: took_s(stack, [replace(one, at_ms=0)], people)[one.name] for one in small}
        took = took_s(stack, asked, people)
    late = [name for name, alone_s in alone.items() if took[name] > TIMES_MOST * alone_s + longest_s]
    for one in asked:
        beside = f", alone {alone[one.name]:.1f} s" if one.small else ""
        print(f"{one.name} of {one.by}: {len(one.takes_ms)} tasks, {took[one.name]:.1f} s{beside}")
    worst = max(took[name] / alone_s for name, alone_s in alone.items())
    print(json.dumps({"constellations": len(took), "late": len(late), "most_times_alone": round(worst, 2)}))
    return 1 if late else 0


if __name__ == "__main__":
    sys.exit(main())
