"""What `make run` does once the environment stands: turns make's variables into flags of `starloom up`.

Standard library only. A leftover `PORT=` or `ONCE=` that cannot be meant ends with a sentence.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from environment import ROOT, venv_python
from steps import Unable


def flag(name: str, *, default: bool) -> bool:
    """Return a switch of make: 0, no, off, false or empty mean what they say.

    Raises:
        Unable: it is neither on nor off.
    """
    text = os.environ.get(name, "").strip().lower()
    if text == "":
        return default
    if text in ("1", "yes", "on", "true"):
        return True
    if text in ("0", "no", "off", "false"):
        return False
    raise Unable(f"{name}={text} is neither on nor off", f"Write {name}=1 or {name}=0.")


def arguments() -> list[str]:
    """Return the arguments for `starloom`.

    Raises:
        Unable: a variable cannot be meant.
    """
    words = ["up"]
    demo = flag("DEMO", default=True)
    if demo:
        words.append("--demo")
    if flag("ONCE", default=False):
        if not demo:
            raise Unable("ONCE=1 ends with the sample's result, and DEMO=0 leaves the sample out", "Give one of them.")
        words.append("--once")
    if flag("AGAIN", default=False):
        if not demo:
            raise Unable("AGAIN=1 carries out the sample once more, and DEMO=0 leaves it out", "Give one of them.")
        words.append("--again")
    if not flag("DEMO_FAULT", default=True):
        words.append("--no-fault")
    if flag("LAB", default=False):
        words.append("--lab")
    port = os.environ.get("PORT", "").strip()
    if port:
        if not port.isdecimal() or not 0 < int(port) < 65536:
            raise Unable(f"PORT={port} is not a port", "Write a number from 1 to 65535.")
        words += ["--port", port]
    return words


def main() -> int:
    """Replace this process by the service, so that Ctrl-C and signals reach it directly."""
    home = Path(sys.argv[1] if len(sys.argv) > 1 else ".starloom")
    try:
        argv = [str(venv_python()), "-m", "starloom.cli", *arguments()]
    except Unable as unable:
        print(f"{unable.what}\nThe way out: {unable.fix}")
        return 2
    # Names that make gave us are no settings of the hub, which refuses variables it does not know.
    environment = {**os.environ, "STARLOOM_HOME": str(home if home.is_absolute() else ROOT / home)}
    os.chdir(ROOT)
    os.execve(argv[0], argv, environment)  # noqa: S606 - our own interpreter, no shell
    raise AssertionError("execve does not return")


if __name__ == "__main__":
    sys.exit(main())
