"""The answer as the command line prints it."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from starloom.cli.text.answer_text import answer_lines


def test_words_of_a_model_come_first_with_their_sources() -> None:
    document = {
        "state": "final",
        "sentence": "Errors is done: 1 task on srv-b.",
        "words": "The service db has most errors [1].",
        "cites": [{"task": "count", "pointer": "/rows/0"}],
        "struck": ["It has 1500 of them."],
        "items": [],
    }
    console = Console(width=100, record=True, file=StringIO())
    console.print(answer_lines(document, {}))
    assert console.export_text().splitlines() == [
        "The service db has most errors [1].",
        "From [1] count /rows/0.",
        "Left out, because no cited result shows it: It has 1500 of them.",
        "Errors is done: 1 task on srv-b.",
    ]
