"""Typed calls: hubs that are newer or older, ids in paths, and the names of the generated functions."""

from __future__ import annotations

import json

import httpx
import pytest

from starloom.client.discovery import HubAddress
from starloom.client.exits import Exit
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.client.routes import (
    get_constellation_diff,
    get_constellation_task_attempt_log,
    get_device,
    get_devices,
    post_device_action,
    post_schedules,
)
from tests.client.generated import name_of

DEVICE = {"id": "d-1", "name": "nas", "link": "online"}


def client(document: object, asked: list[str] | None = None) -> Client:
    def handle(request: httpx.Request) -> httpx.Response:
        if asked is not None:
            asked.append(f"{request.method} {request.url.raw_path.decode()}")
        return httpx.Response(200, json=document)

    return Client(HubAddress("http://127.0.0.1:8470", None, "test"), transport=httpx.MockTransport(handle))


def test_a_field_of_a_newer_hub_stays_in_the_answer() -> None:
    newer = {"items": [{**DEVICE, "mood": "calm", "link": "hibernating"}], "next": None, "more": {"of": 1}}
    found = client(newer).get(get_devices())
    assert found["items"][0]["name"] == "nas"
    assert found["items"][0]["link"] == "hibernating"
    assert json.dumps(found) == json.dumps(newer)


def test_a_field_that_an_older_hub_lacks_is_told_where_it_is_read() -> None:
    found = client({"items": [DEVICE]}).get(get_devices())
    with pytest.raises(Problem) as caught:
        found["items"][0]["slow"]
    assert str(caught.value) == (
        "The hub is older than this command: http://127.0.0.1:8470 answers GET /devices without `slow`"
    )
    assert "Upgrade the hub" in caught.value.hint
    assert caught.value.exit_code is Exit.UNREACHABLE
    assert found["items"][0].get("slow") is None


def test_an_id_in_a_path_stays_one_part_of_it() -> None:
    asked: list[str] = []
    hub = client(DEVICE, asked)
    hub.get(get_device("../tokens?x=1"))
    hub.post(post_device_action("d:1", "resume"), {})
    assert asked == ["GET /api/v1/devices/..%2Ftokens%3Fx%3D1", "POST /api/v1/devices/d:1/resume"]


def test_a_query_leaves_out_what_is_not_given() -> None:
    asked: list[str] = []
    hub = client({"text": ""}, asked)
    hub.get(get_constellation_task_attempt_log("c-1", "a", 2, tail=10))
    hub.get(get_constellation_diff("c-1", from_=1, to=2))
    hub.get(get_devices(all_=True))
    log = "/api/v1/constellations/c-1/tasks/a/attempts/2/log?tail=10"
    assert asked == [f"GET {log}", "GET /api/v1/constellations/c-1/diff?from=1&to=2", "GET /api/v1/devices?all=true"]


@pytest.mark.parametrize(
    ("verb", "path", "name"),
    [
        ("get", "/people", "get_people"),
        ("patch", "/people/{name}", "patch_person"),
        ("get", "/standing-approvals", "get_standing_approvals"),
        ("post", "/devices/{device}/{action}", "post_device_action"),
        ("get", "/recipes/{name}/versions", "get_recipe_versions"),
        ("post", "/schedules", post_schedules.__name__),
    ],
)
def test_the_name_of_a_route_has_one_thing_in_the_singular(verb: str, path: str, name: str) -> None:
    assert name_of(verb, path) == name
