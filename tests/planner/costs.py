"""The size and the cost of one review and one answer for the five fleets: `python -m tests.planner.costs`.

A program has failed and two tasks are beside it; or so many tasks have ended that the bound of the prompt is reached.
Bytes come from the prompts themselves, tokens by the 3.6 bytes of such texts, dollars by two prices.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from starloom.planner.context.assembly import joined, size
from starloom.planner.context.cards import card_of
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.model.conversations.answering import ResultSeen, answer_parts
from starloom.planner.model.conversations.reviewed_plan import ReviewedPlan
from starloom.planner.model.conversations.reviewing import review_parts
from starloom.planner.model.prompt import PromptPart
from starloom_protocol.records.entities import Attempt, Head, Job, TaskRecord, TaskSpec
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import AttemptEnd, Code, ConstellationState, Repeatability, Sharing, TaskState
from tests.planner.prompts import CASES

BYTES_A_TOKEN: Final = 3.6
REVIEW_TOKENS_MOST: Final = 7_000
ANSWER_TOKENS_MOST: Final = 5_000
WRITTEN: Final = {"review": 300, "answer": 170}
"""Tokens of a reply: those of twenty requests that a model answered, and an edit of one task."""
PRICES: Final = {"small": (0.15, 0.60), "large": (3.0, 15.0)}
"""Dollars for a million tokens, read and written."""
MANY: Final = 400
PROGRAM: Final = (
    "import csv\nrows = csv.DictReader(open('sales.csv'))\nprint(sum(float(row['region']) for row in rows))\n"
)
SAID: Final = (
    "the program ended with 1\nTraceback (most recent call last):\n  File 'program.py', line 3\nKeyError: 'region'"
)
VALUE: Final = {
    "rows": [{"region": name, "revenue": 1204.5, "orders": 31} for name in ("north", "south", "east", "west")]
}
REQUEST: Final = "Make one report of the sales per region from the files of both servers"
SENTENCE: Final = "Sales is done in part: 2 of 3 tasks."


@dataclass(frozen=True)
class Cost:
    """The prompt of one call, in bytes, and the part of it that the next call of its kind begins with, too."""

    kind: str
    total: int
    stable: int

    @property
    def tokens(self) -> int:
        return round(self.total / BYTES_A_TOKEN)

    def dollars(self, price: str) -> float:
        """Return what the call costs with its reply, nothing of the prompt being kept from before."""
        read, written = PRICES[price]
        return (self.tokens * read + WRITTEN[self.kind] * written) / 1_000_000


def review(fleet: FleetSnapshot, more: int = 0) -> Cost:
    """Return the cost of a review of one failed program beside two tasks, and so many more that have ended."""
    return _cost("review", review_parts(_reviewed(more), fleet))


def answer(results: int = 3) -> Cost:
    """Return the cost of an answer from so many results."""
    seen = _reviewed(results)
    cards = [
        card_of(spec, seen.tasks[name], seen.attempts[f"{name}/1"], device="srv-a", now_ms=2, sharing=Sharing.HEADS)
        for name, spec in seen.specs.items()
    ]
    return _cost("answer", answer_parts(REQUEST, SENTENCE, [ResultSeen(card, VALUE) for card in cards][-results:]))


def _cost(kind: str, parts: list[PromptPart]) -> Cost:
    stable = size(joined(part.text for part in parts if part.stable)) if kind == "review" else size(parts[0].text)
    return Cost(kind, size(joined(part.text for part in parts)), stable)


def _reviewed(more: int) -> ReviewedPlan:
    specs = {
        "read": TaskSpec(changed_in=1, id="read", tool="fs.read", args=canonical({"path": "sales/march.csv"})),
        "sum": TaskSpec(changed_in=1, id="sum", tool="python.run", args=canonical({"code": PROGRAM})),
        "table": TaskSpec(changed_in=1, id="table", tool="data.merge"),
        **{f"more-{one}": TaskSpec(changed_in=1, id=f"more-{one}", tool="fs.read") for one in range(more)},
    }
    records: dict[str, Any] = {f"spec/{name}": spec for name, spec in specs.items()}
    for name in specs:
        failed = name == "sum"
        records[f"task/{name}"] = TaskRecord(
            attempt=1, since_ms=0, state=TaskState.FAILED if failed else TaskState.SUCCEEDED
        )
        records[f"attempt/{name}/1"] = Attempt(
            code=Code.TOOL_FAILED if failed else None,
            detail=SAID if failed else "",
            device="srv-a",
            end=AttemptEnd.ERROR if failed else AttemptEnd.OK,
            ended_ms=1,
            incarnation=1,
            leased_ms=0,
            repeatability=Repeatability.PURE,
            value=None if failed else canonical(VALUE),
        )
    job = Job(id="review-1", kind="review", opened_ms=0, tasks=["sum/1"])
    head = Head(
        author="person:ann", created_ms=0, id="c1", name="Sales", request=REQUEST, state=ConstellationState.ACTIVE
    )
    return ReviewedPlan.of(records, job, head, {"srv-a": "srv-a"}, now_ms=2, sharing=Sharing.HEADS)


def table() -> Iterator[str]:
    """Yield a row for each fleet and for the answers, which no fleet changes."""
    head = ("call", "bytes", "tokens", "stable", *(f"dollars, {name} model" for name in PRICES))
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    for name, case in CASES.items():
        yield _row(f"review, fleet {name}", review(case.fleet()))
        yield _row(f"review at its bound, fleet {name}", review(case.fleet(), MANY))
    yield _row("answer of 3 results", answer())
    yield _row("answer at its bound", answer(MANY))


def _row(name: str, cost: Cost) -> str:
    money = [f"{cost.dollars(price):.4f}" for price in PRICES]
    return f"| {' | '.join([name, f'{cost.total:,}', f'{cost.tokens:,}', f'{cost.stable / cost.total:.0%}', *money])} |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
