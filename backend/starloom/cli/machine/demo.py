"""The sample of `make run`: draws the pictures, runs two demo devices, asks, injects the one fault, shows the answer.

A process of its own under `starloom up`. It uses the hub like any client: REST with the local token. Its agents are
real `starloom-agent` processes; the phone's link runs through the fault proxy. Nothing waits for a fixed time except
the phone's announced two seconds off.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starloom.cli.constellations.explaining import explained
from starloom.cli.invocation import show_problem
from starloom.cli.machine.demo_screen import DemoScreen
from starloom.client.discovery import HubAddress, hub_option, read_local
from starloom.client.exits import Exit
from starloom.client.problems import Problem, here, unreachable
from starloom.client.rest import Client
from starloom.client.routes import (
    get_constellation,
    get_constellation_why,
    get_devices,
    post_constellations,
    post_constellations_preview,
    post_lab_faults,
    post_sign_in_links,
)
from starloom.client.view import View
from starloom.client.watching import outcome
from starloom.host.agents import LocalAgent, OwnDevice, device_missing, join, until_online
from starloom.host.sample_start import SampleStart
from starloom.lab.devices.demo_device import DemoDevice
from starloom.lab.devices.hosting import Host, patiently
from starloom.lab.proxy.fault_proxy import FaultProxy
from starloom.lab.sample import sample_files
from starloom.lab.sample.facts import CUT_TASK, Places, evidence, figures_of, sleeps_in, upload_of, words_for
from starloom.process import heap
from starloom_protocol.stream.feed import Event
from starloom_protocol.vocabulary import FINAL_TASK_STATES, Code, ConstellationState, Profile, TaskState

if TYPE_CHECKING:
    from starloom_protocol.api.fleet import DeviceRow

SERVER, PHONE = "demo-server", "demo-phone"
PHONE_OFF_S = 2.0
QUIET_S = 0.3
POLL_S = 10.0


@dataclass(frozen=True)
class Choices:
    """The options of the sample."""

    home: Path
    once: bool
    fault: bool
    report: Path | None
    again: bool = False

    @property
    def may_pass_over(self) -> bool:
        """Whether a sample that ended well in an earlier start is enough: nobody has asked for a run of its own."""
        return not (self.again or self.once or self.report is not None) and Places(self.home).answered.exists()


class Sample:
    """One run of the sample and the demo devices that stay after it."""

    def __init__(self, choices: Choices, address: HubAddress) -> None:
        self._choices = choices
        self._address = address
        self._places = Places(choices.home)
        self._client = Client(address)
        self._listener = Client(address)
        self._devices: dict[str, DemoDevice] = {}
        self._joined_devices: dict[str, OwnDevice] = {}
        self._words = ""
        self._screen = DemoScreen(self._names)
        self._orders = Client(address)
        self._reports = Client(address)
        self._hosted: dict[str, DemoDevice] = {}
        self._host = Host(self._hosted, self._orders, self._reports, self._screen.say)
        self._hosting: asyncio.Task[None] | None = None
        self._view: View | None = None
        self._events: list[Event] = []

    def _names(self) -> dict[str, str]:
        return {item["id"]: item["name"] for item in self._client.get(get_devices())["items"]}

    async def run(self, drawing: asyncio.Task[float] | None) -> int:
        """Carry out the sample once its pictures are drawn; the exit code is its result.

        Where it has ended well in an earlier start, its devices join and the answer of then is shown. Those that a
        person has removed since do not join: asking for the sample once more brings them back.

        Raises:
            Problem: a device cannot join, or the hub is away.
        """
        if drawing is None and were_removed(
            (await asyncio.to_thread(self._client.get, get_devices(all_=True)))["items"]
        ):
            self._screen.say("the demo devices were removed; make run AGAIN=1, or up --demo --again, brings them back")
            await self.tell_next()
            return int(Exit.SUCCEEDED)
        await self._prepare()
        if drawing is None and (earlier := await asyncio.to_thread(self._earlier)):
            self._screen.tell_earlier(f"{self._address.url}/constellations/{earlier}")
            await self.tell_next()
            return int(Exit.SUCCEEDED)
        self._introduce(await (drawing or draw(self._places)))
        # The words are previewed first; the hash of the preview approves exactly that plan.
        preview = await asyncio.to_thread(
            lambda: self._client.post(post_constellations_preview(), {"request": self._words})
        )
        if not preview["plan_hash"]:
            words = preview["understood"].get("said", "")
            raise _stopped(f"the words were not understood: {words}", "See `starloom recipes`.")
        body = {"request": self._words, "plan_hash": preview["plan_hash"]}
        created = await asyncio.to_thread(lambda: self._client.create(post_constellations(), body))
        view = self._view = View(created["id"])
        with self._screen.showing(view, fault=self._choices.fault):
            breaking = asyncio.create_task(self._break(view)) if self._choices.fault else None
            try:
                await self._follow(view)
            finally:
                if breaking is not None:
                    breaking.cancel()
                    await asyncio.gather(breaking, return_exceptions=True)
        if breaking is not None and not breaking.cancelled() and (error := breaking.exception()) is not None:
            raise error
        return await self._tell(view)

    async def close(self) -> None:
        """End the demo devices and their links."""
        # A request that waits for the hub ends with its connection.
        for client in (self._client, self._listener, self._orders, self._reports):
            client.close()
        if self._hosting is not None:
            self._hosting.cancel()
            await asyncio.gather(self._hosting, return_exceptions=True)
        await asyncio.gather(*(device.stop() for device in self._devices.values()))

    def _earlier(self) -> str:
        """Return the constellation of an earlier start that ended well and is still in the history; else nothing."""
        try:
            row = self._client.get(get_constellation(self._places.answered.read_text().strip()))
        except Problem as problem:
            if problem.code in (Code.NOT_FOUND, Code.PRUNED):
                return ""
            raise
        return row["id"] if row["state"] == ConstellationState.SUCCEEDED else ""

    async def _prepare(self) -> None:
        for name, folder in ((SERVER, self._places.server), (PHONE, self._places.phone)):
            agent = LocalAgent(self._places.agent_home(name), name, "", Profile.WORK, (folder,), demo=True, lab=True)
            link = await self._start_link(name)
            self._devices[name] = DemoDevice(replace(agent, url=link.url), link, self._choices.home, self._screen.say)
        with self._screen.step("two demo devices join"):
            await asyncio.gather(*(self._join(name, device) for name, device in self._devices.items()))
            self._hosting = asyncio.create_task(self._host.run(), name="lab")
            desktop = await SampleStart(self._choices.home).until_desktop()
            if not desktop:
                raise device_missing("this computer's agent has not started", "The reason stands above.")
            ids = [device.id for device in self._joined_devices.values()]
            await until_online(self._client, [*ids, desktop])
        names = await asyncio.to_thread(self._names)
        phone, server = names[self._joined_devices[PHONE].id], names[self._joined_devices[SERVER].id]
        self._words = words_for(phone, server, names[desktop])

    def _introduce(self, drawn_s: float) -> None:
        self._screen.tell_step("drawing 24 pictures on the demo phone", drawn_s)
        self._screen.introduce(self._words, fault=self._choices.fault)

    async def _join(self, name: str, device: DemoDevice) -> None:
        # A client of its own: both devices join at once, and one is not for two threads.
        with closing(Client(self._address)) as client:
            self._joined_devices[name] = own_device = await join(client, device.agent)
        self._hosted[own_device.id] = device
        await device.start()

    async def _start_link(self, name: str) -> FaultProxy:
        """Listen on the port of the last run if it is free, so that the device reconnects to its hub without help."""
        host, _, port = self._address.url.rpartition("//")[2].partition(":")
        link = FaultProxy(host, int(port or 80))
        path = self._places.phone.parent / f"{name}.port"
        port_kept = int(path.read_text()) if path.exists() else 0
        try:
            await link.start(port_kept)
        except OSError:
            await link.start()
        path.write_text(str(link.port))
        return link

    async def _follow(self, view: View) -> None:
        """Fold the log until the constellation is final. The hub stays up under this same service."""
        stuck = False
        while True:
            wait_s = 2.0 if stuck else POLL_S
            events = await patiently(self._listener.events, view.constellation, view.seq, wait_s=wait_s)
            fresh = view.apply(events)
            self._events.extend(fresh)
            self._screen.draw(fresh)
            if view.final:
                return
            if stuck and not fresh:
                raise _stopped(
                    f"it waits for a person: {await asyncio.to_thread(self._why, view.constellation)}",
                    f"It goes on when that is mended (starloom why {view.constellation}).",
                )
            stuck = view.needs_person()

    def _why(self, constellation: str) -> str:
        items = explained(self._client.get(get_constellation_why(constellation)))
        waiting = [item["sentence"] for item in items if item["state"] == "ready"]
        return " ".join(dict.fromkeys(waiting)) or "see the page"

    async def _break(self, view: View) -> None:
        """Ask the lab by its API to kill the phone's agent for two seconds, in the middle of `send.3`."""
        phone = self._devices[PHONE]
        while (upload := upload_of(view, self._places.phone)) is None:
            await self._screen.changed()
        phone.proxy.hold_uploads(upload.paths, upload.total // 2)
        await phone.proxy.held.wait()
        await self._until_alone(view)
        passed_bytes = sum(phone.proxy.uploaded.get(path, 0) for path in upload.paths)
        phone.told_next = (
            f"the demo phone's link was cut after {passed_bytes} of {upload.total} bytes of {CUT_TASK} "
            f"and its agent killed (SIGKILL); it starts again after {PHONE_OFF_S:g} s"
        )
        wish = {"target": "device", "device": self._joined_devices[PHONE].id, "kind": "kill", "for_s": PHONE_OFF_S}
        fault = await asyncio.to_thread(lambda: self._client.create(post_lab_faults(), wish))
        await self._host.over(fault["id"])

    async def _until_alone(self, view: View) -> None:
        """Wait until `digest` and the sends beside `send.3` are done; orders to the phone are held meanwhile.

        Tasks ordered before the hold show as running within moments, so after a short quiet there are none.
        """
        loop = asyncio.get_running_loop()
        quiet_since: float | None = None
        while quiet_since is None or loop.time() - quiet_since < QUIET_S:
            tasks = view.tasks
            beside = [
                record.state
                for name, record in tasks.items()
                if name.startswith("send.") and name != CUT_TASK and record.state is TaskState.RUNNING
            ]
            if not beside and tasks["digest"].state in FINAL_TASK_STATES:
                quiet_since = quiet_since or loop.time()
            else:
                quiet_since = None
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET_S / 3):
                    await self._screen.changed()

    async def _tell(self, view: View) -> int:
        await asyncio.to_thread(sample_files.note_sheets, self._places)
        figures = figures_of(view, self._events, sleeps_in(view))
        await asyncio.to_thread(self._screen.finish, view, figures)
        if outcome(view) is Exit.SUCCEEDED:
            await asyncio.to_thread(self._places.answered.write_text, view.constellation)
        if not self._choices.once:
            await self.tell_next()
        if self._choices.report is not None:
            self._choices.report.write_text(json.dumps(evidence(view, self._events, figures), indent=1))
        return int(outcome(view))

    async def tell_next(self) -> None:
        """Print the address of the page and suggestions; the service goes on, even if the sample could not."""
        link = (await asyncio.to_thread(lambda: self._client.create(post_sign_in_links(), {})))["url"]
        arguments = (self._address.url, link, hub_option(self._choices.home))
        await asyncio.to_thread(self._screen.tell_next, *arguments)


def were_removed(items: Sequence[DeviceRow]) -> bool:
    """Tell whether the sample's devices were in this fleet, and `starloom demo remove` has taken all of them out."""
    demo = [item for item in items if item["demo"]]
    return bool(demo) and all(item["forgotten"] for item in demo)


async def draw(places: Places) -> float:
    """Draw the phone's pictures in place of those of an earlier start; return the seconds that it took.

    Raises:
        Problem: they could not be drawn.
    """
    began = time.monotonic()
    await asyncio.to_thread(sample_files.prepare, places)
    seed = random.SystemRandom().randrange(2**31)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "starloom_agent.toolkit.pictures.demo_pictures"),
        *(str(places.pictures), "--seed", str(seed)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        output, _ = await process.communicate()
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        raise unreachable(
            f"the pictures could not be drawn: {output.decode(errors='replace')[-500:]}", "Is the disk full?"
        )
    await asyncio.to_thread(sample_files.note_pictures, places)
    return time.monotonic() - began


def _stopped(reason: str, hint: str) -> Problem:
    return here("sample_stopped", "The sample cannot go on", reason, hint, Exit.FAILED)


async def carry_out(choices: Choices) -> int:
    """Run the sample, then keep its devices until SIGTERM unless it is once.

    Its pictures are drawn while the hub starts.
    """
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    stopping = asyncio.create_task(stopped.wait())
    drawing = None if choices.may_pass_over else asyncio.create_task(draw(Places(choices.home)))
    tasks: list[asyncio.Task[Any]] = [stopping, *([drawing] if drawing is not None else [])]
    sample: Sample | None = None
    try:
        tasks.append(announced := asyncio.create_task(SampleStart(choices.home).until_hub()))
        await asyncio.wait({announced, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not announced.done():
            return int(Exit.INTERRUPTED)
        address = read_local(choices.home)
        if address is None:
            raise unreachable(f"no hub runs on {choices.home}", "Start it with `make run` or `starloom up --demo`.")
        sample = Sample(choices, address)
        tasks.append(running := asyncio.create_task(sample.run(drawing)))
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            return int(Exit.INTERRUPTED)
        try:
            code = running.result()
        except Problem as problem:
            show_problem(problem, as_json=False)
            code = int(problem.exit_code)
            if not choices.once and problem.exit_code is not Exit.UNREACHABLE:
                await sample.tell_next()
        if not choices.once:
            await stopping
        return code
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if sample is not None:
            await sample.close()


def main() -> None:
    """Run the sample as `starloom up --demo` asks for it."""
    heap.begin()
    parser = argparse.ArgumentParser(description="The sample of `make run`; started by `starloom up --demo`.")
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--no-fault", action="store_true")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args()
    choices = Choices(options.home, options.once, not options.no_fault, options.report, options.again)
    try:
        sys.exit(asyncio.run(carry_out(choices)))
    except Problem as problem:
        show_problem(problem, as_json=False)
        sys.exit(int(problem.exit_code))


if __name__ == "__main__":
    main()
