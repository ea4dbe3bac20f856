"""Head and answer of constellations stay right and small, whichever of them are kept."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from starloom.edge.live import entity_json
from starloom.edge.live.views import Headlines
from starloom_protocol.records.entities import Answer, Head, encode_entity
from starloom_protocol.records.record import Fault
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import Code, ConstellationState


def head(name: str, state: ConstellationState = ConstellationState.ACTIVE) -> bytes:
    return encode_entity(Head(author="a", created_ms=1, id=name, name="n", state=state))


def answer(words: str) -> bytes:
    return encode_entity(Answer(sentence=words, state="final"))


def event(name: str, seq: int, **puts: bytes | None) -> Event:
    raws = {key: None if raw is None else msgspec.Raw(raw) for key, raw in puts.items()}
    return Event(about="", at_ms=1, by="engine", kind="k", puts=raws, seq=seq, stream=name)


class Reads:
    """The committed head and answer of each constellation."""

    def __init__(self) -> None:
        self.stored: dict[str, tuple[bytes, bytes | None]] = {}
        self.asked: list[str] = []

    async def headlines(self, streams: Sequence[str]) -> dict[str, tuple[bytes, bytes | None]]:
        self.asked += streams
        return {stream: self.stored[stream] for stream in streams if stream in self.stored}


async def test_one_that_is_not_known_here_is_read_whole_after_its_head_has_changed() -> None:
    reads = Reads()
    reads.stored["c1"] = (head("c1"), answer("Done."))
    headlines = Headlines(reads)  # type: ignore[arg-type]
    headlines.apply(event("c1", 7, head=head("c1")))
    found = await headlines.of("c1")
    assert found is not None
    assert found[1] is not None
    assert found[1].sentence == "Done."
    assert await headlines.of("nobody") is None


async def test_what_is_known_follows_the_events() -> None:
    headlines = Headlines(Reads())  # type: ignore[arg-type]
    headlines.apply(event("c1", 1, head=head("c1")))
    headlines.apply(event("c1", 2, answer=answer("Half.")))
    headlines.apply(event("c1", 3, head=head("c1", ConstellationState.SUCCEEDED)))
    found = await headlines.of("c1")
    assert found is not None
    assert (found[0].state, found[1].sentence if found[1] else "") == ("succeeded", "Half.")
    headlines.apply(event("c1", 4, answer=None))
    assert (await headlines.of("c1") or ("", ""))[1] is None


async def test_large_answers_leave_first_come_first_gone() -> None:
    reads = Reads()
    headlines = Headlines(reads, bytes_max=10_000)  # type: ignore[arg-type]
    for number in range(20):
        name = f"c{number}"
        reads.stored[name] = (head(name), answer("x" * 3_000))
        headlines.apply(event(name, 1, head=reads.stored[name][0], answer=reads.stored[name][1]))
    assert await headlines.of("c19") is not None
    assert reads.asked == []
    assert await headlines.of("c0") is not None
    assert reads.asked == ["c0"]


async def test_many_are_read_at_once_and_those_that_are_known_not_at_all() -> None:
    reads = Reads()
    headlines = Headlines(reads)  # type: ignore[arg-type]
    headlines.apply(event("c1", 1, head=head("c1")))
    reads.stored["c2"] = (head("c2"), answer("Done."))
    found = await headlines.of_all(["c1", "nobody", "c2"])
    assert sorted(found) == ["c1", "c2"]
    assert reads.asked == ["nobody", "c2"]
    assert await headlines.of("c2") == found["c2"]
    assert reads.asked == ["nobody", "c2"]


def test_a_request_that_could_not_be_planned_has_its_reason_in_the_list() -> None:
    why = Fault(code=Code.MODEL_ANSWER, reason="the model gave no plan three times")
    failed = Head(author="a", created_ms=1, id="c1", name="n", state=ConstellationState.FAILED, fault=why)
    assert entity_json.row(failed, None, 0)["sentence"] == "the model gave no plan three times"
    assert entity_json.row(failed, Answer(sentence="Half.", state="final"), 0)["sentence"] == "Half."


def test_a_row_tells_that_the_answer_of_a_success_is_an_alarm() -> None:
    def alarm(state: ConstellationState, *, tells: bool) -> bool:
        head = Head(author="a", created_ms=1, id="c1", name="n", state=state)
        return entity_json.row(head, Answer(alarm=tells, sentence="A disk is full.", state="final"), 0)["alarm"]

    assert alarm(ConstellationState.SUCCEEDED, tells=True)
    assert not alarm(ConstellationState.SUCCEEDED, tells=False)
    assert not alarm(ConstellationState.ACTIVE, tells=True)
