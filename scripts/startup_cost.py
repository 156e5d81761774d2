#!/usr/bin/env python3
"""What 10,000 registered harnesses cost a program that looks all of them up by name, in milliseconds.

A program with that many `#[tool_harness]` blocks is written into the target folder and run many times, because only the
first look-up of a process makes the index, on memory that nothing has touched before. No part of the checks of a change:
the program takes minutes to compile.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent

WORKSPACE = """[workspace]
resolver = "3"
members = ["harnesses", "program"]
# Ten thousand harnesses are only data, and take long enough to compile as they are.
[profile.release.package.harnesses]
opt-level = 0
"""
PACKAGE = f"""[package]
name = "NAME"
version = "0.0.0"
edition = "2024"
[dependencies]
hpd-agent = {{ path = "{ROOT / "hpd-agent"}" }}
"""
PROGRAM = """use harnesses as _;
use hpd_agent::tool::registry;

fn main() {
    let names: Vec<String> = (0..COUNT).map(|number| format!("harness-of-a-team-{number}")).collect();
    let begin = std::time::Instant::now();
    registry::harness(&names[COUNT / 2]).unwrap();
    let first = begin.elapsed();
    for name in &names {
        registry::harness(name).unwrap();
    }
    let all = begin.elapsed();
    println!("{} {}", first.as_nanos(), all.as_nanos());
}
"""


def write(folder, count):
    harnesses = "".join(
        f'struct T{number};\n#[tool_harness(name = "harness-of-a-team-{number}")]\nimpl T{number} {{}}\n'
        for number in range(count)
    )
    for name, source in (
        ("harnesses/src/lib.rs", "use hpd_agent::tool_harness;\n" + harnesses),
        ("program/src/main.rs", PROGRAM.replace("COUNT", str(count))),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(source)
    (folder / "harnesses/Cargo.toml").write_text(PACKAGE.replace("NAME", "harnesses"))
    (folder / "program/Cargo.toml").write_text(
        PACKAGE.replace("NAME", "program") + 'harnesses = { path = "../harnesses" }\n'
    )
    (folder / "Cargo.toml").write_text(WORKSPACE)
    shutil.copy(ROOT / "Cargo.lock", folder)
    shutil.copy(ROOT / "rust-toolchain.toml", folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=10_000, help="harnesses")
    parser.add_argument("--runs", type=int, default=200)
    options = parser.parse_args()

    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
    folder = target / "startup-cost"
    write(folder, options.count)
    environment = {**os.environ, "CARGO_TARGET_DIR": str(folder / "target")}
    subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=folder, env=environment, check=True)

    program = folder / "target/release/program"
    runs = []
    for _ in range(options.runs):
        output = subprocess.run([program], check=True, stdout=subprocess.PIPE).stdout
        runs.append([int(number) / 1e6 for number in output.split()])
    print(f"{options.count} harnesses, {options.runs} runs; milliseconds\n")
    print(f"{'':30}  least  median")
    for label, column in (("the first look-up", 0), ("that and all look-ups", 1)):
        values = [run[column] for run in runs]
        print(f"{label:30}  {min(values):5.2f}  {statistics.median(values):6.2f}")


if __name__ == "__main__":
    main()
