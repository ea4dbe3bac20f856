"""What a commit keeps beside its events: the inputs that decided them, and what was loaded before they were stepped.

With these a commit can be decided again (`redeciding`). Of an input that decided nothing only that it came is kept.
The order in which entities are loaded is part of what decides, so it is sorted wherever that is done.
"""

from __future__ import annotations

from typing import Final, get_args

import msgspec

from starloom.core.state.inputs import AnyInput
from starloom.core.state.model import Shard, ShardSettings


class Taken(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="taken"):
    """The shard was loaded whole just before, under these settings."""

    incarnation: int
    settings: dict[str, int]


class Regained(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="regained"):
    """The shard was taken again as it stood, in this life of Redis; what was stepped before keeps the one before."""

    incarnation: int


class Brought(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="brought"):
    """A finished constellation was loaded back just before."""

    constellation: str


class Looked(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="looked"):
    """Inputs were stepped that decided nothing; the queues were looked at all the same."""


class Pruned(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="pruned"):
    """What no longer waits was dropped from the queues just before."""


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """An input of a kind that this version does not have; an older or newer one kept it. `kind` is its tag."""

    kind: str


class _Tagged(msgspec.Struct):
    k: str


Mark = Taken | Regained | Brought | Looked | Pruned
_LOOKED: Final = b'{"k":"looked"}'
_PRUNED: Final = b'{"k":"pruned"}'
_MARKS: Final = (b'{"k":"taken"', b'{"k":"regained"', b'{"k":"brought"', _LOOKED, _PRUNED)
_encode: Final = msgspec.json.Encoder().encode
_inputs: Final = msgspec.json.Decoder(AnyInput)
_marks: Final = msgspec.json.Decoder(Mark)
_kinds: Final = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyInput))


def decode_kept(raw: bytes) -> AnyInput | Mark | Foreign:
    """Return an input or a mark of its bytes.

    Raises:
        msgspec.ValidationError: its kind is known and it is none of that kind.
    """
    mark: Mark
    if raw.startswith(_MARKS):
        mark = _marks.decode(raw)
        return mark
    try:
        item: AnyInput = _inputs.decode(raw)
    except msgspec.ValidationError:
        kind = msgspec.json.decode(raw, type=_Tagged).k
        if kind in _kinds:
            raise
        return Foreign(kind=kind)
    return item


class Recording:
    """What was stepped and loaded since the last commit, in order."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def taken(self, shard: Shard) -> None:
        """The shard was loaded: whatever was noted before is void."""
        self._kept = [_encode(Taken(incarnation=shard.incarnation, settings=settings_of(shard.settings)))]

    def regained(self, shard: Shard) -> None:
        """The shard was taken again and goes on as it was."""
        self._kept.append(_encode(Regained(incarnation=shard.incarnation)))

    def brought(self, constellation: str) -> None:
        """A constellation was loaded back."""
        self._kept.append(_encode(Brought(constellation=constellation)))

    def pruned(self) -> None:
        """The queues were tidied."""
        self._once(_PRUNED)

    def stepped(self, item: AnyInput, *, decided: bool) -> None:
        """An input was stepped; one that `decided` something, or whose decisions were taken back, is kept whole."""
        if decided:
            self._kept.append(_encode(item))
        else:
            self._once(_LOOKED)

    def finished(self) -> list[bytes]:
        """Return all of it for the commit, and begin anew."""
        kept, self._kept = self._kept, []
        return kept

    def _once(self, mark: bytes) -> None:
        if not self._kept or self._kept[-1] is not mark:
            self._kept.append(mark)


def settings_of(settings: ShardSettings) -> dict[str, int]:
    """Return the settings by which the core decides, by name."""
    return {name: getattr(settings, name) for name in ShardSettings.__slots__}


def with_settings(found: dict[str, int]) -> ShardSettings:
    """Return settings as they were kept; one that is not known any more is left out."""
    settings = ShardSettings()
    for name in ShardSettings.__slots__:
        if name in found:
            setattr(settings, name, found[name])
    return settings
