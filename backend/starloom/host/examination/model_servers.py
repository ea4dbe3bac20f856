"""The search for model servers on this machine: asks the usual ports on loopback for their list of models.

Sends one short request to each and nothing else; follows no redirect, reads a bounded answer, changes no setting.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import httpx

from starloom_protocol.text.wording import few

USUAL: Mapping[str, int] = {"Ollama": 11434, "LM Studio": 1234, "llama.cpp": 8080, "vLLM": 8000}
ANSWER_S = 0.5
BYTES_MOST = 256 * 1024
MODELS_MOST = 50
_NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server that lists models as OpenAI's API does. `name` is the usual owner of its port; it may be another one."""

    name: str
    url: str
    models: tuple[str, ...]

    @property
    def words(self) -> str:
        loaded = few(self.models, 4) or "no model is loaded there yet"
        return f"a server answers at {self.url} ({self.name}'s port): {loaded}"

    def lines(self) -> list[str]:
        """Return the lines of `starloom.toml` that would use it; none where it has no model."""
        if not self.models:
            return []
        return [f"llm_url = {json.dumps(self.url)}", f"llm_model = {json.dumps(self.models[0])}"]


def look(ports: Mapping[str, int] = USUAL, transport: httpx.BaseTransport | None = None) -> list[ModelServer]:
    """Return the servers that answer on these ports of the loopback address."""
    servers = []
    with httpx.Client(timeout=ANSWER_S, trust_env=False, follow_redirects=False, transport=transport) as http:
        for name, port in ports.items():
            url = f"http://127.0.0.1:{port}/v1"
            models = _models(http, url)
            if models is not None:
                servers.append(ModelServer(name, url, models))
    return servers


def _models(http: httpx.Client, url: str) -> tuple[str, ...] | None:
    """Return the names of the models, or None if it is no such server."""
    raw = b""
    try:
        with http.stream("GET", f"{url}/models") as response:
            if response.status_code != 200:
                return None
            for chunk in response.iter_bytes():
                raw += chunk
                if len(raw) > BYTES_MOST:
                    return None
        document = json.loads(raw)
    # Another program that uses such a port is no model server.
    except (httpx.HTTPError, ValueError, RecursionError):
        return None
    listed = document.get("data") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        return None
    names = [item["id"] for item in listed if isinstance(item, dict) and isinstance(item.get("id"), str)]
    return tuple(name for name in names if name.isprintable() and 0 < len(name) <= _NAME_CHARS)[:MODELS_MOST]
