"""Commands for recipes: `recipes`, `recipe show|run|test|import|export|rm`.

`proposals` adds those for plans that may be kept.
"""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starloom.cli import completion
from starloom.cli.constellations.asking import (
    PLAN_ENDINGS,
    PLAN_HEAD,
    RECIPE_HEAD,
    AnywayOption,
    DeadlineOption,
    ParamOption,
    PreviewOption,
    WaitOption,
    submit,
)
from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.cli.owner import proposals
from starloom.cli.owner.recipe_trial import example_values, names_devices, stand_ins, trial_values, without_test
from starloom.client.exits import Exit
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    delete_recipe,
    get_devices,
    get_recipe,
    get_recipe_versions,
    get_recipes,
    post_constellations_preview,
    post_recipes,
    post_recipes_check,
)
from starloom.client.terminal.escaping import tell, write_out
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import parameters
from starloom_protocol.api.recipes import ExampleTried, TrustRow
from starloom_protocol.stream.authors import is_assistant, name_of, shown_name
from starloom_protocol.text.wording import escaped
from starloom_protocol.values import canonical

if TYPE_CHECKING:
    from starloom_protocol.api.previews import PlanPreview, RequestPreview
    from starloom_protocol.plan import Recipe

NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="As `starloom recipes` lists it.", autocompletion=completion.recipes)
]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    hub_command(app, "recipes")(recipes)
    recipe = typer.Typer(help="Look at one recipe, carry it out, or keep your own.", no_args_is_help=True)
    hub_command(recipe, "ls")(recipes)
    hub_command(recipe, "show")(show_recipe)
    hub_command(recipe, "run")(run_recipe)
    hub_command(recipe, "test")(prove_recipe)
    hub_command(recipe, "import")(import_recipe)
    hub_command(recipe, "export")(export_recipe)
    hub_command(recipe, "rm")(remove_recipe)
    proposals.register(recipe)
    app.add_typer(recipe, name="recipe")


def recipes(run: Invocation) -> None:
    """List the recipes, which need no model."""
    page = run.client.get(get_recipes())
    if run.as_json:
        run.emit(page)
        return
    for item in page["items"]:
        # A hub of an earlier release does not tell who saved it.
        trust = item.get("trust")
        author = trust.get("author", "") if trust else ""
        saved_by = f"saved by the assistant {name_of(author)}" if is_assistant(author) else "yours"
        author_words = "" if item.get("built_in", True) else f"  ({saved_by}, version {item['version']})"
        tell(f"{item['name']:<18} {item['title']}{author_words}")
        for phrase in (item.get("phrases") or [])[:1]:
            tell(f"{'':<18} “{phrase}”")


def show_recipe(
    run: Invocation,
    name: NameArgument,
    version: Annotated[int | None, typer.Option("--version", min=1, help="An older one that was saved here.")] = None,
) -> None:
    """Show a recipe: phrases, parameters, effects, versions."""
    recipe = run.client.get(get_recipe(name, version=version))
    if run.as_json:
        run.emit(recipe)
        return
    tell(f"{recipe['name']}: {recipe['title']}")
    for phrase in recipe.get("phrases") or []:
        tell(f"  “{phrase}”")
    for key, about in (recipe.get("params") or {}).items():
        needed = "" if about.get("optional") else "  (needed)"
        default = f"  default {canonical(about['default'])}" if about.get("default") is not None else ""
        # A hub of an earlier release does not tell it.
        default += f"  the same as {about['same_as']} if not given" if about.get("same_as") else ""
        kind = " or ".join(about.get("values") or [about.get("type", "text")])
        tell(f"  -p {key}=...   {kind}{default}{needed}")
    print(f"  effects: {', '.join(recipe.get('effects') or []) or 'read'}")
    if recipe.get("clock"):
        say(f'  can be scheduled: starloom schedule add -r {name} --cron "0 8 * * *"')
    if not recipe.get("built_in", True):
        _tell_trust(name, recipe["trust"])
        for item in run.client.get(get_recipe_versions(name))["items"]:
            counts = f"{item['runs']['clean']} clean, {item['runs']['failed']} failed"
            by = shown_name(item["author"])
            tell(f"  version {item['version']}, {item['saved_at']}, by {by}: {item['title']} ({counts})")
            if item["because"]:
                tell(f"    back from version {item['back_from']}: {item['because']}")


def _tell_trust(name: str, trust: TrustRow | None) -> None:
    """Tell whether words start it, where it came from, and the way out of a version that the hub went back from."""
    if trust is None:
        return
    if trust["source"]:
        tell(f"  kept from {trust['source']}")
    if trust["trial"]:
        progress = f"{trust['in_a_row']} of {trust['needed']} clean runs in a row"
        print(f"  on trial: {progress}; until then its words run it after its preview only, for its keeper")
    if trust["unread"]:
        say(f"  to undo that: starloom recipe restore {quote(name)} {trust['back_from']}")
        say(f"  to leave it so: starloom recipe seen {quote(name)}")


def run_recipe(
    run: Invocation,
    name: NameArgument,
    param: ParamOption = None,
    wait: WaitOption = False,
    preview: PreviewOption = False,
    deadline: DeadlineOption = None,
    anyway: AnywayOption = False,
) -> None:
    """Run a recipe: the same as `submit -r NAME`."""
    submit(run, recipe=name, param=param, wait=wait, preview=preview, deadline=deadline, anyway=anyway)


def prove_recipe(
    run: Invocation,
    recipe: Annotated[str, typer.Argument(metavar="NAME|FILE", help="A recipe of the hub, or a file.")],
    param: ParamOption = None,
) -> None:
    """Check a recipe and show its plan here, with the values of its test; starts nothing.

    Each phrase of a file is tried as a request, too. The exit code is 1 when one does not start this recipe, when a
    task has no device, or when a device lacks a grant.
    """
    from starloom_protocol.plan import read_recipe  # a third of a start, which no other command needs

    params = parameters(param) if param else {}
    # A recipe's name has neither a slash nor an ending, so either is meant as a file, also where there is none.
    if recipe == "-" or "/" in recipe or recipe.endswith(PLAN_ENDINGS) or Path(recipe).expanduser().is_file():
        text = run.read(recipe, "recipe")
        examples = run.client.post(post_recipes_check(), {"recipe": text})["examples"]
    else:
        examples = []
        text = str(run.client.get(get_recipe(recipe))["text"])
    head = read_recipe(text).recipe
    if head is None:
        raise usage(f"{recipe} was written for another version of the hub", "Install the command line of the hub.")
    placed = stand_ins(head, params, run.client.get(get_devices())["items"]) if names_devices(head, params) else {}
    values = trial_values(head, (head.test.params if head.test else {}) | params | placed)
    preview = run.client.post(post_constellations_preview(), {"plan": head.plan, "params": values})
    plans = [_tried_plan(run, head, example) for example in examples]
    if run.as_json:
        run.emit({**preview, **({"examples": plans} if examples else {})})
    else:
        from starloom.cli.text.preview_text import preview_text
        from starloom.client.terminal.console import console

        print(f"{head.name} reads well; this is what it would do here:")
        if placed:
            replacements = ", ".join(f"{name} is {device}" for name, device in placed.items())
            say(
                f"(Its test names devices that are not here, so {replacements}; others: -p {next(iter(placed))}=DEVICE)"
            )
        console().print(preview_text(preview), crop=False)
        for plan in plans:
            tell(_example_line(plan))
    unplaced = [task for task in preview["tasks"] if task["tool"] and not task["device"]]
    if unplaced or preview["missing_grants"] or any(plan["fits"] is False for plan in plans):
        finish(Exit.FAILED)


class _Tried(ExampleTried):
    """A phrase that was tried, with its plan where it fits."""

    plan: PlanPreview | RequestPreview | None


def _tried_plan(run: Invocation, head: Recipe, example: ExampleTried) -> _Tried:
    if not example["fits"]:
        return {**example, "plan": None}
    body = {"plan": head.plan, "params": trial_values(head, example["params"])}
    return {**example, "plan": run.client.post(post_constellations_preview(), body)}


def _example_line(example: _Tried) -> str:
    """Return a phrase with its tasks and devices, or with the reason why it starts no such plan."""
    if example["plan"] is None:
        mark = "not tried here" if example["fits"] is None else "DOES NOT FIT"
        return f"  “{example['words']}”  {mark}: {example['why']}"
    tasks = example["plan"]["tasks"]
    devices = dict.fromkeys(name for task in tasks for name in task["devices"])
    steps = ", ".join(task["id"] for task in tasks)
    return f"  “{example['words']}”  fits: {steps} on {', '.join(devices) or 'no device'}"


def import_recipe(
    run: Invocation,
    file: Annotated[str, typer.Argument(metavar="FILE", help="A recipe (YAML or JSON); - for stdin.")],
    over: Annotated[
        int | None, typer.Option("--over", min=1, metavar="N", help="Make it the version after version N.")
    ] = None,
) -> None:
    """Save a recipe at the hub. Runs nothing; all faults are reported at once."""
    body: dict[str, Any] = {"recipe": run.read(file, "recipe")}
    if PLAN_HEAD.search(body["recipe"]) and not RECIPE_HEAD.search(body["recipe"]):
        way = f"Run it: starloom submit -f {quote(file)} - docs/recipes.md shows the head that makes a recipe of it"
        raise usage(f"{file} is a plan, and no recipe", way)
    if over is not None:
        body["base_version"] = over
    try:
        recipe = run.client.create(post_recipes(), body)
    except Problem as problem:
        current = problem.document.get("current_version")
        if current is not None:
            problem.places = []
            problem.hint = f"Add --over {current} to make it version {current + 1}, or give it another name."
        raise
    if run.as_json:
        run.emit(recipe)
        return
    print(f"{recipe['name']} is kept as version {recipe['version']}. Nothing has run.")
    for sentence in recipe.get("lacking", []):
        print(escaped(sentence))
    say(f"Try it: starloom recipe test {quote(recipe['name'])}{_values(run, body['recipe'])}")


def _values(run: Invocation, text: str) -> str:
    """Return an example for each parameter of a recipe that needs a value and has none, as options of a line."""
    from starloom_protocol.plan import read_recipe

    head = read_recipe(text).recipe
    examples = {} if head is None else example_values(head, lambda: run.client.get(get_devices())["items"])
    pairs = (f"{key}={value if isinstance(value, str) else canonical(value)}" for key, value in examples.items())
    return "".join(f" -p {quote(pair)}" for pair in pairs)


def export_recipe(
    run: Invocation,
    name: NameArgument,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Without it, to the screen.")] = None,
    version: Annotated[int | None, typer.Option("--version", min=1, help="An older one that was saved here.")] = None,
) -> None:
    """Write a recipe as it was written, comments included; a built-in one without the test of Starloom's own."""
    recipe = run.client.get(get_recipe(name, version=version))
    ours = bool(recipe.get("built_in", True))
    text = without_test(recipe["text"]) if ours else recipe["text"]
    if run.as_json:
        run.emit({key: value for key, value in recipe["document"].items() if not (ours and key == "test")})
    elif file is None:
        write_out(text)
    else:
        target = file / f"{name}.yaml" if file.is_dir() else file
        if target.exists():
            raise usage(f"{target} exists already", "Choose another file, or remove that one first.")
        target.write_text(text, encoding="utf-8")
        print(f"wrote {target}")


def remove_recipe(
    run: Invocation,
    name: NameArgument,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also one that schedules run.")] = False,
) -> None:
    """Remove a recipe that was saved here, with all its versions."""
    run.client.delete(delete_recipe(name, anyway=anyway or None))
    run.answer({"removed": name}, f"{name} is removed; what runs from it goes on.")
