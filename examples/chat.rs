//! chat.
fn main() {}
