"""`python -m starloom_agent` is `starloom-agent`."""

import sys

from starloom_agent.cli import main

if __name__ == "__main__":
    sys.exit(main())
