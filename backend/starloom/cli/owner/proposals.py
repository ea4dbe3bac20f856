"""Commands for plans that may be kept as recipes, and for versions: `recipe proposals|keep|dismiss|restore|seen`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated, Any, TypedDict, cast

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.client.problems import usage
from starloom.client.routes import (
    delete_recipe_proposal,
    get_recipe,
    get_recipe_proposals,
    post_recipe_seen,
    post_recipes,
)
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom_protocol.api.recipes import ProposalRow
from starloom_protocol.values import canonical


class _Param(TypedDict, total=False):
    type: str
    default: Any


class _Task(TypedDict, total=False):
    id: str
    tool: str
    device: dict[str, Any]
    for_each: dict[str, Any]
    inputs: dict[str, dict[str, Any]]


class _Plan(TypedDict, total=False):
    tasks: list[_Task]


class _Document(TypedDict, total=False):
    """The parts of a proposal's document that are shown, or changed before it is kept."""

    name: str
    phrases: list[str]
    params: dict[str, _Param]
    plan: _Plan


ON_TRIAL = (
    "for three clean runs of yours in a row, its words show its plan and when it last ran, and run it once you launch "
    "that plan; after these they start it like any recipe"
)
ProposalArgument = Annotated[
    str, typer.Argument(metavar="PROPOSAL", help="As `starloom recipe proposals` lists it; its beginning is enough.")
]


def register(recipe: typer.Typer) -> None:
    """Add this module's commands to `recipe`."""
    hub_command(recipe, "proposals")(list_proposals)
    hub_command(recipe, "keep")(keep_proposal)
    hub_command(recipe, "dismiss")(dismiss_proposal)
    hub_command(recipe, "restore")(restore_version)
    hub_command(recipe, "seen")(mark_seen)


def list_proposals(run: Invocation) -> None:
    """List your plans that ended clean and may be kept as recipes."""
    page = run.client.get(get_recipe_proposals())
    if run.as_json:
        run.emit(page)
        return
    for item in page["items"]:
        _print(item)
    for left_out in page.get("left_out", []):
        tell(f"not proposed: {left_out['request']}  ({left_out['constellation']})")
        tell(f"{'':<8}  {left_out['because']}")
    if not page["items"]:
        print("There is none: a plan is proposed after it ended clean, once for each shape.")


def _print(item: ProposalRow) -> None:
    tell(f"{item['id'][:8]}  {item['title']}  ({', '.join(item['effects']) or 'read'})")
    for line in _lines(item, cast(_Document, item["document"])):
        print(f"{'':<8}  {line}")
    at = clock(item["proposed_at"])
    say(f"          starloom recipe keep {item['id'][:8]}   from {item['constellation']}, {at}")


def _lines(item: ProposalRow, document: _Document) -> list[str]:
    """Return the sentence of a recipe, its parameters with kind and present value, and the calls that it makes."""
    (phrase,) = document.get("phrases") or [item["phrase"]]
    lines = [f"“{phrase}”" if phrase else "by its name only; the words make no phrase"]
    for name, param in document.get("params", {}).items():
        # A parameter with another name has its value as default alone.
        value = param.get("default", item["values"].get(name))
        answer = ", your answer" if name in item.get("answers", []) else ""
        lines.append(f"{name}: {_value_words(value)} ({param.get('type')}{answer})")
    for task in document.get("plan", {}).get("tasks", []):
        every = task.get("for_each", {}).get("devices")
        where = task.get("device", {}) if every is None else every
        param = document.get("params", {}).get(where.get("param", ""), {})
        place = _place(param.get("default", where), "any" if every is None else "each")
        inputs = [f"{name} is read again from {source['from']}" for name, source in task.get("inputs", {}).items()]
        note = f": {', '.join(inputs)}" if inputs else ""
        lines.append(f"{task.get('id')}: {task.get('tool', '-')} on {place}{note}")
    return lines


def _place(selector: Any, many: str = "any") -> str:
    """Return the devices that a selector means, in words; a part without words stays as it is."""
    match selector:
        case {"any": [*some], **others} if not others:
            return (" or " if many == "any" else " and ").join(_place(part, many) for part in some)
        case {"from": task}:
            return f"the device that {task} names"
        case {"name": _} | {"param": _}:
            return _value_words(selector)
        case {**parts} if not parts.keys() - {"labels", "os"}:
            system = f"{parts['os']} device" if parts.get("os") else "device"
            return f"{many} {system}{_labelled(parts.get('labels'))}"
    return _value_words(selector)


def _labelled(labels: Any) -> str:
    return f" with the label {' and '.join(labels)}" if labels else ""


def _renamed(document: _Document, names: list[str]) -> _Document:
    """Return a recipe with other names for its parameters, in its phrases and its plan.

    Raises:
        Problem: a name is no parameter of it, or is taken.
    """
    for pair in names:
        old, equals, new = pair.partition("=")
        params = document.get("params", {})
        if not equals or not new or old not in params or new in params:
            reason = f"{pair} is not OLD=NEW with a parameter of it and a free name"
            raise usage(reason, f"Its parameters are {', '.join(params) or 'none'}.")
        document = {
            **document,
            "phrases": [phrase.replace(f"{{{old}}}", f"{{{new}}}") for phrase in document.get("phrases", [])],
            "params": {new if name == old else name: param for name, param in params.items()},
            "plan": _pointed(document.get("plan", {}), old, new),
        }
    return document


def _pointed(value: Any, old: str, new: str) -> Any:
    if value == {"param": old}:
        return {"param": new}
    if isinstance(value, dict):
        return {key: _pointed(part, old, new) for key, part in value.items()}
    return [_pointed(part, old, new) for part in value] if isinstance(value, list) else value


def _value_words(value: Any) -> str:
    if isinstance(value, dict) and set(value) == {"name"}:
        (value,) = value.values()
    return value if isinstance(value, str) else canonical(value)


def keep_proposal(
    run: Invocation,
    proposal: ProposalArgument,
    name: Annotated[str | None, typer.Option("--name", help="Another name for the recipe.")] = None,
    phrase: Annotated[str | None, typer.Option("--phrase", help="Other words to type for it, with its slots.")] = None,
    rename: Annotated[
        list[str] | None, typer.Option("--rename", metavar="OLD=NEW", help="Another name for a parameter.")
    ] = None,
) -> None:
    """Keep a plan as a recipe. Runs nothing; the recipe is on trial for its first three clean runs."""
    item = _proposal(run, proposal)
    document = _renamed(cast(_Document, {**item["document"]}), rename or [])
    if name is not None:
        document["name"] = name
    if phrase is not None:
        document["phrases"] = [phrase]
    recipe = run.client.create(post_recipes(), {"recipe": document, "proposal": item["id"]})
    if run.as_json:
        run.emit(recipe)
        return
    print(f"{recipe['name']} is kept as version {recipe['version']}, on trial. Nothing has run.")
    for line in _lines(item, document):
        print(f"  {line}")
    print(f"  on trial: {ON_TRIAL}")
    say(f"Run it: starloom recipe run {quote(recipe['name'])}")


def dismiss_proposal(run: Invocation, proposal: ProposalArgument) -> None:
    """Dismiss a proposal for good."""
    item = _proposal(run, proposal)
    run.client.delete(delete_recipe_proposal(item["id"]))
    run.answer({"dismissed": item["id"]}, f"{item['title']} is not proposed again.")


def restore_version(
    run: Invocation,
    name: Annotated[str, typer.Argument(metavar="NAME", help="A recipe that was saved here.")],
    version: Annotated[int, typer.Argument(metavar="VERSION", min=1, help="The one to bring back.")],
) -> None:
    """Bring an earlier version of a recipe back, as its next one."""
    old = run.client.get(get_recipe(name, version=version))
    newest = run.client.get(get_recipe(name))["version"]
    recipe = run.client.create(post_recipes(), {"recipe": old["text"], "base_version": newest})
    run.answer(recipe, f"version {version} of {recipe['name']} is back as version {recipe['version']}")


def mark_seen(
    run: Invocation, name: Annotated[str, typer.Argument(metavar="NAME", help="A recipe that went back a version.")]
) -> None:
    """Note that you have read why a recipe went back to an earlier version."""
    recipe = run.client.post(post_recipe_seen(name))
    run.answer(recipe, f"{recipe['name']}: noted.")


def _proposal(run: Invocation, proposal: str) -> ProposalRow:
    matches = [item for item in run.client.get(get_recipe_proposals())["items"] if item["id"].startswith(proposal)]
    if len(matches) == 1 and proposal:
        return matches[0]
    reason = (
        f"{len(matches)} proposals begin with {proposal}" if matches else f"there is no proposal {proposal} for you"
    )
    raise usage(reason, "See `starloom recipe proposals`.")
