"""The text of a call: its offsets count each byte that the call wrote, those that were not kept included."""

from __future__ import annotations

from pathlib import Path

from starloom.store.blobs.logs import AttemptLogs
from starloom_agent.toolkit.messages import OUTPUT_BYTES_MAX, Said
from starloom_agent.work.calls.streams import NOTE_CHARS_MOST, PIECE_CHARS, Output


def full(room: int) -> Output:
    """Return an output with so much room left."""
    output = Output([])
    output.take("out", b"a" * (OUTPUT_BYTES_MAX - room))
    return output


def test_output_after_a_loss_has_the_offset_of_its_place() -> None:
    output = full(500)
    assert output.take("out", b"x" * 1_000) == []
    (said,) = output.take("out", b"after the loss\n")
    assert said.offset == OUTPUT_BYTES_MAX - 500 + 1_000
    (note,) = output.finish()
    assert note.offset == said.offset + len(said.text)
    assert "[1000 bytes" in note.text


def test_the_log_states_the_loss_in_the_middle(tmp_path: Path) -> None:
    logs, output = AttemptLogs(tmp_path), Output([])
    for data in (b"a" * (OUTPUT_BYTES_MAX - 500), b"x" * 1_000, b"after the loss\n"):
        for said in output.take("out", data):
            logs.append("c", "t", 1, said.offset, said.text)
    part = logs.read("c", "t", 1)
    assert part.lost == [(OUTPUT_BYTES_MAX - 500, OUTPUT_BYTES_MAX + 500)]
    assert part.text.endswith("aafter the loss\n")


def test_a_long_text_comes_in_pieces_without_a_gap() -> None:
    pieces = Output([]).take_text("out", "\N{SNOWMAN}" * (PIECE_CHARS + 1))
    assert [(said.offset, len(said.text)) for said in pieces] == [(0, PIECE_CHARS), (3 * PIECE_CHARS, 1)]


def test_a_note_is_cut_to_what_is_shown() -> None:
    note = Output(["hunter22"]).clean_note(Said(note="hunter22 " + "x" * 2_000_000)).note
    assert note == "*** " + "x" * (NOTE_CHARS_MOST - 4)
