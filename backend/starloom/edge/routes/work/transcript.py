"""`GET .../transcript`: the calls of a model for a constellation, with both texts of each where they are kept."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Query

from starloom.edge.access.guard import V1
from starloom.edge.hub import Hub
from starloom.edge.routes.work.constellations import Constellations
from starloom.edge.web.replies import JsonReply, json_reply
from starloom.store.blobs.artifacts import BlobRefused, Blobs
from starloom_protocol.records.entities import decode_entity
from starloom_protocol.records.models import ModelCall, Transcript, TranscriptCall

TEXTS_BYTES_MOST: Final = 16 * 1024 * 1024
"""The most that one reply carries; the texts of later calls are left out and can be got by their hash."""


class TranscriptRoute:
    """Shows committed records; asks no model."""

    def __init__(self, hub: Hub, constellations: Constellations) -> None:
        self._hub = hub
        self._constellations = constellations

    def add_to(self, router: APIRouter) -> None:
        router.add_api_route(V1 + "/constellations/{constellation}/transcript", self.transcript, methods=["GET"])

    async def transcript(self, constellation: str, texts: Annotated[bool, Query()] = False) -> JsonReply[Transcript]:
        """Return the calls in order of time; with `texts` also their prompts and replies, as they were sent."""
        _, entities = await self._constellations.entities(constellation)
        calls = [
            record
            for key, raw in entities.items()
            if key.startswith("call/") and isinstance(record := decode_entity(key, raw), ModelCall)
        ]
        calls.sort(key=lambda call: (call.asked_ms, call.job, call.number))
        if not texts:
            return json_reply(Transcript(calls=[TranscriptCall(call=call) for call in calls]))
        return json_reply(await asyncio.to_thread(_with_texts, calls, self._hub.artifacts))


def _with_texts(calls: list[ModelCall], blobs: Blobs) -> Transcript:
    room = TEXTS_BYTES_MOST
    told: list[TranscriptCall] = []
    for call in calls:
        texts = []
        for sha256 in (call.prompt, call.reply):
            text = _text(blobs, sha256, room)
            texts.append(text)
            room -= len(text or "")
        told.append(TranscriptCall(call=call, prompt_text=texts[0], reply_text=texts[1]))
    return Transcript(calls=told)


def _text(blobs: Blobs, sha256: str | None, room: int) -> str | None:
    """Return a kept text, or None if it was not kept, is gone, or has no room."""
    if sha256 is None or (blobs.size(sha256) or 0) > room:
        return None
    try:
        with blobs.open(sha256) as file:
            return file.read(room).decode("utf-8", "replace")
    except BlobRefused:
        return None
