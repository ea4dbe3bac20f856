"""The screen of the sample: its steps, the running constellation, the fault, the answer. Draws; decides nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from starloom.cli.text.constellation_text import Changes, answer_text, progress, task_table, title
from starloom.cli.text.matrix import family_members, family_table
from starloom.client.terminal.console import console
from starloom.client.terminal.typed import in_this_folder, typed
from starloom.client.view import View
from starloom.lab.sample.facts import Figures
from starloom_protocol.stream.feed import Event
from starloom_protocol.text.wording import seconds


class DemoScreen:
    """One terminal. `names` gives device names by id; it may ask the hub, so it is called seldom."""

    def __init__(self, names: Callable[[], dict[str, str]]) -> None:
        self._console = console()
        self._ask_names = names
        self._names: dict[str, str] = {}
        self._view: View | None = None
        self._changes: Changes | None = None
        self._live: Live | None = None
        self._change = asyncio.Event()

    def say(self, text: str) -> None:
        """Print one line, above the picture while there is one."""
        self._console.print(Text(typed(text), style="yellow"))

    @contextmanager
    def step(self, step: str) -> Iterator[None]:
        """Print a step and its duration, after the block that does it."""
        began = time.monotonic()
        yield
        self.tell_step(step, time.monotonic() - began)

    def tell_step(self, step: str, took_s: float) -> None:
        """Print a step that has been done already, and its duration."""
        self._console.print(f"  {step}: {took_s:.1f} s")

    def introduce(self, words: str, *, fault: bool) -> None:
        """Print the request, and which parts of the sample are real."""
        self._names = self._ask_names()
        self._console.print()
        self._console.print(Text(f"“{words}”", style="bold"))
        self._console.print(
            "Real: three agent processes with own keys, ledgers and folders; the files, hashes and transfers.\n"
            "Not real: the phone's battery and sleep; the pictures are drawn. Leases are shorter than the default.",
            style="bright_black",
        )
        if fault:
            self._console.print(
                "One fault is announced: in the middle of send.3 the phone's link is cut and its agent killed.",
                style="yellow",
            )
        self._console.print()

    @contextmanager
    def showing(self, view: View, *, fault: bool) -> Iterator[None]:  # noqa: ARG002 - said in `introduce`
        """Keep a picture of the constellation while it runs; plain lines where there is no terminal."""
        self._view = view
        self._changes = Changes(self._names)
        if not self._console.is_terminal:
            yield
            return
        with Live(console=self._console, refresh_per_second=10, transient=True) as self._live:
            yield
        self._live = None
        self._console.print(self._picture(view))

    def draw(self, fresh: Sequence[Event]) -> None:
        """Show the changes."""
        self._change.set()
        self._change = asyncio.Event()
        view = self._view
        if view is None or self._changes is None:
            return
        if self._live is not None:
            self._live.update(self._picture(view))
            return
        for event in fresh:
            for line in self._changes.lines(event):
                self._console.print(Text(line), soft_wrap=True)

    async def changed(self) -> None:
        """Wait until `draw` is called the next time."""
        await self._change.wait()

    def _picture(self, view: View) -> RenderableType:
        children = {name for members in family_members(view).values() for name in members}
        parts: list[RenderableType] = [title(view), Text(progress(view), style="bright_black")]
        parts.append(task_table(view, self._names, leave_out=children))
        parts.extend(family_table(view))
        parts.extend(
            Text(f"version {version.number} by {version.author}: {version.reason or version.trigger}", style="blue")
            for version in view.versions
        )
        return Group(*parts)

    def finish(self, view: View, figures: Figures) -> None:
        """Print the answer and the times."""
        out = self._console
        out.print()
        if view.answer is not None:
            out.print(answer_text(view.answer, self._names))
        out.print(
            f"\nTasks took {seconds(round(figures.task_s * 1000))} added up, "
            f"{seconds(round(figures.wall_s * 1000))} of real time; {figures.versions} versions of the plan; "
            f"{figures.attempts_repeated} task repeated after {figures.fault_injected} fault."
        )

    def tell_earlier(self, answer: str) -> None:
        """Print the address of the answer of an earlier start, and how the sample is carried out once more."""
        self._console.print(
            typed(
                f"\nThe sample has ended well here before. Its answer, after the sign-in below:\n  {answer}\n"
                "To carry it out once more: make run AGAIN=1, or starloom up --demo --again"
            ),
            highlight=False,
            soft_wrap=True,
        )

    def tell_next(self, url: str, link: str, hub: str) -> None:
        """Print the address and what to try; `hub` is the option that names this one."""
        out = self._console
        out.print(f"\nThe page is at {url}. This link signs you in once:\n  {link}\n", soft_wrap=True)
        out.print(
            typed(
                f"Try, in another terminal{in_this_folder()}:\n"
                f'  starloom submit "how are my machines" --wait{hub}\n'
                f"To add a laptop or a server:\n  starloom enroll{hub}\n"
                f"To take the demo devices away:\n  starloom demo remove{hub}\n\n"
                "Ctrl-C stops everything."
            ),
            highlight=False,
            soft_wrap=True,
        )
