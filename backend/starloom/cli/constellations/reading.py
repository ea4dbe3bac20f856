"""Commands that read parts of a constellation: `logs events why report transcript diff`."""

from __future__ import annotations

import os
import re
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from starloom.cli.constellations.explaining import ways_out
from starloom.cli.constellations.reasons import LINES_MOST, AlikeTasks, alike
from starloom.cli.constellations.standing import tell_questions
from starloom.cli.invocation import IdArgument, Invocation, hub_command
from starloom.cli.text.task_names import named_in_line, named_in_text
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_constellation,
    get_constellation_diff,
    get_constellation_report,
    get_constellation_task_attempt_log,
    get_constellation_transcript,
    get_constellation_why,
    get_constellations,
    get_recipe_runs,
    get_schedule_run,
)
from starloom.client.terminal.escaping import document_text, escaped_lines, escaped_text
from starloom.client.terminal.style import own_times
from starloom.client.terminal.typed import say
from starloom_protocol.stream.authors import shown_name
from starloom_protocol.text.wording import counted, escaped, quoted
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, FINAL_TASK_STATES, ConstellationState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starloom_protocol.api.constellations import ConstellationRow, WhyAll, WhyRow
    from starloom_protocol.api.history import Output

LOG_PAGE = 256 * 1024
_FIELD_CHARS_MOST = 200
_FOLLOW_S = 1.0
OTHERS_SHOWN_MOST = 10
"""The most other waiting constellations that `why` names beside the newest."""
_WAITING_STATES = frozenset({ConstellationState.AWAITING_APPROVAL, ConstellationState.PAUSED})
_CONSTELLATION = re.compile(r"c-[a-z0-9]{20}|c-[a-z0-9]{12,20}-[0-9]+(-told)?")
"""A request has an id of 20 characters; a firing that of its schedule, and the second when it was due."""
TaskArgument = Annotated[str | None, typer.Argument(metavar="[TASK]", help="A task's id.")]


def _in_order(task: str | None, identity: str | None) -> tuple[str | None, str | None]:
    """Return task and constellation; they may be given in either order, and the constellation alone."""
    if task is not None and is_constellation(task):
        return identity, task
    return task, identity


def is_constellation(word: str) -> bool:
    """Tell whether a word is the id of a constellation, not of a task."""
    return _CONSTELLATION.fullmatch(word) is not None


def no_task(constellation: str, task: str) -> Problem:
    """Return the refusal of a task that a constellation does not have."""
    return usage(f"{constellation} has no task {task}", f"See `starloom show {constellation}` for its tasks.")


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    hub_command(app, "logs")(logs)
    hub_command(app, "events")(events)
    hub_command(app, "why")(why)
    hub_command(app, "transcript")(transcript)
    hub_command(app, "report")(report)
    hub_command(app, "diff")(diff)


@dataclass(frozen=True)
class _Output:
    """The output of one attempt of a task."""

    task: str
    attempt: int
    part: Output


def logs(
    run: Invocation,
    task: TaskArgument = None,
    identity: IdArgument = None,
    attempt: Annotated[int | None, typer.Option("--attempt", min=1, help="Without it the newest.")] = None,
    tail: Annotated[int, typer.Option("--tail", min=1, help="Only the last bytes.")] = LOG_PAGE,
    search: Annotated[str | None, typer.Option("--q", help="Only lines that contain this.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="As it was written, with colours and controls.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Also what is written until all has ended.")] = False,
) -> None:
    """Print the output of a task, or of the items of a list; without a task, of every task that has begun.

    Signs that would steer the terminal are written out.
    """
    task, identity = _in_order(task, identity)
    constellation = run.newest(identity)
    if task is not None:
        (task,) = run.task_ids(constellation, [task])
    if follow:
        if attempt or search or run.as_json:
            raise usage("--follow prints what is written as it comes", "Leave out --attempt, --q and --json.")
        _follow(run, constellation, task, raw=raw)
        return
    snapshot = run.client.get(get_constellation(constellation))
    started = {item["id"]: item for item in snapshot["tasks"] if item.get("attempt")}
    if task is not None:
        if task not in {item["id"] for item in snapshot["tasks"]}:
            raise no_task(constellation, task)
        started = {name: item for name, item in started.items() if _is_of(name, task)}
        if not started:
            raise usage(f"{task} has not begun, so it wrote nothing", f"See why: starloom why {task} {constellation}")
    outputs: list[_Output] = []
    for name in started:
        number = attempt or started[name]["attempt"]
        part = run.client.get(get_constellation_task_attempt_log(constellation, name, number, tail=tail, q=search))
        outputs.append(_Output(name, number, part))
    if run.as_json:
        run.emit({"items": [{"task": output.task, "attempt": output.attempt, **output.part} for output in outputs]})
        return
    for output in outputs:
        text = output.part["text"] if raw else escaped_text(output.part["text"])
        headed = output.task != task
        if not text and headed:
            continue
        if headed:
            print(f"-- {output.task}, attempt {output.attempt}")
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
        lost = sum(end - start for start, end in output.part.get("lost", ()))
        if lost:
            sys.stderr.write(f"{lost} bytes of it were not kept\n")
    if not any(output.part["text"] for output in outputs):
        that = f" that contains {quoted(search)}" if search else ""
        sys.stderr.write(f"{task or constellation} wrote nothing{that}\n")


def _is_of(name: str, task: str | None) -> bool:
    """Return whether a task is the one that was named, or one of its items."""
    return task in (None, name) or name.startswith(f"{task}.")


def _follow(run: Invocation, constellation: str, task: str | None, *, raw: bool) -> None:
    """Print the output of one task, or of all, as it comes, until the constellation has ended.

    It is asked for again and again: the events that `watch` waits for have no output, and the socket of the page, which
    has it, leaves lines out for a reader that is slow.

    Raises:
        Problem: there is no such task.
    """
    at: dict[str, int] = {}
    offsets: dict[tuple[str, int], int] = {}
    over: set[tuple[str, int]] = set()
    printed: tuple[str, int] | None = None
    while True:
        snapshot = run.client.get(get_constellation(constellation))
        if task is not None and task not in {item["id"] for item in snapshot["tasks"]}:
            raise no_task(constellation, task)
        has_moved = False
        for item in snapshot["tasks"]:
            newest = item.get("attempt")
            if not newest or not _is_of(item["id"], task):
                continue
            place = (item["id"], at.setdefault(item["id"], newest))
            if place in over and place[1] == newest:
                continue
            part = run.client.get(
                get_constellation_task_attempt_log(constellation, *place, offset=offsets.get(place, 0))
            )
            offsets[place] = part.get("next", offsets.get(place, 0))
            if part["text"]:
                has_moved = True
                if place[0] != task and printed != place:
                    print(f"-- {place[0]}, attempt {place[1]}")
                printed = place
                sys.stdout.write(part["text"] if raw else escaped_lines(part["text"]))
                sys.stdout.flush()
            elif place[1] < newest:
                # The rest of an attempt comes before the next one.
                has_moved, at[item["id"]] = True, place[1] + 1
            elif item["state"] in FINAL_TASK_STATES:
                over.add(place)
        if has_moved:
            continue
        if snapshot["state"] in FINAL_CONSTELLATION_STATES:
            sys.stderr.write("" if printed else f"{task or constellation} wrote nothing\n")
            return
        time.sleep(_FOLLOW_S)


def events(
    run: Invocation,
    identity: IdArgument = None,
    after: Annotated[int, typer.Option("--after", min=0, help="Only events after this number.")] = 0,
) -> None:
    """Print the log of a constellation."""
    from starloom.cli.text.constellation_text import event_line
    from starloom.client.watching import PAGE
    from starloom_protocol.stream.feed import encode_event

    constellation = run.newest(identity)
    names = {} if run.as_json else run.client.names()
    while True:
        page = run.client.events(constellation, after, limit=PAGE)
        for event in page:
            print(document_text(encode_event(event).decode()) if run.as_json else event_line(event, names))
            after = event.seq
        if not page:
            return


_OF_THE_WHOLE = frozenset(
    {"budget", "history_restored", "planning_failed", "review_wishes", "rule_refused", "stalled", "undo_failed"}
)
"""The attention that concerns the whole constellation and no single task."""


def why(
    run: Invocation,
    task: TaskArgument = None,
    identity: IdArgument = None,
    every: Annotated[bool, typer.Option("--all", help="Each task alone, and every line.")] = False,
) -> None:
    """Explain why a task, or the whole constellation, does not move: every candidate with its reason, and the fix.

    Tasks of a whole constellation that wait for one reason share a line; at most 20 lines are printed.
    """
    task, identity = _in_order(task, identity)
    constellation = run.newest(identity)
    names = run.client.names() if not run.as_json else {}
    task_id = run.task_ids(constellation, [task])[0] if task else None
    explanation = run.client.get(get_constellation_why(constellation, task_id=task_id))
    if run.as_json:
        run.emit(explanation)
        return
    waiting = [] if identity or task else _others_waiting(run, constellation)
    behind = _behind_tunnels(run)
    if "items" in explanation:
        _tell_whole(explanation, constellation, names, behind, every=every)
    else:
        _tell(_lines_of_task(AlikeTasks(explanation), constellation, names, behind))
        tell_questions(explanation.get("questions") or [])
    if waiting:
        print(f"This was {constellation}, the newest; {counted(len(waiting), 'other')} waiting:")
        for row in waiting[:OTHERS_SHOWN_MOST]:
            say(f"  {escaped(row['name'] or row['id'])}: starloom why {row['id']}")
        if len(waiting) > OTHERS_SHOWN_MOST:
            print(f"  and {len(waiting) - OTHERS_SHOWN_MOST} more")


def _tell_whole(
    explanation: WhyAll, constellation: str, names: dict[str, str], behind: dict[str, tuple[str, str]], *, every: bool
) -> None:
    """Print the sentence of a constellation, then why its tasks do not move, then its questions."""
    sentences = [" ".join(filter(None, [explanation.get("sentence"), explanation.get("waits")]))]
    sentences += [
        attention["sentence"] for attention in explanation["attention"] if attention["reason"] in _OF_THE_WHOLE
    ]
    each = (AlikeTasks(item, unnamed=item.get("alike", 0)) for item in explanation["items"])
    groups = list(each) if every else alike(explanation["items"])
    lines = [line for text in sentences for line in text.splitlines()]
    lines += [line for group in groups for line in _lines_of_task(group, constellation, names, behind)]
    printed = lines if every or len(lines) <= LINES_MOST else lines[: LINES_MOST - 1]
    _tell(printed)
    if len(printed) < len(lines):
        say(f"and {len(lines) - len(printed)} more lines: starloom why {constellation} --all")
    if explanation["more"]:
        print(f"and {explanation['more']} more tasks")
    tell_questions(explanation.get("questions") or [])


def _tell(lines: Sequence[str]) -> None:
    for line in lines:
        say(own_times(line))


def _lines_of_task(
    group: AlikeTasks, constellation: str, names: dict[str, str], behind: dict[str, tuple[str, str]]
) -> list[str]:
    """Return why tasks do not move, their candidates and the way out; each fault of a tunnel (`behind`) once."""
    item = group.first
    lines = [named_in_text(group.sentence, names)]
    alike: dict[str, list[str]] = {}
    for candidate in item["candidates"]:
        alike.setdefault(candidate["reason"], []).append(candidate["name"])
    lines += [f"  {', '.join(devices)}: {reason}" for reason, devices in alike.items()]
    for name in [name for name in behind if name in item["sentence"] or _is_among(name, item)]:
        fault, way = behind.pop(name)
        lines += [f"{name}: {fault}", f"The way out for {name}: {way}"]
    if ways := ways_out(item, constellation):
        lines.append(f"The way out: {' - or: '.join(named_in_line(way, names) for way in ways)}")
    if item.get("warning"):
        lines.append(f"Before you reassign it: {item['warning']}")
    return lines


def _is_among(name: str, item: WhyRow) -> bool:
    return any(candidate["name"] == name for candidate in item["candidates"])


def _behind_tunnels(run: Invocation) -> dict[str, tuple[str, str]]:
    """Return the faults of tunnels that are kept on this computer and of agents behind them, by device."""
    from starloom.host.servers.tunnels import troubles
    from starloom.host.supervisor import home_of

    home = home_of(run.client.address)
    return troubles(home) if home is not None else {}


def _others_waiting(run: Invocation, constellation: str) -> list[ConstellationRow]:
    """Return the constellations beside the chosen one that wait for a person, newest first."""
    rows = run.client.get(get_constellations())["items"]
    return [row for row in rows if row["id"] != constellation and (row["state"] in _WAITING_STATES or _asks(row))]


def _asks(row: ConstellationRow) -> bool:
    return bool(row["attention"]) and row["state"] not in FINAL_CONSTELLATION_STATES


def transcript(
    run: Invocation,
    identity: IdArgument = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Write the calls as a recording, which a hub can repeat."),
    ] = None,
) -> None:
    """Show what a model was told and what it said, call by call; --save keeps it as a recording."""
    from starloom.cli.text.transcript_text import lines, recording

    constellation = run.newest(identity)
    transcript = run.client.get(get_constellation_transcript(constellation, texts=True))
    if save is not None:
        _save_own(save, recording(transcript))
        say(f"wrote {counted(len(transcript['calls']), 'call')} to {save}")
        say(f"A hub repeats them with: STARLOOM_LLM_URL=recorded:{save.absolute()} starloom up")
        return
    if run.as_json:
        run.emit(transcript)
        return
    # Not by `say`: these are texts of others, and commands in them stay as they were sent.
    for line in lines(constellation, transcript):
        print(line)


def _save_own(path: Path, data: bytes) -> None:
    """Write a new file that nobody else of this computer reads: it has what a model was told of its devices."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise usage(f"{path} exists already", "Choose another file, or remove that one first.") from error
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)


def report(
    run: Invocation,
    identity: IdArgument = None,
    recipe: Annotated[
        str | None, typer.Option("--recipe", metavar="NAME", help="The last runs of a recipe, and what has changed.")
    ] = None,
    schedule: Annotated[
        str | None,
        typer.Option("--schedule", metavar="NAME", help="The last runs of a schedule, and what has changed."),
    ] = None,
) -> None:
    """Report on a run: time, critical path, work, waiting by cause, recoveries, the model; so far if it goes on."""
    from starloom.cli.text.report_text import lines, trend_lines
    from starloom_protocol.records.run_report import RecipeTrend, RunReport, ScheduleTrend

    if sum(subject is not None for subject in (identity, recipe, schedule)) > 1:
        raise usage("a report is about one run, a recipe or a schedule", "Name one of ID, --recipe and --schedule.")
    if recipe is not None or schedule is not None:
        trend = run.client.get(get_recipe_runs(recipe) if recipe is not None else get_schedule_run(schedule or ""))
        if run.as_json:
            run.emit(trend)
            return
        shape: type[RecipeTrend | ScheduleTrend] = RecipeTrend if recipe is not None else ScheduleTrend
        for line in trend_lines(msgspec.convert(trend, shape)):
            say(line)
        return
    figures = run.client.get(get_constellation_report(run.newest(identity)))
    if run.as_json:
        run.emit(figures)
        return
    for line in lines(msgspec.convert(figures, RunReport)):
        say(line)


def diff(
    run: Invocation,
    first: Annotated[int, typer.Argument(metavar="V1", help="The earlier version.")],
    second: Annotated[int, typer.Argument(metavar="V2", help="The later one.")],
    identity: IdArgument = None,
) -> None:
    """Show the changes between two versions of a plan, their authors and reasons."""
    constellation = run.newest(identity)
    changes = run.client.get(get_constellation_diff(constellation, from_=first, to=second))
    if run.as_json:
        run.emit(changes)
        return
    for version in changes["versions"]:
        why_made = escaped(version["reason"] or version["trigger"])
        print(f"version {version['number']} by {shown_name(version['author'])}: {why_made}")
    if not any((changes["added"], changes["removed"], changes["changed"])):
        print("The plans are the same.")
    for sign, items in (("+", changes["added"]), ("-", changes["removed"])):
        for item in items:
            print(f"  {sign} {escaped(item['id'])}")
    for change in changes["changed"]:
        print(f"  ~ {escaped(change['id'])}")
        for name in change["after"]:
            earlier, later = (_shown_field(fields.get(name)) for fields in (change["before"], change["after"]))
            print(f"      {escaped(name)}: {earlier} -> {later}")


def _shown_field(value: object) -> str:
    """Return a field of a plan in one line: as it is written, cut where it is long."""
    text = value if isinstance(value, str) else "-" if value is None else msgspec.json.encode(value).decode()
    return escaped(text if len(text) <= _FIELD_CHARS_MOST else text[: _FIELD_CHARS_MOST - 3] + "...")
