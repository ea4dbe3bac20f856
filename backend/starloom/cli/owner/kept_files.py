"""`starloom artifacts get`: a file that the hub keeps, by its hash or by the beginning that an answer shows."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Final

import typer

from starloom.cli.invocation import Invocation, hub_command
from starloom.client.problems import Problem, usage
from starloom.client.routes import get_constellation_result, get_constellations
from starloom_protocol.vocabulary import Code

_WHOLE: Final = 64
_LEAST: Final = 8
_ANSWERS_MOST: Final = 100
"""The newest constellations whose answers are looked through for a beginning."""
_LISTED_MOST: Final = 10
_DIGITS: Final = re.compile(r"[0-9a-f]+")
_HASH: Final = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


def register(app: typer.Typer) -> None:
    """Add this module's command."""
    artifacts = typer.Typer(help="Files kept by the hub, by their SHA-256.", no_args_is_help=True)
    hub_command(artifacts, "get")(get_artifact)
    app.add_typer(artifacts, name="artifacts")


def get_artifact(
    run: Invocation,
    sha256: Annotated[
        str, typer.Argument(metavar="SHA256", help="The hash, or its first 8 digits or more, as an answer names it.")
    ],
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A file, or a folder that exists.")],
) -> None:
    """Save an artifact; its bytes are checked against the hash."""
    digits = sha256.lower()
    if not _LEAST <= len(digits) <= _WHOLE or not _DIGITS.fullmatch(digits):
        raise usage(
            f"{sha256} is neither a SHA-256 (64 hex digits) nor the first {_LEAST} or more digits of one",
            "`starloom result` shows the first digits of each file of an answer.",
        )
    digest = digits if len(digits) == _WHOLE else _completed(run, digits)
    target = path / digest[:16] if path.is_dir() else path
    count = run.client.download(digest, target)
    run.answer({"path": str(target), "bytes": count, "sha256": digest}, f"saved {target} ({count} bytes)")


def _completed(run: Invocation, beginning: str) -> str:
    """Return the only hash with this beginning that an answer names.

    Raises:
        Problem: no answer names one, or several are named.
    """
    places: dict[str, str] = {}
    for row in run.client.pages(get_constellations(), most=_ANSWERS_MOST):
        text = json.dumps(_answer(run, row["id"]))
        for digest in _HASH.findall(text):
            if digest.startswith(beginning):
                places.setdefault(digest, f"{row['name'] or row['request']} ({row['id']})")
    if len(places) == 1:
        return next(iter(places))
    if not places:
        raise usage(
            f"no answer of the newest {_ANSWERS_MOST} constellations names a file whose hash begins with {beginning}",
            "Give all 64 digits: `starloom result --json ID` has them.",
        )
    listed = "; ".join(f"{digest} of {where}" for digest, where in list(places.items())[:_LISTED_MOST])
    raise usage(f"{len(places)} files begin with {beginning}: {listed}", "Give more digits of the one that is meant.")


def _answer(run: Invocation, constellation: str) -> object:
    try:
        return run.client.get(get_constellation_result(constellation))
    except Problem as problem:
        # One that has no answer yet, or whose history was pruned meanwhile, names no file.
        if problem.code in (Code.NOT_FOUND, Code.PRUNED, Code.ILLEGAL_CONTROL, Code.CONFLICT):
            return None
        raise
