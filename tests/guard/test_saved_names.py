"""What a device says of its file keeps no answer back: a name that no disk takes (T235), a size that is none (T256).

Nor do figures that are no dates or beyond all floats keep back an answer, a question (T261) or what a model makes of
them (T262).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from starloom.cli.text.shown_text import shown_lines, with_times
from starloom.planner.model.conversations.evidence import Evidence
from tests.cli.test_commands import StubHub, hub, starloom

__all__ = ["hub"]

BYTES = hashlib.sha256(b'"x"').hexdigest()
LONG = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 300


def answered(hub: StubHub, items: Sequence[Mapping[str, object]]) -> None:
    """Let a constellation have ended with these items, whose one artifact the hub has."""
    answer = {"state": "final", "sentence": "Done.", "items": items, "constellation_state": "succeeded"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    hub.answers["GET", f"/artifacts/{BYTES}"] = (200, "x")


@pytest.mark.parametrize("name", [LONG, f"{LONG}.pdf", f"a.{LONG}", f"../{LONG}.txt"])
def test_t235_a_name_of_a_device_keeps_no_file_of_an_answer_back(hub: StubHub, tmp_path: Path, name: str) -> None:
    file = {"artifact": BYTES, "bytes": 3, "media": "application/pdf", "name": name}
    theirs = {"title": "Theirs", "value": file}
    answered(hub, [theirs, theirs, {"title": "Mine", "value": "text"}])
    folder = tmp_path / "out"
    code, said = starloom(hub, "result", "c-1", "--save", str(folder))
    assert code == 0, said
    saved = sorted(path.name for path in folder.iterdir())
    assert len(saved) == 3
    assert "Mine.txt" in saved
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_the_files_that_a_value_names_are_saved_beside_it(hub: StubHub, tmp_path: Path) -> None:
    def file(**more: object) -> dict[str, object]:
        return {"artifact": BYTES, "bytes": 3, **more}

    value = {
        "catalogue": file(media="text/csv"),
        "rows": [file(name="a.jpg"), file(name="../a.jpg"), file(name="a.jpg")],
        "gone": {"artifact": "0" * 64, "name": "gone.jpg"},
        "word": {"artifact": "clay"},
    }
    answered(hub, [{"title": "Sheet", "value": value}, {"title": "Mine", "value": "text"}])
    folder = tmp_path / "out"
    code, said = starloom(hub, "result", "c-1", "--save", str(folder))
    assert code == 0, said
    saved = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert saved == {"Mine.txt", "Sheet.json", "Sheet/a-2.jpg", "Sheet/a.jpg", "Sheet/catalogue.csv"}
    assert "gone.jpg is not saved: " in said
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("size", ["x", None, [1], {}, "9" * 5_000, -1, 10**300, True])
@pytest.mark.parametrize("save", [True, False], ids=["saved", "shown"])
def test_t256_a_lie_about_a_size_keeps_no_answer_back(hub: StubHub, tmp_path: Path, size: object, save: bool) -> None:
    file = {"artifact": BYTES, "bytes": size, "name": "theirs"}
    items = [{"title": "Theirs", "value": file}, {"title": "Mine", "value": "my own words"}]
    answer = {"state": "final", "sentence": "Done.", "items": items, "constellation_state": "succeeded"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    hub.answers["GET", f"/artifacts/{BYTES}"] = (200, "x")
    code, said = starloom(hub, "result", "c-1", *(["--save", str(tmp_path / "out")] if save else []))
    assert (code, "my own words" in said) == (0, True), said


LAST = 253_402_300_799
"""The end of the year 9999 in UTC; east of it, it is the year 10000, which Python does not know."""
FIGURES = [10**400, -(10**400), LAST, -LAST, LAST * 1000, 1e308]


@pytest.fixture
def east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The clock of a place whose day is ahead of UTC."""
    monkeypatch.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("show", ["bytes", "percent", "duration", "date", "moment", "moment_ms"])
def test_t261_no_figure_of_a_device_keeps_an_answer_back(hub: StubHub, east: None, show: str, figure: float) -> None:
    columns = [{"field": "x", "show": show}, {"field": "name"}]
    table = {"columns": columns, "rows": [[figure, "theirs"]]}
    items = [{"title": "Theirs", "value": table}, {"title": "Mine", "value": "my own words"}]
    answer = {"state": "final", "sentence": "Done.", "items": items, "constellation_state": "succeeded"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    code, said = starloom(hub, "result", "c-1")
    assert (code, "my own words" in said) == (0, True), said


@pytest.mark.parametrize("figure", FIGURES)
def test_t261_no_time_of_a_device_keeps_a_question_back(east: None, figure: float) -> None:
    rows = [{"path": "theirs", "mtime_s": figure}]
    assert "theirs" in "\n".join(shown_lines("look", "/files", rows, 0))
    assert with_times(rows)[0]["path"] == "theirs"


def test_t262_no_figure_of_a_device_keeps_a_model_from_its_answer() -> None:
    evidence = Evidence()
    evidence.add([*FIGURES, 7, "theirs"])
    assert {7.0, 1e308} < evidence.numbers
