"""Adding devices by the command line: the lines, the phone's code, the answer to a pairing, and wrong calls."""

from __future__ import annotations

import os
import pty
import select
from pathlib import Path
from typing import Any

import pytest

from starloom.cli.devices.pairing import drop_typeahead
from starloom.client.terminal.typed import typed
from starloom.edge.routes.fleet.join_lines import qr
from tests.cli.test_commands import StubHub, starloom

MADE: dict[str, Any] = {
    "id": "e-1",
    "code": "AAAA",
    "line": "curl here",
    "url": "http://127.0.0.1:8470",
    "lan": None,
    "phone": {"url": "", "why": "no HTTPS here", "qr": None, "words": "", "warning": ""},
    "expires_at": "2026-01-01T00:00:00Z",
}
ASKING = {"id": "e-1", "state": "asking", "name": "box", "os": "linux", "words": "one two three four five six"}
ENROLL = ("POST", "/enrollments")
WHEELS = ("GET", "/agent/wheels.json")


@pytest.fixture
def stub(hub: StubHub) -> StubHub:
    hub.answers[WHEELS] = (200, [])
    return hub


def test_a_line_for_each_place_where_the_device_may_be(stub: StubHub) -> None:
    stub.answers[ENROLL] = (201, MADE)
    code, said = starloom(stub, "enroll", "--no-wait")
    assert (code, "curl here" in said, "same network" in said) == (0, True, False)
    stub.answers[ENROLL] = (201, {**MADE, "lan": {"line": "curl lan"}})
    code, said = starloom(stub, "enroll", "--no-wait", "--profile", "files")
    assert (code, "curl lan" in said) == (0, True)
    assert stub.asked[-1][2] == {"profile_most": "files"}


def test_a_line_for_this_computer_alone_says_so_and_what_to_do_for_another(stub: StubHub) -> None:
    stub.answers[ENROLL] = (201, MADE)
    _, said = starloom(stub, "enroll", "--no-wait")
    assert "On this computer, or through a tunnel, paste this line" in said
    assert "*Allow this network*" in said
    for line in ("starloom open", "starloom up --lan", "starloom enroll --ssh user@host"):
        assert typed(line) in said
    for far in ({"lan": {"line": "curl lan"}}, {"url": "https://hub.example.org"}):
        stub.answers[ENROLL] = (201, {**MADE, **far})
        assert "on this computer only" not in starloom(stub, "enroll", "--no-wait")[1]


def test_what_follows_is_told_where_nobody_waits_for_it(stub: StubHub) -> None:
    stub.answers[ENROLL] = (201, MADE)
    _, said = starloom(stub, "enroll", "--no-wait")
    assert "six words" in said
    assert said.endswith(typed("starloom approve e-1") + "\n")
    assert typed("starloom approve ID") in starloom(stub, "enroll", "--devices", "2")[1]
    assert "six words" not in starloom(stub, "enroll", "--devices", "2", "--preapproved")[1]


def test_the_phones_code_or_why_there_is_none(stub: StubHub) -> None:
    stub.answers[ENROLL] = (201, MADE)
    code, said = starloom(stub, "enroll", "--qr", "--no-wait")
    assert (code, "no HTTPS here" in said, "starloom up --lan" in said) == (2, True, True)
    url = "https://10.0.0.2:8471/tab/#join=AAAA"
    phone = {"url": url, "words": "six words", "warning": "w", "why": "", "qr": {}}
    stub.answers[ENROLL] = (201, {**MADE, "phone": phone})
    code, said = starloom(stub, "enroll", "--qr", "--no-wait")
    assert (code, url in said, "six words" in said, "\u2588" in said) == (0, True, True, True)


def test_a_pairing_is_listed_and_answered_where_other_questions_are(stub: StubHub) -> None:
    stub.answers["GET", "/approvals"] = (200, {"items": []})
    for path in ("/asks", "/constellations", "/schedules", "/devices"):
        stub.answers["GET", path] = (200, {"items": []})
    stub.answers["GET", "/enrollments"] = (200, {"items": [ASKING, {**ASKING, "id": "e-2", "state": "approved"}]})
    stub.answers["GET", "/session"] = (200, {"role": "operator", "scopes": []})
    _, said = starloom(stub, "approvals")
    assert "e-1  box (linux) asks to join" in said
    assert "e-2" not in said
    stub.answers["POST", "/enrollments/e-1/approve"] = (200, {})
    stub.answers["POST", "/enrollments/e-1/deny"] = (200, {})
    assert starloom(stub, "approve", "e-1")[0] == 0
    assert starloom(stub, "deny", "e-1", "--reason", "not mine")[0] == 0
    assert stub.asked[-1] == ("POST", "/enrollments/e-1/deny", {"reason": "not mine"})


def test_a_pairing_says_which_device_its_approval_revokes(stub: StubHub) -> None:
    for path in ("/approvals", "/asks", "/constellations", "/schedules"):
        stub.answers["GET", path] = (200, {"items": []})
    old = {"id": "d-1", "name": "box", "link": "offline", "link_since": "2026-01-02T12:00:00Z", "session": 4}
    stub.answers["GET", "/devices"] = (200, {"items": [{**old, "os": "linux", "revoked": False, "stuck": None}]})
    stub.answers["GET", "/enrollments"] = (200, {"items": [{**ASKING, "replaces": "d-1"}]})
    stub.answers["GET", "/session"] = (200, {"role": "owner", "scopes": []})
    assert "revokes the device that is called box now (offline since 2026-01-02 " in starloom(stub, "approvals")[1]
    stub.answers["GET", "/devices"] = (200, {"items": [{**old, "os": "linux", "revoked": True, "stuck": None}]})
    assert "revokes" not in starloom(stub, "approvals")[1]


def test_who_may_not_see_pairings_still_sees_questions(stub: StubHub) -> None:
    stub.answers["GET", "/approvals"] = (200, {"items": []})
    for path in ("/asks", "/constellations", "/schedules", "/devices"):
        stub.answers["GET", path] = (200, {"items": []})
    stub.answers["GET", "/enrollments"] = (403, {"code": "forbidden", "title": "No"})
    stub.answers["GET", "/session"] = (200, {"role": "approver", "scopes": []})
    assert starloom(stub, "approvals") == (0, "Nothing waits for you.\n")


def test_replacing_names_the_device_by_its_id(stub: StubHub) -> None:
    stub.answers["GET", "/devices"] = (200, {"items": [{"id": "d-1", "name": "box"}]})
    stub.answers[ENROLL] = (201, MADE)
    assert starloom(stub, "enroll", "--replace", "box", "--no-wait")[0] == 0
    assert stub.asked[-1][2]["replaces"] == "d-1"
    assert starloom(stub, "enroll", "--replace", "fox", "--no-wait")[0] == 2


def test_a_taken_name_is_told_before_the_line_is_used(stub: StubHub) -> None:
    names = ({"id": f"d-{name}", "name": name} for name in ("Ofen-1", "Ofen-1-2"))
    stub.answers["GET", "/devices"] = (200, {"items": list(names)})
    stub.answers[ENROLL] = (201, MADE)
    code, said = starloom(stub, "enroll", "--name", "Ofen-1", "--no-wait")
    assert code == 0
    assert "A device is called Ofen-1 already, so the new one will be called Ofen-1-3." in said
    assert typed("starloom enroll --replace Ofen-1") in said
    assert "already" not in starloom(stub, "enroll", "--name", "Herd", "--no-wait")[1]


def test_the_name_of_a_device_that_left_is_free(stub: StubHub) -> None:
    gone = {"id": "d-1", "name": "box", "revoked": True, "left": True}
    stub.answers["GET", "/devices"] = (200, {"items": [gone]})
    stub.answers[ENROLL] = (201, MADE)
    said = starloom(stub, "enroll", "--name", "box", "--no-wait")[1]
    assert "A device called box has left, so the new one will be called box, too" in said
    assert "unless work still waits for the one that left: then it will be called box-2" in said
    assert "already" not in said
    stub.answers["GET", "/devices"] = (200, {"items": [gone, {"id": "d-2", "name": "box"}]})
    said = starloom(stub, "enroll", "--name", "box", "--no-wait")[1]
    assert "A device is called box already, so the new one will be called box-2." in said


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--port", "22"), "--port: only with --ssh"),
        (("--folder", "x", "--keep"), "--folder, --keep: only with --ssh"),
        (("--ssh", "a@b", "--qr"), "--qr shows a phone's page"),
        (("--ssh", "a@b", "--replace", "box"), "--replace goes with a join line"),
        (("--ssh", "a@b", "--keep"), "starloom up` of this computer serves"),
        (("--profile", "root"), "root"),
    ],
)
def test_what_does_not_go_together_is_a_wrong_call(stub: StubHub, words: tuple[str, ...], reason: str) -> None:
    code, said = starloom(stub, "enroll", *words)
    assert code == 2
    assert reason in said
    assert stub.asked == []


def test_tunnels_are_kept_where_the_hub_is(stub: StubHub) -> None:
    code, said = starloom(stub, "tunnel", "ls")
    assert (code, "not a hub of this computer" in said) == (2, True)


def test_a_qr_code_is_one_path_over_its_square() -> None:
    made = qr("https://10.0.0.2:8471/tab/#join=AAAA")
    assert made["path"].startswith("M2 2h7v1h-7z")
    assert 21 <= made["size"] - 4 <= 61
    with pytest.raises(ValueError, match="too"):
        qr("x" * 5000)


def test_a_sign_in_link_for_a_phone_is_one_that_it_can_reach(stub: StubHub) -> None:
    url = "http://127.0.0.1:8470/#/sign-in/a.b"
    link = {"url": url, "lan_url": None}
    stub.answers["POST", "/sign-in-links"] = (201, link)
    assert "starloom up --lan" in starloom(stub, "open", "--qr")[1]
    stub.answers["POST", "/sign-in-links"] = (201, {**link, "lan_url": "https://10.0.0.2:8471/#/sign-in/a.b"})
    said = starloom(stub, "open", "--qr")[1]
    assert "https://10.0.0.2:8471/#/sign-in/a.b" in said
    assert "127.0.0.1" not in said
    assert url in starloom(stub, "open", "--no-browser")[1]


def test_a_hub_without_the_agent_makes_no_code(stub: StubHub) -> None:
    stub.answers[WHEELS] = (404, {"code": "not_found", "reason": "no agent to hand out", "hint": "Install it whole."})
    code, said = starloom(stub, "enroll", "--no-wait")
    assert (code, "no agent to hand out" in said, "Install it whole." in said) == (2, True, True)
    assert ENROLL not in [asked[:2] for asked in stub.asked]


def test_what_was_typed_before_the_words_were_shown_answers_nothing() -> None:
    person, terminal = pty.openpty()
    with (
        os.fdopen(terminal, "r+b", buffering=0) as shown,
        open(shown.fileno(), encoding="utf-8", closefd=False) as text,
    ):
        os.write(person, b"y\n")
        assert select.select([shown], [], [], 5)[0]
        drop_typeahead(text)
        assert not select.select([shown], [], [], 0)[0]
        os.write(person, b"n\n")
        assert text.readline() == "n\n"
    os.close(person)


def test_an_answer_that_is_piped_stays(tmp_path: Path) -> None:
    given = tmp_path / "answer"
    given.write_text("y\n", encoding="utf-8")
    with given.open(encoding="utf-8") as text:
        drop_typeahead(text)
        assert text.readline() == "y\n"


@pytest.mark.parametrize("option", ["--name", "--label"])
def test_the_name_is_given_by_the_word_of_the_agent_or_the_older_one(stub: StubHub, option: str) -> None:
    stub.answers[ENROLL] = (201, MADE)
    stub.answers["GET", "/devices"] = (403, {"code": "forbidden", "title": "No"})
    code, said = starloom(stub, "enroll", "--no-wait", option, "attic")
    assert (code, stub.asked[-1][2]["label"]) == (0, "attic")
    assert ("Labels are given where it joins: join ... --label attic" in said) == (option == "--label")


def test_a_label_beside_the_name_says_where_labels_are_given(stub: StubHub) -> None:
    code, said = starloom(stub, "enroll", "--no-wait", "--name", "attic", "--label", "gpu")
    assert (code, stub.asked) == (2, [])
    assert "join ... --label gpu" in said
    assert "--label" not in starloom(stub, "enroll", "--help")[1].replace("... --label gpu", "")


def test_a_server_without_its_option_is_told_the_option(stub: StubHub) -> None:
    code, said = starloom(stub, "enroll", "ann@box")
    assert (code, "enroll --ssh ann@box" in said) == (2, True)
    assert stub.asked == []
