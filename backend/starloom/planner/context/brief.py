"""The brief for a person's own assistant, which has never heard of Starloom, and the plan in that assistant's answer.

Pure and bounded. The brief is the context of any model, opened and closed by words for a reader who cannot ask for
more; the request and the language are never left out. No part of an answer is an instruction to the hub: it is searched
for one document, which is checked like any other plan, and its faults become a text to paste back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from starloom.planner.context.assembly import Asking, PromptPart, context, joined, opening_words
from starloom.planner.context.brief_words import ABOUT, ANSWER
from starloom.planner.fleet import FleetSnapshot
from starloom_protocol.plan import DocumentRefused, Recipe, read_document
from starloom_protocol.records.entities import Fault
from starloom_protocol.vocabulary import CODES, Code

_MORE: Final = "Ask for their arguments if you need one."


@dataclass(frozen=True)
class Brief:
    """A brief. `left_out` lists in sentences the parts that did not fit; the text contains the same sentences."""

    text: str
    left_out: tuple[str, ...]


def brief(words: str, fleet: FleetSnapshot, recipes: Sequence[Recipe], *, today: str = "") -> Brief:
    """Return the brief for a request on the current fleet."""
    opening = PromptPart("The language", f"# A plan for Starloom\n\n{opening_words(fleet, ABOUT, ANSWER)}")
    asking = Asking(words=words, fleet=fleet, recipes=tuple(recipes), today=today, fill=True)
    full = context(asking, opening, _MORE)
    request = "\n".join(f"> {line}" for line in words.splitlines()) or "> (nothing was written; ask what is wanted)"
    text = joined([*(part.text for part in full.parts), f"## What is asked for\n\n{request}\n"])
    return Brief(text, full.left_out)


PASTED_CHARS_MAX = 1024 * 1024
FENCES_MOST = 32
FAULTS_MOST = 40
REPLY_CHARS_MAX = 16_000
_REASON_CHARS = 400
_FENCE = re.compile(r"^[ \t]{0,3}(`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_HEAD = re.compile(r"^starloom:[ \t]*\d", re.MULTILINE)
_PART = re.compile(r"[A-Za-z_]+:|[ \t]|-|#|$")


@dataclass(frozen=True)
class Pasted:
    """Either the text of a document, or the fault that says why there is none. `cut` if its fence was never closed."""

    text: str = ""
    fault: Fault | None = None
    cut: bool = False


def find_plan(answer: str) -> Pasted:
    """Return the first fenced block that holds a plan; without fences the first document in the text itself."""
    if len(answer) > PASTED_CHARS_MAX:
        reason = f"the answer has {len(answer)} characters; at most {PASTED_CHARS_MAX} are read"
        return Pasted(fault=Fault(code=Code.PLAN_TOO_BIG, place="answer", reason=reason, hint="Paste the plan alone."))
    answer = answer.replace("\r\n", "\n").lstrip("\ufeff")
    blocks = list(_fenced(answer))
    for block in blocks:
        if _is_plan(block.text):
            return block
    if blocks:
        # None reads as a plan: the fault of the first that is meant as one is reported.
        return next((block for block in blocks if "tasks" in block.text), blocks[0])
    bare = _bare(answer)
    if bare:
        return Pasted(bare)
    reason = "there is no plan in this answer: no fenced block, no `starloom: 1`, no `{`"
    hint = "Ask the assistant for the whole plan in one fenced block."
    return Pasted(fault=Fault(code=Code.PLAN_INVALID, place="answer", reason=reason, hint=hint))


def _fenced(answer: str) -> Iterable[Pasted]:
    marks = list(_FENCE.finditer(answer))
    at = count = 0
    while at < len(marks) and count < FENCES_MOST:
        opening = marks[at]
        closing = next(
            (
                (place, mark)
                for place, mark in enumerate(marks[at + 1 :], at + 1)
                if mark[1][0] == opening[1][0] and len(mark[1]) >= len(opening[1]) and mark[0].strip() == mark[1]
            ),
            None,
        )
        end = closing[1].start() if closing else len(answer)
        yield Pasted(_dedented(answer[opening.end() + 1 : end]), cut=closing is None)
        count += 1
        at = closing[0] + 1 if closing else len(marks)


def _dedented(block: str) -> str:
    """Return a block without the indentation of its first line: blocks in lists are indented as a whole."""
    first = next((line for line in block.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" "))]
    if not indent:
        return block
    return "\n".join(line.removeprefix(indent) for line in block.split("\n"))


def _is_plan(text: str) -> bool:
    try:
        return "tasks" in read_document(text)
    except DocumentRefused:
        return False


def _bare(answer: str) -> str:
    """Return the document in a text without fences: from its first line to the first that cannot belong to it."""
    head = _HEAD.search(answer)
    brace = answer.find("{")
    if head and (brace < 0 or head.start() < brace):
        lines = answer[head.start() :].split("\n")
        last = next((at for at, line in enumerate(lines) if line and not _PART.match(line)), len(lines))
        return "\n".join(lines[:last])
    return _braced(answer, brace) if brace >= 0 else ""


def _braced(answer: str, start: int) -> str:
    """Return the text from a brace to the one that closes it, or to the end where none does."""
    depth = 0
    for sign in re.finditer(r'"(?:[^"\\]|\\.)*"?|[{}]', answer[start:], re.DOTALL):
        if sign[0] == "{":
            depth += 1
        elif sign[0] == "}":
            depth -= 1
            if depth == 0:
                return answer[start : start + sign.end()]
    return answer[start:]


def reply_to(faults: Iterable[Fault], *, cut: bool = False) -> str:
    """Return the faults as a text for the assistant, bounded, each with its place and the way out."""
    listed = list(faults)
    count = "a fault" if len(listed) == 1 else f"{len(listed)} faults"
    lines = [f"Your plan has {count}. Nothing was started."]
    if cut:
        lines.append("The fenced block has no end; your answer may have been cut off.")
    lines.append("")
    spent = 0
    listed_to = 0
    for number, fault in enumerate(listed[:FAULTS_MOST], 1):
        hint = fault.hint or CODES[fault.code].hint
        where = f"{fault.place}: " if fault.place else ""
        line = f"{number}. {where}{_short(fault.reason)}" + (f" ({_short(hint)})" if hint else "")
        spent += len(line) + 1
        if spent > REPLY_CHARS_MAX:
            break
        lines.append(line)
        listed_to = number
    if listed_to < len(listed):
        lines.append(f"... and {len(listed) - listed_to} more.")
    lines += ["", "Mend them and answer with the whole plan again, in one fenced block."]
    return "\n".join(lines)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _REASON_CHARS else line[: _REASON_CHARS - 3] + "..."
