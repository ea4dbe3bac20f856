"""Exactly one mail names the device that was lost."""

from __future__ import annotations

from collections.abc import Iterator

from starloom.lab.nebula.seen import Seen
from starloom.lab.nebula.task import Checkpoint


def checks(w: Seen) -> Iterator[Checkpoint]:
    mails = [str(call.args["subject"]) + str(call.args["text"]) for call in w.calls("desk", "mail.send")]
    yield "one escalation", len(mails) == 1, 1
    yield "it names the device", w.truth["lost"] in mails[0], 1
