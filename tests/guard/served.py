"""The requests of schemathesis once more, over HTTP to a hub with its worker, Redis and agent as a person starts them.

No answer is an error of the server, none leaves the shape of a refusal, and the hub serves on afterwards.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import httpx

from starloom.process.computers import computer_name
from tests.guard import api
from tests.installation import Installation
from tests.waiting import SLOWER

REQUESTS_LEAST = 2_000
DRAWS_MOST = 8
ASKS = {"starloom": 1, "name": "asked", "tasks": [{"id": "t0", "person": "Go on?"}]}


def drawn(document: dict[str, Any], real: dict[str, str], least: int, seed: int) -> list[api.Request]:
    """Return at least so many requests, all of them different, spread over every operation."""
    made: dict[tuple[str, str, str, bytes], api.Request] = {}
    each = 1 + least // max(1, 2 * sum(len(found) for found in document["paths"].values()))
    for draw in range(DRAWS_MOST):
        for request in api.requests(document, each, real, seed + draw):
            made.setdefault((request["method"], request["path"], str(request["query"]), request["content"]), request)
        if len(made) >= least:
            return list(made.values())
    return list(made.values())


def asked(least: int, seed: int) -> api.Answers:
    """Start a hub, send it at least so many requests as its owner, and end it; return what came back."""
    # Not pytest's own folder: the path of a Unix socket must be short.
    with tempfile.TemporaryDirectory(prefix="sl-guard-") as home:
        hub = Installation(Path(home))
        try:
            hub.up("--lab")
            hub.until_online(computer_name())
            made = hub.client.create("/constellations", {"plan": ASKS})
            (device, *_) = hub.client.get("/devices")["items"]
            real = {"constellation": str(made["id"]), "device": str(device["id"]), "task": "t0", "attempt": "1"}
            answers = api.Answers()
            with httpx.Client(
                base_url=hub.client.address.url,
                headers={"Authorization": f"Bearer {hub.client.address.token}", "Content-Type": "application/json"},
                trust_env=False,
                timeout=api.ANSWER_S_MOST * SLOWER,
            ) as http:
                document = http.get("/api/v1/openapi.json").raise_for_status().json()
                for request in drawn(document, real, least, seed):
                    api.ask(http, request, answers)
            if hub.client.outside("/readyz")[0] != 200:
                answers.errors.append("the hub is not ready any more")
        finally:
            hub.close()
    return answers
