"""The command line of this program as its reader must type it, and the only way to print sentences here.

Sentences name commands as documents do, `starloom submit ...`; here they become lines that work when pasted. Texts
that are not the product's own (answers, outputs, JSON) must not pass through here. Imports nothing heavy.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import textwrap
from contextlib import suppress
from pathlib import Path
from typing import Final, TextIO

from starloom.client.terminal.escaping import escaped_text
from starloom.process import program as installed
from starloom.process.program import NAME


def program() -> str:
    """Return the words that run this program from a shell in the current folder, quoted."""
    script = installed.script()
    if not script.exists():
        return installed.anywhere()
    on_path = shutil.which(NAME)
    if on_path is not None and os.path.realpath(on_path) == os.path.realpath(script):
        return NAME
    with suppress(OSError, ValueError):  # the current folder may be gone, or not above the script
        near = str(script.relative_to(Path.cwd()))
        return shlex.quote(near if os.sep in near else f".{os.sep}{near}")
    return installed.anywhere()


def in_this_folder() -> str:
    """Return the words that a line needs which names the program from the current folder, else nothing."""
    command = program()
    return "" if command == NAME or shlex.split(command)[0].startswith(os.sep) else " in this folder"


def typed(text: str) -> str:
    """Return a text whose every command of this program can be pasted as it stands."""
    return installed.with_program(text, program)


_INDENT: Final = 4
"""The further lines of a text begin so far in, so that none looks like one of the product."""


def fitted(text: str) -> str:
    """Return lines broken between words to the width of the terminal; as they are where nobody reads them on one.

    A word that is longer, such as a path or a command, stays whole.
    """
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns - _INDENT
    return "\n".join(
        textwrap.fill(
            line,
            width,
            subsequent_indent=" " * (2 + len(line) - len(line.lstrip())),
            break_long_words=False,
            break_on_hyphens=False,
            replace_whitespace=False,
            drop_whitespace=True,
        )
        for line in typed(text).split("\n")
    )


def say(text: str, file: TextIO | None = None) -> None:
    """Print a line of the product, at once; on standard output unless a file is given.

    Names and reasons of others in it cannot steer the terminal, nor begin a line as the product does.
    """
    print(escaped_text(typed(text), indent=_INDENT), file=file, flush=True)
