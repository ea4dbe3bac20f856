"""Commands for history: `again fork undo replay blame` of a constellation, `audit verify | export` of everything."""

from __future__ import annotations

import os
import sys
from codecs import iterdecode
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from starloom.cli.constellations.asking import (
    AnywayOption,
    ApproveOption,
    DeadlineOption,
    PreviewOption,
    WaitOption,
    print_preview,
    submit,
    watch_to_end,
)
from starloom.cli.constellations.controls import ConfirmOption, ReasonOption, to_confirm
from starloom.cli.constellations.reading import no_task
from starloom.cli.invocation import IdArgument, Invocation, finish, hub_command
from starloom.client.exits import Exit
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_audit_verify,
    get_constellation,
    get_constellation_blame,
    get_constellation_replay,
    get_constellations,
    post_constellation_edits,
    post_constellation_fork,
    post_constellation_undo,
    post_constellations_preview,
)
from starloom.client.terminal.escaping import document_text
from starloom.client.terminal.values import json_or_text, parameters
from starloom_protocol.stream.authors import shown_name
from starloom_protocol.text.wording import counted, quoted
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code

if TYPE_CHECKING:
    from starloom_protocol.api.history import ChainCheck, Replayed, Undone
    from starloom_protocol.api.previews import RequestPreview

PATIENCE_S = 600.0
LAST_LOOKED_AT = 20
"""Further back it is no longer the last thing that somebody did."""
MaybeTask = Annotated[str | None, typer.Option("--task", "-t", help="From this task on.")]


def register(app: typer.Typer) -> None:
    for name, command in (("again", again), ("fork", fork), ("undo", undo), ("replay", replay), ("blame", blame)):
        hub_command(app, name)(command)
    audit = typer.Typer(help="The record of who did what: check it, copy it.", no_args_is_help=True)
    hub_command(audit, "verify")(verify)
    hub_command(audit, "export")(export)
    app.add_typer(audit, name="audit")


def again(
    run: Invocation,
    identity: IdArgument = None,
    given: Annotated[
        list[str] | None, typer.Option("--with", help="Another value: NAME=TEXT, or NAME:=JSON; the others stay.")
    ] = None,
    wait: WaitOption = False,
    preview: PreviewOption = False,
    approve: ApproveOption = None,
    deadline: DeadlineOption = None,
    anyway: AnywayOption = False,
) -> None:
    """Run the recipe of a constellation again, with the same values or with others, as a new constellation.

    One that was asked for in words asks you before it changes anything, as these words do.
    """
    snapshot = run.client.get(get_constellation(run.newest(identity)))
    if snapshot["recipe"] is None:
        hint = f"A fork changes its plan: starloom fork {snapshot['id']} --task TASK -i TASK.NAME=VALUE"
        raise usage(f"{snapshot['id']} was made from no recipe, so it has no values to change", hint)
    values = {**snapshot["params"], **parameters(given or [])}
    param = [f"{name}:={canonical(value)}" for name, value in values.items()]
    source: dict[str, Any] = {"recipe": snapshot["recipe"]}
    if words := snapshot.get("request"):
        means_now = run.client.post(post_constellations_preview(), {"request": words, "params": values})
        means = (means_now.get("recipe"), means_now.get("params")) == (snapshot["recipe"], values)
        # Words that mean something else by now are not said again, and the run still waits for a yes.
        source = {"words": [words]} if means else {**source, "hold": True}
    submit(run, **source, param=param, wait=wait, preview=preview, approve=approve, deadline=deadline, anyway=anyway)


def fork(
    run: Invocation,
    identity: IdArgument = None,
    task: MaybeTask = None,
    version: Annotated[int | None, typer.Option("--version", min=1, help="As it was at this version.")] = None,
    given: Annotated[
        list[str] | None, typer.Option("--input", "-i", help="Another argument: TASK.NAME=VALUE (JSON or text).")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="The name of the fork.")] = "",
    confirm: ConfirmOption = None,
    preview: PreviewOption = False,
    reason: ReasonOption = "",
) -> None:
    """Start a new constellation from a task on, or from a version; results before it are used again."""
    if (task is None) == (version is None):
        raise usage("a fork begins at one place", "Give --task TASK or --version N.")
    constellation = run.newest(identity)
    body: dict[str, Any] = {
        "from_task": run.task_ids(constellation, [task])[0] if task is not None else None,
        "from_version": version,
        "inputs": _inputs(given or []),
        "name": name,
        "confirm": confirm or [],
        "reason": reason,
    }
    filled = {key: value for key, value in body.items() if value not in (None, "", [], {})}
    try:
        if preview:
            plan = run.client.post(post_constellation_fork(constellation), filled | {"preview": True})["preview"]
            if plan["tasks"] or run.as_json:
                print_preview(run, cast("RequestPreview", plan))
            else:
                print("Nothing would run: every task keeps its result.")
            return
        forked = run.client.create(post_constellation_fork(constellation), filled)
    except Problem as problem:
        place = f"--task {quote(task)}" if task is not None else f"--version {version}"
        raise to_confirm(problem, f"starloom fork {constellation} {place}") from problem
    run.answer(forked, f"{forked['id']} is forked from {constellation}: {forked['state']}")


def _inputs(texts: list[str]) -> dict[str, dict[str, Any]]:
    inputs: dict[str, dict[str, Any]] = {}
    for text in texts:
        place, equals, value = text.partition("=")
        task, dot, name = place.rpartition(".")
        if not (equals and dot and task and name):
            raise usage(f"{quoted(text)} is no argument of a task", "Write it as TASK.NAME=VALUE.")
        inputs.setdefault(task, {})[name] = json_or_text(value)
    return inputs


def undo(
    run: Invocation,
    identity: IdArgument = None,
    task: Annotated[list[str] | None, typer.Option("--task", "-t", help="Only what this task has done.")] = None,
    version: Annotated[int | None, typer.Option("--version", min=2, help="Take back this edit of the plan.")] = None,
    of: Annotated[
        str, typer.Option("--of", metavar="NAME", help="The newest work of this person that can be undone.")
    ] = "",
    preview: Annotated[bool, typer.Option("--preview", help="Only say what would be undone.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Without ID: do not ask first.")] = False,
    reason: ReasonOption = "",
    wait: WaitOption = False,
) -> None:
    """Undo the work of finished tasks, by the calls that they declare; or an edit of the plan."""
    if task and version is not None:
        raise usage("tasks are undone, or an edit is", "Give --task or --version.")
    if of and (identity or task or version is not None):
        raise usage("--of finds the constellation, and undoes all of its work", "Leave ID, --task and --version out.")
    if preview and version is not None:
        raise usage("an edit has no preview", f"The plan before it: starloom diff --from {version - 1} --to {version}")
    tasks: list[str] = []
    if not of:
        constellation = run.newest(identity)
        tasks = run.task_ids(constellation, task or [])
    # What a person did not name is shown before it is undone.
    asks = not yes and (bool(of) or (identity is None and version is None and sys.stdin.isatty() and not run.as_json))
    if of or preview or asks:
        constellation, would = _last_of(run, of) if of else _would_undo(run, constellation, tasks)
        if preview:
            _tell_preview(run, constellation, would)
            return
        if asks and not _agreed(run, of, constellation, would):
            return
    if version is not None:
        edit = {"base_version": version, "operations": [{"undo": {"version": version}}], "reason": reason}
        answer = run.client.create(post_constellation_edits(constellation), edit)
        run.answer(answer, f"version {version} of {constellation} is taken back: version {answer['version']}")
        return
    answer = run.client.create(post_constellation_undo(constellation), {"tasks": tasks, "reason": reason})
    if run.as_json and not wait:
        run.emit(answer)
        return
    if not run.as_json:
        _tell_undo(constellation, answer, every=not task)
        if not wait:
            print(f"how many files went where, once it has ended: starloom result {constellation}")
    if wait:
        watch_to_end(run, constellation, from_now=True)


def _would_undo(run: Invocation, constellation: str, tasks: list[str]) -> tuple[str, Undone]:
    return constellation, run.client.post(post_constellation_undo(constellation), {"tasks": tasks, "preview": True})


def _last_of(run: Invocation, name: str) -> tuple[str, Undone]:
    """Return the newest constellation of a person whose work can be undone, and what that is.

    Raises:
        Problem: there is none among the newest, or the first of them may not be undone by this caller.
    """
    for row in run.client.get(get_constellations(of=name, limit=LAST_LOOKED_AT))["items"]:
        try:
            return _would_undo(run, row["id"], [])
        except Problem as problem:
            # Work that only read, that goes on, or that was undone before.
            if problem.code not in (Code.ILLEGAL_CONTROL, Code.DOWNSTREAM_STARTED):
                raise
    hint = f"What {name} asked for: starloom ls --of {quote(name)}"
    raise usage(f"nothing that {name} asked for last can be undone", hint)


def _tell_preview(run: Invocation, constellation: str, would: Undone) -> None:
    if run.as_json:
        run.emit({"id": constellation, **would})
        return
    print(f"{constellation} would undo, in this order: {', '.join(would['undoing'])}")
    for line in would.get("says", ()):
        print(f"  {line}")
    if would["cannot_be_undone"]:
        print(f"without a way back: {', '.join(would['cannot_be_undone'])}")


def _agreed(run: Invocation, name: str, constellation: str, would: Undone) -> bool:
    """Show what would be undone, and return whether the person at the terminal wants it.

    Raises:
        Problem: nobody can answer here; its way out is the line that does not ask.
    """
    count = counted(len(would["undoing"]), "task")
    if run.as_json or not sys.stdin.isatty():
        hint = f"Without the question: starloom undo --of {quote(name)} --yes"
        raise usage(f"this undoes {count} of {constellation}, which {name} asked for", hint)
    _tell_preview(run, constellation, would)
    title = "" if name else run.client.get(get_constellation(constellation))["name"]
    if typer.confirm(f"Undo {count} of {name or title or constellation}?", default=False):
        return True
    print("Nothing was undone.")
    return False


def _tell_undo(constellation: str, undone: Undone, *, every: bool) -> None:
    print(f"{constellation} undoes, in this order: {', '.join(undone['undoing'])}")
    if undone["cannot_be_undone"] and every:
        print(f"without a way back: {', '.join(undone['cannot_be_undone'])}")


def replay(run: Invocation, identity: IdArgument = None) -> None:
    """Decide every step of a constellation again from its inputs, and show where the log differs."""
    constellation = run.newest(identity)
    replayed = run.client.get(get_constellation_replay(constellation), within_s=PATIENCE_S)
    if run.as_json:
        run.emit(replayed)
    else:
        _print_replay(constellation, replayed)
    if not replayed["same"]:
        finish(Exit.FAILED)


def _print_replay(constellation: str, found: Replayed) -> None:
    span = f"commits {found['first_pos']} to {found['last_pos']}"
    print(f"{constellation}: {found['events']} events of {found['inputs']} inputs decided again, {span}")
    if found["note"]:
        print(found["note"])
    for item in found["differences"]:
        print(f"commit {item['pos']}, {item['stream']} {item['seq']} ({item['input'] or 'no input'}):")
        print(f"  logged:  {item['logged'] or 'nothing'}")
        print(f"  decided: {item['decided'] or 'nothing'}")
    if found["same"]:
        print("Every step came out the same.")
        return
    print(f"{counted(len(found['differences']), 'step')} came out otherwise.")
    print(
        "A run of before an upgrade may: a newer Starloom places tasks and words an answer in its own way. "
        "`starloom audit verify` tells whether the log is the one that was written."
    )


def blame(
    run: Invocation,
    task: Annotated[str, typer.Argument(metavar="TASK", help="A task's id.")],
    identity: IdArgument = None,
) -> None:
    """List the versions of the plan that made a task and its dependencies as they are: who, when, why."""
    constellation = run.newest(identity)
    page = run.client.get(get_constellation_blame(constellation, task=run.task_ids(constellation, [task])[0]))
    if run.emits(page):
        return
    if not page["items"]:
        raise no_task(constellation, task)
    for item in page["items"]:
        print(f"{item['id']}")
        for word, line in [("added", item["added"]), *(("changed", line) for line in item["changed"])]:
            if line is not None:
                why = line["reason"] or line["trigger"]
                print(f"  {word} in version {line['version']} by {shown_name(line['author'])}: {why}")


def verify(
    run: Invocation,
    anchor: Annotated[list[str] | None, typer.Option("--anchor", help="POS:LINK that was printed earlier.")] = None,
    file: Annotated[Path | None, typer.Option("--file", "-f", help="A copy made by `audit export`.")] = None,
) -> None:
    """Verify the chain of the record: is every row as it was written? Keep the printed anchor in another place."""
    check = (
        _verify_copy(file, anchor or [])
        if file
        else run.client.get(get_audit_verify(anchor=anchor or None), within_s=PATIENCE_S)
    )
    if run.as_json:
        run.emit(check)
    else:
        for item in check["breaks"]:
            print(f"commit {item['pos']}: {item['what']}")
        if check["unchained"]:
            print(f"{check['unchained']} commits are older than the chain")
        _print_pruned(check)
        state = "The record is whole" if check["ok"] else "The record was changed"
        print(f"{state}: {counted(check['commits'], 'commit')}, {counted(check['events'], 'event')}.")
        print(f"anchor {check['anchor']}")
    if not check["ok"]:
        finish(Exit.FAILED)


def _print_pruned(check: ChainCheck) -> None:
    pruned = check["pruned"]
    if pruned["constellations"] or pruned["commits"]:
        print(
            f"{pruned['constellations']} constellations with {pruned['commits']} whole commits were pruned from "
            f"{pruned['first_at']} to {pruned['last_at']} ({', '.join(pruned['why'])}); "
            f"{pruned['anchors']} anchors stand for them"
        )
    for pos in check["unseen_anchors"]:
        print(f"the anchor at {pos} is in what was pruned, so its link can no longer be compared")


def _verify_copy(file: Path, anchors: list[str]) -> ChainCheck:
    """Verify a copy without a hub; only the content of a copy is checked: events, hashes of inputs, links."""
    from starloom.cli.constellations import audit_copy
    from starloom.store.chain import anchor_of

    try:
        pairs = [anchor_of(text) for text in anchors]
    except ValueError as error:
        raise usage(f"an anchor {error}", "Give it as an earlier `starloom audit verify` printed it.") from error
    try:
        return audit_copy.verify(file, pairs)
    except OSError as error:
        raise usage(
            f"{file} cannot be read: {error.strerror}", "Name a file that `starloom audit export` made."
        ) from error
    except ValueError as error:
        why = "it is no text in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)
        raise usage(f"{file} cannot be read: {why}", "Name a file that `starloom audit export` made.") from error


def export(
    run: Invocation,
    file: Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Where to; without it, to the screen.")] = None,
) -> None:
    """Copy the whole record, a line of JSON a commit; `audit verify -f FILE` checks it without a hub."""
    count = 0
    if file is None:
        for text in iterdecode(run.client.stream("/audit/export"), "utf-8"):
            sys.stdout.write(document_text(text))
        return
    # It says who did what on which device: for its owner alone, as a backup is.
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        for part in run.client.stream("/audit/export"):
            count += part.count(b"\n")
            out.write(part)
    run.answer({"commits": count, "file": str(file)}, f"{counted(count, 'commit')} copied to {file}")
