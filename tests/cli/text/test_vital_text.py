"""A device's figures in a terminal: now, the range of the hour, and the time of which nothing is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starloom.cli.text.vital_text import vital_lines

if TYPE_CHECKING:
    from starloom.client.answers import DeviceVitalsJson, VitalsJson


def vitals(**lines: list[int | None]) -> VitalsJson:
    items: list[DeviceVitalsJson] = [{"device": "d", "lines": lines}]
    return {"hub": "h", "items": items, "slots": 120, "step_s": 30}


def test_each_figure_is_a_line_in_the_order_of_the_page() -> None:
    assert vital_lines(vitals(latency_ms=[3, 9], load_percent=[10, 30, 20, 25]), "d") == [
        "load: 25 %, from 10 to 30 % in 2 min",
        "latency: 9 ms, from 3 to 9 ms in 1 min",
    ]


def test_a_time_without_a_word_is_said_and_an_old_value_is_not_that_of_now() -> None:
    assert vital_lines(vitals(load_percent=[10, None, None, 20, None]), "d") == [
        "load: 20 %, from 10 to 20 % in 2 min, nothing was heard for 1 min of it"
    ]
    (line,) = vital_lines(vitals(load_percent=[10, None, None, None]), "d")
    assert line.startswith("load: not heard now, ")


def test_a_disk_that_is_nearly_full_says_the_bound() -> None:
    assert vital_lines(vitals(disk_percent=[88, 93]), "d") == [
        "disk: 93 % (nearly full from 90 % on), from 88 to 93 % in 1 min"
    ]
    assert vital_lines(vitals(disk_percent=[93, 89]), "d") == ["disk: 89 %, from 89 to 93 % in 1 min"]


def test_a_load_above_its_processors_is_said_in_words() -> None:
    assert vital_lines(vitals(load_percent=[90, 811]), "d") == [
        "load: 811 % (8 times what its processors can do at once), from 90 to 811 % in 1 min"
    ]
    assert "(more than what its processors can do at once)" in vital_lines(vitals(load_percent=[120]), "d")[0]
    assert "processors" not in vital_lines(vitals(load_percent=[100]), "d")[0]


def test_a_device_that_said_nothing_has_no_line() -> None:
    assert vital_lines(vitals(), "d") == []
    assert vital_lines(vitals(load_percent=[None]), "d") == []
    assert vital_lines({**vitals(), "items": []}, "d") == []
