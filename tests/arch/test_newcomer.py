"""The newcomer's exercise: a tool is one file, and with it the tool is in offers, documents, rows and the brief."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from starloom_protocol.tools.results import SCHEMAS
from tests import programs
from tests.arch.checkout import ROOT, files
from tests.device_agents.tools.results import TOOL_BYTES_MOST
from tests.e2e.test_sizes import PLACES
from tests.e2e.test_walk import OTHERS
from tests.planner.prompts import BYTES_MAX

TOOL = '''"""`greet.say`: a greeting, to show how a tool is added."""

from __future__ import annotations

from typing import TypedDict

from starloom_agent.toolkit.interface import Args, Tool, ToolContext
from starloom_protocol.vocabulary import Repeatability


class Say(Args, frozen=True, kw_only=True):
    """Greet the person of this `name` in the log of the call."""

    name: str


class Greeting(TypedDict):
    text: str


def say(context: ToolContext, args: Say) -> Greeting:
    context.log(f"greets {args.name}")
    return {"text": f"Hello, {args.name}"}


TOOLS = (Tool("greet.say", "Greet somebody", Say, say, (), Repeatability.PURE),)
'''
SHOWN = """
import json
from pathlib import Path
from starloom.planner.context.brief import brief
from starloom.planner.fleet import FleetSnapshot
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import Policy
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.entities import Device
offer = make_offer(all_tools(), Policy(), slots=1, folder=Path.cwd()).offer
tool = next(one for one in offer.tools if one.name == "greet.say")
device = Device(id="d-1", name="box", key="k", joined_ms=1)
fleet = FleetSnapshot.of({"d-1": device}, {"d-1": offer}, {}, {})
print(json.dumps({"title": tool.title, "schema": tool.args, "returns": tool.returns,
                  "brief": "greet.say" in str(brief("greet Ann", fleet, ()))}))
"""


SIZES = """
import json
from pathlib import Path
import msgspec
from tests.device_agents.tools.results import offer_of_a_host
from tests.planner.prompts import CASES, text_of
offer = offer_of_a_host(Path.cwd())
assert any(tool.name == "greet.say" for tool in offer.offer.tools)
prompts = {name: text_of(case) for name, case in CASES.items()}
assert "greet.say" in prompts["one"]
print(json.dumps({"offer": len(msgspec.json.encode(offer)), "tools": len(offer.offer.tools),
                  **{name: len(text.encode()) for name, text in prompts.items()}}))
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for room in ("backend", "device_agents", "protocol", "recipes"):
        left_out = shutil.ignore_patterns("node_modules", "__pycache__", "_web", "dist", "browser", "*.egg-info")
        shutil.copytree(ROOT / room, tmp_path / room, ignore=left_out)
    return tmp_path


def ran(copy: Path, *argv: str) -> str:
    rooms = (copy / room for room in ("backend", "device_agents", "protocol"))
    path = ":".join(map(str, (*rooms, ROOT)))
    done = programs.ran([sys.executable, *argv], cwd=copy, env={"PYTHONPATH": path})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_tool_is_added_by_one_file(copy: Path) -> None:
    (copy / "device_agents/starloom_agent/tools/greet.py").write_text(TOOL)
    assert "| `greet.say` | Greet somebody |" in ran(copy, "-m", "starloom_agent.owner.tool_pages", "--table")
    assert '"greet.say"' in ran(copy, "-m", "starloom_agent.owner.tool_pages", "--results")
    shown = json.loads(ran(copy, "-c", SHOWN))
    assert shown["title"] == "Greet somebody"
    assert shown["brief"]
    assert '"name"' in shown["schema"]
    assert shown["returns"].startswith("sha256:")  # the schema ships with the protocol by its hash


def test_the_bounds_have_room_for_a_further_tool(copy: Path) -> None:
    (copy / "device_agents/starloom_agent/tools/greet.py").write_text(TOOL)
    results = ran(copy, "-m", "starloom_agent.owner.tool_pages", "--results")
    (copy / "protocol/starloom_protocol/tools" / SCHEMAS).write_text(results)
    sizes = json.loads(ran(copy, "-c", SIZES))
    tools = sizes.pop("tools")
    assert sizes.pop("offer") <= TOOL_BYTES_MOST * tools, "say less in the docstrings of arguments"
    assert {name: size for name, size in sizes.items() if size > BYTES_MAX} == {}, "say less in brief_words.py"


def test_a_file_of_tools_without_tools_is_named(copy: Path) -> None:
    (copy / "device_agents/starloom_agent/tools/empty.py").write_text('"""Nothing."""\n')
    with pytest.raises(AssertionError, match=r"starloom_agent\.tools\.empty"):
        ran(copy, "-m", "starloom_agent.owner.tool_pages", "--table")


def test_every_address_of_the_page_is_walked_and_measured() -> None:
    # An address that leads to another one has no page.
    addresses = set(re.findall(r'<Route path="(/[^":]*)">(?!.*<Redirect)', (ROOT / "frontend/src/App.tsx").read_text()))
    addresses -= {"/lab"}  # there only with a lab; tests/e2e/test_lab.py presses it
    assert addresses == OTHERS.keys(), "tests/e2e/test_walk.py"
    assert addresses == {f"/{place}" for place in PLACES}, "tests/e2e/test_sizes.py"


def test_every_address_of_one_thing_is_opened_by_a_browser() -> None:
    pages = "\n".join(path.read_text() for path in files(".py", under="tests/e2e"))
    told = re.findall(r'<Route path="(/[^"]*:[^"]*)"', (ROOT / "frontend/src/App.tsx").read_text())
    told.remove("/constellations/:id/edit")  # its pages are reached by a press of *Change the plan*, as people do
    shapes = {path: re.sub(r":\w+", r"\\{[^}]+\\}", path.removesuffix("/*?")) for path in told}
    assert "/devices/:id" in shapes
    missing = [path for path, shape in shapes.items() if not re.search(rf"{shape}(?!\w)", pages)]
    assert missing == [], "open it in a test of tests/e2e, at best in the lists of test_walk.py and test_sizes.py"
