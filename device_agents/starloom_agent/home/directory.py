"""The agent's home directory: the one that a command means, its layout and file modes, and the record of its hub.

A command that names no home means the usual one, so that a line of a document works on this device as it stands.
Everything is 0700 or 0600. Nothing here talks to a hub.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from starloom_protocol.vocabulary import Profile

DEFAULT_SLOTS = 4
SLOTS_MOST = 4096
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EACCES, errno.ENOSYS})
"""The answers of file systems without hard links, among them those of phones."""
_COMMAND = re.compile(r"(?<![\w./~-])starloom-agent ([a-z][a-z-]*)")
VARIABLE = "STARLOOM_AGENT_HOME"
_RECORD = "hub.json"
_DEMO = "demo-"
"""The names of the demo devices that a hub runs beside its own agent."""


def named_home(path: str | None) -> Path | None:
    """Return the home that a person chose, by an option or by the variable."""
    path_or_variable = path or os.environ.get(VARIABLE)
    return _whole(Path(path_or_variable)) if path_or_variable else None


def usual_home() -> Path:
    """Return the home in whose environment this program lies if it has joined, else `~/.starloom-agent`."""
    environment = Path(sys.prefix)
    if environment.name.startswith("venv") and (environment.parent / _RECORD).exists():
        return _whole(environment.parent)
    return _whole(Path("~/.starloom-agent"))


def _account_folders() -> set[Path]:
    """Return the folders that `~` means in shells of this account: one may have HOME set to another than the system's.

    A line that is typed there must not reach the agent of the other folder.
    """
    folders = {Path("~").expanduser()}
    with contextlib.suppress(ImportError, KeyError):  # Windows has no such table, and a container may lack the row
        import pwd

        folders.add(Path(pwd.getpwuid(os.getuid()).pw_dir))
    return folders


def home_of_owner() -> Path:
    """Return the usual home; where nothing has joined there, that of the agent which the hub of this computer runs.

    For commands that say or change what the owner allows: the hub starts and ends that agent itself.
    """
    usual = usual_home()
    if (usual / _RECORD).exists():
        return usual
    for hub in _hubs():
        homes = [path.parent for path in sorted((hub / "agents").glob(f"*/{_RECORD}"))]
        real_homes = [home for home in homes if not home.name.startswith(_DEMO)]
        if real_homes:
            return _whole(real_homes[0]) if len(real_homes) == 1 else usual
    return usual


def _hubs() -> Iterator[Path]:
    """Yield the places where the hub's data may lie, none of which depends on the folder that a person is in."""
    folder = os.environ.get("STARLOOM_HOME")
    if folder:
        yield Path(folder).expanduser()
    yield Path(sys.prefix).parent / ".starloom"
    yield Path.home() / ".local" / "share" / "starloom"


def _whole(path: Path) -> Path:
    return path.expanduser().resolve()


class Joined(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The hub that this device has joined; `hub_key` (raw public key, base64) is pinned from then on.

    `pin` is the public key of its certificate, `via` where a tunnel to it ends here (see `dialling`); both may be "".
    `labels` stand in the files of older versions; the hub keeps them.
    """

    hub: str
    hub_key: str
    name: str
    labels: list[str] = []
    pin: str = ""
    via: str = ""


class NotJoined(Exception):
    """The home has no hub yet; the text says which command to type."""


def write_private(path: Path, data: bytes) -> None:
    """Replace a 0600 file in one step; it is the whole old one or the whole new one, also after a power cut."""
    with _written_beside(path, data) as part:
        part.replace(path)
        _sync_folder(path.parent)


def create_private(path: Path, data: bytes) -> bool:
    """Make a 0600 file, whole or not at all, also after a power cut; False, with nothing changed, if it exists."""
    with _written_beside(path, data) as part:
        if not _give_name(part, path):
            return False
        _sync_folder(path.parent)
        return True


@contextlib.contextmanager
def _written_beside(path: Path, data: bytes) -> Iterator[Path]:
    """Yield a file with these contents in the same folder, on the disk; it is removed unless it was renamed."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    part = Path(temporary)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield part
    finally:
        part.unlink(missing_ok=True)


def _give_name(part: Path, path: Path) -> bool:
    """Give a file its name if that is free; False if it is not."""
    try:
        if os.name == "nt":
            part.rename(path)  # refuses a name that is taken
        else:
            os.link(part, path)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS or path.exists():
            raise
        part.rename(path)
    return True


def _sync_folder(folder: Path) -> None:
    # Windows opens no folder, and brings its entries to the disk itself.
    with contextlib.suppress(PermissionError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@dataclass(frozen=True)
class AgentHome:
    """Paths below one home; `make` creates it."""

    root: Path

    @staticmethod
    def at(path: str | None) -> AgentHome:
        """Return the home named, else the usual one."""
        return AgentHome(named_home(path) or usual_home())

    @staticmethod
    def of_owner(path: str | None) -> AgentHome:
        """Return the home of a command about what the owner allows, which may be that of the hub's own agent."""
        return AgentHome(named_home(path) or home_of_owner())

    @staticmethod
    def named(path: str | None) -> bool:
        """Whether a person chose the home, by an option or by STARLOOM_AGENT_HOME."""
        return named_home(path) is not None

    def line_parts(self) -> dict[str, str]:
        """Return the parts of a command line on this device: the path of the program, and the home if it is unusual."""
        script = Path(sys.executable).with_name("starloom-agent.exe" if os.name == "nt" else "starloom-agent")
        usual = all((folder / ".starloom-agent").resolve() == self.root for folder in _account_folders())
        parts = {"program": str(script)} if script.exists() else {}
        return parts if usual else {**parts, "home": str(self.root)}

    def line_for(self, command: str) -> str:
        """Return a line that works when pasted and runs this agent, also where the PATH has another or none."""
        own_program, on_path = Path(sys.executable).with_name("starloom-agent"), shutil.which("starloom-agent")
        is_own = on_path is not None and os.path.realpath(on_path) == os.path.realpath(own_program)
        program = on_path if on_path is not None and (is_own or not own_program.exists()) else str(own_program)
        usual = self.root == AgentHome.at(None).root
        return shlex.join([program, command, *([] if usual else ["--home", str(self.root)])])

    def pasteable(self, text: str) -> str:
        """Return a text whose every command of the agent works when pasted on this device."""
        parts = self.line_parts()
        program = shlex.quote(parts["program"]) if "program" in parts else "starloom-agent"
        home = f" --home {shlex.quote(parts['home'])}" if "home" in parts else ""
        return _COMMAND.sub(lambda match: f"{program} {match[1]}{home}", text)

    def make(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.root.chmod(0o700)
        for folder in (self.work, self.run, self.workspace):
            folder.mkdir(exist_ok=True, mode=0o700)

    @property
    def key(self) -> Path:
        return self.root / "device.key"

    @property
    def ledger(self) -> Path:
        return self.root / "ledger.sqlite"

    @property
    def policy(self) -> Path:
        return self.root / "policy.toml"

    @property
    def asks(self) -> Path:
        """Questions to the owner of this device, and the answers (`policy.approvals`)."""
        return self.root / "asks"

    @property
    def hub(self) -> Path:
        return self.root / "hub.json"

    @property
    def limit(self) -> Path:
        """The profile that the join code allowed at most; absent where it allowed all. Older agents do not look."""
        return self.root / "profile-most"

    def keep_limit(self, profile: str) -> None:
        """Keep the profile that a new join code allowed at most."""
        if profile in (*Profile,) and profile != Profile.OPERATE:
            write_private(self.limit, f"{profile}\n".encode())
        else:
            self.limit.unlink(missing_ok=True)

    def profile_most(self) -> Profile:
        """Return the profile to which the hub holds this device, whatever its own policy grants."""
        try:
            return Profile(self.limit.read_text(encoding="utf-8").strip())
        except (OSError, ValueError):
            return Profile.OPERATE

    @property
    def slots(self) -> Path:
        """The number of calls at once that the owner chose; absent where it is the usual one."""
        return self.root / "slots"

    def keep_slots(self, number: int) -> None:
        """Keep how many calls run at once, for each start from now on."""
        write_private(self.slots, f"{number}\n".encode())

    def slots_kept(self) -> int:
        """Return how many calls run at once where a start names no number."""
        try:
            number = int(self.slots.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return DEFAULT_SLOTS
        return number if 1 <= number <= SLOTS_MOST else DEFAULT_SLOTS

    @property
    def work(self) -> Path:
        """One directory for each running attempt; emptied when the agent starts."""
        return self.root / "work"

    @property
    def workspace(self) -> Path:
        """The agent's own folder, allowed by every profile."""
        return self.root / "workspace"

    @property
    def run(self) -> Path:
        """The folder of the running process: pid file, status, the current token for artifacts."""
        return self.root / "run"

    @property
    def stopped(self) -> Path:
        """The mark that the owner has stopped the agent, and that a hub behind a tunnel leaves it so."""
        return self.run / "stopped-by-owner"

    def device(self) -> str:
        """Return the name of the device whose agent this is, or its folder where it has not joined."""
        return self.joined().name if self.hub.exists() else str(self.root)

    def joined(self) -> Joined:
        """Read the record of the hub.

        Raises:
            NotJoined: if there is none.
        """
        try:
            return msgspec.json.decode(self.hub.read_bytes(), type=Joined)
        except FileNotFoundError:
            raise NotJoined(
                f"{self.root} has not joined a hub. Take the line from `starloom enroll`, "
                "or type: starloom-agent join URL CODE"
            ) from None
        except msgspec.DecodeError as error:
            raise NotJoined(f"{self.hub} cannot be read ({error}); join again: starloom-agent join URL CODE") from error

    def join(self, record: Joined) -> None:
        write_private(self.hub, msgspec.json.format(msgspec.json.encode(record)) + b"\n")

    def rename(self, name: str) -> None:
        """Keep the name that the hub has for this device now.

        Raises:
            NotJoined: there is no record of the hub.
        """
        record = self.joined()
        if record.name != name:
            self.join(msgspec.structs.replace(record, name=name))


def remove_if_empty(folder: Path) -> bool:
    """Remove a folder if nothing is in it, which costs less than a thread; False if it is still there."""
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
