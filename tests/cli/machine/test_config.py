"""`starloom config show`: the settings in force of the hub that is found from here, each with its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from starloom.cli.commands import build
from starloom.client.discovery import LOCAL_FILE


def test_the_port_is_that_of_the_hub_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path))
    file = tmp_path / LOCAL_FILE
    file.parent.mkdir(parents=True)
    tunnel = {"pin": "x", "socket": "/none"}
    said = {"pid": 1, "socket": "/none", "started_s": 1.0, "token": "t", "tunnel": tunnel}
    file.write_text(json.dumps(said | {"url": "http://127.0.0.1:9123"}))
    rows = _shown()
    assert rows["port"] == ("9123", f"the running hub ({file})")
    assert rows["host"] == ("127.0.0.1", "default")
    file.unlink()
    assert _shown()["port"] == ("8470", "default")


def _shown() -> dict[str, tuple[str, str]]:
    said = CliRunner().invoke(build(), ["config", "show", "--json"])
    assert said.exit_code == 0, said.output
    return {row["name"]: (row["value"], row["source"]) for row in json.loads(said.stdout)["items"]}
