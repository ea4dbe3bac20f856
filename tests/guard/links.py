"""A granted folder in which another process exchanges folders and files for links that lead out, all the time."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starloom_agent.toolkit.interface import ToolFailed
from tests.device_agents.tools.conftest import Device
from tests.waiting import PATIENCE_S

CANARY = "canary-27ba"
TEXT = f"2026-11-24 10:00:00 error {CANARY}\n"
OUTSIDE_BYTES = 7919
_SIZE_SAID = re.compile(rb"(?<![0-9a-f])%d(?![0-9a-f])" % OUTSIDE_BYTES)
"""As a number of its own: one hash in a thousand has these four digits among its own."""
ROUNDS = 40 if os.environ.get("FULL") else 1
"""How much longer the race goes on with FULL=1."""

# What it exchanges for a link: each lies in the granted folder, beside its link to the same name outside.
EXCHANGED = ("d", "e/sub", "src", ".starloom-trash", "d/id_rsa", "d/x.log", "d/base.sqlite", "d/p.png", "repo", "inner")
GIT = "repo"

# RENAME_EXCHANGE: the name is always there, now the folder itself, now the link. A half-written file is replaced by a
# link as soon as it is seen.
_SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
docs, outside, names = sys.argv[1], sys.argv[2], sys.argv[3:]
here = -100
def exchange(one, other):
    libc.renameat2(here, one.encode(), here, other.encode(), 2)
pairs = []
for name in names:
    folder, _, last = name.rpartition("/")
    at = os.path.join(docs, folder)
    link = os.path.join(at, ".link-" + last)
    os.symlink(os.path.join(outside, name), link)
    pairs.append((os.path.join(docs, name), link))
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    for name, link in pairs:
        exchange(name, link)
    if turn % 8 == 0:
        for folder in (docs, os.path.join(docs, "e")):
            try:
                for entry in os.listdir(folder):
                    if entry.endswith(".part"):
                        part = os.path.join(folder, entry)
                        os.rename(part, part + ".old")
                        os.symlink(os.path.join(outside, "d/id_rsa"), part)
            except OSError:
                pass
"""


class Place:
    """A device with one granted folder, and a private folder beside it that no grant names."""

    def __init__(self, home: Path) -> None:
        self.device = Device(home)
        self.docs = self.device.folder
        self.outside = home / "private"
        self.outside.mkdir()

    def seen_outside(self) -> dict[str, tuple[int, int, bytes]]:
        """Return all that lies outside: its kind and mode, its time of change, its contents."""
        found = {}
        for path in sorted([self.outside, *self.outside.rglob("*")]):
            about = path.lstat()
            found[str(path)] = (about.st_mode, about.st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        return found

    def leaked(self, *values: Any) -> list[str]:
        """Return where the canary lies that is not its own place: the folder, the store, what was said."""
        places = [*_plain_files(self.docs), *_plain_files(self.device.store.folder)]
        texts = [(str(path), path.read_bytes()) for path in places]
        texts += [(f"value {number}", str(value).encode()) for number, value in enumerate(values)]
        hidden = (CANARY.encode(), hashlib.sha256(TEXT.encode()).hexdigest().encode())
        found = [name for name, data in texts if any(word in data for word in hidden)]
        return found + [name for name, data in texts if name.startswith("value") and _SIZE_SAID.search(data)]

    def call(self, name: str, /, **args: Any) -> Any:
        """Call a tool; its failure is an answer too."""
        try:
            return self.device.call(name, **args)
        except (ToolFailed, OSError) as failed:
            return str(failed)


def _plain_files(folder: Path) -> list[Path]:
    """Return the regular files below a folder without following a link."""
    found = []
    for below, _, names in os.walk(folder):
        found += [Path(below, name) for name in names]
    return [path for path in found if not path.is_symlink() and path.is_file()]


def make_repository(folder: Path, text: str, author: str) -> None:
    """Make a git repository with one file."""
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=PATIENCE_S)
    (folder / "a.txt").write_text(text, encoding="utf-8")
    someone = ["-c", "user.name=a", "-c", f"user.email={author}@example.org"]
    for argv in (["add", "-A"], [*someone, "commit", "-qm", "one"]):
        subprocess.run(["git", "-C", str(folder), *argv], check=True, timeout=PATIENCE_S)


def furnish(place: Place, *, git: bool) -> None:
    """Lay out the same names inside and outside: harmless here, with the canary there."""
    for folder, text in ((place.docs, "mine"), (place.outside, TEXT)):
        tickets = [f".starloom-trash/{ticket}" for ticket in ("t1", "1-0123456789ab")]
        for name in (
            *("d/id_rsa", "d/x.log", "e/sub/rc", "src/a/rc", "src/rc", "inner/a.txt"),
            *(f"{ticket}/rc" for ticket in tickets),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        for ticket in tickets:
            (folder / ticket / "from.json").write_text('{"path": "%s"}' % (folder / "e/rc"), encoding="utf-8")
        with closing(sqlite3.connect(folder / "d/base.sqlite")) as made, made:
            made.execute("CREATE TABLE t (words TEXT)")
            made.execute("INSERT INTO t VALUES (?)", (text,))
        if git:
            make_repository(folder / GIT, text, "a" if text == "mine" else CANARY)
        else:
            (folder / GIT).mkdir()
        for number in range(1, 4):
            (folder / f"d/box-D-2026010{number}T000000Z.tar.gz").write_text(f"{text} {number}", encoding="utf-8")
    # A file that is longer than any other, so that its size alone tells where it lies.
    (place.docs / "d/p.png").write_bytes(b"\x89PNG")
    (place.outside / "d/p.png").write_bytes(b"\0" * OUTSIDE_BYTES)


def a_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        for name in ("rc", "sub/rc", "id_rsa"):
            head = tarfile.TarInfo(name)
            head.size = 6
            made.addfile(head, io.BytesIO(b"attack"))
    return out.getvalue()


def attacks(place: Place) -> dict[str, tuple[str, dict[str, Any]]]:
    """Return a call of every file tool, some in several ways, by a name for each."""
    ref = place.device.store.take(b"attack", name="rc")
    tar = place.device.store.take(a_tar(), name="t.tar")
    pair = [{**ref, "below": path} for path in ("rc", "sub/rc")]
    archives = [{"name": f"box-D-2026010{number}T000000Z.tar.gz"} for number in (1, 2, 3)]
    return {
        "list": ("fs.list", {"path": "d", "hidden": True}),
        "find": ("fs.find", {"root": "d", "hidden": True}),
        "find-whole": ("fs.find", {"root": ".", "whole": True, "group_by": "folder"}),
        "search": ("fs.search", {"root": "d", "text": CANARY[:8], "hidden": True}),
        "read": ("fs.read", {"path": "d/id_rsa"}),
        "stat": ("fs.stat", {"paths": ["d/p.png", "d/id_rsa"]}),
        "hash": ("fs.hash", {"paths": ["d/id_rsa", "inner/a.txt"]}),
        "verify": ("fs.verify", {"under": "d", "catalogue": [{"path": "d/id_rsa", "sha256": "0" * 64}]}),
        "write-text": ("fs.write", {"path": "d/id_rsa", "text": "attack"}),
        "write-files": (
            "fs.write",
            {"files": pair, "under": "e", "name_by": "path", "on_clash": "replace"},
        ),
        "copy-into": ("fs.copy", {"path": "src", "to": "e/sub", "on_clash": "replace"}),
        "copy-from": ("fs.copy", {"path": "d", "to": "copied", "on_clash": "replace"}),
        "move-into": ("fs.move", {"path": "src/rc", "to": "d/moved"}),
        "move-from": ("fs.move", {"path": "e/sub/rc", "to": "taken"}),
        "trash": ("fs.trash", {"paths": ["d/x.log", "e/sub/rc"]}),
        "restore": ("fs.restore", {"tickets": ["t1"]}),
        "trash-list": ("trash.list", {}),
        "trash-empty": ("trash.empty", {"older_than_days": 0}),
        "put": ("artifact.put", {"paths": ["src/rc", "d/id_rsa", "d/x.log"]}),
        "get": ("artifact.get", {"artifact": ref["artifact"], "to": "e/sub/rc"}),
        "pack": ("archive.pack", {"path": "d"}),
        "zip": ("archive.zip", {"path": "d"}),
        "unpack": ("archive.unpack", {"files": [tar], "under": "e/sub"}),
        "archive-verify": ("archive.verify", {"files": [{"path": "d/x.log"}]}),
        "rotate": ("archive.rotate", {"files": archives, "under": "d", "keep": 1}),
        "log": ("log.search", {"path": "d", "since": "2020-01-01"}),
        "image": ("image.info", {"files": [{"path": "d/p.png"}]}),
        "query": ("sqlite.query", {"path": "d/base.sqlite", "sql": "SELECT words FROM t"}),
        "database": ("sqlite.copy", {"path": "d/base.sqlite"}),
        "git-log": ("git.log", {"path": "repo"}),
        "git-archive": ("git.archive", {"path": "repo"}),
        "git-clone": ("git.clone", {"source": "folder", "path": "repo", "to": "e/sub/clone"}),
    }


@dataclass
class Swapper:
    """The process that exchanges names, from `begin` to `end`."""

    place: Place
    names: tuple[str, ...] = EXCHANGED
    process: subprocess.Popen[str] = field(init=False)

    def __enter__(self) -> Swapper:
        argv = [sys.executable, "-c", _SWAPPER, str(self.place.docs), str(self.place.outside), *self.names]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
