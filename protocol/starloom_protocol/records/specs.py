"""The parts of a task's spec that are records themselves: conditions, inputs, selectors, lists, times.

Written by edits only. A value is canonical JSON text; durations carry their unit in the name.
"""

from __future__ import annotations

from starloom_protocol.records.record import Record
from starloom_protocol.vocabulary import Need, Op


class Condition(Record, frozen=True, kw_only=True):
    """`value` is canonical text; null where the operator needs none."""

    op: Op
    output: str
    value: str | None = None


class Check(Record, frozen=True, kw_only=True):
    """A condition on the own result; `exit_code` is written as a condition on `/exit_code`.

    `says` tells what is wrong where it is not met, with fields of the result in braces.
    """

    op: Op
    output: str
    says: str = ""
    value: str | None = None


class Choice(Record, frozen=True, kw_only=True):
    fails: bool = False
    label: str
    value: str


class Selector(Record, frozen=True, kw_only=True):
    """The devices that fit: every given field must hold, `any` needs one of its own."""

    any: list[Selector] = []
    id: str | None = None
    labels: list[str] = []
    name: str | None = None
    os: str | None = None
    tools: list[str] = []

    @property
    def names_devices(self) -> bool:
        """Whether it means devices by name or id alone, each of which is wanted whatever others fit."""
        return bool(self.name or self.id) or (bool(self.any) and all(one.names_devices for one in self.any))


class Reach(Record, frozen=True, kw_only=True):
    """The devices on which the calls of a tool that a plan makes for a selector are approved; a goal has no tool."""

    devices: list[str] = []
    selector: Selector = Selector()
    tool: str = ""


class Approved(Record, frozen=True, kw_only=True):
    """Where the calls of a plan that need approval may run, as its question showed it; other calls have no reach."""

    reaches: list[Reach] = []


class Repeat(Record, frozen=True, kw_only=True):
    """Turns of one call: at most `most`, each begun `every_s` after the one before it began, or as soon as that ended.

    The turns end once `until` holds, or no longer holds (`during`), for the results of `in_a_row` turns one after the
    other. `carry` names arguments of a turn that are pointers into the result of the turn before it.
    """

    carry: dict[str, str] = {}
    during: bool = False
    every_s: int = 0
    in_a_row: int = 1
    last_answers: bool = False
    """The answer has the last turn alone, as readers have it; in plans of older hubs it has each turn."""
    most: int
    until: Condition | None = None


class ForEach(Record, frozen=True, kw_only=True):
    """A group's list: `source` with `output`, `devices`, `same`, `times` or `repeat`.

    Of a group `source`, each successful child gives one item in order, or with `flatten` a list of items to join. With
    `devices`, `source` names one of them in its result, by name or id: the group has that one child, and counts as it
    does.
    """

    after_s: int = 0
    """How long a device must be off until it is reported (`when_off`)."""
    devices: Selector | None = None
    """A task on each of these devices."""
    flatten: bool = False
    in_turn: bool = False
    """The whole family goes through one item after the other and stops where one does not succeed."""
    max_parallel: int = 0
    """How many of its children run at once; 0: no bound."""
    need: Need = Need.ALL
    """How many of its children must succeed."""
    need_count: int = 0
    """The number that `need` counts with."""
    output: str = ""
    """The pointer to the list in the result of `source`."""
    repeat: Repeat | None = None
    """A turn of the one call is added when the turn before has ended; the group counts as its last turn."""
    same: str | None = None
    """The family over whose list it goes, too."""
    source: str | None = None
    """The task whose output is the list."""
    times: int = 0
    """With `devices`, how many of them take part, each once; alone, a number of like calls."""
    when_off: str = "wait"
    """A device that is off is waited for (`wait`), or reported (`report`)."""


def by_result(for_each: ForEach) -> bool:
    """Tell whether a list is the one device that a result names."""
    return for_each.source is not None and for_each.devices is not None


def counts_as_one(for_each: ForEach) -> bool:
    """Tell whether a group is read as one task is: one call on a named device, or turns of which the last counts."""
    return by_result(for_each) or for_each.repeat is not None


class Input(Record, frozen=True, kw_only=True):
    """One data dependency of a task: the pointer `output` into what `source` gives, handed over as `name`."""

    all: bool = False
    """The outputs of all children of the group `source`, as a list."""
    flatten: bool = False
    """With `all`, each output is a list, and these are joined."""
    fresh_s: int = 0
    """How old the finding of `topic` may be; 0: any age."""
    name: str
    off: bool = False
    """In place of outputs, a row for each device of the group `source` that was off."""
    optional: bool = False
    """The task runs without it where `source` gives none."""
    otherwise: str | None = None
    """The value where there is no finding of `topic`, as canonical text."""
    output: str = ""
    source: str
    """The task or group that gives it; empty with a `topic`."""
    topic: str = ""
    """The newest finding of this topic is handed over."""
    who: bool = False
    """In place of outputs, a row with task and device for each child that succeeded, in their order."""


class Finds(Record, frozen=True, kw_only=True):
    """The topic under which a task publishes a part of its result: the pointer `output` into it."""

    output: str = ""
    topic: str


class Moment(Record, frozen=True, kw_only=True):
    """The time before which a task does not begin: `at`, or the pointer `output` into the result of `source`.

    A time without an offset is one of `zone`. One later than `within_s` from now fails the task; one that has passed
    lets it begin at once, or fails it (`past`: go, fail).
    """

    at: str = ""
    output: str = ""
    past: str = "go"
    source: str = ""
    within_s: int
    zone: str = ""


class Shows(Record, frozen=True, kw_only=True):
    """The part of a result that a question shows beside its choices: the pointer `output` into that of `source`."""

    output: str = ""
    source: str


class Reuse(Record, frozen=True, kw_only=True):
    """A task that takes over the result of an equal one that succeeded at most `fresh_s` ago.

    `key` is canonical text of a value that must be equal, too, such as the hash of a file that the task reads; `each`
    nodes in it are fields of the item.
    """

    fresh_s: int
    key: str | None = None


class StopWhen(Record, frozen=True, kw_only=True):
    """When a running task is hopeless: by `name`, the field of the lines of JSON that its program writes.

    It is stopped once `condition` holds for the newest value, or that is worse than the best of another task of its
    group after as many reports, by more than `worse_by` (canonical text); `best` is low or high. Nothing is judged
    before `after_n` reports and `after_s` seconds.
    """

    after_n: int = 0
    after_s: int = 0
    best: str = "low"
    condition: Condition | None = None
    name: str
    worse_by: str | None = None


class FileOut(Record, frozen=True, kw_only=True):
    output: str
    to: str


class Timeouts(Record, frozen=True, kw_only=True):
    heartbeat_s: int = 15
    schedule_to_close_s: int = 3600
    schedule_to_start_s: int = 300
    start_to_close_s: int = 600


class Retry(Record, frozen=True, kw_only=True):
    """`max_attempts` 0 means the default: 3 for pure and idempotent work, else 1."""

    max_attempts: int = 0
    on_check: bool = False
    on_exit: bool = False
    """A program that ends with an error is tried again; without it such an end is for good."""


class Judge(Record, frozen=True, kw_only=True):
    """A question about a result, which a model in the role of judge answers after the checks by code.

    `unclear`: `ask` (a person decides) or `fail` (it counts as no).
    """

    question: str
    unclear: str = "ask"


class OnAbsence(Record, frozen=True, kw_only=True):
    """The treatment of an attempt whose device is absent; an empty `then` means the default of its repeatability."""

    after_s: int = 0
    then: str = ""


class OtherCall(Record, frozen=True, kw_only=True):
    """A call that is as good as that of its task: approved with it, and taken where the call before it cannot end well.

    It gets the inputs of its task, and its device is its own: null means any that can.
    """

    args: str = "{}"
    device: Selector | None = None
    tool: str


class VerifyCall(Record, frozen=True, kw_only=True):
    """The read-only call that finds out whether an attempt had its effect, on the device that ran it.

    The effect is there if every condition of `expect` holds for the call's output, and is not if one fails.
    """

    args: str = "{}"
    expect: list[Check]
    tool: str


class SentenceValue(Record, frozen=True, kw_only=True):
    """A value of a sentence: the part `output` of the result of `source`, shown as `show` says.

    `count` is the length of a list, or how many tasks of a group succeeded; `device` is the devices that did the work.
    `noun` stands after a whole number: *file* is *1 file* or *2 files*, *copy/copies* says its plural.
    """

    noun: str = ""
    output: str = ""
    show: str = "value"
    source: str


class SentenceSpec(Record, frozen=True, kw_only=True):
    """A sentence of the plan for its answer: used where `condition` holds for `source` and all its values are there.

    `alarm`: it tells of trouble, although the work succeeded.
    """

    alarm: bool = False
    condition: Condition | None = None
    source: str | None = None
    text: str
    values: dict[str, SentenceValue] = {}


class ResultSpec(Record, frozen=True, kw_only=True):
    """An item of the answer; `compare` is the fields of its rows that a change is seen by, none of them if empty.

    Without `compare` all of it is compared. Durations and times of measuring differ although nothing has changed.
    """

    compare: list[str] | None = None
    output: str = ""
    show: str = "value"
    source: str
    title: str
