"""Secrets in a preview: who would be given them, and uses that cannot work, each with its way out."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from starloom.cli.text.preview_text import plan_text
from starloom.client.exits import Exit, exit_of_plan
from starloom.client.terminal.typed import typed
from starloom.planner.fleet import FleetSnapshot
from starloom.planner.recipes.catalogue import load_catalogue
from starloom.planner.service import Planning
from starloom_protocol.api.previews import PlanPreview
from starloom_protocol.plan import check_plan
from starloom_protocol.records.entities import Secret
from starloom_protocol.values import canonical
from tests.planner.fleets import device, fleet, offer

SCHEMA = canonical({"properties": {"argv": {}, "env": {"writeOnly": True}, "stdin": {"writeOnly": True}}})


def view(**limits: Any) -> FleetSnapshot:
    made = offer()
    tools = [replace(tool, args=SCHEMA) if tool.name == "shell.run" else tool for tool in made.tools]
    offers = {name: replace(made, tools=tools) for name in ("server", "phone")}
    kept = Secret(by="person:ann", cipher="x", created_ms=1, name="key", set_ms=1, version=1, **limits)
    found = fleet(device("server"), device("phone"), offers=offers)
    return FleetSnapshot.of(found.records, found.offers, secrets={"key": kept})


def without_secrets(found: FleetSnapshot) -> FleetSnapshot:
    """Return a fleet whose hub keeps no secret."""
    return FleetSnapshot.of(found.records, found.offers, secrets={})


def previewed(fleet: FleetSnapshot, *tasks: dict[str, Any]) -> PlanPreview:
    checked = check_plan({"starloom": 1, "name": "n", "tasks": list(tasks)})
    assert checked.plan is not None, checked.faults
    return Planning(load_catalogue(), lambda: fleet).preview(checked.plan)


def run(on: str, **args: Any) -> dict[str, Any]:
    given = args or {"argv": ["x"], "env": {"MY_TOKEN": {"secret": "key"}}}
    return {"id": f"on-{on}", "tool": "shell.run", "device": {"name": on}, "args": given}


def lines(found: PlanPreview) -> str:
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as said:
        console.print(plan_text(found))
    return said.get()


def test_a_device_that_may_not_receive_a_secret_is_a_fault_and_not_among_those_given_it() -> None:
    found = previewed(view(devices=["d-server"]), run("server"), run("phone"))
    assert [(item["name"], item["devices"]) for item in found["secrets"]] == [("key", ["server"])]
    reason = "on-phone: phone may not receive the secret key; it is kept for other devices."
    line = "starloom secret set key --for-device server --for-device phone"
    assert found["faults"] == [{"task": "on-phone", "reason": reason, "way_out": line}]
    assert reason in found["warnings"]
    assert exit_of_plan(found) is Exit.USAGE
    said = lines(found)
    assert said.count(reason) == 1
    assert typed(f"  The way out: {line}") in said


@pytest.mark.parametrize(
    ("limits", "line"),
    [
        ({"tools": ["http.request"]}, "starloom secret set key --for-tool http.request --for-tool shell.run"),
        ({"recipes": ["backup"]}, "starloom secret set key --for-any"),
    ],
)
def test_a_limit_of_a_secret_names_the_line_that_lifts_it(limits: dict[str, Any], line: str) -> None:
    (told,) = previewed(view(**limits), run("server"))["faults"]
    assert told["way_out"] == line


def test_an_argument_or_a_variable_that_takes_no_secret_is_a_fault() -> None:
    wrong = run("server", argv=["x", {"secret": "key"}], env={"WEATHER": {"secret": "key"}, "A_KEY": {"secret": "key"}})
    found = previewed(view(), wrong)
    assert [(item["reason"], item["way_out"]) for item in found["faults"]] == [
        (
            "on-server: shell.run takes no secret in `argv`; it takes one in `env` or `stdin`.",
            "Name it in `env` or `stdin`.",
        ),
        (
            "on-server: `env` takes names of credentials only, and WEATHER is none.",
            "Call it WEATHER_TOKEN or WEATHER_KEY (docs/secrets.md).",
        ),
    ]
    assert exit_of_plan(found) is Exit.USAGE


def test_a_variable_that_no_program_is_given_is_a_fault_whatever_its_value() -> None:
    found = previewed(view(), run("server", argv=["x"], env={"PW": "abc", "DB_PASSWORD": "abc"}))
    assert [(item["reason"], item["way_out"]) for item in found["faults"]] == [
        (
            "on-server: `env` takes names of credentials only, and PW is none.",
            "Call it PW_TOKEN or PW_KEY (docs/secrets.md).",
        )
    ]


def test_a_task_whose_secret_is_not_set_is_held() -> None:
    found = previewed(without_secrets(view()), run("server"))
    assert found["faults"] == []
    assert found["held"] == ["on-server"]
    assert exit_of_plan({**found, "asks_approval": False}) is Exit.ATTENTION
    assert "held or refused until that is given: on-server" in lines(found)


def test_a_plan_without_faults_of_secrets_begins_as_before() -> None:
    found = previewed(view(), run("server"))
    assert found["faults"] == []
    assert exit_of_plan({**found, "asks_approval": False}) is Exit.SUCCEEDED


@pytest.mark.parametrize("text", ["{{ secrets.key }}", "Bearer ${{secrets.key}}", "{{secret.key}}"])
def test_a_secret_as_others_write_it_gets_a_hint(text: str) -> None:
    found = previewed(view(), run("server", argv=["x"], env={"API_KEY": text}))
    assert (
        "on-server: `{{ secrets.key }}` is plain text; for the secret write {secret: key} alone." in found["warnings"]
    )
    assert found["faults"] == []
