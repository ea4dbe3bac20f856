"""Open questions to people, and their answers: `approvals | approve | deny`.

Pairings and the questions of devices to their owners are answered here too.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import typer

from starloom.cli.constellations.explaining import explained, open_words
from starloom.cli.constellations.reading import is_constellation
from starloom.cli.invocation import Invocation, hub_command
from starloom.cli.text.shown_text import shown_lines, with_times
from starloom.cli.text.vital_text import replaces_words
from starloom.client.problems import usage
from starloom.client.routes import (
    delete_standing_approval,
    get_approval_calls,
    get_approvals,
    get_asks,
    get_constellation_why,
    get_constellations,
    get_devices,
    get_enrollments,
    get_schedules,
    get_session,
    get_standing_approvals,
    post_approval_answer,
    post_approval_approve,
    post_approval_deny,
    post_ask_approve,
    post_ask_deny,
    post_enrollment_approve,
    post_enrollment_deny,
)
from starloom.client.terminal.escaping import tell
from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import say
from starloom_protocol.stream.authors import name_of
from starloom_protocol.text.presentation import effect_words
from starloom_protocol.text.wording import escaped
from starloom_protocol.vocabulary import (
    FINAL_CONSTELLATION_STATES,
    Attention,
    DeviceLink,
    PrincipalKind,
    Reason,
    Role,
    TaskState,
)

if TYPE_CHECKING:
    from starloom.client.answers import NamedQuestionRowJson
    from starloom_protocol.api.approvals import GivenAnswer, Revoked
    from starloom_protocol.api.fleet import AskRow, DeviceRow, EnrollmentRow
    from starloom_protocol.api.people import SessionRow

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
Given: TypeAlias = "EnrollmentRow | AskRow | GivenAnswer | Revoked"
IdsArgument = Annotated[list[str], typer.Argument(metavar="ID...", help=_LISTS_ALL)]


def register(app: typer.Typer) -> None:
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
    approval: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One of them: each of its calls with whole arguments.")
    ] = None,
    answered: Annotated[bool, typer.Option("--answered", help="Who answered what lately, and when.")] = False,
    always: Annotated[bool, typer.Option("--always", help="The calls that are allowed from now on.")] = False,
    revoke: Annotated[str | None, typer.Option("--revoke", metavar="ID", help="Take one of those back.")] = None,
) -> None:
    """List what waits for you, as the Inbox of the page does: questions, what devices ask, work that cannot go on."""
    if approval is not None:
        _list_calls(run, approval)
    elif revoke is not None:
        _tell_revoked(run, f"{revoke} is asked again from now on", run.client.delete(delete_standing_approval(revoke)))
    elif always:
        _list_standing(run)
    elif answered:
        _list_answered(run)
    else:
        _list_open(run)


def _list_open(run: Invocation) -> None:
    questions = run.client.get(get_approvals())
    session = run.client.get(get_session())
    pairings = _pairings(run, session)
    asks = [item for item in run.client.get(get_asks())["items"] if not item["answer"]]
    devices = run.client.get(get_devices())["items"]
    stuck = _stuck(run, devices)
    if run.as_json:
        run.emit({**questions, "asks": asks, "pairings": pairings, "stuck": stuck})
        return
    if not questions["items"] and not pairings and not asks and not stuck:
        print("Nothing waits for you.")
    if (questions["items"] or asks) and not session["approves"]:
        from starloom.cli.text.constellation_text import OTHERS_ANSWER

        print(OTHERS_ANSWER)
    for ask in asks:
        _show_ask(ask)
    for pairing in pairings:
        tell(
            f"{pairing['id']}  {pairing['name']} ({pairing['os']}) asks to join; "
            f"its screen must show: {pairing['words']}"
        )
        if replaces := replaces_words(pairing, devices):
            tell(f"    {replaces}")
    names = {device["id"]: device["name"] for device in devices}
    looked_at = 0
    for item in questions["items"]:
        if item["kind"] == "approval":
            looked_at += 1
        _show_question(run, item, names, looked_at)
    for item_stuck in stuck:
        say(f"{escaped(item_stuck['sentence'])}  ({item_stuck['name']}; the way out: {item_stuck['line']})")


def _show_ask(ask: AskRow) -> None:
    where = f" for {ask['constellation_name'] or ask['constellation']}" if ask["constellation"] else ""
    until = f"denied without an answer in {_time_left(ask['expires_at'])}" if ask["expires_at"] else "open"
    tell(f"{ask['id']}  {ask['device']['name']} asks before {ask['tool']} {ask['args']}{where}  ({until})")
    if ask["answers"] != "hub":
        tell(f"    only its owner answers, on {ask['device']['name']}: {ask['line']}")


def _show_question(run: Invocation, item: NamedQuestionRowJson, names: dict[str, str], looked_at: int) -> None:
    """Print a question with everything that its answer should rest on; it is the approval number `looked_at`."""
    until = f"; denied without an answer in {_time_left(item['expires_at'])}" if item["expires_at"] else ""
    print(f"{item['id']}  {escaped(item['text'])}  ({item['constellation_name'] or item['constellation']}{until})")
    # A hub of an earlier release tells no author.
    if item.get("author", "").startswith(f"{PrincipalKind.ASSISTANT}:"):
        tell(f"    the assistant {name_of(item['author'])} wrote this: its words are those of a model")
    if part := item["shown"]:
        for line in shown_lines(part["from"], part["output"], part["value"], part["left_out"]):
            print(line)
    if item["kind"] == "approval":
        _show_calls(run, item["id"], looked_at)
    for choice in item["choices"]:
        fails = "  (ends the task as failed)" if choice.get("fails") else ""
        usual = "  (the planner would take this)" if choice["value"] == item["usual"] else ""
        print(f"    --value {escaped(choice['value'])}: {escaped(choice['label'])}{fails}{usual}")
    for call in item["calls"]:
        devices = [names.get(device, device) for device in call["devices"]]
        tell(f"    --always allows from now on: {_call(call['tool'], call['args'], devices)}")
    for wider in item["wider"]:
        print(f"    allowing it applies the change now; wider: {escaped(wider)}")
    if item["once_because"]:
        tell(f"    only this once: {item['once_because']}")


def _list_calls(run: Invocation, approval: str) -> None:
    """Print every call that an approval is about, with whole arguments."""
    calls = run.client.get(get_approval_calls(approval))
    if run.emits(calls):
        return
    if not calls["items"]:
        print("Its plan makes no call that does more than read.")
    for call in calls["items"]:
        words = _call(call["tool"], call["args"], call["devices"])
        print(f"{call['task']}: {escaped(words)}  ({', '.join(effect_words(call['tool'], call['effects']))})")
    if calls["more"]:
        say(f"and {calls['more']} more calls, which only the plan lists: starloom show {approval.partition(':')[0]}")


def _show_calls(run: Invocation, approval: str, number: int) -> None:
    """Print the calls that an approval is about, with their arguments; those of the first approvals only."""
    if number > LOOKED_AT_MOST:
        return
    calls = run.client.get(get_approval_calls(approval))
    for call in calls["items"][:CALLS_SHOWN_MOST]:
        words = _call(call["tool"], call["args"], call["devices"], most=ARGUMENTS_CHARS_MOST)
        print(f"    {call['task']}: {escaped(words)}  ({', '.join(effect_words(call['tool'], call['effects']))})")
    more = len(calls["items"][CALLS_SHOWN_MOST:]) + calls["more"]
    if more:
        say(f"    and {more} more; all of them: starloom approvals {approval}")
    for sentence in calls["held"]:
        say(f"    {escaped(sentence)}")
    for sentence in calls["gone"]:
        say(
            f"    {escaped(sentence)}; deny it, or change the plan: starloom edit {approval.partition(':')[0]} --editor"
        )


def _stuck(run: Invocation, devices: list[DeviceRow]) -> list[dict[str, Any]]:
    """Return what cannot go on without a person beside the questions: tasks, schedules and devices."""
    rows: list[dict[str, Any]] = []
    # Work that waits for a browser tab is no attention of its constellation: the tab may be opened at any moment.
    sleeps = any(_is_tab(item) and item["link"] != DeviceLink.ONLINE for item in devices)
    live = [
        row for row in run.client.get(get_constellations())["items"] if row["state"] not in FINAL_CONSTELLATION_STATES
    ]
    for row in [row for row in live if sleeps or set(row["attention"]) - _ASKED][:LOOKED_AT_MOST]:
        explanation = run.client.get(get_constellation_why(row["id"]))
        common = {"constellation": row["id"], "name": row["name"] or row["id"]}
        for item in explained(explanation):
            if item.get("asleep") or item.get("reason") in _STUCK or item["state"] == TaskState.UNKNOWN:
                line = open_words(item) if item.get("asleep") else f"starloom why {item['task']} {row['id']}"
                rows.append({**common, "task": item["task"], "sentence": item["sentence"], "line": line})
        for attention in explanation["attention"] if "items" in explanation else []:
            if attention["reason"] not in _BY_TASK:
                line = f"starloom why {row['id']}"
                rows.append({**common, "task": None, "sentence": attention["sentence"], "line": line})
    for schedule in run.client.get(get_schedules())["items"]:
        if notice := schedule["notice"]:
            line = f"starloom schedule seen {quote(schedule['name'])}"
            about = {"schedule": schedule["name"], "name": schedule["name"]}
            rows.append({**about, "sentence": notice["text"], "line": line})
    for device in devices:
        if device["remembers"]:
            line = f"starloom device seen {quote(device['name'])}"
            about = {"device": device["id"], "name": device["name"]}
            rows.append({**about, "sentence": device["remembers"], "line": line})
    return rows


def _is_tab(device: DeviceRow) -> bool:
    return device["os"] == "browser" and not device["revoked"]


def _list_answered(run: Invocation) -> None:
    answered = run.client.get(get_approvals(state="answered"))
    if run.emits(answered):
        return
    if not answered["items"]:
        print("Nothing was answered lately.")
    for item in answered["items"]:
        why = f": {item['reason']}" if item["reason"] else ""
        words = f"{_answer_words(item)} by {name_of(item['answered_by'] or '')}, {clock(item['answered_at'])}{why}"
        print(f"{item['id']}  {escaped(item['text'])}  {words}")


_SAID: Final = {"allow": "approved", "always": "always allowed", "deny": "denied"}


def _answer_words(item: NamedQuestionRowJson) -> str:
    """Return an answer by the label of its choice, as the person chose it."""
    answer = item["answer"] or ""
    label = next((choice["label"] for choice in item["choices"] if choice["value"] == answer), answer)
    return _SAID.get(answer) or f"answered “{escaped(label)}”"


def _list_standing(run: Invocation) -> None:
    standing = run.client.get(get_standing_approvals())
    if run.emits(standing):
        return
    if not standing["items"]:
        print("Nothing is allowed from now on; every risky plan asks.")
    for item in standing["items"]:
        call = _call(item["tool"], item["args"], [device["name"] for device in item["devices"]])
        tell(f"{item['id']}  {call}  (by {item['by']}, {clock(item['at'])})")
    if standing["items"]:
        say("Take one back: starloom approvals --revoke ID")


def _call(tool: str, args: Any, devices: list[str], most: int = 0) -> str:
    """Return a call as `tool {arguments} on devices`; with `most` the arguments are cut, and times are as people read
    them, without it they are exactly those of the call.
    """
    arguments = json.dumps(with_times(args) if most else args, ensure_ascii=False, sort_keys=True)
    if most and len(arguments) > most:
        arguments = f"{arguments[:most]} ... ({len(arguments)} characters)"
    return f"{tool} {arguments} on {', '.join(devices) or 'no device that is here'}"


def _time_left(expires_at: str) -> str:
    left_s = max(0.0, (datetime.fromisoformat(expires_at) - datetime.now(UTC)).total_seconds())
    return f"{left_s / 3600:.0f} h" if left_s >= 3600 else f"{left_s / 60:.0f} min"


def _pairings(run: Invocation, session: SessionRow) -> list[EnrollmentRow]:
    """Return the devices that ask to join; none for a caller who may not let them in.

    It is not asked for without the right: each refusal is on record, and would look like an attempt.
    """
    if session["role"] not in (Role.OWNER, Role.OPERATOR) or (session["scopes"] and "fleet" not in session["scopes"]):
        return []
    items = run.client.get(get_enrollments())["items"]
    return [item for item in items if item["state"] == "asking"]


def approve(
    run: Invocation,
    approval: IdsArgument,
    value: Annotated[
        str | None, typer.Option("--value", help='The choice, for a question with choices, or the text; "" for none.')
    ] = None,
    always: Annotated[bool, typer.Option("--always", help="Also allow the same calls here from now on.")] = False,
    reason: Annotated[str, typer.Option("--reason", help="Kept with the answer.")] = "",
    anyway: Annotated[bool, typer.Option("--anyway", help="Also where devices that the plan names are gone.")] = False,
) -> None:
    """Approve a question, answer it with one of its choices, or let a device in."""
    if value is not None and always:
        raise usage("--value and --always do not go together: --always is an answer of its own")
    answers: list[Given] = []
    for identity in approval:
        _refuse_constellation(run, identity, "approve")
        if is_pairing(identity):
            joins = run.client.post(post_enrollment_approve(identity), {})
            answers.append(joins)
            _say(run, f"{escaped(joins['name'] or identity)} is let in")
            continue
        note = {"reason": reason} if reason else {}
        if is_ask(identity):
            if always or value is not None:
                raise usage("a device's question is answered once; always is said on the device: approve ID --always")
            ask = run.client.post(post_ask_approve(identity), note)
            answers.append(ask)
            _say(run, f"{ask['tool']} is approved; {escaped(ask['device']['name'])} goes on")
            continue
        if value is not None:
            answer = run.client.post(post_approval_answer(identity), {"value": value, **note})
        else:
            options = {name: True for name, is_set in (("always", always), ("anyway", anyway)) if is_set}
            answer = run.client.post(post_approval_approve(identity), {**options, **note})
        answers.append(answer)
        _say(run, f"{identity} answered: {escaped(answer['answer'])}{' (for good)' if always else ''}")
    _emit(run, answers)


def deny(
    run: Invocation,
    approval: IdsArgument,
    reason: Annotated[str, typer.Option("--reason", help="Kept, and shown where it failed.")] = "",
) -> None:
    """Deny a question, or keep a device out."""
    answers: list[Given] = []
    for identity in approval:
        _refuse_constellation(run, identity, "deny")
        answers.append(_deny(run, identity, {"reason": reason}))
        _say(run, f"{identity} denied")
    _emit(run, answers)


def _refuse_constellation(run: Invocation, identity: str, verb: str) -> None:
    """Refuse the id of a run in place of that of its question: another question may have come since it was read."""
    if ":" in identity or not is_constellation(identity):
        return
    questions = [row["id"] for row in run.client.get(get_approvals())["items"] if row["constellation"] == identity]
    lines = " or ".join(f"`starloom {verb} {question}`" for question in questions)
    reason = f"{identity} is a run, " + (
        "and an answer is for one of its questions" if lines else "and it asks nothing"
    )
    raise usage(reason, f"Type {lines}." if lines else "See `starloom approvals`.")


def _deny(run: Invocation, identity: str, body: dict[str, str]) -> Given:
    if is_pairing(identity):
        return run.client.post(post_enrollment_deny(identity), body)
    if is_ask(identity):
        return run.client.post(post_ask_deny(identity), body)
    return run.client.post(post_approval_deny(identity), body)


def _say(run: Invocation, text: str) -> None:
    if not run.as_json:
        print(text)


def _emit(run: Invocation, answers: Sequence[Given]) -> None:
    if run.as_json:
        run.emit(answers[0] if len(answers) == 1 else answers)


def _tell_revoked(run: Invocation, text: str, revoked: Revoked) -> None:
    _say(run, text)
    _emit(run, [revoked])
