from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from starloom.client.terminal.style import clock
from starloom.client.terminal.typed import typed
from starloom_protocol.records.entities import Head, TaskRecord
from starloom_protocol.records.run_report import Phase, RecipeTrend, RunReport, ScheduleTrend, TrendRun
from starloom_protocol.stream.feed import encode_event
from starloom_protocol.vocabulary import Attention, ConstellationState, TaskState
from tests.cli.events import CONSTELLATION, Log
from tests.cli.text.test_report_text import FULL
from tests.client.whole import whole
from tests.programs import command_line

Answer = tuple[int, Any]


SOME_ID = "c-" + "2" * 20


class StubHub:
    """An HTTP server that answers as told and keeps what it was asked."""

    def __init__(self) -> None:
        self.answers: dict[tuple[str, str], Answer] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.urls: list[str] = []
        self.keys: list[str | None] = []
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                path = self.path.partition("?")[0].removeprefix("/api/v1")
                stub.asked.append((self.command, path, body))
                stub.urls.append(self.path)
                stub.keys.append(self.headers.get("Idempotency-Key"))
                missing = (404, {"title": "It does not exist", "code": "not_found", "hint": "Look again."})
                status, document = stub.answers.get((self.command, path), missing)
                if status < 300:
                    document = whole(self.command, path, document)
                raw = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def hub() -> Iterator[StubHub]:
    made = StubHub()
    yield made
    made.close()


def starloom(hub: StubHub, *words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command_line(), [*words, "--hub", hub.url])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


NEWEST = ("GET", "/constellations")


def test_without_an_id_the_newest_is_meant(hub: StubHub) -> None:
    hub.answers[NEWEST] = (200, {"items": [{"id": "c-new"}], "next": None})
    hub.answers["POST", "/constellations/c-new/pause"] = (200, {"id": "c-new", "state": "paused"})
    code, said = starloom(hub, "pause", "--reason", "lunch")
    assert code == 0
    assert "paused" in said
    assert hub.asked[-1] == ("POST", "/constellations/c-new/pause", {"reason": "lunch"})


def test_without_an_id_the_runs_of_a_schedule_are_passed_over(hub: StubHub) -> None:
    """With a schedule each minute, the newest was never the one that a person had just begun."""
    rows = [{"id": "c-fired", "schedule": "s-1"}, {"id": "c-mine", "name": "Fleet health", "schedule": None}]
    hub.answers[NEWEST] = (200, {"items": rows, "next": None})
    hub.answers["POST", "/constellations/c-mine/pause"] = (200, {"id": "c-mine", "state": "paused"})
    code, said = starloom(hub, "pause")
    assert code == 0
    assert "Fleet health (c-mine), your newest" in said
    hub.answers[NEWEST] = (200, {"items": rows[:1], "next": None})
    hub.answers["POST", "/constellations/c-fired/pause"] = (200, {"id": "c-fired", "state": "paused"})
    assert starloom(hub, "pause")[0] == 0


def test_the_list_says_which_one_is_meant_without_an_id(hub: StubHub) -> None:
    row = {"state": "succeeded", "version": 1, "created_at": "2026-11-28T09:00:00Z", "request": ""}
    fired = {**row, "id": "c-fired", "name": "Nightly", "schedule": "s-1", "alarm": True}
    mine = {**row, "id": "c-mine", "name": "Fleet health", "schedule": None}
    hub.answers[NEWEST] = (200, {"items": [fired, mine], "next": None})
    said = starloom(hub, "ls")[1]
    assert "Nightly (by a schedule)" in said
    assert said.count("succeeded, alarm") == 1
    assert "Commands without an ID mean c-mine, your newest." in said
    hub.answers[NEWEST] = (200, {"items": [mine, fired], "next": None})
    assert "without an ID" not in starloom(hub, "ls")[1]
    assert "without an ID" not in starloom(hub, "ls", "--state", "failed")[1]


def test_the_list_says_what_runs_beside_a_question(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    row = {"state": "active", "version": 1, "created_at": "2026-11-28T09:00:00Z", "request": "", "schedule": None}
    rows = [
        {**row, "id": "c-both", "name": "Sweep", "attention": ["task_unknown"], "running": 2},
        {**row, "id": "c-waits", "name": "Gate", "attention": ["question_open"], "running": 0},
        {**row, "id": "c-older", "name": "Older", "attention": ["question_open"]},
        {**row, "id": "c-long", "name": "Long", "attention": ["takes_long"], "running": 1},
    ]
    hub.answers[NEWEST] = (200, {"items": rows, "next": None})
    lines = {line.split()[0]: " ".join(line.split()[1:]) for line in starloom(hub, "ls")[1].splitlines()}
    assert lines["c-both"].startswith("active, 2 running, waits for you: task unknown ")
    assert lines["c-waits"].startswith("active, question open ")
    assert lines["c-older"].startswith("active, question open ")
    assert lines["c-long"].startswith("active, takes long ")


def test_the_list_says_that_a_run_waits_for_a_tap(hub: StubHub) -> None:
    row = {"version": 1, "created_at": "2026-11-28T09:00:00Z", "request": "", "id": "c-1", "name": "Picture"}
    row |= {"state": "active", "attention": ["waits_for_a_tap"]}
    hub.answers[NEWEST] = (200, {"items": [row], "next": None})
    why = {"attention": [{"reason": "waits_for_a_tap", "sentence": "take waits for a tap on pixel."}], "items": []}
    hub.answers["GET", "/constellations/c-1/why"] = (200, {**why, "more": 0})
    said = " ".join(starloom(hub, "ls")[1].split())
    assert "active, waits for a tap" in said
    assert "c-1: take waits for a tap on pixel." in said


def test_an_agent_that_is_older_than_its_hub_is_named(hub: StubHub) -> None:
    shown = {"link": "online", "os": "linux", "profile": "work", "revoked": False, "tools": [], "version": "0.0.9"}
    facts = {"program": "/home/ann/.starloom-agent/venv/bin/starloom-agent"}
    rows: list[tuple[str, dict[str, object]]] = [
        ("old", {"older_than": "0.2.0", "facts": facts}),
        ("same", {"older_than": ""}),
        ("gone", {"older_than": "0.2.0", "left": True}),
    ]
    items = [{**shown, "id": f"d-{name}", "name": name, **more, "revoked": "left" in more} for name, more in rows]
    hub.answers["GET", "/devices"] = (200, {"items": items, "next": None})
    code, said = starloom(hub, "devices")
    assert code == 0
    assert [line for line in said.splitlines() if "older than this hub" in line] == [
        line for line in said.splitlines() if line.startswith("old runs agent 0.0.9, older than this hub (0.2.0)")
    ]
    assert "older than this hub" in said
    assert f"type there: {facts['program']} upgrade" in said
    assert "gone runs agent" not in said


def test_with_none_at_all_it_says_what_to_do(hub: StubHub) -> None:
    hub.answers[NEWEST] = (200, {"items": [], "next": None})
    code, said = starloom(hub, "watch")
    assert code == 2
    assert "starloom submit" in said


@pytest.mark.parametrize("words", [["submit"], ["submit", "words", "-r", "recipe"], ["edit", "c-1"]])
def test_usage(hub: StubHub, words: list[str]) -> None:
    code, said = starloom(hub, *words)
    assert code == 2
    assert "The way out" in said


def test_every_fault_of_a_plan_is_shown_with_its_place(hub: StubHub, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text("starloom: 1\n")
    faults = [
        {"place": "tasks[0].tool", "code": "unknown_tool", "reason": "no fs.raed", "hint": "Did you mean fs.read?"},
        {"place": "tasks[1].id", "code": "duplicate_id", "reason": "a twice", "hint": ""},
    ]
    refusal = {"code": "plan_invalid", "title": "The plan has faults", "reason": "2 faults", "errors": faults}
    hub.answers["POST", "/constellations"] = (422, refusal)
    code, said = starloom(hub, "submit", "-f", str(tmp_path / "plan.yaml"))
    assert code == 2
    for word in ("tasks[0].tool", "unknown_tool", "Did you mean fs.read?", "tasks[1].id", "duplicate_id"):
        assert word in said
    code, said = starloom(hub, "submit", "-f", str(tmp_path / "plan.yaml"), "--json")
    assert code == 2
    assert [fault["place"] for fault in json.loads(said)["problem"]["errors"]] == ["tasks[0].tool", "tasks[1].id"]


def test_a_refusal_at_one_place_says_its_reason_once(hub: StubHub) -> None:
    place = {"place": "tasks.take", "where": "Tasks, take", "code": "tool_unavailable", "reason": "take waits"}
    refused = {"title": "No", "code": "tool_unavailable", "reason": "take waits", "errors": [place]}
    hub.answers["POST", "/constellations"] = (422, refused)
    _, said = starloom(hub, "submit", "take a picture")
    assert said.count("take waits") == 1
    assert "tasks.take" in said


def test_a_plan_that_no_device_can_begin_is_refused_with_a_way_to_submit_it_all_the_same(hub: StubHub) -> None:
    refused = {"title": "No", "code": "tool_unavailable", "reason": "take waits", "hint": "Add a phone."}
    hub.answers["POST", "/constellations"] = (422, refused)
    code, said = starloom(hub, "submit", "take a picture")
    assert (code, "Add a phone. For a device that joins later, submit it with --anyway." in said) == (2, True)
    starloom(hub, "submit", "take a picture", "--anyway")
    assert [body for verb, _, body in hub.asked if verb == "POST"] == [
        {"request": "take a picture", "able": True},
        {"request": "take a picture", "able": False},
    ]


def test_what_is_submitted(hub: StubHub) -> None:
    hub.answers["POST", "/constellations"] = (202, {"id": "c-1", "state": "planning", "version": 0})
    words = ["submit", "-r", "copy-folder", "-p", "path=Docs", "-p", "keep:=3", "--hold", "--deadline", "30m"]
    code, _ = starloom(hub, *words, "--approve", "abc", "--json")
    assert code == 0
    assert hub.asked[0][2] == {
        "recipe": "copy-folder",
        "params": {"path": "Docs", "keep": 3},
        "plan_hash": "abc",
        "hold": True,
        "deadline_s": 1800,
        "able": True,
    }


@pytest.mark.parametrize(
    ("state", "expected"), [("succeeded", 0), ("failed", 1), ("partial", 3), ("cancelled", 6), ("active", 4)]
)
def test_the_exit_code_of_a_result_is_the_result(hub: StubHub, state: str, expected: int) -> None:
    items = [
        {"title": "Rows", "show": "table", "value": [{"name": "a", "bytes": 1}], "artifact": None, "from": {}},
        {"title": "Text", "show": "text", "value": "plain words", "artifact": None, "from": {"task": "t"}},
    ]
    answer = {"state": "final", "sentence": "It is done.", "items": items, "constellation_state": state}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    code, said = starloom(hub, "result", "c-1")
    assert code == expected
    for word in ("It is done.", "Rows", "plain words"):
        assert word in said
    code, said = starloom(hub, "result", "c-1", "--json")
    assert code == expected
    assert json.loads(said)["sentence"] == "It is done."


def test_a_request_that_could_not_be_planned_says_why_and_what_to_do(hub: StubHub) -> None:
    answer = {"state": "final", "sentence": "", "items": [], "constellation_state": "failed"}
    fault = {"reason": "the model gave \x1b[2J no plan", "code": "model_answer", "hint": "Use other words."}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "failed", "fault": fault})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    code, said = starloom(hub, "result", "c-1")
    assert code == 1
    assert "no plan [model_answer] Use other words." in said
    assert "\x1b" not in said


def test_saving_never_leaves_the_folder(hub: StubHub, tmp_path: Path) -> None:
    items = [
        {"title": "../../escape", "show": "value", "value": {"a": 1}, "artifact": None},
        {"title": "../../escape", "show": "text", "value": "x", "artifact": None},
    ]
    answer = {"state": "final", "sentence": "", "items": items, "constellation_state": "succeeded"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    code, _ = starloom(hub, "result", "c-1", "--save", str(tmp_path / "out"))
    assert code == 0
    assert len(list((tmp_path / "out").iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_part_of_a_large_value_is_saved_as_it_is(hub: StubHub, tmp_path: Path) -> None:
    value = {"text": "line\n" * 30_000, "rows": [1, 2]}
    kept = hashlib.sha256(json.dumps(value).encode()).hexdigest()
    part = {"value": None, "artifact": kept, "bytes": 150_000, "media": "application/json"}
    items = [
        {**part, "title": "Text", "show": "text", "pointer": "/text"},
        {**part, "title": "Rows", "show": "value", "pointer": "/rows"},
    ]
    answer = {"state": "final", "sentence": "Done.", "items": items, "constellation_state": "succeeded"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    hub.answers["GET", f"/artifacts/{kept}"] = (200, value)
    code, said = starloom(hub, "result", "c-1", "--save", str(tmp_path / "out"))
    assert code == 0, said
    assert "too large to show here" in said
    assert (tmp_path / "out" / "Text.txt").read_text() == value["text"]
    assert json.loads((tmp_path / "out" / "Rows.json").read_text()) == [1, 2]
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_hub_that_stays_away_is_exit_5(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("starloom.client.rest.PATIENCE_S", 0.3)
    hub.answers[NEWEST] = (503, {"title": "Busy", "code": "overloaded", "reason": "the store is away"})
    code, said = starloom(hub, "ls")
    assert code == 5
    assert "the store is away" in said


@pytest.mark.parametrize("words", [(SOME_ID,), (SOME_ID, "a"), ("a", SOME_ID)])
def test_why_takes_a_constellation_first(hub: StubHub, words: tuple[str, ...]) -> None:
    item = {"task": "a", "sentence": "a waits.", "candidates": [], "actions": []}
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, item)
    assert starloom(hub, "why", *words)[0] == 0
    assert ("task_id=a" in hub.urls[-1]) is (len(words) == 2)


def test_why_of_one_task(hub: StubHub) -> None:
    item = {
        "task": "a",
        "sentence": "a waits for laptop, which is off.",
        "candidates": [{"name": "laptop", "reason": "offline for 3 min"}, {"name": "nas", "reason": "no such tool"}],
        "actions": ["switch laptop on"],
    }
    hub.answers["GET", "/constellations/c-1/why"] = (200, item)
    code, said = starloom(hub, "why", "a", "c-1")
    assert code == 0
    for word in ("which is off", "laptop: offline", "nas: no such tool", "switch laptop on"):
        assert word in said


def test_reassign_is_an_edit_of_the_version_it_saw(hub: StubHub) -> None:
    hub.answers["GET", "/constellations/c-1"] = (200, {"version": 7, "tasks": []})
    hub.answers["POST", "/constellations/c-1/edits"] = (200, {"version": 8})
    code, said = starloom(hub, "reassign", "c-1", "--task", "a", "--device", "nas")
    assert code == 0
    assert "version 8" in said
    body = hub.asked[-1][2]
    assert body["base_version"] == 7
    assert body["operations"] == [{"reassign": {"id": "a", "device": {"name": "nas"}}}]


def test_priority_keeps_the_rest_of_the_policy(hub: StubHub) -> None:
    hub.answers["GET", "/constellations/c-1"] = (200, {"version": 7, "tasks": [], "policy": {"partial": True}})
    hub.answers["POST", "/constellations/c-1/edits"] = (200, {"version": 8})
    code, said = starloom(hub, "priority", "c-1", "high")
    assert (code, "version 8" in said) == (0, True)
    operations = [{"set_policy": {"partial": True, "priority": "high"}}]
    assert hub.asked[-1][2] == {"base_version": 7, "operations": operations, "reason": "priority high"}
    assert starloom(hub, "priority", "c-1", "urgent")[0] == 2


def test_a_device_that_is_unknown_names_those_there_are(hub: StubHub) -> None:
    hub.answers["GET", "/devices"] = (200, {"items": [{"id": "d-1", "name": "nas"}]})
    code, said = starloom(hub, "device", "drain", "laptop")
    assert code == 2
    assert "nas" in said


def test_why_says_first_what_stops_the_whole_plan(hub: StubHub) -> None:
    item = {"task": "t", "state": "ready", "sentence": "t is ready.", "candidates": [], "actions": ["resume"]}
    attention = [
        {"reason": "history_restored", "sentence": "This history was restored."},
        {"reason": "missing_grant", "sentence": "A grant is missing."},
    ]
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, {"items": [item], "attention": attention, "more": 0})
    code, said = starloom(hub, "why", SOME_ID)
    assert code == 0
    assert said.splitlines()[:2] == ["This history was restored.", "t is ready."]


def test_why_names_every_candidate_and_lines_to_type(hub: StubHub) -> None:
    candidate = {"device": "d-1", "name": "server", "fits": False, "code": "device_away", "reason": "is off"}
    item = {"task": "t", "state": "ready", "sentence": "t waits.", "candidates": [candidate], "actions": ["reassign"]}
    hub.answers["GET", "/constellations/c-1/why"] = (200, {"items": [item], "attention": [], "more": 0})
    code, said = starloom(hub, "why", "t", "c-1")
    assert code == 0
    assert "server: is off" in said
    assert typed("starloom reassign t c-1 --device NAME") in said


def _held(hub: StubHub, tasks: str, *attention: Attention) -> None:
    """Have the hub tell the log of a running constellation whose tasks are ready, and what asks for a person."""
    log, ready = Log(), TaskRecord(since_ms=0, state=TaskState.READY)
    head = Head(
        author="person:me",
        created_ms=1,
        id=CONSTELLATION,
        name="Test",
        state=ConstellationState.ACTIVE,
        attention=list(attention),
    )
    held: dict[str, Any] = {f"task__{task}": ready for task in tasks}
    log.add("planned", head=head, **held)
    events = [json.loads(encode_event(event)) for event in log.rows]
    hub.answers["GET", f"/constellations/{CONSTELLATION}/events"] = (200, {"items": events})
    hub.answers["GET", "/devices"] = (200, {"items": []})


def test_show_says_why_a_ready_task_is_held_as_why_does(hub: StubHub) -> None:
    """No event holds the reason: the hub joins it from the offers of the fleet."""
    _held(hub, "tu", Attention.MISSING_GRANT)
    line = "starloom-agent grant shell:run"
    item = {"task": "t", "state": "ready", "reason": "missing_grant", "sentence": f"t needs a grant: {line}"}
    other = {"task": "u", "state": "ready", "reason": "busy", "sentence": "u waits its turn."}
    hub.answers["GET", f"/constellations/{CONSTELLATION}/why"] = (
        200,
        {"items": [item, other], "attention": [], "more": 0},
    )
    code, said = starloom(hub, "show", CONSTELLATION)
    assert code == 0
    assert "Held, a grant is missing" in said
    assert said.count("Ready") == 1
    assert said.count(line) == 1
    assert "waits its turn" not in said


def test_a_watch_that_ends_at_a_missing_grant_says_the_line_that_gives_it(hub: StubHub) -> None:
    _held(hub, "t", Attention.MISSING_GRANT, Attention.RULE_REFUSED)
    hub.answers["GET", f"/constellations/{CONSTELLATION}"] = (200, {"id": CONSTELLATION})
    line = "starloom-agent grant files:read DIR"
    row = {"task": "t", "state": "ready", "reason": "missing_grant", "sentence": f"t needs a grant: {line}."}
    rows = [row, {**row, "task": "u"}, {**row, "reason": "busy", "sentence": "u waits its turn."}]
    hub.answers["GET", f"/constellations/{CONSTELLATION}/why"] = (200, {"items": rows, "attention": [], "more": 0})
    code, said = starloom(hub, "watch", CONSTELLATION)
    assert code == 4
    assert said.count(typed(line)) == 1
    assert "  rule refused" in said
    assert ("missing grant" in said, "its turn" in said) == (False, False)


def test_show_in_json_has_the_reasons_of_why_with_their_lines(hub: StubHub) -> None:
    """A held task had no reason there, while the text had one."""
    task = {"state": "ready", "reason": None, "word": "Ready", "glyph": "dotted_ring", "tone": "indigo"}
    later = {"id": "v", "state": "waiting", "reason": "upstream", "word": "Waiting", "glyph": "ring", "tone": "grey"}
    tasks = [{**task, "id": "t"}, {**task, "id": "u"}, later]
    shown = {"id": CONSTELLATION, "state": "active", "tasks": tasks, "waiting": [], "version": 1}
    hub.answers["GET", f"/constellations/{CONSTELLATION}"] = (200, shown)
    line = "starloom-agent grant shell:run"
    item = {"state": "ready", "sentence": f"t needs a grant: {line}", "actions": [line, "cancel"]}
    rows = [
        {**item, "task": "t", "reason": "missing_grant"},
        {"task": "u", "state": "ready", "reason": "busy", "sentence": "u waits its turn.", "actions": ["answer"]},
    ]
    hub.answers["GET", f"/constellations/{CONSTELLATION}/why"] = (200, {"items": rows, "attention": [], "more": 0})
    code, said = starloom(hub, "show", CONSTELLATION, "--json")
    assert code == 0
    document = json.loads(said)
    told = {row["id"]: (row["reason"], row["word"]) for row in document["tasks"]}
    assert told["t"] == ("missing_grant", "Held, a grant is missing")
    assert told["u"] == ("busy", "Ready")
    waits = {row["task"]: row for row in document["waiting"]}
    assert waits["t"]["sentence"] == f"t needs a grant: {line}"
    assert waits["t"]["ways"] == [line, f"starloom cancel {CONSTELLATION}"]
    assert (waits["u"]["sentence"], waits["u"]["ways"]) == ("u waits its turn.", [])
    assert waits["v"]["reason"] == "upstream"


def test_show_in_json_asks_nothing_more_of_what_has_ended_or_was(hub: StubHub) -> None:
    hub.answers["GET", f"/constellations/{CONSTELLATION}"] = (200, {"id": CONSTELLATION, "state": "succeeded"})
    assert starloom(hub, "show", CONSTELLATION, "--json")[0] == 0
    hub.answers["GET", f"/constellations/{CONSTELLATION}"] = (200, {"id": CONSTELLATION, "state": "active"})
    assert starloom(hub, "show", CONSTELLATION, "--version", "1")[0] == 0
    assert [path for _, path, _ in hub.asked if path.endswith("/why")] == []


GOAL_ASKS = {
    "id": "c-1:goal-question-1",
    "task": "why",
    "by": "the goal why",
    "text": "The goal why gets nowhere: four steps found nothing. Type starloom cancel. Go on?",
    "values": ["go_on", "stop"],
    "words": False,
    "yours": True,
}


def test_why_tells_an_open_question_with_the_lines_that_answer_it(hub: StubHub) -> None:
    item: dict[str, Any] = {
        "task": "why",
        "state": "expanded",
        "sentence": "why is a goal.",
        "candidates": [],
        "actions": ["answer"],
    }
    item["questions"] = [GOAL_ASKS]
    whole = {"items": [item], "attention": [], "questions": [GOAL_ASKS], "more": 0}
    for answer, words in ((whole, []), (item, ["why"])):
        hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, answer)
        code, said = starloom(hub, "why", *words, SOME_ID)
        lines = said.splitlines()
        assert code == 0
        assert lines[0] == "why is a goal."
        assert lines[1] == f"Asked by the goal why: {GOAL_ASKS['text']}"
        assert lines[2] == typed(
            "To answer: starloom approve c-1:goal-question-1 --value go_on"
            " - or: starloom approve c-1:goal-question-1 --value stop"
        )
        assert len(lines) == 3


def test_a_question_of_a_planner_takes_words_of_ones_own(hub: StubHub) -> None:
    asked = {**GOAL_ASKS, "by": "the model that plans", "task": None, "values": ["the nas"], "words": True}
    found = {"items": [], "attention": [], "questions": [asked], "more": 0}
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, found)
    _, said = starloom(hub, "why", SOME_ID)
    line = "starloom approve c-1:goal-question-1 --value"
    assert typed(f"To answer: {line} 'the nas' - or: {line} WORDS") in said


def test_why_names_the_address_of_a_page_that_is_asleep(hub: StubHub) -> None:
    item = {"task": "t", "state": "ready", "sentence": "t waits.", "candidates": [], "actions": ["open", "reassign"]}
    asleep = {**item, "asleep": ["phone"], "open": {"url": "https://hub.lan:8471/tab/", "qr": None}}
    hub.answers["GET", "/constellations/c-1/why"] = (200, {"items": [asleep], "attention": [], "more": 0})
    said = starloom(hub, "why", "t", "c-1")[1]
    assert "The way out: open https://hub.lan:8471/tab/ on phone - or: " in said


def test_a_move_to_another_device_is_warned_of(hub: StubHub) -> None:
    item = {"task": "t", "state": "ready", "sentence": "t waits.", "candidates": [], "actions": ["reassign"]}
    item["warning"] = "Another device uses its own files."
    hub.answers["GET", "/constellations/c-1/why"] = (200, {"items": [item], "attention": [], "more": 0})
    said = starloom(hub, "why", "t", "c-1")[1]
    assert "Before you reassign it: Another device uses its own files." in said


def test_a_refusal_is_said_once(hub: StubHub) -> None:
    fault = {"code": "illegal_control", "place": "", "reason": "it is over already", "hint": "See its state."}
    document = {"title": "Not possible", "reason": "it is over already", "hint": "See its state.", "errors": [fault]}
    hub.answers["POST", "/constellations/c-1/pause"] = (409, document)
    code, said = starloom(hub, "pause", "c-1")
    assert code == 1
    assert said.count("it is over already") == 1
    assert said.count("See its state.") == 1


def test_a_refused_token_is_a_wrong_call_and_no_result(hub: StubHub) -> None:
    hub.answers[NEWEST] = (401, {"title": "The token is not valid", "code": "bad_token", "hint": "Make a new one."})
    code, said = starloom(hub, "ls")
    assert code == 2
    assert "Make a new one." in said


def test_an_unopened_invitation_ends_with_its_link(hub: StubHub) -> None:
    row: dict[str, Any] = {
        "id": "t-1",
        "kind": "invitation",
        "label": "invited to the page",
        "role": "viewer",
        "revoked_at": None,
    }
    row |= {"created_at": "2026-11-26T10:00:00Z", "last_used_at": None}
    row |= {"link_used_at": None, "link_used_with": ""}
    held = {"for": {"kind": "person", "name": "anna"}, "expires_at": "2026-12-27T10:00:00Z"}
    for link_until, until in (("2026-11-28T10:00:00Z", "2026-11-28T10:00:00Z"), (None, held["expires_at"])):
        hub.answers["GET", "/tokens"] = (200, {"items": [{**row, **held, "link_until": link_until}]})
        code, said = starloom(hub, "token", "ls")
        assert (code, f"until {clock(str(until))}" in said) == (0, True), said


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:143.0) Gecko/20100101 Firefox/143.0"
DAY = "2026-11-27T10:00:00Z"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"link_until": DAY}, f"not opened yet, until {clock(DAY)}"),
        ({"link_used_at": DAY}, f"opened {clock(DAY)} by anna, until "),
        ({"link_used_at": DAY, "link_used_with": FIREFOX}, f"opened {clock(DAY)} by anna in Firefox on Linux, until "),
        ({"link_used_at": DAY, "revoked_at": DAY}, f"opened {clock(DAY)} by anna, revoked {clock(DAY)}"),
        ({}, "never opened, until "),
    ],
    ids=["open", "used", "used-in", "revoked", "over"],
)
def test_an_invitation_says_when_it_was_used_and_by_whom(hub: StubHub, told: dict[str, Any], said: str) -> None:
    row: dict[str, Any] = {
        "id": "t-1",
        "kind": "invitation",
        "label": "invited to the page",
        "role": "viewer",
        "revoked_at": None,
    }
    row |= {"created_at": "2026-11-26T10:00:00Z", "last_used_at": None, "expires_at": "2026-12-27T10:00:00Z"}
    row |= {"for": {"kind": "person", "name": "anna"}, "link_until": None, "link_used_at": None, "link_used_with": ""}
    hub.answers["GET", "/tokens"] = (200, {"items": [{**row, **told}]})
    code, words = starloom(hub, "token", "ls")
    assert code == 0
    assert said in words


def test_a_person_who_was_revoked_is_listed_so(hub: StubHub) -> None:
    row = {"kind": "person", "name": "anna", "role": "viewer", "sessions": 0, "tokens": 0, "last_used_at": DAY}
    hub.answers["GET", "/people"] = (200, {"items": [{**row, "revoked_at": DAY}]})
    _, words = starloom(hub, "person", "ls")
    assert f"revoked {clock(DAY)}" in words
    assert f"last used {clock(DAY)}" in words
    assert "0 sessions" not in words


def test_sessions_of_one_person_are_told_apart(hub: StubHub) -> None:
    safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Mobile/15E148 Safari/604.1"
    chrome = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0 Safari/537.36"
    row = {"kind": "session", "role": "owner", "revoked_at": None, "for": {"kind": "person", "name": "anna"}}
    row |= {"expires_at": "2026-12-27T10:00:00Z", "link_until": None}
    used, begun = "2026-11-27T10:00:00Z", "2026-11-26T09:00:00Z"
    rows = [
        {**row, "id": "t-1", "label": safari, "created_at": begun, "last_used_at": used},
        {**row, "id": "t-2", "label": chrome, "created_at": used, "last_used_at": None},
        {**row, "id": "t-3", "label": "the \x1b[2J script", "created_at": used, "last_used_at": None},
    ]
    hub.answers["GET", "/tokens"] = (200, {"items": rows})
    _, said = starloom(hub, "token", "ls")
    first, second, third = said.splitlines()
    assert f"since {clock(begun)}, used {clock(used)}, until " in first
    assert "Safari on iPhone" in first
    assert f"since {clock(used)}, not used since the hub began, until " in second
    assert "Chrome on Linux" in second
    assert "the \\x1b[2J script" in third


def test_a_recipe_runs_by_its_name(hub: StubHub) -> None:
    hub.answers["POST", "/constellations"] = (202, {"id": "c-9", "state": "planning", "version": 0})
    code, said = starloom(hub, "recipe", "run", "find-file", "-p", "what=letter")
    assert code == 0
    assert "c-9 accepted" in said
    body = {"recipe": "find-file", "params": {"what": "letter"}, "able": True}
    assert hub.asked[0] == ("POST", "/constellations", body)


@pytest.mark.parametrize("words", ["--version", "version"])
def test_the_version_is_told(words: str) -> None:
    result = CliRunner().invoke(command_line(), [words])
    assert result.exit_code == 0
    assert result.output.startswith("starloom 0.")


def test_a_drain_takes_a_deadline_and_a_device_says_why_it_gets_no_work(hub: StubHub) -> None:
    device = {"id": "d-1", "name": "nas", "link": "online", "profile": "work", "draining": True, "running": 0}
    hub.answers["GET", "/devices"] = (200, {"items": [device]})
    hub.answers["POST", "/devices/d-1/drain"] = (200, device)
    assert starloom(hub, "device", "drain", "nas", "--deadline", "5m", "--reason", "new disk")[0] == 0
    assert hub.asked[-1][2] == {"reason": "new disk", "deadline_s": 300}
    assert starloom(hub, "device", "drain", "nas", "--deadline", "now")[0] == 0
    assert hub.asked[-1][2] == {"deadline_s": 0}
    for action in ("reserve", "share"):
        hub.answers["POST", f"/devices/d-1/{action}"] = (200, device)
        assert starloom(hub, "device", action, "nas") == (0, f"{action} of nas accepted\n")
    more = {"drain_reason": "new disk", "quarantined": True, "aside": "6 of its tasks failed", "reserved": True}
    hub.answers["GET", "/devices/d-1"] = (200, {**device, **more})
    lines = {"load_percent": [10, 30], "latency_ms": [4]}
    vitals = {"items": [{"device": "d-1", "heard_ms": 1, "lines": lines}], "slots": 120, "step_s": 30}
    hub.answers["GET", "/vitals"] = (200, vitals)
    said = starloom(hub, "device", "show", "nas")[1]
    assert "load: 30 %, from 10 to 30 % in 1 min" in said
    assert "takes only work that names it; for all work: " in said
    assert "latency: 4 ms" in said
    assert typed("drains (new disk); to go on: starloom device resume nas") in said
    assert "is set aside: 6 of its tasks failed" in said


NO_SCHEDULES = {"left_out": 0, "schedules": []}


def test_stop_all_shows_who_confirmed_and_names_who_is_away(hub: StubHub) -> None:
    rows = [
        {"name": "nas", "link": "online", "asked": 2, "left": ["c-1/a/1"], "confirmed_at": None},
        {"name": "phone", "link": "offline", "asked": 1, "left": ["c-1/b/2"], "confirmed_at": None},
    ]
    hub.answers["POST", "/stop-all"] = (202, {"constellations": ["c-1"], "devices": rows, **NO_SCHEDULES})
    done = {**rows[0], "left": [], "confirmed_at": "2026-01-01T00:00:00Z"}
    hub.answers["GET", "/stop-all"] = (200, {"devices": [done, rows[1]]})
    code, said = starloom(hub, "stop-all")
    assert code == 4
    assert "nas: confirmed, 2 tasks ended" in said
    assert "phone: is away (offline), so it has not confirmed: c-1/b" in said
    hub.answers["POST", "/stop-all"] = (202, {"constellations": [], "devices": [], **NO_SCHEDULES})
    code, said = starloom(hub, "stop-all")
    assert (code, said.strip()) == (0, "Nothing runs.")


@pytest.mark.parametrize("as_json", [(), ("--json",)])
@pytest.mark.parametrize(
    ("asks", "approve", "expected"),
    [(True, (), 4), (False, (), 0), (True, ("--approve", "abc"), 0), (True, ("--approve", "of another"), 4)],
)
def test_a_preview_of_what_needs_an_approval_ends_with_4(
    hub: StubHub, asks: bool, approve: tuple[str, ...], expected: int, as_json: tuple[str, ...]
) -> None:
    task = {"device": "srv", "devices": [], "effects": ["change"], "id": "go", "tool": "x", "why": "named"}
    found = {
        "asks_approval": asks,
        "effects": ["change"],
        "missing_grants": [],
        "name": "Restart",
        "plan_hash": "abc",
        "tasks": [task],
        "understood": {"outcome": "exact"},
        "warnings": [],
    }
    hub.answers[("POST", "/constellations/preview")] = (200, found)
    code, said = starloom(hub, "submit", "restart nginx on srv", "--preview", *approve, *as_json)
    assert (code, "abc" in said) == (expected, True)


def test_a_preview_calls_a_trash_what_it_is(hub: StubHub) -> None:
    row = {"device": "srv", "devices": [], "effects": ["write"], "why": "named"}
    found = {
        "asks_approval": True,
        "effects": ["write"],
        "missing_grants": [],
        "name": "Tidy up",
        "plan_hash": "abc",
        "tasks": [{**row, "id": "clear", "tool": "fs.trash"}],
        "understood": {"outcome": "exact"},
        "warnings": [],
    }
    hub.answers[("POST", "/constellations/preview")] = (200, found)
    _, said = starloom(hub, "submit", "tidy up srv", "--preview")
    assert "moves to the trash" in said.partition("effects: ")[0]
    assert "effects: write, moves to the trash, asks for an approval" in said
    hub.answers[("POST", "/constellations/preview")] = (
        200,
        {**found, "tasks": [{**row, "id": "copy", "tool": "fs.copy"}]},
    )
    assert "trash" not in starloom(hub, "submit", "tidy up srv", "--preview")[1]


@pytest.mark.parametrize(
    ("understood", "expected"),
    [
        ({"outcome": "none", "by_model": False}, 2),
        ({"outcome": "near", "by_model": False}, 2),
        ({"outcome": "none", "by_model": True}, 0),
    ],
)
def test_a_preview_of_words_without_a_fit_ends_as_their_run(
    hub: StubHub, understood: dict[str, Any], expected: int
) -> None:
    shown = {**understood, "candidates": [], "title": "No recipe fits these words", "said": "Say it in English."}
    hub.answers[("POST", "/constellations/preview")] = (200, {"tasks": [], "plan_hash": None, "understood": shown})
    code, said = starloom(hub, "submit", "hello", "--preview")
    assert code == expected
    assert said.count("No recipe fits these words") == 1
    assert "Say it in English." in said


def test_report_of_a_recipe_prints_its_last_runs(hub: StubHub) -> None:
    ran = TrendRun(
        attempts=2, checks_passed=0, constellation="c-1", created_at="2026-11-27T10:00:00Z", makespan_ms=5_000,
        mended=1, micros=1_500, state=ConstellationState.SUCCEEDED, tasks=2, wait=Phase.QUEUE, wait_ms=3_000,
        width_mean=1.0, work_ms=4_000,
    )  # fmt: skip
    trend = msgspec.to_builtins(RecipeTrend(more=True, recipe="r", runs=[ran], sentence="1 run so far."))
    hub.answers["GET", "/recipes/fleet-health/runs"] = (200, trend)
    code, said = starloom(hub, "report", "--recipe", "fleet-health")
    assert code == 0
    first, _, line, last = said.splitlines()
    assert (first, last) == ("1 run so far.", "  and earlier ones")
    assert "succeeded, 2 tasks, work 4.0 s, waited 3.0 s for a free device, mended 1, 0.0015 dollars  c-1" in line
    code, said = starloom(hub, "report", "--recipe", "fleet-health", "--json")
    assert (code, msgspec.json.decode(said)) == (0, trend)
    code, said = starloom(hub, "report", "c-1", "--recipe", "fleet-health")
    assert code == 2
    assert "a report is about one run, a recipe or a schedule" in said


def test_report_of_a_schedule_prints_its_last_runs(hub: StubHub) -> None:
    trend = msgspec.to_builtins(ScheduleTrend(more=False, runs=[], schedule="nightly", sentence="It has not run yet."))
    hub.answers["GET", "/schedule-runs/every%20night"] = (200, trend)
    assert starloom(hub, "report", "--schedule", "every night") == (0, "It has not run yet.\n")
    code, said = starloom(hub, "report", "--schedule", "every night", "--json")
    assert (code, msgspec.json.decode(said)) == (0, trend)
    for other in ("c-1", "--recipe=fleet-health"):
        code, said = starloom(hub, "report", other, "--schedule", "every night")
        assert (code, "one run, a recipe or a schedule" in said) == (2, True)


def test_report_prints_text_or_the_document(hub: StubHub) -> None:
    document = msgspec.to_builtins(RunReport(**FULL))
    hub.answers["GET", "/constellations/c-1/report"] = (200, document)
    code, said = starloom(hub, "report", "c-1")
    assert code == 0
    assert said.splitlines()[0] == "Scale is done: 12 tasks on 3 devices took 41.0 s from the request to the end."
    code, said = starloom(hub, "report", "c-1", "--json")
    assert (code, msgspec.json.decode(said)) == (0, document)
