"""A print has the answer whole, in the light colours and without the controls of a screen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page

from tests.e2e import answers
from tests.e2e.stack import SERVER, Stack

pytestmark = pytest.mark.e2e

ROWS = 300
PICTURES = 40
_DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_SHEET = "<h1>Sheet</h1><script>document.title = 'ran'</script><ul>" + "".join(
    f'<li><figure><img alt="p{at}" src="data:image/png;base64,{_DOT}"><figcaption>p{at}</figcaption></figure></li>'
    for at in range(PICTURES)
)
_SEEN = """() => {
  const shown = [...document.querySelectorAll('body *')].filter((one) => one.checkVisibility());
  const count = (what) => shown.filter((one) => one.matches(what)).length;
  const box = document.querySelector('main');
  const text = document.body.innerText;
  return {rows: count('tbody tr'), pictures: count('main img'), buttons: count('button, .btn, nav, iframe'),
    cut: box.scrollHeight > box.clientHeight + 1, text,
    ground: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color};
}"""


def _printed(page: Page) -> dict[str, object]:
    """Return what the paper shows, as the key of a print makes it."""
    page.evaluate("() => { window.print = () => { window.printing = true; window.seen = (" + _SEEN + ")(); }; }")
    page.keyboard.press("Control+p")
    page.wait_for_function("() => window.printing")
    found: dict[str, object] = page.evaluate("() => window.seen")
    return found


@pytest.mark.parametrize("alone", [True, False], ids=["answer", "constellation"])
def test_a_print_is_whole(page: Page, stack: Stack, width: str, alone: bool) -> None:
    rows = [{"name": f"row {at}", "size": at} for at in range(ROWS)]
    plan = answers.of_files("Paper", {"sheet.html": _SHEET})
    table = answers.of_values("Paper", {"Rows": ("table", rows)})
    plan["tasks"] += table["tasks"]
    plan["result"] += table["result"]
    made = stack.submit(plan)
    assert stack.until_state(made, "succeeded", "failed", "partial") == "succeeded"
    page.emulate_media(media="print", color_scheme="dark")
    page.goto(f"/constellations/{made}" + ("/answer" if alone else ""))
    page.get_by_role("heading", name="Paper" if not alone else "Answer", exact=True).first.wait_for(state="attached")
    page.wait_for_function("() => document.querySelectorAll('main *').length > 20")
    seen = _printed(page)
    assert seen["pictures"] == PICTURES
    assert seen["rows"] == ROWS + (0 if alone else len(plan["tasks"]))
    assert (seen["buttons"], seen["cut"]) == (0, False)
    assert (seen["ground"], seen["ink"]) == ("rgb(255, 255, 255)", "rgb(20, 25, 32)")
    for word in ("Done", "Started", "Devices", SERVER, f"row {ROWS - 1}"):
        assert word in str(seen["text"])
    assert page.title() != "ran"
    # The browser's own menu prints the same sheets, without a key of the page.
    assert len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4"))) > 5
