"""The sites of the two servers, with their certificate: HTTP servers on 127.0.0.1 that serve a server's `site/`.

A site is down while its service `shop` does not run or its server is not up. `world/site.json` may make it worse:
`flaky` answers a page with 503 a number of times, `bad_versions` are versions at which no page answers. `/api` wants
the key of `etc/key.txt`. Runs in threads of this process; `rewind` forgets what was counted.
"""

from __future__ import annotations

import ipaddress
import json
import ssl
import threading
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from starloom.lab.nebula.world.devices import LOOPBACK

LASTS_DAYS: Final = 90
OWN_FILE_MODE: Final = 0o600


@dataclass(frozen=True)
class Certificate:
    """The files of certificate and key, and when it ends."""

    file: Path
    key: Path
    until: datetime


def certify(folder: Path, day: date) -> Certificate:
    """Make a certificate that ends 90 days after the world's day, and write it below a folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Nebula world")])
    start = datetime.combine(day, time(0), UTC)
    until = start + timedelta(days=LASTS_DAYS)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - timedelta(days=1))
        .not_valid_after(until)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    file, secret = folder / "site.pem", folder / "site.key"
    file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    secret.touch(mode=OWN_FILE_MODE)
    plain = serialization.NoEncryption()
    secret.write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return Certificate(file, secret, until)


SERVICE: Final = "shop"
KEY_FILE: Final = "etc/key.txt"
STOP_S: Final = 10.0
TYPES: Final = {".html": "text/html; charset=utf-8", ".json": "application/json"}


class Site:
    """The site of one server, from its making to `close`. `folder` holds its `files` and `world`."""

    def __init__(self, folder: Path, certificate: Certificate) -> None:
        self._folder = folder
        self._counts: Counter[str] = Counter()
        self._counting = threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                status, kind, body = site.answer(self.path, self.headers.get("X-Key", ""))
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_args: Any) -> None:
                """Write nothing: a run has its own log."""

        self._listeners: list[tuple[ThreadingHTTPServer, threading.Thread]] = []
        self.url = f"http://{LOOPBACK}:{self._listen(Handler, None)}"
        self.secure_url = f"https://{LOOPBACK}:{self._listen(Handler, certificate)}"

    def _listen(self, handler: type[BaseHTTPRequestHandler], certificate: Certificate | None) -> int:
        """Serve at a free port and return it."""
        server = ThreadingHTTPServer((LOOPBACK, 0), handler)
        server.daemon_threads = True
        if certificate is not None:
            # The handshake is made by the thread of a request: one that never ends it keeps nobody else out.
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(certificate.file, certificate.key)
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, name=f"site {self._folder.name}", daemon=True)
        thread.start()
        self._listeners.append((server, thread))
        return int(server.server_address[1])

    def close(self) -> None:
        for server, thread in self._listeners:
            server.shutdown()
            server.server_close()
            thread.join(STOP_S)

    def rewind(self) -> None:
        """Forget which pages were asked for, as at the beginning of a task."""
        with self._counting:
            self._counts.clear()

    def answer(self, path: str, key: str) -> tuple[int, str, bytes]:
        """Return status, type and body for a path."""
        name = path.partition("?")[0].lstrip("/") or "index.html"
        odd = self._state("site")
        with self._counting:
            self._counts[name] += 1
            count = self._counts[name]
        if self._down() or self._file("site/version").strip() in odd.get("bad_versions", []):
            return HTTPStatus.SERVICE_UNAVAILABLE, TYPES[".html"], b"the shop does not answer\n"
        if count <= int(odd.get("flaky", {}).get(name, 0)):
            return HTTPStatus.SERVICE_UNAVAILABLE, TYPES[".html"], b"try again\n"
        if name == "api":
            fits = bool(key) and key == self._file(KEY_FILE).strip()
            status = HTTPStatus.OK if fits else HTTPStatus.UNAUTHORIZED
            return status, TYPES[".json"], json.dumps({"ok": fits}).encode()
        target = (self._folder / "files" / "site" / name).resolve()
        if (self._folder / "files" / "site").resolve() not in target.parents or not target.is_file():
            return HTTPStatus.NOT_FOUND, TYPES[".html"], b"there is no such page\n"
        return HTTPStatus.OK, TYPES.get(target.suffix, "text/plain; charset=utf-8"), target.read_bytes()

    def _down(self) -> bool:
        service = self._state("svc").get("services", {}).get(SERVICE, {})
        return service.get("state") != "running" or not self._state("pkg").get("up", True)

    def _state(self, area: str) -> dict[str, Any]:
        path = self._folder / "world" / f"{area}.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    def _file(self, path: str) -> str:
        target = self._folder / "files" / path
        return target.read_text() if target.exists() else ""
