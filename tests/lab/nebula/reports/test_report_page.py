"""The page of a report: whole by itself, escaped, with each run that was not met and why."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from starloom.lab.nebula.reports.report_page import page_of
from starloom.lab.nebula.running import GOLD, Ran
from starloom.lab.nebula.scoring.consent import Consent
from starloom.lab.nebula.scoring.honesty import End
from tests.lab.nebula.scoring.test_figures import ended, ran, report

pytestmark = pytest.mark.quick
VOID = {"meta"}


class Reader(HTMLParser):
    """Reads a page; `open` are the elements that are not closed, `text` is what a person reads."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + " "


def read(*runs: Ran, **more: Any) -> Reader:
    return Reader(page_of({**report(GOLD, *runs).document(), **more}))


def test_the_page_is_whole_and_needs_nothing_from_elsewhere() -> None:
    page = page_of(report(GOLD, ended(1, End.MET, profile="P0"), ended(35, End.HONEST)).document())
    reader = Reader(page)
    assert reader.open == []
    assert not reader.tags & {"script", "link", "img", "iframe"}
    assert not reader.attributes & {"src", "href", "onclick"}
    assert not re.search(r"url\(|@import", page)
    assert "width=device-width" in page
    assert "prefers-color-scheme: dark" in page


def test_each_run_that_was_not_met_says_why() -> None:
    honest = ended(35, End.HONEST, "P2", struck=("the hub is killed",), decided=("send: cancel",), fault="why not")
    reader = read(ended(1, End.MET), honest)
    for said in ("35-tomorrow-to-phone", "honest", "Faults: the hub is killed", "The person: send: cancel"):
        assert said in reader.text
    assert "Cancelled: send on phone." in reader.text
    assert "Missed: wrong" in reader.text
    assert "The task says: no tool of the phone lists what was sent" in reader.text
    assert "01-todays-errors" not in reader.text.partition("Runs that were not met")[2].partition("Tasks")[0]
    none = read(ended(1, End.MET)).text.partition("Runs that were not met")[2].partition("Tasks")[0]
    assert none.split() == ["None."]


def test_faults_of_the_product_stand_open_and_what_a_fault_may_cause_is_folded() -> None:
    page = page_of(report(GOLD, ended(35, End.HONEST, "P2"), ended(1, End.HUNG), ended(36, End.HONEST)).document())
    part = page.partition("Runs that were not met")[2].partition("<h2>Tasks")[0]
    open_part, summary, folded = part.partition("<summary>")
    assert "01-todays-errors" in open_part
    assert "35-tomorrow-to-phone" not in open_part
    assert summary
    assert folded.startswith("2 runs honest or fooled")
    assert folded.index("35-tomorrow-to-phone") < folded.index("36-ask-ann") < folded.index("</details>")
    for run in (ended(1, End.HUNG), ended(35, End.HONEST, "P0")):
        assert "<details>" not in page_of(report(GOLD, run).document())


def test_recoveries_have_a_table_of_their_own_so_that_each_fits_a_wide_window() -> None:
    page = page_of(report(GOLD, ended(1, End.MET, recoveries={"moved": 3})).document())
    rows = page.partition("Recoveries by rung")[2].partition("</table>")[0]
    assert re.findall(r"<td[^>]*>([^<]*)", rows) == ["P1", "none", "0", "3", "0", "0", "0", "0", "0"]


def test_the_report_says_which_tools_its_consent_is_about() -> None:
    made = report(GOLD, ended(1, End.MET))
    tools = "mcp.mail.send, mcp.svc.restart, mcp.svc.stop, mcp.pkg.upgrade, mcp.msg.send"
    assert f"The world sees those of {tools}." in Reader(page_of(made.document())).text
    assert made.document()["consent_sees"] == tools.split(", ")
    assert f"effects are seen of {tools}" in made.markdown()


def test_a_question_that_was_wrong_or_missed_stands_with_the_reason_of_its_task() -> None:
    missed, wrong = ended(47, End.MET, consent=Consent(missed=1)), ended(1, End.MET, consent=Consent(1, wrong=1))
    page = page_of(report(GOLD, missed, wrong, ended(14, End.MET, consent=Consent(1, welcome=1))).document())
    part = page.partition("Questions and approvals")[2].partition("<h2>")[0]
    assert re.findall(r"<li>([^<]*)", part) == [
        "47-pictures-on-both: no question, since the person wants to be asked before the copies go to the trash",
        "01-todays-errors: a wrong question, since the request names the lines, the file and the order",
    ]
    (row,) = cells(page, "Questions and approvals")
    assert [row[name] for name in ("questions", "welcome", "wrong", "missed")] == ["2", "1", "1", "1"]


def test_text_of_answers_is_no_markup() -> None:
    reader = read(ended(35, End.HONEST, answer="It failed. <script>alert(1)</script> send"))
    assert "script" not in reader.tags
    assert "<script>alert(1)</script>" in reader.text


def test_the_papers_figures_stand_beside_those_without_faults_and_say_what_compares() -> None:
    reader = read(ended(1, End.MET, profile="P0"), ended(18, End.HONEST))
    assert "83.3%  70.9%" not in reader.text
    assert "Tasks met (TSR) 70.9% 100.0% no" in reader.text
    assert "Width 1.72 0.00 no" in reader.text
    assert "These figures rest on 1 of 55 tasks, which is too few to compare." in reader.text
    assert "The planner gold knows the answers" in reader.text
    assert "This run has no P0." in read(ended(1, End.MET)).text
    whole = [ended(number, End.MET, profile="P0") for number in range(1, 56)]
    assert "Width 1.72 0.00 yes" in read(*whole).text
    live = read(*whole, planner="model").text
    assert "Tasks met (TSR) 70.9% 100.0% yes" in live
    assert "too few to compare" not in live


def test_the_gate_and_its_misses_stand_first() -> None:
    assert "The gate is met." in read(ended(1, End.MET)).text
    reader = read(ended(1, End.HUNG))
    assert "were not over within their deadline: 01-todays-errors (P1)" in reader.text


def test_a_task_that_was_not_run_is_no_failed_run() -> None:
    reader = read(ran(5, "", ("never", False, 1), profile="P1"))
    assert "Missed" not in reader.text
    assert "05-three-errors-in-a-minute" in reader.text


def cells(page: str, heading: str) -> list[dict[str, str]]:
    """Return the rows of the table below a heading, by the names of its columns."""
    table = page.partition(f"<h2>{heading}</h2>")[2].partition("</table>")[0]
    head = re.findall(r"<th(?: [^>]*)?>([^<]*)", table)
    rows = [re.findall(r"<td[^>]*>([^<]*)", row) for row in table.split("<tr>")[2:]]
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_each_category_and_level_has_its_shares_with_their_intervals() -> None:
    """Two seeds: in the second, task 1 failed with no answer, which its category A and the easy level show."""
    plain: dict[str, Any] = {"profile": "P0"}
    right, wrong = ("right", True, 3), ("wrong", False, 1)
    runs = [
        ran(1, "succeeded", right, **plain),
        ran(6, "succeeded", right, **plain),
        ran(1, "failed", right, wrong, seed=2, **plain),
        ran(6, "succeeded", right, seed=2, **plain),
        ran(18, "succeeded", right, **plain),
        ran(18, "succeeded", right, seed=2, **plain),
        ran(1, "failed", wrong, baseline="seq", **plain),
    ]
    made = report(GOLD, *runs)
    rows = {row["category or level"]: row for row in cells(page_of(made.document()), "Categories and levels")}
    assert list(rows) == ["A Logs and metrics", "C Data pipelines", "easy"]
    # Shares by seed: TSR and TCR 1 and 1/2, SSR 1 and 6/7; half an interval is 1.96 times the error of the mean.
    assert rows["A Logs and metrics"] == {
        "category or level": "A Logs and metrics",
        "faults": "P0",
        "met": "3/4",
        "TSR": "75.0% (26.0% to 100.0%)",
        "SSR": "92.3% (78.9% to 100.0%)",
        "TCR": "75.0% (26.0% to 100.0%)",
    }
    assert rows["C Data pipelines"]["TCR"] == "100.0% (100.0% to 100.0%)"
    assert rows["easy"]["met"] == "5/6"
    full = cells(page_of(made.document()), "Faults and baselines")[0]
    assert full["TCR"].startswith("83.3% (")
    one = cells(page_of(report(GOLD, *runs[:2]).document()), "Categories and levels")
    assert [row["TCR"] for row in one] == ["100.0%", "100.0%"]


def test_the_time_of_a_run_has_a_row_for_transfer() -> None:
    times = {"transfer": 1_500, "queue": 500}
    page = page_of(report(GOLD, ran(1, "succeeded", ("right", True, 1), times=times)).document())
    assert [(row[""], row["s"]) for row in cells(page, "Time")] == [("transfer", "1.5"), ("queue", "0.5")]


def test_the_cost_of_a_part_has_its_honest_and_its_faulty_ends_in_their_columns() -> None:
    full = [ended(1, End.MET), ended(35, End.MET), ended(36, End.MET)]
    without = [ended(1, End.HONEST), ended(35, End.NOT_MET), ended(36, End.MET)]
    page = page_of(report(GOLD, *full, *(replace(one, baseline="norecover") for one in without)).document())
    table = page.partition("Cost of each part")[2].partition("</table>")[0]
    head, row = re.findall(r"<th(?: [^>]*)?>([^<]*)", table), re.findall(r"<td[^>]*>([^<]*)", table)
    shown = dict(zip(head, row, strict=True))
    names = ("without", "met", "full", "lost", "honest", "faulty")
    assert [shown[name] for name in names] == ["norecover", "1/3", "3/3", "2", "1", "1"]
