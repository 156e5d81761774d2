#!/usr/bin/env python3
"""Refuses paths of a build machine in what is tracked: a file that holds one works on that machine only."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The brackets keep this file from finding itself.
FORBIDDEN = re.compile(rb"(?<![\w.*-])/(?:[w]ork|[r]oot|[h]ome/[\w.-]+)/")
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")


def main():
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout.split(b"\0")
    problems = []
    for name in sorted(filter(None, names)):
        path = ROOT / name.decode()
        if not path.is_file() or path.name in LICENCES:
            continue
        for number, line in enumerate(path.read_bytes().splitlines(), 1):
            if found := FORBIDDEN.search(line):
                problems.append(f"{name.decode()}:{number}: {found.group(0).decode()}")
    for problem in problems:
        print(problem, file=sys.stderr)
    if problems:
        sys.exit(f"{len(problems)} lines name a path of a build machine")
    print("no path of a build machine in what is tracked")


if __name__ == "__main__":
    main()
