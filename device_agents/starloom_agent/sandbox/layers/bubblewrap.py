"""The argument list of bubblewrap for a cage: for machines where only bubblewrap may make namespaces."""

from __future__ import annotations

from pathlib import Path

from starloom_agent.sandbox import cage as cages
from starloom_agent.sandbox.cage import Cage


def command(cage: Cage, bwrap: str, program: list[str]) -> list[str]:
    """Return the argument list: own namespaces, a root of named folders only, `program` in it."""
    argv = [bwrap, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    for path in cages.SYSTEM:
        if Path(path).is_symlink():
            argv += ["--symlink", str(Path(path).readlink()), path]
        elif Path(path).exists():
            argv += ["--ro-bind", path, path]
    argv += ["--proc", "/proc", "--dev", "/dev", "--bind", cage.temporary, "/tmp"]  # noqa: S108 - the attempt's own
    # Else it would be memory without a limit.
    argv += ["--bind", cage.temporary, "/dev/shm"]  # noqa: S108 - the attempt's own
    for path in (*cages.ETC, *cage.interpreter, cages.package(), *cage.read):
        argv += ["--ro-bind-try", path, path]
    return [*argv, "--bind", cage.workdir, cage.workdir, "--chdir", cage.workdir, "--", *program]
