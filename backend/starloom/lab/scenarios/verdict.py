"""Whether a scenario's expectation was met, and each reason why not. Pure."""

from __future__ import annotations

from starloom.client.view import View
from starloom.lab.attempt_counts import AttemptCounts
from starloom_protocol.plan.scenario import WAITING, ExpectDoc
from starloom_protocol.records.entities import Attempt
from starloom_protocol.vocabulary import Repeatability


def state_of(view: View) -> str:
    """Return the state as `expect.state` names it: `waiting` if nothing moves until a person decides."""
    return WAITING if view.needs_person() else str(view.state)


def never_repeated(view: View) -> list[str]:
    """Return the tasks whose attempts were of work that is not repeatable."""
    return sorted(name for name, kind in _kinds(view).items() if kind is Repeatability.NEVER)


def _kinds(view: View) -> dict[str, Repeatability]:
    return {key.rpartition("/")[0]: one.repeatability for key, one in view.each("attempt", Attempt).items()}


def misses(expect: ExpectDoc, view: View, effects: AttemptCounts, took_s: float, not_done: list[str]) -> list[str]:
    """Return every difference from the expectation; an empty list means that it was met.

    `not_done` are faults that did not happen: a scenario that broke nothing proves nothing.
    """
    missed = [f"a fault did not happen: {one}" for one in not_done]
    state = state_of(view)
    if state != expect.state:
        missed.append(f"it is {state} after {took_s:.1f} s, expected was {expect.state} within {expect.within_s:g} s")
    elif took_s > expect.within_s:
        missed.append(f"it was {state} only after {took_s:.1f} s, expected was within {expect.within_s:g} s")
    elif took_s < expect.not_before_s:
        missed.append(
            f"it was {state} after {took_s:.1f} s, before {expect.not_before_s:g} s: the faults held nothing up"
        )
    tasks = view.tasks
    for name, state_due in expect.tasks.items():
        record = tasks.get(name)
        if record is None or record.state != state_due:
            missed.append(f"task {name} is {record.state if record else 'not there'}, expected was {state_due}")
    once = never_repeated(view) if expect.at_most_once is True else expect.at_most_once or []
    kinds = _kinds(view)
    for name in once:
        if kinds.get(name) is Repeatability.PURE:
            missed.append(f"task {name} is pure: devices keep no ledger of it, so nothing can be counted")
        if effects.count(name) > 1:
            missed.append(
                f"task {name} was begun {effects.count(name)} times by the devices' ledgers, expected was once"
            )
    return missed
