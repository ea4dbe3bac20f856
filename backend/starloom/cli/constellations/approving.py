"""Open questions to people, and their answers: `approvals | approve | deny`.

Pairings and the questions of devices to their owners are answered here too.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from shlex import quote
from typing import Annotated, Any

import typer

from starloom.cli.constellations.reading import open_words
from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.text.shown_text import shown_lines
from starloom.client.problems import usage
from starloom.terminal.escaping import escaped
from starloom.terminal.style import clock
from starloom.terminal.typed import say
from starloom_protocol.vocabulary import FINAL_CONSTELLATION_STATES, Attention, DeviceLink, Reason, Role, TaskState

_LISTS_ALL = "As `starloom approvals` lists them; several are answered one after the other."
LOOKED_AT_MOST = 8
CALLS_SHOWN_MOST = 8
ARGUMENTS_CHARS_MOST = 300
_ASKED = frozenset({Attention.QUESTION_OPEN, Attention.OWNER_ASKED})
"""Attention that the list of questions has already."""
_STUCK = frozenset({Reason.MISSING_GRANT, Reason.MISSING_SECRET, Reason.NO_CAPABLE_DEVICE})
"""Reasons of tasks that end only by a person's hand."""
_BY_TASK = _ASKED | {
    Attention.MISSING_GRANT,
    Attention.MISSING_SECRET,
    Attention.NO_CAPABLE_DEVICE,
    Attention.TASK_UNKNOWN,
}
IdsArgument = Annotated[list[str], typer.Argument(metavar="ID...", help=_LISTS_ALL)]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    hub_command(app, "approvals")(approvals)
    hub_command(app, "approve")(approve)
    hub_command(app, "deny")(deny)


def is_pairing(identity: str) -> bool:
    """Return whether an id is that of a pairing, not of a question."""
    return identity.startswith("e-")


def is_ask(identity: str) -> bool:
    """Return whether an id is that of a device's own question: `DEVICE:ID`."""
    return identity.startswith("d-")


def approvals(
    run: Invocation,
    answered: Annotated[bool, typer.Option("--answered", help="Who answered what lately, and when.")] = False,
    always: Annotated[bool, typer.Option("--always", help="The calls that are allowed from now on.")] = False,
    revoke: Annotated[str | None, typer.Option("--revoke", metavar="ID", help="Take one of those back.")] = None,
) -> None:
    """List what waits for you, as the Inbox of the page does: questions, what devices ask, work that cannot go on."""
    if revoke is not None:
        _told(run, f"{revoke} is asked again from now on", run.client.delete(f"/standing-approvals/{revoke}"))
    elif always:
        _list_standing(run)
    elif answered:
        _list_answered(run)
    else:
        _list_open(run)


def _list_open(run: Invocation) -> None:
    found = run.client.get("/approvals")
    pairings = _pairings(run)
    asks = [item for item in run.client.get("/asks")["items"] if not item["answer"]]
    devices = run.client.get("/devices")["items"]
    stuck = _stuck(run, devices)
    if run.as_json:
        run.emit({**found, "asks": asks, "pairings": pairings, "stuck": stuck})
        return
    if not found["items"] and not pairings and not asks and not stuck:
        print("Nothing waits for you.")
    for item in asks:
        where = f" for {item['constellation_name'] or item['constellation']}" if item["constellation"] else ""
        until = f"denied without an answer in {_left(item['expires_at'])}"
        print(f"{item['id']}  {item['device']['name']} asks before {item['tool']} {item['args']}{where}  ({until})")
        if item["answers"] != "hub":
            print(f"    only its owner answers, on {item['device']['name']}: {item['line']}")
    for item in pairings:
        print(f"{item['id']}  {item['name']} ({item['os']}) asks to join; its screen must show: {item['words']}")
    names = {device["id"]: device["name"] for device in devices}
    looked_at = 0
    for item in found["items"]:
        until = f"; denied without an answer in {_left(item['expires_at'])}" if item.get("expires_at") else ""
        print(
            f"{item['id']}  {escaped(item['text'])}  ({item.get('constellation_name') or item['constellation']}{until})"
        )
        if shown := item.get("shown"):
            for line in shown_lines(shown["from"], shown["output"], shown["value"], shown["left_out"]):
                print(line)
        if item["kind"] == "approval":
            looked_at += 1
            _show_calls(run, item["id"], looked_at)
        for choice in item.get("choices") or []:
            fails = "  (ends the task as failed)" if choice.get("fails") else ""
            usual = "  (the planner would take this)" if choice["value"] == item.get("usual") else ""
            print(f"    --value {escaped(choice['value'])}: {escaped(choice['label'])}{fails}{usual}")
        for call in item.get("calls") or []:
            named = {**call, "devices": [names.get(device, device) for device in call["devices"]]}
            print(f"    --always allows from now on: {_call(named)}")
        for wider in item.get("wider") or []:
            print(f"    allowing it applies the change now; wider: {escaped(wider)}")
        if item.get("once_because"):
            print(f"    only this once: {item['once_because']}")
    for item in stuck:
        say(f"{escaped(item['sentence'])}  ({item['name']}; the way out: {item['line']})")


def _show_calls(run: Invocation, approval: str, number: int) -> None:
    """Print the calls that an approval is about, with their arguments; those of the first approvals only."""
    if number > LOOKED_AT_MOST:
        return
    found = run.client.get(f"/approvals/{approval}/calls")
    for call in found["items"][:CALLS_SHOWN_MOST]:
        print(f"    {call['task']}: {escaped(_call(call, most=ARGUMENTS_CHARS_MOST))}  ({', '.join(call['effects'])})")
    more = len(found["items"][CALLS_SHOWN_MOST:]) + found["more"]
    if more:
        print(f"    and {more} more; all of them: starloom show {approval.partition(':')[0]}")
    for sentence in found.get("gone") or ():
        say(
            f"    {escaped(sentence)}; deny it, or change the plan: starloom edit {approval.partition(':')[0]} --editor"
        )


def _stuck(run: Invocation, devices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what cannot go on without a person beside the questions: tasks, schedules and devices."""
    found: list[dict[str, Any]] = []
    # Work that waits for a browser tab is no attention of its constellation: the tab may be opened at any moment.
    sleeps = any(_is_tab(item) and item["link"] != DeviceLink.ONLINE for item in devices)
    live = [row for row in run.client.get("/constellations")["items"] if row["state"] not in FINAL_CONSTELLATION_STATES]
    for row in [row for row in live if sleeps or set(row.get("attention") or ()) - _ASKED][:LOOKED_AT_MOST]:
        told = run.client.get(f"/constellations/{row['id']}/why")
        common = {"constellation": row["id"], "name": row.get("name") or row["id"]}
        for item in told["items"]:
            if item.get("asleep") or item.get("reason") in _STUCK or item["state"] == TaskState.UNKNOWN:
                line = open_words(item) if item.get("asleep") else f"starloom why {item['task']} {row['id']}"
                found.append({**common, "task": item["task"], "sentence": item["sentence"], "line": line})
        for item in told["attention"]:
            if item["reason"] not in _BY_TASK:
                line = f"starloom why {row['id']}"
                found.append({**common, "task": None, "sentence": item["sentence"], "line": line})
    for item in run.client.get("/schedules")["items"]:
        if item.get("notice"):
            line = f"starloom schedule seen {quote(item['name'])}"
            sentence = item["notice"]["text"]
            found.append({"schedule": item["name"], "name": item["name"], "sentence": sentence, "line": line})
    for item in devices:
        if item.get("remembers"):
            line = f"starloom device seen {quote(item['name'])}"
            found.append({"device": item["id"], "name": item["name"], "sentence": item["remembers"], "line": line})
    return found


def _is_tab(device: dict[str, Any]) -> bool:
    return device.get("os") == "browser" and not device.get("revoked")


def _list_answered(run: Invocation) -> None:
    found = run.client.get("/approvals", state="answered")
    if run.as_json:
        run.emit(found)
        return
    if not found["items"]:
        print("Nothing was answered lately.")
    for item in found["items"]:
        why = f": {item['reason']}" if item.get("reason") else ""
        said = f"{item['answer']} by {item['answered_by']}, {clock(item['answered_at'])}{why}"
        print(f"{item['id']}  {escaped(item['text'])}  {said}")


def _list_standing(run: Invocation) -> None:
    found = run.client.get("/standing-approvals")
    if run.as_json:
        run.emit(found)
        return
    if not found["items"]:
        print("Nothing is allowed from now on; every risky plan asks.")
    for item in found["items"]:
        named = {**item, "devices": [device["name"] for device in item["devices"]]}
        print(f"{item['id']}  {_call(named)}  (by {item['by']}, {clock(item['at'])})")
    if found["items"]:
        say("Take one back: starloom approvals --revoke ID")


def _call(call: dict[str, Any], most: int = 0) -> str:
    """Return a call as `tool {arguments} on devices`, its arguments cut at `most` characters if that is not 0."""
    arguments = json.dumps(call["args"], ensure_ascii=False, sort_keys=True)
    if most and len(arguments) > most:
        arguments = f"{arguments[:most]} ... ({len(arguments)} characters)"
    return f"{call['tool']} {arguments} on {', '.join(call['devices']) or 'no device that is here'}"


def _left(expires_at: str) -> str:
    left_s = max(0.0, (datetime.fromisoformat(expires_at) - datetime.now(UTC)).total_seconds())
    return f"{left_s / 3600:.0f} h" if left_s >= 3600 else f"{left_s / 60:.0f} min"


def _pairings(run: Invocation) -> list[dict[str, Any]]:
    """Return the devices that ask to join; none for a caller who may not let them in.

    It is not asked for without the right: each refusal is on record, and would look like an attempt.
    """
    session = run.client.get("/session")
    if session["role"] not in (Role.OWNER, Role.OPERATOR) or (session["scopes"] and "fleet" not in session["scopes"]):
        return []
    items = run.client.get("/enrollments")["items"]
    return [item for item in items if item["state"] == "asking"]


def approve(
    run: Invocation,
    approval: IdsArgument,
    value: Annotated[str | None, typer.Option("--value", help="The choice, for a question with choices.")] = None,
    always: Annotated[bool, typer.Option("--always", help="Also allow the same calls here from now on.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Kept with the answer.")] = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Also where devices that the plan names are gone.")] = False,
) -> None:
    """Approve a question, answer it with one of its choices, or let a device in."""
    if value is not None and always:
        raise usage("--value and --always do not go together: --always is an answer of its own")
    made = []
    for identity in approval:
        if is_pairing(identity):
            made.append(run.client.post(f"/enrollments/{identity}/approve", {}))
            _say(run, f"{identity} approved")
            continue
        said = {"reason": reason} if reason else {}
        if is_ask(identity):
            if always or value is not None:
                raise usage("a device's question is answered once; always is said on the device: approve ID --always")
            made.append(run.client.post(f"/asks/{identity}/approve", said))
            _say(run, f"{identity} approved; the device goes on")
            continue
        if value is not None:
            made.append(run.client.post(f"/approvals/{identity}/answer", {"value": value, **said}))
        else:
            kept = {name: True for name, given in (("always", always), ("anyway", anyway)) if given}
            made.append(run.client.post(f"/approvals/{identity}/approve", {**kept, **said}))
        given = escaped(str(made[-1].get("answer") or ""))
        _say(run, f"{identity} answered: {given}{' (for good)' if always else ''}")
    _emit(run, made)


def deny(
    run: Invocation,
    approval: IdsArgument,
    reason: Annotated[str, typer.Option("--reason", help="Kept, and shown where it failed.")] = "",
) -> None:
    """Deny a question, or keep a device out."""
    made = []
    for identity in approval:
        where = "enrollments" if is_pairing(identity) else "asks" if is_ask(identity) else "approvals"
        made.append(run.client.post(f"/{where}/{identity}/deny", {"reason": reason}))
        _say(run, f"{identity} denied")
    _emit(run, made)


def _say(run: Invocation, text: str) -> None:
    if not run.as_json:
        print(text)


def _emit(run: Invocation, made: list[Any]) -> None:
    if run.as_json:
        run.emit(made[0] if len(made) == 1 else made)


def _told(run: Invocation, text: str, made: Any) -> None:
    _say(run, text)
    _emit(run, [made])
