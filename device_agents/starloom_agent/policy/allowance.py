"""The current allowance of this device: follows the policy file, decides calls by it, and makes the offer from it.

Reads the file again only after a change. Writes the questions to the owner and the mark of the offered policy; starts
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from starloom_agent.home.directory import AgentHome
from starloom_agent.policy.approvals import Asks
from starloom_agent.policy.commands import PolicyFault
from starloom_agent.policy.file import read_policy
from starloom_agent.policy.offered import note_offered
from starloom_agent.policy.offers import make_offer
from starloom_agent.policy.policy import ANSWERS_HUB, NET_REACH, Decision, Policy, action_of, ask_id, cage_for, decide
from starloom_agent.sandbox.levels import Sandbox
from starloom_agent.toolkit.interface import Folders, Tool
from starloom_protocol.text.folder_grants import POLICY_FACT, POLICY_NOT_IN_FORCE
from starloom_protocol.text.scrubbing import Scrubber
from starloom_protocol.vocabulary import Code
from starloom_protocol.wire.frames import AsksFrame, OfferFrame, OwnerAnswer

_TOLD_CHARS_MOST = 4000


class Allowance:
    """The policy in force with all that depends on it. `policy` is `observe` until the first `read_again`."""

    def __init__(
        self,
        home: AgentHome,
        tools: Iterable[Tool],
        sandbox: Sandbox,
        *,
        slots: int,
        say: Callable[[str], None],
    ) -> None:
        self.policy = Policy()
        self.sandbox = sandbox
        self._home = home
        self._tools = tuple(tools)
        self._slots = slots
        self._say = say
        self._asks = Asks(home.asks)
        self._answered = ""
        self._mark: tuple[int, int] | None = None
        self._read = False
        self._fault = ""
        self._offered: tuple[Policy, str] | None = None
        self.refusal: Callable[[], str] = lambda: ""
        """Why this device takes no new work now, whatever it is; empty if it does."""

    def read_again(self) -> bool:
        """Read the policy if its file changed; return whether the policy changed, or a question was answered.

        A faulty file allows nothing but `observe` until it is mended.
        """
        answered, self._answered = self._answered, self._asks.digest
        return self._policy_changed() or self._answered not in ("", answered)

    def _policy_changed(self) -> bool:
        try:
            status = self._home.policy.stat()
            mark: tuple[int, int] | None = (status.st_mtime_ns, status.st_mode)
        except FileNotFoundError:
            mark = None
        if self._read and mark == self._mark:
            return False
        self._read, self._mark = True, mark
        before = self.policy, self._fault
        self._fault = ""
        try:
            self.policy = read_policy(self._home.policy)
        except PolicyFault as fault:
            self._fault = POLICY_NOT_IN_FORCE
            self._say(f"{fault}; until it is mended this device allows only to observe")
            self.policy = Policy()
        now = self.policy, self._fault
        if now == self._offered:
            note_offered(self._home, mark)  # a grant that was given before would wait for an offer that is not made
        return now != before

    def offer(self) -> OfferFrame:
        """Return the offer of the present moment, and note which policy it is of; probes the tools."""
        note_offered(self._home, self._mark)
        self._offered = self.policy, self._fault
        return make_offer(
            self._tools,
            self.policy,
            slots=self._slots,
            folder=self._home.root,
            sandbox=self.sandbox,
            answered=self._answered,
            placed={
                **self._home.line_parts(),
                **_folder_facts(self.folders(), self.policy.hosts if NET_REACH in self.policy.allowed else ()),
                **({POLICY_FACT: self._fault} if self._fault else {}),
            },
        )

    def last_offer(self) -> OfferFrame:
        """Return the offer of an agent that ends: no slot, or the hub would fill each that becomes free."""
        self._slots = 0
        return self.offer()

    def offer_only(self, tools: Iterable[Tool]) -> None:
        """Offer these tools from now on."""
        self._tools = tuple(tools)

    def asks(self) -> AsksFrame:
        """Return the frame that reports the waiting questions to the hub."""
        return AsksFrame(answers=self.policy.answers, open=self._asks.offered())

    def take_answer(self, order: OwnerAnswer) -> str:
        """Take the answer of a person at the hub, if the policy accepts such answers; return the outcome as text."""
        if self.policy.answers != ANSWERS_HUB:
            return f"{order.ask}: an answer of {order.by} from the hub does not count: this device is answered here"
        try:
            answered = self._asks.take(order)
        except OSError as error:
            return f"{order.ask}: the answer of {order.by} could not be kept ({error}); the question stays open"
        if answered is None:
            return f"{order.ask}: an answer of {order.by} from the hub belongs to no open question"
        return f"{order.ask}: {order.by} answered {answered.answer} at the hub"

    def decide(
        self, tool: Tool, args: Mapping[str, Any], *, writes: str | None, task: str, hide: Collection[str] = ()
    ) -> Decision:
        """Judge a call of a task by the policy in force; if that asks the owner, by the owner's answer.

        This uses up an answer that allows. `hide` are secrets in the arguments that must not be shown.
        """
        decision = decide(self.policy, tool, args, writes=writes, sandbox=self.sandbox, task=task)
        if not decision.asks:
            return decision
        action = action_of(tool, args)
        try:
            return self._asks.settle(decision, ask_id(action, task), action, task, Scrubber(hide).text(action.args))
        except OSError as error:
            reason = f"{tool.name} asks the owner of this device first, and the question could not be kept: {error}"
            return Decision(False, f"{reason}. Free some space on its disk, then retry", Code.TOOL_UNAVAILABLE)

    def permits(self, tool: Tool, args: Mapping[str, Any], *, writes: str | None) -> bool:
        """Tell whether a call may go on by the policy in force, its owner's answers aside.

        A file that is not in force took nothing back: somebody edits it.
        """
        decision = decide(self.policy, tool, args, writes=writes, sandbox=self.sandbox)
        return bool(self._fault) or decision.allowed or decision.asks

    def withdraw(self, identity: str) -> None:
        """Drop a question of a call that has ended."""
        self._asks.withdraw(identity)

    def cage(self, tool: Tool) -> str:
        """Return the layer that a call of this tool runs in, as `ToolContext.cage` has it."""
        return cage_for(self.policy, tool, self.sandbox)

    @property
    def notes(self) -> Path:
        """The folder where tools keep earlier measurements."""
        return self._home.run

    def folders(self) -> Folders:
        """Return the granted roots; the agent's own workspace is always among them."""
        return self.policy.folders(self._home.workspace)


def _folder_facts(folders: Folders, hosts: tuple[str, ...]) -> dict[str, str]:
    """Return the facts by which previews judge paths and hosts, one a line; a list that is too long is not told."""
    lists = {"reads": "\n".join(map(str, folders.read)), "writes": "\n".join(map(str, folders.write))}
    # Without a host no grant is given, and the offer of grants says that.
    lists |= {"hosts": "\n".join(hosts)} if hosts else {}
    return {name: text for name, text in lists.items() if len(text) <= _TOLD_CHARS_MOST}
