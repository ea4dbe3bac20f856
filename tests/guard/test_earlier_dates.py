"""T220: what had ended is not good again on a hub that is started with an earlier date."""

from __future__ import annotations

from typing import Any

import pytest

from starloom.core.state import inputs as i
from starloom.edge.access import credentials
from starloom.edge.access.callers import BEARER, AccessView
from starloom_protocol.records.entities import Enrollment, Principal, SignIn, Token
from starloom_protocol.vocabulary import Profile, Role
from tests.engine.test_loop import Hub, Wires, build, kill
from tests.engine.test_schedules import a_hub

HOUR = 3_600_000
SECRET = "s" * 43
ENDS = {"over": HOUR, "later": 10 * HOUR, "without end": 0}
"""The ends of three tokens; the hub's last commit before its restart is at two hours."""


def token(name: str, expires_ms: int, kind: str = BEARER, parent: str = "") -> Token:
    return Token(
        created_ms=0,
        expires_ms=expires_ms,
        id=name.replace(" ", ""),
        kind=kind,
        parent=parent,
        principal="p-ann",
        role=Role.OWNER,
        secret_hash=credentials.hash_of(SECRET),
    )


async def ask(hub: Hub, item: Any) -> list[str]:
    return [fault.reason for fault in (await hub.engine.inbox.ask(item)).faults]


async def fill(hub: Hub) -> None:
    """Make tokens, a link and a join code, of which some are over when something else is done at two hours."""
    ann = Principal(created_ms=0, id="p-ann", name="ann", role=Role.OWNER)
    await ask(hub, i.PrincipalAdded(by="engine", id="a", principal=ann))
    for name, expires_ms in ENDS.items():
        await ask(hub, i.TokenAdded(by="person:ann", id=name, token=token(name, expires_ms)))
    await ask(hub, i.TokenAdded(by="person:ann", id="below", token=token("below", 10 * HOUR, parent="over")))
    for name, expires_ms in (("over", HOUR), ("later", 10 * HOUR)):
        link = SignIn(created_ms=0, expires_ms=expires_ms, id=name, principal="p-ann", secret_hash="x")
        await ask(hub, i.SignInOpened(by="hub", id=f"link {name}", signin=link))
        code = Enrollment(code_hash="x", created_ms=0, expires_ms=expires_ms, id=name, owner="ann", preapproved=True)
        await ask(hub, i.EnrollmentOpened(by="person:ann", id=f"code {name}", enrollment=code))
    hub.clock.ms = 2 * HOUR
    await ask(hub, i.RefusalNoted(by="engine", code="bad_token", door="api", id="last", reason="no"))


async def started_again(hub: Hub, at_ms: int) -> Hub:
    await kill(hub)
    hub.clock.ms = at_ms
    return await build(hub.clock, hub.redis, hub.history, Wires())


async def good_tokens(hub: Hub) -> set[str]:
    view = AccessView(lambda: hub.clock.ms)
    view.reset((await hub.store.load()).entities["access"])
    names = (*(name.replace(" ", "") for name in ENDS), "below")
    return {name for name in names if view.caller(f"{credentials.TOKEN_PREFIX}_{name}_{SECRET}", BEARER)}


def use(name: str) -> i.SignInUsed:
    return i.SignInUsed(by="person:ann", id=f"use {name}", signin=name, token=token(f"of {name}", 0, "session"))


def join(name: str) -> i.EnrollmentAsked:
    return i.EnrollmentAsked(
        by="device",
        device=f"d-{name}",
        enrollment=name,
        id=f"join {name}",
        key=name,
        name=name,
        os="linux",
        profile=Profile.WORK,
        words="",
    )


@pytest.mark.parametrize("at_ms", [HOUR // 2, 2 * HOUR])
async def test_t220_what_was_over_stays_over_at_any_date(at_ms: int) -> None:
    async with a_hub() as hubs:
        await fill(hubs[0])
        assert await good_tokens(hubs[0]) == {"later", "withoutend"}
        hubs.append(await started_again(hubs[0], at_ms))
        assert await ask(hubs[-1], use("over"))
        assert await ask(hubs[-1], join("over"))
        assert await good_tokens(hubs[-1]) == {"later", "withoutend"}
        assert await ask(hubs[-1], use("later")) == await ask(hubs[-1], join("later")) == []


async def test_t220_a_wrong_later_date_locks_nobody_out_for_ever() -> None:
    """A hub that ran in a later year by mistake gives tokens that are good in the right one."""
    async with a_hub() as hubs:
        await fill(hubs[0])
        hubs.append(await started_again(hubs[0], 100_000 * HOUR))
        await ask(hubs[-1], i.RefusalNoted(by="engine", code="bad_token", door="api", id="late", reason="no"))
        for _ in range(2):
            hubs.append(await started_again(hubs[-1], HOUR // 2))
            await ask(hubs[-1], i.TokenAdded(by="person:ann", id="new", token=token("later", 10 * HOUR)))
            assert await good_tokens(hubs[-1]) == {"later", "withoutend"}
