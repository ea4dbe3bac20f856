"""Reaching the hub: a pinned key is checked before anything is said, and a tunnel's end keeps the hub's own Host."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from starloom.edge.access.authority import Authority, Leaf
from starloom_agent.home.identity import load_or_make
from starloom_agent.wire import dialling
from starloom_agent.wire.connection import Address, Connection, ConnectionEnded
from starloom_agent.wire.dialling import BadRoute, Route, pin_of
from starloom_agent.wire.joining import JoinRefused, request
from tests.arch.checkout import ROOT
from tests.served import Quiet, Served
from tests.waiting import PATIENCE_S

JOIN_PY = ROOT / "device_agents" / "join.py"
OTHER = "sha256//" + "A" * 43 + "="


class ServedHosts(Served):
    """An HTTPS server with a certificate of an authority; keeps the Host of each request."""

    def __init__(self, leaf: Leaf, *, tls: bool) -> None:
        self.leaf = leaf
        self.hosts: list[str] = []
        outer = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.hosts.append(str(self.headers["Host"]))
                wheels = [{"name": name, "file": f"{name}.whl", "sha256": "0" * 64} for name in NAMES]
                raw = json.dumps(wheels if self.path.endswith("wheels.json") else {"path": self.path}).encode()
                self.reply(200, raw)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        if context is not None:
            context.load_cert_chain(leaf.chain, leaf.key)
        super().__init__(Handler, tls=context)


NAMES = ("starloom_protocol", "starloom_agent")


@pytest.fixture
def leaf(tmp_path: Path) -> Leaf:
    return Authority(tmp_path / "lan", lambda: time.time_ns() // 1_000_000).leaf("127.0.0.1")


@pytest.fixture
def served(leaf: Leaf) -> Iterator[ServedHosts]:
    with ServedHosts(leaf, tls=True) as made:
        yield made


@pytest.fixture
def plain(leaf: Leaf) -> Iterator[ServedHosts]:
    with ServedHosts(leaf, tls=False) as made:
        yield made


def test_the_pin_is_what_curl_compares(leaf: Leaf) -> None:
    der = ssl.PEM_cert_to_DER_cert(leaf.chain.read_text().split("-----END CERTIFICATE-----")[0] + END)
    assert pin_of(der) == leaf.pin


END = "-----END CERTIFICATE-----\n"


def test_a_pinned_hub_is_spoken_to_and_any_other_key_is_not(served: ServedHosts) -> None:
    url = f"https://127.0.0.1:{served.port}"
    assert request(Route(url, served.leaf.pin), "GET", "/x") == {"path": "/x"}
    with pytest.raises(JoinRefused, match="another key"):
        request(Route(url, OTHER), "GET", "/x")
    with pytest.raises(JoinRefused, match="is not trusted"):
        request(Route(url), "GET", "/x")
    assert len(served.hosts) == 1


async def test_a_socket_with_another_key_is_ended_before_it_says_hello(served: ServedHosts, tmp_path: Path) -> None:
    class Peer:
        def next_report(self) -> int:
            return 1

    address = Address(f"https://127.0.0.1:{served.port}", "key", pin=OTHER)
    me = load_or_make(tmp_path / "device.key")
    with pytest.raises(ConnectionEnded, match="another key"):
        await Connection(address, me, "ledger", Peer(), time.monotonic).serve()  # type: ignore[arg-type]
    assert served.hosts == []
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", served.port, ssl=Route(address.hub, served.leaf.pin).tls(), server_hostname="127.0.0.1"
    )
    writer.write(b"GET / HTTP/1.0\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.0 200")
    writer.close()
    await writer.wait_closed()


async def test_a_socket_of_another_user_is_not_spoken_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialling, "peer_uid", lambda _: 4_000_000)
    path = Path(tempfile.mkdtemp(prefix="sl-")) / "hub.sock"
    me = load_or_make(tmp_path / "device.key")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        address = Address("http://127.0.0.1:8470", "key", via=str(path))
        with pytest.raises(ConnectionEnded, match="served by another user"):
            await Connection(address, me, "ledger", None, time.monotonic).serve()  # type: ignore[arg-type]
        with pytest.raises(JoinRefused, match="served by another user"):
            request(address.route, "POST", "/agent/join", {"code": "secret"})
        for _ in range(2):
            opened, _ = listener.accept()
            with opened:
                assert opened.recv(1) == b""
    shutil.rmtree(path.parent)


def test_through_a_tunnel_the_hub_still_sees_its_own_host(plain: ServedHosts) -> None:
    route = Route("http://127.0.0.1:8470", via=f"127.0.0.1:{plain.port}")
    assert route.dialled == ("127.0.0.1", plain.port)
    assert request(route, "GET", "/x") == {"path": "/x"}
    assert plain.hosts == ["127.0.0.1:8470"]


@pytest.mark.parametrize(
    ("hub", "pin", "via", "reason"),
    [
        ("http://h:1", OTHER, "", "belongs to an https address"),
        ("https://h:1", "sha256//short", "", "is no pin"),
        ("https://h:1", "A" * 44, "", "is no pin"),
        ("http://h:1", "", "127.0.0.1", "HOST:PORT"),
        ("http://h:1", "", "127.0.0.1:99999", "127.0.0.1:99999 is not HOST:PORT"),
        ("http://h:1", "", "127.0.0.1:ssh", "127.0.0.1:ssh is not HOST:PORT"),
    ],
)
def test_a_route_that_cannot_be_meant_says_how_it_looks(hub: str, pin: str, via: str, reason: str) -> None:
    with pytest.raises(BadRoute, match=reason):
        Route(hub, pin, via)


def _join_py(*arguments: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-I", str(JOIN_PY), *arguments, "--dry-run"]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)


def test_join_py_checks_the_pin_itself(served: ServedHosts, tmp_path: Path) -> None:
    url, home = f"https://127.0.0.1:{served.port}", str(tmp_path / "home")
    good = _join_py(url, "CODE", "--home", home, "--pin", served.leaf.pin)
    assert good.returncode == 0, good.stderr
    assert f"--pin={served.leaf.pin}" in good.stdout
    bad = _join_py(url, "CODE", "--home", home, "--pin", OTHER)
    assert (bad.returncode, "another key" in bad.stderr) == (1, True)
    unpinned = _join_py(url, "CODE", "--home", home)
    assert (unpinned.returncode, "does not answer" in unpinned.stderr) == (1, True)
    assert len(served.hosts) == 2


def test_join_py_goes_through_a_tunnel(plain: ServedHosts, tmp_path: Path) -> None:
    done = _join_py("http://127.0.0.1:8470", "-", "--home", str(tmp_path / "h"), "--via", f"127.0.0.1:{plain.port}")
    assert done.returncode == 0, done.stderr
    assert plain.hosts == ["127.0.0.1:8470"] * 2
