"""Schemas say the same on every version of Python."""

from __future__ import annotations

import msgspec

from starloom_protocol.text.field_docs import without_indentation


class Kept(msgspec.Struct):
    """A copy that is kept.

    Its name is given;
      a continued line stands further in.
    """

    description: str = "two\n    lines"


def test_a_description_has_no_indentation_of_its_source() -> None:
    schema = without_indentation(msgspec.json.schema(Kept))
    made = schema["$defs"]["Kept"]
    assert made["description"] == ("A copy that is kept.\n\nIts name is given;\n  a continued line stands further in.")
    assert made["properties"] == {"description": {"type": "string", "default": "two\n    lines"}}


def test_a_description_that_python_has_cleaned_stays() -> None:
    told = {"anyOf": [{"description": "One.\n\nTwo.\n"}, {"description": "One.\n\n    Two.\n    "}]}
    assert without_indentation(told) == {"anyOf": [{"description": "One.\n\nTwo."}] * 2}
