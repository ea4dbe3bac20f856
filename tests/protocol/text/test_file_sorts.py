"""A sort of files takes the files that its words mean, and none that only share letters with them."""

from __future__ import annotations

import pytest

from starloom_protocol.text.file_sorts import sort_fits


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("raw photos", "a.nef"),
        ("raws", "a.cr2"),
        ("png jpg pictures", "a.jpeg"),
        ("png and pictures", "a.jpg"),
        ("png, pictures", "a.jpg"),
        ("photos videos", "a.mp4"),
        ("JPGs", "a.jpeg"),
        ("docs and docx", "a.docx"),
        ("notes", "MyNotes.txt"),
        ("notes", "note2.txt"),
        ("scans", "PDFScan_001.tif"),
        ("taxes", "tax 2024.pdf"),
        ("verträge", "Mietvertrag.pdf"),
        ("verträge", "Mietverträge 2024.pdf"),
        ("all files", "anything"),
    ],
)
def test_a_sort_takes_the_files_that_it_means(what: str, name: str) -> None:
    assert sort_fits(what, name)


@pytest.mark.parametrize(
    ("what", "name"),
    [
        ("raw photos", "a.jpg"),
        ("png pictures", "a.jpg"),
        ("*.jpg", "a.jpeg"),
        ("notes", "denoted.txt"),
        ("notes", "Banknotes.jpg"),
        ("leases", "release.zip"),
        ("plans", "explanation.doc"),
        ("scans", "scandal.txt"),
        ("taxes", "syntax.py"),
        ("verträge", "verträglich.txt"),
    ],
)
def test_a_sort_takes_no_file_of_another(what: str, name: str) -> None:
    assert not sort_fits(what, name)
