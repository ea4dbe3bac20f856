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
            return 200, {"id": ONE, "state": state, "tasks": [{"id": "work", "attempt": 1}, {"id": "later"}]}
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
