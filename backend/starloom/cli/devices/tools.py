"""Commands for the tools that devices offer: `tools ls`, and `tools show` with arguments and fields of the result."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, TypedDict

import typer

from starloom.cli import completion
from starloom.cli.invocation import Invocation, hub_command
from starloom.client.problems import usage
from starloom.client.routes import get_capabilities, get_device
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.typed import say
from starloom_protocol.tools.arguments import about_in, arguments_in, example_of
from starloom_protocol.tools.results import fields_of
from starloom_protocol.values import canonical

ToolArgument = Annotated[
    str, typer.Argument(metavar="TOOL", help="A tool's name, such as disk.usage.", autocompletion=completion.tools)
]


class _Version(TypedDict):
    """The schemas of a tool as some devices offer them."""

    devices: list[str]
    args: Any
    returns: Any


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    tools = typer.Typer(help="Look at what devices can do.", no_args_is_help=True)
    hub_command(tools, "ls")(list_tools)
    hub_command(tools, "show")(show_tool)
    app.add_typer(tools, name="tools")


def list_tools(run: Invocation) -> None:
    """List the tools that devices offer: effects, the grant that each needs, the devices."""
    page = run.client.get(get_capabilities())
    if run.as_json:
        run.emit(page)
        return
    if not page["items"]:
        say("No device offers a tool yet. Add one: starloom enroll")
        return
    from rich.table import Table

    from starloom.client.terminal.console import console
    from starloom.client.terminal.fitting import Fitted

    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in ("tool", "effects", "grant", "devices", "does"):
        table.add_column(name, no_wrap=name == "tool")
    for item in page["items"]:
        able = [device["name"] for device in item["devices"] if not device["unavailable"]]
        devices = ", ".join(able) or "none now"
        texts = (item["tool"], ", ".join(item["effects"]), item["grant"] or "", devices, item["title"])
        table.add_row(*texts)
    console().print(Fitted(table, spared=("effects", "grant")))


def show_tool(run: Invocation, tool: ToolArgument) -> None:
    """Show a tool: its devices, its arguments, and the fields of its result. `?`: not in every result."""
    items = {item["tool"]: item for item in run.client.get(get_capabilities())["items"]}
    if tool not in items:
        near = difflib.get_close_matches(tool, items, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"There are: {', '.join(items) or 'none'}."
        raise usage(f"no device offers {tool}", hint)
    item = items[tool]
    versions = [_offered(run, device["id"], tool) for device in item["devices"]]
    distinct = _distinct(versions)
    if run.as_json:
        run.emit({**item, "versions": distinct})
        return
    tell(f"{tool}  {item['title']}")
    tell(
        f"  effects: {', '.join(item['effects']) or 'none'}; {item['repeatability']}; grant: {item['grant'] or 'none'}"
    )
    able = [device["name"] for device in item["devices"] if not device["unavailable"]]
    tell(f"  devices: {', '.join(able) or 'none can now'}")
    for device in item["devices"]:
        if device["unavailable"]:
            tell(f"  not on {device['name']}: {device['unavailable']}")
    for version in distinct:
        of = f" ({', '.join(version['devices'])})" if len(distinct) > 1 else ""
        _tell_arguments(tool, version["args"], of)
        gives = " ".join(fields_of(canonical(version["returns"]))) if version["returns"] else "nobody has said"
        tell(f"  gives{of}: {gives}")


def _tell_arguments(tool: str, schema: Any, of: str) -> None:
    """Tell the arguments of a tool, a line each, and an example of a call."""
    arguments = arguments_in(schema)
    if about := about_in(schema):
        tell(f"  about{of}: {about}")
    tell(f"  takes{of}:" if arguments else f"  takes{of}: nothing")
    for argument in arguments:
        tell(f"    {argument.name}: {argument.words()}")
    tell(f"  example{of}, a task of a plan: {example_of(tool, schema)}")


def _offered(run: Invocation, device: str, tool: str) -> _Version:
    device_row = run.client.get(get_device(device))
    offered = next((tool_row for tool_row in device_row["tools"] if tool_row["name"] == tool), None)
    args, returns = (offered["args"], offered["returns"]) if offered is not None else (None, None)
    return {"devices": [device_row["name"]], "args": args, "returns": returns}


def _distinct(versions: list[_Version]) -> list[_Version]:
    """Return each version once, with all the devices that have it."""
    by_schemas: dict[str, _Version] = {}
    for version in versions:
        key = canonical([version["args"], version["returns"]])
        version_of_schemas = by_schemas.setdefault(key, {**version, "devices": []})
        version_of_schemas["devices"] += version["devices"]
    return list(by_schemas.values())
