"""The process around a caged program: makes the cage, starts the program in it, watches its size, gives back its end.

Run by `cage.command` as a program of its own; `argv` is the cage as JSON, then the program. Exit code 125 and a line
on stderr mean that there is no cage and nothing was started. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox import limits, usage
from starloom_agent.sandbox.cage import Cage, Layer
from starloom_agent.sandbox.layers import bubblewrap, kernel, landlock, namespaces, seccomp
from starloom_agent.sandbox.quota import Quota

NO_CAGE: Final = 125
_NOT_STARTED: Final = 127
_END_WITHIN_S: Final = 5.0
# Behind the agent, the runner and this watch, which have to get a turn while a bomb goes off.
_NICER: Final = 5
_DESCRIPTORS_MAX: Final = 1024


def main(argv: list[str]) -> int:
    """Carry out one caged program and return its exit code (128 + number for a signal)."""
    inside = argv[1:2] == [cages.INSIDE]
    text, program = (argv[2], argv[3:]) if inside else (argv[1], argv[2:])
    cage = Cage.of(text)
    if inside:
        # bubblewrap has made the namespaces; what is left is to give up the rest and to begin.
        _become(cage, program)
    Path(cage.temporary).mkdir(mode=0o700, exist_ok=True)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    # What leaves the tree of the program comes back to this process, which ends it.
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    if cage.layer is Layer.BUBBLEWRAP:
        again = cages.command(cage, program, cages.INSIDE)
        child = _start(lambda: _exec(bubblewrap.command(cage, shutil.which("bwrap") or "bwrap", again)))
    elif cage.layer is Layer.NAMESPACES:
        namespaces.part_from_others()
        child = _start(lambda: _first_of_namespace(cage, program))
    else:
        child = _start(lambda: _become(cage, program))
    return _watch(cage, child)


def _start(be: Callable[[], NoReturn]) -> int:
    parent = os.getpid()
    child = os.fork()
    if child:
        return child
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        os.nice(_NICER)
        if os.getppid() not in (parent, 0):
            os._exit(NO_CAGE)
        be()
    except BaseException as error:
        _complain(error)
    finally:
        os._exit(NO_CAGE)


def _complain(error: BaseException) -> None:
    os.write(2, f"starloom: the cage could not be made: {type(error).__name__}: {error}\n".encode())


def _first_of_namespace(cage: Cage, program: list[str]) -> NoReturn:
    """Process 1 of the namespaces: build the root, start the program as process 2, end with it - and all with this."""
    namespaces.limit_processes(cage.processes_max)
    namespaces.make_root(cage)
    child = os.fork()
    if child == 0:
        try:
            _become(cage, program)
        except BaseException as error:
            _complain(error)
        finally:
            os._exit(NO_CAGE)
    while True:
        pid, status = os.waitpid(-1, 0)
        if pid == child:
            os._exit(_code_of(status))


def _become(cage: Cage, program: list[str]) -> NoReturn:
    """Give up every right that the program must not have, and execute it."""
    if cage.layer is Layer.LANDLOCK:
        _limit_threads(cage.processes_max)
    limits.lower(resource.RLIMIT_NOFILE, _DESCRIPTORS_MAX)
    if cage.disk_bytes_max:
        limits.lower(resource.RLIMIT_FSIZE, cage.disk_bytes_max)
    kernel.drop_capabilities()
    kernel.no_new_privileges()
    version = landlock.abi()
    if version:
        read = [*cages.SYSTEM, *cages.ETC, *cage.interpreter, *cage.read]
        write = [cage.workdir, *cages.DEVICES]
        if cage.layer is not Layer.LANDLOCK:
            # Here the root holds only what the cage names.
            read, write = ["/"], [*write, "/tmp", "/dev/shm", "/proc/self"]  # noqa: S108 - those of the cage
        landlock.restrict(read=read, write=write)
    if cage.layer is Layer.LANDLOCK:
        if not version:
            raise OSError("this kernel has no Landlock")
        seccomp.restrict(
            network=False,
            metadata=False,
            signals=version >= landlock.ABI_SCOPE,
            truncate=version >= landlock.ABI_TRUNCATE,
        )
    else:
        # bubblewrap can show the machine's own devices in one way only, and there their owner could change modes.
        metadata_is_free = cage.layer is Layer.BUBBLEWRAP and Path(os.devnull).stat().st_uid == os.getuid()
        seccomp.restrict(network=True, metadata=not metadata_is_free)
    os.chdir(cage.workdir)
    outside = dict(os.environ)
    os.environ.clear()
    os.environ.update(cages.environment(cage, outside))
    _exec(program)


def _limit_threads(most: int) -> None:
    """Bound the processes of this user, where the kernel counts them; the watch holds for those it does not count."""
    running = sum(1 for entry in os.scandir("/proc") if entry.name.isdigit()) if Path("/proc/self").exists() else 0
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most_processes = running * 4 + most
    limit = most_processes if hard == resource.RLIM_INFINITY else min(most_processes, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))


def _exec(program: list[str]) -> NoReturn:
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execvp(program[0], program)  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, f"starloom: {program[0]} could not be started: {error}\n".encode())
        os._exit(_NOT_STARTED)


def _watch(cage: Cage, child: int) -> int:
    ended: int | None = None
    quota = Quota(cage)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while True:
        ended = _reap(child)
        if ended is not None:
            break
        passed = quota.passed()
        if passed:
            _end_all(child)
            for limit in passed:
                os.write(2, cages.passed_line(*limit).encode())
            return 128 + signal.SIGKILL
        signal.sigtimedwait({signal.SIGCHLD}, quota.wait_s)
    _end_all(child)
    return ended


def _reap(child: int) -> int | None:
    ended = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == child:
                ended = _code_of(status)
    return ended


def _code_of(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_all(child: int) -> None:
    """Kill until no process is left: stop them first, so that none is forked while they are counted."""
    with contextlib.suppress(ProcessLookupError):
        # In namespaces this alone ends everything at once.
        os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + _END_WITHIN_S
    while time.monotonic() < deadline:
        _reap(child)
        pids = usage.below(os.getpid())
        if not pids:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        time.sleep(0.002)
