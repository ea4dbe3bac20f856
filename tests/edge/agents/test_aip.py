"""The AIP socket from the outside: proofs, refusals, limits, and frames on their way to the engine and back."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from starloom.edge.agents import aip, links
from starloom.process.settings import VERSION
from starloom_protocol.records.entities import Offer
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.session import ProtocolFault
from tests.edge.world import Agent, World, Ws, a_world, an_offer, chain, settle


async def refused(agent: Agent) -> f.Refuse | f.ErrorFrame:
    """Return the hub's last frame before it closed."""
    assert agent.ws is not None
    last = (await agent.ws.until_closed())[-1]
    frame = agent.session.receive(last)[-1]
    assert isinstance(frame, f.Refuse | f.ErrorFrame)
    return frame


async def send_unknown(agent: Agent) -> None:
    assert agent.ws is not None
    await agent.ws.send_json({"n": agent.session._sent + 1, "f": [{"t": "propose"}]})


async def test_a_joined_device_is_welcomed_and_shown_online(world: World) -> None:
    agent = await world.join("laptop")
    welcome = await agent.connect(world)
    assert welcome.device_name == "laptop"
    assert welcome.session == 1
    device = world.hub.fleet.devices[agent.id]
    assert (device.link, device.profile) == ("online", "work")
    assert agent.ws is not None
    await agent.ws.leave()
    await settle()
    assert world.hub.fleet.devices[agent.id].link == "offline"
    assert len(world.hub.links) == 0


async def test_a_task_goes_out_and_its_result_comes_back_with_a_durable_ack(world: World) -> None:
    agent = await world.online("one")
    made = await world.submit(chain("t.one", "t.one"))
    for _ in range(2):
        dispatch = await agent.next(f.Dispatch)
        assert dispatch.tool == "t.one"
        await agent.done(dispatch, '{"v":1}')
    ack = await agent.next(f.Ack)
    while ack.durable < 2:
        await settle()
        await world.clock.advance(100)
        ack = await agent.next(f.Ack)
    await settle()
    async with world.client() as http:
        result = (await http.get(f"/api/v1/constellations/{made['id']}/result")).json()
    assert result["constellation_state"] == "succeeded"
    assert result["items"][0]["value"] == {"v": 1}
    assert result["items"][0]["from"]["device_name"] == "one"


async def test_alive_is_answered_at_once(world: World) -> None:
    agent = await world.online("one")
    await world.submit(chain("t.one"))
    dispatch = await agent.next(f.Dispatch)
    stray = f.LeaseRef(attempt=9, constellation="c-none", incarnation=1, task="t")
    await agent.send(f.Alive(running=[dispatch.at, stray], sent_ms=77))
    renew = await agent.next(f.Renew)
    assert (renew.sent_ms, renew.granted, renew.gone) == (77, [dispatch.at], [stray])


async def test_an_idle_device_is_told_how_seldom_it_may_speak(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = await world.online("one")
    await agent.send(f.Alive(running=[], sent_ms=1))
    assert (await agent.next(f.Renew)).idle_s == 0
    monkeypatch.setattr(links, "IDLE_BEATS_S", 0.01)
    await agent.send(f.Alive(running=[], sent_ms=2))
    assert await agent.next(f.Renew) == f.Renew(granted=[], idle_s=100, sent_ms=2)


async def test_only_an_answer_that_says_something_waits_for_the_proof(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await world.online("one")
    await settle()
    waiting: list[str] = []
    monkeypatch.setattr(world.hub.inbox, "when_proved", lambda device, _then: waiting.append(device))
    await agent.send(f.Alive(running=[], sent_ms=1))
    assert (await agent.next(f.Renew)).sent_ms == 1
    stray = f.LeaseRef(attempt=9, constellation="c-none", incarnation=1, task="t")
    await agent.send(f.Alive(running=[stray], sent_ms=2))
    await settle()
    assert waiting == [agent.id]


async def test_a_wrong_signature_is_refused(world: World) -> None:
    agent = await world.join("one")
    await agent.dial(world)
    await agent.send(agent.hello())
    challenge = await agent.next(f.Challenge)
    await agent.send(agent.prove(challenge, key=Ed25519PrivateKey.generate()))
    assert (await refused(agent)).code == "bad_signature"
    assert world.edge.aip.faults["bad_signature"] == 1


async def test_a_proof_of_another_connection_is_of_no_use(world: World) -> None:
    agent = await world.join("one")
    await agent.dial(world)
    await agent.send(agent.hello())
    old = agent.prove(await agent.next(f.Challenge))
    await agent.dial(world)
    await agent.send(agent.hello())
    agent.prove(await agent.next(f.Challenge))
    await agent.send(old)
    assert (await refused(agent)).code == "bad_signature"


async def test_a_message_without_the_seal_ends_the_connection(world: World) -> None:
    agent = await world.online("one")
    assert agent.ws is not None
    await agent.ws.send('{"n":4,"f":[{"t":"bye","reason":"I am another"}]}')
    assert "does not carry the seal of the agent" in (await refused(agent)).reason


async def test_a_key_share_that_is_none_is_refused(world: World) -> None:
    agent = await world.join("one")
    for share in ("", "c2hhcmU", base64.b64encode(bytes(32)).decode()):
        await agent.dial(world)
        await agent.send(msgspec.structs.replace(agent.hello(), key_share=share))
        refusal = await agent.next(f.Refuse)
        assert "key_share" in refusal.reason


async def test_a_device_cannot_be_named_with_another_key(world: World) -> None:
    victim = await world.join("victim")
    thief = Agent("thief")
    thief.id = victim.id
    await thief.dial(world)
    await thief.send(thief.hello())
    await thief.send(thief.prove(await thief.next(f.Challenge)))
    assert (await refused(thief)).code == "bad_signature"
    assert world.hub.fleet.devices[victim.id].link == "offline"


async def test_an_unknown_key_learns_that_it_has_not_joined(world: World) -> None:
    agent = Agent("stranger")
    await agent.dial(world)
    await agent.send(agent.hello())
    await agent.send(agent.prove(await agent.next(f.Challenge)))
    frame = await refused(agent)
    assert frame.code == "unknown_key"
    assert isinstance(frame, f.Refuse)
    assert "starloom enroll" in frame.fix


async def test_a_device_that_waits_for_approval_is_told_to_come_back(world: World) -> None:
    agent = Agent("new")
    async with world.client() as http:
        code = (await http.post("/api/v1/enrollments", json={})).json()["code"]
        answer = (await http.post("/agent/join", json=agent.ask(code))).json()
    assert answer["state"] == "asking"
    await agent.dial(world)
    await agent.send(agent.hello())
    await agent.send(agent.prove(await agent.next(f.Challenge)))
    frame = await refused(agent)
    assert isinstance(frame, f.Refuse)
    assert (frame.code, frame.retry_after_s) == ("not_approved", 3.0)
    assert answer["words"] in frame.fix


async def test_a_revoked_device_is_cut_and_stays_out(world: World) -> None:
    agent = await world.online("one")
    async with world.client() as http:
        assert (await http.post("/api/v1/devices/one/revoke", json={"reason": "lost"})).status_code == 200
    assert (await refused(agent)).code == "device_revoked"
    await agent.dial(world)
    await agent.send(agent.hello())
    await agent.send(agent.prove(await agent.next(f.Challenge)))
    assert (await refused(agent)).code == "device_revoked"


async def test_a_second_connection_takes_over_with_a_higher_session(world: World) -> None:
    agent = await world.online("one")
    first, first_session = agent.ws, agent.session
    welcome = await agent.connect(world)
    assert welcome.session == 2
    assert first is not None
    last = first_session.receive((await first.until_closed())[-1])[-1]
    assert isinstance(last, f.ErrorFrame)
    assert last.code == "taken_over"
    await settle()
    assert world.hub.fleet.devices[agent.id].link == "online"
    await world.submit(chain("t.one"))
    assert (await agent.next(f.Dispatch)).tool == "t.one"


async def test_open_attempts_are_restated_on_a_new_connection(world: World) -> None:
    agent = await world.online("one")
    await world.submit(chain("t.one"))
    dispatch = await agent.next(f.Dispatch)
    agent.report += 1
    await agent.send(f.Started(at=dispatch.at, report=agent.report))
    await settle()
    assert agent.ws is not None
    await agent.ws.leave()
    await settle()
    await agent.dial(world)
    await agent.send(agent.hello())
    await agent.send(agent.prove(await agent.next(f.Challenge)))
    welcome = await agent.next(f.Welcome)
    assert welcome.received <= agent.report
    plan = await agent.next(f.ResumePlan)
    assert [(entry.action, entry.at) for entry in plan.entries] == [("continue", dispatch.at)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"n":1,"f":[]}',
        '{"n":2,"f":[{"t":"bye","reason":"x"}]}',
        '{"n":1,"f":[{"t":"dispatch"}]}',
        '{"n":1,"f":[{"t":"alive","running":[],"sent_ms":1}]}',
        '{"n":1,"f":[{"t":"welcome"}]}',
        '{"n":1,"f":[{"t":"hello","extra":1}]}',
    ],
)
async def test_anything_but_a_hello_ends_the_connection(world: World, text: str) -> None:
    socket = await world.socket("/aip/v1").open()
    await socket.send(text)
    last = await socket.until_closed()
    assert json.loads(last[-1])["f"][0]["t"] == "refuse"
    assert socket.close_code == 1008
    assert len(world.hub.links) == 0


async def test_more_than_4_kib_before_the_proof_ends_the_connection(world: World) -> None:
    agent = await world.join("one")
    await agent.dial(world)
    assert agent.ws is not None
    await agent.ws.send('{"n":1,"f":[{"t":"hello","device":"' + "x" * 5000 + '"}]}')
    frame = json.loads((await agent.ws.until_closed())[-1])["f"][0]
    assert frame["code"] == "frame_too_large"


async def test_a_frame_of_the_wrong_state_ends_an_open_connection(world: World) -> None:
    agent = await world.online("one")
    assert agent.ws is not None
    with pytest.raises(ProtocolFault):
        agent.session.send([agent.hello()])
    await agent.ws.send(json.dumps({"n": 4, "f": [{"t": "prove", "signature": "x"}]}))
    assert (await refused(agent)).code == "protocol_error"
    await settle()
    assert world.hub.fleet.devices[agent.id].link == "offline"


async def test_a_gap_in_the_numbers_ends_the_connection(world: World) -> None:
    agent = await world.online("one")
    assert agent.ws is not None
    await agent.ws.send(agent.sealed('{"n":99,"f":[{"t":"ping","at_ms":1}]}'))
    frame = await refused(agent)
    assert "missing" in frame.reason


async def test_no_proof_in_time_ends_the_connection(tmp_path: Path) -> None:
    async with a_world(tmp_path, handshake_s=0.05) as world:
        socket = await world.socket("/aip/v1").open()
        assert await socket.until_closed() == []
        assert socket.close_code == 1008
        assert world.edge.aip.faults == {"handshake_timeout": 1}


async def test_failed_handshakes_are_noted_up_to_a_limit(world: World, caplog: pytest.LogCaptureFixture) -> None:
    agent = await world.join("one")
    for _ in range(60):
        socket = await world.socket("/aip/v1").open()
        await socket.send("{")
        await socket.until_closed()
    assert world.edge.aip.faults == {"protocol_error": 60}
    assert len([record for record in caplog.records if record.name == aip.__name__]) == 30
    assert (await agent.connect(world)).session == 1


async def test_a_result_in_the_name_of_another_device_counts_for_nothing(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    await one.connect(world)
    await two.connect(world, offer=Offer(digest="none"))
    made = await world.submit(chain("t.one"))
    dispatch = await one.next(f.Dispatch)
    await two.done(dispatch, '"forged"')
    await settle()
    async with world.client() as http:
        state = (await http.get(f"/api/v1/constellations/{made['id']}")).json()["state"]
        assert state == "active"
        await one.done(dispatch, '"true"')
        await settle()
        result = (await http.get(f"/api/v1/constellations/{made['id']}/result")).json()
    assert result["items"][0]["value"] == "true"


async def test_a_log_is_kept_only_from_the_device_that_has_the_attempt(world: World) -> None:
    one, two = await world.join("one"), await world.join("two")
    await one.connect(world)
    await two.connect(world, offer=Offer(digest="none"))
    made = await world.submit(chain("t.one"))
    dispatch = await one.next(f.Dispatch)
    await one.send(f.LogChunk(at=dispatch.at, offset=0, stream="stdout", text="hello\n"))
    await two.send(f.LogChunk(at=dispatch.at, offset=6, stream="stdout", text="forged\n"))
    await settle()
    path = f"/api/v1/constellations/{made['id']}/tasks/t0/attempts/1/log"
    async with world.client() as http:
        found = (await http.get(path)).json()
        assert (found["text"], found["end"], found["lost"]) == ("hello\n", 6, [])
        lines = (await http.get(path, params={"q": "HELL"})).json()["lines"]
        assert [line["text"] for line in lines] == ["hello"]
        assert (await http.get(path, params={"offset": 3})).json()["text"] == "lo\n"


@pytest.mark.parametrize("search", [{}, {"q": "hell"}])
async def test_a_log_of_an_attempt_that_is_not_there_is_refused(world: World, search: dict[str, str]) -> None:
    agent = await world.online("one")
    made = await world.submit(chain("t.one", "t.one"))
    await agent.next(f.Dispatch)
    await settle()
    tasks = f"/api/v1/constellations/{made['id']}/tasks"
    async with world.client() as http:
        empty = await http.get(f"{tasks}/t0/attempts/1/log", params=search)
        refused = [
            await http.get(f"{tasks}/{place}/log", params=search)
            for place in ("zz/attempts/1", "t0/attempts/9", "t1/attempts/1")
        ]
    assert (empty.status_code, empty.json()["text"]) == (200, "")
    assert [(answer.status_code, answer.json()["code"], answer.json()["reason"]) for answer in refused] == [
        (404, "unknown_task", "there is no task zz; there is t0, t1"),
        (404, "not_found", "t0 has no attempt 9; there is 1"),
        (404, "not_found", "t1 has no attempt 1; it has not begun"),
    ]


async def test_a_ping_is_answered_and_a_goodbye_ends_it(world: World) -> None:
    agent = await world.online("one")
    await agent.send(f.Ping(at_ms=5))
    assert (await agent.next(f.Pong)).at_ms == 5
    await agent.send(f.Bye(reason="shutting down"))
    assert agent.ws is not None
    await agent.ws.until_closed()
    assert agent.ws.close_code == 1000
    await settle()
    assert world.hub.fleet.devices[agent.id].link == "offline"


async def test_an_unknown_frame_ends_the_connection(world: World) -> None:
    agent = await world.online("one")
    await send_unknown(agent)
    assert (await refused(agent)).code == "protocol_error"


async def test_a_ledger_that_names_a_part_of_its_calls_ends_the_connection(world: World) -> None:
    agent = await world.online("one")
    at = f.LeaseRef(attempt=1, constellation="c-1", incarnation=1, task="t")
    entry = f.LedgerEntry(at=at, state=f.BEGUN)
    await agent.send(f.LedgerReport(entries=[entry]), f.LedgerReport(calls=["a"], entries=[entry]))
    await settle()
    assert world.hub.fleet.devices[agent.id].link == "online"
    await agent.send(f.LedgerReport(calls=["a"], entries=[entry, entry]))
    assert "one text for each entry" in (await refused(agent)).reason


async def test_a_value_above_the_limit_of_a_frame_is_refused(world: World) -> None:
    agent = await world.online("one")
    made = await world.submit(chain("t.one"))
    await agent.done(await agent.next(f.Dispatch), json.dumps("x" * 70_000))
    frame = await refused(agent)
    assert frame.code == "frame_too_large"
    assert "a longer value is an artifact" in frame.reason
    async with world.client() as http:
        assert (await http.get(f"/api/v1/constellations/{made['id']}")).json()["state"] == "active"


async def test_an_ok_long_after_the_timeout_is_no_success(world: World) -> None:
    agent = await world.online("one")
    task = {"id": "t0", "tool": "t.one", "timeouts": {"start_to_close_s": 2}, "retry": {"max_attempts": 1}}
    made = await world.submit({"starloom": 1, "name": "late", "tasks": [task]})
    dispatch = await agent.next(f.Dispatch)
    agent.report = 1
    await agent.send(f.Started(at=dispatch.at, report=1))
    for _ in range(30):
        await agent.send(f.Alive(running=[dispatch.at], sent_ms=world.clock.ms))
        await world.clock.advance(1_000)
    await agent.next(f.Cancel)
    await agent.done(dispatch, '"late"')
    await settle()
    async with world.client() as http:
        found = (await http.get(f"/api/v1/constellations/{made['id']}")).json()
    assert (found["state"], found["tasks"][0]["code"]) == ("failed", "timed_out")


async def test_a_silent_device_is_off_and_gets_no_more_work(world: World) -> None:
    silent, other = await world.join("a-silent"), await world.join("b-other")
    await silent.connect(world)
    await world.submit(chain("t.one"))
    first = await silent.next(f.Dispatch)
    await other.connect(world)
    for _ in range(25):
        await other.send(f.Alive(running=[], sent_ms=world.clock.ms))
        await world.clock.advance(1_000)
    device = world.hub.fleet.devices[silent.id]
    assert device.link == "offline"
    assert silent.ws is not None
    last = (await silent.ws.until_closed())[-1]
    assert "silent for 20 s" in last
    await other.done(await other.next(f.Dispatch), "1")
    made = await world.submit(chain("t.one"))
    second = await other.next(f.Dispatch)
    assert second.at.constellation == made["id"] != first.at.constellation
    await silent.connect(world)
    assert world.hub.fleet.devices[silent.id].link == "online"


async def test_a_device_that_talks_without_naming_its_work_stays_online(world: World) -> None:
    agent = await world.online("one")
    await world.submit(chain("t.one"))
    await agent.next(f.Dispatch)
    for _ in range(25):
        await agent.send(f.Alive(running=[], sent_ms=world.clock.ms))
        await world.clock.advance(1_000)
    assert world.hub.fleet.devices[agent.id].link == "online"


@pytest.mark.parametrize("holds", [True, False], ids=["held", "read"])
async def test_what_comes_behind_the_end_of_a_connection_is_not_heard(
    world: World, monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    monkeypatch.setattr(Ws, "holds", holds)
    agent = await world.online("one")
    made = await world.submit(chain("t.one"))
    dispatch = await agent.next(f.Dispatch)
    await send_unknown(agent)
    agent.session._sent += 1
    await agent.done(dispatch, '"late"')
    assert (await refused(agent)).code == "protocol_error"
    await settle()
    async with world.client() as http:
        assert (await http.get(f"/api/v1/constellations/{made['id']}")).json()["state"] == "active"


@pytest.mark.parametrize("holds", [True, False], ids=["held", "read"])
async def test_messages_are_heard_in_order_whether_or_not_the_server_gives_them_at_once(
    world: World, monkeypatch: pytest.MonkeyPatch, holds: bool
) -> None:
    monkeypatch.setattr(Ws, "holds", holds)
    agent = await world.online("one")
    for at_ms in range(20):
        await agent.send(f.Ping(at_ms=at_ms))
    assert [(await agent.next(f.Pong)).at_ms for _ in range(20)] == list(range(20))


async def test_a_stopping_hub_says_goaway_and_lets_nobody_in(world: World) -> None:
    agent = await world.online("one")
    world.edge.aip.draining = True
    world.hub.links.goaway("the hub is stopping", 1.0)
    frame = await agent.next(f.Goaway)
    assert frame.retry_after_s == 1.0
    assert agent.ws is not None
    await agent.ws.until_closed()
    assert (await world.socket("/aip/v1").open()).status == 503


async def test_what_waits_for_a_device_goes_out_as_one_message(world: World) -> None:
    agent = await world.online("one", offer=an_offer(slots=50))
    tasks = [{"id": f"t{number}", "tool": "t.one"} for number in range(50)]
    await world.submit({"starloom": 1, "name": "wide", "tasks": tasks})
    await settle()
    assert agent.ws is not None
    first = await agent.ws.receive()
    frames = agent.session.receive(first)
    assert sum(isinstance(frame, f.Dispatch) for frame in frames) == 50


async def test_many_agents_at_once(world: World) -> None:
    agents = [await world.join(f"agent-{number}") for number in range(8)]
    await asyncio.gather(*(agent.connect(world) for agent in agents))
    assert len(world.hub.links) == 8


@pytest.mark.parametrize(("version", "told"), [("0.0.1", True), ("99.0", False), ("a fork", False)])
async def test_an_old_agent_is_told_of_the_newer_one_after_its_welcome(
    world: World, version: str, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = await world.join("one")
    hello = agent.hello
    monkeypatch.setattr(agent, "hello", lambda: msgspec.structs.replace(hello(), version=version))
    await agent.connect(world)
    await agent.send(f.Ping(at_ms=7))
    seen: list[f.Frame] = []
    while not any(isinstance(frame, f.Pong) for frame in seen):
        seen.append(await agent.next(f.Frame))
    newer = [frame.version for frame in seen if isinstance(frame, f.UpdateAvailable)]
    assert newer == ([VERSION] if told else [])
    async with world.client() as http:
        assert (await http.get("/api/v1/devices/one")).json()["older_than"] == (VERSION if told else "")
