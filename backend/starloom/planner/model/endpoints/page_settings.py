"""The models that the owner set in the page: a 0600 file beside the hub's data, read at each use.

The hub's own settings win as a whole: if they name an endpoint, nothing of this is used, and if they name the model of
a role, nothing of that role, so that a key kept here never goes to an address that was set elsewhere. A key is kept in
a file of its own and never shown again.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from starloom.planner.model.endpoints.endpoint import OTHER_ROLES, PREFIX, RECORDED_SCHEME, ModelRole, role_variables
from starloom.planner.model.port import ModelFault
from starloom.process.private_files import write_private
from starloom_protocol.vocabulary import Code, Sharing

URL: Final = "STARLOOM_LLM_URL"
FILE: Final = "model.json"
_LIMITS: Final = (
    "BUDGET_PER_DAY",
    "OUTPUT_TOKENS",
    "SHARE",
    "TIMEOUT_S",
    "TOKENS_PER_CONSTELLATION",
    "TOKENS_PER_DAY",
)


class PageRoleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model of one role beside the planner's. An empty `url` is the planner's address, with the planner's key."""

    model: str
    key_file: str = ""
    url: str = ""
    wire: str = ""


class PageModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settings made in the page; `key_file` is a name in the same folder, empty if there is no key.

    Of `roles` the keys are those of `ModelRole`.
    """

    url: str
    model: str
    wire: str = ""
    key_file: str = ""
    dollars_per_day: float | None = None
    share: Sharing = Sharing.CARDS
    tokens_per_day: int | None = None
    roles: dict[ModelRole, PageRoleSettings] = {}

    @property
    def key_files(self) -> set[str]:
        """The names of all kept keys."""
        return {name for name in (self.key_file, *(one.key_file for one in self.roles.values())) if name}


def folder_of(environment: Mapping[str, str]) -> Path | None:
    """Return the folder by a worker's variables, or None if they name no home."""
    home = environment.get("STARLOOM_SHARED") or environment.get("STARLOOM_HOME")
    return Path(home).expanduser() / "model" if home else None


def kept_in(folder: Path) -> PageModelSettings | None:
    """Return the kept settings, or None.

    Raises:
        ModelFault: the file cannot be read.
    """
    try:
        return msgspec.json.decode((folder / FILE).read_bytes(), type=PageModelSettings)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise ModelFault(Code.MODEL_NOT_SET, f"what the page has set cannot be read: {error}") from error


def in_force(environment: Mapping[str, str], folder: Path | None) -> Mapping[str, str]:
    """Return the variables in force: the given ones if they name an endpoint, else those of the page.

    A given budget, given limits of a call and given other roles apply beside the page's model, too.

    Raises:
        ModelFault: the kept settings cannot be read.
    """
    if environment.get(URL, "").strip() or folder is None:
        return environment
    settings = kept_in(folder)
    if settings is None:
        return environment
    role_settings = role_variables(environment)
    page_roles = {role: one for role, one in settings.roles.items() if role not in given_roles(environment)}
    return {
        **variables(msgspec.structs.replace(settings, roles=page_roles), folder),
        **_limits(environment),
        **role_settings,
    }


def given_roles(environment: Mapping[str, str]) -> list[ModelRole]:
    """Return the roles of which the hub's own settings name anything."""
    names = role_variables(environment)
    return [role for role in OTHER_ROLES if any(name.startswith(f"{PREFIX}{role.upper()}_") for name in names)]


def variables(settings: PageModelSettings, folder: Path) -> dict[str, str]:
    """Return the kept settings as the variables that `endpoint` and `spending` read.

    Raises:
        ModelFault: they name a file of the hub's machine; only the hub's own settings may.
    """
    urls = [settings.url, *(one.url for one in settings.roles.values())]
    if any(url.strip().lower().startswith(RECORDED_SCHEME) for url in urls):
        reason = (
            f"a recording is a file of the hub's machine and is set by {URL} alone; the page takes http(s) addresses"
        )
        raise ModelFault(Code.MODEL_NOT_SET, reason)
    values = {
        **_endpoint(settings, folder),
        "BUDGET_PER_DAY": "" if settings.dollars_per_day is None else str(settings.dollars_per_day),
        "SHARE": settings.share.value,
        "TOKENS_PER_DAY": "" if settings.tokens_per_day is None else str(settings.tokens_per_day),
    }
    for role, one in settings.roles.items():
        values |= {f"{role.upper()}_{name}": value for name, value in _endpoint(one, folder).items()}
    return {PREFIX + name: value for name, value in values.items() if value}


def _endpoint(one: PageModelSettings | PageRoleSettings, folder: Path) -> dict[str, str]:
    key_file = str(folder / one.key_file) if one.key_file else ""
    return {"URL": one.url, "MODEL": one.model, "WIRE": one.wire, "KEY_FILE": key_file}


def _limits(environment: Mapping[str, str]) -> dict[str, str]:
    names = [PREFIX + name for name in _LIMITS]
    return {name: environment[name] for name in names if environment.get(name)}


@contextlib.contextmanager
def _locked(folder: Path, lock: int) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, lock)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _changing(folder: Path) -> Iterator[None]:
    """Hold the folder from the reading of its file to the writing: of two changes at once, one waits for the other."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(folder, fcntl.LOCK_EX):
        yield


@contextlib.contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Hold changes back while the file and the keys that it names are read."""
    with _locked(folder, fcntl.LOCK_SH) if folder.exists() else contextlib.nullcontext():
        yield


@contextlib.contextmanager
def tried(folder: Path, settings: PageModelSettings, key: str | None) -> Iterator[PageModelSettings]:
    """Give what would be kept, its key in a file of its own; the file goes afterwards unless `keep` took it.

    `key` None: the key that is kept for exactly this address, if any; "": none. The models of other roles stay.
    """
    with _changing(folder):
        before = kept_in(folder)
        with _key_file(folder, before, settings.url, key) as name:
            roles = before.roles if before is not None else {}
            yield msgspec.structs.replace(settings, key_file=name, roles=roles)


@contextlib.contextmanager
def tried_role(
    folder: Path, role: ModelRole, settings: PageRoleSettings, key: str | None
) -> Iterator[PageModelSettings]:
    """Give what would be kept with this model for a role, as `tried` does for the planner's.

    Raises:
        ModelFault: the page has set no model yet.
    """
    with _changing(folder):
        before = kept_in(folder)
        if before is None:
            raise ModelFault(Code.MODEL_NOT_SET, "no model is set for plans yet; set that one first")
        with _key_file(folder, before.roles.get(role), settings.url, key) as name:
            roles = {**before.roles, role: msgspec.structs.replace(settings, key_file=name)}
            yield msgspec.structs.replace(before, roles=roles)


@contextlib.contextmanager
def _key_file(
    folder: Path, before: PageModelSettings | PageRoleSettings | None, url: str, key: str | None
) -> Iterator[str]:
    """Give the name of the file with a key, empty without one; a new file goes afterwards unless it is named now."""
    if not key:
        stays = key is None and before is not None and before.url == url
        yield before.key_file if before is not None and stays else ""
        return
    name = f"{secrets.token_hex(8)}.key"
    _write(folder / name, key.encode())
    try:
        yield name
    finally:
        now = kept_in(folder)
        if now is None or name not in now.key_files:
            (folder / name).unlink(missing_ok=True)


def keep(folder: Path, settings: PageModelSettings) -> None:
    """Put in force, in one step, what `tried` gave and still holds; keys that nothing names go."""
    _write(folder / FILE, msgspec.json.encode(settings))
    _tidy(folder, settings.key_files)


def forget(folder: Path) -> None:
    """Forget the models of the page and their keys."""
    with _changing(folder):
        (folder / FILE).unlink(missing_ok=True)
        _tidy(folder, ())


def forget_role(folder: Path, role: ModelRole) -> None:
    """Forget the model that a role was given in the page, and its key.

    Raises:
        ModelFault: the kept settings cannot be read.
    """
    with _changing(folder):
        before = kept_in(folder)
        if before is not None and role in before.roles:
            left = {other: one for other, one in before.roles.items() if other is not role}
            keep(folder, msgspec.structs.replace(before, roles=left))


def _tidy(folder: Path, but: Collection[str]) -> None:
    for path in folder.glob("*.key"):
        if path.name not in but:
            path.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    write_private(path, data)
