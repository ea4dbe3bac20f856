"""Joining: words worked out on this side, waiting for a person, refusals with their reason; join.py stays short."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.cli import main
from starloom_agent.home.directory import AgentHome
from starloom_agent.home.identity import Identity, load_or_make
from starloom_agent.wire.dialling import Route
from starloom_agent.wire.joining import Asked, JoinRefused, hub_address, join, words_of
from starloom_protocol.vocabulary import Profile
from tests.arch.checkout import ROOT
from tests.served import Quiet, Served
from tests.waiting import PATIENCE_S

HUB_KEY = "aHVi" * 10 + "aGU="
ASKED = Asked(code="ABCD-EFGH", name="laptop", os="linux", profile=Profile.OBSERVE)
JOIN_PY = ROOT / "device_agents" / "join.py"


CUT = 0


class Hub(Served):
    """Answers from a list, of which CUT is a connection that ends; keeps what was asked."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[tuple[str, Any]] = []
        self.rules: list[str | None] = []
        outer = self

        class Handler(Quiet, BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.given()
                outer.rules.append(self.headers.get("X-Starloom-Words"))
                outer.asked.append((self.path, json.loads(body or b"null")))
                status, answer = outer.answers.pop(0)
                if status == CUT:
                    self.close_connection = True
                    return
                self.reply(status, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

            do_GET = do_POST  # noqa: N815

        super().__init__(Handler)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as made:
        yield made


@pytest.fixture
def me(tmp_path: Path) -> Identity:
    return load_or_make(tmp_path / "device.key")


def test_it_shows_the_words_and_waits_for_the_person(hub: Hub, me: Identity) -> None:
    words = words_of(HUB_KEY, me.key, ASKED.code)
    asking = {"enrollment": "e-1", "state": "asking", "hub_key": HUB_KEY, "words": words}
    hub.answers = [(202, asking), (200, asking), (200, {**asking, "state": "approved", "name": "laptop-2"})]
    hub.answers[-1][1]["profile_most"] = "files"
    said: list[str] = []
    limits: list[str] = []
    record = join(Route(hub.url), ASKED, me, say=said.append, keep_limit=limits.append, sleep=lambda _: None)
    assert limits == ["files"]
    assert (record.hub, record.hub_key, record.name) == (hub.url, HUB_KEY, "laptop-2")
    assert len(said) == 1
    assert words in said[0]
    assert hub.asked[0][1]["key"] == me.key
    assert [path for path, _ in hub.asked[1:]] == ["/agent/join/e-1"] * 2


LOST = [(CUT, None), (503, {"reason": "starting"}), (429, {}), (200, b"<html>Sign in to this network</html>")]


@pytest.mark.parametrize("lost", LOST)
def test_an_answer_that_is_lost_does_not_end_the_joining(hub: Hub, me: Identity, lost: tuple[int, Any]) -> None:
    asking = {"enrollment": "e-1", "state": "asking", "hub_key": HUB_KEY}
    hub.answers = [(202, asking), lost, lost, (200, asking), lost, (200, {**asking, "state": "approved"})]
    said: list[str] = []
    joined = join(Route(hub.url), ASKED, me, say=said.append, sleep=lambda _: None)
    assert joined.name == "laptop"
    assert len([line for line in said if "keeps asking" in line]) == 2, "once for each silence"


def test_a_hub_that_stays_away_ends_the_joining_with_its_reason(hub: Hub, me: Identity) -> None:
    hub.answers = [(202, {"enrollment": "e-1", "state": "asking", "hub_key": HUB_KEY}), *[(CUT, None)] * 400]
    passed = [0.0]

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    with pytest.raises(JoinRefused, match=r"does not answer.* for 10 minutes.*join again with the same code"):
        join(Route(hub.url), ASKED, me, say=lambda _: None, sleep=sleep, clock=lambda: passed[0])
    assert 600 <= passed[0] < 610


def test_a_refusal_while_it_waits_ends_the_joining_at_once(hub: Hub, me: Identity) -> None:
    hub.answers = [
        (202, {"enrollment": "e-1", "state": "asking", "hub_key": HUB_KEY}),
        (404, {"reason": "there is no such pairing"}),
    ]
    with pytest.raises(JoinRefused, match="no such pairing"):
        join(Route(hub.url), ASKED, me, say=lambda _: None, sleep=lambda _: None)


def test_a_false_hub_cannot_show_the_words_of_the_real_one(hub: Hub, me: Identity) -> None:
    real, false = words_of(HUB_KEY, me.key, ASKED.code), "ZmFsc2U" + HUB_KEY[7:]
    asking = {"enrollment": "e-1", "state": "asking", "hub_key": false}
    hub.answers = [(202, {**asking, "words": real})]
    with pytest.raises(JoinRefused, match="somebody may be intercepting the connection"):
        join(Route(hub.url), ASKED, me, say=lambda _: None)
    hub.answers = [(202, asking), (200, {"state": "denied", "reason": "other words"})]
    said: list[str] = []
    with pytest.raises(JoinRefused, match="other words"):
        join(Route(hub.url), ASKED, me, say=said.append, sleep=lambda _: None)
    assert len(said) == 1
    assert real not in said[0]


def test_the_words_of_an_older_hub_are_shown_as_it_shows_them(hub: Hub, tmp_path: Path) -> None:
    """One key of 18 has a word twice by the rule of older hubs."""
    found = (load_or_make(tmp_path / f"{number}.key") for number in range(2_000))
    me = next(one for one in found if len(set(words_of(HUB_KEY, one.key, ASKED.code, repeats=True).split())) < 6)
    older = words_of(HUB_KEY, me.key, ASKED.code, repeats=True)
    asking = {"enrollment": "e-1", "state": "asking", "hub_key": HUB_KEY, "words": older}
    hub.answers = [(202, asking), (200, {**asking, "state": "approved"})]
    said: list[str] = []
    join(Route(hub.url), ASKED, me, say=said.append, sleep=lambda _: None)
    assert older in said[0]
    assert hub.rules == ["once", "once"]


def test_words_that_do_not_fit_end_it(hub: Hub, me: Identity) -> None:
    hub.answers = [(202, {"state": "asking", "hub_key": HUB_KEY, "words": "one two three four five six"})]
    with pytest.raises(JoinRefused, match="somebody may be intercepting the connection"):
        join(Route(hub.url), ASKED, me, say=lambda _: None)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ((403, {"reason": "the code is too old", "hint": "Make a new one."}), "too old. Make a new one"),
        ((200, {"state": "denied", "hub_key": HUB_KEY, "reason": "not mine"}), "not mine"),
        ((200, {"state": "approved"}), "named no key"),
    ],
)
def test_every_refusal_says_why(hub: Hub, me: Identity, answer: tuple[int, Any], reason: str) -> None:
    hub.answers = [answer]
    with pytest.raises(JoinRefused, match=reason):
        join(Route(hub.url), ASKED, me, say=lambda _: None)


def test_spelling_of_the_code_does_not_change_the_words(me: Identity) -> None:
    assert words_of(HUB_KEY, me.key, "abcd efg0") == words_of(HUB_KEY, me.key, "ABCD-EFGO")


def test_an_address_without_a_scheme_is_completed() -> None:
    assert hub_address("10.0.0.1:8470/") == "http://10.0.0.1:8470"


@pytest.mark.parametrize("url", ["ftp://x", "http://hub:port", "hub:99999", "http://[::1"])
def test_what_is_no_address_of_a_hub_says_how_one_looks(url: str) -> None:
    with pytest.raises(JoinRefused, match=re.escape(f"{url} is not the address of a hub; it looks like http://")):
        hub_address(url)


def test_the_key_is_private_and_stays(tmp_path: Path) -> None:
    first = load_or_make(tmp_path / "k")
    assert load_or_make(tmp_path / "k").device == first.device
    assert (tmp_path / "k").stat().st_mode & 0o077 == 0


def test_join_py_is_short_and_a_dry_run_changes_nothing(hub: Hub, tmp_path: Path) -> None:
    assert len(JOIN_PY.read_text().splitlines()) <= 150
    wheels = [
        {"name": name, "version": "0", "file": f"{name}.whl", "sha256": "0" * 64}
        for name in ("starloom_protocol", "starloom_agent")
    ]
    hub.answers = [(200, wheels), (200, "msgspec==1.0 --hash=sha256:0")]
    argv = [sys.executable, "-I", str(JOIN_PY), hub.url, "CODE", "--home", str(tmp_path / "home"), "--dry-run"]
    argv += ["--label", "gpu", "--answers", "hub", "--folder", "/srv/data"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert "starloom_agent.whl" in done.stdout
    assert "msgspec==1.0" in done.stdout
    assert "--label gpu --answers hub --folder /srv/data --start" in done.stdout, "other options are those of the agent"
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(("word", "starts"), [("--start", True), ("--no-start", False)])
def test_join_py_starts_the_agent_unless_it_is_not_to(hub: Hub, tmp_path: Path, word: str, starts: bool) -> None:
    wheels = [{"name": f"starloom_{name}", "file": "x.whl", "sha256": "0" * 64} for name in ("protocol", "agent")]
    hub.answers = [(200, wheels), (200, "")]
    argv = [sys.executable, "-I", str(JOIN_PY), hub.url, "CODE", "--home", str(tmp_path / "home"), "--dry-run", word]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert ("--start" in done.stdout) is starts


def test_an_option_before_the_address_is_told_its_place() -> None:
    argv = [sys.executable, "-I", str(JOIN_PY), "--label", "gpu", "http://127.0.0.1:9", "CODE"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, "URL and CODE stand first" in done.stderr) == (1, True)


def test_the_help_of_join_py_names_the_options_of_the_agent() -> None:
    argv = [sys.executable, "-I", str(JOIN_PY), "--help"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    further = " ".join(done.stdout.partition("further options:")[2].split())
    for option in ("--folder DIR (", "--label K=V (", "--answers here|hub (", "--yes ("):
        assert option in further, option


@pytest.mark.parametrize("word", ["--foldr=/srv", "--ssh", "-x"])
def test_an_unknown_option_is_refused_before_anything_is_installed(hub: Hub, tmp_path: Path, word: str) -> None:
    argv = [sys.executable, "-I", str(JOIN_PY), hub.url, "CODE", "--home", str(tmp_path / "home"), word]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert (done.returncode, f"{word}: there is no such option" in done.stderr) == (2, True)
    assert not (tmp_path / "home").exists()


def test_folders_are_given_one_by_one_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = ["join", "http://127.0.0.1:9", "CODE", "--home", str(tmp_path / "home")]
    assert main([*line, "--folder", str(tmp_path)]) == 2
    assert "add --profile files" in capsys.readouterr().err
    absent = str(tmp_path / "absent")
    assert main([*line, "--profile", "files", str(tmp_path), "--folder", absent]) == 2
    assert f"{absent} is not a folder" in capsys.readouterr().err


def test_a_line_to_type_runs_this_agent_and_no_other_of_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = tmp_path / "own" / "bin", tmp_path / "other"
    for folder in (own, other):
        folder.mkdir(parents=True)
        program = folder / "starloom-agent"
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(own / "python"))
    monkeypatch.setenv("PATH", str(other))
    home = AgentHome.at(str(tmp_path / "home"))
    assert home.line_for("install-service").startswith(f"{own / 'starloom-agent'} install-service")
    (own / "starloom-agent").unlink()
    assert home.line_for("start").startswith(f"{other / 'starloom-agent'} start")
