"""`notify`, `ask`, `open`: notices, questions and documents for the person at a device, by the desktop's own programs.

Each succeeds only where a person can see it; where there is no desktop, `notify` fails and the other two are not
offered. Those take the screen of a person, so no profile has them: the owner grants `desktop:use`.
"""

from __future__ import annotations

import html
import os
import shutil
import sys
import urllib.parse
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.running import display, outliving
from starloom_agent.toolkit.running.programs import needed, run_program, said_by
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

NO_NOTICE = "this device has no desktop to show a notice on"


class Notify(Args, frozen=True, kw_only=True):
    """`count`, where given, is put behind the text. With `unshown: log` a device that cannot show a notice logs it,
    and the call succeeds; else it fails.
    """

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    title: str = "Starloom"
    count: int | None = None
    unshown: Literal["fail", "log"] = "fail"


def _notice_argv(title: str, text: str) -> list[str] | None:
    """Return the program that shows a notice here; texts are arguments of their own, never parts of a script."""
    program = display.notice_program()
    if program == "osascript":
        script = "on run argv\ndisplay notification (item 2 of argv) with title (item 1 of argv)\nend run"
        return display.script_argv(script, title, text)
    if program == "termux-notification":
        return ["termux-notification", "--title", title, "--content", text]
    if program:
        # The body of a notice may have markup, and this one has none.
        return ["notify-send", "--app-name=Starloom", "--", title, html.escape(text, quote=False)]
    return None


class Notice(TypedDict):
    """`shown` is the program that showed it; `reason` why none did."""

    reason: str
    shown: str
    text: str


def notify(context: ToolContext, args: Notify) -> Notice:
    text = args.text if args.count is None else f"{args.text} ({args.count})"
    context.log(f"{args.title}: {text}")
    argv = _notice_argv(args.title, text)
    if argv is None:
        # A device of the demonstration has nobody before it; its log is where its notices are looked at.
        if context.unattended or args.unshown == "log":
            return {"text": text, "shown": "log", "reason": NO_NOTICE}
        raise ToolFailed(Code.TOOL_UNAVAILABLE, f"{NO_NOTICE}: nobody saw {quoted(text)}", effect=False)
    ran = run_program(argv, timeout_s=10, environment=display.environment())
    if ran.exit_code:
        reason = f"the notice was not shown: {argv[0]} failed: {said_by(ran)}"
        if args.unshown == "log":
            return {"text": text, "shown": "log", "reason": reason}
        raise ToolFailed(Code.TOOL_FAILED, reason, effect=False)
    return {"text": text, "shown": argv[0], "reason": ""}


class Ask(Args, frozen=True, kw_only=True):
    """A question in a window of this device. With `choices` one of them is picked, else a line is typed."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    choices: tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=100)], ...] = ()
    within_s: Annotated[int, msgspec.Meta(ge=5, le=3600)] = 300


def _question_argv(args: Ask) -> list[str]:
    if sys.platform == "darwin":
        if args.choices:
            script = (
                "on run argv\nset a to choose from list (rest of argv) with prompt (item 1 of argv)\nreturn a\nend run"
            )
        else:
            script = 'on run argv\nreturn text returned of (display dialog (item 1 of argv) default answer "")\nend run'
        return display.script_argv(script, args.text, *args.choices)
    # zenity reads escapes in both texts, markup above a list, and a mark of a key above an entry.
    text = args.text.replace("\\", "\\\\")
    if args.choices:
        above = html.escape(text, quote=False)
        return ["zenity", "--list", "--title=Starloom", f"--text={above}", "--column=Answer", "--", *args.choices]
    return ["zenity", "--entry", "--title=Starloom", f"--text={text.replace('_', '__')}"]


class PersonAnswer(TypedDict):
    answer: str


def ask(_context: ToolContext, args: Ask) -> PersonAnswer:
    ran = run_program(_question_argv(args), timeout_s=args.within_s, environment=display.environment())
    answer = ran.stdout.strip()
    # The list of macOS gives this word where it was closed.
    is_closed = sys.platform == "darwin" and bool(args.choices) and answer == "false" and "false" not in args.choices
    if ran.exit_code or is_closed or not answer:
        raise ToolFailed(Code.DECLINED, f"the person at the device closed the question: {args.text}")
    return {"answer": answer}


def _ask_probe() -> str | None:
    if sys.platform == "darwin":
        return None
    if not display.session():
        return "this device has no desktop to ask on; a `person:` task asks on the page instead"
    return None if shutil.which("zenity") else "zenity is not installed"


class Open(Args, frozen=True, kw_only=True):
    """A file of a granted folder, or an http(s) address, in the program that the desktop uses for it."""

    target: Annotated[str, msgspec.Meta(min_length=1, max_length=2000)]


_OPENED_WITHIN_S = 5.0
"""An opener that fails says so at once; one that still runs is the program itself."""
# The exit codes of xdg-open.
_WHY_NOT = {
    2: "the file is not there",
    3: "no program for it is installed",
    4: "the program for it failed",
}


def _opener() -> str | None:
    names = {"darwin": "open", "win32": "explorer"}
    return shutil.which(names.get(sys.platform, "xdg-open")) if display.session() else shutil.which("termux-open")


class Opened(TypedDict):
    opened: str


def open_target(context: ToolContext, args: Open) -> Opened:
    if urllib.parse.urlsplit(args.target).scheme in ("http", "https"):
        target = args.target
    else:
        real = context.resolve_read(args.target)
        if not real.exists():
            raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.target} does not exist on this device", effect=False)
        target = os.fspath(real)
    opener = needed(_opener(), _open_probe())
    process = outliving.start(context, [opener, target], environment=display.environment())
    try:
        # One that goes on running is the program itself: it has opened, and stays until a person closes it.
        outliving.settled(process, opener, within_s=_OPENED_WITHIN_S, done=lambda: False)
    except ToolFailed as failed:
        why = _WHY_NOT.get(process.returncode, "") if Path(opener).name == "xdg-open" else ""
        detail = f"{args.target} could not be opened: {failed.detail}" + (f" ({why})" if why else "")
        raise ToolFailed(Code.TOOL_FAILED, detail, effect=False) from failed
    return {"opened": args.target}


def _open_probe() -> str | None:
    return None if _opener() else "this device has no desktop to open things on"


TOOLS = (
    Tool(
        name="notify",
        title="Show a notice on the device",
        args=Notify,
        run=notify,
        effects=(Effect.WRITE,),
        repeatability=Repeatability.IDEMPOTENT,
    ),
    Tool(
        name="ask",
        title="Ask the person at the device",
        args=Ask,
        run=ask,
        effects=(Effect.CONTROL,),
        repeatability=Repeatability.NEVER,
        grant="desktop:use",
        never_asks=True,
        probe=_ask_probe,
    ),
    Tool(
        name="open",
        title="Open a file or address on the device",
        args=Open,
        run=open_target,
        effects=(Effect.CONTROL,),
        repeatability=Repeatability.NEVER,
        grant="desktop:use",
        probe=_open_probe,
    ),
)
