//! The macros of `hpd-agent`. Use them through that crate.
