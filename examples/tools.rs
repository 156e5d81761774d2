//! tools.
fn main() {}
