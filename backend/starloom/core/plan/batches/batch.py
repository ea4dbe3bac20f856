"""A batch of operations while it is built over a constellation: its puts, and every fault found.

Owns the view of the plan as the batch leaves it, and whether a task may be edited. Operations are in `edits` and
`superseding`; the commit is in `edits`. A draft that a person holds open in the page is in `drafts`.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from starloom.core.state.model import Constellation
from starloom.core.state.work import Work, fault
from starloom_protocol.records.entities import (
    Dependency,
    Fault,
    GroupRecord,
    Item,
    Policy,
    TaskSpec,
    dependency_id,
)
from starloom_protocol.vocabulary import FINAL_TASK_STATES, Code, GroupState, TaskState

FAULTS_MOST = 1_000


@dataclass
class GrowingList:
    """A list that a batch adds items to; read once, however many operations add some."""

    members: list[str]
    """The groups of the family, each of which makes a task for an item."""
    items: list[Item]
    """All items, those of the batch behind the others."""
    next_key: int
    reads: dict[str, str]
    """The pointers that calls read from an item, each with the group of such a call."""
    added: int = 0
    """The number of items that the batch adds."""


class EditBatch:
    """A batch being built over a constellation: its puts, and every fault found."""

    def __init__(self, work: Work, constellation: Constellation, base_version: int | None, author: str) -> None:
        self.work = work
        self.author = author
        self.constellation = constellation
        self.base = base_version if base_version is not None else constellation.head.version
        """The version that the author has seen: tasks that changed after it are not edited."""
        self.number = constellation.head.version + 1
        """The version that the batch makes."""
        self.specs: dict[str, TaskSpec | None] = {}
        """The specs that the batch puts, by task; None removes one."""
        self.deps: dict[str, Dependency | None] = {}
        """The dependencies that the batch puts, by key; None removes one."""
        self.policy: Policy | None = None
        """The new policy of the plan; None keeps it."""
        self.added: dict[str, None] = {}
        self.changed: dict[str, None] = {}
        self.removed: dict[str, None] = {}
        """The tasks and groups that are new, have another spec, or are gone; in the order of the operations."""
        self.opened: dict[str, None] = {}
        """The tasks and groups that were skipped for a failure and whose next round opens."""
        self.repointed: dict[str, None] = {}
        """The tasks that take from a successor what they took from the task that it supersedes."""
        self.items: list[str] = []
        """The keys of the items that are dropped from lists."""
        self.new_items: dict[str, Item] = {}
        """The items that are added to lists, by key."""
        self.grown: dict[str, GroupRecord] = {}
        """The records of the groups that get children for new items."""
        self.faults: list[Fault] = []
        self.notes: list[str] = []
        """Sentences of the operations for the note of the version."""
        self.growing: dict[str, GrowingList] = {}
        """The lists that take items, by the root of their family."""

    def spec(self, task: str) -> TaskSpec | None:
        """Return the spec of a task as the batch leaves it; None if there is none."""
        return self.specs[task] if task in self.specs else self.constellation.specs.get(task)

    def dep(self, key: str) -> Dependency | None:
        """Return a dependency as the batch leaves it; None if there is none."""
        return self.deps[key] if key in self.deps else self.constellation.deps.get(key)

    def refuse(self, code: Code, reason: str, place: str, hint: str = "") -> None:
        """Note a fault; a batch with one is refused as a whole."""
        self.faults.append(fault(code, reason, place, hint))

    def refuse_if_too_big(self, place: str) -> bool:
        """Note a fault, and return True, if the batch is so big that it is not examined any further.

        A gate to a plan within the plan is one for each task in it, and one by a topic one for each that publishes it:
        a short batch may mean millions.
        """
        most = 2 * self.work.shard.settings.dependencies_most
        if len(self.deps) <= most and len(self.faults) <= FAULTS_MOST:
            return False
        self.refuse(Code.PLAN_TOO_BIG, "the batch is not examined beyond this place", place)
        return True

    def has_room(self, tasks: int) -> bool:
        """Tell whether so many tasks more may be made before the whole batch is judged; it may remove others yet."""
        total = len(self.constellation.specs) + len(self.added) - len(self.removed) + tasks
        return total <= 2 * self.work.shard.settings.tasks_most

    def editable(self, task: str, place: str) -> TaskSpec | None:
        """Return a task's spec if this batch may change it, else note the fault."""
        spec = self.spec(task)
        if spec is None:
            is_removed = task in self.constellation.specs or task in self.removed
            self.refuse(Code.UNKNOWN_TASK, f"{task} {'was removed' if is_removed else 'does not exist'}", place)
            return None
        if task in self.added:
            return spec
        if spec.changed_in > self.base and task not in self.changed:
            reason = f"{task} was changed in version {spec.changed_in}, after version {self.base}"
            self.refuse(Code.EDIT_CONFLICT, reason, place)
            return None
        if started(self.constellation, task):
            self.refuse(Code.TASK_STARTED, *self._started_fault(task, place))
            return None
        return spec

    def _started_fault(self, task: str, place: str) -> tuple[str, str, str]:
        """Return the fault of a started task, as reason, place and hint."""
        if task in self.constellation.groups:
            state = self.constellation.groups[task].state
            return f"{task} is {state}: its list is made", place, "Edit its items that have not started."
        task_state = self.constellation.tasks[task].state
        if task_state in FINAL_TASK_STATES:
            verb = "was" if task_state in (TaskState.CANCELLED, TaskState.SKIPPED) else "has"
            hint = "Retry it to run it again, or add a task that comes after it."
            return f"{task} {verb} {task_state} already", place, hint
        if task_state is TaskState.UNKNOWN:
            return f"{task} may have happened", place, "Mark it or retry it first."
        if task_state is TaskState.CANCELLING:
            return f"{task} is being stopped", place, "Wait until it has stopped."
        return f"{task} has started", place, ""

    def put_spec(self, spec: TaskSpec) -> None:
        self.specs[spec.id] = replace(spec, changed_in=self.number)
        if spec.id not in self.added:
            self.changed[spec.id] = None

    def put_dep(self, dependency: Dependency) -> None:
        self.deps[dependency_id(dependency)] = replace(dependency, changed_in=self.number)


def started(constellation: Constellation, task: str) -> bool:
    """Tell whether a task counts as started: not waiting, and not ready without an attempt in this round."""
    group = constellation.groups.get(task)
    if group is not None and constellation.specs[task].nested:
        return any(started(constellation, name) for name in constellation.contents_of(task))
    if group is not None:
        return group.state is not GroupState.WAITING
    record = constellation.tasks.get(task)
    if record is None or record.state is TaskState.WAITING:
        return False
    return record.state is not TaskState.READY or record.started > 0
