"""Attacks from inside a cage, on every layer that this machine has: each must fail, and a fault would be seen outside.

The driver is a program in the cage that has the numbers of system calls at hand; what it reached is looked for from
here, never believed.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from starloom_agent.sandbox import escapes
from starloom_agent.sandbox.cage import Layer, passed_limit
from starloom_agent.sandbox.layers import call_numbers, seccomp
from tests.device_agents.sandbox.test_cage import Ground, ground, marked

__all__ = ["ground"]  # the fixture

MIB = 1 << 20
NUMBERS = call_numbers.numbers(os.uname().machine)
WITH_CALLS = (
    f"import ctypes, json, os, sys, time\nN = json.loads({json.dumps(json.dumps(NUMBERS))})\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "def call(name, *args):\n    return libc.syscall(N[name], *[ctypes.c_long(a) for a in args])\n"
)
ENDED = 128 + signal.SIGKILL


@pytest.mark.parametrize("family", [40, 16, 17, 38, 31], ids=["vsock", "netlink", "packet", "alg", "bluetooth"])
def test_no_socket_leads_around_the_empty_network(ground: Ground, family: int) -> None:
    kinds = "socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, 5"
    code = (
        f"import socket\nfor kind in ({kinds}):\n    try: socket.socket({family}, kind)\n    except OSError: continue\n"
    )
    ran = ground.run(f"{code}    print('made', kind)")
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_pairs_of_sockets_and_pipes_go_on_working(ground: Ground) -> None:
    said = ground.tries("[end.close() for end in socket.socketpair()]", "os.pipe()")
    assert said == ["done", "done"]


@pytest.mark.parametrize("name", sorted(escapes.calls_open(NUMBERS, 0)))
def test_each_call_around_the_cage_is_refused(ground: Ground, name: str) -> None:
    source = Path(escapes.__file__).read_text(encoding="utf-8").partition("if __name__")[0]
    ran = ground.run(f"{source}\nprint(calls_open({NUMBERS!r}, {os.getpid()})[{name!r}]())")
    assert (ran.returncode, ran.stdout) == (0, "False\n"), ran.stderr


def test_the_keys_of_the_session_stay_the_agents(ground: Ground) -> None:
    # add_key("user", "k", "secret", 6, session keyring), then a look for it by name
    code = (
        f"{WITH_CALLS}kind, name = ctypes.create_string_buffer(b'user'), ctypes.create_string_buffer(b'starloom-k')\n"
        "at = ctypes.addressof\n"
        "print(call('add_key', at(kind), at(name), at(name), 6, -3), call('request_key', at(kind), at(name), 0, 0))"
    )
    assert ground.run(code).stdout.split() == ["-1", "-1"]


def test_limits_of_processes_outside_stay(ground: Ground) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE), os.getpriority(os.PRIO_PROCESS, os.getpid())
    said = ground.tries(
        f"__import__('resource').prlimit({os.getpid()}, 7, (64, 64))",
        f"os.setpriority(os.PRIO_PROCESS, {os.getpid()}, 19)",
        f"os.sched_setaffinity({os.getpid()}, {{0}})",
    )
    assert "done" not in said
    assert (resource.getrlimit(resource.RLIMIT_NOFILE), os.getpriority(os.PRIO_PROCESS, os.getpid())) == before


def test_metadata_of_files_outside_stays(ground: Ground) -> None:
    canary, given, null = ground.home / "canary", Path(ground.cage.read[0], "given"), Path("/dev/null")
    places = [canary, given, null, ground.home]
    before = [
        (path.stat().st_mode, path.stat().st_mtime_ns, path.stat().st_uid, path.stat().st_nlink) for path in places
    ]
    attempts = []
    for path in map(str, places):
        handle = f"os.open({path!r}, os.O_RDONLY)"
        attempts += [
            f"os.chmod({path!r}, 0o777)",
            f"os.fchmod({handle}, 0o777)",
            f"os.utime({path!r}, (1, 1))",
            f"os.utime({handle}, (1, 1))",
            f"os.utime({path!r}, (1, 1), follow_symlinks=False)",
            f"os.chown({path!r}, 12345, 12345)",
            f"os.fchown({handle}, 12345, 12345)",
            f"os.setxattr({path!r}, 'user.starloom', b'x')",
            f"os.setxattr({handle}, 'user.starloom', b'x')",
            f"os.truncate({path!r}, 1)",
            f"__import__('fcntl').ioctl({handle}, 0x40086602, b'\\x80\\0\\0\\0\\0\\0\\0\\0')",
        ]
    said = ground.tries(*attempts)
    assert len(said) == len(attempts)
    assert "done" not in said
    after = [
        (path.stat().st_mode, path.stat().st_mtime_ns, path.stat().st_uid, path.stat().st_nlink) for path in places
    ]
    assert after == before
    assert [os.listxattr(path) for path in places[:2]] == [[], []]


def test_news_of_files_outside_are_not_heard(ground: Ground) -> None:
    code = (
        f"{WITH_CALLS}heard = libc.inotify_init()\n"
        f"print(libc.inotify_add_watch(heard, {str(ground.home).encode()!r}, 0xfff))"
    )
    assert ground.run(code).stdout == "-1\n"


def test_metadata_of_its_own_files_is_its_own_where_mounts_hold(ground: Ground) -> None:
    own = ground.tries("open('f', 'w').close() or os.chmod('f', 0o755) or os.utime('f', (1, 1))")
    # bubblewrap shows the machine's own devices, which belong to root.
    lost = ground.cage.layer is Layer.LANDLOCK or (ground.cage.layer is Layer.BUBBLEWRAP and os.getuid() == 0)
    assert own == (["PermissionError"] if lost else ["done"])


SHARED = (
    "import mmap, os, time\nm = mmap.mmap(-1, 160 << 20)\n"
    "for at in range(160): m[at << 20:at + 1 << 20] = bytes(1 << 20)\n"
)
EATERS = {
    "own": "x = b'x' * (160 << 20)",
    "shared": SHARED,
    "shared and given back": f"{SHARED}m.madvise(mmap.MADV_DONTNEED)",
    "shared by children": (
        "import mmap, os, time\nmaps = [mmap.mmap(-1, 20 << 20) for _ in range(8)]\n"
        "for m in maps:\n    if os.fork() == 0:\n        m.write(bytes(20 << 20)); time.sleep(60)\n"
    ),
    "shared with one page left": (
        "import ctypes, mmap\nlibc = ctypes.CDLL(None)\nlibc.mmap.restype = ctypes.c_void_p\n"
        "for _ in range(160):\n    at = libc.mmap(None, 1 << 20, 3, 0x21, -1, 0)\n    ctypes.memset(at, 1, 1 << 20)\n"
        "    libc.munmap(ctypes.c_void_p(at + 4096), (1 << 20) - 4096)\n"
    ),
    "device": (
        "import mmap, os\nf = os.open('/dev/zero', os.O_RDWR)\nm = mmap.mmap(f, 160 << 20)\n"
        "for at in range(160): m[at << 20:at + 1 << 20] = b'x' * (1 << 20)\n"
    ),
}


@pytest.mark.parametrize("name", EATERS)
def test_no_kind_of_memory_passes_its_limit(ground: Ground, name: str) -> None:
    ground.cage = replace(ground.cage, memory_bytes_max=100 * MIB)
    ran = ground.run(f"{EATERS[name]}\nimport time; time.sleep(60)")
    passed = passed_limit(ran.returncode, ran.stderr)
    assert passed is not None, ran.stderr
    assert passed[0] == "memory_exceeded"
    used = re.fullmatch(r"it used (\d+) MiB of memory; its limit is 100 MiB", passed[1])
    assert used is not None
    assert int(used[1]) > 100
    assert marked() == []


def test_memory_without_a_process_cannot_be_made(ground: Ground) -> None:
    code = (
        f"{WITH_CALLS}name = ctypes.create_string_buffer(b'm')\n"
        "print(call('memfd_create', ctypes.addressof(name), 0), call('shmget', 0, 4096, 0o1600))\n"
        "print(libc.mq_open(b'/m', 66))\n"
        "try: open('/dev/shm/big', 'wb').write(bytes(70 << 20)); print('written')\n"
        "except OSError: print('refused')"
    )
    ground.cage = replace(ground.cage, disk_bytes_max=64 * MIB)
    said = ground.run(code).stdout.split()
    assert said[:3] == ["-1", "-1", "-1"]
    assert said[3:] == ["refused"]


WRITERS = {
    "its own folder": "d = '.'",
    "its temporary folder": "import tempfile; d = tempfile.gettempdir()",
}
WRITE = "for n in range(12):\n    with open(f'{d}/f{n}', 'wb') as f: f.write(bytes(4 << 20))\n"


@pytest.mark.parametrize("name", WRITERS)
def test_more_disk_than_allowed_ends_it(ground: Ground, name: str) -> None:
    ground.cage = replace(ground.cage, disk_bytes_max=16 * MIB)
    ran = ground.run(f"import sys, time\n{WRITERS[name]}\n{WRITE}time.sleep(60)")
    passed = passed_limit(ran.returncode, ran.stderr)
    assert passed is not None, ran.stderr
    assert passed[0] == "disk_exceeded"
    assert re.fullmatch(r"it wrote \d+ MiB; its limit is 16 MiB", passed[1])


def test_one_file_above_the_limit_is_refused(ground: Ground) -> None:
    ground.cage = replace(ground.cage, disk_bytes_max=16 * MIB)
    ran = ground.run("open('f', 'wb').write(bytes(20 << 20)); print('done')")
    assert ran.returncode != 0
    assert "done" not in ran.stdout
    assert Path(ground.cage.workdir, "f").stat().st_size <= 16 * MIB


def test_files_without_number_end_it(ground: Ground) -> None:
    code = "import os, time\nos.mkdir('d')\nfor n in range(200): os.mkdir(f'd/{n}')\ntime.sleep(60)"
    ground.cage = replace(ground.cage, disk_bytes_max=4 << 30, files_max=100)
    ran = ground.run(code)
    assert passed_limit(ran.returncode, ran.stderr) == (
        "disk_exceeded",
        "it made more than 100 files in its own folder",
    )


def test_a_program_that_plays_the_watch_accuses_itself_only() -> None:
    line = "starloom: ended (disk_exceeded): it wrote 1 MiB; its limit is 0 MiB\n"
    assert passed_limit(ENDED, line) == ("disk_exceeded", "it wrote 1 MiB; its limit is 0 MiB")
    assert passed_limit(0, line) is None
    assert passed_limit(ENDED, line.replace("disk_exceeded", "policy_refused")) is None


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_filter_is_whole_on_every_processor(machine: str) -> None:
    known = call_numbers.numbers(machine)
    assert len(set(known.values())) == len(known)
    for network in (True, False):
        lines = seccomp.filter_of(machine, network=network, metadata=network, signals=network, truncate=network)
        assert len(lines) < 4096
        for at, (code, yes, no, _) in enumerate(lines):
            # Every jump stays inside, and nothing falls off the end.
            assert at + 1 + max(yes, no) < len(lines) or code == 0x06
        assert lines[-1] == (0x06, 0, 0, 0x7FFF_0000)
    assert call_numbers.numbers("riscv64") == {}
