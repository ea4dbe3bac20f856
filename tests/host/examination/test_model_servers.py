"""`doctor` notices a model server on this machine, whatever else uses such a port, and offers the settings."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from starloom.host.examination import doctor, model_servers
from starloom.process.settings import load
from tests.served import Quiet, Served


@contextmanager
def serving(body: bytes, status: int = 200) -> Iterator[int]:
    """Answer every GET so; the value is the port."""

    class Handler(Quiet, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.reply(status if self.path == "/v1/models" else 404, body, Location="http://example.invalid/")

    with Served(Handler) as served:
        yield served.port


def test_a_server_is_noticed_with_lines_that_the_settings_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = json.dumps({"object": "list", "data": [{"id": "qwen3:8b"}, {"id": 7}, {"id": "bad\nname"}]}).encode()
    with serving(body) as port:
        monkeypatch.setattr(model_servers, "look", lambda look=model_servers.look: look({"Ollama": port}))
        found = model_servers.look()
        assert [(server.name, server.models) for server in found] == [("Ollama", ("qwen3:8b",))]
        settings = load({"home": tmp_path}, environment={}).settings
        told = doctor._model(settings)
    assert told.good
    assert "Ollama" in told.words
    lines = [line.strip() for line in told.words.splitlines() if line.strip().startswith("llm_")]
    assert tomllib.loads("\n".join(lines)) == {"llm_url": f"http://127.0.0.1:{port}/v1", "llm_model": "qwen3:8b"}
    (tmp_path / "starloom.toml").write_text("\n".join(lines))
    assert load({"home": tmp_path}, environment={}).settings.llm_model == "qwen3:8b"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"<html>hello</html>", 200),
        (b"{}", 404),
        (b"", 302),
        (b'{"data": 3}', 200),
        (b"[1]", 200),
        (b"[" * 100_000, 200),
        (b'{"data": []' + b" " * model_servers.BYTES_MOST, 200),
    ],
)
def test_whatever_else_listens_there_is_no_model_server(body: bytes, status: int) -> None:
    with serving(body, status) as port:
        assert model_servers.look({"x": port}) == []


def test_a_server_without_a_model_says_so_and_offers_nothing() -> None:
    with serving(b'{"data": []}') as port:
        (found,) = model_servers.look({"LM Studio": port})
    assert found.lines() == []
    assert "no model is loaded" in found.words


def test_nobody_listening_is_quick_and_quiet() -> None:
    with serving(b"") as port:
        pass
    assert model_servers.look({"x": port}) == []


def test_the_models_of_all_roles_are_told_and_a_wrong_one_is_a_fault() -> None:
    given = {
        "STARLOOM_LLM_URL": "http://127.0.0.1:9/v1",
        "STARLOOM_LLM_MODEL": "near",
        "STARLOOM_LLM_WRITER_MODEL": "w",
    }
    found = doctor._model(load(environment=given).settings)
    assert found.good
    assert "near at http://127.0.0.1:9/v1; writer: w at 127.0.0.1:9" in found.words
    wrong = doctor._model(load(environment={**given, "STARLOOM_LLM_WRITER_URL": "ftp://x"}).settings)
    assert not wrong.good
    assert "STARLOOM_LLM_WRITER_URL" in wrong.words
