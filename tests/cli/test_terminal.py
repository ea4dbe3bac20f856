"""What a terminal gets beside the words: tables that fit its width, and completion in its shell."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.test_commands import StubHub, starloom
from tests.programs import ran
from tests.waiting import SLOWER

BIN = Path(sys.executable).parent
IDENTITY = "d-01kb3v7m2q9x8f6s4t0w"


def device(name: str) -> dict[str, object]:
    return {
        "demo": True,
        "id": IDENTITY,
        "link": "online",
        "load": "free",
        "name": name,
        "os": "linux, Debian GNU/Linux 12 (bookworm) on aarch64",
        "profile": "operate",
        "running": 2,
        "slots": 4,
        "tools": ["a", "b"],
    }


def test_a_table_is_as_wide_as_columns_says(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.answers["GET", "/devices"] = (200, {"items": [device("backup-server"), device("laptop")]})
    monkeypatch.setenv("COLUMNS", "80")
    _, said = starloom(hub, "devices")
    assert max(len(line) for line in said.splitlines()) <= 80
    assert said.count("2 of") == 2
    assert "Left out in this width: id." in said
    monkeypatch.delenv("COLUMNS")
    wide = starloom(hub, "devices")[1].splitlines()
    assert len(wide) == 3
    assert "operate" in wide[1]
    assert IDENTITY in wide[1]


def test_an_answer_is_as_wide_as_columns_says(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"name": "n" * 40, "path": "/srv/" + "p" * 60, "about": "many words " * 12}]
    item = {"title": "Rows", "value": rows, "bytes": 0}
    answer = {"constellation_state": "succeeded", "items": [item], "sentence": "Done.", "state": "final"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    monkeypatch.setenv("COLUMNS", "80")
    code, said = starloom(hub, "result", "c-1")
    assert code == 0, said
    assert max(len(line) for line in said.splitlines()) <= 80


def in_a_shell(line: str, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **more}
    return ran(["bash", "--norc", "-c", line], env=environment, stdin=subprocess.DEVNULL, timeout=60 * SLOWER)


def test_completion_is_installed_for_the_shell_that_asks(tmp_path: Path) -> None:
    done = in_a_shell("starloom --install-completion; exit $?", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "completion" in (tmp_path / ".bashrc").read_text()
    words = {"_STARLOOM_COMPLETE": "complete_bash", "COMP_WORDS": "starloom dev", "COMP_CWORD": "1"}
    asked = in_a_shell("starloom", tmp_path, **words)
    assert asked.stdout.split() == ["devices", "device"]


def test_names_of_the_hub_that_a_shell_may_type_are_completed(hub: StubHub, tmp_path: Path) -> None:
    rows = [{"id": f"d-{name}", "name": name, "os": "linux"} for name in ("keller", "kegel", "nas", "ke$(reboot)")]
    hub.answers["GET", "/devices"] = (200, {"items": rows})
    hub.answers["GET", "/recipes"] = (200, {"items": [{"name": "kept", "title": "Kept files"}]})

    def completed(line: str, place: int, url: str = hub.url) -> list[str]:
        words = {"_STARLOOM_COMPLETE": "complete_bash", "COMP_WORDS": f"starloom {line}", "COMP_CWORD": str(place)}
        return in_a_shell("starloom", tmp_path, STARLOOM_URL=url, STARLOOM_TOKEN="t", **words).stdout.split()

    assert completed("device show ke", 3) == ["keller", "kegel"]
    assert completed("recipe run ke", 3) == ["kept"]
    assert completed("device show ke", 3, "http://127.0.0.1:1") == []
