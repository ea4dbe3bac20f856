"""A file that is written to while it is sent is named, and holds up no other one."""

from __future__ import annotations

import pytest

from starloom_agent.toolkit.interface import ToolFailed
from starloom_protocol.vocabulary import Code
from tests.device_agents.tools.conftest import Device

SHA = "0" * 64


def test_a_growing_file_is_left_out_and_the_others_are_sent(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    device.write("a.txt", b"a")
    growing = device.write("grows.log", b"one")
    device.write("z.txt", b"z")
    put = device.store.put

    def putting(file, *, name, media, sent):  # type: ignore[no-untyped-def]
        if name == growing.name:
            growing.write_bytes(growing.read_bytes() + b"more")
        return put(file, name=name, media=media, sent=sent)

    monkeypatch.setattr(device.store, "put", putting)
    sent = device.call("artifact.put", paths=["a.txt", "grows.log", "z.txt"], skip_changing=True)
    assert [row["path"] for row in sent["files"]] == ["a.txt", "z.txt"]
    why = "it changed while it was sent; send it again when nothing writes it"
    assert sent["left_out"] == [{"path": "grows.log", "why": why}]


def test_a_file_that_changed_since_it_was_hashed_is_sent_as_it_is(device: Device) -> None:
    device.write("a.txt", b"now")
    paths = [{"path": "a.txt", "sha256": SHA}, "gone.txt"]
    sent = device.call("artifact.put", paths=paths, skip_changing=True)
    assert [row["bytes"] for row in sent["files"]] == [3]
    assert sent["left_out"] == [{"path": "gone.txt", "why": "it is not there any more"}]
    with pytest.raises(ToolFailed, match="changed since it was hashed") as failed:
        device.call("artifact.put", paths=paths[:1])
    assert failed.value.code is Code.ARTIFACT_CORRUPT
