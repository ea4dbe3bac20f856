"""Rights after a restore: nobody has more than in the backup, and nobody has more than in the history until then."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace

from starloom.core.rights.restored_rights import (
    among,
    ended_since,
    ended_unseen,
    holders,
    same_hub,
    with_those_of,
)
from starloom.core.state import inputs as i
from starloom.core.state.apply import put
from starloom.core.state.model import Shard
from starloom_protocol.records.approvals import Standing
from starloom_protocol.records.entities import Enrollment, Principal, RecipeVersion, Secret, SignIn, Token
from starloom_protocol.records.schedules import Schedule, ScheduledPlan
from starloom_protocol.vocabulary import Role, ScheduleState
from tests.builders import plan, task
from tests.core.watched import WatchedDriver

NOW_MS = 1_000_000


def token(name: str, kind: str = "bearer", **fields: object) -> Token:
    known = {"created_ms": 1, "expires_ms": 0, "id": name, "kind": kind, "principal": "p-ann", "role": Role.OWNER}
    return Token(secret_hash="0" * 64, **{**known, **fields})  # type: ignore[arg-type]


def person(name: str, role: Role) -> Principal:
    return Principal(created_ms=1, id=f"p-{name}", name=name, role=role)


def signin(name: str, parent: str, used_ms: int = 0) -> SignIn:
    return SignIn(
        created_ms=1, expires_ms=9, id=name, parent=parent, principal="p-bea", secret_hash="0" * 64, used_ms=used_ms
    )


def filled() -> WatchedDriver:
    """Return a hub with a page, a program made from it, an invited person, a link, a code and an allowance."""
    driver = WatchedDriver("nas", "desk")
    access, fleet = driver.shard.access, driver.shard.fleet
    records: list[tuple[str, Principal | Token | SignIn]] = [
        ("principal", person("ann", Role.OWNER)),
        ("principal", person("bea", Role.APPROVER)),
        ("token", token("root")),
        ("token", token("page", "session", parent="root")),
        ("token", token("script", parent="page")),
        ("token", token("clock", parent="root")),
        ("token", token("invited", "invitation", parent="root", principal="p-bea")),
        ("signin", signin("link", "invited")),
    ]
    for kind, record in records:
        put(driver.shard, access, kind, record.id, record)
    code = Enrollment(code_hash="x", created_ms=1, expires_ms=9, id="code", owner="p-ann", state="open")
    put(driver.shard, fleet, "enrollment", "code", code)
    allowed = Standing(action="a", at_ms=1, by="person:ann", constellation="c", id="s-1", tool="t.never")
    put(driver.shard, fleet, "standing", "s-1", allowed)
    driver.shard.journal.clear()
    return driver


def look() -> Schedule:
    return Schedule(
        author="person:ann",
        created_ms=1,
        cron="* * * * *",
        due_ms=60_000,
        id="s-look",
        name="Look",
        owner="p-ann",
        request="look",
        zone="UTC",
    )


def restored(driver: WatchedDriver, ended: i.EndedRights) -> None:
    driver.do(i.HistoryRestored(id="r", by="engine", made_ms=1, ended=ended))


def test_what_has_not_changed_keeps_its_rights() -> None:
    assert ended_since(filled().shard, filled().shard) == i.EndedRights()


def test_what_was_revoked_since_ends_with_what_came_from_it() -> None:
    driver, until = filled(), filled()
    until.do(i.TokenRevoked(id="x", by="person:ann", token="page"))
    until.do(i.DeviceControlled(id="y", by="person:ann", device="d-nas", action="revoke"))
    until.do(i.DeviceControlled(id="z", by="device:d-desk", device="d-desk", action="leave"))
    until.do(i.StandingRevoked(id="w", by="person:ann", standing="s-1"))
    ended = ended_since(driver.shard, until.shard)
    assert ended.tokens.keys() == {"page", "script"}
    restored(driver, ended)
    access, fleet = driver.shard.access, driver.shard.fleet
    assert sorted(one.id for one in access.tokens.values() if not one.revoked_ms) == ["clock", "invited", "root"]
    assert (fleet.devices["d-nas"].revoked, fleet.devices["d-nas"].left) == (True, False)
    assert (fleet.devices["d-desk"].revoked, fleet.devices["d-desk"].left) == (True, True)
    assert not fleet.standing


def test_a_token_that_the_history_has_forgotten_has_ended() -> None:
    driver, until = filled(), filled()
    put(until.shard, until.shard.access, "token", "clock", None)
    assert ended_since(driver.shard, until.shard).tokens == {"clock": 0}


def test_a_used_invitation_and_a_used_code_are_used() -> None:
    driver, until = filled(), filled()
    put(until.shard, until.shard.access, "signin", "link", signin("link", "invited", used_ms=7))
    code = until.shard.fleet.enrollments["code"]
    put(until.shard, until.shard.fleet, "enrollment", "code", replace(code, state="approved"))
    ended = ended_since(driver.shard, until.shard)
    assert (ended.signins, ended.enrollments, ended.tokens) == (["link"], ["code"], {"invited": 0})
    restored(driver, ended)
    assert not driver.shard.access.signins
    assert driver.shard.fleet.enrollments["code"].state == "denied"


def test_a_lowered_role_stays_low_but_an_owner_is_left() -> None:
    driver, until = filled(), filled()
    put(until.shard, until.shard.access, "principal", "p-bea", person("bea", Role.VIEWER))
    put(until.shard, until.shard.access, "principal", "p-ann", person("ann", Role.VIEWER))
    restored(driver, ended_since(driver.shard, until.shard))
    principals = driver.shard.access.principals
    assert (principals["p-bea"].role, principals["p-ann"].role) == (Role.VIEWER, Role.OWNER)


def test_unseen_only_tokens_of_programs_and_devices_are_kept() -> None:
    driver = filled()
    ended = ended_unseen(driver.shard)
    restored(driver, ended)
    access = driver.shard.access
    assert sorted(one.id for one in access.tokens.values() if not one.revoked_ms) == ["clock", "root"]
    assert not access.signins
    assert driver.shard.fleet.enrollments["code"].state == "denied"
    assert not any(device.revoked for device in driver.shard.fleet.devices.values())
    found = holders(filled().shard, ended, NOW_MS)
    assert [(one.id, below) for one, below in found.tokens] == [("clock", 0), ("root", 1)]
    assert [one.name for one in found.devices] == ["desk", "nas"]


def test_a_device_that_the_history_until_now_never_had_has_no_rights() -> None:
    driver, until = filled(), filled()
    put(until.shard, until.shard.fleet, "device", "d-nas", None)
    ended = ended_since(driver.shard, until.shard)
    assert ended == i.EndedRights(devices={"d-nas": "unknown"})
    restored(driver, ended)
    assert driver.shard.fleet.devices["d-nas"].revoked


def test_a_device_that_was_reserved_since_is_reserved() -> None:
    driver, until = filled(), filled()
    until.do(i.DeviceControlled(id="y", by="person:ann", device="d-nas", action="reserve"))
    ended = ended_since(driver.shard, until.shard)
    assert ended == i.EndedRights(reserved=["d-nas"])
    restored(driver, ended)
    assert driver.shard.fleet.devices["d-nas"].reserved
    assert ended_since(until.shard, filled().shard) == i.EndedRights(), "what was shared since is still reserved"


def test_drafts_and_requests_of_a_token_that_ended_since_end_too() -> None:
    driver = filled()
    driver.submit(plan(task("a")), name="c1")
    driver.do(i.ControlRequested(id="p", by="person:ann#root", action="pause", constellation="c1"))
    by = "person:ann#script"
    driver.do(i.DraftOpened(id="d", by=by, constellation="c1", tasks=["a"], ttl_s=60))
    driver.do(i.RequestReceived(id="q", by=by, constellation="c2", request="look"))
    restored(driver, i.EndedRights(tokens={"script": 2}))
    assert driver.shard.constellations["c1"].drafts == {}
    assert driver.shard.constellations["c2"].head.state == "cancelled"
    driver.folded_equals_state()


@pytest.mark.parametrize("action", ["pause", "remove"])
def test_a_schedule_that_ended_since_begins_nothing(action: str) -> None:
    driver, until = filled(), filled()
    for one in (driver, until):
        put(one.shard, one.shard.fleet, "schedule", "s-look", look())
    until.do(i.ScheduleControlled(id="y", by="person:ann", schedule="s-look", action=action))
    ended = ended_since(driver.shard, until.shard)
    assert ended == i.EndedRights(schedules=["s-look"])
    restored(driver, ended)
    found = driver.shard.fleet.schedules["s-look"]
    assert (found.state, found.due_ms) == (ScheduleState.PAUSED, 0)


def test_a_schedule_that_was_changed_to_other_work_begins_nothing() -> None:
    driver, until = filled(), filled()
    for one, what in ((driver, "wipe"), (until, "look")):
        put(one.shard, one.shard.fleet, "schedule", "s-look", replace(look(), request=what))
    assert ended_since(driver.shard, until.shard) == i.EndedRights(schedules=["s-look"])
    put(until.shard, until.shard.fleet, "schedule", "s-look", replace(look(), request="wipe", cron="1 * * * *"))
    assert ended_since(driver.shard, until.shard) == i.EndedRights(), "another time is no other work"


@pytest.mark.parametrize(("recipe", "words"), [("tidy", ""), (None, "tidy up")])
def test_t325_a_schedule_whose_recipe_was_changed_or_removed_since_begins_nothing(
    recipe: str | None, words: str
) -> None:
    backup, until = filled(), filled()
    schedule = replace(look(), recipe=recipe, request=words)
    version = RecipeVersion(at_ms=1, author="person:ann", name="tidy", number=1, text="old", title="Tidy")
    for one in (backup, until):
        put(one.shard, one.shard.fleet, "schedule", "s-look", schedule)
        put(one.shard, one.shard.fleet, "recipe", "tidy/1", version)
    assert ended_since(backup.shard, until.shard) == i.EndedRights()
    put(until.shard, until.shard.fleet, "recipe", "other/1", replace(version, name="other"))
    assert ended_since(backup.shard, until.shard).schedules == ([] if recipe else ["s-look"])
    put(until.shard, until.shard.fleet, "recipe", "other/1", None)
    put(until.shard, until.shard.fleet, "recipe", "tidy/2", replace(version, number=2, text="new"))
    assert ended_since(backup.shard, until.shard) == i.EndedRights(schedules=["s-look"])
    for name in ("tidy/1", "tidy/2"):
        put(until.shard, until.shard.fleet, "recipe", name, None)
    assert ended_since(backup.shard, until.shard) == i.EndedRights(schedules=["s-look"])
    for one in (backup, until):
        put(one.shard, one.shard.fleet, "scheduled_plan", "s-look", ScheduledPlan(plan="{}"))
    assert ended_since(backup.shard, until.shard) == i.EndedRights(), "it keeps its own plan"


ANY = i.Receivers()


def secret(only: i.Receivers) -> Secret:
    bank = Secret(by="person:ann", cipher="s-1", created_ms=1, name="bank", set_ms=1, version=1)
    return replace(bank, devices=only.devices, recipes=only.recipes, tools=only.tools)


@pytest.mark.parametrize(
    ("then", "now", "left"),
    [
        (ANY, ANY, ANY),
        (ANY, None, None),
        (ANY, i.Receivers(devices=["d-nas"]), i.Receivers(devices=["d-nas"])),
        (i.Receivers(tools=["a", "b"]), i.Receivers(tools=["b", "c"]), i.Receivers(tools=["b"])),
        (i.Receivers(recipes=["a"]), ANY, i.Receivers(recipes=["a"])),
        (i.Receivers(devices=["d-nas"]), i.Receivers(devices=["d-desk"]), None),
    ],
)
def test_t319_a_secret_stays_with_those_who_may_have_it_in_both(
    then: i.Receivers, now: i.Receivers | None, left: i.Receivers | None
) -> None:
    driver, until = filled(), filled()
    put(driver.shard, driver.shard.access, "secret", "bank", secret(then))
    put(until.shard, until.shard.access, "secret", "bank", secret(now) if now is not None else None)
    ended = ended_since(driver.shard, until.shard)
    assert ended == (i.EndedRights() if left == then else i.EndedRights(secrets={"bank": left}))
    assert msgspec.json.decode(msgspec.json.encode(ended), type=i.EndedRights) == ended
    restored(driver, ended)
    assert driver.shard.access.secrets.get("bank") == (None if left is None else secret(left))
    events = len(driver.events)
    restored(driver, ended)
    assert len(driver.events) == events


def test_receivers_of_two_restores_are_those_of_both() -> None:
    first = i.EndedRights(secrets={"a": None, "b": i.Receivers(tools=["x", "y"]), "c": i.Receivers(devices=["d"])})
    second = i.EndedRights(secrets={"b": i.Receivers(tools=["y"]), "d": None, "a": i.Receivers(tools=["x"])})
    found = with_those_of(first, second).secrets
    assert found == {"a": None, "b": i.Receivers(tools=["y"]), "c": i.Receivers(devices=["d"]), "d": None}
    assert among(with_those_of(first, second), filled().shard) == i.EndedRights()


def test_ends_of_two_restores_add_up_and_a_backup_has_only_its_own() -> None:
    before = i.EndedRights(tokens={"clock": 7, "other": 8}, roles={"p-bea": Role.VIEWER}, standing=["s-1", "s-2"])
    after = i.EndedRights(tokens={"page": 9}, roles={"p-bea": Role.OPERATOR}, devices={"d-nas": "left"})
    found = among(with_those_of(before, after), filled().shard)
    assert found == i.EndedRights(
        devices={"d-nas": "left"}, roles={"p-bea": Role.VIEWER}, standing=["s-1"], tokens={"clock": 7, "page": 9}
    )
    assert with_those_of(i.EndedRights(), after) == with_those_of(after, i.EndedRights()) == after


def test_a_second_word_of_the_same_restore_ends_nothing_more() -> None:
    driver = filled()
    ended = ended_unseen(driver.shard)
    restored(driver, ended)
    before = len(driver.events)
    restored(driver, ended)
    assert len(driver.events) == before


def test_a_record_of_an_earlier_version_changes_no_rights() -> None:
    driver = filled()
    driver.do(i.HistoryRestored(id="r", by="engine", made_ms=1))
    assert not driver.events or all(event.stream != "access" for event in driver.events)
    assert not any(one.revoked_ms for one in driver.shard.access.tokens.values())


def test_a_history_without_a_person_in_common_is_of_another_hub() -> None:
    assert same_hub(filled().shard, filled().shard)
    assert not same_hub(filled().shard, Shard())
