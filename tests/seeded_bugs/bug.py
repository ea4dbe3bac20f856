"""One bug that is put in on purpose, and the layers of tests by which bugs are caught."""

from __future__ import annotations

from dataclasses import dataclass

CORE, ENGINE, SIM, PAIR, STORE, RESTORED = "core", "engine", "sim", "pair", "store", "restored"
MINDS, PEOPLE, PEOPLE_PAIR, PLANNER = "minds", "people", "people-pair", "planner"


@dataclass(frozen=True)
class Bug:
    """One patch. `by` is the layer that must catch it.

    `core`, `engine` and `planner` are the tests of these names, `sim` schedules of one hub, `pair` of two on one shard,
    `store` the memory twin beside a real Redis, `restored` schedules whose history is put back, `minds` schedules with
    goals, votes, judges and workers, `people` with roles, secrets, clocks and restores, `people-pair` the same with two
    hubs and no restores. `named` are the tests of a layer that must notice it; all of the layer where it is empty.
    """

    name: str
    file: str
    old: str
    new: str
    by: str
    named: str = ""
