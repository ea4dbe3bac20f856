"""Bugs to be put in on purpose, one at a time: each breaks one promise, and the named tests must notice.

`old` must stand exactly once in `file`; a change of the code that moves it fails the run loudly, not silently.
"""

from __future__ import annotations

from dataclasses import dataclass

CORE, SIM = "core", "sim"


@dataclass(frozen=True)
class Bug:
    """One patch. `by` is the layer that must catch it: `core` (tests/core) or `sim` (tests/sim)."""

    name: str
    file: str
    old: str
    new: str
    by: str


BUGS = [
    Bug(
        "a result of another incarnation counts",
        "backend/starloom/core/attempts.py",
        "if attempt.incarnation != at.incarnation or attempt.end is not None or record.attempt != at.attempt:",
        "if attempt.end is not None or record.attempt != at.attempt:",
        CORE,
    ),
    Bug(
        "a result from another device counts",
        "backend/starloom/core/attempts.py",
        "    if attempt.device != device:\n",
        "    if False:\n",
        CORE,
    ),
    Bug(
        "results are not deduplicated",
        "backend/starloom/core/attempts.py",
        "if attempt.incarnation != at.incarnation or attempt.end is not None or record.attempt != at.attempt:",
        "if attempt.incarnation != at.incarnation:",
        CORE,
    ),
    Bug(
        "cancelled is shown before the receipt",
        "backend/starloom/core/attempts.py",
        "        moved(work, record, TaskState.CANCELLING),\n",
        "        moved(work, record, TaskState.CANCELLED),\n",
        CORE,
    ),
    Bug(
        "an old absence timer gives work away",
        "backend/starloom/core/attempts.py",
        "        if work.at_ms < record.absent_since_ms + after_ms:\n",
        "        if False:\n",
        CORE,
    ),
    Bug(
        "a running task may be edited",
        "backend/starloom/core/edits.py",
        "    return record.state is not TaskState.READY or record.started > 0\n",
        "    return False\n",
        CORE,
    ),
    Bug(
        "an edit on an old version is taken",
        "backend/starloom/core/edits.py",
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
        "backend/starloom/core/apply.py",
        "            _count_gate(constellation, dependency.target, was, -1)\n",
        "",
        CORE,
    ),
    Bug(
        "work that may not be repeated is retried",
        "backend/starloom/core/recovery.py",
        "    harmless = repeatable or ended.effect is EffectSeen.NONE\n",
        "    harmless = True\n",
        CORE,
    ),
    Bug(
        "a rule fires again in the same round",
        "backend/starloom/core/rules.py",
        "    if rule.fired_for.get(task) == record.round or rule.fired >=",
        "    if rule.fired >=",
        CORE,
    ),
    Bug(
        "a device takes more than it has slots",
        "backend/starloom/core/placement.py",
        "        if used >= slots:\n            continue\n",
        "",
        CORE,
    ),
    Bug(
        "a round is opened over running work",
        "backend/starloom/core/controls.py",
        "    if busy:\n",
        "    if False:\n",
        CORE,
    ),
    Bug(
        "never-repeatable work leaves before its lease is durable",
        "backend/starloom/core/attempts.py",
        "        after=COMMIT if attempt.repeatability in REPEATABLE else DURABLE,\n",
        "        after=COMMIT,\n",
        SIM,
    ),
    Bug(
        "silence alone moves never-repeatable work",
        "backend/starloom/core/recovery.py",
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
        SIM,
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
        "backend/starloom/engine/loop.py",
        "            return pos >= commit.pos\n",
        "            return True\n",
        SIM,
    ),
    Bug(
        "a starting owner arms no timers",
        "backend/starloom/engine/loop.py",
        "        self._timers.replace(due_moments(shard))\n",
        "",
        SIM,
    ),
    Bug(
        "a dispatch lost with its connection is not sent again",
        "backend/starloom/core/fleet.py",
        "        work.order(dispatch_of(work, constellation, constellation.specs[task], record, attempt))\n",
        "",
        SIM,
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
]
