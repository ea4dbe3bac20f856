"""The generated files about the tools: `--table` prints docs/tools.md, `--results` the schemas of their results, which
ship with the protocol.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from starloom_agent.policy.offers import open_schema
from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.result_schemas import schema_of_result
from starloom_agent.work.registry import all_tools
from starloom_protocol.records.fleet import ToolOffer
from starloom_protocol.tools.arguments import about_in, arguments_in, example_of
from starloom_protocol.tools.hub_tools import HUB_TOOLS
from starloom_protocol.tools.results import fields_of
from starloom_protocol.values import canonical, parse

_HEAD = """# Tools

What a device can do. Made by `python -m starloom_agent.owner.tool_pages --table`; a test fails when it is stale.

A tool without a grant is allowed in every profile. *Effect* is what it may do to the world, *repeat* how often it may
run: `pure` and `idempotent` tools are tried again automatically, `never` ones only by a person.
The last three rows are carried out by the hub itself ([Plans](plans.md)): no device offers them and none is asked.
A bold argument is needed. The types of the arguments and the fields of the results follow below the table.

| tool | does | effect | repeat | grant | arguments |
|---|---|---|---|---|---|
"""
_ARGUMENTS_HEAD = """
## Arguments

The type of each argument, its unit and its default; what has no default may be left out unless it is *needed*. A field
with `?` of a map may be left out. `starloom tools show NAME` says the same of the tools that your devices offer. The
example is a task of a plan.
"""
_RESULTS_HEAD = """
## Results

The fields that a pointer such as `/rows/0/name` may name in a plan; a plan that names another one is refused. A field
with `?` is not in every result; `{}` says that other fields may be there.

| tool | fields of its result |
|---|---|
"""


def arguments_of(tool: Tool) -> str:
    """Return the names of a tool's arguments; those without a default are bold."""
    arguments = open_schema(tool.args)["$defs"][tool.args.__name__]
    required = set(arguments.get("required", ()))
    return " ".join(f"**{name}**" if name in required else name for name in arguments.get("properties", {})) or "-"


def table() -> str:
    """Return the whole document, ending in one line end."""
    rows = []
    for tool in sorted(all_tools(), key=lambda tool: tool.name):
        effects = " ".join(tool.effects) or "none"
        grant = f"`{tool.grant}`" if tool.grant else "-"
        title = tool.title + (" (only with `--lab`)" if tool.lab_only else "")
        rows.append(f"| `{tool.name}` | {title} | {effects} | {tool.repeatability} | {grant} | {arguments_of(tool)} |")
    schemas = [(tool.name, open_schema(tool.args)) for tool in sorted(all_tools(), key=lambda tool: tool.name)]
    schemas += [(name, parse(offer.args)) for name, offer in HUB_TOOLS.items()]
    lines = [_argument_row(name, schema) for name, schema in schemas]
    rows += [_of_hub(offer) for offer in HUB_TOOLS.values()]
    results = [f"| `{tool.name}` | {_fields(tool)} |" for tool in sorted(all_tools(), key=lambda tool: tool.name)]
    results += [f"| `{name}` | {' '.join(fields_of(offer.returns))} |" for name, offer in HUB_TOOLS.items()]
    arguments = _ARGUMENTS_HEAD + "\n" + "\n".join(lines)
    return _HEAD + "\n".join(rows) + "\n" + arguments + _RESULTS_HEAD + "\n".join(results) + "\n"


def _argument_row(name: str, schema: Any) -> str:
    """Return the section of a tool: what it does with its arguments, each of them in words, and an example."""
    arguments = "".join(f"- `{one.name}` {one.words()}\n" for one in arguments_in(schema))
    parts = (f"### `{name}`\n", about_in(schema), arguments, f"`{example_of(name, schema)}`")
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _of_hub(offer: ToolOffer) -> str:
    """Return the row of a tool that the hub carries out, behind those of devices."""
    schema: dict[str, Any] = parse(offer.args)
    names = [f"**{name}**" if name in schema["required"] else name for name in schema["properties"]]
    does = f"{offer.title} (the hub itself)"
    return f"| `{offer.name}` | {does} | {' '.join(offer.effects)} | {offer.repeatability} | - | {' '.join(names)} |"


def _fields(tool: Tool) -> str:
    """Return the fields of a tool's result, those of the entries of its lists in brackets behind them."""
    return " ".join(field.replace("|", "\\|") for field in fields_of(schema_of_result(tool)))


def results() -> str:
    """Return the schemas of all results as one JSON document, ending in one line end."""
    lines = [
        f"{canonical(tool.name)}: {schema_of_result(tool)}" for tool in sorted(all_tools(), key=lambda tool: tool.name)
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m starloom_agent.owner.tool_pages", description="The tools of this agent."
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--table", action="store_true", help="write docs/tools.md to standard output")
    what.add_argument("--results", action="store_true", help="write the schemas of the results to standard output")
    sys.stdout.write(results() if parser.parse_args(argv).results else table())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
