"""`net.check` on a local site: its page, its certificate, the machine behind the name, and causes in words."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.tools.network.net import days_left
from tests.device_agents.tools.conftest import Device
from tests.served import Quiet, Served

LOCAL = ("127.0.0.1", "localhost")


class _Site(Quiet, BaseHTTPRequestHandler):
    hosts: list[str]

    def do_GET(self) -> None:
        self.hosts.append(f"{self.headers['Host']} {self.path}")
        self.send_response(503 if self.path == "/busy" else 200)
        self.end_headers()


def certificate(folder: Path, days: int) -> Path:
    """Write a certificate for localhost that ends in so many days, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=90))
        .not_valid_after(now + timedelta(days=days, hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"site-{days}.pem"
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    path.write_bytes(made.public_bytes(serialization.Encoding.PEM) + private)
    return path


class _ServedSite(Served):
    def __init__(self, pem: Path | None = None) -> None:
        self.hosts: list[str] = []
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if pem is not None else None
        if tls is not None and pem is not None:
            tls.load_cert_chain(pem)
        super().__init__(type("Site", (_Site,), {"hosts": self.hosts}), tls=tls)


@pytest.fixture
def site() -> Iterator[_ServedSite]:
    served = _ServedSite()
    yield served
    served.close()


def test_an_address_is_asked_for_its_page(device: Device, site: _ServedSite) -> None:
    up = device.call("net.check", hosts=LOCAL, url=f"http://localhost:{site.port}/a?b=1", device_name="box")
    assert (up["up"], up["status"], up["severity"], up["findings"]) == (True, 200, 0, [])
    assert site.hosts == [f"localhost:{site.port} /a?b=1"]
    busy = device.call("net.check", hosts=LOCAL, url=f"http://localhost:{site.port}/busy", device_name="box")
    assert busy["findings"] == [
        {
            "device": "box",
            "looked_at": "network",
            "severity": 3,
            "why": f"localhost port {site.port} does not answer: the page answers 503",
        }
    ]


def test_the_machine_itself_is_asked_under_the_name_of_the_site(device: Device, site: _ServedSite) -> None:
    url = f"http://shop.example:{site.port}/"
    found = device.call("net.check", hosts=LOCAL, url=url, at="127.0.0.1")
    assert (found["up"], found["host"], found["addresses"]) == (True, "shop.example", ["127.0.0.1"])
    assert site.hosts == [f"shop.example:{site.port} /"]
    with pytest.raises(ToolFailed, match=r"grant net:reach shop\.example"):
        device.call("net.check", hosts=LOCAL, url=url)


@pytest.mark.parametrize(("days", "severity"), [(60, 0), (5, 2)])
def test_a_certificate_is_told_with_its_days(
    device: Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, days: int, severity: int
) -> None:
    pem = certificate(tmp_path, days)
    served = _ServedSite(pem)
    try:
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        found = device.call("net.check", hosts=LOCAL, url=f"https://localhost:{served.port}/")
        assert (found["up"], found["certificate_days_left"], found["severity"]) == (True, days, severity)
        assert ("ends in 5 days" in found["why"]) is (days == 5)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate(tmp_path, 30)))
        refused = device.call("net.check", hosts=LOCAL, url=f"https://localhost:{served.port}/")
        assert "its certificate is not accepted" in refused["reason"]
        assert f"it ends in {days} days" in refused["why"]
        assert (refused["certificate_accepted"], refused["certificate_days_left"]) == (False, days)
        assert (refused["up"], "status" in refused, refused["severity"]) == (False, False, 3)
        taken = device.call("net.check", hosts=LOCAL, url=f"https://localhost:{served.port}/", any_certificate=True)
        assert (taken["up"], taken["status"], taken["certificate_accepted"]) == (True, 200, False)
        assert (taken["certificate_days_left"], taken["severity"]) == (days, severity)
    finally:
        served.close()


def test_the_days_of_a_certificate_are_counted() -> None:
    day_s = 86_400.0
    assert [days_left(now_s + 10 * day_s, now_s) for now_s in (0.0, day_s)] == [10, 10]
    assert [days_left(0.0, now_s) for now_s in (-1.0, 1.0, day_s + 1)] == [0, -1, -2]


def test_only_the_name_is_looked_up_when_that_is_asked(device: Device) -> None:
    found = device.call("net.check", hosts=LOCAL, url="https://localhost/", name_only=True)
    assert (found["up"], found["port"]) == (True, None)


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"host": "localhost", "url": "http://localhost/"},
        {"url": "ftp://localhost/"},
        {"url": "http://local host/"},
        {"url": "http://localhost:99999/"},
        {"url": "http:///x"},
        {"url": "http://localhost/a b"},
    ],
)
def test_what_is_no_address_is_refused(device: Device, args: dict[str, Any]) -> None:
    with pytest.raises(ToolFailed, match=r"no address|one of the two"):
        device.call("net.check", hosts=LOCAL, **args)
