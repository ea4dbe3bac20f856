"""`artifacts get` takes the beginning of a hash that an answer shows, and lists what else begins so."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.test_commands import StubHub, starloom

SHEET = hashlib.sha256(b'"sheet"').hexdigest()
ROW = {"state": "succeeded", "request": "back up my pictures", "name": "Photo backup"}


@pytest.fixture
def hub(hub: StubHub) -> StubHub:
    rows = [{**ROW, "id": "c-one"}, {**ROW, "id": "c-two"}, {**ROW, "id": "c-gone"}]
    hub.answers["GET", "/constellations"] = (200, {"items": rows, "next": None})
    hub.answers["GET", "/constellations/c-one/result"] = (200, {"items": [{"title": "Sheet", "artifact": SHEET}]})
    hub.answers["GET", "/constellations/c-two/result"] = (200, {"items": [{"title": "A", "value": {"file": SHEET}}]})
    hub.answers["GET", f"/artifacts/{SHEET}"] = (200, "sheet")
    return hub


def test_the_beginning_of_a_hash_is_enough(hub: StubHub, tmp_path: Path) -> None:
    target = tmp_path / "sheet.html"
    assert starloom(hub, "artifacts", "get", SHEET[:8].upper(), str(target))[0] == 0
    assert target.read_bytes() == b'"sheet"'


def test_more_than_one_match_is_refused_with_the_list(hub: StubHub, tmp_path: Path) -> None:
    other = SHEET[:12] + "0" * 52
    hub.answers["GET", "/constellations/c-two/result"] = (200, {"items": [{"title": "A", "artifact": other}]})
    code, said = starloom(hub, "artifacts", "get", SHEET[:12], str(tmp_path / "x"))
    assert code == 2
    assert f"2 files begin with {SHEET[:12]}" in said
    assert f"{SHEET} of Photo backup (c-one)" in said
    assert f"{other} of Photo backup (c-two)" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("given", ["1234567", "0" * 65, "sheet.html", "0123456g"])
def test_what_is_no_hash_is_said(hub: StubHub, tmp_path: Path, given: str) -> None:
    code, said = starloom(hub, "artifacts", "get", given, str(tmp_path / "x"))
    assert (code, f"{given} is neither a SHA-256" in said) == (2, True)


def test_a_beginning_that_no_answer_names_is_told(hub: StubHub, tmp_path: Path) -> None:
    code, said = starloom(hub, "artifacts", "get", "0" * 12, str(tmp_path / "x"))
    assert (code, "no answer of the newest 100 constellations names a file" in said) == (2, True)
