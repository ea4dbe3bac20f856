"""Writes `docs/errors.md`: a row for each code of the vocabulary, which says only what differs from most codes.

`--check` exits 1 when the page is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from starloom_protocol.vocabulary import CODES, Code, CodeClass

USUAL_STATUS = 422
_CLASS_WORDS = {
    CodeClass.TRANSIENT: "may pass",
    CodeClass.PERMANENT: "",
    CodeClass.DEVICE: "the device",
}
_HEAD = """# Errors

Every error carries a stable code, a sentence, the place where it lies and the way out. REST gives them as
`application/problem+json` (`code`, `reason`, `hint`, `errors[]`); the command line prints them, the page shows them,
and a failed task keeps its code. This page is generated from the vocabulary (`make gen`).

Unless its row says otherwise, the same try would end the same, and the HTTP status is 422 where a request is refused
with the code. *May pass*: work that can be repeated is tried again with back-off. *The device*: such work is tried on
another one.

| code | meaning | way out | differs |
|---|---|---|---|
"""


def page() -> str:
    """Return the whole page, codes in the order of the vocabulary."""
    return _HEAD + "".join(_row(code) for code in Code)


def _row(code: Code) -> str:
    info = CODES[code]
    status = "" if info.status == USUAL_STATUS else str(info.status)
    differs = ", ".join(word for word in (_CLASS_WORDS[info.code_class], status) if word)
    cells = (f"`{code}`", info.title, info.hint.replace("|", "\\|"), differs)
    return "| " + " | ".join(cells) + " |\n"


def main(arguments: list[str]) -> int:
    """Write the page below the folder given (default: the current one), or compare with `--check`."""
    folder = Path(next((item for item in arguments if not item.startswith("-")), "."))
    target = folder / "docs" / "errors.md"
    text = page()
    if "--check" in arguments:
        return 0 if target.exists() and target.read_text() == text else 1
    target.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
