#!/usr/bin/env python3
"""Prints one of the two commands of the README's Quickstart: `run` (the main job) or `test` (the tests).

CI runs what this prints, so that the README cannot promise a command that CI does not run.
"""

import pathlib
import re
import sys

NAMES = ("run", "test")


def commands(text):
    section = re.search(r"^## Quickstart$(.*?)(?=^## |\Z)", text, re.M | re.S)
    if not section:
        sys.exit("README.md has no section `## Quickstart`")
    blocks = re.findall(r"^```sh\n(.*?)^```$", section.group(1), re.M | re.S)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in NAMES:
        sys.exit(f"usage: {sys.argv[0]} {'|'.join(NAMES)}")
    readme = pathlib.Path(__file__).resolve().parent.parent / "README.md"
    found = commands(readme.read_text(encoding="utf-8"))
    if len(found) != len(NAMES):
        sys.exit(f"the Quickstart of README.md must have exactly two commands in ```sh blocks, it has {len(found)}")
    print(found[NAMES.index(sys.argv[1])])


if __name__ == "__main__":
    main()
