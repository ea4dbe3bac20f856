"""The links of a page by their words: those of HTML and those of the `Link` header of an answer (RFC 8288).

Reads text of unknown origin: nothing is followed, only http(s) addresses are kept, and number and length are bounded.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Final
from urllib.parse import urljoin, urlsplit

LINKS_MOST: Final = 200
WORDS_CHARS_MOST: Final = 100
ADDRESS_CHARS_MOST: Final = 2000
"""As long as the addresses that `browser.read` takes and gives."""
_HEADER: Final = re.compile(r"<([^<>]{1,2000})>((?:\s*;\s*[\w*]+=(?:\"[^\"]*\"|[^\s,;\"]+))*)")
_RELATION: Final = re.compile(r";\s*rel=(?:\"([^\"]*)\"|([^\s,;\"]+))", re.IGNORECASE)


class _Page(HTMLParser):
    """Collects (words, address) of each link in the order of the page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self._address = ""
        self._words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        fields = {name: value or "" for name, value in attrs}
        for relation in fields.get("rel", "").lower().split() if tag in ("a", "link") and "href" in fields else ():
            if relation in ("next", "prev", "first", "last"):
                self.links.append((relation, fields["href"]))
        if tag == "a" and "href" in fields:
            self._address, self._words = fields["href"], []

    def handle_data(self, data: str) -> None:
        if self._address and sum(map(len, self._words)) < WORDS_CHARS_MOST:
            self._words.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._address:
            self.links.append((" ".join("".join(self._words).split()), self._address))
            self._address = ""


def links_of(html: str, header: str, base: str) -> dict[str, str]:
    """Return the absolute address of each link by its words; the first of equal words, at most `LINKS_MOST`."""
    page = _Page()
    page.feed(html)
    from_header = [
        (relation.lower(), address)
        for address, rest in _HEADER.findall(header[:ADDRESS_CHARS_MOST])
        for quoted, bare in _RELATION.findall(rest)
        for relation in (quoted or bare).split()
    ]
    links: dict[str, str] = {}
    for words, address in [*from_header, *page.links]:
        whole = _absolute(base, address)
        if words and whole and len(links) < LINKS_MOST:
            links.setdefault(words[:WORDS_CHARS_MOST], whole)
    return links


def _absolute(base: str, address: str) -> str:
    try:
        whole = urljoin(base, address.strip())
        scheme = urlsplit(whole).scheme
    except ValueError:
        return ""
    return whole if scheme in ("http", "https") and len(whole) <= ADDRESS_CHARS_MOST else ""
