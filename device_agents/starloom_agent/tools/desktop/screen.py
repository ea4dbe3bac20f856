"""`screen.capture`: the display at this moment, as a PNG picture. It shows all open windows, so it asks the owner.

A Wayland display without `grim` (GNOME, KDE) can be captured only through the desktop's own dialogue; there the tool is
not offered.
"""

from __future__ import annotations

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named, Stored, of_device
from starloom_agent.toolkit.running import display
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_PROGRAMS = {
    "wayland": ("grim",),
    "x11": ("scrot", "maim", "import"),
    "macos": ("screencapture",),
    "windows": ("powershell",),
}
_ARGV = {
    "grim": ["grim", "FILE"],
    "scrot": ["scrot", "--overwrite", "--silent", "FILE"],
    "maim": ["maim", "FILE"],
    "import": ["import", "-window", "root", "FILE"],
    "screencapture": ["screencapture", "-x", "-t", "png", "FILE"],
}
# It saves where it runs, the attempt's own folder: a path is never part of a script.
_WINDOWS = (
    "Add-Type -AssemblyName System.Windows.Forms,System.Drawing; "
    "$b=[Windows.Forms.SystemInformation]::VirtualScreen; "
    "$p=New-Object Drawing.Bitmap $b.Width,$b.Height; "
    "[Drawing.Graphics]::FromImage($p).CopyFromScreen($b.Left,$b.Top,0,0,$p.Size); "
    "$p.Save((Join-Path (Get-Location) 'screen.png'))"
)
_PNG = b"\x89PNG\r\n\x1a\n"
_BYTES_MOST = 64 * 1024 * 1024


class Capture(Args, frozen=True, kw_only=True):
    """The whole display."""

    name: str = "screen.png"
    device_name: str = ""


class ScreenPicture(Named):
    """`by` is the program that took it."""

    by: str
    bytes: int
    picture: Stored


def capture(context: ToolContext, args: Capture) -> ScreenPicture:
    program = display.program_for("taking a picture of the screen", _PROGRAMS)
    path = context.workdir / "screen.png"
    if program == "powershell":
        display.run([program, "-NoProfile", "-Command", _WINDOWS], timeout_s=30)
    else:
        display.run([str(path) if word == "FILE" else word for word in _ARGV[program]], timeout_s=30)
    try:
        size = path.stat().st_size
        with path.open("rb") as opened:
            whole = opened.read(len(_PNG)) == _PNG
    except FileNotFoundError:
        size, whole = 0, False
    if not whole or size > _BYTES_MOST:
        what = f"{size} bytes, more than {_BYTES_MOST}" if whole else "no PNG picture"
        raise ToolFailed(Code.TOOL_FAILED, f"{program} gave {what}; may this agent record the screen?", effect=False)
    device = of_device(args.device_name)
    return {**device, "picture": context.put(path, name=args.name, media="image/png"), "bytes": size, "by": program}


def _probe() -> str | None:
    return display.lacking("taking a picture of the screen", _PROGRAMS)


TOOLS = (
    Tool(
        name="screen.capture",
        title="Take a picture of the screen",
        args=Capture,
        run=capture,
        effects=(Effect.READ, Effect.CONTROL),
        repeatability=Repeatability.NEVER,
        grant="screen:view",
        probe=_probe,
    ),
)
