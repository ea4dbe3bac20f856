"""A preview as text: the plan that would run, where and why there, with what effects, and what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from starloom.cli.text.candidates import candidate_lines, trial_line
from starloom.cli.text.forecast_text import about
from starloom.client.terminal.fitting import Fitted
from starloom.client.terminal.typed import typed
from starloom_protocol.text.presentation import TO_THE_TRASH, effect_words
from starloom_protocol.text.wording import is_agent_line, listed

if TYPE_CHECKING:
    from starloom_protocol.api.previews import (
        GrantLine,
        PlanPreview,
        RequestPreview,
        RuleRow,
        SecretNeed,
        TaskPreviewRow,
        Understood,
    )


def preview_text(preview: RequestPreview) -> RenderableType:
    """Return the tasks with device and effects, missing grants with the line to type, and the plan's hash."""
    if not preview["tasks"]:
        return _not_understood(preview.get("understood"))
    parts: list[RenderableType] = [Text(str(preview["name"]), style="bold"), *_trial(preview.get("understood"))]
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for name in ("task", "device", "tool", "effects", "why there"):
        table.add_column(name, no_wrap=name == "task")
    for task in preview["tasks"]:
        device = task["device"] or ", ".join(task["devices"]) or "-"
        does = task["tool"] or _without_tool(task)
        effects = ", ".join(effect_words(task["tool"], task["effects"]))
        table.add_row(task["id"], device, does, effects, task["why"])
    parts.append(Fitted(table, spared=("why there", "tool")))
    parts.extend(_rule_line(rule) for rule in preview.get("rules", []))
    for missing in preview["missing_grants"]:
        parts.extend(_lacking(missing))
    parts.extend(_secret_line(secret) for secret in preview.get("secrets", []))
    faults = preview.get("faults") or []
    reasons = {fault["reason"] for fault in faults}
    parts.extend(Text(typed(warning), style="yellow") for warning in preview["warnings"] if warning not in reasons)
    for fault in faults:
        parts.append(Text(fault["reason"], style="red"))
        parts.append(Text(f"  The way out: {typed(fault['way_out'])}"))
    if holding := preview.get("held"):
        parts.append(Text(f"held or refused until that is given: {listed(holding)}", style="yellow"))
    asks = ", asks for an approval" if preview["asks_approval"] else ""
    parts.append(Text(f"effects: {', '.join(_effects(preview))}{asks}"))
    if estimate := preview.get("estimate"):
        parts.append(Text(about(estimate)))
    if estimate_words := preview.get("estimate_said"):
        parts.append(Text(estimate_words))
    if chance := preview.get("budget"):
        parts.append(Text(chance["said"]))
    if preview["plan_hash"]:
        parts.append(Text(f"plan hash {preview['plan_hash']} (--approve it to run exactly this)", style="bright_black"))
    return Group(*parts)


def _effects(preview: RequestPreview) -> list[str]:
    """Return the effects of a plan; a move to the trash is said beside the write that it is."""
    of_tasks = [effect_words(task["tool"], task["effects"]) for task in preview["tasks"]]
    return [*preview["effects"], *([TO_THE_TRASH] if any(TO_THE_TRASH in words for words in of_tasks) else [])]


def plan_text(preview: PlanPreview) -> RenderableType:
    """Return a plan without the words that it was made from."""
    return preview_text(cast("RequestPreview", preview))


def _lacking(missing: GrantLine) -> list[Text]:
    """Return the grant that a device lacks, and the line to type there, or the words of a phone about its switch.

    A line to type stands alone and whole in any width: a break within it would be copied along.
    """
    lacks = f"{missing['device']} lacks {missing['grant']}"
    if not is_agent_line(missing["line"]):
        return [Text(f"{lacks}; {missing['line']}", style="yellow")]
    line = Text(missing["line"], no_wrap=True, overflow="ignore")
    return [Text(f"{lacks}; type there:", style="yellow"), line]


def _without_tool(task: TaskPreviewRow) -> str:
    """Return the words of a task that no device carries out: a goal, or a question to a judge or a person."""
    if task.get("goal"):
        return f"goal: {task['goal']}"
    return f"{'judge' if task.get('judged') else 'person'}: {task['person']}"


def _trial(understood: Understood | None) -> list[RenderableType]:
    """Return a line for a recipe on trial, which runs by its words with the hash of its preview alone."""
    first = understood["candidates"][0] if understood and understood["candidates"] else None
    if first is None or first["trial"] is None:
        return []
    like = "as it did then" if first["trial"]["last_at"] else "as shown here"
    return [Text(f"{first['recipe']} is {trial_line(first['trial'])}. With --approve HASH it runs {like}.")]


def _rule_line(rule: RuleRow) -> Text:
    at = f" after {rule['task']}" if rule["task"] else ""
    calls = f", may run {listed(rule['calls'])}" if rule["calls"] else ""
    return Text(typed(f"rule {rule['name']}{at}: {rule['reason']}{calls}"))


def _secret_line(secret: SecretNeed) -> Text:
    if not secret["set"]:
        return Text(typed(f"the secret {secret['name']} is not set; type: {secret['line']}"), style="yellow")
    return Text(f"the secret {secret['name']} is given to {', '.join(secret['devices']) or 'no device yet'}")


def _not_understood(understood: Understood | None) -> RenderableType:
    if understood is None:
        return Text("The plan has no tasks.")
    by_model = "Without --preview the model that is set plans them. " if understood.get("by_model") else ""
    lines = [Text(f"{understood.get('title')}: {by_model}{typed(understood.get('said', ''))}")]
    for candidate in understood["candidates"]:
        title, *further = candidate_lines(candidate)
        lines.append(Text(f"  perhaps: {title}"))
        lines.extend(Text(f"    {typed(line)}", style="bright_black") for line in further)
    if hint := understood.get("hint"):
        lines.append(Text(f"The way out: {typed(hint)}"))
    return Group(*lines)
