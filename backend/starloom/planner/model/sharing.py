"""The part of devices' results that the owner shows a model: the setting of the hub, read from its variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from starloom.planner.model.port import ModelFault
from starloom_protocol.vocabulary import Code, Sharing
from starloom_protocol.wording import quoted

SHARE: Final = "STARLOOM_LLM_SHARE"


def sharing_from(environment: Mapping[str, str]) -> Sharing:
    """Return the owner's setting; cards without the content of files where none is set.

    Raises:
        ModelFault: it names none of the three.
    """
    text = environment.get(SHARE, "").strip()
    try:
        return Sharing(text) if text else Sharing.CARDS
    except ValueError as error:
        known = ", ".join(Sharing)
        raise ModelFault(Code.MODEL_NOT_SET, f"{SHARE} is {quoted(text[:64])}; it is one of {known}") from error
