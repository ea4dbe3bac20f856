"""The model that the owner set in the page: a 0600 file beside the hub's data, read at each use.

The hub's own settings win as a whole: if they name an endpoint, nothing of this is used, so that a key kept here never
goes to an address that was set elsewhere. A key is kept in a file of its own and never shown again.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from starloom.planner.model.endpoints.endpoint import RECORDED_SCHEME, role_variables
from starloom.planner.model.port import ModelFault
from starloom_protocol.vocabulary import Code, Sharing

URL: Final = "STARLOOM_LLM_URL"
FILE: Final = "model.json"
_PREFIX: Final = "STARLOOM_LLM_"
_LIMITS: Final = (
    "BUDGET_PER_DAY",
    "OUTPUT_TOKENS",
    "SHARE",
    "TIMEOUT_S",
    "TOKENS_PER_CONSTELLATION",
    "TOKENS_PER_DAY",
)


class PageModelSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings made in the page; `key_file` is a name in the same folder, empty if there is no key."""

    url: str
    model: str
    wire: str = ""
    key_file: str = ""
    dollars_per_day: float | None = None
    share: Sharing = Sharing.CARDS
    tokens_per_day: int | None = None


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
    kept = kept_in(folder)
    return (
        environment
        if kept is None
        else {**variables(kept, folder), **_limits(environment), **role_variables(environment)}
    )


def variables(kept: PageModelSettings, folder: Path) -> dict[str, str]:
    """Return the kept settings as the variables that `endpoint` and `spending` read.

    Raises:
        ModelFault: they name a file of the hub's machine; only the hub's own settings may.
    """
    if kept.url.strip().lower().startswith(RECORDED_SCHEME):
        reason = (
            f"a recording is a file of the hub's machine and is set by {URL} alone; the page takes http(s) addresses"
        )
        raise ModelFault(Code.MODEL_NOT_SET, reason)
    told = {
        "URL": kept.url,
        "MODEL": kept.model,
        "WIRE": kept.wire,
        "KEY_FILE": str(folder / kept.key_file) if kept.key_file else "",
        "BUDGET_PER_DAY": "" if kept.dollars_per_day is None else str(kept.dollars_per_day),
        "SHARE": kept.share.value,
        "TOKENS_PER_DAY": "" if kept.tokens_per_day is None else str(kept.tokens_per_day),
    }
    return {_PREFIX + name: value for name, value in told.items() if value}


def _limits(environment: Mapping[str, str]) -> dict[str, str]:
    names = [_PREFIX + name for name in _LIMITS]
    return {name: environment[name] for name in names if environment.get(name)}


@contextlib.contextmanager
def tried(folder: Path, wanted: PageModelSettings, key: str | None) -> Iterator[PageModelSettings]:
    """Give what would be kept, its key in a file of its own; the file goes afterwards unless `keep` took it.

    `key` None: the key that is kept for exactly this address, if any; "": none.
    """
    before = kept_in(folder)
    if key is None:
        same = before is not None and before.url == wanted.url
        yield msgspec.structs.replace(wanted, key_file=before.key_file if before is not None and same else "")
        return
    if not key:
        yield msgspec.structs.replace(wanted, key_file="")
        return
    name = f"{secrets.token_hex(8)}.key"
    _write(folder / name, key.encode())
    try:
        yield msgspec.structs.replace(wanted, key_file=name)
    finally:
        now = kept_in(folder)
        if now is None or now.key_file != name:
            (folder / name).unlink(missing_ok=True)


def keep(folder: Path, kept: PageModelSettings) -> None:
    """Put it in force in one step; keys that nothing names go."""
    _write(folder / FILE, msgspec.json.encode(kept))
    _tidy(folder, kept.key_file)


def forget(folder: Path) -> None:
    """Forget the model of the page and its key."""
    (folder / FILE).unlink(missing_ok=True)
    _tidy(folder, "")


def _tidy(folder: Path, but: str) -> None:
    for path in folder.glob("*.key"):
        if path.name != but:
            path.unlink(missing_ok=True)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
