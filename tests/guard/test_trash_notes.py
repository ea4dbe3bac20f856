"""T143: what goes to the trash comes back, whatever its name and contents; a file is never read as the trash's note."""

from __future__ import annotations

import pytest

from tests.guard.links import Place
from tests.guard.test_links import place as place

STEERING = '{{"path": "{}/z/other.txt"}}'


@pytest.mark.parametrize("name", ["from.json", "From.json", "_from.json", "FROM.JSON"])
def test_t143_a_file_with_the_name_of_a_note_comes_back(place: Place, name: str) -> None:
    text = STEERING.format(place.docs)
    place.device.write(f"a/{name}", text)
    tickets = place.device.call("fs.trash", paths=[f"a/{name}"])["tickets"]
    back = place.device.call("fs.restore", tickets=tickets)
    assert [(item["path"], item["moved"]) for item in back["items"]] == [(str(place.docs / "a" / name), True)]
    assert (place.docs / "a" / name).read_text(encoding="utf-8") == text
    assert not (place.docs / "z").exists()
    again = place.device.call("fs.restore", tickets=tickets)
    assert [item["moved"] for item in again["items"]] == [False]
    assert (place.docs / "a" / name).read_text(encoding="utf-8") == text


def test_t143_a_folder_with_the_name_of_a_note_comes_back(place: Place) -> None:
    place.device.write("a/from.json/inner.txt", "mine")
    tickets = place.device.call("fs.trash", paths=["a/from.json"])["tickets"]
    assert place.device.call("fs.restore", tickets=tickets)["items"][0]["moved"]
    assert (place.docs / "a/from.json/inner.txt").read_text(encoding="utf-8") == "mine"


def test_t143_an_exchanged_note_loses_no_file(place: Place) -> None:
    place.device.write("a/b.txt", "mine")
    (ticket,) = place.device.call("fs.trash", paths=["a/b.txt"])["tickets"]
    home = place.docs / ".starloom-trash" / ticket
    (home / "from.json").write_text(STEERING.format(place.docs), encoding="utf-8")
    assert "does not name b.txt" in str(place.call("fs.restore", tickets=[ticket]))
    assert (home / "b.txt").read_text(encoding="utf-8") == "mine"


def test_t143_an_exchanged_note_leads_out_of_no_grant(place: Place) -> None:
    place.device.write("a/id_rsa", "mine")
    (ticket,) = place.device.call("fs.trash", paths=["a/id_rsa"])["tickets"]
    home = place.docs / ".starloom-trash" / ticket
    (home / "from.json").write_text(f'{{"path": "{place.outside}/new/id_rsa"}}', encoding="utf-8")
    before = place.seen_outside()
    place.call("fs.restore", tickets=[ticket])
    assert place.seen_outside() == before
    assert (home / "id_rsa").read_text(encoding="utf-8") == "mine"
