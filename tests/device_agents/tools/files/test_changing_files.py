"""A file that is written to while it is sent is named, and holds up no other one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

import pytest

from starloom_agent.toolkit.beneath import Beneath
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


@pytest.mark.parametrize("skip", [True, False])
def test_a_file_that_the_hub_does_not_take_is_refused_before_any_is_read(
    device: Device, monkeypatch: pytest.MonkeyPatch, skip: bool
) -> None:
    device.write("a.txt", b"a")
    large = device.write("my film.iso", b"")
    os.truncate(large, 5 * 1024**3)
    monkeypatch.setattr(device.store, "put", lambda *_, **__: pytest.fail("a file was sent"))
    with pytest.raises(ToolFailed) as failed:
        device.call("artifact.put", paths=["a.txt", "my film.iso"], skip_changing=skip)
    assert (failed.value.code, failed.value.effect) == (Code.OUTPUT_TOO_BIG, False)
    assert failed.value.detail == (
        "my film.iso has 5.4 GB, and a file that goes through the hub has at most 4.3 GB. Copy it with another "
        "program, send it in parts (`split -b 3G 'my film.iso'`), or leave it out: `max_bytes: 4294967296` of fs.find"
    )


def test_what_a_call_made_is_as_large_as_the_hub_takes(device: Device) -> None:
    made = device.write("made.zip", b"")
    os.truncate(made, 5 * 1024**3)
    with pytest.raises(ToolFailed, match=r"backup\.zip has 5\.4 GB"):
        device.context().put_last(made, name="backup.zip", media="application/zip")


def test_a_file_that_may_not_be_read_is_named_and_the_others_are_sent(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    device.write("a.txt", b"a")
    secret, opened = device.write("secret.txt", b"s"), Beneath.open

    def refuse(files: Beneath, path: Path) -> BinaryIO:
        if path == secret:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(files, path)

    monkeypatch.setattr(Beneath, "open", refuse)
    monkeypatch.setattr(Beneath, "is_readable", lambda _, path: path != secret)
    sent = device.call("artifact.put", paths=["secret.txt", "a.txt"], skip_changing=True)
    assert [row["path"] for row in sent["files"]] == ["a.txt"]
    assert sent["left_out"] == [{"path": "secret.txt", "why": "it cannot be read: Permission denied"}]
    with pytest.raises(ToolFailed) as failed:
        device.call("artifact.put", paths=["secret.txt", "a.txt"])
    # `file_not_found` would say that the file is not there.
    assert (failed.value.code, failed.value.effect) == (Code.TOOL_FAILED, False)
    assert failed.value.detail == f"{secret} cannot be read: Permission denied"
