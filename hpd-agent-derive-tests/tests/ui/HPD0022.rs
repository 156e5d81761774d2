//! Names of harnesses that are not legal: given, as a constant, and made of a type's name.
use hpd_agent::prelude::*;

#[derive(Default)]
struct Tools;

// ANCHOR: example
#[tool_harness(name = "my tools")]
impl Tools {}
// ANCHOR_END: example

const NAME: &str = "-";

#[derive(Default)]
struct Constant;

#[tool_harness(name = NAME)]
impl Constant {}

#[derive(Default)]
struct Größe;

#[tool_harness]
impl Größe {}

#[derive(Default)]
struct Names;

#[tool_harness(name = "")]
impl Names {}

fn main() {}
