"""Signing in by a link, sessions and their CSRF token, tokens and what revoking does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from starloom.edge import first_run
from starloom.edge.live import entity_json
from tests.edge.world import URL, World, a_world, settle

COOKIE = "starloom-8470"


async def link_of(world: World) -> dict[str, str]:
    async with world.client() as http:
        url = (await http.post("/api/v1/sign-in-links")).json()["url"]
    assert url.startswith(URL + "/#/sign-in/")
    identity, _, secret = url.rpartition("/")[2].partition(".")
    return {"id": identity, "secret": secret}


async def test_a_link_makes_a_session_once(world: World) -> None:
    link = await link_of(world)
    async with world.client("") as http:
        made = await http.post("/api/v1/sign-in", json=link)
        assert made.status_code == 200
        assert made.json()["role"] == "owner"
        cookie = made.headers["set-cookie"]
        assert cookie.startswith(COOKIE + "=sls_")
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert "Secure" not in cookie
        again = await http.post("/api/v1/sign-in", json=link)
        assert (again.status_code, again.json()["code"]) == (401, "not_signed_in")


async def test_a_session_reads_freely_but_writes_only_with_its_csrf_token(world: World) -> None:
    async with world.client("") as http:
        csrf = (await http.post("/api/v1/sign-in", json=await link_of(world))).json()["csrf"]
        session = await http.get("/api/v1/session")
        assert session.json()["csrf"] == csrf
        assert session.json()["means"] == "session"
        for headers in ({}, {"X-Starloom-CSRF": "wrong"}):
            refused = await http.post("/api/v1/live/tickets", headers=headers)
            assert (refused.status_code, refused.json()["code"]) == (403, "csrf")
        allowed = await http.post("/api/v1/live/tickets", headers={"X-Starloom-CSRF": csrf})
        assert allowed.status_code == 201


async def test_a_refusal_says_how_the_caller_came_in(world: World) -> None:
    said = "does not have the scope run"
    _, token = await world.new_token("operator", ["read", "access"])
    async with world.client(token) as http:
        refused = await http.post("/api/v1/constellations", json={"request": "anything"})
        assert refused.json()["reason"] == f"your token {said}"
        for_assistant = {"x-starloom-acting": "assistant"}
        refused = await http.post("/api/v1/constellations", json={"request": "anything"}, headers=for_assistant)
        assert refused.json()["reason"] == f"this assistant {said}"
        url = (await http.post("/api/v1/sign-in-links")).json()["url"]
    identity, _, secret = url.rpartition("/")[2].partition(".")
    async with world.client("") as http:
        csrf = (await http.post("/api/v1/sign-in", json={"id": identity, "secret": secret})).json()["csrf"]
        sent = {"X-Starloom-CSRF": csrf}
        refused = await http.post("/api/v1/constellations", json={"request": "anything"}, headers=sent)
        assert (refused.status_code, refused.json()["reason"]) == (403, f"your sign-in {said}")


async def test_signing_out_ends_the_session(world: World) -> None:
    async with world.client("") as http:
        csrf = (await http.post("/api/v1/sign-in", json=await link_of(world))).json()["csrf"]
        kept = dict(http.cookies)
        assert (await http.post("/api/v1/sign-out", headers={"X-Starloom-CSRF": csrf})).status_code == 200
        http.cookies.clear()
        gone = await http.get("/api/v1/session", cookies=None, headers={"cookie": f"{COOKIE}={kept[COOKIE]}"})
        assert gone.status_code == 401


async def test_over_https_the_cookie_is_secure_and_host_bound(tmp_path: Path) -> None:
    async with a_world(tmp_path, public_url="https://star.example", trusted_proxies="127.0.0.1") as world:
        async with world.client() as http:
            fragment = (await http.post("/api/v1/sign-in-links")).json()["url"].rpartition("/")[2]
        identity, _, secret = fragment.partition(".")
        headers = {"host": "star.example", "x-forwarded-proto": "https"}
        async with world.client("") as http:
            made = await http.post("/api/v1/sign-in", json={"id": identity, "secret": secret}, headers=headers)
        assert made.headers["set-cookie"].startswith("__Host-starloom=")
        assert "Secure" in made.headers["set-cookie"]


async def test_an_old_link_and_a_wrong_secret_are_refused_alike(world: World) -> None:
    link = await link_of(world)
    async with world.client("") as http:
        wrong = await http.post("/api/v1/sign-in", json={"id": link["id"], "secret": "x" * 43})
        await world.clock.advance(16 * 60 * 1000)
        late = await http.post("/api/v1/sign-in", json=link)
    assert wrong.status_code == late.status_code == 401
    assert wrong.json()["reason"] == late.json()["reason"]


async def test_guessing_is_slowed_down(world: World) -> None:
    async with world.client("") as http:
        codes = [(await http.post("/api/v1/sign-in", json={"id": "a", "secret": "b"})).status_code for _ in range(12)]
        assert codes.count(401) == 10
        limited = await http.post("/api/v1/sign-in", json={"id": "a", "secret": "b"})
        assert (limited.status_code, limited.json()["code"]) == (429, "rate_limited")
        assert int(limited.headers["retry-after"]) >= 1
        await world.clock.advance(60_000)
        assert (await http.post("/api/v1/sign-in", json={"id": "a", "secret": "b"})).status_code == 401


async def test_wrong_tokens_are_refused_and_slowed_down(world: World) -> None:
    async with world.client("slt_abc_def") as http:
        answers = [(await http.get("/api/v1/devices")) for _ in range(32)]
    assert answers[0].json()["code"] == "bad_token"
    assert answers[-1].json()["code"] == "rate_limited"


async def test_a_token_expires(world: World) -> None:
    async with world.client() as http:
        made = (await http.post("/api/v1/tokens", json={"role": "viewer", "ttl_s": 60})).json()
    async with world.client(made["token"]) as http:
        assert (await http.get("/api/v1/devices")).status_code == 200
        await world.clock.advance(61_000)
        assert (await http.get("/api/v1/devices")).json()["code"] == "bad_token"


async def test_no_token_gives_more_than_its_issuer_has(world: World) -> None:
    _, operator = await world.new_token("operator", ["read", "access"])
    async with world.client(operator) as http:
        for body, said in (
            ({"role": "owner", "scopes": ["read"]}, "more than your role operator"),
            ({"role": "viewer"}, "name scopes among these"),
            ({"role": "viewer", "scopes": ["run"]}, "does not have the scope run"),
        ):
            refused = await http.post("/api/v1/tokens", json=body)
            assert refused.status_code == 403
            assert said in refused.json()["reason"]
        assert (await http.post("/api/v1/tokens", json={"role": "viewer", "scopes": ["read"]})).status_code == 201


async def test_tokens_are_listed_without_their_secret_and_with_their_last_use(world: World) -> None:
    identity, text = await world.new_token("viewer")
    async with world.client(text) as http:
        await http.get("/api/v1/devices")
    async with world.client() as http:
        listed = await http.get("/api/v1/tokens")
    (found,) = [item for item in listed.json()["items"] if item["id"] == identity]
    assert found["last_used_at"] is not None
    assert text.split("_", 2)[2] not in listed.text


async def test_a_revoked_token_stops_at_once_and_its_live_socket_is_cut(world: World) -> None:
    identity, text = await world.new_token("viewer")
    socket = await world.page(text)
    async with world.client() as http:
        assert (await http.delete(f"/api/v1/tokens/{identity}")).status_code == 200
    last = await socket.until_closed()
    assert '"bad_token"' in last[-1]
    assert socket.close_code == 1008
    async with world.client(text) as http:
        assert (await http.get("/api/v1/devices")).status_code == 401


async def test_a_repeated_key_makes_one_token_and_shows_it_once(world: World) -> None:
    async with world.client() as http:
        headers = {"Idempotency-Key": "k1"}
        first = await http.post("/api/v1/tokens", json={"role": "viewer"}, headers=headers)
        second = await http.post("/api/v1/tokens", json={"role": "viewer"}, headers=headers)
        assert (second.status_code, second.json()["code"]) == (409, "conflict")
        assert f"this key has made the token {first.json()['id']}" in second.json()["title"] + second.text
        assert first.json()["token"] not in second.text
        at_once = [
            http.post("/api/v1/tokens", json={"role": "viewer"}, headers={"Idempotency-Key": "k2"}) for _ in "abc"
        ]
        made = await asyncio.gather(*at_once)
        assert sorted(response.status_code for response in made) == [201, 409, 409]
        other = await http.post("/api/v1/tokens", json={"role": "operator"}, headers=headers)
        assert (other.status_code, other.json()["code"]) == (409, "idempotency_mismatch")


async def test_the_list_of_tokens_tells_those_that_end_with_the_asker(world: World) -> None:
    async with world.client() as http, world.client("") as page:
        made = (await http.post("/api/v1/sign-in-links", json={})).json()
        other = (await http.post("/api/v1/tokens", json={"role": "viewer"})).json()
        identity, _, secret = made["url"].rpartition("/")[2].partition(".")
        await page.post("/api/v1/sign-in", json={"id": identity, "secret": secret})
        mine = (await page.get("/api/v1/session")).json()["token"]
        rows = {item["id"]: item["ends_asker"] for item in (await page.get("/api/v1/tokens")).json()["items"]}
    assert rows == {mine: True, made["token"]: True, other["id"]: False}


async def test_the_list_of_tokens_tells_what_each_was_made_with(world: World) -> None:
    async with world.client() as http:
        made = (await http.post("/api/v1/tokens", json={"role": "operator"})).json()
        async with world.client(made["token"]) as other:
            plan = {"starloom": 1, "name": "Look", "tasks": [{"id": "look", "tool": "t.one"}]}
            body = {"plan": plan, "cron": "@daily", "zone": "UTC", "name": "Look"}
            assert (await other.post("/api/v1/schedules", json=body)).status_code == 201
        rows = {item["id"]: item for item in (await http.get("/api/v1/tokens")).json()["items"]}
    row = rows[made["id"]]
    assert (rows[row["made_with"]]["made_with"], row["schedules"]) == ("", 1)
    assert rows[row["made_with"]]["schedules"] == 0


async def test_the_local_token_is_private_and_kept_over_restarts(world: World, tmp_path: Path) -> None:
    path = tmp_path / first_run.TOKEN_FILE
    assert path.stat().st_mode & 0o777 == 0o600
    hub = world.hub
    again = await first_run.ensure_local_token(tmp_path, hub.access, hub.inbox, hub.now_ms())
    assert again == world.token
    path.unlink()
    fresh = await first_run.ensure_local_token(tmp_path, hub.access, hub.inbox, hub.now_ms())
    assert fresh != world.token
    await settle()
    assert len(hub.access.principals) == 1


async def test_the_local_token_of_another_home_is_told_apart(world: World, tmp_path: Path) -> None:
    hub = world.hub
    (tmp_path / first_run.TOKEN_FILE).unlink()
    fresh = await first_run.ensure_local_token(tmp_path, hub.access, hub.inbox, hub.now_ms())
    await settle()
    async with world.client() as http:
        rows = (await http.get("/api/v1/tokens")).json()["items"]
    labels = {row["label"]: row["id"] for row in rows}
    assert sorted(labels) == ["another machine", "this machine"]
    assert labels["this machine"] in fresh
    assert labels["another machine"] in world.token


@pytest.mark.parametrize("body", [{"role": "king"}, {"rolle": "viewer"}, {"ttl_s": -1}, [], "x"])
async def test_a_bad_body_names_the_place(world: World, body: object) -> None:
    async with world.client() as http:
        refused = await http.post("/api/v1/tokens", json=body)
    assert refused.status_code == 422
    problem = refused.json()
    assert problem["errors"]
    assert problem["code"] in ("bad_request", "unknown_field")


async def test_another_person_is_invited_with_their_own_rights(world: World) -> None:
    async with world.client() as owner, world.client("") as page:
        made = await owner.post("/api/v1/sign-in-links", json={"for": "anna", "role": "approver"})
        assert made.status_code == 201, made.text
        identity, _, secret = made.json()["url"].rpartition("/")[2].partition(".")
        # A message may be read a day later; a link for oneself is good for some minutes.
        await world.clock.advance(23 * 3600 * 1000)
        signed = await page.post("/api/v1/sign-in", json={"id": identity, "secret": secret})
        assert (signed.status_code, signed.json()["role"]) == (200, "approver")
        session = (await page.get("/api/v1/session")).json()
        assert (session["principal"]["name"], session["approves"]) == ("anna", True)
        assert (await page.get("/api/v1/people")).status_code == 403
        assert (await owner.patch("/api/v1/people/anna", json={"role": "operator"})).status_code == 200
        session = (await page.get("/api/v1/session")).json()
        assert (session["role"], session["person_role"]) == ("approver", "operator")
        assert (await owner.patch("/api/v1/people/anna", json={"role": "approver"})).status_code == 200
        people = {item["name"]: item for item in (await owner.get("/api/v1/people")).json()["items"]}
        assert (people["anna"]["role"], people["anna"]["sessions"], people["anna"]["tokens"]) == ("approver", 1, 0)
        assert (await owner.delete(f"/api/v1/tokens/{made.json()['token']}")).status_code == 200
        assert (await page.get("/api/v1/session")).status_code == 401
        people = {item["name"]: item for item in (await owner.get("/api/v1/people")).json()["items"]}
        assert people["anna"]["revoked_at"] == entity_json.iso(world.clock.ms)
        assert people["anna"]["last_used_at"] == people["anna"]["revoked_at"]


async def test_a_person_has_a_name_in_their_own_script(world: World) -> None:
    apart = "Zoe\u0308"  # as some systems write it: the letter, then its dots
    async with world.client() as owner, world.client("") as page:
        made = await owner.post("/api/v1/sign-in-links", json={"for": apart, "role": "operator"})
        assert made.status_code == 201, made.text
        identity, _, secret = made.json()["url"].rpartition("/")[2].partition(".")
        assert (await page.post("/api/v1/sign-in", json={"id": identity, "secret": secret})).status_code == 200
        assert (await page.get("/api/v1/session")).json()["principal"]["name"] == "Zo\u00eb"
        for written in (apart, "Zo\u00eb"):
            assert (await owner.patch(f"/api/v1/people/{written}", json={"role": "approver"})).status_code == 200
        assert sum(item["name"] == "Zo\u00eb" for item in (await owner.get("/api/v1/people")).json()["items"]) == 1


async def test_no_person_gets_a_name_that_looks_like_another(world: World) -> None:
    async with world.client() as owner:
        for name, status in (("bob", 201), ("\u0412\u043e\u0440", 201), ("Bop", 409), ("J\u00fcrgen Gro\u00df", 422)):
            made = await owner.post("/api/v1/sign-in-links", json={"for": name, "role": "viewer"})
            assert made.status_code == status, made.text
        assert made.json()["hint"] == "Write it in one word, as in J\u00fcrgen.Gro\u00df."


async def test_an_invitation_says_what_it_gives_before_it_is_used(world: World) -> None:
    body = {"for": "lo", "role": "operator", "scopes": ["read", "run"]}
    async with world.client() as owner, world.client("") as page:
        inviter = (await owner.get("/api/v1/session")).json()["principal"]["name"]
        made = (await owner.post("/api/v1/sign-in-links", json=body)).json()
        identity, _, secret = made["url"].rpartition("/")[2].partition(".")
        link = {"id": identity, "secret": secret}
        for _ in range(2):  # reading does not use it
            told = (await page.post("/api/v1/sign-in/terms", json=link)).json()["invitation"]
            assert told["may"] == ["see devices, work, answers and logs", "start, edit, stop and undo work"]
            assert (told["for"], told["by"], told["role"]) == ("lo", inviter, "operator")
        assert (await page.get("/api/v1/session")).status_code == 401
        assert (await page.post("/api/v1/sign-in", json=link)).status_code == 200
        assert (await page.post("/api/v1/sign-in/terms", json=link)).status_code == 401
        own = (await owner.post("/api/v1/sign-in-links", json={})).json()
        identity, _, secret = own["url"].rpartition("/")[2].partition(".")
        told = (await page.post("/api/v1/sign-in/terms", json={"id": identity, "secret": secret})).json()
        assert told == {"invitation": None}


async def test_a_person_is_listed_with_the_scopes_to_which_all_is_limited(world: World) -> None:
    async with world.client() as owner:
        for scopes, told in (
            (["run", "read"], ["read", "run"]),
            (["artifacts"], ["artifacts", "read", "run"]),
            ([], []),
        ):
            body = {"for": "lo", "kind": "person", "role": "operator", "label": "lo", "scopes": scopes}
            made = await owner.post("/api/v1/tokens", json=body)
            assert made.status_code == 201, made.text
            people = {item["name"]: item for item in (await owner.get("/api/v1/people")).json()["items"]}
            assert people["lo"]["scopes"] == told


async def test_an_invitation_is_listed_as_one_while_its_link_is_good(world: World) -> None:
    async with world.client() as owner, world.client("") as page:
        made = (await owner.post("/api/v1/sign-in-links", json={"for": "anna"})).json()
        assert made["qr"]["size"] > 20

        async def shown() -> tuple[str, str | None]:
            items = (await owner.get("/api/v1/tokens")).json()["items"]
            return next((item["kind"], item["link_until"]) for item in items if item["id"] == made["token"])

        assert await shown() == ("invitation", made["expires_at"])
        identity, _, secret = made["url"].rpartition("/")[2].partition(".")
        assert (await page.post("/api/v1/sign-in", json={"id": identity, "secret": secret})).status_code == 200
        assert await shown() == ("invitation", None)
        items = (await owner.get("/api/v1/tokens")).json()["items"]
        (used,) = [item for item in items if item["id"] == made["token"]]
        assert used["link_used_at"] == entity_json.iso(world.clock.ms)
        assert used["link_used_with"].startswith("python-httpx")


async def test_a_role_that_is_lowered_ends_what_had_more_rights(world: World) -> None:
    async with world.client() as owner, world.client("") as page:
        made = (await owner.post("/api/v1/sign-in-links", json={"for": "anna", "role": "operator"})).json()
        identity, _, secret = made["url"].rpartition("/")[2].partition(".")
        assert (await page.post("/api/v1/sign-in", json={"id": identity, "secret": secret})).status_code == 200
        refused = await owner.post("/api/v1/sign-in-links", json={"for": "anna", "role": "owner"})
        assert (refused.status_code, "person role anna owner" in refused.text) == (403, True)
        lower = await owner.patch("/api/v1/people/anna", json={"role": "viewer"})
        assert (lower.json()["role"], lower.json()["sessions"], lower.json()["tokens"]) == ("viewer", 0, 0)
        assert (await page.get("/api/v1/session")).status_code == 401
        assert (await owner.patch("/api/v1/people/nobody", json={"role": "viewer"})).status_code == 404


@pytest.mark.parametrize(
    "body",
    [{"role": "viewer"}, {"scopes": ["read"]}, {"for": "anna", "rol": "viewer"}, {"for": "anna", "scopes": ["x"]}],
)
async def test_an_invitation_that_says_something_else_is_refused_whole(world: World, body: dict[str, object]) -> None:
    async with world.client() as owner:
        refused = await owner.post("/api/v1/sign-in-links", json=body)
        assert refused.status_code in (400, 422), refused.text
        assert [item["name"] for item in (await owner.get("/api/v1/people")).json()["items"]] != ["anna"]


async def test_a_session_that_was_revoked_is_told_so_afterwards(world: World) -> None:
    async with world.client("") as http:
        assert "session" not in (await http.get("/api/v1/session")).json()
        csrf = (await http.post("/api/v1/sign-in", json=await link_of(world))).json()["csrf"]
        token = (await http.get("/api/v1/session")).json()["token"]
        gone = await http.delete(f"/api/v1/tokens/{token}", headers={"X-Starloom-CSRF": csrf})
        assert gone.status_code == 200
        again = await http.get("/api/v1/session")
    assert (again.status_code, again.json()["session"]) == (401, "ended")


async def test_a_cookie_that_nobody_ended_asks_for_a_sign_in(world: World) -> None:
    async with world.client("") as http:
        await http.post("/api/v1/sign-in", json=await link_of(world))
        (name,) = dict(http.cookies)
        kept = http.cookies[name]
        for stale in ("not-one-of-ours", kept[:-4] + "AAAA", "sws_" + "a" * 20 + "." + "b" * 43):
            http.cookies.clear()
            told = (await http.get("/api/v1/session", headers={"Cookie": f"{name}={stale}"})).json()
            assert (told["code"], "session" in told) == ("not_signed_in", False)
