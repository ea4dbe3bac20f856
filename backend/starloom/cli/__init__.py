"""The `starloom` command: a client of the REST API like any other, and the supervisor of a hub on this machine."""

from __future__ import annotations

import sys
from contextlib import suppress


def main() -> None:
    """Run the command line; ends the process with the exit code that is the result.

    It ends quietly where the reader of its output went away, as in `starloom devices | head`, and with one sentence
    where the output could not be written.
    """
    from starloom.client.exits import Exit
    from starloom.client.terminal.pipes import has_no_reader, lost_output, stand_in
    from starloom.process import heap

    stand_in()
    try:
        heap.begin()
        from starloom.cli.commands import build
        from starloom.client.terminal.escaping import spell_out

        spell_out()
        build()()
    except KeyboardInterrupt:
        # Before a command begins there is nothing to tell.
        raise SystemExit(int(Exit.INTERRUPTED)) from None
    except SystemExit as ended:
        fault = lost_output()
        # Output that is not buffered is lost before this: the parser ends with 1 then, as for any failure.
        if isinstance(fault, BrokenPipeError) or (ended.code == int(Exit.FAILED) and has_no_reader()):
            raise SystemExit(int(Exit.READER_GONE)) from ended
        if fault is not None:
            _tell(fault, [])
            raise SystemExit(int(Exit.OUTPUT_LOST)) from ended
        raise
    except OSError as error:
        fault = lost_output(error)
        if fault is None:
            raise
        _tell(fault, getattr(error, "__notes__", []))
        raise SystemExit(int(Exit.OUTPUT_LOST)) from error


def _tell(fault: OSError, ways_out: list[str]) -> None:
    with suppress(OSError):
        sys.stderr.write(f"the output could not be written: {fault.strerror}\n")
        sys.stderr.writelines(f"The way out: {way}\n" for way in ways_out)
