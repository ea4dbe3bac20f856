"""T178: JSON that two readers may understand differently, or that no reader should take, at every route with a body."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import httpx
import pytest

from starloom.edge.access.guard import ROUTES
from starloom_protocol.wire import frames as f
from tests.edge.world import World
from tests.guard import api

DEEP = 20_000
ODD: dict[str, bytes] = {
    "a name twice": b'{"reason":"a","reason":"b"}',
    "no number": b'{"ttl_s":NaN,"deadline_s":NaN,"params":{"x":NaN}}',
    "infinite": b'{"ttl_s":1e400,"deadline_s":-1e999}',
    "beyond 64 bits": b'{"ttl_s":%d,"deadline_s":%d,"base_version":%d}' % ((2**70,) * 3),
    "5,000 digits": b'{"ttl_s":%s,"deadline_s":%s}' % (b"9" * 5_000, b"9" * 5_000),
    "deep": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "a deep plan": b'{"plan":' + b"[" * DEEP + b"]" * DEEP + b"}",
    "half a sign": b'{"reason":"\\ud800","name":"\\udfff","request":"\\ud800x","for":"\\ud800","value":"\\ud800"}',
    "half a sign as a name": b'{"\\ud800":1}',
    "zero bytes": b'{"reason":"\\u0000","name":"a\\u0000","request":"a\\u0000b","value":"\\u0000"}',
    "a mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"reason":"a"}'.encode("utf-16"),
    "no text": b"\xff\xfe\x00",
    "nothing": b"null",
    "a list": b"[]",
    "below 64 bits": b'{"ttl_s":-1,"deadline_s":-9223372036854775809,"base_version":-1}',
}
ARGS: dict[str, bytes] = {
    "a name twice": b'{"x":1,"x":2}',
    "no number": b'{"x":NaN}',
    "infinite": b'{"x":1e400}',
    "5,000 digits": b'{"x":%s}' % (b"9" * 5_000),
    "half a sign": b'{"x":"\\ud800"}',
    "half a sign as a name": b'{"\\ud800":1}',
    "deep": b'{"x":' + b"[" * 100 + b"]" * 100 + b"}",
}
_TAKES_NONE = ("/sign-out", "/stop-all")
"""They take no document, and end what the others need."""


def _urls(real: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (method, re.sub(r"\{(\w+)(:path)?\}", lambda found: str(real.get(found[1], "x")), path))
        for method, path in ROUTES
        if method in ("POST", "PUT", "PATCH", "DELETE")
        and not path.startswith("/aip")
        and not path.endswith(_TAKES_NONE)
    ]


@pytest.mark.test
async def test_t178_no_odd_document_makes_an_error_of_the_server(world: World) -> None:
    real = await api.real_things(world)
    seen: Counter[int] = Counter()
    failed: list[tuple[str, str, str, int]] = []
    async with world.client() as http:
        for method, url in _urls(real):
            for name, body in ODD.items():
                answer = await http.request(method, url, content=body, headers={"content-type": "application/json"})
                seen[answer.status_code] += 1
                if answer.status_code >= 500:
                    failed.append((method, url, name, answer.status_code))
    assert failed == []
    assert seen[422] > 500
    assert world.engine.counts.failed_steps == 0


@pytest.mark.test
@pytest.mark.parametrize("how", ARGS)
async def test_t178_no_odd_value_reaches_the_history(world: World, how: str) -> None:
    await world.online("srv")
    async with world.client() as http:
        answer = await _post(http, _with_args(ARGS[how]))
    assert 400 <= answer.status_code < 500, answer.text
    assert not world.engine.shard.constellations
    assert world.engine.counts.failed_steps == 0


async def test_t178_a_number_beyond_64_bits_arrives_as_it_was_sent(world: World) -> None:
    agent = await world.online("srv")
    async with world.client() as http:
        answer = await _post(http, _with_args(b'{"x":%d}' % (2**70)))
    assert answer.status_code == 202, answer.text
    assert (await agent.next(f.Dispatch)).args == f'{{"x":{2**70}}}'


def _with_args(args: bytes) -> bytes:
    return b'{"plan":{"starloom":1,"name":"Odd","tasks":[{"id":"a","tool":"t.one","args":%s}]}}' % args


async def _post(http: httpx.AsyncClient, raw: bytes) -> Any:
    return await http.post("/api/v1/constellations", content=raw, headers={"content-type": "application/json"})
