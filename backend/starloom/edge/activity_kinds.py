"""What the record of activity tells, by subject: which kinds of event belong to which word that people filter by.

`HOUSEKEEPING` is left out: the engine's own steps, which the log of a constellation has and a record of deeds does not.
"""

from __future__ import annotations

from typing import Final

CATEGORIES: Final[dict[str, tuple[str, ...]]] = {
    "access": ("principal_", "token_", "signin_", "signed_", "secret_"),
    "refused": ("refused", "attempt_refused", "rule_refused"),
    "devices": ("enrollment_", "device_", "history_", "stop_all"),
    "approvals": ("approval_", "denied", "question_", "recovery_", "review_wish_", "standing_"),
    "plans": ("request_", "planning_", "plan_", "group_expanded", "forked", "ended"),
    "controls": (
        "started",
        "held",
        "paused",
        "resumed",
        "cancelling",
        "reopened",
        "round_opened",
        "undo_",
        "budget_",
        "task_retried",
        "task_marked",
        "task_verified",
        "task_held",
        "task_released",
        "task_confirmed",
    ),
    "work": ("task_", "attempt_", "group_", "hedge_", "result_"),
    "schedules": ("schedule_",),
    "recipes": ("recipe_",),
    "lab": ("fault_",),
}
"""Beginnings of kinds, by subject; of two that fit the earlier one counts."""

HOUSEKEEPING: Final = (
    "answer_grew",
    "attention_cleared",
    "attention_raised",
    "device_condition",
    "device_sound",
    "draft_closed",
    "draft_opened",
    "facts_told",
    "forgotten",
    "job_claimed",
    "job_done",
    "job_opened",
    "job_renewed",
    "key_used",
    "model_used",
    "question_closed",
    "review_closed",
    "review_opened",
    "task_heard",
    "task_moving",
    "task_overdue",
    "task_ready",
    "task_waiting",
    "tasks_ready",
)


def category_of(kind: str) -> str:
    """Return the subject of a kind of event; `other` for one that no subject names."""
    for category, beginnings in CATEGORIES.items():
        if kind.startswith(beginnings):
            return category
    return "other"


def kinds_of(category: str) -> tuple[list[str], list[str]]:
    """Return the beginnings of a subject's kinds, and those of kinds that an earlier subject takes from it."""
    taken: list[str] = []
    for name, beginnings in CATEGORIES.items():
        if name == category:
            return list(beginnings), [item for item in taken if item.startswith(beginnings)]
        taken.extend(beginnings)
    return [], []
