"""The endpoints of the owner's models by role: address, name, wire format, key, limits, and the share of results.

Opens no socket. Only the owner sets them, in the hub's settings; no message of a model, a device or a page changes the
address.
"""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from starloom.planner.model.port import ModelFault
from starloom_protocol.text.wording import quoted
from starloom_protocol.vocabulary import Code, Sharing

KEY_BYTES_MAX = 4096
CALL_S_MAX = 3600
OUTPUT_TOKENS_MAX = 1_000_000
RECORDED_SCHEME = "recorded:"
_ANTHROPIC_HOST = "api.anthropic.com"


class Wire(StrEnum):
    """The wire format of the endpoint."""

    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class ModelRole(StrEnum):
    """The part of a model. Each may have an endpoint of its own, else it is the planner's.

    `worker` makes the turns of goals. `small` makes them first, where it is set. `fallback` stands in for any other
    whose endpoint cannot be reached.
    """

    PLANNER = "planner"
    REVIEWER = "reviewer"
    WRITER = "writer"
    JUDGE = "judge"
    WORKER = "worker"
    SMALL = "small"
    FALLBACK = "fallback"


ONLY_IF_SET: Final = (ModelRole.SMALL, ModelRole.FALLBACK)
"""The roles that no other endpoint fills."""
OTHER_ROLES: Final = tuple(role for role in ModelRole if role is not ModelRole.PLANNER)
PREFIX: Final = "STARLOOM_LLM_"
_FIELDS: Final = ("URL", "MODEL", "WIRE", "KEY_FILE")


@dataclass(frozen=True)
class Limits:
    """The limits of one call. `call_s` is for the whole call, however slowly bytes arrive."""

    connect_s: float = 10.0
    call_s: float = 120.0
    bytes_most: int = 2 * 1024 * 1024
    output_tokens_most: int = 8192


@dataclass(frozen=True)
class Endpoint:
    """One model. `url` is the base address (`https://host/v1`); the key is never shown by `repr`."""

    url: str
    model: str
    wire: Wire = Wire.OPENAI
    key: str = field(default="", repr=False)
    limits: Limits = Limits()
    recording: Path | None = None
    """A file of recorded calls, whose replies are repeated; nothing is dialled then."""

    @property
    def host(self) -> str:
        """Return the host and port, which is all that people are shown of the address."""
        return urlsplit(self.url).netloc if self.recording is None else self.recording.name

    @property
    def local(self) -> bool:
        """Whether it is on this machine, where a call costs no money, whatever the name of its model."""
        return self.recording is not None or _is_near(urlsplit(self.url).hostname or "")


def endpoint_from(environment: Mapping[str, str], role: ModelRole = ModelRole.PLANNER) -> Endpoint | None:
    """Return the endpoint that the owner has set for a role by `STARLOOM_LLM_*`, or None where none is set.

    A role with an address of its own has its own key, too. One with a model alone is another model at the planner's
    address. Where nothing is set for it, it is the planner's; there is no such small model and no such fallback.

    Raises:
        ModelFault: it is set wrongly, or its key file is missing or readable by others.
    """
    planner = _endpoint(environment, PREFIX)
    if role is ModelRole.PLANNER or planner is None:
        return planner
    start = f"{PREFIX}{role.upper()}_"
    own_endpoint = _endpoint(environment, start)
    if own_endpoint is not None:
        return own_endpoint
    lone = [start + name for name in ("WIRE", "KEY_FILE") if environment.get(start + name, "").strip()]
    if lone:
        raise _wrong(f"{lone[0]} is set without {start}URL")
    model = environment.get(f"{start}MODEL", "").strip()
    if model:
        return replace(planner, model=model)
    return None if role in ONLY_IF_SET else planner


def endpoints_from(environment: Mapping[str, str], role: ModelRole) -> tuple[Endpoint, ...]:
    """Return the endpoints that a role asks: its own, and the fallback if there is another one; none if none is set.

    Raises:
        ModelFault: one of them is set wrongly.
    """
    first = endpoint_from(environment, role)
    if first is None:
        return ()
    second = endpoint_from(environment, ModelRole.FALLBACK)
    return (first,) if second is None or second == first else (first, second)


def tiers_from(environment: Mapping[str, str]) -> tuple[ModelRole, ...]:
    """Return the roles that make the turns of goals, the smallest first, each with another endpoint; none if none is.

    Raises:
        ModelFault: one of them is set wrongly.
    """
    worker, small = (endpoint_from(environment, role) for role in (ModelRole.WORKER, ModelRole.SMALL))
    if worker is None:
        return ()
    return (ModelRole.WORKER,) if small in (None, worker) else (ModelRole.SMALL, ModelRole.WORKER)


def readers_from(environment: Mapping[str, str], role: ModelRole) -> tuple[Endpoint, ...]:
    """Return the endpoints that get what a role is shown: a goal that escalates takes its texts to its next tier.

    Raises:
        ModelFault: one of them is set wrongly.
    """
    tiers = tiers_from(environment)
    roles = tiers if role in tiers else (role,)
    return tuple(dict.fromkeys(endpoint for one in roles for endpoint in endpoints_from(environment, one)))


def others_from(environment: Mapping[str, str]) -> dict[ModelRole, Endpoint]:
    """Return the endpoints of the roles that have another than the planner's.

    Raises:
        ModelFault: one of them is set wrongly.
    """
    planner = endpoint_from(environment)
    endpoints = {role: endpoint_from(environment, role) for role in OTHER_ROLES}
    return {role: endpoint for role, endpoint in endpoints.items() if endpoint is not None and endpoint != planner}


def role_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the roles beside the planner's own."""
    names = [f"{PREFIX}{role.upper()}_{name}" for role in OTHER_ROLES for name in _FIELDS]
    return {name: environment[name] for name in names if environment.get(name)}


def _endpoint(environment: Mapping[str, str], start: str) -> Endpoint | None:
    """Return the endpoint of the variables that begin so, or None where they name no address."""
    url = environment.get(f"{start}URL", "").strip().rstrip("/")
    if not url:
        return None
    if url.startswith(RECORDED_SCHEME):
        return Endpoint(url=url, model="recorded", recording=Path(url.removeprefix(RECORDED_SCHEME)))
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise _wrong(f"{start}URL must be http(s)://HOST[:PORT][/PATH], without a name, a query or a fragment")
    model = environment.get(f"{start}MODEL", "").strip()
    if not model:
        raise _wrong(f"{start}MODEL is not set; it names the model at the endpoint")
    wire = environment.get(f"{start}WIRE", "").strip() or (
        Wire.ANTHROPIC if parts.hostname == _ANTHROPIC_HOST else Wire.OPENAI
    )
    if wire not in tuple(Wire):
        raise _wrong(f"{start}WIRE is {quoted(wire)}; it is one of {', '.join(Wire)}")
    file = environment.get(f"{start}KEY_FILE", "").strip()
    key = read_key(Path(file)) if file else ""
    if key and parts.scheme == "http" and not _is_near(parts.hostname):
        raise _wrong("the key would travel unencrypted; use an https address, or no key file")
    return Endpoint(url=url, model=model, wire=Wire(wire), key=key, limits=_limits(environment))


def _limits(environment: Mapping[str, str]) -> Limits:
    call_s = environment.get("STARLOOM_LLM_TIMEOUT_S", "").strip()
    tokens = environment.get("STARLOOM_LLM_OUTPUT_TOKENS", "").strip()
    try:
        limits = Limits(
            call_s=float(call_s) if call_s else Limits.call_s,
            output_tokens_most=int(tokens) if tokens else Limits.output_tokens_most,
        )
    except ValueError as error:
        raise _wrong("STARLOOM_LLM_TIMEOUT_S and STARLOOM_LLM_OUTPUT_TOKENS must be numbers") from error
    if not (0 < limits.call_s <= CALL_S_MAX and 0 < limits.output_tokens_most <= OUTPUT_TOKENS_MAX):
        reason = f"STARLOOM_LLM_TIMEOUT_S is at most {CALL_S_MAX} s and STARLOOM_LLM_OUTPUT_TOKENS {OUTPUT_TOKENS_MAX}"
        raise _wrong(f"{reason}, both above 0")
    return limits


def read_key(file: Path) -> str:
    """Return the key in a file that only its owner can read.

    Raises:
        ModelFault: it is missing, open to others, empty or too big.
    """
    try:
        mode = file.stat().st_mode
        raw = file.read_bytes()[: KEY_BYTES_MAX + 1]
    except OSError as error:
        raise _wrong(f"the key file {file} cannot be read ({error.strerror})") from error
    if stat.S_IMODE(mode) & 0o077:
        raise _wrong(f"the key file {file} can be read by others; run `chmod 600 {file}`")
    try:
        key = raw.decode("ascii").strip()
    except UnicodeDecodeError as error:
        raise _wrong(f"the key file {file} holds something else than a key") from error
    if not key or len(raw) > KEY_BYTES_MAX or not key.isprintable() or " " in key:
        raise _wrong(f"the key file {file} must hold one key of at most {KEY_BYTES_MAX} characters and nothing else")
    return key


def _is_near(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _wrong(reason: str) -> ModelFault:
    return ModelFault(Code.MODEL_NOT_SET, reason)


SHARE: Final = "STARLOOM_LLM_SHARE"


def sharing_from(environment: Mapping[str, str], *endpoints: Endpoint) -> Sharing:
    """Return the owner's setting for what any of these endpoints may get.

    Unset, a model elsewhere gets no content of files; where all are on this machine they get it all.

    Raises:
        ModelFault: it names none of the three.
    """
    text = environment.get(SHARE, "").strip()
    try:
        unset = Sharing.HEADS if all(endpoint.local for endpoint in endpoints) else Sharing.CARDS
        return Sharing(text) if text else unset
    except ValueError as error:
        names = ", ".join(Sharing)
        raise ModelFault(Code.MODEL_NOT_SET, f"{SHARE} is {quoted(text[:64])}; it is one of {names}") from error
