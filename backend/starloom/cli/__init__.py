"""The `starloom` command: a client of the REST API like any other, and the supervisor of a hub on this machine."""

from __future__ import annotations


def main() -> None:
    """Run the command line; ends the process with the exit code that is the result.

    It ends quietly where the reader of its output went away, as in `starloom devices | head`.
    """
    from starloom.client.exits import Exit
    from starloom.process import heap

    try:
        heap.begin()
        from starloom.cli.commands import build
        from starloom.client.terminal.escaping import spell_out
        from starloom.client.terminal.pipes import has_no_reader, reader_is_gone

        spell_out()
        build()()
    except KeyboardInterrupt:
        # Before a command begins there is nothing to tell.
        raise SystemExit(int(Exit.INTERRUPTED)) from None
    except SystemExit as ended:
        # Output that is not buffered is lost before this: the parser ends with 1 then, as for any failure.
        if reader_is_gone() or (ended.code == int(Exit.FAILED) and has_no_reader()):
            raise SystemExit(int(Exit.READER_GONE)) from ended
        raise
