"""`make wheels`: the three wheels that are an installation without a clone, and the lines that install them.

Builds from the checkout in which it lies, with its pages, into `build/wheels`, and beside them `constraints.txt` with
the versions that were tested together; installs nothing. The last line is JSON. Installers get the three files by path:
a name alone would be looked up in the package index, where anybody may own it.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from environment import ROOT
from steps import Unable, run, say, step

FOLDER = ROOT / "build" / "wheels"
CONSTRAINTS = "constraints.txt"
SOURCES = {"starloom_protocol": "protocol", "starloom_agent": "device_agents", "starloom": "backend"}


def build(target: Path) -> dict[str, Path]:
    """Build the wheels into an empty `target`; return each by the name of its distribution.

    Raises:
        Unable: a build fails, or the pages are not built.
    """
    if not (ROOT / "frontend" / "dist" / "index.html").is_file():
        raise Unable("the pages are not built, so the hub's wheel would have none", "make wheels")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for name, folder in SOURCES.items():
        with step(f"building {name}"):
            run(
                [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)],
                cwd=ROOT / folder,
                failed=lambda output: Unable(f"a wheel cannot be built:\n{output}", "make wheels"),
            )
    # Without hashes: pip would then ask for one of each wheel built here.
    locked = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pinned = [line.removesuffix("\\").rstrip() for line in locked if line[:1].isalpha()]
    (target / CONSTRAINTS).write_text("\n".join(pinned) + "\n", encoding="utf-8")
    return {name: next(target.glob(f"{name}-*.whl")) for name in SOURCES}


def lines(wheels: dict[str, Path], *, again: bool = False) -> dict[str, str]:
    """Return the lines that install the wheels, by their installer; `again`: over an installation of earlier wheels.

    Each build of a version has its number, so an installer that is not forced would leave the earlier one.
    """
    hub, agent, protocol = (
        shlex.quote(str(wheels[name])) for name in ("starloom", "starloom_agent", "starloom_protocol")
    )
    tested = shlex.quote(str(wheels["starloom"].parent / CONSTRAINTS))
    for_pip = shlex.quote(f"-c {tested}")
    packages = f"{hub} --with {protocol} --with {agent} -c {tested}"
    preinstalled = f"{hub} --preinstall {protocol} --preinstall {agent} --pip-args {for_pip}"
    by_pip = f"{protocol} {agent} {hub} -c {tested}"
    if again:
        return {
            "pipx": f"pipx install --force {preinstalled}",
            "uv": f"uv tool install --force --reinstall {packages}",
            "pip": f"starloom/bin/pip install --force-reinstall {by_pip}",
        }
    return {
        "pipx": f"pipx install {preinstalled}",
        "uv": f"uv tool install {packages}",
        "uvx": f"uvx --from {packages} starloom up",
        "pip": f"python3 -m venv starloom && starloom/bin/pip install {by_pip}",
    }


def main() -> int:
    try:
        wheels = build(FOLDER)
    except Unable as unable:
        print(f"{unable.what}\nThe way out: {unable.fix}")
        return 1
    say("Install them with one of these lines, then type: starloom up")
    for line in lines(wheels).values():
        say(f"  {line}")
    say("Where earlier wheels are installed, use the line of the same installer, then start Starloom again:")
    for line in lines(wheels, again=True).values():
        say(f"  {line}")
    say(json.dumps({"wheels": {name: str(path.relative_to(ROOT)) for name, path in wheels.items()}}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
