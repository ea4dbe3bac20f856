"""Controls: `pause resume cancel retry retry-from skip hint mark reassign edit priority`. Each waits for its answer."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from starloom.cli.constellations.asking import IdArgument, read_plan
from starloom.cli.invocation import Invocation, hub_command
from starloom.client.problems import usage
from starloom.terminal.values import json_or_text
from starloom_protocol.vocabulary import Priority

TaskOption = Annotated[str, typer.Option("--task", "-t", help="The task's id.")]
MaybeTask = Annotated[str | None, typer.Option("--task", "-t", help="Only this task.")]
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


def cancel(run: Invocation, identity: IdArgument = None, task: MaybeTask = None, reason: ReasonOption = "") -> None:
    """Cancel a constellation or one task; it counts as cancelled when the device has confirmed it."""
    if task is None:
        _constellation(run, identity, "cancel", {"reason": reason})
    else:
        _task(run, identity, task, "cancel", {"reason": reason})


def retry(
    run: Invocation,
    task: TaskOption,
    identity: IdArgument = None,
    confirm: ConfirmOption = None,
    reason: ReasonOption = "",
) -> None:
    """Retry a task that failed, was cancelled or skipped, or is unknown."""
    _task(run, identity, task, "retry", {"reason": reason, "confirm": confirm or []})


def retry_from(
    run: Invocation,
    task: TaskOption,
    identity: IdArgument = None,
    confirm: ConfirmOption = None,
    reason: ReasonOption = "",
) -> None:
    """Run a finished task again, and everything after it."""
    _task(run, identity, task, "retry-from", {"reason": reason, "confirm": confirm or []})


def skip(run: Invocation, task: TaskOption, identity: IdArgument = None, reason: ReasonOption = "") -> None:
    """Skip a task."""
    _task(run, identity, task, "skip", {"reason": reason})


def hint(
    run: Invocation,
    words: Annotated[str, typer.Argument(help="Words for the next turn of a goal, or of an agent of others.")],
    task: TaskOption,
    identity: Annotated[str | None, typer.Option("--id", help="The constellation; absent: your newest.")] = None,
) -> None:
    """Give a goal, or an agent of others at work, a hint: it is part of the next turn, marked as yours."""
    _task(run, identity, task, "hint", {"reason": words})


def mark(
    run: Invocation,
    task: TaskOption,
    identity: IdArgument = None,
    state: Annotated[str, typer.Option("--state", help="succeeded, failed or skipped.")] = "succeeded",
    value: Annotated[str | None, typer.Option("--value", help="Its output: JSON or text.")] = None,
    confirm: ConfirmOption = None,
    reason: ReasonOption = "",
) -> None:
    """Mark a task as ended in a state that you know and the log does not."""
    body: dict[str, Any] = {"state": state, "reason": reason, "confirm": confirm or []}
    if value is not None:
        body["value"] = json_or_text(value)
    _task(run, identity, task, "mark", body)


def reassign(
    run: Invocation,
    task: TaskOption,
    device: Annotated[str, typer.Option("--device", "-d", help="The device's name.")],
    identity: IdArgument = None,
    reason: ReasonOption = "",
) -> None:
    """Give a task that has not begun to another device."""
    chosen = run.newest(identity)
    operation = {"reassign": {"id": task, "device": {"name": device}}}
    version = run.client.get(f"/constellations/{chosen}")["version"]
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
    snapshot = run.client.get(f"/constellations/{chosen}")
    text = read_plan(file) if file else _from_editor(_template(snapshot))
    document = _document(text)
    if not document["operations"]:
        raise usage("the edit has no operations", "Nothing was changed.")
    document.setdefault("base_version", base if base is not None else snapshot["version"])
    if reason:
        document["reason"] = reason
    _send_edit(run, chosen, document)


def priority(
    run: Invocation,
    identity: Annotated[str, typer.Argument(help="The constellation's id.")],
    priority: Annotated[Priority, typer.Argument(help="Before or after your other constellations.")],
    reason: ReasonOption = "",
) -> None:
    """Set the priority of a constellation: which of yours gets a free slot first."""
    chosen = run.newest(identity)
    snapshot = run.client.get(f"/constellations/{chosen}")
    policy = {**snapshot["policy"], "priority": priority.value}
    document = {"base_version": snapshot["version"], "operations": [{"set_policy": policy}]}
    _send_edit(run, chosen, {**document, "reason": reason or f"priority {priority.value}"})


def _document(text: str) -> dict[str, Any]:
    from starloom_protocol.plan.document import DocumentRefused, read_document

    try:
        found = read_document(text)
    except DocumentRefused as refused:
        raise usage(f"{refused.fault.place or 'the edit'}: {refused.fault.reason}", refused.fault.hint) from refused
    if not isinstance(found.get("operations"), list):
        raise usage("an edit is a map with a list of `operations`", "starloom edit --editor shows the form.")
    return found


def _template(snapshot: dict[str, Any]) -> str:
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
    made = run.client.create(f"/constellations/{chosen}/edits", document)
    if run.as_json:
        run.emit(made)
    else:
        print(f"{chosen} is at version {made['version']}")


def _constellation(run: Invocation, identity: str | None, action: str, body: dict[str, Any]) -> None:
    chosen = run.newest(identity)
    _answered(run, chosen, action, run.client.post(f"/constellations/{chosen}/{action}", _given(body)))


def _task(run: Invocation, identity: str | None, task: str, action: str, body: dict[str, Any]) -> None:
    chosen = run.newest(identity)
    made = run.client.post(f"/constellations/{chosen}/tasks/{task}/{action}", _given(body))
    _answered(run, f"{task} of {chosen}", action, made)


def _given(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value not in ("", [])}


def _answered(run: Invocation, what: str, action: str, made: Any) -> None:
    if run.as_json:
        run.emit(made)
        return
    state = made.get("state") if isinstance(made, dict) else None
    told = f": {state}" if isinstance(state, str) else ""
    print(f"{action} of {what} accepted{told}")
