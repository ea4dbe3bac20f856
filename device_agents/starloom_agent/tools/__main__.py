"""`python -m starloom_agent.tools --table`: the table of all tools, as it stands in docs/tools.md."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec

from starloom_agent.tools.interface import Tool
from starloom_agent.tools.registry import all_tools

_HEAD = """# Tools

What a device can do. Made by `python -m starloom_agent.tools --table`; a test fails when it is stale.

A tool without a grant is allowed in every profile. *Effect* is what it may do to the world, *repeat* how often it may
run: `pure` and `idempotent` tools are tried again by themselves, `never` ones only by a person.

| tool | does | effect | repeat | grant | arguments |
|---|---|---|---|---|---|
"""


def arguments_of(tool: Tool) -> str:
    """Return the names of a tool's arguments; those without a default are bold."""
    schema: dict[str, Any] = msgspec.json.schema(tool.args)
    own = schema["$defs"][tool.args.__name__]
    required = set(own.get("required", ()))
    return " ".join(f"**{name}**" if name in required else name for name in own.get("properties", {})) or "-"


def table() -> str:
    """Return the whole document, ending in one line end."""
    rows = []
    for tool in sorted(all_tools(), key=lambda tool: tool.name):
        effects = " ".join(tool.effects) or "none"
        grant = f"`{tool.grant}`" if tool.grant else "-"
        title = tool.title + (" (only with `--lab`)" if tool.lab_only else "")
        rows.append(f"| `{tool.name}` | {title} | {effects} | {tool.repeatability} | {grant} | {arguments_of(tool)} |")
    return _HEAD + "\n".join(rows) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m starloom_agent.tools", description="The tools of this agent.")
    parser.add_argument("--table", action="store_true", required=True, help="write docs/tools.md to standard output")
    parser.parse_args(argv)
    sys.stdout.write(table())
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
