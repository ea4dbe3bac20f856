"""The strongest layer: own user, network, process, mount and IPC namespaces, and a root made of named folders only.

Runs in the cage's own process, in two steps around a fork, because a process namespace begins with a child.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox.cage import Cage
from starloom_agent.sandbox.layers import kernel

_UID_INSIDE: Final = 1000


def part_from_others() -> None:
    """Leave the machine's network, users and IPC; the next child begins a process namespace.

    Raises:
        OSError: where user namespaces are switched off or forbidden to this user.
    """
    uid, gid = os.getuid(), os.getgid()
    kernel.unshare(
        kernel.CLONE_NEWUSER | kernel.CLONE_NEWNET | kernel.CLONE_NEWPID | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
    )
    Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
    # Never 0 inside: starting a program as that would give it every capability of the namespace.
    Path("/proc/self/uid_map").write_text(f"{uid or _UID_INSIDE} {uid} 1", encoding="ascii")
    Path("/proc/self/gid_map").write_text(f"{gid or _UID_INSIDE} {gid} 1", encoding="ascii")


def limit_processes(most: int) -> None:
    """Let the kernel itself end the growth of this process namespace (Linux 6.14 and later; else it is watched)."""
    with contextlib.suppress(OSError):
        Path("/proc/sys/kernel/pid_max").write_text(str(max(most, 301)), encoding="ascii")


def make_root(cage: Cage) -> None:
    """In the first process of the namespaces: replace the root by one that holds only what the cage names.

    Raises:
        OSError: where mounts are forbidden even inside the namespaces.
    """
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    # Any folder does: the new root hides it, and this mount is seen by nobody else.
    root = "/tmp" if Path("/tmp").is_dir() else "/usr"  # noqa: S108 - a mount point, nothing is written there
    sources = {path: os.open(path, os.O_PATH) for path in _sources(cage)}
    kernel.mount("tmpfs", root, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=4m,mode=755")
    # First, because the attempt's own directory may itself lie below the machine's /tmp.
    _bind(sources[cage.temporary], root, "/tmp", kernel.ATTR_QUIET)  # noqa: S108 - the attempt's own, inside the cage
    for path, descriptor in sources.items():
        if path in cages.DEVICES:
            # Read-only keeps the mode and owner of the machine's own device; it is written to as before.
            _bind(descriptor, root, path, kernel.ATTR_NOSUID | kernel.ATTR_RDONLY)
        elif path == cage.workdir:
            _bind(descriptor, root, path, kernel.ATTR_QUIET)
        elif path != cage.temporary:
            _bind(descriptor, root, path, kernel.ATTR_QUIET | kernel.ATTR_RDONLY)
    for descriptor in sources.values():
        os.close(descriptor)
    for name, target in (("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")):
        Path(root, "dev", name).symlink_to(f"/proc/self/fd{target}")
    shared = Path(root, "dev", "shm")
    shared.mkdir(mode=0o777)
    kernel.mount("tmpfs", str(shared), "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=64m")
    Path(f"{root}/proc").mkdir()
    with contextlib.suppress(OSError):
        # Refused inside some containers; then there is no /proc, which is less, not more.
        kernel.mount("proc", f"{root}/proc", "proc", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    os.chdir(root)
    kernel.pivot_root(".", ".")
    kernel.detach(".")
    kernel.mount("none", "/", flags=kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY)
    os.chdir(cage.workdir)


def _sources(cage: Cage) -> list[str]:
    """Return every path to show, outer ones first, so that an inner mount is never hidden by an outer one."""
    places = (*cages.SYSTEM, *cages.ETC, *cages.DEVICES, *cage.interpreter, *cage.read, cage.workdir)
    paths = {os.path.normpath(path) for path in (*places, cage.temporary) if Path(path).exists()}
    return sorted(paths, key=lambda path: (path.count("/"), path))


def _bind(descriptor: int, root: str, path: str, attributes: int) -> None:
    target = Path(root + path)
    if path in cages.SYSTEM and Path(path).is_symlink():
        target.symlink_to(Path(path).readlink())
        return
    source = f"/proc/self/fd/{descriptor}"
    _place(target, folder=Path(source).is_dir())
    # With what is mounted below it, because the kernel does not let a part of it be uncovered.
    kernel.mount(source, str(target), flags=kernel.MS_BIND | kernel.MS_REC)
    kernel.restrict_mount(str(target), attributes)


def _place(target: Path, *, folder: bool) -> None:
    if folder:
        target.mkdir(parents=True, exist_ok=True)
    elif not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
