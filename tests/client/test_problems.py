"""Problems of the hub as a person reads them."""

from __future__ import annotations

from starloom.client.problems import problem_of


def test_a_fault_of_the_hub_is_told_with_the_id_to_report() -> None:
    document = {"code": "internal", "hint": "Please report it with the id.", "request_id": "4f2a"}
    assert problem_of(500, document).hint == "Please report it with the id. The id is 4f2a."


def test_a_refusal_needs_no_id() -> None:
    document = {"code": "not_found", "hint": "Check the id.", "request_id": "4f2a"}
    assert problem_of(404, document).hint == "Check the id."
