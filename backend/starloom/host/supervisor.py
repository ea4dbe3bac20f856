"""`starloom up`: one foreground process that starts the service, keeps it running, and ends all of it.

Starts Redis, hub, worker, this computer's agent and, if asked, the sample; decides nothing about work. Its children
end with it: in order on Ctrl-C or SIGTERM, by a death signal if it is killed. Waits for its hub three minutes, and as
long as an older history is being migrated.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shlex
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

import httpx

from starloom.client.discovery import (
    LOCK_FILE,
    HubAddress,
    Surroundings,
    find,
    homes,
    hub_option,
    kept_by,
    read_local,
    strange,
    strange_home,
)
from starloom.client.exits import Exit
from starloom.client.own_homes import LIST_FILE
from starloom.client.own_homes import note as note_home
from starloom.client.problems import Problem, here, unreachable, usage
from starloom.client.rest import Client
from starloom.client.routes import get_devices, get_lan, post_sign_in_links
from starloom.client.terminal.typed import in_this_folder, say
from starloom.host import ports
from starloom.host.agents import LocalAgent, join
from starloom.host.former_port import former_port, note
from starloom.host.processes import Child, Program, log_tail
from starloom.host.sample_start import SampleStart, own_folder
from starloom.host.servers.tunnels import HubLook, Keeper
from starloom.jobs.broker import broker_url_of
from starloom.process.computers import computer_name
from starloom.process.private_files import write_private
from starloom.process.settings import PORT_FILE, Settings, SettingsInvalid, load, port_in
from starloom.store.faults import full, has_no_room, is_short
from starloom.store.file_names import DATABASE_FILE, OPENING_FILE
from starloom.store.port import DiskFull, Unavailable
from starloom.store.redis.embedded import EmbeddedRedis
from starloom.store.redis.link import REDIS_LOOK_S, look_at, place_of
from starloom_protocol.vocabulary import CODES, Profile

if TYPE_CHECKING:
    from starloom_protocol.api.service import LanRow
    from starloom_protocol.records.entities import Fault

STOP_S = 8.0
"""How long a part may take to end before it is killed."""
READY_S: Final = 180.0
"""How long the hub may take to be ready, once its history is open."""
TOLD_AFTER_S: Final = 3.0
"""How long the opening of the history may take before a person reads of it."""
OPENING_WORDS: Final = "  the history is brought up to date; after an update that can take minutes, once"


@dataclass(frozen=True)
class UpOptions:
    agent: bool = True
    demo: bool = False
    lab: bool = False
    lan: bool = False
    once: bool = False
    again: bool = False
    fault: bool = True
    new_keys: bool = False
    port: int | None = None
    home: Path | None = None
    report: Path | None = None


def serve(wishes: UpOptions) -> int:
    """Run the service until a signal stops it, and return the exit code.

    Raises:
        Problem: it cannot start; nothing is left running.
    """
    try:
        flags = {"home": wishes.home, "port": wishes.port, "lab": wishes.lab or None, "lan": wishes.lan or None}
        settings = load(flags).settings
    except SettingsInvalid as invalid:
        raise usage("; ".join(invalid.faults), "See `starloom config show`.") from invalid
    try:
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        settings.home.chmod(0o700)
        with holding(settings.home):
            _check_port(settings)
            _keep_port(settings)
            remember(settings.home)
            if wishes.new_keys:
                asyncio.run(let_new_keys(settings))
            return asyncio.run(Service(settings, wishes).run())
    except OSError as error:
        if not has_no_room(error):
            raise
        raise _no_room(settings.home) from error


async def let_new_keys(settings: Settings) -> None:
    """Let the hub bring keys of its own to the history: those that it had are lost."""
    # Slow to load, and no other start of a supervisor needs them.
    from starloom.store.sql.database import open_database
    from starloom.store.sql.history import note_hub_key

    database = open_database(settings.database_url or f"sqlite:///{settings.home / DATABASE_FILE}")
    try:
        await database.migrate()
        await database.write(note_hub_key, "")
    except Unavailable as error:
        raise unreachable(str(error), "Start the database, or correct STARLOOM_DATABASE_URL.") from error
    finally:
        await database.close()


def _no_room(home: Path) -> Problem:
    info = CODES[DiskFull.code]
    return here(DiskFull.code, info.title, str(full(home)), info.hint, Exit.UNREACHABLE)


def _check_port(settings: Settings) -> None:
    try:
        free = ports.is_free(settings.host, settings.port)
    except OSError as error:
        raise usage(f"this machine cannot listen on {settings.host}: {error.strerror}", "Set STARLOOM_HOST.") from error
    if free:
        return
    near = ports.free_near(settings.host, settings.port)
    way = (
        f"Port {near} is free: make run PORT={near} (or starloom up --port {near})." if near else "Set one with --port."
    )
    raise usage(f"port {settings.port} is used by {ports.owner(settings.port)}", way)


def _keep_port(settings: Settings) -> None:
    """Keep the port for the next start, which takes it unless another one is named."""
    file = settings.home / PORT_FILE
    line = f"{settings.port}\n".encode()
    earlier = port_in(file)
    if earlier not in (None, settings.port):
        note(settings.home, earlier)
    if file.is_symlink() or not file.is_file() or file.read_bytes() != line:
        # A folder of somebody in its place stays, and the next start has to be told its port.
        with contextlib.suppress(IsADirectoryError):
            write_private(file, line)


def remember(home: Path) -> None:
    """Note that this user works on a data folder, so that commands in its clone find it without its name."""
    around = Surroundings.actual()
    try:
        note_home(home, around.user_home)
    except OSError as error:
        if has_no_room(error):
            raise
        fault = f"{around.user_home / LIST_FILE}: {error.strerror}"
        say(f"This folder cannot be noted as yours ({fault}); commands have to name it: --hub {shlex.quote(str(home))}")


def home_of(address: HubAddress) -> Path | None:
    """Return the data folder of this computer whose hub has this address, None if it is another's."""
    for home in homes(Surroundings.actual()):
        local = read_local(home)
        if local is not None and local.url == address.url:
            return home
    return address.own.file.parents[1] if address.own and address.own.file.is_file() else None


def home_of_the_hub(hub: str | None) -> Path | None:
    """Return the data folder of the hub that commands find from here, None where none is found."""
    with suppress(Problem):
        return home_of(find(hub))
    return home_of_the_folder() if hub is None else None


def home_of_the_folder() -> Path | None:
    """Return `.starloom` of the current folder or the nearest above it on which this user has started a hub.

    None where there is none, or where STARLOOM_HOME names a data folder.

    Raises:
        Problem: there is one that may be of somebody else.
    """
    around = Surroundings.actual()
    if around.environment.get("STARLOOM_HOME"):
        return None
    if (stranger := strange_home(around)) is not None:
        raise strange(stranger, around)
    *near, _usual = homes(around)
    return near[0] if near else None


def home_in_service(address: HubAddress) -> Path | None:
    """Return that folder while `starloom up` runs on it."""
    home = home_of(address)
    return home if home is not None and kept_by(home) else None


class holding:  # noqa: N801 - reads as a statement
    """Holds the data folder: two services on one history would both be wrong. Gone with the process."""

    def __init__(self, home: Path) -> None:
        self._path = home / LOCK_FILE
        self._file: TextIO | None = None

    def __enter__(self) -> None:
        self._file = self._path.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.seek(0)
            owner = self._file.read().strip() or "another process"
            self._file.close()
            raise usage(
                f"a service already runs on {self._path.parent} (pid {owner})",
                "Use it (starloom open), stop it, or set STARLOOM_HOME to another folder.",
            ) from error
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()


class Service:
    """The parts of one installation, in the order in which they need each other."""

    def __init__(self, settings: Settings, wishes: UpOptions) -> None:
        self._settings = settings
        self._wishes = wishes
        self._home = settings.home
        self._children: list[Child] = []
        self._redis: EmbeddedRedis | None = None
        self._redis_task: asyncio.Task[None] | None = None
        self._tunnels: asyncio.Task[None] | None = None
        self._stopped = asyncio.Event()

    async def run(self) -> int:
        """Start everything, wait, end everything; the exit code is the sample's with `once`."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._stopped.set)
        stopping = asyncio.create_task(self._stopped.wait())
        starting = asyncio.create_task(self._start())
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not starting.done():
                return int(Exit.INTERRUPTED)
            demo = starting.result()
            if demo is not None and self._wishes.once:
                ended = asyncio.create_task(demo.ended.wait())
                await asyncio.wait({ended, stopping}, return_when=asyncio.FIRST_COMPLETED)
                ended.cancel()
                return int(Exit.INTERRUPTED) if self._stopped.is_set() else _exit_of(demo)
            await stopping
            return int(Exit.SUCCEEDED)
        finally:
            for task in (starting, stopping):
                task.cancel()
            await asyncio.gather(starting, stopping, return_exceptions=True)
            await self._end()

    async def _start(self) -> Child | None:
        """Start all parts and return the sample's process, if it is wanted.

        Parts that need no other one start beside the hub, which takes one of two cores while it loads.
        """
        sample = await self._begin_sample() if self._wishes.demo else None
        environment = await self._environment()
        hub = Program("hub", [sys.executable, "-P", "-m", "starloom.app"], environment, self._log("hub"))
        argv = [sys.executable, "-P", "-m", "starloom.jobs.worker"]
        worker = Program("worker", argv, environment, self._log("worker"))
        async with self._step("hub"):
            # One that was left by a hub that was killed would be waited for without end.
            (self._home / OPENING_FILE).unlink(missing_ok=True)
            child = await self._keep(hub)
            await self._keep(worker)
            await self._until_ready(child)
        if (fault := fault_of_model(self._settings)) is not None:
            self._say(f"\nThe model that is set cannot be asked: {fault.reason}.\n  {fault.hint}")
        sample_start = SampleStart(self._home)
        if sample is not None:
            sample_start.hub_is_ready()
        keeper = Keeper(self._home, self._say, look=HubLook(self._home, self._say))
        self._tunnels = asyncio.create_task(keeper.run(), name="tunnels")
        address = read_local(self._home)
        if address is None:
            raise unreachable(f"the hub left no address in {self._home}", f"See {self._log('hub')}.")
        client, desktop = Client(address), ""
        try:
            if self._wishes.agent:
                async with self._step("this computer's agent"):
                    desktop = await self._start_agent(client, address)
            link = (await asyncio.to_thread(lambda: client.create(post_sign_in_links(), {})))["url"]
            lan = await asyncio.to_thread(lambda: client.get(get_lan()))
            await self._tell_former_port(client, desktop)
        finally:
            client.close()
        if sample is not None:
            self._say(f"\nSee it on the page (the link signs you in once):\n  {link}\n")
            sample_start.desktop_is(desktop)
            return sample
        self._say(_welcome(self._settings, link, lan))
        return None

    async def _environment(self) -> dict[str, str]:
        """Return the variables of hub and worker; start the embedded Redis if no other one is named."""
        settings = self._settings
        redis_url = settings.redis_url
        if redis_url is None:
            async with self._step("Redis"):
                self._redis = EmbeddedRedis(self._home)
                try:
                    await self._redis.start()
                except DiskFull as error:
                    raise _no_room(self._home) from error
                except Unavailable as error:
                    raise unreachable(str(error), "Run `starloom doctor`, or set STARLOOM_REDIS_URL.") from error
                self._redis_task = asyncio.create_task(self._redis.supervise())
                redis_url = self._redis.url
        else:
            await self._look_at_redis(redis_url)
        variables = {
            "STARLOOM_HOME": str(self._home),
            "STARLOOM_HOST": settings.host,
            "STARLOOM_PORT": str(settings.port),
            "STARLOOM_REDIS_URL": redis_url,
            "STARLOOM_BROKER_URL": settings.broker_url or broker_url_of(redis_url),
            "STARLOOM_DATABASE_URL": settings.database_url or f"sqlite:///{self._home / DATABASE_FILE}",
        }
        variables |= settings.llm_variables
        if settings.lab:
            variables["STARLOOM_LAB"] = "true"
        if settings.lan:
            variables["STARLOOM_LAN"] = "true"
        if self._wishes.demo and settings.lease_ttl_s == Settings.model_fields["lease_ttl_s"].default:
            # The sample kills an agent; a shorter lease shows the recovery sooner. It outlasts a restart of the hub, or
            # the other devices would end their work by their fences meanwhile.
            variables |= {"STARLOOM_LEASE_TTL_S": "10", "STARLOOM_LEASE_GRACE_S": "2", "STARLOOM_ALIVE_INTERVAL_S": "2"}
        return variables

    async def _look_at_redis(self, url: str) -> None:
        """Name what a Redis of the owner's could lose.

        Raises:
            Problem: it does not answer.
        """
        try:
            faults = await look_at(url, REDIS_LOOK_S)
        except Unavailable as error:
            raise unreachable(str(error), "Start it, or correct redis_url; `starloom doctor` tries it, too.") from error
        for fault in faults:
            self._say(f"  Redis at {place_of(url)}: {fault}")

    async def _start_agent(self, client: Client, address: HubAddress) -> str:
        """Start this computer's agent, and return its device; if that fails, say why, and go on without it."""
        name = computer_name()
        agent = LocalAgent(
            home=self._home / "agents" / name,
            name=name,
            url=address.url,
            via=str(address.own.socket) if address.own else "",
            profile=Profile.FILES if self._wishes.demo else Profile.OBSERVE,
            folders=(own_folder(self._home),) if self._wishes.demo else (),
            lab=self._settings.lab,
        )
        try:
            device = await join(client, agent)
        except Problem as problem:
            self._say(f"  {problem}\n  {problem.hint} Everything else goes on without it.")
            return ""
        await self._keep(agent.program(self._log("agent-" + name)))
        return device.id

    async def _tell_former_port(self, client: Client, own_device: str) -> None:
        """Say which devices but this computer's own may look for the hub at the port that it had before."""
        former = former_port(self._home, self._settings.port)
        if former is None:
            return
        items = (await asyncio.to_thread(lambda: client.get(get_devices())))["items"]
        fault_and_way = former.warning([item for item in items if item["id"] != own_device])
        if fault_and_way is not None:
            self._say(f"\nAnother port: {fault_and_way[0]}.\n  {fault_and_way[1]}")

    async def _begin_sample(self) -> Child:
        """Start the sample, which draws its pictures while the hub starts, then waits for `SampleStart`."""
        wishes = self._wishes
        SampleStart(self._home).forget()
        argv = [sys.executable, "-P", "-m", "starloom.cli.machine.demo", "--home", str(self._home)]
        argv += [*(["--once"] if wishes.once else []), *([] if wishes.fault else ["--no-fault"])]
        argv += ["--again"] if wishes.again else []
        argv += ["--report", str(wishes.report)] if wishes.report else []
        return await self._keep(Program("sample", argv), restart=False)

    async def _keep(self, program: Program, *, restart: bool = True) -> Child:
        child = Child(program, self._say, restart=restart)
        await child.start()
        self._children.append(child)
        return child

    async def _until_ready(self, hub: Child) -> None:
        """Wait until the hub is ready.

        Raises:
            Problem: it ended or took too long; its log is quoted.
        """
        # It says nothing secret, and a certificate is made for the hub's name on the network, not for this address.
        unverified = httpx.HTTPTransport(verify=False, trust_env=False)
        probe = Client(HubAddress(self._settings.url, None, "this service"), transport=unverified)
        deadline = StartDeadline(time.monotonic())
        try:
            while deadline.lasts(now_s := time.monotonic(), opening=(self._home / OPENING_FILE).exists()):
                if words := deadline.words(now_s):
                    self._say(words)
                with suppress(Problem):
                    status, _ = await asyncio.to_thread(probe.outside, "/readyz")
                    if status == 200:
                        return
                if hub.starts > 1 or hub.ended.is_set():
                    raise self._not_ready(hub, "the hub ended at its start")
                await asyncio.sleep(0.05)
        finally:
            probe.close()
        raise self._not_ready(hub, f"the hub was not ready after {READY_S:g} s")

    def _not_ready(self, hub: Child, reason: str) -> Problem:
        log = self._log("hub")
        if is_short(self._home):
            # The log is on the same disk: its last lines tell of something before.
            return _no_room(self._home)
        return unreachable(f"{reason}; its log {log} says:\n{log_tail(log, hub.log_from)}", "Run `starloom doctor`.")

    async def _end(self) -> None:
        """End the parts, those that need others first."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        if self._children:
            self._say_if_heard("\nStopping ...")
        if self._tunnels is not None:
            self._tunnels.cancel()
            await asyncio.gather(self._tunnels, return_exceptions=True)
        # The sample ends its own agents; the hub drains while agents and worker end beside it.
        await asyncio.gather(*(child.stop(STOP_S) for child in reversed(self._children)))
        if self._redis_task is not None:
            self._redis_task.cancel()
            await asyncio.gather(self._redis_task, return_exceptions=True)
        if self._redis is not None:
            await self._redis.stop()
        if self._children:
            self._say_if_heard(f"Everything has ended, after {loop.time() - began:.1f} s.")

    @asynccontextmanager
    async def _step(self, title: str) -> AsyncIterator[None]:
        began = time.monotonic()
        yield
        self._say(f"  {title}: {time.monotonic() - began:.1f} s")

    def _log(self, name: str) -> Path:
        return self._home / "logs" / f"{name}.log"

    def _say(self, text: str) -> None:
        for line in text.split("\n"):
            say(line)

    def _say_if_heard(self, text: str) -> None:
        with suppress(OSError):  # the terminal or the reader of a pipe may be gone, and every part has to end
            self._say(text)


def fault_of_model(settings: Settings) -> Fault | None:
    """Return why the model that is set cannot be asked; None where it can be, or where none is set.

    What reads a model's settings loads the language of plans, a fifth of a start, so only a set model has it loaded.
    """
    if not settings.llm_variables and not settings.model_folder.exists():
        return None
    from starloom.planner.model.transport.connecting import unusable

    return unusable(settings.llm_variables, settings.model_folder)


def _exit_of(demo: Child) -> int:
    code = demo.exit_code
    return code if code is not None and code >= 0 else int(Exit.FAILED)


def _lan_lines(lan: LanRow, hub: str, *, is_wanted: bool) -> list[str]:
    """Return the lines about the local network's listener."""
    if lan["open"]:
        return [
            f"In the local network it is at {lan['url']}; add a phone with: starloom enroll --qr{hub}",
            f"  {lan['warning']}",
            f"  The key of its certificate, in words: {lan['words']}",
            "",
        ]
    return [f"It could not be opened in the local network: {lan['fault']}", ""] if is_wanted or lan["fault"] else []


def _welcome(settings: Settings, link: str, lan: LanRow) -> str:
    hub = hub_option(settings.home)
    return "\n".join(
        (
            "",
            f"Starloom is at {settings.outside_url}. This link signs you in once:",
            f"  {link}",
            "",
            *_lan_lines(lan, hub, is_wanted=settings.lan),
            f"Try, in another terminal{in_this_folder()}:",
            f'  starloom submit "how are my machines" --wait{hub}',
            "To add a laptop or a server:",
            f"  starloom enroll{hub}",
            "To open the page on your phone:",
            f"  starloom open --qr{hub}",
            "",
            "Ctrl-C stops everything.",
        )
    )


class StartDeadline:
    """The time that one start has; callers report the time in seconds and whether the history is being opened."""

    def __init__(self, began_s: float) -> None:
        self._since_s = began_s
        self._opening_since_s: float | None = None
        self._is_told = False

    def lasts(self, now_s: float, *, opening: bool) -> bool:
        """Whether to keep waiting; the time starts again when the history is open."""
        if opening:
            self._since_s = now_s
            if self._opening_since_s is None:
                self._opening_since_s = now_s
        else:
            self._opening_since_s = None
        return now_s - self._since_s < READY_S

    def words(self, now_s: float) -> str | None:
        """Return the sentence for the person once the opening takes long; None otherwise, and after the first time."""
        since_s = self._opening_since_s
        if self._is_told or since_s is None or now_s - since_s < TOLD_AFTER_S:
            return None
        self._is_told = True
        return OPENING_WORDS
