"""Commands for schedules: `schedule add edit ls show pause resume run seen rm`. Times are in a schedule's own zone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from shlex import join, quote
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from tzlocal import get_localzone_name

from starloom.cli import completion
from starloom.cli.constellations.asking import ParamOption, what_runs
from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.cli.text.schedule_text import gone_devices, gone_lines
from starloom.client.exits import exit_of_plan
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    delete_schedule,
    get_devices,
    get_schedule,
    get_schedules,
    patch_schedule,
    post_schedule_action,
    post_schedule_notices_seen,
    post_schedule_preview,
    post_schedules,
)
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import duration_s
from starloom_protocol.stream.authors import is_person, name_of, shown_name, told_name, who
from starloom_protocol.text.wording import listed
from starloom_protocol.vocabulary import CatchUp, Code, NotifyWhen, Overlap, ScheduleState

if TYPE_CHECKING:
    from starloom.client.answers import ScheduleRowJson
    from starloom_protocol.api.previews import PlanPreview
    from starloom_protocol.api.schedules import ClockWords, RemovedSchedule

ScheduleArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCHEDULE", help="Its name or id, as `schedule ls` has it.", autocompletion=completion.schedules
    ),
]
ReasonOption = Annotated[str, typer.Option("--reason", help="Kept in the log.")]
WordsArgument = Annotated[list[str] | None, typer.Argument(metavar="[WORDS]...", help="The request in words.")]
ClockOption = Annotated[
    str,
    typer.Option(
        "--cron",
        help='Words, as in "every weekday at 7", or minute hour day month weekday, as in "0 2 * * *". '
        "The words of the request may say it, too.",
    ),
]
ExceptOption = Annotated[
    list[str] | None,
    typer.Option("--except", metavar="DAYS", help='Days without a firing: "25 December", "24 December to 2 January".'),
]
ExceptFileOption = Annotated[
    str | None, typer.Option("--except-file", metavar="ICS", help="A calendar file whose days are left out.")
]
PlanOption = Annotated[str | None, typer.Option("--file", "-f", help="A plan (YAML or JSON); - for stdin.")]
RecipeOption = Annotated[str | None, typer.Option("--recipe", "-r", help="A recipe by name.")]
NameOption = Annotated[str, typer.Option("--name", help="Its name.")]
ListsOption = Annotated[
    bool | None,
    typer.Option("--lists/--no-lists", help="Show found files each time before they go to the trash; it is usual."),
]
ApproveOption = Annotated[
    str | None, typer.Option("--approve", metavar="HASH", help="Approve its plan, as previewed, for every firing.")
]


def register(app: typer.Typer) -> None:
    schedule = typer.Typer(help="Schedule work.", no_args_is_help=True)
    hub_command(schedule, "add")(add)
    hub_command(schedule, "edit")(edit)
    hub_command(schedule, "ls")(list_schedules)
    hub_command(schedule, "show")(show)
    hub_command(schedule, "pause")(pause)
    hub_command(schedule, "resume")(resume)
    hub_command(schedule, "run")(run_now)
    hub_command(schedule, "seen")(seen)
    hub_command(schedule, "rm")(remove)
    app.add_typer(schedule, name="schedule")


def add(
    run: Invocation,
    words: WordsArgument = None,
    cron: ClockOption = "",
    zone: Annotated[str, typer.Option("--zone", help="As in Europe/Vienna; this machine's if left out.")] = "",
    but: ExceptOption = None,
    but_file: ExceptFileOption = None,
    file: PlanOption = None,
    recipe: RecipeOption = None,
    param: ParamOption = None,
    repeat: Annotated[str | None, typer.Option("--repeat", metavar="ID", help="Repeat this constellation.")] = None,
    name: NameOption = "",
    overlap: Annotated[Overlap, typer.Option("--overlap", help="While the one before goes on.")] = Overlap.SKIP,
    catch_up: Annotated[CatchUp, typer.Option("--catch-up", help="Of firings missed while off.")] = CatchUp.LAST,
    notify: Annotated[NotifyWhen, typer.Option("--notify", help="When to tell you.")] = NotifyWhen.FAILURE,
    notify_on: Annotated[str | None, typer.Option("--notify-on", metavar="DEVICE", help="Tell you there too.")] = None,
    deadline: Annotated[str | None, typer.Option("--deadline", help="A firing gives up after, as in 30m.")] = None,
    lists: ListsOption = None,
    approve: ApproveOption = None,
    preview: Annotated[bool, typer.Option("--preview", help="Only show the plan and the next five firings.")] = False,
) -> None:
    """Put words, a recipe, a plan or a past constellation on a schedule."""
    request = " ".join(words or [])
    if sum(1 for given in (request, file, recipe, repeat) if given) != 1:
        raise usage(
            "what runs is words, or -r recipe, or -f plan.yaml, or --repeat ID: exactly one",
            'For example: starloom schedule add "how are my machines" --cron "every day at 8"',
        )
    if not cron and not request:
        raise usage("a schedule needs a clock", 'Give --cron "every night at 2", or --cron "0 2 * * *".')
    body = {"cron": cron, "zone": zone or get_localzone_name() or "", **what_runs(run, request, file, recipe, param)}
    if but or but_file:
        body["except_days"] = _days_off(run, but, but_file, body["zone"])
    if repeat:
        body["from_constellation"] = repeat
    if lists is not None:
        body["lists"] = lists
    if preview:
        _preview(run, body, approve)
        return
    body |= {"catch_up": catch_up.value, "name": name, "notify": notify.value, "overlap": overlap.value}
    if notify_on:
        body["notify_device"] = notify_on
    if deadline:
        body["deadline_s"] = duration_s(deadline)
    if approve:
        body["plan_hash"] = approve
    given = {"-f": file, "-r": recipe, "--repeat": repeat, "--name": name or None, "--notify-on": notify_on}
    clock = {"--cron": cron or None, "--zone": zone or None, "--except": body.get("except_days")}
    terms = {"--overlap": overlap, "--catch-up": catch_up, "--notify": notify, "--deadline": deadline}
    terms = {option: value for option, value in terms.items() if value != _USUAL.get(option)}
    line = _line(["add", request, _LISTS[lists]], param, given | clock | terms)
    saved = _save_or_show(run, line, lambda: run.client.create(post_schedules(), body))
    if run.emits(saved):
        return
    print(f"{saved['name']} ({saved['id']}): {saved['in_words'].lower()}, {saved['zone']}. The next firings:")
    _print_times(saved)
    for warning in _trash_lines(saved):
        say(warning)


def _preview(run: Invocation, body: Mapping[str, Any], approve: str | None) -> None:
    """Show the plan and the next firings; the exit code is that of the saving."""
    preview = run.client.post(post_schedule_preview(), body)
    plan = preview["plan"]
    if not preview["in_words"]:  # the page shows a plan before its clock is typed
        raise usage("a schedule needs a clock", 'Say how often: --cron "every night at 2", or in its words.')
    if plan is None:
        raise usage("the hub shows no plan for that", "Name words, a recipe, a plan or a past constellation.")
    if run.as_json:
        run.emit(preview)
    else:
        _print_plan(plan)
        _print_clock(preview, preview["zone"])
    finish(exit_of_plan(plan, approved=approve or ""))


def edit(
    run: Invocation,
    schedule: ScheduleArgument,
    words: WordsArgument = None,
    cron: ClockOption = "",
    zone: Annotated[str, typer.Option("--zone", help="As in Europe/Vienna.")] = "",
    but: Annotated[
        list[str] | None,
        typer.Option("--except", metavar="DAYS", help='Days without a firing, in place of those before; "" for none.'),
    ] = None,
    but_file: ExceptFileOption = None,
    file: PlanOption = None,
    recipe: RecipeOption = None,
    param: ParamOption = None,
    name: NameOption = "",
    overlap: Annotated[Overlap | None, typer.Option("--overlap", help="While the one before goes on.")] = None,
    catch_up: Annotated[CatchUp | None, typer.Option("--catch-up", help="Of firings missed while off.")] = None,
    notify: Annotated[NotifyWhen | None, typer.Option("--notify", help="When to tell you.")] = None,
    notify_on: Annotated[
        str | None, typer.Option("--notify-on", metavar="DEVICE", help='Tell you there too; "" for no device.')
    ] = None,
    deadline: Annotated[
        str | None, typer.Option("--deadline", help='A firing gives up after, as in 30m; "" for never.')
    ] = None,
    lists: ListsOption = None,
    paused: Annotated[bool | None, typer.Option("--pause/--resume", help="No firings until it is resumed.")] = None,
    approve: ApproveOption = None,
) -> None:
    """Change a schedule; options that are not given stay. New words, -r or -f change its work, -p single values of it.

    As on the page, a change of what was approved, by more than its clock and its name, is approved again.
    """
    request = " ".join(words or [])
    if sum(1 for given in (request, file, recipe) if given) > 1:
        raise usage("what runs is words, or -r recipe, or -f plan.yaml: at most one", "Give the one that is to run.")
    body = {**what_runs(run, request, file, recipe, param)}
    if param and not (request or file or recipe):
        values = run.client.get(get_schedule(schedule))["params"]
        body["params"] = (values if isinstance(values, dict) else {}) | body["params"]
    given = {"cron": cron, "zone": zone, "name": name, "plan_hash": approve or ""}
    body |= {field: value for field, value in given.items() if value}
    terms = {"overlap": overlap, "catch_up": catch_up, "notify": notify}
    body |= {field: value.value for field, value in terms.items() if value is not None}
    if notify_on is not None:
        body["notify_device"] = notify_on or None
    if deadline is not None:
        body["deadline_s"] = duration_s(deadline) if deadline else 0
    if lists is not None:
        body["lists"] = lists
    if but is not None or but_file:
        body["except_days"] = _days_off(run, but, but_file, zone)
    if not body and paused is None:
        raise usage(
            "nothing is to change",
            f"For example: starloom schedule edit {quote(schedule)} --cron 'every weekday at 7'",
        )
    work = {"-f": file, "-r": recipe, "--cron": cron or None, "--zone": zone or None, "--name": name or None}
    work["--except"] = body.get("except_days")
    options = {"--overlap": overlap, "--catch-up": catch_up, "--notify": notify, "--deadline": deadline}
    pausing = {None: "", True: "--pause", False: "--resume"}[paused]
    line = _line(
        ["edit", schedule, request, _LISTS[lists], pausing], param, work | options | {"--notify-on": notify_on}
    )
    _change(run, schedule, body, line, paused=paused)


def _change(run: Invocation, schedule: str, body: Mapping[str, Any], line: str, *, paused: bool | None) -> None:
    """Change a schedule and tell its clock; a pause begins before the change, and ends after it."""
    state = run.client.get(get_schedule(schedule))["state"] if paused is not None else None
    if paused and state == ScheduleState.ACTIVE:
        run.client.post(post_schedule_action(schedule, "pause"), {"reason": ""})
    saved = _save_or_show(run, line, lambda: run.client.patch(patch_schedule(schedule), body)) if body else None
    identity = saved["id"] if saved else schedule
    if paused is False and state != ScheduleState.ACTIVE:
        saved = run.client.post(post_schedule_action(identity, "resume"), {})
    saved = saved or run.client.get(get_schedule(identity))
    if run.emits(saved):
        return
    tell(f"{saved['name']} ({saved['id']}): {saved['in_words'].lower()}, {saved['zone']}: {_subject(saved)}")
    if saved["next"]:
        print("The next firings:")
        _print_times(saved)
    else:
        resuming = join(["starloom", "schedule", "resume", saved["name"]])
        say(f"It is {saved['state']} and does not fire until it is resumed: {resuming}")
    for warning in _trash_lines(saved):
        say(warning)


def _save_or_show(run: Invocation, line: str, save: Callable[[], ScheduleRowJson]) -> ScheduleRowJson:
    """Save a schedule; where its plan needs an approval, show the plan and name the line that approves it."""
    try:
        return save()
    except Problem as problem:
        if problem.document.get("code") == Code.NEEDS_APPROVAL:
            preview = problem.document["preview"]
            problem.hint = (
                f"Look at the plan above. To approve it for every firing: {line} --approve {preview['plan_hash']}"
            )
            if not run.as_json:
                _print_plan(preview)
                # A hub of an earlier release shows no clock.
                if clock := problem.document.get("clock"):
                    _print_clock(clock, clock["zone"])
        raise


_LISTS = {None: "", True: "--lists", False: "--no-lists"}
_TELLS: Final = {
    NotifyWhen.NEVER: "tells nothing",
    NotifyWhen.FAILURE: "tells of failures",
    NotifyWhen.CHANGE: "tells of changes",
    NotifyWhen.ALWAYS: "tells of each end",
}
_USUAL = {"--overlap": Overlap.SKIP, "--catch-up": CatchUp.LAST, "--notify": NotifyWhen.FAILURE}


def _line(command: Iterable[str], params: Iterable[str] | None, options: Mapping[str, str | None]) -> str:
    """Return the same command as a line to type."""
    parts = ["starloom", "schedule", *filter(None, command)]
    for param in params or []:
        parts += ["-p", param]
    for option, value in options.items():
        if value is not None:
            parts += [option, str(value)]
    return join(parts)


def _print_plan(plan: PlanPreview) -> None:
    from starloom.cli.text.preview_text import plan_text  # tables cost a tenth of a second to import
    from starloom.client.terminal.console import console

    console().print(plan_text(plan), crop=False)
    sys.stdout.flush()


def _days_off(run: Invocation, but: list[str] | None, file: str | None, zone: str) -> str:
    """Return the days of both options as the hub writes them, so that the line to approve has them in short."""
    parts = [", ".join(but or [])]
    if file:
        days = run.read(file, "calendar", "Check the path; a calendar is a text in UTF-8.")
        preview = run.client.post(post_schedule_preview(), {"cron": "@daily", "zone": zone, "except_days": days})
        parts.append(preview["except_days"])
    return ", ".join(filter(None, parts))


def _print_clock(clock: ClockWords, zone: str) -> None:
    print(f"{clock['in_words']}, {zone}. The next firings:")
    _print_times(clock)


def _print_times(clock: ClockWords | ScheduleRowJson) -> None:
    """Print the next firings, and between them those that are left out."""
    # A hub of an earlier release leaves none out.
    left_out = {row["at"]: f"  left out: {row['why']}" for row in clock.get("left_out", ())}
    times = dict.fromkeys(clock["next"], "") | left_out
    for text in sorted(times, key=datetime.fromisoformat):
        print(f"  {_local_time(text)}{times[text]}")


def _local_time(text: str) -> str:
    """Return a time as the schedule's zone has it, with the zone's offset."""
    return datetime.fromisoformat(text).strftime("%a %Y-%m-%d %H:%M  (UTC%z)")


def list_schedules(run: Invocation) -> None:
    """List the schedules: the next firing and the notice of each."""
    page = run.client.get(get_schedules())
    if run.emits(page):
        return
    if not page["items"]:
        say('Nothing is scheduled. For example: starloom schedule add "how are my machines" --cron "every day at 8"')
    gone_names = _gone(run) if page["items"] else []
    authors = {who(item["author"]) for item in page["items"]}
    # One person alone has made all of them, so the name would say nothing.
    several = len(authors) > 1 or not all(map(is_person, authors))
    for item in page["items"]:
        following = _local_time(item["next"][0]) if item["next"] else item["state"]
        tell(f"{item['name']:<32} {following}  {item['zone']}")
        maker = f"  (of {shown_name(item['author'])})" if several else ""
        tell(f"{'':<4}{_subject(item)}{maker}")
        for line in _tells(item):
            tell(f"{'':<4}{line}")
        for line in _trash_lines(item):
            say(f"{'':<4}{line}")
        for line in gone_lines(item, gone_names):
            say(f"{'':<4}{line}")


def _gone(run: Invocation) -> list[str]:
    """Return the names of gone devices; none where this token may not read the fleet."""
    try:
        return gone_devices(run.client.get(get_devices(all_=True))["items"])
    except Problem:
        return []


def _subject(item: ScheduleRowJson) -> str:
    """Return what a schedule runs: its words, or its recipe or plan with the values; its devices where it has none."""
    if item["request"]:
        return item["request"]
    params = item["params"] if isinstance(item["params"], dict) else {}
    values = ", ".join(f"{name} {value}" for name, value in params.items() if isinstance(value, str | int) and value)
    devices = ", ".join(map(str, item["approved"]["devices"])) if item["approved"] else ""
    where = values or (f"on {devices}" if devices else "")
    return f"{item['recipe'] or 'a plan'}{': ' + where if where else ''}"


def _trash_lines(item: ScheduleRowJson) -> Iterable[str]:
    # A hub of an earlier release does not tell this.
    match item.get("unseen_trash"):
        case False:
            line = join(["starloom", "schedule", "edit", item["id"], "--no-lists"])
            yield f"asks each time before files go to the trash (without asking: {line})"
        case True:
            yield "puts the files that it finds into the trash without asking"


def _tells(item: ScheduleRowJson) -> Iterable[str]:
    if item["stopped"]:
        yield f"stopped: {item['stopped']['reason']}"
    elif item["notice"]:
        more = f" ({item['notice']['count']} notices)" if item["notice"]["count"] > 1 else ""
        yield f"{clock(item['notice']['at'])}: {item['notice']['text']}{more}"
    # A hub of an earlier release does not tell these.
    if paused := item.get("paused"):
        why = f": {paused['reason']}" if paused["reason"] else ""
        yield f"paused by {told_name(paused['by'])} at {clock(paused['at'])}{why}"
    asking = item.get("asking", [])
    if asking:
        yield f"waits for an approval: {', '.join(asking)} (starloom why {asking[0]})"
    if running := [name for name in item["running"] if name not in asking]:
        yield f"running: {', '.join(running)}"


def show(run: Invocation, schedule: ScheduleArgument) -> None:
    """Show a schedule: its clock, the next five firings, its consent, its last firing."""
    item = run.client.get(get_schedule(schedule))
    if run.emits(item):
        return
    tell(f"{item['name']} ({item['id']}), {item['state']}: {_subject(item)}")
    print(f"  {item['in_words']}, {item['zone']} ({item['cron']})")
    tells = _TELLS[NotifyWhen(item["notify"])]
    also = f", also on {item['notify_device']}" if item["notify_device"] and item["notify"] != NotifyWhen.NEVER else ""
    tell(f"  overlap {item['overlap']}, catch-up {item['catch_up']}, {tells}{also}")
    tell(f"  made by {shown_name(item['author'])}")
    if item["approved"]:
        devices = ", ".join(map(str, item["approved"]["devices"])) or "no device"
        computing = ", ".join(map(str, item["approved"]["computing"]))
        tell(
            f"  approved by {name_of(item['approved']['by'])}: {', '.join(item['approved']['effects'])} on {devices}"
            f"{f'; {computing} only compute on values' if computing else ''}"
        )
    elif item["devices"]:
        tell(f"  bound to {', '.join(bound['name'] for bound in item['devices'])}")
    for line in _tells(item):
        tell(f"  {line}")
    for line in _trash_lines(item):
        say(f"  {line}")
    for line in gone_lines(item, _gone(run)):
        say(f"  {line}")
    last = item["last"]
    print(f"  fired {item['fired']}, left out {item['skipped']}" + (f", the last {last['state']}" if last else ""))
    if item["next"]:
        print("  The next firings:")
        _print_times(item)


def pause(run: Invocation, schedule: ScheduleArgument, reason: ReasonOption = "") -> None:
    """Pause a schedule: no firings until it is resumed; running work goes on."""
    _tell(run, run.client.post(post_schedule_action(schedule, "pause"), {"reason": reason}), "{name} is paused")


def resume(run: Invocation, schedule: ScheduleArgument) -> None:
    """Resume a schedule, with your rights; firings missed meanwhile are not made up for."""
    resumed = run.client.post(post_schedule_action(schedule, "resume"), {})
    _tell(run, resumed, "{name} fires again: " + (_local_time(resumed["next"][0]) if resumed["next"] else "never"))


def run_now(run: Invocation, schedule: ScheduleArgument) -> None:
    """Fire a schedule once now, in addition to its clock."""
    before = run.client.get(get_schedule(schedule))
    for line in gone_lines(before, _gone(run)):
        say(line, sys.stderr)
    fired = run.client.post(post_schedule_action(schedule, "run"), {})
    # `watch` alone means the caller's newest request; a firing that waits for the one before has no run yet.
    new = [constellation for constellation in fired["running"] if constellation not in before["running"]]
    line = join(["starloom", "watch", new[0]] if new else ["starloom", "schedule", "show", fired["name"]])
    _tell(run, fired, f"{{name}} fires now; follow it: {line}")


def seen(
    run: Invocation,
    schedules: Annotated[
        list[str], typer.Argument(metavar="SCHEDULE...", help="Their names or ids, as `schedule ls` has them.")
    ],
) -> None:
    """Mark the notices of schedules as seen by you; other people still have them."""
    page = run.client.post(post_schedule_notices_seen(), {"schedules": schedules})
    if run.as_json:
        run.emit(page)
    else:
        say(f"seen: {listed([str(item['name']) for item in page['items']])}")


def remove(
    run: Invocation,
    schedule: ScheduleArgument,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a schedule for good; running work goes on."""
    if not yes:
        name = run.client.get(get_schedule(schedule))["name"]
        ends = f"this removes the schedule {name} for good; running work goes on"
        question = f"Remove {name} for good? Running work goes on."
        if not run.agrees(ends, question, f"starloom schedule rm {quote(schedule)}"):
            print("Nothing was removed.")
            return
    removed = run.client.delete(delete_schedule(schedule))
    goes_on = f"; {', '.join(removed['running'])} goes on" if removed["running"] else ""
    _tell(run, removed, "{name} is removed" + goes_on)


def _tell(run: Invocation, saved: ScheduleRowJson | RemovedSchedule, text: str) -> None:
    if run.as_json:
        run.emit(saved)
    else:
        say(text.replace("{name}", str(saved["name"])))
