from __future__ import annotations

import pytest

from starloom.edge.access import credentials, issue
from starloom.edge.access.callers import BEARER, SESSION, AccessView, Caller, Means, Scope, Tickets, may_issue
from starloom.edge.access.rate_limits import Limits, Rate, others_words
from starloom_protocol.records.entities import encode_entity
from starloom_protocol.vocabulary import Role


def test_a_token_is_read_back_and_only_its_hash_is_kept() -> None:
    made = issue.bearer("p", Role.OWNER, 1, scopes=[])
    parts = credentials.split(made.text, credentials.TOKEN_PREFIX)
    assert parts is not None
    assert parts[0] == made.token.id
    assert credentials.matches(parts[1], made.token.secret_hash)
    assert parts[1].encode() not in encode_entity(made.token)
    assert len(parts[1]) >= 43


@pytest.mark.parametrize("text", ["", "slt", "slt_", "slt_a", "slt_a_", "sls_a_b", "x_a_b", "slt_a_" + "b" * 300])
def test_what_is_no_token(text: str) -> None:
    assert credentials.split(text, credentials.TOKEN_PREFIX) is None


def test_codes_have_80_bits_and_forgive_typing() -> None:
    codes = {credentials.new_code() for _ in range(200)}
    assert len(codes) == 200
    code = codes.pop()
    assert len(code.replace("-", "")) == 16
    assert credentials.code_hash(code) == credentials.code_hash(code.lower().replace("-", " "))
    assert credentials.code_hash("OI") == credentials.code_hash("01")


def test_a_csrf_token_belongs_to_its_session() -> None:
    made = issue.session("p", Role.OWNER, 1, ttl_s=60)
    secret = credentials.split(made.text, credentials.SESSION_PREFIX)
    assert secret is not None
    assert credentials.csrf_of(secret[1]) == made.csrf
    assert made.token.csrf_hash == credentials.hash_of(made.csrf)


class Time:
    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def view_with(*tokens: issue.Issued, now: int = 1_000) -> AccessView:
    view = AccessView(lambda: now)
    owner = issue.owner("ann", 1)
    entities = {f"principal/{owner.id}": encode_entity(owner)}
    for made in tokens:
        token = made.token
        entities[f"token/{token.id}"] = encode_entity(
            type(token)(**{name: getattr(token, name) for name in token.__struct_fields__} | {"principal": owner.id})
        )
    view.reset(entities)
    return view


def test_a_caller_is_found_by_its_secret_only() -> None:
    made = issue.bearer("", Role.VIEWER, 1, scopes=["read"])
    view = view_with(made)
    caller = view.caller(made.text, BEARER)
    assert caller is not None
    assert (caller.name, caller.role, sorted(caller.scopes), caller.means) == (
        "ann",
        Role.VIEWER,
        ["read"],
        Means.BEARER,
    )
    assert view.caller(made.text[:-1] + ("A" if made.text[-1] != "A" else "B"), BEARER) is None
    assert view.caller(made.text, SESSION) is None
    assert view.caller(made.text.replace("slt_", "sls_"), SESSION) is None


def test_an_expired_token_is_nobodys() -> None:
    made = issue.bearer("", Role.VIEWER, 0, ttl_s=1, scopes=[])
    assert view_with(made, now=999).caller(made.text, BEARER) is not None
    assert view_with(made, now=1_000).caller(made.text, BEARER) is None


def caller(role: Role, *scopes: str) -> Caller:
    return Caller("p", "ann", role, frozenset(scopes), "t", Means.BEARER)


def test_what_may_be_issued() -> None:
    assert may_issue(caller(Role.OWNER), Role.OWNER, frozenset()) is None
    assert may_issue(caller(Role.OPERATOR), Role.VIEWER, frozenset({Scope.READ})) is None
    assert may_issue(caller(Role.VIEWER), Role.APPROVER, frozenset()) is not None
    assert may_issue(caller(Role.OWNER, "read"), Role.VIEWER, frozenset()) is not None
    assert may_issue(caller(Role.OWNER, "read"), Role.VIEWER, frozenset({"run"})) is not None
    assert may_issue(caller(Role.OWNER), Role.VIEWER, frozenset({"everything"})) is not None


def test_failures_are_limited_by_address_and_door() -> None:
    time = Time()
    limits = Limits(time, {"door": Rate(2, 10.0), "other": Rate(1, 1.0)})
    assert [limits.failed("door", "a") for _ in range(3)] == [0, 0, 10.0]
    assert limits.failed("door", "b") == 0
    assert limits.failed("other", "a") == 0
    time.s += 10
    assert limits.failed("door", "a") == 0
    assert limits.failed("door", "a") == 10.0


def test_limits_forget_addresses_but_not_without_bound() -> None:
    time = Time()
    limits = Limits(time, {"door": Rate(1, 1.0)})
    for number in range(20_000):
        time.s += 1
        assert limits.failed("door", str(number)) == 0
    assert len(limits._levels) == 10_000


def test_ids_are_twenty_letters_of_which_all_are_as_likely() -> None:
    ids = [credentials.new_id() for _ in range(400)]
    assert len(set(ids)) == 400
    assert {len(made) for made in ids} == {20}
    assert set("".join(ids)) == set("abcdefghijklmnopqrstuvwxyz234567")
    assert {credentials._LETTER_OF.count(letter) for letter in set(credentials._LETTER_OF)} == {8}


def test_tickets() -> None:
    time = Time()
    tickets = Tickets(time)
    asker = caller(Role.VIEWER)
    first, second = tickets.issue(asker), tickets.issue(asker)
    assert tickets.redeem(first) is asker
    assert tickets.redeem(first) is None
    time.s += 30
    assert tickets.redeem(second) is None


def test_an_address_is_never_told_to_wait_no_time() -> None:
    limits = Limits(lambda: 0.0, {"sign_in": Rate(1, 0.3)})
    assert limits.failed("sign_in", "a") == 0
    wait_s = limits.failed("sign_in", "a")
    assert 0 < wait_s < 0.5
    assert others_words(wait_s) == "too many others from this address: wait 1 s"
