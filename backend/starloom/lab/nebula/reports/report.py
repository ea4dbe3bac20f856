"""The report of a run of the suite: figures over all tasks, by category and level, and a line for each task. Pure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from starloom.lab.nebula.faults.profiles import LOSS
from starloom.lab.nebula.faults.profiles import NONE as NO_FAULT
from starloom.lab.nebula.planners.baselines import FULL
from starloom.lab.nebula.planners.live_model import NOT_BEGUN, ModelUse
from starloom.lab.nebula.reports.costs import COST_HEAD, costs
from starloom.lab.nebula.running import GOLD, MODEL, NONE, NOT_TAKEN, SCRIPT, Ran
from starloom.lab.nebula.scoring.consent import seen_tools
from starloom.lab.nebula.scoring.honesty import HARD, End
from starloom.lab.nebula.task import CATEGORIES, LEVELS

PAPER: Final = {"ssr": 0.833, "tsr": 0.709, "width": 1.72, "gain": 0.31}
"""The figures that UFO3's paper reports of NebulaBench: only a run with a live model may stand beside its first two."""
Z_95: Final = 1.96
_SAID: Final = {
    End.HUNG: "were not over within their deadline",
    End.FALSE_DONE: "said to be done and not",
    End.DOUBLED: "did something twice",
    End.NOT_MET: "neither met nor honest about it",
}
_ORDER: Final = (End.MET, End.HONEST, End.FOOLED, End.NOT_MET, End.HUNG, End.FALSE_DONE, End.NOT_RUN)
NOTE_CHARS: Final = 300
RUNGS: Final = ("retried", "moved", "hedged", "rerouted", "verified", "edited", "person")
"""The rungs of the recovery ladder, as the hub's report of a run counts them."""
NAMES_OF_COUNTS: Final = {"doubled": "doubled effects"}


@dataclass(frozen=True)
class Report:
    """The runs of one suite; `planner` and `faults` say under which conditions, `took_s` how long all of it took."""

    id: str
    planner: str
    faults: str
    seeds: Sequence[int]
    runs: Sequence[Ran]
    took_s: float
    kind: str = ""
    """The kind of the transcripts, where a scripted model planned."""
    price_known: bool = True
    """Whether the calls of a live model have a price that is known here."""
    accepts_prompts: bool = False
    """Whether the owner accepts prompts of a replay that are not the recorded ones."""
    interrupted_of: int = 0
    """How many runs were to come, where a signal ended the suite before its end; 0 where none did."""

    @property
    def misses(self) -> list[str]:
        """Return why the gate is not met; nothing if it is."""
        plain = [one for one in self.runs if one.profile == NO_FAULT and one.baseline == FULL]
        lines = [self.interruption] if self.interrupted_of else []
        if self.planner in (GOLD, SCRIPT):
            failed = sorted({one.task.id for one in plain if not one.success})
            count = "1 task is" if len(failed) == 1 else f"{len(failed)} tasks are"
            lines += [f"{count} not met: {', '.join(failed)}"] if failed else []
        if self.planner == NONE:
            wrong = sorted({one.task.id for one in plain if one.fault != NOT_TAKEN and not one.success})
            lines += [f"recipes took what they do not answer: {', '.join(wrong)}"] if wrong else []
        lines += [] if self.accepts_prompts else self._other_prompts()
        lines += [f"{one.task.id}: {one.unrecorded}" for one in self.runs if one.unrecorded]
        late = sorted({one.task.id for one in self.runs if one.fault == NOT_BEGUN})
        lines += [f"{NOT_BEGUN}: {', '.join(late)}"] if late else []
        lost = sorted({one.task.id for one in plain if one.lost})
        lines += [f"the transcript does not fit: {', '.join(lost)}"] if lost else []
        lines += [
            f"{_SAID[end]}: {', '.join(ids)}"
            for end in (*HARD, End.NOT_MET)
            if (ids := _task_names([one for one in self.runs if one.end is end and (end in HARD or one not in plain)]))
        ]
        lossy = [one for one in self.runs if one.end is End.HONEST and one.profile == LOSS and one.baseline == FULL]
        bare = _task_names([one for one in lossy if LOSS not in one.task.about.faults])
        lines += [f"not met after a loss, and the task does not say why: {', '.join(bare)}"] if bare else []
        stuck = [f"{one.task.id} ({', '.join(one.movable)})" for one in lossy if one.movable]
        lines += [f"not met after a loss, though other devices may do it: {', '.join(stuck)}"] if stuck else []
        silent = [f"{one.task.id}: {damage}" for one in self.runs for damage in one.unnoticed]
        lines += [f"the check does not notice: {damage}" for damage in silent]
        beyond = [f"{one.task.id} ({', '.join(one.consent.beyond)})" for one in self.runs if one.consent.beyond]
        lines += [f"had an effect that nobody approved: {', '.join(dict.fromkeys(beyond))}"] if beyond else []
        return lines

    @property
    def interruption(self) -> str:
        """Return in words how far a suite came that was interrupted."""
        return f"interrupted: {len(self.runs)} of {self.interrupted_of} runs ended"

    @property
    def totals(self) -> dict[str, Any]:
        return totals_of(self.runs)

    @property
    def used(self) -> ModelUse:
        """The calls of the model in all runs."""
        return sum((one.used for one in self.runs), ModelUse())

    def document(self) -> dict[str, Any]:
        """Return the whole as JSON has it."""
        return {
            "id": self.id,
            "planner": self.planner,
            "kind": self.kind,
            "faults": self.faults,
            "seeds": list(self.seeds),
            "took_s": round(self.took_s, 1),
            "interrupted": bool(self.interrupted_of),
            "met": not self.misses,
            "misses": self.misses,
            "model": {**self.used.document(), "price_known": self.price_known},
            "replay": {
                "prompts": sum(one.replayed for one in self.runs),
                "differ": sum(len(one.differs) for one in self.runs),
                "accepted": self.accepts_prompts,
            },
            "paper": PAPER,
            "totals": self.totals,
            "intervals_95": intervals(self.runs),
            "categories": {
                key: {**totals_of(part), "intervals_95": intervals(part)}
                for key, part in _by(self.runs, lambda one: one.task.about.category)
            },
            "parts": self._parts(),
            "profiles": [
                {
                    "profile": profile,
                    "baseline": baseline,
                    **totals_of(part),
                    "intervals_95": intervals(part),
                }
                for (profile, baseline), part in self._conditions()
            ],
            "costs": [cost.document() for cost in costs(self.runs)],
            "consent_sees": seen_tools(),
            "declared": {one.task.id: dict(one.task.about.faults) for one in self.runs if one.task.about.faults},
            "levels": {
                key: {**totals_of(part), "intervals_95": intervals(part)}
                for key, part in _by(self.runs, lambda one: one.task.about.level)
            },
            "runs": [_row(one) for one in self.runs],
        }

    def _conditions(self) -> list[tuple[tuple[str, str], list[Ran]]]:
        """Return the runs by profile and baseline, in the order in which they came."""
        keys = dict.fromkeys((one.profile, one.baseline) for one in self.runs)
        return [(key, [one for one in self.runs if (one.profile, one.baseline) == key]) for key in keys]

    def _parts(self) -> list[dict[str, Any]]:
        """Return the figures of the full product by category and level, each under each profile."""
        kinds: list[tuple[str, Callable[[Ran], str]]] = [
            ("category", lambda one: one.task.about.category),
            ("level", lambda one: one.task.about.level),
        ]
        return [
            {"by": kind, "part": part, "profile": profile, **totals_of(runs), "intervals_95": intervals(runs)}
            for kind, of in kinds
            for (profile, baseline), full in self._conditions()
            if baseline == FULL
            for part, runs in _by(full, of)
        ]

    def conditions(self) -> list[list[str]]:
        """Return the lines of the table of profiles and baselines, its head first."""
        head = ["faults", "struck", *_ORDER, "doubled", "TSR", "SSR", *RUNGS, "s"]
        return [head, *(_condition(key, part) for key, part in self._conditions())]

    def costs(self) -> list[list[str]]:
        """Return the lines of the table of costs beside the full run, its head first; empty where there is none."""
        rows = costs(self.runs)
        return [list(COST_HEAD), *(cost.row() for cost in rows)] if rows else []

    def table(self) -> list[list[str]]:
        """Return the lines of the table of tasks, its head first."""
        head = ["task", "faults", "level", "state", "points", "s", "N/depth", "work/path", "note"]
        return [head, *(_line(one) for one in self.runs)]

    def times(self) -> list[list[str]]:
        """Return the lines of the table of time by what the runs waited for, its head first, the longest first."""
        total = self.totals
        listed = sorted(total["times_s"].items(), key=lambda one: -one[1])
        rows = [[name, f"{seconds:.1f}", f"{_share(seconds, total['wall_s']):.0%}"] for name, seconds in listed]
        return [["time of it", "s", "of the wall clock"], *rows]

    def consent(self) -> list[str]:
        """Return the sentences about the questions and approvals of the person."""
        total = self.totals
        needed, welcome = total["questions_needed"], total["questions_welcome"]
        questions = f"questions {total['questions']}: needed {needed}, welcome {welcome}"
        wrong = f"wrong {total['questions_wrong']}{_where_wrong(self.runs)}"
        approvals = f"approvals {total['approvals']}: needed {total['approvals_needed']}"
        return [
            f"{questions}, {wrong}, missed {total['questions_missed']}",
            f"{approvals}, effects beyond them {total['beyond']}",
            f"effects are seen of {', '.join(seen_tools())}",
        ]

    def replayed(self) -> list[str]:
        """Return the sentences about a replay: how many prompts are the recorded ones; those that differ, if accepted.

        A prompt that differs and is not accepted is a miss of the gate.
        """
        count = sum(one.replayed for one in self.runs)
        differ = sum(len(one.differs) for one in self.runs)
        lines = [f"replay: {count - differ} of {count} prompts are the recorded ones"] if count else []
        return [*lines, *(f"accepted: {one}" for one in (self._other_prompts() if self.accepts_prompts else []))]

    def _other_prompts(self) -> list[str]:
        """Return that a replay has measured another product than its recording, with the first difference."""
        prompts = [(one.task.id, words) for one in self.runs for words in one.differs]
        if not prompts:
            return []
        count = "1 prompt differs" if len(prompts) == 1 else f"{len(prompts)} prompts differ"
        return [f"{count} from the recording, which was made of another product: {prompts[0][0]}, {prompts[0][1]}"]

    def summary(self) -> list[str]:
        """Return the sentences above the table."""
        total = self.totals
        met = f"{total['success']}/{total['runs']} tasks met (TSR {total['tsr']:.1%}), SSR {total['ssr']:.1%}"
        counts = ("attempts", "retries", "moves", "hedges", "doubled")
        paper = f"SSR {PAPER['ssr']:.1%}, TSR {PAPER['tsr']:.1%}, width {PAPER['width']}, gain {PAPER['gain']:.0%}"
        ratios = f"width (N/depth) {total['width']:.2f}, work/path {total['parallelism']:.2f}"
        planner = f"{self.planner} {self.kind}".rstrip()
        return [
            f"Nebula: planner {planner}, faults {self.faults}, seed {_listed(self.seeds)}, {self.took_s:.0f} s",
            f"{met}, TCR {total['tcr']:.1%}, said done and not: {total['false_done']}",
            f"{ratios}, gain over one at a time {total['gain']:.0%}",
            ", ".join(f"{NAMES_OF_COUNTS.get(name, name)} {total[name]}" for name in counts),
            *self.consent(),
            *([f"the model: {self.used.words(price_known=self.price_known)}"] if self.planner == MODEL else []),
            *self.replayed(),
            f"the paper's NebulaBench: {paper}; its SSR and TSR compare with those of a live model alone",
            *(f"GATE: {miss}" for miss in self.misses or ["met"]),
        ]

    def markdown(self) -> str:
        """Return the report as a page."""
        rows = self.table()
        text = ["# Nebula suite", "", *(f"- {line}" for line in self.summary()), "", "## Categories", ""]
        parts = [["category", "met", "SSR", "width", "gain"]]
        for key, part in _by(self.runs, lambda one: one.task.about.category):
            parts.append([f"{key} {CATEGORIES[key]}", *_brief(part)])
        for key, part in _by(self.runs, lambda one: one.task.about.level):
            parts.append([LEVELS[key], *_brief(part)])
        text = [*text[:-2], "## Faults", "", *_marked(self.conditions()), "", *text[-2:]]
        text = [*text[:-2], "## Time", "", *_marked(self.times()), "", *text[-2:]]
        if costs := self.costs():
            text = [*text[:-2], "## Cost of each part", "", *_marked(costs), "", *text[-2:]]
        return "\n".join([*text, *_marked(parts), "", "## Tasks", "", *_marked(rows), ""])


def totals_of(runs: Sequence[Ran]) -> dict[str, Any]:
    """Return the figures of several runs together. Width and gain are means over the tasks that did something."""
    began = [one.figures for one in runs if one.figures.tasks]
    return {
        "runs": len(runs),
        "success": sum(one.success for one in runs),
        "tsr": _tsr(runs),
        "tcr": _tcr(runs),
        "ssr": _ssr(runs),
        "struck": sum(bool(one.struck) for one in runs),
        "false_done": sum(one.false_done for one in runs),
        "ends": {end.value: sum(one.end is end for one in runs) for end in End},
        "recoveries": {rung: sum(one.recoveries.get(rung, 0) for one in runs) for rung in RUNGS},
        "width": _mean([one.width for one in began]),
        "parallelism": _mean([one.parallelism for one in began if one.work_ms]),
        "gain": _share(
            sum(one.sequential_ms - one.makespan_ms for one in began if one.work_ms),
            sum(one.sequential_ms for one in began if one.work_ms),
        ),
        "attempts": sum(one.attempts for one in began),
        "retries": sum(one.retries for one in began),
        "moves": sum(one.moves for one in began),
        "hedges": sum(one.hedges for one in began),
        "doubled": sum(one.doubled for one in runs),
        "approvals": sum(one.consent.approvals for one in runs),
        "approvals_needed": sum(one.consent.approvals_needed for one in runs),
        "beyond": sum(len(one.consent.beyond) for one in runs),
        "questions": sum(one.consent.questions for one in runs),
        "questions_needed": sum(one.consent.needed for one in runs),
        "questions_welcome": sum(one.consent.welcome for one in runs),
        "questions_wrong": sum(one.consent.wrong for one in runs),
        "questions_missed": sum(one.consent.missed for one in runs),
        "times_s": {
            name: round(sum(one.times.get(name, 0) for one in runs) / 1000, 1)
            for name in sorted({name for one in runs for name in one.times})
        },
        "wall_s": round(sum(one.wall_ms for one in began) / 1000, 1),
    }


def interval(runs: Sequence[Ran], share: Callable[[Sequence[Ran]], float]) -> list[float] | None:
    """Return the 95 % interval of the share that the runs of a seed have, over seeds; None of one seed."""
    by_seed = [share(part) for _, part in _by(runs, lambda one: str(one.seed))]
    if len(by_seed) < 2:
        return None
    mean = _mean(by_seed)
    spread = math.sqrt(sum((one - mean) ** 2 for one in by_seed) / (len(by_seed) - 1))
    half = Z_95 * spread / math.sqrt(len(by_seed))
    return [round(max(0.0, mean - half), 4), round(min(1.0, mean + half), 4)]


def intervals(runs: Sequence[Ran]) -> dict[str, list[float] | None]:
    """Return the 95 % intervals of TSR, SSR and TCR over seeds."""
    return {"tsr": interval(runs, _tsr), "ssr": interval(runs, _ssr), "tcr": interval(runs, _tcr)}


def _tsr(runs: Sequence[Ran]) -> float:
    return _share(sum(one.success for one in runs), len(runs))


def _ssr(runs: Sequence[Ran]) -> float:
    return _share(sum(one.scored.met_weight for one in runs), sum(one.scored.weight for one in runs))


def _tcr(runs: Sequence[Ran]) -> float:
    return _share(sum(one.completed for one in runs), len(runs))


def _where_wrong(runs: Sequence[Ran]) -> str:
    ids = sorted({one.task.id for one in runs if one.consent.wrong})
    return f" ({', '.join(ids)})" if ids else ""


def _task_names(runs: Sequence[Ran]) -> list[str]:
    """Return the tasks of runs, with profile and baseline where there is more than the plain product."""
    names = (" ".join(part for part in (one.task.id, _where(one)) if part) for one in runs)
    return sorted(dict.fromkeys(names))


def _where(one: Ran) -> str:
    plain = one.profile == NO_FAULT and one.baseline == FULL
    return "" if plain else f"({' '.join(part for part in (one.profile, one.baseline) if part)})"


def _condition(key: tuple[str, str], runs: Sequence[Ran]) -> list[str]:
    totals, ends = totals_of(runs), Counter(one.end for one in runs)
    spread = intervals(runs)
    return [
        " ".join(part for part in key if part),
        str(totals["struck"]),
        *(f"{ends[end]}" + (f"/{len(runs)}" if end is End.MET else "") for end in _ORDER),
        str(totals["doubled"]),
        f"{totals['tsr']:.1%}{_between(spread['tsr'])}",
        f"{totals['ssr']:.1%}{_between(spread['ssr'])}",
        *(str(totals["recoveries"][rung]) for rung in RUNGS),
        f"{totals['wall_s']:.0f}",
    ]


def _by(runs: Sequence[Ran], key: Callable[[Ran], str]) -> list[tuple[str, list[Ran]]]:
    return [(name, [one for one in runs if key(one) == name]) for name in sorted({key(one) for one in runs})]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _row(one: Ran) -> dict[str, Any]:
    return {
        "task": one.task.id,
        "category": one.task.about.category,
        "level": one.task.about.level,
        "seed": one.seed,
        "state": one.state,
        "profile": one.profile,
        "baseline": one.baseline,
        "end": one.end,
        "struck": list(one.struck),
        "decided": list(one.decided),
        "recoveries": dict(one.recoveries),
        "answer": one.answer,
        "success": one.success,
        "points": [{"name": name, "met": met, "weight": weight} for name, met, weight in one.scored.points],
        "fault": one.fault,
        "lost": list(one.lost),
        "differs": list(one.differs),
        "unrecorded": one.unrecorded,
        "needs": one.task.about.needs,
        "ask": {"question": one.task.about.ask.question, "why": one.task.about.ask.why},
        "asked": list(one.asked),
        "consent": one.consent.document(),
        "times_ms": dict(one.times),
        "constellation": one.constellation,
        "doubled": one.doubled,
        "unnoticed": list(one.unnoticed),
        "figures": one.figures.document(),
        "model": one.used.document(),
    }


def _line(one: Ran) -> list[str]:
    figures, scored = one.figures, one.scored
    return [
        f"{'ok ' if one.success else '-- '}{one.task.id}",
        " ".join(part for part in (one.profile, one.baseline) if part),
        one.task.about.level,
        one.state or "-",
        f"{scored.met_weight}/{scored.weight}",
        f"{figures.wall_ms / 1000:.1f}",
        f"{figures.tasks}/{figures.depth}",
        f"{figures.parallelism:.2f}",
        "; ".join(part for part in (one.note, *one.struck, *one.decided) if part)[:NOTE_CHARS],
    ]


def _brief(runs: Sequence[Ran]) -> list[str]:
    all_of, spread = totals_of(runs), intervals(runs)
    met = f"{all_of['success']}/{all_of['runs']}{_between(spread['tsr'])}"
    ssr = f"{all_of['ssr']:.1%}{_between(spread['ssr'])}"
    return [met, ssr, f"{all_of['width']:.2f}", f"{all_of['gain']:.0%}"]


def _between(spread: Sequence[float] | None) -> str:
    return f" ({spread[0]:.1%} to {spread[1]:.1%})" if spread else ""


def _marked(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def _listed(seeds: Sequence[int]) -> str:
    return str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
