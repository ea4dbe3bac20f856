"""Commands for secrets: `secret set|ls|rm`. A value is typed unseen, piped, or read from a file; never an argument."""

from __future__ import annotations

import difflib
import getpass
import sys
from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.nearest import unknown
from starloom.client.problems import Problem, usage
from starloom.client.routes import delete_secret, get_capabilities, get_recipes, get_secrets, put_secret
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom_protocol.records.access import SECRET_BYTES_MOST, SECRET_NAME
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code

if TYPE_CHECKING:
    from starloom_protocol.api.people import SecretRow, SetSecret

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="As plans name it: {secret: NAME}.")]


def register(app: typer.Typer) -> None:
    secret = typer.Typer(help="Passwords and keys that plans name; they are never shown again.", no_args_is_help=True)
    hub_command(secret, "set")(set_secret)
    hub_command(secret, "ls")(list_secrets)
    hub_command(secret, "rm")(remove_secret)
    app.add_typer(secret, name="secret")


def set_secret(
    run: Invocation,
    name: NameArgument,
    from_file: Annotated[
        Path | None, typer.Option("--from-file", metavar="FILE", help="Read it from a file; `-` is standard input.")
    ] = None,
    for_device: Annotated[list[str] | None, typer.Option("--for-device", help="Only this device may have it.")] = None,
    for_tool: Annotated[list[str] | None, typer.Option("--for-tool", help="Only for calls of this tool.")] = None,
    for_recipe: Annotated[list[str] | None, typer.Option("--for-recipe", help="Only for plans of this recipe.")] = None,
    for_any: Annotated[bool, typer.Option("--for-any", help="Lift the limits that it had.")] = False,
) -> None:
    """Set a secret or replace its value; limits that are not given stay."""
    if not SECRET_NAME.fullmatch(name):
        raise usage(f"{quoted(name)} is no name of a secret", "Use letters, digits, `-`, `_` and `.`, at most 64.")
    if for_any and (for_device or for_tool or for_recipe):
        raise usage("--for-any stands alone", "Name the devices, tools and recipes, or --for-any.")
    _refuse_misspelt(run, for_tool, for_recipe)
    body: dict[str, Any] = {"value": _value(name, from_file)}
    for field, names in (("devices", for_device), ("tools", for_tool), ("recipes", for_recipe)):
        if names or for_any:
            body[field] = list(names or [])
    secret = run.client.put(put_secret(name), body)
    if run.emits(secret):
        return
    print(f"{name} is set, version {secret['version']}; {_limits(secret)}. Plans name it {{secret: {name}}}.")


def _refuse_misspelt(run: Invocation, tools: Collection[str] | None, recipes: Collection[str] | None) -> None:
    """Refuse the name of a tool or recipe that is nearly that of another; one that is like none may come later."""
    try:
        offered = [row["tool"] for row in run.client.get(get_capabilities())["items"]] if tools else []
        recipe_names = [row["name"] for row in run.client.get(get_recipes())["items"]] if recipes else []
    except Problem as problem:
        if problem.code != Code.FORBIDDEN:  # a token that sets secrets need not read the fleet
            raise
        return
    for kind, given_names, names in (("tool", tools, offered), ("recipe", recipes, recipe_names)):
        for name in given_names or ():
            near = [] if name in names else difflib.get_close_matches(name, names, n=1)
            if near:
                raise usage(
                    f"there is no {kind} {name}, so no call would receive the secret", f"Did you mean {near[0]}?"
                )


def list_secrets(run: Invocation) -> None:
    """List the secrets: version, last use, who may receive them. No value is ever shown."""
    page = run.client.get(get_secrets())
    if run.emits(page):
        return
    for item in page["items"]:
        use = f"last used {clock(item['last_used_at'])}" if item["last_used_at"] else "never used"
        print(f"{item['name']:<24} version {item['version']}  set {clock(item['set_at'])}  {use}  {_limits(item)}")
    if not page["items"]:
        say("No secret is set. Set one: starloom secret set NAME")


def remove_secret(
    run: Invocation,
    name: NameArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a secret; tasks that need it wait from then on."""
    if not yes:
        names = [item["name"] for item in run.client.get(get_secrets())["items"]]
        if name not in names:
            raise unknown("no secret is called", name, names, "starloom secret ls")
        ends = f"this removes the secret {name}; its value is nowhere else here, and tasks that need it wait"
        question = f"Remove the secret {name}? Its value is nowhere else here, and tasks that need it wait."
        if not run.agrees(ends, question, f"starloom secret rm {quote(name)}"):
            print("Nothing was removed.")
            return
    run.client.delete(delete_secret(name))
    run.answer({"name": name, "removed": True}, f"{name} removed")


def _limits(item: SecretRow | SetSecret) -> str:
    parts = [
        ("on", [device["name"] for device in item["devices"]]),
        ("for", item["tools"]),
        ("in plans of", item["recipes"]),
    ]
    limits = " ".join(f"{word} {', '.join(names)}" for word, names in parts if names)
    return f"only {limits}" if limits else "for any device, tool and plan"


def _value(name: str, from_file: Path | None) -> str:
    if from_file is None and sys.stdin.isatty():
        value = getpass.getpass(f"Value of {name} (not shown): ")
        if value != getpass.getpass("The same again: "):
            raise usage("the two are not the same", "Nothing was set; type it again.")
        return value
    try:
        if from_file is None or str(from_file) == "-":
            raw = sys.stdin.buffer.read(SECRET_BYTES_MOST + 2)
        else:
            with from_file.open("rb") as file:
                raw = file.read(SECRET_BYTES_MOST + 2)
        text = raw.decode("utf-8")
    except OSError as error:
        raise usage(f"{from_file} cannot be read: {error.strerror}", "Name a file with the value.") from error
    except UnicodeDecodeError:
        # Without its cause: that would carry the bytes.
        raise usage("the value is no UTF-8 text", "Encode it, for example with base64.") from None
    # The line end that an editor or `echo` puts after the last line belongs to the file, not to the value.
    return text.removesuffix("\n").removesuffix("\r")
