"""The fault profiles of the suite: what breaks, at which share of the tasks, and where. Drawn by task and seed. Pure.

Breaks nothing: `striker` carries a strike out, `world_program` makes the noise of P2.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.lab.nebula.world.devices import NAMES
from starloom_protocol.plan.scenario import AtDoc, FaultDoc
from starloom_protocol.records.lab import FAULT_MAX_S, FaultKind, FaultTarget

NONE: Final = "P0"
TRANSIENT: Final = "P1"
NOISE: Final = "P2"
LOSS: Final = "P3"
HUB: Final = "P4"
CHANGE: Final = "P5"
PROFILES: Final = {
    NONE: "nothing breaks",
    TRANSIENT: "once an agent is killed and back after 5 s, or a link is cut for 10 s",
    NOISE: "own tools fail for a moment (5 %) or for good (3 %), say yes and do nothing (2 %), are slow (5 %)",
    LOSS: "one device is lost for good at half of the tasks",
    HUB: "the hub is killed and started again",
    CHANGE: "the world changes meanwhile",
}
SHARES: Final = (0.1, 0.5, 0.9)
"""The shares of the ended tasks at which a fault strikes; one is drawn."""
LOST_AT: Final = 0.5
KILLED_S: Final = 5.0
CUT_S: Final = 10.0
HUB_AWAY_S: Final = 2.0
NOISE_SHARES: Final = {"transient": 0.05, "hard": 0.03, "lying": 0.02, "slow": 0.05}
TIME_SCALES: Final = {LOSS: 4}
"""By profile, the number that divides leases and graces: a device that is lost counts as off after 5 s, not 20 s."""


class ProfileUnknown(Exception):
    """A text names no profile: says which there are."""


@dataclass(frozen=True)
class Strike:
    """One fault of a run. `order` are the devices in the order in which one is chosen; a change has no `fault`.

    With a `stage` it strikes while the model is asked at this stage, in place of a share of the ended tasks; with
    `after_s` so long after the first task began, on the first device of the order, at work or not.
    """

    profile: str
    share: float
    order: tuple[str, ...] = NAMES
    fault: FaultDoc | None = None
    stage: str = ""
    after_s: float = 0.0

    @property
    def needs_device(self) -> bool:
        return self.fault is not None and self.fault.target in (FaultTarget.DEVICE, FaultTarget.LINK)

    @property
    def for_good(self) -> bool:
        """Whether it is taken back only after the run."""
        return self.profile == LOSS

    def due(self, ended: int, tasks: int, under_way: int) -> bool:
        """Return whether its time has come: so many tasks have ended, and one that it can hit is under way."""
        reached = tasks > 0 and ended >= min(int(self.share * tasks), tasks - 1)
        return reached and (under_way > 0 or not self.needs_device)

    def device(self, busy: Collection[str]) -> str:
        """Return the first device of the order that is at work."""
        return next(name for name in self.order if name in busy)


def read_profiles(text: str) -> tuple[str, ...]:
    """Read `P1`, `P0,P3` or `P0..P5`.

    Raises:
        ProfileUnknown: a part names none.
    """
    names, profiles = list(PROFILES), dict[str, None]()
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        for name in (first, last) if dots else (first,):
            if name not in names:
                raise ProfileUnknown(f"{name or 'nothing'} is none of {', '.join(names)}")
        span = names[names.index(first) : names.index(last or first) + 1]
        if not span:
            raise ProfileUnknown(f"{part.strip()} ends before it begins; write {last}..{first}")
        profiles |= dict.fromkeys(span)
    return tuple(profiles)


def strikes(profile: str, task: str, seed: int, stages: Sequence[str] = ()) -> tuple[Strike, ...]:
    """Return the faults of one run: the same for the same profile, task and seed.

    `stages` are those at which a scripted model is asked: what breaks once may break there.
    """
    draw = random.Random(f"{profile}/{task}/{seed}")  # noqa: S311 - which fault an examination makes
    share, order = draw.choice(SHARES), tuple(draw.sample(NAMES, len(NAMES)))
    cut = draw.random() < 0.5
    stage = draw.choice(("", *stages))
    match profile:
        case "P1" if cut:
            return (Strike(profile, share, order, _fault(share, FaultTarget.LINK, FaultKind.CUT, CUT_S), stage),)
        case "P1":
            return (Strike(profile, share, order, _fault(share, FaultTarget.DEVICE, FaultKind.KILL, KILLED_S), stage),)
        case "P3":
            lost = _fault(LOST_AT, FaultTarget.DEVICE, FaultKind.KILL, FAULT_MAX_S)
            return (Strike(profile, LOST_AT, order, lost),)
        case "P4":
            return (Strike(profile, share, order, _fault(share, FaultTarget.HUB, FaultKind.KILL, HUB_AWAY_S)),)
        case "P5":
            return (Strike(profile, share, order),)
        case _:
            return ()


def loss(device: str, after_s: float) -> Strike:
    """Return the loss of a device that is a part of a task: it is off until the run is over."""
    fault = FaultDoc(at=AtDoc(progress=0.0), target=FaultTarget.DEVICE, kind=FaultKind.KILL, for_s=FAULT_MAX_S)
    return Strike(NONE, 0.0, (device,), fault, after_s=after_s)


def _fault(share: float, target: FaultTarget, kind: FaultKind, for_s: float) -> FaultDoc:
    return FaultDoc(at=AtDoc(progress=share), target=target, kind=kind, for_s=for_s)


def noise_of(profile: str, task: str) -> dict[str, object] | None:
    """Return the noise of the world program under a profile; None where it makes none."""
    return {"task": task, **NOISE_SHARES} if profile == NOISE else None


def listed(profiles: Sequence[str]) -> str:
    """Return the profiles as they are written: `P0`, `P0..P5` or `P0,P3`."""
    names = list(PROFILES)
    places = [names.index(name) for name in profiles]
    if len(places) > 2 and places == list(range(places[0], places[-1] + 1)):
        return f"{profiles[0]}..{profiles[-1]}"
    return ",".join(profiles)
