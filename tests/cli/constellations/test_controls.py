"""Controls on the command line: a task is named in one way, several are marked, and unsafe work names its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from starloom.client.terminal.typed import typed
from tests.cli.test_commands import NEWEST, SOME_ID, StubHub, starloom

TASKS = f"/constellations/{SOME_ID}/tasks"


@pytest.fixture
def hub(hub: StubHub) -> StubHub:
    hub.answers[NEWEST] = (200, {"items": [{"id": SOME_ID}], "next": None})
    return hub


def done(hub: StubHub, path: str, state: str = "active") -> None:
    hub.answers["POST", path] = (200, {"id": SOME_ID, "seq": 1, "state": state})


@pytest.mark.parametrize("action", ["skip", "retry", "retry-from", "cancel", "mark", "hold", "release"])
@pytest.mark.parametrize(
    "words",
    [("slow",), ("slow", SOME_ID), (SOME_ID, "slow"), ("--task", "slow"), (SOME_ID, "--task", "slow"), ("-t", "slow")],
)
def test_every_control_takes_a_task_in_the_same_ways(hub: StubHub, action: str, words: tuple[str, ...]) -> None:
    done(hub, f"{TASKS}/slow/{action}")
    code, said = starloom(hub, action, *words)
    assert (code, hub.asked[-1][1]) == (0, f"{TASKS}/slow/{action}")
    assert said.startswith(("slow ", "slow and"))
    assert said.endswith(f"; {SOME_ID} is active\n")


KISTE = {"id": "d-kiste", "name": "Große Kiste"}


def test_a_task_is_named_by_its_device_where_its_id_has_that_of_the_device(hub: StubHub) -> None:
    hub.answers["GET", "/devices"] = (200, {"items": [KISTE], "next": None})
    done(hub, f"{TASKS}/run.d-kiste/retry")
    code, said = starloom(hub, "retry", "run on Große Kiste", SOME_ID, "--confirm", "run on große kiste")
    assert (code, said) == (0, f"run on Große Kiste is tried again; {SOME_ID} is active\n")
    assert hub.asked[-1] == ("POST", f"{TASKS}/run.d-kiste/retry", {"confirm": ["run.d-kiste"]})


@pytest.mark.parametrize(
    ("command", "options", "path", "sent"),
    [
        ("reassign", ("--device", "nas"), "edits", {"operations": [{"reassign": {"id": "run.d-kiste"}}]}),
        ("undo", (), "undo", {"tasks": ["run.d-kiste"]}),
        ("fork", (), "fork", {"from_task": "run.d-kiste"}),
    ],
)
def test_what_why_names_by_a_device_is_taken_by_every_command(
    hub: StubHub, command: str, options: tuple[str, ...], path: str, sent: dict[str, Any]
) -> None:
    whole = f"/constellations/{SOME_ID}"
    hub.answers["GET", "/devices"] = (200, {"items": [KISTE], "next": None})
    hub.answers["GET", whole] = (200, {"version": 1, "tasks": []})
    hub.answers["POST", f"{whole}/{path}"] = (202, {"id": "c-2", "state": "active", "version": 2, "undoing": []})
    starloom(hub, command, SOME_ID, "--task", "run on Große Kiste", *options)
    (body,) = [asked[2] for asked in hub.asked if asked[:2] == ("POST", f"{whole}/{path}")]
    sent_back = {key: body[key] for key in sent}
    if command == "reassign":
        sent_back = {"operations": [{"reassign": {"id": one["reassign"]["id"]}} for one in body["operations"]]}
    assert sent_back == sent


@pytest.mark.parametrize(("tasks", "meant"), [(["run.d-new", "run.d-old"], "d-new"), (["run.d-old"], "d-old")])
def test_a_name_that_two_devices_had_means_the_one_that_has_a_task(hub: StubHub, tasks: list[str], meant: str) -> None:
    devices = [{"id": "d-new", "name": "web"}, {"id": "d-old", "name": "web", "revoked": True}]
    hub.answers["GET", "/devices"] = (200, {"items": devices, "next": None})
    hub.answers["GET", f"/constellations/{SOME_ID}"] = (200, {"tasks": [{"id": one} for one in tasks]})
    done(hub, f"{TASKS}/run.{meant}/hold")
    code, said = starloom(hub, "hold", "run on web", SOME_ID)
    assert (code, said) == (0, f"run on web is held; {SOME_ID} is active\n")


def test_blame_takes_a_task_by_its_device(hub: StubHub) -> None:
    hub.answers["GET", "/devices"] = (200, {"items": [KISTE], "next": None})
    row: dict[str, Any] = {"id": "run.d-kiste", "added": None, "changed": []}
    hub.answers["GET", f"/constellations/{SOME_ID}/blame"] = (200, {"items": [row]})
    code, said = starloom(hub, "blame", "run on Große Kiste", SOME_ID)
    assert (code, said) == (0, "run.d-kiste\n")


def test_why_names_tasks_by_their_devices_in_sentences_and_lines(hub: StubHub) -> None:
    hub.answers["GET", "/devices"] = (200, {"items": [KISTE], "next": None})
    item = {
        "task": "run.d-kiste",
        "state": "failed",
        "sentence": "proof waits for run.d-kiste.",
        "candidates": [],
        "actions": ["retry", f"starloom retry run.d-kiste {SOME_ID}"],
        "confirm": ["run.d-kiste"],
    }
    whole = {"state": "active", "attention": [], "questions": [], "items": [item], "more": 0}
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, whole)
    said = starloom(hub, "why", SOME_ID)[1]
    assert "proof waits for run on Große Kiste." in said
    line = f"starloom retry 'run on Große Kiste' {SOME_ID}"
    assert typed(f"{line} --confirm 'run on Große Kiste' - or: {line}") in said
    assert "d-kiste" not in said


@pytest.mark.parametrize("identity", ["c-acti67bikx4h-1795757875", "c-acti67bikx4h-1795757875-told"])
def test_the_run_of_a_schedule_is_cancelled_by_its_id(hub: StubHub, identity: str) -> None:
    done(hub, f"/constellations/{identity}/cancel", "cancelling")
    assert starloom(hub, "cancel", identity) == (0, f"{identity} is cancelling\n")


def test_a_constellation_is_cancelled_by_its_id_or_as_the_newest(hub: StubHub) -> None:
    done(hub, f"/constellations/{SOME_ID}/cancel", "cancelling")
    for words in ((), (SOME_ID,)):
        assert starloom(hub, "cancel", *words) == (0, f"{SOME_ID} is cancelling\n")


def test_a_control_without_its_task_says_how_it_is_written(hub: StubHub) -> None:
    for words in (("skip",), ("skip", SOME_ID), ("skip", "a", "b", SOME_ID)):
        code, said = starloom(hub, *words)
        assert (code, typed("starloom skip TASK") in said) == (2, True)


def test_the_words_of_a_control_are_about_the_task(hub: StubHub) -> None:
    for action, words in (
        ("cancel", "slow is asked to stop"),
        ("skip", "slow is skipped"),
        ("retry", "slow is tried again"),
        ("mark", "slow is marked succeeded"),
    ):
        done(hub, f"{TASKS}/slow/{action}")
        assert starloom(hub, action, "slow")[1] == f"{words}; {SOME_ID} is active\n"


def test_several_tasks_are_marked_at_once(hub: StubHub) -> None:
    for task in ("hash.11", "hash.14"):
        done(hub, f"{TASKS}/{task}/mark", "cancelling")
    code, said = starloom(hub, "mark", "hash.11", "hash.14", SOME_ID, "--state", "failed")
    assert code == 0
    assert [line.partition(";")[0] for line in said.splitlines()] == [
        "hash.11 is marked failed",
        "hash.14 is marked failed",
    ]


def test_calls_in_doubt_on_devices_that_are_gone_are_marked_together(hub: StubHub) -> None:
    tasks: list[dict[str, Any]] = [
        {"id": "hash.1", "state": "unknown", "device": "d-gone"},
        {"id": "hash.2", "state": "unknown", "device": "d-here"},
        {"id": "hash.3", "state": "failed", "device": "d-gone"},
    ]
    hub.answers["GET", f"/constellations/{SOME_ID}"] = (200, {"tasks": tasks})
    devices = [{"id": "d-gone", "name": "old", "revoked": True}, {"id": "d-here", "name": "new", "revoked": False}]
    hub.answers["GET", "/devices"] = (200, {"items": devices})
    done(hub, f"{TASKS}/hash.1/mark")
    code, said = starloom(hub, "mark", "--gone", "--state", "failed")
    assert (code, said) == (0, f"hash.1 is marked failed; {SOME_ID} is active\n")
    assert starloom(hub, "mark", "hash.1", "--gone")[0] == 2
    hub.answers["GET", "/devices"] = (200, {"items": devices[1:]})
    assert starloom(hub, "mark", "--gone")[0] == 2


def test_work_that_would_run_again_names_the_line_to_type(hub: StubHub) -> None:
    fault = {
        "code": "needs_confirm",
        "place": "confirm",
        "reason": "slow, big one have begun before",
        "hint": "Send confirm: [slow, big one].",
    }
    refusal = {"title": "A person must confirm", **fault, "errors": [fault], "repeats": ["slow", "big one"]}
    hub.answers["POST", f"{TASKS}/slow/retry"] = (409, refusal)
    code, said = starloom(hub, "retry", "slow")
    line = f"starloom retry slow {SOME_ID} --confirm slow --confirm 'big one'"
    assert code != 0
    assert said.splitlines()[-1] == typed(f"The way out: {line}")
    assert "Send confirm" not in said
    hub.answers["POST", f"/constellations/{SOME_ID}/fork"] = (409, refusal)
    _, said = starloom(hub, "fork", "--task", "slow")
    assert typed(f"starloom fork {SOME_ID} --task slow --confirm slow --confirm 'big one'") in said


def test_why_prints_the_retry_with_what_it_has_to_confirm(hub: StubHub) -> None:
    item = {"task": "slow", "state": "cancelled", "sentence": "slow was cancelled.", "candidates": []}
    item |= {"actions": ["retry"], "confirm": ["slow"]}
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, item)
    _, said = starloom(hub, "why", "slow")
    assert typed(f"The way out: starloom retry slow {SOME_ID} --confirm slow") in said


def test_why_of_the_newest_names_the_others_that_wait_with_their_number(hub: StubHub) -> None:
    def row(identity: str, state: str, *attention: str) -> dict[str, Any]:
        return {"id": identity, "name": f"Plan {identity}", "state": state, "attention": list(attention)}

    rows = [row(SOME_ID, "active"), row("c-2", "awaiting_approval"), row("c-3", "active", "question_open")]
    rows += [row("c-4", "active"), row("c-5", "failed", "question_open")]
    hub.answers[NEWEST] = (200, {"items": rows, "next": None})
    item = {"task": "a", "state": "ready", "sentence": "a waits.", "candidates": [], "actions": []}
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, {"items": [item], "attention": [], "more": 0})
    _, said = starloom(hub, "why")
    told = [f"This was {SOME_ID}, the newest; 2 others waiting:"]
    told += [f"  Plan {name}: {typed(f'starloom why {name}')}" for name in ("c-2", "c-3")]
    assert said.splitlines()[-3:] == told
    _, said = starloom(hub, "why", SOME_ID)
    assert "others" not in said


def test_an_edit_of_another_form_is_told_its_form(hub: StubHub, tmp_path: Path) -> None:
    path = tmp_path / "edit.yaml"
    hub.answers["GET", f"/constellations/{SOME_ID}"] = (200, {"version": 1, "tasks": []})
    for text in ("- add_task: {id: a}\n", "add_task: {id: a}\n"):
        path.write_text(text, encoding="utf-8")
        code, said = starloom(hub, "edit", "-f", str(path))
        assert (code, "Write `operations: [{add_task: {id: ID, tool: TOOL}}]`" in said) == (2, True)


def test_why_prints_two_lines_to_mark_a_call_that_may_have_happened(hub: StubHub) -> None:
    item = {"task": "hash", "state": "unknown", "sentence": "4 calls.", "candidates": [], "actions": ["mark"]}
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, item)
    _, said = starloom(hub, "why", "hash")
    line = f"starloom mark hash {SOME_ID} --state"
    assert typed(f"The way out: {line} succeeded - or: {line} failed") in said


ON_PI = "sum.0 is on pi 1 because it was the only free device then."


def test_why_of_many_tells_the_whole_first_and_equal_reasons_once(hub: StubHub) -> None:
    busy = [
        {"device": f"d{n}", "name": f"pi {n}", "fits": False, "code": "busy", "reason": f"is busy ({n} of {n})"}
        for n in range(1, 5)
    ]

    def waits(number: int) -> dict[str, Any]:
        told = f"sum.{number} waits for a free slot: pi 1 is busy. {number} tasks go before it."
        return {"task": f"sum.{number}", "state": "ready", "sentence": told, "candidates": busy, "reason": "busy"}

    runs = {
        "task": "sum.0",
        "state": "running",
        "sentence": ON_PI,
        "candidates": [],
    }
    alone = {"task": "last", "state": "waiting", "sentence": "last waits for sum.", "candidates": []}
    whole = {
        "state": "active",
        "sentence": "Sums is active: 200 of 300 tasks have ended, 1 runs and 98 wait.",
        "attention": [],
        "questions": [],
        "items": [runs, *map(waits, range(1, 98)), alone],
        "more": 0,
    }
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, whole)
    assert starloom(hub, "why", SOME_ID)[1].splitlines() == [
        "Sums is active: 200 of 300 tasks have ended, 1 runs and 98 wait.",
        ON_PI,
        "97 tasks wait: all 4 devices that can are busy. They are sum.1, sum.2, sum.3 and 94 more.",
        *(f"  pi {n}: is busy ({n} of {n})" for n in range(1, 5)),
        "last waits for sum.",
    ]
    assert len(starloom(hub, "why", SOME_ID, "--all")[1].splitlines()) == 1 + 1 + 97 * 5 + 1


def test_why_of_many_different_reasons_is_cut_with_the_line_for_the_rest(hub: StubHub) -> None:
    items = [
        {"task": name, "state": "ready", "sentence": f"{name} waits for {name * 3}.", "candidates": []}
        for name in "abcdefghijklmnopqrstuvwxyz"
    ]
    whole = {"state": "active", "attention": [], "questions": [], "items": items, "more": 0}
    hub.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, whole)
    said = starloom(hub, "why", SOME_ID)[1].splitlines()
    assert said[18:] == ["s waits for sss.", typed(f"and 7 more lines: starloom why {SOME_ID} --all")]
    assert starloom(hub, "why", SOME_ID, "--all")[1].splitlines()[-1] == "z waits for zzz."


def test_all_work_of_a_person_is_cancelled_after_a_count(hub: StubHub) -> None:
    rows = [{"id": "c-1", "name": "sweep", "state": "active"}, {"id": "c-2", "name": "old", "state": "cancelling"}]
    hub.answers[NEWEST] = (200, {"items": rows[:1], "next": None})
    done(hub, "/constellations/c-1/cancel", "cancelling")
    code, said = starloom(hub, "cancel", "--of", "mara")
    assert (code, [one for one in hub.asked if one[0] == "POST"]) == (2, [])
    assert "starloom cancel --of mara --yes" in said
    code, said = starloom(hub, "cancel", "--of", "mara", "--yes")
    assert (code, "c-1 is cancelling" in said) == (0, True)
    assert any("of=mara" in url for url in hub.urls)
    hub.answers[NEWEST] = (200, {"items": rows[1:], "next": None})
    code, said = starloom(hub, "cancel", "--of", "mara", "--yes")
    assert (code, "nothing that mara asked for goes on" in said) == (2, True)


def test_all_work_of_a_device_is_cancelled_after_a_count(hub: StubHub) -> None:
    device = {"id": "d-1", "name": "boat-pi", "link": "online", "draining": True, "running": 1}
    hub.answers["GET", "/devices"] = (200, {"items": [device]})
    hub.answers["GET", "/devices/boat-pi"] = (200, device)
    hub.answers["POST", "/devices/d-1/drain"] = (200, device)
    rows = [{"id": f"c-{n}", "name": "sums", "request": "", "state": "active", "author": "person:jo"} for n in (1, 2)]
    for row, state in zip(rows, ("running", "succeeded"), strict=True):
        tasks = [{"id": "a", "device": "d-1", "state": state}]
        hub.answers["GET", f"/constellations/{row['id']}"] = (200, {"tasks": tasks})
    hub.answers[NEWEST] = (200, {"items": rows, "next": None})
    done(hub, "/constellations/c-1/cancel", "cancelling")
    code, said = starloom(hub, "device", "drain", "boat-pi", "--deadline", "now")
    assert (code, "at work: a of 'sums' (c-1)" in said, "starloom cancel --on boat-pi" in said) == (0, True, True)
    code, said = starloom(hub, "cancel", "--on", "boat-pi")
    assert (code, "starloom cancel --on boat-pi --yes" in said) == (2, True)
    code, said = starloom(hub, "cancel", "--on", "boat-pi", "--yes")
    assert (code, "c-1 is cancelling" in said, "c-2" in said) == (0, True, False)
    assert starloom(hub, "cancel", "--on", "boat-pi", "--of", "jo")[0] == 2


def test_a_list_names_who_asked_where_there_are_several(hub: StubHub) -> None:
    rows = [{"id": f"c-{name}", "name": "x", "state": "active", "author": f"person:{name}"} for name in ("jo", "mara")]
    hub.answers[NEWEST] = (200, {"items": rows, "next": None})
    head = starloom(hub, "ls")[1].splitlines()[0]
    assert " by " in head
    hub.answers[NEWEST] = (200, {"items": rows[:1], "next": None})
    assert " by " not in starloom(hub, "ls", "--of", "jo")[1].splitlines()[0]


@pytest.mark.parametrize("line", [("ls", "--of"), ("activity", "--by"), ("ls", "--json", "--of")])
def test_nothing_of_somebody_whom_nobody_knows_is_a_mistake(hub: StubHub, line: tuple[str, ...]) -> None:
    nothing: tuple[int, Any] = (200, {"items": [], "next": None})
    hub.answers |= {NEWEST: nothing, ("GET", "/audit"): nothing}
    people = [{"name": name, "id": name} for name in ("Lindqvist", "jo")]
    hub.answers["GET", "/people"] = (200, {"items": people, "next": None})
    code, said = starloom(hub, *line, "lindqvits")
    assert (code, "nobody is called lindqvits" in said, "Did you mean Lindqvist?" in said) == (2, True, True)
    code, said = starloom(hub, *line, "zoe")
    assert (code, "starloom person ls" in said) == (2, True)
    assert starloom(hub, *line, "lindqvist")[0] == 0
    hub.answers["GET", "/people"] = (403, {"title": "no", "code": "forbidden", "hint": ""})
    assert starloom(hub, *line, "lindqvits")[0] == 0


SNAPSHOT: dict[str, Any] = {
    "id": SOME_ID,
    "version": 4,
    "tasks": [
        {"id": "g", "kind": "group", "group": None, "state": "failed", "spec": {"for_each": {"source": "list"}}},
        {"id": "g.0", "kind": "task", "group": "g", "state": "failed", "spec": {"timeouts": {"heartbeat_s": 5}}},
        {"id": "g.1", "kind": "task", "group": "g", "state": "succeeded", "spec": {}},
        {"id": "ok", "kind": "question", "group": None, "state": "failed", "spec": {}},
        {"id": "late", "kind": "task", "group": None, "state": "failed", "spec": {"superseded_by": "g.1"}},
    ],
}
MORE_TIME = {"heartbeat_s": 5, "schedule_to_close_s": 7200, "start_to_close_s": 7200}
EDITS = f"/constellations/{SOME_ID}/edits"


@pytest.fixture
def ended(hub: StubHub) -> StubHub:
    hub.answers["GET", f"/constellations/{SOME_ID}"] = (200, SNAPSHOT)
    hub.answers["POST", EDITS] = (200, {"version": 5})
    return hub


@pytest.mark.parametrize(
    ("words", "retried"),
    [(["--failed"], ["g.0", "ok"]), (["g"], ["g.0"]), (["g.0"], ["g.0"]), ([SOME_ID, "--failed"], ["g.0", "ok"])],
)
def test_failed_tasks_get_more_time_in_one_step(ended: StubHub, words: list[str], retried: list[str]) -> None:
    code, said = starloom(ended, "retry", *words, "--timeout", "2h")
    assert (code, "tried again with 7200 s for each attempt" in said) == (0, True)
    sent = ended.asked[-1][2]
    assert sent["retry"] == retried
    assert sent["operations"] == [{"update_task": {"id": "g.0", "timeouts": MORE_TIME}}]
    assert sent["base_version"] == 4


def test_failed_tasks_alone_are_retried_without_a_change(ended: StubHub) -> None:
    assert starloom(ended, "retry", "--failed")[0] == 0
    assert "operations" in ended.asked[-1][2]
    assert ended.asked[-1][2]["operations"] == []
    assert starloom(ended, "retry", "g.0", "--failed")[0] == 2
    assert starloom(ended, "retry", "g.1x", "--timeout", "5s")[0] == 2


def test_failed_tasks_are_retried_from_those_that_brought_their_files(ended: StubHub) -> None:
    """A plain retry gets the bytes that were brought before, whatever has become of the files since."""
    told: dict[str, Any] = {"items": [], "attention": [], "brought_by": ["send.1", "send.2"], "more": 0}
    ended.answers["GET", f"/constellations/{SOME_ID}/why"] = (200, told)
    for name in told["brought_by"]:
        done(ended, f"{TASKS}/{name}/retry-from")
    assert starloom(ended, "retry", "--failed", "--from-source")[0] == 0
    sent = [path for method, path, _ in ended.asked if method == "POST"]
    assert sent == [f"{TASKS}/send.1/retry-from", f"{TASKS}/send.2/retry-from"]
    assert starloom(ended, "retry", "g.0", "--from-source")[0] == 2
    told["brought_by"] = []
    assert starloom(ended, "retry", "--failed", "--from-source")[0] == 2


@pytest.mark.parametrize("word", ["all", "g"])
def test_one_word_confirms_all_that_would_run_twice(ended: StubHub, word: str) -> None:
    names = [f"g.{number}" for number in range(5)]
    fault = {"code": "needs_confirm", "place": "confirm", "reason": "g.0 and more have begun before", "hint": ""}
    ended.answers["POST", EDITS] = (409, {"title": "T", **fault, "errors": [fault], "repeats": names})
    code, said = starloom(ended, "retry", "--failed")
    assert code != 0
    assert "--confirm all" in said
    code, said = starloom(ended, "retry", "--failed", "--confirm", word)
    assert code == 2
    assert "5 tasks would do once more what may have been done already: g.0, g.1, g.2 and 2 more" in said
    starloom(ended, "retry", "--failed", "--confirm", word, "--yes")
    assert ended.asked[-1][2]["confirm"][-5:] == names


def test_rows_of_a_file_are_added_to_the_only_list(ended: StubHub, tmp_path: Path) -> None:
    table, lines, wrong = tmp_path / "more.csv", tmp_path / "more.jsonl", tmp_path / "more.txt"
    table.write_text("rate,name\n0.1,a\n3,007\n")
    lines.write_text('{"rate": 1}\n\n2\n')
    wrong.write_text("rate 1\n")
    for path, rows in ((table, [{"rate": 0.1, "name": "a"}, {"rate": 3, "name": "007"}]), (lines, [{"rate": 1}, 2])):
        assert starloom(ended, "edit", "--add-rows", str(path))[0] == 0
        assert ended.asked[-1][2]["operations"] == [{"add_items": {"to": "g", "items": rows}}]
    assert starloom(ended, "edit", "--add-rows", str(wrong))[0] == 2
    assert starloom(ended, "edit", "--add-rows", str(table), "--editor")[0] == 2
    assert starloom(ended, "edit", "--to", "g", "--editor")[0] == 2


def test_an_edit_of_what_has_ended_names_the_tasks_that_run_again(ended: StubHub, tmp_path: Path) -> None:
    file = tmp_path / "edit.yaml"
    file.write_text("operations: [{update_task: {id: g.0, args: {x: 1}}}]\n")
    assert starloom(ended, "edit", "-f", str(file), "--retry", "g.0", "--confirm", "g.0")[0] == 0
    sent = ended.asked[-1][2]
    assert (sent["retry"], sent["confirm"]) == (["g.0"], ["g.0"])


@pytest.mark.parametrize("running", [[], ["c-1"]])
def test_stop_all_names_the_schedules_that_fire_again(hub: StubHub, running: list[str]) -> None:
    names = ["Disk space", *(f"s{number}" for number in range(6))]
    made = {"constellations": running, "devices": [], "left_out": 2, "schedules": names}
    hub.answers["POST", "/stop-all"] = (202, made)
    hub.answers["GET", "/stop-all"] = (200, {"devices": []})
    code, said = starloom(hub, "stop-all")
    assert code == 0
    assert "Left out: 2 firings of schedules.\n7 schedules will fire again. To pause them:\n" in said
    assert "  starloom schedule pause 'Disk space'\n" in said
    assert said.endswith("  starloom schedule pause s3\n  2 more: starloom schedule ls\n")


@pytest.mark.parametrize(
    "line",
    [
        ("look at the disk", "why", SOME_ID),
        ("look", "at", "the", "disk", "why", SOME_ID),
        ("look at the disk", "-t", "why", SOME_ID),
        ("look at the disk", "-t", "why", "--id", SOME_ID),
    ],
)
def test_a_hint_names_its_task_as_other_controls_do(hub: StubHub, line: tuple[str, ...]) -> None:
    hub.answers["POST", f"/constellations/{SOME_ID}/tasks/why/hint"] = (200, {"state": "active"})
    code, said = starloom(hub, "hint", *line)
    assert (code, hub.asked[-1]) == (
        0,
        ("POST", f"/constellations/{SOME_ID}/tasks/why/hint", {"reason": "look at the disk"}),
    ), said


def test_a_hint_without_a_task_says_how_it_is_written(hub: StubHub) -> None:
    code, said = starloom(hub, "hint", "look at the disk", SOME_ID)
    assert (code, "hint needs its words and a task" in said, hub.asked) == (2, True, [])


def test_a_mistyped_state_of_a_mark_is_answered_with_the_nearest(hub: StubHub) -> None:
    code, said = starloom(hub, "mark", "why", SOME_ID, "--state", "suceeded")
    assert (code, "Did you mean 'succeeded'?" in said, hub.asked) == (2, True, [])
