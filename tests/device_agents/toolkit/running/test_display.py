"""Clipboard, screen, mouse and keyboard, with the desktop's programs played by a script that notes how it was called.

No display is here: what is tested is what is asked of the programs, and what becomes of their answers and failures.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from starloom_agent.platforms import desktop_session
from starloom_agent.policy.policy import Policy, decide
from starloom_agent.toolkit.interface import Tool, ToolFailed
from starloom_agent.toolkit.running import display
from starloom_agent.tools.desktop import clipboard, desktop, screen
from starloom_protocol.vocabulary import Code, Effect, Repeatability
from tests.device_agents.tools.conftest import Device

TOOLS: dict[str, Tool] = {tool.name: tool for module in (clipboard, screen, desktop) for tool in module.TOOLS}
NOTE = """#!/bin/sh
{{ printf '%s\\n' "$(basename "$0")" "$@"; }} >> {folder}/asked
{body}
"""
PNG = r"printf '\211PNG\r\n\032\nrest' > "
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put programs with these bodies on a PATH of their own, in a session of this kind."""

    def put(session: str, **bodies: str) -> Path:
        folder = tmp_path / "programs"
        folder.mkdir(exist_ok=True)
        for name, body in bodies.items():
            program = folder / name.replace("_", "-")
            program.write_text(NOTE.format(folder=folder, body=body), encoding="utf-8")
            program.chmod(0o755)
        for needed in ("sh", "basename", "cat", "sleep"):
            if not (folder / needed).exists():
                (folder / needed).symlink_to(
                    next(p for p in map(Path, ("/bin/" + needed, "/usr/bin/" + needed)) if p.exists())
                )
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setattr(display, "session", lambda: session)
        return folder

    return put


def asked(folder: Path) -> list[str]:
    return (folder / "asked").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_without_a_display_or_its_program_it_is_not_offered_and_says_what_is_missing(
    name: str, install: Install, device: Device
) -> None:
    install("")
    assert TOOLS[name].probe() == display.NO_DISPLAY
    install("x11")
    reason = TOOLS[name].probe()
    assert reason is not None
    assert "none is installed" in reason
    args: dict[str, dict[str, Any]] = {
        "clipboard.write": {"text": "x"},
        "desktop.click": {"x": 1, "y": 1},
        "desktop.type": {"text": "x"},
        "desktop.keys": {"keys": ["Return"]},
    }
    with pytest.raises(ToolFailed) as failed:
        device.call(name, **args.get(name, {}))
    assert failed.value.code is Code.TOOL_UNAVAILABLE


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_each_takes_control_asks_its_owner_and_is_never_repeated(name: str) -> None:
    tool = TOOLS[name]
    assert Effect.CONTROL in tool.effects
    assert tool.repeatability is Repeatability.NEVER
    args = {"x": 1, "y": 2}
    assert decide(Policy(), tool, args).code is Code.MISSING_GRANT
    decision = decide(Policy(grants=frozenset({str(tool.grant)})), tool, args)
    assert decision.asks
    assert not decision.allowed


def test_the_clipboard_is_read_as_text(device: Device, install: Install) -> None:
    folder = install("x11", xclip="printf 'Grüße\\n'")
    assert device.call("clipboard.read", device_name="laptop") == {
        "device": "laptop", "text": "Grüße\n", "chars": 6, "complete": True,
    }  # fmt: skip
    assert asked(folder) == ["xclip", "-selection", "clipboard", "-out"]


def test_more_than_fits_is_said(device: Device, install: Install) -> None:
    install("wayland", wl_paste="i=0; while [ $i -lt 6000 ]; do printf '%0100d' $i; i=$((i+1)); done")
    found = device.call("clipboard.read")
    assert not found["complete"]
    assert len(found["text"]) < 300 * 1024


def test_a_text_goes_to_the_clipboard_by_its_input_alone(device: Device, install: Install) -> None:
    folder = install("wayland", wl_copy="cat > ${0%/*}/text", wl_paste="cat ${0%/*}/text")
    assert device.call("clipboard.write", text="a; rm -rf $HOME") == {"chars": 15, "stays": False, "keep_s": 3600}
    assert (folder / "text").read_text(encoding="utf-8") == "a; rm -rf $HOME"
    assert "wl-copy --foreground --type text/plain" in " ".join(asked(folder))


def test_a_clipboard_that_does_not_give_the_text_is_a_failure(
    device: Device, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clipboard, "_OWNED_WITHIN_S", 0.2)
    folder = install("x11", xclip="[ $3 = -out ] && exit 1; echo $$ > ${0%/*}/pid; exec sleep 100")
    with pytest.raises(ToolFailed, match="does not give it back"):
        device.call("clipboard.write", text="x")
    with pytest.raises(ProcessLookupError):
        os.kill(int((folder / "pid").read_text()), 0)


def test_a_clipboard_that_refuses_is_a_failure_with_its_words(device: Device, install: Install) -> None:
    install("x11", xclip='cat > /dev/null; echo "Can\'t open display" >&2; exit 1')
    with pytest.raises(ToolFailed, match="Can't open display"):
        device.call("clipboard.write", text="x")
    with pytest.raises(ToolFailed, match="ended with 1"):
        device.call("clipboard.read")


def test_macos_has_a_clipboard_that_stays(device: Device, install: Install) -> None:
    folder = install("macos", pbcopy="cat > ${0%/*}/text", pbpaste="echo hello")
    assert device.call("clipboard.write", text="hi") == {"chars": 2, "stays": True}
    assert (folder / "text").read_text() == "hi"
    assert device.call("clipboard.read")["text"] == "hello\n"


@pytest.mark.parametrize(
    ("session", "program", "words"),
    [
        ("wayland", "grim", []),
        ("x11", "scrot", ["--overwrite", "--silent"]),
        ("x11", "maim", []),
        ("x11", "import", ["-window", "root"]),
        ("macos", "screencapture", ["-x", "-t", "png"]),
    ],
)
def test_the_screen_is_a_picture(
    session: str, program: str, words: list[str], device: Device, install: Install
) -> None:
    folder = install(session, **{program: 'for last in "$@"; do :; done\n' + PNG + '"$last"'})
    found = device.call("screen.capture")
    assert found["by"] == program
    assert device.store.read(found["picture"]) == b"\x89PNG\r\n\x1a\nrest"
    assert asked(folder) == [program, *words, str(device.workdir / "screen.png")]


def test_a_capture_that_is_no_picture_is_a_failure(device: Device, install: Install) -> None:
    install("wayland", grim="exit 0")
    with pytest.raises(ToolFailed, match="may this agent record the screen"):
        device.call("screen.capture")


def test_a_click_is_a_place_and_a_button(device: Device, install: Install) -> None:
    folder = install("x11", xdotool="")
    device.call("desktop.click", x=10, y=20, button="right", times=2)
    assert asked(folder) == ["xdotool", "mousemove", "--sync", "10", "20", "click", "--repeat", "2", "3"]
    folder = install("macos", cliclick="")
    device.call("desktop.click", x=1, y=2)
    assert asked(folder)[-2:] == ["cliclick", "c:1,2"]
    with pytest.raises(ToolFailed, match="no middle button"):
        device.call("desktop.click", x=1, y=2, button="middle")


@pytest.mark.parametrize(
    ("session", "program", "words"),
    [("x11", "xdotool", ["type", "--clearmodifiers", "--file", "-"]), ("wayland", "wtype", ["-"])],
)
def test_what_is_typed_is_never_an_argument(
    session: str, program: str, words: list[str], device: Device, install: Install
) -> None:
    folder = install(session, **{program: "cat > ${0%/*}/text"})
    device.call("desktop.type", text="--help `id`")
    assert (folder / "text").read_text() == "--help `id`"
    assert asked(folder) == [program, *words]


def test_what_the_keyboard_lacks_is_typed_key_by_key(device: Device, install: Install) -> None:
    folder = install("x11", xdotool="{ printf '%s: ' $1; cat; echo; } >> ${0%/*}/text")
    found = device.call("desktop.type", text="Grüße, ÄÖ 漢😀\n")
    assert found == {"chars": 13, "confirmed": False}
    assert (folder / "text").read_text(encoding="utf-8").splitlines() == [
        "type: Gr",
        "-: key --clearmodifiers --delay 100 U00FC U00DF", "",
        "type: e, ",
        "-: key --clearmodifiers --delay 100 shift+U00C4 shift+U00D6", "",
        "type:  ",
        "-: key --clearmodifiers --delay 100 U6F22 U1F600", "",
        "type: ", "",
    ]  # fmt: skip
    assert not any(char in "".join(asked(folder)) for char in ("ü", "00FC", "Gr"))


@pytest.mark.parametrize(
    ("text", "named"), [("ab\x07", r"U\+0007 .* position 3"), ("\x1b[2J", r"U\+001B .* position 1")]
)
def test_a_character_that_no_key_makes_is_named(text: str, named: str, device: Device, install: Install) -> None:
    folder = install("x11", xdotool="")
    with pytest.raises(ToolFailed, match=named) as failed:
        device.call("desktop.type", text=text)
    assert failed.value.code is Code.BAD_ARGUMENTS
    assert not (folder / "asked").exists()


def test_a_keyboard_that_complains_is_a_failure(device: Device, install: Install) -> None:
    install("x11", xdotool="cat > /dev/null; echo 'no key for it' >&2")
    with pytest.raises(ToolFailed, match="did not type all of the text: no key for it"):
        device.call("desktop.type", text="x")


def test_keys_come_from_a_table(device: Device, install: Install) -> None:
    folder = install("x11", xdotool="")
    device.call("desktop.keys", keys=["ctrl+shift+t", "Return"])
    assert asked(folder) == [
        "xdotool", "key", "--clearmodifiers", "ctrl+shift+t", "xdotool", "key", "--clearmodifiers", "Return",
    ]  # fmt: skip
    folder = install("wayland", wtype="")
    device.call("desktop.keys", keys=["super+l"])
    assert asked(folder)[-7:] == ["wtype", "-M", "logo", "-k", "l", "-m", "logo"]
    folder = install("macos", osascript="")
    device.call("desktop.keys", keys=["super+c", "Escape"])
    assert asked(folder)[-2:] == ["-e", 'tell application "System Events" to key code 53']
    assert 'tell application "System Events" to keystroke "c" using {command down}' in asked(folder)


@pytest.mark.parametrize("key", ["ctrl+", "hyper+x", "Powerdown", '"', "ctrl+c; rm", "ä"])
def test_what_is_no_key_is_refused_before_anything_is_pressed(key: str, device: Device, install: Install) -> None:
    folder = install("x11", xdotool="")
    with pytest.raises(ToolFailed) as failed:
        device.call("desktop.keys", keys=["Return", key])
    assert failed.value.code is Code.BAD_ARGUMENTS
    assert not (folder / "asked").exists()


def test_typing_for_macos_is_an_argument_of_the_script(device: Device, install: Install) -> None:
    folder = install("macos", osascript="")
    device.call("desktop.type", text='" & do shell script "id')
    assert asked(folder)[-1] == '" & do shell script "id'
    assert "item 1 of argv" in "\n".join(asked(folder))


def test_a_session_is_found_by_what_the_environment_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    assert display.session() == "wayland"
    assert display.environment()["DISPLAY"] == ":0"
    monkeypatch.delenv("WAYLAND_DISPLAY")
    assert display.session() == "x11"
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nowhere")
    monkeypatch.delenv("DISPLAY")
    assert display.session() == ""
    monkeypatch.setenv("DISPLAY", ":0")
    assert display.lacking("typing", {"wayland": ("wtype",)}) == "typing is not possible in a x11 session"
    for platform, name in (("darwin", "macos"), ("win32", "windows")):
        monkeypatch.setattr("sys.platform", platform)
        assert display.session() == name


@pytest.fixture
def signed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user whose agent began before the desktop: nothing in its environment, a runtime folder, a service manager."""
    monkeypatch.setattr("sys.platform", "linux")
    for name in desktop_session.NAMES:
        monkeypatch.delenv(name, raising=False)
    runtime, programs = tmp_path / "runtime", tmp_path / "programs"
    runtime.mkdir()
    programs.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    manager = programs / "systemctl"
    manager.write_text(f"#!/bin/sh\n[ \"$*\" = '--user show-environment' ] && cat {programs}/shown\n")
    manager.chmod(0o755)
    (programs / "shown").write_text("LANG=C.UTF-8\nSECRET=s\n")
    return tmp_path


def test_a_desktop_that_came_after_the_agent_is_found(signed_in: Path) -> None:
    assert display.session() == ""
    (signed_in / "programs" / "shown").write_text("DISPLAY=:7\nXAUTHORITY=$'/run/it'\nSECRET=s\n")
    assert display.session() == "x11"
    found = display.environment()
    assert (found["DISPLAY"], found["XAUTHORITY"]) == (":7", "/run/it")
    assert "SECRET" not in found


def test_the_sockets_of_a_desktop_are_found(signed_in: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX) as wayland, socket.socket(socket.AF_UNIX) as bus:
        monkeypatch.chdir(signed_in / "runtime")
        wayland.bind("wayland-0")
        bus.bind("bus")
        assert display.session() == "wayland"
        assert display.environment()["DBUS_SESSION_BUS_ADDRESS"] == f"unix:path={signed_in / 'runtime' / 'bus'}"


def test_a_link_in_place_of_a_desktops_socket_is_none(signed_in: Path) -> None:
    (signed_in / "runtime" / "wayland-0").symlink_to("/dev/null")
    (signed_in / "runtime" / "bus").write_text("")
    assert display.session() == ""
    assert "DBUS_SESSION_BUS_ADDRESS" not in display.environment()


def test_arguments_out_of_bounds_are_refused() -> None:
    for name, args in (
        ("desktop.click", {"x": -1, "y": 0}),
        ("desktop.keys", {"keys": []}),
        ("clipboard.write", {"text": ""}),
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(args, TOOLS[name].args)
