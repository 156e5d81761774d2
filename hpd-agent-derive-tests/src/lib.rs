//! Tests of the macros of `hpd-agent`, as a dependent sees them: what compiles and what it becomes (`tests/forms.rs`),
//! what is refused and in which words (`tests/ui.rs`).
