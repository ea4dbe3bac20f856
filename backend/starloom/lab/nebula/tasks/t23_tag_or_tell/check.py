"""Exactly one mail went to whom it should, and the tag is there only if the tests pass."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Checkpoint, Seen


def checks(w: Seen) -> Iterator[Checkpoint]:
    passes = w.truth["passes"]
    mails = [call.args["to"] for call in w.calls("desk", "mail.send")]
    wanted = "team@example.org" if passes else "me@example.org"
    yield "one mail", len(mails) == 1, 1
    yield "to whom it should", [wanted] in (mails, *mails), 2
    tag = w.text("desk", "shop/.git/refs/tags/v2").strip()
    yield "the tag", tag == (w.truth["head"] if passes else ""), 2
