"""One scenario from beginning to end: a folder, an installation in it, the run, and nothing left of any of them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from starloom.lab.carrying import Told, carry_out
from starloom.lab.installation import Installation
from starloom.lab.story import Line
from starloom_protocol.plan.scenario import Scenario


def run_apart(scenario: Scenario, say: Callable[[str], None], heard: Callable[[Line], None] | None = None) -> Told:
    """Run a scenario in a folder of its own, which is kept only if the expectation was not met or something failed.

    `heard` is called with each line of the story as it comes.

    Raises:
        Problem: the installation did not start, or the hub refused the request.
    """
    # Not below a long path: that of a Unix socket must be short.
    home = Path(tempfile.mkdtemp(prefix="sl-lab-"))
    installation = Installation(home, scenario.devices, scenario.seed)
    keep = True
    try:
        say(f"{scenario.name}: starting a hub, a worker, Redis and {len(scenario.devices)} devices of its own")
        installation.start()
        told = carry_out(scenario, installation, heard)
        keep = not told.met
    except KeyboardInterrupt:
        keep = False
        raise
    else:
        return told
    finally:
        installation.close()
        left = installation.left_over()
        if left:
            say("these outlived the installation: " + "; ".join(left))
        if keep or left:
            say(f"logs and ledgers are kept in {home}")
        else:
            shutil.rmtree(home, ignore_errors=True)
