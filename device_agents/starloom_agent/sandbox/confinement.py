"""The confinement of a file tool's own process: granted folders, its directory, and what Python and the network need.

By Landlock, where the kernel has it, and the filter of system calls of a cage; both stand behind
`toolkit.beneath`, which holds without them too. Not a cage: the process keeps the network and its environment,
because it talks to the hub.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable
from typing import Final

from starloom_agent.sandbox import cage as cages

# Files for looking up hosts and checking certificates.
_NETWORK: Final = (
    "/etc/ca-certificates", "/etc/crypto-policies", "/etc/gai.conf", "/etc/host.conf", "/etc/hosts",
    "/etc/nsswitch.conf", "/etc/pki", "/etc/resolv.conf", "/etc/services", "/etc/ssl",
)  # fmt: skip
_MEDIA_TYPES: Final = (
    "/etc/apache/mime.types", "/etc/apache2/mime.types", "/etc/httpd/conf/mime.types", "/etc/httpd/mime.types",
)  # fmt: skip
# Who `~name` is, and the folders of packages on systems that keep none of them in /usr.
_SYSTEM: Final = ("/etc/group", "/etc/passwd", "/gnu/store", "/nix/store", "/run/current-system")
# File tools set modes and times of what they write; Landlock does not limit that, `toolkit.beneath` does.
_FILTER: Final[dict[str, bool]] = {"network": True, "metadata": True}
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")


def can_confine(*, foreign: bool = False) -> bool:
    """Whether `confine` would hold here; for a program that is not our own, only with the filter of system calls."""
    if not sys.platform.startswith("linux"):
        return False
    from starloom_agent.sandbox.layers import landlock, seccomp

    return landlock.abi() >= landlock.ABI_REFER and (seccomp.is_known() or not foreign)


def confine(*, read: Iterable[str], write: Iterable[str], foreign: bool = False) -> bool:
    """Give up every file of this process but these and what Python needs; for good, also for what it starts.

    Return False, with nothing given up, where the kernel cannot: no Landlock, or one that forbids every move between
    folders. On a processor without a filter, Landlock stands alone.

    `foreign`: the process becomes a program that is not our own. It also loses the rights of root, local sockets (a
    service behind one, such as the session bus, would act outside for it) and signals to processes outside.

    Raises:
        OSError: where the kernel could and refuses.
    """
    if not can_confine(foreign=foreign):
        return False
    from starloom_agent.sandbox.layers import kernel, landlock, seccomp  # these load libraries that only Linux has

    if foreign:
        # With the rights of root it would see the memory of processes outside.
        kernel.drop_capabilities()
    kernel.no_new_privileges()
    landlock.restrict(
        read=[*_of_python(), *read], write=[*cages.DEVICES, *write], files_alone=True, signals_inside=foreign
    )
    if seccomp.is_known():
        seccomp.restrict(**_FILTER, local=not foreign)
    return True


def prepare() -> None:
    """Load and build what `confine` needs, for processes that are forked from this one. Gives up nothing."""
    if sys.platform.startswith("linux"):
        from starloom_agent.sandbox.layers import landlock, seccomp

        landlock.abi()
        _of_python()
        if seccomp.is_known():
            seccomp.prepare(**_FILTER)


def _of_python() -> tuple[str, ...]:
    certificates = tuple(os.environ[name] for name in _CERTIFICATES if name in os.environ)
    return (*_without_own(tuple(sys.path)), *certificates)


@functools.cache
def _without_own(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return what Python needs with this search path, whatever the environment names beside it."""
    programs = (*cages.SYSTEM, *cages.interpreter(), *(part for part in path if part))
    return (*_outermost(programs), *cages.ETC, *_SYSTEM, *_NETWORK, *_MEDIA_TYPES)


def _outermost(paths: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths without those that lead into another one of them, which adds nothing.

    They are looked at once for all calls that are forked from this process. A link that led into another path then, and
    is exchanged later, gives nothing new.
    """
    real = {path: os.path.realpath(path) for path in dict.fromkeys(paths)}
    outer: dict[str, str] = {}
    for path in sorted(real, key=lambda path: real[path].count("/")):
        if not any(real[path] == root or real[path].startswith(f"{root}/") for root in outer.values()):
            outer[path] = real[path]
    return tuple(outer)
