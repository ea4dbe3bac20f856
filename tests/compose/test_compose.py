"""The compose file holds what it promises: pinned, without rights or default passwords, with settings that exist."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from starloom.process.settings import Settings, load
from tests.compose.file import ROOT, filled, raw, variables
from tests.programs import ran
from tests.waiting import PATIENCE_S

SERVICE_KEYS = {
    "build", "cap_add", "cap_drop", "command", "depends_on", "environment", "healthcheck", "image", "init",
    "network_mode", "ports", "profiles", "read_only", "restart", "security_opt", "stop_grace_period", "tmpfs",
    "user", "volumes",
}  # fmt: skip
HEALTH_KEYS = {"interval", "retries", "start_period", "test", "timeout"}
CAP_NET_BIND_SERVICE = 10
GIVEN = {"STARLOOM_NAME": "star.example", "REDIS_PASSWORD": "r" * 48, "POSTGRES_PASSWORD": "p" * 48}
HUBS = ("hub-a", "hub-b")
FILE_CAPABILITIES = {"caddy": ["NET_BIND_SERVICE"]}
"""Capabilities that the image's program carries as a file, which its bounding set must have."""


def services() -> dict[str, Any]:
    found = raw()["services"]
    assert isinstance(found, dict)
    return found


def test_it_has_the_parts_and_nothing_that_compose_does_not_know() -> None:
    assert {key for key in raw() if not key.startswith("x-")} == {"name", "services", "volumes"}
    assert set(services()) == {"caddy", *HUBS, "worker", "agent", "redis", "postgres"}
    for name, service in services().items():
        assert set(service) <= SERVICE_KEYS, name
        assert set(service.get("healthcheck", {})) <= HEALTH_KEYS, name
        for needed, how in service.get("depends_on", {}).items():
            assert needed in services()
            assert how["condition"] == "service_started" or "healthcheck" in services()[needed], (name, needed)


def test_images_are_pinned_and_nobody_is_root() -> None:
    for name, service in services().items():
        assert re.search(r":(local|\d+\.\d+)", service["image"]), name
        user = service["user"].partition(":")[0]
        assert int(user) > 0, name
        assert service["cap_drop"] == ["ALL"], name
        assert service.get("cap_add", []) == FILE_CAPABILITIES.get(name, []), name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stages = re.findall(r"^FROM (\S+)", dockerfile, re.MULTILINE)
    assert len(stages) == 3
    assert all(re.search(r":\d+\.\d+\.\d+", stage) for stage in stages)
    assert re.findall(r"^USER (\S+)", dockerfile, re.MULTILINE) == ["10001:10001"]


def test_every_volume_is_declared_and_every_declared_one_is_used() -> None:
    named = {
        volume.partition(":")[0]
        for service in services().values()
        for volume in service.get("volumes", [])
        if not volume.startswith(".")
    }
    assert named == set(raw()["volumes"])


def test_there_is_no_password_in_it_and_a_missing_one_says_what_to_run() -> None:
    assert set(variables()) == set(GIVEN)
    assert set(variables().values()) == {"run sh deploy/first-run.sh"}
    for service in services().values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name:
                assert value.startswith("${"), name
    with pytest.raises(KeyError):
        filled(services()["redis"], {})


def test_only_caddy_has_ports_and_the_hubs_listen_on_loopback() -> None:
    assert [name for name, service in services().items() if service.get("ports")] == ["caddy"]
    for name in HUBS:
        assert services()[name]["network_mode"] == "service:caddy"
        assert "STARLOOM_HOST" not in services()[name]["environment"]


@pytest.mark.parametrize("name", HUBS)
def test_a_hubs_environment_is_settings_that_exist(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for key in os.environ:
        if key.startswith("STARLOOM_"):
            monkeypatch.delenv(key)
    for key, value in filled(services()[name]["environment"], GIVEN).items():
        assert key.removeprefix("STARLOOM_").lower() in Settings.model_fields, key
        monkeypatch.setenv(key, value)
    settings = load({"home": tmp_path}).settings
    assert settings.host == "127.0.0.1"
    assert settings.public_url == "https://star.example"
    assert settings.redis_url == f"redis://:{GIVEN['REDIS_PASSWORD']}@redis:6379/0"


def test_the_hubs_differ_in_port_and_home_and_caddy_knows_both() -> None:
    ports = [services()[name]["environment"]["STARLOOM_PORT"] for name in HUBS]
    listeners = ports + [services()[name]["environment"]["STARLOOM_LAN_PORT"] for name in HUBS]
    assert len(set(listeners)) == 4
    caddy = (ROOT / "deploy" / "Caddyfile").read_text(encoding="utf-8")
    assert all(f"127.0.0.1:{port}" in caddy for port in ports)
    assert "health_uri /readyz" in caddy
    assert caddy.count("{") == caddy.count("}")
    homes = {services()[name]["volumes"][0] for name in HUBS}
    assert len(homes) == 2


def test_redis_keeps_what_it_was_told() -> None:
    command = services()["redis"]["command"][-1]
    assert "--appendonly yes" in command
    assert "--maxmemory-policy noeviction" in command
    assert "REDIS_PASSWORD" not in command.partition("exec")[2], "a password must not stand among the arguments"


def test_the_first_run_writes_fresh_passwords_once_and_for_one_reader(tmp_path: Path) -> None:
    script = ROOT / "deploy" / "first-run.sh"

    def run(target: Path, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], "ENV_FILE": str(target)}
        return ran(["sh", str(script), *words], env=environment, timeout=PATIENCE_S)

    one, two = tmp_path / "one", tmp_path / "two"
    assert run(one, "star.example").returncode == run(two).returncode == 0
    read = [dict(line.split("=", 1) for line in path.read_text().splitlines()) for path in (one, two)]
    assert [set(found) for found in read] == [set(GIVEN), set(GIVEN)]
    secrets = [found[name] for found in read for name in ("REDIS_PASSWORD", "POSTGRES_PASSWORD")]
    assert len(set(secrets)) == 4
    assert all(re.fullmatch(r"[0-9a-f]{48}", secret) for secret in secrets)
    assert one.stat().st_mode & 0o077 == 0
    again = run(one)
    assert (again.returncode, "left as it is" in again.stderr) == (1, True)
    assert run(tmp_path / "three", "a b;c").returncode == 2


@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="only Linux's root may give a file rights")
@pytest.mark.parametrize("added", [True, False])
def test_a_program_with_file_rights_needs_them_added(tmp_path: Path, added: bool) -> None:
    """Start a program as Compose starts Caddy: its user, its group, and no capability but the added ones."""
    program = tmp_path / "program"
    shutil.copy("/bin/true", program)
    os.setxattr(program, "security.capability", struct.pack("<5I", 0x02000001, 1 << CAP_NET_BIND_SERVICE, 0, 0, 0))
    caddy = services()["caddy"]
    user, group = caddy["user"].split(":")
    kept = "".join(f",+{name.lower()}" for name in caddy["cap_add"]) if added else ""
    command = ["setpriv", f"--bounding-set=-all{kept}", "--no-new-privs", f"--reuid={user}", f"--regid={group}"]
    argv = [*command, "--clear-groups", "./program"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode == 0) is added, done.stderr
