"""A whole hub in one process for tests: real engine on the memory store, real edge, a clock that stands still."""

from __future__ import annotations

import asyncio
import base64
import heapq
import json
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from starloom.core.people.approvals.need import changing_calls
from starloom.edge import first_run
from starloom.edge.access.callers import AccessView, Tickets
from starloom.edge.access.rate_limits import Limits
from starloom.edge.access.refusals import Refusals
from starloom.edge.access.vault import Sealer, Vault
from starloom.edge.agents import hub_keys
from starloom.edge.agents.attempt_logs import LogWriter
from starloom.edge.agents.links import Links
from starloom.edge.agents.vital_lines import VitalLines
from starloom.edge.app import Edge, Files, build
from starloom.edge.hub import Hub, Planner
from starloom.edge.live.fanout import Fanout
from starloom.edge.live.views import (
    AtWork,
    FleetView,
    Headlines,
    QuestionsView,
    StopRules,
    Views,
)
from starloom.edge.web.shield import reach_of
from starloom.edge.web.sockets import HOLD, Ended, Taker
from starloom.engine.loop import Engine
from starloom.engine.settings import EngineSettings
from starloom.planner.context.assembly import Asking, PromptPart
from starloom.planner.context.brief import Brief, brief
from starloom.planner.fleet import FleetSnapshot as PlannersFleet
from starloom.planner.forecast.plans import Change, what_if
from starloom.planner.forecast.runs import RunAsked, run_forecast
from starloom.planner.model.conversations.planning import first_prompt
from starloom.planner.model.prompt import planning_parts
from starloom.planner.preview.plan import core_fleet, preview, ungranted
from starloom.planner.recipes.catalogue import Catalogue
from starloom.planner.recipes.trust import version_runs_row
from starloom.planner.requests.matching import Match, Matched
from starloom.planner.requests.refusals import refused
from starloom.planner.service import Planning
from starloom.process.program import NAME
from starloom.process.settings import Settings
from starloom.store.blobs.artifacts import FileBlobs
from starloom.store.blobs.logs import AttemptLogs
from starloom_protocol.api.previews import PlanPreview, RunWhatIf, WhatIf
from starloom_protocol.api.recipes import ExampleTried, ProposalRow, RecipeRow, RecipeWhole, RunsRow
from starloom_protocol.plan import PlanCheck, Recipe
from starloom_protocol.records.approvals import Call
from starloom_protocol.records.edits import EditOperation, LoweredPlan
from starloom_protocol.records.entities import (
    Dependency,
    Fault,
    Offer,
    RecipeProposal,
    RecipeVersion,
    RuleRecord,
    TaskSpec,
    ToolOffer,
)
from starloom_protocol.records.specs import Approved
from starloom_protocol.vocabulary import Code, Effect, Profile, Repeatability, Sharing
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.channel import (
    ChannelKeys,
    channel_keys,
    device_proof,
    hub_proof,
    request_proof,
    seal,
    transcript,
)
from starloom_protocol.wire.session import Session, Side, device_id
from starloom_protocol.wire.version import PROTOCOL_VERSIONS
from tests.edge import shared_routes
from tests.edge.answers import held_to_its_type
from tests.store.memory import MemoryStore
from tests.waiting import PATIENCE_S

URL = "http://127.0.0.1:8470"
NOW_MS = 1_790_000_000_000
shared_routes.share()


class ManualClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.ms = NOW_MS
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._count = 0

    def now_ms(self) -> int:
        return self.ms

    def monotonic_s(self) -> float:
        return self.ms / 1000

    async def wait(self, ms: int) -> None:
        self._count += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (self.ms + ms, self._count, future))
        await future

    async def advance(self, ms: int) -> None:
        self.ms += ms
        while self._waiting and self._waiting[0][0] <= self.ms:
            future = heapq.heappop(self._waiting)[2]
            if not future.done():
                future.set_result(None)
        await settle()


async def settle(turns: int = 30) -> None:
    """Let everything that can run do so."""
    for _ in range(turns):
        await asyncio.sleep(0)


async def at_once() -> None:
    """A page that draws without taking time."""


class NoRecipes:
    """A planner without recipes: plans still run, words find nothing. `fleet` is what calls are judged on.

    `known` has the devices that previews show.
    """

    fleet = PlannersFleet()
    known = FleetView()

    @classmethod
    def beside(cls, known: FleetView) -> Self:
        made = cls()
        made.known = known
        return made

    def still(self) -> Self:
        return self

    def understand(self, words: str, params: Any, by: str, *, shown: bool = False) -> Matched:
        return Matched(Match.NONE, ())

    def refused(self, found: Matched) -> Fault:
        return refused(found, PlannersFleet())

    def tried(self, recipe: Recipe) -> list[ExampleTried]:
        return []

    def phrases_taken(self, recipe: Recipe) -> list[Fault]:
        return []

    def examples(self, found: Matched) -> tuple[str, ...]:
        return ()

    def plan_recipe(self, name: str, params: Any) -> PlanCheck:
        return PlanCheck(faults=[Fault(code=Code.UNKNOWN_RECIPE, reason=f"there is no recipe {name}")])

    def preview(
        self, plan: LoweredPlan, *, words: bool, by: str, approves: bool = True, micros: int = 0
    ) -> PlanPreview:
        shown = PlannersFleet.of(self.known.devices, self.known.offers)
        return preview(plan, shown, words=words, by=by, approves=approves).plain()

    def unable(self, plan: LoweredPlan) -> list[Fault]:
        return []

    def unfit(
        self, operations: Iterable[EditOperation], tasks: Mapping[str, TaskSpec], *, able: bool = True
    ) -> list[Fault]:
        return Planning(Catalogue([]), lambda: self.fleet).unfit(operations, tasks, able=able)

    def changing_calls(
        self, specs: Sequence[TaskSpec], rules: Iterable[RuleRecord], approved: Approved | None = None
    ) -> list[Call]:
        return changing_calls(core_fleet(self.fleet), specs, rules, approved)

    def ungranted(self, specs: Sequence[TaskSpec], dependencies: Iterable[Dependency]) -> list[str]:
        return ungranted(specs, dependencies, self.fleet)

    def run_forecast(self, asked: RunAsked) -> Callable[[], RunWhatIf]:
        return lambda: run_forecast(asked, self.fleet)

    def what_if(self, plan: LoweredPlan, change: Change, *, words: str, within_ms: int | None) -> WhatIf:
        return what_if(plan, PlannersFleet(), change, words=words, within_ms=within_ms)

    def brief(self, words: str, today: str = "") -> Brief:
        return brief(words, PlannersFleet(), (), today=today)

    def prompt(self, words: str, today: str) -> list[PromptPart]:
        return planning_parts(words, PlannersFleet(), today=today)

    def first_prompt(
        self, words: str, params: Any, *, by: str, before: Sequence[str], today: str, sharing: Sharing
    ) -> list[PromptPart]:
        asking = Asking(words=words, params=params, fleet=PlannersFleet(), before=before, today=today)
        return first_prompt(asking, sharing)[1]

    def recipes(self) -> list[RecipeRow]:
        return []

    def recipe(self, name: str) -> RecipeWhole | None:
        return None

    def version(self, saved: RecipeVersion) -> RecipeWhole | None:
        return None

    def proposal(self, found: RecipeProposal) -> ProposalRow | None:
        return None

    def runs(self, version: RecipeVersion) -> RunsRow:
        return version_runs_row(None, version.number)


class Jobs:
    def __init__(self) -> None:
        self.woken: list[tuple[str, str, str]] = []

    def wake(self, kind: str, constellation: str, job: str) -> None:
        self.woken.append((kind, constellation, job))


class World:
    """The parts of one hub, and quick ways to use it."""

    def __init__(self, hub: Hub, edge: Edge, engine: Engine, clock: ManualClock, token: str, jobs: Jobs) -> None:
        self.hub = hub
        self.edge = edge
        self.engine = engine
        self.clock = clock
        self.token = token
        self.jobs = jobs
        self.url = hub.settings.url

    @property
    def app(self) -> Any:
        return self.edge.app

    def client(self, token: str | None = None, url: str | None = None) -> httpx.AsyncClient:
        """A client with this bearer token; "" for none, the owner's by default."""
        given = self.token if token is None else token
        headers = {"Authorization": f"Bearer {given}"} if given else {}
        transport = httpx.ASGITransport(app=self.app, client=("127.0.0.1", 40000))
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [partial(held_to_its_type, self.app)]}
        return httpx.AsyncClient(transport=transport, base_url=url or self.url, headers=headers, event_hooks=hooks)

    def socket(self, path: str, headers: dict[str, str] | None = None) -> Ws:
        return Ws(self.app, path, {"host": f"127.0.0.1:{self.hub.settings.port}", **(headers or {})})

    async def page(self, text: str) -> Ws:
        """Return the live socket of a page that a token let in."""
        async with self.client(text) as http:
            ticket = (await http.post("/api/v1/live/tickets")).json()["ticket"]
        socket = await self.socket("/api/v1/live").open()
        await socket.send_json({"t": "ticket", "ticket": ticket})
        assert (await socket.receive_json())["t"] == "ready"
        return socket

    async def new_token(self, role: str, scopes: list[str] | None = None) -> tuple[str, str]:
        """Return (id, text) of a fresh token."""
        async with self.client() as http:
            made = (await http.post("/api/v1/tokens", json={"role": role, "scopes": scopes or []})).json()
        return made["id"], made["token"]

    async def submit(self, plan: dict[str, Any] | str, **more: Any) -> dict[str, Any]:
        async with self.client() as http:
            response = await http.post("/api/v1/constellations", json={"plan": plan, **more})
        assert response.status_code == 202, response.text
        made: dict[str, Any] = response.json()
        return made

    async def join(self, name: str, **more: Any) -> Agent:
        """Enroll and join a device without a person."""
        agent = Agent(name)
        async with self.client() as http:
            made = (await http.post("/api/v1/enrollments", json={"preapproved": True, **more})).json()
            answer = await http.post("/agent/join", json=agent.ask(made["code"]))
        assert answer.json()["state"] == "approved", answer.text
        agent.hub_key = answer.json()["hub_key"]
        return agent

    async def online(self, name: str, *, offer: Offer | None = None, **more: Any) -> Agent:
        """Join a device without a person and connect it."""
        agent = await self.join(name, **more)
        await agent.connect(self, offer=offer)
        return agent


class Agent:
    """A device with its key, speaking AIP over the in-memory socket."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.private = Ed25519PrivateKey.generate()
        raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.key = base64.b64encode(raw).decode()
        self.id = device_id(raw)
        self.hub_key = ""
        self.report = 0
        self.versions = list(PROTOCOL_VERSIONS)
        self.welcome: f.Welcome | None = None
        self.share = hub_keys.KeyShare()
        self.said: f.Hello | None = None
        self.channel: ChannelKeys | None = None
        self.session = Session(Side.AGENT)
        self.ws: Ws | None = None
        self.inbox: list[f.Frame] = []

    def ask(self, code: str) -> dict[str, Any]:
        return {"code": code, "key": self.key, "name": self.name, "os": "linux", "profile": "work"}

    def hello(self) -> f.Hello:
        return f.Hello(
            device=self.id,
            instance="i1",
            key=self.key,
            key_share=self.share.text,
            ledger=f"ledger-{self.name}",
            next_report=self.report + 1,
            version="0.1.0",
            versions=self.versions,
        )

    def prove(self, challenge: f.Challenge, *, key: Ed25519PrivateKey | None = None) -> f.Prove:
        assert self.said is not None
        said = transcript(self.said, challenge)
        hub = base64.b64decode(challenge.hub)
        assert hub_keys.verifies(hub, challenge.signature, hub_proof(said)), "the hub did not prove its key"
        secret = self.share.secret_with(challenge.key_share)
        assert secret is not None
        self.channel = channel_keys(secret, said)
        self.session.secure(self.channel)
        proof = device_proof(said, challenge.signature)
        return f.Prove(signature=base64.b64encode((key or self.private).sign(proof)).decode())

    async def dial(self, world: World) -> None:
        """Open a socket and a fresh session."""
        self.session = Session(Side.AGENT)
        self.share = hub_keys.KeyShare()
        self.channel = None
        self.inbox = []
        self.ws = await self.reach(world)

    async def reach(self, world: World) -> Ws:
        """Open a socket to the hub, as this device comes to it."""
        return await world.socket("/aip/v1").open()

    async def connect(self, world: World, *, offer: Offer | None = None) -> f.Welcome:
        """Dial, prove, be welcomed, offer."""
        await self.dial(world)
        await self.send(self.hello())
        challenge = await self.next(f.Challenge)
        await self.send(self.prove(challenge))
        welcome: f.Welcome = await self.next(f.Welcome)
        self.welcome = welcome
        await self.next(f.ResumePlan)
        await self.send(f.OfferFrame(offer=offer or an_offer(), os="linux", policy_digest="p", profile=Profile.WORK))
        await settle()
        return welcome

    async def send(self, *frames: f.Frame) -> None:
        assert self.ws is not None
        self.said = next((frame for frame in frames if isinstance(frame, f.Hello)), self.said)
        await self.ws.send(self.session.send(list(frames)).decode())

    def sealed(self, text: str) -> str:
        """Return a text, sound or not, as this device would say it on its connection."""
        if self.channel is None:
            return text
        raw = text.encode("utf-8", "surrogatepass")
        return text + seal(self.channel.agent, raw)[len(raw) :].decode()

    async def next(self, kind: type[Any]) -> Any:
        """Return the next frame of a kind, keeping others aside."""
        assert self.ws is not None
        while True:
            for number, frame in enumerate(self.inbox):
                if isinstance(frame, kind):
                    return self.inbox.pop(number)
            self.inbox += self.session.receive(await self.ws.receive())

    def http(self, world: World, welcome: f.Welcome) -> httpx.AsyncClient:
        """Return a client whose requests are proved by the key of this connection."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(app=world.app, client=("127.0.0.1", 40000)),
            base_url=world.hub.settings.url,
            auth=_Proving(self, welcome.http_token),
        )

    async def done(self, dispatch: f.Dispatch, value: str | None = "null", **more: Any) -> None:
        self.report += 1
        await self.send(
            f.ResultFrame(at=dispatch.at, outcome=more.pop("outcome", "ok"), report=self.report, value=value, **more)
        )


def an_offer(*tools: str, slots: int = 2) -> Offer:
    offers = [
        ToolOffer(name=name, effects=[Effect.READ], repeatability=Repeatability.PURE, title=name)
        for name in tools or ("t.one",)
    ]
    return Offer(digest="d", slots=slots, tools=offers)


class _Proving(httpx.Auth):
    """Proves each request for an artifact as an agent does."""

    def __init__(self, agent: Agent, token: str) -> None:
        self._agent = agent
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        assert self._agent.channel is not None
        given = request.headers
        proof = request_proof(
            self._agent.channel.http,
            request.method,
            request.url.path.rpartition("/")[2],
            offset=given.get("upload-offset", ""),
            length=given.get("upload-length", ""),
            span=given.get("range", ""),
        )
        request.headers["Authorization"] = f"Starloom {self._token} {proof}"
        yield request


class Ws:
    """The client's half of an in-memory websocket that the application may hold, as with the real server.

    With `holds` false the server does not know the extension for it.
    """

    holds = True

    def __init__(self, app: Any, path: str, headers: dict[str, str] | None = None) -> None:
        given = headers or {}
        self._app = app
        self._scope: dict[str, Any] = {
            "type": "websocket",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "scheme": "ws",
            "server": ("127.0.0.1", 8470),
            "client": ("127.0.0.1", 40001),
            "root_path": "",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in given.items()],
            "subprotocols": [],
            "state": {},
            "extensions": {"websocket.http.response": {}, **({HOLD: self._hold} if self.holds else {})},
        }
        self._taker: Taker | None = None
        self._ended: Ended | None = None
        self._full: asyncio.Future[None] | None = None
        self._to_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._from_app: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task: asyncio.Task[None] | None = None
        self.status = 0
        self.close_code: int | None = None
        self.close_reason = ""

    async def open(self) -> Self:
        """Connect; `status` is 101, or that of the refusal."""
        self._to_app.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(self._app(self._scope, self._to_app.get, self._send))
        first = await asyncio.wait_for(self._from_app.get(), PATIENCE_S)
        if first["type"] == "websocket.accept":
            self.status = 101
        elif first["type"] == "websocket.http.response.start":
            self.status = first["status"]
            self.body = (await self._from_app.get())["body"]
        else:
            self.status = 403
        return self

    async def _send(self, message: dict[str, Any]) -> None:
        if self.close_code is not None:
            raise RuntimeError("the socket is closed")
        await self._from_app.put(message)

    def _hold(self, taker: Taker, ended: Ended) -> None:
        self._taker, self._ended = taker, ended
        while not self._to_app.empty():
            message = self._to_app.get_nowait()
            if message["type"] == "websocket.disconnect":
                ended("")
            else:
                taker(message["text"])

    async def send(self, text: str) -> None:
        if self._taker is not None:
            if self._full is not None:
                await self._full  # the socket is read no further, and the peer waits
            self._full = self._taker(text)
        else:
            self._to_app.put_nowait({"type": "websocket.receive", "text": text})

    async def send_json(self, value: Any) -> None:
        await self.send(json.dumps(value))

    async def receive(self) -> str:
        """Return the next message.

        Raises:
            ConnectionError: if the hub closed instead.
        """
        message = await asyncio.wait_for(self._from_app.get(), PATIENCE_S)
        if message["type"] == "websocket.close":
            self.close_code, self.close_reason = message["code"], message.get("reason", "")
            raise ConnectionError(f"{self.close_code} {self.close_reason}")
        text: str = message["text"]
        return text

    async def receive_json(self) -> Any:
        return json.loads(await self.receive())

    async def until_closed(self) -> list[str]:
        """Return all messages until the hub closes."""
        seen = []
        while True:
            try:
                seen.append(await self.receive())
            except ConnectionError:
                return seen

    async def leave(self) -> None:
        """Go away without a word and wait until the hub has noticed."""
        if self._ended is not None:
            self._ended("")
        self._to_app.put_nowait({"type": "websocket.disconnect", "code": 1006})
        if self.task is not None:
            await asyncio.wait_for(self.task, PATIENCE_S)


@asynccontextmanager
async def a_world(
    tmp_path: Path,
    *,
    planner: Planner | None = None,
    program: str = NAME,
    program_here: str = NAME,
    requirements: Path | None = None,
    check_every: int = 1,
    **settings: Any,
) -> AsyncIterator[World]:
    """Open a hub; closes it at the end. After each `check_every` commits it checks the invariants of its shard."""
    chosen = Settings(home=tmp_path, **settings)
    clock, fanout, links, jobs, refusals = ManualClock(), Fanout(), Links(), Jobs(), Refusals()
    store = MemoryStore()
    vault = Vault(Sealer([b"k" * 32]), store.ciphertexts, clock.now_ms)
    blobs, attempt_logs = FileBlobs(tmp_path / "blobs"), AttemptLogs(tmp_path)
    engine = Engine(
        store=store,
        remote=None,
        clock=clock,
        sender=links,
        live=fanout,
        jobs=jobs,
        values=blobs,
        settings=EngineSettings(owner="test", check_every=check_every),
        secrets=vault,
        on_refused=lambda device, door, reason: refusals.of_device(clock.now_ms(), device, door, reason),
    )
    access, fleet = AccessView(clock.now_ms), FleetView()
    views = Views(
        access=access,
        fleet=fleet,
        at_work=AtWork(),
        headlines=Headlines(store),
        questions=QuestionsView(),
        stop_rules=StopRules(),
    )
    logs = LogWriter(attempt_logs)
    await engine.start()
    writing = asyncio.create_task(logs.run())
    try:
        await views.fill(store, fanout)
        hub = Hub(
            access=access,
            artifacts=blobs,
            at_work=views.at_work,
            attempt_logs=attempt_logs,
            fanout=fanout,
            fleet=fleet,
            headlines=views.headlines,
            inbox=engine.inbox,
            key=hub_keys.load_or_make(tmp_path / "keys" / "hub.key"),
            limits=Limits(clock.monotonic_s),
            links=links,
            logs=logs,
            monotonic_s=clock.monotonic_s,
            now_ms=clock.now_ms,
            planner=planner or NoRecipes.beside(fleet),
            program=program,
            program_here=program_here,
            questions=views.questions,
            reach=reach_of([url for url in (chosen.url, chosen.public_url) if url], chosen.trusted_proxies),
            reads=store,
            ready=lambda: [] if engine.ready else ["engine"],
            position=engine.position,
            held_by_others=engine.held_by_others,
            received=engine.received,
            refusals=refusals,
            settings=chosen,
            stop_rules=views.stop_rules,
            tickets=Tickets(clock.monotonic_s),
            vault=vault,
            vitals=VitalLines(clock.now_ms, "here"),
            drawn=at_once,
            dispatched_secrets=engine.dispatched_secrets,
        )
        script = tmp_path / "join.py"
        script.write_text("print('join')\n")
        files = Files(
            join_script=script,
            page=chosen.web,
            requirements=requirements,
            tab=tmp_path / "tab",
            wheels=tmp_path / "wheels",
            data=tmp_path,
        )
        edge = build(hub, files, gauges={"commits_total": lambda: 1})
        token = await first_run.ensure_local_token(tmp_path, access, engine.inbox, clock.now_ms())
        yield World(hub, edge, engine, clock, token, jobs)
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        await engine.stop()
        await store.close()


def chain(*tools: str, **more: Any) -> dict[str, Any]:
    """A plan whose tasks run one after the other."""
    tasks = [{"id": f"t{number}", "tool": tool} for number, tool in enumerate(tools)]
    edges = [{"from": f"t{n}", "to": f"t{n + 1}", "when": "success"} for n in range(len(tools) - 1)]
    return {"starloom": 1, "name": "chain", "tasks": tasks, "dependencies": edges, **more}
