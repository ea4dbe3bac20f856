"""Answers about constellations that were pruned from the history: `pruned`, and not `not_found`."""

from __future__ import annotations

import logging

from starlette.requests import Request

from starloom.edge.live import entity_json
from starloom.edge.web.problems import Problem
from starloom.store.port import ReadPort, Tombstone, Unavailable
from starloom_protocol.vocabulary import Code

_log = logging.getLogger(__name__)


def words_of(constellation: str, tombstone: Tombstone) -> str:
    """Return in one sentence that a constellation was pruned, when and by which rule."""
    return f"{constellation} was pruned from the history on {entity_json.iso(tombstone.at_ms)} ({tombstone.why})"


class PrunedAnswers:
    """Turns `not_found` of a route over a constellation into `pruned`, where it was."""

    def __init__(self, reads: ReadPort) -> None:
        self._reads = reads

    async def explained(self, request: Request, error: Exception) -> Exception:
        """Return the error to answer with."""
        constellation = request.path_params.get("constellation")
        if not isinstance(error, Problem) or error.code is not Code.NOT_FOUND or not constellation:
            return error
        try:
            tombstone = await self._reads.tombstone(constellation)
        except Unavailable as unavailable:
            _log.warning("whether %s was pruned could not be read: %s", constellation[:64], unavailable)
            return error
        return error if tombstone is None else Problem(Code.PRUNED, words_of(constellation, tombstone))
