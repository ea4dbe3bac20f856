"""`starloom doctor`: examines this machine and the hub, and reports each fault with its remedy. Changes nothing."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starloom.client.discovery import HubAddress, find
from starloom.client.problems import Problem
from starloom.client.rest import Client
from starloom.client.routes import get_devices, get_model
from starloom.host import ports
from starloom.host.examination import model_servers
from starloom.host.former_port import former_port
from starloom.host.servers import tunnels
from starloom.host.supervisor import home_of, home_of_the_hub
from starloom.planner.model.endpoints.endpoint import ModelRole, others_from
from starloom.planner.model.endpoints.page_settings import in_force
from starloom.planner.model.port import ModelFault
from starloom.planner.model.transport.connecting import unusable
from starloom.process.descriptors import DESCRIPTORS_MOST, REQUEST_DESCRIPTORS, descriptors_allowed, requests_most
from starloom.process.program import UPGRADE
from starloom.process.settings import FILE_NAME, Settings, SettingsInvalid, load
from starloom.store.file_names import DATABASE_FILE
from starloom.store.port import Corrupt, HistorySize, Unavailable
from starloom.store.redis.embedded import find_server
from starloom.store.redis.link import REDIS_LOOK_S, look_at, place_of
from starloom.store.sql.database import Database, newest_revision, open_database, schema_of
from starloom.store.sql.pruning import read_history_size
from starloom_protocol.api.fleet import DeviceRow
from starloom_protocol.api.models import ModelState
from starloom_protocol.text.wording import clock_sentence, size_words
from starloom_protocol.vocabulary import CODES, Code, DeviceLink

DISK_LOW_BYTES = 500 * 1000 * 1000
PAGES_WITHIN_S = 10.0
RESTART = "Start the hub again where they are set, or set the model in Settings > Model."
SOCKETS_LEAST = 500
"""Below this a hub of a household or a small team could run short; the usual hard limit allows thousands."""


_FAULTS_BY_BRANCH: dict[tuple[int, ...], tuple[tuple[int, str], ...]] = {
    branch: (
        (patch, "a long cookie takes it quadratic time (CVE-2024-7592; the hub reads cookies itself)"),
        (patch, "a crafted archive takes it quadratic time (CVE-2024-6232; the agent bounds heads of archives)"),
    )
    for branch, patch in (((3, 11), 10), ((3, 12), 6))
}
"""For each branch the first release without a fault; branches that began later never had them.

`tarfile` below 3.11.4 has no filters: nothing here extracts by it.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    subject: str
    good: bool
    words: str
    fix: str = ""

    def line(self) -> str:
        fix = f"\n    the way out: {self.fix}" if self.fix and not self.good else ""
        return f"{'ok  ' if self.good else 'FAIL'}  {self.subject}: {self.words}{fix}"

    def document(self) -> dict[str, Any]:
        return {"subject": self.subject, "good": self.good, "told": self.words, "fix": self.fix}


def examine(hub: str | None, home: Path | None, *, whole: bool = False) -> list[Finding]:
    """Return all findings, the machine's first; `whole`: every page of the history, however long it takes."""
    findings = [_python()]
    home = home or home_of_the_hub(hub)
    try:
        settings = load({"home": home} if home is not None else {}).settings
    except SettingsInvalid as invalid:
        findings.extend(
            Finding("settings", False, fault, "Correct the named variable or line.") for fault in invalid.faults
        )
        settings = None
    if settings is not None:
        findings.append(Finding("settings", True, "valid (see `starloom config show`)"))
        findings.extend(look(settings) for look in (_home, _disk))
        findings.append(_open_files())
        findings.append(_history(settings, None if whole else PAGES_WITHIN_S))
        findings.extend(look(settings) for look in (_redis, _page))
        findings.append(_model(settings, model_of_the_hub(hub)))
    return findings + _hub(hub, settings)


def model_of_the_hub(hub: str | None) -> ModelState | None:
    """Return what the hub says of its model; None where no hub answers, or this caller may not see it."""
    try:
        client = Client(find(hub))
    except Problem:
        return None
    try:
        return client.get(get_model())
    except Problem:
        return None
    finally:
        client.close()


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    faults = known_faults(sys.version_info[:3])
    if faults:
        # A remark and no failure: Starloom guards itself, and a distribution may have mended it under the same number.
        patch = max(patch for patch, _ in _FAULTS_BY_BRANCH[sys.version_info[:2]])
        version += f", whose standard library has known faults: {'; '.join(faults)}. "
        version += f"{sys.version_info[0]}.{sys.version_info[1]}.{patch} is the first without them"
    return Finding("Python", sys.version_info >= (3, 11), version, "Install Python 3.11 or newer.")


def known_faults(version: tuple[int, int, int]) -> list[str]:
    """Return the faults of the standard library of a Python that touch Starloom."""
    return [fault for patch, fault in _FAULTS_BY_BRANCH.get(version[:2], ()) if version[2] < patch]


def _home(settings: Settings) -> Finding:
    home = settings.home
    if not home.exists():
        return Finding("data folder", True, f"{home} does not exist yet; `starloom up` makes it")
    mode = home.stat().st_mode & 0o777
    if mode & 0o077:
        return Finding("data folder", False, f"{home} is open to others ({mode:o})", f"chmod 700 {home}")
    return Finding("data folder", True, str(home))


def _disk(settings: Settings) -> Finding:
    place = settings.home
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    words = f"{size_words(free)} free at {place}"
    return Finding("disk", free >= DISK_LOW_BYTES, words, "Free some space; history and artifacts need it.")


def _open_files() -> Finding:
    """Report how many devices and pages a hub could hold at once, by the limit of open files for a process."""
    sockets = requests_most(descriptors_allowed()) * REQUEST_DESCRIPTORS
    words = f"enough for {sockets:,} devices and pages at once"
    fix = f"For more raise the hard limit: LimitNOFILE={DESCRIPTORS_MOST} in the hub's unit, or `ulimit -Hn` as root."
    return Finding("open files", sockets >= SOCKETS_LEAST, words, fix)


def _history(settings: Settings, within_s: float | None) -> Finding:
    file = settings.home / DATABASE_FILE
    if settings.database_url is None and not file.exists():
        return Finding("history", True, "none yet; `starloom up` makes it")
    database = open_database(settings.database_url or f"sqlite:///{file}", read_only=True)
    try:
        schema, all_pages, size = asyncio.run(_state_of(database, within_s))
    except Corrupt as error:
        return Finding("history", False, str(error), CODES[error.code].hint)
    except Unavailable as error:
        return Finding("history", False, str(error), "Do as it says, or see docs/backup.md.")
    words = f"schema {schema or 'none'}" + ", brought up to date at the next start" * (schema != newest_revision())
    if size is not None:
        words += f"; {_size_of_history(size)}; {_retention(settings)}"
    if not all_pages:
        words += f"; its pages were checked for {within_s:g} s, `starloom doctor --whole` checks all of them"
    return Finding("history", True, words)


async def _state_of(database: Database, within_s: float | None) -> tuple[str | None, bool, HistorySize | None]:
    """Return the schema, whether every page was checked, and the size of a history of this version."""
    try:
        all_pages = await database.check(within_s)
        schema = await database.read(schema_of)
        return schema, all_pages, await database.read(read_history_size) if schema == newest_revision() else None
    finally:
        await database.close()


def _size_of_history(size: HistorySize) -> str:
    words = f"{size_words(size.bytes)} in {size.constellations} constellations"
    if size.oldest_ms:
        words += f" since {_date(size.oldest_ms)}"
    if size.pruned_ms:
        words += f", {size.pruned} more pruned until {_date(size.pruned_ms)}"
    return words


def _date(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")


def _retention(settings: Settings) -> str:
    rules = []
    if settings.history_keep_days is not None:
        rules.append(f"what ended more than {settings.history_keep_days:g} days ago goes")
    if settings.history_keep_mb is not None:
        least = settings.history_keep_least_days
        rules.append(f"above {settings.history_keep_mb} MB the oldest goes that ended more than {least:g} days ago")
    if not rules:
        return "nothing is pruned (history_keep_days, history_keep_mb)"
    return f"{' and '.join(rules)}, looked at every {settings.history_prune_every_s:g} s"


def _redis(settings: Settings) -> Finding:
    if settings.redis_url is not None:
        return _own_redis(settings.redis_url)
    try:
        return Finding("Redis", True, f"embedded, {find_server().name}")
    except Unavailable as error:
        return Finding("Redis", False, str(error), "Set STARLOOM_REDIS_URL to a Redis of your own.")


def _own_redis(url: str) -> Finding:
    words = f"your own (STARLOOM_REDIS_URL), at {place_of(url)}"
    try:
        faults = asyncio.run(look_at(url, REDIS_LOOK_S))
    except Unavailable as error:
        return Finding("Redis", False, str(error), "Start it, or correct redis_url (STARLOOM_REDIS_URL).")
    if faults:
        return Finding("Redis", False, f"{words}: {'; '.join(faults)}", "Change that in its configuration.")
    return Finding("Redis", True, f"{words}, answers")


def _page(settings: Settings) -> Finding:
    checkout = Path(__file__).resolve().parents[4] / "frontend"
    built = [settings.web, checkout / "dist", Path(__file__).resolve().parents[2] / "_web"]
    for folder in built:
        if folder is not None and (folder / "index.html").exists():
            return Finding("page", True, f"built, in {folder}")
    return Finding(
        "page", False, "not built; API and command line work without it", "make run builds it (see its words)"
    )


def _model(settings: Settings, of_the_hub: ModelState | None = None) -> Finding:
    """Report the model that the hub uses; without a hub, the one that is set here.

    The hub may have been started with variables that this terminal does not have.
    """
    if of_the_hub is not None and (of_the_hub["set"] or "fault" in of_the_hub):
        return _model_of_hub(of_the_hub)
    try:
        variables = in_force(settings.llm_variables, settings.model_folder)
    except ModelFault as error:
        return Finding("model", False, error.fault.reason, error.fault.hint or "")
    if not variables.get("STARLOOM_LLM_URL"):
        return _none_set(settings)
    finding = _set_model(variables)
    if of_the_hub is not None:
        return replace(finding, good=False, words=f"the hub uses none; set here: {finding.words}", fix=RESTART)
    return finding


def _model_of_hub(state: ModelState) -> Finding:
    """Report the model of each role and tier by what the hub says, and why it could not be asked."""
    fault = state.get("fault")
    if not state["set"]:
        return (
            Finding("model", False, fault["reason"], fault["hint"]) if fault else Finding("model", True, "none is set")
        )
    planner = f"{state['model']} at {state['host']}"
    others = {row["role"]: f"{row['model']} at {row['host']}" for row in state.get("others", ())}
    worker, small = others.pop(ModelRole.WORKER, planner), others.pop(ModelRole.SMALL, "")
    words = f"the hub uses {planner}; goals: {f'{small} first, then {worker}' if small else worker}"
    words += "".join(f"; {role}: {model}" for role, model in others.items())
    if fault:
        return Finding("model", False, f"{words}. It cannot be asked: {fault['reason']}", fault["hint"])
    return Finding("model", True, f"{words} (`starloom doctor model` says what it can be used for)")


def _none_set(settings: Settings) -> Finding:
    servers = model_servers.look()
    if not servers:
        return Finding("model", True, "none is set; recipes, rows and `starloom brief` need none")
    words = "none is set; " + "; ".join(server.words for server in servers)
    lines = next((server.lines() for server in servers if server.models), [])
    if lines:
        words += f"\n    to use it, in {settings.home / FILE_NAME}: " + "".join(f"\n      {line}" for line in lines)
    return Finding("model", True, words)


def _set_model(variables: Mapping[str, str]) -> Finding:
    words = f"{variables.get('STARLOOM_LLM_MODEL') or 'no model named'} at {variables['STARLOOM_LLM_URL']}"
    try:
        others = others_from(variables)
    except ModelFault as error:
        return Finding("model", False, f"{words}: {error.fault.reason}", error.fault.hint or "")
    words += "".join(f"; {role}: {endpoint.model} at {endpoint.host}" for role, endpoint in others.items())
    if (fault := unusable(variables, None)) is not None:
        return Finding("model", False, f"{words}. It cannot be asked: {fault.reason}", fault.hint or "")
    return Finding("model", True, f"{words} (`starloom doctor model` says what it can be used for)")


def _hub(hub: str | None, settings: Settings | None) -> list[Finding]:
    try:
        address = find(hub)
    except Problem as problem:
        findings = [Finding("hub", False, problem.reason, problem.hint)]
        if settings is not None and not ports.is_free(settings.host, settings.port):
            words = f"{settings.port} is used by {ports.owner(settings.port)}, which is no hub that could be found"
            findings.append(Finding("port", False, words, "Stop it, or set STARLOOM_PORT."))
        return findings
    client = Client(address)
    try:
        return _ask(client, address)
    finally:
        client.close()


def _ask(client: Client, address: HubAddress) -> list[Finding]:
    findings = []
    try:
        status, answer = client.outside("/readyz")
        words = f"{address.url} (from {address.source})"
        if status != 200:
            words += f" is not ready: {_waits(answer)}"
        findings.append(Finding("hub", status == 200, words, "See logs/hub.log in the data folder."))
        findings.append(_wheels(client))
        devices = client.get(get_devices())["items"]
    except Problem as problem:
        findings.append(Finding("hub", False, str(problem), problem.hint))
        return findings
    online = [item["name"] for item in devices if item["link"] == "online"]
    offline = [item["name"] for item in devices if item["link"] != "online" and not item.get("revoked")]
    words = f"{len(online)} online" + (f", away: {', '.join(offline)}" if offline else "")
    findings.append(Finding("devices", bool(online), words, "Add one: starloom enroll; or start its agent."))
    findings.extend(_tunnels(address, offline))
    findings.extend(_former_port(address, devices))
    findings.extend(_refused_agents(devices))
    findings.extend(_wrong_clocks(devices))
    lacking = [f"{item['name']}: {item['profile']}" for item in devices if item["link"] == "online"]
    old = [f"{item['name']} {item['version']}" for item in devices if item.get("older_than") and not item["revoked"]]
    if old:
        findings.append(Finding("agents", True, f"older than this hub: {', '.join(old)}. Type there: {UPGRADE}"))
    if lacking:
        findings.append(Finding("profiles", True, ", ".join(lacking)))
    return findings


def _tunnels(address: HubAddress, offline: Sequence[str]) -> Iterator[Finding]:
    """Report the kept tunnels that are down, and the agents behind open ones, of devices that are away."""
    home = home_of(address)
    for name, (fault, way) in tunnels.troubles(home).items() if home is not None else ():
        if name in offline:
            yield Finding("tunnel", False, f"{name}: {fault}", way)


def _wrong_clocks(devices: Sequence[DeviceRow]) -> Iterator[Finding]:
    """Report the connected devices whose clock is off; if those are most, the hub's own may be the wrong one."""
    online = [item for item in devices if item["link"] == "online"]
    wrong = [f"{item['name']} {words}" for item in online if (words := clock_sentence(item.get("condition", {})))]
    if wrong:
        most = 2 * len(wrong) > len(online) > 1
        where = "of this hub's computer, as most devices differ from it" if most else "there"
        yield Finding("clocks", False, "; ".join(wrong), f"Set the clock {where} (Linux: timedatectl set-ntp true).")


def _refused_agents(devices: Sequence[DeviceRow]) -> Iterator[Finding]:
    """Report the agents that share no version of the protocol with the hub."""
    for code in (Code.AGENT_TOO_OLD, Code.HUB_TOO_OLD):
        names = [item["name"] for item in devices if _is_refused(item, code)]
        if names:
            yield Finding("agents", False, f"{CODES[code].title}: {', '.join(names)}", CODES[code].hint)


def _is_refused(item: DeviceRow, code: Code) -> bool:
    return item.get("refused") == code and item["link"] == DeviceLink.OFFLINE and not item["revoked"]


def _former_port(address: HubAddress, devices: Sequence[DeviceRow]) -> Iterator[Finding]:
    """Report the devices that may look for the hub at the port that it had before."""
    home = home_of(address)
    former = former_port(home, urlsplit(address.url).port or 0) if home is not None else None
    fault_and_way = former.warning(devices) if former is not None else None
    if fault_and_way is not None:
        yield Finding("port", False, *fault_and_way)


def _waits(answer: object) -> object:
    """Return the part that a hub waits for while it is not ready; the answer of another server has none."""
    if not isinstance(answer, dict):
        return answer
    waits = answer.get("waits_for")
    return "; ".join(map(str, waits)) if isinstance(waits, list) else answer.get("reason")


def _wheels(client: Client) -> Finding:
    """Report whether another machine can join: the hub must have the agent that a join line installs."""
    status, answer = client.outside("/agent/wheels.json")
    if status == HTTPStatus.OK:
        return Finding("agent to hand out", True, ", ".join(f"{item['name']} {item['version']}" for item in answer))
    problem = answer if isinstance(answer, dict) else {}
    return Finding(
        "agent to hand out", False, str(problem.get("reason") or f"HTTP {status}"), str(problem.get("hint") or "")
    )
