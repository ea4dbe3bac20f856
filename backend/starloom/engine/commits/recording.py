"""The record that a commit keeps beside its events: the inputs that decided them, and marks of what was loaded before.

With it a commit can be decided again (`redeciding`). An input that decided nothing leaves only a mark. The order in
which entities are loaded influences decisions, so they are sorted wherever they are loaded.
"""

from __future__ import annotations

from typing import Final, get_args

import msgspec

from starloom.core.state.inputs import AnyInput
from starloom.core.state.model import Shard, ShardSettings


class ShardLoaded(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="taken"):
    """A mark: the whole shard was loaded just before, under these settings."""

    incarnation: int
    settings: dict[str, int]


class ShardRegained(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="regained"):
    """A mark: the shard was taken again with its state, under this incarnation; earlier inputs had another one."""

    incarnation: int


class ConstellationLoaded(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="brought"):
    """A mark: a finished constellation was loaded back just before."""

    constellation: str


class QueuesExamined(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="looked"):
    """A mark: inputs that decided nothing were stepped; the queues were examined nevertheless."""


class QueuesPruned(msgspec.Struct, frozen=True, kw_only=True, tag_field="k", tag="pruned"):
    """A mark: tasks that no longer wait were dropped from the queues just before."""


class Foreign(msgspec.Struct, frozen=True, kw_only=True):
    """An input of a kind unknown to this version, kept by an older or newer one. `kind` is its tag."""

    kind: str


class _Tagged(msgspec.Struct):
    k: str


Mark = ShardLoaded | ShardRegained | ConstellationLoaded | QueuesExamined | QueuesPruned
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
        msgspec.ValidationError: its kind is known and the bytes are not of that kind.
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
    """The inputs stepped and the marks of loading since the last commit, in order."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []

    def shard_loaded(self, shard: Shard) -> None:
        """Note that the shard was loaded: all earlier notes are void."""
        self._kept = [_encode(ShardLoaded(incarnation=shard.incarnation, settings=settings_of(shard.settings)))]

    def shard_regained(self, shard: Shard) -> None:
        """Note that the shard was taken again with its state unchanged."""
        self._kept.append(_encode(ShardRegained(incarnation=shard.incarnation)))

    def constellation_loaded(self, constellation: str) -> None:
        """Note that a constellation was loaded back."""
        self._kept.append(_encode(ConstellationLoaded(constellation=constellation)))

    def queues_pruned(self) -> None:
        """Note that the queues were pruned."""
        self._once(_PRUNED)

    def stepped(self, item: AnyInput, *, decided: bool) -> None:
        """Note a stepped input; one that `decided` something, or whose decisions were undone, is kept whole."""
        if decided:
            self._kept.append(_encode(item))
        else:
            self._once(_LOOKED)

    def finished(self) -> list[bytes]:
        """Return the record for the commit and start an empty one."""
        kept, self._kept = self._kept, []
        return kept

    def _once(self, mark: bytes) -> None:
        """Keep a mark, unless it is the newest entry already."""
        if not self._kept or self._kept[-1] is not mark:
            self._kept.append(mark)


def settings_of(settings: ShardSettings) -> dict[str, int]:
    """Return the settings by which the core decides, by name."""
    return {name: getattr(settings, name) for name in ShardSettings.__slots__}


def with_settings(found: dict[str, int]) -> ShardSettings:
    """Return the settings of a record; a setting that no longer exists is left out.

    A setting that the record lacks gets its default, with seven exceptions: they are 0, because the hub that wrote the
    record did not have what they bound or turn on, so its decisions must be made again without it.
    """
    settings = ShardSettings()
    settings.pace_rows_most = settings.hedge_at_p90 = settings.kept_results_most = 0
    settings.keeps_reopenings = 0
    settings.proposals_most = settings.trial_runs = settings.spending_rows_most = 0
    for name in ShardSettings.__slots__:
        if name in found:
            setattr(settings, name, found[name])
    return settings
