"""`starloom logs --follow`: output as it comes, each piece once, until the constellation has ended."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from starloom.cli.constellations import reading
from tests.cli.test_commands import StubHub, starloom

ONE = "c-abcdefghijklmnopqrst"
LOG = f"/constellations/{ONE}/tasks/work/attempts/1/log"
WRITTEN = "one\ntwo\nthree\n"


class Growing(dict[tuple[str, str], Any]):
    """The answers of a hub whose task writes four signs a look, and whose constellation ends with the last."""

    def __init__(self, hub: StubHub) -> None:
        super().__init__()
        self._hub = hub
        self.read = 0

    def get(self, key: tuple[str, str], default: Any = None) -> Any:
        if key == ("GET", f"/constellations/{ONE}"):
            state = "active" if self.read < len(WRITTEN) else "succeeded"
            work = {"id": "work", "attempt": 1, "state": "running"}
            return 200, {"id": ONE, "state": state, "tasks": [work, {"id": "later", "state": "waiting"}]}
        if key != ("GET", LOG):
            return super().get(key, default)
        offset = int(parse_qs(urlsplit(self._hub.urls[-1]).query)["offset"][0])
        self.read = min(offset + 4, len(WRITTEN))
        return 200, {"text": WRITTEN[offset : self.read], "offset": offset, "next": self.read, "end": self.read}


@pytest.mark.parametrize(
    ("words", "said"), [((ONE,), f"-- work, attempt 1\n{WRITTEN}"), (("work", ONE), WRITTEN), (("work",), WRITTEN)]
)
def test_output_is_printed_once_as_it_comes(
    hub: StubHub, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr(reading, "_FOLLOW_S", 0.0)
    hub.answers = Growing(hub)
    hub.answers["GET", "/constellations"] = (200, {"items": [{"id": ONE}], "next": None})
    assert starloom(hub, "logs", "-f", *words) == (0, said)


def test_a_followed_log_takes_no_search_and_no_unknown_task(hub: StubHub) -> None:
    hub.answers = Growing(hub)
    assert starloom(hub, "logs", "-f", "--q", "x", ONE)[0] == 2
    code, said = starloom(hub, "logs", "-f", "other", ONE)
    assert (code, "has no task other" in said) == (2, True)


def test_the_log_of_a_list_is_that_of_its_items(hub: StubHub) -> None:
    rows = [{"id": "job", "state": "succeeded"}, *({"id": f"job.{at}", "attempt": 1} for at in (0, 1, 2))]
    hub.answers["GET", f"/constellations/{ONE}"] = (200, {"id": ONE, "tasks": [*rows, {"id": "jobs", "attempt": 1}]})
    for at, text in enumerate(("zero\n", "", "two\n")):
        path = f"/constellations/{ONE}/tasks/job.{at}/attempts/1/log"
        hub.answers["GET", path] = (200, {"text": text, "offset": 0, "next": 0, "end": 0})
    assert starloom(hub, "logs", "job", ONE) == (0, "-- job.0, attempt 1\nzero\n-- job.2, attempt 1\ntwo\n")


class Retried(dict[tuple[str, str], Any]):
    """A task is repeated while its first attempt is read; it ends, and another one runs for three more looks."""

    def __init__(self, hub: StubHub) -> None:
        super().__init__()
        self._hub = hub
        self.looks = 0
        self.asked = {1: 0, 2: 0}

    def get(self, key: tuple[str, str], default: Any = None) -> Any:
        if key == ("GET", f"/constellations/{ONE}"):
            self.looks += 1
            number, state = (1, "running") if self.looks == 1 else (2, "succeeded")
            whole = "active" if self.looks < 8 else "succeeded"
            return 200, {"id": ONE, "state": whole, "tasks": [{"id": "work", "attempt": number, "state": state}]}
        number = int(key[1].split("/")[-2])
        self.asked[number] += 1
        offset = int(parse_qs(urlsplit(self._hub.urls[-1]).query)["offset"][0])
        text = {1: "first\nrest\n", 2: "second\n"}[number][offset : offset + 6]
        return 200, {"text": text, "offset": offset, "next": offset + len(text), "end": offset + len(text)}


def test_each_attempt_is_read_to_its_end_and_asked_no_more(hub: StubHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_FOLLOW_S", 0.0)
    answers = hub.answers = Retried(hub)
    said = "-- work, attempt 1\nfirst\nrest\n-- work, attempt 2\nsecond\n"
    assert starloom(hub, "logs", "-f", ONE) == (0, said)
    assert answers.looks == 8
    assert answers.asked == {1: 3, 2: 3}
