//! A package that uses the macros and does not know the runtime crate by any name.
#![allow(clippy::expect_used, reason = "a test may fail loudly")]

use std::{fs, path::Path, process::Command};

const MANIFEST: &str = r#"[package]
name = "without-dependency"
edition = "2024"

[dependencies]
hpd-agent-macros = { path = "MACROS" }

[workspace]
"#;

const SOURCE: &str = "struct Tools;

#[hpd_agent_macros::tool_harness]
impl Tools {
    /// Searches.
    #[ai_function]
    fn search(&self) {}
}

#[hpd_agent_macros::tool_harness(crate = ::facade::hpd_agent)]
impl Tools {}
";

#[test]
fn the_missing_dependency_is_named_and_so_is_what_stands_in_for_it() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is in a workspace");
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let package = temporary.join("without-dependency");
    fs::create_dir_all(package.join("src")).expect("a folder");
    let macros = repository.join("hpd-agent-macros");
    fs::write(package.join("Cargo.toml"), MANIFEST.replace("MACROS", &macros.to_string_lossy())).expect("a manifest");
    fs::write(package.join("src/lib.rs"), SOURCE).expect("a source");
    fs::copy(repository.join("Cargo.lock"), package.join("Cargo.lock")).expect("the same versions");
    // The macros are built already: the same target folder, so nothing is built twice.
    let target = temporary.parent().expect("the target folder");
    let output = Command::new(env!("CARGO"))
        .args(["check", "--offline", "--quiet", "--color=never", "--manifest-path"])
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{text}");
    assert!(text.contains("error: HPD0008: this package does not depend on `hpd-agent`; add it, or name"), "{text}");
    assert!(text.contains("src/lib.rs:3:1"), "{text}");
    // With a path the package is not asked; what is wrong with the path is the compiler's to say.
    assert_eq!(text.matches("HPD0008").count(), 1, "{text}");
    assert!(text.contains("`facade`"), "{text}");
}
