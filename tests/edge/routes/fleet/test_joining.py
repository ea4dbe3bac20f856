"""Pairing: the code, the six words on both sides, the person's answer, and every refusal with its reason."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from starloom import app as hub_app
from starloom.edge.access.credentials import code_hash
from starloom.edge.agents.hub_keys import load_or_make
from starloom.edge.listeners.local_network import LanState
from starloom.edge.routes.fleet.agent_wheels import Wheels
from starloom.edge.routes.fleet.join_lines import line, phone
from starloom.process.settings import Settings
from starloom_protocol.wire.session import short_words
from tests.edge.world import Agent, World, a_world, settle


async def code_of(world: World, **body: object) -> tuple[str, str]:
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json=body)).json()
    assert made["code"] in made["line"]
    return made["id"], made["code"]


async def test_a_device_joins_after_the_words_were_compared(world: World) -> None:
    enrollment, code = await code_of(world, label="")
    agent = Agent("laptop")
    async with world.client("") as device, world.client() as owner:
        asked = (await device.post("/agent/join", json=agent.ask(code))).json()
        assert asked["state"] == "asking"
        shown = (await owner.get(f"/api/v1/enrollments/{enrollment}")).json()
        own = short_words(world.hub.key.raw, _raw(agent.key), bytes.fromhex(code_hash(code)), repeats=True)
        assert asked["words"] == shown["words"] == own
        assert (await device.get(f"/agent/join/{enrollment}")).json()["state"] == "asking"
        assert (await owner.post(f"/api/v1/enrollments/{enrollment}/approve")).status_code == 200
        answer = (await device.get(f"/agent/join/{enrollment}")).json()
        assert (answer["state"], answer["device"], answer["hub_key"]) == ("approved", agent.id, world.hub.key.text)
        devices = (await owner.get("/api/v1/devices")).json()["items"]
    assert [(item["name"], item["link"]) for item in devices] == [("laptop", "offline")]


@pytest.mark.parametrize(("headers", "repeats"), [({}, True), ({"X-Starloom-Words": "once"}, False)])
async def test_the_words_follow_the_rule_of_the_agent(world: World, headers: dict[str, str], repeats: bool) -> None:
    """One pairing of 18 has a word twice by the rule of agents that name none."""
    _, code = await code_of(world, label="")
    hashed = bytes.fromhex(code_hash(code))
    agents = (Agent("laptop") for _ in range(2_000))
    drawn = ((one, short_words(world.hub.key.raw, _raw(one.key), hashed, repeats=True)) for one in agents)
    agent = next(one for one, words in drawn if _has_one_twice(words))
    async with world.client("") as device:
        asked = (await device.post("/agent/join", json=agent.ask(code), headers=headers)).json()
    assert asked["words"] == short_words(world.hub.key.raw, _raw(agent.key), hashed, repeats=repeats)
    assert _has_one_twice(asked["words"]) is repeats


def _has_one_twice(words: str) -> bool:
    return len(set(words.split())) < len(words.split())


def _raw(key: str) -> bytes:
    return base64.b64decode(key)


async def test_a_denial_says_why_on_both_sides(world: World) -> None:
    enrollment, code = await code_of(world)
    agent = Agent("laptop")
    async with world.client("") as device, world.client() as owner:
        await device.post("/agent/join", json=agent.ask(code))
        await owner.post(f"/api/v1/enrollments/{enrollment}/deny", json={"reason": "not mine"})
        answer = (await device.get(f"/agent/join/{enrollment}")).json()
        assert (answer["state"], answer["reason"]) == ("denied", "not mine")
        again = await device.post("/agent/join", json=agent.ask(code))
        assert (again.status_code, again.json()["code"]) == (403, "bad_code")
        assert "not mine" in again.json()["reason"]
        late = await owner.post(f"/api/v1/enrollments/{enrollment}/approve")
        assert late.status_code == 409


async def test_a_code_is_good_for_one_device_and_ten_minutes(world: World) -> None:
    _, code = await code_of(world, preapproved=True)
    first, second = Agent("one"), Agent("two")
    async with world.client("") as device:
        joined = await device.post("/agent/join", json=first.ask(code))
        assert joined.json()["state"] == "approved"
        repeated = await device.post("/agent/join", json=first.ask(code))
        assert repeated.json()["state"] == "approved"
        used = await device.post("/agent/join", json=second.ask(code))
        assert (used.status_code, used.json()["code"]) == (403, "bad_code")
        _, late = await code_of(world)
        await world.clock.advance(601_000)
        expired = await device.post("/agent/join", json=second.ask(late))
        assert "too old" in expired.json()["reason"]


async def test_a_code_may_be_typed_carelessly(world: World) -> None:
    _, code = await code_of(world, preapproved=True)
    async with world.client("") as device:
        typed = code.replace("-", " ").lower()
        assert (await device.post("/agent/join", json=Agent("one").ask(typed))).json()["state"] == "approved"


async def test_wrong_codes_are_refused_and_slowed_down(world: World) -> None:
    async with world.client("") as device:
        answers = [await device.post("/agent/join", json=Agent("x").ask("AAAA-BBBB-CCCC-DDDD")) for _ in range(12)]
    assert [answer.status_code for answer in answers[:10]] == [403] * 10
    assert answers[-1].status_code == 429
    assert "starloom enroll" in answers[0].json()["hint"]


async def test_bad_keys_names_and_profiles_are_refused_with_their_place(world: World) -> None:
    _, code = await code_of(world, profile_most="files")
    agent = Agent("one")
    async with world.client("") as device:
        key = await device.post("/agent/join", json={**agent.ask(code), "key": "AAAA"})
        assert "Ed25519" in key.json()["reason"]
        name = await device.post("/agent/join", json={**agent.ask(code), "name": "a\u202eb"})
        assert name.json()["errors"][0]["place"] == "name"
        more = await device.post("/agent/join", json={**agent.ask(code), "admin": True})
        assert more.json()["code"] == "unknown_field"
        profile = await device.post("/agent/join", json=agent.ask(code))
        assert (profile.status_code, profile.json()["code"]) == (403, "forbidden")
        fits = await device.post("/agent/join", json={**agent.ask(code), "profile": "files"})
        assert fits.json()["state"] == "asking"


async def test_a_pairing_that_nobody_asked_for_is_not_shown(world: World) -> None:
    enrollment, _ = await code_of(world)
    async with world.client("") as device:
        assert (await device.get(f"/agent/join/{enrollment}")).status_code == 404
        assert (await device.get("/agent/join/e-none")).status_code == 404


async def test_no_code_stands_in_any_record_or_event(world: World) -> None:
    _, code = await code_of(world)
    await settle()
    raw = b"".join(await world.hub.reads.events("fleet", 0, 100))
    assert code.encode() not in raw
    assert code.replace("-", "").encode() not in raw


async def test_join_py_and_the_wheels(world: World, tmp_path: Path) -> None:
    async with world.client("") as device:
        assert (await device.get("/agent/join.py")).text == "print('join')\n"
        absent = await device.get("/agent/wheels.json")
        assert (absent.status_code, absent.json()["code"]) == (404, "not_found")
        folder = tmp_path / "wheels"
        folder.mkdir()
        for name in ("starloom_protocol", "starloom_agent"):
            (folder / f"{name}-0.1.0-py3-none-any.whl").write_bytes(name.encode())
        listed = (await device.get("/agent/wheels.json")).json()
        assert [item["name"] for item in listed] == ["starloom_agent", "starloom_protocol"]
        for item in listed:
            raw = (await device.get(f"/agent/wheels/{item['file']}")).content
            assert hashlib.sha256(raw).hexdigest() == item["sha256"]
        assert (await device.get("/agent/wheels/..%2Fjoin.py")).status_code == 404
        assert (await device.get("/agent/wheels/none.whl")).status_code == 404


async def test_the_packages_of_the_agent_are_named_by_hash(tmp_path: Path) -> None:
    lock = hub_app._files(Settings(home=tmp_path)).requirements
    assert lock is not None
    assert "cryptography==" in lock.read_text()
    async with a_world(tmp_path, requirements=lock) as world, world.client("") as device:
        assert (await device.get("/agent/requirements.txt")).text == lock.read_text()


async def test_a_hub_without_the_list_of_packages_says_so(world: World) -> None:
    async with world.client("") as device:
        absent = await device.get("/agent/requirements.txt")
    assert (absent.status_code, absent.json()["code"]) == (404, "not_found")
    assert "Install the hub from its wheel" in absent.json()["hint"]


async def test_a_changed_wheel_gets_a_new_hash(tmp_path: Path) -> None:
    wheels = Wheels(tmp_path)
    for name in ("starloom_protocol", "starloom_agent"):
        (tmp_path / f"{name}-0.1.0-py3-none-any.whl").write_bytes(b"1")
    before = {item["file"]: item["sha256"] for item in await wheels.listing()}
    (tmp_path / "starloom_agent-0.1.0-py3-none-any.whl").write_bytes(b"22")
    after = {item["file"]: item["sha256"] for item in await wheels.listing()}
    assert before["starloom_agent-0.1.0-py3-none-any.whl"] != after["starloom_agent-0.1.0-py3-none-any.whl"]


def test_the_hub_key_is_kept_and_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "hub.key"
    made = load_or_make(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert load_or_make(path).raw == made.raw
    path.write_bytes(b"short")
    with pytest.raises(ValueError, match="not a hub key"):
        load_or_make(path)
    assert path.read_bytes() == b"short"


async def test_a_code_for_several_devices_lets_in_as_many_and_no_more(world: World) -> None:
    _, code = await code_of(world, preapproved=True, devices=3, ends_in_s=3_600, label="node", profile_most="observe")
    agents = [Agent(f"machine-{number}") for number in range(3)]
    async with world.client("") as device, world.client() as owner:
        beyond = await device.post("/agent/join", json=agents[0].ask(code) | {"profile": "operate"})
        assert (beyond.status_code, beyond.json()["code"]) == (403, "forbidden")
        for agent in agents:
            joined = (await device.post("/agent/join", json=agent.ask(code) | {"profile": "observe"})).json()
            assert (joined["state"], joined["device"]) == ("approved", agent.id)
            again = (await device.post("/agent/join", json=agent.ask(code) | {"profile": "observe"})).json()
            assert again == joined
        used_up = await device.post("/agent/join", json=Agent("late").ask(code) | {"profile": "observe"})
        assert (used_up.status_code, used_up.json()["code"]) == (403, "bad_code")
        assert "3 devices have used this code" in used_up.json()["reason"]
        pairings = (await owner.get("/api/v1/enrollments")).json()
        devices = (await owner.get("/api/v1/devices")).json()["items"]
    (of_code,) = [item for item in pairings["items"] if not item["code_of"]]
    assert (of_code["state"], of_code["devices"], of_code["used"]) == ("used", 3, 3)
    each = [item for item in pairings["items"] if item["code_of"] == of_code["id"]]
    assert sorted(item["device"] for item in each) == sorted(agent.id for agent in agents)
    assert len({item["words"] for item in each}) == 3
    assert sorted(item["name"] for item in devices) == ["node", "node-2", "node-3"]
    assert [(row["code"], row["who"]) for row in pairings["refused"]] == [
        ("bad_code", "late"),
        ("forbidden", "machine-0"),
    ]


async def test_each_device_of_one_code_is_let_in_by_its_own_words(world: World) -> None:
    code_id, code = await code_of(world, devices=5)
    one, two = Agent("one"), Agent("two")
    async with world.client("") as device, world.client() as owner:
        asked = [(await device.post("/agent/join", json=agent.ask(code))).json() for agent in (one, two)]
        assert [item["state"] for item in asked] == ["asking", "asking"]
        assert asked[0]["enrollment"] not in (code_id, asked[1]["enrollment"])
        assert asked[0]["words"] != asked[1]["words"]
        await owner.post(f"/api/v1/enrollments/{asked[1]['enrollment']}/approve")
        await owner.post(f"/api/v1/enrollments/{asked[0]['enrollment']}/deny", json={"reason": "not mine"})
        states = [(await device.get(f"/agent/join/{item['enrollment']}")).json()["state"] for item in asked]
        assert states == ["denied", "approved"]
        assert (await owner.post(f"/api/v1/enrollments/{code_id}/approve")).status_code == 409
        third = await device.post("/agent/join", json=Agent("three").ask(code))
        assert third.json()["state"] == "asking"


async def test_a_code_for_several_devices_ends_by_time_and_by_its_owner(world: World) -> None:
    code_id, code = await code_of(world, preapproved=True, devices=5)
    _, short = await code_of(world, preapproved=True, devices=5, ends_in_s=60)
    async with world.client("") as device, world.client() as owner:
        assert (await device.post("/agent/join", json=Agent("one").ask(code))).json()["state"] == "approved"
        assert (await owner.post(f"/api/v1/enrollments/{code_id}/deny", json={"reason": "enough"})).status_code == 200
        ended = await device.post("/agent/join", json=Agent("two").ask(code))
        assert (ended.status_code, "enough" in ended.json()["reason"]) == (403, True)
        await world.clock.advance(61_000)
        late = await device.post("/agent/join", json=Agent("three").ask(short))
        assert "too old" in late.json()["reason"]
        assert len((await owner.get("/api/v1/devices")).json()["items"]) == 1


@pytest.mark.parametrize(
    "wrong",
    [{"devices": 0}, {"devices": 10_001}, {"devices": 2, "name": "one"}, {"ends_in_s": 8 * 86_400}, {"ends_in_s": -1}],
    ids=str,
)
async def test_a_code_for_several_devices_is_bounded(world: World, wrong: dict[str, object]) -> None:
    async with world.client() as owner:
        refused = await owner.post("/api/v1/enrollments", json=wrong)
    assert refused.json()["code"] == "bad_request"


def test_a_local_network_that_could_not_open_names_another_way_than_to_open_it() -> None:
    closed = phone("http://127.0.0.1:8470", "AAAA", LanState())
    assert closed["way_out"] == "Start it with: starloom up --lan"
    public = phone("http://127.0.0.1:8470", "AAAA", LanState(wanted=True, fault="192.0.2.2 is not private"))
    assert public["why"] == "192.0.2.2 is not private"
    assert "docs/reach.md" in public["way_out"]


def test_the_brackets_of_an_address_are_quoted_for_a_shell() -> None:
    made = line("https://[fd00::2]:8471", "CODE", "sha256//x=")
    assert "'https://[fd00::2]:8471/agent/join.py' -o" in made
    assert "join.py 'https://[fd00::2]:8471' CODE --pin" in made
    assert "'" not in line("https://nas:8471", "CODE")
