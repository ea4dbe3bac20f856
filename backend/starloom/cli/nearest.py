"""A command that does not exist, and the one that was probably meant: near by its letters, or another word for it."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final

from typer.core import TyperGroup

if TYPE_CHECKING:
    from typer import Context, Typer

_OTHER_WORDS: Final = {
    "add": ("enroll", "add", "import"),
    "answer": ("result", "answer"),
    "ask": ("submit",),
    "create": ("submit", "add", "create"),
    "delete": ("rm", "revoke"),
    "do": ("submit",),
    "exec": ("submit",),
    "get": ("show", "get"),
    "help": ("--help",),
    "history": ("log",),
    "info": ("show",),
    "list": ("ls",),
    "login": ("open",),
    "logs": ("log",),
    "remove": ("rm", "revoke"),
    "run": ("submit", "run"),
    "serve": ("up",),
    "start": ("up",),
    "status": ("show", "ls"),
    "view": ("show",),
}
"""Words that people type, and the commands that they may mean."""
_GROUPS_MOST: Final = 2


class Commands(TyperGroup):
    """A group of commands that answers an unknown one with the nearest, also one of a group inside it."""

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, object, list[str]]:  # type: ignore[override]
        """Return the command that the first word names, or end with what was probably meant."""
        typed = args[0] if args else ""
        if typed and not typed.startswith("-") and self.get_command(ctx, typed) is None and not ctx.resilient_parsing:
            meant = self._meant(ctx, typed.casefold())
            also = f" Did you mean {' or '.join(f'`{ctx.command_path} {one}`' for one in meant)}?" if meant else ""
            ctx.fail(f"No such command '{typed}'.{also}")
        return super().resolve_command(ctx, args)

    def _meant(self, ctx: Context, typed: str) -> list[str]:
        own = self.list_commands(ctx)
        other = [word for word in _OTHER_WORDS.get(typed, ()) if word in own or word.startswith("-")]
        inside = self._inside(ctx)
        exact = other or inside.get(typed, [])
        if exact:
            return exact
        near = difflib.get_close_matches(typed, own, n=2)
        return near or [path for word in difflib.get_close_matches(typed, inside, n=2) for path in inside[word]]

    def _inside(self, ctx: Context) -> dict[str, list[str]]:
        """Return the commands of the groups inside by their last word, such as `recipe import` by *import*."""
        found: dict[str, list[str]] = {}
        for name in self.list_commands(ctx):
            inside = self.get_command(ctx, name)
            for word in inside.list_commands(ctx) if isinstance(inside, TyperGroup) else ():
                found.setdefault(word, []).append(f"{name} {word}")
        # A word of many groups, such as `rm`, points at none of them.
        return {word: paths for word, paths in found.items() if len(paths) <= _GROUPS_MOST}


def suggest_in(app: Typer) -> None:
    """Let every group of a command line answer so."""
    app.info.cls = Commands
    for group in app.registered_groups:
        if group.typer_instance is not None:
            suggest_in(group.typer_instance)
