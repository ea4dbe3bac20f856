"""The text of office documents that are ZIP archives of XML: Word, Excel, PowerPoint and OpenDocument.

Owns which parts of them hold text. No XML is parsed, so no entity is expanded; every part is read up to a bound.
"""

from __future__ import annotations

import html
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, Final

KINDS: Final = frozenset({".docx", ".odp", ".ods", ".odt", ".pptx", ".xlsx"})
_PARTS: Final = re.compile(
    r"content\.xml|word/(?:document|footnotes|endnotes|comments|header\d+|footer\d+)\.xml"
    r"|xl/(?:sharedStrings|comments\d+|worksheets/sheet\d+)\.xml|ppt/(?:slides|notesSlides)/[A-Za-z]+\d+\.xml"
)
_PARTS_MOST: Final = 2_000
_BYTES_MOST: Final = 32 * 1024 * 1024
"""Of all parts together, unpacked: a book of a thousand pages has a tenth of it."""
_ENDS: Final = re.compile(
    r"</(?:w:p|a:p|text:p|text:h|si|row|table:table-row)>|<(?:w:br|w:cr|a:br|text:line-break)\b[^<>]*>"
)
"""The ends of paragraphs, cells with text, and rows, which are lines here."""
_GAPS: Final = re.compile(r"<(?:w:tab|text:tab|text:s)\b[^<>]*>|</(?:c|w:tc|a:tc|table:table-cell)>")
"""Tabs, spaces and the ends of cells, which part words in a line."""
_NO_TEXT: Final = re.compile(
    r"<f\b[^<>]*(?<!/)>[^<>]*</f>|<c\b[^<>]*\bt=[\"']s[\"'][^<>]*(?<!/)>\s*<v\b[^<>]*>[^<>]*</v>"
)
"""A formula of a sheet, and the number of a shared text, which has its own part: nobody sees them in a cell."""
_TAGS: Final = re.compile(r"<[^<>]*>")
_DAMAGE: Final = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, RuntimeError, OSError)


class NotADocument(Exception):
    """The reason why a file with the name of a document gives no text."""


def text_of(file: BinaryIO) -> str:
    """Return the text of an open document, a paragraph a line.

    Raises:
        NotADocument: it is none, is damaged or encrypted, or too large.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return "\n".join(_texts(archive))
    except _DAMAGE as error:
        raise NotADocument("it cannot be read as a document, or it is encrypted") from error


def _texts(archive: zipfile.ZipFile) -> Iterator[str]:
    left = _BYTES_MOST
    names = [name for name in archive.namelist() if _PARTS.fullmatch(name)]
    if not names or len(names) > _PARTS_MOST:
        raise NotADocument("it has no text that is known" if not names else "it has too many parts")
    for name in names:
        with archive.open(name) as part:
            data = part.read(left + 1)
        left -= len(data)
        if left < 0:
            raise NotADocument(f"its text is larger than {_BYTES_MOST // 1024**2} MiB")
        text = data.decode("utf-8", errors="replace")
        if name.startswith("xl/worksheets/"):
            text = _NO_TEXT.sub("", text)
        yield html.unescape(_TAGS.sub("", _GAPS.sub("\t", _ENDS.sub("\n", text))))
