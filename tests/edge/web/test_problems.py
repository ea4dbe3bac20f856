"""A refused request names the ways out: the methods, the fields, the choices that there are."""

from __future__ import annotations

import pytest

from tests.edge.world import World

C = "/api/v1/constellations"


@pytest.mark.parametrize(("path", "methods"), [(C, ["GET", "HEAD", "POST"]), (f"{C}/c-1", ["GET", "HEAD"])])
async def test_a_refused_method_is_answered_with_all_that_are_possible(
    world: World, path: str, methods: list[str]
) -> None:
    async with world.client() as http:
        answer = await http.put(path)
    assert (answer.status_code, answer.headers["allow"]) == (405, ", ".join(methods))
    assert answer.json()["reason"].startswith(
        "PUT is not possible here; GET, HEAD" if len(methods) > 2 else "PUT is not possible here; GET and HEAD are"
    )
    assert "openapi.json" in answer.json()["hint"]


@pytest.mark.parametrize(
    ("field", "hint"), [("text", "The fields here are value and reason."), ("valeu", "Did you mean value?")]
)
async def test_an_unknown_field_is_answered_with_those_that_exist(world: World, field: str, hint: str) -> None:
    async with world.client() as http:
        answer = await http.post("/api/v1/approvals/c-1:q/answer", json={"value": "yes", field: "yes"})
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_field")
    assert [one["hint"] for one in answer.json()["errors"]] == [hint]
