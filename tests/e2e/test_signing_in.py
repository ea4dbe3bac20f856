"""Signing in by the one-time link: with it, with a used one, and with none."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.conftest import ON_BOTH, NewContext
from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e


@ON_BOTH
@pytest.mark.short
def test_a_link_signs_in_once(stack: Stack, new_context: NewContext, screens: Screens, width: str) -> None:
    link = stack.sign_in_link()
    with new_context(width) as context:
        page = context.new_page()
        page.goto(link)
        page.get_by_role("heading", name="Home", exact=True).wait_for()
        assert "#" not in page.url, "the secret stays in the address"
        cookie = next(one for one in context.cookies() if one["name"].startswith("starloom"))
        assert cookie["httpOnly"]
        assert cookie["sameSite"] == "Strict"
    with new_context(width) as context:
        page = context.new_page()
        page.goto(link)
        expect(page.get_by_text("This sign-in link is unknown, used or too old.")).to_be_visible()
        expect(page.locator("code", has_text=re.compile(r"starloom open$"))).to_be_visible()
        screens.shoot(page, "signin", "used", width)


def test_without_a_link_it_says_how_to_get_one(new_context: NewContext, screens: Screens, width: str) -> None:
    with new_context(width) as context:
        page = context.new_page()
        page.goto("/constellations")
        expect(page.locator("code", has_text=re.compile(r"starloom open$"))).to_be_visible()
        screens.shoot(page, "signin", "none", width)
