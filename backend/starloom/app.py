"""The hub as a process: makes every part, passes it to its users, opens sockets last, drains at the end.

Wiring only: the one module that knows all rooms. `python -m starloom.app` runs the hub until SIGTERM or Ctrl-C.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

# ruff: noqa: E402 - modules and what is loaded stay for good, and looking for garbage among them is a tenth of a start
GC_THRESHOLDS = (200_000, 25, 25)
if __name__ == "__main__":
    gc.disable()  # until the hub is open

import uvloop
from uvicorn import Config

from starloom.core.clock.retention import HistoryLimits
from starloom.core.state.model import Shard
from starloom.edge import first_run
from starloom.edge.access.callers import AccessView, Tickets
from starloom.edge.access.rate_limits import Limits
from starloom.edge.access.refusals import Refusals
from starloom.edge.access.vault import Sealer, Vault, load_or_make
from starloom.edge.agents import hub_keys
from starloom.edge.agents.attempt_logs import LogWriter
from starloom.edge.agents.links import Links
from starloom.edge.agents.vital_lines import VitalLines
from starloom.edge.app import Edge, Files, build
from starloom.edge.hub import Hub
from starloom.edge.listeners.connections import Connections, Places, bounds_for
from starloom.edge.listeners.local_network import LanListener, LanPlace
from starloom.edge.listeners.own_sockets import OwnSockets
from starloom.edge.listeners.serving import Listener, server_config
from starloom.edge.live.artifact_references import Retained
from starloom.edge.live.entity_json import iso
from starloom.edge.live.fanout import Fanout
from starloom.edge.live.optional_parts import OptionalParts
from starloom.edge.live.sketches import Sketches
from starloom.edge.live.views import (
    AtWork,
    FleetView,
    Headlines,
    QuestionsView,
    StopRules,
    Views,
)
from starloom.edge.peers.neighbours import Neighbours
from starloom.edge.routes.service.health import Gauge
from starloom.edge.web.hub_seals import HubSeals, secret_of
from starloom.edge.web.shield import Reach, reach_of
from starloom.engine.inputs.remote import RemoteInbox
from starloom.engine.loop import Engine
from starloom.engine.orders.secrets import DispatchedSecrets
from starloom.engine.ports import Inbox, Overloaded
from starloom.engine.settings import EngineSettings, FinishedRetention
from starloom.engine.succession import Succession, TakeoverTimings
from starloom.jobs.broker import CelerySender, broker_url_of, make_celery
from starloom.lab.desk.desk import Desk
from starloom.lab.desk.scenario_runs import ScenarioRuns
from starloom.planner.fleet import LatestSnapshot
from starloom.planner.model.transport.connecting import unusable
from starloom.planner.recipes.catalogue import built_in_folder, load_catalogue
from starloom.planner.service import Planning
from starloom.process.clock import HubClock, follow_dates
from starloom.process.descriptors import raise_descriptors
from starloom.process.ending import end_tasks
from starloom.process.huge_pages import keep_gathered
from starloom.process.log_lines import log_to_stderr
from starloom.process.program import for_its_hub, in_its_folder, of_hub
from starloom.process.settings import Settings, SettingsInvalid, default_home, load
from starloom.store.blobs.artifacts import FileBlobs
from starloom.store.blobs.collection import ArtifactRetention as BlobKeeping
from starloom.store.blobs.collection import Collector
from starloom.store.blobs.logs import AttemptLogs
from starloom.store.faults import full, has_no_room
from starloom.store.file_names import DATABASE_FILE
from starloom.store.opening import open_store
from starloom.store.port import Damaged, DiskFull, Unavailable
from starloom.store.redis.embedded import EmbeddedRedis
from starloom.store.redis.store import RedisStore
from starloom_protocol.records.entities import Device
from starloom_protocol.vocabulary import CODES

GOODBYE_S = 2.0
FIRST_ANSWER_MS = 60_000
DAY_MS = 86_400_000
BEGUN_AGAIN_S = 1.0
"""Before a task that has died is begun again: a lasting fault costs one entry of the log a second."""
FORGET_EVERY_MS = 30_000
FORGOTTEN_AT_ONCE = 1_000
HUB_KEY_FILE = Path("keys") / "hub.key"
CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGE = Path(__file__).resolve().parent
_log = logging.getLogger("starloom.app")


@dataclass(frozen=True, slots=True)
class Running:
    """A hub that can do work, before its sockets are open."""

    edge: Edge
    succession: Succession
    hub: Hub
    local_token: first_run.LocalToken
    owning: asyncio.Task[None]


class SuccessionDied(Exception):
    """The hub neither owns the shard nor follows it any more: it must be started again."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a hub that know nothing of the shard's owner: store, files, read models, and ways out."""

    settings: Settings
    clock: HubClock
    store: RedisStore
    fanout: Fanout
    links: Links
    dispatched_secrets: DispatchedSecrets
    refusals: Refusals
    blobs: FileBlobs
    attempt_logs: AttemptLogs
    vault: Vault
    jobs: CelerySender
    hub_id: str
    key: hub_keys.HubKey
    views: Views

    @property
    def owner_ttl_ms(self) -> int:
        return round(self.settings.owner_ttl_s * 1000)

    @property
    def own_url(self) -> str:
        """The address by which other hubs of the shard reach this one."""
        return self.settings.peer_url or self.settings.url


@dataclass(frozen=True, slots=True)
class _Shard:
    """This hub's place on the shard: owner or follower, beside its neighbours."""

    succession: Succession
    neighbours: Neighbours
    seals: HubSeals
    collector: Collector


@asynccontextmanager
async def opened(settings: Settings) -> AsyncIterator[Running]:
    """Open store and engine, fill the read models, build the application; close all in the reverse order.

    Raises:
        Unavailable: Redis or the history cannot be opened.
    """
    async with AsyncExitStack() as stack:
        parts = await _open_parts(settings, stack)
        shard = _take_place(parts)
        owning = await _start_shard(parts, shard, stack)
        logs = LogWriter(parts.attempt_logs)
        _keep_running(stack, "attempt-logs", logs.run)
        _keep_running(stack, "forget-pruned", partial(_forget_pruned, parts.store, parts.views.headlines, parts.clock))
        _keep_running(stack, "collect", partial(_collect, shard.collector, parts.clock, shard.succession))
        places = Places(bounds_for(raise_descriptors()))
        reach = reach_of([url for url in (settings.url, settings.public_url) if url], settings.trusted_proxies)
        place = LanPlace(settings.home, settings.lan_host or "", settings.lan_port, settings.drain_s / 4)
        lan = LanListener(place, reach, parts.clock.now_ms, places=places)
        hub = _make_hub(parts, shard, logs, lan, places, reach, stack)
        optional = OptionalParts(
            lambda: _shard_of(shard.succession),
            hub.reads,
            hub.inbox,
            forecast=hub.planner.run_forecast,
            held=hub.held_by_others,
            now_ms=hub.now_ms,
        )
        _keep_running(stack, "optional-parts", partial(optional.run, parts.clock.wait))
        gauges = _gauges(shard.succession, parts.store, parts.clock, places.network)
        edge = build(hub, _files(settings), gauges=gauges)
        if edge.relay is not None:
            shard.neighbours.on_moved.append(edge.relay.cut)
            stack.push_async_callback(edge.relay.close)
        stack.push_async_callback(lan.stop)
        await lan.attach(edge.app, wanted=settings.lan)
        make_token = partial(_local_token, settings, parts.views.access, shard.succession.inbox, parts.clock)
        token = first_run.LocalToken(settings.home, await make_token(), parts.views.access, make_token)
        _keep_running(stack, "local-token", token.keep)
        gc.collect()
        gc.freeze()
        # Records are frozen and have no cycles: a dropped one is freed at once, and a collection finds almost nothing.
        gc.set_threshold(*GC_THRESHOLDS)
        gc.enable()
        _keep_running(stack, "heap", keep_gathered)
        yield Running(edge, shard.succession, hub, token, owning)


async def _open_parts(settings: Settings, stack: AsyncExitStack) -> _Parts:
    home, shared = settings.home, settings.shared_home
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    redis_url = settings.redis_url or await _embedded(home, stack)
    database_url = settings.database_url or f"sqlite:///{home / DATABASE_FILE}"
    restored = max((mark.incarnation for mark in first_run.marks_of_a_restore(_data_folders(settings))), default=0)
    ttl_ms = round(settings.owner_ttl_s * 1000)
    store = await open_store(redis_url, database_url, owner_ttl_ms=ttl_ms, home=home, restored=restored)
    stack.push_async_callback(store.close)
    clock = HubClock()
    sealer, key = await keys_of(settings, store)
    broker_url = settings.broker_url or broker_url_of(redis_url)
    jobs = CelerySender(lambda: make_celery(broker_url))
    stack.push_async_callback(asyncio.to_thread, jobs.close)
    fleet = FleetView()
    fleet.on_revoked.append(lambda device: _end_tunnels(home, fleet, device))
    return _Parts(
        settings=settings,
        clock=clock,
        store=store,
        fanout=Fanout(),
        links=Links(),
        dispatched_secrets=DispatchedSecrets(),
        refusals=Refusals(),
        blobs=FileBlobs(
            shared / "blobs",
            quota_bytes=settings.artifacts_bytes_most,
            owner_bytes_most=settings.artifacts_bytes_each,
        ),
        attempt_logs=AttemptLogs(shared),
        vault=Vault(sealer, store.ciphertexts, clock.now_ms),
        jobs=jobs,
        hub_id=first_run.hub_id(home),
        key=key,
        views=Views(
            access=AccessView(clock.now_ms),
            fleet=fleet,
            at_work=AtWork(),
            headlines=Headlines(store),
            questions=QuestionsView(),
            stop_rules=StopRules(),
        ),
    )


async def keys_of(settings: Settings, store: RedisStore) -> tuple[Sealer, hub_keys.HubKey]:
    """Return the keys of this hub, made where the history is new.

    Raises:
        Damaged: the history is of hubs with others.
    """
    path = settings.shared_home / HUB_KEY_FILE
    secrets_path = settings.secrets_key_file or settings.shared_home / "keys" / "secrets.key"
    keyed = await store.keyed()
    hub_keys.check_files(path, secrets_path, keyed)
    sealer, key = load_or_make(secrets_path), hub_keys.load_or_make(path)
    hub_keys.check_same(path, key, keyed)
    if keyed.hub_key != key.text:
        await store.note_hub_key(key.text)
    return sealer, key


def _take_place(parts: _Parts) -> _Shard:
    """Make the succession and what follows an owner; starts nothing."""
    settings, clock, store = parts.settings, parts.clock, parts.store
    retained = Retained(store, lambda: _held(succession), clock.now_ms, settings.artifacts_keep_s, settings.logs_keep_s)
    kept = BlobKeeping(settings.artifacts_unnamed_s, settings.logs_keep_s, settings.logs_bytes_most)
    collector = Collector(parts.blobs, parts.attempt_logs, retained, kept)

    async def went_back() -> None:
        parts.fanout.begin_anew("the log went back; connect again")
        await parts.views.fill(store, parts.fanout)

    async def changed() -> None:
        if succession.engine is None:
            parts.links.goaway("another hub has taken over", 0.5)
        elif parts.fanout.listeners:  # not at the first start: no other hub has written since
            parts.attempt_logs.forget()
            await asyncio.to_thread(parts.blobs.recount)
        await neighbours.changed()

    succession = Succession(
        hub=parts.hub_id,
        source=store.log,
        remote=RemoteInbox(store.inbox),
        live=parts.fanout,
        clock=clock,
        make=lambda: _make_engine(parts, collector),
        cut=went_back,
        changed=changed,
        timings=TakeoverTimings(look_ms=min(250, parts.owner_ttl_ms // 8), unseen_ms=parts.owner_ttl_ms * 3 // 10),
    )
    seals = HubSeals(secret_of(settings.shared_home / HUB_KEY_FILE), parts.hub_id, clock.wall_ms)
    neighbours = Neighbours(store.log, succession, seals, parts.fanout, clock, parts.own_url)
    return _Shard(succession, neighbours, seals, collector)


def _make_engine(parts: _Parts, collector: Collector) -> Engine:
    settings, refusals, now_ms = parts.settings, parts.refusals, parts.clock.now_ms
    return Engine(
        store=parts.store,
        remote=parts.store.inbox,
        clock=parts.clock,
        sender=parts.links,
        live=parts.fanout,
        jobs=parts.jobs,
        values=parts.blobs,
        settings=EngineSettings(
            owner=parts.hub_id,
            polite=True,
            renew_ms=parts.owner_ttl_ms // 4,
            lease_ttl_ms=round(settings.scaled_lease_ttl_s * 1000),
            lease_grace_ms=round(settings.scaled_lease_grace_s * 1000),
            keeping=FinishedRetention(
                quiet_ms=round(settings.retire_after_s * 1000),
                constellations_most=settings.finished_most,
                tasks_most=settings.finished_tasks_most,
            ),
            history=_history_limits(settings),
            prune_every_ms=round(settings.history_prune_every_s * 1000),
            random_placement=settings.placement == "random",
            experience=settings.experience,
        ),
        measure=time.perf_counter,
        secrets=parts.vault,
        dispatched_secrets=parts.dispatched_secrets,
        on_refused=lambda device, door, reason: refusals.of_device(now_ms(), device, door, reason),
        kept_files=collector,
        on_pruned=parts.views.headlines.forget,
        first_inputs=lambda: list(first_run.marks_of_a_restore(_data_folders(settings))),
    )


async def _start_shard(parts: _Parts, shard: _Shard, stack: AsyncExitStack) -> asyncio.Task[None]:
    """Take or follow the shard, fill the read models, and keep both current until the hub ends.

    Returns the succession, which is not begun again if it dies: only a start knows where the shard stands.
    """
    succession, neighbours, clock = shard.succession, shard.neighbours, parts.clock
    stack.push_async_callback(neighbours.close)
    stack.push_async_callback(succession.stop)
    await succession.start()
    await parts.views.fill(parts.store, parts.fanout)
    owning = asyncio.create_task(succession.run(), name="succession")
    stack.push_async_callback(end_tasks, [owning])
    _keep_running(stack, "neighbours", neighbours.run)
    _keep_running(stack, "carry-beside", neighbours.carry)
    _keep_running(stack, "sketches", Sketches(parts.store.sketches, parts.fanout, clock.wait).run)
    if succession.engine is None:
        parts.links.goaway("another hub has taken over", 0.5)
        await neighbours.changed()
    else:
        await parts.vault.sweep(parts.views.access.secrets.values())
    following = partial(follow_dates, clock, lambda: _is_idle(succession), lambda: _date_followed(succession))
    _keep_running(stack, "dates", following)
    return owning


def _shard_of(succession: Succession) -> Shard | None:
    """Return the shard, for reading only; None while another hub has it."""
    return succession.engine.shard if succession.engine is not None else None


def _keep_running(stack: AsyncExitStack, name: str, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Start a task that is cancelled and awaited when the stack closes; if it dies before, it is begun again."""

    async def kept() -> None:
        while True:
            try:
                return await work()
            except Exception:
                _log.critical("event=task_died task=%s next=begun_again", name, exc_info=True)
                await asyncio.sleep(BEGUN_AGAIN_S)

    stack.push_async_callback(end_tasks, [asyncio.create_task(kept(), name=name)])


def _make_hub(
    parts: _Parts,
    shard: _Shard,
    logs: LogWriter,
    lan: LanListener,
    places: Places,
    reach: Reach,
    stack: AsyncExitStack,
) -> Hub:
    settings, clock, fleet, access = parts.settings, parts.clock, parts.views.fleet, parts.views.access
    succession, neighbours = shard.succession, shard.neighbours
    desk = None
    if settings.lab:
        desk = Desk(parts.store, ScenarioRuns(built_in_folder() / "scenarios", lambda: iso(clock.now_ms())))
        stack.push_async_callback(desk.close)
    vitals = VitalLines(clock.now_ms, parts.own_url if settings.shared else "")
    fleet.on_revoked.append(lambda device: vitals.forget(device.id))
    return Hub(
        access=access,
        artifacts=parts.blobs,
        at_work=parts.views.at_work,
        attempt_logs=parts.attempt_logs,
        fanout=parts.fanout,
        fleet=fleet,
        dispatched_secrets=parts.dispatched_secrets,
        headlines=parts.views.headlines,
        history=first_run.history_id(settings.shared_home),
        inbox=succession.inbox,
        key=parts.key,
        lab=desk,
        lan=lan,
        limits=Limits(time.monotonic),
        links=parts.links,
        logs=logs,
        monotonic_s=time.monotonic,
        now_ms=clock.now_ms,
        planner=Planning(
            load_catalogue(),
            LatestSnapshot(fleet, access.secrets),
            lambda: fleet.recipes.values(),
            lambda: fleet.recipe_runs.values(),
        ),
        seals=shard.seals,
        places=places,
        program=of_hub(settings.home, default_home()),
        program_here=for_its_hub(in_its_folder(), settings.home, default_home()),
        questions=parts.views.questions,
        reach=reach,
        reads=parts.store,
        ready=lambda: _not_ready(succession, neighbours),
        position=succession.inbox.position,
        held_by_others=succession.inbox.held_by_others,
        received=succession.inbox.received,
        refusals=parts.refusals,
        settings=settings,
        stop_rules=parts.views.stop_rules,
        ownership=neighbours,
        tickets=Tickets(time.monotonic),
        vault=parts.vault,
        vitals=vitals,
    )


def _end_tunnels(home: Path, fleet: FleetView, device: Device) -> None:
    """Stop keeping the tunnels of a removed device."""
    from starloom.host.servers import tunnels

    joined = (one for one in fleet.enrollments.values() if one.device == device.id and one.state == "approved")
    tunnels.forget_device(home, device.id, {one.name for one in joined})


async def _embedded(home: Path, stack: AsyncExitStack) -> str:
    redis = EmbeddedRedis(home)
    await redis.start()
    stack.push_async_callback(redis.stop)
    _keep_running(stack, "embedded-redis", redis.supervise)
    return redis.url


def _data_folders(settings: Settings) -> list[Path]:
    """Return the folder of this hub, and that of all hubs of its history where it is another."""
    return list(dict.fromkeys((settings.shared_home, settings.home)))


async def _local_token(settings: Settings, access: AccessView, inbox: Inbox, clock: HubClock) -> str:
    """Return this machine's own token, once the engine knows whether its history was restored.

    A hub that follows asks the owner for it, also across a change of owners.

    Raises:
        Overloaded, Unavailable: no owner has answered for a minute.
    """
    until_ms = clock.now_ms() + FIRST_ANSWER_MS
    while True:
        try:
            await first_run.tell_restored(_data_folders(settings), inbox)
            return await first_run.ensure_local_token(settings.home, access, inbox, clock.now_ms())
        except (Overloaded, Unavailable) as error:
            if clock.now_ms() >= until_ms:
                raise
            _log.warning("event=local_token_waits reason=%s", error)
        await clock.wait(500)


def _held(succession: Succession) -> Collection[str]:
    return () if succession.engine is None else succession.engine.shard.constellations


def _is_idle(succession: Succession) -> bool:
    """Tell whether nothing is under way. False on a standby: it cannot know, and may own the shard next."""
    return succession.engine is not None and not succession.engine.shard.live


def _date_followed(succession: Succession) -> None:
    if succession.engine is not None:
        succession.engine.timers.look()


def _history_limits(settings: Settings) -> HistoryLimits:
    days, megabytes = settings.history_keep_days, settings.history_keep_mb
    return HistoryLimits(
        age_ms=None if days is None else round(days * DAY_MS),
        bytes_most=None if megabytes is None else megabytes * 1_000_000,
        files_ms=round(settings.artifacts_keep_s * 1000),
        least_ms=round(settings.history_keep_least_days * DAY_MS),
    )


async def _forget_pruned(store: RedisStore, headlines: Headlines, clock: HubClock) -> None:
    """Drop the headlines of constellations that the shard's owner has pruned; the owner may be another hub."""
    last: int | None = None
    while True:
        try:
            last, names = await store.pruned_since(2**62 if last is None else last, FORGOTTEN_AT_ONCE)
            if len(names) == FORGOTTEN_AT_ONCE:
                headlines.reset()
            else:
                headlines.forget(names)
        except Unavailable as error:
            _log.warning("event=pruned_unread reason=%s", error)
        await clock.wait(FORGET_EVERY_MS)


async def _collect(collector: Collector, clock: HubClock, succession: Succession) -> None:
    """Collect unnamed artifacts until cancelled; a failed collection is tried again the next time.

    Only the shard's owner collects: it alone knows all constellations that are held.
    """
    while True:
        await clock.wait(round(collector.every_s * 1000))
        if succession.engine is None:
            continue
        try:
            await collector.collect(clock.now_ms() / 1000)
        except (Damaged, Unavailable, OSError, ValueError) as error:
            _log.warning("event=collect_failed reason=%s", error)


def _not_ready(succession: Succession, neighbours: Neighbours) -> list[str]:
    engine = succession.engine
    if engine is None:
        if neighbours.stale:
            return ["the log"]
        return [] if neighbours.owner_url else ["an owner of the shard"]
    if not engine.ready:
        return ["engine"]
    obstacle = engine.inbox.waits_for
    return [] if obstacle is None else [obstacle.reason]


def _gauges(succession: Succession, store: RedisStore, clock: HubClock, network: Connections) -> dict[str, Gauge]:
    def of(read: Callable[[Engine], float]) -> Gauge:
        return lambda: 0 if succession.engine is None else read(succession.engine)

    return {
        "commits_total": of(lambda engine: engine.counts.commits),
        "inputs_total": of(lambda engine: engine.counts.inputs),
        "slow_steps_total": of(lambda engine: engine.counts.slow_steps),
        "shard_retaken_total": of(lambda engine: engine.counts.retaken),
        "inbox_length": of(lambda engine: len(engine.inbox)),
        "constellations_live": of(lambda engine: len(engine.shard.live)),
        "constellations_held": of(lambda engine: len(engine.shard.constellations)),
        "constellations_retired_total": of(lambda engine: engine.retiring.retired),
        "constellations_recalled_total": of(lambda engine: engine.retiring.recalled),
        "constellations_pruned_total": of(lambda engine: engine.retention.constellations),
        "history_lag_seconds": of(lambda _engine: store.lag_ms(clock.now_ms()) / 1000),
        "connections_open": lambda: len(network),
        "connections_gave_way_total": lambda: network.gave_way,
        "connections_refused_total": lambda: network.refused,
        "owns_shard": of(lambda _engine: 1),
        "term": of(lambda engine: engine.term),
        "takeovers_total": lambda: succession.takeovers,
    }


def _files(settings: Settings) -> Files:
    """Return the files served from disk: packaged in the wheel, or beside the package in a checkout."""
    script = next(
        (path for path in (PACKAGE / "_agent" / "join.py", CHECKOUT / "device_agents" / "join.py") if path.is_file()),
        None,
    )
    lock = script.with_name("requirements.lock") if script is not None else None
    pages = [settings.web] if settings.web else [PACKAGE / "_web", CHECKOUT / "frontend" / "dist"]
    page = next((path for path in pages if (path / "index.html").is_file()), None)
    tabs = [PACKAGE / "_tab", CHECKOUT / "device_agents" / "browser" / "dist"]
    sources = (CHECKOUT / "protocol", CHECKOUT / "device_agents")
    in_checkout = settings.wheels is None and all((source / "pyproject.toml").is_file() for source in sources)
    return Files(
        join_script=script,
        requirements=lock if lock is not None and lock.is_file() else None,
        page=page or pages[-1],
        tab=next((path for path in tabs if (path / "index.html").is_file()), tabs[-1]),
        wheels=settings.wheels or (settings.home / "wheels" if in_checkout else PACKAGE / "_agent" / "wheels"),
        wheel_sources=sources if in_checkout else (),
        data=settings.home,
    )


class _Server(Listener):
    """Says goodbye to agents and pages before the sockets are closed."""

    def __init__(self, config: Config, running: Running) -> None:
        super().__init__(config)
        self._running = running
        running.owning.add_done_callback(self._succession_ended)

    def _succession_ended(self, owning: asyncio.Task[None]) -> None:
        if not owning.cancelled():
            _log.critical("event=task_died task=succession next=hub_ends", exc_info=owning.exception())
            self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals in the loop, also after serving: store and engine are closed after the sockets."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        yield

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        _log.info("event=stopping signal=%d", sig)
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await say_goodbye(self._running)
        await super().shutdown(sockets)


async def say_goodbye(running: Running) -> None:
    """Admit no more agents, ask the connected ones to come back soon, and notify the pages."""
    hub = running.hub
    running.edge.aip.draining = True
    if running.edge.relay is not None:
        running.edge.relay.cut()
    hub.links.goaway("the hub is stopping", 1.0)
    hub.fanout.end_waits()
    for viewer in hub.fanout.viewers():
        viewer.cut("overloaded", "the hub is stopping")
    try:
        async with asyncio.timeout(GOODBYE_S):
            while len(hub.links) or hub.fanout.viewer_count:  # noqa: ASYNC110 - short, and two counts at once
                await asyncio.sleep(0.02)
            await hub.logs.flush()
    except TimeoutError:
        _log.warning("event=goodbye_cut links=%d viewers=%d", len(hub.links), hub.fanout.viewer_count)


async def serve(settings: Settings) -> None:
    """Run the hub until SIGTERM or Ctrl-C.

    Raises:
        SuccessionDied: the hub must be started again.
    """
    async with opened(settings) as running:
        config = server_config(
            running.edge.app,
            host=settings.host,
            port=settings.port,
            drain_s=settings.drain_s / 2,
            certificate=settings.tls_cert,
            key=settings.tls_key,
            places=running.hub.places,
        )
        own = OwnSockets(settings.home, running.hub.now_ms, settings.drain_s / 2, running.hub.places)
        local_file = settings.home / first_run.LOCAL_FILE
        try:
            places = await own.open(running.edge.app)
            first_run.write_local(settings.home, settings.url, running.local_token.text, places)
            _log.info("event=listening url=%s", settings.url)
            if (fault := await asyncio.to_thread(unusable, settings.llm_variables, settings.model_folder)) is not None:
                _log.warning("event=model_unusable reason=%s hint=%s", fault.reason, fault.hint)
            await _Server(config, running).serve()
            if running.owning.done():
                raise SuccessionDied(f"the hub can no longer own or follow the shard ({running.owning.exception()})")
        finally:
            local_file.unlink(missing_ok=True)
            await own.close()


def main() -> int:
    """Run the hub with settings from variables and `starloom.toml`; return the exit code."""
    try:
        settings = load().settings
    except SettingsInvalid as invalid:
        for fault in invalid.faults:
            print(f"starloom: {fault}", file=sys.stderr)
        return 2
    log_to_stderr(settings.log_level.upper())
    for noisy in ("httpx", "asyncio", "celery", "kombu", "amqp", "aiosqlite", "alembic", "uvicorn"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    try:
        gc.freeze()  # modules stay for good: the search before the hub opens is for what it has loaded
        uvloop.run(serve(settings))
    except Unavailable as error:
        print(f"starloom: {error}. {CODES[error.code].hint}", file=sys.stderr)
        return 1
    except Damaged as error:
        print(f"starloom: {error}", file=sys.stderr)
        return 1
    except SuccessionDied as error:
        print(f"starloom: {error}. It ends and has to be started again; a supervisor does so.", file=sys.stderr)
        return 1
    except OSError as error:
        if not has_no_room(error):
            raise
        print(f"starloom: {full(settings.home)}. {CODES[DiskFull.code].hint}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
