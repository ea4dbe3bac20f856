"""The fixtures of the tools' tests, for the parts of which tools are made."""

from __future__ import annotations

from tests.device_agents.tools.conftest import device as device

__all__ = ["device"]
