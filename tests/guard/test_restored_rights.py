"""A restored backup lets nobody back in whom the hub has let go since (T164), by real services and their commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from starloom.client.routes import (
    get_devices,
    get_enrollments,
    get_session,
    post_device_action,
    post_enrollments,
    post_sign_in_links,
    post_tokens,
)
from starloom.process.computers import computer_name
from starloom.store.file_names import DATABASE_FILE
from tests.installation import Installation
from tests.programs import ran_command
from tests.waiting import SLOWER, until

BOUND_S = 120 * SLOWER


class Service(Installation):
    """One installation, its commands, and callers who are not its owner."""

    def starloom(self, *arguments: str) -> str:
        done = ran_command(self.home, *arguments, timeout=BOUND_S)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def sign_in(self, url: str) -> tuple[int, dict[str, str]]:
        """Open a sign-in link as a browser does; return the status and the cookies."""
        identity, _, secret = url.partition("#/sign-in/")[2].partition(".")
        base = f"http://127.0.0.1:{self.port}"
        body = {"id": identity, "secret": secret}
        answer = httpx.post(f"{base}/api/v1/sign-in", json=body, headers={"origin": base})
        return answer.status_code, dict(answer.cookies)

    def may_read(self, token: str = "", cookies: dict[str, str] | None = None) -> bool:
        url = f"http://127.0.0.1:{self.port}/api/v1/session"
        # A cookie is named after the port of its hub, and the restored one has another.
        sent = "; ".join(f"starloom-{self.port}={value}" for value in (cookies or {}).values())
        headers = {"authorization": f"Bearer {token}"} if token else {"cookie": sent}
        return httpx.get(url, headers=headers).status_code == 200

    def device(self) -> dict[str, Any]:
        (found,) = [one for one in self.client.get(get_devices())["items"] if one["name"] == computer_name()]
        return dict(found)


@pytest.fixture
def services() -> Iterator[list[Service]]:
    made: list[Service] = []
    yield made
    for service in made:
        service.close()


class Holders:
    """Those who had rights when the backup was made."""

    def __init__(self, hub: Service) -> None:
        links = post_sign_in_links()
        self.anna = hub.client.create(links, {"for": "anna", "role": "viewer", "ttl_s": 86_400})
        self.later = hub.client.create(links, {"for": "bert", "role": "viewer", "ttl_s": 86_400})
        self.script = hub.client.create(post_tokens(), {"role": "operator", "ttl_s": 86_400, "label": "backups"})
        self.kept = hub.client.create(post_tokens(), {"role": "viewer", "ttl_s": 86_400, "label": "clock"})
        status, self.session = hub.sign_in(self.anna["url"])
        assert status == 200
        assert hub.may_read(cookies=self.session)
        assert hub.may_read(self.script["token"])


def open_codes(hub: Service) -> list[str]:
    return [one["state"] for one in hub.client.get(get_enrollments())["items"] if one["state"] in ("open", "asking")]


def begun(services: list[Service], home: Path) -> tuple[Service, Holders, Path]:
    """Return a hub with holders of rights, and its backup."""
    services.append(hub := Service(home))
    hub.up()
    hub.until_online(computer_name())
    held = Holders(hub)
    archive = home.parent / "night.starloom"
    hub.starloom("backup", str(archive))
    return hub, held, archive


def test_t172_who_was_revoked_since_the_backup_stays_out_twice(services: list[Service], tmp_path: Path) -> None:
    hub, held, archive = begun(services, tmp_path / "home")
    hub.starloom("token", "revoke", held.anna["token"])
    hub.starloom("token", "revoke", held.script["id"])
    assert hub.sign_in(held.later["url"])[0] == 200
    hub.client.post(post_device_action(hub.device()["id"], "revoke"), {"reason": "it was stolen"})
    hub.close()

    first, told = (json.loads(hub.starloom("restore", str(archive), "--replace", "--json")) for _ in range(2))
    assert told["rights"]["ended"] == first["rights"]["ended"], "the second brings back whom the first kept out"
    assert told["rights"]["until"] == str(hub.home)
    names = {(row["what"], row["name"]) for row in told["rights"]["ended"]}
    assert {("session", "anna"), ("invitation", "anna"), ("invitation", "bert"), ("device", computer_name())} <= names
    assert "token" in {what for what, _ in names}
    assert (Path(told["aside"]) / DATABASE_FILE).exists()

    hub.up("--no-agent")
    assert not hub.may_read(cookies=held.session)
    assert not hub.may_read(held.script["token"])
    assert hub.may_read(held.kept["token"])
    assert hub.sign_in(held.later["url"])[0] == 401
    (key,) = (hub.home / "agents").iterdir()
    agent = hub.spawn([sys.executable, "-m", "starloom_agent", "run", "--home", str(key)], "revoked")
    until(lambda: agent.poll() is not None, "the agent is refused for good", BOUND_S)
    assert "revoked" in hub.log("revoked")
    assert (hub.device()["revoked"], hub.device()["link"]) == (True, "offline")
    assert hub.client.get(get_session())["role"] == "owner"
    hub.starloom("audit", "verify")


def test_t164_a_new_machine_takes_no_session_and_names_the_rest(services: list[Service], tmp_path: Path) -> None:
    hub, held, _archive = begun(services, tmp_path / "home")
    hub.client.create(post_enrollments(), {"label": "phone"})
    hub.starloom("schedule", "add", "how are my machines", "--cron", "@daily", "--name", "night")
    assert open_codes(hub)
    hub.starloom("backup", str(tmp_path / "later.starloom"))
    hub.close()
    services.append(other := Service(tmp_path / "other"))
    told = other.starloom("restore", str(tmp_path / "later.starloom"), "--home", str(other.home))
    assert "it is not known who was revoked since the backup" in told
    assert f"token revoke {held.script['id']}" in told
    assert f"device revoke {computer_name()}" in told
    assert "schedule pause night" in told
    assert "anna" not in told

    other.up("--no-agent")
    assert not other.may_read(cookies=held.session)
    assert other.sign_in(held.later["url"])[0] == 401
    assert other.may_read(held.script["token"])
    assert not open_codes(other)
