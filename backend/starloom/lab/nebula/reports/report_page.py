"""`report.html`: the report of a run as one page without a script and without a file from elsewhere. Pure.

It shows what `report.json` has and computes no figure of its own. All text of tasks and answers is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from starloom.lab.nebula.faults.profiles import NONE as NO_FAULT
from starloom.lab.nebula.faults.profiles import PROFILES
from starloom.lab.nebula.planners.baselines import WORDS
from starloom.lab.nebula.reports.costs import COST_HEAD
from starloom.lab.nebula.scoring.honesty import End
from starloom.lab.nebula.task import CATEGORIES, LEVELS
from starloom_protocol.text.wording import counted

Document = Mapping[str, Any]
LIVE: Final = "model"
"""The planner whose SSR and TSR may stand beside those of the paper."""
SUITE_TASKS: Final = 55
"""The tasks of the paper's NebulaBench: figures of fewer do not stand beside its own."""
FINE: Final = (End.MET, End.NOT_RUN)
_ENDS: Final = ("honest", "fooled", "not met", "hung", "false done", "not run")
"""The ends that the table of faults has beside those that were met."""
BAD: Final = ("not met", "hung", "false done", "doubled")
NO_BASELINE: Final = "none"
_ORDER: Final = (*CATEGORIES, *LEVELS)

_STYLE: Final = """
:root { color-scheme: light dark; --line: #8884; --good: #1a7f37; --bad: #c62828; --soft: #9a6700; }
@media (prefers-color-scheme: dark) { :root { --good: #4ac26b; --bad: #ff7b72; --soft: #d4a72c; } }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border-bottom: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top; }
td.n, th.n { text-align: right; } td.n { white-space: nowrap; }
summary { cursor: pointer; padding: .6rem 0; }
.good { color: var(--good); } .bad { color: var(--bad); } .soft { color: var(--soft); }
article { border-top: 1px solid var(--line); padding: .6rem 0; } article p { margin: .2rem 0; }
"""


def page_of(document: Document) -> str:
    """Return the page of a report, given as `report.json` has it."""
    title = f"Nebula suite, {document['id']}"
    bad = [run for run in document["runs"] if run["end"] not in FINE]
    parts = [
        f"<h1>{escape(title)}</h1>",
        *_gate(document),
        _model(document),
        *_replay(document),
        "<h2>Beside the paper</h2>",
        _beside_the_paper(document),
        "<h2>Faults and baselines</h2>",
        _conditions(document),
        "<h2>Recoveries by rung</h2>",
        _recoveries(document),
        *_costs(document),
        "<h2>Questions and approvals</h2>",
        _consent(document),
        "<h2>Time</h2>",
        _times(document),
        "<h2>Categories</h2>",
        _categories(document),
        "<h2>Categories and levels</h2>",
        _parts(document),
        "<h2>Runs that were not met</h2>",
        *_not_met(bad, document["declared"]),
        "<h2>Tasks</h2>",
        _tasks(document),
    ]
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
        *parts,
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _gate(document: Document) -> list[str]:
    planner = " ".join(part for part in (document["planner"], document["kind"]) if part)
    seeds = ", ".join(str(seed) for seed in document["seeds"])
    about = f"Planner {planner}, faults {document['faults']}, seeds {seeds}, {document['took_s']:.0f} s."
    if not document["misses"]:
        return [f"<p>{escape(about)}</p>", '<p class="good">The gate is met.</p>']
    misses = "".join(f"<li>{escape(miss)}</li>" for miss in document["misses"])
    return [f"<p>{escape(about)}</p>", '<p class="bad">The gate is not met:</p>', f"<ul>{misses}</ul>"]


def _model(document: Document) -> str:
    """Return what a live model has used; nothing where none was asked."""
    if document["planner"] != LIVE:
        return ""
    used = document["model"]
    money = f"{used['dollars']:.4f} dollars" if used["price_known"] else "at a price that is not known here"
    words = (
        f"{used['calls']} calls, {used['input_tokens']:,} tokens read ({used['cached_tokens']:,} of them kept from "
        f"before) and {used['output_tokens']:,} written, {money}, {used['took_s']:.0f} s."
    )
    return f"<p>The model: {escape(words)}</p>"


def _replay(document: Document) -> list[str]:
    """Return how many prompts of a replay are the recorded ones, and each that differs; nothing where none was."""
    replay = document["replay"]
    if not replay["prompts"]:
        return []
    accepted = " The differing ones are accepted." if replay["differ"] and replay["accepted"] else ""
    head = f"Replay: {replay['prompts'] - replay['differ']} of {replay['prompts']} prompts are the recorded ones."
    listed = [(run["task"], words) for run in document["runs"] for words in run["differs"]]
    lines = "".join(f"<li>{escape(task)}, {escape(words)}</li>" for task, words in listed)
    return [f"<p>{escape(head + accepted)}</p>", *([f"<ul>{lines}</ul>"] if lines else [])]


def _beside_the_paper(document: Document) -> str:
    """Return the four figures of the paper beside those of P0, and the sentence about which may be compared."""
    plain = next((row for row in document["profiles"] if row["profile"] == "P0" and not row["baseline"]), None)
    paper, mine = document["paper"], plain or {}
    other = bool(document["replay"]["differ"])
    live = document["planner"] == LIVE and not other
    tasks = len({run["task"] for run in document["runs"] if run["profile"] == "P0"})
    whole = tasks >= SUITE_TASKS
    rows = [
        ("Subtasks met (SSR)", _share(paper["ssr"]), _share(mine.get("ssr")), _yes(live and whole)),
        ("Tasks met (TSR)", _share(paper["tsr"]), _share(mine.get("tsr")), _yes(live and whole)),
        ("Width", f"{paper['width']:.2f}", _number(mine.get("width")), _yes(whole)),
        ("Gain over one at a time", _share(paper["gain"]), _share(mine.get("gain")), _yes(whole)),
    ]
    words = "SSR and TSR of the paper compare with those of a live model under P0 alone."
    if other:
        words += " The prompts of this replay are not the recorded ones, so that it compares with nothing."
    elif not live:
        words += f" The planner {document['planner']} knows the answers, so that its SSR and TSR are no accuracy."
    if plain is None:
        words += " This run has no P0."
    elif not whole:
        words += f" These figures rest on {tasks} of {SUITE_TASKS} tasks, which is too few to compare."
    return _table(["", "paper", "here, P0", "compares"], rows) + f"<p>{escape(words)}</p>"


def _conditions(document: Document) -> str:
    head = ["faults", "baseline", "struck", "met", *_ENDS, "doubled effects", "TSR", "SSR", "TCR"]
    rows = []
    for row in document["profiles"]:
        ends, spreads = row["ends"], row["intervals_95"]
        rows.append(
            (
                row["profile"],
                row["baseline"] or NO_BASELINE,
                str(row["struck"]),
                f"{ends['met']}/{row['runs']}",
                *(str(ends[name]) for name in _ENDS),
                str(row["doubled"]),
                _share(row["tsr"]) + _between(spreads["tsr"]),
                _share(row["ssr"]) + _between(spreads["ssr"]),
                _share(row["tcr"]) + _between(spreads["tcr"]),
            )
        )
    note = (
        "Struck: runs in which a fault came before the end. "
        "Honest: not met, and the answer names what is missing. Fooled: a tool said yes and did nothing, and the task "
        "declares that nothing it may look at shows that. Not run: no plan can say it yet. "
        "An interval is that of 95 % over the seeds."
    )
    profiles = dict.fromkeys(row["profile"] for row in document["profiles"])
    baselines = dict.fromkeys(row["baseline"] for row in document["profiles"] if row["baseline"])
    words = [f"{name}: {PROFILES[name]}." for name in profiles] + [f"{name}: {WORDS[name]}." for name in baselines]
    listed = "".join(f"<li>{escape(word)}</li>" for word in words)
    return _table(head, rows, text_columns=2) + f"<ul>{listed}</ul><p>{escape(note)}</p>"


def _recoveries(document: Document) -> str:
    """Return how many failures were mended, by the rung of the ladder, for each profile and baseline."""
    rungs = list(document["totals"]["recoveries"])
    rows = [
        (row["profile"], row["baseline"] or NO_BASELINE, *(str(row["recoveries"][rung]) for rung in rungs))
        for row in document["profiles"]
    ]
    return _table(["faults", "baseline", *rungs], rows, text_columns=2)


def _costs(document: Document) -> list[str]:
    """Return what each ablation and baseline costs beside the full run; nothing where there is none."""
    if not document["costs"]:
        return []
    rows = [
        (
            row["profile"],
            row["name"],
            f"{row['met']}/{row['runs']}",
            f"{row['met_full']}/{row['runs']}",
            str(row["lost"]),
            str(row["honest"]),
            str(row["faulty"]),
            f"{row['time_s']:.1f}",
            f"{row['time_full_s']:.1f}",
            f"{row['slower']:+.0%}",
            str(row["attempts"] - row["attempts_full"]),
            str(row["tokens"] - row["tokens_full"]),
        )
        for row in document["costs"]
    ]
    note = (
        "Over the tasks and seeds that both have. Times are those of the tasks that were met in both. Lost: met by the "
        "full product and not without this part. Honest: not met, and the answer names what is missing, or fooled as "
        "declared. Faulty: not met in any other way."
    )
    head = ["faults", *COST_HEAD]
    return ["<h2>Cost of each part</h2>", _table(head, rows, text_columns=2), f"<p>{escape(note)}</p>"]


def _consent(document: Document) -> str:
    """Return what the person was asked, for each profile and baseline, and the effects that nobody had approved."""
    names = (
        *("questions", "questions_needed", "questions_welcome", "questions_wrong", "questions_missed"),
        *("approvals", "approvals_needed", "beyond"),
    )
    rows = [
        (row["profile"], row["baseline"] or NO_BASELINE, *(str(row[name]) for name in names))
        for row in document["profiles"]
    ]
    questions = ["questions", "needed", "welcome", "wrong", "missed"]
    head = ["faults", "baseline", *questions, "approvals", "needed", "effects beyond"]
    note = (
        "A task says whether a question is needed, welcome or wrong, and why; an approval is needed where it is about "
        "more than reading. Beyond: calls that no approval covers by tool, device, arguments, time; must be 0. "
        f"The world sees those of {', '.join(document['consent_sees'])}. Other tools leave no line in its log: the "
        "checkpoints judge the files that they change, and nothing judges whether their calls were approved."
    )
    return _table(head, rows, text_columns=2) + f"<p>{escape(note)}</p>{_odd_questions(document)}"


def _odd_questions(document: Document) -> str:
    """Return the questions that were wrong or missed, each with the reason that its task has."""
    questions = dict.fromkeys(
        f"{run['task']}: {amiss}, since {run['ask']['why']}"
        for run in document["runs"]
        for amiss, name in (("a wrong question", "wrong"), ("no question", "missed"))
        if run["consent"][name] and run["state"]
    )
    listed = "".join(f"<li>{escape(text)}</li>" for text in questions)
    return f"<ul>{listed}</ul>" if listed else ""


def _times(document: Document) -> str:
    """Return the time of all runs by what they waited for, the longest first."""
    wall, listed = document["totals"]["wall_s"], document["totals"]["times_s"].items()
    rows = [
        (name, f"{seconds:.1f}", _share(seconds / wall if wall else None))
        for name, seconds in sorted(listed, key=lambda one: -one[1])
    ]
    note = (
        "Planning is the time until the first version of a plan; starting is that between the choice of a device and "
        "the begin there, in which inputs are sent; transfer is the time in which at least one artifact.put or "
        "artifact.get ran, while inputs that a call fetches itself are a part of its work; each other row is the time "
        "in which at least one task waited so."
    )
    return _table(["", "s", "of the wall clock"], rows) + f"<p>{escape(note)}</p>"


def _categories(document: Document) -> str:
    """Return the tasks that were met, by category and profile, of the full product."""
    profiles = list(dict.fromkeys(row["profile"] for row in document["profiles"]))
    rows = []
    for key, name in CATEGORIES.items():
        mine = [run for run in document["runs"] if run["category"] == key and not run["baseline"]]
        if mine:
            met = [[run["success"] for run in mine if run["profile"] == profile] for profile in profiles]
            rows.append((f"{key} {name}", *(f"{sum(some)}/{len(some)}" for some in met)))
    return _table(["category", *profiles], rows, text_columns=1)


def _parts(document: Document) -> str:
    """Return the shares of each category and level under each profile, with their intervals."""
    rows = []
    for row in sorted(document["parts"], key=lambda one: (one["by"], _ORDER.index(one["part"]))):
        names = CATEGORIES if row["by"] == "category" else LEVELS
        name = f"{row['part']} {names[row['part']]}" if row["by"] == "category" else names[row["part"]]
        shares = (_share(row[share]) + _between(row["intervals_95"][share]) for share in ("tsr", "ssr", "tcr"))
        rows.append((name, row["profile"], f"{row['success']}/{row['runs']}", *shares))
    note = (
        "Of the full product, without baselines. TCR: tasks that ended with an answer and were not cancelled. An "
        "interval is that of 95 % over the seeds; one seed has none."
    )
    head = ["category or level", "faults", "met", "TSR", "SSR", "TCR"]
    return _table(head, rows, text_columns=2) + f"<p>{escape(note)}</p>"


def _not_met(runs: Sequence[Document], declared: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the runs that were not met: faults of the product first, those that end as they may folded."""
    bad = [_reasons(run, declared) for run in runs if _is_bad(run)]
    allowed = [_reasons(run, declared) for run in runs if not _is_bad(run)]
    if not allowed:
        return bad or ["<p>None.</p>"]
    count = counted(len(allowed), "run")
    head = f"<details><summary>{count} honest or fooled, which a fault may cause</summary>"
    return [*bad, head, *allowed, "</details>"]


def _is_bad(run: Document) -> bool:
    """Tell whether an end is a fault of the product: where nothing breaks, any that is not met."""
    return run["end"] in BAD or (run["profile"] == NO_FAULT and not run["baseline"])


def _reasons(run: Document, declared: Mapping[str, Mapping[str, str]]) -> str:
    """Return one run with its reason."""
    kind = "bad" if _is_bad(run) else "soft"
    where = " ".join(part for part in (run["profile"], run["baseline"], f"seed {run['seed']}") if part)
    missed = "; ".join(point["name"] for point in run["points"] if not point["met"])
    why = declared.get(run["task"], {}).get(run["profile"], "")
    lines = [
        ("Faults", "; ".join(run["struck"])),
        ("The person", "; ".join(run["decided"])),
        ("The answer", run["answer"]),
        ("Missed", missed),
        ("Also", run["fault"]),
        ("The task says", why),
    ]
    texts = "".join(f"<p>{escape(name)}: {escape(text)}</p>" for name, text in lines if text)
    head = f"<strong>{escape(run['task'])}</strong> {escape(where)}: "
    return f'<article>{head}<span class="{kind}">{escape(run["end"])}</span> ({escape(run["state"])}){texts}</article>'


def _tasks(document: Document) -> str:
    live = document["planner"] == LIVE
    head = ["task", "faults", "seed", "end", "points", "s", "width", "work/path", "gain"]
    head += ["tokens", "dollars", "model s"] if live else []
    rows: list[tuple[str, ...]] = []
    for run in document["runs"]:
        figures, points = run["figures"], run["points"]
        met = sum(point["weight"] for point in points if point["met"])
        rows.append(
            (
                run["task"],
                " ".join(part for part in (run["profile"], run["baseline"]) if part),
                str(run["seed"]),
                run["end"],
                f"{met}/{sum(point['weight'] for point in points)}",
                f"{figures['wall_ms'] / 1000:.1f}",
                f"{figures['width']:.2f}",
                f"{figures['parallelism']:.2f}",
                _share(figures["gain"]),
                *(_of_the_model(run["model"]) if live else ()),
            )
        )
    return _table(head, rows, text_columns=2)


def _of_the_model(used: Document) -> tuple[str, str, str]:
    tokens = used["input_tokens"] + used["output_tokens"]
    return f"{tokens:,}", f"{used['dollars']:.4f}", f"{used['took_s']:.0f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, text_columns: int = 1) -> str:
    """Return a table with a scroll bar of its own on a narrow screen."""

    def line(cells: Sequence[str], tag: str) -> str:
        cells_html = (
            f"<{tag}{' class=n' if number >= text_columns else ''}>{escape(cell)}</{tag}>"
            for number, cell in enumerate(cells)
        )
        return f"<tr>{''.join(cells_html)}</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f'<div class="wide"><table><thead>{line(head, "th")}</thead><tbody>{body}</tbody></table></div>'


def _between(spread: Sequence[float] | None) -> str:
    return f" ({_share(spread[0])} to {_share(spread[1])})" if spread else ""


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _yes(so: bool) -> str:
    return "yes" if so else "no"
