"""The settings of the hub: typed, with the unit in the name, and each with its source.

A value comes from a flag, then a `STARLOOM_*` variable, then a line in `starloom.toml`, then its default. An unknown
variable or line is an error. Reads settings only; opens nothing and makes no folder.
"""

from __future__ import annotations

import difflib
import ipaddress
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args
from urllib.parse import parse_qs, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

VERSION = version("starloom")
"""The release of this hub; it hands out the agent of the same release."""
PREFIX = "STARLOOM_"
FILE_NAME = "starloom.toml"
PORT_FILE = "port"
"""The file in the home with the port of the last start: devices, pages and links know the hub by it."""
KEPT = "the last start"
_PORT_BYTES_MOST = 16
OTHER_VARIABLES = frozenset({"AGENT_HOME", "CONFIG", "FENCE", "TOKEN", "URL"})
"""Variables of clients and tools that share the prefix and are not settings of the hub."""

WireName = Literal["openai", "anthropic"]
LogLevel = Literal["debug", "info", "warning", "error"]


class SettingsInvalid(Exception):
    """Some settings are wrong; `faults` names each with its source and the way out."""

    def __init__(self, faults: list[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


def default_home() -> Path:
    """Return the default folder of the hub's data."""
    return Path.home() / ".local" / "share" / "starloom"


class Settings(BaseSettings):
    """All settings. Durations are as a person sets them; the hub uses the `scaled` values."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, env_ignore_empty=True)

    home: Path = Field(default_factory=default_home, description="database, Redis files, artifacts, keys, logs")
    shared: Path | None = Field(
        None, description="folder that all hubs of one shard share: keys, artifacts, output of attempts; unset: home"
    )
    peer_url: str | None = Field(None, description="address at which other hubs reach this one; unset: its own")
    owner_ttl_s: float = Field(5.0, gt=0.5, description="how long a silent hub keeps the shard before another takes it")
    host: str = Field("127.0.0.1", description="address to listen on; another than loopback needs TLS")
    port: int = Field(8470, ge=1, le=65535, description="port to listen on")
    lan: bool = Field(False, description="also listen in the local network, by HTTPS with the hub's own certificate")
    lan_host: str | None = Field(None, description="address of this machine to do so on; unset: its own, followed")
    lan_port: int = Field(8471, ge=1, le=65535, description="port to do so on")
    a2a: bool = Field(False, description="also be an agent for agents of others, by A2A at /a2a")
    redis_url: str | None = Field(None, description="a Redis of your own; unset: embedded")
    database_url: str | None = Field(None, description="a PostgreSQL of your own; unset: SQLite in the home")
    broker_url: str | None = Field(None, description="Celery's broker; unset: the same Redis, another number")
    public_url: str | None = Field(None, description="the address people and agents use from outside")
    trusted_proxies: list[str] = Field([], description="addresses or networks whose X-Forwarded-* count")
    tls_cert: Path | None = Field(None, description="certificate chain in PEM")
    tls_key: Path | None = Field(None, description="private key in PEM")
    llm_url: str | None = Field(None, description="model endpoint; unset: no model")
    llm_model: str | None = Field(None, description="model name")
    llm_wire: WireName | None = Field(None, description="wire format of the endpoint; unset: by its host")
    llm_key_file: Path | None = Field(None, description="file with the endpoint's key, readable by its owner only")
    llm_budget_per_day: float | None = Field(None, ge=0, description="money a day for the model")
    llm_tokens_per_day: int | None = Field(None, ge=0, description="tokens a day for the model; unset: a million")
    llm_tokens_per_constellation: int | None = Field(
        None, ge=0, description="tokens of the model for one constellation; unset: 200000"
    )
    llm_share: Literal["names", "cards", "cards_and_file_heads"] | None = Field(
        None, description="the part of results that the model is shown; unset: cards"
    )
    llm_timeout_s: float | None = Field(
        None, gt=0, le=3600, description="seconds that one call of the model may take; unset: 120"
    )
    llm_output_tokens: int | None = Field(
        None, gt=0, le=1_000_000, description="tokens that one answer of the model may have; unset: 8192"
    )
    llm_reviewer_url: str | None = Field(None, description="endpoint of the model that reviews plans while they run")
    llm_reviewer_model: str | None = Field(None, description="its name; alone: at the planner's endpoint")
    llm_reviewer_wire: WireName | None = Field(None, description="its wire format; unset: by its host")
    llm_reviewer_key_file: Path | None = Field(None, description="file with its key, readable by its owner only")
    llm_writer_url: str | None = Field(None, description="endpoint of the model that writes answers in words")
    llm_writer_model: str | None = Field(None, description="its name; alone: at the planner's endpoint")
    llm_writer_wire: WireName | None = Field(None, description="its wire format; unset: by its host")
    llm_writer_key_file: Path | None = Field(None, description="file with its key, readable by its owner only")
    llm_judge_url: str | None = Field(None, description="endpoint of the model that judges results")
    llm_judge_model: str | None = Field(None, description="its name; alone: at the planner's endpoint")
    llm_judge_wire: WireName | None = Field(None, description="its wire format; unset: by its host")
    llm_judge_key_file: Path | None = Field(None, description="file with its key, readable by its owner only")
    llm_worker_url: str | None = Field(None, description="endpoint of the model that makes the turns of goals")
    llm_worker_model: str | None = Field(None, description="its name; alone: at the planner's endpoint")
    llm_worker_wire: WireName | None = Field(None, description="its wire format; unset: by its host")
    llm_worker_key_file: Path | None = Field(None, description="file with its key, readable by its owner only")
    llm_small_url: str | None = Field(None, description="endpoint of the model that makes the turns of goals first")
    llm_small_model: str | None = Field(None, description="its name; alone: at the planner's endpoint")
    llm_small_wire: WireName | None = Field(None, description="its wire format; unset: by its host")
    llm_small_key_file: Path | None = Field(None, description="file with its key, readable by its owner only")
    llm_fallback_url: str | None = Field(None, description="endpoint of the model that stands in for one that is away")
    llm_fallback_model: str | None = Field(None, description="its name; alone: at the planner's endpoint")
    llm_fallback_wire: WireName | None = Field(None, description="its wire format; unset: by its host")
    llm_fallback_key_file: Path | None = Field(None, description="file with its key, readable by its owner only")
    secrets_key_file: Path | None = Field(
        None, description="file with the key of secrets, readable by its owner only; unset: HOME/keys/secrets.key"
    )
    wheels: Path | None = Field(None, description="folder of agent wheels to serve; unset: HOME/wheels")
    web: Path | None = Field(None, description="folder of the built page; unset: the packaged or checkout's one")
    lab: bool = Field(False, description="allow fault injection and lab tools")
    log_level: LogLevel = Field("info", description="least level that is logged")
    lease_ttl_s: float = Field(15.0, gt=0, description="how long an attempt's lease lasts without a renewal")
    lease_grace_s: float = Field(5.0, ge=0, description="what is added before a lease counts as expired")
    alive_interval_s: float = Field(5.0, gt=0, description="how often an agent says what it runs")
    handshake_s: float = Field(5.0, gt=0, description="how long a socket may take to prove who it is")
    placement: Literal["expected", "random"] = Field(
        "expected", description="how a free device is chosen; random is for measurements beside it"
    )
    experience: bool = Field(True, description="learn how long calls take on each device, and place tasks by that")
    time_scale: float = Field(1.0, gt=0, description="divides leases and graces, for chaos tests")
    sign_in_ttl_s: int = Field(900, gt=0, description="how long a sign-in link is good")
    session_ttl_s: int = Field(14 * 86_400, gt=0, description="how long a page stays signed in")
    enrollment_ttl_s: int = Field(600, gt=0, description="how long a join code is good")
    retire_after_s: float = Field(
        600.0, ge=0, description="how long what is finished and quiet stays in memory and Redis"
    )
    finished_most: int = Field(100, ge=0, description="finished constellations that stay in memory and Redis at most")
    finished_tasks_most: int = Field(
        20_000, ge=0, description="tasks of finished constellations that stay there at most"
    )
    artifacts_bytes_most: int = Field(20 * 1024**3, gt=0, description="bytes of all artifacts at most")
    artifacts_bytes_each: int = Field(
        10 * 1024**3, gt=0, description="bytes of artifacts that one device or person may have brought at most"
    )
    artifacts_unnamed_s: float = Field(
        86_400.0, gt=0, description="how long an artifact that nothing names, or a part of one, stays"
    )
    artifacts_keep_s: float = Field(
        90 * 86_400.0, ge=0, description="how long the artifacts of a constellation stay after its end"
    )
    logs_keep_s: float = Field(
        30 * 86_400.0, ge=0, description="how long the output of attempts and the texts of a model stay once quiet"
    )
    logs_bytes_most: int = Field(2 * 1024**3, ge=0, description="bytes of such output at most; the oldest goes first")
    history_keep_days: float | None = Field(
        None, ge=0, description="days that a finished constellation stays in the history; unset: for good"
    )
    history_keep_mb: int | None = Field(
        None, ge=0, description="megabytes that the history may hold; the oldest finished goes first; unset: no bound"
    )
    history_keep_least_days: float = Field(
        7.0, ge=0, description="days after its end in which nothing goes because of history_keep_mb"
    )
    history_prune_every_s: float = Field(600.0, gt=0, description="how often the owner looks for what may go from it")
    drain_s: float = Field(8.0, gt=0, description="how long stopping may take before sockets are cut")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the signature is pydantic's
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Disable pydantic's sources: `load` merges all sources, since it must know where each value came from."""
        return (init_settings,)

    @field_validator("trusted_proxies", mode="before")
    @classmethod
    def _list_of(cls, value: Any) -> Any:
        return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value

    @field_validator("trusted_proxies")
    @classmethod
    def _check_networks(cls, value: list[str]) -> list[str]:
        for item in value:
            ipaddress.ip_network(item, strict=False)
        return value

    @field_validator("public_url", "peer_url")
    @classmethod
    def _without_path(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
            raise ValueError("must be http(s)://HOST[:PORT] without a path")
        return f"{parts.scheme}://{parts.netloc}"

    @field_validator("database_url")
    @classmethod
    def _check_database(cls, value: str | None) -> str | None:
        if value is None:
            return None
        scheme, separator, rest = value.partition("://")
        kind = scheme.partition("+")[0]
        if not separator or kind not in ("sqlite", "postgresql", "postgres"):
            raise ValueError("must be postgresql://USER@HOST/NAME, or sqlite:////PATH for a file elsewhere")
        if kind == "sqlite" and not rest.startswith("//"):
            raise ValueError("must name its file by the whole path: sqlite:////PATH")
        return value

    @field_validator("redis_url")
    @classmethod
    def _check_redis(cls, value: str | None) -> str | None:
        if value is None:
            return None
        try:
            parts = urlsplit(value)
            number = "" if parts.scheme == "unix" else parts.path.strip("/")
            is_address = not parts.fragment and (parts.port is None or parts.scheme in ("redis", "rediss"))
        except ValueError:  # its words may have a part of the password
            is_address = False
        place = is_address and (parts.path if parts.scheme == "unix" else parts.hostname)
        if not place or parts.scheme not in ("redis", "rediss", "unix") or (number and not number.isdecimal()):
            raise ValueError(
                "must be redis://HOST[:PORT][/NUMBER], rediss://... or unix:///PATH; in a password, / # ? and @ are "
                "written as %2F %23 %3F and %40"
            )
        options = parse_qs(parts.query, keep_blank_values=True)
        options.pop("db", None)
        if options:
            raise ValueError(
                f"its address takes no {', '.join(options)}: by rediss:// the certificate and its name are always "
                "checked, and the variable SSL_CERT_FILE names the authority where it is one of your own"
            )
        return value

    @field_validator("lan_host")
    @classmethod
    def _check_lan_host(cls, value: str | None) -> str | None:
        if value is not None and ipaddress.ip_address(value).is_unspecified:
            raise ValueError("lan_host must name one address; a wildcard is never bound")
        return value

    @field_validator("home", "shared")
    @classmethod
    def _is_text(cls, value: Path | None) -> Path | None:
        # A path goes into JSON and databases, which hold text alone.
        printed = ascii(os.fspath(value or ""))
        if not value or r"\udc" not in printed:
            return value
        raise ValueError(
            f"the folder {printed} is no text under the locale of this terminal; set PYTHONUTF8=1 (or LC_ALL=C.UTF-8), "
            "or STARLOOM_HOME to a folder with plain letters"
        )

    @field_validator(
        "home",
        "shared",
        "tls_cert",
        "tls_key",
        "llm_key_file",
        "llm_reviewer_key_file",
        "llm_writer_key_file",
        "llm_judge_key_file",
        "llm_worker_key_file",
        "llm_small_key_file",
        "llm_fallback_key_file",
        "secrets_key_file",
        "wheels",
        "web",
    )
    @classmethod
    def _absolute(cls, value: Path | None) -> Path | None:
        return None if value is None else value.expanduser().absolute()

    @model_validator(mode="after")
    def _check_reach(self) -> Settings:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("tls_cert and tls_key are given together or not at all")
        if self.host in ("0.0.0.0", "::", "*", ""):  # noqa: S104 - named here to be refused
            raise ValueError("host must name one address; a wildcard is never bound")
        if not is_loopback(self.host) and self.tls_cert is None:
            raise ValueError("host is not a loopback address, so tls_cert and tls_key are needed (see docs/reach.md)")
        return self

    @property
    def scaled_lease_ttl_s(self) -> float:
        return self.lease_ttl_s / self.time_scale

    @property
    def scaled_lease_grace_s(self) -> float:
        return self.lease_grace_s / self.time_scale

    @property
    def scaled_alive_interval_s(self) -> float:
        return self.alive_interval_s / self.time_scale

    @property
    def llm_variables(self) -> dict[str, str]:
        """Return the settings of the model as a worker's variables; the key itself stays in its file."""
        names = [name for name in type(self).model_fields if name.startswith("llm_")]
        values = {name: getattr(self, name) for name in names}
        return {PREFIX + name.upper(): str(value) for name, value in values.items() if value is not None}

    @property
    def url(self) -> str:
        """Return the listener's own address, as clients on this machine use it."""
        scheme = "https" if self.tls_cert else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"

    @property
    def shared_home(self) -> Path:
        """Return the folder that all hubs of one shard share."""
        return self.shared or self.home

    @property
    def model_folder(self) -> Path:
        """Return the folder of the model set on the page; hubs and workers read it."""
        return self.shared_home / "model"

    @property
    def outside_url(self) -> str:
        """Return the address that links and join lines contain."""
        return self.public_url or self.url


def is_loopback(host: str) -> bool:
    """Tell whether a host name means this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings with where each came from: `flag`, the variable, the file, or `default`."""

    settings: Settings
    sources: dict[str, str]

    def rows(self) -> list[tuple[str, str, str]]:
        """Return (name, value, source) of each setting, for `config show`; a URL's password is not shown."""
        return [
            (name, shown_setting(getattr(self.settings, name)), self.sources[name]) for name in Settings.model_fields
        ]


def shown_setting(value: Any) -> str:
    """Return a setting as it is shown: without a secret, and without the password of an address."""
    if value is None:
        return "-"
    if isinstance(value, SecretStr):
        return "set"
    text = ", ".join(value) if isinstance(value, list) else str(value)
    parts = urlsplit(text) if "://" in text else None
    if parts is not None and parts.password is not None:
        return text.replace(f":{parts.password}@", ":***@")
    return text


def _near(name: str, names: set[str]) -> str:
    close = difflib.get_close_matches(name, sorted(names), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def port_in(file: Path) -> int | None:
    """Return the port that a file of a home keeps, None where it keeps none."""
    # A home that was copied or mounted may have anything there: a link, a pipe, bytes that are no text.
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            text = stream.read(_PORT_BYTES_MOST).decode("ascii", "replace").strip()
    except OSError:
        return None
    return int(text) if text.isascii() and text.isdigit() and len(text) < 6 and 0 < int(text) < 65_536 else None


def _variables_in(environment: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the settings among the variables that have a value, and a fault for each unknown one with our prefix."""
    names = set(Settings.model_fields)
    values: dict[str, str] = {}
    faults: list[str] = []
    for variable in sorted(environment):
        if not variable.startswith(PREFIX):
            continue
        name = variable[len(PREFIX) :].lower()
        if name in names:
            if environment[variable] != "":
                values[name] = environment[variable]
                faults += _relative(name, environment[variable], variable) if name == "shared" else ()
        elif name.upper() not in OTHER_VARIABLES:
            faults.append(f"unknown variable {variable}{_near(variable, {PREFIX + n.upper() for n in names})}")
    return values, faults


def _lines_of(path: Path) -> tuple[dict[str, Any], list[str]]:
    """Return the lines of a settings file, none if there is no file, and a fault for each unknown one."""
    names = set(Settings.model_fields)
    lines: dict[str, Any] = {}
    if path.is_file():
        try:
            lines = dict(TomlConfigSettingsSource(Settings, toml_file=path)())
        except ValueError as error:
            return {}, [f"{path} is not valid TOML: {error}"]
    faults = [f"unknown setting {name} in {path}{_near(name, names)}" for name in sorted(lines) if name not in names]
    return lines, faults + [fault for name in sorted(lines) for fault in _relative(name, lines[name], str(path))]


def _relative(name: str, value: Any, source: str) -> Iterator[str]:
    """Yield the fault of a path that means another folder wherever a hub or a command is started."""
    field = Settings.model_fields.get(name)
    is_path = field is not None and Path in (field.annotation, *get_args(field.annotation))
    if is_path and isinstance(value, str) and not Path(value).expanduser().is_absolute():
        yield f"{name} ({source}): {value} depends on the folder in which a hub is started; write the whole path"


def load(
    flags: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    file: Path | None = None,
) -> Loaded:
    """Merge flags, variables, `starloom.toml`, the port that the home keeps, and defaults.

    The file is `file`, or `STARLOOM_CONFIG`, or `starloom.toml` in the home, where it exists.

    Raises:
        SettingsInvalid: naming every unknown or wrong setting and its source.
    """
    env = os.environ if environment is None else environment
    names = set(Settings.model_fields)
    merged: dict[str, Any] = {}
    sources: dict[str, str] = dict.fromkeys(Settings.model_fields, "default")
    variables, faults = _variables_in(env)
    options = {name: value for name, value in (flags or {}).items() if value is not None}
    home = Path(options.get("home") or variables.get("home") or default_home()).expanduser()
    path = file or (Path(env[PREFIX + "CONFIG"]) if env.get(PREFIX + "CONFIG") else home / FILE_NAME)
    if file is not None and not path.is_file():
        faults.append(f"{path} does not exist")
    lines, wrong = _lines_of(path)
    faults += wrong
    port = port_in(home / PORT_FILE)
    home_values = {} if port is None else {"port": port}
    for source, values in ((KEPT, home_values), (str(path), lines), ("variable", variables), ("flag", options)):
        for name, value in values.items():
            if name in names:
                merged[name] = value
                sources[name] = PREFIX + name.upper() if source == "variable" else source
            elif source == "flag":
                faults.append(f"unknown flag {name}{_near(name, names)}")
    try:
        settings = Settings(**merged)
    except ValidationError as error:
        for item in error.errors():
            name = ".".join(str(part) for part in item["loc"])
            where = f"{name} ({sources.get(name.split('.')[0], '')}): " if name else ""
            faults.append(where + item["msg"].removeprefix("Value error, "))
        raise SettingsInvalid(faults) from error
    if faults:
        raise SettingsInvalid(faults)
    return Loaded(settings, sources)
