"""`shell.run`: one program by its argument list, as the device's command rules allow; never a string for a shell."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from starloom_agent.tools.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.tools.programs import run_program
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_SHOWN_BYTES = 12 * 1024


class Run(Args, frozen=True, kw_only=True):
    """`argv` is the program and its arguments. A program that ends with another code than 0 fails the task, unless
    `any_exit` is set. Without `cwd` it runs in the attempt's own directory.
    """

    argv: Annotated[list[Annotated[str, msgspec.Meta(max_length=8192)]], msgspec.Meta(min_length=1, max_length=256)]
    cwd: str = ""
    stdin: str = ""
    any_exit: bool = False
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600
    device_name: str = ""


def run(context: ToolContext, args: Run) -> dict[str, Any]:
    if not args.argv[0] or any("\x00" in part for part in args.argv):
        raise ToolFailed(Code.BAD_ARGUMENTS, "argv begins with a program and holds no NUL", effect=False)
    ran = run_program(
        args.argv,
        timeout_s=args.timeout_s,
        cwd=context.resolve_read(args.cwd) if args.cwd else context.workdir,
        stdin=args.stdin.encode(),
        tell=context.log,
        kept_bytes=_SHOWN_BYTES,
    )
    if ran.exit_code and not args.any_exit:
        said = (ran.stderr.strip() or ran.stdout.strip() or "it said nothing")[-500:]
        raise ToolFailed(Code.EXIT_CODE, f"{args.argv[0]} ended with {ran.exit_code}: {said}")
    row: dict[str, Any] = {
        "argv": args.argv,
        "exit_code": ran.exit_code,
        "stdout": ran.stdout,
        "stderr": ran.stderr,
        "lost_bytes": ran.lost_bytes,
    }
    if args.device_name:
        row["device"] = args.device_name
    return row


TOOLS = (
    Tool(
        name="shell.run",
        title="Run a program by a command rule",
        args=Run,
        run=run,
        effects=(Effect.READ, Effect.WRITE, Effect.CHANGE, Effect.DESTROY, Effect.REACH),
        repeatability=Repeatability.NEVER,
        grant="shell:run",
        asks_by=("argv", "cwd", "stdin"),
    ),
)
