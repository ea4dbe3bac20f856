"""`python -m tests.chaos.storm --for 60m [--hubs 2] [--seed 1]`: a storm over real processes, with leases as shipped.

Clients ask all the time while everything is killed, frozen and cut off, drawn from a seed. Then all is healed, and
everything that was accepted must end within two minutes. What ran is read from the witness files, what was promised
from what clients saw. Prints a report and, as its last line, JSON; the exit code is 1 if anything broke, and then the
folder stays. Ctrl-C heals at once and judges what there was.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from statistics import quantiles
from typing import Any

from tests.chaos.crowd import Asker, CrowdNotes, Watcher, effects_missing, open_of, states_of
from tests.chaos.history import collect
from tests.chaos.judge import Verdict, judge
from tests.chaos.stack import Stack
from tests.chaos.storm_goals import ends_of_goals, faults_of_goals
from tests.chaos.stormy import DEVICES, Embedded, Stormy, TwoHubs
from tests.spans import seconds
from tests.waiting import SLOWER, until

ENDED_WITHIN_S = 120.0
CLIENTS = 2
PAUSE_S = (0.5, 8.0)
TOLD_EVERY_S = 60.0
SHOWN_MOST = 20


class Weather:
    """One storm from its start to its verdict; `wrong` holds what broke, by kind."""

    def __init__(self, stormy: Stormy, seed: int, span_s: float, out: Path) -> None:
        self._stormy, self._seed, self._span_s, self._out = stormy, seed, span_s, out
        self._told = CrowdNotes()
        self._began = time.monotonic()
        self._enough = False
        self.wrong: dict[str, list[str]] = {}
        self.figures: dict[str, float] = {}

    def stop(self, *_: object) -> None:
        """Let it be enough: heal after the fault that is under way, and judge what there was."""
        self._enough = True

    @property
    def _stack(self) -> Stack:
        return self._stormy.stack

    def pass_over(self) -> None:
        """Start everything, let it storm, heal, and judge."""
        self._stormy.start()
        watcher = Watcher(self._stack, self._told, *self._stormy.finders())
        self._stormy.forget = watcher.forget
        finders = self._stormy.finders()
        askers = [
            Asker(
                self._stack,
                f"s{self._seed}w{n}k",
                finders[n % len(finders)],
                DEVICES,
                self._seed,
                self._told,
                self._stormy.goals,
            )
            for n in range(CLIENTS)
        ]
        watcher.start()
        for asker in askers:
            asker.start()
        try:
            self._blow(watcher)
            for asker in askers:
                asker.stop()
            self._heal(askers)
        finally:
            for asker in askers:
                asker.stop()
            watcher.stop()
        watcher.healthy()
        self._judge(watcher)

    def _heal(self, askers: list[Asker]) -> None:
        healed = time.monotonic()
        self._stormy.heal()
        for asker in askers:
            asker.join(90 * SLOWER)
        left = max(1.0, ENDED_WITHIN_S * SLOWER - (time.monotonic() - healed))
        try:
            until(lambda: not open_of(self._stack), "everything has ended", left)
        except AssertionError:
            self._found("stuck", [self._describe(request) for request in open_of(self._stack)])
        self.figures["ended_after_s"] = round(time.monotonic() - healed, 1)

    def _blow(self, watcher: Watcher) -> None:
        began, told = time.monotonic(), time.monotonic()
        pauses = random.Random(f"{self._seed} pauses")
        while time.monotonic() - began < self._span_s and not self._enough:
            at = time.monotonic()
            name = self._stormy.blow()
            self._say(f"{name} {time.monotonic() - at:.1f} s")
            watcher.healthy()
            if time.monotonic() - told > TOLD_EVERY_S:
                told = time.monotonic()
                print(
                    f"{told - began:.0f} s: {self._stormy.told.total()} faults, {len(self._stack.accepted)} accepted,"
                    f" {len(open_of(self._stack))} under way",
                    flush=True,
                )
            time.sleep(pauses.uniform(*PAUSE_S))
        self.figures["storm_s"] = round(time.monotonic() - began)

    def _judge(self, watcher: Watcher) -> None:
        verdict = Verdict()

        def rests() -> bool:
            nonlocal verdict
            verdict = judge(collect(self._stack))
            return not verdict.all

        try:
            until(rests, "the history is in order", 20 * SLOWER)
        except AssertionError:
            for kind in ("lost", "applied_twice", "nonrepeatable_twice", "stuck", "broken"):
                self._found(kind, getattr(verdict, kind))
        self._found("changed", watcher.compare(self._stack.client))
        self._found("without_effect", effects_missing(self._stack))
        names = {device["id"]: device["name"] for device in self._stack.client.get("/devices", all=True)["items"]}
        self._found("goals_broken", faults_of_goals(self._stack.accepted, names))
        self._found("doubled", self._told.doubled)
        self._found("refused", self._told.refused)
        self._found("tracebacks", self._tracebacks())

    def _tracebacks(self) -> list[str]:
        """Return the last lines of each traceback in the logs of processes; folders there hold the words of tasks."""
        logs = [path for path in (self._stack.home / "logs").glob("*.log") if not path.name.startswith("worker")]
        return [f"{path.name}: {text}" for path in logs for text in last_lines(path.read_text(errors="replace"))]

    def _found(self, kind: str, sentences: list[str]) -> None:
        self.wrong.setdefault(kind, []).extend(sentences)
        for sentence in sentences:
            self._say(f"{kind}: {sentence}")

    def _describe(self, request: Any) -> str:
        return f"{request.name} ({request.id}) {self._stack.describe(request)}"

    def _say(self, text: str) -> None:
        with self._out.open("a") as out:
            out.write(f"{time.monotonic() - self._began:8.1f} {text}\n")

    def document(self) -> dict[str, float]:
        """Return the figures, those of `make chaos` first."""
        kills = self._stack.kills
        begun = Counter(line.name for line in self._stack.place.lines() if line.what == "begin")
        waits = sorted(self._told.waits_s)
        p95 = quantiles(waits, n=20)[-1] if len(waits) > 1 else 0.0
        kinds = ("lost", "applied_twice", "nonrepeatable_twice", "stuck")
        more = ("changed", "broken", "without_effect", "goals_broken", "doubled", "refused", "tracebacks")
        faults = self._stormy.told
        frozen = sum(count for name, count in faults.items() if name.endswith("frozen"))
        return {
            **{f"{what}_kills": getattr(kills, what) for what in ("hub", "redis", "agent", "worker", "postgres")},
            "acknowledged": len(self._stack.accepted),
            **{kind: len(self.wrong.get(kind, [])) for kind in kinds},
            "seed": self._seed,
            "faults": faults.total(),
            "freezes": frozen,
            **{kind: len(self.wrong.get(kind, [])) for kind in more},
            "asked_again": self._told.again,
            "programs_begun": begun.total(),
            "programs": len(begun),
            "marked": self._told.marked,
            "goals": ends_of_goals(self._stack.accepted).total(),
            "goals_reached": ends_of_goals(self._stack.accepted)["succeeded"],
            "answered": self._told.answered,
            "accept_p50_s": round(waits[len(waits) // 2], 3) if waits else 0.0,
            "accept_p95_s": round(p95, 3),
            **self.figures,
        }

    def report(self) -> None:
        print("\nFaults: " + ", ".join(f"{name} {count}" for name, count in self._stormy.told.most_common()))
        print("Tasks: " + ", ".join(f"{state} {count}" for state, count in sorted(states_of(self._stack).items())))
        for kind, sentences in self.wrong.items():
            for sentence in sentences[:SHOWN_MOST]:
                print(f"  WRONG {kind}: {sentence}")


def last_lines(log: str) -> list[str]:
    """Return the line that each traceback of a log ends with."""
    found = []
    inside = False
    for line in log.splitlines():
        if line.startswith("Traceback"):
            inside = True
        elif inside and not line.startswith((" ", "\t")):
            found.append(line)
            inside = False
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--for", dest="span_s", type=seconds, default=seconds("2m"), metavar="60m")
    parser.add_argument("--hubs", type=int, choices=(1, 2), default=1)
    parser.add_argument("--seed", type=int, default=0, help="0: a new one, which is printed")
    given = parser.parse_args()
    seed = given.seed or random.SystemRandom().randrange(1, 10**6)
    # The path of a Unix socket must be short, and what the witness writes lies outside of it.
    home, witness = Path(tempfile.mkdtemp(prefix="sl-storm-")), Path(tempfile.mkdtemp(prefix="sl-witness-"))
    print(f"seed {seed}, hubs {given.hubs}, {given.span_s:.0f} s, in {home}", flush=True)
    stormy: Stormy = (TwoHubs if given.hubs == 2 else Embedded)(home, witness, seed)
    weather = Weather(stormy, seed, given.span_s, home / "storm.log")
    signal.signal(signal.SIGINT, weather.stop)
    broke = True
    try:
        weather.pass_over()
        broke = any(weather.wrong.values())
    except Exception:
        traceback.print_exc()
        weather.wrong["broken"] = [f"the storm itself ended in {stormy.now}"]
    finally:
        weather.report()
        stormy.end()
    if broke:
        print(f"What is left lies in {home} and {witness}; the faults in order in {home / 'storm.log'}")
    else:
        shutil.rmtree(home, ignore_errors=True)
    document = {"hubs": given.hubs, **weather.document()}
    if not broke:
        shutil.rmtree(witness, ignore_errors=True)
    print(json.dumps(document))
    return 1 if broke else 0


if __name__ == "__main__":
    sys.exit(main())
