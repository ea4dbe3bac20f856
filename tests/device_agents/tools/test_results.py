"""Every built-in tool says what its result is, and its real result is that.

Each call through `Device.call` is held against the schema of its tool, so every test of this folder that carries a tool
out shows it; here stands that none is left out, and that a result of another form would be seen.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest

from starloom_agent.owner.tool_pages import results, table
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy
from starloom_agent.toolkit.result_schemas import schema_of_result
from starloom_agent.work.registry import all_tools
from starloom_protocol.tools.results import SCHEMAS, built_in
from starloom_protocol.tools.results import returned_by as known_of
from starloom_protocol.values import canonical, parse, point
from tests.device_agents.toolkit.running.test_display import Install, install
from tests.device_agents.tools.conftest import Device
from tests.device_agents.tools.results import TOOL_BYTES_MOST, faults, offer_of_a_host

__all__ = ["install"]
TOOLS: Final = {tool.name: tool for tool in all_tools()}
ROOT: Final = Path(__file__).resolve().parents[3]
_CALLED: Final = re.compile(r'\bcall\(\s*"([a-z]+(?:\.[a-z]+)?)"')


def test_every_tool_is_carried_out_by_a_test() -> None:
    files = (
        path for folder in ("tools", "toolkit") for path in (ROOT / "tests/device_agents" / folder).rglob("test_*.py")
    )
    called = {name for path in files for name in _CALLED.findall(path.read_text(encoding="utf-8"))}
    assert set(TOOLS) - called == set()


def test_updates_come_as_they_are_told(install: Install, device: Device) -> None:
    line = "vim/jammy-security 9.2 amd64 [upgradable from: 9.1]"
    install("", apt=f"echo '{line}'")
    assert device.call("package.updates", device_name="box")["security_count"] == 1
    install("", apt="exit 0")
    assert device.call("package.updates")["rows"] == []


def test_updates_of_which_nobody_knows_the_purpose_say_so(install: Install, device: Device) -> None:
    install("", pacman="echo 'linux 6.1-1 -> 6.2-1'")
    updates = device.call("package.updates")
    assert (updates["count"], updates["note"]) == (1, "pacman does not say which updates are for security")


def test_no_package_manager_is_told_as_a_result(install: Install, device: Device) -> None:
    install("")
    assert device.call("package.updates", device_name="box")["summary"]["unseen"]


def test_answers_of_a_desktop_come_as_they_are_told(install: Install, device: Device) -> None:
    install("x11", zenity="echo yes", xdg_open="exit 0", notify_send="exit 0")
    assert device.call("ask", text="Go on?", choices=["yes", "no"]) == {"answer": "yes"}
    install("x11", zenity="echo false", xdg_open="exit 0", notify_send="exit 0")
    assert device.call("ask", text="Is it open?", choices=["true", "false"]) == {"answer": "false"}
    assert device.call("open", target="https://example.org/") == {"opened": "https://example.org/"}
    assert device.call("notify", text="Done")["shown"] == "notify-send"


@pytest.mark.parametrize("value", [None, {"a": [1]}])
def test_an_echo_comes_as_it_is_told(value: Any, device: Device) -> None:
    assert device.call("lab.echo", value=value) == {"value": value}


def example(schema: Any, root: Any) -> Any:
    """Return the least value of a schema."""
    if "$ref" in schema:
        return example(point(root, schema["$ref"][1:]), root)
    if "anyOf" in schema:
        return example(schema["anyOf"][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    plain: dict[str | None, Any] = {"string": "", "integer": 1, "number": 1.5, "boolean": True, "array": [], None: None}
    if schema.get("type") != "object":
        return plain[schema.get("type")]
    return {name: example(schema["properties"][name], root) for name in schema.get("required", [])}


@pytest.mark.parametrize("name", TOOLS)
def test_a_result_that_a_tool_does_not_declare_is_a_fault(name: str) -> None:
    schema = parse(schema_of_result(TOOLS[name]))
    value = example(schema, schema)
    assert faults(name, value) == []
    assert all(faults(name, {key: item for key, item in value.items() if key != lost}) for lost in value)
    unknown = bool(faults(name, {**value, "surely_not_there": 1}))
    assert unknown is (name != "data.group"), f"the result type of {name} must name its fields"
    assert faults(name, [value])


def test_the_schemas_that_both_ends_have_are_fresh() -> None:
    shipped = (ROOT / "protocol/starloom_protocol/tools" / SCHEMAS).read_text(encoding="utf-8")
    assert shipped == results(), "stale; run `make gen`"


def test_the_table_of_tools_is_fresh() -> None:
    assert (ROOT / "docs" / "tools.md").read_text(encoding="utf-8") == table(), "stale; run `make gen`"


def test_an_offer_names_the_schemas_and_stays_small(tmp_path: Path) -> None:
    frame = offer_of_a_host(tmp_path)
    assert {tool.name: known_of(tool) for tool in frame.offer.tools} == dict(built_in())
    sizes = {tool.name: len(msgspec.json.encode(tool)) for tool in frame.offer.tools}
    largest = sorted(sizes, key=lambda name: -sizes[name])[:5]
    assert len(msgspec.json.encode(frame)) <= TOOL_BYTES_MOST * len(sizes), f"say less in the words of {largest}"
    inline = sum(len(text) for text in built_in().values())
    assert inline > 10 * sum(len(tool.returns) for tool in frame.offer.tools)


def test_a_schema_that_this_side_does_not_know_is_open(tmp_path: Path) -> None:
    offer = make_offer(all_tools()[:1], Policy(), slots=1, folder=tmp_path).offer.tools[0]
    replaced = [msgspec.structs.replace(offer, returns=text) for text in ("", "sha256:0", "{", "7", '"' + "x" * 20_000)]
    assert {known_of(one) for one in replaced} == {""}
    own = canonical({"type": "object"})
    assert known_of(msgspec.structs.replace(offer, returns=own)) == own


def test_the_types_of_results_are_named_once() -> None:
    defined: dict[str, str] = {}
    for tool in TOOLS.values():
        for name, schema in parse(schema_of_result(tool))["$defs"].items():
            assert defined.setdefault(name, canonical(schema)) == canonical(schema), name
