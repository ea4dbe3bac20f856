"""A plan of a model that is wrong about one file, mended by a review: real hub, worker and agents, a fake model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starloom_protocol.entities import Job, Version
from tests.models.server import FakeModel, Say
from tests.models.threaded import a_model
from tests.recipes.fleet import Fleet, Running
from tests.waiting import until

Json = dict[str, Any]
WORDS = "Draw up a survey of what was sold in each region, from the laptop and the server"
SUM = """\
import csv, io, json
rows = csv.DictReader(io.StringIO(json.load(open("input.json"))), delimiter="{separator}")
sums = {{}}
for row in rows:
    sums[row["{region}"]] = sums.get(row["{region}"], 0) + int(row["{amount}"])
json.dump([{{"region": name, "amount": sums[name]}} for name in sorted(sums)], open("result.json", "w"))
"""
CHECKS = [{"output": "/value", "op": "not_empty"}]


def read(device: str) -> Json:
    return {"id": f"read-{device}", "tool": "fs.read", "device": {"name": device}, "args": {"path": "sales.csv"}}


def summed(device: str, name: str, separator: str = ",", region: str = "region", amount: str = "amount") -> Json:
    return {
        "id": name,
        "tool": "python.run",
        "device": {"name": device},
        "args": {"code": SUM.format(separator=separator, region=region, amount=amount)},
        "inputs": {"input": {"from": f"read-{device}", "output": "/text"}},
        "checks": CHECKS,
    }


TABLE = {
    "id": "table",
    "tool": "data.merge",
    "device": {"name": "laptop"},
    "args": {"key": "region", "add": ["amount"]},
    "inputs": {
        "rows": {"from": "sum-laptop", "output": "/value"},
        "second": {"from": "sum-server", "output": "/value"},
    },
}
PLAN = {
    "starloom": 1,
    "name": "Sales of each region",
    "tasks": [
        read("laptop"),
        read("server"),
        summed("laptop", "sum-laptop"),
        summed("server", "sum-server"),
        TABLE,
    ],
    "result": [{"title": "Sales", "from": "table", "output": "/rows", "show": "table"}],
}
MENDED = summed("server", "sum-server-2", ";", "Gebiet", "Betrag")
MEND = [{"add_task": MENDED}, {"supersede": {"task": "sum-server", "by": "sum-server-2"}}]


@contextmanager
def planned(fleet: Fleet, *reviews: Say) -> Iterator[tuple[Running, FakeModel]]:
    """Ask for the report, and allow the plan that the model writes."""
    fleet.device("laptop").write("sales.csv", "region,amount\nnorth,10\nsouth,5\n")
    fleet.device("server").write("sales.csv", "Gebiet;Betrag\nsouth;7\nwest;30\n")
    with a_model(Say(tool={"kind": "plan", "plan": PLAN}), *reviews) as fake:
        fleet.client.put("/model", {"url": fake.url, "model": "fake-1"})
        try:
            running = fleet.begin(WORDS, approve=False)
            until(lambda: running.look() and str(running.view.state) == "awaiting_approval", "the plan waits")
            fleet.client.post(f"/approvals/{running.id}:approve-plan/approve", {})
            yield running, fake
        finally:
            fleet.client.delete("/model")


def test_a_review_that_sees_the_other_header_mends_the_report(fleet: Fleet) -> None:
    edit = Say(tool={"kind": "edit", "text": "the server's file has German headers", "operations": MEND})
    with planned(fleet, edit, Say(tool={"kind": "no_change"})) as (running, fake):
        answer = running.wait()
    assert answer.state == "succeeded", answer.told()
    assert answer.rows("Sales") == [
        {"region": "north", "amount": 10},
        {"region": "south", "amount": 12},
        {"region": "west", "amount": 30},
    ]
    assert "sum-server failed; sum-server-2 did its work." in answer.sentence
    assert answer.task("sum-server").state == "failed"
    assert answer.view.each("version", Version)["2"].author == "model"
    told = json.dumps(fake.asked[1])
    for word in ("KeyError", "Gebiet", "DictReader", "read-server"):
        assert word in told, f"the reviewer was not shown {word}"
    (job,) = [job for job in answer.view.each("job", Job).values() if job.kind == "review"]
    assert job.tasks == ["sum-server/1"]
    assert "sum-server-2 did its work" in fleet.cli("show", answer.id)
