"""The Lua scripts, each with a function that builds its arguments and one that reads its reply.

Owns all atomic operations in Redis. A script checks first and writes after, so that an error raised by a check or by
the first write leaves nothing behind.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import msgspec

from starloom.store.port import Commit, LogEntry, Refused
from starloom.store.redis import keys

Arg = bytes | str | int


class Script(msgspec.Struct, frozen=True):
    """A script's source and the SHA-1 by which Redis knows it once it has been loaded."""

    source: str
    sha: str


def _script(source: str) -> Script:
    text = source.strip()
    return Script(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())


# unpack() is bounded by Lua's C stack (8,000), hence the chunks; a commit may hold 40,000 entities.
_CHUNKS: Final = """
local CHUNK = 4000
local function each(command, key, list, from)
  while from <= #list do
    local to = math.min(from + CHUNK - 1, #list)
    redis.call(command, key, unpack(list, from, to))
    from = to + 1
  end
end
"""

# KEYS: term incarnation pos link sent_pos log heads, then one entity hash a stream.
# ARGV: term incarnation pos link sent_pos body trim_below, then lists in MessagePack: the heads, then for each stream
#   the pairs to put and the keys to drop. Lists, because the number of arguments is the main cost for the hub.
COMMIT: Final = _script(
    _CHUNKS
    + """
local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local why = nil
if found[1] ~= ARGV[1] then why = 'term'
elseif found[2] ~= ARGV[2] then why = 'incarnation'
elseif found[4] ~= ARGV[4] then why = 'link'
elseif tonumber(found[3] or '0') + 1 ~= tonumber(ARGV[3]) then why = 'pos' end
if why then return {why, found[3] or '0', found[1] or '0'} end
local lists = {}
for at = 8, #ARGV do lists[at] = cmsgpack.unpack(ARGV[at]) end
redis.call('XADD', KEYS[6], ARGV[3] .. '-0', 'c', ARGV[6])
redis.call('MSET', KEYS[3], ARGV[3], KEYS[5], ARGV[5])
each('HSET', KEYS[7], lists[8], 1)
for k = 8, #KEYS do
  each('HSET', KEYS[k], lists[2 * k - 7], 1)
  each('HDEL', KEYS[k], lists[2 * k - 6], 1)
end
if ARGV[7] ~= '0' then redis.call('XTRIM', KEYS[6], 'MINID', '~', ARGV[7] .. '-0') end
return 1
"""
)

_OWNED: Final = """
local found = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local why = nil
if found[1] ~= ARGV[1] then why = 'term'
elseif found[2] ~= ARGV[2] then why = 'incarnation'
elseif found[3] ~= ARGV[3] then why = 'link' end
if why then return {why, found[4] or '0', found[1] or '0'} end
"""

# Drops the live copy of streams that are at the owner's seq.
# KEYS: term incarnation link pos heads, then one entity hash a stream.
# ARGV: term incarnation link, then for each stream its name and its seq.
RETIRE: Final = _script(
    _OWNED
    + """
for k = 6, #KEYS do
  local at = 4 + (k - 6) * 2
  if redis.call('HGET', KEYS[5], ARGV[at]) == ARGV[at + 1] then
    redis.call('HDEL', KEYS[5], ARGV[at])
    redis.call('UNLINK', KEYS[k])
  end
end
return 1
"""
)

# Makes one whole stream live again.
# KEYS: term incarnation link pos heads hash.  ARGV: term incarnation link stream seq, then the pairs.
RECALL: Final = _script(
    _CHUNKS
    + _OWNED
    + """
redis.call('DEL', KEYS[6])
each('HSET', KEYS[6], ARGV, 6)
redis.call('HSET', KEYS[5], ARGV[4], ARGV[5])
return 1
"""
)

# Takes the shard: the term rises above those that Redis and SQL have seen; the holder of the link loses it.
# `free`: only if no other hub holds it (ARGV[6] names this one); `again`: only if no other store took it since term
# ARGV[6]. A link token begins with the mark of its store (ARGV[7]): a try whose reply was lost is known by it.
# KEYS: term owner link pos sent_pos.  ARGV: floor owner ttl_ms link how known mark
TAKE: Final = _script(
    """
local before = tonumber(redis.call('GET', KEYS[1]) or '0')
local held = false
if ARGV[5] == 'free' then
  local holder = string.match(redis.call('GET', KEYS[2]) or '', '^(.-)@') or ''
  held = holder ~= '' and holder ~= ARGV[6]
elseif ARGV[5] == 'again' then
  local link = redis.call('GET', KEYS[3]) or ''
  held = before > tonumber(ARGV[6]) and string.sub(link, 1, #ARGV[7]) ~= ARGV[7]
end
if held then return {'held', redis.call('GET', KEYS[4]) or '0', string.format('%.0f', before)} end
local term = math.max(before, tonumber(ARGV[1])) + 1
local text = string.format('%.0f', term)
redis.call('SET', KEYS[1], text)
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('SET', KEYS[3], ARGV[4])
return {text, redis.call('GET', KEYS[4]) or '0', redis.call('GET', KEYS[5]) or '0'}
"""
)

# Releases the shard: the next hub that asks may take it at once.  KEYS: term owner.  ARGV: term
RELEASE: Final = _script(
    """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], '@released')
return 1
"""
)

# KEYS: term owner.  ARGV: term owner ttl_ms
RENEW: Final = _script(
    """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
return 1
"""
)

# Opens a new commit link: from now on nothing sent on an earlier connection can be applied.
# KEYS: term link pos.  ARGV: term link
OPEN: Final = _script(
    """
local term = redis.call('GET', KEYS[1])
if term == ARGV[1] then redis.call('SET', KEYS[2], ARGV[2]) end
return {redis.call('GET', KEYS[3]) or '0', term or '0'}
"""
)

# One step of a rebuild; answers 0 if another term has the shard.  KEYS: term hash.  ARGV: term, then pairs
LOAD: Final = _script(
    _CHUNKS
    + """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
each('HSET', KEYS[2], ARGV, 2)
return 1
"""
)

# Before a rebuild: the position goes first, so that the next owner recognises an interrupted rebuild.
# KEYS: term pos heads log sent_pos, then hashes to drop.  ARGV: term
CLEAR: Final = _script(
    """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
for k = 3, #KEYS do redis.call('DEL', KEYS[k]) end
return 1
"""
)

# A log entry of a rebuild.  KEYS: term log.  ARGV: term pos body
RELOG: Final = _script(
    """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('XADD', KEYS[2], ARGV[2] .. '-0', 'c', ARGV[3])
return 1
"""
)

# The end of taking over: incarnation, and after a rebuild also heads and position (ARGV[3] ~= '').
# KEYS: term incarnation pos sent_pos heads.  ARGV: term incarnation pos sent_pos, then the heads
SETTLE: Final = _script(
    _CHUNKS
    + """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
if ARGV[3] ~= '' then
  each('HSET', KEYS[5], ARGV, 5)
  redis.call('MSET', KEYS[3], ARGV[3], KEYS[4], ARGV[4])
end
return 1
"""
)

# Appends an input unless the inbox is full.  KEYS: inbox.  ARGV: most raw token
POST: Final = _script(
    """
if redis.call('XLEN', KEYS[1]) >= tonumber(ARGV[1]) then return false end
return redis.call('XADD', KEYS[1], '*', 'i', ARGV[2], 'a', ARGV[3])
"""
)

# Ends a delivery and publishes its answer if its sender waits for it.
# KEYS: inbox answer.  ARGV: group delivery answer ttl_ms asked
SETTLE_DELIVERY: Final = _script(
    """
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
local ended = redis.call('XDEL', KEYS[1], ARGV[2])
if ARGV[5] == '1' and ended == 1 then
  redis.call('RPUSH', KEYS[2], ARGV[3])
  redis.call('PEXPIRE', KEYS[2], ARGV[4])
end
return ended
"""
)

ENGINE_SCRIPTS: Final = (COMMIT, TAKE, RENEW, OPEN, LOAD, CLEAR, RELOG, SETTLE, RETIRE, RECALL)


_pack = msgspec.msgpack.Encoder().encode
_entry_decoder = msgspec.msgpack.Decoder(LogEntry)


def encode_entry(commit: Commit) -> bytes:
    """Return the bytes of a commit's log entry."""
    return _pack(
        LogEntry(
            commit.at_ms,
            commit.events,
            commit.heads,
            commit.incarnation,
            commit.outbox,
            commit.pos,
            commit.sent_pos,
            commit.term,
            commit.inputs,
        )
    )


def decode_entry(raw: bytes) -> LogEntry:
    """Return the log entry of its bytes.

    Raises:
        msgspec.ValidationError: the bytes are no log entry.
    """
    return _entry_decoder.decode(raw)


def commit_call(
    commit: Commit, *, term: int, incarnation: int, link: str, trim_below: int
) -> tuple[list[str], list[Arg]]:
    """Return keys and arguments of `COMMIT`. `term` and `incarnation` are the owner's present ones: a restored commit
    keeps those under which it was made in its body.
    """
    names = [
        keys.TERM,
        keys.INCARNATION,
        keys.POS,
        keys.LINK,
        keys.SENT_POS,
        keys.LOG,
        keys.HEADS,
    ]
    args: list[Arg] = [
        term,
        incarnation,
        commit.pos,
        link,
        commit.sent_pos,
        encode_entry(commit),
        trim_below,
        _pack([part for head in commit.heads for part in head]),
    ]
    for stream, records in commit.entities.items():
        names.append(keys.entities(stream))
        # As text: the MessagePack library of Redis does not support binary strings.
        gone = [key for key, raw in records.items() if raw is None] if None in records.values() else []
        present = {key: raw for key, raw in records.items() if raw is not None} if gone else records
        texts = map(bytes.decode, present.values())  # type: ignore[arg-type]  # those that are None are not among these
        args.append(_pack([*chain.from_iterable(zip(present, texts, strict=True))]))
        args.append(_pack(gone))
    return names, args


class Owned(msgspec.Struct, frozen=True):
    """The values by which a script checks the owner of the shard and its present connection."""

    term: int
    incarnation: int
    link: str


def retire_call(owned: Owned, streams: Sequence[tuple[str, int]]) -> tuple[list[str], list[Arg]]:
    """Return keys and arguments of `RETIRE`."""
    names = [*_OWNED_KEYS, *(keys.entities(stream) for stream, _seq in streams)]
    args: list[Arg] = [owned.term, owned.incarnation, owned.link]
    for stream, seq in streams:
        args.append(stream)
        args.append(seq)
    return names, args


def recall_call(owned: Owned, stream: str, seq: int, entities: dict[str, bytes]) -> tuple[list[str], list[Arg]]:
    """Return keys and arguments of `RECALL`."""
    names = [*_OWNED_KEYS, keys.entities(stream)]
    args: list[Arg] = [owned.term, owned.incarnation, owned.link, stream, seq]
    args.extend(pairs_of(list(entities.items())))
    return names, args


_OWNED_KEYS: Final = (keys.TERM, keys.INCARNATION, keys.LINK, keys.POS, keys.HEADS)


def read_commit_reply(reply: Any) -> None:
    """Check the reply of `COMMIT`, `RETIRE` or `RECALL`.

    Raises:
        Refused: with the reason and the values found.
    """
    if reply == 1:
        return
    why, pos, term = reply
    raise Refused(why.decode(), found_pos=int(pos), found_term=int(term))


def pairs_of(entities: Sequence[tuple[str, bytes]]) -> list[Arg]:
    """Return pairs as a flat list of arguments."""
    flat: list[Arg] = []
    for key, raw in entities:
        flat.append(key)
        flat.append(raw)
    return flat
