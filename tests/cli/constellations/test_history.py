"""`again fork undo replay blame audit` on a hub that answers as told; a copy of the record verifies without one."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from starloom.cli.constellations import history
from starloom.client.rest import Client
from starloom.edge.routes.people.activity import _line
from starloom.store.chain import BEGINNING, digest_of, link_of
from starloom.store.port import Ownership
from starloom.store.sql.history import past_of
from tests.cli.test_commands import StubHub
from tests.programs import command_line
from tests.store.memory_servers import kept_of
from tests.store.sample import commit, task

OWN = Ownership(incarnation=1, replaced=False, run_id="r", term=1, watermark=0)


def run(hub: StubHub, *words: str) -> Result:
    return CliRunner().invoke(command_line(), [*words, "--hub", hub.url])


def test_a_fork_says_where_it_begins_and_what_is_other(hub: StubHub) -> None:
    hub.answers["POST", "/constellations/c-1/fork"] = (202, {"id": "c-2", "state": "active", "version": 2})
    done = run(hub, "fork", "c-1", "--task", "b", "-i", "b.n=5", "-i", "b.word=go", "--confirm", "b")
    assert (done.exit_code, done.stdout) == (0, "c-2 is forked from c-1: active\n")
    assert hub.asked[-1][2] == {"from_task": "b", "inputs": {"b": {"n": 5, "word": "go"}}, "confirm": ["b"]}
    plan = {"name": "x", "plan_hash": "", "tasks": [], "effects": [], "warnings": [], "missing_grants": []}
    hub.answers["POST", "/constellations/c-1/fork"] = (200, {"id": "", "preview": plan})
    shown = run(hub, "fork", "c-1", "--task", "b", "--preview")
    assert (shown.exit_code, shown.stdout) == (0, "Nothing would run: every task keeps its result.\n")
    assert hub.asked[-1][2] == {"from_task": "b", "preview": True}
    assert run(hub, "fork", "c-1").exit_code == 2
    assert run(hub, "fork", "c-1", "--task", "b", "--version", "2").exit_code == 2
    assert run(hub, "fork", "c-1", "--task", "b", "-i", "n=5").exit_code == 2


def test_a_recipe_runs_again_with_some_other_values(hub: StubHub) -> None:
    kept = {"where": {"name": "nas"}, "top": 5}
    hub.answers["GET", "/constellations/c-1"] = (200, {"id": "c-1", "recipe": "largest-files", "params": kept})
    hub.answers["POST", "/constellations"] = (202, {"id": "c-2", "state": "active", "version": 1})
    assert run(hub, "again", "c-1", "--with", "top:=9", "--with", "folder=Papers").exit_code == 0
    (body,) = [body for method, _, body in hub.asked if method == "POST"]
    assert (body["recipe"], body["params"]) == ("largest-files", {**kept, "top": 9, "folder": "Papers"})
    assert run(hub, "again", "c-1", "--deadline", "2m").exit_code == 0
    assert [body.get("deadline_s") for method, _, body in hub.asked if method == "POST"] == [None, 120]


def test_a_run_in_words_is_asked_about_again_as_words_are(hub: StubHub) -> None:
    kept, words = {"folder": "Papers", "top": 5}, "sort my downloads"
    hub.answers["GET", "/constellations/c-1"] = (
        200,
        {"id": "c-1", "recipe": "sort-folder", "params": kept, "request": words},
    )
    hub.answers["POST", "/constellations"] = (202, {"id": "c-2", "state": "active", "version": 1})
    shown = {"recipe": "sort-folder", "params": {**kept, "top": 9}}
    hub.answers["POST", "/constellations/preview"] = (200, shown)
    assert run(hub, "again", "c-1", "--with", "top:=9", "--approve", "h9").exit_code == 0
    body = [body for method, path, body in hub.asked if (method, path) == ("POST", "/constellations")][-1]
    assert (body["request"], body.get("recipe"), body["params"]) == (words, None, {**kept, "top": 9})
    assert body["plan_hash"] == "h9"
    hub.answers["POST", "/constellations/preview"] = (200, {"recipe": "another", "params": {}})
    assert run(hub, "again", "c-1", "--with", "top:=9").exit_code == 0
    body = [body for method, path, body in hub.asked if (method, path) == ("POST", "/constellations")][-1]
    assert (body["recipe"], body.get("request"), body["hold"]) == ("sort-folder", None, True)


def test_a_run_of_no_recipe_has_no_values_to_change(hub: StubHub) -> None:
    hub.answers["GET", "/constellations/c-1"] = (200, {"id": "c-1", "recipe": None, "params": {}})
    done = run(hub, "again", "c-1")
    assert (done.exit_code, "starloom fork c-1" in done.output) == (2, True)
    assert [method for method, _, _ in hub.asked] == ["GET"]


def test_work_is_undone_or_an_edit_is(hub: StubHub) -> None:
    answer = {"version": 3, "undoing": ["b", "a"], "cannot_be_undone": ["look"]}
    hub.answers["POST", "/constellations/c-1/undo"] = (200, answer)
    done = run(hub, "undo", "c-1")
    assert done.stdout.splitlines() == [
        "c-1 undoes, in this order: b, a",
        "without a way back: look",
        "how many files went where, once it has ended: starloom result c-1",
    ]
    waiting = run(hub, "undo", "c-1", "--wait")
    assert ("GET", "/constellations/c-1/events") in [(method, path) for method, path, _ in hub.asked]
    assert waiting.exit_code != 0, "the stub has no events, so the wait ends without a result"
    hub.answers["POST", "/constellations/c-1/edits"] = (200, {"version": 4})
    assert run(hub, "undo", "c-1", "--version", "3").stdout == "version 3 of c-1 is taken back: version 4\n"
    assert hub.asked[-1][2]["operations"] == [{"undo": {"version": 3}}]
    assert run(hub, "undo", "c-1", "--version", "3", "--task", "a").exit_code == 2


def test_the_newest_work_of_a_person_is_undone(hub: StubHub) -> None:
    rows = [{"id": "c-3", "name": "look"}, {"id": "c-1", "name": "tidy"}]
    hub.answers["GET", "/constellations"] = (200, {"items": rows, "next": None})
    nothing = {"code": "illegal_control", "reason": "no finished task says how it is undone", "hint": ""}
    hub.answers["POST", "/constellations/c-3/undo"] = (409, nothing)
    hub.answers["POST", "/constellations/c-1/undo"] = (
        200,
        {"version": 3, "undoing": ["b", "a"], "cannot_be_undone": ["look"]},
    )
    asked = run(hub, "undo", "--of", "lo")
    assert asked.exit_code == 2
    assert "2 tasks of c-1" in asked.output
    assert "starloom undo --of lo --yes" in asked.output
    assert any("of=lo" in url for url in hub.urls)
    hub.answers["POST", "/constellations/c-1/undo"][1]["says"] = ["2 files of b: into the trash of nas"]
    shown = run(hub, "undo", "--of", "lo", "--preview")
    assert shown.stdout.splitlines() == [
        "c-1 would undo, in this order: b, a",
        "  2 files of b: into the trash of nas",
        "without a way back: look",
    ]
    assert all(body["preview"] for method, _, body in hub.asked if method == "POST")
    done = run(hub, "undo", "--of", "lo", "--yes")
    assert done.stdout.startswith("c-1 undoes, in this order: b, a")
    assert hub.asked[-1][2] == {"tasks": [], "reason": ""}
    assert run(hub, "undo", "c-1", "--preview").stdout.startswith("c-1 would undo")
    assert run(hub, "undo", "c-1", "--of", "lo").exit_code == 2
    hub.answers["POST", "/constellations/c-1/undo"] = (409, nothing)
    assert "nothing that lo asked for last can be undone" in run(hub, "undo", "--of", "lo").output


class AtATerminal:
    """The module `sys` of a command whose input is a terminal."""

    stdin = SimpleNamespace(isatty=lambda: True)

    def __getattr__(self, name: str) -> Any:
        return getattr(sys, name)


def test_at_a_terminal_the_newest_work_is_shown_before_it_is_undone(
    hub: StubHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.answers["GET", "/constellations"] = (200, {"items": [{"id": "c-1", "name": "tidy"}], "next": None})
    hub.answers["GET", "/constellations/c-1"] = (200, {"id": "c-1", "name": "tidy", "tasks": []})
    undone = {"version": 3, "undoing": ["b"], "cannot_be_undone": [], "says": ["2 files of b: into the trash of nas"]}
    hub.answers["POST", "/constellations/c-1/undo"] = (200, undone)
    monkeypatch.setattr(history, "sys", AtATerminal())
    questions: list[str] = []
    monkeypatch.setattr("typer.confirm", lambda question, **_: questions.append(question))
    shown = run(hub, "undo")
    assert "2 files of b: into the trash of nas" in shown.stdout
    assert shown.stdout.endswith("Nothing was undone.\n")
    assert questions == ["Undo 1 task of tidy?"]
    assert [body.get("preview") for method, _, body in hub.asked if method == "POST"] == [True]
    for named in (("undo", "c-1"), ("undo", "--yes")):
        assert run(hub, *named).stdout.startswith("c-1 undoes, in this order: b")
    assert len(questions) == 1, "one that was named is not asked about"


@pytest.mark.parametrize("same", [True, False])
def test_a_replay_ends_with_what_it_found(hub: StubHub, same: bool) -> None:
    difference = {
        "pos": 4,
        "stream": "c-1",
        "seq": 3,
        "input": "ResultReported",
        "logged": "task_failed a",
        "decided": "task_succeeded a",
    }
    found: dict[str, Any] = {
        "same": same,
        "events": 9,
        "inputs": 4,
        "first_pos": 1,
        "last_pos": 7,
        "note": "",
        "differences": [] if same else [difference],
    }
    hub.answers["GET", "/constellations/c-1/replay"] = (200, found)
    done = run(hub, "replay", "c-1")
    assert done.exit_code == (0 if same else 1)
    assert ("Every step came out the same." in done.stdout) == same
    assert ("logged:  task_failed a" in done.stdout) != same
    assert ("before an upgrade" in done.stdout and "starloom audit verify" in done.stdout) != same


def test_blame_prints_who_and_why(hub: StubHub) -> None:
    line = {"version": 2, "author": "person:ann", "reason": "a second look", "trigger": "edit"}
    hub.answers["GET", "/constellations/c-1/blame"] = (
        200,
        {"items": [{"id": "b", "kind": "task", "added": line, "changed": []}]},
    )
    assert run(hub, "blame", "b", "c-1").stdout == "b\n  added in version 2 by ann: a second look\n"
    hub.answers["GET", "/constellations/c-1/blame"] = (200, {"items": []})
    assert run(hub, "blame", "x", "c-1").exit_code == 2


def copy(path: Path) -> str:
    """A copy of four commits as the hub writes it; returns its anchor."""
    link, lines = BEGINNING, []
    for pos in range(1, 5):
        past = past_of(commit(OWN, pos, [("c1", pos, {"task/a": task("ready")})]))
        link = link_of(link, digest_of(past))
        lines.append(_line(kept_of(past, link)))
    path.write_bytes(b"".join(lines))
    return f"4:{link.hex()}"


def test_a_copy_of_the_record_is_for_its_owner_alone_and_replaces_nothing(
    hub: StubHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "record.ndjson"
    monkeypatch.setattr(Client, "stream", lambda *_: iter([b"{}\n{}", b"\n"]))
    done = run(hub, "audit", "export", str(file))
    assert (done.exit_code, done.stdout) == (0, f"2 commits copied to {file}\n")
    assert (file.read_bytes(), file.stat().st_mode & 0o077) == (b"{}\n{}\n", 0)
    assert run(hub, "audit", "export", str(file)).exit_code != 0
    assert file.read_bytes() == b"{}\n{}\n"


def test_a_copy_verifies_without_a_hub_and_shows_what_was_changed(hub: StubHub, tmp_path: Path) -> None:
    file = tmp_path / "record.ndjson"
    anchor = copy(file)
    done = run(hub, "audit", "verify", "-f", str(file), "--anchor", anchor)
    assert (done.exit_code, done.stdout.splitlines()) == (
        0,
        ["The record is whole: 4 commits, 4 events.", f"anchor {anchor}"],
    )
    lines = file.read_text().splitlines()
    file.write_text("\n".join([lines[0], lines[1].replace("engine", "enginE"), *lines[2:]]))
    assert "commit 2: it is not what was chained here" in run(hub, "audit", "verify", "-f", str(file)).stdout
    file.write_text("\n".join([lines[0], *lines[2:]]))
    gone = run(hub, "audit", "verify", "-f", str(file), "--json")
    assert (gone.exit_code, json.loads(gone.stdout)["breaks"][0]["pos"]) == (1, 3)
    false = f"4:{'00' * 32}"
    assert run(hub, "audit", "verify", "-f", str(file), "--anchor", false).exit_code == 1
    assert run(hub, "audit", "verify", "-f", str(file), "--anchor", false, "--anchor", anchor).exit_code == 1
    for no_anchor in ("00" * 32, "x:00", f"0:{'00' * 32}"):
        assert "POS:LINK" in run(hub, "audit", "verify", "-f", str(file), "--anchor", no_anchor).stderr
    assert hub.asked == []
