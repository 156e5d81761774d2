use std::time::Duration;

use crate::support::{LIGHTHOUSE, Reply, example, run, server};

/// Says how many messages the request has besides the system prompt.
fn counting() -> String {
    server(|request| {
        let count = request["messages"].as_array().unwrap().iter().filter(|m| m["role"] != "system").count();
        Reply::Text(vec![format!("I see "), format!("{count} messages.")], Duration::from_millis(5))
    })
}

#[test]
fn one_thread_goes_on_until_a_new_one_begins() {
    let input = b"one\n\n  two\n/new\nthree\n/usage\n/nope\n/quit\nnever read\n";
    let ended = run(example("chat").arg("--yes").env("HPD_BASE_URL", counting()), input);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, "I see 1 messages.\nI see 3 messages.\nI see 1 messages.\n");
    assert!(ended.stderr.contains("a new conversation"), "{}", ended.stderr);
    assert!(ended.stderr.contains("Assistant        3        21         9"), "{}", ended.stderr);
    assert!(ended.stderr.contains("`/nope` is no command"), "{}", ended.stderr);
}

#[test]
fn a_long_text_goes_to_the_subagent() {
    let input = LIGHTHOUSE.split_whitespace().collect::<Vec<_>>().join(" ");
    let ended = run(example("chat").arg("--yes"), input.as_bytes());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("## summarizer"), "{}", ended.stdout);
    assert!(ended.stderr.contains("    [Assistant › summarizer]\n"), "{}", ended.stderr);
}

#[test]
fn a_message_that_fails_does_not_end_the_conversation() {
    let url = server(|request| {
        match request["messages"].to_string().contains("fail") && !request["messages"].to_string().contains("again") {
            true => Reply::Status(400, "no such luck"),
            false => Reply::text("Better."),
        }
    });
    let ended = run(example("chat").env("HPD_BASE_URL", url), b"fail\nagain\n");
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.stdout, "Better.\n");
    assert!(ended.stderr.contains("error: agent `Assistant`"), "{}", ended.stderr);
    assert!(ended.stderr.contains("chat: not every message was answered"), "{}", ended.stderr);
}
