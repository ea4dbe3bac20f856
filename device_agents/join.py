#!/usr/bin/env python3
"""Join this device to a Starloom hub. Standard library only; read it before you run it.

    curl -fsS URL/agent/join.py -o join.py && python3 join.py URL CODE [--name N] [--profile P [DIR ...]]

It makes ~/.starloom-agent/venv, downloads the hub's own wheels and checks each against the hash that the hub names,
installs them with their few dependencies, and runs `starloom-agent join`, which asks what the hub may do here.
--dry-run says what would be done and does nothing. To undo: starloom-agent leave, then remove ~/.starloom-agent.
"""

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import venv
from pathlib import Path
from urllib.parse import quote, urlsplit

WANTED = ("starloom_protocol", "starloom_agent")
MOST_BYTES = 50_000_000


def fail(text):
    sys.exit(f"join.py: {text}")


def get(url):
    """Download one small file, or say why not."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - http(s) only, checked in main
            data = answer.read(MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        try:
            said = json.loads(error.read(10_000))
            fail(f"{url}: {said.get('reason', error)}. {said.get('hint', '')}")
        except ValueError:
            fail(f"{url}: {error}")
    except OSError as error:
        fail(f"{url} does not answer: {error}. Is the hub running, and can this device reach it?")
    if len(data) > MOST_BYTES:
        fail(f"{url} is larger than {MOST_BYTES} bytes")
    return data


def wheels_of(hub):
    """Return the hub's wheels by name: each has file and sha256."""
    found = {}
    for wheel in json.loads(get(f"{hub}/agent/wheels.json")):
        if wheel["name"] in WANTED and Path(wheel["file"]).name == wheel["file"]:
            found[wheel["name"]] = wheel
    missing = [name for name in WANTED if name not in found]
    if missing:
        fail(f"{hub} does not offer {', '.join(missing)}")
    return [found[name] for name in WANTED]


def download(hub, wheel, folder):
    """Put one wheel into the folder, if its bytes have the hash that the hub named."""
    data = get(f"{hub}/agent/wheels/{quote(wheel['file'])}")
    digest = hashlib.sha256(data).hexdigest()
    if digest != wheel["sha256"]:
        fail(f"{wheel['file']} has the hash {digest}, the hub named {wheel['sha256']}: nothing was installed")
    path = Path(folder) / wheel["file"]
    path.write_bytes(data)
    return path


def run(argv):
    code = subprocess.call([str(item) for item in argv])
    if code:
        fail(f"this ended with {code}: {' '.join(str(item) for item in argv)}")


def main():
    parser = argparse.ArgumentParser(description="Join this device to a Starloom hub.")
    parser.add_argument("url", help="the hub's address, as it printed it")
    parser.add_argument("code", help="the code that the hub showed; it works once, for ten minutes")
    parser.add_argument("--name", help="what this device is called")
    parser.add_argument("--profile", nargs="+", metavar=("PROFILE", "DIR"), help="observe, files, work or operate")
    parser.add_argument("--home", default="~/.starloom-agent", help="where the agent lives (default %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done and do nothing")
    options = parser.parse_args()

    if sys.version_info < (3, 11):  # noqa: UP036 - it runs on whatever Python is there
        fail(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    hub = options.url.rstrip("/")
    if urlsplit(hub).scheme not in ("http", "https"):
        fail(f"{hub} is not an address such as http://192.168.1.10:8470")
    home = Path(options.home).expanduser().resolve()
    place = home / "venv"
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    join = [python, "-m", "starloom_agent", "join", hub, options.code, "--home", home]
    join += ["--name", options.name] if options.name else []
    join += ["--profile", *options.profile] if options.profile else []

    wheels = wheels_of(hub)
    print(f"hub       {hub}")
    print(f"home      {home}")
    for wheel in wheels:
        print(f"install   {wheel['file']}  sha256 {wheel['sha256'][:16]}...")
    print("also      msgspec, cryptography, websockets, from this device's package index")
    if options.dry_run:
        print(f"then      {' '.join(str(item) for item in join)}")
        return

    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not python.exists():
        venv.create(place, with_pip=True)
    with tempfile.TemporaryDirectory() as folder:
        files = [download(hub, wheel, folder) for wheel in wheels]
        run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade", *files])
    run(join)


if __name__ == "__main__":
    main()
