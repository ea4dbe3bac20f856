"""`git.status`, `git.log`, `git.archive`, `git.clone`: repositories in granted folders, by the git of this device.

A repository's own settings can name programs, so git runs in the cage like any program of a request; what is asked
over the network is first fetched bare, outside the cage and by https alone, from hosts that the owner lists.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tarfile
import urllib.parse
from contextlib import nullcontext
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, BinaryIO, Literal, TypedDict

import msgspec

from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox.cage import Cage, Layer
from starloom_agent.sandbox.levels import UNCONFINED
from starloom_agent.sandbox.limits import DISK_BYTES_MAX, MEMORY_BYTES_MAX
from starloom_agent.toolkit.beneath import Beneath
from starloom_agent.toolkit.faults import plain
from starloom_agent.toolkit.files.walking import shown_name
from starloom_agent.toolkit.interface import Args, Tool, ToolContext, ToolFailed
from starloom_agent.toolkit.refs import FileRef
from starloom_agent.toolkit.results import Named, StoredFrom, of_device
from starloom_agent.toolkit.running.programs import Ran, quiet_environment, refuse_limit, run_program, said_by
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect, Repeatability

_GRANT = "git:run"
_OUT_BYTES = 2 * 1024 * 1024
"""The names of some ten thousand files; an answer that was longer is refused, because its middle would be missing."""
_ROWS_MOST = 1000
_PACKED_BYTES_MOST = 1024 * 1024 * 1024
# No program but git itself: no hook, watcher, pager or transport helper.
_BARE_SETTINGS = (
    "safe.directory=*", "core.hooksPath=/dev/null", "core.fsmonitor=false", "core.pager=cat", "gc.auto=0",
    "protocol.allow=never",
)  # fmt: skip
_SETTINGS = (*_BARE_SETTINGS, "protocol.file.allow=always", "submodule.recurse=false")
_FIELDS = "%H%x1f%h%x1f%an%x1f%aI%x1f%s"
_SEPARATOR = "\x1f"
_NO_SUCH_NAME = "Needed a single revision"
_NAMES_TOLD = 10
"""The names stand in an error text, for whoever then names one of them."""
_STATES = {"1": "changed", "2": "renamed", "u": "in conflict", "?": "new"}

Ref = Annotated[str, msgspec.Meta(max_length=255, pattern=r"^([A-Za-z0-9_./@^~][A-Za-z0-9_./@^~{}+-]*)?$")]


class Status(Args, frozen=True, kw_only=True):
    """Where a working copy stands: its branch, its last version, and what differs from it."""

    path: str
    limit: Annotated[int, msgspec.Meta(ge=1, le=_ROWS_MOST)] = 200
    device_name: str = ""


class Log(Args, frozen=True, kw_only=True):
    """The last versions, the newest first; `ref` is a branch, tag or version, `below` a file or folder in it."""

    path: str
    ref: Ref = "HEAD"
    below: str = ""
    limit: Annotated[int, msgspec.Meta(ge=1, le=_ROWS_MOST)] = 50
    device_name: str = ""


class Archive(Args, frozen=True, kw_only=True):
    """All files of a version as one tar file; without `ref`, the working copy as it stands, ignored files left out."""

    path: str
    ref: Ref = ""


class Clone(Args, frozen=True, kw_only=True):
    """Make a working copy at `to`: from an https address, a folder of this device, or a bundle (an artifact).

    One that is there with the same version is kept. `ref` is a branch or tag, `depth` how many versions come along.
    """

    source: Literal["address", "folder", "bundle"]
    to: Annotated[str, msgspec.Meta(min_length=1)]
    url: Annotated[str, msgspec.Meta(examples=["https://example.org/site.git"])] = ""
    path: str = ""
    files: tuple[FileRef, ...] = ()
    ref: Ref = ""
    depth: Annotated[int, msgspec.Meta(ge=0)] = 0
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600


def _environment(home: Path) -> dict[str, str]:
    return {
        **quiet_environment(),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "HOME": str(home),
    }


def _git(context: ToolContext, argv: list[str], *, timeout_s: float = 120, names: bool = False) -> Ran:
    """Run git in the cage, or without one where the owner allows that; a fault of git is one of the task.

    Git changes its own folder below `workdir` alone: what it makes is put into its place by this process.
    """
    home = context.workdir / "git"
    home.mkdir(exist_ok=True)
    settings = [part for setting in _SETTINGS for part in ("-c", setting)]
    command = ["git", "--no-optional-locks", "--no-pager", *settings, *argv]
    if context.cage != UNCONFINED:
        if not context.cage:
            raise ToolFailed(Code.TOOL_UNAVAILABLE, "this device has no sandbox for git", effect=False)
        cage = Cage(
            layer=Layer(context.cage),
            workdir=str(home),
            interpreter=tuple(cages.interpreter()),
            read=(*context.caged_roots(), str(context.workdir)),
            memory_bytes_max=MEMORY_BYTES_MAX,
            disk_bytes_max=DISK_BYTES_MAX,
        )
        command = cages.command(cage, command)
    ran = run_program(
        command,
        timeout_s=timeout_s,
        cwd=home,
        environment=_environment(home),
        kept_bytes=_OUT_BYTES,
        names=names,
    )
    refuse_limit(ran, "git")
    if ran.exit_code:
        raise _fault(ran)
    return ran


def _fault(ran: Ran) -> ToolFailed:
    words = said_by(ran, 400)
    if "not a git repository" in words:
        return ToolFailed(Code.BAD_ARGUMENTS, f"this is no git repository: {words}", effect=False)
    return ToolFailed(Code.TOOL_FAILED, f"git ended with {ran.exit_code}: {words}")


def _whole(ran: Ran, refusal: str) -> str:
    """Return all that git said.

    Raises:
        ToolFailed: `output_too_big`, in the words of `refusal`, if a part of it is missing.
    """
    if ran.lost_bytes:
        raise ToolFailed(Code.OUTPUT_TOO_BIG, refusal, effect=False)
    return ran.stdout


def _repository(context: ToolContext, path: str) -> Path:
    real = context.resolve_read(path)
    with plain(real, "looking at", effect=False):
        is_folder = context.files.is_folder(real)
    if not is_folder:
        raise ToolFailed(Code.FILE_NOT_FOUND, f"{path} is no folder on this device", effect=False)
    return real


class BranchState(TypedDict):
    ahead: int
    behind: int
    branch: str
    commit: str


class ChangedFile(TypedDict):
    path: str
    state: str


class WorkingCopy(Named, BranchState):
    clean: bool
    count: int
    rows: list[ChangedFile]


def status(context: ToolContext, args: Status) -> WorkingCopy:
    repository = _repository(context, args.path)
    ran = _git(context, ["-C", str(repository), "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all"])
    branch: BranchState = {"branch": "", "commit": "", "ahead": 0, "behind": 0}
    rows: list[ChangedFile] = []
    too_many = f"{args.path} differs in more files than one answer holds; put what is made there into its .gitignore"
    parts = iter(_whole(ran, too_many).split("\0"))
    for part in parts:
        kind, _, rest = part.partition(" ")
        if kind == "#":
            _read_branch(rest, branch)
        elif kind in _STATES:
            # The name stands behind eight fields of a change, nine of a rename, ten of a conflict.
            fields = {"1": 7, "2": 8, "u": 9, "?": 0}[kind]
            rows.append({"path": rest.split(" ", fields)[-1], "state": _STATES[kind]})
            if kind == "2":
                next(parts, "")
    device = of_device(args.device_name)
    return {**device, **branch, "clean": not rows, "rows": rows[: args.limit], "count": len(rows)}


def _read_branch(line: str, into: BranchState) -> None:
    name, _, value = line.partition(" ")
    if name == "branch.head":
        into["branch"] = "" if value == "(detached)" else value
    elif name == "branch.oid":
        into["commit"] = "" if value == "(initial)" else value
    elif name == "branch.ab":
        ahead, _, behind = value.partition(" ")
        into["ahead"], into["behind"] = int(ahead), -int(behind)


class Commit(Named):
    at: str
    author: str
    commit: str
    short: str
    subject: str


class Commits(TypedDict):
    count: int
    rows: list[Commit]


def log(context: ToolContext, args: Log) -> Commits:
    repository = _repository(context, args.path)
    below = ["--", args.below] if args.below else ["--"]
    argv = ["-C", str(repository), "log", "-z", f"--format={_FIELDS}", f"--max-count={args.limit}", args.ref, *below]
    ran = _git(context, argv)
    device = of_device(args.device_name)
    rows: list[Commit] = []
    too_long = f"the log of {args.path} is longer than one answer holds; ask for fewer versions with `limit`"
    for entry in filter(None, _whole(ran, too_long).split("\0")):
        commit, short, author, at, subject = entry.split(_SEPARATOR, 4)
        rows.append({**device, "commit": commit, "short": short, "author": author, "at": at, "subject": subject[:300]})
    return {"rows": rows, "count": len(rows)}


def _commit_of(context: ToolContext, repository: Path, ref: str) -> str:
    """Return the commit that a name stands for; for another the fault lists those that do."""
    try:
        return _git(context, ["-C", str(repository), "rev-parse", "--verify", f"{ref}^{{commit}}"]).stdout.strip()
    except ToolFailed as failed:
        if _NO_SUCH_NAME not in failed.detail:
            raise
        words = ["for-each-ref", f"--count={_NAMES_TOLD}", "--format=%(refname:short)", "refs/heads", "refs/tags"]
        names = _git(context, ["-C", str(repository), *words]).stdout.split()
        reason = f"{quoted(ref)} is no branch, tag or commit of {repository.name}; {_there_is(['HEAD', *names])}"
        raise ToolFailed(Code.BAD_ARGUMENTS, reason, effect=False) from failed


def _commit_offered(context: ToolContext, origin: Path, args: Clone) -> str:
    """Return the commit of a branch or tag, as a clone would choose it; for another the fault lists those there."""
    # An annotated tag is an object of its own: with `^{}` stands the version that it names.
    names = [f"refs/heads/{args.ref}", f"refs/tags/{args.ref}^{{}}", f"refs/tags/{args.ref}"] if args.ref else ["HEAD"]
    offers = _offers(context, origin, *names)
    if commit := next((offers[name] for name in names if name in offers), ""):
        return commit
    short = [
        name.split("/", 2)[2] for name in _offers(context, origin, "refs/heads/*", "refs/tags/*") if "^" not in name
    ]
    source = args.url or args.path or "the bundle"
    no_version = f"{quoted(args.ref)} is no branch or tag of {source}" if args.ref else f"{source} has no version"
    raise ToolFailed(Code.BAD_ARGUMENTS, f"{no_version}; {_there_is(short[:_NAMES_TOLD])}", effect=False)


def _offers(context: ToolContext, origin: Path, *patterns: str) -> dict[str, str]:
    """Return the commits of the whole names that patterns find; git itself would take the end of a name for it."""
    lines = _git(context, ["ls-remote", str(origin), *patterns]).stdout.splitlines()
    return {name: commit for commit, _, name in (line.partition("\t") for line in lines)}


def _there_is(names: list[str]) -> str:
    return f"there is {', '.join(quoted(name) for name in names) or 'none'}"


class PackedVersion(TypedDict):
    commit: str
    count: int
    files: list[StoredFrom]


def archive(context: ToolContext, args: Archive) -> PackedVersion:
    repository = _repository(context, args.path)
    name = f"{repository.name}.tar"
    tar = context.workdir / "git" / "archive.tar"
    if args.ref:
        commit = _commit_of(context, repository, args.ref)
        # Archives of several versions may meet in one folder.
        name = f"{repository.name}-{commit[:12]}.tar"
        _git(context, ["-C", str(repository), "archive", "--format=tar", f"--output={tar}", commit])
        # A filter of the repository ran beside git and may have left something else under this name.
        with plain(tar, "reading"), context.files.open(tar) as file, tarfile.open(fileobj=file) as packed:
            count = sum(1 for member in packed if member.isfile())
    else:
        commit = "the working copy"
        listed = _git(
            context,
            ["-C", str(repository), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"],
            names=True,
        )
        names = _whole(listed, f"{args.path} has too many files for one archive; name a version with `ref`")
        context.confine()
        count = _pack(context, repository, sorted(filter(None, names.split("\0"))), tar)
    if not count:
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{args.path} has no files in {commit}", effect=False)
    stored = context.put_last(tar, name=name, media="application/x-tar")
    return {"files": [{**stored, "path": name}], "commit": commit, "count": count}


def _pack(context: ToolContext, repository: Path, names: list[str], tar: Path) -> int:
    """Pack what git names, as it stands on the disk; a link is packed as one, and none is followed."""
    size = 0
    count = 0
    files = context.files
    with (
        plain(tar, "writing"),
        files.create(tar) as out,
        tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as packed,
    ):
        for name in names:
            path = repository / name
            if ".." in PurePosixPath(name).parts:
                continue
            try:
                head, data = _packed_as(files, path, name)
            except OSError as error:
                if error.errno == errno.ELOOP:
                    continue  # a folder on the way is a link: the file is not of this repository
                raise
            if head is None:
                continue  # deleted in the working copy, or a submodule
            size += head.size
            if size > _PACKED_BYTES_MOST:
                raise ToolFailed(Code.OUTPUT_TOO_BIG, f"{repository.name} is larger than 1 GiB", effect=False)
            with data or nullcontext():
                packed.addfile(head, data)
            count += 1
            context.progress(done_bytes=size, note=shown_name(name))
    return count


def _packed_as(files: Beneath, path: Path, name: str) -> tuple[tarfile.TarInfo | None, BinaryIO | None]:
    """Return the head of a file or link for an archive, and the open file; nothing for anything else."""
    about = files.status(path)
    head = tarfile.TarInfo(name)
    if about is not None and stat.S_ISLNK(about.st_mode):
        head.type, head.linkname = tarfile.SYMTYPE, files.target(path)
        head.mtime, head.mode = int(about.st_mtime), 0o777
        return head, None
    if about is None or not stat.S_ISREG(about.st_mode):
        return None, None
    data = files.open(path)
    about = os.fstat(data.fileno())
    head.size, head.mtime, head.mode = about.st_size, int(about.st_mtime), stat.S_IMODE(about.st_mode)
    return head, data


class Cloned(TypedDict):
    commit: str
    path: str
    state: Literal["kept", "made"]


def clone(context: ToolContext, args: Clone) -> Cloned:
    target = context.resolve_write(args.to)
    origin = _origin(context, args)
    offered_commit = _commit_offered(context, origin, args)
    files = context.files
    with plain(target, "looking at", effect=False):
        exists, copied = files.exists(target), files.exists(target / ".git")
    if exists:
        commit_there = _git(context, ["-C", str(target), "rev-parse", "HEAD"]).stdout.strip() if copied else ""
        if commit_there == offered_commit:
            return {"path": args.to, "commit": commit_there, "state": "kept"}
        raise ToolFailed(Code.BAD_ARGUMENTS, f"{args.to} is there already, with something else in it", effect=False)
    half = context.workdir / "git" / "clone"
    branch = ["--branch", args.ref] if args.ref else []
    depth = ["--depth", str(args.depth)] if args.depth else []
    argv = [
        "clone",
        "--no-hardlinks",
        "--template=",
        "--no-local",
        *branch,
        *depth,
        "--",
        f"file://{origin}",
        str(half),
    ]
    if args.source == "bundle":
        argv = ["clone", "--template=", *branch, "--", str(origin), str(half)]
    _git(context, argv, timeout_s=args.timeout_s)
    commit = _git(context, ["-C", str(half), "rev-parse", "HEAD"]).stdout.strip()
    address = args.url or args.path
    if address:
        _git(context, ["-C", str(half), "remote", "set-url", "origin", address])
    context.confine()
    with plain(target, "writing"):
        files.make_folder(target.parent)
        files.move(half, target)
    return {"path": args.to, "commit": commit, "state": "made"}


def _origin(context: ToolContext, args: Clone) -> Path:
    """Return a place on this device to clone from: a repository, a bundle, or what was fetched from the address."""
    if args.source == "folder":
        return _repository(context, args.path)
    if args.source == "bundle":
        if not args.files:
            raise ToolFailed(Code.BAD_ARGUMENTS, "give the bundle as files", effect=False)
        return context.fetch(args.files[0].hash)
    try:
        parts = urllib.parse.urlsplit(args.url)
        host = parts.hostname
    except ValueError:
        host = None
    if not host or parts.scheme not in ("https", "http") or parts.username or parts.password:
        raise ToolFailed(
            Code.BAD_ARGUMENTS,
            f"{quoted(args.url)} is no http(s) address without a user and password in it",
            effect=False,
        )
    context.check_host(host)
    bare = context.workdir / "fetched.git"
    home = context.workdir / "git"
    home.mkdir(exist_ok=True)
    settings = [part for setting in _BARE_SETTINGS for part in ("-c", setting)]
    # Bare and without a template: nothing of what comes is checked out, and no program of anyone's is started.
    argv = [
        "git", *settings, "-c", f"protocol.{parts.scheme}.allow=always", "-c", "http.followRedirects=false",
        "-c", "credential.helper=", "clone", "--bare", "--template=", "--", args.url, str(bare),
    ]  # fmt: skip
    ran = run_program(argv, timeout_s=args.timeout_s, cwd=home, environment=_environment(home), tell=context.log)
    if ran.exit_code:
        words = (ran.stderr.strip() or "it said nothing")[-400:]
        raise ToolFailed(Code.NETWORK, f"{args.url} could not be fetched: {words}", effect=False)
    return bare


def _probe() -> str | None:
    return None if shutil.which("git") else "git is not installed"


def _tool(name: str, title: str, args: type[Args], run: Any, effects: tuple[Effect, ...], **more: Any) -> Tool:
    pure = effects == (Effect.READ,)
    repeatability = Repeatability.PURE if pure and name != "git.archive" else Repeatability.IDEMPOTENT
    return Tool(
        name=name, title=title, args=args, run=run, effects=effects, repeatability=repeatability, grant=_GRANT,
        probe=_probe, caged=True, **more,
    )  # fmt: skip


TOOLS = (
    _tool("git.status", "Where a working copy stands", Status, status, (Effect.READ,)),
    _tool("git.log", "The last versions of a repository", Log, log, (Effect.READ,)),
    _tool("git.archive", "The files of a repository as one file", Archive, archive, (Effect.READ,)),
    _tool(
        "git.clone",
        "Make a working copy of a repository",
        Clone,
        clone,
        (Effect.WRITE, Effect.REACH),
        effects_by={"source": {"folder": (Effect.WRITE,), "bundle": (Effect.WRITE,)}},
    ),
)
