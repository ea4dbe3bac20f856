"""The digest of a call: the same on both sides and in both languages, and another one for another call.

`device_agents/browser/src/protocol/callDigest.test.ts` reads the same examples.
"""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_protocol.wire.frames import DispatchInput, InputPart, call_digest

EXAMPLES = json.loads(Path(__file__).with_name("call_digests.json").read_text(encoding="utf-8"))


def of(*parts: InputPart, name: str = "to", **more: Any) -> str:
    return call_digest("x", "{}", [DispatchInput(name=name, parts=list(parts), **more)])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["about"]))
def test_the_digest_is_that_of_the_examples(example: dict[str, Any]) -> None:
    inputs = msgspec.convert(example.get("inputs", []), list[DispatchInput])
    assert call_digest(example["tool"], example["args"], inputs, example.get("secrets", {})) == example["digest"]


def test_no_two_examples_are_the_same_call() -> None:
    assert len({example["digest"] for example in EXAMPLES}) == len(EXAMPLES)


def test_a_value_is_the_same_as_an_artifact_that_holds_it() -> None:
    assert of(InputPart(value='"ann"')) == of(InputPart(artifact=sha256(b'"ann"').hexdigest()))
    assert of(InputPart(value='"ann"')) != of(InputPart(value='"ann"', output="/name"))


def test_a_secret_counts_by_its_name_alone() -> None:
    plain = call_digest("x", '{"token":{"secret":"bank"}}', [])
    for handle in ("bank#0a1b2c3d4e5f", "bank#ffffffffffff"):
        assert call_digest("x", f'{{"token":{{"secret":"{handle}"}}}}', [], [handle]) == plain


def test_each_part_of_a_call_counts() -> None:
    one, two = InputPart(value="1"), InputPart(value="2")
    calls = [
        of(one),
        of(two),
        of(one, two),
        of(two, one),
        of(one, name="by"),
        of(one, many=True),
        of(one, flatten=True),
    ]
    calls += [call_digest("x", "{}", []), call_digest("y", "{}", []), call_digest("x", '{"a":1}', [])]
    assert len(set(calls)) == len(calls)
