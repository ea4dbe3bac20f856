"""Commands for devices: `devices`, `device show|trash|drain|resume|reserve|share|revoke|forget|rename|label|seen`."""

from __future__ import annotations

import difflib
import json
import sys
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starloom.cli import completion
from starloom.cli.constellations.asking import submit
from starloom.cli.constellations.stopping import at_work
from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.text.schedule_text import names_device
from starloom.cli.text.vital_text import vital_lines
from starloom.client.problems import Problem, usage
from starloom.client.routes import (
    get_device,
    get_devices,
    get_schedules,
    get_vitals,
    patch_device,
    post_device_action,
)
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.typed import say
from starloom.client.terminal.values import duration_s
from starloom.process.program import UPGRADE, on_device
from starloom_protocol.stream.authors import shown_name
from starloom_protocol.text.courtesy import courtesy_sentence, no_work_words
from starloom_protocol.text.look_alikes import spellings_of, without_remark
from starloom_protocol.text.wording import clock_sentence, few, quoted
from starloom_protocol.tools.profiles import TAB_OS
from starloom_protocol.vocabulary import CODES, Code, DeviceFact, DeviceLink
from starloom_protocol.wire.frames import DISK_FULL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starloom_protocol.api.fleet import DeviceDetail, DeviceRow, DeviceState

OWN_CHIP = " (this hub's own machine)"
DeviceArgument = Annotated[
    str, typer.Argument(metavar="DEVICE", help="A device's name or id.", autocompletion=completion.devices)
]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    hub_command(app, "devices")(devices)
    device = typer.Typer(help="Look at one device, or change what it may get.", no_args_is_help=True)
    hub_command(device, "ls")(devices)
    hub_command(device, "show")(show_device)
    hub_command(device, "trash")(trash)
    hub_command(device, "drain")(drain)
    hub_command(device, "resume")(resume_device)
    hub_command(device, "reserve")(reserve)
    hub_command(device, "share")(share)
    hub_command(device, "revoke")(revoke)
    hub_command(device, "forget")(forget)
    hub_command(device, "rename")(rename)
    hub_command(device, "label")(label)
    hub_command(device, "seen")(seen)
    app.add_typer(device, name="device")


def devices(
    run: Invocation,
    every: Annotated[bool, typer.Option("--all", help="Also those that left, were revoked or are forgotten.")] = False,
) -> None:
    """List the devices: their connection, their work, their profile."""
    found = run.client.get(get_devices(all_=every or None))
    shown = [item for item in found["items"] if every or not item["revoked"]]
    if run.as_json:
        run.emit({**found, "items": shown})
        return
    if shown:
        _print_devices(shown)
    else:
        say("No device yet. Add one: starloom enroll")
    gone = len(found["items"]) - len(shown)
    if gone:
        count = "1 device is gone" if gone == 1 else f"{gone} devices are gone"
        say(f"{count} (left or revoked). {'It is' if gone == 1 else 'They are'} listed by: starloom devices --all")


def _link(item: DeviceRow | DeviceDetail) -> str:
    """Return the connection of a device in a word, or how it is gone."""
    if item["forgotten"]:
        return "forgotten"
    if item["left"] or item["revoked"]:
        return "left" if item["left"] else "revoked"
    if item["link"] == DeviceLink.OFFLINE and item.get("refused"):
        return "refused"
    if item["link"] == DeviceLink.OFFLINE and item["facts"] and not item["slots"]:
        return "stopped"  # its agent took its slots back before it ended
    asleep = item["link"] == DeviceLink.SUSPENDED or (item["os"] == TAB_OS and item["link"] != DeviceLink.ONLINE)
    return "asleep" if asleep else str(item["link"])


def _load_words(item: DeviceRow) -> str:
    """Return what a connected device does, in the words of the page."""
    running, slots = item["running"], item["slots"]
    if item["load"] == "quarantined":
        return "set aside"
    if item["draining"]:
        return f"draining, {running} left" if running else "drained"
    return f"busy, {running} of {slots}" if running else "idle"


def _print_devices(items: list[DeviceRow]) -> None:
    from rich.table import Table

    from starloom.client.terminal.console import console
    from starloom.client.terminal.fitting import Fitted

    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in ("name", "link", "load", "os", "profile", "tools", "id"):
        table.add_column(name, no_wrap=name in ("name", "id"))
    for item in items:
        # A hub of an earlier release tells no computer of its own.
        chip = " (demo)" if item["demo"] else OWN_CHIP if item.get("hub_computer") == "own" else ""
        link = _link(item)
        link += ", disk full" if link == "online" and _full_disk(item) is not None else ""
        link += ", no new work" if link == "online" and no_work_words(item["condition"]) else ""
        count = str(len(item["tools"]))
        load = _load_words(item) if item["link"] == DeviceLink.ONLINE else "-"
        table.add_row(item["name"] + chip, link, load, item["os"], item["profile"], count, item["id"])
    console().print(Fitted(table, spared=("id", "tools", "os", "profile")))
    # The agent on the hub's own computer is of the hub's installation.
    own = next((item for item in items if item.get("hub_computer") == "own" and item["facts"].get("build")), None)
    for item in items:
        for line in kept_before_lines(item):
            say(line)
        if item["link"] == "online" and (courtesy := courtesy_sentence(item["condition"])):
            say(f"{item['name']} {courtesy}")
        if item["link"] == "online" and (clock_off := clock_sentence(item["condition"])):
            say(f"{item['name']} {clock_off}")
        if item["slow"] and not item["revoked"]:
            say(f"{item['name']}: {item['slow']}")
        refused = _refused_lines(item)
        for line in refused:
            say(line)
        if item["older_than"] and not item["revoked"] and not refused:
            line = on_device(UPGRADE, item["facts"])
            say(f"{item['name']} runs agent {item['version']}, older than this hub ({item['older_than']})")
            say(f"  type there: {line}")
        elif own is not None and not item["revoked"] and item["version"] == own["version"]:
            build, here = item["facts"].get("build", ""), own["facts"]["build"]
            if build and build != here:
                agent = f"agent {item['version']} ({build})"
                say(f"{item['name']} runs another build of {agent} than {own['name']} ({here})")
                say(f"  for the build of this hub, type there: {on_device(UPGRADE, item['facts'])} --again")


def _refused_lines(item: DeviceRow | DeviceDetail) -> list[str]:
    """Return why the hub refuses the agent of a device, and what to do there; none where it does not."""
    if _link(item) != "refused":
        return []
    if item["refused"] == Code.HUB_TOO_OLD:
        return [f"{item['name']} is refused: this hub is too old for its agent", f"  {CODES[Code.HUB_TOO_OLD].hint}"]
    return [
        f"{item['name']} is refused: its agent is too old for this hub",
        f"  type there: {on_device(UPGRADE, item['facts'])}",
        "  or, where that is no command, the line of: starloom enroll",
    ]


def kept_before_lines(item: DeviceRow) -> list[str]:
    """Return what is to be known of a computer that kept the hub before this one, if the device is such a one."""
    if item.get("hub_computer") != "former" or item["link"] == DeviceLink.ONLINE or item["revoked"]:
        return []
    return [
        f"{item['name']} kept this hub before: the computer of a backup, or this one by another name",
        f"  if it is no more: starloom device revoke {item['name']}",
    ]


def _full_disk(item: DeviceState) -> str | None:
    """Return the sentence for a device whose disk is full."""
    condition = item["condition"]
    if condition.get(DeviceFact.DISK) != DISK_FULL:
        return None
    return f"has a full disk ({condition.get(DeviceFact.DISK_FOLDER, 'of its agent')})"


def resolve(run: Invocation, device: str) -> DeviceRow:
    """Return the device that an id, a name or a former name means, or another spelling of one name after a question.

    Raises:
        Problem: there is none, or nobody can be asked.
    """
    # Those that belong to the fleet come first, so that a name means them before a device that is gone.
    items = run.client.get(get_devices(all_=True))["items"]
    here = [item for item in items if not item["revoked"]]
    for item in here:
        if device in (item["id"], item["name"]):
            return item
    # A hub of an earlier release tells no former names.
    renamed = (item for item in here if device in item.get("former_names", ()))
    gone = (item for item in items if device in (item["id"], item["name"]))
    if (meant_by := next(renamed, None) or next(gone, None)) is not None:
        return meant_by
    alike = _spelled_so(device, here)
    if len(alike) == 1 and sys.stdin.isatty() and not run.as_json:
        question = f"No device is called {device}. Is {alike[0]['name']} meant?"
        if typer.confirm(question, default=False, err=True):
            return alike[0]
    typed = device.casefold()
    names = [item["name"] for item in here]
    named = [item["name"] for item in alike]
    names.sort(key=lambda name: name not in named and 1 - difflib.SequenceMatcher(None, typed, name.casefold()).ratio())
    close = alike or (names and difflib.get_close_matches(typed, [names[0].casefold()], n=1))
    meant = f"Did you mean {names[0]}?" if close else "See `starloom devices`."
    raise usage(f"no device is called {device}; there are: {', '.join(names) or 'none'}", meant)


def _spelled_so(typed: str, devices: Sequence[DeviceRow]) -> list[DeviceRow]:
    """Return the devices whose names people may spell so; without a remark in brackets where no whole name is."""
    spelled = spellings_of(typed)
    whole = [item for item in devices if spelled & spellings_of(item["name"])]
    return whole or [item for item in devices if spelled & spellings_of(without_remark(item["name"]))]


def show_device(run: Invocation, device: DeviceArgument) -> None:
    """Show a device: facts, grants, and each tool with its effects or the reason why it is unavailable."""
    found = run.client.get(get_device(resolve(run, device)["id"]))
    vitals = run.client.get(get_vitals(device=found["id"]))
    if run.as_json:
        run.emit({**found, "vitals": vitals})
        return
    chip = OWN_CHIP if found.get("hub_computer") == "own" else ""
    tell(f"{found['name']}{chip}  {found['id']}  {_link(found)}  profile {found['profile']}")
    for line in _refused_lines(found):
        say(f"  {line}")
    for line in _standing(found):
        say(f"  {line}")
    for line in _at_work(run, found):
        tell(f"  {line}")
    for line in vital_lines(vitals, found["id"]):
        print(f"  {line}")
    if found["labels"]:
        tell(f"  labels: {', '.join(found['labels'])}")
    for name, value in sorted(found["facts"].items()):
        tell(f"  {name}: {', '.join(value.splitlines())}")
    if found["facts"].get("program"):
        tell(f"  typed there: {on_device('starloom-agent status', found['facts'])}")
    if found["slots"]:
        tell(f"  at once: {found['slots']} {'task' if found['slots'] == 1 else 'tasks'}")
    tell(f"  grants: {', '.join(found['grants']) or 'none'}")
    for tool in found["tools"]:
        why = f"  not available: {tool['unavailable']}" if tool["unavailable"] else ""
        effects = ", ".join(tool["effects"]) or "-"
        tell(f"  {tool['name']:<18} {effects:<14} {tool['repeatability']}{why}")


def trash(
    run: Invocation,
    device: DeviceArgument,
    back: Annotated[str, typer.Option("--back", metavar="NAME", help="Bring this file or folder back.")] = "",
    empty: Annotated[bool, typer.Option("--empty", help="Remove it for good, after an approval.")] = False,
    older_than: Annotated[
        int, typer.Option("--older-than", metavar="DAYS", min=0, help="With --empty: only what is older.")
    ] = 0,
) -> None:
    """List the trash of a device, bring a file back from it, or empty it for good."""
    if (back and empty) or (older_than and not empty):
        hint = "For example: starloom device trash NAME --empty --older-than 30"
        raise usage("--back NAME, or --empty with perhaps --older-than DAYS", hint)
    where = f"where:={json.dumps({'id': resolve(run, device)['id']})}"
    if back:
        submit(run, recipe="restore-from-trash", param=[where, f"file={back}"], wait=True)
    elif empty:
        submit(run, recipe="empty-trash", param=[where, f"days:={older_than}"], wait=True)
    else:
        submit(run, recipe="list-trash", param=[where], wait=True)


def _at_work(run: Invocation, item: DeviceState) -> list[str]:
    """Return the tasks that a device has now, each with its constellation and who asked for it."""
    if not item["running"]:
        return []
    lines = []
    for row, names in at_work(run, item["id"]):
        title = quoted(row["name"] or row["request"])
        lines.append(f"at work: {few(names, 4)} of {title} ({row['id']}) for {shown_name(row['author'])}")
    return lines


def _standing(item: DeviceState) -> list[str]:
    """Return why a device gets no work or is chosen last, and the command that lets it work again."""
    if item["revoked"] and not item["forgotten"]:
        return [f"is gone; out of the lists: starloom device forget {item['name']}"]
    said = [item["over"]] if item["over"] else []
    if item["draining"]:
        why = f" ({item['drain_reason']})" if item["drain_reason"] else ""
        until = f"; what may be repeated is moved away at {item['drain_until']}" if item["drain_until"] else ""
        said.append(f"drains{why}{until}; to go on: starloom device resume {item['name']}")
    if item["reserved"]:
        said.append(f"takes only work that names it; for all work: starloom device share {item['name']}")
    if item["quarantined"]:
        why = item["aside"] or "after faults"
        said.append(f"is set aside: {why}; to go on: starloom device resume {item['name']}")
    elif item["health"]["state"] == "suspect":
        said.append(f"is asked last: {item['health']['faults']} faults, more than its peers")
    if (full := _full_disk(item)) is not None:
        said.append(f"{full}: nothing begins there and no result leaves; free some space there")
    if item["link"] == "online" and (courtesy := courtesy_sentence(item["condition"])):
        said.append(courtesy)
    if item["link"] == "online" and (clock_off := clock_sentence(item["condition"])):
        said.append(f"{clock_off}. Set it there; where several devices are off alike, it is the clock of the hub")
    if item["link"] == "suspended":
        said.append("is asleep: the clocks of its work stand still")
    if item["remembers"]:
        said.append(f"{item['remembers']}; noted: starloom device seen {item['name']}")
    return said


def _device_control(run: Invocation, device: str, action: str, reason: str, deadline: str = "") -> None:
    found = resolve(run, device)
    body: dict[str, Any] = {"reason": reason} if reason else {}
    if deadline:
        body["deadline_s"] = 0 if deadline == "now" else duration_s(deadline)
    made = run.client.post(post_device_action(found["id"], action), body)
    if run.as_json:
        run.emit(made)
    else:
        print(f"{action} of {found['name']} accepted")
        if action == "drain":
            _stays(run, made)


def _stays(run: Invocation, item: DeviceState) -> None:
    """Say which work goes on at a device that drains, and how to end it."""
    left = _at_work(run, item)
    for line in left:
        tell(f"  {line}")
    if left:
        print("It stays there until it ends; with --deadline, what may be repeated is moved to others then.")
        print(f"To cancel it, after a question: starloom cancel --on {quote(item['name'])}")


ReasonOption = Annotated[str, typer.Option("--reason", help="Kept in the log.")]


def drain(
    run: Invocation,
    device: DeviceArgument,
    reason: ReasonOption = "",
    deadline: Annotated[
        str,
        typer.Option("--deadline", metavar="TIME", help="Then move what may be repeated to others; `now`: at once."),
    ] = "",
) -> None:
    """Drain a device: it gets no new work; running work goes on, and work that must not be repeated is never moved."""
    _device_control(run, device, "drain", reason, deadline)


def resume_device(run: Invocation, device: DeviceArgument, reason: ReasonOption = "") -> None:
    """Resume a device that was drained or quarantined."""
    _device_control(run, device, "resume", reason)


def reserve(run: Invocation, device: DeviceArgument, reason: ReasonOption = "") -> None:
    """Reserve a device: it takes only work that names it, so no step of other work brings it what others found."""
    _device_control(run, device, "reserve", reason)


def share(run: Invocation, device: DeviceArgument, reason: ReasonOption = "") -> None:
    """Let a reserved device take all work again, also work that names no device."""
    _device_control(run, device, "share", reason)


def seen(run: Invocation, device: DeviceArgument) -> None:
    """Acknowledge that a device remembers more work than this history, as after the restore of a backup."""
    _device_control(run, device, "seen", "")


def revoke(
    run: Invocation,
    device: DeviceArgument,
    reason: ReasonOption = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Revoke a device at once; it must join again to come back."""
    found = resolve(run, device)
    if not yes:
        ends = f"this revokes {found['name']}: it stops its work and must join again to come back"
        question = f"Revoke {found['name']}? It stops its work and must join again."
        if not run.agrees(ends, question, f"starloom device revoke {quote(found['name'])}"):
            print("Nothing was revoked.")
            return
    try:
        named = [item for item in run.client.get(get_schedules())["items"] if names_device(item, found["name"])]
    except Problem:
        named = []  # a token that may revoke need not be one that reads schedules
    _device_control(run, found["id"], "revoke", reason)
    if named:
        names = ", ".join(item["name"] for item in named)
        say(f"Schedules that name {found['name']}: {names}. See: starloom schedule ls", sys.stderr)


def forget(
    run: Invocation,
    device: Annotated[list[str], typer.Argument(metavar="DEVICE...", help="Names or ids of devices that are gone.")],
) -> None:
    """Take devices that left or were revoked out of every list; the log keeps their names."""
    items = run.client.get(get_devices(all_=True))["items"]
    chosen = [_gone(items, name) for name in device]
    made = [run.client.post(post_device_action(item["id"], "forget"), {}) for item in chosen]
    if run.as_json:
        run.emit(made[0] if len(made) == 1 else made)
        return
    for item in chosen:
        print(f"{item['name']} is forgotten")


def _gone(items: list[DeviceRow], device: str) -> DeviceRow:
    """Return the device of this name or id that is gone; a device that joined later may have the same name."""
    meant = [item for item in items if device in (item["id"], item["name"])]
    gone = [item for item in meant if item["revoked"]]
    listed = [item for item in gone if not item["forgotten"]] or gone[:1]
    if len(listed) > 1:
        which = ", ".join(f"{item['id']} (joined {item['joined_at'] or 'long ago'})" for item in listed)
        reason = f"{len(listed)} devices that are gone are called {device}: {which}"
        raise usage(reason, "Name the one that you mean by its id: starloom device forget ID")
    if listed:
        return listed[0]
    if meant:
        raise usage(f"{device} belongs to the fleet", f"Revoke it first: starloom device revoke {device}")
    names = ", ".join(item["name"] for item in items if item["revoked"]) or "none"
    raise usage(f"no device that is gone is called {device}; there are: {names}", "See `starloom devices --all`.")


def rename(
    run: Invocation, device: DeviceArgument, name: Annotated[str, typer.Argument(metavar="NAME", help="Its new name.")]
) -> None:
    """Rename a device."""
    found = resolve(run, device)
    made = run.client.patch(patch_device(found["id"]), {"name": name})
    if run.as_json:
        run.emit(made)
    else:
        tell(f"{found['name']} is now called {name}; plans and schedules that say {found['name']} still mean it")


def label(
    run: Invocation,
    device: DeviceArgument,
    labels: Annotated[list[str] | None, typer.Argument(metavar="[LABEL]...", help="All of its labels.")] = None,
) -> None:
    """Replace the labels of a device; without arguments it has none."""
    found = resolve(run, device)
    made = run.client.patch(patch_device(found["id"]), {"labels": labels or []})
    if run.as_json:
        run.emit(made)
    else:
        print(
            f"{found['name']} has the labels {', '.join(made['labels'])}"
            if made["labels"]
            else f"{found['name']} has no labels"
        )
