"""Writes `docs/errors.md`: a section for each code of the vocabulary. `--check` exits 1 when the page is stale."""

from __future__ import annotations

import sys
from pathlib import Path

from starloom_protocol.vocabulary import CODES, Code, CodeClass

_CLASS_WORDS = {
    CodeClass.TRANSIENT: "It may pass: work that can be repeated is tried again automatically, with back-off.",
    CodeClass.PERMANENT: "It does not pass: trying the same again would end the same.",
    CodeClass.DEVICE: "It lies with the device: work that can be repeated is tried on another one.",
}


def page() -> str:
    """Return the whole page, codes in the order of the vocabulary."""
    parts = [
        "# Errors",
        "",
        "Every error of Starloom carries a stable code, a sentence, the place where it lies and the way out.",
        "REST gives them as `application/problem+json` (`code`, `reason`, `hint`, `errors[]`); the command line",
        "prints them, the page shows them, and a failed task keeps its code.",
        "This page is generated from the vocabulary (`make gen`).",
        "",
    ]
    for code in Code:
        info = CODES[code]
        parts += [
            f"## `{code}`",
            "",
            f"**{info.title}.** {info.hint}",
            "",
            f"{_CLASS_WORDS[info.code_class]} HTTP status {info.status} where a request is refused with it.",
            "",
        ]
    return "\n".join(parts)


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
