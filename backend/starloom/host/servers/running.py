"""Runs a shell text at a server by the owner's ssh, within a time. Knows nothing of the text or of its meaning."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starloom.host.servers import ssh


async def run_there(target: ssh.Target, text: str, within_s: float) -> tuple[int, str, str]:
    """Run a shell text there; return its exit code, stdout and stderr.

    Raises:
        Problem: ssh itself failed, or it took too long.
    """
    process = await asyncio.create_subprocess_exec(
        *ssh.argv(target, ["sh", "-s"]),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(within_s):
            out, err = await process.communicate(text.encode())
    except TimeoutError as error:
        raise ssh.refused(target, f"it did not finish within {within_s:g} s", f"Look there: {target.typed}") from error
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    said = err.decode(errors="replace")
    if process.returncode == ssh.OWN_FAULT:
        raise ssh.problem_of(target, said)
    return process.returncode or 0, out.decode(errors="replace"), said
