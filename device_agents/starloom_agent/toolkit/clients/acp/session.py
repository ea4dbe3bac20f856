"""One prompt of another agent, from the greeting to the end of its turn: its requests are answered, its updates noted.

The agent is served while a question waits for the owner. Its silence, its time and the number of its questions are
bounded. Decides nothing about permissions: `permits` asks the agent of this device, which owns the policy.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from starloom_agent.toolkit.clients.acp import files, permissions
from starloom_agent.toolkit.clients.acp.launch import Ground
from starloom_agent.toolkit.clients.acp.record import AcpRecord, one_line
from starloom_agent.toolkit.clients.acp.terminals import Terminals
from starloom_agent.toolkit.clients.acp.wire import AcpFault, AcpWire
from starloom_agent.toolkit.interface import PermissionPort, ToolContext, ToolFailed
from starloom_agent.toolkit.messages import Permit
from starloom_agent.toolkit.results import Added
from starloom_agent.toolkit.running.variables import checked
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Effect

PROTOCOL: Final = 1
GREET_WITHIN_S: Final = 60.0
STOPS: Final = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})
COMMANDS: Final = "shell.run"
_NO_MORE: Final = frozenset({"refusal", "cancelled"})
_CANCEL_WITHIN_S: Final = 2.0
"""As long as a call has between TERM and KILL (`work.execution.runner.TERM_GRACE_S`)."""
_ASK_EVERY_S: Final = 0.5
"""A person answers in seconds, and asking the agent of this device is one line on a socket."""
_WAIT_MOST_S: Final = 1.0
"""The times of a turn are looked at this often while the agent says nothing."""
_PENDING_MOST: Final = 8
_QUESTIONS_MOST: Final = 200
"""Fewer than the device answers in one call (`work.calls.questions.QUESTIONS_MOST`)."""
_WRITES_MOST: Final = 2_000
_WORDS_MOST: Final = 256
"""As many as `shell.run` takes, whose rules judge the command."""
_COMMAND_CHARS_MOST: Final = 32 * 1024
_REFUSED, _NO_METHOD, _BAD, _AUTH = -32000, -32601, -32602, -32000
_TOKENS: Final = {"inputTokens": "input", "outputTokens": "output", "totalTokens": "total"}


@dataclass(frozen=True)
class Bounds:
    """The times of one prompt: for all of it, and for a silence in which nothing is asked and no terminal runs."""

    all_s: float
    silent_s: float


@dataclass(frozen=True)
class Turn:
    """The end of a turn: the reason that the agent gives, and its count of tokens where it tells one."""

    stop: str
    tokens: dict[str, int]


@dataclass
class _Pending:
    """A request that waits for a decision: the question, and what follows."""

    number: Any
    tool: str
    args: dict[str, Any]
    then: Callable[[Permit], None]
    is_told: bool = False


class AcpSession:
    """The session of one call. `context` has the folder of the session as its only folder.

    `granted` has the folders that the owner granted: a file that the agent replaces goes into the trash of one of them.
    """

    def __init__(
        self,
        wire: AcpWire,
        context: ToolContext,
        record: AcpRecord,
        *,
        name: str,
        ground: Ground,
        effects: Collection[Effect],
        permits: PermissionPort,
        bounds: Bounds,
        granted: ToolContext | None = None,
    ) -> None:
        self._wire = wire
        self._context = context
        self._granted = granted or context
        self._record = record
        self._name = name
        self._effects = frozenset(effects)
        self._permits = permits
        self._bounds = bounds
        self._terminals = Terminals(ground, wire.watch, wire.unwatch)
        self._number = 0
        self._turn = 0
        self._session = ""
        self._answers: dict[int, dict[str, Any]] = {}
        self._pending: list[_Pending] = []
        self._questions = 0
        self._writes = 0
        self._asked_at = 0.0
        self._heard_at = time.monotonic()
        self.refused = 0
        self.added: Added = []

    def greet(self) -> dict[str, Any]:
        """Agree on the protocol and return what the agent says of itself.

        Raises:
            AcpFault: no answer in time, or another protocol.
        """
        may = {
            "fs": {"readTextFile": Effect.READ in self._effects, "writeTextFile": Effect.WRITE in self._effects},
            "terminal": Effect.CHANGE in self._effects,
        }
        us = {"name": "starloom-agent", "version": "1"}
        params = {"protocolVersion": PROTOCOL, "clientCapabilities": may, "clientInfo": us}
        answer = self._request("initialize", params, GREET_WITHIN_S)
        if answer.get("protocolVersion") != PROTOCOL:
            spoken = one_line(answer.get("protocolVersion"), 20)
            raise AcpFault(f"it speaks version {spoken} of the protocol; this device speaks {PROTOCOL}")
        return answer

    def begin(self, folder: Path) -> None:
        """Open a session in a folder.

        Raises:
            AcpFault: it refuses, or does not answer in time.
        """
        answer = self._request("session/new", {"cwd": str(folder), "mcpServers": []}, GREET_WITHIN_S)
        session = answer.get("sessionId")
        if not isinstance(session, str) or not session:
            raise AcpFault("session/new: the answer names no session")
        self._session = session

    def work(self, text: str) -> Turn:
        """Give the work to the agent, and each hint of a person as the next prompt; return the end of the last turn.

        A hint is read when a turn has ended: an agent takes no second prompt before.
        """
        began_s = time.monotonic()
        turn = self.prompt(text, began_s)
        hints = self._permits.hints(0)
        while hints.texts and turn.stop not in _NO_MORE:
            words = "\n".join(hints.texts)
            self._context.log(f"a person's hint: {one_line(words)}")
            turn = self.prompt(f"The person whose work this is adds:\n{words}", began_s)
            hints = self._permits.hints(hints.last)
        return turn

    def prompt(self, text: str, since: float) -> Turn:
        """Give words to the agent and serve it until its turn ends; the time of the whole call counts from `since`.

        Raises:
            AcpFault: it ended, misbehaved, or was silent.
            ToolFailed: `timed_out`.
        """
        params = {"sessionId": self._session, "prompt": [{"type": "text", "text": text}]}
        number = self._turn = self._ask("session/prompt", params)
        self._heard_at = time.monotonic()
        while number not in self._answers:
            now = time.monotonic()
            if self._pending or self._terminals.running:
                self._heard_at = now
            if now - since >= self._bounds.all_s:
                self._cancel(number)
                raise ToolFailed(Code.TIMED_OUT, f"the turn of {self._name} took longer than {self._bounds.all_s:g} s")
            if now - self._heard_at >= self._bounds.silent_s:
                self._cancel(number)
                raise AcpFault(f"it said nothing for {self._bounds.silent_s:g} s and was ended")
            left_s = min(since + self._bounds.all_s, self._heard_at + self._bounds.silent_s) - now
            self._serve(min(left_s, _WAIT_MOST_S))
        answer = self._result("session/prompt", number)
        stop = str(answer.get("stopReason"))
        if stop not in STOPS:
            raise AcpFault(f"its turn ended with the unknown reason {quoted(stop[:60])}")
        return Turn(stop, _tokens(answer.get("usage")))

    def close(self) -> None:
        self._terminals.end_all()

    def _ask(self, method: str, params: Mapping[str, Any]) -> int:
        self._number += 1
        self._record.note("device", {"method": method, "params": dict(params)})
        self._wire.send({"id": self._number, "method": method, "params": params})
        return self._number

    def _request(self, method: str, params: Mapping[str, Any], within_s: float) -> dict[str, Any]:
        number = self._ask(method, params)
        deadline = time.monotonic() + within_s
        while number not in self._answers:
            left_s = deadline - time.monotonic()
            if left_s <= 0:
                raise AcpFault(f"{method}: no answer within {within_s:g} s")
            self._serve(min(left_s, _WAIT_MOST_S))
        return self._result(method, number)

    def _result(self, method: str, number: int) -> dict[str, Any]:
        answer = self._answers.pop(number)
        error = answer.get("error")
        if isinstance(error, dict):
            words = one_line(error.get("message") or "an error without words", 500)
            if error.get("code") == _AUTH and "auth" in words.lower():
                words += ". Sign in with its own program on this device, then try again"
            raise AcpFault(f"{method}: {words}")
        result = answer.get("result")
        if not isinstance(result, dict):
            raise AcpFault(f"{method}: the answer has no result")
        return result

    def _serve(self, wait_s: float) -> None:
        """Take what comes within this time, and look after questions and terminals."""
        for message in self._wire.read(min(wait_s, _ASK_EVERY_S) if self._pending else wait_s):
            self._heard_at = time.monotonic()
            self._record.note("agent", message)
            self._take(message)
        self._terminals.look()
        now = time.monotonic()
        if self._pending and now - self._asked_at >= _ASK_EVERY_S:
            self._asked_at = now
            for pending in list(self._pending):
                self._decide(pending)

    def _take(self, message: Mapping[str, Any]) -> None:
        if self._turn in self._answers:
            return  # the turn is over: nothing more is done for it, even if it came along with its end
        method = message.get("method")
        if method is None:
            number = message.get("id")
            if isinstance(number, int) and 0 < number <= self._number:
                self._answers[number] = dict(message)
        elif "id" not in message:
            self._hear(str(method), message.get("params"))
        else:
            self._carry(message["id"], str(method), message.get("params"))

    def _hear(self, method: str, params: Any) -> None:
        """Take a notice; one of another session, or of no known kind, stands in the transcript alone."""
        if method == "session/update" and isinstance(params, dict) and params.get("sessionId") == self._session:
            self._record.take(params.get("update"))

    def _carry(self, number: Any, method: str, params: Any) -> None:
        """Carry out a request, or begin to."""
        handler = self._handlers.get(method)
        if handler is None:
            self._fail(number, _NO_METHOD, f"{one_line(method, 60)} is not offered by this device")
            return
        if not self._session or not isinstance(params, dict) or params.get("sessionId") != self._session:
            self._fail(number, _BAD, "this request belongs to no session of this device")
            return
        try:
            handler(self, number, params)
        except ToolFailed as failed:
            self._refuse(number, f"{method}: {failed.detail}")

    def _reply(self, number: Any, result: Any) -> None:
        self._wire.send({"id": number, "result": result})

    def _fail(self, number: Any, code: int, words: str) -> None:
        self._wire.send({"id": number, "error": {"code": code, "message": words}})

    def _refuse(self, number: Any, words: str) -> None:
        self.refused += 1
        self._record.say(f"refused: {words}")
        self._fail(number, _REFUSED, one_line(words, 500))

    def _cancel(self, number: int) -> None:
        """Ask the agent to end its turn, and give it a moment for that."""
        self._wire.send({"method": "session/cancel", "params": {"sessionId": self._session}})
        pending, self._pending = self._pending, []
        for one in pending:
            one.then(Permit(reason="the turn was ended"))
        deadline = time.monotonic() + _CANCEL_WITHIN_S
        try:
            while number not in self._answers and (left_s := deadline - time.monotonic()) > 0:
                self._serve(left_s)
        except AcpFault as fault:
            self._record.say(f"after the cancel: {fault}")

    def _wait_for(self, number: Any, tool: str, args: dict[str, Any], then: Callable[[Permit], None]) -> None:
        """Have a question decided, now or later.

        Raises:
            ToolFailed: too many questions.
        """
        self._questions += 1
        if self._questions > _QUESTIONS_MOST or len(self._pending) >= _PENDING_MOST:
            most = f"{_PENDING_MOST} at a time, {_QUESTIONS_MOST} in a call"
            raise ToolFailed(Code.POLICY_REFUSED, f"too many questions: {most}", effect=False)
        pending = _Pending(number, tool, args, then)
        self._pending.append(pending)
        self._decide(pending)

    def _decide(self, pending: _Pending) -> None:
        permit = self._permits.permit(pending.tool, pending.args)
        if permit.open:
            if not pending.is_told:
                pending.is_told = True
                self._record.say(f"waits for the owner of this device: {permit.reason}")
            return
        if pending in self._pending:
            self._pending.remove(pending)
        self._record.say(f"{'allowed' if permit.allowed else 'refused'}: {permit.reason}")
        if not permit.allowed:
            self.refused += 1
        pending.then(permit)

    def _on_permission(self, number: Any, params: Mapping[str, Any]) -> None:
        call = self._record.tool(params.get("toolCall"))
        options = params.get("options")
        why = permissions.undeclared(call, self._effects)
        if why:
            self.refused += 1
            self._record.say(f"refused: {one_line(call.get('title') or 'an action', 200)}: {why}")
            self._reply(number, permissions.outcome_of(options, allowed=False))
            return

        def then(permit: Permit) -> None:
            self._reply(number, permissions.outcome_of(options, allowed=permit.allowed))

        self._wait_for(number, self._name, permissions.question_of(call), then)

    def _declared(self, effect: Effect) -> None:
        if effect not in self._effects:
            raise ToolFailed(Code.POLICY_REFUSED, f"its owner did not declare the effect {effect} for it", effect=False)

    def _on_read(self, number: Any, params: Mapping[str, Any]) -> None:
        self._declared(Effect.READ)
        self._reply(number, {"content": files.read_text(self._context, params)})

    def _on_write(self, number: Any, params: Mapping[str, Any]) -> None:
        self._declared(Effect.WRITE)
        self._writes += 1
        if self._writes > _WRITES_MOST:
            raise ToolFailed(Code.POLICY_REFUSED, f"more than {_WRITES_MOST} files in one call", effect=False)
        self.added += files.write_text(self._context, self._granted, params)
        self._reply(number, {})

    def _on_create(self, number: Any, params: Mapping[str, Any]) -> None:
        self._declared(Effect.CHANGE)
        self._terminals.check_room()
        argv = _argv_of(params)
        env = checked(_variables_of(params))
        cwd = self._context.resolve_cwd(str(params.get("cwd") or self._context.folders.read[0]))
        args: dict[str, Any] = {"argv": argv, "cwd": str(cwd)}
        if env:
            args["env"] = env

        def then(permit: Permit) -> None:
            if not permit.allowed:
                self._fail(number, _REFUSED, one_line(permit.reason, 500))
                return
            try:
                name = self._terminals.create(argv, cwd, env, params.get("outputByteLimit"))
            except ToolFailed as failed:
                self._refuse(number, failed.detail)
                return
            self._reply(number, {"terminalId": name})

        self._wait_for(number, COMMANDS, args, then)

    def _on_output(self, number: Any, params: Mapping[str, Any]) -> None:
        self._terminals.look()
        self._reply(number, self._terminals.output(params.get("terminalId")))

    def _on_wait(self, number: Any, params: Mapping[str, Any]) -> None:
        self._terminals.wait(params.get("terminalId"), lambda status: self._reply(number, status))

    def _on_kill(self, number: Any, params: Mapping[str, Any]) -> None:
        self._terminals.kill(params.get("terminalId"))
        self._reply(number, {})

    def _on_release(self, number: Any, params: Mapping[str, Any]) -> None:
        self._terminals.release(params.get("terminalId"))
        self._reply(number, {})

    _handlers: Final[dict[str, Callable[[AcpSession, Any, Mapping[str, Any]], None]]] = {
        "fs/read_text_file": _on_read,
        "fs/write_text_file": _on_write,
        "session/request_permission": _on_permission,
        "terminal/create": _on_create,
        "terminal/kill": _on_kill,
        "terminal/output": _on_output,
        "terminal/release": _on_release,
        "terminal/wait_for_exit": _on_wait,
    }


def _argv_of(params: Mapping[str, Any]) -> list[str]:
    rest = params.get("args")
    argv = [params.get("command"), *(rest if isinstance(rest, list) else [])]
    words = [word for word in argv if isinstance(word, str) and "\x00" not in word]
    if len(words) != len(argv) or not words[0]:
        raise ToolFailed(Code.BAD_ARGUMENTS, "command and args: texts without NUL are expected", effect=False)
    if len(words) > _WORDS_MOST or sum(map(len, words)) > _COMMAND_CHARS_MOST:
        most = f"{_WORDS_MOST} words and {_COMMAND_CHARS_MOST} characters"
        raise ToolFailed(Code.BAD_ARGUMENTS, f"a command has at most {most}", effect=False)
    return words


def _variables_of(params: Mapping[str, Any]) -> dict[str, str]:
    variables = params.get("env")
    if not isinstance(variables, list):
        return {}
    return {str(item.get("name")): str(item.get("value")) for item in variables if isinstance(item, dict)}


def _tokens(usage: Any) -> dict[str, int]:
    if not isinstance(usage, dict):
        return {}
    counts = {ours: usage.get(theirs) for theirs, ours in _TOKENS.items()}
    return {name: count for name, count in counts.items() if isinstance(count, int) and count >= 0}
