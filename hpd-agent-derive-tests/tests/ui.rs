//! What is refused, and in which words. The expected texts are those of the pinned compiler.

#[test]
fn mistakes_are_named_where_they_are() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
