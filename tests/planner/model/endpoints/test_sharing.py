"""The part of results that a model is shown where the owner has set nothing, and where something is set."""

from __future__ import annotations

import pytest

from starloom.planner.model.endpoints.endpoint import Endpoint, sharing_from
from starloom.planner.model.port import ModelFault
from starloom_protocol.vocabulary import Sharing

HERE, ELSEWHERE = Endpoint("http://127.0.0.1:1/v1", "m"), Endpoint("https://example.org/v1", "m")


def test_nothing_of_files_leaves_this_machine_unless_the_owner_says_so() -> None:
    assert sharing_from({}, ELSEWHERE) is Sharing.CARDS
    assert sharing_from({}, HERE) is Sharing.HEADS


def test_the_setting_of_the_owner_counts_wherever_the_model_is() -> None:
    for endpoint in (HERE, ELSEWHERE):
        assert sharing_from({"STARLOOM_LLM_SHARE": "names"}, endpoint) is Sharing.NAMES
        assert sharing_from({"STARLOOM_LLM_SHARE": "cards_and_file_heads"}, endpoint) is Sharing.HEADS
        with pytest.raises(ModelFault):
            sharing_from({"STARLOOM_LLM_SHARE": "everything"}, endpoint)
