"""`starloom config show`: the settings in force of the hub that is found from here, each with its source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from starloom.client.discovery import LOCAL_FILE
from starloom.planner.model.endpoints.endpoint import ModelRole
from starloom.planner.model.endpoints.page_settings import PageModelSettings, PageRoleSettings, keep, tried
from tests.programs import command_line


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


def test_the_model_that_the_page_has_set_is_shown_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARLOOM_HOME", str(tmp_path))
    monkeypatch.setenv("STARLOOM_LLM_TOKENS_PER_DAY", "500")
    folder = tmp_path / "model"
    judge = PageRoleSettings(model="small", url="http://ann:secret@127.0.0.1:2/v1")
    wanted = PageModelSettings(
        url="http://127.0.0.1:1/v1", model="big", tokens_per_day=9, roles={ModelRole.JUDGE: judge}
    )
    with tried(folder, wanted, "sk-private") as kept:
        keep(folder, replace(kept, roles=wanted.roles))
    place = f"the page ({folder / 'model.json'})"
    rows = _shown()
    assert rows["llm_url"] == ("http://127.0.0.1:1/v1", place)
    assert rows["llm_model"] == ("big", place)
    assert rows["llm_judge_model"] == ("small", place)
    assert rows["llm_judge_url"] == ("http://ann:***@127.0.0.1:2/v1", place)
    assert rows["llm_tokens_per_day"][0] == "500"
    assert "environment" in rows["llm_tokens_per_day"][1] or "STARLOOM" in rows["llm_tokens_per_day"][1]
    assert "sk-private" not in str(rows)
    monkeypatch.setenv("STARLOOM_LLM_URL", "http://127.0.0.1:3/v1")
    rows = _shown()
    assert (rows["llm_url"][0], rows["llm_model"]) == ("http://127.0.0.1:3/v1", ("-", "default"))
    monkeypatch.delenv("STARLOOM_LLM_URL")
    (folder / "model.json").write_text("{")
    assert "cannot be read" in _shown()["llm_url"][1]


def _shown() -> dict[str, tuple[str, str]]:
    said = CliRunner().invoke(command_line(), ["config", "show", "--json"])
    assert said.exit_code == 0, said.output
    return {row["name"]: (row["value"], row["source"]) for row in json.loads(said.stdout)["items"]}
