"""`python -m starloom_agent` is `starloom-agent`.

Modules stay for good: no search for garbage looks at them, neither while they load nor when the process ends.
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
