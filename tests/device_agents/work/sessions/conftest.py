"""The fixtures of the tools' tests, for calls that go through a kept session."""

from __future__ import annotations

from tests.device_agents.tools.conftest import device as device

__all__ = ["device"]
