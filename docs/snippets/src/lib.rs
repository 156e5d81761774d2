//! The Rust snippets of `README.md` and of the book in `docs/`, as documentation tests.
//!
//! Every page is the documentation of a module that exists in documentation tests only, so `cargo test` compiles and
//! runs its snippets. A page that is missing here fails a test. A line that begins with `# ` is compiled but not shown.

/// One module for each page, and the list of the pages. After the pages with names of their own come the codes of the
/// diagnostics, each with a page.
macro_rules! pages {
    ($($module:ident: $path:literal,)* ; $($code:ident)*) => {
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../", $path))]
            mod $module {}
        )*
        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../docs/src/diagnostics/", stringify!($code), ".md"))]
            #[allow(non_snake_case, reason = "the name of a test is that of its page")]
            mod $code {}
        )*

        #[cfg(test)]
        const PAGES: &[&str] =
            &[$($path,)* $(concat!("docs/src/diagnostics/", stringify!($code), ".md")),*];
    };
}

pages! {
    readme: "README.md",
    architecture: "docs/ARCHITECTURE.md",
    checks: "docs/src/checks.md",
    clients: "docs/src/clients.md",
    context: "docs/src/context.md",
    conversations: "docs/src/conversations.md",
    declaring: "docs/src/declaring.md",
    diagnostics: "docs/src/diagnostics.md",
    dynamic: "docs/src/dynamic.md",
    events: "docs/src/events.md",
    getting_started: "docs/src/getting-started.md",
    introduction: "docs/src/introduction.md",
    limits_and_errors: "docs/src/limits-and-errors.md",
    performance: "docs/src/performance.md",
    permissions: "docs/src/permissions.md",
    providers: "docs/src/providers.md",
    schemas: "docs/src/schemas.md",
    testing: "docs/src/testing.md",
    ;
    HPD0001 HPD0002 HPD0003 HPD0004 HPD0005 HPD0006 HPD0007 HPD0008
    HPD0010 HPD0011 HPD0012 HPD0013 HPD0014 HPD0015 HPD0016 HPD0017 HPD0018 HPD0019
    HPD0020 HPD0021 HPD0022 HPD0023 HPD0024 HPD0025 HPD0026
    HPD0030 HPD0031
    HPD0040 HPD0041 HPD0042 HPD0043 HPD0044 HPD0045 HPD0046
    HPD0050 HPD0051 HPD0052 HPD0053 HPD0054 HPD0055 HPD0056 HPD0057 HPD0058
    HPD0060 HPD0061 HPD0062 HPD0064
    HPD0070 HPD0071 HPD0072
    HPD0080
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    use super::PAGES;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    /// The Markdown files below `folder`, as paths from the root of the project.
    fn pages_below(folder: &str, found: &mut BTreeSet<String>) {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            if entry.file_type().unwrap().is_dir() {
                pages_below(&path, found);
            } else if path.ends_with(".md") {
                found.insert(path);
            }
        }
    }

    /// Whether all that a page shows comes from another page, which is tested itself.
    fn only_includes(path: &str) -> bool {
        let text = fs::read_to_string(root().join(path)).unwrap();
        text.lines().all(|line| line.trim().is_empty() || line.starts_with("{{#include "))
    }

    #[test]
    fn every_page_of_the_book_is_compiled() {
        let mut pages = BTreeSet::new();
        pages_below("docs/src", &mut pages);
        let missing: Vec<_> = pages
            .iter()
            .filter(|path| !path.ends_with("/SUMMARY.md") && !only_includes(path))
            .filter(|path| !PAGES.contains(&path.as_str()))
            .collect();
        assert!(missing.is_empty(), "add these to `pages!` in docs/snippets/src/lib.rs: {missing:?}");
    }

    #[test]
    fn a_snippet_that_is_not_compiled_says_what_it_waits_for() {
        for path in PAGES {
            let text = fs::read_to_string(root().join(path)).unwrap();
            let mut before = "";
            for (number, line) in text.lines().enumerate() {
                let ignored = line.starts_with("```rust") && line.contains("ignore");
                assert!(!ignored || before.starts_with("<!-- enable: "), "{path}:{}: compile this snippet", number + 1);
                before = line;
            }
        }
    }

    /// The programs that are wrong on purpose: documentation tests know nothing of the language `rs`, the book shows it
    /// like Rust.
    #[test]
    fn what_is_shown_as_rust_and_not_compiled_here_is_compiled_where_it_comes_from() {
        for path in PAGES {
            let text = fs::read_to_string(root().join(path)).unwrap();
            for (_, fence) in text.match_indices("\n```rs\n").map(|(at, fence)| text.split_at(at + fence.len())) {
                let shown = fence.split_once("```").unwrap().0;
                let included = shown.starts_with("{{#include ") && shown.trim_end().ends_with("}}");
                assert!(included && shown.lines().count() == 1, "{path}: include this from a test: {shown}");
            }
        }
    }
}
