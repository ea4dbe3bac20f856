"""The document of a lowered plan: the plan as a person would write it, without what is the default. Pure.

Only for plans of plain rows: nested plans, goals and other calls are refused by the one who keeps a plan. A document
that does not make the same plan again is found by comparing (`is_same`); nothing here judges it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from starloom_protocol.plan.language.models import SECONDS_MAX
from starloom_protocol.plan.lowering.patterns.moments import WITHIN_S
from starloom_protocol.records.edits import LoweredPlan
from starloom_protocol.records.entities import (
    Dependency,
    ForEach,
    Judge,
    Policy,
    RuleRecord,
    Selector,
    SentenceSpec,
    TaskSpec,
    dependency_id,
    encode_entity,
)
from starloom_protocol.values import parse, pointer_step
from starloom_protocol.vocabulary import Approval, Gate, Need

_PLAIN_POLICY: Final = Policy()
Doc = dict[str, Any]


def document_of(plan: LoweredPlan) -> Doc:
    """Return the document that makes this plan. A recipe does not keep the approval policy."""
    policy = plan.policy
    document: Doc = {
        "starloom": 1,
        "name": plan.name,
        "tasks": [task_document(spec) for spec in plan.specs],
        "dependencies": [_gate(edge) for edge in plan.dependencies if edge.gate is not Gate.DATA],
        "rules": [_rule(rule) for rule in sorted(plan.rules, key=lambda rule: rule.order)],
        "policy": _short(
            {
                "drop_optional_below": policy.drop_below / 100 if policy.drop_below else None,
            }
            | {
                name: value if isinstance(value, list | bool) else str(value)
                for name in ("on_failure", "partial", "priority", "review", "review_at")
                if (value := getattr(policy, name)) != getattr(_PLAIN_POLICY, name)
            }
        ),
        "judge": _judge(policy.judge),
        "result": [
            _short({"title": one.title, "from": one.source, "output": one.output, "show": one.show})
            | ({} if one.compare is None else {"compare": one.compare})
            for one in plan.results
        ],
        "sentence": [_sentence(one) for one in plan.sentences],
    }
    return _short(document)


def _sentence(one: SentenceSpec) -> Doc:
    values = {
        name: _short({"from": value.source, "output": value.output, "show": value.show, "noun": value.noun})
        for name, value in one.values.items()
    }
    when = {} if one.condition is None else {"from": one.source, **_condition(one.condition)}
    return _short({"text": one.text, "alarm": one.alarm, "values": values, "when": when})


def is_same(one: LoweredPlan, other: LoweredPlan) -> bool:
    """Return whether two plans make the same calls under the same conditions; their names and approval may differ."""
    return _parts(one) == _parts(other)


def _parts(plan: LoweredPlan) -> tuple[Any, ...]:
    return (
        # By value: an argument text that equals the default is written or left out by where it came from.
        [replace(spec, changed_in=1) for spec in plan.specs],
        sorted(
            (dependency_id(edge), encode_entity(replace(edge, changed_in=1)))
            for edge in plan.dependencies
            if edge.gate is not Gate.DATA
        ),
        sorted((rule.name, encode_entity(rule)) for rule in plan.rules),
        [encode_entity(one) for one in [*plan.results, *plan.sentences]],
        encode_entity(replace(plan.policy, approval=Approval.RISKY)),
    )


def _short(fields: Mapping[str, Any]) -> Doc:
    """Return the fields that say something."""
    return {name: value for name, value in fields.items() if value not in (None, "", False, {}, [])}


def selector_document(selector: Selector) -> Doc:
    """Return a selector as it is written."""
    return _short(
        {
            "name": selector.name,
            "id": selector.id,
            "labels": list(selector.labels),
            "os": selector.os,
            "tools": list(selector.tools),
            "any": [selector_document(one) for one in selector.any],
        }
    )


def _condition(one: Any) -> Doc:
    return {"output": one.output, "op": str(one.op), **({} if one.value is None else {"value": parse(one.value)})}


def _check(one: Any) -> Doc:
    if one.output == "/exit_code" and str(one.op) == "eq" and one.value is not None:
        return {"exit_code": parse(one.value)}
    return _condition(one) | _short({"says": getattr(one, "says", "")})


def _for_each(each: ForEach) -> Doc:
    need: Any = {"at_least": each.need_count} if each.need is Need.AT_LEAST else str(each.need)
    document = _short(
        {
            "from": each.source,
            "output": each.output,
            "flatten": each.flatten,
            "same": each.same,
            "times": each.times or None,
            "max_parallel": each.max_parallel or None,
            "need": None if each.need is Need.ALL else need,
            "in_turn": each.in_turn,
        }
    )
    if each.when_off == "report":
        document |= {"when_off": "report", "after_s": each.after_s}
    # A selector may be empty: every device that can.
    return document if each.devices is None else {"devices": selector_document(each.devices), **document}


def _repeat(each: ForEach) -> Doc | None:
    repeat = each.repeat
    if repeat is None:
        return None
    condition = _condition(repeat.until) if repeat.until else None
    return _short(
        {
            "max": repeat.most,
            "every_s": repeat.every_s or None,
            "until": None if repeat.during else condition,
            "while": condition if repeat.during else None,
            "in_a_row": repeat.in_a_row if repeat.in_a_row > 1 else None,
            "carry": dict(repeat.carry),
        }
    )


def _where(spec: TaskSpec) -> Doc | None:
    each = spec.for_each
    if each is None or each.devices is None or each.source is None:
        return None if spec.device is None else selector_document(spec.device)
    return {**_short({"from": each.source, "output": each.output}), "within": selector_document(each.devices)}


def _lists(spec: TaskSpec) -> Doc:
    each = spec.for_each
    if each is None or (each.devices is not None and each.source is not None):
        return {}
    return {"repeat": _repeat(each)} if each.repeat is not None else {"for_each": _for_each(each)}


def _times(spec: TaskSpec) -> Doc:
    moment, stop, reuse = spec.not_before, spec.stop_when, spec.reuse
    document: Doc = {}
    if moment is not None:
        document["not_before"] = _short(
            {
                "at": moment.at,
                "from": moment.source,
                "output": moment.output,
                "zone": moment.zone,
                "within_s": None if moment.within_s == (SECONDS_MAX if moment.at else WITHIN_S) else moment.within_s,
                "past": "fail" if moment.past == "fail" else None,
            }
        )
    if stop is not None:
        pointer = pointer_step(stop.name)
        condition = {} if stop.condition is None else _condition(stop.condition)
        condition.pop("output", None)
        after = _short({"n": stop.after_n or None, "s": stop.after_s or None})
        worse = {} if stop.worse_by is None else {"worse_than_best_by": parse(stop.worse_by)}
        best = {"best": "high"} if stop.best == "high" else {}
        document["stop_when"] = {"progress": f"/{pointer}", **condition, **worse, **best, **_short({"after": after})}
    if reuse is not None:
        key = {} if reuse.key is None else {"key": parse(reuse.key)["key"]}
        document["reuse"] = {"fresh_s": reuse.fresh_s, **key}
    return document


def _inputs(spec: TaskSpec) -> Doc:
    flags = ("optional", "flatten", "all", "off", "who")
    return {
        one.name: _short({"from": one.source, "output": one.output, **{flag: getattr(one, flag) for flag in flags}})
        for one in spec.inputs
    }


def _plain(record: msgspec.Struct) -> Doc:
    """Return the fields of a record that are not the default."""
    fields: Doc = msgspec.to_builtins(record)
    return fields


def _call(tool: str, args: str, more: Doc) -> Doc:
    return _short({"tool": tool, "args": parse(args), **more})


def _calls(spec: TaskSpec) -> Doc:
    undo, verify = spec.undo, spec.verify
    return {
        "undo": None if undo is None else _call(undo.tool, undo.args, {"outputs": dict(undo.outputs)}),
        "verify": None
        if verify is None
        else _call(verify.tool, verify.args, {"expect": [_check(one) for one in verify.expect]}),
    }


def _judge(judge: Judge | None) -> Any:
    if judge is None:
        return None
    return judge.question if judge.unclear == "ask" else {"question": judge.question, "unclear": judge.unclear}


def task_document(spec: TaskSpec) -> Doc:
    """Return one task as it is written."""
    return _short(
        {
            "id": spec.id,
            **_lists(spec),
            "tool": spec.tool,
            "person": spec.person,
            "ask": spec.ask,
            "choices": [_short({"value": one.value, "label": one.label, "fails": one.fails}) for one in spec.choices],
            "shows": _short({"from": spec.shows.source, "output": spec.shows.output}) if spec.shows else None,
            "device": _where(spec),
            "repeatability": str(spec.repeatability) if spec.repeatability is not None else None,
            "inputs": _inputs(spec),
            "args": parse(spec.args),
            "files_out": [{"output": one.output, "to": one.to} for one in spec.files_out],
            "timeouts": _plain(spec.timeouts),
            "retry": _plain(spec.retry),
            "on_absence": _plain(spec.on_absence) if spec.on_absence.then else None,
            **_times(spec),
            "optional": spec.optional,
            **_calls(spec),
            "judge": _judge(spec.judge),
            "checks": [_check(one) for one in spec.checks],
        }
    )


def _gate(edge: Dependency) -> Doc:
    when: Any = _condition(edge.condition) if edge.condition else str(edge.gate)
    return {"from": edge.source, "to": edge.target, "when": when, **({"all": True} if edge.all else {})}


def _rule(rule: RuleRecord) -> Doc:
    condition = _condition(rule.condition) if rule.condition else {}
    attempts = {"op": str(rule.attempts.op), "value": parse(rule.attempts.value or "0")} if rule.attempts else None
    failed = {"op": str(rule.failed.op), "value": parse(rule.failed.value or "0")} if rule.failed else None
    when = {
        "task": rule.task,
        "event": rule.event,
        "attempts": attempts,
        "failed": failed,
        "code": rule.code,
        "whole": rule.whole,
    }
    return {
        "name": rule.name,
        "when": {**_short(when), **condition},
        "edit": [_operation(one) for one in parse(rule.operations)],
        "reason": rule.reason,
    }


def _operation(operation: Doc) -> Doc:
    name = str(operation["op"])
    body = {key: value for key, value in operation.items() if key != "op"}
    if name == "add_task":
        return {name: task_document(msgspec.convert(body["spec"], TaskSpec))}
    if name == "add_dependency":
        return {name: _gate(msgspec.convert(body["dependency"], Dependency))}
    if name == "reassign":
        return {name: {"id": body["id"], "device": selector_document(msgspec.convert(body["device"], Selector))}}
    if name == "drop_items":
        return {name: {"of": body["of"], "keys": parse(body["keys"])}}
    return {name: body}
