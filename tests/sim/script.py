"""What a schedule is made of, as data: its faults and what people do, each at its moment. Drawn from a seed.

A part can be left out without changing what any other part does, so that a failing schedule can be made small.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

CHAOS_S = 90.0
FAULTS_LEAST, FAULTS_MOST = 8, 62

# How often each fault comes, against the others.
FAULTS = {
    "link_cut": 7,
    "duplicate": 8,
    "slow_net": 5,
    "partition": 3,
    "commit_lost": 6,
    "redis_doubt": 4,
    "redis_down": 3,
    "redis_restart": 2,
    "redis_cut": 2,
    "redis_wipe": 1,
    "history_doubt": 4,
    "history_down": 3,
    "history_slow": 3,
    "hub_crash": 3,
    "power_loss": 1,
    "late_power_loss": 2,
    "takeover": 3,
    "clock_jump": 3,
    "agent_crash": 6,
    "agent_power_loss": 4,
    "disk_full": 3,
}
PAIR_FROM = 1_000_000
"""Seeds from here on draw schedules with two hubs on one shard."""
PAIR_FAULTS = {
    **{kind: weight for kind, weight in FAULTS.items() if kind not in ("hub_crash", "late_power_loss", "takeover")},
    "power_loss": 1,
    "hub_kill": 6,
    "hubs_kill": 2,
    "hub_stop": 3,
    "hub_freeze": 7,
    "commit_freeze": 5,
    "line_cut": 5,
    "hubs_apart": 2,
}
MINDS_FROM = 1_000_000_000
"""Seeds from here on draw schedules with goals, votes, judges and workers, on one hub."""
MIND_FAULTS = {**FAULTS, "worker_kill": 10, "worker_stop": 10}
MIND_PAIRS_FROM = 2_000_000_000
"""Seeds from here on draw the same with two hubs on one shard."""
MIND_PAIR_FAULTS = {**PAIR_FAULTS, "worker_kill": 10, "worker_stop": 10}
PEOPLE_FROM = 3_000_000_000
"""Seeds from here on draw schedules with roles, tokens, secrets, clocks and restores, on one hub."""
PEOPLE_PAIRS_FROM = 4_000_000_000
"""Seeds from here on draw the same with two hubs on one shard, whose history stays."""
PEOPLE_S = 400.0
"""A clock fires once a minute at most, so there is time for several firings."""
TOGETHER_S = 25.0
PEOPLE_FAULTS = {**FAULTS, "clock_leap": 2, "restore": 3}
PEOPLE_PAIR_FAULTS = {**PAIR_FAULTS, "clock_leap": 2}
ACTS = {"submit": 2, "edit": 8, "race": 2, "control": 9, "return": 4, "drain": 2, "undo": 2, "fork": 2, "read": 2}

MIND_ACTS = {**ACTS, "submit": 1, "pursue": 8, "hint": 6, "reply": 14}
PEOPLE_ACTS = {
    "submit": 6,
    "control": 4,
    "edit": 2,
    "undo": 9,
    "fork": 6,
    "return": 2,
    "drain": 1,
    "read": 1,
    "reply": 18,
    "save": 7,
    "change": 6,
    "clock": 9,
    "secret": 5,
    "unset": 4,
    "role": 5,
    "token": 4,
    "untoken": 4,
    "stop_all": 2,
    "unstanding": 2,
    "draft": 4,
    "code": 9,
    "decide": 3,
    "device": 5,
    "recipe": 7,
    "unrecipe": 1,
    "run": 5,
    "words": 2,
    "sign_in": 4,
    "name": 8,
}
OWNER_ACTS = {
    "device": 3,
    "decide": 1,
    "secret": 5,
    "unset": 3,
    "role": 7,
    "token": 4,
    "untoken": 5,
    "stop_all": 3,
    "reply": 3,
    "clock": 2,
}
PERSONS = {
    "ann": (6, 14, OWNER_ACTS),
    "p0": (8, 20, PEOPLE_ACTS),
    "p1": (8, 20, PEOPLE_ACTS),
    "hal": (2, 8, PEOPLE_ACTS),
    "eve": (2, 8, PEOPLE_ACTS),
}
"""The people of such a schedule, each with the least and the most acts and how often each comes; `people.site` gives
them roles."""


@dataclass(frozen=True)
class Fault:
    """One fault; `roll` decides its sizes and durations."""

    at_s: float
    kind: str
    device: str
    roll: int

    def chance(self) -> random.Random:
        return random.Random(self.roll)

    def __str__(self) -> str:
        return f"{self.at_s:6.2f} s  fault {self.kind} ({self.device})"


@dataclass(frozen=True)
class Act:
    """Something that a person does; `without` names tasks that are left out of a submitted plan."""

    at_s: float
    kind: str
    person: str
    number: int
    roll: int
    without: tuple[str, ...] = ()

    def chance(self) -> random.Random:
        return random.Random(self.roll)

    def __str__(self) -> str:
        without = f" without {', '.join(self.without)}" if self.without else ""
        return f"{self.at_s:6.2f} s  {self.person} {self.kind} #{self.number}{without}"


@dataclass(frozen=True)
class Script:
    """A whole schedule. `seed` decides what is not in the two lists: delays, jitter, how devices are made."""

    seed: int
    devices: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    acts: tuple[Act, ...] = field(default=())

    @property
    def hubs(self) -> int:
        seed = self.seed
        pairs = (PAIR_FROM <= seed < MINDS_FROM, MIND_PAIRS_FROM <= seed < PEOPLE_FROM, seed >= PEOPLE_PAIRS_FROM)
        return 2 if any(pairs) else 1

    @property
    def minds(self) -> bool:
        return MINDS_FROM <= self.seed < PEOPLE_FROM

    @property
    def people(self) -> bool:
        return self.seed >= PEOPLE_FROM


def _faults_of(seed: int) -> dict[str, int]:
    if seed >= PEOPLE_FROM:
        return PEOPLE_PAIR_FAULTS if seed >= PEOPLE_PAIRS_FROM else PEOPLE_FAULTS
    if seed >= MIND_PAIRS_FROM:
        return MIND_PAIR_FAULTS
    if seed >= MINDS_FROM:
        return MIND_FAULTS
    return PAIR_FAULTS if seed >= PAIR_FROM else FAULTS


def _together(at_s: float, chance: random.Random) -> float:
    """Let half of all come at one of a few moments: rights are taken and hubs fail while something is under way."""
    if chance.random() < 0.5:
        return at_s
    return round(at_s // TOGETHER_S * TOGETHER_S + chance.uniform(0.0, 0.1), 3)


def draw(seed: int) -> Script:
    """Return the schedule of a seed."""
    chance = random.Random(seed)
    devices = ("one", "two", "three")[: chance.randint(1, 3)]
    of = _faults_of(seed)
    does, first = (MIND_ACTS, "pursue") if seed >= MINDS_FROM else (ACTS, "submit")
    span_s, persons = CHAOS_S, dict.fromkeys(("p0", "p1"), (6, 18, does))
    if seed >= PEOPLE_FROM:
        first, span_s, persons = "save", PEOPLE_S, PERSONS
    kinds, weights = list(of), list(of.values())
    faults = [
        Fault(
            at_s=round(chance.uniform(0.5, span_s), 3),
            kind=chance.choices(kinds, weights)[0],
            device=f"d-{chance.choice(devices)}",
            roll=chance.getrandbits(32),
        )
        for _ in range(chance.randint(FAULTS_LEAST, FAULTS_MOST))
    ]
    if seed >= PEOPLE_FROM:
        faults = [replace(fault, at_s=_together(fault.at_s, chance)) for fault in faults]
    acts: list[Act] = []
    for person, (least, most, does) in persons.items():
        moments = [0.0, *sorted(round(chance.uniform(0.2, span_s), 3) for _ in range(chance.randint(least, most)))]
        if seed >= PEOPLE_FROM:
            moments = [_together(moment, chance) for moment in moments]
        for number, at_s in enumerate(moments):
            kind = first if number == 0 else chance.choices(list(does), list(does.values()))[0]
            acts.append(Act(at_s, kind, person, number, chance.getrandbits(32)))
    return Script(
        seed,
        devices,
        tuple(sorted(faults, key=lambda fault: fault.at_s)),
        tuple(sorted(acts, key=lambda act: act.at_s)),
    )
