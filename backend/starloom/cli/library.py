"""Recipes and artifacts: `recipes`, `recipe show|run`, `artifacts get`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from starloom.cli.asking import ParamOption, PreviewOption, WaitOption, submit
from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.problems import usage
from starloom_protocol.values import canonical


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    hub_command(app, "recipes")(recipes)
    recipe = typer.Typer(help="Look at one recipe, or carry it out.", no_args_is_help=True)
    hub_command(recipe, "show")(show_recipe)
    hub_command(recipe, "run")(run_recipe)
    app.add_typer(recipe, name="recipe")
    artifacts = typer.Typer(help="Files kept by the hub, by their SHA-256.", no_args_is_help=True)
    hub_command(artifacts, "get")(get_artifact)
    app.add_typer(artifacts, name="artifacts")


def recipes(run: Invocation) -> None:
    """List what can be asked for without a model."""
    found = run.client.get("/recipes")
    if run.as_json:
        run.emit(found)
        return
    for item in found["items"]:
        print(f"{item['name']:<18} {item['title']}")
        for phrase in (item.get("phrases") or [])[:1]:
            print(f"{'':<18} “{phrase}”")


def show_recipe(run: Invocation, name: Annotated[str, typer.Argument(metavar="NAME")]) -> None:
    """Show a recipe: phrases, parameters, what it asks for."""
    found = run.client.get(f"/recipes/{name}")
    if run.as_json:
        run.emit(found)
        return
    print(f"{found['name']}: {found['title']}")
    for phrase in found.get("phrases") or []:
        print(f"  “{phrase}”")
    parameters = found.get("params") or {}
    rows = parameters.items() if isinstance(parameters, dict) else ((item["name"], item) for item in parameters)
    for key, about in rows:
        needed = "" if about.get("optional") or "default" in about else "  (needed)"
        default = f"  default {canonical(about['default'])}" if about.get("default") is not None else ""
        print(f"  -p {key}=...   {about.get('type', 'text')}{default}{needed}")
    print(f"  effects: {', '.join(found.get('effects') or []) or 'read'}")


def run_recipe(
    run: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    param: ParamOption = None,
    wait: WaitOption = False,
    preview: PreviewOption = False,
) -> None:
    """Carry out a recipe: the same as `submit -r NAME`."""
    submit(run, recipe=name, param=param, wait=wait, preview=preview)


def get_artifact(
    run: Invocation,
    sha256: Annotated[str, typer.Argument(metavar="SHA256", help="The hash, as the answer names it.")],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file, or a folder that exists.")],
) -> None:
    """Save an artifact; its bytes are checked against the hash."""
    if len(sha256) != 64 or any(char not in "0123456789abcdef" for char in sha256):
        raise usage(f"{sha256} is no SHA-256 (64 hex digits)", "See `starloom result --json` for the full hash.")
    target = path / sha256[:16] if path.is_dir() else path
    count = run.client.download(sha256, target)
    if run.as_json:
        run.emit({"path": str(target), "bytes": count, "sha256": sha256})
    else:
        print(f"saved {target} ({count} bytes)")
