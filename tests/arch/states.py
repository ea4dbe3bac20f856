"""Writes `docs/states.md` from the table of a task's states; `--check` exits 1 where the page is stale.

Owns the page's form. The table itself is `core.state.transitions`; the states are named as the page shows them.
"""

from __future__ import annotations

import sys

from starloom.core.state.transitions import TASK_TABLE, Trigger, Verdict
from starloom_protocol.vocabulary import FINAL_TASK_STATES, TaskState
from tests.arch.checkout import ROOT

PAGE = ROOT / "docs/states.md"
ASKED = (Trigger.CANCEL, Trigger.SKIP, Trigger.MARK, Trigger.RETRY, Trigger.HOLD, Trigger.RELEASE)
"""Triggers that a person asks for; all others are reports, silences and timers."""

OPENING = """# States of a task

Generated from `backend/starloom/core/state/transitions.py` by `make gen`; do not edit.

A task is *waiting* until its dependencies are decided, *ready* until a device has it, *leased* until the device
says that it began, and *running* until its result counts. *Unknown* is work that may have happened and must not be
repeated: a person, or the `verify` of the task, says what became of it. A final task runs again only in a new round.

```mermaid
stateDiagram-v2
  [*] --> waiting
  waiting --> ready: gates open
  waiting --> skipped: a gate is shut, or skip
  ready --> leased: placed
  ready --> skipped: skip
  leased --> running: started
  leased --> ready: not begun, or moved
  running --> succeeded: result, checks passed
  running --> failed: no attempts left
  running --> ready: tried again
  running --> cancelling: cancel
  cancelling --> cancelled: receipt
  running --> unknown: lost, and not repeatable
  unknown --> succeeded: mark or verify
  unknown --> ready: retry
  succeeded --> [*]
  failed --> [*]
  cancelled --> [*]
  skipped --> [*]
```
"""


def page() -> str:
    """Return the whole page."""
    parts = [OPENING]
    parts += _table("What a person may ask for", ASKED)
    parts += _table("What is reported or comes due", tuple(trigger for trigger in Trigger if trigger not in ASKED))
    return "\n".join(parts)


def _table(title: str, triggers: tuple[Trigger, ...]) -> list[str]:
    lines = [f"## {title}", ""]
    lines += ["| state | acts on | refused, with the reason | ignored, with the reason |", "|---|---|---|---|"]
    for state in TaskState:
        name = f"**{state}**" if state in FINAL_TASK_STATES else str(state)
        cells = [", ".join(f"`{trigger}`" for trigger in triggers if _is(state, trigger, Verdict.ACT))]
        for verdict in (Verdict.NEVER, Verdict.IGNORE):
            by_reason: dict[str, list[str]] = {}
            for trigger in triggers:
                if _is(state, trigger, verdict):
                    by_reason.setdefault(TASK_TABLE[state, trigger].reason, []).append(f"`{trigger}`")
            cells.append("; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()))
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _is(state: TaskState, trigger: Trigger, verdict: Verdict) -> bool:
    return TASK_TABLE[state, trigger].verdict is verdict


def main() -> int:
    if "--check" in sys.argv:
        return 0 if PAGE.exists() and PAGE.read_text(encoding="utf-8") == page() else 1
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
