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


@pytest.mark.parametrize(
    ("address", "place", "hint"),
    [
        ("/api/v1/constellations?stat=failed", "query.stat", "Did you mean state?"),
        (
            "/api/v1/constellations?zzz",
            "query.zzz",
            "It takes state, q, device, of, cursor, limit, tries and by_caller.",
        ),
        ("/api/v1/secrets?q=a", "query.q", "It takes none."),
    ],
)
async def test_a_misspelt_parameter_is_refused_and_does_not_filter_nothing(
    world: World, address: str, place: str, hint: str
) -> None:
    async with world.client() as http:
        answer = await http.get(address)
        assert answer.status_code == 422, answer.text
        (fault,) = answer.json()["errors"]
        assert (fault["code"], fault["place"], fault["hint"]) == ("unknown_field", place, hint)


async def test_an_address_with_thousands_of_unknown_parameters_has_a_short_refusal(world: World) -> None:
    async with world.client() as http:
        answer = await http.get("/api/v1/secrets?" + "&".join(f"p{number}=1" for number in range(3000)))
        assert answer.status_code == 422
        assert len(answer.json()["errors"]) == 20


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"value": "y" * 5_000}, "`value` may have at most 1,000 characters"),
        ({"value": 7}, "`value` must be a text"),
        ([], "the body must be an object"),
    ],
)
async def test_a_fault_of_a_field_names_the_field_in_plain_words(world: World, body: object, reason: str) -> None:
    async with world.client() as http:
        answer = await http.post("/api/v1/approvals/c-1:q/answer", json=body)
    assert (answer.status_code, answer.json()["reason"]) == (422, reason)


async def test_a_mistyped_choice_is_answered_with_the_nearest(world: World) -> None:
    async with world.client() as http:
        answer = await http.post(C, json={"request": "x", "priority": "hig"})
        asked = await http.get(C, params={"limit": "many"})
    assert answer.json()["reason"] == "`priority` must be one of 'low', 'normal' or 'high'"
    assert [one["hint"] for one in answer.json()["errors"]] == ["Did you mean high?"]
    assert asked.json()["reason"] == "`limit` must be a whole number"
