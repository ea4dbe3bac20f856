#!/usr/bin/env python3
"""Join this device to a Starloom hub. Standard library only; read it before you run it.

    curl -fsS URL/agent/join.py -o join.py && python3 join.py URL CODE [--name N] [--profile P [DIR ...]]
It makes ~/.starloom-agent/venv, installs the hub's wheels and what they need by hash, and runs `starloom-agent join`,
which asks what the hub may do here. --dry-run only says what would be done. To undo: starloom-agent leave --purge.
"""

import sys

if __name__ == "__main__" and not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    del sys.path[0]  # Python looks first beside this file, where downloads lie: nothing there is a part of it

import argparse
import base64
import contextlib
import hashlib
import http.client
import json
import socket
import ssl
import subprocess
import tempfile
from pathlib import Path
from urllib.parse import quote, urlsplit

WANTED, PORTS, MOST_BYTES = ("starloom_protocol", "starloom_agent"), {"http": 80, "https": 443}, 50_000_000
MORE = "--folder DIR (one more) --label K=V (plans select by it) --answers here|hub (who answers) --yes (change hubs)"


def fail(text):
    sys.exit(f"join.py: {text}")


def key_of(der):
    """Return the public key in a certificate: the seventh part of its signed half, after an optional version."""

    def part(at):
        length, start = der[at + 1], at + 2
        if length & 0x80:
            start += length & 0x7F
            length = int.from_bytes(der[at + 2 : start], "big")
        return start, start + length

    at = part(part(0)[0])[0]
    for _ in range(6 if der[at] == 0xA0 else 5):
        at = part(at)[1]
    return der[at : part(at)[1]]


class Hub:
    """The hub at its URL; with a pin its certificate must carry that key, with `via` it is dialled there."""

    def __init__(self, url, pin, via):
        self.url, self.pin, self.at, self.end = url, pin, urlsplit(url), urlsplit(f"//{via}" if via else url)

    def connect(self):
        opened = socket.create_connection((self.end.hostname, self.end.port or PORTS[self.at.scheme]), 30)
        if self.at.scheme == "http":
            return opened
        context = ssl.create_default_context()
        if self.pin:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        opened = context.wrap_socket(opened, server_hostname=self.at.hostname)
        digest = hashlib.sha256(key_of(opened.getpeercert(True))).digest() if self.pin else b""
        if self.pin and self.pin != "sha256//" + base64.b64encode(digest).decode():
            fail(f"{self.url} has another key than the line names: something stands between, or the line is old")
        return opened

    def get(self, path, sha256=None):
        """Download one small file, with the hash that the hub named if it named one, or say why not."""
        try:
            with contextlib.closing(http.client.HTTPConnection(self.at.netloc)) as link:
                link.sock = self.connect()
                link.request("GET", path)
                data = (answer := link.getresponse()).read(MOST_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            fail(f"{self.url} does not answer: {error}. Is the hub running, and can this device reach it?")
        if answer.status != 200 or len(data) > MOST_BYTES:
            said = json.loads(data) if data.startswith(b"{") else {}
            fail(f"{self.url}{path}: {said.get('reason', f'status {answer.status}')}. {said.get('hint', '')}")
        if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
            fail(f"{self.url}{path} has another hash than the hub named, {sha256}: nothing was installed")
        return data


def run(*argv):
    if subprocess.call([str(item) for item in argv]):
        fail(f"this did not work: {' '.join(map(str, argv))}. For a device without a package index see docs/reach.md")


def main():
    parser = argparse.ArgumentParser(usage="join.py URL CODE [option ...]", epilog=f"further options: {MORE}")
    parser.add_argument("url", help="the hub's address, as it printed it")
    parser.add_argument("code", help="the code that the hub showed, within its time")
    parser.add_argument("--name", help="what this device is called")
    parser.add_argument("--profile", nargs="+", metavar=("PROFILE", "DIR"), help="observe, files, work or operate")
    parser.add_argument("--home", default="~/.starloom-agent", help="where the agent lives (default %(default)s)")
    parser.add_argument("--pin", default="", help="the public key of the hub's certificate, sha256//...")
    parser.add_argument("--via", default="", help="HOST:PORT here where a tunnel to the hub ends")
    parser.add_argument("--start", action=argparse.BooleanOptionalAction, default=True, help="start the agent then")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    options, others = parser.parse_known_args()
    if unknown := [word for word in others if word[:1] == "-" and word.split("=")[0] not in MORE.split()]:
        parser.error(f"{' '.join(unknown)}: there is no such option")
    if sys.version_info < (3, 11):  # noqa: UP036 - it runs on whatever Python is there
        fail(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    hub = Hub(options.url.rstrip("/"), options.pin, options.via)
    if hub.at.scheme not in ("http", "https") or (options.pin and hub.at.scheme == "http"):
        fail(f"{hub.url} is no address as http://192.168.1.10:8470 (a pin needs https); URL and CODE stand first")
    home = Path(options.home).expanduser().resolve()
    python = home / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    given = [f"--{name}={vars(options)[name]}" for name in ("name", "pin", "via") if vars(options)[name]]
    join = [python, "-P", "-m", "starloom_agent", "join", hub.url, options.code, "--home", home, *given, *others]
    join += ["--start"] * options.start + (["--profile", *options.profile] if options.profile else [])
    listed = [item for item in json.loads(hub.get("/agent/wheels.json")) if not set(item["file"]) & set("/\\")]
    own = {item["name"]: item for item in listed if item["name"] in WANTED}
    if len(own) < len(WANTED):
        fail(f"{hub.url} does not offer {' and '.join(WANTED)}")
    pins, ours = hub.get("/agent/requirements.txt").decode(), ""
    print(f"hub       {hub.url}\nhome      {home}")
    print("\n".join(f"install   {wheel['file']}  sha256 {wheel['sha256'][:16]}..." for wheel in own.values()))
    print("also      " + ", ".join(line.split()[0] for line in pins.splitlines() if "==" in line), flush=True)
    if options.dry_run:
        return print("then      " + " ".join(map(str, join)))
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    kept = python.exists() and not subprocess.call([python, "-Pm", "starloom_agent", "--version"], **quiet)
    up = [python, "-Pm", "starloom_agent", "upgrade", "--again", "--home", home]  # the one before works meanwhile
    if kept and (home / "hub.json").exists() and not (subprocess.call([*up, "-h"], **quiet) or subprocess.call(up)):
        sys.exit(subprocess.call([str(item) for item in join]))
    if not kept:  # none, or an earlier try was cut short. The pip of this Python installs, as a copy takes seconds.
        run(sys.executable, "-Pm", "venv", "--clear", "--without-pip", home / "venv")
    pip = [sys.executable, "-Pm", "pip", "--python", python]
    if subprocess.call([*pip, "--version"], **quiet):  # it has no pip, or one older than 22.3
        pip = [python, "-Pm", "pip"]
        run(sys.executable, "-Pm", "venv", home / "venv")
    with tempfile.TemporaryDirectory() as made:
        for wheel in (item for item in listed if item in own.values() or item["sha256"] in pins):
            (at := Path(made) / wheel["file"]).write_bytes(hub.get(f"/agent/wheels/{quote(at.name)}", wheel["sha256"]))
            ours += f"{at.as_uri()} --hash=sha256:{wheel['sha256']}\n" if wheel in own.values() else ""
        (needed := Path(made) / "pins.txt").write_text(pins)
        (agent := Path(made) / "agent.txt").write_text(ours)
        run(*pip, "install", "-qqU", "--require-hashes", "--find-links", made, "-r", needed, "-r", agent)
        run(*pip, "install", "-qq", "--force-reinstall", "--no-deps", "--require-hashes", "-r", agent)  # another build
    sys.exit(subprocess.call([str(item) for item in join]))  # it says on its own what did not work


if __name__ == "__main__":
    main()
