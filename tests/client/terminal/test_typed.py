"""Every line that the program prints can be pasted: where `starloom` is on the PATH and where it is not."""

from __future__ import annotations

import html
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import Request

from starloom.client.discovery import hub_option
from starloom.client.own_homes import note
from starloom.client.terminal.typed import fitted, program, typed
from starloom.edge.web.own_command import TypedHere
from starloom.process.computers import computer_name
from starloom.process.program import line_giving, on_device, with_program
from tests.installation import READY_WITHIN_S, Installation
from tests.programs import bare_environment, ran
from tests.waiting import SLOWER, until

BIN = Path(sys.executable).parent
OUTSIDE = os.pathsep.join(
    folder for folder in os.environ["PATH"].split(os.pathsep) if not (Path(folder) / "starloom").exists()
)
"""The PATH of a terminal that has not heard of the environment."""


def test_long_lines_are_broken_between_words_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "ok    history: " + "one word after the other " * 8 + "/a/path/" + "x" * 90
    assert fitted(text) == text, "a pipe gets whole lines"
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    *lines, last = fitted(text).split("\n")
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60
    assert last.strip() == "/a/path/" + "x" * 90


def on_a_script(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Path:
    """Let the program run from a script in this folder, which no PATH has; return the script."""
    script = folder / "starloom"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    monkeypatch.setenv("PATH", OUTSIDE)
    return script


def test_a_script_on_the_path_is_typed_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = on_a_script(monkeypatch, tmp_path / "venv" / "bin")
    links = tmp_path / "links"
    links.mkdir()
    (links / "starloom").symlink_to(script)
    monkeypatch.setenv("PATH", f"{links}{os.pathsep}{OUTSIDE}")
    assert program() == "starloom"


def test_another_program_of_this_name_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = on_a_script(monkeypatch, tmp_path / "other")
    script = on_a_script(monkeypatch, tmp_path / "venv" / "bin")
    monkeypatch.setenv("PATH", f"{other.parent}{os.pathsep}{OUTSIDE}")
    monkeypatch.chdir(tmp_path)
    assert program() == "venv/bin/starloom"
    monkeypatch.chdir(script.parent)
    assert program() == "./starloom"
    monkeypatch.chdir("/")
    assert shlex.split(program()) == [str(script).lstrip("/")]


def test_a_path_with_spaces_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = on_a_script(monkeypatch, tmp_path / "my venv" / "bin")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert program() == f"'{script}'"


def test_only_commands_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_a_script(monkeypatch, tmp_path / "bin")
    monkeypatch.chdir(tmp_path)
    for told in (
        "Starloom needs Python 3.11",
        "starloom-agent join URL CODE",
        "mend starloom.toml in ~/.local/share/starloom or /srv/starloom now",
        "other/starloom up",
        "starloom 1.2.0",
    ):
        assert typed(told) == told
    assert typed("Run `starloom open`, then: starloom why") == "Run `bin/starloom open`, then: bin/starloom why"
    assert typed("See `starloom --help`.") == "See `bin/starloom --help`."


def test_a_data_folder_that_is_not_found_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path / "a hub"))
    monkeypatch.chdir(tmp_path)
    assert shlex.split(hub_option(tmp_path / "a hub")) == ["--hub", str(tmp_path / "a hub")]
    near = tmp_path / ".starloom"
    assert shlex.split(hub_option(near)) == ["--hub", str(near)]
    near.mkdir()
    note(near, tmp_path)
    assert hub_option(near) == ""
    assert hub_option(tmp_path / ".local" / "share" / "starloom") == ""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    home = tmp_path_factory.mktemp("typed")
    made = Installation(home, {"PATH": OUTSIDE, "HOME": str(home)})
    try:
        made.up()
        made.until_online(computer_name())
        yield made
    finally:
        made.close()


def paste(line: str, service: Installation, *, path: str = OUTSIDE, home: bool = False) -> tuple[int, str, str]:
    """Run a line in a terminal of the same folder; with `home` that terminal has named the hub."""
    environment = {**bare_environment(), "PATH": path, "HOME": str(service.home / "nobody")}
    if home:
        environment["STARLOOM_HOME"] = str(service.home)
    done = ran(["bash", "-c", line], env=environment, stdin=subprocess.DEVNULL, timeout=60 * SLOWER)
    return done.returncode, done.stdout, done.stderr


def test_the_lines_of_up_work_as_they_are_printed(service: Installation) -> None:
    until(lambda: "Ctrl-C stops everything" in service.log("supervisor"), "what to try", READY_WITHIN_S)
    lines = [line.strip() for line in service.log("supervisor").splitlines() if re.match(r"  \S*starloom ", line)]
    assert len(lines) == 3
    for line in lines:
        assert program_of(line) != "starloom"
        # An unattended terminal has no device to wait for.
        code, out, said = paste(line + " --no-wait" * (" enroll" in line), service)
        assert code == 0, f"{line}\n{out}\n{said}"


def test_the_hint_of_a_refusal_works_as_it_is_printed(service: Installation) -> None:
    script = shlex.quote(str(BIN / "starloom"))
    code, _, said = paste(f"{script} device show nobody", service, home=True)
    assert code == 2
    hint = re.search(r"The way out: See `(.+)`", said)
    assert hint is not None, said
    assert program_of(hint[1]) != "starloom"
    code, out, said = paste(hint[1], service, home=True)
    assert code == 0, said
    assert "profile" in out


def test_a_hint_of_the_hub_works_as_it_is_printed(service: Installation) -> None:
    script = shlex.quote(str(BIN / "starloom"))
    code, _, said = paste(f"{script} show c-nothing", service, home=True)
    assert code == 2
    hint = re.search(r"`(\S*starloom ls)`", said)
    assert hint is not None, said
    assert paste(hint[1], service, home=True)[0] == 0


def test_on_the_path_the_hint_has_the_plain_name(service: Installation) -> None:
    path = f"{BIN}{os.pathsep}{OUTSIDE}"
    assert "See `starloom devices`." in paste("starloom device show nobody", service, path=path, home=True)[2]


def test_json_keeps_the_name_that_documents_use(service: Installation) -> None:
    script = shlex.quote(str(BIN / "starloom"))
    _, _, said = paste(f"{script} device show nobody --json", service, home=True)
    assert '"See `starloom devices`."' in said


def program_of(line: str) -> str:
    return shlex.split(line)[0]


def test_a_path_of_the_agent_is_taken_only_as_a_path() -> None:
    line = "starloom-agent grant shell:run -- make"
    there = "/opt/a b/.starloom-agent/venv/bin/starloom-agent"
    assert on_device(line, {"program": there}) == f"'{there}' grant shell:run -- make"
    assert on_device(line, {"program": there, "home": "/srv/it"}) == f"'{there}' grant --home /srv/it shell:run -- make"
    for lie in (
        "/bin/sh -c 'x' starloom-agent",
        "/bin/rm",
        "starloom-agent",
        "/x;rm/starloom-agent",
        "/$(x)/starloom-agent",
    ):
        assert on_device(line, {"program": lie}) == line
    assert on_device(line, {"program": there, "home": "/x;rm"}) == f"'{there}' grant shell:run -- make"


def lines_of(page: str) -> list[str]:
    found = [html.unescape(one) for one in re.findall(r"<code>(.+?)</code>", page)]
    return [one for one in found if re.search(r"starloom (submit|enroll)", one)]


def test_the_lines_of_the_web_work_as_they_are_given(service: Installation) -> None:
    """Every line for the hub's own computer, in a terminal that knows neither the program nor the hub.

    Those that a page shows to anybody name no folder: they are typed where the hub was started, in its environment.
    """
    with httpx.Client(base_url=f"http://127.0.0.1:{service.port}") as browser:
        refused = browser.get("/api/v1/session")
        assert refused.status_code == 401
        program = refused.json()["program"]
        pages = [browser.get("/"), browser.get("/tab/")]
    own = service.client.get("/session")["program"]
    made = service.client.post("/enrollments", {})
    said = [refused.json()["hint"], "starloom devices", made["ssh_line"].replace("--ssh user@host", "--help")]
    lines = [re.sub(r".*`(.+)`.*", r"\1", with_program(one, lambda: own)) for one in said]
    lines[0] += " --help"  # a browser is not opened by a test
    shown = [line for page in pages for line in lines_of(page.text)]
    for line in [*lines, *shown]:
        assert (program if line in shown else own) in line
        folder = Path(sys.prefix).parent if line in shown else Path("/")
        typed = f"cd {shlex.quote(str(folder))} && {line}" + " --no-wait" * line.endswith("enroll")
        code, out, faults = paste(typed, service, home=line in shown)
        assert code == 0, f"{line}\n{out}\n{faults}"


def test_a_stranger_in_the_network_sees_no_path(tmp_path: Path) -> None:
    here = TypedHere("/opt/hub/starloom")
    for address in ("192.168.1.7", "2001:db8::7"):
        far = Request({"type": "http", "client": (address, 1), "headers": []})
        assert here.more(far) == {}
        assert here.html(far, "<code>starloom open</code>") == "<code>starloom open</code>"
    near = Request({"type": "http", "client": ("127.0.0.1", 1), "headers": [(b"host", b"localhost:8470")]})
    assert here.html(near, "<code>starloom open</code>") == "<code>/opt/hub/starloom open</code>"


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (
            ["look at it", "type starloom-agent grant change on nas; or choose another device"],
            "starloom-agent grant change on nas",
        ),
        (["starloom secret set smtp."], "starloom secret set smtp"),
        (["see /h/starloom-agent grant", "choose another device"], ""),
    ],
    ids=["grant", "secret", "none"],
)
def test_the_line_that_gives_a_grant_or_a_secret_stands_alone(texts: list[str], line: str) -> None:
    assert line_giving(texts) == line
