"""A real hub and three real agents for recipes: laptop, server and phone, each with its own home, profile and ledger.

How a test uses it (fixture `fleet`, one for the session; `tests/recipes/conftest.py`):

    laptop = fleet.device("laptop")               # or "server", "phone"; .folder is its home, the folder it granted
    laptop.write("Papers/a.txt", "tax")           # also bytes; .read(path), .files("Papers") -> {path below: bytes}
    answer = fleet.run("copy-folder", {"source": "laptop", "target": "server", "folder": "Papers"})
    answer = fleet.submit("copy Papers from laptop to server", choose={"ask-room": "go"})
    answer.state, answer.sentence, answer.rows("Copied"), answer.value("Proof"), answer.file("As a file") -> bytes
    answer.task("send.0").state, answer.attempts("send.0"), laptop.started(answer) -> {task: attempts in its ledger}

`run` and `submit` preview first and submit with the hash that the preview showed (`approve=True`); `choose` answers
the questions of `person:` tasks as they open; `begin` returns at once with a `Running` to wait on, so that a test can
`device.kill()` and `device.start()` an agent meanwhile. `device.grant("shell:run", "--", "uptime")` is typed on the
device and takes effect there at once; `device.program("apt-get", script)` puts a fake program first on its PATH.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

from starloom.client.problems import Problem
from starloom.client.view import View
from starloom.host.agents import LocalAgent, join
from starloom_protocol.records.entities import Attempt, Job, TaskRecord
from starloom_protocol.vocabulary import Profile
from tests.installation import Installation, end_process, type_at_agent
from tests.waiting import PATIENCE_S, SLOWER, until

PROFILES = {"laptop": Profile.WORK, "server": Profile.OPERATE, "phone": Profile.FILES}
ANSWER_WITHIN_S = 90.0 * SLOWER
EVENTS_TOLD = 12


class Device:
    """One agent as its owner has it: a home folder that is granted, programs of its own, a ledger."""

    def __init__(self, fleet: Fleet, name: str) -> None:
        self.name = name
        self.folder = fleet.home / "devices" / name
        self.home = fleet.home / "agents" / name
        self._fleet = fleet
        self._bin = fleet.home / "bin" / name
        self._process: subprocess.Popen[bytes] | None = None
        self._bin.mkdir(parents=True)

    def write(self, path: str, content: str | bytes) -> Path:
        """Put a file into the home; folders on the way are made."""
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def read(self, path: str) -> str:
        return (self.folder / path).read_text(encoding="utf-8")

    def files(self, path: str = ".") -> dict[str, bytes]:
        """Return every file below a folder of the home, hidden ones too, by its path from there."""
        root = self.folder / path
        return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*")) if file.is_file()}

    def program(self, name: str, script: str) -> Path:
        """Put a program first on this agent's PATH; probes see it when the agent starts next."""
        target = self._bin / name
        target.write_text(script, encoding="utf-8")
        target.chmod(0o755)
        return target

    def grant(self, *words: str) -> None:
        """Type `starloom-agent grant WORDS` on the device."""
        self._type("grant", *words)

    def ungrant(self, *words: str) -> None:
        self._type("ungrant", *words)

    def _type(self, command: str, *words: str) -> None:
        policy, told = (self.home / "policy.toml").read_bytes(), self._policies_told()
        type_at_agent(self.home, command, *words)
        if (self.home / "policy.toml").read_bytes() != policy:
            until(lambda: self._policies_told() > told, f"{self.name} has noticed its policy")
        if command == "grant":
            until(lambda: words[0] in self.seen_by_hub()["grants"], f"the hub knows {words[0]} of {self.name}")

    def _policies_told(self) -> int:
        return (
            (self._fleet.home / "logs" / f"agent-{self.name}.log").read_text(errors="replace").count("policy changed")
        )

    def seen_by_hub(self) -> dict[str, Any]:
        """Return the device as the hub lists it."""
        items = self._fleet.client.get("/devices")["items"]
        return next(dict(item) for item in items if item["name"] == self.name)

    def started(self, answer: Running) -> dict[str, int]:
        """Return how many attempts of each task began here, by this agent's ledger; it does not keep `pure` ones."""
        ask = "SELECT task, count(*) FROM attempts WHERE constellation = ? AND began_s IS NOT NULL GROUP BY task"
        with closing(sqlite3.connect(f"file:{self.home / 'ledger.sqlite'}?mode=ro", uri=True)) as ledger:
            return {str(task): int(count) for task, count in ledger.execute(ask, (answer.id,))}

    def join(self) -> None:
        agent = LocalAgent(self.home, self.name, self._fleet.client.address.url, PROFILES[self.name], (self.folder,))
        asyncio.run(join(self._fleet.client, agent))

    def start(self) -> None:
        """Start the agent and wait until it is online with its tools."""
        argv = [sys.executable, "-m", "starloom_agent", "run", "--home", str(self.home), "--reconnect-most-s", "1"]
        if os.geteuid() == 0:
            # As the agent of a person runs, who may not read what its mode forbids.
            rights = "-dac_override,-dac_read_search"
            argv = ["setpriv", f"--bounding-set={rights}", f"--inh-caps={rights}", *argv]
        path = f"{self._bin}{os.pathsep}{os.environ['PATH']}"
        self._process = self._fleet.spawn(argv, f"agent-{self.name}", {"PATH": path, "HOME": str(self.folder)})
        self._fleet.until_online(self.name)

    def restore(self) -> None:
        """Have the device succeed as often as it failed: the hub asks one last that a test has killed."""
        while (health := self.seen_by_hub()["health"]) and (faults := int(health["faults"])):
            tasks = [{"id": f"ok-{n}", "tool": "system.info", "device": {"name": self.name}} for n in range(faults)]
            plan = {"starloom": 1, "name": f"Restore {self.name}", "tasks": tasks}
            made = self._fleet.client.create("/constellations", {"plan": plan})
            assert Running(self._fleet, str(made["id"]), {}).wait().state == "succeeded"

    def kill(self) -> None:
        """SIGKILL the agent; `start` brings it back."""
        assert self._process is not None, f"{self.name} does not run"
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self) -> None:
        """End the agent as its owner would, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            end_process(process, 15)


class Running:
    """A request that the hub accepted; `wait` brings its answer. Everything else reads what was seen by then."""

    def __init__(self, fleet: Fleet, identity: str, choose: Mapping[str, str]) -> None:
        self.id = identity
        self.view = View(identity)
        self._fleet = fleet
        self._choose = dict(choose)
        self._result: dict[str, Any] = {}

    def wait(self, within_s: float = ANSWER_WITHIN_S) -> Running:
        """Wait until it is final, answering the questions that `choose` names; return itself.

        Raises:
            AssertionError: it is not final in time, or a question opened that nobody foresaw.
        """
        try:
            until(self._final, "final", within_s)
        except AssertionError:
            raise AssertionError(self.told()) from None
        self._result = self._fleet.client.get(f"/constellations/{self.id}/result")
        return self

    def until_task(self, task: str, *states: str) -> None:
        """Wait until a task is in one of these states."""
        until(lambda: self.look() and task in self.view.tasks and self.task(task).state in states, f"{task} {states}")

    def look(self) -> bool:
        """Take in the events since the last look."""
        while self.view.apply(self._fleet.client.events(self.id, self.view.seq)):
            pass
        return True

    def _final(self) -> bool:
        self.look()
        for name in self.view.open_questions:
            task = name.rpartition("-")[0]
            assert task in self._choose, f"it asks, and nothing was chosen: {self.told()}"
            with contextlib.suppress(Problem):  # answered in the look before, and not yet seen
                self._fleet.client.post(f"/approvals/{self.id}:{name}/answer", {"value": self._choose[task]})
        return self.view.final

    @property
    def state(self) -> str:
        return str(self.view.state)

    @property
    def sentence(self) -> str:
        return str(self._result["sentence"])

    @property
    def is_alarm(self) -> bool:
        return self.view.answer is not None and self.view.answer.alarm

    def item(self, title: str) -> dict[str, Any]:
        """Return one item of the answer by its title."""
        found: dict[str, dict[str, Any]] = {str(item["title"]): item for item in self._result["items"]}
        assert title in found, f"the answer has {sorted(found)}; {self.told()}"
        return found[title]

    def value(self, title: str) -> Any:
        return self.item(title)["value"]

    def rows(self, title: str) -> list[dict[str, Any]]:
        """Return the rows of a table of the answer."""
        found = self.value(title)
        found = found["rows"] if isinstance(found, dict) else found
        assert isinstance(found, list), found
        return found

    def file(self, title: str) -> bytes:
        """Return the bytes of a file of the answer, as a browser would download it."""
        item = self.item(title)
        digest = item.get("artifact") or item["value"]["artifact"]
        target = self._fleet.home / "downloads" / str(digest)
        self._fleet.client.download(str(digest), target)
        return target.read_bytes()

    def device_id(self, name: str) -> str:
        """Return the id of a device: the key of its children in groups over devices."""
        return str(self._fleet.device(name).seen_by_hub()["id"])

    def task(self, name: str) -> TaskRecord:
        return self.view.tasks[name]

    def attempts(self, task: str) -> list[Attempt]:
        """Return the attempts of a task, oldest first."""
        found = {
            name: item for name, item in self.view.each("attempt", Attempt).items() if name.rpartition("/")[0] == task
        }
        return [found[name] for name in sorted(found, key=lambda name: int(name.rpartition("/")[2]))]

    def told(self) -> str:
        """Return what a reader of a failed test wants to know."""
        tasks = {name: f"{task.state} {task.reason or task.code or ''}" for name, task in self.view.tasks.items()}
        few = {name: said.strip() for name, said in tasks.items() if said.strip() != "succeeded"}
        details = {name: made.detail for name in few if (made := self.view.last_attempt(name)) and made.detail}
        asks = {name: item.text for name, item in self.view.open_questions.items()}
        jobs = [
            f"{job.id} is {job.state}, claimed by {job.claimed_by} until {job.expires_ms}, {job.calls} calls"
            for job in self.view.each("job", Job).values()
            if job.state != "done"
        ]
        last = [
            f"{event.at_ms} {event.kind} {event.note[:100]}"
            for event in self._fleet.client.events(self.id, max(self.view.seq - EVENTS_TOLD, 0))
        ]
        logs = self._fleet.home / "logs"
        return (
            f"{self.id} is {self.view.state}; not succeeded: {few}; said: {details}; asks: {asks}; "
            f"open jobs: {jobs}; last events: {last}; now {round(time.time() * 1000)}; logs in {logs}"
        )


class Fleet(Installation):
    """The hub with its devices; use the fixture, or `running`."""

    def __init__(
        self, home: Path, settings: Mapping[str, str] = MappingProxyType({}), names: Iterable[str] = PROFILES
    ) -> None:
        super().__init__(home, settings)
        self._devices = {name: Device(self, name) for name in names}

    def device(self, name: str) -> Device:
        return self._devices[name]

    def clear(self) -> None:
        """Empty every device's home and bring back agents that a test ended: each test begins alike."""
        for device in self._devices.values():
            for program in device._bin.iterdir():
                program.unlink()
            subprocess.run(["rm", "-rf", "--", *map(str, device.folder.iterdir())], check=True)
            if device._process is None or device._process.poll() is not None:
                device.start()
            device.restore()

    def preview(self, words: str = "", *, recipe: str = "", params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return what would run, as the page shows it.

        Raises:
            Problem: the words or the parameters do not do; its `extra` has what the API said.
        """
        found: dict[str, Any] = self.client.post("/constellations/preview", _body(words, recipe, params))
        return found

    def begin(
        self,
        words: str = "",
        *,
        recipe: str = "",
        params: Mapping[str, Any] | None = None,
        approve: bool = True,
        choose: Mapping[str, str] | None = None,
    ) -> Running:
        """Submit, and return without waiting for the answer."""
        body = _body(words, recipe, params)
        if approve:
            body["plan_hash"] = self.preview(words, recipe=recipe, params=params)["plan_hash"]
        made = self.client.create("/constellations", body)
        return Running(self, str(made["id"]), choose or {})

    def run(self, recipe: str, params: Mapping[str, Any] | None = None, **more: Any) -> Running:
        """Run a recipe by its name to its answer; `more` is that of `begin`."""
        return self.begin(recipe=recipe, params=params, **more).wait()

    def submit(self, words: str, **more: Any) -> Running:
        """Ask in words and wait for the answer; `more` is that of `begin`."""
        return self.begin(words, **more).wait()

    def cli(self, *words: str) -> str:
        """Return what `starloom WORDS` prints; its exit code must be 0."""
        argv = [sys.executable, "-m", "starloom.cli", *words, "--hub", self.client.address.url]
        clean = {**self._environment, "STARLOOM_HOME": str(self.home), "COLUMNS": "140"}
        typed = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=clean)
        assert typed.returncode == 0, typed.stdout + typed.stderr
        return typed.stdout

    def start(self) -> None:
        self.up("--no-agent")
        for device in self._devices.values():
            device.join()
            device.start()

    def end(self) -> None:
        """End agents, then the service; nothing of it may be left."""
        for device in self._devices.values():
            device.stop()
        self.close()


def _body(words: str, recipe: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    body: dict[str, Any] = {"request": words} if words else {"recipe": recipe}
    return {**body, "params": dict(params)} if params else body


@contextmanager
def running(home: Path, settings: Mapping[str, str] = MappingProxyType({})) -> Iterator[Fleet]:
    """Start a fleet and end it, whatever happened in between."""
    fleet = Fleet(home, settings)
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.end()
