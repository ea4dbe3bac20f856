"""The keys of a hub belong to its history: a hub without them, or with others, refuses and names the folder."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from starloom.app import HUB_KEY_FILE, keys_of
from starloom.host.supervisor import let_new_keys
from starloom.process.settings import Settings
from starloom.store.port import Damaged
from starloom.store.redis.store import RedisStore
from starloom.store.sql.database import open_database
from starloom.store.sql.history import note_hub_key
from tests.store.contract import fill
from tests.store.harness import RedisWorld


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[RedisWorld]:
    async with RedisWorld(tmp_path / "world") as world:
        yield world


@pytest.fixture
async def store(world: RedisWorld, tmp_path: Path) -> RedisStore:
    """Return the store of a hub with keys in `first`, a secret, and commits in its history."""
    store = await world.store()
    assert isinstance(store, RedisStore)
    await keys_of(Settings(home=tmp_path / "first"), store)
    own = await store.take("a", 1)
    await fill(store, own, 3)
    await store.watermark(2)
    await store.ciphertexts.put("s-1", b"sealed", 1)
    return store


async def test_a_folder_without_the_keys_of_the_history_is_refused_and_stays_empty(
    store: RedisStore, tmp_path: Path
) -> None:
    other = Settings(home=tmp_path / "first", shared=tmp_path / "sharedX")
    with pytest.raises(Damaged, match=r"no key of its hub at .*sharedX/keys/hub.key.*up --new-keys"):
        await keys_of(other, store)
    assert not (tmp_path / "sharedX").exists()
    _, again = await keys_of(Settings(home=tmp_path / "first"), store)
    assert (await store.keyed()).hub_key == again.text


async def test_the_key_of_another_hub_is_refused(store: RedisStore, tmp_path: Path) -> None:
    other = tmp_path / "other" / HUB_KEY_FILE
    other.parent.mkdir(parents=True)
    other.write_bytes(b"k" * 32)
    (other.parent / "secrets.key").write_bytes((tmp_path / "first/keys/secrets.key").read_bytes())
    (other.parent / "secrets.key").chmod(0o600)
    with pytest.raises(Damaged, match=r"other/keys/hub.key is the key of another hub"):
        await keys_of(Settings(home=tmp_path / "other"), store)


async def test_a_lost_key_of_secrets_is_not_replaced_in_silence(store: RedisStore, tmp_path: Path) -> None:
    moved = Settings(home=tmp_path / "first", secrets_key_file=tmp_path / "mount/secrets.key")
    with pytest.raises(Damaged, match=r"values of secrets, and there is no key for them at .*mount/secrets.key"):
        await keys_of(moved, store)
    assert not (tmp_path / "mount").exists()


async def test_a_history_of_before_takes_the_key_that_is_there(
    store: RedisStore, world: RedisWorld, tmp_path: Path
) -> None:
    database = open_database(world.database_url)
    await database.write(note_hub_key, None)
    await database.close()
    _, key = await keys_of(Settings(home=tmp_path / "first"), store)
    assert (await store.keyed()).hub_key == key.text


async def test_lost_keys_are_replaced_on_demand_alone(store: RedisStore, world: RedisWorld, tmp_path: Path) -> None:
    new = Settings(home=tmp_path / "new", database_url=world.database_url)
    await let_new_keys(new)
    _, key = await keys_of(new, store)
    assert (await store.keyed()).hub_key == key.text
    with pytest.raises(Damaged, match="another hub"):
        await keys_of(Settings(home=tmp_path / "first"), store)
