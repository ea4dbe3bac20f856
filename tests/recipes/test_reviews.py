"""A plan of a model that is wrong about one file, mended by a review: real hub, worker and agents, a fake model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starloom_protocol.records.entities import Job, Version
from tests.models.server import FakeModel, Reading, Say
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
def planned(fleet: Fleet, *reviews: Say | Reading) -> Iterator[tuple[Running, FakeModel]]:
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


NOTE = "The file of this year is archive/sales-2026.csv\n"
LOST = {
    "starloom": 1,
    "name": "Sales of this year",
    "tasks": [{"id": "sales", "tool": "fs.read", "device": {"name": "laptop"}, "args": {"path": "sales-2026.csv"}}],
    "result": [{"title": "Sales", "from": "sales", "output": "/text"}],
}
LOOK = {
    "kind": "look",
    "why": "a note may say it",
    "calls": [{"device": "laptop", "tool": "fs.read", "args": {"path": "NOTE.txt"}}],
}


def mended_by_the_note(asked: Json) -> Say:
    """Write the edit with the path that the card of the look shows, as a model would."""
    told = str(asked["messages"][-1]["content"])
    assert told.startswith("DATA looks")
    (card,) = [json.loads(line) for line in told.splitlines()[1:]]
    path = card["head"]["text"].split()[-1]
    task = {"id": "sales-2", "tool": "fs.read", "device": {"name": "laptop"}, "args": {"path": path}}
    edit = [{"add_task": task}, {"supersede": {"task": "sales", "by": "sales-2"}}]
    return Say(tool={"kind": "edit", "text": "the file lies in the archive", "operations": edit})


def test_a_review_reads_the_file_that_names_the_cause_and_mends(fleet: Fleet) -> None:
    laptop = fleet.device("laptop")
    laptop.write("NOTE.txt", NOTE)
    laptop.write("archive/sales-2026.csv", "region,amount\nnorth,10\n")
    says = (
        Say(tool={"kind": "plan", "plan": LOST}),
        Say(tool=LOOK),
        mended_by_the_note,
        Say(tool={"kind": "no_change"}),
    )
    with a_model(*says) as fake:
        fleet.client.put("/model", {"url": fake.url, "model": "fake-1", "share": "cards_and_file_heads"})
        try:
            answer = fleet.begin("Show what was sold this year, as the laptop has it", approve=False).wait()
        finally:
            fleet.client.delete("/model")
    assert answer.state == "succeeded", answer.told()
    assert answer.value("Sales") == "region,amount\nnorth,10\n"
    assert "sales failed; sales-2 did its work." in answer.sentence
    (job,) = [job for job in answer.view.each("job", Job).values() if job.kind == "review"]
    assert (job.calls, [look.tasks for look in job.looks]) == (2, [["review-1-look-1-1"]])
    assert answer.task("review-1-look-1-1").state == "succeeded"
    assert "1 look in reviews" in fleet.cli("show", answer.id)
