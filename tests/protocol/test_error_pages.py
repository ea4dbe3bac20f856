"""The page of errors has a row for each code and says only what differs from most codes."""

from __future__ import annotations

from starloom_protocol.export.error_page import USUAL_STATUS, error_page
from starloom_protocol.vocabulary import CODES, Code, CodeClass


def cells(code: Code) -> list[str]:
    (row,) = [line for line in error_page().splitlines() if line.startswith(f"| `{code}` |")]
    return [cell.strip() for cell in row.strip("|").split(" | ")]


def test_each_code_has_one_row_with_meaning_and_way_out() -> None:
    for code in Code:
        shown = cells(code)
        assert len(shown) == 4
        assert shown[1:3] == [CODES[code].title, CODES[code].hint]


def test_a_row_names_class_and_status_only_where_they_differ() -> None:
    usual = {code for code in Code if cells(code)[3] == ""}
    assert usual == {
        code for code in Code if CODES[code].code_class is CodeClass.PERMANENT and CODES[code].status == USUAL_STATUS
    }
    assert cells(Code.MODEL_UNREACHABLE)[3] == "may pass, 502"
