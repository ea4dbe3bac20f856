"""Reverse tunnels to servers that cannot reach the hub: kept up by ssh, with backoff, by records in the data folder.

`starloom up` runs a `Keeper` over the records; `enroll --ssh` holds one `Tunnel` itself while it installs. A record
is one file in `tunnels/`, the state of all stands in `run/tunnels.json`. The keeper also has the agent behind an open
tunnel watched; of the hub it only reads the device.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from starloom.client.discovery import LOCAL_FILE, HubAddress, read_local
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.client.routes import get_device
from starloom.host.servers import remote, reviving, ssh
from starloom.host.servers.ssh import run_there
from starloom.process.private_files import write_private
from starloom_protocol.vocabulary import Code

FOLDER = Path("tunnels")
STATE_FILE = Path("run") / "tunnels.json"
PAUSE_S = 1.0
PAUSE_MOST_S = 60.0
"""A server that is back is reached within a minute; one that limits connections is not asked more often."""
SETTLED_S = 30.0
"""A tunnel that was open for so long was a good one: the pauses begin small again."""
LOOK_EVERY_S = 0.5
"""The records are a few small files, and a person who adds or removes one waits."""
ASK_EVERY_S = 2.0
"""How often the hub is asked for the device behind each open tunnel; some seconds are soon enough for its agent."""
UP_WITHIN_S = 40.0
"""Longer than `ssh` waits for a connection, and a start of the agent there."""
_SAID_BYTES = 8 * 1024
"""The last words of `ssh` name its fault; a long banner stands before them."""


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One kept tunnel. `home` is the agent's folder on the server; `device` the name it joined with.

    `device_id` is its device for good; a tunnel that was made before has the name alone. `hub_socket` is where the hub
    speaks TLS for tunnels; a tunnel that was made before leads to the hub's port.
    """

    destination: str
    port: int | None = None
    identity: str = ""
    config: str = ""
    options: list[str] = []
    remote_port: int
    hub_host: str
    hub_port: int
    hub_socket: str = ""
    home: str
    device: str
    device_id: str = ""

    @property
    def key(self) -> str:
        """Return the name of the record's file: no two devices have the same, however they are called."""
        return self.device_id or self.device

    @property
    def target(self) -> ssh.Target:
        return ssh.Target(self.destination, self.port, self.identity, self.config, list(self.options))

    @property
    def forward(self) -> ssh.Forward:
        return ssh.Forward(self.remote_port, self.hub_host, self.hub_port, self.hub_socket)


@dataclass
class Tunnel:
    """One tunnel, kept up between `start` and `stop`. `up` is set while it is open; `fault` is the last one."""

    record: Record
    changed: Callable[[], None] = lambda: None
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    up: asyncio.Event = field(default_factory=asyncio.Event)
    faulted: asyncio.Event = field(default_factory=asyncio.Event)
    fault: str = ""
    hint: str = ""
    starts: int = 0
    since_s: float = field(default_factory=time.time)
    _task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to keep it up; returns at once."""
        self._task = asyncio.create_task(self._keep(), name=f"tunnel {self.record.device}")

    async def stop(self) -> None:
        """End it; idempotent."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self.up.clear()

    async def until_up(self, within_s: float = UP_WITHIN_S) -> None:
        """Wait until it is open.

        Raises:
            Problem: it failed first; or it took too long.
        """
        waiting = [asyncio.create_task(event.wait()) for event in (self.up, self.faulted)]
        try:
            ended, _ = await asyncio.wait(waiting, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        if self.up.is_set():
            return
        if not ended:
            raise ssh.refused(
                self.record.target, f"no tunnel within {within_s:g} s", f"Try: {self.record.target.typed}"
            )
        raise ssh.refused(self.record.target, self.fault, self.hint)

    async def _keep(self) -> None:
        pause = PAUSE_S
        while True:
            began = time.monotonic()
            self.starts += 1
            fault = await self._fault_of_one()
            self.up.clear()
            self.fault, self.hint = fault
            self.since_s = time.time()
            self.faulted.set()
            self.changed()
            if time.monotonic() - began > SETTLED_S:
                pause = PAUSE_S
            await self.sleep(pause)
            pause = min(pause * 2, PAUSE_MOST_S)

    async def _fault_of_one(self) -> tuple[str, str]:
        """Run ssh until it ends; return why it did, or why it could not begin, and the remedy."""
        try:
            stderr = await self._once()
        except Problem as problem:
            return problem.reason, problem.hint
        except OSError as error:
            return f"ssh could not be started: {error}", f"Try it by hand: {self.record.target.typed}"
        return ssh.fault_of(self.record.target, stderr)

    async def _once(self) -> str:
        """Run ssh until it ends; return what it wrote to stderr."""
        record = self.record
        process = await asyncio.create_subprocess_exec(
            *ssh.argv(record.target, remote.hold(record.home), record.forward),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        hearing = asyncio.create_task(self._hear(process))
        errors = asyncio.create_task(_tail(process.stderr))
        try:
            await process.wait()
            return await errors
        finally:
            # Its standard input ends with it, and with that the command at the other end.
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.terminate()
                await process.wait()
            for task in (hearing, errors):
                task.cancel()
            await asyncio.gather(hearing, errors, return_exceptions=True)

    async def _hear(self, process: asyncio.subprocess.Process) -> None:
        out = process.stdout
        while out is not None and (line := await out.readline()):
            if line.strip() == remote.UP.encode():
                self.fault = self.hint = ""
                self.since_s = time.time()
                self.up.set()
                self.changed()


async def _tail(stream: asyncio.StreamReader | None) -> str:
    end = b""
    while stream is not None and (part := await stream.read(4096)):
        end = (end + part)[-_SAID_BYTES:]
    return end.decode(errors="replace")


def path_of(home: Path, key: str) -> Path:
    """Return the file of a kept tunnel."""
    return home / FOLDER / f"{key}.json"


def keep(home: Path, record: Record) -> None:
    """Have `starloom up` keep this tunnel from now on."""
    _write(path_of(home, record.key), record)


def forget_device(home: Path, device_id: str, joined_as: Collection[str]) -> None:
    """Stop keeping the tunnels of a device; those of old are found by the names that it joined with."""
    for key, record in records(home).items():
        if isinstance(record, Record) and (
            record.device_id == device_id or (not record.device_id and record.device in joined_as)
        ):
            forget(home, key)


def condition_of(home: Path, device_id: str) -> Condition | None:
    """Return the condition of the tunnel of a device, None while no keeper has one."""
    return conditions(home).get(device_id)


def _write(path: Path, document: object) -> None:
    """Replace a JSON file whole, readable by its owner only."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(path, msgspec.json.format(msgspec.json.encode(document)) + b"\n")


def forget(home: Path, key: str) -> bool:
    """Stop keeping a tunnel; False if there was none."""
    path = path_of(home, key)
    is_kept = path.exists()
    path.unlink(missing_ok=True)
    return is_kept


def records(home: Path) -> dict[str, Record | str]:
    """Return the kept tunnels by key; a text instead of one says why its file cannot be read."""
    kept: dict[str, Record | str] = {}
    for path in sorted((home / FOLDER).glob("*.json")):
        try:
            kept[path.stem] = msgspec.json.decode(path.read_bytes(), type=Record)
        except FileNotFoundError:
            continue
        except (OSError, msgspec.DecodeError) as error:
            kept[path.stem] = f"{path} cannot be read: {error}"
    return kept


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """The condition of a kept tunnel: `up`, `down` (with fault and hint), or `connecting`.

    `agent` is the state of the agent behind an open one, with its own fault and hint; `name` is the device's present
    name, as far as the hub was asked.
    """

    state: str
    since_s: int
    starts: int
    fault: str = ""
    hint: str = ""
    agent: str = ""
    name: str = ""


def conditions(home: Path) -> dict[str, Condition]:
    """Return the conditions that the running keeper last wrote; empty while there is none."""
    try:
        return msgspec.json.decode((home / STATE_FILE).read_bytes(), type=dict[str, Condition])
    except (FileNotFoundError, msgspec.DecodeError):
        return {}


Look = Callable[[str], Awaitable[reviving.DeviceSeen | None]]
"""Asks the hub for a device by id or name; None where it does not answer, or where the device may not work."""


class HubLook:
    """Asks the hub of a home for one device after the other. A token that was refused is not sent again: the hub
    writes another one beside its address.
    """

    def __init__(self, home: Path, say: Callable[[str], None]) -> None:
        self._home = home
        self._say = say
        self._client: Client | None = None
        self._address: HubAddress | None = None
        self._refused_address: HubAddress | None = None

    async def __call__(self, device: str) -> reviving.DeviceSeen | None:
        return await asyncio.to_thread(self._ask, device)

    def _ask(self, device: str) -> reviving.DeviceSeen | None:
        try:
            address = read_local(self._home)
            if address != self._address:
                self.close()
                self._client, self._address = (Client(address) if address is not None else None), address
            if self._client is None or address == self._refused_address:
                return None
            row = self._client.get(get_device(device))
        except Problem as problem:
            # The hub is away or does not know the device; its own doors tell that.
            if problem.code == Code.BAD_TOKEN:
                self._refused_address = address
                self._say(
                    f"the hub refuses the token in {self._home / LOCAL_FILE}; agents behind tunnels are not watched"
                )
            return None
        return None if row["revoked"] else reviving.DeviceSeen(row["name"], row["link"] == "online")

    def close(self) -> None:
        """End the connection to the hub."""
        if self._client is not None:
            self._client.close()
            self._client = self._address = None


def troubles(home: Path) -> dict[str, tuple[str, str]]:
    """Return the fault of each tunnel that is down or has no agent behind it, and its remedy, by the device's name."""
    tunnels, faults = records(home), {}
    for key, condition in conditions(home).items():
        if condition.fault and condition.agent != reviving.ONLINE:
            record = tunnels.get(key)
            name = condition.name or (record.device if isinstance(record, Record) else key)
            state = f"its tunnel is {condition.state}" + (f", its agent {condition.agent}" if condition.agent else "")
            faults[name] = (f"{state}: {condition.fault}", condition.hint)
    return faults


class Keeper:
    """Keeps every recorded tunnel up, follows the records as they come and go, and has the agents behind watched."""

    def __init__(
        self,
        home: Path,
        say: Callable[[str], None],
        *,
        look: Look | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._home = home
        self._say = say
        self._look = look
        self._sleep = sleep
        self._tunnels: dict[str, Tunnel] = {}
        self._watches: dict[str, reviving.Watch] = {}
        self._names: dict[str, str] = {}
        self._last_said: dict[str, str] = {}
        self._hub_socket = ""
        self._is_written = True

    async def run(self) -> None:
        """Work until cancelled; then every tunnel is ended."""
        watching = asyncio.create_task(self._keep_watching(), name="agents behind tunnels")
        try:
            while True:
                await self._follow()
                await self._sleep(LOOK_EVERY_S)
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
            await asyncio.gather(*(watch.stop() for watch in self._watches.values()))
            await asyncio.gather(*(tunnel.stop() for tunnel in self._tunnels.values()))
            (self._home / STATE_FILE).unlink(missing_ok=True)

    async def _keep_watching(self) -> None:
        while self._look is not None:
            await self.watch(self._look)
            await asyncio.sleep(ASK_EVERY_S)

    async def watch(self, look: Look) -> None:
        """Look once at the agent behind every open tunnel."""
        for name in [name for name in self._watches if not self._is_up(name)]:
            # A tunnel that opens again starts the agent on its own, so its watch starts from zero.
            await self._watches.pop(name).stop()
        for name, tunnel in list(self._tunnels.items()):
            record = tunnel.record
            if not self._is_up(name) or (device := await look(record.device_id or record.device)) is None:
                continue
            if self._names.get(name) != device.name:
                self._names[name] = device.name
                self._changed()
            if self._is_up(name):
                if name not in self._watches:
                    self._watches[name] = reviving.Watch(record.target, record.home, run_there, self._changed)
                self._watches[name].look(device)

    def _is_up(self, name: str) -> bool:
        return name in self._tunnels and self._tunnels[name].up.is_set()

    def _led_here(self, record: Record | str) -> Record | str:
        """Return the record with the socket of the hub on this home, which may have been moved or restored."""
        if isinstance(record, str) or not record.hub_socket or not self._hub_socket:
            return record
        return msgspec.structs.replace(record, hub_socket=self._hub_socket)

    async def _follow(self) -> None:
        local = read_local(self._home)
        if local is not None and local.own is not None:
            self._hub_socket = str(local.own.tunnel_socket)
        kept = {name: self._led_here(record) for name, record in records(self._home).items()}
        for name, tunnel in list(self._tunnels.items()):
            if kept.get(name) != tunnel.record:
                await self._tunnels.pop(name).stop()
                if (watch := self._watches.pop(name, None)) is not None:
                    await watch.stop()
                self._names.pop(name, None)
                self._changed()
        for name, record in kept.items():
            if isinstance(record, str):
                self._tell(name, record)
            elif name not in self._tunnels:
                self._tunnels[name] = Tunnel(record, self._changed)
                self._tunnels[name].start()
                self._changed()
        if not self._is_written:
            self._changed()

    def _changed(self) -> None:
        conditions = {}
        for name, tunnel in self._tunnels.items():
            state = "up" if tunnel.up.is_set() else "down" if tunnel.fault else "connecting"
            present = self._names.get(name, tunnel.record.device)
            watch = self._watches.get(name) if state == "up" else None
            conditions[name] = Condition(
                state=state,
                since_s=int(tunnel.since_s),
                starts=tunnel.starts,
                fault=watch.fault if watch else tunnel.fault,
                hint=watch.way if watch else tunnel.hint,
                agent=watch.state if watch else "",
                name=present,
            )
            if state != "connecting":
                self._tell(name, f"the tunnel to {present} is {state}{': ' + tunnel.fault if tunnel.fault else ''}")
            if watch and watch.state != reviving.ONLINE and watch.absence.tries:
                self._tell(f"agent {name}", f"the agent of {present} is {watch.state}: {watch.fault}")
            elif watch and f"agent {name}" in self._last_said:
                self._tell(f"agent {name}", f"the agent of {present} is online")
        try:
            _write(self._home / STATE_FILE, conditions)
        except OSError as error:
            # A full disk must end no tunnel; the state is written at the next look.
            self._is_written = False
            self._tell("", f"the state of the tunnels cannot be written ({error}); they go on")
        else:
            self._is_written = True

    def _tell(self, name: str, text: str) -> None:
        if self._last_said.get(name) != text:
            self._last_said[name] = text
            self._say(text)
