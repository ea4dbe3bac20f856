"""The address of the broker, the settings of Celery, and to whom a worker gives the password of Redis."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from starloom.jobs.broker import PLAN_TASK, broker_url_of, make_celery
from tests.device_agents.tools.network.test_net import certificate


@pytest.mark.parametrize(
    ("redis", "broker"),
    [
        ("unix:///run/s/v.sock?db=0", "redis+socket:///run/s/v.sock?virtual_host=1"),
        ("unix:///run/s/v.sock", "redis+socket:///run/s/v.sock?virtual_host=1"),
        ("unix:///run/s/v.sock?db=1", "redis+socket:///run/s/v.sock?virtual_host=2"),
        ("redis://host:6379/0", "redis://host:6379/1"),
        ("redis://:secret@host:6379", "redis://:secret@host:6379/1"),
        ("rediss://host:6380/1", "rediss://host:6380/2"),
        ("rediss://host?ssl_ca_certs=/a%20b&ssl_cert_reqs=none&db=3", "rediss://host/1?ssl_ca_certs=%2Fa+b"),
        ("redis://host?ssl_ca_certs=/a", "redis://host/1"),
        ("unix://ann:p%40w@/run/v.sock", "redis+socket://ann:p%40w@/run/v.sock?virtual_host=1"),
        ("unix://:pw@/run/v.sock", "redis+socket://:pw@/run/v.sock?virtual_host=1"),
    ],
)
def test_the_broker_is_another_database_of_the_same_server(redis: str, broker: str) -> None:
    assert broker_url_of(redis) == broker


def test_what_is_no_redis_is_refused() -> None:
    with pytest.raises(ValueError, match="amqp"):
        broker_url_of("amqp://host")


def test_json_only_and_no_results() -> None:
    app = make_celery("memory://")
    assert app.conf.accept_content == ["json"]
    assert app.conf.task_serializer == "json"
    assert app.conf.result_backend is None
    assert app.conf.task_ignore_result
    app.close()


@contextmanager
def answering(certificate_file: Path, heard: list[bytes]) -> Iterator[int]:
    """Answer each connection by TLS, note its first words, and end it; yields the port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate_file)
    listener = socket.create_server(("127.0.0.1", 0))

    def answer() -> None:
        while True:
            try:
                raw, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(raw, server_side=True) as talking:
                    heard.append(talking.recv(4096))
            except OSError:
                raw.close()

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize(
    ("host", "options", "told"),
    [
        ("localhost", "?ssl_ca_certs={own}", True),
        ("127.0.0.1", "?ssl_ca_certs={own}&ssl_check_hostname=false", False),
        ("localhost", "?ssl_cert_reqs=none", False),
    ],
    ids=["own authority", "another host", "no check"],
)
def test_an_authority_of_the_address_is_trusted_and_no_option_ends_the_check(
    host: str, options: str, told: bool, tmp_path: Path
) -> None:
    own = certificate(tmp_path, 30)
    heard: list[bytes] = []
    with answering(own, heard) as port:
        app = make_celery(broker_url_of(f"rediss://:the-password@{host}:{port}/0{options.format(own=own)}"))
        with pytest.raises(Exception, match=r"certificate|closed|reset|Connection"):
            app.send_task(PLAN_TASK, args=["c", "j"], retry=False)
        app.close()
    assert (b"the-password" in b"".join(heard)) == told


@pytest.mark.parametrize(
    ("trusted", "host", "told"), [(False, "localhost", False), (True, "localhost", True), (True, "127.0.0.1", False)]
)
def test_t306_the_password_of_redis_goes_to_the_host_of_its_certificate_alone(
    trusted: bool, host: str, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = certificate(tmp_path, 30)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(own))
    heard: list[bytes] = []
    with answering(own, heard) as port:
        app = make_celery(broker_url_of(f"rediss://:the-password@{host}:{port}/0"))
        with pytest.raises(Exception, match=r"certificate|closed|reset|Connection"):
            app.send_task(PLAN_TASK, args=["c", "j"], retry=False)
        app.close()
    assert (b"the-password" in b"".join(heard)) == told
