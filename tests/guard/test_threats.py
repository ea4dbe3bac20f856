"""The threat table as tests: `test_<id>_...` belongs to the row of that id in `threats`."""

from __future__ import annotations

import ast
import asyncio
import json
import tracemalloc
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom.edge.access.guard import ROUTES
from starloom.edge.agents import aip
from starloom_protocol.plan import check_plan, read_recipe
from starloom_protocol.records.entities import Offer
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import Side, decode
from starloom_protocol.wire.frames import ProtocolFault
from tests.arch.checkout import ROOT
from tests.cost import GROWTH_MOST, calls
from tests.edge.test_guard import METHODS, concrete
from tests.edge.world import Agent, World, an_offer, chain, settle
from tests.guard import sources
from tests.guard.frames import FAMILY
from tests.guard.mutate import ODD_TEXTS
from tests.guard.sockets import Attacker, with_attempt
from tests.guard.threat import named_after_rows
from tests.guard.threats import THREATS

pytestmark = pytest.mark.short

HERE = Path(__file__).parent
C = "/api/v1/constellations"
BOMB_CALLS_MOST = 20_000
"""Beyond one for each of its characters."""

BOMB_BYTES_MOST = 32 * 2**20


def test_every_row_has_tests_that_exist_or_says_why_not() -> None:
    for row in THREATS:
        assert bool(row.tests) != bool(row.beyond), row.id
        for name in row.others:
            path, _, test = name.partition("::")
            assert f"def {test}" in _text(ROOT / path), name
    rows = {row.id for row in THREATS}
    assert len(rows) == len(THREATS)
    assert set(named_after_rows()) <= rows, "a test is named after a row that is not there"


def _text(path: str | Path) -> str:
    return Path(path).read_text(encoding="utf-8")


async def _at_work(world: World, name: str) -> tuple[Agent, str, f.Dispatch]:
    """Return a device with a task that it has been given."""
    agent = await world.online(name, offer=an_offer(f"t.{name}"))
    made = await world.submit(chain(f"t.{name}"))
    return agent, made["id"], await agent.next(f.Dispatch)


async def test_s1_no_frame_of_one_device_counts_for_the_work_of_another(world: World) -> None:
    _, work, dispatch = await _at_work(world, "one")
    thief = Attacker("two")
    async with world.client() as http:
        made = (await http.post("/api/v1/enrollments", json={"preapproved": True})).json()
        await http.post("/agent/join", json=thief.ask(made["code"]))
        before = (await http.get(f"{C}/{work}")).json()
        tried = 0
        for frame in FAMILY[Side.AGENT]:
            if "at" not in frame and "running" not in frame and "entries" not in frame:
                continue
            await thief.connect(world, offer=Offer(digest="none"))
            assert thief.ws is not None
            forged = with_attempt(frame, msgspec.to_builtins(dispatch.at))
            await thief.ws.send_json({"n": thief.session._sent + 1, "f": [forged]})
            await settle()
            assert (await http.get(f"{C}/{work}")).json() == before, frame["t"]
            await thief.ws.leave()
            tried += 1
    assert tried >= 9


ORIGINS = (
    "null",
    "file://",
    "http://evil.example",
    "https://127.0.0.1:8470",
    "http://127.0.0.1:8471",
    "http://127.0.0.1",
    "http://127.0.0.1:8470.evil.example",
    "http://127.0.0.1:8470@evil.example",
    "http://evil.example/127.0.0.1:8470",
    "http://evil.example#127.0.0.1:8470",
    "http://evil.example?127.0.0.1:8470",
    "http://localhost.evil.example:8470",
    "http://sub.localhost:8470",
    "http://localhost:84700",
    "http://localhost",
    "http://0.0.0.0:8470",
    "http://2130706433:8470",
    "http://0x7f.1:8470",
    "http://127.1:8470",
    "http://127.0.0.2:8470",
    "ws://127.0.0.1:8471",
    "ftp://127.0.0.1:8470",
    "chrome-extension://abc",
    "data:text/html,x",
    "http://127.0.0.1:8470,http://evil.example",
    "http://evil.example http://127.0.0.1:8470",
    "http://[::ffff:127.0.0.1]:8470",
    "http://127.0.0.1:8470\u200b",
    "*",
    "about:blank",
)


async def test_s2_no_foreign_page_opens_a_socket(world: World) -> None:
    assert len(ORIGINS) == 30
    for method, path in ROUTES:
        if method != "WS":
            continue
        for origin in ORIGINS:
            headers = {"origin": origin.encode().decode("latin-1")}
            ws = world.socket(path)
            ws._scope["headers"] += [(b"origin", headers["origin"].encode("latin-1"))]
            await ws.open()
            assert ws.status == 403, (path, origin)


async def test_s3_seven_methods_of_every_route_refuse_a_rebound_name(world: World) -> None:
    async with world.client() as http:
        for path in sorted({concrete(path) for method, path in ROUTES if method != "WS"}):
            for method in METHODS:
                response = await http.request(method, path, headers={"host": "rebound.example:8470"})
                assert response.status_code == 421, (method, path)


async def test_s5_guessing_codes_is_slowed_down_and_one_of_two_racers_wins(world: World) -> None:
    guesser = Agent("guesser")
    async with world.client("") as http, world.client() as owner:
        code = (await owner.post("/api/v1/enrollments", json={"preapproved": True})).json()["code"]
        first, second = Agent("first"), Agent("second")
        answers = await asyncio.gather(
            *(http.post("/agent/join", json=agent.ask(code)) for agent in (first, second, first, second))
        )
        devices = (await owner.get("/api/v1/devices")).json()
        names = [device["name"] for device in devices.get("devices", devices.get("items", []))]
        assert len(names) == 1, names
        assert any(answer.is_success for answer in answers)
        statuses = []
        for number in range(200):
            asked = await http.post("/agent/join", json=guesser.ask(f"AAAA-AAAA-AAAA-{number:04d}"))
            statuses.append(asked.status_code)
    assert all(status >= 400 for status in statuses)
    assert statuses.count(429) > 150


async def test_t2_work_that_has_begun_is_not_edited(world: World) -> None:
    agent, work, dispatch = await _at_work(world, "one")
    agent.report += 1
    await agent.send(f.Started(at=dispatch.at, report=agent.report))
    await settle()
    edits = [
        {"op": "remove_task", "id": "t0"},
        {"op": "update_task", "id": "t0", "set": {"args": {"n": 2}}},
        {"op": "reassign", "id": "t0", "device": {"name": "one"}},
    ]
    async with world.client() as http:
        before = (await http.get(f"{C}/{work}")).json()
        for edit in edits:
            refused = await http.post(f"{C}/{work}/edits", json={"base_version": 1, "operations": [edit]})
            assert 400 <= refused.status_code < 500, (edit, refused.text)
        assert (await http.get(f"{C}/{work}")).json() == before


async def test_i1_a_devices_token_opens_no_door_of_people(world: World) -> None:
    agent = await world.join("one")
    welcome = await agent.connect(world)
    for_anyone = ("/api/v1/sign-in", "/api/v1/sign-in/terms")
    async with world.client(welcome.http_token) as http:
        for method, path in ROUTES:
            if method != "WS" and path.startswith("/api/v1/") and path not in for_anyone:
                response = await http.request(method, concrete(path))
                assert response.status_code in (401, 429), (method, path)


async def test_i3_an_ended_sessions_token_is_nobodys_even_after_the_device_is_back(world: World) -> None:
    agent = await world.join("one")
    old = await agent.connect(world)
    assert agent.ws is not None
    await agent.ws.leave()
    new = await agent.connect(world)
    for welcome, status in ((old, 401), (new, 404)):
        async with agent.http(world, welcome) as http:
            assert (await http.head(f"/aip/v1/artifacts/{'a' * 64}")).status_code == status


async def test_d1_those_who_send_rubbish_do_not_keep_an_honest_device_waiting(world: World) -> None:
    agent = await world.online("honest")
    flood = []
    for number in range(20):
        ws = world.socket("/aip/v1")
        ws._scope["client"] = (f"10.1.0.{number}", 40000)
        flood.append(await ws.open())
    for turn in range(20):
        for ws in flood:
            await ws.send("[" * 3000)
        await agent.send(f.Ping(at_ms=turn))
        assert (await agent.next(f.Pong)).at_ms == turn
    for ws in flood:
        await ws.until_closed()
        assert ws.close_code == 1008


async def test_d2_of_too_many_proofs_at_once_the_oldest_gives_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aip, "HANDSHAKES_MAX", 5)
    other = world.socket("/aip/v1")
    other._scope["client"] = ("10.0.0.1", 40000)
    waiting = [await other.open(), *[await world.socket("/aip/v1").open() for _ in range(4)]]
    late = await world.socket("/aip/v1").open()
    assert late.status == 101
    await waiting[1].until_closed()  # the oldest of the address that has the most, not the oldest of all
    assert waiting[1].close_code == 1008
    for ws in (waiting[0], *waiting[2:], late):
        assert ws.close_code is None
        await ws.leave()


def _bombs() -> list[str]:
    aliases = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(8)
    )
    return [
        "[" * 500_000,
        '{"a":' * 150_000,
        '{"plan":' + "[" * 400_000 + "]" * 400_000 + "}",
        '{"n":' + "9" * 900_000 + "}",
        "- " * 400_000,
        "{" * 400_000,
        aliases,
        "a: " + "!!python/object/apply:os.system [id]",
        '"' + "\\u0000" * 150_000,
        "a: |\n" + "  x\n" * 200_000,
        "? " * 300_000,
        "a: " + "'" * 900_000,
        "x" * 1_000_000,
    ]


@pytest.mark.parametrize("number", range(len(_bombs())))
def test_d3_a_bomb_costs_little(number: int) -> None:
    bomb = _bombs()[number]

    def refuse() -> None:
        assert read_recipe(bomb).faults
        with pytest.raises(ProtocolFault):
            decode(bomb, Side.AGENT, authenticated=True)

    assert calls(refuse) < len(bomb) + BOMB_CALLS_MOST
    tracemalloc.start()
    try:
        refuse()
        assert tracemalloc.get_traced_memory()[1] < BOMB_BYTES_MOST
    finally:
        tracemalloc.stop()


def test_d3_a_plan_of_many_slips_costs_little() -> None:
    tasks = [{"id": f"t{n}", "tool": "t.one", "inputs": {"x": {"from": f"t{n}x"}}} for n in range(2000)]

    def check(count: int) -> None:
        assert check_plan({"starloom": 1, "name": "slips", "tasks": tasks[:count]}).faults

    assert calls(lambda: check(2000)) < GROWTH_MOST * calls(lambda: check(1000))


def test_e1_no_program_is_started_through_a_shell() -> None:
    found = []
    for path, tree in sources.modules():
        for name, call in sources.calls(tree):
            through = any(word.arg == "shell" and ast.unparse(word.value) != "False" for word in call.keywords)
            if through or name.endswith(("os.system", "os.popen", "create_subprocess_shell", "getoutput")):
                found.append(f"{path}:{call.lineno} {name}")
    assert found == []


def test_e1_hostile_words_stay_one_argument() -> None:
    before, after = ("", "'", "; ", "&& ", "| "), ("", "\n", "'", "`", " #")
    hostile = [first + text + last for text in ODD_TEXTS[:20] for first in before for last in after]
    assert len(hostile) == 500
    for words in hostile:
        task = {"id": "a", "tool": "shell.run", "args": {"argv": ["echo", words]}}
        check = check_plan({"starloom": 1, "name": "words", "tasks": [task]})
        if check.plan is None:
            assert all(fault.reason for fault in check.faults)
            continue
        assert json.loads(check.plan.specs[0].args)["argv"] == ["echo", words]


DIALS = {
    "backend/starloom/app.py",
    "backend/starloom/client/",
    "backend/starloom/edge/peers/relay.py",
    "backend/starloom/edge/listeners/serving.py",
    "backend/starloom/edge/listeners/websocket_server.py",
    "backend/starloom/host/",
    "backend/starloom/jobs/",
    "backend/starloom/lab/",
    "backend/starloom/planner/model/transport/",
    "backend/starloom/store/",
}
DIALLERS = ("httpx", "urllib.request", "http.client", "aiohttp", "requests", "websockets", "smtplib", "ftplib")


def test_e5_only_named_parts_of_the_hub_can_dial() -> None:
    found = set()
    for path, tree in sources.modules():
        if not path.startswith("backend/starloom/"):
            continue
        names = sources.imported(tree)
        dials = any(name == word or name.startswith(word + ".") for name in names for word in DIALLERS)
        opens = any(name.endswith(("open_connection", "create_connection")) for name, _ in sources.calls(tree))
        if (dials or opens) and not any(path.startswith(part) for part in DIALS):
            found.add(path)
    assert found == set()


async def test_e5_no_address_in_a_request_makes_the_hub_dial(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    dialled: list[Any] = []

    async def noted(*args: Any, **more: Any) -> Any:
        dialled.append(args)
        raise OSError("nobody dials here")

    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "create_connection", noted)
    monkeypatch.setattr(loop, "getaddrinfo", noted)
    hosts = ("127.0.0.1", "[::1]", "169.254.169.254", "0", "2130706433", "0x7f.1", "localhost", "metadata.internal")
    async with world.client() as http:
        for host in hosts:
            for scheme in ("http", "https", "ftp", "file", "gopher"):
                url = f"{scheme}://{host}/latest"
                plan = {
                    "starloom": 1,
                    "name": "dial",
                    "tasks": [{"id": "a", "tool": "net.request", "args": {"url": url}}],
                }
                for path in (C, f"{C}/preview"):
                    assert (await http.post(path, json={"plan": plan})).status_code < 500
                assert (await http.post(C, json={"request": f"fetch {url}"})).status_code < 500
    await settle()
    assert dialled == []


BANNED_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
BANNED_CALLS = {"eval", "exec", "compile", "__import__", "yaml.unsafe_load", "yaml.full_load"}


def test_e7_nothing_that_is_read_can_run() -> None:
    found = []
    for path, tree in sources.modules():
        found += [f"{path} imports {name}" for name in sources.imported(tree) & BANNED_MODULES]
        for name, call in sources.calls(tree):
            if name in BANNED_CALLS:
                found.append(f"{path}:{call.lineno} {name}")
            if name == "yaml.load" and not any(
                word.arg == "Loader" and ast.unparse(word.value) in ("_Loader", "yaml.CSafeLoader")
                for word in call.keywords
            ):
                found.append(f"{path}:{call.lineno} yaml.load")
    assert found == []
