"""What a device says of its file keeps no answer back: a name that no disk takes (T235), a size that is none (T256)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.cli.test_commands import StubHub, hub, starloom

__all__ = ["hub"]

BYTES = hashlib.sha256(b'"x"').hexdigest()
LONG = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 300


@pytest.mark.parametrize("name", [LONG, f"{LONG}.pdf", f"a.{LONG}", f"../{LONG}.txt"])
def test_t235_a_name_of_a_device_keeps_no_file_of_an_answer_back(hub: StubHub, tmp_path: Path, name: str) -> None:
    file = {"artifact": BYTES, "bytes": 3, "media": "application/pdf", "name": name}
    items = [{"title": "Theirs", "value": file}, {"title": "Theirs", "value": file}, {"title": "Mine", "value": "text"}]
    answer = {"state": "final", "sentence": "Done.", "items": items, "constellation_state": "succeeded"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    hub.answers["GET", f"/artifacts/{BYTES}"] = (200, "x")
    folder = tmp_path / "out"
    code, said = starloom(hub, "result", "c-1", "--save", str(folder))
    assert code == 0, said
    saved = sorted(path.name for path in folder.iterdir())
    assert len(saved) == 3
    assert "Mine.txt" in saved
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("size", ["x", None, [1], {}, "9" * 5_000, -1, 10**300, True])
@pytest.mark.parametrize("save", [True, False], ids=["saved", "shown"])
def test_t256_a_lie_about_a_size_keeps_no_answer_back(hub: StubHub, tmp_path: Path, size: object, save: bool) -> None:
    file = {"artifact": BYTES, "bytes": size, "name": "theirs"}
    items = [{"title": "Theirs", "value": file}, {"title": "Mine", "value": "my own words"}]
    answer = {"state": "final", "sentence": "Done.", "items": items, "constellation_state": "succeeded"}
    hub.answers["GET", "/constellations/c-1/result"] = (200, answer)
    hub.answers["GET", "/constellations/c-1"] = (200, {"state": "succeeded", "fault": None})
    hub.answers["GET", "/devices"] = (200, {"items": []})
    hub.answers["GET", f"/artifacts/{BYTES}"] = (200, "x")
    code, said = starloom(hub, "result", "c-1", *(["--save", str(tmp_path / "out")] if save else []))
    assert (code, "my own words" in said) == (0, True), said
