"""The page of errors, made from the vocabulary. Owns no words but its head."""

from __future__ import annotations

from typing import Final

from starloom_protocol import vocabulary
from starloom_protocol.vocabulary import CodeClass

USUAL_STATUS: Final = 422
_CLASS_WORDS: Final = {CodeClass.TRANSIENT: "may pass", CodeClass.PERMANENT: "", CodeClass.DEVICE: "the device"}
_ERRORS_HEAD: Final = """# Errors

Every error carries a stable code, a sentence, the place where it lies and the way out. REST gives them as
`application/problem+json` (`code`, `reason`, `hint`, `errors[]`); the command line prints them, the page shows them,
and a failed task keeps its code. This page is generated from the vocabulary (`make gen`).

Unless its row says otherwise, the same try would end the same, and the HTTP status is 422 where a request is refused
with the code. *May pass*: work that can be repeated is tried again with back-off. *The device*: such work is tried on
another one.

| code | meaning | way out | differs |
|---|---|---|---|
"""


def error_page() -> str:
    """Return `docs/errors.md`: a row for each code in the vocabulary's order, with what differs from most."""
    return _ERRORS_HEAD + "".join(_error_row(code) for code in vocabulary.Code)


def _error_row(code: vocabulary.Code) -> str:
    info = vocabulary.CODES[code]
    status = "" if info.status == USUAL_STATUS else str(info.status)
    differs = ", ".join(word for word in (_CLASS_WORDS[info.code_class], status) if word)
    cells = (f"`{code}`", info.title, info.hint.replace("|", "\\|"), differs)
    return "| " + " | ".join(cells) + " |\n"
