"""`desktop.click`, `desktop.type`, `desktop.keys`: the mouse and the keyboard of this device's display.

The window with the focus gets them, so each call asks the owner, and none is repeated automatically. Linux only on X11
(`xdotool`) or, on Wayland, for typing and keys (`wtype`); macOS by System Events, which its owner has to allow.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from typing import Annotated, Any, Literal, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.running import display
from starloom_agent.toolkit.running.programs import said_by
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_POINTERS = {"x11": ("xdotool",), "macos": ("cliclick",)}
_KEYBOARDS = {"x11": ("xdotool",), "wayland": ("wtype",), "macos": ("osascript",)}
_BUTTONS = {"left": "1", "middle": "2", "right": "3"}
_MODIFIERS = {"ctrl": "control", "alt": "option", "shift": "shift", "super": "command"}
_WTYPE_MODIFIERS = {"ctrl": "ctrl", "alt": "alt", "shift": "shift", "super": "logo"}
# Names of keys as X11 has them, with the code that macOS has for the same key.
_KEYS = {
    "Return": 36, "Tab": 48, "space": 49, "BackSpace": 51, "Escape": 53, "Delete": 117, "Home": 115, "End": 119,
    "Prior": 116, "Next": 121, "Left": 123, "Right": 124, "Down": 125, "Up": 126, "F1": 122, "F2": 120, "F3": 99,
    "F4": 118, "F5": 96, "F6": 97, "F7": 98, "F8": 100, "F9": 101, "F10": 109, "F11": 103, "F12": 111,
}  # fmt: skip
_NEW_KEY_MS = 100
"""A window that has not heard of a new key within it drops the key."""
_ONE_CHARACTER = re.compile(r"[a-z0-9]")


class Click(Args, frozen=True, kw_only=True):
    """A click at a place of the display, counted in pixels from its upper left corner."""

    x: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    y: Annotated[int, msgspec.Meta(ge=0, le=100_000)]
    button: Literal["left", "middle", "right"] = "left"
    times: Annotated[int, msgspec.Meta(ge=1, le=3)] = 1


class Type(Args, frozen=True, kw_only=True):
    """A text, as if typed. It goes to what has the focus; no display says what became of it there (`confirmed`)."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=4000)]


class Keys(Args, frozen=True, kw_only=True):
    """Keys one after the other, each alone or with `ctrl`, `alt`, `shift`, `super`: `ctrl+s`, `Return`, `F5`."""

    keys: Annotated[list[str], msgspec.Meta(min_length=1, max_length=50)]


class Clicked(TypedDict):
    button: str
    times: int
    x: int
    y: int


def click(_context: ToolContext, args: Click) -> Clicked:
    program = display.program_for("clicking", _POINTERS)
    if program == "cliclick":
        if args.button == "middle":
            raise ToolFailed(Code.BAD_ARGUMENTS, "cliclick has no middle button", effect=False)
        word = {"left": "c", "right": "rc"}[args.button]
        display.run([program, *[f"{word}:{args.x},{args.y}"] * args.times])
    else:
        place = ["mousemove", "--sync", str(args.x), str(args.y)]
        display.run([program, *place, "click", "--repeat", str(args.times), _BUTTONS[args.button]])
    return {"x": args.x, "y": args.y, "button": args.button, "times": args.times}


class Typed(TypedDict):
    chars: int
    confirmed: bool


def type_text(_context: ToolContext, args: Type) -> Typed:
    _refuse_untypable(args.text)
    program = display.program_for("typing", _KEYBOARDS)
    if program == "xdotool":
        _type_on_x11(args.text)
    elif program == "wtype":
        display.run([program, "-"], stdin=args.text.encode(), timeout_s=300)
    else:
        script = 'on run argv\ntell application "System Events" to keystroke (item 1 of argv)\nend run'
        display.run(display.script_argv(script, args.text), timeout_s=300)
    return {"chars": len(args.text), "confirmed": False}


def _refuse_untypable(text: str) -> None:
    """Refuse a character that no key makes, before anything is typed.

    Raises:
        ToolFailed: `bad_arguments`, naming the first such character and its place.
    """
    for at, char in enumerate(text):
        if char not in "\n\t" and unicodedata.category(char) in ("Cc", "Cs", "Cn"):
            name = unicodedata.name(
                char, "no character of Unicode" if unicodedata.category(char) == "Cn" else "a control"
            )
            detail = f"U+{ord(char):04X} ({name}) at position {at + 1} cannot be typed; only line ends and tabs can"
            raise ToolFailed(Code.BAD_ARGUMENTS, detail, effect=False)


def _type_on_x11(text: str) -> None:
    """Type ASCII as it comes, and everything else key by key, slowly: the display learns a key for each of those.

    A window that has not heard of the new key yet drops it, and letters of the upper case need Shift to be such.
    Nothing of the text is an argument, since arguments are shown to everybody on the device.
    """
    for plain, run in itertools.groupby(text, str.isascii):
        part = "".join(run)
        if plain:
            ran = display.run(
                ["xdotool", "type", "--clearmodifiers", "--file", "-"], stdin=part.encode(), timeout_s=300
            )
        else:
            words = [f"{'shift+' if char.lower() != char else ''}U{ord(char):04X}" for char in part]
            script = f"key --clearmodifiers --delay {_NEW_KEY_MS} {' '.join(words)}\n"
            ran = display.run(["xdotool", "-"], stdin=script.encode(), timeout_s=30 + len(part) * _NEW_KEY_MS / 250)
        if ran.stderr.strip():
            raise ToolFailed(Code.TOOL_FAILED, f"xdotool did not type all of the text: {said_by(ran)}")


def parts_of(key: str) -> tuple[list[str], str]:
    """Return the modifiers and the key of `ctrl+shift+t`.

    Raises:
        ToolFailed: `bad_arguments`, naming what is no key.
    """
    *modifiers, last = key.split("+")
    unknown = [word for word in modifiers if word not in _MODIFIERS]
    if unknown or (last not in _KEYS and not _ONE_CHARACTER.fullmatch(last)):
        what = unknown[0] if unknown else last
        words = f"{', '.join(_MODIFIERS)} with a to z, 0 to 9, {', '.join(_KEYS)}"
        raise ToolFailed(
            Code.BAD_ARGUMENTS, f"{quoted(what[:40])} in {quoted(key[:80])} is no key; there are {words}", effect=False
        )
    return modifiers, last


class Pressed(TypedDict):
    pressed: list[str]


def keys(_context: ToolContext, args: Keys) -> Pressed:
    parsed = [parts_of(key) for key in args.keys]
    program = display.program_for("pressing keys", _KEYBOARDS)
    for modifiers, last in parsed:
        if program == "xdotool":
            display.run([program, "key", "--clearmodifiers", "+".join([*modifiers, last])])
        elif program == "wtype":
            modifier_names = [_WTYPE_MODIFIERS[word] for word in modifiers]
            down = [word for name in modifier_names for word in ("-M", name)]
            up = [word for name in modifier_names for word in ("-m", name)]
            display.run([program, *down, "-k", last, *up])
        else:
            display.run([program, "-e", _pressed(modifiers, last)])
    return {"pressed": args.keys}


def _pressed(modifiers: list[str], last: str) -> str:
    """Return the script of one key; every part of it comes from the tables above."""
    what = f"key code {_KEYS[last]}" if last in _KEYS else f'keystroke "{last}"'
    using = ", ".join(f"{_MODIFIERS[word]} down" for word in modifiers)
    return f'tell application "System Events" to {what}' + (f" using {{{using}}}" if using else "")


def _pointer_probe() -> str | None:
    return display.lacking("clicking", _POINTERS)


def _keyboard_probe() -> str | None:
    return display.lacking("typing", _KEYBOARDS)


def _tool(name: str, title: str, args: type[Args], run: Any, probe: Any) -> Tool:
    return Tool(
        name=name,
        title=title,
        args=args,
        run=run,
        effects=(Effect.CONTROL,),
        repeatability=Repeatability.NEVER,
        grant="desktop:control",
        probe=probe,
    )


TOOLS = (
    _tool("desktop.click", "Click on the screen", Click, click, _pointer_probe),
    _tool("desktop.type", "Type a text at the keyboard", Type, type_text, _keyboard_probe),
    _tool("desktop.keys", "Press keys of the keyboard", Keys, keys, _keyboard_probe),
)
