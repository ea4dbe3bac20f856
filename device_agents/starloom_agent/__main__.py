"""`python -m starloom_agent` is `starloom-agent`.

Imported modules live until the process ends, so the garbage collector is kept from scanning them: it is off while they
load, and they are frozen at the end.
"""

import atexit
import gc
import sys

if __name__ == "__main__":
    gc.disable()

from starloom_agent.cli import main

if __name__ == "__main__":
    gc.freeze()
    gc.enable()
    atexit.register(gc.freeze)
    sys.exit(main())
