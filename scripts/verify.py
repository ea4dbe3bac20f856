"""What `make test` and `make check` run: each layer as its own process, one summary at the end.

Everything together runs in two lanes side by side, since real processes and browsers wait for most of their time; what
a layer says is then printed in one piece when it ends. How much of them runs, `amount.py` decides; what is left out is
counted. A run that is over its time (`.ci/run` sets it) fails. What failed on a slow machine is tried once more, alone.
The last line is `N passed, M failed`, over all layers, which is what CI reads. Needs the development environment, and
starts no service.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import page
from amount import Amount, Shares, amount
from steps import Unable, say

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
OWN_LAYERS = ("arch", "guard", "sim", "chaos", "e2e")
"""Folders of tests that are layers of their own; the rest runs as two."""

PROCESS_FOLDERS = ("cli", "compose", "device_agents", "jobs", "lab", "recipes", "scripts", "store")
"""Quick tests that start processes: a layer by themselves, so that both lanes have quick ones at their end."""

SPREAD_OVER = {"chaos": 3}
"""Layers whose files are spread over processes: each has a stack of its own and waits much more than it works."""

WAITING = ("chaos", "e2e")
"""Layers of real processes and a browser: the second lane begins with them."""

SHORT = ("tests", "processes", "chaos", "e2e")
"""Layers with tests marked `long`."""

WHOLE = {
    "chaos": "make chaos",
    "e2e": "make e2e",
    "sim": "make sim",
    "guard": "make guard",
}
"""What runs all of a layer, whatever the machine gives; of all others it is `WHOLE_RUN`."""

WHOLE_RUN = "LONG=1 make test"

SCHEDULES_SHORT = 60
"""How many schedules `sim` plays where the long is left out, instead of 500."""

SITE_PARTS_MOST = 5
"""Into how many parts the tests of a site are shared out at the most: each part must have a file."""

ALL = Amount()
TESTS_FAILED = 1
"""What pytest ends with where tests failed, and nothing else went wrong."""

AGAIN_MOST = 10
"""How many failures of a layer may come of what else the machine did; more are a fault."""

GENERATED = (
    ("types", "starloom_protocol.export"),
    ("errors", "starloom_protocol.error_pages"),
    ("recipes", "starloom.planner.recipe_pages"),
)
"""What is written by programs, and by which; `--check` fails when it is stale."""

ADMINISTRATION = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where the programs of an administrator lie, also when the PATH does not lead there; `tests/conftest.py` adds them."""

_installing = threading.Lock()
_COUNT = re.compile(r"(\d+) (passed|failed|errors?|skipped|deselected|xfailed|xpassed)")


@dataclass
class Layer:
    """One command and what came of it; `before` makes sure that the machine has what it needs.

    `again`: how many of its tests passed at the second try only.
    """

    name: str
    argv: list[str]
    cwd: Path = ROOT
    environment: dict[str, str] = field(default_factory=dict)
    counted: bool = False
    before: Callable[[], None] | None = None
    counts: dict[str, int] = field(default_factory=dict)
    ok: bool = False
    seconds: float = 0.0
    code: int | None = None
    again: int = 0

    @property
    def bad(self) -> int:
        return self.counts.get("failed", 0) + self.counts.get("error", 0)

    def run(self, printing: threading.Lock | None = None) -> None:
        """Run it, showing what it says as it says it; with a lock in one piece at its end, for others speak too."""
        began = time.monotonic()
        try:
            if self.before is not None:
                self.before()
        except Unable as unable:
            say(f"\n== {self.name}: {unable.what}\nThe way out: {unable.fix}")
            return
        title = f"\n== {self.name}: {' '.join(Path(part).name if part.startswith('/') else part for part in self.argv)}"
        said = [f"{title}\n"]
        if printing is None:
            say(title)
        process = subprocess.Popen(
            self.argv,
            cwd=self.cwd,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        last = ""
        with process:
            assert process.stdout is not None  # noqa: S101 - a pipe was asked for
            for line in process.stdout:
                if printing is None:
                    sys.stdout.write(line)
                    sys.stdout.flush()
                else:
                    said.append(line)
                if self.counted and _COUNT.search(line):
                    last = line
        self.code = process.returncode
        self.ok = self.code == 0
        self.counts = {word.rstrip("s"): int(number) for number, word in _COUNT.findall(last)}
        self.seconds = time.monotonic() - began
        if printing is not None:
            with printing:
                sys.stdout.writelines(said)
                sys.stdout.flush()


def divide(layer: Layer, share: float, seed: int) -> None:
    """Have a layer of tests run a share of its files, which the seed draws."""
    if share >= 1 or not layer.counted:
        return
    if "pytest" in layer.argv:
        layer.environment = {**layer.environment, "TESTS_SHARE": f"{share:.3f}", "TESTS_SEED": str(seed)}
    else:
        parts = min(round(1 / share), SITE_PARTS_MOST)
        layer.argv = [*layer.argv, f"--shard={seed % parts + 1}/{parts}"]


def run_all(layers: list[Layer], runs: Amount = ALL) -> None:
    """Run every layer: in two lanes if some wait and some work, which take from the two ends until nothing is left."""
    waiting = [layer for layer in layers if layer.name in WAITING]
    left = deque([layer for layer in layers if layer not in waiting] + waiting[::-1])
    if not waiting or len(waiting) == len(left):
        for layer in layers:
            layer.run()
        return
    printing = threading.Lock()
    shares = Shares(runs, [layer.name for layer in layers])

    def lane(take: Callable[[], Layer]) -> None:
        while True:
            try:
                layer = take()
            except IndexError:
                return
            share = shares.begin(layer.name)
            divide(layer, share, runs.seed)
            with printing:
                left_out = f": {share:.0%} of it, drawn by TESTS_SEED={runs.seed}" if share < 1 else ""
                say(f"-- {layer.name} begins{left_out}")
            layer.run(printing)
            shares.end(layer.name)

    beside = threading.Thread(target=lane, args=(left.pop,), daemon=True)
    beside.start()
    lane(left.popleft)
    beside.join()


def once_more(layers: list[Layer]) -> None:
    """Run what failed again by itself, where nothing else runs: what then passes was in want of a machine.

    More than `AGAIN_MOST` failures of a layer, and whatever fails twice, stay.
    """
    for layer in layers:
        if layer.code != TESTS_FAILED or not layer.counted or not 0 < layer.bad <= AGAIN_MOST:
            continue
        how = [f"{word}-again" if word.startswith("--basetemp=") else word for word in layer.argv]
        of_python = "pytest" in layer.argv
        how += ["--last-failed", "--randomly-seed=last"] if of_python else []
        second = Layer(f"{layer.name} again", how, layer.cwd, layer.environment, counted=True)
        second.run()
        layer.seconds += second.seconds
        if second.ok:
            layer.again = second.counts.get("passed", 0)
            before = layer.counts.get("passed", 0) if of_python else 0  # the tests of a site run all again
            layer.counts = {**layer.counts, "passed": before + layer.again}
            layer.counts = {word: number for word, number in layer.counts.items() if word not in ("failed", "error")}
            layer.ok = True


def checks(short: bool = False) -> list[Layer]:
    """Return the layers of `make check`; with `short` the types of scripts and tests are left to it."""
    folders = ["protocol", "backend", "device_agents", "scripts", "tests"]
    packages = ["protocol/starloom_protocol", "backend/starloom", "device_agents/starloom_agent"]
    found = [
        Layer("format", [str(BIN / "ruff"), "format", "--check", *folders]),
        Layer("lint", [str(BIN / "ruff"), "check", *folders]),
        Layer("types", [str(BIN / "mypy"), *packages, *([] if short else ["scripts", "tests"])]),
    ]
    found.append(Layer("layers", [str(BIN / "lint-imports")]))
    found.extend(Layer(f"fresh {name}", [sys.executable, "-m", module, "--check"]) for name, module in GENERATED)
    return found


def pytest_layers(folder: Path, runs: Amount = ALL) -> list[Layer]:
    """Return two layers for the quick tests, first, and one for each slow folder that has tests.

    Each has its own part of `folder` for its files: pytest clears away what an earlier session left in a common one.
    On a slow machine everything is waited for longer, and nothing is spread over processes. Where it is short the
    layers of `SHORT` leave out what is marked `long`, and fewer schedules are played.
    """
    tests = ROOT / "tests"
    own = [name for name in OWN_LAYERS if any((tests / name).rglob("test_*.py"))]

    def layer(name: str, *what: str) -> Layer:
        how = ["-n", str(SPREAD_OVER[name]), "--dist", "loadfile"] if name in SPREAD_OVER and not runs.slow else []
        if runs.short and name in SHORT:
            how += ["-m", "not long"]
        files = [f"--basetemp={folder / name}", "-o", f"cache_dir={folder / name}-cache"]
        argv = [sys.executable, "-m", "pytest", "-q", *how, *files, *what]
        environment = {"TESTS_SLOWER": str(runs.slower)} if runs.slow else {}
        if runs.short and name == "sim":
            environment["STARLOOM_SIM_SCHEDULES"] = str(SCHEDULES_SHORT)
        return Layer(name, argv, environment=environment, counted=True, before=NEEDS.get(name))

    ignored = [f"--ignore=tests/{name}" for name in (*own, *PROCESS_FOLDERS)]
    started = [f"tests/{name}" for name in PROCESS_FOLDERS]
    quick = [layer("tests", "tests", *ignored), layer("processes", *started)]
    return quick + [layer(name, f"tests/{name}") for name in own]


def page_layers(runs: Amount = ALL) -> list[Layer]:
    """Return the layers of the page and of the browser agent; their packages are installed first.

    On a slow machine one worker at a time is started: vitest gives each a minute, whatever else starts beside it.

    Raises:
        Unable: they cannot be.
    """
    if not (ROOT / "frontend" / "package.json").exists():
        return []
    node = page.install_all(ROOT)
    environment = {"PATH": f"{node.program.parent}{os.pathsep}{os.environ.get('PATH', '')}", "CI": "1"}
    how = {"check": [], "test": ["--", "--maxWorkers=1"] if runs.slow else []}
    return [
        Layer(
            f"{word} {name}",
            [*node.npm, "run", "-s", name, *how[name]],
            site.place(ROOT),
            environment,
            counted=name == "test",
        )
        for word, site in (("page", page.PAGE), ("tab", page.TAB))
        for name in ("check", "test")
    ]


def ensure_browser() -> None:
    """Install Chromium for the browser tests where it is missing and this user may.

    Raises:
        Unable: there is none and it cannot be installed here.
    """
    if any((ROOT / "tests" / "e2e").rglob("test_*.py")) and not shutil.which("chromium"):
        _install("chromium", "the browser tests need Chromium", ["chromium"])


def ensure_ssh() -> None:
    """Install OpenSSH for the tests of joining by ssh where it is missing and this user may; nothing is started.

    Raises:
        Unable: there is none and it cannot be installed here.
    """
    servers = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")
    if not (servers and shutil.which("ssh") and shutil.which("ssh-keygen")):
        names = ["openssh-client", "openssh-server"]
        _install("OpenSSH", "the tests of joining by ssh need OpenSSH's client and server", names)


def _install(what: str, need: str, packages: list[str]) -> None:
    fix = f"install {what} (Debian, Ubuntu: apt-get install {' '.join(packages)}), then run it again"
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise Unable(f"{need}, and this user may not install it", fix)
    say(f"  installing {what} for the tests ...")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    with _installing, _no_service_starts():
        for argv in (["apt-get", "update", "-qq"], command):
            done = subprocess.run(argv, capture_output=True, text=True, check=False, env=environment)
            if done.returncode != 0:
                raise Unable(f"{' '.join(argv)} failed: {done.stderr.strip()[-500:]}", fix)


def ensure_browser_and_ssh() -> None:
    """Install both where they are missing.

    Raises:
        Unable: one is not there and cannot be installed here.
    """
    ensure_browser()
    ensure_ssh()


def ensure_useradd() -> None:
    """Check that root can make the user under which PostgreSQL runs in the tests: it refuses to run as root.

    Raises:
        Unable: `useradd` is nowhere.
    """
    where = os.pathsep.join([os.environ.get("PATH", os.defpath), *ADMINISTRATION])
    if os.geteuid() == 0 and shutil.which("useradd", path=where) is None:
        fix = "install useradd (Debian, Ubuntu: apt-get install passwd), or run the tests as another user"
        raise Unable("the tests with PostgreSQL need `useradd` when they run as root", fix)


def ensure_ssh_and_useradd() -> None:
    """Install the one where it is missing, and look for the other.

    Raises:
        Unable: one is not there and cannot be installed here.
    """
    ensure_useradd()
    ensure_ssh()


NEEDS = {
    "guard": ensure_browser,
    "processes": ensure_ssh_and_useradd,
    "chaos": ensure_useradd,
    "e2e": ensure_browser_and_ssh,
}
"""What makes sure of the programs that a layer needs, right before it: the other lane works on meanwhile."""


@contextmanager
def _no_service_starts() -> Iterator[None]:
    """Keep Debian's packages from starting what they install, by the file that they ask first."""
    policy = Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    try:
        yield
    finally:
        policy.unlink()


def environment_s() -> float | None:
    """Return how long the environment took before this began, if `.ci/run` said when it did."""
    began = os.environ.get("TESTS_BEGAN")
    return time.time() - float(began) if began else None


def summary(layers: list[Layer], made_ready_s: float | None = None) -> int:
    """Print what every layer came to and, last, the line that CI reads; return the exit code."""
    say("\n== summary")
    if made_ready_s is not None:
        say(f"  ok    {'environment':<12} {made_ready_s:6.1f} s")
    passed = failed = skipped = 0
    for layer in layers:
        good = layer.counts.get("passed", 0)
        bad = layer.bad
        passed, skipped = passed + good, skipped + layer.counts.get("skipped", 0)
        failed += bad if layer.ok or bad else 1
        count = f"  {good} passed" + (f", {bad} failed" if bad else "") if layer.counts else ""
        if layer.again:
            count += f", {layer.again} of them at the second try"
        if left_out := layer.counts.get("deselected"):
            count += f", {left_out} not run (`{WHOLE.get(layer.name, WHOLE_RUN)}` runs them)"
        say(f"  {'ok  ' if layer.ok else 'FAIL'}  {layer.name:<12} {layer.seconds:6.1f} s{count}")
    if any(layer.counted for layer in layers):
        say(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 0 if all(layer.ok for layer in layers) else 1


def chosen(what: str, folder: Path, runs: Amount) -> list[Layer]:
    """Return the layers that a word means: `check`, `all`, or one folder of tests, with `folder` for their files.

    What `runs` leaves out of `all` is not left out of a layer that is asked for.

    Raises:
        Unable: something that they need cannot be installed, or there are no such tests.
    """
    if what == "check":
        return checks()
    if what == "all":
        if runs.short:
            say("Long tests are left out (LONG=1 runs them, too).")
        # Quick tests last but for what waits: a run that ends before them has told of everything else.
        tests, processes, *others = pytest_layers(folder, runs)
        return checks(runs.short) + page_layers(runs) + [*others, tests, processes]
    names = ("tests", "processes") if what == "tests" else (what,)
    found = [layer for layer in pytest_layers(folder, replace(runs, short=False)) if layer.name in names]
    if not found:
        raise Unable(f"there are no tests in tests/{what}", f"name another of: {', '.join(OWN_LAYERS)}")
    return found


def main() -> int:
    """Run what the argument names: `check`, `all`, or one of the layers of tests."""
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    # Short, because the paths of sockets are; what a failed test left is looked at afterwards.
    folder = Path(tempfile.mkdtemp(prefix="sl-"))
    until = os.environ.get("TESTS_UNTIL")
    runs = ALL if what == "check" else amount(float(until) if until else None)
    try:
        layers = chosen(what, folder, runs)
    except Unable as unable:
        folder.rmdir()
        say(f"{unable.what}\nThe way out: {unable.fix}")
        return 1
    made_ready_s = environment_s()
    run_all(layers, runs)
    if runs.slow:
        once_more(layers)
    code = summary(layers, made_ready_s)
    if code == 0:
        shutil.rmtree(folder, ignore_errors=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
