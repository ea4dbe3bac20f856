"""Tunnels and looking at a server, over a real SSH server of this machine."""

from __future__ import annotations

import asyncio
import http.client
import shutil
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from starloom.client.discovery import HubAddress, OwnHub, read_local
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.host.ports import free_port
from starloom.host.servers import enrolling, remote, ssh, tunnels
from starloom_agent.wire.dialling import PIN_PREFIX, Route
from tests.edge.test_served import served
from tests.ssh_server import SshServer, ssh_server
from tests.waiting import PATIENCE_S


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="sl-ssh-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture
def server(folder: Path) -> Iterator[SshServer]:
    with ssh_server(folder / "s") as made:
        yield made


def target(server: SshServer) -> ssh.Target:
    return ssh.Target("server", config=str(server.config))


@asynccontextmanager
async def hub() -> AsyncIterator[int]:
    """Listen as a hub would, and say one word to whoever comes."""

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hub\n")
        await writer.drain()
        writer.close()

    listening = await asyncio.start_server(greet, "127.0.0.1", 0)
    async with listening:
        yield listening.sockets[0].getsockname()[1]


def record(server: SshServer, hub_port: int, **more: object) -> tunnels.Record:
    made = tunnels.Record(
        destination="server",
        config=str(server.config),
        remote_port=free_port(),
        hub_host="127.0.0.1",
        hub_port=hub_port,
        home=str(server.home / "agent"),
        device="far",
    )
    return msgspec.structs.replace(made, **more)


async def heard(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        async with asyncio.timeout(PATIENCE_S):
            return await reader.readline()
    finally:
        writer.close()


async def answers(port: int) -> bool:
    try:
        await heard(port)
    except OSError:
        return False
    return True


async def test_a_tunnel_carries_and_comes_back_after_a_cut(server: SshServer) -> None:
    waited: list[float] = []

    async def no_wait(seconds: float) -> None:
        waited.append(seconds)

    async with hub() as port:
        tunnel = tunnels.Tunnel(record(server, port), sleep=no_wait)
        tunnel.start()
        try:
            await tunnel.until_up()
            assert await heard(tunnel.record.remote_port) == b"hub\n"
            server.cut()
            async with asyncio.timeout(PATIENCE_S):
                await tunnel.faulted.wait()
                await tunnel.up.wait()
            assert await heard(tunnel.record.remote_port) == b"hub\n"
            assert tunnel.starts >= 2
            assert waited[0] == tunnels.PAUSE_S
        finally:
            await tunnel.stop()
        # The server closes the port once it has noticed that its client is gone.
        async with asyncio.timeout(PATIENCE_S):
            while await answers(tunnel.record.remote_port):
                pass


async def test_a_taken_port_is_a_fault_with_its_way_out_and_the_pauses_grow(server: SshServer) -> None:
    waited: list[float] = []
    enough = asyncio.Event()

    async def note(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            enough.set()
            await asyncio.Event().wait()

    async with hub() as port:
        tunnel = tunnels.Tunnel(record(server, port, remote_port=port), sleep=note)
        tunnel.start()
        try:
            with pytest.raises(Problem, match="does not open the tunnel's port") as caught:
                await tunnel.until_up()
            assert "--remote-port" in caught.value.hint
            async with asyncio.timeout(PATIENCE_S):
                await enough.wait()
        finally:
            await tunnel.stop()
    assert waited == [1.0, 2.0, 4.0]


async def test_the_keeper_follows_the_records_and_writes_how_they_are(server: SshServer, folder: Path) -> None:
    home = folder / "home"
    news, looks = asyncio.Event(), asyncio.Queue[None]()

    # An item stands for one look at the records: `put` lets the keeper look, `join` waits until it has.
    async def until_next_look(_: float) -> None:
        looks.task_done()
        await looks.get()

    keeper = tunnels.Keeper(home, lambda _: news.set(), sleep=until_next_look)
    looks.put_nowait(None)
    await looks.get()
    keeping = asyncio.create_task(keeper.run())
    try:
        async with hub() as port:
            kept = record(server, port)
            tunnels.keep(home, kept)
            assert tunnels.path_of(home, "far").stat().st_mode & 0o077 == 0
            looks.put_nowait(None)
            async with asyncio.timeout(PATIENCE_S):
                await news.wait()
            assert tunnels.conditions(home)["far"].state == "up"
            assert await heard(kept.remote_port) == b"hub\n"
            assert tunnels.forget(home, "far")
            assert not tunnels.forget(home, "far")
            looks.put_nowait(None)
            async with asyncio.timeout(PATIENCE_S):
                await looks.join()
            assert tunnels.conditions(home) == {}
            # The server closes the port once it has noticed that its client is gone.
            async with asyncio.timeout(PATIENCE_S):
                while await answers(kept.remote_port):
                    pass
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_a_full_disk_ends_no_tunnel_and_its_state_is_written_later(server: SshServer, folder: Path) -> None:
    home = folder / "home"
    state = home / tunnels.STATE_FILE
    state.mkdir(parents=True)
    said: list[str] = []
    looked = asyncio.Condition()

    async def look_again(_: float) -> None:
        async with looked:
            looked.notify_all()
        await asyncio.sleep(0)

    keeping = asyncio.create_task(tunnels.Keeper(home, said.append, sleep=look_again).run())
    try:
        async with asyncio.timeout(PATIENCE_S), hub() as port, looked:
            kept = record(server, port)
            tunnels.keep(home, kept)
            await looked.wait_for(lambda: "the tunnel to far is up" in said)
            assert sum("cannot be written" in line for line in said) == 1
            assert await heard(kept.remote_port) == b"hub\n"
            state.rmdir()
            await looked.wait_for(lambda: tunnels.conditions(home).keys() == {"far"})
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def test_a_computer_without_ssh_is_a_fault_with_its_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    here = tunnels.Record(
        destination="server", remote_port=1, hub_host="127.0.0.1", hub_port=1, home="/agent", device="far"
    )
    tunnel = tunnels.Tunnel(here)
    tunnel.start()
    try:
        with pytest.raises(Problem, match="has no ssh program") as caught:
            await tunnel.until_up(PATIENCE_S)
        assert "Install OpenSSH" in caught.value.hint
    finally:
        await tunnel.stop()


def test_a_record_that_cannot_be_read_is_told_and_harms_no_other(folder: Path) -> None:
    (folder / tunnels.FOLDER).mkdir()
    tunnels.path_of(folder, "bad").write_text("{}")
    found = tunnels.records(folder)
    assert "bad.json cannot be read" in str(found["bad"])


def test_tunnels_of_two_devices_with_one_name_are_kept_and_ended_apart(folder: Path) -> None:
    made = tunnels.Record(
        destination="a", remote_port=1, hub_host="127.0.0.1", hub_port=2, home="/h", device="../web 1"
    )
    first, second = (msgspec.structs.replace(made, device_id=one) for one in ("dev-1", "dev-2"))
    old = msgspec.structs.replace(made, device="web")
    for one in (first, second, old):
        tunnels.keep(folder, one)
    assert tunnels.records(folder) == {"dev-1": first, "dev-2": second, "web": old}
    tunnels.forget_device(folder, "dev-1", {"../web 1", "other"})
    assert tunnels.records(folder) == {"dev-2": second, "web": old}
    tunnels.forget_device(folder, "dev-9", {"web"})
    assert tunnels.records(folder) == {"dev-2": second}


def test_a_kept_tunnel_that_cannot_open_is_told_at_once_with_both_ways_out(folder: Path) -> None:
    device: Any = {"id": "dev-1", "name": "web 1"}
    fault, hint = ssh.fault_of(ssh.Target("web1"), "ssh: Could not resolve hostname web1: Name or service not known")

    def written(state: str, starts: int) -> None:
        told = tunnels.Condition(state=state, since_s=1, starts=starts, fault=fault, hint=hint)
        tunnels._write(folder / tunnels.STATE_FILE, {"dev-1": told, "dev-2": told})

    enrolling._judge_tunnel(folder, device)
    for state, starts in (("connecting", 9), ("up", 9), ("down", enrolling.FAULTS_TOLD_AT - 1)):
        written(state, starts)
        enrolling._judge_tunnel(folder, device)
    written("down", enrolling.FAULTS_TOLD_AT)
    with pytest.raises(Problem, match=r"web 1 has joined, but .* no computer has this name") as caught:
        enrolling._judge_tunnel(folder, device)
    assert "Check the name" in caught.value.hint
    assert "starloom device revoke 'web 1'" in caught.value.hint


def test_a_taken_name_and_one_that_no_device_may_have_are_refused_first() -> None:
    fleet = {"items": [{"name": "web 1", "revoked": False}, {"name": "old", "revoked": True}], "next": None}
    far = HubAddress("http://10.0.0.9:8470", "t", "test")
    client = Client(far, transport=httpx.MockTransport(lambda _: httpx.Response(200, json=fleet)))
    for name in ("", "web 2", "old"):
        enrolling._judge_name(client, name)
    with pytest.raises(Problem, match="a device is called web 1 already") as caught:
        enrolling._judge_name(client, "web 1")
    assert "starloom device rename 'web 1' NAME" in caught.value.hint
    with pytest.raises(Problem):
        enrolling._judge_name(client, "a\nb")
    client.close()


async def test_a_server_is_looked_at(server: SshServer) -> None:
    busy = free_port()
    found = await enrolling.look(target(server), "~/agent", busy)
    assert (found.home, found.port, found.venv, found.writable) == (str(server.home / "agent"), busy, True, True)
    assert not (server.home / "agent").exists()


async def test_folders_that_are_not_there_are_found_at_the_first_look(server: SshServer) -> None:
    there, file = server.home / "data", server.home / "file"
    there.mkdir()
    file.touch()
    found = await enrolling.look(target(server), "~/agent", free_port(), [str(there), "~/data", str(file), "~/none"])
    assert found.no_folders == [str(file), "~/none"]


async def test_the_device_that_the_agent_there_was_is_found(server: SshServer) -> None:
    run = server.home / "agent" / "run"
    run.mkdir(parents=True)
    (run.parent / "hub.json").write_text('{"hub": "https://127.0.0.1:8470", "name": "web 1"}')
    (run / "status.json").write_text('{"device": "dev-7"}')
    found = await enrolling.look(target(server), "~/agent", free_port())
    assert (found.joined_as, found.joined_device) == ("web 1", "dev-7")
    (run / "status.json").write_text("[]")
    assert (await enrolling.look(target(server), "~/agent", free_port())).joined_device == ""


async def test_an_unknown_host_key_is_left_to_the_person(folder: Path) -> None:
    with ssh_server(folder / "s", known=False) as unknown, pytest.raises(Problem, match="host key") as caught:
        await enrolling.look(target(unknown), "~/agent", 1)
    assert "compare the fingerprint" in caught.value.hint


async def test_a_key_that_is_not_accepted_is_told(server: SshServer) -> None:
    (server.folder / "authorized_keys").write_text("")
    with pytest.raises(Problem, match="did not accept a key"):
        await enrolling.look(target(server), "~/agent", 1)


PYTHONS = {
    "no Python": "",
    "its Python is Python 3.9.2": '#!/bin/sh\n[ "$1" = -V ] && echo Python 3.9.2 && exit 0\nexit 1\n',
}


@pytest.mark.parametrize("reason", PYTHONS)
async def test_no_or_an_old_python_there_is_told(folder: Path, reason: str) -> None:
    programs = folder / "bin"
    programs.mkdir()
    for name in ("sh", "cat", "mktemp", "rm"):
        (programs / name).symlink_to(str(shutil.which(name)))
    if PYTHONS[reason]:
        (programs / "python3").write_text(PYTHONS[reason])
        (programs / "python3").chmod(0o755)
    with ssh_server(folder / "s", path=programs) as server, pytest.raises(Problem, match=reason):
        await enrolling.look(target(server), "~/agent", 1)


async def test_a_tunnel_ends_in_tls_with_the_hubs_key(server: SshServer, tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        own = read_local(tmp_path)
        assert own is not None
        assert own.own is not None
        made = record(server, world.hub.settings.port, hub_socket=str(own.own.tunnel_socket))
        tunnel = tunnels.Tunnel(made)
        tunnel.start()
        try:
            await tunnel.until_up()
            via = f"127.0.0.1:{made.remote_port}"
            url = f"https://127.0.0.1:{world.hub.settings.port}"

            def health(route: Route) -> int:
                opened = route.http(PATIENCE_S)
                try:
                    opened.request("GET", "/healthz")
                    return opened.getresponse().status
                finally:
                    opened.close()

            assert await asyncio.to_thread(health, Route(url, own.own.tunnel_pin, via)) == 200
            with pytest.raises(ssl.SSLCertVerificationError, match="another key"):
                await asyncio.to_thread(health, Route(url, PIN_PREFIX + "A" * 43 + "=", via))
            with pytest.raises((OSError, http.client.HTTPException)):
                await asyncio.to_thread(health, Route(world.hub.settings.url, "", via))
        finally:
            await tunnel.stop()


async def test_a_kept_tunnel_follows_the_hub_to_another_home(server: SshServer, tmp_path: Path) -> None:
    async with served(tmp_path) as world:
        port = world.hub.settings.port
        tunnels.keep(tmp_path, record(server, port, hub_socket=str(tmp_path / "old" / "run" / "tunnel.sock")))
        keeper = tunnels.Keeper(tmp_path, lambda _: None)
        await keeper._follow()
        own = read_local(tmp_path)
        assert own is not None
        assert own.own is not None
        (kept,) = keeper._tunnels.values()
        assert kept.record.hub_socket == str(own.own.tunnel_socket)
        await keeper._follow()
        assert list(keeper._tunnels.values()) == [kept]
        await kept.stop()


def test_a_server_is_told_the_key_of_the_tunnel(tmp_path: Path) -> None:
    own = OwnHub(tmp_path / "local.json", tmp_path / "hub.sock", tmp_path / "a:b.sock", "sha256//pin", 1, 0.0)
    client = Client(HubAddress("http://127.0.0.1:8470", "t", "test", own=own), transport=httpx.MockTransport(_nothing))
    hub = enrolling._hub_of(client)
    client.close()
    assert (hub.url, hub.pin) == ("https://127.0.0.1:8470", "sha256//pin")
    joining = remote.Joining(hub.url, "CODE", "127.0.0.1:9", "/h", "far", "observe", pin=hub.pin)
    text = remote.join("", joining)
    assert "https://127.0.0.1:8470 - --via 127.0.0.1:9" in text
    assert "--pin sha256//pin" in text
    assert ssh.Forward(9, hub.host, hub.port, hub.socket).flags[-1] == f"127.0.0.1:9:{tmp_path}/a\\:b.sock"
    far = Client(HubAddress("http://10.0.0.9:8470", "t", "test"), transport=httpx.MockTransport(_nothing))
    assert (enrolling._hub_of(far).url, enrolling._hub_of(far).socket) == ("http://10.0.0.9:8470", "")
    far.close()


def _nothing(_: httpx.Request) -> httpx.Response:
    return httpx.Response(404)
