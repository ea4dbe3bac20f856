"""A fake model server as a process of its own, which can be killed: `python -m tests.chaos.model_server PORT FOLDER`.

Answers each stage of a request as a model would that looks, is wrong about one file, mends it, and judges it. It notes
each call in `FOLDER/calls` before it answers, and each answer, so that its count survives it. While `FOLDER/hold-STAGE`
exists it keeps calls of that stage waiting. `FOLDER/mode-STAGE` makes it stall or babble there.

Answers come as streams. The stage `streaming` is a plan of which some pieces are sent: held there, the rest waits.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.models.server import FakeModel, Json, Say
from tests.models.streams import STREAM_FAULTS, Gate
from tests.waiting import SLOWER

DEVICE: Final = "north"
QUESTION: Final = "Is the note the one that was asked for?"
NOTE: Final = "note.txt"
STAGES: Final = {
    "You write one plan": "planning",
    "You review a running plan": "reviewing",
    "You write the answer": "answering",
    "You judge a result": "judging",
    "You pursue one goal": "working",
}
STREAMING: Final = "streaming"
RUNS: Final = " Then run: "
"""The words of a goal before the program, as JSON, that its second step runs."""
SENT_FIRST: Final = 12
"""The pieces of a held plan that are sent: its first task has begun, its end is far."""
_HELD_MOST_S: Final = 120.0 * SLOWER


def _reads(name: str, path: str) -> Json:
    args = {"path": path}
    return {"id": name, "tool": "fs.read", "device": {"name": DEVICE}, "args": args, "judge": QUESTION}


LOOK: Final[Json] = {
    "kind": "look",
    "why": "to see the note",
    "calls": [{"device": DEVICE, "tool": "fs.read", "args": {"path": NOTE}}],
}
PLAN: Final[Json] = {
    "kind": "plan",
    "plan": {"starloom": 1, "name": "A note", "judge": QUESTION, "tasks": [_reads("lost", "lost.txt")]},
}
EDIT: Final[Json] = {
    "kind": "edit",
    "text": "it has another name",
    "operations": [{"add_task": _reads("found", NOTE)}, {"supersede": {"task": "lost", "by": "found"}}],
}
YES: Final[Json] = {"holds": "yes", "because": "It is the note.", "cites": [{"task": "found", "pointer": ""}]}
STEP: Final[Json] = {
    "kind": "step",
    "note": "to read the note",
    "calls": [{"device": DEVICE, "tool": "fs.read", "args": {"path": NOTE}}],
    "cites": [],
}
SECOND: Final[Json] = {
    "kind": "step",
    "note": "to see who wrote it",
    "calls": [{"device": DEVICE, "tool": "fs.stat", "args": {"paths": [NOTE]}}],
    "cites": [{"task": "why.1", "pointer": "/text"}],
}
REACHED: Final[Json] = {
    "kind": "answer",
    "value": {"note": "the note"},
    "note": "it is there",
    "cites": [{"task": "why.1", "pointer": "/text"}],
}
WORDS: Final[Json] = {"kind": "answer", "text": "It is there [1].", "cites": [{"task": "found", "pointer": ""}]}


@dataclass(frozen=True)
class Called:
    """One line of the note of calls: `what` is asked, said, or begun, which is said in part."""

    what: str
    stage: str
    prompt: str
    words: str


class Calls:
    """The folder of a server, as the server writes it and a test reads it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def note(self, called: Called) -> None:
        line = json.dumps(called.__dict__) + "\n"
        file = os.open(self._folder / "calls", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(file, line.encode())
        os.close(file)

    def of(self, words: str, what: str = "asked", stage: str = "") -> list[Called]:
        """Return the calls that were asked for, or answered, about a request; those of one stage if it is named."""
        path = self._folder / "calls"
        text = path.read_text() if path.exists() else ""
        # What follows the last end of a line is still on its way.
        lines = text[: text.rfind("\n") + 1].splitlines()
        found = [Called(**json.loads(line)) for line in lines]
        return [one for one in found if words in one.words and one.what == what and stage in ("", one.stage)]

    def hold(self, stage: str) -> None:
        (self._folder / f"hold-{stage}").touch()

    def let_go(self, stage: str) -> None:
        (self._folder / f"hold-{stage}").unlink(missing_ok=True)

    def wait_while_held(self, stage: str) -> None:
        until = time.monotonic() + _HELD_MOST_S
        while (self._folder / f"hold-{stage}").exists() and time.monotonic() < until:
            time.sleep(0.02)

    def set_mode(self, stage: str, mode: str) -> None:
        path = self._folder / f"mode-{stage}"
        path.write_text(mode) if mode else path.unlink(missing_ok=True)

    def mode(self, stage: str) -> str:
        path = self._folder / f"mode-{stage}"
        return path.read_text() if path.exists() else ""


class Halfway(Gate):
    """Sends the first pieces of a stream, notes that it has begun, and keeps the rest while the stage is held."""

    def __init__(self, calls: Calls, called: Called) -> None:
        super().__init__()
        self._calls = calls
        self._called = called
        self._sent = 0

    async def passed(self) -> None:
        self._sent += 1
        if self._sent != SENT_FIRST:
            return
        self._calls.note(self._called)
        await asyncio.to_thread(self._calls.wait_while_held, STREAMING)


def answer(stage: str, told: str) -> Json:
    """Return the answer of a stage, which begins with a look where there is one."""
    if stage in ("planning", "reviewing") and "DATA looks" not in told:
        return LOOK
    if stage == "working":
        step = (STEP, SECOND, REACHED)[min(2, told.count("DATA results of step"))]
        return step if step is REACHED else _on_its_device(step, told)
    return {"planning": PLAN, "reviewing": EDIT, "judging": YES}.get(stage, WORDS)


def _on_its_device(step: Json, told: str) -> Json:
    """Return a step for the device of the envelope, with the program that the goal names in place of its call."""
    envelope, goal = (
        json.loads(told.partition(f"DATA {name}\n")[2].partition("\n")[0]) for name in ("envelope", "goal")
    )
    call = {**step["calls"][0], "device": envelope["devices"][0]}
    program = goal["goal"].partition(RUNS)[2]
    if step is SECOND and program:
        call = {**call, "tool": "shell.run", "args": {"argv": json.loads(program)}}
    return {**step, "calls": [call]}


def reply(calls: Calls, asked: Json) -> Say:
    """Note a call, hold it while that is wanted, and answer it."""
    texts = [str(turn["content"]) for turn in asked["messages"]]
    stage = next(name for words, name in STAGES.items() if words in texts[0])
    told = "\n".join(texts[1:])
    prompt = hashlib.sha256(json.dumps(asked["messages"]).encode()).hexdigest()
    calls.note(Called("asked", stage, prompt, texts[1]))
    calls.wait_while_held(stage)
    mode = calls.mode(stage)
    if mode == "stall":
        return Say(stall=True)
    said = answer(stage, told)
    if said is PLAN and (halfway := calls.mode(STREAMING)):
        return Say(tool=said, fault=STREAM_FAULTS["stalled" if halfway == "stall" else "never_ending"])
    calls.note(Called("said", stage, prompt, texts[1]))
    if mode == "babble":
        return Say(text="Well, it depends. Yes! " * 40)
    return Say(tool=said, gate=Halfway(calls, Called("begun", STREAMING, prompt, texts[1])) if said is PLAN else None)


async def serve(port: int, folder: Path) -> None:
    """Serve until the process ends."""
    calls = Calls(folder)

    def reading(asked: Any) -> Say:
        return reply(calls, asked)

    fake = FakeModel([reading], streams=True)
    server = await asyncio.start_server(fake.serve, "127.0.0.1", port)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), Path(sys.argv[2])))
