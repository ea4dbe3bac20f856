"""A secret in the page: a plan names it, it is set, used, listed, replaced and removed; it is never shown."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e

VALUE = "correct-horse-battery"
DEVICE = "demo-server"


def plan(name: str) -> str:
    return f"""```yaml
starloom: 1
name: Show a secret
tasks:
  - id: show
    tool: python.run
    device: {{name: {DEVICE}}}
    args:
      code: "import os; print('it is', os.environ['DEMO_TOKEN'])"
      env: {{DEMO_TOKEN: {{secret: {name}}}}}
result:
  - {{title: Said, from: show, output: /stdout}}
```"""


def type_value(page: Page, value: str) -> None:
    page.get_by_role("textbox", name="Value").fill(value)


def test_a_secret_is_set_from_the_preview_used_replaced_and_removed(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    name = f"demo-{width}"
    page.goto("/new?q=which%20computer%20is%20nearly%20full%20of%20holiday%20films")
    page.get_by_role("button", name="Make the text").click()
    page.get_by_role("textbox", name="Paste what it answers").fill(plan(name))
    expect(page.get_by_text("is not set")).to_be_visible()
    expect(page.locator("code", has_text=re.compile(rf"starloom secret set {name}$"))).to_be_visible()
    screens.shoot(page, "secret", "missing", width)

    page.get_by_role("button", name="Launch this plan").click()
    page.wait_for_url(re.compile(r"/constellations/"))
    constellation = page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
    expect(page.get_by_text(f"waits for a secret that is not set: {name}").first).to_be_visible()
    expect(page.locator("code", has_text=re.compile(rf"starloom secret set {name}$"))).to_be_visible()

    page.goto("/settings")
    page.get_by_role("button", name="Set a secret").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Name, as plans use it").fill(name)
    type_value(page, VALUE)
    dialog.get_by_role("checkbox", name=DEVICE, exact=True).check()
    screens.shoot(page, "secret", "dialog", width)
    dialog.get_by_role("button", name="Set", exact=True).click()
    card = page.get_by_role("region", name="Secrets")
    expect(card.get_by_text(name, exact=True)).to_be_visible()
    expect(card.get_by_text(f"Only on {DEVICE}")).to_be_visible()
    screens.shoot(page, "secret", "listed", width)

    stack.until_state(constellation, "succeeded")
    page.goto(f"/constellations/{constellation}")
    expect(page.get_by_role("region", name="Result").get_by_role("heading", name="Said")).to_be_visible()
    answer = stack.client.get(f"/constellations/{constellation}/result")
    assert [item["value"] for item in answer["items"]] == ["it is ***\n"]
    assert VALUE not in page.content()

    page.goto("/settings")
    expect(card.get_by_text(re.compile("last used"))).to_be_visible()
    page.get_by_role("button", name=f"Replace {name}").click()
    type_value(page, VALUE + "-2")
    page.get_by_role("dialog").get_by_role("button", name="Replace", exact=True).click()
    expect(card.get_by_text(re.compile("Version 2"))).to_be_visible()
    assert VALUE not in page.content()
    page.get_by_role("button", name=f"Remove {name}").click()
    asking = page.get_by_role("dialog", name=f"Remove {name}")
    screens.shoot(page, "secret", "removing", width)
    asking.get_by_role("button", name="Keep it").click()
    expect(asking).to_have_count(0)
    expect(card.get_by_text(name, exact=True)).to_be_visible()
    page.get_by_role("button", name=f"Remove {name}").click()
    asking.get_by_role("button", name="Remove it").click()
    expect(card.get_by_text(name, exact=True)).to_have_count(0)
