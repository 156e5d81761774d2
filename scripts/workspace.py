#!/usr/bin/env python3
"""Prints what the workspace has, one a line: `features PACKAGE` (without `default`) or `examples` (of all packages)."""

import json
import subprocess
import sys


def packages():
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)["packages"]


def main():
    match sys.argv[1:]:
        case ["features", name]:
            found = [package for package in packages() if package["name"] == name]
            if not found:
                sys.exit(f"the workspace has no package `{name}`")
            lines = [feature for feature in found[0]["features"] if feature != "default"]
        case ["examples"]:
            targets = [target for package in packages() for target in package["targets"]]
            lines = [target["name"] for target in targets if "example" in target["kind"]]
        case _:
            sys.exit(f"usage: {sys.argv[0]} features PACKAGE | examples")
    for line in sorted(lines):
        print(line)


if __name__ == "__main__":
    main()
