"""What a person sees: pictures of every screen in both themes, judged by axe, by size and by what fits.

A screen is shot in light and dark; each shot asserts that axe finds nothing, that nothing scrolls sideways and that
the page stays within 1,500 elements. `write_index` puts all pictures of a session into one page.
"""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import axe_playwright_python
from playwright.sync_api import Page

from tests.waiting import SLOWER

ROOT = Path(__file__).resolve().parents[2]
AXE = Path(axe_playwright_python.__file__).with_name("axe.min.js")
FOLDER = ROOT / "screenshots"
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
PICTURE_MS = 30_000 * SLOWER
ELEMENTS_MOST = 1_500
NARROW_WIDTHS = (320, 360, 430)

_RUN_AXE = """async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map((one) => one.id + ": " + one.nodes.map((node) => node.html.slice(0, 140) + " " +
    (node.any[0]?.message ?? "")).join(" | "));
}"""
_DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(() => drawn())))"
_WIDER = """() => {
  const most = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= most) return [];
  return [...document.querySelectorAll("body *")].filter((one) => one.getBoundingClientRect().right > most + 1)
    .slice(0, 5).map((one) => one.outerHTML.slice(0, 120));
}"""


@dataclass
class Screens:
    """Takes pictures and remembers the largest page that it saw and all that axe found.

    Pictures are for people, and no test reads them: a tier that only judges goes without.
    """

    with_pictures: bool = True
    elements_most: int = 0
    violations: int = 0
    taken: list[str] = field(default_factory=list)

    def shoot(self, page: Page, name: str, state: str, width: str) -> None:
        """Judge and photograph what the page shows now, in both themes."""
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            self._judge(page, f"{name} {state} {theme} {width}")
            self._picture(page, name, state, theme, width)
        page.emulate_media(color_scheme="light")
        if width == "phone":
            self._fits_narrow(page, f"{name} {state}")

    def glimpse(self, page: Page, name: str, state: str, width: str) -> None:
        """Photograph a moment that does not last: a picture in both themes, nothing else."""
        for theme in THEMES:
            page.emulate_media(color_scheme=theme)
            self._picture(page, name, state, theme, width)
        page.emulate_media(color_scheme="light")

    def snap(self, page: Page, file: str, *, whole: bool = False) -> None:
        """Wait until the page is drawn as it is now, and photograph it for people: its window, or the whole of it."""
        page.evaluate(_DRAWN)
        if self.with_pictures:
            FOLDER.mkdir(exist_ok=True)
            page.screenshot(path=FOLDER / file, timeout=PICTURE_MS, full_page=whole)

    def _picture(self, page: Page, name: str, state: str, theme: str, width: str) -> None:
        if not self.with_pictures:
            return
        FOLDER.mkdir(exist_ok=True)
        file = f"{name}-{state}-{theme}-{width}.png"
        page.screenshot(path=FOLDER / file, timeout=PICTURE_MS)
        self.taken.append(file)

    def _judge(self, page: Page, what: str) -> None:
        violations = axe_violations(page)
        self.violations += len(violations)
        assert not violations, f"axe on {what}:\n" + "\n".join(map(str, violations))
        elements = int(page.evaluate("() => document.getElementsByTagName('*').length"))
        self.elements_most = max(self.elements_most, elements)
        assert elements <= ELEMENTS_MOST, f"{what} has {elements} elements"
        wider = page.evaluate(_WIDER)
        assert not wider, f"{what} scrolls sideways because of {wider}"

    def _fits_narrow(self, page: Page, what: str) -> None:
        size = page.viewport_size
        assert size is not None, "the page has no size"
        for width in NARROW_WIDTHS:
            page.set_viewport_size({"width": width, "height": size["height"]})
            wider = page.evaluate(_WIDER)
            assert not wider, f"{what} scrolls sideways at {width} px because of {wider}"
        page.set_viewport_size(size)


def axe_violations(page: Page) -> list[Any]:
    """Return what axe finds on the page as it stands."""
    if not page.evaluate("() => 'axe' in window"):
        # By evaluation, not by a script element: the page's own policy allows no foreign script.
        page.evaluate(AXE.read_text(encoding="utf-8"))
    found: list[Any] = page.evaluate(_RUN_AXE)
    return found


def write_index() -> Path:
    """Write `index.html` with every picture of the folder and its name."""
    figures = "\n".join(
        f'<figure><a href="{html.escape(file.name)}"><img loading="lazy" src="{html.escape(file.name)}" alt=""></a>'
        f"<figcaption>{html.escape(file.stem)}</figcaption></figure>"
        for file in sorted(FOLDER.glob("*.png"))
    )
    target = FOLDER / "index.html"
    target.write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Starloom: every screen</title>'
        "<style>body{font:14px system-ui;margin:1rem;display:grid;gap:1rem;background:#888;"
        "grid-template-columns:repeat(auto-fill,minmax(22rem,1fr))}figure{margin:0}"
        "img{width:100%;height:16rem;object-fit:contain;object-position:top left}</style>\n"
        f"{figures}\n</html>\n",
        encoding="utf-8",
    )
    return target
