"""Ask your own assistant: a text goes out, a faulty plan comes back, and ends in a running one."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.screens import Screens
from tests.e2e.stack import Stack

pytestmark = pytest.mark.e2e


def answer(stack: Stack, tool: str) -> str:
    """What a chat writes: prose, a fence, a plan."""
    return f"""Of course! Here is a plan that looks at the disk.

```yaml
starloom: 1
name: How much room
tasks:
  - id: room
    tool: {tool}
    device: {{name: {stack.desktop}}}
result:
  - {{title: Room, from: room, output: /free_bytes}}
```

Tell me how it went."""


def test_a_text_goes_out_a_faulty_plan_comes_back_and_ends_in_a_running_one(
    page: Page, stack: Stack, screens: Screens, width: str
) -> None:
    page.goto("/new?q=which%20computer%20is%20nearly%20full%20of%20holiday%20films")
    page.get_by_role("button", name="Make the text").click()
    out = page.get_by_role("textbox", name="Give this to your assistant")
    expect(out).to_have_value(re.compile("> which computer is nearly full of holiday films"))
    expect(out).to_have_value(re.compile("disk.usage"))
    page.get_by_role("button", name="Copy the text").click()
    assert "# A plan for Starloom" in page.evaluate("navigator.clipboard.readText()")

    back = page.get_by_role("textbox", name="Paste what it answers")
    back.fill(answer(stack, "disk.usege"))
    faults = page.get_by_role("textbox", name="Give this back to your assistant")
    expect(faults).to_have_value(re.compile(r"tasks\[0\]\.tool.*disk\.usage", re.DOTALL))
    screens.shoot(page, "assistant", "faults", width)

    back.fill(answer(stack, "disk.usage"))
    expect(page.get_by_text("What will run")).to_be_visible()
    expect(faults).to_have_count(0)
    screens.shoot(page, "assistant", "plan", width)
    page.get_by_role("button", name="Launch this plan").click()
    page.wait_for_url(re.compile(r"/constellations/"))
    constellation = page.url.split("/constellations/")[1].split("?")[0].split("/")[0]
    assert stack.until_state(constellation, "succeeded", "partial", "failed") == "succeeded"
