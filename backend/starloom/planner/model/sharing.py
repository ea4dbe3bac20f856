"""The part of devices' results that the owner shows a model: the setting of the hub, read from its variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starloom.planner.model.endpoint import Endpoint
from starloom.planner.model.port import ModelFault
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Sharing

SHARE: Final = "STARLOOM_LLM_SHARE"


def sharing_from(environment: Mapping[str, str], *endpoints: Endpoint) -> Sharing:
    """Return the owner's setting for what any of these endpoints may get.

    Unset, a model elsewhere gets no content of files; where all are on this machine they get it all.

    Raises:
        ModelFault: it names none of the three.
    """
    text = environment.get(SHARE, "").strip()
    try:
        unset = Sharing.HEADS if all(endpoint.local for endpoint in endpoints) else Sharing.CARDS
        return Sharing(text) if text else unset
    except ValueError as error:
        known = ", ".join(Sharing)
        raise ModelFault(Code.MODEL_NOT_SET, f"{SHARE} is {quoted(text[:64])}; it is one of {known}") from error
