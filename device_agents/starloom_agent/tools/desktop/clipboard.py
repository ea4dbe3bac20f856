"""`clipboard.read`, `clipboard.write`: the text on the clipboard of this device's display.

What a person copied may be a password: reading and replacing it asks the owner each time. On X11 and Wayland a
clipboard is a program that goes on answering: the agent keeps it for `keep_s`, until something else is copied or the
agent ends. Longer the text stays only where the desktop keeps a clipboard of its own.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named, of_device
from starloom_agent.toolkit.running import display, outliving
from starloom_agent.toolkit.running.programs import run_program
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_BYTES_MOST = 256 * 1024
_POWERSHELL = ("powershell", "pwsh")
_READERS = {
    "wayland": ("wl-paste",),
    "x11": ("xclip", "xsel"),
    "macos": ("pbpaste",),
    "windows": _POWERSHELL,
}
_WRITERS = {
    "wayland": ("wl-copy",),
    "x11": ("xclip", "xsel"),
    "macos": ("pbcopy",),
    "windows": _POWERSHELL,
}
_READ = {
    "wl-paste": ["wl-paste", "--no-newline", "--type", "text"],
    "xclip": ["xclip", "-selection", "clipboard", "-out"],
    "xsel": ["xsel", "--clipboard", "--output"],
    "pbpaste": ["pbpaste"],
    "powershell": ["powershell", "-NoProfile", "-Command", "Get-Clipboard -Raw"],
    "pwsh": ["pwsh", "-NoProfile", "-Command", "Get-Clipboard -Raw"],
}
_WRITE = {
    "wl-copy": ["wl-copy", "--foreground", "--type", "text/plain"],
    "xclip": ["xclip", "-quiet", "-selection", "clipboard", "-in"],
    "xsel": ["xsel", "--nodetach", "--clipboard", "--input"],
    "pbcopy": ["pbcopy"],
    "powershell": ["powershell", "-NoProfile", "-Command", "Set-Clipboard -Value ([Console]::In.ReadToEnd())"],
    "pwsh": ["pwsh", "-NoProfile", "-Command", "Set-Clipboard -Value ([Console]::In.ReadToEnd())"],
}
_OWNED_WITHIN_S = 5.0
"""The display hands a clipboard over at once; a loaded machine takes a second or two."""
_STAYING = frozenset({"wl-copy", "xclip", "xsel"})


class Read(Args, frozen=True, kw_only=True):
    """The text that is on the clipboard; at most 256 KiB of it."""

    device_name: str = ""


class Write(Args, frozen=True, kw_only=True):
    """Puts a text on the clipboard in place of what is there; `keep_s` is for X11 and Wayland."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=_BYTES_MOST)]
    keep_s: Annotated[int, msgspec.Meta(ge=1, le=86_400)] = 3600


class ClipboardText(Named):
    chars: int
    complete: bool
    text: str


def read(_context: ToolContext, args: Read) -> ClipboardText:
    program = display.program_for("reading the clipboard", _READERS)
    ran = display.run(_READ[program], kept_bytes=_BYTES_MOST)
    device = of_device(args.device_name)
    return {**device, "text": ran.stdout, "chars": len(ran.stdout), "complete": not ran.lost_bytes}


class ClipboardSet(TypedDict):
    """Where it does not stay, it is kept for `keep_s`."""

    chars: int
    keep_s: NotRequired[int]
    stays: bool


def write(context: ToolContext, args: Write) -> ClipboardSet:
    program = display.program_for("writing to the clipboard", _WRITERS)
    if program not in _STAYING:
        display.run(_WRITE[program], stdin=args.text.encode())
        return {"chars": len(args.text), "stays": True}
    _offer(context, program, args)
    return {"chars": len(args.text), "stays": False, "keep_s": args.keep_s}


def _offer(context: ToolContext, program: str, args: Write) -> None:
    """Start the program that answers for the text, and return when the clipboard gives the text back."""
    reader = display.program_for("reading the clipboard", _READERS)
    data, log = args.text.encode(), context.workdir / "clipboard-said"
    process = outliving.start(
        context,
        _WRITE[program],
        environment=display.environment(),
        stdin=data,
        errors_to=log,
        kind="clipboard",
        keep_s=args.keep_s,
    )

    def is_there() -> bool:
        ran = run_program(
            _READ[reader], timeout_s=_OWNED_WITHIN_S, environment=display.environment(), kept_bytes=2 * len(data) + 1024
        )
        return ran.exit_code == 0 and ran.stdout == args.text

    serves = False
    try:
        serves = outliving.settled(process, program, within_s=_OWNED_WITHIN_S, done=is_there, errors=log) and is_there()
    finally:
        if not serves:
            process.kill()
            process.wait()
    if not serves:
        raise ToolFailed(Code.TOOL_FAILED, f"{program} took the text, but the clipboard does not give it back")


def _read_probe() -> str | None:
    return display.lacking("reading the clipboard", _READERS)


def _write_probe() -> str | None:
    return display.lacking("writing to the clipboard", _WRITERS)


TOOLS = (
    Tool(
        name="clipboard.read",
        title="Read the text on the clipboard",
        args=Read,
        run=read,
        effects=(Effect.READ, Effect.CONTROL),
        repeatability=Repeatability.NEVER,
        grant="clipboard:use",
        probe=_read_probe,
    ),
    Tool(
        name="clipboard.write",
        title="Put a text on the clipboard",
        args=Write,
        run=write,
        effects=(Effect.CONTROL,),
        repeatability=Repeatability.NEVER,
        grant="clipboard:use",
        probe=_write_probe,
    ),
)
