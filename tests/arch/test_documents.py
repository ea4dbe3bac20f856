"""Documents are true: every command block is run as written, every plan is sound, every link and command exists."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from starloom.cli.commands import build
from starloom.client.discovery import read_local
from starloom.client.rest import Client
from starloom_protocol.plan.checks.check import check_plan
from starloom_protocol.plan.language.document import read_document
from starloom_protocol.vocabulary import CODES
from tests.arch.checkout import ROOT, files, named
from tests.arch.documents import AT_THE_ROOT, Block, blocks, documents, links
from tests.arch.running import Installation, installation
from tests.programs import ran
from tests.waiting import SLOWER

SKIPS = {
    "starts-the-service": "`make run` stays until Ctrl-C; tests/arch/test_first_minutes.py walks it",
    "builds-the-environment": "the tests run in the environment that it builds",
    "runs-this-test": "`make test` runs this file",
    "runs-for-a-while": "tests/chaos/test_scenarios.py runs every scenario by the same command",
    "changes-the-shell": "tests/cli/test_terminal.py installs it for a shell of its own",
    "needs-somebody-who-answers": "a model answers there by hand; tests/planner/blind plays the recorded answers",
    "needs-a-second-person": "tests/edge/routes/people/test_sessions.py invites one and gives them another role",
    "needs-a-plan-and-runs-before-it": "tests/planner/test_forecast.py and tests/cli ask what if",
    "needs-another-machine": "there is no second machine with a login here",
    "removes-the-installation": "tests/host/test_leaving.py lets an agent leave; the other blocks need the hub",
}
README_WIDTH = 100
README_WORDS_LEAST, README_WORDS_MOST = 500, 1_000
"""Tables, links and commands included; a person reads some 400 words a minute and passes over the commands."""
LANGUAGES = {"sh", "text", "yaml", "json", "toml", "mermaid", "python"}
BIN = Path(sys.executable).parent

_FILE = re.compile(r"`([\w/.-]+\.(?:py|tsx?))(?:::\w+)?`")
_COMMAND = re.compile(r"starloom((?: [a-z][a-z-]*)+)")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with installation(tmp_path_factory.mktemp("documents")) as made:
        yield made


def command_blocks() -> list[Block]:
    return [block for block in blocks() if block.language == "sh"]


def test_every_block_says_what_it_is() -> None:
    found = blocks()
    assert [block.place for block in found if block.language not in LANGUAGES] == []
    assert {block.value("skip") for block in found} - {""} == set(SKIPS)
    commands = command_blocks()
    assert len([block for block in commands if not block.value("skip")]) >= 4


def run_block(installed: Installation, text: str) -> subprocess.CompletedProcess[str]:
    return ran(
        ["bash", "-e", "-u", "-o", "pipefail", "-c", text],
        cwd=installed.folder,
        env=installed.environment,
        stdin=subprocess.DEVNULL,
        timeout=50 * SLOWER,
    )


@pytest.mark.parametrize(
    "block", [block for block in command_blocks() if not block.value("skip")], ids=lambda block: block.place
)
def test_a_command_block_runs_as_written(installed: Installation, block: Block) -> None:
    done = run_block(installed, block.text)
    assert done.returncode == int(block.value("exit") or 0), f"{block.text}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stdout.strip()


def test_a_python_script_runs_as_written(installed: Installation) -> None:
    (block,) = (block for block in blocks() if block.language == "python" and "run" in block.flags)
    done = ran([sys.executable, "-c", block.text], cwd=installed.folder, env=installed.environment, timeout=50 * SLOWER)
    assert done.returncode == 0, done.stdout + done.stderr
    first, *values = done.stdout.splitlines()
    assert first.startswith("succeeded - Squares is done: 1 task on ")
    assert values == ["squares {'rows': 5, 'sum': 30}", "saved squares.csv"]
    assert (installed.folder / "squares.csv").read_text().splitlines()[-1] == "4,16"


def test_the_installation_is_the_one_that_was_asked(installed: Installation) -> None:
    done = run_block(installed, 'starloom submit "how are my machines" --wait')
    assert done.returncode == 0, done.stdout + done.stderr
    address = read_local(installed.home)
    assert address is not None
    client = Client(address)
    try:
        asked = client.get("/constellations", limit=50)["items"]
        assert len(client.get("/devices")["items"]) == 3
    finally:
        client.close()
    assert "how are my machines" in [row["request"] for row in asked]


@pytest.mark.parametrize("path", list(files(".yaml", under="docs")), ids=lambda path: path.name)
def test_example_plans_are_sound(path: Path) -> None:
    assert check_plan(read_document(path.read_text())).faults == []


@pytest.mark.parametrize("block", [block for block in blocks() if "plan" in block.flags], ids=lambda block: block.place)
def test_plans_in_documents_are_sound(block: Block) -> None:
    assert check_plan(read_document(block.text)).faults == []


def test_every_link_leads_somewhere() -> None:
    pictures_made_by_e2e = {"docs/images/constellation.png"}
    benchmarks = {"docs/benchmarks.md"}
    broken = [
        (document, target)
        for document, target in links()
        if not ((ROOT / document).parent / target).exists() and target not in pictures_made_by_e2e | benchmarks
    ]
    assert broken == []


def test_the_readme_is_read_in_two_minutes() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    wide = [line for line in text.splitlines() if len(line) > README_WIDTH and not line.startswith(("|", "!["))]
    assert wide == []
    assert README_WORDS_LEAST <= len(text.split()) <= README_WORDS_MOST


def known_commands() -> set[tuple[str, ...]]:
    group = typer.main.get_command(build())
    found: set[tuple[str, ...]] = set()
    for name, command in getattr(group, "commands", {}).items():
        found.add((name,))
        found |= {(name, inner) for inner in getattr(command, "commands", {})}
    return found


def test_every_command_that_a_hint_or_a_document_names_exists() -> None:
    known = known_commands()
    groups = {words[0] for words in known if len(words) == 2}
    told = [f"`{part}`" for info in CODES.values() for part in re.findall(r"`([^`]+)`", info.hint)]
    told += [block.text for block in command_blocks()]
    for path in (ROOT / "README.md", *files(".md", under="docs")):
        told += [f"`{part}`" for part in re.findall(r"`(starloom [^`]+)`", path.read_text())]
    named_words = [match.split() for text in told for match in _COMMAND.findall(text)]
    assert named_words
    missing = [
        " ".join(words)
        for words in named_words
        if (words[0],) not in known or (words[0] in groups and len(words) > 1 and tuple(words[:2]) not in known)
    ]
    assert missing == []


def test_every_test_and_target_that_a_document_names_exists() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert phony is not None
    known = set(phony[1].split())
    count, missing = 0, []
    for path in documents():
        text = path.read_text()
        for place, test in re.findall(r"`(?:pytest )?((?:tests|frontend/src)/[\w/.-]+)(?:::(\w+))?`", text):
            count += 1
            there = ROOT / place
            if not there.exists() or (test and f"def {test}(" not in there.read_text()):
                missing.append((path.name, place, test))
        missing += [(path.name, "make", word) for word in re.findall(r"`make ([a-z0-9-]+)", text) if word not in known]
    assert count
    assert missing == []


def test_every_file_that_a_document_names_is_one_file() -> None:
    everything = [f"/{named(path)}" for path in files(".py", ".ts", ".tsx")]
    of_code = (*(ROOT / name for name in AT_THE_ROOT), *files(".md", under="docs/decisions"))
    told = [(path.name, name) for path in of_code for name in _FILE.findall(path.read_text(encoding="utf-8"))]
    found = {name: [place for place in everything if place.endswith(f"/{name}")] for _, name in told}
    assert len(found) > 100
    assert [one for one in told if not found[one[1]]] == [], "it is not there"
    assert [one for one in told if len(found[one[1]]) > 1] == [], "several files are called so: name the folder"


def test_make_help_names_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, env={**os.environ, "LC_ALL": "C"}, capture_output=True, text=True, check=True
    )
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    internal = {"environment", "environment-dev"}
    listed = {line.split()[0] for line in done.stdout.splitlines() if line and not line.startswith("Options")}
    assert set(phony[1].split()) - internal == listed & set(phony[1].split())
