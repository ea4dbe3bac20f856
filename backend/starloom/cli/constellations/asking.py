"""Commands that submit a request and read a whole constellation: `submit what-if ls show watch result`.

Other commands take the documents of plans, rows and edits from here.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec.structs import replace

from starloom.cli.constellations.explaining import explained, explained_snapshot
from starloom.cli.constellations.standing import tell_accepted
from starloom.cli.constellations.stopping import refuse_unknown_person
from starloom.cli.invocation import IdArgument, Invocation, finish, hub_command
from starloom.cli.nearest import unknown
from starloom.client.exits import Exit
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_constellation,
    get_constellation_result,
    get_constellation_what_if,
    get_constellation_why,
    get_constellations,
    get_session,
    post_constellation_what_if,
    post_constellations,
    post_constellations_preview,
    post_what_if,
)
from starloom.client.terminal.escaping import escaped_text
from starloom.client.terminal.style import clock, own_times
from starloom.client.terminal.typed import say, typed
from starloom.client.terminal.values import duration_s, json_or_text, parameters
from starloom_protocol.text.presentation import BEFORE_UNDO
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    PERSON_ATTENTION,
    Attention,
    Code,
    ConstellationState,
    Priority,
    Reason,
    Sharing,
    TaskState,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from starloom.client.view import View
    from starloom_protocol.api.constellations import ConstellationRow
    from starloom_protocol.api.previews import Created, RequestPreview
    from starloom_protocol.stream.feed import Event

ParamOption = Annotated[
    list[str] | None, typer.Option("--param", "-p", help="A value of the recipe; NAME:=JSON for anything but a word.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait for the end; the exit code is the result.")]
AnywayOption = Annotated[
    bool, typer.Option("--anyway", help="Also a plan that waits for a device which is not here yet.")
]
ApproveOption = Annotated[
    str | None, typer.Option("--approve", metavar="HASH", help="Approve the plan with this hash, as previewed.")
]
DeadlineOption = Annotated[str | None, typer.Option("--deadline", help="Give up after, for example 30m.")]
PreviewOption = Annotated[bool, typer.Option("--preview", help="Only show the plan that would run.")]


_ID = re.compile(r"c-[0-9a-z-]+")
RECIPE_HEAD = re.compile(r"^[{ ]*\"?starloom_recipe\"? *:", re.MULTILINE)
PLAN_HEAD = re.compile(r"^(?:\{\s*)?\"?starloom\"? *:", re.MULTILINE)
PLAN_ENDINGS = (".yaml", ".yml", ".json")
_TAPS_MOST = 5
"""So many constellations of a list are looked at for the device on which somebody has to tap."""


def register(app: typer.Typer) -> None:
    hub_command(app, "submit")(submit)
    hub_command(app, "what-if")(what_if)
    hub_command(app, "ls")(list_constellations)
    hub_command(app, "show")(show)
    hub_command(app, "watch")(watch)
    hub_command(app, "result")(result)


def read_rows(run: Invocation, path: str) -> list[Any]:
    """Return the rows of a file: those of a CSV table by its titles, the list of a JSON file, or a value a line.

    Raises:
        Problem: it cannot be read, or holds no rows.
    """
    text = run.read(path, "file of rows", _FORM_OF_ROWS)
    if path.lower().endswith(".csv"):
        table = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
        try:
            rows = [{name: json_or_text(value or "") for name, value in row.items() if name} for row in table]
        except csv.Error as error:
            raise usage(f"{path} is no CSV table: {error}", "Its first line has the titles.") from error
    elif text.lstrip().startswith("["):
        rows = _json_value(text, path)
    else:
        rows = [
            _json_value(line, f"line {at} of {path}") for at, line in enumerate(text.splitlines(), 1) if line.strip()
        ]
    if not rows:
        raise usage(f"{path} has no rows", _FORM_OF_ROWS)
    return rows


def _json_value(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise usage(f"{where} is no JSON: {error}", _FORM_OF_ROWS) from error


_FORM_OF_ROWS = "Write a CSV table (FILE.csv), a JSON list, or a JSON value a line."
_FORM_OF_AN_EDIT = (
    "Write `operations: [{add_task: {id: ID, tool: TOOL}}]`; `starloom edit --editor` and docs/plans.md show the form."
)


def edit_document(text: str) -> dict[str, Any]:
    """Return the document of an edit.

    Raises:
        Problem: it has another form.
    """
    from starloom_protocol.plan.language.document import DocumentRefused, read_document

    try:
        document = read_document(text)
    except DocumentRefused as refused:
        hint = refused.fault.hint if refused.fault.place else _FORM_OF_AN_EDIT
        raise usage(f"{refused.fault.place or 'the edit'}: {refused.fault.reason}", hint) from refused
    if not isinstance(document.get("operations"), list):
        raise usage("an edit is a map with a list of `operations`", _FORM_OF_AN_EDIT)
    return document


def what_runs(
    run: Invocation, request: str, file: str | None, recipe: str | None, param: list[str] | None
) -> dict[str, Any]:
    """Return the members of a body that name the work: words, plan or recipe, with its parameters.

    Raises:
        Problem: the file cannot be read, a parameter is invalid, or the words are the path of a plan.
    """
    body: dict[str, Any] = {}
    if request.endswith(PLAN_ENDINGS) and Path(request).is_file():
        raise usage(
            f"{quoted(request)} is a file, and no request in words",
            f"Say that it is a plan: starloom submit -f {shlex.quote(request)}",
        )
    if request:
        body["request"] = request
    if file:
        body["plan"] = run.read(file)
        if RECIPE_HEAD.search(body["plan"]):
            way = f"Look at it: starloom recipe test {shlex.quote(file)} - or keep it: starloom recipe import FILE"
            raise usage(f"{file} is a recipe, and no plan", way)
    if recipe:
        body["recipe"] = recipe
    if param:
        body["params"] = parameters(param)
    return body


def submit(
    run: Invocation,
    words: Annotated[list[str] | None, typer.Argument(help="The request in words.")] = None,
    file: Annotated[str | None, typer.Option("--file", "-f", help="A plan (YAML or JSON); - for stdin.")] = None,
    recipe: Annotated[str | None, typer.Option("--recipe", "-r", help="A recipe by name.")] = None,
    param: ParamOption = None,
    wait: WaitOption = False,
    preview: PreviewOption = False,
    hold: Annotated[bool, typer.Option("--hold", help="Stop before the first task, for an approval.")] = False,
    approve: ApproveOption = None,
    deadline: DeadlineOption = None,
    budget: Annotated[
        float | None, typer.Option("--budget", metavar="N", help="At most N dollars for the model; then it pauses.")
    ] = None,
    attempts: Annotated[
        int | None, typer.Option("--attempts", metavar="N", min=1, help="At most N attempts; then it pauses.")
    ] = None,
    priority: Annotated[
        Priority | None, typer.Option("--priority", help="Before or after your other constellations.")
    ] = None,
    share: Annotated[
        Sharing | None, typer.Option("--share", help="Show a model no more of results than this, for this request.")
    ] = None,
    label: Annotated[list[str] | None, typer.Option("--label", metavar="NAME=VALUE", help="To find it again.")] = None,
    anyway: AnywayOption = False,
) -> None:
    """Submit a request: words, a plan, or a recipe."""
    request = " ".join(words or [])
    if sum(1 for source in (request, file, recipe) if source) != 1:
        raise usage(
            "a request is words, or -f plan.yaml, or -r recipe: exactly one",
            'For example: starloom submit "how are my machines"',
        )
    body = what_runs(run, request, file, recipe, param)
    if preview:
        if budget is not None:
            body["budget"] = budget
        print_preview(run, run.client.post(post_constellations_preview(), body), approved=approve or "")
        return
    if approve:
        body["plan_hash"] = approve
    if hold:
        body["hold"] = True
    if deadline:
        body["deadline_s"] = duration_s(deadline)
    if budget is not None:
        body["budget"] = budget
    if attempts is not None:
        body["attempts"] = attempts
    if priority is not None:
        body["priority"] = priority.value
    if share is not None:
        body["sharing"] = share.value
    if label:
        body["labels"] = {name: str(value) for name, value in parameters(label).items()}
    body["able"] = not anyway
    key = uuid.uuid4().hex
    created = _created(run, body, key)
    if not wait:
        tell_accepted(run, created)
        return
    if not run.as_json:
        sys.stderr.write(f"{created['id']} accepted\n")
    try:
        watch_to_end(run, str(created["id"]))
    except Problem as problem:
        if problem.code != Code.FORBIDDEN:
            raise
        _wait_unread(run, body, key)


def _wait_unread(run: Invocation, body: dict[str, Any], key: str) -> None:
    """Wait for the end of a request that its own token may not read, and finish with its exit code."""
    from starloom.client.watching import ended_or_stuck, outcome_unread

    created = ended_or_stuck(run.client, body, key)
    if run.as_json:
        run.emit(created)
    elif "answer" in created:
        from starloom.cli.text.constellation_text import answer_lines

        _print(answer_lines(created["answer"], run.client.names()))
    else:
        attention = ", ".join(created.get("attention") or [created["state"]]).replace("_", " ")
        say(f"{created['id']} needs a person ({attention}); this token may not read it.", sys.stderr)
        say(f"The way out: somebody who may read runs starloom show {created['id']}", sys.stderr)
    finish(outcome_unread(created))


def _created(run: Invocation, body: dict[str, Any], key: str) -> Created:
    """Submit a request, unless one of its tasks could never begin on the devices that are here.

    Raises:
        Problem: it was refused; for such a task with the way to submit it nevertheless.
    """
    with offering_anyway("submit it"):
        return run.client.create(post_constellations(), body, key=key)


@contextmanager
def offering_anyway(way: str) -> Iterator[None]:
    """Add to the refusal of a task that could never begin the way to send it nevertheless."""
    try:
        yield
    except Problem as problem:
        if problem.code == Code.TOOL_UNAVAILABLE:
            problem.hint = f"{problem.hint} For a device that joins later, {way} with --anyway."
        if problem.code == Code.MISSING_GRANT:
            problem.hint = f"{problem.hint} To let it wait for the grant, {way} with --anyway."
        raise


def print_preview(run: Invocation, preview: RequestPreview, *, approved: str = "") -> None:
    """Print the plan that would run, and end with the code that carrying it out would begin with."""
    from starloom.cli.text.preview_text import preview_text
    from starloom.client.exits import exit_of_preview

    if run.as_json:
        run.emit(preview)
    else:
        _print(preview_text(preview), crop=False)
    finish(exit_of_preview(preview, approved=approved))


def what_if(
    run: Invocation,
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="[PLAN|ID|NAME]",
            help="A plan (a file; - for stdin), or a constellation; without it your newest.",
        ),
    ] = None,
    words: Annotated[str, typer.Option("--words", help="A request in words instead of a plan.")] = "",
    recipe: Annotated[str | None, typer.Option("--recipe", "-r", help="A recipe by name instead of a plan.")] = None,
    param: ParamOption = None,
    without: Annotated[list[str] | None, typer.Option("--without", help="A device that is not there.")] = None,
    with_copy_of: Annotated[
        list[str] | None, typer.Option("--with-copy-of", help="A device of which there is one more.")
    ] = None,
    edit: Annotated[str | None, typer.Option("--edit", help="An edit of a constellation, as for `edit -f`.")] = None,
    within: Annotated[
        str | None, typer.Option("--within", help="Also the chance to end within, for example 5m.")
    ] = None,
) -> None:
    """Say how long a plan should take, or when a constellation should end, now and after a change. Starts nothing."""
    if sum(1 for source in (subject, words, recipe) if source) > 1:
        raise usage(
            "a plan, words, a recipe or a constellation: only one of them",
            "For example: starloom what-if plan.yaml --without srv-a",
        )
    running = not words and not recipe and (subject is None or not _is_plan(subject))
    if not (without or with_copy_of or edit) and (not running or within):
        way = "Name a change, for example --without srv-a. How long a plan takes as it is stands in its preview."
        raise usage("there is no change to ask about", way)
    change: dict[str, Any] = {"without": without or [], "with_copy_of": with_copy_of or []}
    if within:
        change["within_s"] = duration_s(within)
    if running:
        _what_if_of_run(run, _constellation_id(run, subject), change, edit)
        return
    if edit:
        raise usage("--edit belongs to a constellation", "Change the plan instead, and ask about that.")
    forecast = run.client.post(post_what_if(), what_runs(run, words, subject, recipe, param) | change)
    if run.emits(forecast):
        return
    from starloom.cli.text.forecast_text import what_if_lines

    for line in what_if_lines(forecast):
        say(line)


def _what_if_of_run(run: Invocation, constellation: str, change: dict[str, Any], edit: str | None) -> None:
    if edit:
        document = edit_document(run.read(edit, "edit"))
        base = document.get("base_version", run.client.get(get_constellation(constellation))["version"])
        change = {**change, "edit": {"base_version": base, "operations": document["operations"]}}
    if any(change.values()):
        forecast = run.client.post(post_constellation_what_if(constellation), change)
    else:
        forecast = run.client.get(get_constellation_what_if(constellation))
    if run.emits(forecast):
        return
    from starloom.cli.text.forecast_text import run_lines

    for line in run_lines(forecast, run.client.names()):
        say(line)


def _constellation_id(run: Invocation, text: str | None) -> str:
    """Return the id of a constellation that is given by its id or its name; without one the newest.

    Raises:
        Problem: there is none, nor a plan of that name.
    """
    if text is None or _ID.fullmatch(text):
        return run.newest(text)
    rows = run.client.get(get_constellations(q=text))["items"]
    namesakes = [row for row in rows if row["name"].casefold() == text.casefold()]
    # Those that have ended have no end to foresee.
    unfinished = [row for row in namesakes if row["state"] not in FINAL_CONSTELLATION_STATES]
    matches = unfinished or namesakes
    if not matches and not text.startswith("c-"):
        raise usage(
            f"there is no file {text} here, and no constellation of that name",
            "Name a plan (a file), or a constellation; `starloom ls` lists those that there are.",
        )
    return matches[0]["id"] if matches else text


def _is_plan(subject: str) -> bool:
    """Tell a plan file from a constellation, whose id or name has no dot and no slash."""
    return subject == "-" or "." in subject or "/" in subject or Path(subject).expanduser().is_file()


def list_constellations(
    run: Invocation,
    state: Annotated[
        list[ConstellationState] | None,
        typer.Option("--state", metavar="STATE", help="Only those in this state, or in any of several: active ..."),
    ] = None,
    text: Annotated[str | None, typer.Option("--q", help="Only those whose name or words contain this.")] = None,
    device: Annotated[str | None, typer.Option("--device", help="Only those that used this device.")] = None,
    of: Annotated[str | None, typer.Option("--of", help="Only those that a person of this name asked for.")] = None,
    most: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="At most so many.")] = 20,
) -> None:
    """List constellations, newest first."""
    items = list(run.client.pages(get_constellations(state=state, q=text, device=device, of=of), most=most))
    if of and not items:
        refuse_unknown_person(run, of)
    if run.as_json:
        run.emit({"items": items})
        return
    if not items:
        names = run.client.names() if device else {}
        if names and device not in (*names, *names.values()):
            raise unknown("no device is called", device or "", names.values(), "starloom devices")
        print("No such constellation." if state or text or device or of else "No constellation yet.")
        return
    from rich.table import Table

    from starloom.client.terminal.console import state_text
    from starloom.client.terminal.fitting import Fitted
    from starloom_protocol.stream.authors import shown_name

    # One person alone has asked for all of it, so the column would say nothing.
    several = len({shown_name(item["author"]) for item in items}) > 1
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in ("id", "state", "version", "begun", *(("by",) if several else ()), "name"):
        table.add_column(name, no_wrap=name == "id")
    for item in items:
        started, by = clock(item["created_at"]), " (by a schedule)" if item.get("schedule") else ""
        name = (item["name"] or item["request"]) + by
        undone = item.get("undone_from") is not None
        state_shown = state_text(item["state"], alarm=bool(item.get("alarm")), undone=undone)
        state_shown.append(_asked_beside(item), style="magenta")
        author = (shown_name(item["author"]),) if several else ()
        table.add_row(item["id"], state_shown, str(item["version"]), started, *author, name)
    _print(Fitted(table, spared=("version", "begun")))
    _tell_taps(run, items)
    if not (state or text or device or of):
        default, words = run.default_constellation(items[0])
        if words:
            say(f"Commands without an ID mean {default['id']}, {words}.")


def _asked_beside(item: ConstellationRow) -> str:
    """Return the words behind the state of one that asks for a person, with the tasks that run meanwhile."""
    if not item.get("attention") or item["state"] in FINAL_CONSTELLATION_STATES:
        return ""
    attention = item["attention"][0].replace("_", " ")
    # A hub of before does not count them.
    running = item.get("running", 0)
    if not running or PERSON_ATTENTION.isdisjoint(item["attention"]):
        return f", {attention}"
    return f", {running} running, waits for you: {attention}"


def _tell_taps(run: Invocation, items: list[ConstellationRow]) -> None:
    """Say which task waits for a tap and on which device; the list itself has the reason alone."""
    waiting = [
        item["id"]
        for item in items
        if Attention.WAITS_FOR_A_TAP in item.get("attention", ()) and item["state"] not in FINAL_CONSTELLATION_STATES
    ]
    for identity in waiting[:_TAPS_MOST]:
        explanation = run.client.get(get_constellation_why(identity))
        if "attention" not in explanation:
            continue
        for row in explanation["attention"]:
            if row["reason"] == Attention.WAITS_FOR_A_TAP:
                say(f"{identity}: {row['sentence']}")


def show(
    run: Invocation,
    identity: IdArgument = None,
    version: Annotated[int | None, typer.Option("--version", help="The plan as of this version.")] = None,
) -> None:
    """Show a constellation: its tasks, its open questions, its answer."""
    constellation = run.newest(identity)
    if run.as_json or version is not None:
        snapshot = run.client.get(get_constellation(constellation, version=version))
        goes_on = version is None and snapshot["state"] not in FINAL_CONSTELLATION_STATES
        run.emit(
            explained_snapshot(snapshot, run.client.get(get_constellation_why(constellation))) if goes_on else snapshot
        )
        return
    from starloom.cli.text.constellation_text import page
    from starloom.cli.text.task_names import named_in_text

    view = _empty_view(constellation)
    _read_on(run, view)
    if view.seq == 0:
        run.client.get(get_constellation(constellation))
    names = run.client.names()
    sentences = _join_reasons(run, view)
    _print(page(view, names, approves=not view.open_questions or _approves(run)))
    for sentence in sentences:
        say(named_in_text(sentence, names))
    head = view.head
    if head is not None and head.state == ConstellationState.ACTIVE and (head.deadline_s or _bounds_a_model(view)):
        from starloom.cli.text.forecast_text import bound_lines

        for line in bound_lines(
            run.client.get(get_constellation_what_if(constellation)), deadline=bool(head.deadline_s)
        ):
            say(line)


def _join_reasons(run: Invocation, view: View) -> list[str]:
    """Join the reasons of ready tasks to the view; return for whom it waits, and each task that no device can take."""
    from starloom.client.view import ABOUT_DEVICES

    if not view.has_unplaceable_tasks and not view.is_idle:
        return []
    reasons: dict[str, Reason] = {}
    explanation = run.client.get(get_constellation_why(view.constellation))
    sentences = [str(waits)] if (waits := explanation.get("waits")) else []
    for item in explained(explanation):
        task, reason = item["task"], item["reason"]
        if task is None or reason is None or item["state"] != TaskState.READY:
            continue
        reasons[task] = Reason(reason)
        if str(reason) in ABOUT_DEVICES and item["sentence"] not in sentences:
            sentences.append(item["sentence"])
    view.set_ready_reasons(reasons)
    return [own_times(sentence) for sentence in sentences]


def _bounds_a_model(view: View) -> bool:
    """Tell whether tokens or money of a model are bounded in a run: by its own budget, or by that of a goal."""
    from starloom_protocol.records.entities import TaskSpec

    budget = view.head.budget if view.head is not None else None
    return bool(budget and budget.micros) or any(spec.goal is not None for spec in view.each("spec", TaskSpec).values())


def watch(run: Invocation, identity: IdArgument = None) -> None:
    """Follow a constellation to its end; the exit code is its result."""
    watch_to_end(run, run.newest(identity))


def result(
    run: Invocation,
    identity: IdArgument = None,
    save: Annotated[Path | None, typer.Option("--save", help="Also save its files into this folder.")] = None,
) -> None:
    """Print the answer; the exit code is the constellation's result, 4 while there is none."""
    constellation = run.newest(identity)
    answer = run.client.get(get_constellation_result(constellation))
    saved: list[str] = []
    faults: list[str] = []
    if save is not None:
        from starloom.cli.constellations.saving import save_items

        saved, faults = save_items(run.client, answer["items"], save)
    if run.as_json:
        run.emit({**answer, "saved": saved} if save is not None else answer)
    else:
        from starloom.cli.text.constellation_text import answer_lines

        _print(answer_lines(answer, run.client.names()))
        for path in saved:
            print(f"saved {path}")
    for sentence in faults:
        say(sentence, sys.stderr)
    snapshot = run.client.get(get_constellation(constellation))
    state = answer["constellation_state"]
    if not run.as_json and (fault := snapshot["fault"]):
        from starloom.cli.text.constellation_text import fault_line

        say(fault_line(fault["reason"], fault["code"], fault.get("hint", "")))
    from starloom.client.exits import exit_of_state

    code = exit_of_state(state)
    if code is None and not run.as_json:
        awaits = "waits for an approval" if state == ConstellationState.AWAITING_APPROVAL else f"is {state}"
        say(f"It {awaits} and has no final answer yet. More: starloom why {constellation}")
    finish(Exit.ATTENTION if code is None else code)


def _empty_view(identity: str) -> View:
    from starloom.client.view import View

    return View(identity)


def watch_to_end(run: Invocation, identity: str, *, from_now: bool = False) -> None:
    """Follow a constellation to its end and finish with its exit code; `from_now` leaves out what has happened."""
    from starloom.cli.text.constellation_text import Changes, answer_text, fault_line, why_line
    from starloom.cli.text.screen import Screen
    from starloom.client.watching import follow, outcome

    run.constellation = identity
    view = _empty_view(identity)
    if from_now:
        _read_on(run, view)
    if run.as_json:
        for batch in follow(run.client, view):
            for event in batch.events:
                sys.stdout.write(_event_json(event) + "\n")
            sys.stdout.flush()
        finish(outcome(view))
        return
    names = run.client.names()
    if sys.stdout.isatty():
        with Screen(view, names, approves=_approves(run)) as screen:
            for _ in follow(run.client, view, say=screen.say, quiet=_teller(run, identity, screen.say)):
                screen.draw()
    else:
        changes = Changes(names)
        for batch in follow(run.client, view, quiet=_teller(run, identity, say)):
            for event in batch.events:
                for line in changes.lines(event):
                    print(line, flush=True)
    if view.answer is not None and view.answer.state != "none":
        # After an undo, its outcome is asked for, and not the results of the work that it took back.
        items = [item for item in view.answer.items if not (from_now and item.title.endswith(BEFORE_UNDO))]
        _print(answer_text(replace(view.answer, items=items), names))
    if view.final and view.head is not None and (fault := view.head.fault) is not None:
        say(fault_line(fault.reason, fault.code, fault.hint))
    if view.final and (reason := why_line(view, names)):
        say(reason)
    code = outcome(view)
    if code is Exit.ATTENTION:
        _tell_attention(run, view)
    finish(code)


def _read_on(run: Invocation, view: View) -> None:
    """Bring a view to the end of its log."""
    from starloom.client.watching import PAGE

    while view.apply(events := run.client.events(view.constellation, view.seq, limit=PAGE)) and len(events) == PAGE:
        pass


def _teller(run: Invocation, identity: str, tell: Callable[[str], None]) -> Callable[[], None]:
    """Return the function that prints why ready tasks do not start, each sentence once."""
    sentences: set[str] = set()

    def ask() -> None:
        for item in explained(run.client.get(get_constellation_why(identity))):
            if item["state"] == "ready" and item["sentence"] not in sentences:
                sentences.add(item["sentence"])
                tell(item["sentence"])

    return ask


def _approves(run: Invocation) -> bool:
    """Return whether this sign-in or token may answer questions."""
    return run.client.get(get_session())["approves"]


def _tell_attention(run: Invocation, view: View) -> None:
    from starloom.cli.text.constellation_text import how_to_answer

    say(f"{view.constellation} is {view.state.value.replace('_', ' ')} and needs a person:", sys.stderr)
    approves = not view.open_questions or _approves(run)
    for name, question in view.open_questions.items():
        # The text not by `say`: a model may have written it, and no command in it is one to type.
        how = typed(how_to_answer(f"{view.constellation}:{name}", question, approves=approves))
        print(f"  {escaped_text(question.text, indent=4)}  ({escaped_text(how)})", file=sys.stderr)
        if question.shown is not None:
            from starloom.cli.text.shown_text import shown_lines
            from starloom_protocol.values import parse

            part = question.shown
            for line in shown_lines(part.source, part.output, parse(part.value), part.left_out):
                print(line, file=sys.stderr)
    for sentence in _attention_sentences(run, view):
        say(f"  {sentence}  (starloom why)", sys.stderr)
    if view.state.value == "paused":
        say("  paused  (starloom resume)", sys.stderr)


def _attention_sentences(run: Invocation, view: View) -> list[str]:
    """Return the sentences of `why` for the tasks that need a person, each once, without those of open questions."""
    head = view.head
    reasons = [reason.value for reason in head.attention] if head is not None else []
    if view.open_questions:
        reasons = [reason for reason in reasons if reason != Attention.QUESTION_OPEN]
    rows = explained(run.client.get(get_constellation_why(view.constellation))) if reasons else []
    sentences: dict[str, None] = {}
    for reason in reasons:
        of_reason = [row["sentence"] for row in rows if row["reason"] == reason]
        sentences.update(dict.fromkeys(of_reason or [reason.replace("_", " ")]))
    return list(sentences)


def _event_json(event: Event) -> str:
    from starloom_protocol.stream.feed import encode_event

    return encode_event(event).decode()


def _print(renderable: RenderableType, *, crop: bool = True) -> None:
    from starloom.client.terminal.console import console

    console().print(renderable, crop=crop)
