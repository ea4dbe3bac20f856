"""A model that passes the trial of models, and answers that fail one part of it each."""

from __future__ import annotations

import json
from typing import Any, Final

from starloom.planner.model.trial_world import (
    BUSIEST,
    DESK,
    ERRORS,
    FAILED,
    RIGHT_BALLOT,
    RIGHT_FOLDER,
    SEARCH,
    STEP,
    STORE,
)
from tests.models.server import Json, Say

TOOL_WORDS: Final = "most memory"
DEVICE_WORDS: Final = "machine for storage"
ORDER_WORDS: Final = "CSV files"
CONDITION_WORDS: Final = "90 percent"
QUESTION_WORDS: Final = "Restart it"
REVIEW_WORDS: Final = "You review a running plan"
ANSWER_WORDS: Final = "You write the answer"
JUDGE_WORDS: Final = "You judge a result"
CHOICE_WORDS: Final = "which of them is taken?"
REACHED_WORDS: Final = "DATA results of step 1"
STEP_WORDS: Final = "You pursue one goal"


def task(name: str, tool: str, device: str, **fields: Any) -> Json:
    return {"id": name, "tool": tool, "device": {"name": device}, **fields}


def plan(*tasks: Json, **fields: Any) -> Json:
    return {"kind": "plan", "plan": {"starloom": 1, "name": "Tried", "tasks": list(tasks), **fields}}


FULL: Final = {"output": "/used_percent", "op": "gt", "value": 90}
USAGE: Final = task("look", "disk.usage", STORE)
TELL: Final = task("tell", "notify", DESK, args={"text": "nearly full"})
FIND: Final = task("find", "fs.find", DESK, args={"root": "reports", "what": "*.csv"})
PACK: Final = task("pack-it", "archive.pack", DESK, args={"path": "reports"})
MENDED: Final = task("pack-again", "archive.pack", STORE, args={"path": RIGHT_FOLDER})

RIGHT: Final[dict[str, Json]] = {
    TOOL_WORDS: plan(task("busy", "process.list", DESK, args={"by": "memory"})),
    DEVICE_WORDS: plan({**USAGE, "device": {"labels": ["storage"]}}),
    ORDER_WORDS: plan(FIND, PACK, dependencies=[{"from": "find", "to": "pack-it"}]),
    CONDITION_WORDS: plan(USAGE, TELL, dependencies=[{"from": "look", "to": "tell", "when": FULL}]),
    QUESTION_WORDS: {"kind": "question", "text": "Which service, and on which machine?"},
    REVIEW_WORDS: {
        "kind": "edit",
        "text": "the folder was mistyped",
        "operations": [{"add_task": MENDED}, {"supersede": {"task": FAILED, "by": "pack-again"}}],
    },
    ANSWER_WORDS: {
        "kind": "answer",
        "text": f"{BUSIEST} has the most errors: {ERRORS:,} [1].",
        "cites": [{"task": f"errors-{STORE}", "pointer": ""}],
    },
    JUDGE_WORDS: {
        "holds": "no",
        "because": f"{BUSIEST} has more.",
        "cites": [{"task": f"errors-{STORE}", "pointer": "/errors"}],
    },
    CHOICE_WORDS: {"choice": RIGHT_BALLOT, "because": "It names the most."},
    REACHED_WORDS: {
        "kind": "answer",
        "value": {"service": BUSIEST, "errors": ERRORS},
        "cites": [{"task": STEP, "pointer": "/errors_by_service"}],
    },
    STEP_WORDS: {
        "kind": "step",
        "note": "to count the errors",
        "calls": [{"device": STORE, "tool": SEARCH, "args": {"contains": "error"}}],
    },
}


def answered(asked: str, answers: dict[str, Json]) -> str:
    """Return the answer to a prompt as JSON text."""
    return next(json.dumps(answers[words]) for words in RIGHT if words in asked)


def passing(asked: Json) -> Say:
    """Answer each call of a trial as a good model does, over a socket."""
    return Say(text=answered(str(asked), RIGHT))
