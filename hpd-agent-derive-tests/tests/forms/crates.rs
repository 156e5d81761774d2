//! Harnesses of other packages: under another name, behind a facade, in a library.

use harness_library as _;
use hpd_agent::tool::registry;

use super::*;

#[tokio::test]
async fn a_package_may_give_the_dependency_another_name() {
    let tools = renamed::RenamedTools;
    assert_eq!(methods(&tools), ["reviewer", "researcher", "add", "echo"]);
    assert_eq!(text(&tools, "add", r#"{"a":1,"b":2}"#).await, "3");
    assert_eq!(text(&tools, "echo", r#"{"text":"x"}"#).await, "x");
    assert_eq!(define(&tools, "reviewer").await.unwrap().agent_id(), "renamed.reviewer");
    assert_eq!(function(&tools, "add").params.iter().next().unwrap().doc, Some("The first."));
    assert!(function(&tools, "echo").exclusive && function(&tools, "echo").requires_permission);
    assert_eq!(registry::harness("RenamedTools").unwrap().package(), "renamed");
}

#[tokio::test]
async fn a_package_may_know_a_facade_only() {
    let tools = facade_user::FacadeTools;
    assert_eq!(text(&tools, "echo", r#"{"text":"x"}"#).await, "x");
    assert_eq!(define(&tools, "reviewer").await.unwrap().agent_id(), "facade.reviewer");
    assert_eq!(registry::harness("behind-facade").unwrap().package(), "facade-user");
}

#[tokio::test]
async fn a_module_may_do_without_a_prelude() {
    let bare = bare::HARNESS;
    assert_eq!(text(bare, "echo", r#"{"text":"x"}"#).await, "x");
    assert_eq!(refusal(bare, "echo", "").await, "no text");
    assert_eq!(text(bare, "add", r#"{"a":1,"b":2}"#).await, "3");
    assert_eq!(define(bare, "reviewer").await.unwrap().agent_id(), "bare.reviewer");
    assert_eq!(define(bare, "researcher").await.unwrap().agent_id(), "test");
    assert!(registry::harness("Bare").unwrap().module().ends_with("::bare"));
}

#[tokio::test]
async fn a_package_may_tolerate_no_lint() {
    let (tools, place, child) = strict::StrictTools::new("lint".to_owned());
    assert_eq!((child.name(), place.file().ends_with("crates.rs")), ("ChildTools", true));
    assert_eq!(methods(&tools), ["reviewer", "researcher", "fixed", "add", "length", "now", "constant", "echo"]);
    assert_eq!(sub_agent(&tools, "reviewer").availability.unwrap().deepest_child(), Some(2));
    assert_eq!(define(&tools, "reviewer").await.unwrap().agent_id(), "strict.reviewer");
    assert_eq!(define(&tools, "fixed").await.unwrap().agent_id(), "strict.fixed");
    assert_eq!(text(&tools, "add", r#"{"first":1}"#).await, "2");
    assert_eq!(text(&tools, "echo", r#"{"text":"x"}"#).await, "x");
    assert_eq!(registry::harness("strict").unwrap().package(), "strict");
}

#[tokio::test]
async fn a_package_may_be_of_an_older_edition() {
    let tools: [(&str, Box<dyn ErasedHarness>); 2] = [
        ("edition-2018", Box::new(edition_2018::EditionTools)),
        ("edition-2021", Box::new(edition_2021::EditionTools)),
    ];
    for (name, tools) in tools {
        assert_eq!(methods(&*tools), ["reviewer", "add"]);
        assert_eq!(define(&*tools, "reviewer").await.unwrap().agent_id(), name);
        assert_eq!(sub_agent(&*tools, "reviewer").metadata.unwrap()()["dyn"], 1);
        assert_eq!(text(&*tools, "add", r#"{"gen":1}"#).await, "2");
        assert_eq!(function(&*tools, "add").params.iter().next().unwrap().name, "gen");
        assert_eq!(registry::harness(name).unwrap().package(), name);
    }
}

#[test]
fn a_library_that_is_named_is_registered() {
    let found = registry::harness("LibraryTools").unwrap();
    assert_eq!((found.package(), found.module()), ("harness-library", "harness_library"));
    assert!(found.location().file().ends_with("src/lib.rs"));
    assert_eq!(found.harness().name(), "LibraryTools");
}

#[test]
fn a_library_that_is_not_named_is_not_linked_and_the_error_says_so() {
    let error = registry::harness("UnnamedTools").unwrap_err();
    assert_eq!(error.code(), "unknown_harness");
    assert!(error.to_string().contains("`use the_crate as _;`"), "{error}");
}

#[test]
fn all_harnesses_are_listed_by_name_unless_two_share_one() {
    // Two modules of these tests declare a `Tools`.
    let error = registry::harnesses().unwrap_err();
    assert_eq!(error.code(), "duplicate_harness");
    assert!(error.to_string().contains("`Tools`") && error.to_string().contains("conditional.rs"), "{error}");
    assert!(registry::harness("Tools").is_err());
}
