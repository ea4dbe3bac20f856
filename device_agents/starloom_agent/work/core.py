"""The agent's own decisions: the leases that it holds, starts and stops of calls, answers to the hub. Pure.

`step` changes the given state and returns actions in order; it knows no clock, socket, file or process. Times are
readings of the clock that runs during sleep, given with each event. The answer for an attempt that it does not hold
comes from the ledger, so an action asks the runtime for it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, assert_never

from starloom_protocol.vocabulary import REPEATABLE, Code, EffectSeen, Outcome, Resume
from starloom_protocol.wire.frames import Cancel, Dispatch, LeaseRef, PlanEntry, Renew, call_digest

FENCES_KEPT: Final = 4_096
"""Tasks whose fences stay in memory; those of older durable work are recalled from the ledger when they are named."""
WAITING_MOST: Final = 1_000
"""A hub gives a device what its slots take; more than a few wait here only where it has lost count."""
WAITING_CHARS_MOST: Final = 64_000_000
"""The arguments of calls that wait lie in memory; one message brings a megabyte of them at most."""
_PATIENCE_PART: Final = 10
"""A fence comes later by this part of the time that the attempt has run; the hub counts by the same part."""
TaskKey = tuple[str, str]
Fence = tuple[int, int]


@dataclass(slots=True)
class Held:
    """A lease held here. `fence_at` None: no fence. `stopping`: the reason of its ending, empty while it may go on.

    `renewed_at` is when the first answered `alive` was sent that named it as running.
    """

    dispatch: Dispatch
    running: bool = False
    fence_at: float | None = None
    renewed_at: float | None = None
    stopping: str = ""


@dataclass(slots=True)
class AgentState:
    """The state on which the agent decides. `base_at` is the time of sending the last answered `alive` (or the proof).

    `begun` has the fence of the highest attempt that began here, for each task that must not be repeated. `ending` is
    the reason why nothing begins here any more, once all leases were given back.
    """

    slots: int
    base_at: float = 0.0
    begun: dict[TaskKey, Fence] = field(default_factory=dict)
    ending: str = ""
    fences: dict[TaskKey, Fence] = field(default_factory=dict)
    held: dict[LeaseRef, Held] = field(default_factory=dict)
    waiting: list[LeaseRef] = field(default_factory=list)
    waiting_chars: int = 0
    running: int = 0


@dataclass(frozen=True, slots=True)
class Proved:
    """This connection's proof was sent at `at`: nothing granted on it is older."""

    at: float


@dataclass(frozen=True, slots=True)
class Recalled:
    """The ledger's entry for a task that the next event names: its highest fence, and the highest begun attempt."""

    task: TaskKey
    fence: Fence
    begun: Fence | None


@dataclass(frozen=True, slots=True)
class Resumed:
    entries: list[PlanEntry]


@dataclass(frozen=True, slots=True)
class CallEnded:
    """The process of a lease is gone; `stopped` if it was ended from outside and made no result."""

    at: LeaseRef
    stopped: bool


@dataclass(frozen=True, slots=True)
class EndAll:
    """Every lease is given back: the device was revoked, or the agent is being stopped."""

    why: str


@dataclass(frozen=True, slots=True)
class EndOne:
    """One call is ended by its device, and its end reported."""

    at: LeaseRef
    why: str


Event = Proved | Recalled | Resumed | CallEnded | EndAll | EndOne | Dispatch | Cancel | Renew


@dataclass(frozen=True, slots=True)
class Start:
    """Decide by policy, write `started`, run."""

    dispatch: Dispatch
    fence_at: float | None


@dataclass(frozen=True, slots=True)
class Stop:
    """End the process group; `CallEnded` follows."""

    at: LeaseRef
    why: str


@dataclass(frozen=True, slots=True)
class MoveFence:
    at: LeaseRef
    fence_at: float


@dataclass(frozen=True, slots=True)
class SayReceipt:
    """Report that a cancel is done. `effect` None: the effect that the ended call reported."""

    at: LeaseRef
    known: bool
    effect: EffectSeen | None


@dataclass(frozen=True, slots=True)
class SayResult:
    """Report an end that needs no process: refused, never started, interrupted."""

    at: LeaseRef
    outcome: Outcome
    code: Code | None
    detail: str
    effect: EffectSeen = EffectSeen.NONE


@dataclass(frozen=True, slots=True)
class SayEnd:
    """Report the end of a call, as the runner reported it."""

    at: LeaseRef


@dataclass(frozen=True, slots=True)
class AnswerFromLedger:
    """Send the ledger's report of this attempt again; `absent` is the action if it has none.

    A dispatch names its `call` by digest, and `other` is the action if the ledger has another call under this name.
    """

    at: LeaseRef
    absent: SayReceipt | SayResult | None
    call: str = ""
    other: SayResult | None = None


@dataclass(frozen=True, slots=True)
class SayBegun:
    """Tell the hub of an attempt that it does not know, whose work must not begin again as `at`."""

    at: LeaseRef
    begun: LeaseRef


Action = Start | Stop | MoveFence | SayReceipt | SayResult | SayEnd | AnswerFromLedger | SayBegun


def fence_of(at: LeaseRef) -> Fence:
    return (at.incarnation, at.attempt)


def digest_of(dispatch: Dispatch) -> str:
    """Return the digest of a call: that of the hub for the same tool, arguments and values."""
    return call_digest(dispatch.tool, dispatch.args, dispatch.inputs, dispatch.secrets)


def task_of(at: LeaseRef) -> TaskKey:
    return (at.constellation, at.task)


def step(state: AgentState, event: Event) -> list[Action]:
    """Apply one event; total over every order of events a hub may send."""
    if isinstance(event, Dispatch):
        return _dispatched(state, event)
    if isinstance(event, CallEnded):
        return _call_ended(state, event)
    if isinstance(event, Renew):
        return _renewed(state, event)
    if isinstance(event, Cancel):
        return _cancelled(state, event.at)
    if isinstance(event, Resumed):
        return [action for entry in event.entries for action in _resume(state, entry)]
    if isinstance(event, Proved):
        state.base_at = max(state.base_at, event.at)
        return []
    if isinstance(event, Recalled):
        _note_fence(state, event.task, event.fence)
        if event.begun is not None:
            _note_begun(state, event.task, event.begun)
        return []
    if isinstance(event, EndOne):
        return _end(state, event.at, event.why) if event.at in state.held else []
    if isinstance(event, EndAll):
        state.ending = event.why
        return [action for at in list(state.held) for action in _end(state, at, event.why)]
    assert_never(event)


def running_refs(state: AgentState) -> list[LeaseRef]:
    """Return what `alive` names: every lease that is held, those that wait for a slot here included."""
    return [at for at, lease in state.held.items() if not lease.stopping or lease.running]


def _note_fence(state: AgentState, key: TaskKey, fence: Fence) -> None:
    # Removed and inserted again, so that the dictionary is in the order of use and the oldest go first.
    state.fences[key] = max(fence, state.fences.pop(key, (-1, -1)))
    while len(state.fences) > FENCES_KEPT:
        oldest = next(iter(state.fences))
        del state.fences[oldest]
        state.begun.pop(oldest, None)


def _note_begun(state: AgentState, key: TaskKey, fence: Fence) -> None:
    highest = state.begun.get(key)
    if highest is None or fence[1] >= highest[1]:
        state.begun[key] = fence


def _begun_before(state: AgentState, dispatch: Dispatch) -> LeaseRef | None:
    """Return the attempt of this work that began here under another history, as before a backup was restored.

    Attempts of a task only rise within one history. So a hub that hands out one again under another incarnation has
    lost what came of it.
    """
    at = dispatch.at
    fence = state.begun.get(task_of(at))
    if fence is None or dispatch.repeatability in REPEATABLE or fence[0] == at.incarnation or at.attempt > fence[1]:
        return None
    return LeaseRef(attempt=fence[1], constellation=at.constellation, incarnation=fence[0], task=at.task)


def _chars_of(dispatch: Dispatch) -> int:
    return len(dispatch.args) + sum(len(part.value or "") for item in dispatch.inputs for part in item.parts)


def _dispatched(state: AgentState, dispatch: Dispatch) -> list[Action]:
    at = dispatch.at
    if at in state.held:
        return []
    earlier = _begun_before(state, dispatch)
    if earlier is not None:
        return [SayBegun(at, earlier)]
    highest = state.fences.get(task_of(at))
    if highest is not None and fence_of(at) <= highest:
        detail = f"a newer attempt of this task than {at.attempt} was already taken here"
        absent = SayResult(at, Outcome.REFUSED, Code.FENCED, detail)
        return [AnswerFromLedger(at, absent, digest_of(dispatch), _of_another_call(dispatch))]
    _note_fence(state, task_of(at), fence_of(at))
    if state.ending:
        return [SayResult(at, Outcome.NEVER_STARTED, None, f"it came too late here: {state.ending}")]
    fence_at = state.base_at + dispatch.fence_after_s if dispatch.fence_after_s > 0 else None
    if len(state.waiting) >= WAITING_MOST or state.waiting_chars + _chars_of(dispatch) > WAITING_CHARS_MOST:
        detail = f"{len(state.waiting)} calls wait here already"
        return [SayResult(at, Outcome.NEVER_STARTED, Code.TOOL_UNAVAILABLE, detail)]
    # An older attempt of the same task that still runs has been given away: it ends before this one begins.
    older = [held_at for held_at in state.held if task_of(held_at) == task_of(at)] if highest is not None else []
    state.held[at] = Held(dispatch, fence_at=fence_at)
    state.waiting.append(at)
    state.waiting_chars += _chars_of(dispatch)
    actions = [action for held_at in older for action in _end(state, held_at, "replaced")]
    return actions + _start_waiting(state)


def _of_another_call(dispatch: Dispatch) -> SayResult:
    """Return the answer to a call under whose name the ledger has another one, whose result is none of this call.

    A hub whose history is older may give a name a second time. Work that may be repeated is given back, and begins
    under a higher fence; of any other the hub asks a person.
    """
    if dispatch.repeatability in REPEATABLE:
        detail = "this device carried out another call under this name; it begins as the next attempt"
        return SayResult(dispatch.at, Outcome.NEVER_STARTED, None, detail)
    detail = "this device carried out another call under this name; the hub's history is older"
    return SayResult(dispatch.at, Outcome.INTERRUPTED, Code.INTERRUPTED, detail, EffectSeen.MAYBE)


def _start_waiting(state: AgentState) -> list[Action]:
    actions: list[Action] = []
    if not state.waiting or state.running >= state.slots:
        return actions
    busy = {task_of(at) for at, lease in state.held.items() if lease.running} if len(state.held) > 1 else set()
    left = []
    for at in state.waiting:
        lease = state.held[at]
        if state.running >= state.slots or task_of(at) in busy:
            left.append(at)
            continue
        lease.running = True
        state.running += 1
        state.waiting_chars -= _chars_of(lease.dispatch)
        if lease.dispatch.repeatability not in REPEATABLE:
            _note_begun(state, task_of(at), fence_of(at))
        actions.append(Start(lease.dispatch, lease.fence_at))
    state.waiting = left
    return actions


def _release(state: AgentState, at: LeaseRef) -> Held | None:
    lease = state.held.pop(at, None)
    if lease is not None and lease.running:
        state.running -= 1
    if lease is not None and not lease.running:
        state.waiting.remove(at)
        state.waiting_chars -= _chars_of(lease.dispatch)
    return lease


def _call_ended(state: AgentState, event: CallEnded) -> list[Action]:
    lease = _release(state, event.at)
    if lease is None:
        return []
    actions: list[Action] = []
    if not event.stopped:
        actions.append(SayEnd(event.at))
    elif lease.stopping == "cancel":
        actions.append(SayReceipt(event.at, known=True, effect=None))
    else:
        # Fenced, replaced, gone or ended by its owner: the end is reported whether or not the hub knows it.
        actions.append(SayEnd(event.at))
    return actions + _start_waiting(state)


def _end(state: AgentState, at: LeaseRef, why: str) -> list[Action]:
    lease = state.held[at]
    if lease.running:
        if lease.stopping:
            return []
        lease.stopping = why
        return [Stop(at, why)]
    _release(state, at)
    if why == "cancel":
        return [SayReceipt(at, known=True, effect=EffectSeen.NONE)]
    return [SayResult(at, Outcome.NEVER_STARTED, None, f"it waited for a slot and was ended: {why}")]


def _cancelled(state: AgentState, at: LeaseRef) -> list[Action]:
    lease = state.held.get(at)
    if lease is None:
        _note_fence(state, task_of(at), fence_of(at))
        return [AnswerFromLedger(at, SayReceipt(at, known=False, effect=EffectSeen.NONE))]
    if lease.stopping:
        lease.stopping = "cancel"
        return []
    return _end(state, at, "cancel")


def _renewed(state: AgentState, renew: Renew) -> list[Action]:
    sent_at = renew.sent_ms / 1000
    state.base_at = max(state.base_at, sent_at)
    actions: list[Action] = []
    for at in renew.granted:
        lease = state.held.get(at)
        if lease is None or lease.fence_at is None:
            continue
        if lease.running and lease.renewed_at is None:
            lease.renewed_at = sent_at
        fence_at = sent_at + lease.dispatch.fence_after_s + _patience_s(lease, sent_at)
        if fence_at > lease.fence_at:
            lease.fence_at = fence_at
            if lease.running:
                actions.append(MoveFence(at, fence_at))
    for at in renew.gone:
        if at in state.held:
            actions += _end(state, at, "gone")
    return actions


def _patience_s(lease: Held, sent_at: float) -> float:
    """Return by how much the fence comes later, as this attempt has run for long: whole seconds, never rounded up."""
    ran_s = sent_at - lease.renewed_at if lease.renewed_at is not None else 0.0
    return max(min(ran_s // _PATIENCE_PART, lease.dispatch.patience_most_s), 0.0)


def _resume(state: AgentState, entry: PlanEntry) -> list[Action]:
    at = entry.at
    if entry.action is Resume.CANCEL:
        return _cancelled(state, at)
    if at in state.held:
        return []
    # From now on it never begins here. What the hub saw begin and the ledger does not know was pure work, or the
    # ledger is another one: `maybe` is right for both. An end that is asked for again and is not here is left to a
    # person.
    _note_fence(state, task_of(at), fence_of(at))
    detail = "the agent was started again and this device has no trace of the attempt"
    lost = SayResult(at, Outcome.INTERRUPTED, Code.INTERRUPTED, detail, EffectSeen.MAYBE)
    return [AnswerFromLedger(at, None if entry.action is Resume.RESEND else lost)]
