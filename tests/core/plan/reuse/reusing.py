"""Plans whose tasks take over earlier results, and a fleet that can make them."""

from __future__ import annotations

from typing import Any

from starloom.core.state.inputs import RequestReceived
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import ForEach, Reuse, TaskSpec, ToolOffer
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Effect
from tests.builders import NEVER, PURE, TOOLS, Driver, plan, task

FUNCTION = ToolOffer(name="t.function", repeatability=PURE, effects=[])
PROGRAM = ToolOffer(name="python.run", repeatability=NEVER, effects=[Effect.READ, Effect.WRITE])
OFFERED = [*TOOLS, FUNCTION, PROGRAM]
DAY_S = 86_400
EACH_HASH = canonical({"key": {"each": "/sha256"}})


def fleet(*names: str) -> Driver:
    driver = Driver()
    for name in names or ("one", "two"):
        driver.add_device(name, tools=OFFERED)
    return driver


def function(name: str = "a", args: Any = None, **fields: Any) -> TaskSpec:
    """A task whose result depends on its arguments alone."""
    given = {"reuse": Reuse(fresh_s=DAY_S), "tool": "t.function", **fields}
    return task(name, args=canonical(args or {"x": 1}), **given)


def totals(device: str = "one", of: str = "one", **fields: Any) -> LoweredPlan:
    """A list of hashed files of one device, and a look at each file on a device."""
    return plan(
        task("list", device=of),
        task(
            "total",
            args=canonical({"path": {"each": "/path"}}),
            device=device,
            for_each=ForEach(source="list", output="/files"),
            reuse=Reuse(fresh_s=DAY_S, key=EACH_HASH),
            **fields,
        ),
    )


def files(**hashes: str) -> dict[str, Any]:
    return {"files": [{"path": path, "sha256": sha256} for path, sha256 in hashes.items()]}


def carry_out(driver: Driver, made: LoweredPlan, name: str, *values: Any, by: str = "person:ann") -> list[str]:
    """Run a plan to its end; each call gives the next value, the last one again. Return the tasks that were called."""
    driver.do(RequestReceived(id=driver.ident(), by=by, constellation=name, plan=made))
    called: list[str] = []
    while dispatches := driver.take():
        for dispatch in dispatches:
            called.append(dispatch.at.task)
            driver.result(dispatch, values[min(len(called), len(values)) - 1] if values else {"sum": 1})
    return called
