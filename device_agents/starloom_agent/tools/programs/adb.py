"""`adb.devices`, `adb.files`, `adb.get`, `adb.screen`: a phone on a cable, by the adb of this computer.

The phone asks its owner whether this computer may connect. The commands that run on it are fixed; a path is quoted.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import PurePosixPath
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec

from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef, media_of
from starloom_agent.toolkit.results import Stored, StoredFrom
from starloom_agent.toolkit.running.programs import Ran, run_program, said_by
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_GRANT = "adb:use"
_SERIAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_LIST_BYTES = 4 * 1024 * 1024
_READY = "device"
_NOT_READY = {
    "unauthorized": "unlock the phone and allow this computer in its dialogue",
    "offline": "plug the phone in again",
}

Serial = Annotated[str, msgspec.Meta(max_length=128)]


class Devices(Args, frozen=True, kw_only=True):
    """The phones on this computer's cables, and the reasons why some do not answer."""


class Files(Args, frozen=True, kw_only=True):
    """Files below a folder of the phone, the newest first. `serial` is needed only where several are plugged in."""

    path: Annotated[str, msgspec.Meta(min_length=1, max_length=1024)] = "/sdcard/DCIM"
    serial: Serial = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 1000


class Get(Args, frozen=True, kw_only=True):
    """Give files of the phone to the hub's store; `paths` are those of the phone, as texts or as `{path}`."""

    paths: Annotated[list[str | FileRef], msgspec.Meta(min_length=1, max_length=1000)]
    serial: Serial = ""


class Screen(Args, frozen=True, kw_only=True):
    """The current screen of the phone, as a picture."""

    serial: Serial = ""


def _adb(argv: list[str], *, timeout_s: float = 60, kept_bytes: int = 64 * 1024) -> Ran:
    return run_program(["adb", *argv], timeout_s=timeout_s, kept_bytes=kept_bytes)


class Phone(TypedDict):
    model: str
    serial: str
    state: str
    way_out: str


class Phones(TypedDict):
    """`ready` counts those that answer."""

    ready: int
    rows: list[Phone]


def devices_from(text: str) -> list[Phone]:
    """Return rows from `adb devices -l`."""
    rows: list[Phone] = []
    for line in text.splitlines()[1:]:
        serial, _, rest = line.partition(" ")
        words = rest.split()
        if not serial or not words:
            continue
        fields = dict(word.split(":", 1) for word in words[1:] if ":" in word)
        way_out = "" if words[0] == _READY else _NOT_READY.get(words[0], "see `adb devices -l` on this computer")
        rows.append({"serial": serial, "state": words[0], "model": fields.get("model", ""), "way_out": way_out})
    return rows


def _listed() -> list[Phone]:
    ran = _adb(["devices", "-l"], timeout_s=20)
    if ran.exit_code:
        raise ToolFailed(Code.TOOL_FAILED, f"adb does not answer: {ran.stderr.strip()[:300]}", effect=False)
    return devices_from(ran.stdout)


def _serial_of(serial: str) -> str:
    """Return the selected phone.

    Raises:
        ToolFailed: there is none, it does not answer, or several do and none is named.
    """
    rows = _listed()
    if serial and not _SERIAL.fullmatch(serial):
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{quoted(serial)} is not the serial number of a phone", effect=False)
    matching = [row for row in rows if serial in ("", row["serial"])]
    ready = [row for row in matching if row["state"] == _READY]
    if len(ready) == 1:
        return ready[0]["serial"]
    if ready:
        names = ", ".join(row["serial"] for row in ready)
        raise ToolFailed(
            Code.BAD_ARGUMENTS, f"several phones are plugged in; name one as serial: {names}", effect=False
        )
    if matching:
        first = matching[0]
        detail = f"{first['serial']} is {first['state']}: {first['way_out']}"
        raise ToolFailed(Code.TOOL_UNAVAILABLE, detail, effect=False)
    missing = f"no phone {quoted(serial)} is" if serial else "no phone is"
    others = f"; there is {', '.join(row['serial'] for row in rows)}" if rows else ""
    raise ToolFailed(Code.TOOL_UNAVAILABLE, f"{missing} plugged into this computer{others}", effect=False)


def devices(_context: ToolContext, _args: Devices) -> Phones:
    rows = _listed()
    return {"rows": rows, "ready": sum(row["state"] == _READY for row in rows)}


class PhoneFile(TypedDict):
    bytes: int
    media: str
    mtime_s: int
    name: str
    path: str


class PhoneFiles(TypedDict):
    complete: bool
    count: int
    files: list[PhoneFile]


def files(_context: ToolContext, args: Files) -> PhoneFiles:
    if not args.path.startswith("/"):
        # Also because `find` would take a path such as `-delete` for an order.
        raise ToolFailed(
            Code.BAD_ARGUMENTS, f"{quoted(args.path)} is not an absolute path of a folder on the phone", effect=False
        )
    serial = _serial_of(args.serial)
    # A folder that is a link, as /sdcard is, is followed; links within are not.
    command = f"find -H {shlex.quote(args.path)} -type f -exec stat -c '%s|%Y|%n' {{}} +"
    ran = _adb(["-s", serial, "shell", command], timeout_s=120, kept_bytes=_LIST_BYTES)
    rows: list[PhoneFile] = []
    for line in ran.stdout.splitlines():
        size, _, rest = line.partition("|")
        changed, _, path = rest.partition("|")
        if size.isdigit() and changed.isdigit() and path:
            name = PurePosixPath(path).name
            rows.append(
                {"path": path, "name": name, "bytes": int(size), "mtime_s": int(changed), "media": media_of(name)}
            )
    if ran.exit_code and not rows:
        words = said_by(ran)
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{args.path} cannot be listed on the phone: {words}", effect=False)
    rows.sort(key=lambda row: (-row["mtime_s"], row["path"]))
    # Where it may not look into a folder, as into those of other apps, it ends with a fault and lists the rest.
    complete = not (ran.lost_bytes or ran.exit_code) and len(rows) <= args.limit
    return {"files": rows[: args.limit], "count": len(rows), "complete": complete}


class TakenFile(StoredFrom):
    mtime_s: NotRequired[int]
    sha256: str


class TakenFiles(TypedDict):
    bytes: int
    files: list[TakenFile]


def get(context: ToolContext, args: Get) -> TakenFiles:
    serial = _serial_of(args.serial)
    pulled_files: list[TakenFile] = []
    for number, item in enumerate(args.paths):
        path = item if isinstance(item, str) else item.path
        name = PurePosixPath(path).name
        if not path.startswith("/") or not name:
            raise ToolFailed(
                Code.BAD_ARGUMENTS, f"{quoted(path)} is not an absolute path of a file on the phone", effect=False
            )
        local = context.workdir / f"pulled-{number}"
        ran = _adb(["-s", serial, "pull", path, str(local)], timeout_s=3600)
        if ran.exit_code or not local.is_file():
            words = said_by(ran)
            raise ToolFailed(Code.FILE_NOT_FOUND, f"{path} cannot be taken from the phone: {words}", effect=False)
        stored = context.put(local, name=name, media=media_of(name))
        local.unlink()
        row: TakenFile = {
            "artifact": stored["artifact"],
            "bytes": stored["bytes"],
            "media": stored["media"],
            "name": stored["name"],
            "path": path,
            "sha256": stored["artifact"],
        }
        if not isinstance(item, str) and item.mtime_s:
            row["mtime_s"] = item.mtime_s
        pulled_files.append(row)
        context.progress(fraction=(number + 1) / len(args.paths), note=name)
    return {"files": pulled_files, "bytes": sum(file["bytes"] for file in pulled_files)}


class PhoneScreen(TypedDict):
    file: Stored


def screen(context: ToolContext, args: Screen) -> PhoneScreen:
    serial = _serial_of(args.serial)
    path_there = "/data/local/tmp/starloom-screen.png"
    local = context.workdir / "screen.png"
    captured = _adb(["-s", serial, "shell", f"screencap -p {path_there}"])
    pulled = _adb(["-s", serial, "pull", path_there, str(local)]) if not captured.exit_code else captured
    _adb(["-s", serial, "shell", f"rm -f {path_there}"])
    if pulled.exit_code or not local.is_file():
        words = said_by(pulled)
        raise ToolFailed(Code.TOOL_FAILED, f"the phone gave no picture of its screen: {words}")
    return {"file": context.put(local, name="screen.png", media="image/png")}


def _probe() -> str | None:
    return None if shutil.which("adb") else "adb is not installed, so no phone on a cable can be reached"


def _tool(
    name: str, title: str, args: type[Args], run: Any, *, effects: tuple[Effect, ...], again: Repeatability
) -> Tool:
    return Tool(
        name=name, title=title, args=args, run=run, effects=effects, repeatability=again, grant=_GRANT, probe=_probe,
    )  # fmt: skip


_READ = (Effect.READ,)
TOOLS = (
    _tool("adb.devices", "Phones on a cable", Devices, devices, effects=_READ, again=Repeatability.PURE),
    _tool("adb.files", "Files of a phone on a cable", Files, files, effects=_READ, again=Repeatability.PURE),
    _tool("adb.get", "Take files from a phone on a cable", Get, get, effects=_READ, again=Repeatability.IDEMPOTENT),
    _tool(
        "adb.screen",
        "The screen of a phone on a cable",
        Screen,
        screen,
        effects=(Effect.CONTROL,),
        again=Repeatability.NEVER,
    ),
)
