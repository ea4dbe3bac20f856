"""What `make` leaves on a computer: npm keeps its downloads in the clone."""

from __future__ import annotations

from pathlib import Path

import pytest

from page import Node
from tests.arch.checkout import ROOT

NODE = Node(Path("/usr/bin/node"), ("npm",), 24)


def test_npm_keeps_its_cache_in_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("npm_config_cache", raising=False)
    assert NODE.environment(ROOT)["npm_config_cache"] == str(ROOT / "build" / "npm")
    assert "/build/" in (ROOT / ".gitignore").read_text().splitlines()


def test_a_cache_that_somebody_has_named_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("npm_config_cache", "/srv/npm")
    assert NODE.environment(ROOT)["npm_config_cache"] == "/srv/npm"
