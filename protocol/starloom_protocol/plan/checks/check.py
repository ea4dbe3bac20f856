"""The check of a whole plan or edit: it is read, all its faults are found, and it is lowered for the core.

    check_plan   a document -> `PlanCheck`: all faults, or the plan that becomes version 1
    check_edit   a list of operations -> all faults, or the operations

Order: parameters are filled in, parts are checked one by one, then their relations.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from starloom_protocol.plan.checks.graph import Graph
from starloom_protocol.plan.checks.operations import Operations, operations_text
from starloom_protocol.plan.checks.reading import Reading
from starloom_protocol.plan.language.document import DOCUMENT_BYTES_MAX
from starloom_protocol.plan.language.fault_list import FaultList, joined, kind_word, shown
from starloom_protocol.plan.language.models import PLAN_FORMAT, PlanDoc, ResultDoc, RuleDoc, SentenceDoc
from starloom_protocol.plan.language.params import Params
from starloom_protocol.plan.lowering.parts import Known
from starloom_protocol.plan.lowering.records import record
from starloom_protocol.plan.lowering.tasks import Lowering, judge_of, policy_of
from starloom_protocol.plan.types.flow import Flow
from starloom_protocol.plan.types.signatures import Signature
from starloom_protocol.records.edits import (
    AddDependency,
    AddItems,
    AddTask,
    DropItems,
    EditOperation,
    LoweredPlan,
    Supersede,
)
from starloom_protocol.records.entities import (
    Condition,
    Fault,
    Policy,
    ResultSpec,
    RuleRecord,
    SentenceSpec,
    TaskSpec,
)
from starloom_protocol.values import VALUE_DEPTH_MAX, canonical, depth_of, parse
from starloom_protocol.vocabulary import Code, Repeatability

JUDGED_MOST: Final = 20
"""Each judge is a call of a model."""
_ID: Final = r"[a-z0-9][a-z0-9_-]{0,63}"
_EXPRESSION: Final = re.compile(r"(?:\{\{|\$\{\{?) {0,4}(?:tasks\.|steps\.)?(" + _ID + r")\.([A-Za-z0-9_.]*)")
_PROGRAM_ARGS: Final = ("code", "script")
"""Arguments that are programs, with a language of their own."""
_encoder: Final = msgspec.json.Encoder(order="deterministic")


class PlanCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Either faults or a plan; never both."""

    faults: list[Fault] = []
    plan: LoweredPlan | None = None


def check_plan(
    document: Any,
    *,
    params: Mapping[str, Any] | None = None,
    recipe: str | None = None,
    known_devices: Collection[str] | None = None,
    known_tools: Mapping[str, Repeatability] | None = None,
    known_signatures: Mapping[str, Signature] | None = None,
    place: str = "",
) -> PlanCheck:
    """Check a plan document (as `read_document` gives it) and lower it. Never raises for the content of a document.

    `params` maps every parameter to its value, None if it was not given; a device is a selector such as
    `{"name": "demo-phone"}` or a name. `known_devices` are names and ids; None leaves devices, tools or signatures
    unchecked. `place` is put before every place.
    """
    faults = FaultList()
    text = _text_of(document, faults, place)
    if text is None:
        return PlanCheck(faults=faults.all)
    known = Known(known_devices, known_tools, known_signatures or {})
    plan = _Plan(document, faults, _params(params, faults, text), known, place).lowered()
    if faults.all:
        return PlanCheck(faults=faults.in_order())
    if params:
        plan = msgspec.structs.replace(plan, params=canonical(dict(params)))
    if recipe is not None:
        plan = msgspec.structs.replace(plan, recipe=recipe)
    return PlanCheck(plan=msgspec.structs.replace(plan, hash=plan_hash(plan)))


def check_edit(
    operations: Any,
    *,
    known_devices: Collection[str] | None = None,
    known_tools: Mapping[str, Repeatability] | None = None,
    known_signatures: Mapping[str, Signature] | None = None,
    known_tasks: Mapping[str, TaskSpec] | None = None,
    task_ids: Collection[str] | None = None,
    place: str = "operations",
) -> tuple[list[Fault], list[EditOperation]]:
    """Check the operations of an edit and lower them; with faults the list is empty.

    `known_tasks` are tasks of the current plan, whose new arguments are held to their tools. `task_ids` are all of its
    tasks, children too; None leaves references to the core.
    """
    faults = FaultList()
    if not isinstance(operations, list) or not operations:
        reason = f"`operations` is a list with at least one operation, not {kind_word(operations)}"
        faults.add(Code.PLAN_INVALID, place, reason if operations != [] else "the edit has no operations")
        return faults.all, []
    text = _text_of({"operations": operations}, faults, place)
    if text is None:
        return faults.all, []
    known = Known(known_devices, known_tools, known_signatures or {}, known_tasks or {})
    lowering = Lowering(faults, known, in_edit=True)
    placed = Operations(faults, _params(None, faults, text), lowering).lower(operations, place)
    if task_ids is not None:
        _references(placed, set(task_ids), frozenset(), faults)
    return (faults.all, []) if faults.all else ([], [operation for operation, _ in placed])


def plan_hash(plan: LoweredPlan) -> str:
    """Return the SHA-256 of the canonical text of a lowered plan without its hash, as 64 hex digits."""
    content = msgspec.structs.replace(plan, hash=msgspec.UNSET)
    # Values in it are canonical text already, its fields stand in alphabetical order and their names are ASCII.
    return hashlib.sha256(_encoder.encode(content)).hexdigest()


def _params(values: Mapping[str, Any] | None, faults: FaultList, text: bytes) -> Params:
    return Params(values, faults, named=b'"param"' in text)


def _text_of(document: Any, faults: FaultList, place: str) -> bytes | None:
    """Return a document's JSON, or None after noting why it cannot be looked at."""
    if not isinstance(document, dict):
        faults.add(Code.PLAN_INVALID, place, f"a plan is a map with named fields, not {kind_word(document)}")
        return None
    if depth_of(document) > VALUE_DEPTH_MAX:
        faults.add(Code.PLAN_INVALID, place, f"the document nests deeper than {VALUE_DEPTH_MAX} levels")
        return None
    try:
        text = msgspec.json.encode(document)
    except (TypeError, ValueError, OverflowError) as error:
        faults.add(Code.PLAN_INVALID, place, f"the document holds what JSON cannot: {error}")
        return None
    if len(text) > DOCUMENT_BYTES_MAX:
        reason = f"the document has {len(text)} bytes; at most {DOCUMENT_BYTES_MAX} are taken"
        faults.add(Code.PLAN_TOO_BIG, place, reason)
        return None
    return text


def _policy(head: PlanDoc) -> Policy:
    judge = judge_of(head.judge) if head.judge is not None else None
    return policy_of(head.policy, judge)


def _references(
    placed: Sequence[tuple[EditOperation, str]], task_ids: set[str], omitted: Collection[str], faults: FaultList
) -> list[EditOperation]:
    """Note references to missing tasks; return the operations that do not name an omitted task."""
    task_ids = task_ids | {operation.spec.id for operation, _ in placed if isinstance(operation, AddTask)}
    whole = []
    for operation, place in placed:
        if isinstance(operation, AddTask):
            inputs = [item for item in operation.spec.inputs if item.source not in omitted]
            ends = [(joined(place, "inputs", item.name, "from"), item.source) for item in inputs if not item.topic]
            operation = AddTask(spec=msgspec.structs.replace(operation.spec, inputs=inputs))
        elif isinstance(operation, AddDependency):
            gate = operation.dependency
            ends = [(joined(place, "from"), gate.source), (joined(place, "to"), gate.target)]
        elif isinstance(operation, AddItems):
            ends = [(joined(place, "to"), operation.to)]
        elif isinstance(operation, DropItems):
            ends = [(joined(place, "of"), operation.of)]
        elif isinstance(operation, Supersede):
            ends = [(joined(place, "task"), operation.task)]
            ends += [(joined(place, "by"), operation.by)] if operation.by is not None else []
        else:
            identity = getattr(operation, "id", None)
            ends = [(joined(place, "id"), end) for end in _ends(identity)]
        if any(name in omitted for _, name in ends):
            continue
        for where, name in ends:
            if name not in task_ids:
                faults.add(Code.UNKNOWN_TASK, where, f"no task has the id `{name}`", faults.near(name, task_ids))
        whole.append(operation)
    return whole


def _ends(identity: str | None) -> list[str]:
    if identity is None:
        return []
    source, arrow, rest = identity.partition(">")
    return [source, rest.partition(":")[0]] if arrow else [source]


def _note_expressions(faults: FaultList, args: str, tasks: Collection[str], place: str) -> None:
    """Note each text of a task's arguments that is an expression over a task: nothing in a text is evaluated.

    A text of `{{ usage.rows }}` or `${usage.rows}` would reach its tool as it stands. Only a text of one line that
    names a task of the plan is taken for one: templates of programs and code have such characters of their own.
    """
    if "{{" not in args and "${" not in args:
        return
    for where, text in _texts({k: v for k, v in parse(args).items() if k not in _PROGRAM_ARGS}, place):
        match = _EXPRESSION.search(text) if "\n" not in text else None
        if match is None or match[1] not in tasks:
            continue
        pointer = "/" + match[2].strip(".").replace(".", "/") if match[2].strip(".") else '""'
        name = where.rpartition(".")[2].partition("[")[0]
        hint = f"Write it as an input: `inputs: {{{name}: {{from: {match[1]}, output: {pointer}}}}}`."
        faults.add(Code.PLAN_INVALID, where, f"nothing is evaluated in a text, so {shown(text)} stays as it is", hint)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _texts(item, joined(place, name))
    elif isinstance(value, list):
        for at, item in enumerate(value):
            yield from _texts(item, joined(place, at))


class _Plan:
    """One checking of one plan document."""

    def __init__(self, raw: dict[str, Any], faults: FaultList, params: Params, known: Known, place: str) -> None:
        self._raw = raw
        self._faults = faults
        self._params = params
        self._known = known
        self._place = place
        self._lowering = Lowering(faults, known)
        self._reading = Reading(faults, params, self._lowering)
        self._tasks = self._reading.tasks
        self._omitted = self._reading.omitted
        self._broken = self._reading.broken

    def lowered(self) -> LoweredPlan:
        """Return the plan; of no use once there are faults."""
        head = self._head()
        self._read_tasks()
        graph = Graph(self._tasks, self._omitted, self._broken, self._faults, self._known)
        control = self._reading.spread(self._reading.dependencies(self._list("dependencies"), self._at("dependencies")))
        specs, dependencies = graph.link(control, self._reading.mentions)
        flow = Flow({spec.id: spec for spec in specs}, self._known.signatures, self._faults)
        for placed, spec in zip(self._tasks.values(), specs, strict=True):
            if placed.plain:
                continue
            flow.task(spec, placed.place)
            _note_expressions(self._faults, spec.args, self._tasks, joined(placed.place, "args"))
        for edge in control:
            if edge.gate.condition is not None:
                flow.gate(edge.gate, edge.where())
        judged = [spec.id for spec in specs if spec.judge is not None]
        if len(judged) > JUDGED_MOST:
            reason = f"{len(judged)} tasks have a judge; at most {JUDGED_MOST} may, since each is a call of a model"
            self._faults.add(Code.PLAN_TOO_BIG, self._at("tasks"), reason, "Judge the task that takes them together.")
        for at, point in enumerate(head.policy.review_at if head else ()):
            graph.refers(point, joined(self._at("policy", "review_at"), at))
        return record(
            LoweredPlan,
            dependencies=dependencies,
            hash="",
            name=head.name if head else "",
            policy=_policy(head) if head else Policy(),
            results=self._results(graph, flow),
            rules=self._rules(graph, flow),
            sentences=self._sentences(graph, flow),
            specs=specs,
        )

    def _head(self) -> PlanDoc | None:
        parts = ("tasks", "dependencies", "rules", "result", "sentence")
        head = {
            name: value if name in parts else self._params.put_in(value, self._at(name))
            for name, value in self._raw.items()
        }
        doc = self._faults.validate(PlanDoc, head, self._place)
        if doc is not None and doc.starloom != PLAN_FORMAT:
            reason = f"this hub reads plans of format {PLAN_FORMAT}, not {doc.starloom}"
            self._faults.add(Code.PLAN_INVALID, self._at("starloom"), reason, f"Write `starloom: {PLAN_FORMAT}`.")
        if doc is not None and not doc.tasks:
            self._faults.add(Code.PLAN_INVALID, self._at("tasks"), "the plan has no tasks", "Add at least one.")
        return doc

    def _at(self, *steps: str | int) -> str:
        return joined(self._place, *steps)

    def _list(self, name: str) -> list[Any]:
        items = self._raw.get(name)
        return items if isinstance(items, list) else []

    def _read_tasks(self) -> None:
        self._reading.read(self._list("tasks"), self._at("tasks"))
        if self._raw.get("tasks") and not self._tasks and not self._faults.all:
            self._faults.add(Code.PLAN_INVALID, self._at("tasks"), "every task is left out by its only_if")

    def _results(self, graph: Graph, flow: Flow) -> list[ResultSpec]:
        results = []
        for at, raw in enumerate(self._list("result")):
            place = self._at("result", at)
            doc = self._faults.validate(ResultDoc, self._params.put_in(raw, place), place)
            where = joined(place, "from")
            if doc is None or self._reading.looks_in(doc.source, where):
                continue
            if graph.refers(doc.source, where):
                result = self._lowering.result(doc)
                flow.result(result, place)
                results.append(result)
        return results

    def _sentences(self, graph: Graph, flow: Flow) -> list[SentenceSpec]:
        sentences = []
        for at, raw in enumerate(self._list("sentence")):
            place = self._at("sentence", at)
            # No parameter is put in: a model that calls a recipe gives its values, and may not write this.
            doc = self._faults.validate(SentenceDoc, raw, place)
            if doc is None:
                continue
            sources = [(one.source, joined(place, "values", name, "from")) for name, one in doc.values.items()]
            sources += [(doc.when.source, joined(place, "when", "from"))] if doc.when is not None else []
            if any(self._reading.looks_in(source, where) for source, where in sources):
                continue
            # Every source is looked at, so that one fault hides no other.
            are_known = [graph.refers(source, where) for source, where in sources]
            if all(are_known):
                sentence = self._lowering.sentence(doc, place)
                flow.sentence(sentence, place)
                sentences.append(sentence)
        return sentences

    def _rules(self, graph: Graph, flow: Flow) -> list[RuleRecord]:
        read = []
        lowering = Lowering(self._faults, self._known, in_rule=True)
        operations = Operations(self._faults, self._params, lowering)
        names: set[str] = set()
        for at, raw in enumerate(self._list("rules")):
            place = self._at("rules", at)
            filled = raw
            if isinstance(raw, dict):
                filled = {
                    name: value if name == "edit" else self._params.put_in(value, joined(place, name))
                    for name, value in raw.items()
                }
            doc = self._faults.validate(RuleDoc, filled, place)
            if doc is None:
                continue
            if doc.name in names:
                self._faults.add(Code.DUPLICATE_ID, joined(place, "name"), f"two rules are named `{doc.name}`")
            names.add(doc.name)
            read.append((at, doc, operations.lower(doc.edit, joined(place, "edit"))))
        if not read:
            return []
        task_ids = set(self._tasks) | self._broken
        task_ids |= {item.spec.id for _, _, placed in read for item, _ in placed if isinstance(item, AddTask)}
        rules = []
        for at, doc, placed in read:
            place = self._at("rules", at)
            in_plan = _references(placed, task_ids, self._omitted, self._faults)
            if graph.refers(doc.when.task, joined(place, "when", "task")) and in_plan:
                rule = self._rule(doc, in_plan, at, joined(place, "when"), lowering)
                flow.rule(doc.when.task, rule.condition, placed, place)
                rules.append(rule)
        return rules

    def _rule(
        self, doc: RuleDoc, operations: list[EditOperation], order: int, place: str, lowering: Lowering
    ) -> RuleRecord:
        when = doc.when
        condition = attempts = None
        if (when.output is None) != (when.op is None):
            self._faults.add(Code.PLAN_INVALID, place, "a condition has both `output` and `op`")
        elif when.output is not None and when.op is not None:
            has_value = "value" in when.model_fields_set
            condition = lowering.condition(when.output, when.op, when.value, place, has_value=has_value)
        if when.attempts is not None:
            attempts = record(Condition, op=when.attempts.op, output="", value=canonical(when.attempts.value))
        failed = None
        if when.failed is not None:
            failed = record(Condition, op=when.failed.op, output="", value=canonical(when.failed.value))
        if failed is not None and (when.event != "failed" or when.whole):
            hint = "Write `event: failed`, and no `whole`: a rule with a number of failed tasks fires once."
            reason = "`failed` counts what has failed so far"
            self._faults.add(Code.PLAN_INVALID, joined(place, "failed"), reason, hint=hint)
        return record(
            RuleRecord,
            attempts=attempts,
            code=when.code,
            condition=condition,
            event=when.event,
            failed=failed,
            name=doc.name,
            operations=operations_text(operations),
            order=order,
            reason=doc.reason,
            task=when.task,
            whole=when.whole,
        )
