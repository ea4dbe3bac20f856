"""A model that looks before it plans: real hub, worker and agents, a fake model on a socket that reads its cards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starloom_protocol.records.entities import Job
from tests.models.server import FakeModel, Json, Reading, Say, fake_model
from tests.recipes.fleet import Fleet, Running

WORDS = "Make one report of sales per region from the CSVs on my two machines"
NORTH = "region,sales\nnorth,48213\nsouth,30\n"
SOUTH = "Gebiet;Umsatz\nnorth;7\nsouth;5\n"
LOOK = {
    "kind": "look",
    "why": "The columns of the two files decide the program.",
    "calls": [
        {"device": name, "tool": "fs.read", "args": {"path": "sales.csv", "limit": 2048}}
        for name in ("laptop", "server")
    ],
}
NO_WORDS = Say(tool={"kind": "cannot", "text": "The table says it."})
PROGRAM = """
import csv, io, json
text = json.load(open("input.json"))
rows = csv.DictReader(io.StringIO(text), delimiter=SEPARATOR)
json.dump([{"region": row[COLUMNS[0]], "sales": float(row[COLUMNS[1]])} for row in rows], open("result.json", "w"))
"""


@asynccontextmanager
async def planned_by(fleet: Fleet, *says: Say | Reading, share: str = "cards") -> AsyncIterator[FakeModel]:
    async with fake_model(*says) as fake:
        body = {"url": fake.url, "model": "fake-1", "share": share}
        await asyncio.to_thread(fleet.client.put, "/model", body)
        try:
            yield fake
        finally:
            await asyncio.to_thread(fleet.client.delete, "/model")


def cards_in(asked: Json) -> list[dict[str, Any]]:
    """Return the cards of the last turn that the model was told."""
    told = str(asked["messages"][-1]["content"])
    assert told.startswith("DATA looks")
    return [json.loads(line) for line in told.splitlines()[1:]]


def report(asked: Json) -> Say:
    """Write the plan with the columns that the cards show, as a model would."""
    tasks: list[dict[str, Any]] = []
    for card in cards_in(asked):
        device = {"name": card["device"]}
        table = card["shape"]["fields"]["text"]["table"]
        code = f"SEPARATOR, COLUMNS = {table['separator']!r}, {table['columns']!r}\n{PROGRAM}"
        read = f"read-{card['device']}"
        tasks += [
            {"id": read, "tool": "fs.read", "device": device, "args": {"path": "sales.csv"}},
            {
                "id": f"rows-{card['device']}",
                "tool": "python.run",
                "device": device,
                "args": {"code": code},
                "inputs": {"input": {"from": read, "output": "/text"}},
            },
        ]
    value = {"output": "/value"}
    inputs = {"rows": {"from": "rows-laptop", **value}, "second": {"from": "rows-server", **value}}
    summed = {"key": "region", "add": ["sales"]}
    tasks.append({"id": "sum", "tool": "data.merge", "device": {"name": "laptop"}, "args": summed, "inputs": inputs})
    result = [{"title": "Sales", "from": "sum", "output": "/rows"}]
    return Say(tool={"kind": "plan", "plan": {"starloom": 1, "name": "Sales", "tasks": tasks, "result": result}})


def sales_on(fleet: Fleet) -> None:
    fleet.device("laptop").write("sales.csv", NORTH)
    fleet.device("server").write("sales.csv", SOUTH)
    for name in ("laptop", "server"):
        fleet.device(name).grant("python:run")


async def test_one_report_of_two_files_with_other_headers_is_right_at_once(fleet: Fleet) -> None:
    await asyncio.to_thread(sales_on, fleet)
    async with planned_by(fleet, Say(tool=LOOK), report, NO_WORDS) as fake:
        answer = await asyncio.to_thread(fleet.submit, WORDS, approve=False, choose={"approve": "allow"})
        assert len(fake.asked) == 3
    assert answer.state == "succeeded", answer.told()
    found = {row["region"]: row["sales"] for row in answer.rows("Sales")}
    assert found == {"north": 48220.0, "south": 35.0}
    told = json.dumps([asked["messages"][1:] for asked in fake.asked])
    assert "Umsatz" in told
    assert "48213" not in told
    looks = [name for name, spec in answer.view.specs.items() if spec.look]
    assert looks == ["look-1-1", "look-1-2"]
    assert "Sales is done: 5 tasks" in answer.sentence
    shown = await asyncio.to_thread(fleet.cli, "show", answer.id)
    assert "2 looks before the plan" in shown


async def test_a_worker_killed_while_devices_are_looked_at_is_replaced_and_nothing_is_asked_twice(fleet: Fleet) -> None:
    await asyncio.to_thread(sales_on, fleet)
    server = fleet.device("server")
    async with planned_by(fleet, Say(tool=LOOK), report, NO_WORDS) as fake:
        running = await asyncio.to_thread(_begun_with_a_device_off, fleet)
        await asyncio.to_thread(fleet.child("starloom.jobs.worker").kill)
        # In this thread: a process ends with the thread that started it, and those of a loop end with the loop.
        server.start()
        answer = await asyncio.to_thread(running.wait)
        assert len(fake.asked) == 3
        seen = {card["device"]: card["state"] for card in cards_in(fake.asked[1])}
    assert seen == {"laptop": "succeeded", "server": "succeeded"}
    assert answer.state == "succeeded", answer.told()
    jobs = answer.view.each("job", Job)
    assert [job.calls for job in jobs.values() if job.kind == "plan"] == [1, 1]
    assert {row["region"]: row["sales"] for row in answer.rows("Sales")} == {"north": 48220, "south": 35}


def _begun_with_a_device_off(fleet: Fleet) -> Running:
    """Ask with the server's agent killed; return when the laptop was looked at and the server is waited for."""
    fleet.device("server").kill()
    running = fleet.begin(WORDS, approve=False, choose={"approve": "allow"})
    running.until_task("look-1-1", "succeeded")
    assert str(running.view.state) == "looking"
    return running
