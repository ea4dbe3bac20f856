"""The display of this device, if there is one, and the way to run its own programs there. No tool, no decision.

On Linux `desktop_session` finds it (Wayland before X11, because a Wayland session has both); macOS and Windows
have one where a person is signed in. Programs are run by their argument list; a text is never part of a script.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence

from starloom_agent.platforms import desktop_session
from starloom_agent.toolkit.interface import ToolFailed
from starloom_agent.toolkit.running.programs import KEPT_BYTES, Ran, needed, quiet_environment, run_program, said_by
from starloom_protocol.vocabulary import Code

NO_DISPLAY = "this device has no display (no session of this user shows one to its agent)"


def session() -> str:
    """Return `macos`, `windows`, `wayland`, `x11`, or nothing where there is no display."""
    if sys.platform in ("darwin", "win32"):
        return "macos" if sys.platform == "darwin" else "windows"
    variables = desktop_session.variables()
    if variables.get("WAYLAND_DISPLAY"):
        return "wayland"
    return "x11" if variables.get("DISPLAY") else ""


def notice_program() -> str:
    """Return the program that shows a notice here; empty where nobody would see one."""
    if sys.platform == "darwin" and shutil.which("osascript"):
        return "osascript"
    if shutil.which("termux-notification"):
        return "termux-notification"
    return "notify-send" if session() and shutil.which("notify-send") else ""


def script_argv(script: str, *words: str) -> list[str]:
    """Return the call of a script of macOS; the words are its arguments, also one that reads as an option, `-e`."""
    return ["osascript", "-e", script, "--", *words]


def environment() -> dict[str, str]:
    """Return what a program needs to find the display."""
    return {**quiet_environment(), **desktop_session.variables()}


def first_of(*programs: str) -> str | None:
    """Return the first of these programs that is installed."""
    return next((name for name in programs if shutil.which(name)), None)


def lacking(what: str, by_session: Mapping[str, tuple[str, ...]]) -> str | None:
    """Return why `what` cannot be done here: no display, or none of the programs that do it in this session."""
    here = session()
    if not here:
        return NO_DISPLAY
    programs = by_session.get(here, ())
    if not programs:
        return f"{what} is not possible in a {here} session"
    return None if first_of(*programs) else f"{what} needs {' or '.join(programs)}, and none is installed"


def program_for(what: str, by_session: Mapping[str, tuple[str, ...]]) -> str:
    """Return the program that does `what` here.

    Raises:
        ToolFailed: `tool_unavailable`, with what is missing.
    """
    return needed(first_of(*by_session.get(session(), ())), lacking(what, by_session))


def run(argv: Sequence[str], *, stdin: bytes = b"", timeout_s: float = 15, kept_bytes: int = KEPT_BYTES) -> Ran:
    """Run a program at the display.

    Raises:
        ToolFailed: `tool_failed` with what it said, if it ends with anything but 0.
    """
    ran = run_program(argv, timeout_s=timeout_s, environment=environment(), stdin=stdin, kept_bytes=kept_bytes)
    if ran.exit_code:
        raise ToolFailed(Code.TOOL_FAILED, f"{argv[0]} ended with {ran.exit_code}: {said_by(ran)}")
    return ran
