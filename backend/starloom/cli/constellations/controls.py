"""Controls of constellations and tasks, such as `pause`, `retry`, `mark` and `edit`. Each waits for its answer.

A task is named before its constellation, as `why` does; without a constellation the newest is meant.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starloom.cli.constellations.asking import edit_document, read_plan
from starloom.cli.constellations.reading import is_constellation
from starloom.cli.constellations.stopping import stop_all_of
from starloom.cli.invocation import IdArgument, Invocation, hub_command
from starloom.cli.text.task_names import is_display_name, task_id
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_constellation,
    get_devices,
    post_constellation_cancel,
    post_constellation_edits,
    post_constellation_pause,
    post_constellation_resume,
    post_constellation_task_action,
)
from starloom.client.terminal.values import json_or_text
from starloom_protocol.vocabulary import Code, Priority, TaskState

if TYPE_CHECKING:
    from starloom.client.answers import SnapshotJson
    from starloom_protocol.api.constellations import Controlled

TASK_ID = "[TASK] [ID]"
TaskWords = Annotated[
    list[str] | None, typer.Argument(metavar=TASK_ID, help="A task, and its constellation; without that the newest.")
]
TaskOption = Annotated[str | None, typer.Option("--task", "-t", help="The task's id, if it is not an argument.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Kept in the log.")]
ConfirmOption = Annotated[
    list[str] | None,
    typer.Option("--confirm", help="A task that is not safe to repeat and may run again."),
]

TEMPLATE = """\
# An edit of {name} ({id}), version {version}. Its operations (docs/plans.md): add_task, remove_task, update_task,
# reassign, add_dependency, remove_dependency, update_dependency, expand, drop_items, set_policy, supersede.
# Save to send it; leave `operations` empty to change nothing. The tasks that have not begun:
{tasks}
base_version: {version}
reason: ""
operations: []
"""


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    for name, command in (
        ("pause", pause),
        ("resume", resume),
        ("cancel", cancel),
        ("retry", retry),
        ("retry-from", retry_from),
        ("skip", skip),
        ("hold", hold),
        ("release", release),
        ("hint", hint),
        ("mark", mark),
        ("reassign", reassign),
        ("edit", edit),
        ("priority", priority),
    ):
        hub_command(app, name)(command)


def pause(run: Invocation, identity: IdArgument = None, reason: ReasonOption = "") -> None:
    """Pause a constellation: no further task starts; running tasks go on."""
    _constellation(run, identity, "pause", {"reason": reason})


def resume(run: Invocation, identity: IdArgument = None, reason: ReasonOption = "") -> None:
    """Resume a paused constellation."""
    _constellation(run, identity, "resume", {"reason": reason})


def cancel(
    run: Invocation,
    words: Annotated[
        list[str] | None, typer.Argument(metavar=TASK_ID, help="A constellation, or one of its tasks.")
    ] = None,
    task: TaskOption = None,
    of: Annotated[str | None, typer.Option("--of", metavar="NAME", help="All that this person asked for.")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --of: do not ask.")] = False,
    reason: ReasonOption = "",
) -> None:
    """Cancel a constellation or one task; it counts as cancelled when the device has confirmed it."""
    if of is not None:
        if words or task is not None:
            raise usage("--of names the constellations", "Give a person's name alone, or an ID without --of.")
        stop_all_of(run, of, asks=not yes, reason=reason)
    elif task is None and all(is_constellation(word) for word in words or []):
        _constellation(run, words[0] if words else None, "cancel", {"reason": reason})
    else:
        _task(run, words, task, "cancel", {"reason": reason})


def retry(
    run: Invocation,
    words: TaskWords = None,
    task: TaskOption = None,
    confirm: ConfirmOption = None,
    reason: ReasonOption = "",
) -> None:
    """Retry a task that failed, was cancelled or skipped, or is unknown."""
    _task(run, words, task, "retry", {"reason": reason}, confirm)


def retry_from(
    run: Invocation,
    words: TaskWords = None,
    task: TaskOption = None,
    confirm: ConfirmOption = None,
    reason: ReasonOption = "",
) -> None:
    """Run a finished task again, and everything after it."""
    _task(run, words, task, "retry-from", {"reason": reason}, confirm)


def skip(run: Invocation, words: TaskWords = None, task: TaskOption = None, reason: ReasonOption = "") -> None:
    """Skip a task."""
    _task(run, words, task, "skip", {"reason": reason})


def hold(run: Invocation, words: TaskWords = None, task: TaskOption = None, reason: ReasonOption = "") -> None:
    """Hold a task that has not begun: it does not begin until you release it."""
    _task(run, words, task, "hold", {"reason": reason})


def release(run: Invocation, words: TaskWords = None, task: TaskOption = None, reason: ReasonOption = "") -> None:
    """Release a task that is held."""
    _task(run, words, task, "release", {"reason": reason})


def hint(
    run: Invocation,
    words: Annotated[
        str, typer.Argument(metavar="WORDS", help="Words for the next turn of a goal, or of an agent of others.")
    ],
    task: Annotated[str, typer.Option("--task", "-t", help="The id of the goal, or of the agent's task.")],
    identity: Annotated[str | None, typer.Option("--id", help="The constellation; absent: your newest.")] = None,
) -> None:
    """Give a goal, or an agent of others at work, a hint: it is part of the next turn, marked as yours."""
    _send(run, run.newest(identity), [task], "hint", {"reason": words})


def mark(
    run: Invocation,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TASK]... [ID]", help="Tasks, or a group with calls that may have happened."),
    ] = None,
    task: TaskOption = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="Every call that may have happened on a device that is gone.")
    ] = False,
    state: Annotated[str, typer.Option("--state", help="succeeded, failed or skipped.")] = "succeeded",
    value: Annotated[str | None, typer.Option("--value", help="Its output: JSON or text.")] = None,
    confirm: ConfirmOption = None,
    reason: ReasonOption = "",
) -> None:
    """Mark tasks as ended in a state that you know and the log does not."""
    body: dict[str, Any] = {"state": state, "reason": reason, "confirm": confirm or []}
    if value is not None:
        body["value"] = json_or_text(value)
    ids = [word for word in words or [] if is_constellation(word)]
    if task is None and not gone and len(words or []) - len(ids) > 1:
        tasks = [word for word in words or [] if word not in ids]
        _send(run, run.newest(ids[0] if ids else None), tasks, "mark", body)
        return
    if not gone:
        _task(run, words, task, "mark", body)
        return
    if task is not None or len(ids) != len(words or []):
        raise usage("--gone names the tasks", "Give a constellation alone, or tasks without --gone.")
    chosen = run.newest(ids[0] if ids else None)
    tasks = _doubted_on_gone_devices(run, chosen)
    if not tasks:
        raise usage(f"no call of {chosen} may have happened on a device that is gone", "Nothing was marked.")
    _send(run, chosen, tasks, "mark", body)


def _doubted_on_gone_devices(run: Invocation, chosen: str) -> list[str]:
    """Return the tasks in doubt that were given to devices which left or were revoked."""
    snapshot = run.client.get(get_constellation(chosen))
    doubted = [item for item in snapshot["tasks"] if item["state"] == TaskState.UNKNOWN]
    gone = {item["id"] for item in run.client.get(get_devices(all_=True))["items"] if item.get("revoked")}
    return [item["id"] for item in doubted if item["device"] in gone]


def reassign(
    run: Invocation,
    device: Annotated[str, typer.Option("--device", "-d", help="The device's name.")],
    words: TaskWords = None,
    task: TaskOption = None,
    reason: ReasonOption = "",
) -> None:
    """Give a task that has not begun to another device."""
    name, identity = _named("reassign", words, task)
    chosen = run.newest(identity)
    operation = {"reassign": {"id": name, "device": {"name": device}}}
    version = run.client.get(get_constellation(chosen))["version"]
    _send_edit(run, chosen, {"base_version": version, "operations": [operation], "reason": reason})


def edit(
    run: Invocation,
    identity: IdArgument = None,
    file: Annotated[str | None, typer.Option("--file", "-f", help="The edit (YAML or JSON); - for stdin.")] = None,
    editor: Annotated[bool, typer.Option("--editor", help="Write it in $EDITOR.")] = False,
    base: Annotated[
        int | None, typer.Option("--base-version", help="The version that it changes, if the edit does not say it.")
    ] = None,
    reason: ReasonOption = "",
) -> None:
    """Change the plan while it runs: one batch of operations, whole or not at all."""
    if bool(file) == editor:
        raise usage("an edit comes from -f edit.yaml or from --editor", "Give one of the two.")
    chosen = run.newest(identity)
    snapshot = run.client.get(get_constellation(chosen))
    text = read_plan(file) if file else _from_editor(_template(snapshot))
    document = edit_document(text)
    if not document["operations"]:
        raise usage("the edit has no operations", "Nothing was changed.")
    document.setdefault("base_version", base if base is not None else snapshot["version"])
    if reason:
        document["reason"] = reason
    _send_edit(run, chosen, document)


def priority(
    run: Invocation,
    identity: Annotated[str, typer.Argument(metavar="ID", help="The constellation's id.")],
    priority: Annotated[
        Priority, typer.Argument(metavar="low|normal|high", help="Before or after your other constellations.")
    ],
    reason: ReasonOption = "",
) -> None:
    """Set the priority of a constellation: which of yours gets a free slot first."""
    chosen = run.newest(identity)
    snapshot = run.client.get(get_constellation(chosen))
    policy = {**snapshot["policy"], "priority": priority.value}
    document = {"base_version": snapshot["version"], "operations": [{"set_policy": policy}]}
    _send_edit(run, chosen, {**document, "reason": reason or f"priority {priority.value}"})


def _template(snapshot: SnapshotJson) -> str:
    open_tasks = [item["id"] for item in snapshot["tasks"] if item["state"] in ("waiting", "ready")]
    lines = "\n".join(f"#   {name}" for name in open_tasks[:200]) or "#   (none)"
    return TEMPLATE.format(name=snapshot["name"], id=snapshot["id"], version=snapshot["version"], tasks=lines)


def _from_editor(template: str) -> str:
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory(prefix="starloom-edit-") as folder:
        path = Path(folder) / "edit.yaml"
        path.write_text(template, encoding="utf-8")
        try:
            done = subprocess.run([*shlex.split(editor), str(path)], check=False)
        except OSError as error:
            raise usage(f"the editor {editor} cannot be started: {error}", "Set EDITOR, or use -f FILE.") from error
        if done.returncode != 0:
            raise usage(f"the editor ended with {done.returncode}", "Nothing was changed.")
        return path.read_text(encoding="utf-8")


def _send_edit(run: Invocation, chosen: str, document: dict[str, Any]) -> None:
    made = run.client.create(post_constellation_edits(chosen), document)
    if run.as_json:
        run.emit(made)
    else:
        print(f"{chosen} is at version {made['version']}")


_OF_THE_WHOLE = {
    "cancel": post_constellation_cancel,
    "pause": post_constellation_pause,
    "resume": post_constellation_resume,
}


def _constellation(run: Invocation, identity: str | None, action: str, body: dict[str, Any]) -> None:
    chosen = run.newest(identity)
    made = run.client.post(_OF_THE_WHOLE[action](chosen), _given(body))
    if run.as_json:
        run.emit(made)
    else:
        print(f"{chosen} is {made.get('state') or action}")


def _named(action: str, words: list[str] | None, option: str | None) -> tuple[str, str | None]:
    """Return the task and the constellation that the arguments of a control name, in either order."""
    given = [*(words or [])]
    if option is not None:
        given = [option, *given]
    elif len(given) == 2 and is_constellation(given[0]):
        given.reverse()
    if len(given) > 2:
        raise usage(f"{action} takes one task: {', '.join(given)}", f"Write: starloom {action} TASK ID")
    if not given or is_constellation(given[0]):
        raise usage(f"{action} needs a task", f"Write: starloom {action} TASK {given[0] if given else 'ID'}")
    return given[0], given[1] if len(given) > 1 else None


def _task(
    run: Invocation,
    words: list[str] | None,
    option: str | None,
    action: str,
    body: dict[str, Any],
    confirm: list[str] | None = None,
) -> None:
    task, identity = _named(action, words, option)
    _send(run, run.newest(identity), [task], action, body, confirm or [])


_DONE = {
    "cancel": "{task} is asked to stop",
    "hint": "the goal {task} has your hint",
    "hold": "{task} is held",
    "mark": "{task} is marked {state}",
    "release": "{task} is released",
    "retry": "{task} is tried again",
    "retry-from": "{task} and all that follows it run again",
    "skip": "{task} is skipped",
}


def _send(
    run: Invocation, chosen: str, tasks: list[str], action: str, body: dict[str, Any], confirm: Sequence[str] = ()
) -> None:
    """Send a control for each of these tasks, and say what became of them and of the constellation."""
    made: list[Controlled] = []
    names = run.client.names() if any(is_display_name(name) for name in [*tasks, *confirm]) else {}
    given = {**body, "confirm": [task_id(name, names) for name in confirm]}
    for task in tasks:
        asked = post_constellation_task_action(chosen, task_id(task, names), action)
        try:
            made.append(run.client.post(asked, _given(given)))
        except Problem as problem:
            raise to_confirm(problem, f"starloom {action} {shlex.quote(task)} {chosen}") from problem
        if not run.as_json:
            state = f"; {chosen} is {made[-1]['state']}" if made[-1].get("state") else ""
            print(_DONE[action].format(task=task, **body) + state)
    if run.as_json:
        run.emit(made[0] if len(made) == 1 else made)


def to_confirm(problem: Problem, line: str) -> Problem:
    """Return a refusal with the line that confirms the work which may not be repeated; others stay as they are."""
    tasks = problem.document.get("repeats")
    if problem.code != Code.NEEDS_CONFIRM or not isinstance(tasks, list):
        return problem
    confirm = "".join(f" --confirm {shlex.quote(str(name))}" for name in tasks)
    places = [dataclasses.replace(place, hint="") for place in problem.places]
    return dataclasses.replace(problem, hint=f"{line}{confirm}", places=places)


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value not in ("", [])}
