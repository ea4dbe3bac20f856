"""Controls of constellations and tasks, such as `pause`, `retry`, `mark` and `edit`. Each waits for its answer.

A task is named before its constellation, as `why` does; without a constellation the caller's newest is meant.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from starloom.cli.constellations.asking import AnywayOption, edit_document, offering_anyway, read_rows
from starloom.cli.constellations.reading import is_constellation
from starloom.cli.constellations.stopping import Selection, stop_selection
from starloom.cli.invocation import IdArgument, Invocation, hub_command
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_constellation,
    get_constellation_why,
    get_devices,
    post_constellation_cancel,
    post_constellation_edits,
    post_constellation_pause,
    post_constellation_resume,
    post_constellation_task_action,
)
from starloom.client.terminal.values import duration_s, json_or_text
from starloom_protocol.text.wording import counted, few
from starloom_protocol.vocabulary import Code, Priority, TaskState

if TYPE_CHECKING:
    from starloom.client.answers import SnapshotJson, TaskRowJson
    from starloom.client.calls import Post
    from starloom_protocol.api.constellations import Controlled

T = TypeVar("T")

TASK_ID = "[TASK] [ID]"
TaskWords = Annotated[
    list[str] | None, typer.Argument(metavar=TASK_ID, help="A task, and its constellation; without that your newest.")
]
TaskOption = Annotated[str | None, typer.Option("--task", "-t", help="The task's id, if it is not an argument.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Kept in the log.")]
ConfirmOption = Annotated[
    list[str] | None,
    typer.Option(
        "--confirm", help="A task that is not safe to repeat and may run again; a list by its name, or `all` of them."
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="With --confirm all or a list: do not ask.")]
CONFIRM_ALL = "all"
"""The word of `--confirm` for all work that would run a second time."""
_WHOLE_S = 3600
"""The time of all attempts of a task whose plan says none."""
_CONFIRMS_MOST = 3
"""More tasks than these are confirmed in the line to type by one word."""

TEMPLATE = """\
# An edit of {name} ({id}), version {version}. Its operations (docs/plans.md): add_task, remove_task, update_task,
# reassign, add_dependency, remove_dependency, update_dependency, expand, add_items, drop_items, set_policy,
# supersede.
# Save to send it; leave `operations` empty to change nothing. The tasks that have not begun:
{tasks}
base_version: {version}
reason: ""
operations: []
"""


def register(app: typer.Typer) -> None:
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
    on: Annotated[
        str | None, typer.Option("--on", metavar="DEVICE", help="All that has work on this device, whole.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="With --of or --on: do not ask.")] = False,
    reason: ReasonOption = "",
) -> None:
    """Cancel a constellation or one task; it counts as cancelled when the device has confirmed it."""
    if of is not None or on is not None:
        if words or task is not None or (of is not None and on is not None):
            raise usage("--of and --on name the constellations", "Give one of them alone, or an ID without them.")
        selection = Selection.of(run, of) if of is not None else Selection.on(run, on or "")
        stop_selection(run, selection, asks=not yes, reason=reason)
    elif task is None and (not words or (len(words) == 1 and words[0].startswith("c-"))):
        # A word with only the beginning of an id is no task: the newest constellation stays as it is.
        _constellation(run, words[0] if words else None, "cancel", {"reason": reason})
    else:
        _task(run, words, task, "cancel", {"reason": reason})


def retry(
    run: Invocation,
    words: TaskWords = None,
    task: TaskOption = None,
    failed: Annotated[bool, typer.Option("--failed", help="Every task that failed, in one step.")] = False,
    timeout: Annotated[
        str | None, typer.Option("--timeout", metavar="TIME", help="Give each attempt so much time: 60s, 20m, 2h.")
    ] = None,
    from_source: Annotated[
        bool,
        typer.Option("--from-source", help="With --failed: read the files of these tasks from their devices again."),
    ] = False,
    confirm: ConfirmOption = None,
    yes: YesOption = False,
    reason: ReasonOption = "",
) -> None:
    """Retry a task that failed, was cancelled or skipped, or is unknown; with --failed all that failed.

    A retry gets the same files again; after you changed them on their device: --failed --from-source.

    With --timeout the tasks get more time in the same step, also where the constellation has ended.
    """
    sure = Sure(confirm or [], yes=yes)
    if from_source and (not failed or timeout is not None):
        raise usage("--from-source goes with --failed alone", "Write: starloom retry --failed --from-source ID")
    if not failed and timeout is None:
        _task(run, words, task, "retry", {"reason": reason}, sure)
        return
    if failed:
        ids = [word for word in words or [] if is_constellation(word)]
        if task is not None or len(ids) != len(words or []):
            raise usage("--failed names the tasks", "Give a constellation alone, or a task without --failed.")
        name, constellation = None, run.newest(ids[0] if ids else None)
        if from_source:
            _retry_sources(run, constellation, sure, reason)
            return
    else:
        task_text, identity = _task_words("retry", words, task)
        constellation = run.newest(identity)
        (name,) = run.task_ids(constellation, [task_text])
    _retry_changed(run, constellation, name, duration_s(timeout) if timeout else 0, sure, reason)


def _retry_sources(run: Invocation, constellation: str, sure: Sure, reason: str) -> None:
    """Retry the failed tasks from those that brought their files, so that they get these as they are now."""
    sources = run.client.get(get_constellation_why(constellation)).get("brought_by")
    if not sources:
        raise usage(
            f"no failed task of {constellation} reads files of a device",
            f"Write: starloom retry --failed {constellation}",
        )
    _send(run, constellation, sources, "retry-from", {"reason": reason}, sure)


def _retry_changed(
    run: Invocation, constellation: str, name: str | None, seconds: int, sure: Sure, reason: str
) -> None:
    """Retry a task, the failed items of a list, or with no name all failed tasks, by one edit."""
    snapshot = run.client.get(get_constellation(constellation))
    goals = {row["id"] for row in snapshot["tasks"] if row["spec"].get("goal")}
    rows = [
        row
        for row in snapshot["tasks"]
        if row["kind"] != "group"
        and (row["id"] == name or (name in (None, row["group"]) and row["state"] == TaskState.FAILED))
        and not (row["group"] in goals or row["spec"].get("look") or row["spec"].get("verifies"))
        and not (name is None and row["spec"].get("superseded_by"))
    ]
    if not rows:
        why = "no task has failed" if name is None else f"there is no task {name}, or no failed task in it"
        raise usage(f"{why} in {constellation}", f"See: starloom show {constellation}")
    operations = [_with_time(row, seconds) for row in rows if seconds and row["kind"] == "task"]
    document = {
        "base_version": snapshot["version"],
        "operations": operations,
        "reason": reason,
        "retry": [row["id"] for row in rows],
    }
    flags = (" --failed" if name is None else f" {shlex.quote(name)}") + (f" --timeout {seconds}s" if seconds else "")
    edited = sure.ask(
        run,
        lambda confirm: run.client.create(post_constellation_edits(constellation), {**document, "confirm": confirm}),
        f"starloom retry {constellation}{flags}",
    )
    if edited is None:
        return
    if run.emits(edited):
        return
    subject = f"{rows[0]['id']} is" if len(rows) == 1 else f"{counted(len(rows), 'task')} are"
    with_time = f" with {seconds} s for each attempt" if seconds else ""
    print(f"{subject} tried again{with_time}; {constellation} is at version {edited['version']}")


def _with_time(row: TaskRowJson, seconds: int) -> dict[str, Any]:
    """Return the operation that gives each attempt of a task so much time; its other times stay."""
    times: dict[str, Any] = {**(row["spec"].get("timeouts") or {}), "start_to_close_s": seconds}
    times["schedule_to_close_s"] = max(int(times.get("schedule_to_close_s") or _WHOLE_S), seconds)
    return {"update_task": {"id": row["id"], "timeouts": times}}


def retry_from(
    run: Invocation,
    words: TaskWords = None,
    task: TaskOption = None,
    confirm: ConfirmOption = None,
    yes: YesOption = False,
    reason: ReasonOption = "",
) -> None:
    """Run a finished task again, and everything after it."""
    _task(run, words, task, "retry-from", {"reason": reason}, Sure(confirm or [], yes=yes))


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
        list[str],
        typer.Argument(metavar="WORDS [TASK] [ID]", help="Words for its next turn, and the goal or the agent's task."),
    ],
    task: TaskOption = None,
    identity: Annotated[str | None, typer.Option("--id", help="The constellation; absent: your newest.")] = None,
) -> None:
    """Give a goal, or an agent of others at work, a hint: it is part of the next turn, marked as yours."""
    text = [*words]
    if identity is None and len(text) > 1 and is_constellation(text[-1]):
        identity = text.pop()
    if task is None:
        if len(text) < 2:
            raise usage("hint needs its words and a task", 'Write: starloom hint "look at the disk first" TASK ID')
        task = text.pop()
    _send(run, run.newest(identity), [task], "hint", {"reason": " ".join(text)})


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
    state: Annotated[
        Literal["succeeded", "failed", "skipped"], typer.Option("--state", help="The state that you know.")
    ] = "succeeded",
    value: Annotated[
        str | None, typer.Option("--value", help='Its output: JSON or text; "" for an empty text.')
    ] = None,
    confirm: ConfirmOption = None,
    yes: YesOption = False,
    reason: ReasonOption = "",
) -> None:
    """Mark tasks as ended in a state that you know and the log does not."""
    body: dict[str, Any] = {"state": state, "reason": reason}
    sure = Sure(confirm or [], yes=yes)
    if value is not None:
        body["value"] = json_or_text(value)
    ids = [word for word in words or [] if is_constellation(word)]
    if task is None and not gone and len(words or []) - len(ids) > 1:
        tasks = [word for word in words or [] if word not in ids]
        _send(run, run.newest(ids[0] if ids else None), tasks, "mark", body, sure)
        return
    if not gone:
        _task(run, words, task, "mark", body, sure)
        return
    if task is not None or len(ids) != len(words or []):
        raise usage("--gone names the tasks", "Give a constellation alone, or tasks without --gone.")
    constellation = run.newest(ids[0] if ids else None)
    tasks = _doubted_on_gone_devices(run, constellation)
    if not tasks:
        raise usage(f"no call of {constellation} may have happened on a device that is gone", "Nothing was marked.")
    _send(run, constellation, tasks, "mark", body, sure)


def _doubted_on_gone_devices(run: Invocation, constellation: str) -> list[str]:
    """Return the tasks in doubt that were given to devices which left or were revoked."""
    snapshot = run.client.get(get_constellation(constellation))
    doubted = [item for item in snapshot["tasks"] if item["state"] == TaskState.UNKNOWN]
    revoked = {item["id"] for item in run.client.get(get_devices(all_=True))["items"] if item.get("revoked")}
    return [item["id"] for item in doubted if item["device"] in revoked]


def reassign(
    run: Invocation,
    device: Annotated[str, typer.Option("--device", "-d", help="The device's name.")],
    words: TaskWords = None,
    task: TaskOption = None,
    reason: ReasonOption = "",
) -> None:
    """Give a task that has not begun to another device."""
    task_text, identity = _task_words("reassign", words, task)
    constellation = run.newest(identity)
    (name,) = run.task_ids(constellation, [task_text])
    operation = {"reassign": {"id": name, "device": {"name": device}}}
    version = run.client.get(get_constellation(constellation))["version"]
    _send_edit(run, constellation, {"base_version": version, "operations": [operation], "reason": reason})


def edit(
    run: Invocation,
    identity: IdArgument = None,
    file: Annotated[str | None, typer.Option("--file", "-f", help="The edit (YAML or JSON); - for stdin.")] = None,
    editor: Annotated[bool, typer.Option("--editor", help="Write it in $EDITOR.")] = False,
    base: Annotated[
        int | None, typer.Option("--base-version", help="The version that it changes, if the edit does not say it.")
    ] = None,
    add_rows: Annotated[
        str | None,
        typer.Option("--add-rows", metavar="FILE", help="Add each row of a CSV or JSON file to a running list."),
    ] = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="LIST", help="With --add-rows: the list; absent: the only one.")
    ] = None,
    retry: Annotated[
        list[str] | None,
        typer.Option("--retry", metavar="TASK", help="A task that has ended and runs again as the edit leaves it."),
    ] = None,
    confirm: ConfirmOption = None,
    yes: YesOption = False,
    anyway: AnywayOption = False,
    reason: ReasonOption = "",
) -> None:
    """Change the plan while it runs: one batch of operations, whole or not at all.

    20 more rows for a list that runs: `starloom edit ID --add-rows more.csv`. Other operations are in a file:
    `starloom edit ID -f edit.yaml` (docs/plans.md, Changing it while it runs). With --retry a task that has ended is
    changed and runs again in one step, also in a constellation that has ended.
    """
    if sum(map(bool, (file, editor, add_rows))) != 1:
        raise usage("an edit comes from -f edit.yaml, --editor or --add-rows rows.csv", "Give one of the three.")
    if to and not add_rows:
        raise usage("--to names the list of --add-rows", "Give --add-rows FILE with it.")
    constellation = run.newest(identity)
    snapshot = run.client.get(get_constellation(constellation))
    if add_rows:
        document = _rows_added(run, snapshot, add_rows, to)
    else:
        document = edit_document(run.read(file, "edit") if file else _from_editor(_template(snapshot)))
    if not document["operations"]:
        raise usage("the edit has no operations", "Nothing was changed.")
    document.setdefault("base_version", base if base is not None else snapshot["version"])
    if reason:
        document["reason"] = reason
    if retry:
        document["retry"] = run.task_ids(constellation, retry)
    if anyway:
        document["able"] = False
    with offering_anyway("edit it"):
        _send_edit(run, constellation, document, Sure(confirm or [], yes=yes))


def _rows_added(run: Invocation, snapshot: SnapshotJson, path: str, to: str | None) -> dict[str, Any]:
    """Return the edit that adds the rows of a file to a list."""
    lists = [row["id"] for row in snapshot["tasks"] if (row["spec"].get("for_each") or {}).get("source")]
    if to is None and len(lists) != 1:
        names = few(lists, 5) if lists else "none"
        raise usage(f"{snapshot['id']} has {counted(len(lists), 'list')} that take rows: {names}", "Add: --to LIST")
    return {"operations": [{"add_items": {"to": to or lists[0], "items": read_rows(run, path)}}]}


def priority(
    run: Invocation,
    identity: Annotated[str, typer.Argument(metavar="ID", help="The constellation's id.")],
    priority: Annotated[
        Priority, typer.Argument(metavar="PRIORITY", help="low, normal or high: after or before your others.")
    ],
    reason: ReasonOption = "",
) -> None:
    """Set the priority of a constellation: which of yours gets a free slot first."""
    constellation = run.newest(identity)
    snapshot = run.client.get(get_constellation(constellation))
    policy = {**snapshot["policy"], "priority": priority.value}
    document = {"base_version": snapshot["version"], "operations": [{"set_policy": policy}]}
    _send_edit(run, constellation, {**document, "reason": reason or f"priority {priority.value}"})


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
            ended = subprocess.run([*shlex.split(editor), str(path)], check=False)
        except OSError as error:
            raise usage(f"the editor {editor} cannot be started: {error}", "Set EDITOR, or use -f FILE.") from error
        if ended.returncode != 0:
            raise usage(f"the editor ended with {ended.returncode}", "Nothing was changed.")
        return path.read_text(encoding="utf-8")


def _send_edit(run: Invocation, constellation: str, document: dict[str, Any], sure: Sure | None = None) -> None:
    edited = (sure or Sure([])).ask(
        run,
        lambda confirm: run.client.create(
            post_constellation_edits(constellation), {**document, "confirm": confirm} if confirm else document
        ),
        f"starloom edit {constellation} -f EDIT",
    )
    if edited is None:
        return
    run.answer(edited, f"{constellation} is at version {edited['version']}")


_OF_THE_WHOLE = {
    "cancel": post_constellation_cancel,
    "pause": post_constellation_pause,
    "resume": post_constellation_resume,
}


def _constellation(run: Invocation, identity: str | None, action: str, body: dict[str, Any]) -> None:
    constellation = run.newest(identity)
    answer = run.client.post(_OF_THE_WHOLE[action](constellation), _without_empty(body))
    run.answer(answer, f"{constellation} is {answer.get('state') or action}")


def _task_words(action: str, words: list[str] | None, option: str | None) -> tuple[str, str | None]:
    """Return the task and the constellation that the arguments of a control name, in either order."""
    arguments = [*(words or [])]
    if option is not None:
        arguments = [option, *arguments]
    elif len(arguments) == 2 and is_constellation(arguments[0]):
        arguments.reverse()
    if len(arguments) > 2:
        raise usage(f"{action} takes one task: {', '.join(arguments)}", f"Write: starloom {action} TASK ID")
    if not arguments or is_constellation(arguments[0]):
        raise usage(f"{action} needs a task", f"Write: starloom {action} TASK {arguments[0] if arguments else 'ID'}")
    return arguments[0], arguments[1] if len(arguments) > 1 else None


def _task(
    run: Invocation,
    words: list[str] | None,
    option: str | None,
    action: str,
    body: dict[str, Any],
    sure: Sure | None = None,
) -> None:
    task, identity = _task_words(action, words, option)
    _send(run, run.newest(identity), [task], action, body, sure)


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
    run: Invocation, constellation: str, tasks: list[str], action: str, body: dict[str, Any], sure: Sure | None = None
) -> None:
    """Send a control for each of these tasks, and say what became of them and of the constellation."""
    answers: list[Controlled] = []
    given_by = sure or Sure([])
    ids = run.task_ids(constellation, [*tasks, *given_by.names])
    words = Sure(ids[len(tasks) :], yes=given_by.yes)
    for task, name in zip(tasks, ids[: len(tasks)], strict=True):
        call = post_constellation_task_action(constellation, name, action)
        line = f"starloom {action} {shlex.quote(task)} {constellation}"
        answer = words.ask(run, partial(_post_confirmed, run, call, body), line)
        if answer is None:
            return
        answers.append(answer)
        if not run.as_json:
            state = f"; {constellation} is {answers[-1]['state']}" if answers[-1].get("state") else ""
            print(_DONE[action].format(task=task, **body) + state)
    if run.as_json:
        run.emit(answers[0] if len(answers) == 1 else answers)


def _post_confirmed(run: Invocation, call: Post[Controlled], body: dict[str, Any], confirm: list[str]) -> Controlled:
    return run.client.post(call, _without_empty({**body, "confirm": confirm} if confirm else body))


@dataclasses.dataclass(frozen=True)
class Sure:
    """The words of `--confirm`: tasks, lists by their names, or all work that would run a second time."""

    names: Sequence[str]
    yes: bool = False

    def ask(self, run: Invocation, send: Callable[[list[str]], T], line: str) -> T | None:
        """Send what may repeat work; lists and `all` are asked about with their count. None: nothing was sent.

        Raises:
            Problem: the hub refuses, work is not confirmed, or nobody can answer the question.
        """
        confirmed = [name for name in self.names if name != CONFIRM_ALL]
        try:
            return send(confirmed)
        except Problem as problem:
            tasks = _repeats(problem)
            if not tasks or not all(self._covers(name) for name in tasks):
                raise to_confirm(problem, line) from problem
        count = counted(len(tasks), "task")
        if not self.yes:
            if not sys.stdin.isatty() or run.as_json:
                hint = "Add --yes to the line to do it without the question."
                raise usage(f"{count} would do once more what may have been done already: {few(tasks, 3)}", hint)
            print(f"{count} would do once more what may have been done already: {few(tasks, 20)}")
            if not typer.confirm(f"Run {'it' if len(tasks) == 1 else f'all {len(tasks)}'} again?", default=False):
                print("Nothing was run again.")
                return None
        return send(list(dict.fromkeys([*confirmed, *tasks])))

    def _covers(self, task: str) -> bool:
        return any(name == CONFIRM_ALL or task == name or task.startswith(f"{name}.") for name in self.names)


def _repeats(problem: Problem) -> list[str]:
    """Return the tasks that a refusal wants to be confirmed; none for any other refusal."""
    tasks = problem.document.get("repeats")
    is_asked = problem.code == Code.NEEDS_CONFIRM and isinstance(tasks, list)
    return [str(name) for name in tasks] if is_asked and tasks else []


def to_confirm(problem: Problem, line: str) -> Problem:
    """Return a refusal with the line that confirms the work which may not be repeated; others stay as they are."""
    tasks = _repeats(problem)
    if not tasks:
        return problem
    names = tasks if len(tasks) <= _CONFIRMS_MOST else [CONFIRM_ALL]
    confirm = "".join(f" --confirm {shlex.quote(name)}" for name in names)
    places = [dataclasses.replace(place, hint="") for place in problem.places]
    return dataclasses.replace(problem, hint=f"{line}{confirm}", places=places)


def _without_empty(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value not in ("", [])}
