use crate::support::{example, run, without_terminal};

#[test]
fn functions_and_a_subagent_work_without_a_model() {
    let ended = run(example("tools").arg("--yes"), b"");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("- The lighthouse dates from 1874.\n- The note `draft` is deleted."));
    for part in [
        "a script plays the model's part",
        "← read_note (an error): There is no note `the lighthouse`. The notes are: draft, lighthouse.",
        "• note_read {\"title\":\"lighthouse\",\"reader\":\"Librarian\",\"depth\":0}",
        "← list_notes: [\"draft\"]",
        "    [Librarian › editor]\n",
        "      ← measure: 5\n",
        "← delete_note: The note `draft` is deleted.",
    ] {
        assert!(ended.stderr.contains(part), "no `{part}` in\n{}", ended.stderr);
    }
    assert!(!ended.stderr.contains("tokens"), "a script takes none: {}", ended.stderr);
}

#[test]
fn only_what_needs_permission_is_denied() {
    let Some(mut command) = without_terminal("tools") else { return };
    let ended = run(&mut command, b"");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("← list_notes: [\"draft\"]"), "{}", ended.stderr);
    assert!(ended.stderr.contains("`delete_note` is denied"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("runs `delete_note`"), "{}", ended.stderr);
}
