"""Twelve windows, from a small phone to a desk, held upright and sideways and at 200 %: the work has room in each."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.e2e.screens import FOLDER
from tests.e2e.windows import SIZES, clipped, room, suffices
from tests.e2e.witness import Seen

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("width", ["wide"], indirect=True)
def test_every_size_leaves_room_for_the_work(page: Page, sample: Seen) -> None:
    faults: list[str] = []
    FOLDER.mkdir(exist_ok=True)
    for wide, high in SIZES:
        page.set_viewport_size({"width": wide, "height": high})
        for lens, selector in (("list", ".tasklist"), ("graph", ".flow")):
            page.goto(f"/constellations/{sample.constellation}?lens={lens}")
            page.locator(selector).wait_for(state="attached")
            found = room(page, selector)
            if not suffices(found):
                faults.append(f"{wide}x{high} {lens}: {found}")
            faults += [f"{wide}x{high} {lens}: {one}" for one in clipped(page)]
            page.screenshot(path=FOLDER / f"size-{wide}x{high}-{lens}.png")
        page.goto(f"/constellations/{sample.constellation}/t/send.3?lens=list")
        page.locator(".inspector .tabbody").wait_for()
        body = room(page, ".inspector .tabbody")
        if body["high"] < 20 or body["reached"] < 20:
            faults.append(f"{wide}x{high} task: {body}")
        faults += [f"{wide}x{high} task: {one}" for one in clipped(page)]
    assert not faults, "\n".join(faults)
