#!/usr/bin/env python3
"""What one `#[subagent]` and one `#[ai_function]` add to `cargo check`, in milliseconds.

For every form a package with many methods is written into the target folder, and a twin of it with the same methods
without attributes. Each round touches the source of every package in turn and checks it; a form costs the difference to
its twin, divided by the number of methods. Rounds alternate the packages, so what the machine does meanwhile meets all
of them. Beside them stand the attributes of rmcp, in the same run. No part of the checks of a change: it takes minutes.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent

HPD = "use hpd_agent::prelude::*;"
DERIVE = "#[derive(serde::Deserialize, schemars::JsonSchema)]"
STRUCT = "pub struct {name} {{ pub city: String, pub days: Option<u32> }}"


def struct(name):
    return DERIVE + "\n" + STRUCT.format(name=name) + "\n"


def sub_agent(arguments):
    def method(i):
        return f"""
    /// Reviews draft {i} and says what to do about it.
    #[subagent(agent_id = "team.reviewer_{i}"{arguments})]
    pub fn reviewer_{i}(&self) -> AgentConfig {{
        AgentConfig::new("Reviewer").with_system_instructions("Name what is wrong.")
    }}
"""

    return method


def function(attribute, parameters, city, ending="-> String"):
    def method(i):
        return f"""
    /// Gets the weather of place {i}.
    #[{attribute}]
    pub fn weather_{i}(&self{parameters.format(i=i)}) {ending} {{
        {city}.to_uppercase()
    }}
"""

    return method


SIGNATURE = """,
        /// The city, in English.
        city: String,
        /// How many days ahead.
        days: Option<u32>"""
ALL_POLICIES = """, name = "review-draft-{i}", description = "Reviews a draft.", context = ModelChoice,
        invocation_mode = AgentInvocationModePolicy::ModelChoice,
        availability = SubAgentAvailability::through_depth(2), lifecycle = Continuable, fork_compaction = Disable,
        tool_harnesses = [Other], metadata(team = "writing", priority = 2)"""
OTHER = "pub struct Other;\n#[tool_harness]\nimpl Other {}\n"

RMCP_IMPORTS = "use rmcp::{handler::server::wrapper::Parameters, tool, tool_router};"
RMCP_TYPE = "pub struct Tools;"


def one_argument(attribute, own, wrap="{}"):
    """A method with one struct for an argument, which all have in common or which is its own."""
    name = "Args{i}" if own else "Args"
    return function(attribute, ", args: " + wrap.format(name), "args.0.city" if wrap != "{}" else "args.city")


# Form: (dependencies, what stands before the block, attribute of the block, method, a struct for each method?)
FORMS = {
    "#[subagent], its id only": ("hpd", HPD, "#[tool_harness]", sub_agent(""), False),
    "#[subagent], nine arguments": ("hpd", HPD + "\n" + OTHER, "#[tool_harness]",
                                    lambda i: sub_agent(ALL_POLICIES.format(i=i))(i), False),
    "#[ai_function], no argument": ("hpd", HPD, "#[tool_harness]",
                                    function("ai_function", "", '"Oslo"'), False),
    "#[ai_function], two arguments": ("hpd", HPD, "#[tool_harness]",
                                      function("ai_function", SIGNATURE, "city"), False),
    "#[ai_function], a shared struct": ("hpd", HPD + "\n" + struct("Args"), "#[tool_harness]",
                                        one_argument("ai_function", False), False),
    "#[ai_function], a struct of its own": ("hpd", HPD, "#[tool_harness]",
                                            one_argument("ai_function", True), True),
    "the derives of such a struct alone": ("hpd", HPD, "", one_argument("must_use", True), True),
    "rmcp #[tool], a shared struct": ("rmcp", RMCP_IMPORTS + "\n" + struct("Args"), "#[tool_router]",
                                      one_argument("tool", False, "Parameters<{}>"), False),
    "rmcp #[tool], a struct of its own": ("rmcp", RMCP_IMPORTS, "#[tool_router]",
                                          one_argument("tool", True, "Parameters<{}>"), True),
}


def source(form, items):
    _, before, attribute, method, own = FORMS[form]
    structs = "".join(struct(f"Args{i}") for i in range(items)) if own else ""
    methods = "".join(method(i) for i in range(items))
    return f"#![allow(unused, dead_code)]\n{before}\n{structs}\npub struct Tools;\n{attribute}\nimpl Tools {{{methods}}}\n"


def twin(text):
    """Without attributes and doc comments. An attribute of several lines ends with `]` at the end of one."""
    lines, inside = [], False
    for line in text.splitlines():
        bare = line.strip()
        inside = inside or bare.startswith("#[")
        if not inside and not bare.startswith("///"):
            lines.append(line)
        inside = inside and not bare.endswith("]")
    return "\n".join(lines) + "\n"


def write(folder, items, forms):
    shutil.rmtree(folder / "packages", ignore_errors=True)
    dependencies = {
        "hpd": f'hpd-agent = {{ path = "{ROOT / "hpd-agent"}" }}',
        "rmcp": 'rmcp = { version = "1", default-features = false, features = ["server", "macros", "schemars"] }',
    }
    packages = {}
    for number, form in enumerate(forms):
        kind = FORMS[form][0]
        text = source(form, items)
        for suffix, content in (("", text), ("-twin", twin(text))):
            name = f"form{number}{suffix}"
            package = folder / "packages" / name
            (package / "src").mkdir(parents=True)
            (package / "src/lib.rs").write_text(content)
            (package / "Cargo.toml").write_text(
                f'[package]\nname = "{name}"\nversion = "0.0.0"\nedition = "2024"\n[dependencies]\n'
                f'{dependencies[kind]}\nserde = {{ version = "1", features = ["derive"] }}\nschemars = "1"\n'
            )
            packages[name] = package / "src/lib.rs"
    (folder / "Cargo.toml").write_text('[workspace]\nresolver = "3"\nmembers = ["packages/*"]\n')
    if not (folder / "Cargo.lock").exists():
        shutil.copy(ROOT / "Cargo.lock", folder)
    shutil.copy(ROOT / "rust-toolchain.toml", folder)
    return packages


def check(folder, package, incremental=True):
    """Wall and processor time of one `cargo check`, in seconds."""
    environment = {
        **os.environ,
        "CARGO_TARGET_DIR": str(folder / "target"),
        "CARGO_INCREMENTAL": "1" if incremental else "0",
    }
    command = ["cargo", "check", "--quiet", "--package", package]
    begin = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"`{' '.join(command)}` failed in {folder}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--items", type=int, default=200, help="methods in each package")
    parser.add_argument("--from-nothing", action="store_true", help="without what the compiler remembers of the last check")
    parser.add_argument("--optimized", action="store_true", help="with optimized macros, which is not the default")
    parser.add_argument("--only", default="", help="forms whose name has this text in it")
    options = parser.parse_args()

    forms = [form for form in FORMS if options.only in form]
    folder = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "compile-cost"
    folder.mkdir(parents=True, exist_ok=True)
    packages = write(folder, options.items, forms)
    if options.optimized:
        with (folder / "Cargo.toml").open("a") as manifest:
            manifest.write("[profile.dev.build-override]\nopt-level = 3\n")
    for name in packages:
        check(folder, name, not options.from_nothing)

    times = {name: [] for name in packages}
    for _ in range(options.rounds):
        for name, file in packages.items():
            file.touch()
            times[name].append(check(folder, name, not options.from_nothing))

    print(f"{options.items} methods, {options.rounds} rounds; milliseconds per method beside plain ones\n")
    print(f"{'':37}  median  least  processor  whole check")
    for number, form in enumerate(forms):
        pairs = list(zip(times[f"form{number}"], times[f"form{number}-twin"]))
        wall = [(one[0] - plain[0]) / options.items * 1e3 for one, plain in pairs]
        least = (min(one[0] for one, _ in pairs) - min(plain[0] for _, plain in pairs)) / options.items * 1e3
        processor = [(one[1] - plain[1]) / options.items * 1e3 for one, plain in pairs]
        whole = statistics.median(one[0] for one, _ in pairs)
        print(
            f"{form:37}  {statistics.median(wall):6.2f}  {least:5.2f}  {statistics.median(processor):9.2f}"
            f"  {whole:9.2f} s"
        )


if __name__ == "__main__":
    main()
