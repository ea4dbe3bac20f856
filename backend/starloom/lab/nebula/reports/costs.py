"""The cost of an ablation or a baseline: its runs beside those of the full product, task by task. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starloom.lab.nebula.planners.baselines import FULL
from starloom.lab.nebula.running import Ran
from starloom.lab.nebula.scoring.honesty import HARD, End


@dataclass(frozen=True)
class Cost:
    """One condition beside the full run, over the tasks and seeds that both have. Times are those of tasks met in both.

    `lost` counts the tasks that the full run met and this one did not, `won` the reverse. `honest` counts those whose
    answer says that they are not met, or whose check declares that a lie cannot be seen; `faulty` the other ends.
    """

    profile: str
    name: str
    runs: int
    met: int
    met_full: int
    lost: int
    won: int
    honest: int
    faulty: int
    time_s: float
    time_full_s: float
    attempts: int
    attempts_full: int
    tokens: int
    tokens_full: int

    @property
    def slower(self) -> float:
        """How much longer the tasks took that were met in both, as a share."""
        return self.time_s / self.time_full_s - 1 if self.time_full_s else 0.0

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "profile": self.profile,
            "name": self.name,
            "runs": self.runs,
            "met": self.met,
            "met_full": self.met_full,
            "lost": self.lost,
            "won": self.won,
            "honest": self.honest,
            "faulty": self.faulty,
            "time_s": round(self.time_s, 1),
            "time_full_s": round(self.time_full_s, 1),
            "slower": round(self.slower, 4),
            "attempts": self.attempts,
            "attempts_full": self.attempts_full,
            "tokens": self.tokens,
            "tokens_full": self.tokens_full,
        }

    def row(self) -> list[str]:
        """Return the line of the table of costs."""
        return [
            " ".join((self.profile, self.name)),
            f"{self.met}/{self.runs}",
            f"{self.met_full}/{self.runs}",
            str(self.lost),
            str(self.honest),
            str(self.faulty),
            f"{self.time_s:.1f}",
            f"{self.time_full_s:.1f}",
            f"{self.slower:+.0%}",
            str(self.attempts - self.attempts_full),
            str(self.tokens - self.tokens_full),
        ]


COST_HEAD: Final = (
    "without",
    "met",
    "full",
    "lost",
    "honest",
    "faulty",
    "s",
    "full s",
    "time",
    "attempts more",
    "tokens more",
)


def costs(runs: Sequence[Ran]) -> list[Cost]:
    """Return the cost of each condition that is not the full product, in the order in which they came."""
    full = {(one.profile, one.task.id, one.seed): one for one in runs if one.baseline == FULL}
    rows = []
    for profile, name in dict.fromkeys((one.profile, one.baseline) for one in runs if one.baseline != FULL):
        part = [one for one in runs if (one.profile, one.baseline) == (profile, name)]
        pairs = [(one, beside) for one in part if (beside := full.get((profile, one.task.id, one.seed))) is not None]
        both = [(one, beside) for one, beside in pairs if one.success and beside.success]
        rows.append(
            Cost(
                profile=profile,
                name=name,
                runs=len(pairs),
                met=sum(one.success for one, _ in pairs),
                met_full=sum(beside.success for _, beside in pairs),
                lost=sum(beside.success and not one.success for one, beside in pairs),
                won=sum(one.success and not beside.success for one, beside in pairs),
                honest=sum(one.end in (End.HONEST, End.FOOLED) for one, _ in pairs),
                faulty=sum(one.end in (*HARD, End.NOT_MET) for one, _ in pairs),
                time_s=sum(one.figures.wall_ms for one, _ in both) / 1000,
                time_full_s=sum(beside.figures.wall_ms for _, beside in both) / 1000,
                attempts=sum(one.figures.attempts for one, _ in pairs),
                attempts_full=sum(beside.figures.attempts for _, beside in pairs),
                tokens=sum(one.used.tokens for one, _ in pairs),
                tokens_full=sum(beside.used.tokens for _, beside in pairs),
            )
        )
    return rows
