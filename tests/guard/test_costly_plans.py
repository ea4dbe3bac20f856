"""Plans and edits of a permitted size that mean far more than they say (T206): they keep the hub from nobody.

Each case took the hub seconds to minutes, or gigabytes, in a preview that anybody may ask for, or in one edit.
"""

from __future__ import annotations

import difflib
import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

from starloom.core.plan.batches import added_items
from starloom.core.state.orders import Answer
from starloom_protocol.plan import check_plan, read_recipe
from starloom_protocol.plan.checks.graph import DEPENDENCIES_MAX
from starloom_protocol.plan.recipe import PARAMS_MOST, PHRASES_MOST
from starloom_protocol.records.edits import AddDependency, AddItems, AddTask, DropItems
from starloom_protocol.records.entities import Finds, Input
from starloom_protocol.values import canonical, parse
from starloom_protocol.vocabulary import Code
from tests.builders import Driver, edge, plan, task
from tests.core.plan.test_edits import edit
from tests.core.plan.test_relisting import LIST
from tests.cost import GROWTH_MOST, calls

MB_MOST = 400
"""A plan at the limit of dependencies takes some 150; these took up to 16,000."""
COMPARED_MOST = 50 * 500
"""So many words are held against names, the zones of the world at the most; a pair takes up to half a millisecond."""


@pytest.fixture
def memory() -> Iterator[None]:
    """Hold the body to so many megabytes of objects."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < MB_MOST * 1024 * 1024, peak


def written(*tasks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"starloom": 1, "name": "attack", "tasks": list(tasks), **fields}


def of(count: int, name: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"id": f"{name}{number}", "tool": "a.b", **fields} for number in range(count)]


def nested(inside: int, before: int) -> dict[str, Any]:
    """Return a plan in which so many tasks stand before a plan of so many."""
    gates = [{"from": f"s{number}", "to": "in"} for number in range(before)]
    return written({"id": "in", "plan": {"tasks": of(inside, "t")}}, *of(before, "s"), dependencies=gates)


def findings(publishers: int, readers: int, **fields: Any) -> dict[str, Any]:
    """Return a plan in which so many tasks write about a topic that so many inputs take."""
    inputs = {f"i{number}": {"finding": "x", **fields} for number in range(10)}
    return written(*of(publishers, "p", finds={"topic": "x", "value": ""}), *of(readers // 10, "r", inputs=inputs))


TOO_BIG = {
    "gates of a plan within": lambda: nested(4_000, 4_000),
    "readers of a topic": lambda: findings(100, 10_000),
    "publishers of a topic": lambda: findings(4_000, 10_000),
    "publishers of a topic that is to be fresh": lambda: findings(4_000, 5_000, fresh_s=5),
}


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("kind", TOO_BIG)
def test_t206_a_short_plan_that_means_millions_of_gates_is_refused_early(kind: str) -> None:
    document = TOO_BIG[kind]()
    assert len(json.dumps(document)) < 1024 * 1024, "the hub takes a plan of this size"
    faults = check_plan(document).faults
    assert Code.PLAN_TOO_BIG in [fault.code for fault in faults]
    assert len(faults) < 10, "its faults are not told one by one"


def test_t206_a_plan_at_the_limit_is_taken() -> None:
    inside = 1_000
    checked = check_plan(nested(inside, DEPENDENCIES_MAX // (inside + 1)))
    assert not checked.faults


def test_t206_readers_of_a_topic_cost_in_proportion_to_their_number() -> None:
    """Each reader looked at all tasks of the plan for those that publish its topic."""

    def cost(readers: int) -> int:
        return calls(lambda: check_plan(findings(10, readers)))

    assert cost(4_000) < GROWTH_MOST * cost(2_000)


def chained(count: int) -> tuple[Driver, list[AddDependency]]:
    """Return a plan with a list of so many rows, and the edges that put each behind the one before."""
    driver = Driver("one")
    driver.submit(plan(task("l"), task("w", for_each=LIST)))
    driver.result(driver.take()[0], {"l": list(range(count + 200))})
    return driver, [AddDependency(dependency=edge(f"w.{at}>w.{at + 1}")) for at in range(100, 100 + count)]


def test_t206_rows_that_are_put_one_behind_the_other_are_ranked_in_a_pass() -> None:
    """4,000 edges took the engine twenty seconds, in which no other constellation went on."""

    def cost(count: int) -> int:
        driver, edges = chained(count)
        return calls(lambda: edit(driver, *edges))

    assert cost(2_000) < GROWTH_MOST * cost(1_000)


def refused(answer: Answer) -> list[Code]:
    assert len(answer.faults) <= 1_010, "not each of a million"
    return [fault.code for fault in answer.faults]


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("how", ["gates", "topic"])
def test_t206_a_short_edit_that_means_millions_of_gates_is_refused_early(how: str) -> None:
    driver = Driver("one")
    inside = [task(f"in.t{number}", group="in") for number in range(1_500)]
    first = [edge("ask>in"), *(edge(f"ask>{spec.id}") for spec in inside)]
    driver.submit(plan(task("ask", person="Go?"), task("in", nested=True, tool=None), *inside, *first))
    found = driver.shard.constellations["c1"]
    version = found.head.version
    before = [AddTask(spec=task(f"s{number}")) for number in range(1_500)]
    if how == "gates":
        more: list[Any] = [AddDependency(dependency=edge(f"s{number}>in")) for number in range(1_500)]
    else:
        reads = [Input(name=f"i{number}", topic="x", source="", output="") for number in range(200)]
        before = [AddTask(spec=task(f"s{number}", finds=Finds(topic="x", output=""))) for number in range(1_500)]
        more = [AddTask(spec=replace(task(f"r{number}"), inputs=reads)) for number in range(200)]
    assert Code.PLAN_TOO_BIG in refused(edit(driver, *before, *more))
    assert (found.head.version, len(found.specs)) == (version, 1_502)


def test_t206_the_note_of_an_edit_is_short_however_much_it_kept() -> None:
    driver, _ = chained(1)
    assert not edit(driver, DropItems(of="w", keys=canonical([str(at) for at in range(10_000, 60_000)]))).faults
    found = driver.shard.constellations["c1"]
    note = found.versions[str(found.head.version)].reason
    assert "and 49980 more" in note
    assert len(note) < 1_000


def rows(members: int) -> Driver:
    """Return a list of one row that runs, through which so many groups go."""
    driver = Driver("one")
    more = [task(f"m{number}", for_each=replace(LIST, same="w")) for number in range(members - 1)]
    driver.submit(plan(task("l"), task("w", for_each=LIST), *more))
    driver.result(driver.take()[0], {"l": [1]})
    return driver


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(("members", "operations"), [(100, 1), (10, 40)])
def test_t213_rows_that_mean_a_million_tasks_are_refused_early(members: int, operations: int) -> None:
    """Rows of 20 KB for a list of a hundred groups took half a gigabyte and five seconds of the engine."""
    driver = rows(members)
    added = AddItems(to="w", items=canonical([0] * 10_000))
    assert Code.PLAN_TOO_BIG in refused(edit(driver, *[added] * operations))
    assert len(driver.shard.constellations["c1"].tasks) == 1 + members


def test_t213_rows_one_by_one_cost_in_proportion_to_their_number() -> None:
    """Each looked at all rows before it: 10,000 of them held up every constellation for nine seconds."""

    def cost(count: int) -> int:
        driver = rows(1)
        one = AddItems(to="w", items=canonical([0]))
        return calls(lambda: edit(driver, *[one] * count))

    assert cost(1_000) < GROWTH_MOST * cost(500)


def test_t213_the_fields_of_rows_are_looked_for_once() -> None:
    """The arguments of the list's calls were read for each operation: a plan of 1 MB and 10,000 of them."""
    driver = Driver("one")
    args = canonical({"rate": {"each": "/rate"}, "more": list(range(3_000))})
    driver.submit(plan(task("l"), task("w", for_each=LIST, args=args)))
    driver.result(driver.take()[0], {"l": [{"rate": 1}]})
    one = AddItems(to="w", items=canonical([{"rate": 2}]))
    read: list[str] = []

    def parsed(text: str) -> Any:
        read.append(text)
        return parse(text)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(added_items, "parse", parsed)
        assert not edit(driver, *[one] * 200).faults
    assert read.count(args) == 1


def test_t213_the_note_of_an_edit_is_short_however_many_rows_it_added() -> None:
    driver = rows(40)
    assert not edit(driver, *[AddItems(to="w", items=canonical([0]))] * 100).faults
    found = driver.shard.constellations["c1"]
    note = found.versions[str(found.head.version)].reason
    assert "100 items more for w, m0" in note
    assert note.endswith("and 20 more")
    assert len(note) < 1_000


def near(kind: str, count: int) -> dict[str, Any]:
    """Return a plan of long names that hardly differ, with so many slips."""
    same = "a" * 58
    if kind == "topics":
        reads = [{f"i{at}": {"finding": f"{same}b{number}"} for at in range(10)} for number in range(count // 10)]
        writers = [{"id": f"p{at}", "tool": "a.b", "finds": {"topic": f"{same}{at}", "value": ""}} for at in range(100)]
        return written(*writers, *({"id": f"r{at}", "tool": "a.b", "inputs": one} for at, one in enumerate(reads)))
    if kind == "zones":
        zones = [f"Americb/Argentinb/Buenos{number}" for number in range(count)]
        read = [{"not_before": {"from": "s0", "output": "/at", "zone": zone}} for zone in zones]
        return written(*of(1, "s"), *({"id": f"r{at}", "tool": "a.b", **one} for at, one in enumerate(read)))
    gates = [{"from": f"{same}b{number}", "to": f"{same}c{number}"} for number in range(count)]
    return written(*of(2_000, same), dependencies=gates)


@pytest.mark.parametrize("kind", ["topics", "zones", "tasks"])
def test_t206_the_nearest_names_are_looked_for_a_bounded_number_of_times(kind: str) -> None:
    """Each slip was compared with each name: a plan of 100 KB took half a minute."""
    compared: list[str] = []
    ratio = difflib.SequenceMatcher.ratio

    def counted(matcher: Any) -> float:
        compared.append(kind)
        return ratio(matcher)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(difflib.SequenceMatcher, "ratio", counted)
        checked = check_plan(near(kind, 1_000))
    assert len(checked.faults) >= 500
    assert any("Did you mean" in fault.hint for fault in checked.faults)
    assert len(compared) <= COMPARED_MOST


@pytest.mark.parametrize("part", ["phrases", "params"])
def test_t207_a_recipe_has_so_many_phrases_and_parameters(part: str) -> None:
    """A check reads each phrase among all others: 1,600 of them took minutes, for anybody who may only look."""
    most = PHRASES_MOST if part == "phrases" else PARAMS_MOST

    def faults(count: int) -> list[str]:
        phrases = [f"frobnicate part {at}" for at in range(count)]
        params = {f"p{at}": {"type": "text", "optional": True} for at in range(count)}
        document = {
            "starloom_recipe": 1,
            "name": "big",
            "title": "Big",
            "version": 1,
            "plan": written(*of(1, "t")),
            **({"phrases": phrases} if part == "phrases" else {"params": params}),
        }
        return [fault.place for fault in read_recipe(json.dumps(document)).faults]

    assert faults(most) == []
    assert faults(most + 1) == [part]
