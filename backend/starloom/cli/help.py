"""The help of the command line and its refusals: commands by purpose, words for values, what was probably meant.

Owns how the parser of typer speaks; no command does anything of its own for it. Carries out nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from starloom.cli.invocation import show_problem
from starloom.cli.nearest import meant_by
from starloom.client.exits import Exit
from starloom.client.problems import usage
from starloom_protocol.text.wording import listed

if TYPE_CHECKING:
    from typer import Context, Typer

PANELS: Final = {
    "Ask for work": ("submit", "what-if", "recipes", "recipe", "schedule", "brief", "mcp"),
    "See it": (
        "ls", "show", "watch", "result", "artifacts", "logs", "why", "report", "events", "diff", "blame", "transcript",
    ),
    "Decide and steer": (
        "approvals", "approve", "deny", "pause", "resume", "cancel", "stop-all", "retry", "retry-from", "skip", "mark",
        "hold", "release", "reassign", "priority", "hint", "edit", "again", "fork", "undo",
    ),
    "Devices": ("devices", "device", "enroll", "tools", "tunnel"),
    "People and rights": ("open", "person", "token", "secret", "activity", "audit"),
    "The hub on this computer": ("up", "doctor", "config", "backup", "restore", "demo", "version"),
    "Examine it": ("replay", "chaos", "bench"),
}  # fmt: skip
"""Every command, by what it is for; `starloom --help` lists them so."""
EXAMPLES: Final = {
    "submit": ('"how are my machines" --wait', "-f plan.yaml --preview", "-r backup-folder -p folder=Documents"),
    "what-if": ("plan.yaml --without nas",),
    "schedule add": ('"how are my machines" --cron "every weekday at 7"',),
    "ls": ("--state failed -n 5", "--json"),
    "why": ("", "TASK ID"),
    "logs": ("TASK --tail 2000",),
    "cancel": ("", "TASK ID", "--on nas"),
    "retry": ("TASK ID", "--failed ID"),
    "approve": ("ID", "ID --value yes"),
    "enroll": ("--name server --no-wait", "--ssh user@host"),
    "device drain": ("nas --deadline 10m",),
    "token create": ("--role viewer --ttl 30d --scope read",),
    "person invite": ("Ann --role operator",),
    "recipe run": ("fleet-health",),
    "secret set": ("nas-password",),
    "backup": ("starloom.tar",),
    "up": ("", "--lan --port 8471"),
}
"""Lines that can be typed, by command; a test parses each."""
_WORDS: Final = {
    "file": "FILE",
    "report": "FILE",
    "edit": "FILE",
    "token-file": "FILE",
    "home": "DIR",
    "folder": "DIR",
    "save": "DIR",
    "param": "NAME=VALUE",
    "input": "TASK.NAME=VALUE",
    "confirm": "TASK",
    "without": "DEVICE",
    "with-copy-of": "DEVICE",
    "for-device": "DEVICE",
    "for-tool": "TOOL",
    "for-recipe": "RECIPE",
    "deadline": "DURATION",
    "ttl": "DURATION",
    "within": "DURATION",
    "since": "DURATION",
    "reason": "TEXT",
    "q": "TEXT",
    "words": "TEXT",
    "phrase": "TEXT",
    "value": "TEXT",
    "of": "NAME",
    "by": "NAME",
    "id": "ID",
    "anchor": "POS:LINK",
    "cron": "TIMES",
    "hub": "HUB",
    "tail": "BYTES",
    "tokens-per-task": "N",
    "remote-port": "PORT",
    "base-version": "VERSION",
}
"""The word for the value of an option, where that is not the name of the option."""
_COUNTED: Final = ("limit", "last", "attempt", "after", "devices", "seeds", "tokens", "over")
_EARLY: Final = ("--json", "--hub", "--home")
_TYPE: Final = re.compile(r" <(.*)>(\.\.\.)?$")
_PROSE: Final = frozenset({"answer", "input", "param", "reason", "text", "value", "with_", "words"})
"""Parameters of texts and values, which may have several lines."""
_CHARS_MOST: Final = 4_096
"""No path of Linux is longer, and no name that the hub takes."""
_CHOICES: Final = re.compile(r"'([^']*)' is not one of ('.*)\.$")
_RANGE: Final = re.compile(r"\b(?:(-?[\d.]+)<=)?x(?:(<=|>=)(-?[\d.]+))?")
_REFUSALS: Final = (
    (re.compile(r"^Got unexpected extra arguments?\(?s?\)? \((.*)\)$"), r"it takes no further words: \1"),
    (re.compile(r"^Value error, "), ""),
    (re.compile(r"^Input should be a valid integer.*"), "it is not a whole number"),
    (re.compile(r"^Input should be a valid number.*"), "it is not a number"),
    (re.compile(r"^Input should be greater than or equal to (\S+)"), r"it must be at least \1"),
    (re.compile(r"^Input should be less than or equal to (\S+)"), r"it must be at most \1"),
)
"""Refusals of the library that reads values, and the same without its own words."""


def _fault_of(param: Any, word: str) -> str:
    """Return why no command takes a word for this parameter, as a predicate; empty if it may be meant.

    An option that means something by no word says so in its help.
    """
    if not word.strip():
        return "" if word == "" and '""' in (param.help or "") else "is empty"
    if param.name in _PROSE:
        return ""
    if len(word) > _CHARS_MOST:
        return f"has {len(word):,} characters, and at most {_CHARS_MOST:,} are read"
    control = next((one for one in word if not one.isprintable() and one.isascii()), "")
    return f"holds a control character (U+{ord(control):04X})" if control else ""


def word_of(param: Any) -> str:
    """Return the word that stands for the value of an option or argument."""
    if param.metavar:
        return str(param.metavar)
    if param.param_type_name == "argument":
        return str(param.name).upper()
    name = max(param.opts, key=len).lstrip("-")
    return "N" if name in _COUNTED else _WORDS.get(name, name.upper())


def _in_usage(param: Any) -> str:
    word = word_of(param)
    if set(word) & set("[ ."):
        return word  # it shows itself which of its parts may be left out
    many = "..." if param.nargs != 1 else ""
    return f"{word}{many}" if param.required else f"[{word}]{many}"


def _range(match: re.Match[str]) -> str:
    least, sign, bound = match.groups()
    if least is not None and bound is not None:
        return f"{least} to {bound}"
    return match[0] if bound is None else f"{'at least' if sign == '>=' else 'at most'} {bound}"


def _row(param: Any, ctx: Context) -> tuple[str, str] | None:
    record = param.get_help_record(ctx)
    if record is None:
        return None
    name, text = record
    if param.param_type_name == "argument":
        name = _in_usage(param)
    else:
        # Where there are few values they stand there; nobody types the name of a type.
        name = _TYPE.sub(lambda match: f" {match[1] if '|' in match[1] else word_of(param)}", name)
    return name, _RANGE.sub(_range, text)


@contextmanager
def _refusing(ctx: Context, args: list[str]) -> Iterator[None]:
    """Let a refusal of these words have the words of people; with `--json` among them it is JSON as well."""
    as_json = "--json" in args
    try:
        yield
    except typer.TyperException as refused:
        for words, plain in _REFUSALS:
            refused.message = words.sub(plain, refused.message or "")
        if choice := _CHOICES.search(refused.message or ""):
            near = get_close_matches(choice[1].casefold(), re.findall("'([^']*)'", choice[2]), n=1)
            refused.message += f" Did you mean '{near[0]}'?" if near else ""
        if not as_json:
            raise
        reason = " ".join(str(refused.format_message()).split())
        show_problem(usage(reason, f"See `{ctx.command_path} --help`."), as_json=True)
        raise typer.Exit(int(Exit.USAGE)) from refused


class Command(TyperCommand):
    """A command whose help and refusals have the words of people."""

    def __init__(self, *args: Any, **attrs: Any) -> None:
        super().__init__(*args, **attrs)
        for param in self.params:
            if param.param_type_name == "argument":
                param.metavar = word_of(param)

    def collect_usage_pieces(self, ctx: Context) -> list[str]:  # type: ignore[override]
        """Return the pieces of the usage: what may be left out stands in brackets, once."""
        arguments: list[Any] = [param for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return [self.options_metavar or "", *(_in_usage(argument) for argument in arguments if not argument.hidden)]

    def format_options(self, ctx: Context, formatter: Any) -> None:  # type: ignore[override]
        """Write arguments, options, and lines to type."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = [_row(param, ctx) for param in self.get_params(ctx) if param.param_type_name == kind]
            if complete := [row for row in rows if row is not None]:
                with formatter.section(title):
                    formatter.write_dl(complete)
        root, _, path = ctx.command_path.partition(" ")
        if path in EXAMPLES:
            with formatter.section("Examples"), formatter.indentation():
                formatter.write("".join(f"  {root} {path} {line}".rstrip() + "\n" for line in EXAMPLES[path]))

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the words after the command."""
        with _refusing(ctx, args):
            if not ctx.resilient_parsing and "--help" not in args:
                self._refuse_unusable(ctx, args)
            self._refuse_lacking(ctx, args)
            return super().parse_args(ctx, args)

    def _refuse_unusable(self, ctx: Context, args: list[str]) -> None:
        """Refuse a word that cannot be meant: an empty one, as a variable gives that is not set, or a pasted file.

        An empty ID would mean the newest constellation, and an empty option none.
        """
        typed, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        for param in self.params:
            parsed = typed.get(str(param.name))
            words = parsed if isinstance(parsed, list | tuple) else [parsed]
            for word in words:
                fault = _fault_of(param, word) if isinstance(word, str) else ""
                if fault:
                    value = word_of(param).strip("[].")
                    is_option = param.param_type_name == "option"
                    name = param.opts[0] if is_option else f"the word for {value}"
                    way = f"write {value} behind it" if is_option else "write one"
                    ctx.fail(f"{name} {fault}: {way}{'' if param.required else ', or leave it out'}.")

    def _refuse_lacking(self, ctx: Context, args: list[str]) -> None:
        """Refuse a command that lacks several options, with all of them; the parser names the first alone."""
        names = {word.partition("=")[0] for word in args}
        needed: list[Any] = [option for option in self.params if option.param_type_name == "option" and option.required]
        lacking = [option.opts[0] for option in needed if names.isdisjoint(option.opts)]
        if len(lacking) > 1 and "--help" not in names and not ctx.resilient_parsing:
            ctx.fail(f"Missing options {listed(list(map(repr, lacking)))}.")


class Commands(TyperGroup):
    """A group of commands: by purpose in its help, and an unknown one is answered with the nearest."""

    def format_commands(self, ctx: Context, formatter: Any) -> None:  # type: ignore[override]
        """Write the commands of the whole by their purpose, those of a group in their order."""
        names = self.list_commands(ctx)
        panels = {"Commands": tuple(names)} if ctx.parent is not None else PANELS
        width = max(map(len, names)) + 2
        for title, inside in panels.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width - 2), self._shortly(name)) for name in inside])

    def _shortly(self, name: str) -> str:
        """Return the first part of what a command does, whole."""
        command = self.commands[name]
        return re.split(r"[:;]|\.(?:\s|$)", (command.short_help or command.help or "").replace("\n", " "))[0]

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Parse the words; an option of the commands that stands before them is refused."""
        with _refusing(ctx, args):
            if args and args[0].partition("=")[0] in _EARLY and not ctx.resilient_parsing:
                option = args[0].partition("=")[0]
                ctx.fail(f"{option} stands after the command, as in `{ctx.command_path} ls {args[0]}`.")
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, object, list[str]]:  # type: ignore[override]
        """Return the command that the first word names, or end with what was probably meant."""
        with _refusing(ctx, args):
            return self._resolved(ctx, args)

    def _resolved(self, ctx: Context, args: list[str]) -> tuple[str | None, object, list[str]]:
        typed, rest = (args[0], args[1:]) if args else ("", [])
        inside = {name: list(getattr(command, "commands", ())) for name, command in self.commands.items()}
        one = typed.removesuffix("s")
        if typed in self.commands and not inside[typed] and one != typed and inside.get(one) and rest:
            if not rest[0].startswith("-"):
                words = " ".join(rest if rest[0] in inside[one] else ["show", *rest])
                ctx.fail(f"`{typed}` takes no words. Did you mean `{ctx.command_path} {one} {words}`?")
        elif typed and not typed.startswith("-") and typed not in self.commands and not ctx.resilient_parsing:
            # With a word behind it, it is no name of a thing to show.
            shows = not rest or rest[0].startswith("-")
            near = [one for one in meant_by(typed, inside) if shows or one != f"show {typed}"]
            also = f" Did you mean {' or '.join(f'`{ctx.command_path} {one}`' for one in near)}?" if near else ""
            ctx.fail(f"No such command '{typed}'.{also}")
        return super().resolve_command(ctx, args)


def speak(app: Typer) -> None:
    """Let every command and every group of a command line speak so."""
    app.info.cls = Commands
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            speak(group.typer_instance)
