"""Values are sealed for one name and version; keys are made once, read by their owner alone, and can be changed."""

from __future__ import annotations

import base64
import stat
from pathlib import Path

import pytest

from starloom.edge.access.vault import CannotOpen, Sealer, Vault, load_or_make
from starloom_protocol.records.entities import Secret
from tests.killed_steps import KILLED, run_killed
from tests.store.memory import MemoryStore

ONE, TWO = b"1" * 32, b"2" * 32


def record(name: str, cipher: str, version: int = 1) -> Secret:
    return Secret(by="p", cipher=cipher, created_ms=1, name=name, set_ms=1, version=version)


def test_a_sealed_value_opens_for_its_own_name_and_version_only() -> None:
    sealer = Sealer([ONE])
    sealed = sealer.seal("hunter22 ö", name="key", version=1, identity="s-1")
    assert b"hunter22" not in sealed
    assert sealed != sealer.seal("hunter22 ö", name="key", version=1, identity="s-1")
    assert sealer.open(sealed, name="key", version=1, identity="s-1") == "hunter22 ö"
    wrong = [("other", 1, "s-1"), ("key", 2, "s-1"), ("key", 1, "s-2")]
    for name, version, identity in wrong:
        with pytest.raises(CannotOpen, match="damaged or belongs to another"):
            sealer.open(sealed, name=name, version=version, identity=identity)
    for damaged in (b"", sealed[:9], sealed[:-1] + bytes([sealed[-1] ^ 1]), b"\x02" + sealed[1:]):
        with pytest.raises(CannotOpen):
            sealer.open(damaged, name="key", version=1, identity="s-1")


def test_a_new_key_seals_and_the_old_one_still_opens() -> None:
    old = Sealer([ONE]).seal("before", name="key", version=1, identity="s-1")
    both = Sealer([TWO, ONE])
    assert both.open(old, name="key", version=1, identity="s-1") == "before"
    new = both.seal("after", name="key", version=2, identity="s-2")
    assert Sealer([TWO]).open(new, name="key", version=2, identity="s-2") == "after"
    with pytest.raises(CannotOpen, match="a key that this hub does not have"):
        Sealer([TWO]).open(old, name="key", version=1, identity="s-1")


def test_the_file_of_keys_is_made_once_and_guarded(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "secrets.key"
    sealed = load_or_make(path).seal("v", name="key", version=1, identity="s-1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_or_make(path).open(sealed, name="key", version=1, identity="s-1") == "v"
    path.write_bytes(base64.b64encode(TWO) + b"\n" + path.read_bytes())
    assert load_or_make(path).open(sealed, name="key", version=1, identity="s-1") == "v"
    path.chmod(0o640)
    with pytest.raises(ValueError, match="chmod 600"):
        load_or_make(path)
    path.chmod(0o600)
    for wrong in (b"", b"no base64!", base64.b64encode(b"short")):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match="restore it from a backup"):
            load_or_make(path)


MAKING = """
from pathlib import Path
from starloom.edge.access.vault import load_or_make
for name in ("unlink", "fsync", "open", "fdopen", "link"):
    setattr(os, name, counted(getattr(os, name)))
load_or_make(Path(sys.argv[1]))
print(steps)
"""


def test_a_kill_at_any_step_leaves_no_file_of_keys_or_a_whole_one(tmp_path: Path) -> None:
    steps = int(run_killed(MAKING, 0, str(tmp_path / "whole" / "secrets.key"))[1])
    assert steps > 3
    for last in range(1, steps + 1):
        path = tmp_path / str(last) / "secrets.key"
        assert run_killed(MAKING, last, str(path))[0] == KILLED
        sealed = load_or_make(path).seal("v", name="key", version=1, identity="s-1")
        assert load_or_make(path).open(sealed, name="key", version=1, identity="s-1") == "v"


async def test_a_vault_keeps_opens_forgets_and_sweeps(caplog: pytest.LogCaptureFixture) -> None:
    now = [0]
    store = MemoryStore()
    vault = Vault(Sealer([ONE]), store.ciphertexts, lambda: now[0])
    kept, lost = await vault.keep("key", 1, "hunter22"), await vault.keep("key", 2, "hunter23")
    assert await vault.read(record("key", kept)) == "hunter22"
    assert await vault.read(record("other", kept)) is None
    assert await vault.read(record("key", "s-none")) is None
    assert "secret_unreadable name=other" in caplog.text
    assert "hunter" not in caplog.text
    assert await vault.sweep([record("key", kept)]) == 0
    now[0] = 4_000_000
    assert await vault.sweep([record("key", kept)]) == 1
    assert await vault.read(record("key", lost, 2)) is None
    await vault.forget(kept)
    assert store.history.sealed == {}
    await store.close()
