"""`shell.run`: one program by its argument list, as the device's command rules allow; never a string for a shell.
`shell.script`: a script for a shell, off on every device until its owner grants it, and asked about whole each time.
"""

from __future__ import annotations

from typing import Annotated, Literal, NotRequired

import msgspec

from starloom_agent.toolkit.interface import SECRET, Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.results import Named
from starloom_agent.toolkit.running import left_running
from starloom_agent.toolkit.running.programs import ended_by, quiet_environment, run_program
from starloom_agent.toolkit.running.variables import checked
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_SHOWN_BYTES = 12 * 1024
"""A usual result stays inline with it (`INLINE_VALUE_BYTES_MAX`); the log of the attempt has the rest."""

_WHY_CHARS = 300


class Run(Args, frozen=True, kw_only=True):
    """`argv` is the program and its arguments. Another exit code than 0 fails the task, unless `any_exit` is set.
    Without `cwd` it runs in the attempt's own directory. `env` is for credentials: see `variables`.
    """

    argv: Annotated[list[Annotated[str, msgspec.Meta(max_length=8192)]], msgspec.Meta(min_length=1, max_length=256)]
    cwd: str = ""
    stdin: Annotated[str, SECRET] = ""
    env: Annotated[dict[str, str], SECRET] = msgspec.field(default_factory=dict)
    any_exit: bool = False
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600
    device_name: str = ""


class Script(Args, frozen=True, kw_only=True):
    """`text` is handed to the shell on its standard input; the rest is as for `shell.run`."""

    text: Annotated[str, msgspec.Meta(min_length=1, max_length=32_768)]
    shell: Literal["sh", "bash"] = "sh"
    cwd: str = ""
    env: Annotated[dict[str, str], SECRET] = msgspec.field(default_factory=dict)
    any_exit: bool = False
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600
    device_name: str = ""


class CommandResult(Named):
    """`why` says how a program ended that did not end well, `ended` what ran in the background and ended with it."""

    argv: list[str]
    ended: NotRequired[str]
    exit_code: int
    lost_bytes: int
    stderr: str
    stdout: str
    why: NotRequired[str]


def script(context: ToolContext, args: Script) -> CommandResult:
    if "\x00" in args.text:
        raise ToolFailed(Code.BAD_ARGUMENTS, "a script holds no NUL", effect=False)
    # `-s` reads the script from the input: it is no argument, so nobody who lists processes sees it.
    whole = Run(
        argv=[args.shell, "-s"],
        stdin=args.text,
        cwd=args.cwd,
        env=args.env,
        any_exit=args.any_exit,
        timeout_s=args.timeout_s,
        device_name=args.device_name,
    )
    return run(context, whole)


def run(context: ToolContext, args: Run) -> CommandResult:
    if not args.argv[0] or any("\x00" in part for part in args.argv):
        raise ToolFailed(Code.BAD_ARGUMENTS, "argv begins with a program and holds no NUL", effect=False)
    before = left_running.present()
    ran = run_program(
        args.argv,
        timeout_s=args.timeout_s,
        cwd=context.resolve_cwd(args.cwd) if args.cwd else context.workdir,
        environment={**quiet_environment(), **checked(args.env)},
        stdin=args.stdin.encode(),
        hidden=context.hidden,
        tell=context.log,
        kept_bytes=_SHOWN_BYTES,
    )
    if ran.exit_code and not args.any_exit:
        raise ToolFailed(Code.EXIT_CODE, f"{args.argv[0]} ended with {ran.exit_code}: {ended_by(ran, 500)}")
    row: CommandResult = {
        "argv": args.argv,
        "exit_code": ran.exit_code,
        "stdout": ran.stdout,
        "stderr": ran.stderr,
        "lost_bytes": ran.lost_bytes,
    }
    if ran.exit_code:
        row["why"] = f"ended with {ran.exit_code}: {ended_by(ran, _WHY_CHARS).splitlines()[0]}"
    if ended := left_running.sentence_of(before):
        context.log(ended)
        row["ended"] = ended
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
        asks_by=("argv", "cwd", "env", "stdin"),
    ),
    Tool(
        name="shell.script",
        title="Run a script in a shell",
        args=Script,
        run=script,
        effects=tuple(Effect),
        repeatability=Repeatability.NEVER,
        grant="shell:script",
        asks_by=("text", "shell", "cwd", "env"),
    ),
)
