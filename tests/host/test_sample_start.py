"""The sample starts beside the hub and goes on when it is told; what an earlier start told does not count."""

from __future__ import annotations

import asyncio
from pathlib import Path

from starloom.host.sample_start import SampleStart


async def test_the_sample_goes_on_when_it_is_told(tmp_path: Path) -> None:
    told, sample = SampleStart(tmp_path), SampleStart(tmp_path)
    told.forget()
    hub, desktop = asyncio.create_task(sample.until_hub()), asyncio.create_task(sample.until_desktop())
    await asyncio.sleep(0)
    assert not hub.done()
    told.hub_is_ready()
    await hub
    assert not desktop.done()
    told.desktop_is("d-1")
    assert await desktop == "d-1"


async def test_an_earlier_start_does_not_count(tmp_path: Path) -> None:
    told = SampleStart(tmp_path)
    told.forget()
    told.hub_is_ready()
    told.desktop_is("")
    assert await told.until_desktop() == ""
    told.forget()
    waiting = asyncio.create_task(told.until_hub())
    await asyncio.sleep(0)
    assert not waiting.done()
    waiting.cancel()
