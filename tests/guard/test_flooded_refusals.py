"""T275: a flood of refusals of strangers leaves room in the record for those of devices and callers that are known."""

from __future__ import annotations

from starloom.edge.access.rate_limits import A_CALLER_MOST, A_MINUTE_MOST, Denials, Denied

ALARM = Denied("connect", "", "forbidden", "two agents with the key of nas are there", who="device:d-1")


def test_t275_strangers_of_many_addresses_hide_no_alarm_of_a_device() -> None:
    told: list[Denied] = []
    denials = Denials(told.append, lambda: 0.0)
    for number in range(2 * A_MINUTE_MOST):
        denials.note(Denied("api", f"2001:db8::{number:x}", "bad_token", "this token is unknown"))
    assert len(told) == A_MINUTE_MOST
    denials.note(ALARM)
    assert told[-1] == ALARM


def test_t275_those_that_are_known_are_bounded_too() -> None:
    told: list[Denied] = []
    denials = Denials(told.append, lambda: 0.0)
    for number in range(20 * A_CALLER_MOST):
        denials.note(Denied("artifact", "", "forbidden", f"reason {number}", who=f"device:d-{number % 10}"))
    assert len(told) == A_MINUTE_MOST
