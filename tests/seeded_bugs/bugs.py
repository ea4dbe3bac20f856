"""Bugs to be put in on purpose, one at a time: each breaks one promise, and the named tests must notice.

`old` must stand exactly once in `file`; a change of the code that moves it fails the run loudly, not silently.
"""

from __future__ import annotations

from dataclasses import dataclass

CORE, ENGINE, SIM, PAIR, STORE, RESTORED = "core", "engine", "sim", "pair", "store", "restored"


@dataclass(frozen=True)
class Bug:
    """One patch. `by` is the layer that must catch it.

    `core` and `engine` are the tests of these names, `sim` schedules of one hub, `pair` of two on one shard, `store`
    the memory twin beside a real Redis, `restored` schedules whose history is put back.
    """

    name: str
    file: str
    old: str
    new: str
    by: str


BUGS = [
    Bug(
        "a result is done without its judge",
        "backend/starloom/core/run/attempts.py",
        "    if spec.judge is None:\n        _succeeded(",
        "    if spec.judge is None or not spec.optional:\n        _succeeded(",
        CORE,
    ),
    Bug(
        "a verdict that is unclear lets a result pass",
        "backend/starloom/core/run/checks/judgement.py",
        "    if verdict.holds == YES:\n        done",
        "    if verdict.holds != NO:\n        done",
        CORE,
    ),
    Bug(
        "a whole that its judge refused has succeeded",
        "backend/starloom/core/run/checks/judgement.py",
        "(verdict is not None and verdict.holds == YES):\n        return state",
        "verdict is not None:\n        return state",
        CORE,
    ),
    Bug(
        "the failed look of a reviewer is reviewed",
        "backend/starloom/core/plan/review.py",
        "    if constellation.specs[task].look or is_of_goal(constellation, task):\n",
        "    if is_of_goal(constellation, task):\n",
        CORE,
    ),
    Bug(
        "a list over a group is never made",
        "backend/starloom/core/plan/groups.py",
        "    elif gate_of_list is not GateState.UNDECIDED and _waiting_members(constellation, root):\n",
        "    elif gate_of_list is not GateState.UNDECIDED and list_of(constellation, root).source not in "
        "constellation.groups and _waiting_members(constellation, root):\n",
        SIM,
    ),
    Bug(
        "work begins again after a backup was restored",
        "device_agents/starloom_agent/core.py",
        "    if begun is None or dispatch.repeatability in REPEATABLE or begun[0] == at.incarnation"
        " or at.attempt > begun[1]:\n",
        "    if True:\n",
        RESTORED,
    ),
    Bug(
        "the owner is not told of an older history",
        "backend/starloom/core/run/unknown_attempts.py",
        "    if device.remembers:\n",
        "    if True:\n",
        RESTORED,
    ),
    Bug(
        "a device takes up work of others",
        "backend/starloom/core/run/unknown_attempts.py",
        "    if record.attempt > at.attempt or not _could_have_had(work, constellation, spec, device):\n",
        "    if record.attempt > at.attempt:\n",
        CORE,
    ),
    Bug(
        "a stall is not told",
        "backend/starloom/core/state/stalls.py",
        "        if is_stalled(constellation):\n",
        "        if False:\n",
        CORE,
    ),
    Bug(
        "a result of another incarnation counts",
        "backend/starloom/core/run/attempts.py",
        "if attempt.incarnation != at.incarnation or attempt.end is not None or record.attempt != at.attempt:",
        "if attempt.end is not None or record.attempt != at.attempt:",
        CORE,
    ),
    Bug(
        "a result from another device counts",
        "backend/starloom/core/run/attempts.py",
        "    if attempt.device != device:\n",
        "    if False:\n",
        CORE,
    ),
    Bug(
        "results are not deduplicated",
        "backend/starloom/core/run/attempts.py",
        "if attempt.incarnation != at.incarnation or attempt.end is not None or record.attempt != at.attempt:",
        "if attempt.incarnation != at.incarnation:",
        CORE,
    ),
    Bug(
        "cancelled is shown before the receipt",
        "backend/starloom/core/run/attempts.py",
        "        moved(work, record, TaskState.CANCELLING),\n",
        "        moved(work, record, TaskState.CANCELLED),\n",
        CORE,
    ),
    Bug(
        "an old absence timer gives work away",
        "backend/starloom/core/run/absence.py",
        "        if work.at_ms < record.absent_since_ms + after_ms:\n",
        "        if False:\n",
        CORE,
    ),
    Bug(
        "a running task may be edited",
        "backend/starloom/core/plan/batches/batch.py",
        "    return record.state is not TaskState.READY or record.started > 0\n",
        "    return False\n",
        CORE,
    ),
    Bug(
        "an edit on an old version is taken",
        "backend/starloom/core/plan/batches/batch.py",
        "        if spec.changed_in > self.base and task not in self.changed:\n",
        "        if False:\n",
        CORE,
    ),
    Bug(
        "a refused input leaves its puts",
        "backend/starloom/core/step.py",
        "        work.back_to(marks)\n        del work.answers[answers:]\n",
        "        del work.answers[answers:]\n",
        CORE,
    ),
    Bug(
        "gates are counted wrongly",
        "backend/starloom/core/state/apply.py",
        "            if was is not _OPENED:\n                _count_gate(constellation, target, was, -1)\n",
        "",
        CORE,
    ),
    Bug(
        "work that may not be repeated is retried",
        "backend/starloom/core/run/recovery.py",
        "    harmless = repeatable or ended.effect is EffectSeen.NONE\n",
        "    harmless = True\n",
        CORE,
    ),
    Bug(
        "a rule fires again in the same round",
        "backend/starloom/core/plan/rules.py",
        "    if rule.fired_for.get(task) == record.round or rule.fired >=",
        "    if rule.fired >=",
        CORE,
    ),
    Bug(
        "a device takes more than it has slots",
        "backend/starloom/core/placement/selection.py",
        "            if (used[device] < known[place][1]) is listed:\n",
        "            if (used[device] <= known[place][1]) is listed:\n",
        CORE,
    ),
    Bug(
        "a round is opened over running work",
        "backend/starloom/core/people/controls.py",
        "    if busy:\n",
        "    if False:\n",
        CORE,
    ),
    Bug(
        "never-repeatable work leaves before its lease is durable",
        "backend/starloom/core/run/attempts.py",
        "        after=COMMIT if attempt.repeatability in REPEATABLE else DURABLE,\n",
        "        after=COMMIT,\n",
        SIM,
    ),
    Bug(
        "silence alone moves never-repeatable work",
        "backend/starloom/core/run/recovery.py",
        "        uncertain(work, constellation, spec, record, attempt)\n        return\n    ended = replace(",
        "        pass\n    ended = replace(",
        CORE,
    ),
    Bug(
        "the incarnation is lost at a restart",
        "backend/starloom/engine/loop.py",
        "        shard.incarnation = own.incarnation\n        order",
        "        order",
        SIM,
    ),
    Bug(
        "reports are acknowledged before they are durable",
        "backend/starloom/engine/loop.py",
        "if self._acks.note(self._pos, (item for item, _future in batch)) and self._watermark >= self._pos:\n",
        "if self._acks.note(0, (item for item, _future in batch)):\n",
        ENGINE,
    ),
    Bug(
        "requests are answered before they are durable",
        "backend/starloom/engine/loop.py",
        "        durable = self._watermark >= self._pos\n",
        "        durable = True\n",
        SIM,
    ),
    Bug(
        "a commit of unknown fate counts as applied",
        "backend/starloom/engine/committing.py",
        "            return term == commit.term and pos >= commit.pos\n",
        "            return True\n",
        SIM,
    ),
    Bug(
        "a starting owner arms no timers",
        "backend/starloom/engine/loop.py",
        "        self.timers.replace(due_moments(shard))\n",
        "",
        SIM,
    ),
    Bug(
        "a dispatch lost with its connection is not sent again",
        "backend/starloom/core/fleet/devices.py",
        "        work.order(dispatch_of(work, constellation, constellation.specs[task], record, attempt))\n",
        "",
        CORE,
    ),
    Bug(
        "the agent takes an attempt that is not above its fence",
        "device_agents/starloom_agent/core.py",
        "    if highest is not None and fence_of(at) <= highest:\n",
        "    if False:\n",
        SIM,
    ),
    Bug(
        "a finished constellation leaves before it is durable",
        "backend/starloom/engine/finished.py",
        "            if pos > safe_pos or not may_retire(shard, constellation):\n",
        "            if not may_retire(shard, constellation):\n",
        SIM,
    ),
    Bug(
        "a drain cuts what must not be repeated",
        "backend/starloom/core/fleet/draining.py",
        " or attempt.repeatability not in REPEATABLE:\n",
        ":\n",
        CORE,
    ),
    Bug(
        "a try that was moved is used up",
        "backend/starloom/core/run/recovery.py",
        "    ready = moved(work, record, TaskState.READY, started=max(record.started - 1, 0))\n",
        "    ready = moved(work, record, TaskState.READY)\n",
        CORE,
    ),
    Bug(
        "a sleeping device's work grows old",
        "backend/starloom/core/placement/device_conditions.py",
        "    return replace(record, stood_ms=record.stood_ms + slept_ms)\n",
        "    return record\n",
        CORE,
    ),
    Bug(
        "a stop-all counts a device as stopped with its first receipt",
        "backend/starloom/core/people/stop_all.py",
        "confirmed_ms=0 if left else work.at_ms)\n",
        "confirmed_ms=work.at_ms)\n",
        CORE,
    ),
    Bug(
        "a device that was set aside may take anything",
        "backend/starloom/core/placement/selection.py",
        "    if device.quarantined and not (device.probing and offer.repeatability in REPEATABLE):\n",
        "    if False:\n",
        CORE,
    ),
    Bug(
        "a device is set aside though its peers fail alike",
        "backend/starloom/core/placement/health.py",
        "    return peers > 0 and now.faults * peers >= OUTLIER_TIMES * max(others, 1)\n",
        "    return peers > 0\n",
        CORE,
    ),
    Bug(
        "work that must not be repeated is hedged",
        "backend/starloom/core/run/hedge_opening.py",
        "    if attempt.repeatability not in REPEATABLE or pace is None",
        "    if pace is None",
        CORE,
    ),
    Bug(
        "the result of one attempt leaves its hedge running",
        "backend/starloom/core/run/attempts.py",
        "        hedging.close(work, constellation, spec.id, record)\n",
        "        pass\n",
        CORE,
    ),
    Bug(
        "a cancelled task does not wait for its hedge",
        "backend/starloom/core/run/attempts.py",
        "    if hedging.take_over(work, constellation, spec, record, closed):\n",
        "    if False:\n",
        CORE,
    ),
    Bug(
        "one principal takes every slot that becomes free",
        "backend/starloom/core/placement/selection.py",
        "        list(by_owner) if len(by_owner) < 2 else",
        "        list(by_owner) if len(by_owner) > 0 else",
        CORE,
    ),
    Bug(
        "long tasks of a plan take every slot of its owner",
        "backend/starloom/core/state/queues/fair_share.py",
        "    share = (constellation.held + 1) * unfinished.bit_length()\n",
        "    share = 0\n",
        CORE,
    ),
    Bug(
        "small requests that keep coming starve a large plan",
        "backend/starloom/core/state/queues/fair_share.py",
        "        first = self._longest() if self._late else None\n",
        "        first = None\n",
        CORE,
    ),
    Bug(
        "a deadline cuts what must not be cut",
        "backend/starloom/core/people/controls.py",
        "    stop_all(work, constellation, note, cut=False)\n",
        "    stop_all(work, constellation, note)\n",
        CORE,
    ),
    Bug(
        "a storm of retries goes on",
        "backend/starloom/core/run/recovery.py",
        "    elif may_again and harmless and _budget_is_spent(constellation, ended):\n",
        "    elif False:\n",
        CORE,
    ),
    Bug(
        "a person is asked although a rule mends it",
        "backend/starloom/core/run/last_resort.py",
        "    for owner in (spec.id, spec.group):\n",
        "    for owner in ():\n",
        CORE,
    ),
    Bug(
        "a new ledger proves that old work never began",
        "backend/starloom/core/run/attempts.py",
        "    if device is not None and attempt.leased_ms < device.ledger_ms:\n",
        "    if False:\n",
        CORE,
    ),
    Bug(
        "it is looked whether work happened that may still run",
        "backend/starloom/core/run/recovery.py",
        "    if ended:\n        work.rules_due.append((constellation.name, spec.id, ENDED_IN_DOUBT))\n",
        "    if True:\n        work.rules_due.append((constellation.name, spec.id, ENDED_IN_DOUBT))\n",
        CORE,
    ),
    Bug(
        "a look that finds nothing counts as proof that nothing happened",
        "backend/starloom/core/run/verification.py",
        "or (found is MISSING and check.op is not Op.EXISTS)",
        "or False",
        CORE,
    ),
    Bug(
        "work begins although the budget is used up",
        "backend/starloom/core/step.py",
        "        if budgets.stop(work, found[0]):\n",
        "        if False:\n",
        CORE,
    ),
    Bug(
        "two hubs commit, for nobody compares terms",
        "backend/starloom/store/memory.py",
        '        if redis.term != term:\n            why = "term"\n        elif redis.incarnation != incarnation:\n'
        '            why = "incarnation"\n        elif redis.link is not self:\n            why = "link"\n',
        '        if redis.incarnation != incarnation:\n            why = "incarnation"\n',
        PAIR,
    ),
    Bug(
        "a commit in doubt counts under another's term",
        "backend/starloom/engine/committing.py",
        "            return term == commit.term and pos >= commit.pos\n",
        "            return pos >= commit.pos\n",
        PAIR,
    ),
    Bug(
        "a woken owner keeps its sockets",
        "backend/starloom/engine/succession.py",
        "        self._follow()\n        await self._changed()\n",
        "        self._follow()\n",
        PAIR,
    ),
    Bug(
        "a follower skips the last commits at a takeover",
        "backend/starloom/engine/succession.py",
        "            await self.follower.until(pos)\n",
        "",
        PAIR,
    ),
    Bug(
        "viewers keep what an owner showed and Redis lost",
        "backend/starloom/engine/following.py",
        "        return there is not None and there.events == self._last\n",
        "        return True\n",
        PAIR,
    ),
    Bug(
        "a hub goes on from another commit at the place of one that it showed",
        "backend/starloom/engine/following.py",
        "        elif not await self._goes_on():\n",
        "        elif False:\n",
        ENGINE,
    ),
    Bug(
        "what another hub asks is answered before it is safe",
        "backend/starloom/engine/remote.py",
        "        reply = await inbox.ask(item)\n",
        "        inbox.post(item)\n"
        '        reply = Reply(value={"id": getattr(item, "constellation", ""), "version": 2})\n',
        PAIR,
    ),
    Bug(
        "Redis takes a commit of a term that is over",
        "backend/starloom/store/scripts.py",
        "if found[1] ~= ARGV[1] then why = 'term'\nelseif found[2] ~= ARGV[2] then why = 'incarnation'\n"
        "elseif found[4] ~= ARGV[4] then why = 'link'\n",
        "if found[2] ~= ARGV[2] then why = 'incarnation'\n",
        STORE,
    ),
    Bug(
        "a retired stream leaves although it has moved",
        "backend/starloom/store/scripts.py",
        "  if redis.call('HGET', KEYS[5], ARGV[at]) == ARGV[at + 1] then\n",
        "  if true then\n",
        STORE,
    ),
]
