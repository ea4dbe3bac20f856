"""The guard table: every route and every frame with its permitted callers. A route or frame without a row is refused.

Keys are (method, path template) as the application registers them, `WS` for sockets. The edge enforces the rows; a
test generated from the application's routes and from the frame classes fails when a row is missing or left over.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from starloom.edge.access.callers import Caller, Scope
from starloom_protocol.vocabulary import PrincipalKind, Role
from starloom_protocol.wire import frames


class Door(StrEnum):
    """The way in which a route authenticates its caller."""

    ANYONE = "anyone"
    CALLER = "caller"
    DEVICE = "device"
    TICKET = "ticket"
    PROOF = "proof"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table. `roles`, `kinds` and `scope` belong to callers; `body_max` bounds the body in bytes.

    `whole`: it reads a whole constellation of maybe thousands of tasks; a caller has few such requests at a time.
    `confined`: open to a caller that may start a few recipes only, and its route holds it to these and to its own work.
    """

    door: Door
    roles: frozenset[Role] = frozenset()
    scope: Scope | None = None
    body_max: int = 1024 * 1024
    kinds: frozenset[PrincipalKind] = frozenset(PrincipalKind)
    whole: bool = False
    confined: bool = False

    def refusal(self, caller: Caller) -> str | None:
        """Return why this caller is refused, or None."""
        if caller.role not in self.roles:
            names = " or ".join(role for role in Role if role in self.roles)
            return f"your role is {caller.role}; this needs {names}"
        if caller.kind not in self.kinds:
            return f"you are {caller.kind}; this needs {' or '.join(sorted(self.kinds))}"
        if caller.kind is PrincipalKind.ASSISTANT and self.scope in _NOT_FOR_ASSISTANTS:
            return f"an assistant never has the scope {self.scope}: ask a person to do this"
        if self.scope is not None and not caller.has_scope(self.scope) and not (self.confined and caller.recipes):
            return f"{caller.way_in} does not have the scope {self.scope}"
        return None


_NOT_FOR_ASSISTANTS = frozenset({Scope.ACCESS, Scope.APPROVE, Scope.FLEET, Scope.LAB})
_PEOPLE = frozenset({PrincipalKind.PERSON})
_OWNER = frozenset({Role.OWNER})
_OPERATOR = frozenset({Role.OWNER, Role.OPERATOR})
_APPROVER = frozenset({Role.OWNER, Role.OPERATOR, Role.APPROVER})
_ALL = frozenset(Role)

SMALL = 64 * 1024
UPLOAD_MAX = 64 * 1024 * 1024
"""A person uploads a whole file in one body, which is held in memory while it is read."""
CHUNK_MAX = 1024 * 1024
"""A device continues at its offset, so a lost connection costs it one chunk at most."""


def _read(scope: Scope = Scope.READ) -> Row:
    return Row(Door.CALLER, _ALL, scope, SMALL)


def _run(body_max: int = SMALL, *, confined: bool = False) -> Row:
    return Row(Door.CALLER, _OPERATOR, Scope.RUN, body_max, confined=confined)


_ANYONE = Row(Door.ANYONE, body_max=SMALL)
_WHOLE = Row(Door.CALLER, _ALL, Scope.READ, SMALL, whole=True)
_SELF = Row(Door.CALLER, _ALL, None, SMALL)
_FLEET = Row(Door.CALLER, _OPERATOR, Scope.FLEET, SMALL)
_APPROVE = Row(Door.CALLER, _APPROVER, Scope.APPROVE, SMALL)
_ACCESS = Row(Door.CALLER, _OWNER, Scope.ACCESS, SMALL)
_SIGN_IN = Row(Door.CALLER, _ALL, Scope.ACCESS, SMALL)
_TOKENS = Row(Door.CALLER, _OPERATOR, Scope.ACCESS, SMALL)
# A plan of 1 MiB travels as an escaped JSON string, so the body may be twice as long.
_PLAN_BYTES = 2 * 1024 * 1024 + SMALL

_RECIPE_BYTES = 4 * SMALL
"""The text of a recipe has up to 64 Ki characters, and JSON escapes its lines and quotes."""
# A value of 64 KiB, every character of it escaped.
_SECRET_BYTES = 7 * SMALL

_LAB = Row(Door.CALLER, _OWNER, Scope.LAB, SMALL)

V1 = "/api/v1"
_C = V1 + "/constellations"
_T = _C + "/{constellation}/tasks/{task}"

ROUTES: dict[tuple[str, str], Row] = {
    # outside the API
    ("GET", "/healthz"): _ANYONE,
    ("GET", "/readyz"): _ANYONE,
    ("GET", "/metrics"): _read(),
    ("GET", "/{path:path}"): _ANYONE,
    ("HEAD", "/{path:path}"): _ANYONE,
    ("GET", "/tab"): _ANYONE,
    ("HEAD", "/tab"): _ANYONE,
    ("GET", "/tab/{path:path}"): _ANYONE,
    ("HEAD", "/tab/{path:path}"): _ANYONE,
    # agents of others, by A2A
    ("GET", "/.well-known/agent-card.json"): _ANYONE,
    ("POST", "/a2a"): Row(Door.CALLER, _OPERATOR, Scope.A2A, _PLAN_BYTES),
    # joining
    ("POST", "/agent/join"): _ANYONE,
    ("POST", "/agent/leave"): _ANYONE,
    ("POST", "/agent/upgrade"): _ANYONE,
    ("GET", "/agent/join/{enrollment}"): _ANYONE,
    ("GET", "/agent/join.py"): _ANYONE,
    ("GET", "/agent/requirements.txt"): _ANYONE,
    ("GET", "/agent/wheels.json"): _ANYONE,
    ("GET", "/agent/wheels/{file}"): _ANYONE,
    ("GET", "/agent/authority.crt"): _ANYONE,
    # agents
    ("WS", "/aip/v1"): Row(Door.PROOF),
    ("HEAD", "/aip/v1/artifacts/{sha256}"): Row(Door.DEVICE),
    ("GET", "/aip/v1/artifacts/{sha256}"): Row(Door.DEVICE),
    ("PATCH", "/aip/v1/artifacts/{sha256}"): Row(Door.DEVICE, body_max=CHUNK_MAX),
    # who am I
    ("POST", V1 + "/sign-in"): _ANYONE,
    ("POST", V1 + "/sign-in/terms"): _ANYONE,
    ("POST", V1 + "/sign-out"): _SELF,
    ("GET", V1 + "/session"): _SELF,
    ("POST", V1 + "/sign-in-links"): _SIGN_IN,
    ("GET", V1 + "/people"): _ACCESS,
    ("PATCH", V1 + "/people/{name}"): _ACCESS,
    ("GET", V1 + "/tokens"): _TOKENS,
    ("POST", V1 + "/tokens"): _TOKENS,
    ("DELETE", V1 + "/tokens/{token}"): _TOKENS,
    ("POST", V1 + "/live/tickets"): _read(),
    ("WS", V1 + "/live"): Row(Door.TICKET),
    ("GET", V1 + "/openapi.json"): _SELF,
    # constellations
    ("GET", _C): _read(),
    ("POST", _C): _run(_PLAN_BYTES, confined=True),
    ("POST", _C + "/preview"): Row(Door.CALLER, _ALL, Scope.READ, _PLAN_BYTES),
    ("POST", V1 + "/what-if"): Row(Door.CALLER, _ALL, Scope.READ, _PLAN_BYTES),
    # Its text has earlier requests of the caller, and only a caller who may submit could have it sent.
    ("POST", V1 + "/prompt-preview"): _run(),
    ("GET", V1 + "/brief"): _read(),
    ("POST", V1 + "/brief"): Row(Door.CALLER, _ALL, Scope.READ, _PLAN_BYTES),
    ("GET", _C + "/{constellation}"): _WHOLE,
    ("GET", _C + "/{constellation}/result"): _read(),
    ("POST", _C + "/{constellation}/edits"): _run(_PLAN_BYTES),
    ("PUT", _C + "/{constellation}/draft"): _run(),
    ("DELETE", _C + "/{constellation}/draft"): _run(),
    ("GET", _C + "/{constellation}/versions"): _WHOLE,
    ("GET", _C + "/{constellation}/diff"): _WHOLE,
    ("GET", _C + "/{constellation}/replay"): _ACCESS,
    ("GET", _C + "/{constellation}/blame"): _WHOLE,
    ("POST", _C + "/{constellation}/fork"): _run(_PLAN_BYTES),
    ("POST", _C + "/{constellation}/undo"): _run(),
    ("GET", _C + "/{constellation}/events"): _read(),
    ("GET", _C + "/{constellation}/why"): _WHOLE,
    ("GET", _C + "/{constellation}/transcript"): _WHOLE,
    ("GET", _C + "/{constellation}/report"): _read(),
    ("GET", _C + "/{constellation}/what-if"): _read(),
    ("POST", _C + "/{constellation}/what-if"): Row(Door.CALLER, _ALL, Scope.READ, _PLAN_BYTES),
    ("POST", _C + "/{constellation}/pause"): _run(),
    ("POST", _C + "/{constellation}/resume"): _run(),
    ("POST", _C + "/{constellation}/cancel"): _run(confined=True),
    ("POST", _T + "/{action}"): _run(),
    ("GET", _T + "/attempts/{attempt}/log"): _read(),
    # fleet
    ("GET", V1 + "/devices"): _read(),
    ("GET", V1 + "/devices/{device}"): _read(),
    ("PATCH", V1 + "/devices/{device}"): _FLEET,
    ("POST", V1 + "/devices/{device}/{action}"): _FLEET,
    ("GET", V1 + "/capabilities"): _read(),
    ("GET", V1 + "/vitals"): _read(),
    ("GET", V1 + "/device-work"): _read(),
    ("GET", V1 + "/enrollments"): _FLEET,
    ("POST", V1 + "/enrollments"): _FLEET,
    ("GET", V1 + "/enrollments/{enrollment}"): _FLEET,
    ("POST", V1 + "/enrollments/{enrollment}/approve"): _FLEET,
    ("POST", V1 + "/enrollments/{enrollment}/deny"): _FLEET,
    # the local network
    ("GET", V1 + "/disk"): _FLEET,
    ("GET", V1 + "/lan"): _FLEET,
    ("POST", V1 + "/lan/open"): _ACCESS,
    ("POST", V1 + "/lan/close"): _ACCESS,
    # people
    ("GET", V1 + "/approvals"): _read(),
    ("GET", V1 + "/approvals/{approval}/calls"): _read(),
    ("POST", V1 + "/approvals/{approval}/approve"): _APPROVE,
    ("POST", V1 + "/approvals/{approval}/deny"): _APPROVE,
    ("POST", V1 + "/approvals/{approval}/answer"): _APPROVE,
    ("GET", V1 + "/asks"): _read(),
    ("POST", V1 + "/asks/{ask}/approve"): _APPROVE,
    ("POST", V1 + "/asks/{ask}/deny"): _APPROVE,
    ("GET", V1 + "/standing-approvals"): _read(),
    ("DELETE", V1 + "/standing-approvals/{standing}"): _APPROVE,
    # schedules
    ("GET", V1 + "/schedules"): _read(),
    ("POST", V1 + "/schedules"): _run(_PLAN_BYTES),
    ("POST", V1 + "/schedule-preview"): Row(Door.CALLER, _ALL, Scope.READ, _PLAN_BYTES),
    ("GET", V1 + "/schedules/{schedule}"): _read(),
    ("GET", V1 + "/schedule-runs/{schedule}"): _read(),
    ("PATCH", V1 + "/schedules/{schedule}"): _run(_PLAN_BYTES),
    ("DELETE", V1 + "/schedules/{schedule}"): _run(),
    ("POST", V1 + "/schedules/{schedule}/{action}"): _run(),
    ("POST", V1 + "/schedule-notices/seen"): Row(Door.CALLER, _ALL, Scope.READ, SMALL, _PEOPLE),
    # the owner's model
    ("GET", V1 + "/model"): _ACCESS,
    ("POST", V1 + "/model/test"): _ACCESS,
    ("PUT", V1 + "/model"): _ACCESS,
    ("DELETE", V1 + "/model"): _ACCESS,
    ("PUT", V1 + "/model/roles/{role}"): _ACCESS,
    ("DELETE", V1 + "/model/roles/{role}"): _ACCESS,
    # the record of activity
    ("GET", V1 + "/audit"): _ACCESS,
    ("GET", V1 + "/audit/verify"): _ACCESS,
    ("GET", V1 + "/audit/export"): _ACCESS,
    # secrets: no route answers a value
    ("GET", V1 + "/secrets"): Row(Door.CALLER, _OPERATOR, Scope.READ, SMALL),
    ("PUT", V1 + "/secrets/{name}"): Row(Door.CALLER, _OWNER, Scope.ACCESS, _SECRET_BYTES),
    ("DELETE", V1 + "/secrets/{name}"): _ACCESS,
    # recipes, artifacts, service
    ("GET", V1 + "/recipes"): _read(),
    ("GET", V1 + "/recipes/{name}"): _read(),
    ("GET", V1 + "/recipes/{name}/versions"): _read(),
    ("GET", V1 + "/recipes/{name}/runs"): _read(),
    ("POST", V1 + "/recipes"): _run(_RECIPE_BYTES),
    ("POST", V1 + "/recipes/check"): Row(Door.CALLER, _ALL, Scope.READ, _RECIPE_BYTES),
    ("DELETE", V1 + "/recipes/{name}"): _run(),
    ("POST", V1 + "/recipes/{name}/seen"): Row(Door.CALLER, _ALL, Scope.READ, SMALL, _PEOPLE),
    # A proposal is for its owner alone: the route lists the caller's own, and the core refuses any other.
    ("GET", V1 + "/recipe-proposals"): _read(),
    ("DELETE", V1 + "/recipe-proposals/{proposal}"): _run(),
    ("POST", V1 + "/artifacts"): Row(Door.CALLER, _OPERATOR, Scope.ARTIFACTS, UPLOAD_MAX),
    ("GET", V1 + "/artifacts/{sha256}"): _read(Scope.ARTIFACTS),
    ("HEAD", V1 + "/artifacts/{sha256}"): _read(Scope.ARTIFACTS),
    ("GET", V1 + "/stop-all"): _read(),
    ("POST", V1 + "/stop-all"): _run(),
    # the lab: there only with `--lab`
    ("GET", V1 + "/lab/faults"): _LAB,
    ("POST", V1 + "/lab/faults"): _LAB,
    ("GET", V1 + "/lab/faults/{fault}"): _LAB,
    ("DELETE", V1 + "/lab/faults/{fault}"): _LAB,
    ("POST", V1 + "/lab/faults/{fault}/{report}"): _LAB,
    ("POST", V1 + "/lab/orders"): _LAB,
    ("POST", V1 + "/lab/notes"): _LAB,
    ("GET", V1 + "/lab/scenarios"): _LAB,
    ("POST", V1 + "/lab/scenarios/{scenario}/runs"): _LAB,
    ("GET", V1 + "/lab/scenarios/{scenario}/runs/{run}"): _LAB,
    ("DELETE", V1 + "/lab/scenarios/{scenario}/runs/{run}"): _LAB,
}


class Act(StrEnum):
    """The hub's way of handling a frame of an agent."""

    SESSION = "session"
    INPUT = "input"
    ALIVE = "alive"
    FIGURES = "figures"
    BESIDE = "beside"
    CONTROL = "control"


FRAMES: dict[type[frames.Frame], Act] = {
    # The session's own table says in which state each is legal; outside it the connection ends.
    frames.Hello: Act.SESSION,
    frames.Prove: Act.SESSION,
    frames.OfferFrame: Act.INPUT,
    frames.Alive: Act.ALIVE,
    frames.Started: Act.INPUT,
    frames.ResultFrame: Act.INPUT,
    frames.Receipt: Act.INPUT,
    frames.LogChunk: Act.BESIDE,
    frames.Progress: Act.BESIDE,
    frames.ConditionFrame: Act.INPUT,
    frames.VitalsFrame: Act.FIGURES,
    frames.AsksFrame: Act.INPUT,
    frames.LedgerReport: Act.INPUT,
    frames.FactsFrame: Act.INPUT,
    frames.Bye: Act.CONTROL,
    frames.Ping: Act.CONTROL,
    frames.Pong: Act.CONTROL,
    frames.ErrorFrame: Act.CONTROL,
}
