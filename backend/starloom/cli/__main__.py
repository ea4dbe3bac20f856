"""`python -m starloom.cli`: the command where its script is not on the path."""

from __future__ import annotations

from starloom.cli import main

if __name__ == "__main__":
    main()
