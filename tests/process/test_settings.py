"""Settings: which source wins, what is unknown or wrong, and what a hub may listen on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from starloom.process.settings import KEPT, PORT_FILE, SettingsInvalid, load


def test_a_flag_wins_over_a_variable_over_the_file_over_the_default(tmp_path: Path) -> None:
    (tmp_path / "starloom.toml").write_text('port = 1001\nlog_level = "debug"\nlease_ttl_s = 3.5\n')
    env = {"STARLOOM_HOME": str(tmp_path), "STARLOOM_PORT": "1002", "STARLOOM_LOG_LEVEL": "error", "HOME": "/x"}
    loaded = load({"port": 1003, "host": None}, environment=env)
    assert (loaded.settings.port, loaded.settings.log_level, loaded.settings.lease_ttl_s) == (1003, "error", 3.5)
    sources = loaded.sources
    assert sources["port"] == "flag"
    assert sources["log_level"] == "STARLOOM_LOG_LEVEL"
    assert sources["lease_ttl_s"] == str(tmp_path / "starloom.toml")
    assert sources["host"] == "default"


@pytest.mark.parametrize("name", ["STARLOOM_HOME", "STARLOOM_SHARED"])
def test_a_folder_that_is_no_text_here_names_the_way_out(name: str, tmp_path: Path) -> None:
    folder = os.fsdecode(bytes(tmp_path) + b"/J\xfcrgen")
    with pytest.raises(SettingsInvalid) as refused:
        load(environment={"STARLOOM_HOME": str(tmp_path), name: folder})
    (said,) = refused.value.faults
    assert f"({name}): the folder " in said
    assert r"J\udcfcrgen" in said
    assert "PYTHONUTF8=1" in said
    assert load(environment={"STARLOOM_HOME": str(tmp_path / "Jürgen")}).settings.home == tmp_path / "Jürgen"


def test_the_port_of_the_last_start_counts_where_no_other_is_named(tmp_path: Path) -> None:
    env = {"STARLOOM_HOME": str(tmp_path), "HOME": "/x"}
    (tmp_path / PORT_FILE).write_text("8733\n")
    loaded = load(environment=env)
    assert (loaded.settings.port, loaded.sources["port"]) == (8733, KEPT)
    (tmp_path / "starloom.toml").write_text("port = 1001\n")
    assert load(environment=env).settings.port == 1001
    (tmp_path / "starloom.toml").unlink()
    for text in ("", "x", "0", "70000", "-1", "8" * 5_000, "\u0663"):
        (tmp_path / PORT_FILE).write_text(text)
        assert load(environment=env).sources["port"] == "default"


def test_unknown_names_are_errors_with_a_guess_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "starloom.toml").write_text("prot = 1\n")
    env = {"STARLOOM_HOME": str(tmp_path), "STARLOOM_PROT": "1", "STARLOOM_TOKEN": "t", "STARLOOM_URL": "u"}
    with pytest.raises(SettingsInvalid) as caught:
        load(environment=env)
    assert len(caught.value.faults) == 2
    assert "STARLOOM_PROT; did you mean STARLOOM_PORT?" in caught.value.faults[0]
    assert "unknown setting prot" in caught.value.faults[1]


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"STARLOOM_PORT": "x"}, "port (STARLOOM_PORT)"),
        ({"STARLOOM_HOST": "0.0.0.0"}, "a wildcard is never bound"),
        ({"STARLOOM_HOST": "192.168.1.9"}, "tls_cert and tls_key are needed"),
        ({"STARLOOM_TLS_CERT": "/c.pem"}, "given together"),
        ({"STARLOOM_PUBLIC_URL": "star.example"}, "public_url"),
        ({"STARLOOM_PUBLIC_URL": "https://star.example/path"}, "without a path"),
        ({"STARLOOM_TRUSTED_PROXIES": "10.0.0.0/8,nonsense"}, "trusted_proxies"),
        ({"STARLOOM_TIME_SCALE": "0"}, "time_scale"),
        ({"STARLOOM_REDIS_URL": "rediss://h/0?ssl_cert_reqs=none"}, "takes no ssl_cert_reqs"),
        ({"STARLOOM_REDIS_URL": "http://x"}, "redis_url (STARLOOM_REDIS_URL): must be redis://HOST"),
        ({"STARLOOM_REDIS_URL": "redis://:pw#1@h/0"}, "must be redis://HOST"),
        ({"STARLOOM_REDIS_URL": "redis://h:x/0"}, "must be redis://HOST"),
        ({"STARLOOM_REDIS_URL": "redis://h/shop"}, "must be redis://HOST"),
        ({"STARLOOM_REDIS_URL": "unix://"}, "must be redis://HOST"),
        ({"STARLOOM_DATABASE_URL": "mysql://x"}, "database_url (STARLOOM_DATABASE_URL): must be postgresql://"),
        ({"STARLOOM_DATABASE_URL": "hub"}, "must be postgresql://"),
        ({"STARLOOM_DATABASE_URL": "sqlite:///hub.db"}, "the whole path"),
        ({"STARLOOM_SHARED": "relative/x"}, "shared (STARLOOM_SHARED): relative/x depends on the folder"),
    ],
)
def test_wrong_values_say_where_they_came_from(tmp_path: Path, env: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        load({"home": tmp_path}, environment=env)
    assert said in "; ".join(caught.value.faults)


def test_a_file_that_was_named_must_be_there_and_be_toml(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="does not exist"):
        load(environment={}, file=tmp_path / "none.toml")
    broken = tmp_path / "b.toml"
    broken.write_text("port = = 1")
    with pytest.raises(SettingsInvalid, match="not valid TOML"):
        load(environment={"STARLOOM_CONFIG": str(broken)})


def test_a_path_in_a_file_is_whole(tmp_path: Path) -> None:
    (tmp_path / "starloom.toml").write_text('shared = "relative/x"\nllm_key_file = "k"\nwheels = "~/wheels"\n')
    with pytest.raises(SettingsInvalid) as caught:
        load({"home": tmp_path}, environment={})
    assert [fault.partition(" ")[0] for fault in caught.value.faults] == ["llm_key_file", "shared"]


def test_addresses_of_a_database_and_a_redis_are_taken(tmp_path: Path) -> None:
    for redis in ("redis://h", "rediss://u:p@h:1/3", "unix:///run/r.sock?db=2", "unix://:pw@/run/r.sock"):
        assert load({"home": tmp_path, "redis_url": redis}, environment={}).settings.redis_url == redis
    for url in ("postgresql://u:p/w#@h/db", "postgres://h/db", "postgresql+asyncpg://h/db", "sqlite:////srv/h.db"):
        assert load({"home": tmp_path, "database_url": url}, environment={}).settings.database_url == url


def test_shown_settings_hide_passwords(tmp_path: Path) -> None:
    loaded = load({"home": tmp_path, "database_url": "postgresql://ann:hunter2@db/star"}, environment={})
    rows = {name: (value, source) for name, value, source in loaded.rows()}
    assert rows["database_url"] == ("postgresql://ann:***@db/star", "flag")
    assert rows["redis_url"] == ("-", "default")


def test_scale_divides_leases_and_graces(tmp_path: Path) -> None:
    settings = load({"home": tmp_path, "time_scale": 10}, environment={}).settings
    assert (settings.scaled_lease_ttl_s, settings.scaled_lease_grace_s, settings.scaled_alive_interval_s) == (
        1.5,
        0.5,
        0.5,
    )


def test_addresses(tmp_path: Path) -> None:
    settings = load({"home": tmp_path, "public_url": "https://star.example/"}, environment={}).settings
    assert (settings.url, settings.outside_url) == ("http://127.0.0.1:8470", "https://star.example")
    six = load({"home": tmp_path, "host": "::1"}, environment={}).settings
    assert six.url == "http://[::1]:8470"
