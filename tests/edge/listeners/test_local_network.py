"""The listener of the local network: HTTPS by the hub's own authority, on one address, opened by an owner."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from starloom.edge.access.authority import LEAF_DAYS
from starloom.edge.app import Files, build
from starloom.edge.listeners.local_network import LanListener, LanPlace, private_addresses
from starloom.edge.web.problems import Problem
from starloom.host.ports import free_port
from starloom_agent.wire.dialling import pin_of
from tests.edge.world import World, a_world
from tests.waiting import PATIENCE_S

DAY_MS = 86_400_000


class Turns:
    """A sleep that lasts until the test lets a turn go by."""

    def __init__(self) -> None:
        self._due = asyncio.Event()
        self.slept = asyncio.Event()

    async def __call__(self, _: float) -> None:
        self.slept.set()
        await self._due.wait()
        self._due.clear()

    async def one(self) -> None:
        self.slept.clear()
        self._due.set()
        await asyncio.wait_for(self.slept.wait(), PATIENCE_S)


class Network:
    """Where this machine is; an address on the loopback network stands for one of a private one."""

    host = "127.0.0.1"

    def __call__(self) -> str:
        if not self.host:
            raise OSError(101, "Network is unreachable")
        return self.host

    def others(self) -> list[str]:
        """The addresses that this machine has in private networks."""
        return ["192.168.7.5"]


class Here:
    """A hub whose application listens for real, with what moves it."""

    def __init__(self, world: World, lan: LanListener, network: Network, turns: Turns, port: int) -> None:
        self.world, self.lan, self.network, self.turns, self.port = world, lan, network, turns, port

    def client(self, url: str | None = None) -> httpx.AsyncClient:
        """A client that trusts the authority, and nothing else."""
        assert self.lan.authority_file is not None
        trusts = ssl.create_default_context(cafile=str(self.lan.authority_file))
        headers = {"Authorization": f"Bearer {self.world.token}"}
        return httpx.AsyncClient(base_url=url or self.lan.state.url, verify=trusts, headers=headers, trust_env=False)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Here]:
    async with a_world(tmp_path) as world:
        network, turns, port = Network(), Turns(), free_port()
        world.clock.ms = _now_ms()
        lan = LanListener(
            LanPlace(tmp_path, "", port, 1),
            world.hub.reach,
            world.clock.now_ms,
            address=network,
            others=network.others,
            sleep=turns,
        )
        edge = build(replace(world.hub, lan=lan), Files(join_script=None, page=None, wheels=tmp_path / "wheels"))
        world.edge = edge
        await lan.attach(edge.app, wanted=False)
        yield Here(world, lan, network, turns, port)
        await lan.stop()


def _now_ms() -> int:
    return time.time_ns() // 1_000_000  # certificates are judged by the TLS library's own clock


async def opened(here: Here, token: str | None = None) -> httpx.Response:
    async with here.world.client(token) as http:
        return await http.post("/api/v1/lan/open")


async def test_it_is_closed_until_an_owner_opens_it(here: Here) -> None:
    _, operator = await here.world.new_token("operator")
    assert (await opened(here, operator)).status_code == 403
    assert here.lan.state.leaf is None
    said = (await opened(here)).json()
    assert (said["open"], said["url"]) == (True, f"https://127.0.0.1:{here.port}")
    assert len(said["words"].split()) == 6
    async with here.client() as http:
        response = await http.get("/api/v1/devices")
        assert response.status_code == 200
        assert "strict-transport-security" in response.headers
        assert (await http.get("/api/v1/devices", headers={"Authorization": ""})).status_code == 401


async def test_the_pin_is_the_certificates_key(here: Here) -> None:
    pin = (await opened(here)).json()["pin"]
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _, writer = await asyncio.open_connection("127.0.0.1", here.port, ssl=context)
    assert pin_of(writer.get_extra_info("ssl_object").getpeercert(True)) == pin
    writer.close()


async def test_host_and_origin_grow_by_exactly_this_listener_while_it_is_open(here: Here) -> None:
    own = f"127.0.0.1:{here.port}"
    async with here.world.client() as http:
        assert (await http.get("/healthz", headers={"host": own})).status_code == 421
        await opened(here)
        assert (await http.get("/healthz", headers={"host": own})).status_code == 200
        assert (await http.get("/healthz", headers={"host": f"127.0.0.1:{here.port + 1}"})).status_code == 421
        assert (await http.get("/healthz", headers={"origin": f"http://{own}"})).status_code == 403
        assert (await http.get("/healthz", headers={"origin": f"https://{own}"})).status_code == 200
        closed = await http.post("/api/v1/lan/close")
        assert (closed.status_code, closed.json()["open"]) == (200, False)
        assert (await http.get("/healthz", headers={"host": own})).status_code == 421
    with pytest.raises(OSError):
        await asyncio.open_connection("127.0.0.1", here.port)


async def test_it_is_not_closed_through_itself(here: Here) -> None:
    await opened(here)
    async with here.client() as http:
        refused = await http.post("/api/v1/lan/close")
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert here.lan.state.leaf is not None


async def test_it_is_opened_again_at_the_next_start_and_not_after_it_was_closed(here: Here, tmp_path: Path) -> None:
    await opened(here)
    await here.lan.stop()
    again = LanListener(
        LanPlace(tmp_path, "", here.port, 1), here.world.hub.reach, here.world.clock.now_ms, address=here.network
    )
    await again.attach(here.world.edge.app, wanted=False)
    assert again.state.leaf is not None
    await again.close()
    await again.stop()
    third = LanListener(LanPlace(tmp_path, "", here.port, 1), here.world.hub.reach, here.world.clock.now_ms)
    await third.attach(here.world.edge.app, wanted=False)
    assert third.state.leaf is None
    await third.stop()


async def test_it_moves_with_the_machines_address(here: Here) -> None:
    pin = (await opened(here)).json()["pin"]
    here.network.host = "127.0.0.2"
    await here.turns.one()
    assert here.lan.state.url == f"https://127.0.0.2:{here.port}"
    async with here.client() as http:
        assert (await http.get("/healthz")).status_code == 200
    assert here.lan.state.leaf is not None
    assert here.lan.state.leaf.pin == pin


async def test_without_a_network_it_says_so_and_comes_back(here: Here) -> None:
    await opened(here)
    here.network.host = ""
    await here.turns.one()
    assert (here.lan.state.leaf, here.lan.state.wanted) == (None, True)
    assert "no network" in here.lan.state.fault
    here.network.host = "127.0.0.1"
    await here.turns.one()
    assert here.lan.state.leaf is not None


async def test_a_certificate_near_its_end_is_renewed_under_the_open_listener(here: Here) -> None:
    await opened(here)
    before = here.lan.state.leaf
    assert before is not None
    here.world.clock.ms += (LEAF_DAYS - 5) * DAY_MS
    await here.turns.one()
    after = here.lan.state.leaf
    assert after is not None
    assert after.expires_ms > before.expires_ms
    assert after.pin == before.pin
    served = await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", here.port))
    assert served.strip() in after.chain.read_text()


async def test_a_taken_port_and_a_public_address_are_refused_with_the_way_out(here: Here) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", here.port))
        other.listen()
        busy = await opened(here)
    assert (busy.status_code, busy.json()["code"]) == (409, "conflict")
    assert "STARLOOM_LAN_PORT" in busy.json()["hint"]
    here.network.host = "93.184.216.34"
    with pytest.raises(Problem, match="private network"):
        await here.lan.open()
    async with here.world.client() as http:
        assert (await http.get("/api/v1/lan")).json()["fault"] == "", "a refused opening is no wish"


@pytest.mark.parametrize("host", ["93.184.216.34", "", "10.255.255.254"], ids=["public", "no-network", "not-here"])
async def test_a_refusal_names_the_line_with_another_address(here: Here, host: str) -> None:
    here.network.host = host
    refused = await opened(here)
    assert refused.status_code == 409
    assert "STARLOOM_LAN_HOST=192.168.7.5 starloom up --lan" in refused.json()["hint"]


def test_addresses_of_private_networks_exclude_this_computer_alone() -> None:
    assert not [address for address in private_addresses() if address.startswith(("127.", "::1", "fe80"))]


async def test_the_authority_can_be_fetched_once_there_is_one(here: Here) -> None:
    async with here.world.client("") as http:
        assert (await http.get("/agent/authority.crt")).status_code == 404
        await opened(here)
        fetched = await http.get("/agent/authority.crt")
    assert fetched.headers["content-type"] == "application/x-x509-ca-cert"
    assert fetched.text.startswith("-----BEGIN CERTIFICATE-----")
    assert "PRIVATE" not in fetched.text


async def test_a_code_comes_with_every_way_to_use_it(here: Here) -> None:
    async with here.world.client() as http:
        before = (await http.post("/api/v1/enrollments", json={})).json()
        assert before["lan"] is None
        assert (before["phone"]["url"], bool(before["phone"]["why"])) == ("", True)
        await opened(here)
        after = (await http.post("/api/v1/enrollments", json={})).json()
    lan, pin, code = after["lan"], here.lan.state.leaf, after["code"]
    assert pin is not None
    assert f"--pinnedpubkey {pin.pin} {lan['url']}/agent/join.py" in lan["line"]
    assert lan["line"].endswith(f"{code} --pin {pin.pin}")
    assert after["phone"]["url"] == f"{lan['url']}/tab/#join={code}"
    assert after["phone"]["qr"]["path"].startswith("M")
    assert after["phone"]["words"] == pin.words
    assert code not in json.dumps(before)


async def test_closing_cuts_what_is_connected_through_it(here: Here) -> None:
    await opened(here)
    trusts = ssl.create_default_context(cafile=str(here.lan.authority_file))
    target = here.lan.state.url.replace("https", "wss") + "/aip/v1"
    async with connect(target, ssl=trusts, proxy=None, close_timeout=1) as socket, here.world.client() as http:
        closed = await http.post("/api/v1/lan/close")
        assert (closed.status_code, closed.json()["open"]) == (200, False)
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(socket.recv(), PATIENCE_S)


async def test_closing_while_a_socket_is_being_closed_by_its_peer(here: Here) -> None:
    await opened(here)
    trusts = ssl.create_default_context(cafile=str(here.lan.authority_file))
    target = here.lan.state.url.replace("https", "wss") + "/aip/v1"
    socket_ = await connect(target, ssl=trusts, proxy=None, close_timeout=1)
    # The server has read our close and answered; the transport is still there when it is told to end.
    socket_.protocol.send_close(1000)
    socket_.transport.write(b"".join(socket_.protocol.data_to_send()))
    async with here.world.client() as http:
        closed = await http.post("/api/v1/lan/close")
    assert closed.status_code == 200
    await socket_.close()
