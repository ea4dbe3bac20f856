"""The upgrade of this agent to the one that its hub hands out, with a return to the old one if that stays offline.

The new agent is installed beside the old one. It takes the old one's place for a trial, and only when it is online does
the name `venv` point to it (`environments`). So whenever this process ends, by force too, that name belongs to an agent
that works. Only the owner of the device starts it, by typing the command; no message of the hub does.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Final

import starloom_agent
from starloom_agent.home.directory import AgentHome, Joined
from starloom_agent.home.identity import load_or_make
from starloom_agent.home.locking import hold_upgrade, running_pid
from starloom_agent.home.status_file import ONLINE, read_status
from starloom_agent.install import background, service
from starloom_agent.install.environments import EnvironmentFault, Environments, python_in
from starloom_agent.wire import joining, signed_requests
from starloom_agent.wire.dialling import Route
from starloom_agent.wire.signed_requests import Release, Wheel
from starloom_protocol.wire.version import release_numbers

OWN: Final = ("starloom_protocol", "starloom_agent")
SLOTS_OF_OLDER: Final = 4
"""An agent that does not say how many calls it runs at once was started with the default."""
ONLINE_WITHIN_S: Final = 120.0
TAKEOVER_S: Final = 60.0
END_WITHIN_S: Final = 20.0
INSTALL_WITHIN_S: Final = 900.0
TRY_WITHIN_S: Final = 120.0
PINS_BYTES_MAX: Final = 1024 * 1024
_STEP_S: Final = 0.1
_DOWNLOADS: Final = "upgrade-"
_CALL_FOLDER: Final = re.compile(r"[0-9a-z]+-[0-9]+")

Say = Callable[[str], None]


class CannotUpgrade(Exception):
    """The agent was not upgraded, and the one before is in place; the text says why and what to type."""


@dataclass(frozen=True)
class UpgradeOptions:
    """The options that the owner typed."""

    again: bool = False
    downgrade: bool = False
    dry_run: bool = False
    now: bool = False
    wait_s: float = 600.0


def refusal(installed: str, offered: str, options: UpgradeOptions) -> str | None:
    """Return why an offered version is not installed, or None. An unknown order of the two counts as older."""
    if installed == offered:
        words = f"{installed} is the version that the hub hands out; to install it again: --again"
        return None if options.again else words
    have, get = release_numbers(installed), release_numbers(offered)
    if options.downgrade or (have and get and get > have):
        return None
    return (
        f"the hub hands out {offered}, which is no newer than {installed} here; to install it nevertheless: --downgrade"
    )


def upgrade(home: AgentHome, say: Say, options: UpgradeOptions) -> None:
    """Carry out an upgrade, and print one line for each step.

    Raises:
        CannotUpgrade: the agent before is in place, and runs if it ran.
        JoinRefused: the hub was not reached, refuses, or something else answers in its place.
        AlreadyRunning: another upgrade runs.
    """
    if sys.platform == "win32":
        raise CannotUpgrade("on Windows an agent is not upgraded in place: type starloom-agent leave, then join again")
    joined = home.joined()
    environments = Environments(home)
    if not environments.holds(Path(sys.prefix)):
        if find_spec("starloom") is not None:
            raise CannotUpgrade(
                f"this agent runs from the hub's own environment {sys.prefix} and is upgraded with the hub: upgrade "
                "that, then start it again"
            )
        raise CannotUpgrade(
            f"this agent was not installed by join.py, it runs from {sys.prefix}; upgrade it in the way in which it "
            "was installed, such as: pipx upgrade starloom-agent"
        )
    home.make()
    with hold_upgrade(home), _not_cut_short():
        offered = signed_requests.release(joined, load_or_make(home.key))
        own_wheels = _own_wheels(offered)
        version = own_wheels["starloom_agent"].version
        say(f"hub        {joined.hub}")
        say(f"version    {starloom_agent.__version__} here, {version} at the hub")
        why = refusal(starloom_agent.__version__, version, options)
        if why is not None:
            if version != starloom_agent.__version__:
                raise CannotUpgrade(why)
            say(f"unchanged  {why}")
            return
        for wheel in own_wheels.values():
            say(f"install    {wheel.file}  sha256 {wheel.sha256[:16]}...")
        if options.dry_run:
            say("unchanged  this was a dry run")
            return
        environments.sweep(_in_use(home))
        for left in home.run.glob(f"{_DOWNLOADS}*"):
            shutil.rmtree(left)
        _Upgrade(home, joined, environments, version, say, options).carry_out(offered)


class _Upgrade:
    """One upgrade to one version."""

    def __init__(
        self,
        home: AgentHome,
        joined: Joined,
        environments: Environments,
        version: str,
        say: Say,
        options: UpgradeOptions,
    ) -> None:
        self._home = home
        self._joined = joined
        self._environments = environments
        self._version = version
        self._say = say
        self._options = options

    def carry_out(self, offered: Release) -> None:
        environment = self._install(offered)
        with ExitStack() as undo:
            undo.callback(self._environments.remove, environment)
            self._try_cold(environment)
            ran, status = running_pid(self._home) is not None, read_status(self._home)
            slots = (status.slots if status is not None else 0) or SLOTS_OF_OLDER
            if ran and not self._options.now:
                then = "starloom-agent upgrade, or --now to end them"
                wait_for_calls(self._home, self._joined.name, self._say, self._options.wait_s, then=then)
            self._replace(environment, slots, ran=ran)
            undo.pop_all()
        self._say(f"done       this device runs {self._version}; the one before stays until the next upgrade")

    def _install(self, offered: Release) -> Path:
        """Return a new environment with exactly the files that the hub's signed answer names."""
        with tempfile.TemporaryDirectory(dir=self._home.run, prefix=_DOWNLOADS) as name:
            folder = Path(name)
            pins = self._download("/agent/requirements.txt", offered.requirements, PINS_BYTES_MAX).decode()
            own_wheels = _own_wheels(offered)
            for wheel in offered.wheels:
                if own_wheels.get(wheel.name) is wheel or wheel.sha256 in pins:
                    path = folder / wheel.file
                    path.write_bytes(self._download(f"/agent/wheels/{wheel.file}", wheel.sha256, wheel.bytes))
                    if own_wheels.get(wheel.name) is wheel:
                        pins += f"\n{path.as_uri()} --hash=sha256:{wheel.sha256}\n"
            pins_file = folder / "pins.txt"
            pins_file.write_text(pins)
            self._say("downloaded, every hash is as the hub signed it")
            try:
                environment = self._environments.make(self._version)
                pip = self._environments.installer(environment)
            except EnvironmentFault as fault:
                raise CannotUpgrade(f"{fault}. The agent before goes on") from fault
            argv = [*pip, "install", "-qq", "--no-input", "--require-hashes", "--find-links", str(folder)]
            with _removed_on_failure(self._environments, environment):
                self._run([*argv, "-r", str(pins_file)], INSTALL_WITHIN_S, "the packages cannot be installed")
        self._say(f"installed  {environment}")
        return environment

    def _download(self, path: str, sha256: str, most_bytes: int) -> bytes:
        joined = self._joined
        data = joining.download(Route(joined.hub, joined.pin, joined.via), path, most_bytes)
        if hashlib.sha256(data).hexdigest() != sha256:
            raise CannotUpgrade(
                f"{joined.hub}{path} has another hash than the hub signed, {sha256}: nothing was installed"
            )
        return data

    def _try_cold(self, environment: Path) -> None:
        """See whether the new agent starts at all and can read this home, while the old one goes on."""
        agent = [str(python_in(environment)), "-I", "-m", "starloom_agent"]
        version = self._run([*agent, "--version"], TRY_WITHIN_S, "the new agent does not start")
        if version.strip() != self._version:
            raise CannotUpgrade(
                f"the new agent says that it is {version.strip()[:100]}, not {self._version}: it was removed"
            )
        self._run(
            [*agent, "status", "--home", str(self._home.root)], TRY_WITHIN_S, "the new agent cannot read this home"
        )

    def _run(self, argv: list[str], within_s: float, fault: str) -> str:
        try:
            done = subprocess.run(
                argv,
                check=False,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=within_s,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise CannotUpgrade(f"{fault}: {error}. The agent before goes on") from error
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip()[-1000:]
            raise CannotUpgrade(f"{fault}; the agent before goes on:\n{output}")
        return done.stdout

    # From here on the new agent runs in place of the old one, on trial.

    def _replace(self, environment: Path, slots: int, *, ran: bool) -> None:
        home, by_service, old = self._home, service.is_installed(self._home), running_pid(self._home)
        argv = service.command(home, slots, str(python_in(environment)))
        trial = background.spawn(home, [*argv, "--takeover-s", f"{TAKEOVER_S:g}"])
        try:
            if ran:
                background.stop(home, lambda _: None)
            self._until_online(trial.pid, trial)
            self._say(f"online     {self._version} is connected to the hub")
            self._point(environment, trial, by_service=by_service, ran=ran)
        except BaseException as fault:
            _end(trial)
            if ran:
                self._go_back(old, slots)
            if isinstance(fault, Exception):
                raise CannotUpgrade(
                    f"{fault}\n{self._version} was taken away again; {self._before(ran=ran)}"
                ) from fault
            raise

    def _point(self, environment: Path, trial: subprocess.Popen[bytes], *, by_service: bool, ran: bool) -> None:
        before = self._environments.point_to(environment)
        if not (by_service and ran):
            if not ran:
                _end(trial)
            return
        # The service's own process is protected by its unit, the trial was not.
        try:
            service.start(self._home, lambda _: None)
            _end(trial)
            self._until_online(None, None)
        except (Exception, KeyboardInterrupt):
            if before is not None:
                self._environments.point_to(before)
            raise

    def _until_online(self, pid: int | None, process: subprocess.Popen[bytes] | None) -> None:
        """Wait until the process is online, or with no pid whichever process holds the home."""
        until = time.monotonic() + ONLINE_WITHIN_S
        while True:
            holder, status = running_pid(self._home), read_status(self._home)
            is_online = status is not None and status.state == ONLINE and status.version == self._version
            if is_online and status is not None and status.pid == holder and pid in (None, holder):
                return
            if process is not None and process.poll() is not None:
                raise CannotUpgrade(f"the new agent ended:\n{background.log_tail(self._home)}")
            if time.monotonic() > until:
                tail = background.log_tail(self._home)
                raise CannotUpgrade(f"the new agent was not online within {ONLINE_WITHIN_S:g} s:\n{tail}")
            time.sleep(_STEP_S)

    def _go_back(self, old: int | None, slots: int) -> None:
        """Have the agent before run again, unless it was not stopped yet."""
        running = running_pid(self._home)
        if running is not None and running == old:
            return
        if running is not None:
            background.stop(self._home, lambda _: None)
        background.start(self._home, lambda _: None, slots=slots)

    def _before(self, *, ran: bool) -> str:
        return f"{starloom_agent.__version__} {'runs again' if ran else 'is in place'}"


def _own_wheels(offered: Release) -> dict[str, Wheel]:
    """Return the hub's own packages by name.

    Raises:
        CannotUpgrade: one is missing, or named twice.
    """
    by_name = {name: [wheel for wheel in offered.wheels if wheel.name == name] for name in OWN}
    if any(len(wheels) != 1 for wheels in by_name.values()):
        raise CannotUpgrade(f"the hub does not hand out exactly one {' and one '.join(OWN)}")
    return {name: wheels[0] for name, wheels in by_name.items()}


def _in_use(home: AgentHome) -> list[Path]:
    status = read_status(home)
    return [Path(sys.prefix), *([Path(status.environment)] if status is not None and status.environment else [])]


def wait_for_calls(home: AgentHome, name: str, say: Say, wait_s: float, *, then: str) -> None:
    """Wait until no call runs, because the end of the agent would cut it short.

    `name` is the device's at the hub, `then` the line to type here once it has been drained there.

    Raises:
        CannotUpgrade: calls still run after that time.
    """
    until, has_said = time.monotonic() + wait_s, False
    while running := _calls(home):
        if time.monotonic() > until:
            raise CannotUpgrade(
                f"{running} calls still run here, and the upgrade would end them. At the hub type: starloom device "
                f"drain {name}; then here: {then}"
            )
        if not has_said:
            say(f"waits      {running} calls run here; they are not cut short")
            has_said = True
        time.sleep(_STEP_S)


def _calls(home: AgentHome) -> int:
    """Return how many calls of tools run: each has a folder of its own."""
    with contextlib.suppress(FileNotFoundError):
        return sum(1 for path in home.work.iterdir() if _CALL_FOLDER.fullmatch(path.name))
    return 0


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def _removed_on_failure(environments: Environments, environment: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        environments.remove(environment)
        raise


@contextmanager
def _not_cut_short() -> Iterator[None]:
    """Keep the upgrade running when the terminal is lost, and go back first when the process is asked to end."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    # Not SIG_IGN, which the new agent and its calls would inherit.
    signal.signal(signal.SIGHUP, lambda _number, _frame: None)
    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
