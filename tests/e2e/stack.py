"""One installation as a person starts it, with the sample and lab tools, in a folder of its own.

Real processes only: `starloom up --demo --lab` supervises hub, Redis, worker, this computer's agent and the sample.
The sample is held at its first task until somebody looks: its phone is drained before it is asked for.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starloom.host.agents import LocalAgent, join
from starloom.host.ports import free_port
from starloom.lab.sample.facts import Places, words_for
from starloom.process.computers import computer_name
from starloom_protocol.vocabulary import Profile
from tests.installation import Installation, end_process, kill
from tests.waiting import SLOWER, until

SERVER, PHONE = "demo-server", "demo-phone"
NEWEST_SHOWN = 12
ENDED = ("succeeded", "partial", "failed", "cancelled")


@dataclass(frozen=True)
class Standing:
    """What the hub keeps by itself, by id."""

    devices: set[str]
    schedules: set[str]
    recipes: set[str]
    allowed: set[str]


@dataclass(frozen=True)
class Joining:
    """An agent that asks to join by the line of the page, as a stranger's terminal would."""

    process: subprocess.Popen[bytes]
    home: Path
    screen: Path

    def said(self) -> str:
        return self.screen.read_text(errors="replace")


class Stack(Installation):
    """A running installation; use `running`."""

    def __init__(self, home: Path, web: Path | None = None) -> None:
        self.lan_port = free_port()
        # The listener of the local network, where a test opens it, stays on this machine. The sample's own lease of
        # 6 s is for a person's patience: on a busy machine its phone would be given up before it is back.
        settings = {"LAN_HOST": "127.0.0.1", "LAN_PORT": str(self.lan_port), "LEASE_TTL_S": "20"}
        if web:
            settings["WEB"] = str(web.resolve())
        super().__init__(home, {f"STARLOOM_{name}": value for name, value in settings.items()})
        self.desktop = computer_name()
        self.gates = Places(home).desktop
        self._ours: list[subprocess.Popen[bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start everything, and wait until the three devices are online; the sample waits for `release_sample`."""
        self.up("--no-agent", "--lab")
        self._drain_phone()
        self.down()
        self.up("--demo", "--lab")
        self.until_online(self.desktop, SERVER, PHONE)

    def _drain_phone(self) -> None:
        """Let the sample's phone join before the sample, which takes it as it is, and give it no work."""
        places = Places(self.home)
        phone = LocalAgent(
            places.agent_home(PHONE), PHONE, self.url, Profile.WORK, (places.phone,), demo=True, lab=True
        )
        asyncio.run(join(self.client, phone))
        self.client.post(f"/devices/{self.devices()[PHONE]['id']}/drain")

    def release_sample(self) -> None:
        """Let the sample's phone work."""
        self.client.post(f"/devices/{self.devices()[PHONE]['id']}/resume")

    def end(self) -> None:
        """End everything that still runs, the service last."""
        for process in reversed(self._ours):
            end_process(process, 30)
        self.close()

    def start_own(self, arguments: Sequence[str], log: str) -> subprocess.Popen[bytes]:
        """Start one of our Python programs; it ends with this stack at the latest."""
        process = self.spawn([sys.executable, *arguments], log)
        self._ours.append(process)
        return process

    def sign_in_link(self) -> str:
        return str(self.client.create("/sign-in-links", {})["url"])

    @contextmanager
    def hub_away(self) -> Iterator[None]:
        """SIGKILL the hub and keep the supervisor from starting it while the body runs; then wait for it."""
        hub = self.hub
        with self.supervisor_held():
            kill(hub)
            yield
        self.until_up()

    def devices(self) -> dict[str, dict[str, Any]]:
        # A name may be used again after its device was revoked; revoked ones come last.
        return {item["name"]: item for item in reversed(self.client.get("/devices")["items"])}

    def ask_to_join(self, code: str, name: str) -> Joining:
        """Run the join command of a device in its own folder; it waits for the person at the page."""
        home = self.home / "agents" / name
        arguments = ["-m", "starloom_agent", "join", self.url, code, "--home", str(home), "--name", name, "--yes"]
        log = f"join-{name}"
        return Joining(
            self.start_own([*arguments, "--profile", "observe"], log), home, self.home / "logs" / f"{log}.log"
        )

    def run_agent(self, joining: Joining) -> subprocess.Popen[bytes]:
        return self.start_own(
            ["-m", "starloom_agent", "run", "--home", str(joining.home)], f"agent-{joining.home.name}"
        )

    def submit(self, plan: dict[str, Any], **more: Any) -> str:
        """Submit a plan, also one whose tasks no device can begin, to see how it is shown."""
        return str(self.client.create("/constellations", {"able": False, "plan": plan, **more})["id"])

    def state(self, constellation: str) -> str:
        return str(self.client.get(f"/constellations/{constellation}")["state"])

    def until_state(self, constellation: str, *states: str) -> str:
        """Wait until it is in one of these states, and return which.

        Raises:
            AssertionError: it never was; every task that has not succeeded is told with its reason.
        """
        try:
            return str(until(lambda: (s := self.state(constellation)) in states and s, f"{constellation} {states}"))
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.describe(constellation)}") from None

    def task_state(self, constellation: str, task: str) -> str:
        tasks = self.client.get(f"/constellations/{constellation}")["tasks"]
        return next((str(item["state"]) for item in tasks if item["id"] == task), "absent")

    def describe(self, constellation: str) -> str:
        """Return what a reader of a failed test wants to know of a constellation."""
        made = self.client.get(f"/constellations/{constellation}")
        told = [f"{constellation} {made['state']}: {made['answer']['sentence']}"]
        for task in made["tasks"]:
            if task["state"] not in ("succeeded", "skipped"):
                why = self.client.get(f"/constellations/{constellation}/why", task_id=task["id"])
                told.append(f"  {task['id']} {task['state']} on {task.get('device_name')}: {why['sentence']}")
        return "\n".join(told)

    def explain(self) -> str:
        """Return the fleet, the newest constellations and the ends of the logs, for the reader of a failed test."""
        fleet = [
            f"  {item['name']} {item['link']}{' draining' * item['draining']}{' revoked' * item['revoked']}"
            for item in self.client.get("/devices")["items"]
        ]
        rows = self.client.get("/constellations", limit=NEWEST_SHOWN)["items"]
        newest = [f"  {row['id']} {row['state']}: {row['name']}" for row in rows]
        logs = [f"{name}.log:\n{self.log(name)}" for name in ("supervisor", "hub", "worker")]
        return "\n".join(["fleet:", *fleet, "newest constellations:", *newest, *logs])

    def standing(self) -> Standing:
        """Return what goes on or is kept by itself now: devices, clocks, recipes, permissions."""
        items = {place: self.client.get(place)["items"] for place in ("/devices", "/schedules", "/recipes")}
        return Standing(
            devices={item["id"] for item in items["/devices"] if not item["revoked"]},
            schedules={item["id"] for item in items["/schedules"]},
            recipes={item["name"] for item in items["/recipes"]},
            allowed={item["id"] for item in self.client.get("/standing-approvals")["items"]},
        )

    def restore(self, before: Standing) -> None:
        """Take away what came since, and end what still runs but the sample."""
        now = self.standing()
        for schedule in now.schedules - before.schedules:
            self.client.delete(f"/schedules/{schedule}")
        for row in self.client.get("/constellations")["items"]:
            if row["state"] not in ENDED and row["request"] != words_for(PHONE, SERVER, self.desktop):
                self.client.post(f"/constellations/{row['id']}/cancel")
                self.until_state(row["id"], *ENDED)
        for device in now.devices - before.devices:
            self.client.post(f"/devices/{device}/revoke")
        for recipe in now.recipes - before.recipes:
            self.client.delete(f"/recipes/{recipe}")
        for allowed in now.allowed - before.allowed:
            self.client.delete(f"/standing-approvals/{allowed}")
        for gate in self.gates.glob("*.gate"):
            gate.unlink()  # a test in another width finds its gates closed

    # Plans whose tasks end when a test says so.

    def gated(self, task: str, gate: str, **more: Any) -> dict[str, Any]:
        """Return a task that runs on this computer until `open_gate(gate)`."""
        args = {"what": "file", "path": str(self.gates / f"{gate}.gate"), "every_s": 0.1, "within_s": 240 * SLOWER}
        return {"id": task, "tool": "wait.until", "args": args, "device": {"name": self.desktop}, **more}

    def open_gate(self, gate: str) -> None:
        self.gates.mkdir(parents=True, exist_ok=True)
        (self.gates / f"{gate}.gate").touch()


@contextmanager
def running(home: Path, web: Path | None = None) -> Iterator[Stack]:
    """Start a stack, with another build of the page if one is given, and end it, whatever happened in between."""
    stack = Stack(home, web)
    try:
        stack.start()
        yield stack
    finally:
        stack.end()
