"""The choice of calls that may follow each other in one process, and the key by which a runner tells them apart. Pure.

A process of its own costs a call more than all its work where the work is small. So the calls of one constellation to
one tool may share one, if the tool is ours, declares it (`Tool.reusable`), only computes or reads, and gives up all
files but the granted ones. A call with a secret, a stored file or a session has a process of its own, and any change of
folders, hosts or the tool makes another key.
"""

from __future__ import annotations

import hashlib

import msgspec

from starloom_agent.toolkit.interface import Tool
from starloom_agent.toolkit.messages import CallSpec, encode, without_work
from starloom_protocol.vocabulary import Effect, Repeatability
from starloom_protocol.wire.frames import Dispatch

_KEY_BYTES = 16


def may_reuse(tool: Tool, dispatch: Dispatch) -> bool:
    """Whether this call may run in the process of an earlier one, and leave its own to a later one."""
    declared = tool.reusable and tool.confined and not tool.caged and not tool.reads
    ours = not (tool.settings or tool.kept_by or tool.asks_within or tool.hears)
    only_reads = tool.repeatability is Repeatability.PURE and set(tool.effects) <= {Effect.READ}
    stored = any(part.artifact is not None for item in dispatch.inputs for part in item.parts)
    return declared and ours and only_reads and not (stored or dispatch.secrets or dispatch.files_out)


def reuse_key(spec: CallSpec, constellation: str) -> str:
    """Return the key of a call: equal for calls of a constellation that differ in their work and times alone."""
    alike = msgspec.structs.replace(without_work(spec), workdir="")
    return hashlib.blake2b(encode([constellation, alike]), digest_size=_KEY_BYTES).hexdigest()
