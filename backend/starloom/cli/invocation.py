"""The parts that all commands share: `--json` and `--hub`, the client opened on first use, problems as sentences.

Imports no HTTP library before a command needs one, so that the command line starts quickly.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO, get_type_hints

import typer

from starloom.cli import completion
from starloom.cli.text.candidates import candidate_lines
from starloom.cli.text.task_names import is_display_name, task_ids
from starloom.client.discovery import find
from starloom.client.exits import Exit
from starloom.client.problems import Problem, usage
from starloom.client.routes import get_constellation, get_constellations
from starloom.client.terminal.escaping import document_text
from starloom.client.terminal.typed import say, typed
from starloom_protocol.vocabulary import CODES, Code

if TYPE_CHECKING:
    from starloom.client.rest import Client
    from starloom_protocol.api.constellations import ConstellationRow


JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
IdArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[ID]",
        help="A constellation; without it your newest.",
        autocompletion=completion.constellations,
    ),
]
HubOption = Annotated[str | None, typer.Option("--hub", help="URL, data folder or name of the hub.")]


NEWEST_LOOKED_AT: Final = 50
"""Runs of a schedule are passed over in so many; one that fires each minute fills them in fifty minutes."""


@dataclass
class Invocation:
    """One run of the command line."""

    as_json: bool = False
    hub: str | None = None
    constellation: str = ""
    """The constellation that the command is about, once it is known."""
    document: str = field(default="", repr=False)
    """The document that the command sends; a refusal names its lines."""
    kind: str = "plan"
    """The kind of that document."""
    _client: Client | None = field(default=None, repr=False)

    @property
    def client(self) -> Client:
        """Return the client of the hub that the command addresses.

        Raises:
            Problem: no hub is found.
        """
        if self._client is None:
            from starloom.client.rest import PATIENCE_S, Client  # HTTP costs a quarter of a second to import

            self._client = Client(find(self.hub), patience_s=PATIENCE_S)
        return self._client

    def read(self, path: str, kind: str = "plan", form: str = "") -> str:
        """Return the text of a file that the caller named; `-` is standard input.

        It is a document in YAML or JSON, unless `form` says how to write it.

        Raises:
            Problem: it cannot be read.
        """
        try:
            raw = sys.stdin.buffer.read() if path == "-" else Path(path).expanduser().read_bytes()
            text = raw.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no text in UTF-8"
            hint = form or f"Check the path; {'an' if kind[0] in 'aeiou' else 'a'} {kind} is YAML or JSON in UTF-8."
            where = "stdin" if path == "-" else f"the {kind} {path}"
            raise usage(f"{where} cannot be read: {why}", hint) from error
        if not form:
            self.document, self.kind = text, kind
        return text

    def agrees(self, ends: str, question: str, line: str) -> bool:
        """Return whether the person at the terminal agrees to something that cannot be taken back.

        Raises:
            Problem: nobody can be asked; it says what the command `ends`, and the `line` that does not ask.
        """
        if not sys.stdin.isatty() or self.as_json:
            raise usage(ends, f"Without the question: {line} --yes")
        return typer.confirm(question, default=False)

    @property
    def has_client(self) -> bool:
        """Return whether the command has opened the client of a hub."""
        return self._client is not None

    def newest(self, identity: str | None) -> str:
        """Return the given constellation; without one the default, named if `ls` lists another first.

        Raises:
            Problem: there is none.
        """
        if identity:
            self.constellation = identity
            return identity
        row, words = self.default_constellation()
        self.constellation = row["id"]
        if words and not self.as_json:
            say(f"{row['name'] or row['id']} ({row['id']}), {words}:", sys.stderr)
        return row["id"]

    def task_ids(self, constellation: str, names_given: Sequence[str]) -> list[str]:
        """Return the ids of tasks of a constellation that may be given as they are shown: *run on nas*."""
        names = self.client.names() if any(map(is_display_name, names_given)) else {}
        ids_of_each = [task_ids(task, names) for task in names_given]
        if all(len(ids) == 1 for ids in ids_of_each):
            return [ids[0] for ids in ids_of_each]
        existing = {task["id"] for task in self.client.get(get_constellation(constellation))["tasks"]}
        return [next((task_id for task_id in ids if task_id in existing), ids[0]) for ids in ids_of_each]

    def default_constellation(self, newest: ConstellationRow | None = None) -> tuple[ConstellationRow, str]:
        """Return the constellation that commands without an ID mean, and in words which it is.

        It is the newest that the caller asked for; else the newest that no schedule began, or the newest. No words are
        needed where `ls` lists it first, as `newest`.

        Raises:
            Problem: there is none.
        """
        asked_last = self.client.get(get_constellations(by_caller=True, limit=1))["items"]
        items = [newest] if newest is not None and asked_last else []
        items = items or self.client.get(get_constellations(limit=NEWEST_LOOKED_AT))["items"]
        if not items:
            raise usage("there is no constellation yet", 'Ask for one: starloom submit "how are my machines"')
        row = next((row for row in [*asked_last, *items] if not row.get("schedule")), items[0])
        if row["id"] == items[0]["id"]:
            return row, ""
        return row, "your newest" if row in asked_last else "the newest that no schedule began"

    def emit(self, document: Any) -> None:
        """Print a document as JSON: the whole output of a command with --json."""
        _write(document, sys.stdout)
        sys.stdout.flush()

    def emits(self, document: Any) -> bool:
        """Print a document where the command has --json, and tell whether it has."""
        if self.as_json:
            self.emit(document)
        return self.as_json

    def answer(self, document: Any, words: str) -> None:
        """Print what came of a command: the document with --json, else the words."""
        if not self.emits(document):
            print(words)


def _write(document: Any, into: TextIO) -> None:
    """Write a document as JSON that a terminal may show, whoever wrote its texts."""
    into.write(document_text(json.dumps(document, indent=2, ensure_ascii=False)) + "\n")


def finish(code: Exit) -> None:
    """End the command with a code that is not success."""
    if code is not Exit.SUCCEEDED:
        raise typer.Exit(int(code))


def hub_command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command whose first argument is the `Invocation`; adds `--json` and `--hub` to its options.

    Its problems are shown as sentences and become exit codes.
    """

    def register(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, include_extras=True)
        declared = list(inspect.signature(command).parameters.values())[1:]
        parameters = [parameter.replace(annotation=hints[parameter.name]) for parameter in declared] + [
            inspect.Parameter("json_", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonFlag),
            inspect.Parameter("hub_", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=HubOption),
        ]

        def run(*, json_: bool, hub_: str | None, **arguments: Any) -> None:
            _guarded(command, Invocation(as_json=json_, hub=hub_), arguments)

        run.__name__ = command.__name__
        run.__doc__ = command.__doc__
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        app.command(name)(run)
        return command

    return register


def _guarded(command: Callable[..., None], run: Invocation, arguments: dict[str, Any]) -> None:
    try:
        _carry_out(command, run, arguments)
    except BrokenPipeError as closed:
        # The reader of a pipe (`head`) closed it; output that was not read does not count as success.
        raise typer.Exit(int(Exit.READER_GONE)) from closed
    except OSError as error:
        if run.constellation:
            error.add_note(typed(f"The work goes on at the hub: starloom show {run.constellation}"))
        raise


def _carry_out(command: Callable[..., None], run: Invocation, arguments: dict[str, Any]) -> None:
    try:
        try:
            try:
                command(run, **arguments)
            finally:
                sys.stdout.flush()  # a fault of the output is met while the work is known
        except OSError as error:
            raise _of_file(error) from error
    except Problem as problem:
        if problem.code == Code.UNKNOWN_TASK and run.constellation:
            # The hub's hint is for all its clients; without an ID the command would show another constellation.
            problem.hint = problem.hint.replace("`starloom show`", f"`starloom show {run.constellation}`")
            problem.document["hint"] = problem.hint
        if run.kind == "recipe":  # the hub's titles are for the plan in it
            problem.title = problem.title.replace("The plan", "The recipe")
        show_problem(problem, as_json=run.as_json, document=run.document)
        raise typer.Exit(int(problem.exit_code)) from problem
    except KeyboardInterrupt as stop:
        # A command that has not spoken with a hub has submitted nothing.
        sys.stderr.write("interrupted; what was submitted goes on at the hub\n" if run.has_client else "interrupted\n")
        raise typer.Exit(int(Exit.INTERRUPTED)) from stop


def _of_file(error: OSError) -> Exception:
    """Return the problem of a file that the caller named; any other error of the system stays as it is."""
    if isinstance(error, BrokenPipeError) or error.filename is None:
        return error
    return usage(f"{os.fsdecode(error.filename)}: {error.strerror}", "Check the path, and who may write there.")


def _line_in(document: str, place: str) -> str:
    """Return the line of a place of a document, as the beginning of a sentence; nothing where it has none."""
    if not document or not place:
        return ""
    from starloom_protocol.plan.language.document import line_of  # YAML costs a tenth of a start

    line = line_of(document, place)
    return f"line {line}: " if line else ""


def show_problem(problem: Problem, *, as_json: bool, document: str = "") -> None:
    """Print a problem: a sentence, each fault with its place, the remedy; as JSON if asked for. Always on stderr.

    `document` is the document that the command has sent; its lines stand before the places.
    """
    if as_json:
        _write({"problem": problem.document}, sys.stderr)
        return
    lines = [str(problem)]
    # Several faults have each its own way out beside it; one that they share ends the whole.
    hints = {place.hint for place in problem.places}
    apart = len(hints) > 1 and problem.hint in hints
    for place in problem.places:
        at = ", ".join(part for part in (place.code, place.place) if part)
        line = _line_in(document, place.place)
        if place.reason == problem.reason and len(problem.places) == 1:
            # The title line has said the reason; a place within a document is all that is left.
            if place.place.startswith("line "):
                lines.append(f"  {place.place}")
            elif line or set("./[") & set(place.place):
                lines.append(f"  {line}{place.where} [{at}]")
            continue
        where = line + (f"{place.where}: " if place.where else "")
        has_own_hint = place.hint not in ("", CODES[Code.PLAN_INVALID].hint) and (apart or place.hint != problem.hint)
        hint = f" - {place.hint}" if has_own_hint else ""
        lines.append(f"  {where}{place.reason} [{at}]{hint}")
    for candidate in problem.document.get("candidates") or []:
        title, *rest = candidate_lines(candidate)
        lines.extend([f"  perhaps: {title}", *(f"    {line}" for line in rest)])
    if problem.hint and not apart:
        lines.append(f"The way out: {problem.hint}")
    for line in lines:
        say(line, sys.stderr)
