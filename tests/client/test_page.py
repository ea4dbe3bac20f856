"""The part of the contract that the page calls: how calls are found in its sources, and the shapes that they reach."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client import page
from tests.edge.contract import contract

FEWEST = 90
SOURCE = """
  device = (id: string) => this.rest.get("/devices/{device}", { path: { device: id } });
  ask = (id: string, allow: boolean) =>
    this.rest.post(`/asks/{ask}/${allow ? "approve" : "deny"}`, { path: { ask: id } });
  set = (body: BodyOf<"put", "/model">) => this.rest
    .create(
      "/enrollments", { body });
  link = (sha256: string) => addressOf("/artifacts/{sha256}", { path: { sha256 } });
"""


def called(source: str) -> list[tuple[str, str]]:
    document: dict[str, Any] = contract()
    return page.called(document["paths"], [("here.ts", source)])


def test_calls_are_found_in_the_sources() -> None:
    assert called(SOURCE) == [
        ("get", "/api/v1/artifacts/{sha256}"),
        ("get", "/api/v1/devices/{device}"),
        ("post", "/api/v1/asks/{ask}/approve"),
        ("post", "/api/v1/asks/{ask}/deny"),
        ("post", "/api/v1/enrollments"),
        ("put", "/api/v1/model"),
    ]


def test_a_call_of_no_route_is_named() -> None:
    with pytest.raises(page.Unknown, match=r"here\.ts:2: the hub has no PATCH /nothing"):
        called('\nrest.patch("/nothing")')


def test_the_part_has_what_the_calls_reach_and_nothing_else() -> None:
    part = page.part(contract(), [("here.ts", SOURCE)])
    assert sorted(part["paths"]["/api/v1/devices/{device}"]) == ["get"]
    assert list(part["paths"]["/api/v1/devices/{device}"]["get"]["responses"]) == ["200"]
    schemas = part["components"]["schemas"]
    assert {"DeviceDetail", "DeviceLink"} <= schemas.keys()  # one is reached through the other
    assert "Snapshot" not in schemas
    assert not any(path.startswith("/api/v1/constellations") for path in part["paths"])


def test_every_call_of_the_page_is_found() -> None:
    """A call in a form that the search does not know would have no types, so the compiler would name it, too."""
    found = page.called(contract()["paths"], page.sources())
    assert len(found) >= FEWEST, "the search finds fewer calls than there were: teach it the new form"
