"""WebSocket frames on a bad line: whole frames only, and each fault does what its name says."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from starloom.lab.proxy.socket_frames import Frames, Mangler
from starloom_protocol.records.lab import FaultKind


class Always(random.Random):
    """Draws that hit every frame."""

    def random(self) -> float:
        return 0.0


def frame(payload: bytes, *, masked: bool = False, opcode: int = 1) -> bytes:
    size = len(payload)
    wide = 0 if size < 126 else 2 if size <= 0xFFFF else 8
    short = {0: size, 2: 126, 8: 127}[wide]
    mask = b"mask" if masked else b""
    return (
        bytes([0x80 | opcode, short | (0x80 if masked else 0)])
        + (size.to_bytes(wide, "big") if wide else b"")
        + mask
        + payload
    )


TEXTS = [b"a", b"b" * 200, b"c" * 66_000, b""]


@pytest.mark.parametrize("step", [3, 997, 100_000])
@pytest.mark.parametrize("masked", [True, False])
def test_frames_come_out_whole_however_the_bytes_come(step: int, masked: bool) -> None:
    frames = [frame(text, masked=masked) for text in TEXTS]
    sent = b"HTTP/1.1 101 Switching\r\nA: b\r\n\r\n" + b"".join(frames)
    reader = Frames(head=True)
    found = [piece for at in range(0, len(sent), step) for piece in reader.feed(sent[at : at + step])]
    assert found[0].endswith(b"\r\n\r\n")
    assert found[1:] == frames


def over(kind: FaultKind | None, frames: Sequence[bytes]) -> tuple[bytes, int]:
    mangler = Mangler(Always(0))
    return b"".join(mangler.pass_on(one, kind) for one in frames), mangler.hit


@pytest.mark.parametrize("seed", range(40))
def test_what_was_text_is_none_any_more_wherever_it_is_hit(seed: int) -> None:
    text = '{"name": "a", "words": "ä€😀", "n": 1}'.encode()
    mangler = Mangler(random.Random(seed))
    for _ in range(20):
        passed = mangler.pass_on(frame(text), FaultKind.CORRUPT)[2:]
        assert len(passed) == len(text)
        if passed != text:
            with pytest.raises(UnicodeDecodeError):
                passed.decode()


def test_each_fault_does_what_its_name_says() -> None:
    one, two, three = frame(b"one"), frame(b"two"), frame(b"three")
    assert over(None, [one, two]) == (one + two, 0)
    assert over(FaultKind.DROP, [one, two]) == (b"", 2)
    assert over(FaultKind.DUPLICATE, [one, two]) == (one + one + two + two, 2)
    assert over(FaultKind.REORDER, [one, one, one, two, three]) == (one + one + two + one, 2)
    passed, hit = over(FaultKind.CORRUPT, [two, three, one])
    assert hit == 1
    assert passed.startswith(two + three)
    changed = passed.removeprefix(two + three)
    assert changed[:2] == one[:2]
    assert len(changed) == len(one)
    assert sum(a != b for a, b in zip(changed, one, strict=True)) == 1


@pytest.mark.parametrize("opcode", [8, 9, 10])
def test_control_frames_pass(opcode: int) -> None:
    control = frame(b"", opcode=opcode)
    assert over(FaultKind.DROP, [control]) == (control, 0)


def test_a_third_is_hit_and_the_same_seed_hits_the_same() -> None:
    def hits(seed: int) -> list[bool]:
        mangler = Mangler(random.Random(seed))
        return [mangler.pass_on(frame(b"x"), FaultKind.DROP) == b"" for _ in range(300)]

    assert hits(1) == hits(1)
    assert 60 < sum(hits(1)) < 140
