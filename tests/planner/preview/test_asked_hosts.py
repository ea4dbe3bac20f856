"""A preview names the grant that a device lacks for the host of a task, whatever tool asks it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.api.previews import PlanPreview
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import Offer
from tests.planner.fleets import GRANTS, device, fleet, offer

LINE = "starloom-agent grant net:reach example.org"


def listing(hosts: str | None) -> Offer:
    """Return the offer of a device that lists these hosts; None: it has told none."""
    plain = offer()
    return plain if hosts is None else msgspec.structs.replace(plain, facts={**plain.facts, "hosts": hosts})


def of_call(there: Offer, tool: str, args: dict[str, Any]) -> PlanPreview:
    view = fleet(device("nas"), offers={"nas": there})
    task = {"id": "ask", "tool": tool, "args": args, "device": {"name": "nas"}}
    check = check_plan({"starloom": 1, "name": "Ask", "tasks": [task]})
    assert check.plan is not None, check.faults
    return Planning(load_catalogue(), lambda: view).preview(check.plan)


def test_a_site_s_check_names_each_device_that_may_not_ask_it() -> None:
    none = offer(grants=[grant for grant in GRANTS if grant != "net:reach"])
    offers = {"a": none, "b": listing("intra.example\nexample.net"), "c": listing("example.org"), "d": listing("*")}
    view = fleet(*map(device, "abcd"), offers=offers)
    planning = Planning(load_catalogue(), lambda: view)
    plan = planning.plan_recipe("site-check", {"url": "https://example.org/"}).plan
    assert plan is not None
    found = planning.preview(plan)
    assert {item["device"]: item["line"] for item in found["missing_grants"]} == {"a": LINE, "b": LINE}
    assert found["held"] == ["check"]
    told = planning.ungranted(plan.specs, plan.dependencies)
    assert [one.partition(", ")[0] for one in told] == [
        f"{name} does not allow net:reach for check yet" for name in "ab"
    ]


@pytest.mark.parametrize(
    ("tool", "args"),
    [
        ("net.check", {"host": "Example.org"}),
        ("net.check", {"url": "http://elsewhere.example/", "at": "example.org"}),
        ("wait.until", {"what": "port", "host": "example.org", "port": 80}),
        ("http.request", {"url": "https://example.org:8443/x"}),
    ],
)
def test_a_host_that_is_not_listed_is_named_in_the_line(tool: str, args: dict[str, Any]) -> None:
    (lacking,) = of_call(listing("intra.example"), tool, args)["missing_grants"]
    assert (lacking["grant"], lacking["line"]) == ("net:reach", LINE)
    assert of_call(listing("example.org"), tool, args)["missing_grants"] == []
    assert of_call(listing(None), tool, args)["missing_grants"] == [], "its hosts are not known"


def test_a_wait_for_a_file_asks_no_host() -> None:
    none = offer(grants=["files:read"])
    assert of_call(none, "wait.until", {"what": "file", "path": "x"})["missing_grants"] == []
