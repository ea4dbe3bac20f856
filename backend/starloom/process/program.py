"""The command lines of this installation's program, and of the agent on a device, that work when they are pasted.

Texts name commands as documents do, `starloom submit ...`. A line that is shown has a path in place of the name.
Reads this installation's own files only.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

NAME = "starloom"
AGENT = "starloom-agent"
HOME_LEFT_OPEN = "STARLOOM_HOME=FOLDER"
"""Where the folder may not be told, because strangers read the line, too."""
UPGRADE = f"{AGENT} upgrade"

_COMMAND = re.compile(rf"(?<![\w./~-]){NAME}(?= (?:[a-z]|--[a-z]))")
"""A command: `starloom` before a word or an option. `Starloom`, `starloom-agent`, paths and files do not match."""
_AGENT_COMMAND = re.compile(rf"(?<![\w./~-]){AGENT} ([a-z][a-z-]*)")
_GIVING = re.compile(rf"(?<![\w./~-])(?:{AGENT} grant|{NAME} secret) [^;]*")
"""The line that gives a grant or a secret; it ends at the end of its clause."""
_PLACE = re.compile(r"(?:/[\w. @+-]+)+|[A-Za-z]:(?:\\[\w.@+-]+)+", re.ASCII)
_PLACE_CHARS_MAX = 400


def script() -> Path:
    """Return the path that this environment's program has if it is installed as a script."""
    return Path(sys.executable).parent / NAME


def anywhere() -> str:
    """Return the words that run this program in any folder of this computer."""
    program = script()
    return shlex.quote(str(program)) if program.exists() else f"{shlex.quote(sys.executable)} -P -m starloom.cli"


def of_hub(home: Path, usual: Path) -> str:
    """Return the words that run this program for the hub on this data, in any terminal of its computer."""
    folder = home.resolve()
    return anywhere() if folder == usual.resolve() else f"STARLOOM_HOME={shlex.quote(str(folder))} {anywhere()}"


def in_its_folder() -> str:
    """Return the words that run this program where its environment is, without a folder or a person in them."""
    program, environment = script(), Path(sys.prefix)
    on_path = shutil.which(NAME)
    is_on_path = on_path is not None and os.path.realpath(on_path) == os.path.realpath(program)
    if is_on_path or not program.is_relative_to(environment) or sys.prefix == sys.base_prefix:
        return NAME
    return shlex.quote(str(Path(environment.name) / program.relative_to(environment)))


def for_its_hub(words: str, home: Path, usual: Path) -> str:
    """Return words that run this program with the variable that a hub on other data needs, its folder left open.

    A hub is found on the usual data, and on `.starloom` in the folder of the command or above it.
    """
    folder_here = Path.cwd()
    usual_homes = [usual, *(folder / ".starloom" for folder in (folder_here, *folder_here.parents))]
    return words if home.resolve() in [one.resolve() for one in usual_homes] else f"{HOME_LEFT_OPEN} {words}"


def with_program(text: str, program: Callable[[], str]) -> str:
    """Return a text with `program()` in place of this program's name in commands; not called if there are none."""
    return _COMMAND.sub(lambda _: program(), text)


def line_giving(texts: Iterable[str]) -> str:
    """Return the first line in these texts that gives a grant or a secret; empty where there is none."""
    matches = (_GIVING.search(text) for text in texts)
    return next((line[0].strip().rstrip(".,") for line in matches if line), "")


def on_device(text: str, facts: Mapping[str, str]) -> str:
    """Return a text with the path of the agent on its device in place of its name in commands.

    A device may report anything: only a path that ends with the agent's own name is used, and it is quoted.
    """
    place, home = _place(facts.get("program", "")), _place(facts.get("home", ""))
    if re.fullmatch(rf".*[/\\]{AGENT}(?:\.exe)?", place) is None:
        return text
    more = f" --home {shlex.quote(home)}" if home else ""
    program = place if "\\" in place else shlex.quote(place)
    return _AGENT_COMMAND.sub(lambda found: f"{program} {found[1]}{more}", text)


def _place(text: str) -> str:
    return text if len(text) <= _PLACE_CHARS_MAX and _PLACE.fullmatch(text) else ""
