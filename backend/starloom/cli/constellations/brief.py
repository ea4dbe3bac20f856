"""`starloom brief`: a request as a text for an assistant, and the plan that the assistant returns."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from starloom.cli.constellations.standing import tell_accepted
from starloom.cli.invocation import Invocation, finish, hub_command
from starloom.client.exits import Exit, exit_of_plan
from starloom.client.problems import Problem, usage
from starloom.client.routes import get_brief, post_brief, post_constellations
from starloom.client.terminal.escaping import write_out
from starloom.client.terminal.typed import say


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    hub_command(app, "brief")(brief)


def brief(
    run: Invocation,
    words: Annotated[list[str] | None, typer.Argument(help="The request in words.")] = None,
    answer: Annotated[
        str | None,
        typer.Option("--answer", metavar="FILE", help="The answer of the assistant; - for stdin. Shows its plan."),
    ] = None,
    save: Annotated[Path | None, typer.Option("--save", metavar="PLAN", help="Also write the plan there.")] = None,
    approve: Annotated[
        str | None, typer.Option("--approve", metavar="HASH", help="Start the plan with this hash, as it was shown.")
    ] = None,
) -> None:
    """Write a text that lets any assistant plan a request; with --answer, read the assistant's answer.

    Faults are printed as a text to paste to the assistant, with exit code 2. Nothing starts without --approve.
    """
    request = " ".join(words or [])
    if (answer is None) == (not request):
        raise usage(
            "a brief is for words, and an answer has none: give one of the two",
            'For example: starloom brief "which of my machines is slowest"; then starloom brief --answer FILE',
        )
    if answer is None:
        if save is not None or approve is not None:
            raise usage("--save and --approve belong to an answer", "Add --answer FILE.")
        _write_brief(run, request)
        return
    _read_answer(run, answer, save, approve)


def _write_brief(run: Invocation, request: str) -> None:
    brief = run.client.get(get_brief(request=request))
    if run.as_json:
        run.emit(brief)
        return
    write_out(brief["text"] + "\n")
    # Beside the text, so that it can be piped to a clipboard.
    say(
        f"{brief['bytes']} bytes. Give it to your assistant, save what it answers, "
        "and say: starloom brief --answer FILE",
        sys.stderr,
    )


def _read_answer(run: Invocation, answer: str, save: Path | None, approve: str | None) -> None:
    try:
        plan = run.client.post(
            post_brief(), {"answer": run.read(answer, "answer", "Check the path; an answer is text in UTF-8.")}
        )
    except Problem as problem:
        reply = problem.document.get("reply")
        if run.as_json or not isinstance(reply, str):
            raise
        sys.stdout.write(reply + "\n")
        sys.stderr.write("The plan has faults. The text above is for your assistant; nothing was started.\n")
        finish(Exit.USAGE)
        return
    if save is not None:
        if save.exists():
            raise usage(f"{save} exists already", "Choose another file, or remove that one first.")
        save.write_text(plan["plan"], encoding="utf-8")
    if approve is not None:
        created = run.client.create(post_constellations(), {"plan": plan["plan"], "plan_hash": approve})
        tell_accepted(run, created)
        return
    if run.as_json:
        run.emit(plan)
        finish(exit_of_plan(plan))
        return
    from starloom.cli.text.preview_text import plan_text
    from starloom.client.terminal.console import console

    console().print(plan_text(plan), crop=False)
    if save is not None:
        print(f"wrote {save}")
    if answer == "-":
        say("Nothing has started. Start it: save the answer, then starloom brief --answer FILE --approve HASH")
    else:
        line = f"starloom brief --answer {shlex.quote(answer)} --approve {plan['plan_hash']}"
        say(f"Nothing has started. Start it: {line}")
    finish(exit_of_plan(plan))
