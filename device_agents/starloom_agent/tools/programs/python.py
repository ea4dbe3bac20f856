"""`python.run`: a Python program in a cage without network, with files in and files out.

The program has a directory of its own below the attempt's; the files that it leaves there are not trusted, because a
name may be a link to anywhere. It reads the granted folders and changes nothing there: a tool for files does that,
which keeps what it replaces.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec

from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox.cage import TEMPORARY, Cage, Layer
from starloom_agent.sandbox.levels import UNCONFINED
from starloom_agent.sandbox.limits import DISK_BYTES_MAX, MEMORY_BYTES_MAX
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.encodings import no_text
from starloom_agent.toolkit.files.laying_out import names_of
from starloom_agent.toolkit.files.walking import Walk, is_text
from starloom_agent.toolkit.interface import SECRET, Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef, media_of
from starloom_agent.toolkit.results import Named, Stored
from starloom_agent.toolkit.running.programs import ended_by, quiet_environment, refuse_limit, run_program, said_by
from starloom_agent.toolkit.running.variables import checked
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_SHOWN_BYTES = 12 * 1024
"""A usual result stays inline with it (`INLINE_VALUE_BYTES_MAX`); the log of the attempt has the rest."""
_RESULT_BYTES_MOST = 8 * 1024 * 1024
"""It is read into memory whole; more belongs into a file in `out/`."""
_FILES_MOST = 256
_RESERVED = frozenset({"program.py", "input.json", "result.json", "out"})
_OWN_NAMES = frozenset({"program.py", "out"})
_OUTSIDE = "it is not in out/"
_NOT_CHANGED = ("Read-only file system", "PermissionError")
_IN_OUT = (
    " (a program changes no granted folder: leave files in out/, and have artifact.get or fs.write put them there)"
)
_NAMED_MOST = 20
_NAMED_CHARS = 300


class Run(Args, frozen=True, kw_only=True):
    """`code` runs in a folder of its own: `input` (any value, also by `inputs`) is JSON in `input.json` there, `files`
    (artifacts) lie beside it, `argv` is `sys.argv[1:]`. JSON that it writes to `result.json` is the `value`; each
    file that it leaves in `out/` becomes an artifact in `files`. Another exit code than 0 fails the task.

    Files of equal names are named by origin, `DEVICE - NAME`. `env` is for credentials: see `variables`.
    """

    code: Annotated[str, msgspec.Meta(min_length=1, max_length=1024 * 1024)]
    argv: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    input: Any = None
    env: Annotated[dict[str, str], SECRET] = msgspec.field(default_factory=dict)
    any_exit: bool = False
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600
    device_name: str = ""


def _lay_out(context: ToolContext, home: Path, args: Run) -> None:
    with plain(home, "writing"):
        (home / "out").mkdir(parents=True, exist_ok=True)
        (home / "program.py").write_text(args.code, encoding="utf-8")
        (home / "input.json").write_bytes(msgspec.json.encode(args.input))
        for file, name in zip(args.files, names_of(args.files, _RESERVED), strict=True):
            if not file.artifact:
                raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.shown_name} is not an artifact", effect=False)
            context.fetch(file.artifact).replace(home / name)


def _command(context: ToolContext, home: Path, argv: tuple[str, ...], names: Iterable[str]) -> list[str]:
    # isolated: no user site, no PYTHON* variables, not the agent's own modules from its directory
    program = [sys.executable, "-I", "-X", "utf8", "program.py", *argv]
    if context.cage == UNCONFINED:
        return program
    if not context.cage:
        raise ToolFailed(Code.TOOL_UNAVAILABLE, "this device has no sandbox for a program", effect=False)
    cage = Cage(
        layer=Layer(context.cage),
        workdir=str(home),
        interpreter=tuple(cages.interpreter()),
        read=context.caged_roots(),
        memory_bytes_max=MEMORY_BYTES_MAX,
        disk_bytes_max=DISK_BYTES_MAX,
        variables=tuple(names),
    )
    return cages.command(cage, program)


def _value(context: ToolContext, home: Path) -> Any:
    path = home / "result.json"
    with plain(path, "reading"):
        if not context.files.is_file(path):
            return None
        with context.files.open(path) as file:
            text = file.read(_RESULT_BYTES_MOST + 1)
    if len(text) > _RESULT_BYTES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"result.json is larger than {_RESULT_BYTES_MOST} bytes; use out/")
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise ToolFailed(Code.TOOL_FAILED, f"result.json is not JSON: {error}") from error


def _files_out(context: ToolContext, root: Path) -> tuple[list[Stored], list[LeftBehind]]:
    """Return what the program left in `out/`, and what of it cannot be taken."""
    with plain(root, "looking at"):
        if not context.files.is_folder(root):
            return [], []
    # the walk does not follow links
    walk = Walk(context.files, root, hidden=True, trash=True)
    paths = sorted(entry.path for entry in walk)
    left = [LeftBehind(path=missed.below, why=missed.why) for missed in walk.missed]
    left += [LeftBehind(path=below, why="a link is not taken") for below in walk.links if is_text(below)]
    if len(paths) > _FILES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"out/ has {len(paths)} files; at most {_FILES_MOST} are taken")
    stored = [context.put(path, name=path.relative_to(root).as_posix(), media=media_of(path.name)) for path in paths]
    return stored, left[:_FILES_MOST]


def _outside(context: ToolContext, home: Path, inputs: Iterable[str]) -> list[LeftBehind]:
    """Return what the program made beside `out/`, which ends with the call."""
    expected = {*_RESERVED, *inputs, "__pycache__", TEMPORARY}
    with plain(home, "looking at"), context.files.scan(home) as entries:
        names = sorted(entry.name for entry in entries if entry.name not in expected and is_text(entry.name))
    return [LeftBehind(path=name, why=_OUTSIDE) for name in names]


def _beside(context: ToolContext, home: Path) -> str:
    """Return the names of the files that lie beside the program, for one that looked for another name."""
    with plain(home, "looking at"), context.files.scan(home) as entries:
        names = sorted(entry.name for entry in entries if entry.name not in _OWN_NAMES and entry.name[0] != ".")
    names_words = ", ".join(quoted(name) for name in names[:_NAMED_MOST])[:_NAMED_CHARS]
    return f" (beside it: {names_words})" if names_words else " (beside it: no file)"


def _no_text(context: ToolContext, home: Path) -> str:
    """Return which file beside the program is no UTF-8, for one that read it as such."""
    with plain(home, "looking at"), context.files.scan(home) as entries:
        names = sorted(entry.name for entry in entries if entry.name not in _OWN_NAMES and entry.name[0] != ".")
    fault = no_text(context, (home / name for name in names if context.files.is_file(home / name)))
    return f" ({fault})" if fault else ""


class LeftBehind(TypedDict):
    path: str
    why: str


class ProgramResult(Named):
    """`value` is what the program wrote to `result.json`, `files` what it left in `out/`.

    `left_out` names what lies in `out/` and could not be taken, and what lies beside it.
    """

    exit_code: int
    files: list[Stored]
    left_out: NotRequired[list[LeftBehind]]
    lost_bytes: int
    stderr: str
    stdout: str
    value: Any


def run(context: ToolContext, args: Run) -> ProgramResult:
    home = context.workdir / "program"
    env = checked(args.env)
    _lay_out(context, home, args)
    context.begin()
    ran = run_program(
        _command(context, home, args.argv, env),
        timeout_s=args.timeout_s,
        cwd=home,
        environment={**quiet_environment(), **env},
        tell=context.log,
        kept_bytes=_SHOWN_BYTES,
        hidden=context.hidden,
    )
    refuse_limit(ran, "the program")
    # Whatever the program left is taken without the right to follow it anywhere.
    context.confine()
    if ran.exit_code and not args.any_exit:
        words = said_by(ran, 800)
        beside = _beside(context, home) if "FileNotFoundError" in words else ""
        if "UnicodeDecodeError" in words:
            beside = _no_text(context, home)
        if any(word in words for word in _NOT_CHANGED):
            beside = _IN_OUT
        raise ToolFailed(Code.EXIT_CODE, f"the program ended with {ran.exit_code}{beside}: {ended_by(ran, 800)}")
    files, left_out = _files_out(context, home / "out")
    left_out += _outside(context, home, names_of(args.files, _RESERVED))
    row: ProgramResult = {
        "exit_code": ran.exit_code,
        "stdout": ran.stdout,
        "stderr": ran.stderr,
        "lost_bytes": ran.lost_bytes,
        "value": _value(context, home),
        "files": files,
    }
    if left_out:
        row["left_out"] = left_out[:_FILES_MOST]
    if args.device_name:
        row["device"] = args.device_name
    return row


TOOLS = (
    Tool(
        name="python.run",
        title="Run a Python program",
        args=Run,
        run=run,
        effects=(Effect.READ, Effect.WRITE),
        repeatability=Repeatability.NEVER,
        grant="python:run",
        caged=True,
        fetches=True,
    ),
)
