"""Worker, hub and model server killed while a model thinks, looks, streams a plan, reviews, judges and answers.

Other work goes on meanwhile. Judged from the log, the ledgers of the devices and the model server's own count of its
calls.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Final

import pytest

from starloom.engine.orders.pump import JOB_SWEEP_MS
from starloom.host.ports import free_port
from starloom_protocol.records.entities import Answer, Head, Job, Question
from starloom_protocol.records.models import ModelCall
from tests.chaos.conftest import Settled
from tests.chaos.model_server import DEVICE, NOTE, STREAMING, Calls
from tests.chaos.stack import Accepted, Stack
from tests.chaos.work import echoes
from tests.tiers import first_in_test
from tests.waiting import PATIENCE_S, SLOWER, until

pytestmark = pytest.mark.chaos

CALL_S: Final = 30 * SLOWER
SWEEP_S: Final = 1.5 * JOB_SWEEP_MS / 1000
SETTINGS = {"STARLOOM_LLM_TIMEOUT_S": str(CALL_S)}
WITHIN_S: Final = 150.0 * SLOWER
"""The holds of a review and of a judge together, which end even where no model answers."""
TOKENS: Final = 120
"""The tokens of each call, as the server tells them."""
STAGES: Final = ("judging", "planning", "looking", STREAMING, "reviewing", "answering")
TARGETS: Final = ("worker", "hub", "model")
_numbers = itertools.count(1)


class ModelServer:
    """The model server of a stack, as a process that can be killed and come back at the same address."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.calls = Calls(stack.home / "model")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def start(self) -> None:
        folder = str(self._stack.home / "model")
        argv = [sys.executable, "-m", "tests.chaos.model_server", str(self._port), folder]
        self._process = self._stack.spawn(argv, "model")
        until(self._listens, "the model server listens")

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self._port), timeout=1):
            return True
        return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def use(stack: Stack, server: ModelServer, **limits: int) -> None:
    """Have the hub use a model server, within limits of its own."""
    stack.client.put("/model", {"url": server.url, "model": "fake-1", "share": "cards_and_file_heads", **limits})


@contextmanager
def serving(stack: Stack) -> Iterator[ModelServer]:
    """Serve a model that the hub of the stack uses, beside a note on the device."""
    server = ModelServer(stack)
    server.start()
    folder = stack.home / "folders" / DEVICE
    folder.mkdir(parents=True, exist_ok=True)
    (folder / NOTE).write_text("the note\n")
    use(stack, server)
    try:
        yield server
    finally:
        server.kill()


@pytest.fixture(scope="module")
def model(stack: Stack) -> Iterator[ModelServer]:
    """A model server, and the note that its plan first misses."""
    with serving(stack) as server:
        yield server


@contextmanager
def at_stage(stack: Stack, model: ModelServer, request: Accepted, stage: str) -> Iterator[None]:
    """Bring a request to a stage and keep it there while the body runs."""
    if stage == "looking":
        until(lambda: any(task.state == "leased" for task in stack.look(request).tasks.values()), "it looks")
    elif stage == STREAMING:
        until(lambda: model.calls.of(request.name, "begun"), "a part of the plan is said", WITHIN_S)
    else:
        until(lambda: model.calls.of(request.name, stage=stage), f"the model is asked at {stage}", WITHIN_S)
    try:
        yield
    finally:
        model.calls.let_go(stage)


def until_ended(stack: Stack, request: Accepted) -> None:
    """Wait until a request is final; a question is answered with no, as a person would who knows nothing."""

    def so() -> bool:
        view = stack.look(request)
        for name, question in view.open_questions.items():
            value = "no" if any(choice.value == "no" for choice in question.choices) else "deny"
            stack.client.post(f"/approvals/{request.id}:{name}/answer", {"value": value, "reason": "unknown"})
        return view.final

    until(so, f"{request.name} ends", WITHIN_S)


def tokens_of(call: ModelCall) -> int:
    """Return the cost of a call; one that broke off costs what its model had read by then."""
    return call.input_tokens + call.output_tokens


def judge(stack: Stack, model: ModelServer, request: Accepted, *, kills: Counter[str]) -> None:
    """Hold the log against the server's own count: nothing lost, paid twice, asked twice or ended without a reason."""
    view = stack.look(request)
    jobs, calls = view.each("job", Job), view.each("call", ModelCall)
    asked, said = model.calls.of(request.name), model.calls.of(request.name, "said")
    counted = sum(job.calls for job in jobs.values())
    replied = [call for call in calls.values() if not call.fault]
    without = len(calls) - len(replied) + kills["worker"]
    assert len(asked) <= counted <= len(asked) + without, "each call is counted before it is made"
    assert len(calls) >= counted - kills["worker"], "each call is recorded, but one that died with its worker"
    assert len(replied) <= len(said), "no reply is recorded that was not given"
    assert all(tokens_of(call) == TOKENS for call in replied), "a reply costs what its model says"
    assert sum(job.tokens for job in jobs.values()) == sum(map(tokens_of, calls.values())), "each call is paid for once"
    again = sum(count - 1 for count in Counter(one.prompt for one in asked).values())
    assert again <= kills["worker"], f"{again} questions were asked of the model twice"
    questions = view.each("question", Question)
    assert len({question.text for question in questions.values()}) == len(questions), "a person was asked twice"
    assert all(job.state == "done" for job in jobs.values())
    head, answer = view.record("head", Head), view.record("answer", Answer)
    assert head is not None
    assert head.fault is not None or (answer is not None and answer.sentence), "it ended without a reason"
    judged = {name for name, spec in view.specs.items() if spec.judge is not None}
    for name in judged:
        if view.tasks[name].state == "succeeded":
            assert view.tasks[name].judged == view.tasks[name].attempt, f"{name} is done without its judge"


def ask(stack: Stack) -> Accepted:
    return stack.ask(f"Fetch me the note number {next(_numbers)} of the attic, whatever its name is now")


CASES: Final = [(stage, target) for stage in STAGES for target in TARGETS]


@pytest.mark.parametrize("case", first_in_test(CASES), ids="-".join)
def test_a_kill_at_any_stage_loses_nothing_and_pays_nothing_twice(
    stack: Stack, model: ModelServer, settled: Settled, case: tuple[str, str]
) -> None:
    stage, target = case
    crowd = stack.submit(echoes(f"beside-{stage}-{target}", 40, side_by_side=4, device="south"))
    frozen = stack.agent_frozen(DEVICE) if stage == "looking" else nullcontext()
    model.calls.hold(stage)
    with frozen:
        request = ask(stack)
        with at_stage(stack, model, request, stage):
            {"worker": stack.kill_worker, "hub": stack.kill_hub, "model": model.kill}[target]()
            if target == "model":
                model.start()
            elif target == "hub":
                stack.until_up()
                # The call goes on while the hub looks for jobs without a worker.
                time.sleep(SWEEP_S)
    stack.until_up()
    until_ended(stack, request)
    judge(stack, model, request, kills=Counter({target: 1}))
    if target != "model" or stage == "looking":
        assert request.view.state == "succeeded", f"{stack.describe(request)}: {request.view.head}"
    assert stack.until_final(crowd) == "succeeded"
    settled()


MODES: Final = [(stage, mode) for stage in STAGES if stage != "looking" for mode in ("babble", "stall")]


@pytest.mark.parametrize("case", first_in_test(MODES), ids="-".join)
def test_a_model_that_stalls_or_babbles_ends_in_a_question_or_a_plain_error(
    stack: Stack, model: ModelServer, settled: Settled, case: tuple[str, str]
) -> None:
    stage, mode = case
    model.calls.set_mode(stage, mode)
    try:
        request = ask(stack)
        until_ended(stack, request)
    finally:
        model.calls.set_mode(stage, "")
    judge(stack, model, request, kills=Counter())
    assert str(request.view.state) == ("succeeded" if stage == "answering" else "failed")
    if stage == "judging":
        assert request.view.each("question", Question), "a person is asked where the judge gives no verdict"
    settled()


@pytest.mark.parametrize("target", first_in_test(TARGETS))
def test_a_budget_holds_through_a_kill(stack: Stack, model: ModelServer, settled: Settled, target: str) -> None:
    """Three replies are within the budget of the day; a kill meanwhile neither forgets nor adds one."""
    before = stack.client.get("/model")["spent_today"]["tokens"]
    use(stack, model, tokens_per_day=before + 3 * TOKENS)
    model.calls.hold("reviewing")
    try:
        request = ask(stack)
        with at_stage(stack, model, request, "reviewing"):
            {"worker": stack.kill_worker, "hub": stack.kill_hub, "model": model.kill}[target]()
            if target == "model":
                model.start()
        stack.until_up()
        until_ended(stack, request)
    finally:
        use(stack, model)
    judge(stack, model, request, kills=Counter({target: 1}))
    spent = stack.client.get("/model")["spent_today"]["tokens"] - before
    calls = list(request.view.each("call", ModelCall).values())
    assert spent == sum(map(tokens_of, calls))
    # A review whose model was killed has no reply, and is not asked for again.
    replied = [call for call in calls if not call.fault]
    assert len(replied) == (2 if target == "model" else 3), "the budget is used up, and not a call more"
    assert str(request.view.state) == "failed"
    settled()


def test_without_faults_each_question_is_asked_once(stack: Stack, model: ModelServer, settled: Settled) -> None:
    """Without this the others could pass because nothing is ever asked."""
    request = ask(stack)
    assert stack.until_final(request, PATIENCE_S * 2) == "succeeded"
    judge(stack, model, request, kills=Counter())
    stages = Counter(one.stage for one in model.calls.of(request.name))
    assert stages == {"planning": 2, "reviewing": 2, "judging": 2, "answering": 1}
    settled()
