"""Runs drivers one after the other, and says what came of each."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path

from tests.guard.drivers import answers, assistant, device, figures, hub, links, model, tokens
from tests.guard.drivers.tally import AttackTally, Stopwatch

Drive = Callable[[Path, Stopwatch, int], AttackTally]

DRIVERS: dict[str, tuple[str, Drive]] = {
    "T26": ("a device that lies", device.drive),
    "T27": ("a link swapper beside every file tool", links.drive),
    "T29": ("a hub that is not the hub", hub.drive),
    "T31": ("a hostile model", model.drive),
    "T32": ("an assistant over MCP", assistant.drive),
    "T33": ("a token of each scope", tokens.drive),
    "T51": ("files of an answer", answers.drive),
    "T52": ("figures that lie", figures.drive),
}
"""By the row of the threat table that each attacks."""

SHOWN_MOST = 10


def run(rows: Collection[str], span_s: float, seed: int) -> dict[str, int]:
    """Run the drivers of these rows for so long each; print what came of them and return the sums."""
    sums = {"attacks": 0, "attack_refusals": 0, "attack_unlogged": 0, "attack_effects": 0}
    for row, (name, drive) in DRIVERS.items():
        if row not in rows:
            continue
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="sl-guard-") as home:
            tally = drive(Path(home), Stopwatch(span_s), seed)
        took_s = time.monotonic() - began
        print(
            f"{row} {name}: {tally.attacks} attacks in {took_s:.0f} s, {tally.refusals} refused ({tally.held} of them"
            f" wait for a person), {len(tally.unlogged)} kinds not in the log, {len(tally.effects)} effects",
            flush=True,
        )
        for kind, sentences in (("NOT IN THE LOG", tally.unlogged), ("EFFECT", tally.effects)):
            for sentence in sentences[:SHOWN_MOST]:
                print(f"  {kind} {row} seed {seed}: {sentence[:600]}")
        sums["attacks"] += tally.attacks
        sums["attack_refusals"] += tally.refusals
        sums["attack_unlogged"] += len(tally.unlogged)
        sums["attack_effects"] += len(tally.effects)
    return sums
