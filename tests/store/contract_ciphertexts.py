"""What every store must do with the ciphertext of secrets; part of `contract.StoreContract`."""

from __future__ import annotations

import pytest

from starloom.store.port import Unavailable
from tests.store.harness import World


class CiphertextContract:
    """Mixed into a test class that has a `world` fixture."""

    async def test_ciphertext_is_kept_by_id_and_every_hub_reads_it(self, world: World) -> None:
        one, other = await world.store(), await world.store()
        await one.ciphertexts.put("s-1", b"\x01\x00sealed\xff", 5)
        assert await one.ciphertexts.get("s-1") == b"\x01\x00sealed\xff"
        assert await other.ciphertexts.get("s-1") == b"\x01\x00sealed\xff"
        assert await other.ciphertexts.get("s-2") is None
        await other.ciphertexts.remove("s-1")
        await other.ciphertexts.remove("s-1")
        assert await one.ciphertexts.get("s-1") is None

    async def test_what_nothing_names_is_swept_once_it_is_old(self, world: World) -> None:
        store = await world.store()
        for identity, at_ms in (("s-named", 1), ("s-old", 1), ("s-young", 100)):
            await store.ciphertexts.put(identity, b"x", at_ms)
        assert await store.ciphertexts.sweep(["s-named"], 50) == 1
        assert await store.ciphertexts.sweep(["s-named"], 50) == 0
        found = [await store.ciphertexts.get(identity) for identity in ("s-named", "s-old", "s-young")]
        assert found == [b"x", None, b"x"]
        assert await store.ciphertexts.sweep([], 50) == 1

    async def test_an_outage_is_said(self, world: World) -> None:
        store = await world.store()
        world.history_down(True)
        with pytest.raises(Unavailable):
            await store.ciphertexts.put("s-1", b"x", 1)
        with pytest.raises(Unavailable):
            await store.ciphertexts.get("s-1")
        world.history_down(False)
        assert await store.ciphertexts.get("s-1") is None
