use std::{process::Stdio, sync::mpsc, time::Duration};

use serde_json::{Value, json};

use crate::support::{
    Ended, LIGHTHOUSE, PATIENCE, Reply, example, is_of, last_message, lighthouse, run, server, without_terminal,
};

fn assert_delegated(ended: &Ended) {
    let Ended { code, stdout, stderr } = ended;
    assert_eq!(*code, Some(0), "{stderr}");
    assert!(stdout.contains("## summarizer") && stdout.contains("## reviewer"), "{stdout}");
    assert!(stdout.contains("Marrow Point"), "{stdout}");
    assert!(!stdout.contains("[Coordinator"), "the answer is alone on standard output: {stdout}");
    for part in [
        "offline client",
        "[Coordinator]\n  asks offline/",
        "  → summarizer {\"input\":\"The light at Marrow Point",
        "  ↓ delegates to `summarizer` (agent quickstart.summarizer, context Fork",
        "    [Coordinator › summarizer]\n      asks offline/",
        "      │ - ",
        "  ↑ `reviewer` has answered",
        "tokens ",
        "in all ",
    ] {
        assert!(stderr.contains(part), "no `{part}` in\n{stderr}");
    }
}

#[test]
fn a_file_is_delegated_and_answered() {
    assert_delegated(&run(example("quickstart").arg("--yes").arg(lighthouse()), b""));
}

#[test]
fn standard_input_is_a_document_with_or_without_a_dash() {
    assert_delegated(&run(example("quickstart").arg("--yes"), LIGHTHOUSE.as_bytes()));
    assert_delegated(&run(example("quickstart").args(["-", "-y"]), LIGHTHOUSE.as_bytes()));
}

#[test]
fn a_short_text_is_delegated_too() {
    let ended = run(example("quickstart").arg("--yes"), b"Hello there. This is a text.");
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("## summarizer\n\n- Hello there.\n- This is a text."), "{}", ended.stdout);
    assert!(ended.stdout.contains("## reviewer"), "{}", ended.stdout);
}

#[test]
fn without_a_terminal_delegations_are_denied_and_the_way_out_is_named() {
    let Some(mut command) = without_terminal("quickstart") else { return };
    let ended = run(command.arg(lighthouse()), b"");
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("`summarizer` is denied: there is no terminal"), "{}", ended.stderr);
    assert!(ended.stderr.contains("2 calls were denied") && ended.stderr.contains("--yes"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("delegates to"), "{}", ended.stderr);
}

#[test]
fn what_is_wrong_with_a_document_is_said() {
    let folder = env!("CARGO_MANIFEST_DIR");
    for (arguments, input, code, expected) in [
        (&["no-such-file"][..], &b""[..], 1, "there is no file `no-such-file`"),
        (&[folder], b"", 1, "is a directory"),
        (&[], b" \n", 1, "`standard input` is empty"),
        (&["-"], b"caf\xe9", 1, "no UTF-8 text (byte 3"),
        (&["a", "b"], b"", 2, "`b` is one argument too many"),
        (&["--nope"], b"", 2, "no option `--nope`"),
        (&["--model", "gpt-5"], b"x", 2, "expected PROVIDER/MODEL"),
        (&["--model", "openai/gpt-5"], b"x", 1, "set OPENAI_API_KEY"),
    ] {
        let ended = run(example("quickstart").args(arguments), input);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{arguments:?}: {}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
    let ended = run(example("quickstart").arg("-"), &vec![b'a'; (1 << 20) + 1]);
    assert!(ended.code == Some(1) && ended.stderr.contains("too large"), "{}", ended.stderr);
    let ended = run(example("quickstart").arg("--help"), b"");
    assert!(ended.code == Some(0) && ended.stdout.contains("Usage: quickstart"), "{}", ended.stdout);
}

#[test]
fn nobody_who_reads_is_no_reason_to_panic() {
    for close_errors in [false, true] {
        let mut command = example("quickstart");
        let command = command.arg("--yes").arg(lighthouse()).stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        if close_errors {
            drop(child.stderr.take());
        }
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(141), "{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

/// A model that delegates to both children at once and answers when it has their results.
pub(crate) fn coordinator(request: &Value) -> Option<Reply> {
    let role = last_message(request)["role"].as_str();
    match (is_of(request, "Call the tools"), role) {
        (true, Some("tool")) => Some(Reply::text("Both have answered.")),
        (true, _) => {
            let call = |name| (name, json!({"input": "Do your work."}));
            Some(Reply::Calls(vec![call("summarizer"), call("reviewer")]))
        }
        _ => None,
    }
}

#[test]
fn a_server_of_ones_own_is_found_by_its_address_and_children_do_not_mix_their_lines() {
    let url = server(|request| {
        coordinator(request).unwrap_or_else(|| {
            let word = if is_of(request, "Summarize") { "alpha " } else { "omega " };
            let pieces = (1..=12).map(|n| format!("{word}{}", if n % 4 == 0 { "\n" } else { "" }));
            Reply::Text(pieces.collect(), Duration::from_millis(15))
        })
    });
    let ended = run(example("quickstart").arg("--yes").env("HPD_BASE_URL", &url), LIGHTHOUSE.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "Both have answered.\n");
    assert!(ended.stderr.contains(&format!("model: openai-compatible/tiny (at {url})")), "{}", ended.stderr);
    let lines: Vec<_> = ended.stderr.lines().filter(|line| line.contains("alpha") || line.contains("omega")).collect();
    for word in ["alpha", "omega"] {
        let of_word = lines.iter().filter(|line| line.matches(word).count() == 4 && line.starts_with("      │ "));
        // The three lines of the child, unbroken; the result's preview is a fourth one of another form.
        assert_eq!(of_word.count(), 3, "{}", ended.stderr);
    }
}

#[test]
fn a_model_that_fails_ends_the_run_with_its_words() {
    let url = server(|_| Reply::Status(400, "no such luck"));
    let ended = run(example("quickstart").arg("--yes").env("HPD_BASE_URL", &url), LIGHTHOUSE.as_bytes());
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("quickstart: agent `Coordinator`"), "{}", ended.stderr);
    assert_eq!(ended.stderr.matches("no such luck").count(), 1, "{}", ended.stderr);
    assert_eq!(ended.stdout, "");
}

#[test]
fn a_child_that_fails_is_a_result_for_its_parent() {
    let url = server(|request| coordinator(request).unwrap_or(Reply::Status(400, "no such luck")));
    let ended = run(example("quickstart").arg("--yes").env("HPD_BASE_URL", &url), LIGHTHOUSE.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("↑ `summarizer` has failed: "), "{}", ended.stderr);
    assert!(ended.stderr.contains("← reviewer (an error): "), "{}", ended.stderr);
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_the_run_and_says_so() {
    let (arrived, arrivals) = mpsc::channel();
    let url = server(move |request| {
        coordinator(request).unwrap_or_else(|| {
            arrived.send(()).unwrap();
            Reply::Hold
        })
    });
    let mut command = example("quickstart");
    let command = command.arg("--yes").arg(lighthouse()).env("HPD_BASE_URL", url).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let id = child.id().to_string();
    // Both children wait for their model.
    for _ in 0..2 {
        arrivals.recv_timeout(PATIENCE).unwrap();
    }
    assert!(std::process::Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("↑ `summarizer` was cancelled"), "{stderr}");
    assert!(stderr.ends_with("quickstart: cancelled\n"), "{stderr}");
}

#[test]
fn a_model_that_calls_only_if_it_must_and_one_tool_at_a_time_delegates_to_both() {
    let url = server(|request| {
        if request["max_tokens"] != 50 && request["max_completion_tokens"] != 50 {
            return Reply::Status(400, "no limit");
        }
        match (is_of(request, "Call the tools"), &request["tool_choice"], &request["tools"][0]["function"]["name"]) {
            (false, ..) => Reply::text("Done as told."),
            (true, choice, name) if choice == "required" => {
                let name = if name == "summarizer" { "summarizer" } else { "reviewer" };
                Reply::Calls(vec![(name, json!({"input": "Do your work."}))])
            }
            (true, ..) => Reply::Text(vec![last_message(request)["content"].to_string()], Duration::ZERO),
        }
    });
    let mut command = example("quickstart");
    let command = command.args(["--yes", "--delegate", "--max-tokens=50"]).env("HPD_BASE_URL", &url);
    let ended = run(command, LIGHTHOUSE.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for name in ["summarizer", "reviewer"] {
        assert!(ended.stderr.contains(&format!("↑ `{name}` has answered")), "{}", ended.stderr);
        assert!(ended.stdout.contains(&format!("The result of `{name}`:\\n\\nDone as told.")), "{}", ended.stdout);
    }
}
