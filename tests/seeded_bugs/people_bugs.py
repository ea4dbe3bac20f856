"""Bugs over clocks, roles, tokens, secrets, stops of everything and restores: each breaks one rule of the simulated
people (`tests/sim/people`)."""

from __future__ import annotations

from tests.seeded_bugs.bug import PEOPLE, PEOPLE_PAIR, Bug

_CORE, _EDGE = "backend/starloom/core/", "backend/starloom/edge/"
_SCHEDULES, _ACCESS = f"{_CORE}clock/schedules.py", f"{_CORE}people/access.py"
_RESTORED = f"{_CORE}people/restored_history.py"


def _bug(name: str, file: str, old: str, new: str) -> Bug:
    return Bug(name, file, old, new, PEOPLE)


PEOPLE_BUGS = [
    _bug(
        "a smaller role leaves the schedules of its holder active",
        f"{_CORE}step.py",
        "    pairing.judge_codes(work)\n    schedules.judge_rights(work)\n",
        "    pairing.judge_codes(work)\n",
    ),
    _bug(
        "a schedule fires on although its token has expired",
        _SCHEDULES,
        "    if token.expires_ms and token.expires_ms <= at_ms:\n",
        "    if token.expires_ms and not at_ms:\n",
    ),
    _bug(
        "a stop of everything leaves the queues of schedules",
        f"{_CORE}people/stop_all.py",
        "    left_out = _leave_out_waiting(work)\n",
        "    left_out = 0\n",
    ),
    _bug(
        "a stop of everything does not tell which schedules go on",
        f"{_CORE}people/stop_all.py",
        "if one.state is ScheduleState.ACTIVE)\n    work.answer(",
        "if one.running)\n    work.answer(",
    ),
    _bug(
        "an assistant stops the work of everybody",
        f"{_CORE}people/stop_all.py",
        "    if is_assistant(work.by):\n",
        '    if is_assistant(work.by) and item.reason == "":\n',
    ),
    _bug(
        "the queue of a schedule grows without bound",
        _SCHEDULES,
        "        case Overlap.QUEUE if len(schedule.queued) < QUEUED_MOST:\n",
        "        case Overlap.QUEUE:\n",
    ),
    _bug(
        "a clock makes up for every moment of a long absence",
        _SCHEDULES,
        "            return missed[-QUEUED_MOST:]\n",
        "            return missed\n",
    ),
    _bug(
        "two firings run at once though they are to wait",
        _SCHEDULES,
        "    return bool(schedule.queued) and (not schedule.running or schedule.overlap is Overlap.ALLOW)\n",
        "    return bool(schedule.queued)\n",
    ),
    _bug(
        "a moment that is to be left out waits",
        _SCHEDULES,
        "        case Overlap.QUEUE if len(schedule.queued) < QUEUED_MOST:\n",
        "        case Overlap.QUEUE | Overlap.SKIP if len(schedule.queued) < QUEUED_MOST:\n",
    ),
    _bug(
        "a paused schedule keeps its queue",
        _SCHEDULES,
        "    paused = replace(schedule, due_ms=0, queued=[], skipped=left_out, state=_STATE.PAUSED)\n",
        "    paused = replace(schedule, due_ms=0, skipped=left_out, state=_STATE.PAUSED)\n",
    ),
    _bug(
        "nobody hears of a firing that its deadline ended",
        f"{_CORE}clock/notices.py",
        "    return head.cancelled_by in (DEADLINE, MODEL) or",
        "    return head.cancelled_by == MODEL or",
    ),
    _bug(
        "nobody hears of the moments that a firing holds up",
        _SCHEDULES,
        "        after = with_blocked(after, work.shard.constellations, work.at_ms)\n",
        "        after = replace(after, blocked=None)\n",
    ),
    _bug(
        "a token goes on after the one that it comes from",
        _ACCESS,
        "        below = access.descendants(token.id)\n        ending",
        "        below = access.descendants(token.id)[:0]\n        ending",
    ),
    _bug(
        "a permission for good outlives the token that gave it",
        _ACCESS,
        "        _end_approvals(work, _bound_by(work, {one.id for one in ending}), note)\n",
        "        _end_approvals(work, _bound_by(work, {one.id for one in ending})[1:], note)\n",
    ),
    _bug(
        "a permission for good outlives the role of its giver",
        _ACCESS,
        "    if ROLE_RANK[item.role] < ROLE_RANK[Role.APPROVER]:\n",
        "    if ROLE_RANK[item.role] < ROLE_RANK[Role.VIEWER]:\n",
    ),
    _bug(
        "the draft of a viewer keeps others away",
        f"{_CORE}plan/drafts.py",
        "        for by in [by for by in constellation.drafts if shard.access.right_was_taken_from(by)]:\n",
        "        for by in [by for by in constellation.drafts if by in shard.access.principals]:\n",
    ),
    _bug(
        "what a revoked token had asked before is done after its end",
        f"{_CORE}step.py",
        "        if TOKEN_MARK in work.by:\n            _check_token(work)\n",
        "",
    ),
    _bug(
        "an operator sets secrets",
        f"{_EDGE}access/guard.py",
        '    ("PUT", V1 + "/secrets/{name}"): Row(Door.CALLER, _OWNER,',
        '    ("PUT", V1 + "/secrets/{name}"): Row(Door.CALLER, _OPERATOR,',
    ),
    _bug(
        "the value of a secret goes when nobody knows whether it was set",
        f"{_EDGE}routes/people/secrets.py",
        "                if not _MAY_STAND.intersection(fault.code for fault in reply.faults):\n",
        "                if reply.faults:\n",
    ),
    _bug(
        "a secret goes to any tool",
        f"{_CORE}state/task_needs.py",
        "tool not in secret.tools:\n            return Reason",
        "not tool:\n            return Reason",
    ),
    _bug(
        "a secret goes to any device",
        f"{_CORE}state/task_needs.py",
        "device.id not in secret.devices:\n            return Reason",
        "not device.id:\n            return Reason",
    ),
    _bug(
        "whoever may run work takes back that of others",
        f"{_CORE}rights/authorship.py",
        "    if approves or who(asked_by) == who(author):\n        return\n",
        "    if author:\n        return\n",
    ),
    _bug(
        "a fork takes back the work of its origin",
        f"{_CORE}people/compensation.py",
        "attempt.end is not AttemptEnd.OK or attempt.origin is not None:\n            continue\n        if number",
        "attempt.end is not AttemptEnd.OK:\n            continue\n        if number",
    ),
    _bug(
        "a restore gives tokens back",
        _RESTORED,
        "        _end_tokens(work, item.ended)\n",
        "",
    ),
    _bug(
        "a restore gives roles back",
        _RESTORED,
        "        _lower_roles(work, item.ended)\n",
        "",
    ),
    _bug(
        "a restore gives secrets back",
        _RESTORED,
        "        _narrow_secrets(work, item.ended)\n",
        "",
    ),
    _bug(
        "a restore gives permissions for good back",
        f"{_CORE}fleet/restored_fleet.py",
        "    for name in ended.standing:\n",
        "    for name in ended.standing[:0]:\n",
    ),
    _bug(
        "a restore lets a schedule fire that was paused since",
        f"{_CORE}step.py",
        "        schedules.end_restored(work, item.ended.schedules, i.ENDED)\n",
        "",
    ),
    _bug(
        "a kept result counts for another call under its name",
        f"{_CORE}run/unknown_attempts.py",
        "    elif not (is_same := item.call == digest_of(constellation, order)):\n",
        "    elif not (is_same := bool(item.call)):\n",
    ),
    _bug(
        "the digest of a call leaves out its arguments",
        "protocol/starloom_protocol/wire/frames.py",
        "    return _hash(canonical([tool, args, read]))\n",
        "    return _hash(canonical([tool, bool(args), read]))\n",
    ),
    _bug(
        "the kept result of the same call does not count",
        f"{_CORE}run/unknown_attempts.py",
        "    elif not (is_same := item.call == digest_of(constellation, order)):\n",
        "    elif not (is_same := item.call == order.tool):\n",
    ),
    _bug(
        "a key that was in the fleet joins again",
        f"{_CORE}fleet/pairing.py",
        "    existing = work.shard.fleet.devices.get(device)\n",
        "    existing = work.shard.fleet.devices.get(device[:0])\n",
    ),
    _bug(
        "a restore gives a revoked device back",
        f"{_CORE}fleet/restored_fleet.py",
        "        if device is not None and not device.revoked:\n",
        "        if device is not None and device.revoked:\n",
    ),
    _bug(
        "a restore gives all work to a reserved device",
        f"{_CORE}fleet/restored_fleet.py",
        "    for name in ended.reserved:\n",
        "    for name in ended.reserved[:0]:\n",
    ),
    _bug(
        "a person answers on the hub for a device that is answered there",
        f"{_CORE}fleet/owner_questions.py",
        "    if asks.answers != HUB:\n",
        "    if not asks.answers:\n",
    ),
    _bug(
        "a device loses its reservation with a new name",
        f"{_CORE}fleet/devices.py",
        "    renamed = replace(device, name=item.value, former_names=",
        "    renamed = replace(device, reserved=False, name=item.value, former_names=",
    ),
    _bug(
        "what the owner of a device allowed while it was away waits on",
        f"{_CORE}run/recovery.py",
        "    elif code in _WAITS_FOR_OWNER and _connected_since(case):\n",
        "    elif code in _WAITS_FOR_OWNER and not case.attempt.leased_ms:\n",
    ),
    _bug(
        "a restore lets a schedule run a recipe that was changed since",
        f"{_CORE}rights/restored_rights.py",
        "if plan is None and schedule.recipe in (None, one.name)]\n",
        "if plan is None and not schedule.recipe]\n",
    ),
    _bug(
        "anybody replaces the recipe of others",
        f"{_CORE}people/recipes/saving.py",
        "    if approves or owner == who(by):\n",
        "    if by:\n",
    ),
    _bug(
        "a changed recipe runs by the consent to the one before",
        f"{_CORE}people/approvals/questions.py",
        "    return beyond(schedule.consent, consent, fleet)\n",
        "    return beyond(schedule.consent, replace(consent, hash=schedule.consent.hash), fleet)\n",
    ),
    _bug(
        "a secret goes to any recipe",
        f"{_CORE}state/task_needs.py",
        "        if secret.recipes and needs.recipe not in secret.recipes:\n            asking",
        "        if secret.recipes and not name:\n            asking",
    ),
    Bug(
        "a standby does not read again who has rights when the log went back",
        "backend/starloom/engine/following.py",
        "        await self._cut()\n        self._published.set()\n",
        "        self._published.set()\n",
        PEOPLE_PAIR,
    ),
    Bug(
        "a hub that takes over misses the last rights that were taken",
        "backend/starloom/engine/succession.py",
        "        following = self._following\n        if following is None:\n",
        "        following = None if self._following else self._following\n        if following is None:\n",
        PEOPLE_PAIR,
    ),
]
