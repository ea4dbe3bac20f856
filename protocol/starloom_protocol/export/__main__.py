"""The command that writes the generated files of the protocol.

`python -m starloom_protocol.export` writes the files of a checkout, `--check` exits 1 if one is stale. Generated
files are never edited; a test fails when they are stale.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from starloom_protocol.export.error_page import error_page
from starloom_protocol.export.schemas import COMMAND, json_schema, scenario_schema
from starloom_protocol.export.typescript import typescript
from starloom_protocol.wire import frame_shapes

TYPESCRIPT: Final = Path("frontend/src/generated/protocol.ts")
TAB: Final = Path("device_agents/browser/src/generated")
"""The page and the tab of a browser that is a device. Each has the part of the protocol that it imports."""
SCHEMA: Final = Path("protocol/schema/v1.json")
SCENARIO: Final = Path("protocol/schema/scenario-v1.json")
ERRORS: Final = Path("docs/errors.md")


def generated(root: Path) -> dict[Path, str]:
    """Return the text of every generated file by its place in the checkout `root`."""
    return {
        TYPESCRIPT: typescript(root, TYPESCRIPT),
        TAB / "protocol.ts": typescript(root, TAB / "protocol.ts"),
        TAB / "shapes.ts": frame_shapes.typescript(COMMAND),
        SCHEMA: json.dumps(json_schema(), indent=1, sort_keys=True, ensure_ascii=True) + "\n",
        SCENARIO: json.dumps(scenario_schema(), indent=1, sort_keys=True, ensure_ascii=True) + "\n",
        ERRORS: error_page(),
    }


def stale(root: Path) -> list[Path]:
    """Return the generated files under `root` that are stale."""
    return [
        place
        for place, text in generated(root).items()
        if not (root / place).is_file() or (root / place).read_text(encoding="utf-8") != text
    ]


def write(root: Path) -> list[Path]:
    """Write the files that are stale and return them."""
    paths = stale(root)
    texts = generated(root)
    for place in paths:
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_text(texts[place], encoding="utf-8")
    return paths


def main(arguments: Sequence[str]) -> int:
    """Run the command; the result is its exit code."""
    parser = argparse.ArgumentParser(prog=COMMAND, description="Write the generated files of the protocol.")
    parser.add_argument("--check", action="store_true", help="write nothing, exit 1 if a file is stale")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[3], help="the checkout")
    options = parser.parse_args(arguments)
    if options.check:
        stale_files = stale(options.root)
        for place in stale_files:
            sys.stderr.write(f"{place} is stale: run `make gen`\n")
        return 1 if stale_files else 0
    for place in write(options.root):
        sys.stdout.write(f"wrote {place}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
