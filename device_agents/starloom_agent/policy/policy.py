"""The policy of this device's owner: profile, grants, folders, hosts, command rules - and the decision on a call.

Pure: `decide` is called for every tool call and answers with a reason and, if it refuses, the line to type here.
The hub cannot write any of it; the hub's own rules can only be narrower.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from starloom_agent.policy.commands import CommandRule, PolicyFault, word_of
from starloom_agent.policy.courtesy import CourtesyRule, rule_of
from starloom_agent.policy.trash_rule import TrashRule, trash_rule_of
from starloom_agent.sandbox.levels import NOT_TRIED, UNCONFINED, Sandbox
from starloom_agent.toolkit.interface import Folders, Tool, refused_line, typed_path
from starloom_protocol.text.wording import quoted
from starloom_protocol.tools.profiles import PROFILE_GRANTS
from starloom_protocol.values import canonical
from starloom_protocol.vocabulary import Code, Profile

FILES_READ: Final = "files:read"
FILES_WRITE: Final = "files:write"
SHELL_RUN: Final = "shell:run"
NET_REACH: Final = "net:reach"
PYTHON_UNCONFINED: Final = "python:unconfined"
ANSWERS_HERE: Final = "here"
ANSWERS_HUB: Final = "hub"
SERVICE_RESTART: Final = "service:restart"

# The parts of the agent's home that no request may ever touch.
PRIVATE: Final = (
    "device.key", "hub.json", "ledger.sqlite", "policy.toml", "policy.key", "mcp.toml", "agents.toml", "asks", "run",
    "work",
)  # fmt: skip

PROFILE_WORDS: Final[dict[Profile, str]] = {
    Profile.OBSERVE: "read facts about this machine (disk, processes, services, logs); no files, no programs",
    Profile.FILES: "also read and write files, inside the folders you name",
    Profile.WORK: "also run Python and git in the sandbox, without network",
    Profile.OPERATE: "also run the commands you list, restart services, reach the hosts you list; changes ask you here",
}
_SHOWN_CHARS: Final = 300
NO_RULE: Final = CourtesyRule()
USUAL_TRASH: Final = TrashRule()
_GRANT_TEXT: Final = re.compile(r"[a-z][a-z0-9]*:[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Always:
    """An action that its owner has allowed for good: a tool with exactly these arguments (canonical text)."""

    tool: str
    args: str


@dataclass(frozen=True)
class Policy:
    """The owner's policy. `grants` and `denied` add to and take from those of the profile.

    `always` widens nothing: it holds the actions about which the owner is not asked again. `answers` says which answers
    to a question count: `here` only one typed on this device, `hub` also that of a person at its hub.
    """

    profile: Profile = Profile.OBSERVE
    grants: frozenset[str] = frozenset()
    denied: frozenset[str] = frozenset()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    commands: tuple[CommandRule, ...] = ()
    always: tuple[Always, ...] = ()
    answers: str = ANSWERS_HERE
    courtesy: CourtesyRule = NO_RULE
    trash: TrashRule = USUAL_TRASH

    @property
    def allowed(self) -> frozenset[str]:
        """The grants in force: a grant that needs a folder or a rule and has none is not in force."""
        grants = (PROFILE_GRANTS[self.profile] | self.grants) - self.denied
        if not (self.read or self.write):
            grants -= {FILES_READ}
        if not self.write:
            grants -= {FILES_WRITE}
        if not self.commands:
            grants -= {SHELL_RUN}
        if not self.hosts:
            grants -= {NET_REACH}
        return grants

    def folders(self, workspace: Path) -> Folders:
        """Return the roots for a call; the agent's own workspace comes last and is always among them."""
        allowed = self.allowed
        read = self.read if FILES_READ in allowed else ()
        write = self.write if FILES_WRITE in allowed else ()
        return Folders.of((*read, str(workspace)), (*write, str(workspace)))

    def plain(self) -> dict[str, Any]:
        """Return the policy as the file holds it."""
        return {
            "profile": self.profile.value,
            "answers": self.answers,
            # A policy without a rule keeps the hash that it has had before there were rules.
            **({"courtesy": self.courtesy.plain()} if self.courtesy != NO_RULE else {}),
            **({"trash": self.trash.plain()} if self.trash != USUAL_TRASH else {}),
            "grants": sorted(self.grants),
            "denied": sorted(self.denied),
            "read": list(self.read),
            "write": list(self.write),
            "hosts": list(self.hosts),
            "commands": [
                {
                    "argv": rule.plain(),
                    **({"effects": list(rule.effects)} if rule.effects else {}),
                    **({"cwd": rule.cwd} if rule.cwd else {}),
                }
                for rule in self.commands
            ],
            "always": [{"tool": item.tool, "args": item.args} for item in self.always],
        }

    @property
    def digest(self) -> str:
        """A short hash of all of it: the hub sees that a policy changed, not its content."""
        return hashlib.sha256(canonical(self.plain()).encode()).hexdigest()[:16]


_FIELDS: Final = frozenset(Policy().plain()) | {"courtesy", "trash"}


def policy_of(plain: Mapping[str, Any]) -> Policy:
    """Read the form that `Policy.plain` writes.

    Raises:
        PolicyFault: naming the first field that is wrong; an unknown field is one.
    """
    for name in plain:
        if name not in _FIELDS:
            raise PolicyFault(f"{name}: there is no such field; there are {', '.join(sorted(_FIELDS))}")
    try:
        profile = Profile(plain.get("profile", Profile.OBSERVE))
    except ValueError:
        raise PolicyFault(f"profile: {quoted(plain['profile'])} is none of {', '.join(Profile)}") from None
    lists: dict[str, tuple[str, ...]] = {}
    for name in ("grants", "denied", "read", "write", "hosts"):
        value = plain.get(name, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise PolicyFault(f"{name}: a list of texts is expected")
        lists[name] = tuple(value)
    for name in ("grants", "denied"):
        for item in lists[name]:
            if not _GRANT_TEXT.fullmatch(item):
                raise PolicyFault(f"{name}: {quoted(item)} is not a grant such as files:read")
    answers = plain.get("answers", ANSWERS_HERE)
    if answers not in (ANSWERS_HERE, ANSWERS_HUB):
        raise PolicyFault(f"answers: {quoted(answers)} is neither {ANSWERS_HERE} nor {ANSWERS_HUB}")
    commands = plain.get("commands", [])
    if not isinstance(commands, list):
        raise PolicyFault("commands: a list of rules is expected")
    rules = []
    for index, item in enumerate(commands):
        if not isinstance(item, Mapping) or not {"argv"} <= set(item) <= {"argv", "effects", "cwd"}:
            raise PolicyFault(f"commands[{index}]: a rule has the field argv, and perhaps effects and cwd")
        place = f"commands[{index}].argv"
        rules.append(CommandRule.of(item["argv"], place, item.get("effects", []), item.get("cwd", "")))
    return Policy(
        profile=profile,
        grants=frozenset(lists["grants"]),
        denied=frozenset(lists["denied"]),
        read=lists["read"],
        write=lists["write"],
        hosts=tuple(host.lower() for host in lists["hosts"]),
        commands=tuple(rules),
        always=tuple(_always_of(plain.get("always", []))),
        answers=answers,
        courtesy=rule_of(plain["courtesy"]) if "courtesy" in plain else NO_RULE,
        trash=trash_rule_of(plain["trash"]) if "trash" in plain else USUAL_TRASH,
    )


def _always_of(items: Any) -> list[Always]:
    if not isinstance(items, list):
        raise PolicyFault("always: a list of actions is expected")
    for index, item in enumerate(items):
        texts = isinstance(item, Mapping) and set(item) == {"tool", "args"}
        if not texts or not all(isinstance(text, str) for text in item.values()):
            raise PolicyFault(f"always[{index}]: an action has exactly two texts, tool and args")
    return [Always(item["tool"], item["args"]) for item in items]


@dataclass(frozen=True)
class Decision:
    """The decision on a call: whether it is allowed, why, and - if not - the line that the owner types to change it.

    `asks`: the policy allows it, but its owner must answer yes first; until then it is not allowed.
    """

    allowed: bool
    reason: str
    code: Code | None = None
    line: str = ""
    asks: bool = False

    @property
    def detail(self) -> str:
        """The sentence for the hub and for people."""
        return f"{self.reason}. To allow it, type on the device: {self.line}" if self.line else self.reason


def grant_line(grant: str, what: str = "") -> str:
    """Return the line that gives a grant."""
    object_words = what or {FILES_READ: "DIR", FILES_WRITE: "DIR", NET_REACH: "HOST"}.get(grant, "")
    return f"starloom-agent grant {grant} {object_words}".rstrip()


def exposed_by(policy: Policy, home: Path) -> str:
    """Return the granted folder that would let a request reach the agent's own key, policy or ledger, or nothing.

    The agent's `workspace` and other folders inside its home may be granted.
    """
    private = [home / name for name in PRIVATE]
    for root in (*policy.read, *policy.write):
        place = Path(root).expanduser().resolve()
        if home.is_relative_to(place) or any(map(place.is_relative_to, private)):
            return root
    return ""


def cage_for(policy: Policy, tool: Tool, sandbox: Sandbox) -> str:
    """Return the layer for a call of this tool, `none` if it needs no cage or the owner allows to do without.

    Empty if it needs one and there is none.
    """
    if not tool.caged or PYTHON_UNCONFINED in policy.allowed:
        return UNCONFINED
    return sandbox.layer.value if sandbox.layer else ""


def decide(
    policy: Policy,
    tool: Tool,
    args: Mapping[str, Any],
    *,
    writes: str | None = None,
    sandbox: Sandbox = NOT_TRIED,
    task: str = "",
) -> Decision:
    """Decide one call. `args` are the final arguments; `writes` is where a result file is to go, if any; `task`
    names the work, so that an answer given for one is no answer for another.

    Paths and hosts inside the arguments are judged by the context at the moment of use, against the same policy.
    """
    decision = _permitted(policy, tool, args, writes, sandbox)
    if not decision.allowed or not tool.asks_first:
        return decision
    unsaid = _beside_rules(policy, args) if tool.grant == SHELL_RUN else None
    if unsaid == "":
        return decision
    action = action_of(tool, args)
    if action in policy.always:
        return replace(decision, reason=f"{decision.reason}, and its owner has allowed just this for good")
    whom = ", or a person in the Inbox of the hub," if policy.answers == ANSWERS_HUB else ""
    reason = f"{action.tool} {action.args[:_SHOWN_CHARS]} asks the owner of this device{whom} first"
    if unsaid:
        reason += f", because {unsaid}"
    line = f"starloom-agent approve {ask_id(action, task)}"
    return Decision(False, reason, Code.NEEDS_APPROVAL, line, asks=True)


def action_of(tool: Tool, args: Mapping[str, Any]) -> Always:
    """Return the action to which an owner's answer is bound: the tool with the arguments that determine its work."""
    decisive = {name: value for name, value in args.items() if name in (tool.asks_by or args) and name != "device_name"}
    return Always(tool.name, canonical(decisive))


def ask_id(action: Always, task: str) -> str:
    """Return the short name of one question to the owner: the same action of the same task has the same."""
    return hashlib.sha256(canonical([action.tool, action.args, task]).encode()).hexdigest()[:8]


def _beside_rules(policy: Policy, args: Mapping[str, Any]) -> str | None:
    """Return "" if a command rule that its owner typed answers the question already; else the parts it leaves open.

    None: no rule was typed whole for this command, so it asks in any case.
    """
    argv = args.get("argv")
    typed = [rule for rule in policy.commands if isinstance(argv, list) and not rule.asks and rule.fits(argv)]
    folder = _folder_of(policy, args.get("cwd"))
    reasons = [rule.beside(args, folder) for rule in typed]
    return None if not reasons else "" if "" in reasons else reasons[0]


def _folder_of(policy: Policy, cwd: Any) -> str:
    """Return the absolute path of a call's working folder by its letters alone: a link may lead elsewhere by then.

    One that goes up by `..` stays as it is written, so no rule names it.
    """
    if not cwd:
        return ""
    path = typed_path(str(cwd))
    roots = (*policy.read, *policy.write)
    whole = path if path.is_absolute() or not roots else Path(roots[0]) / path
    return str(whole)


def written_beside(policy: Policy, cwd: str) -> str:
    """Return the folder through which the hub may change files of a working folder; empty if there is none."""
    folder = Path(cwd).expanduser().resolve()
    inside = (root for root in policy.write if folder.is_relative_to(root))
    return next(inside, "") if FILES_WRITE in policy.allowed else ""


def _permitted(policy: Policy, tool: Tool, args: Mapping[str, Any], writes: str | None, sandbox: Sandbox) -> Decision:
    allowed = policy.allowed
    who = f"profile {policy.profile}"
    if writes is not None and FILES_WRITE not in allowed:
        line = grant_line(FILES_WRITE)
        return Decision(False, f"{who} does not allow to write {writes}", Code.MISSING_GRANT, line)
    if tool.grant is None:
        return Decision(True, f"{who} allows {tool.name}")
    if tool.grant == SHELL_RUN:
        return _decide_command(policy, args)
    if tool.grant in allowed:
        cage = cage_for(policy, tool, sandbox)
        if not cage:
            return Decision(False, _no_cage(tool, sandbox), Code.TOOL_UNAVAILABLE, grant_line(PYTHON_UNCONFINED))
        where = f" in the cage {cage}" if cage != UNCONFINED else " without a cage" if tool.caged else ""
        return Decision(True, f"{who} allows {tool.grant}{where}")
    if tool.grant in policy.denied:
        reason = f"the owner took {tool.grant} away, which {tool.name} needs"
        return Decision(False, reason, Code.POLICY_REFUSED, grant_line(tool.grant))
    reason = f"{who} does not allow {tool.grant}, which {tool.name} needs"
    return Decision(False, reason, Code.MISSING_GRANT, grant_line(tool.grant))


def _decide_command(policy: Policy, args: Mapping[str, Any]) -> Decision:
    argv = args.get("argv")
    if not isinstance(argv, list) or not argv or not all(isinstance(item, str) and "\x00" not in item for item in argv):
        return Decision(False, "a command is a list of words (argv), never one string", Code.BAD_ARGUMENTS)
    command = shlex.join(argv)
    folder = _folder_of(policy, args.get("cwd"))
    line = f"starloom-agent grant {SHELL_RUN} {f'--cwd {shlex.quote(folder)} ' if folder else ''}-- {command}"
    if SHELL_RUN in policy.denied:
        return Decision(False, f"the owner took {SHELL_RUN} away", Code.POLICY_REFUSED, line)
    for number, rule in enumerate(policy.commands, 1):
        if rule.fits(argv):
            return Decision(True, f"command rule {number} allows {command}")
    code = Code.POLICY_REFUSED if policy.commands else Code.MISSING_GRANT
    return Decision(False, f"no command rule of this device allows {command}", code, line)


def _no_cage(tool: Tool, sandbox: Sandbox) -> str:
    return f"{tool.name} needs a sandbox without network and this device has none ({sandbox.reason})"


def why_not_offered(policy: Policy, tool: Tool, sandbox: Sandbox = NOT_TRIED) -> str | None:
    """Return why a tool would be refused for any arguments, with the line to type; None if it may be allowed."""
    if tool.grant is None or tool.grant in policy.allowed:
        if cage_for(policy, tool, sandbox):
            return None
        line = f"to let it run unconfined, type on the device: {grant_line(PYTHON_UNCONFINED)}"
        return f"{_no_cage(tool, sandbox)}; {line}"
    grant = {SHELL_RUN: "starloom-agent grant shell:run -- COMMAND"}.get(tool.grant, grant_line(tool.grant))
    return f"profile {policy.profile} does not allow {tool.grant}; on the device: {grant}"


def with_grant(
    policy: Policy, grant: str, what: list[str], effects: Sequence[str] = (), cwd: str | None = None
) -> Policy:
    """Return the policy with one more grant: a folder, a host, a command, or the bare grant.

    `effects` is what a command may do at most, `cwd` the folder in which it runs; a service or command named whole is
    not asked about again.

    Raises:
        PolicyFault: if the grant or what it is for is not valid.
    """
    if not _GRANT_TEXT.fullmatch(grant):
        raise PolicyFault(
            f"{quoted(grant)} is not a grant; grants look like files:read, files:write, python:run, shell:run"
        )
    changes: dict[str, Any] = {"grants": policy.grants | {grant}, "denied": policy.denied - {grant}}
    if grant in (FILES_READ, FILES_WRITE):
        field = "read" if grant == FILES_READ else "write"
        before: tuple[str, ...] = getattr(policy, field)
        if not what and not before:
            raise PolicyFault(f"{grant} needs a folder: {grant_line(grant)}")
        folders = tuple(str(Path(item).expanduser().resolve()) for item in what)
        missing = [folder for folder in folders if not Path(folder).is_dir()]
        if missing:
            raise PolicyFault(f"{missing[0]} is not a folder. Make it, then type this line again")
        changes[field] = tuple(dict.fromkeys((*before, *folders)))
    elif grant == NET_REACH:
        if not what and not policy.hosts:
            raise PolicyFault(f"{grant} needs a host: {grant_line(grant)}")
        changes["hosts"] = tuple(dict.fromkeys((*policy.hosts, *(item.lower() for item in what))))
    elif grant == SHELL_RUN:
        if not what and not policy.commands:
            raise PolicyFault("shell:run needs a command: starloom-agent grant shell:run -- uptime")
        if what:
            folder = _working_folder(policy, cwd) if cwd else ""
            rule = CommandRule.of([word_of(item) for item in what], effects=effects, cwd=folder)
            others = (other for other in policy.commands if (other.words, other.cwd) != (rule.words, rule.cwd))
            changes["commands"] = (*others, rule)
    elif grant == SERVICE_RESTART:
        changes["always"] = tuple(dict.fromkeys((*policy.always, *map(_restart_of, what))))
    elif what:
        raise PolicyFault(f"{grant} stands alone; {' '.join(what)} belongs to no part of it")
    if effects and grant != SHELL_RUN:
        raise PolicyFault(f"effects belong to a command: starloom-agent grant --effects read {SHELL_RUN} -- uptime")
    if cwd and (grant != SHELL_RUN or not what):
        raise PolicyFault(f"a folder belongs to a command: starloom-agent grant {SHELL_RUN} --cwd {cwd} -- make")
    return replace(policy, **changes)


def _working_folder(policy: Policy, cwd: str) -> str:
    folder = Path(cwd).expanduser().resolve()
    if not folder.is_dir():
        raise PolicyFault(f"{folder} is not a folder; make it first")
    roots = [Path(root) for root in (*policy.read, *policy.write)]
    if not any(map(folder.is_relative_to, roots)):
        raise PolicyFault(f"{folder} is in no folder that requests may read: {refused_line(FILES_READ, folder)}")
    return str(folder)


def _restart_of(name: str) -> Always:
    return Always("service.restart", canonical({"name": name}))


def without_grant(policy: Policy, grant: str, what: list[str]) -> Policy:
    """Return the policy without a grant, or without one folder, host or command of it.

    Raises:
        PolicyFault: if there is nothing to take away.
    """
    if not what:
        if grant not in policy.allowed and grant not in policy.grants:
            raise PolicyFault(f"{grant} is not granted; starloom-agent policy shows what is")
        return replace(policy, grants=policy.grants - {grant}, denied=policy.denied | {grant})
    field = {FILES_READ: "read", FILES_WRITE: "write", NET_REACH: "hosts", SHELL_RUN: "commands"}.get(grant)
    field = "always" if grant == SERVICE_RESTART else field
    if field is None:
        raise PolicyFault(f"{grant} stands alone: starloom-agent ungrant {grant}")
    before = getattr(policy, field)
    gone: set[Any]
    if field == "commands":
        words = CommandRule.of([word_of(item) for item in what]).words
        gone = {rule for rule in before if rule.words == words}
    elif field == "always":
        gone = set(map(_restart_of, what))
    elif field == "hosts":
        gone = {item.lower() for item in what}
    else:
        gone = {str(Path(item).expanduser().resolve()) for item in what}
    if not gone & set(before):
        raise PolicyFault(f"{shlex.join(what)} is not granted; starloom-agent policy shows what is")
    changes: dict[str, Any] = {field: tuple(item for item in before if item not in gone)}
    return replace(policy, **changes)
