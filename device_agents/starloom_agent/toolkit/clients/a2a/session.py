"""One piece of work of an agent that is reached by A2A: its message, its stream, its questions, its cancel.

A question of the agent goes to a person: the answer is a hint in words, or yes or no. Its silence, its time and the
number of its questions are bounded. A cancel is passed on to it; nothing here proves that it obeys.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from starloom_agent.toolkit.clients import http_streams
from starloom_agent.toolkit.clients.a2a.card import VERSION, Card
from starloom_agent.toolkit.clients.a2a.messages import FINAL, Followed, TaskFault, message
from starloom_agent.toolkit.clients.http_streams import AddressFault, CutOff
from starloom_agent.toolkit.interface import PermissionPort

QUESTIONS_MOST: Final = 20
"""As many hints as a call takes (`work.calls.questions.HINTS_MOST`): each answer may be one."""
_ASK_EVERY_S: Final = 0.5
"""A person answers in seconds, and asking the agent of this device is one line on a socket."""
_POLL_EVERY_S: Final = 2.0
"""Slower than questions on this device: each look is a request over the network."""
_CANCEL_S: Final = 1.5
"""Less than a call has between TERM and KILL (`work.execution.runner.TERM_GRACE_S`)."""
_ERROR_CHARS: Final = 500


class A2aSession:
    """The work of one call. `attempt` names it apart from every other call of this device; `tell` takes a line for the
    output."""

    def __init__(
        self,
        card: Card,
        headers: Mapping[str, str],
        *,
        name: str,
        attempt: str,
        permits: PermissionPort,
        tell: Callable[[str], None],
        all_s: float,
        silent_s: float,
    ) -> None:
        self._card = card
        self._headers = {**headers, "Content-Type": "application/json", "A2A-Version": VERSION}
        self._name = name
        self._attempt = attempt
        self._permits = permits
        self._tell = tell
        self._deadline = time.monotonic() + all_s
        self._silent_s = silent_s
        self._number = 0
        self._hints_read = 0
        self.questions = 0
        self.refused = 0
        self.task = Followed()

    def work(self, text: str) -> None:
        """Give the work to the agent, and follow its task to its end or its refusal by a person.

        Raises:
            AddressFault: it cannot be reached, or takes too long.
            TaskFault: it says something that no agent says, or asks too much.
        """
        words: str | None = text
        while words is not None:
            self._send(words)
            if not self.task.state:
                raise TaskFault("it hung up before it named a task")
            while self.task.state not in FINAL | {"INPUT_REQUIRED"}:
                if self.task.state == "AUTH_REQUIRED":
                    raise TaskFault("it wants to be signed in; put what it needs into headers in agents.toml")
                time.sleep(_POLL_EVERY_S)
                self._ask("GetTask", {"id": self.task.task}, bare=True)
            words = None if self.task.state in FINAL else self._answer_of_a_person()

    def cancel(self) -> None:
        """Tell the agent that its work is no longer wanted."""
        if self.task.task and self.task.state not in FINAL:
            with contextlib.suppress(AddressFault, TaskFault):
                self._ask("CancelTask", {"id": self.task.task}, bare=True, within_s=_CANCEL_S)

    def _send(self, words: str) -> None:
        # Two attempts, of one task or of two, never send the same id: the agent would take the second for a repetition.
        identity = f"{self._attempt}-{self._number + 1}"
        method = "SendStreamingMessage" if self._card.streams else "SendMessage"
        self._ask(method, {"message": message(words, identity, self.task)})

    def _ask(self, method: str, params: dict[str, Any], *, bare: bool = False, within_s: float | None = None) -> None:
        """Make one call, and take every result of it; `bare`: the result is a task itself."""
        self._number += 1
        deadline = self._deadline if within_s is None else time.monotonic() + within_s
        body = msgspec.json.encode({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        connection = http_streams.connect(self._card.url, min(self._silent_s, max(0.1, deadline - time.monotonic())))
        try:
            answer = http_streams.ask(connection, "POST", self._card.url, self._headers, body)
            parts = http_streams.chunks(answer, connection, deadline, self._silent_s)
            if answer.status != 200:
                raise AddressFault(f"it answered with the status {answer.status}")
            streamed = http_streams.is_stream(answer)
            for text in http_streams.events(parts) if streamed else (b"".join(parts) for _ in range(1)):
                result = _result(text, self._number)
                self._take({"task": result} if bare else result)
        except CutOff:
            # The task goes on without its stream, and is asked for.
            if bare or not self.task.task:
                raise
        finally:
            connection.close()

    def _take(self, result: Any) -> None:
        before = (self.task.state, self.task.words)
        self.task.take(result)
        if (self.task.state, self.task.words) != before:
            self._tell(f"{self.task.state.lower()}: {self.task.words}" if self.task.words else self.task.state.lower())

    def _answer_of_a_person(self) -> str | None:
        """Put the question of the agent to a person, and return the answer; None for a no, which ends the task."""
        self.questions += 1
        if self.questions > QUESTIONS_MOST:
            raise TaskFault(f"it asked more than {QUESTIONS_MOST} questions")
        question = {"question": self.task.words or "It asks without words.", "number": self.questions}
        while time.monotonic() < self._deadline:
            hints = self._permits.hints(self._hints_read)
            self._hints_read = hints.last
            if hints.texts:
                return "\n".join(hints.texts)
            permit = self._permits.permit(self._name, question)
            if permit.allowed:
                return "Yes."
            if not permit.open:
                self.refused += 1
                self.cancel()
                return None
            time.sleep(_ASK_EVERY_S)
        raise AddressFault("nobody answered its question in time")


def _result(text: bytes, number: int) -> Any:
    try:
        answer = msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise TaskFault("it wrote an answer that is no JSON") from error
    if not isinstance(answer, dict) or answer.get("id") != number:
        raise TaskFault("it answered another call than the one that was made")
    if isinstance(answer.get("error"), dict):
        raise TaskFault(f"it refused: {str(answer['error'].get('message'))[:_ERROR_CHARS]}")
    return answer.get("result")
