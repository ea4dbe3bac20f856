"""The live display of a watch on a terminal: redrawn in place as events come, gone but for the last picture."""

from __future__ import annotations

from types import TracebackType

from rich.live import Live

from starloom.cli.text.constellation_text import page
from starloom.client.terminal.console import console
from starloom.client.terminal.typed import typed
from starloom.client.view import View


class Screen:
    """Draws a view while it changes, for a reader who may answer its questions or not. Use as a context."""

    def __init__(self, view: View, devices: dict[str, str], *, approves: bool) -> None:
        self._view = view
        self._approves = approves
        self._devices = devices
        self._console = console()
        self._live = Live(console=self._console, auto_refresh=True, refresh_per_second=8, transient=False)

    def __enter__(self) -> Screen:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def draw(self) -> None:
        """Show the view as it is now, no taller than the terminal."""
        most = max(5, self._console.height - 8)
        self._live.update(page(self._view, self._devices, most=most, with_answer=False, approves=self._approves))

    def say(self, text: str) -> None:
        """Print a line above the picture."""
        self._console.print(typed(text), style="yellow")
