"""The interface of a tool, and the context of its call: its own directory, granted folders, artifacts, its log.

A tool runs as plain synchronous code in a process of its own; it must never reach outside its context. This file
is imported at the start of every tool process, so it stays small.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Protocol

import msgspec

from starloom_agent.toolkit.beneath import Beneath, Witness, composed, is_trash, outermost
from starloom_agent.toolkit.messages import Detached, Heard, Permit
from starloom_agent.toolkit.results import Stored
from starloom_protocol.text.folder_grants import NO_LINE, has_line
from starloom_protocol.text.scrubbing import Scrubber
from starloom_protocol.text.wording import size_words
from starloom_protocol.vocabulary import ARTIFACT_BYTES_MOST, RISKY_EFFECTS, Code, Effect, Repeatability

HUB_ONLY = msgspec.Meta(extra_json_schema={"readOnly": True})
"""Marks an argument that the hub alone gives: no offer has it, so no person and no model is shown it."""
SECRET = msgspec.Meta(extra_json_schema={"writeOnly": True})
"""Marks an argument in which a secret may stand: it goes to no command line, no file and no path."""


ArgsType = type[msgspec.Struct] | type[dict[str, Any]]
"""The type of a tool's arguments; a map where another side names and judges them."""


@functools.cache
def takes_secrets(kind: ArgsType) -> frozenset[str]:
    """Return the arguments of a tool in which a secret may stand; a map without names has none."""
    if not issubclass(kind, msgspec.Struct):
        return frozenset()
    properties = msgspec.json.schema(kind)["$defs"][kind.__name__].get("properties", {})
    return frozenset(name for name, part in properties.items() if part.get("writeOnly"))


class ToolFailed(Exception):
    """An expected failure. `detail` is a sentence for people: what, where, what was tried, the way out.

    `effect` False says that nothing was changed before the failure; None leaves it to the tool's effects.
    """

    def __init__(self, code: Code, detail: str, *, effect: bool | None = None) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.effect = effect


class Args(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of every tool's arguments: strict, so that an unknown field is refused with its name.

    Subclasses repeat `frozen=True, kw_only=True`, as the protocol's records do.
    """


Sent = Callable[[int], None]
"""A listener for the number of bytes of a file that the hub has; its caller knows the size of the whole call."""


class ArtifactPort(Protocol):
    """Moves files between this device and the hub, by hash."""

    def fetch(self, sha256: str, into: Path) -> Path:
        """Return a local file with these bytes, checked against the hash; resumes what is already in `into`."""
        ...

    def put(self, file: BinaryIO, *, name: str, media: str, sent: Sent | None = None) -> Stored:
        """Store an open file at the hub, resuming by hash; return `{"artifact", "bytes", "name", "media"}`.

        `sent` is called as its bytes arrive; without it only their number is reported.
        """
        ...


class OutputPort(Protocol):
    """Where a tool says how far it is; bounded and lossy by design, never part of the result."""

    def progress(self, *, done_bytes: int, fraction: float | None, note: str) -> None: ...

    def log(self, text: str) -> None: ...


class PermissionPort(Protocol):
    """Where a running call asks the agent of this device, which owns the policy, whether it may do something more."""

    def permit(self, tool: str, args: Mapping[str, Any]) -> Permit:
        """Return the decision on a call of a tool with these arguments; one that is `open` is asked about again."""
        ...

    def hints(self, after: int) -> Heard:
        """Return the hints of people with a number above `after`."""
        ...


class _NoPermits:
    """Outside a process of its own nothing can be asked."""

    def permit(self, tool: str, args: Mapping[str, Any]) -> Permit:
        return Permit(reason=f"{tool} with {len(args)} arguments cannot be asked about here")

    def hints(self, after: int) -> Heard:
        return Heard(last=after)


NO_PERMITS: Final = _NoPermits()
_PART_BYTES = 1 << 20


def file_holds(file: BinaryIO, hidden: Scrubber) -> bool:
    """Whether an open file holds a value that must not leave, in any form that a scrubber knows."""
    overlap = 4 * hidden.form_chars_max
    tail = b""
    file.seek(0)
    while part := file.read(_PART_BYTES):
        if hidden.finds(tail + part):
            return True
        tail = (tail + part)[-overlap:]
    return False


def refuse_large(name: str, size: int) -> None:
    """Refuse a file that the hub does not take, before it is read.

    Raises:
        ToolFailed: it is too large.
    """
    if size > ARTIFACT_BYTES_MOST:
        most, path = size_words(ARTIFACT_BYTES_MOST), shlex.quote(name)
        raise ToolFailed(
            Code.OUTPUT_TOO_BIG,
            f"{name} has {size_words(size)}, and a file that goes through the hub has at most {most}. Copy it with "
            f"another program, send it in parts (`split -b 3G {path}`), or leave it out: `max_bytes: "
            f"{ARTIFACT_BYTES_MOST}` of fs.find",
            effect=False,
        )


def refused_line(grant: str, path: Path) -> str:
    """Return the line that the owner types on this device to allow it."""
    return f"starloom-agent grant {grant} {shlex.quote(str(path))}"


def way_out(grant: str, path: Path) -> str:
    """Return how the owner allows a folder."""
    if not has_line(path):
        return NO_LINE
    return f"To allow it, type on the device: {refused_line(grant, path)}"


WORKSPACE: Final = "workspace"
"""The name of the agent's own folder, which is the last of the roots."""


@dataclass(frozen=True)
class Folders:
    """Granted roots, real when granted; a relative path starts at the first of `read`, for a write of `write`."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()

    @staticmethod
    def of(read: list[str] | tuple[str, ...] = (), write: list[str] | tuple[str, ...] = ()) -> Folders:
        """Take the roots as they were granted; a folder that may be written may be read.

        A root that has become a link is not followed: whoever may write around it could lead it anywhere.
        """
        writable = tuple(map(Path, write))
        readable = tuple(map(Path, read))
        return Folders(read=(*readable, *(item for item in writable if item not in readable)), write=writable)


def _stay_free() -> None:
    """Outside a process of its own nothing is given up."""


@dataclass
class ToolContext:
    """The context of one call: the folders, hosts, secrets and ports that its tool may use.

    workdir    this attempt's own directory: empty at the start, deleted after the end
    fence      `INCARNATION.ATTEMPT`, also in the environment as STARLOOM_FENCE
    secrets    values by handle; each is scrubbed by value from everything that leaves
    hosts      those that the owner lists for `net:reach`; `*` is any
    cage       the sandbox layer for programs that come with the request; `none` where the owner allows to do without,
               empty where no such program may run
    notes      a folder of the agent for data that tools keep between calls, or None
    unattended whether nobody is before this device, as it is one of the demonstration
    clock_ahead_s  the seconds that the clock of this device is ahead of its hub's; 0 where they are few
    detached   takes the programs that outlive a call that succeeds
    confine    gives up every file but the granted folders and `workdir`, for good; a tool that starts caged programs
               calls it when the last one has ended, because no cage can be made afterwards
    begin      reports that the call may change the world from here on; it is called before the tool runs, except for
               one that `fetches`
    permits    answers the questions of a running call
    session    the socket of the kept session that a call goes through
    trash_most_gib  what the trash of each folder may hold, 0 for the usual
    trash_bytes     what each is known to hold
    not_found       the relative paths that no granted folder holds
    witness         hears of each change of files just before it, or None
    """

    workdir: Path
    artifacts: ArtifactPort
    output: OutputPort
    folders: Folders = field(default_factory=Folders)
    fence: str = "0.0"
    secrets: Mapping[str, str] = field(default_factory=dict)
    hosts: tuple[str, ...] = ()
    network: bool = False
    cage: str = ""
    notes: Path | None = None
    unattended: bool = False
    clock_ahead_s: int = 0
    detached: list[Detached] = field(default_factory=list)
    confine: Callable[[], None] = _stay_free
    begin: Callable[[], None] = _stay_free
    permits: PermissionPort = NO_PERMITS
    session: str = ""
    trash_most_gib: int = 0
    trash_bytes: dict[Path, int] = field(default_factory=dict)
    not_found: list[str] = field(default_factory=list)
    witness: Witness | None = None

    @functools.cached_property
    def files(self) -> Beneath:
        """The door to the files of the granted folders and of `workdir`; a tool uses no other."""
        return Beneath(self.folders.read, self.folders.write, private=self.workdir, witness=self.witness)

    def caged_roots(self) -> tuple[str, ...]:
        """Return the granted folders, which a program in a cage may read; what it changed there, no undo would know."""
        return tuple(map(str, outermost((*self.folders.read, *self.folders.write))))

    @functools.cached_property
    def hidden(self) -> Scrubber:
        """The scrubber that removes the secrets of this call from a text. A tool that cuts text scrubs it first."""
        return Scrubber(self.secrets.values())

    def resolve_read(self, path: str | os.PathLike[str]) -> Path:
        """Return the real path (links followed) of something readable; it need not exist.

        A relative path is looked for in every granted folder; where none holds it, it starts at the first one, or in
        `workdir` where none is granted. The name of a granted folder is that folder.

        Raises:
            ToolFailed: `policy_refused`, with the line to type, when it lies outside the granted folders;
                `bad_arguments`, with the absolute paths, when several granted folders hold it.
        """
        return self._resolve(path, self.folders.read, "files:read", self._place_to_read)

    def resolve_write(self, path: str | os.PathLike[str]) -> Path:
        """As `resolve_read`, for a file or folder that the tool will make, change, move or remove.

        A relative path starts at the first granted folder, unless the folder around it exists in one other alone. No
        call changes what lies in a trash by its path: the way back of other calls is there. Where no folder is granted,
        a relative path is refused: in `workdir` the file would end with the call.
        """
        if not (self.folders.write or typed_path(os.fspath(path)).is_absolute()):
            reason = f"{path} has no place: this device allows no folder of files:write"
            line = f"{refused_line('files:write', Path('DIR'))}, with a folder as DIR"
            raise ToolFailed(Code.POLICY_REFUSED, f"{reason}. To allow one, type on the device: {line}", effect=False)
        real = self._resolve(path, self.folders.write, "files:write", place_to_write)
        if any(map(is_trash, real.parts)):
            reason = f"{path} is in the trash, where no call writes; fs.restore brings a file back by its ticket"
            raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False)
        return real

    def resolve_cwd(self, path: str) -> Path:
        """As `resolve_read`, for the working folder of a program: a granted folder has no short name there.

        A command rule covers one folder, which the policy reads from the letters of the path alone.
        """
        return self._resolve(path, self.folders.read, "files:read", lambda typed, _, start: start / typed)

    def is_shared(self, path: str) -> bool:
        """Tell whether several granted folders hold something of this relative path."""
        roots = self.folders.read
        return len(roots) > 1 and len(existing_places(Path(path), roots, roots[0])) > 1

    def with_folders(self, detail: str) -> str:
        """Return the detail of a failure with the folders in which its relative path was looked for."""
        if not any(path in detail for path in self.not_found):
            return detail
        folders = ", ".join(map(str, self.folders.read)) or "no folder"
        return f"{detail.rstrip('.')}. A relative path is looked for in the folders that this device allows: {folders}"

    def _place_to_read(self, path: Path, roots: Sequence[Path], start: Path) -> Path:
        places = existing_places(path, roots, start)
        if len(places) > 1:
            raise ToolFailed(
                Code.BAD_ARGUMENTS,
                f"{path} is in {len(places)} folders that this device allows: {', '.join(map(str, places))}. "
                "Name one of them",
                effect=False,
            )
        if not (places or path.is_absolute() or not path.parts):
            self.not_found.append(os.fspath(path))
        return places[0] if places else placed(path, roots, start)

    def _resolve(
        self,
        path: str | os.PathLike[str],
        roots: tuple[Path, ...],
        grant: str,
        place: Callable[[Path, Sequence[Path], Path], Path],
    ) -> Path:
        text = os.fspath(path)
        if "\x00" in text:
            raise ToolFailed(Code.BAD_ARGUMENTS, "a path may not contain NUL", effect=False)
        try:
            typed = typed_path(text)
            start = roots[0] if roots else self.workdir
            real = place(typed, roots, start).resolve()
        except (OSError, RuntimeError) as error:
            # Links in a circle, or a link that became something else while it was read.
            raise ToolFailed(Code.TOOL_FAILED, f"{text} cannot be followed on this device: {error}") from error
        if any(map(real.is_relative_to, (*roots, self.workdir.resolve()))):
            return real
        folders = ", ".join(str(root) for root in roots) or "no folder"
        # The first sentence says it all: an answer shows what fits of a detail, in whole sentences.
        raise ToolFailed(
            Code.POLICY_REFUSED,
            f"{text} is outside the folders of {grant}. This device allows {folders}. "
            f"{way_out(grant, real if real.is_dir() else real.parent)}",
            effect=False,
        )

    def check_host(self, host: str) -> None:
        """Refuse a host that the owner has not listed.

        Raises:
            ToolFailed: `policy_refused`, with the line to type.
        """
        if "*" in self.hosts or host.lower() in self.hosts:
            return
        listed = ", ".join(self.hosts) or "none"
        raise ToolFailed(
            Code.POLICY_REFUSED,
            f"{host} is not among the hosts that this device allows; to allow it, type on the device: "
            f"starloom-agent grant net:reach {shlex.quote(host)} . It allows {listed}",
            effect=False,
        )

    def fetch(self, sha256: str) -> Path:
        """Return a local, verified file with the bytes of an artifact; it lies in `workdir` (move it to keep it).

        Raises:
            ToolFailed: `network` after retries until the deadline, `artifact_corrupt`, `no_space`.
        """
        return self.artifacts.fetch(sha256, self.workdir)

    def put(
        self,
        path: Path,
        *,
        name: str | None = None,
        media: str = "application/octet-stream",
        sent: Sent | None = None,
    ) -> Stored:
        """Store a file at the hub; return its reference `{"artifact": sha256, "bytes", "name", "media"}`.

        Resumes where an earlier attempt was cut; bytes that the hub already has are not sent again.
        """
        try:
            file = self.files.open(path)
        except OSError as error:
            absent = isinstance(error, (FileNotFoundError, NotADirectoryError))
            reason = f"{path} cannot be read: {error.strerror or error}"
            raise ToolFailed(Code.FILE_NOT_FOUND if absent else Code.TOOL_FAILED, reason, effect=False) from error
        with file:
            # One descriptor for all that follows: what is looked through is what is sent.
            refuse_large(self.hidden.text(name or path.name), os.fstat(file.fileno()).st_size)
            if self.secrets and file_holds(file, self.hidden):
                raise ToolFailed(
                    Code.SECRET_IN_FILE,
                    f"{self.hidden.text(path.name)} holds the value of a secret that this task was given; "
                    "it was not sent",
                )
            return self.artifacts.put(file, name=self.hidden.text(name or path.name), media=media, sent=sent)

    def put_last(self, path: Path, *, name: str, media: str) -> Stored:
        """Store the file that a call made, as `put` does, and tell the share of its bytes that is sent."""
        size = path.stat().st_size

        def report(done: int) -> None:
            self.progress(done_bytes=done, fraction=done / size if size else None, note=name)

        return self.put(path, name=name, media=media, sent=report)

    def progress(self, *, done_bytes: int = 0, fraction: float | None = None, note: str = "") -> None:
        """Say how far the call is; cheap, may be called often, the latest wins."""
        self.output.progress(done_bytes=done_bytes, fraction=fraction, note=note)

    def log(self, text: str) -> None:
        """Add text to the attempt's log (a line end is added where it is missing)."""
        self.output.log(text)


def typed_path(text: str) -> Path:
    """Return the path that a text means: `~` and `~/...` begin in the home folder, and any other name is a name.

    A file may be called `~$letter.docx`, which asks for no person of that name.
    """
    return Path(text).expanduser() if text == "~" or text.startswith("~/") else Path(text)


def placed(path: Path, roots: Sequence[Path], start: Path) -> Path:
    """Return a path that may be relative as a whole one: below the granted folder of its first part's name, or below
    `start` where there is something of that name or no such folder."""
    if path.is_absolute() or not path.parts or os.path.lexists(start / path.parts[0]):
        return _as_there(start / path, roots)
    inner = _in_root(path, roots)
    return _as_there(start / path if inner is None else inner, roots)


def existing_places(path: Path, roots: Sequence[Path], start: Path) -> list[Path]:
    """Return the places of a relative path where something is, in the order of the granted folders, each once.

    A path that goes up by `..` starts at `start` alone, and a place outside of the granted folders is none.
    """
    if path.is_absolute() or not path.parts or ".." in path.parts:
        return []
    inner = _in_root(path, [root for root in roots if root != start or not os.path.lexists(start / path.parts[0])])
    place_of: dict[Path, Path] = {}
    for typed in (start / path, *((inner,) if inner else ()), *(root / path for root in roots)):
        place = _as_there(typed, roots)
        real = _real(place)
        if real is not None and any(map(real.is_relative_to, roots)):
            place_of.setdefault(real, place)
    return list(place_of.values())


def place_to_write(path: Path, roots: Sequence[Path], start: Path) -> Path:
    """Return the place for something to make: that of `placed`, unless its folder exists in one other root alone."""
    usual = placed(path, roots, start)
    if path.is_absolute() or len(path.parts) < 2 or os.path.lexists(usual.parent):
        return usual
    others = existing_places(path.parent, _without_workspace(roots), start)
    return others[0] / path.name if len(others) == 1 else usual


def _as_there(place: Path, roots: Sequence[Path]) -> Path:
    """Return a place in the letters of its disk: a Mac stores an accent behind its letter, others one sign for both.

    A part that is not there stands for the one entry of its folder that is the same text.
    """
    root = next((root for root in roots if place.is_relative_to(root)), None)
    if root is None or ".." in place.parts or os.fspath(place).isascii() or os.path.lexists(place):
        return place
    on_disk = root
    for part in place.relative_to(root).parts:
        names = [part]
        if not (part.isascii() or os.path.lexists(on_disk / part)):
            with contextlib.suppress(OSError):
                names = [one.name for one in on_disk.iterdir() if composed(one.name) == composed(part)]
        on_disk /= names[0] if len(names) == 1 else part
    return on_disk


def _real(place: Path) -> Path | None:
    """Return the real path of a place; None where nothing is, or links in a circle."""
    try:
        return place.resolve() if os.path.lexists(place) else None
    except (OSError, RuntimeError):
        return None


def _in_root(path: Path, roots: Sequence[Path]) -> Path | None:
    """Return the place of a path whose first part is the name of a granted folder."""
    named_root = next((root for root in _without_workspace(roots) if root.name == path.parts[0]), None)
    return None if named_root is None else named_root.joinpath(*path.parts[1:])


def _without_workspace(roots: Sequence[Path]) -> list[Path]:
    """Return the folders that the owner granted: a folder called like the workspace is one to make or to miss."""
    return [root for at, root in enumerate(roots) if at != len(roots) - 1 or root.name != WORKSPACE]


def _available() -> str | None:
    return None


@dataclass(frozen=True)
class Tool:
    """One tool of a device. Its result has the type that `run` returns, unless `returns` has a schema.

    name         its name in plans, `ROOM.VERB`
    title        what it does, as a person reads it in a list
    args         the type of its arguments; the docstrings of the fields go into the offer
    run          carries a call out, in a process of its own unless `in_process`
    effects      what a call may do at most; none: it only computes
    repeatability  whether a call that may have run can be made again
    grant        the grant that a call needs; None: every profile allows it
    self_verified  a call that ends well has proved its own effect, as the hash of an upload does
    probe        returns why the tool cannot work here, without any effect
    in_process   it runs in the agent's own loop, so it must be pure and instant; only the lab has such a tool
    lab_only     it is offered with `--lab` alone
    caged        it runs programs that come with the request: it is not available without a cage on this device, unless
                 the owner grants `python:unconfined`
    confined     its process reaches the granted folders, its own directory and the folders in `reads` alone
    reads        further folders that the process of a confined tool may read
    asks_by      the arguments to which an answer of the owner is bound; none: all
    never_asks   it asks the person in its own way
    effects_by   narrows `effects` by the value of one argument: argument -> value -> effects
    schema       the text of the JSON schema of its arguments, if that is not made from `args`
    stands_for   the built-in tool that takes the same arguments and gives the same results
    settings     the data from which its module makes this tool in its process; only then is `returns` a schema's text
    asks_within  the tools whose calls a running call may ask about; the policy judges each on its own
    kept_by      the server whose session the agent keeps for the calls of a constellation
    hears        it takes hints of people while it runs
    fetches      it fetches files before it can change anything, and calls `context.begin` between the two
    reusable     its process may serve further calls of a constellation: it only computes or reads, starts no program or
                 thread, and keeps nothing between calls
    """

    name: str
    title: str
    args: ArgsType
    run: Callable[[ToolContext, Any], Any]
    effects: tuple[Effect, ...]
    repeatability: Repeatability
    grant: str | None = None
    self_verified: bool = False
    probe: Callable[[], str | None] = _available
    in_process: bool = False
    lab_only: bool = False
    caged: bool = False
    confined: bool = False
    reads: tuple[str, ...] = ()
    asks_by: tuple[str, ...] = ()
    never_asks: bool = False
    effects_by: Mapping[str, Mapping[str, tuple[Effect, ...]]] = field(default_factory=dict)
    schema: str = ""
    returns: str = ""
    stands_for: str = ""
    settings: str = ""
    asks_within: tuple[str, ...] = ()
    kept_by: str = ""
    hears: bool = False
    fetches: bool = False
    reusable: bool = False

    @property
    def asks_first(self) -> bool:
        """Whether the owner of the device is asked before each call: it may change more than files in a folder."""
        return not self.never_asks and bool(RISKY_EFFECTS & set(self.effects))
