"""T302: the undo of a saved file takes and brings back what its call did, whatever was reported or done since.

Each call runs as a device runs it, in a process of its own that is confined.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from starloom_agent.toolkit.beneath import TRASH
from starloom_agent.toolkit.messages import Ended
from starloom_protocol.records.entities import FileOut
from starloom_protocol.values import parse
from starloom_protocol.vocabulary import Code, Outcome
from tests.device_agents.played_call import Loop
from tests.device_agents.wire.test_artifacts import Store
from tests.guard.confined import as_a_device, storing
from tests.guard.links import Place, Swapper, furnish

OLD, NEW = "the old contents", "the new contents"
ROUNDS = 6


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop(warm=True)
    yield made
    made.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path)
    furnish(made, git=False)
    (made.docs / "made").write_text(NEW)
    (made.docs / "out").mkdir()
    (made.docs / "out/file").write_text(OLD)
    return made


@pytest.fixture
def hub(place: Place) -> Iterator[tuple[Store, Path]]:
    with storing(place) as made:
        yield made


def saved(loop: Loop, place: Place, connection: Path, to: str = "out/file") -> Ended:
    out = [FileOut(output="/files/0", to=to)]
    return as_a_device(loop, place, connection, "artifact.put", {"paths": ["made"]}, files_out=out)


def added_of(ended: Ended) -> list[dict[str, Any]]:
    assert ended.outcome is Outcome.OK, ended
    assert ended.value is not None
    found: list[dict[str, Any]] = parse(ended.value)["added"]
    return found


def texts(place: Place) -> list[str]:
    """Return the contents of each file in the folder and in its trash that a call wrote or replaced."""
    found = [path for path in place.docs.rglob("*") if path.is_file() and not path.is_symlink()]
    return sorted(text for path in found if (text := path.read_bytes().decode("latin-1")) in (OLD, NEW))


def _file_for_a_link(place: Place) -> None:
    (place.docs / "out/file").unlink()
    (place.docs / "out/file").symlink_to(place.outside / "d/id_rsa")


def _file_for_a_link_inside(place: Place) -> None:
    (place.docs / "out/file").unlink()
    (place.docs / "out/file").symlink_to(place.docs / "made")


def _folder_for_a_link(place: Place) -> None:
    (place.docs / "out").rename(place.docs / "elsewhere")
    (place.docs / "out").symlink_to(place.outside / "d")


def _folder_for_a_link_inside(place: Place) -> None:
    (place.docs / "other").mkdir()
    (place.docs / "other/file").write_text("somebody's")
    (place.docs / "out").rename(place.docs / "elsewhere")
    (place.docs / "out").symlink_to("other")


def _trash_for_a_link(place: Place) -> None:
    (place.docs / TRASH).rename(place.docs / "elsewhere")
    (place.docs / TRASH).symlink_to(place.outside / TRASH)


def _nothing_in_the_trash(place: Place) -> None:
    shutil.rmtree(place.docs / TRASH)


@pytest.mark.parametrize(
    "swap",
    [
        _file_for_a_link,
        _file_for_a_link_inside,
        _folder_for_a_link,
        _folder_for_a_link_inside,
        _trash_for_a_link,
        _nothing_in_the_trash,
    ],
)
def test_t302_an_undo_takes_nothing_behind_a_link_or_without_the_old_file(
    swap: Callable[[Place], None], loop: Loop, place: Place, hub: tuple[Store, Path]
) -> None:
    added = added_of(saved(loop, place, hub[1]))
    swap(place)
    before, inside = place.seen_outside(), {path for path in place.docs.rglob("*") if TRASH not in path.parts}
    ended = as_a_device(loop, place, hub[1], "fs.trash", {"paths": added})
    assert (ended.outcome is Outcome.OK, bool(ended.detail)) == (False, True), ended
    assert place.seen_outside() == before
    assert {path for path in place.docs.rglob("*") if TRASH not in path.parts} == inside
    assert place.leaked(ended.detail) == []


FORGED: list[tuple[dict[str, Any], Code]] = [
    ({"path": "{outside}/d/id_rsa"}, Code.POLICY_REFUSED),
    ({"path": "../private/d/id_rsa"}, Code.POLICY_REFUSED),
    ({"path": "made"}, Code.BAD_ARGUMENTS),
    ({"replaced": "../../private"}, Code.FILE_NOT_FOUND),
    ({"replaced": "1-000000000000"}, Code.FILE_NOT_FOUND),
    ({"path": TRASH}, Code.BAD_ARGUMENTS),
    ({"path": "."}, Code.BAD_ARGUMENTS),
]


@pytest.mark.parametrize(("forged", "code"), FORGED)
def test_t302_a_forged_item_is_refused_by_the_device(
    forged: dict[str, Any], code: Code, loop: Loop, place: Place, hub: tuple[Store, Path]
) -> None:
    (item,) = added_of(saved(loop, place, hub[1]))
    told = {key: value.format(outside=place.outside) for key, value in forged.items()}
    before, kept = place.seen_outside(), texts(place)
    ended = as_a_device(loop, place, hub[1], "fs.trash", {"paths": [{**item, **told}]})
    assert ended.code is code, ended
    assert (place.seen_outside(), texts(place)) == (before, kept)
    assert (place.docs / "out/file").read_text() == NEW


def test_t302_calls_that_saved_in_one_place_are_taken_back_in_turn(
    loop: Loop, place: Place, hub: tuple[Store, Path]
) -> None:
    """One whose file another one replaced is named and waits; from the last to the first all come back."""
    ends: list[Ended] = []
    for _ in range(ROUNDS):
        ends.append(saved(loop, place, hub[1]))
        (place.docs / "made").write_text(f"{NEW} {len(ends)}")
    first, *_, last = map(added_of, ends)
    early = as_a_device(loop, place, hub[1], "fs.trash", {"paths": first})
    assert (early.code, "out/file was changed since it was written" in early.detail) == (Code.CONFLICT, True)
    for added in [last, *map(added_of, reversed(ends[:-1]))]:
        assert as_a_device(loop, place, hub[1], "fs.trash", {"paths": added}).outcome is Outcome.OK
    assert (place.docs / "out/file").read_text() == OLD


def test_t302_a_swapper_beside_an_undo_leads_nothing_outside(loop: Loop, place: Place, hub: tuple[Store, Path]) -> None:
    before = place.seen_outside()
    ends = []
    with Swapper(place):
        for number in range(ROUNDS):
            (place.docs / "made").write_text(f"{NEW} {number}")
            ends.append(saved(loop, place, hub[1], "e/sub/rc"))
            if ends[-1].value is not None:
                ends.append(as_a_device(loop, place, hub[1], "fs.trash", {"paths": parse(ends[-1].value)["added"]}))
    assert place.seen_outside() == before
    assert place.leaked(*[(end.value, end.detail, end.tail) for end in ends]) == []
