"""Damaged AIP messages, both directions, into the real codec and session: refused whole, or taken, never an exception.

A case is its seed. A refusal leaves number and version of the session as they were and closes it; what is taken is
encoded again and means the same. Cases that failed stay in `seeds.txt` and are run first.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from starloom_protocol.vocabulary import CODES
from starloom_protocol.wire import codec
from starloom_protocol.wire.frames import Frame
from starloom_protocol.wire.session import ProtocolFault, Session, Side, State
from starloom_protocol.wire.version import PROTOCOL_VERSIONS
from tests.guard.mutate import cut, damage
from tests.protocol.frames_sample import BY_SIDE, CHALLENGE, HELLO, PROVE, WELCOME

SEEDS = Path(__file__).parent / "seeds.txt"
FAMILY: dict[Side, list[Any]] = {side: [msgspec.to_builtins(frame) for frame in BY_SIDE[side]] for side in Side}
# Every frame belongs to the newest version.
_HELLO: Final = replace(HELLO, versions=list(PROTOCOL_VERSIONS))
_CHALLENGE: Final = replace(CHALLENGE, version=PROTOCOL_VERSIONS[-1])


def session_at(side: Side, state: State) -> Session:
    """Return a session of `side` that waits for its peer in a state that this side can be in."""
    mine, peer = Session(side), Session(side.other)
    steps = ((Side.AGENT, _HELLO), (Side.HUB, _CHALLENGE), (Side.AGENT, PROVE), (Side.HUB, WELCOME))
    for sender, frame in steps:
        if mine.state is state:
            break
        if sender is side:
            peer.receive(mine.send([frame]))
        else:
            mine.receive(peer.send([frame]))
    return mine


def a_message(random_: random.Random, sender: Side, number: int) -> str | bytes:
    """Return the text or bytes of one damaged message."""
    family = FAMILY[sender]
    frames = [random_.choice(family) for _ in range(random_.choice((1, 1, 2, 5)))]
    message = {"n": random_.choice((number, number, number, number, 0, -1, number + 1, 2**53)), "f": frames}
    text = damage(random_, message, family)
    if random_.random() < 0.1:
        return cut(random_, text).encode("utf-8", "surrogatepass")
    return text


def run_case(seed: int) -> str:
    """Run one case; return "taken" or the code of the refusal.

    Raises:
        AssertionError: if the session promised something else.
    """
    random_ = random.Random(seed)
    side = random_.choice((Side.HUB, Side.HUB, Side.AGENT))
    handshake = {
        Side.HUB: (State.AWAIT_HELLO, State.AWAIT_PROVE),
        Side.AGENT: (State.AWAIT_CHALLENGE, State.AWAIT_WELCOME),
    }
    state = State.OPEN if random_.random() < 0.8 else random_.choice(handshake[side])
    mine = session_at(side, state)
    before = (mine._received, mine._sent, mine.version)
    message = a_message(random_, side.other, mine._received + 1)
    fault: ProtocolFault | None = None
    frames: list[Frame] = []
    try:
        frames = mine.receive(message)
    except ProtocolFault as refused:
        fault = refused
    if fault is not None:
        assert fault.code in CODES, f"{fault.code} is no code"
        assert fault.reason, "a refusal without a reason"
        assert mine.state is State.CLOSED, "a refused message left the session open"
        assert (mine._received, mine._sent, mine.version) == before, "a refused message changed the session"
        last = json.loads(mine.farewell(fault))
        assert last["f"][0]["t"] in ("refuse", "error")
        assert len(json.dumps(last)) < codec.UNAUTHENTICATED_BYTES_MAX * 2, "the farewell repeats the attack"
        return str(fault.code)
    if frames:
        size = codec.MESSAGE_BYTES_MAX
        encoded = msgspec.json.encode({"n": mine._received, "f": frames})
        assert len(encoded) <= size * 2
        again = codec.decode(encoded, side.other, authenticated=True)
        assert list(again.f) == frames, "what was taken says something else when it is written again"
    return "taken"


def kept_seeds(path: Path = SEEDS) -> Iterator[tuple[str, int]]:
    """Yield (kind, seed) of every case that once failed."""
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].split()
        if words:
            yield words[0], int(words[1])


def keep_seed(kind: str, seed: int, reason: str, path: Path = SEEDS) -> None:
    """Add a failing case to the file of seeds, once."""
    if (kind, seed) not in set(kept_seeds(path)):
        with path.open("a", encoding="utf-8") as out:
            out.write(f"{kind} {seed}  # {reason.splitlines()[0][:120] if reason else 'no words'}\n")
