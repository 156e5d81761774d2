use std::{fs, path::Path};

use crate::support::{example, lighthouse, run};

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("agents")
}

#[test]
fn agents_of_a_folder_are_delegated_to() {
    let ended = run(example("agents").arg("--yes").arg(folder()).arg(lighthouse()), b"");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("## summarizer") && ended.stdout.contains("## reviewer"), "{}", ended.stdout);
    for part in ["agents: reviewer, summarizer", "  ↓ delegates to `reviewer` (agent reviewer, context Fresh"] {
        assert!(ended.stderr.contains(part), "no `{part}` in\n{}", ended.stderr);
    }
}

#[test]
fn what_is_wrong_with_a_folder_is_said() {
    let ended = run(example("agents").arg("no-such-folder"), b"text");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("no-such-folder: cannot be read"), "{}", ended.stderr);
    assert_eq!(run(&mut example("agents"), b"text").code, Some(2));

    let broken = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken-agents");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("a.md"), "---\nname: a\ndescription: A.\ntool: Read\n---\nDo it.\n").unwrap();
    let ended = run(example("agents").arg(broken), b"text");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("a.md:4: there is no field `tool`: did you mean `tools`?"), "{}", ended.stderr);
}
