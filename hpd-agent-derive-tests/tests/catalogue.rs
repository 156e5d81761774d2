//! The catalogue of diagnostics in the book, beside the diagnostics that there are: no code without a page, no page
//! without a code, and nothing quoted that the compiler does not say.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The one code whose case is not a program but a whole package, in `without_dependency.rs`.
const PACKAGE_CASE: &str = "HPD0008";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The files of a folder that have this extension, with their text, by their names without it.
fn files(folder: &str, extension: &str) -> BTreeMap<String, String> {
    let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().path());
    let wanted = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
    wanted.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(&path))).collect()
}

/// Every `HPD` with exactly four digits behind it.
fn codes_in(text: &str) -> BTreeSet<String> {
    let found = text.split("HPD").skip(1).filter_map(|rest| {
        let digits = rest.chars().take_while(char::is_ascii_digit).collect::<String>();
        (digits.len() == 4).then(|| format!("HPD{digits}"))
    });
    found.collect()
}

/// What the compiler says, by code. For the whole package: what the macro says, as its source has it.
fn said() -> BTreeMap<String, String> {
    let mut said = files("hpd-agent-derive-tests/tests/ui", "stderr");
    said.retain(|name, _| name.starts_with("HPD"));
    let source = read("hpd-agent-macros/src/problem.rs");
    let joined = source.split("\\\n").map(str::trim_start).collect::<String>();
    said.insert(PACKAGE_CASE.to_owned(), joined);
    said
}

fn pages() -> BTreeMap<String, String> {
    files("docs/src/diagnostics", "md")
}

/// The heading of a page, without the code.
fn title<'p>(code: &str, page: &'p str) -> &'p str {
    let heading = page.lines().next().unwrap_or_default();
    heading.strip_prefix(&format!("# {code}: ")).unwrap_or_else(|| panic!("{code} has the heading {heading:?}"))
}

/// The rows of the table: code, title, who finds it.
fn index() -> Vec<[String; 3]> {
    let rows = read("docs/src/diagnostics.md");
    let rows = rows.lines().filter_map(|line| {
        let row = line.strip_prefix("| [HPD")?.strip_suffix(" |")?;
        let (code, row) = row.split_once("](diagnostics/")?;
        let (file, row) = row.split_once(") | ")?;
        assert_eq!(file, format!("HPD{code}.md"));
        let (title, by) = row.split_once(" | ")?;
        Some([format!("HPD{code}"), title.to_owned(), by.to_owned()])
    });
    rows.collect()
}

/// A line of the compiler's without the number of the source line before it.
fn without_gutter(line: &str) -> &str {
    line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())
}

#[test]
fn codes_cases_pages_and_tables_are_the_same() {
    let codes: BTreeSet<String> = said().into_keys().collect();
    assert_eq!(pages().into_keys().collect::<BTreeSet<_>>(), codes, "pages in docs/src/diagnostics");
    let listed: Vec<String> = index().into_iter().map(|[code, ..]| code).collect();
    assert_eq!(listed, codes.iter().cloned().collect::<Vec<_>>(), "the table in docs/src/diagnostics.md");
    assert_eq!(codes_in(&read("docs/src/SUMMARY.md")), codes, "docs/src/SUMMARY.md");
    for package in ["hpd-agent/src", "hpd-agent-macros/src"] {
        for (path, text) in sources(root().join(package)) {
            let unknown: Vec<_> = codes_in(&text).difference(&codes).cloned().collect();
            assert!(unknown.is_empty(), "{} has codes without a page: {unknown:?}", path.display());
        }
    }
    // The macro's codes are numbers there.
    let problem = read("hpd-agent-macros/src/problem.rs");
    let numbers = problem.split_once("const fn number").unwrap().1.split_once("\n    }\n").unwrap().0;
    let numbers: BTreeSet<String> = numbers
        .lines()
        .filter_map(|line| line.rsplit_once("=> ")?.1.trim_end_matches(',').parse::<u16>().ok())
        .map(|number| format!("HPD{number:04}"))
        .collect();
    assert!(numbers.len() > 30 && numbers.is_subset(&codes), "codes of the macro: {numbers:?}");
}

fn sources(folder: PathBuf) -> Vec<(PathBuf, String)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let found = paths.flat_map(|path| match path.extension().and_then(|extension| extension.to_str()) {
        None => sources(path),
        Some("rs") => vec![(path.clone(), read(path))],
        Some(_) => Vec::new(),
    });
    found.collect()
}

#[test]
fn a_code_has_one_meaning_and_one_title() {
    let summary = read("docs/src/SUMMARY.md");
    let index: BTreeMap<String, String> = index().into_iter().map(|[code, title, _]| (code, title)).collect();
    let mut titles = BTreeMap::new();
    for (code, page) in pages() {
        let title = title(&code, &page);
        assert_eq!(index.get(&code).map(String::as_str), Some(title), "{code} in the table");
        let listed = format!("  - [{code}: {title}](diagnostics/{code}.md)");
        assert!(summary.lines().any(|line| line == listed), "SUMMARY.md has no line {listed:?}");
        if let Some(other) = titles.insert(title.to_owned(), code.clone()) {
            panic!("{other} and {code} have one title: {title}");
        }
    }
}

#[test]
fn the_table_says_who_finds_it() {
    let said = said();
    for [code, _, by] in index() {
        let text = &said[&code];
        let by: BTreeSet<&str> = by.split(", ").filter(|who| *who != "`build()`").collect();
        let mut found = BTreeSet::new();
        for line in text.lines().filter(|line| line.starts_with("error") && line.contains(&code)) {
            found.insert(match line.split_once(": ").unwrap() {
                ("error", _) => "macro",
                ("error[E0080]", _) => "const evaluation",
                _ => "type check",
            });
        }
        if code == PACKAGE_CASE {
            found.insert("macro");
        }
        assert_eq!(by, found, "{code}");
    }
}

#[test]
fn a_page_shows_the_mistake_what_is_said_of_it_and_the_repair() {
    let said = said();
    for (code, page) in pages() {
        let said = &said[&code];
        let quote = page.split_once("\n```text\n").and_then(|(_, rest)| rest.split_once("\n```"));
        let quote = quote.unwrap_or_else(|| panic!("{code} quotes nothing")).0;
        assert!(quote.contains(&code), "{code} does not quote its code");
        assert!(page.contains("\n```rust\n"), "{code} has no program that is right");
        if code == PACKAGE_CASE {
            let message = quote.strip_prefix(&format!("error: {code}: ")).unwrap();
            assert!(said.contains(message), "{code}: the macro does not say {message:?}");
            continue;
        }
        assert!(said.replace(&format!("ui/{code}"), "").contains(&code), "{code}.stderr is about something else");
        let example = read(format!("hpd-agent-derive-tests/tests/ui/{code}.rs"));
        assert!(example.contains("\n// ANCHOR: example\n") && example.contains("\n// ANCHOR_END: example\n"), "{code}");
        let include =
            format!("```rs\n{{{{#include ../../../hpd-agent-derive-tests/tests/ui/{code}.rs:example}}}}\n```");
        assert!(page.contains(&include), "{code} does not show its example");
        // In order, each line as far as the page has it.
        let mut lines = said.lines().map(without_gutter);
        for line in quote.lines() {
            let wanted = without_gutter(line).trim_end_matches(" …");
            assert!(lines.any(|line| line.starts_with(wanted)), "{code}: the compiler does not say {wanted:?}");
        }
    }
}

#[test]
fn the_numbers_on_the_page_about_checks_are_true() {
    let page = read("docs/src/checks.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let (codes, programs) = (said().len(), files("hpd-agent-derive-tests/tests/ui", "stderr").len());
    let sentence = format!("There are {codes} codes; {programs} programs with mistakes are compiled");
    assert!(page.contains(&sentence), "docs/src/checks.md does not say: {sentence}");
}

#[test]
fn the_page_about_checks_has_every_problem_of_build() {
    let source = read("hpd-agent/src/agent/build_error.rs");
    let variants = source.split_once("pub enum BuildProblem {").unwrap().1.split_once("\n}\n").unwrap().0;
    let variants: Vec<&str> = variants
        .lines()
        .filter_map(|line| line.strip_prefix("    "))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()))
        .filter_map(|line| line.split(|c: char| !c.is_ascii_alphanumeric()).next())
        .collect();
    assert!(variants.contains(&"NoChatClient"), "{variants:?}");
    let page = read("docs/src/checks.md");
    for variant in variants {
        assert!(page.contains(&format!("\n| `{variant}` |")), "docs/src/checks.md has no row for `{variant}`");
    }
}

#[test]
fn the_macro_and_the_runtime_reserve_the_same_keys() {
    let [macros, runtime] = ["hpd-agent-macros/src/attribute.rs", "hpd-agent/src/event/thread.rs"].map(|path| {
        let text = read(path);
        text.split_once("const RESERVED_METADATA").unwrap().1.split_once("];").unwrap().0.to_owned()
    });
    assert_eq!(macros, runtime);
}
