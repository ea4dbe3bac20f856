"""A sign-in that has ended: nothing more comes by a socket that is open, a request that waits or a browser's cache."""

from __future__ import annotations

import asyncio

from tests.edge.world import World, chain, settle


async def signed_in_for_a_minute(world: World) -> str:
    async with world.client() as http:
        made = await http.post("/api/v1/tokens", json={"role": "viewer", "ttl_s": 60})
    token: str = made.json()["token"]
    return token


async def test_t136_an_open_socket_shows_nothing_after_the_sign_in_has_expired(world: World) -> None:
    made = await world.submit(chain("t.one"))
    socket = await world.page(await signed_in_for_a_minute(world))
    await world.clock.advance(61_000)
    await socket.send_json({"t": "subscribe", "stream": made["id"]})
    said = await asyncio.wait_for(socket.until_closed(), 10)
    assert '"bad_token"' in said[-1]
    assert "snapshot" not in "".join(said)


async def test_t136_a_request_that_waits_answers_nothing_after_its_end(world: World) -> None:
    made = await world.submit(chain("t.one"))
    identity, text = await world.new_token("viewer")
    async with world.client(text) as http, world.client() as owner:
        path = f"/api/v1/constellations/{made['id']}/events"
        last = (await http.get(path)).json()["next"]
        waiting = asyncio.create_task(http.get(path, params={"after": last, "wait_s": 30}))
        await settle()
        assert (await owner.delete(f"/api/v1/tokens/{identity}")).status_code == 200
        assert (await owner.post(f"/api/v1/constellations/{made['id']}/pause", json={})).status_code < 300
        answer = await asyncio.wait_for(waiting, 10)
    assert (answer.status_code, answer.json()["code"]) == (401, "bad_token")


async def test_t137_a_browser_shows_no_file_without_asking_the_hub(world: World) -> None:
    async with world.client() as http:
        kept = (await http.post("/api/v1/artifacts", content=b"a bank statement")).json()["artifact"]
        first = await http.get(f"/api/v1/artifacts/{kept}")
        again = await http.get(f"/api/v1/artifacts/{kept}", headers={"If-None-Match": first.headers["etag"]})
    assert first.headers["cache-control"] == "private, no-cache"
    assert (again.status_code, again.content) == (304, b"")
