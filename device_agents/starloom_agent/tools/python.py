"""`python.run`: a Python program in an isolated process, with files in and files out."""

from __future__ import annotations

import sys
from pathlib import PurePosixPath
from typing import Annotated, Any

import msgspec

from starloom_agent.tools.faults import plain
from starloom_agent.tools.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.tools.programs import run_program
from starloom_agent.tools.refs import FileRef, media_of
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_SHOWN_BYTES = 12 * 1024
_RESULT_BYTES_MOST = 8 * 1024 * 1024
_FILES_MOST = 256


class Run(Args, frozen=True, kw_only=True):
    """`code` runs with `files` in its directory and `input` as JSON in `input.json`.

    What it writes to `result.json` is the `value`; every file that it leaves in `out/` becomes an artifact.
    """

    code: Annotated[str, msgspec.Meta(min_length=1, max_length=1024 * 1024)]
    argv: tuple[str, ...] = ()
    files: tuple[FileRef, ...] = ()
    input: Any = None
    any_exit: bool = False
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600
    device_name: str = ""


def _lay_out(context: ToolContext, args: Run) -> None:
    home = context.workdir
    with plain(home, "writing"):
        (home / "out").mkdir(exist_ok=True)
        (home / "program.py").write_text(args.code, encoding="utf-8")
        (home / "input.json").write_bytes(msgspec.json.encode(args.input))
        for file in args.files:
            name = PurePosixPath(file.shown_name).name
            if name in ("program.py", "input.json", "result.json", "out", "", ".."):
                raise ToolFailed(Code.BAD_ARGUMENTS, f"a file may not be named {name!r} here", effect=False)
            if not file.artifact:
                raise ToolFailed(Code.BAD_ARGUMENTS, f"{file.shown_name} is not an artifact", effect=False)
            context.fetch(file.artifact).replace(home / name)


def _value(context: ToolContext) -> Any:
    path = context.workdir / "result.json"
    if not path.exists():
        return None
    if path.stat().st_size > _RESULT_BYTES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"result.json is larger than {_RESULT_BYTES_MOST} bytes; use out/")
    try:
        return msgspec.json.decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise ToolFailed(Code.TOOL_FAILED, f"result.json is not JSON: {error}") from error


def _files_out(context: ToolContext) -> list[dict[str, Any]]:
    root = context.workdir / "out"
    found = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()]
    if len(found) > _FILES_MOST:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, f"out/ has {len(found)} files; at most {_FILES_MOST} are taken")
    return [context.put(path, name=path.relative_to(root).as_posix(), media=media_of(path.name)) for path in found]


def run(context: ToolContext, args: Run) -> dict[str, Any]:
    _lay_out(context, args)
    ran = run_program(
        # isolated: no user site, no PYTHON* variables, not the agent's own modules from its directory
        [sys.executable, "-I", "-X", "utf8", "program.py", *args.argv],
        timeout_s=args.timeout_s,
        cwd=context.workdir,
        tell=context.log,
        kept_bytes=_SHOWN_BYTES,
    )
    if ran.exit_code and not args.any_exit:
        said = (ran.stderr.strip() or ran.stdout.strip() or "it said nothing")[-800:]
        raise ToolFailed(Code.EXIT_CODE, f"the program ended with {ran.exit_code}: {said}")
    row: dict[str, Any] = {
        "exit_code": ran.exit_code,
        "stdout": ran.stdout,
        "stderr": ran.stderr,
        "lost_bytes": ran.lost_bytes,
        "value": _value(context),
        "files": _files_out(context),
    }
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
    ),
)
