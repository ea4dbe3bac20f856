"""One full and one least example of every frame, by tag: what golden files and the codec's tests are made from."""

from __future__ import annotations

import msgspec

from starloom_protocol.records.approvals import OwnerAsk
from starloom_protocol.records.entities import FileOut, Offer, ToolOffer
from starloom_protocol.vocabulary import Code, Effect, EffectSeen, Outcome, Profile, Repeatability, Resume
from starloom_protocol.wire import frames as f
from starloom_protocol.wire.codec import Side

AT = f.LeaseRef(attempt=2, constellation="c-1", incarnation=3, task="send.3")
HELLO = f.Hello(
    device="d-5emiyuvagy63ghtdheatwwuhjg",
    instance="i-1",
    key="a2V5",
    ledger="l-1",
    next_report=7,
    version="0.1.0",
    versions=[1],
)
CHALLENGE = f.Challenge(hub="h-1", nonce="bm9uY2U", version=1)
HELLO_3 = msgspec.structs.replace(HELLO, key_share="c2hhcmU", versions=[3])
CHALLENGE_3 = msgspec.structs.replace(CHALLENGE, key_share="c2hhcmU", signature="c2ln", version=3)
PROVE = f.Prove(signature="c2ln")
WELCOME = f.Welcome(
    alive_interval_s=5.0,
    device_name="laptop",
    http_token="token",
    hub_time_ms=1_700_000_000_000,
    lease_grace_s=5.0,
    lease_ttl_s=15.0,
    received=6,
    session=4,
)
REFUSE = f.Refuse(code=Code.UNKNOWN_KEY, fix="Join it.", reason="no such device", retry_after_s=2.5)
PING = f.Ping(at_ms=12)
PONG = f.Pong(at_ms=12)
ERROR = f.ErrorFrame(code=Code.PROTOCOL_ERROR, reason="a gap")
ASK = OwnerAsk(
    action="0c" * 32,
    args='{"name":"nginx"}',
    constellation="c-1",
    id="1f2e3d4c",
    left_s=86_400,
    task="send.3",
    tool="service.restart",
)
TOOL = ToolOffer(
    args='{"type":"object"}',
    effects=[Effect.READ],
    grant="files:read",
    name="fs.find",
    repeatability=Repeatability.PURE,
    self_verified=True,
    title="Find files",
    unavailable="no folder",
)

AGENT: list[f.Frame] = [
    HELLO,
    PROVE,
    f.OfferFrame(
        offer=Offer(digest="0a", facts={"os": "linux"}, grants=["files:read"], slots=3, tools=[TOOL]),
        os="linux",
        policy_digest="0b",
        profile=Profile.FILES,
    ),
    f.Alive(running=[AT], sent_ms=5),
    f.Started(at=AT, report=7),
    f.ResultFrame(
        artifact="ab" * 32,
        at=AT,
        bytes=40_000,
        detail="done",
        effect=EffectSeen.MAYBE,
        facts={"/equal": "true", "/rows": "[1,2]"},
        facts_too_big={"/all": 2_000_000},
        outcome=Outcome.OK,
        report=8,
        tail="last line",
        verified=True,
    ),
    f.ResultFrame(at=AT, code=Code.EXIT_CODE, outcome=Outcome.ERROR, report=9, value='{"exit_code":1}'),
    f.Receipt(at=AT, effect=EffectSeen.MAYBE, known=False, report=10),
    f.LogChunk(at=AT, offset=4096, stream="stdout", text="h\u00e9llo\n"),
    f.Progress(at=AT, done_bytes=10, fraction_1000=500, note="half"),
    f.ConditionFrame(facts={"battery": "80"}),
    f.LedgerReport(entries=[f.LedgerEntry(at=AT, state="started")]),
    f.FactsFrame(at=AT, facts={"/rows": "[1]"}, facts_too_big={"/all": 2_000_000}),
    f.Bye(reason="shutting down"),
    PING,
    PONG,
    ERROR,
    f.AsksFrame(answers="hub", open=[ASK]),
    HELLO_3,
    f.VitalsFrame(battery_percent=84, load_percent=140),
    f.LedgerReport(calls=["ab" * 32, ""], entries=[f.LedgerEntry(at=AT, state="begun")] * 2),
]
HUB: list[f.Frame] = [
    CHALLENGE,
    WELCOME,
    REFUSE,
    f.Dispatch(
        args='{"root":"Pictures"}',
        at=AT,
        attempt_of_max=3,
        fence_after_s=13.0,
        files_out=[FileOut(output="/index", to="index.html")],
        inputs=[
            f.DispatchInput(
                flatten=True,
                many=True,
                name="rows",
                parts=[f.InputPart(value="[1]"), f.InputPart(artifact="ef" * 32, output="/rows")],
            )
        ],
        repeatability="pure",
        secrets={"password": "secret"},
        start_to_close_s=60.0,
        tool="fs.find",
        wants=["/folders"],
    ),
    f.Cancel(at=AT, reason="a person"),
    f.Renew(gone=[AT], granted=[AT], sent_ms=5),
    f.Ack(durable=7, received=9),
    f.ResumePlan(entries=[f.PlanEntry(action=Resume.CONTINUE, at=AT)]),
    f.DrainFrame(draining=True, reason="update"),
    f.Query(attempts=[AT]),
    f.FetchFacts(at=AT, wants=["/rows"]),
    f.UpdateAvailable(version="0.2.0"),
    f.Goaway(reason="restart", retry_after_s=1.5),
    PING,
    PONG,
    ERROR,
    f.OwnerAnswer(action="0c" * 32, allow=True, ask="1f2e3d4c", by="person:ann", reason="seen"),
    CHALLENGE_3,
    f.HintFrame(at=AT, by="person:ann", number=1, text="look at the disk first"),
    f.OverFrame(constellation="c-1"),
    f.Dispatch(
        args="{}",
        at=AT,
        fence_after_s=13.0,
        patience_most_s=120.0,
        repeatability="pure",
        start_to_close_s=60.0,
        tool="t",
    ),
    f.Dispatch(
        args='{"text":"Go on?"}',
        asked_by="person:ann",
        asked_words="ask pocket whether to go on",
        at=AT,
        fence_after_s=0.0,
        repeatability="never",
        start_to_close_s=60.0,
        tool="ask",
    ),
    f.NameFrame(name="attic pc"),
]
BY_SIDE: dict[Side, list[f.Frame]] = {Side.AGENT: AGENT, Side.HUB: HUB}
