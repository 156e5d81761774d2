//! Agents from definition files.

use std::{fs, path::PathBuf};

use hpd_agent::{
    chat::{ChatConfig, ChatOptions},
    compaction::ForkCompaction,
    definition::{DefinitionError, DefinitionFiles, DefinitionProblem},
    prelude::*,
    testing::{Reply, ScriptedChatClient},
    tool::DynamicRegistry,
};
use proptest::prelude::{prop, proptest};
use serde_json::json;

use crate::support::{builder, results};

fn codes(error: &DefinitionError) -> Vec<&'static str> {
    error.problems().iter().map(DefinitionProblem::code).collect()
}

fn harness(name: &str, tool: &str) -> DynamicHarness {
    let function = DynamicFunction::new(tool, "Does something.");
    DynamicHarness::new(name).with_function(function, |_, _| Box::pin(async { Ok("done") }))
}

fn registry() -> DynamicRegistry {
    let registry = DynamicRegistry::new();
    for (name, tool) in [("files.read", "read"), ("files.write", "write"), ("notes", "notes")] {
        registry.add(harness(name, tool)).unwrap();
    }
    registry
}

/// Files that know some models and tools.
fn files() -> DefinitionFiles {
    DefinitionFiles::new()
        .with_model("sonnet", ChatConfig::inherited(options("big-model")))
        .with_tool("Read", "files.read")
        .with_tool("Grep", "files.read")
        .with_tool("Write", "files.write")
}

fn options(model: &str) -> ChatOptions {
    let mut options = ChatOptions::default();
    options.model = Some(model.into());
    options
}

/// The definitions of an agent with this harness.
async fn definitions(harness: DynamicHarness) -> Vec<String> {
    let client = ScriptedChatClient::texts(["x"]);
    let builder = builder(&client).with_dynamic_registry(registry()).with_dynamic_harness(harness);
    let agent = builder.build().await.unwrap_or_else(|error| panic!("{error}"));
    agent.definitions().iter().map(hpd_agent::agent::AgentDefinition::to_json).collect()
}

/// An empty folder of its own.
fn folder(name: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("definitions-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

const REVIEWER: &str = "---
# What the parent is told.
name: code-reviewer
description: >-
  Reviews code for quality.
  Use it after every change.
tools: Read, Grep
---

You are a code reviewer.

Report what should be changed, and why.
";

fn reviewer() -> SubAgent {
    let config = AgentConfig::new("code-reviewer")
        .with_system_instructions("You are a code reviewer.\n\nReport what should be changed, and why.");
    SubAgent::from_config("code-reviewer", config)
        .with_description("Reviews code for quality. Use it after every change.")
        .with_context_policy(SubAgentContextPolicy::Fresh)
        .with_tool_harness_named("files.read")
}

#[tokio::test]
async fn a_file_is_the_declaration_that_it_describes() {
    let expected = definitions(DynamicHarness::new("team").with_sub_agent("code-reviewer", reviewer())).await;
    let (crlf, cr) = (REVIEWER.replace('\n', "\r\n"), REVIEWER.replace('\n', "\r"));
    for text in [REVIEWER, &format!("\u{feff}{REVIEWER}"), &crlf, &format!("\u{feff}{crlf}"), &cr] {
        let team = files().with_markdown("reviewer.md", text).load("team").unwrap();
        assert_eq!(definitions(team).await, expected, "{text:?}");
    }
    let prompt = "You are a code reviewer.\n\nReport what should be changed, and why.\n";
    let fields = json!({
        "description": "Reviews code for quality. Use it after every change.",
        "prompt": prompt,
        "tools": ["Read", "Grep"],
    });
    let mut named = fields.clone();
    named["name"] = json!("code-reviewer");
    for json in [json!({"code-reviewer": fields}), json!({"code-reviewer": named}), json!([named]), named] {
        let team = files().with_json("agents.json", json.to_string()).load("team").unwrap();
        assert_eq!(definitions(team).await, expected, "{json}");
    }
}

#[tokio::test]
async fn every_field_is_mapped() {
    let text = "---
name: worker
description: \"Works: on everything\"
model: sonnet
effort: high
maxTurns: 7
color: Blue
permissionMode: default
background: false
skills: []
hooks: {}
mcpServers:
tools: [Read, \"Write\"]
disallowedTools: Write, mcp__github
agent_id: team.worker
context: model-choice
invocation_mode: SynchronousOnly
availability: 2
lifecycle: one_shot
forkCompaction: Disable
toolHarnesses: notes
metadata:
  team: writing
  rounds: 3
---
Work.
";
    let mut chat = ChatConfig::inherited(options("big-model"));
    chat.options.effort = Some("high".into());
    let config = AgentConfig::new("worker").with_system_instructions("Work.").with_chat(chat).with_max_iterations(7);
    let expected = SubAgent::from_config("team.worker", config)
        .with_description("Works: on everything")
        .with_context_policy(SubAgentContextPolicy::ModelChoice)
        .with_availability(SubAgentAvailability::through_depth(2))
        .with_fork_compaction(ForkCompaction::Disable)
        .with_metadata("color", "blue")
        .with_metadata("team", "writing")
        .with_metadata("rounds", 3)
        .with_tool_harness_named("files.read")
        .with_tool_harness_named("notes");
    let team = files().with_markdown("worker.md", text).load("team").unwrap();
    let expected = definitions(DynamicHarness::new("team").with_sub_agent("worker", expected)).await;
    assert_eq!(definitions(team).await, expected);
}

/// Whoever writes a file has fields, and neither attributes nor methods.
#[tokio::test]
async fn advice_for_files_speaks_of_fields() {
    for (fields, advice) in [(
        "availability: any_allowed_depth\ntool_harnesses: team",
        "bound one of them with `availability: 2`, or permit it with `recursion: Allowed`",
    )] {
        let text = format!("---\nname: a\ndescription: A.\n{fields}\n---\nDo it.\n");
        let team = files().with_markdown("a.md", text).load("team").unwrap();
        let error = builder(&ScriptedChatClient::texts(["x"])).with_dynamic_harness(team).build().await.unwrap_err();
        let told = error.to_string();
        assert!(told.contains(advice) && !told.contains("::"), "{fields}: {told}");
    }
}

/// What is wrong with a text: the code of the problem, its line, and what its sentence says.
fn refused(code: &str, line: Option<u32>, text: &str, says: &[&str]) {
    let error = match files().with_markdown("a.md", text).load("team") {
        Ok(team) => panic!("{text:?} became {team:?}"),
        Err(error) => error,
    };
    let told = error.to_string();
    assert_eq!(codes(&error), [code], "{told}");
    let place = line.map_or("a.md: ".to_owned(), |line| format!("a.md:{line}: "));
    assert!(told.contains(&place), "{place:?} is missing in: {told}");
    for part in says {
        assert!(told.contains(part), "{part:?} is missing in: {told}");
    }
}

/// One field, in line 4 of a definition that is legal without it.
fn refused_field(code: &str, field: &str, says: &[&str]) {
    refused(code, Some(4), &format!("---\nname: a\ndescription: A.\n{field}\n---\nDo it.\n"), says);
}

#[test]
fn fields_that_are_wrong_are_named_with_what_is_right() {
    refused_field("unknown_field", "tool: Read", &["no field `tool`", "did you mean `tools`?"]);
    refused_field("unknown_field", "disallowed-tools: Read", &["did you mean `disallowedTools`?"]);
    refused_field("unknown_field", "zzzzzzzz: 1", &["no field `zzzzzzzz`: remove it"]);
    refused_field("wrong_value", "maxTurns: many", &["the text `many`", "a whole number from 1"]);
    refused_field("wrong_value", "maxTurns: 0", &["the number `0`"]);
    refused_field("wrong_value", "maxTurns: -1", &["the number `-1`"]);
    refused_field("wrong_value", "background: yes", &["the text `yes`", "`true` or `false`"]);
    refused_field("wrong_value", "effort: huge", &["`low`, `medium`, `high`, `xhigh`, `max`"]);
    refused_field("wrong_value", "color: beige", &["`purple`"]);
    refused_field("wrong_value", "context: Forked", &["`Fork`, `Fresh`, `Isolated`, `ModelChoice`"]);
    refused_field("wrong_value", "availability: 0", &["a whole number from 1"]);
    refused_field("wrong_value", "availability: everywhere", &["`any_allowed_depth`"]);
    refused_field("wrong_value", "tools: {Read: true}", &["an object", "a list of names"]);
    refused_field("wrong_value", "tools: [1]", &["`tools[0]` is the number `1`", "a name"]);
    refused_field("wrong_value", "agent_id: has space", &["the text `has space`", "1 to 128 characters"]);
    refused_field("wrong_value", "metadata: [1]", &["an object of keys and values"]);
    refused_field("wrong_value", "permissionMode: never", &["`bypassPermissions`"]);
    refused_field("wrong_value", "fork_compaction: {kind: sometimes}", &["what it is stored as", "sometimes"]);
    refused_field("wrong_value", "agent_id: 7", &["put it in quotes"]);
    refused_field("unknown_model", "model: opus", &["`opus`", "known: sonnet", "with_model"]);
    refused_field("not_supported", "prompt: Do it.", &["after the front matter"]);
    refused_field("not_supported", "permissionMode: bypassPermissions", &["with_permissions"]);
    refused_field(
        "not_supported",
        "tools: Read, Agent(worker, tester)",
        &["`Agent(worker, tester)`", "tool_harnesses"],
    );
    refused_field("not_supported", "tools: Bash(git diff:*)", &["permission policy"]);
    refused_field("not_supported", "tools: mcp__github__search", &["MCP"]);
    refused_field("not_supported", "tools: \"*\"", &["no others"]);
    refused_field("not_supported", "disallowedTools: Bash(rm:*)", &["permission policy"]);
    refused_field(
        "denied_and_given",
        "disallowedTools: Grep\ntools: Read",
        &["`Grep` is denied", "`files.read`", "`Read`"],
    );
    refused_field("not_supported", "disallowedTools: \"*\"", &["`tools: []`"]);
    refused_field(
        "denies_nothing",
        "disallowedTools: Raed\ntools: [Read, notes]",
        &["the agent has `Read`, `notes`", "leave the field out"],
    );
    refused_field("not_supported", "lifecycle: continuable", &["`lifecycle: Continuable`", "leave it out"]);
    refused_field(
        "not_supported",
        "fork_compaction: {kind: enabled, specification: {point: {kind: currentHead}, strategy: {kind: removal}}}",
        &["a specification in `fork_compaction`", "write `Inherit` or `Disable`"],
    );
    refused_field("wrong_value", "metadata: {team: x, kind: y}", &["the key `kind`", "choose another name"]);
    let context = "write `context: Fork` or `context: ModelChoice`";
    refused_field("excluded_policies", "fork_compaction: Disable", &[context]);
    let mode = "write `invocation_mode: BackgroundOnly` or `invocation_mode: ModelChoice`";
    refused_field("excluded_policies", "background_notification: None", &[mode]);
    for name in ["_a", "-a"] {
        let text = format!("---\ndescription: A.\nname: {name}\n---\nDo it.\n");
        refused("wrong_value", Some(3), &text, &[&format!("`{name}`"), "with `agent_id`"]);
        let text = text.replace("\nname", "\nagent_id: a\nname");
        files().with_markdown("a.md", text).load("team").unwrap();
    }
    refused_field("contradiction", "background: true\ninvocation_mode: SynchronousOnly", &["`invocation_mode`"]);
    refused_field("contradiction", "color: red\nmetadata: {color: blue}", &["`metadata`"]);
    for field in ["skills", "mcpServers", "hooks", "memory", "isolation", "initialPrompt", "experimental"] {
        refused_field("not_supported", &format!("{field}: [something]"), &[&format!("`{field}` is not supported: ")]);
    }
    let twice = "---\nname: a\ndescription: A.\nagent_id: a\nagentId: b\n---\nDo it.\n";
    refused("duplicate_field", Some(5), twice, &["`agentId`", "first in line 4"]);
}

/// What is wrong with the fields of a definition: codes, and the whole text.
fn wrong(text: &str) -> (Vec<&'static str>, String) {
    let error = files().with_markdown("a.md", text).load("team").unwrap_err();
    (codes(&error), error.to_string())
}

#[test]
fn every_entry_of_a_list_is_reported_at_its_line() {
    for field in ["tools", "disallowedTools"] {
        let text = format!(
            "---\nname: a\ndescription: A.\n{field}:\n  - Bash(git:*)\n  - Read\n  - 7\n\n  - &x Edit(b)\n  - *x\n---\nDo it.\n"
        );
        let (found, told) = wrong(&text);
        assert_eq!(found, ["wrong_value", "not_supported", "not_supported"], "{told}");
        for part in [&format!("a.md:7: `{field}[2]` is the number `7`"), "a.md:5: `Bash(git:*)`", "a.md:9: `Edit(b)`"] {
            assert!(told.contains(part), "{part:?} is missing in: {told}");
        }
    }
    let (found, told) =
        wrong("---\nname: a\ndescription: A.\ntools: \"*, Read, mcp__a__b, Agent(x, y), Bash(c)\"\n---\nDo it.\n");
    assert_eq!(found, ["not_supported"; 4], "{told}");
    assert_eq!(told.matches("a.md:4: ").count(), 4, "{told}");

    let json = "{\"a\": {\"description\": \"A.\", \"prompt\": \"x\", \"tools\": [\n\"*\",\n\"Read\",\n[]]}}";
    let error = files().with_json("a.json", json).load("team").unwrap_err();
    assert_eq!(codes(&error), ["wrong_value", "not_supported"], "{error}");
    assert!(error.to_string().contains("a.json:4: `tools[2]` is a list"), "{error}");
    assert!(error.to_string().contains("a.json:2: `*`"), "{error}");
}

#[test]
fn a_field_that_is_wrong_is_not_missing_too() {
    for field in ["name", "description"] {
        let text =
            "---\nname: a\ndescription: A.\n---\nDo it.\n".replace(&format!("\n{field}: "), &format!("\n{field}: 7 #"));
        let (found, told) = wrong(&text);
        assert_eq!(found, ["wrong_value"], "{told}");
    }
    for (field, expected) in [("name", "\"x\""), ("description", "7"), ("prompt", "[]")] {
        let mut value = json!({"name": "a", "description": "A.", "prompt": "x"});
        value[field] = json!([1]);
        let error = files().with_json("a.json", json!([value]).to_string()).load("team").unwrap_err();
        assert_eq!(codes(&error), ["wrong_value"], "{field} {expected}: {error}");
    }
    // Of what was refused, nothing follows: the default harness is not denied by a definition with other tools.
    let text = "---\nname: a\ndescription: A.\ntools: 7\ndisallowedTools: Read\n---\nDo it.\n";
    let files = files().with_default_tool_harness("files.read").with_markdown("a.md", text);
    assert_eq!(codes(&files.load("team").unwrap_err()), ["wrong_value"]);
}

#[test]
fn no_mistake_hides_another() {
    let text = "---
name: prüfer
model: opus
background: true
invocation_mode: SynchronousOnly
color: red
metadata: {color: blue}
agent_id: has space
---
Do it.
";
    let (found, told) = wrong(text);
    let expected = ["wrong_value", "missing_field", "wrong_value", "unknown_model", "contradiction", "contradiction"];
    assert_eq!(found, expected, "{told}");
    for part in ["a.md:2: `name` is the text `prüfer`", "a.md:8: `agent_id` is", "1 to 64 characters"] {
        assert!(told.contains(part), "{part:?} is missing in: {told}");
    }
}

#[tokio::test]
async fn a_tool_that_nothing_is_meant_by_is_told_at_its_line_with_the_remedy() {
    let text = "---
name: a
description: A.
tools:
  - Raed
  - files.reed
  - Write
  - Broken
  - Unheard
tool_harnesses:
  - note
---
Do it.
";
    let files = files().with_tool("Broken", "files.raed").with_markdown("folder/a.md", text);
    let client = ScriptedChatClient::texts(["x"]);
    let builder = builder(&client).with_dynamic_registry(registry());
    let error = builder.with_dynamic_harness(files.load("team").unwrap()).build().await.unwrap_err();
    let told: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    let meant = "with `DefinitionFiles::with_tool` which harness is meant by it";
    for (index, line, start, remedy) in [
        (0, 5, "there is no tool `Raed`, did you mean `Read`?", meant),
        (1, 6, "there is no tool `files.reed`, did you mean `files.read`?", meant),
        (
            2,
            8,
            "the tool `Broken` means the harness `files.raed`, which is not there, did you mean `files.read`?",
            "`DefinitionFiles::with_tool`",
        ),
        (3, 9, "there is no tool `Unheard`; ", meant),
        (4, 11, "there is no tool harness `note`, did you mean `notes`?", "`DynamicRegistry::add`"),
    ] {
        let told = told.get(index).unwrap_or_else(|| panic!("{error}"));
        assert!(told.starts_with(&format!("`team.a` (folder/a.md:{line}): {start}")), "{told}");
        assert!(told.contains(remedy), "{told}");
        assert_eq!(told.matches("there is no").count() + told.matches("is not there").count(), 1, "{told}");
    }
    assert_eq!(told.len(), 5, "{error}");
}

#[tokio::test]
async fn a_denied_tool_of_a_harness_that_the_agent_has_is_told_at_its_line() {
    let text = "---
name: a
description: A.
tools: Read, Write
disallowedTools:
  - Write
  - read
  - elsewhere
---
Do it.
";
    let team = files().with_markdown("a.md", text).load("team").unwrap();
    let client = ScriptedChatClient::texts(["x"]);
    let builder = builder(&client).with_dynamic_registry(registry()).with_dynamic_harness(team);
    let error = builder.build().await.unwrap_err();
    let [problem] = error.problems() else { panic!("{error}") };
    assert_eq!(problem.code(), "denied_tool");
    let told = problem.to_string();
    assert!(told.starts_with("`team.a` (a.md:7): `read` is denied") && told.contains("`files.read`"), "{told}");
}

#[test]
fn texts_that_are_no_definitions_are_refused_in_sentences() {
    refused("no_front_matter", None, "You are a reviewer.", &["the first line of a definition is `---`"]);
    refused("no_front_matter", None, "", &[]);
    refused("unclosed_front_matter", Some(1), "---\nname: a\n", &["no end"]);
    refused("syntax", Some(3), "---\nname: a\ndescription: Use it: always\n---\nDo it.\n", &["YAML", "needs quotes"]);
    refused("syntax", Some(2), "---\n- name\n---\nDo it.\n", &["YAML"]);
    refused("syntax", Some(2), "---\njust text\n---\nDo it.\n", &["YAML"]);
    refused("syntax", Some(3), "---\nname: a\nname: b\n---\nDo it.\n", &["duplicate"]);
    refused("syntax", Some(2), "---\nname: *missing\n---\nDo it.\n", &["YAML"]);
    refused("syntax", Some(5), "---\nname: a\ndescription: A.\nmetadata:\n  a: .nan\n---\nDo it.\n", &["`.nan`"]);
    refused(
        "syntax",
        Some(6),
        "---\nname: a\ndescription: A.\nmetadata:\n  a: 1\n  a: 2\n---\nDo it.\n",
        &["duplicate"],
    );
    refused("syntax", Some(2), "---\nname: a\n\tdescription: A.\n---\nDo it.\n", &["YAML", "indent with spaces"]);
    refused("syntax", Some(2), "---\nname: \0\ndescription: A.\n---\nDo it.\n", &["YAML"]);
    refused("unclosed_front_matter", Some(1), "---\rname: a\r", &["no end"]);
    refused("missing_field", Some(1), "---\nname: a\ndescription: A.\n---\n \n\t\n", &["no prompt"]);
    refused("missing_field", Some(1), "---\nname: a\ndescription:\n---\nDo it.\n", &["no description"]);
    refused("missing_field", Some(1), "---\nname: ' '\ndescription: A.\n---\nDo it.\n", &["no name"]);
    let all = files().with_markdown("a.md", "---\n---\n").load("team").unwrap_err();
    assert_eq!(codes(&all), ["missing_field"; 3], "{all}");
}

#[test]
fn advice_is_given_only_where_it_helps() {
    let (found, told) = wrong("---\nname: a\ndescription: A.\nmetadata: {a: 1, a: 2}\n---\nDo it.\n");
    assert!(found == ["syntax"] && told.contains("duplicate") && !told.contains("quotes"), "{told}");
    // Beside definitions by name, a null is none of the fields of one.
    let json = "{\"a\": {\"description\": \"A.\", \"prompt\": \"x\"},\n\"description\": null}";
    let error = files().with_json("a.json", json).load("team").unwrap_err();
    assert!(codes(&error) == ["syntax"] && error.to_string().contains("a.json:2: "), "{error}");
}

#[tokio::test]
async fn a_whole_number_is_one_however_it_is_written() {
    let text = |turns| format!("---\nname: a\ndescription: A.\nmaxTurns: {turns}\n---\nDo it.\n");
    let loaded = |turns| files().with_markdown("a.md", text(turns)).load("team").unwrap();
    let expected = definitions(loaded("10")).await;
    for turns in ["010", "10.0", "1e1"] {
        assert_eq!(definitions(loaded(turns)).await, expected, "{turns}");
    }
    refused_field("wrong_value", "maxTurns: 1.5", &["the number `1.5`"]);
    refused_field("wrong_value", "maxTurns: 1e300", &["a whole number from 1"]);
}

#[test]
fn aliases_cannot_make_a_large_thing_of_a_small_file() {
    let mut text = "---\nname: a\ndescription: A.\nmetadata:\n  l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let below = format!("*l{}, ", level - 1).repeat(10);
        text += &format!("  l{level}: &l{level} [{}]\n", below.trim_end_matches(", "));
    }
    text += "---\nDo it.\n";
    let error = files().with_markdown("bomb.md", text).load("team").unwrap_err();
    assert_eq!(codes(&error), ["syntax"], "{error}");
    assert!(error.to_string().contains("more than a definition can need"), "{error}");

    let deep = format!("---\nname: a\nmetadata: {}1{}\n---\nDo it.\n", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(codes(&files().with_markdown("deep.md", deep).load("team").unwrap_err()), ["syntax"]);
    let deep = format!("[{}1{}]", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(codes(&files().with_json("deep.json", deep).load("team").unwrap_err()), ["syntax"]);
}

#[test]
fn json_is_refused_with_the_line_of_what_is_wrong() {
    for (text, code, says) in [
        ("", "syntax", "agents.json:1: holds neither"),
        ("[]", "syntax", "agents.json:1: holds no definition"),
        ("{}", "syntax", "agents.json:1: holds no definition"),
        ("{\n  \"a\": {\n    \"prompt\": \"x\",\n  }\n}", "syntax", "agents.json:4: "),
        ("{\n  \"a\": [\n  ]\n}", "syntax", "agents.json:2: "),
        ("[{\"description\": \"A.\", \"prompt\": \"x\"}]", "missing_field", "`\"name\": \"…\"`"),
        ("[\n  7\n]", "syntax", "agents.json:2: "),
        ("{\n\"a\": {\"description\": \"A.\",\n\"prompt\": \"x\",\n\"tool\": []}}", "unknown_field", "agents.json:4: "),
        ("{\"a\": {\"description\": \"A.\"}}", "missing_field", "`\"prompt\": \"…\"`"),
        ("{\"a\": {\"name\": \"b\", \"description\": \"A.\", \"prompt\": \"x\"}}", "wrong_value", "`a`, the name"),
        ("{\"a\": {\"description\": \"A.\", \"prompt\": \"x\", \"prompt\": \"y\"}}", "duplicate_field", "`prompt`"),
        ("[{\"metadata\": 1e999}]", "syntax", "agents.json:1: "),
    ] {
        let error = files().with_json("agents.json", text).load("team").unwrap_err();
        assert_eq!(codes(&error), [code], "{text}: {error}");
        assert!(error.to_string().contains(says), "{text}: {error}");
    }
}

#[test]
fn keys_of_json_are_unique_at_every_depth() {
    let text = "[{\"name\": \"a\", \"description\": \"A.\", \"prompt\": \"x\",
\"metadata\": {\"one\": 1, \"deeper\": [{\"two\": 2,
\"t\\u0077o\": 3}],
\"one\": {\"three\": 3,
\"three\": 4},
\"one\": 5},
\"other\": {\"one\": 1}}]";
    let error = files().with_json("a.json", text).load("team").unwrap_err();
    let twice = "duplicate_field";
    assert_eq!(codes(&error), [twice, twice, twice, twice, "unknown_field"], "{error}");
    for part in [
        "a.json:3: the field `two` is here for the second time, first in line 2",
        "a.json:4: the field `one` is here for the second time, first in line 2",
        "a.json:5: the field `three` is here for the second time, first in line 4",
        "a.json:6: the field `one` is here for the second time, first in line 2",
    ] {
        assert!(error.to_string().contains(part), "{part:?} is missing in: {error}");
    }
    let twice =
        "{\"a\": {\"description\": \"A.\", \"prompt\": \"x\"},\n\"a\": {\"description\": \"A.\", \"prompt\": \"x\"}}";
    let error = files().with_json("a.json", twice).load("team").unwrap_err();
    assert!(error.to_string().contains("`a`: a.json:1 and a.json:2"), "{error}");
}

/// What is large is read in the time that its size explains, and told in messages that can be read.
#[test]
fn large_definitions_are_read_in_linear_time() {
    let names = |range: std::ops::Range<u32>| range.map(|at| format!("t{at},")).collect::<String>();
    let (names, denied) = (names(0..80_000), names(40_000..80_000));
    let fields = format!("\"tools\": \"Write,{names}\", \"disallowedTools\": \"{denied}\"");
    let text = format!("{{\"a\": {{\"description\": \"A.\", \"prompt\": \"x\", {fields}}}}}");
    let begun = std::time::Instant::now();
    files().with_json("a.json", text).load("team").unwrap();
    let long = "n".repeat(400_000);
    let json = format!("[{{\"name\": \"{long}\", \"{long}\": 1}}]");
    let mut wrong = vec![("json", files().with_json("a.json", json))];
    for field in [
        "name: LONG",
        "LONG: 1",
        "? LONG\n: 1",
        "tools: 'LONG('",
        "model: LONG",
        "fork_compaction: {kind: LONG}",
        "metadata: {a: *LONG}",
    ] {
        let text = format!("---\n{}\ndescription: A.\n---\nDo it.\n", field.replace("LONG", &long));
        wrong.push((field, files().with_markdown("a.md", text)));
    }
    for (field, files) in wrong {
        let error = files.load("team").unwrap_err().to_string();
        assert!(error.len() < 2_000, "{field}: {} bytes", error.len());
    }
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn names_are_unique_over_all_files_and_all_mistakes_are_told_at_once() {
    let error = files()
        .with_markdown("one.md", REVIEWER)
        .with_markdown("two.md", REVIEWER)
        .with_json("three.json", r#"[{"name": "x"}, {"name": "y"}]"#)
        .with_file("four.txt")
        .with_file("missing.md")
        .with_directory("missing")
        .load("team")
        .unwrap_err();
    let missing = "missing_field";
    assert_eq!(
        codes(&error),
        [
            "unknown_format",
            "unreadable_file",
            "unreadable_file",
            "duplicate_definition",
            missing,
            missing,
            missing,
            missing
        ],
        "{error}"
    );
    assert!(error.to_string().contains("`code-reviewer`: one.md:1 and two.md:1"), "{error}");
}

#[tokio::test]
async fn a_folder_is_read_whatever_is_below_it() {
    let root = folder("tree");
    let definition = |name: &str| format!("---\nname: {name}\ndescription: A {name}.\n---\nDo it.\n");
    fs::create_dir_all(root.join("b/deeper")).unwrap();
    for (path, name) in [("c.md", "third"), ("b/deeper/x.MD", "second"), ("a.md", "first")] {
        fs::write(root.join(path), definition(name)).unwrap();
    }
    fs::write(root.join("README.md"), "# What these agents are for\n").unwrap();
    fs::write(root.join("data.json"), "not read").unwrap();
    let team = files().with_directory(&root).load("team").unwrap();
    assert_eq!(team.tools().collect::<Vec<_>>(), ["first", "second", "third"]);

    fs::write(root.join("b/broken.md"), b"---\nname: a\ndescription: \xff\n---\n").unwrap();
    fs::write(root.join("b/huge.md"), "x".repeat(1024 * 1024 + 1)).unwrap();
    fs::write(root.join("d.md"), definition("first")).unwrap();
    let error = files().with_directory(&root).load("team").unwrap_err();
    assert_eq!(codes(&error), ["not_utf8", "file_too_large", "duplicate_definition"], "{error}");
    assert!(error.to_string().contains("broken.md:3: "), "{error}");
    assert!(error.to_string().contains("a.md:1 and ") && error.to_string().contains("d.md:1;"), "{error}");
    fs::remove_dir_all(root).unwrap();

    let empty = folder("empty");
    assert_eq!(files().with_directory(&empty).load("team").unwrap().tools().count(), 0);
    fs::remove_dir_all(empty).unwrap();
}

#[test]
fn what_is_hidden_below_a_folder_is_not_read() {
    let root = folder("hidden").join(".claude");
    let definition = |name: &str| format!("---\nname: {name}\ndescription: A {name}.\n---\nDo it.\n");
    for path in ["agents/.git", "agents/below/.drafts/deeper"] {
        fs::create_dir_all(root.join(path)).unwrap();
    }
    fs::write(root.join("agents/a.md"), definition("a")).unwrap();
    fs::write(root.join("agents/below/b.md"), definition("b")).unwrap();
    for path in [".git/x.md", ".hidden.md", "below/._b.md", "below/.drafts/deeper/x.md"] {
        fs::write(root.join("agents").join(path), b"---\n\xff").unwrap();
    }
    #[cfg(unix)]
    for path in ["agents/.again", "agents/.gone.md"] {
        std::os::unix::fs::symlink(if path.ends_with("md") { "nowhere" } else { "." }, root.join(path)).unwrap();
    }
    let team = files().with_directory(root.join("agents")).load("team").unwrap();
    assert_eq!(team.tools().collect::<Vec<_>>(), ["a", "b"]);
    // What is asked for by its name is read, whatever the name is.
    let asked = files().with_file(root.join("agents/.hidden.md")).load("team").unwrap_err();
    assert_eq!(codes(&asked), ["not_utf8"], "{asked}");
    fs::remove_dir_all(root).unwrap();
}

/// Ten folders with links to each other have millions of paths.
#[cfg(unix)]
#[test]
fn a_folder_that_is_reached_in_many_ways_is_read_once() {
    let (root, shared) = (folder("many-ways"), folder("shared"));
    fs::write(shared.join("a.md"), "---\nname: a\ndescription: A.\n---\nDo it.\n").unwrap();
    for at in 0..12 {
        fs::create_dir(root.join(format!("d{at}"))).unwrap();
        std::os::unix::fs::symlink(&shared, root.join(format!("d{at}/shared"))).unwrap();
    }
    let tools = files().with_directory(&root).load("team").unwrap();
    assert_eq!(tools.tools().collect::<Vec<_>>(), ["a"]);
    for (from, to) in (0..12).flat_map(|from| (0..12).map(move |to| (from, to))).filter(|(from, to)| from != to) {
        std::os::unix::fs::symlink(root.join(format!("d{to}")), root.join(format!("d{from}/to{to}"))).unwrap();
    }
    let error = files().with_directory(&root).load("team").unwrap_err();
    assert!(codes(&error).iter().all(|code| *code == "unreadable_file") && codes(&error).len() <= 144, "{error}");
    fs::remove_dir_all(root).unwrap();
    fs::remove_dir_all(shared).unwrap();
}

#[cfg(unix)]
#[test]
fn what_may_not_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = folder("forbidden");
    fs::create_dir(root.join("closed")).unwrap();
    fs::write(root.join("secret.md"), "x").unwrap();
    for path in ["closed", "secret.md"] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o0)).unwrap();
    }
    // Root may read everything.
    if fs::read(root.join("secret.md")).is_err() {
        let error = files().with_directory(&root).load("team").unwrap_err();
        assert_eq!(codes(&error), ["unreadable_file"; 2], "{error}");
        assert!(error.to_string().contains("closed: cannot be read: "), "{error}");
        assert!(error.to_string().contains("secret.md: cannot be read: "), "{error}");
    }
    for path in ["closed", "secret.md"] {
        fs::set_permissions(root.join(path), fs::Permissions::from_mode(0o700)).unwrap();
    }
    fs::remove_dir_all(root).unwrap();
}

#[cfg(unix)]
#[test]
fn a_folder_that_leads_back_to_itself_is_named() {
    let root = folder("loop");
    std::os::unix::fs::symlink(&root, root.join("again")).unwrap();
    let error = files().with_directory(&root).load("team").unwrap_err();
    assert_eq!(codes(&error), ["unreadable_file"], "{error}");
    assert!(error.to_string().contains("leads back"), "{error}");
    fs::remove_dir_all(root).unwrap();
}

#[cfg(unix)]
#[test]
fn what_is_no_file_does_not_stop_a_folder() {
    let root = folder("no-files");
    fs::write(root.join("a.md"), "---\nname: a\ndescription: A.\n---\nDo it.\n").unwrap();
    std::process::Command::new("mkfifo").arg(root.join("pipe.md")).status().unwrap();
    std::os::unix::fs::symlink(root.join("gone"), root.join(".#lock")).unwrap();
    let tools = files().with_directory(&root).load("team").unwrap();
    assert_eq!(tools.tools().collect::<Vec<_>>(), ["a"]);
    std::os::unix::fs::symlink(root.join("gone"), root.join("gone.md")).unwrap();
    let wrong = files().with_directory(&root).with_file(root.join("pipe.md")).with_directory(root.join("a.md"));
    let error = wrong.load("team").unwrap_err();
    assert_eq!(codes(&error), ["unreadable_file"; 3], "{error}");
    for part in ["gone.md", "pipe.md", "no regular file", "a file and not a folder"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    fs::remove_dir_all(root).unwrap();
}

#[test]
fn lines_of_json_are_found_however_long_it_is() {
    let filler: String =
        (0..10_000).map(|at| format!("\"agent-{at}\":\n{{\"description\":\"A.\",\"prompt\":\"B.\"}},\n")).collect();
    let text = format!("{{\n{filler}\"last\":\n{{\"description\": 1}}}}");
    let error = files().with_json("a.json", text).load("team").unwrap_err();
    assert!(error.to_string().contains("a.json:20003"), "{error}");
}

#[tokio::test]
async fn tools_come_from_the_definition_or_else_from_the_default() {
    let with = |fields: &str| format!("---\nname: a\ndescription: A.\n{fields}\n---\nDo it.\n");
    for (fields, harnesses) in [
        ("", "[\"notes\"]"),
        ("tools:", "[\"notes\"]"),
        ("tools: []", "[]"),
        ("tools: Write", "[\"files.write\"]"),
        ("disallowedTools: notes", "[]"),
        ("tool_harnesses: [files.read]", "[\"notes\",\"files.read\"]"),
    ] {
        let files = files().with_default_tool_harness("notes").with_markdown("a.md", with(fields));
        let child = definitions(files.load("team").unwrap()).await.remove(1);
        assert!(child.contains(&format!("\"toolHarnesses\":{harnesses}")), "{fields}: {child}");
    }
}

#[tokio::test]
async fn a_loaded_agent_is_delegated_to() {
    let team = files().with_markdown("reviewer.md", REVIEWER).load("team").unwrap();
    let script = ScriptedChatClient::route()
        .when_system_contains("code reviewer", [Reply::tool_call("read", json!({})), Reply::text("It is good.")])
        .otherwise([Reply::tool_call("code-reviewer", json!({"input": "Review it."})), Reply::text("Done.")]);
    let agent = builder(&script).with_dynamic_registry(registry()).with_dynamic_harness(team).build().await.unwrap();
    let result = agent.run("Go.").await.unwrap();
    assert_eq!(results(&agent, &result).await[0].output.text(), "It is good.");
    let child = script.requests().into_iter().find(|request| request.system.contains("code reviewer")).unwrap();
    assert_eq!(child.history.iter().count(), 1, "a loaded agent knows its input only");
}

proptest! {
    /// Whatever is in a file, loading it ends, with a harness or with sentences.
    #[test]
    fn no_text_makes_it_panic(
        fields in prop::collection::vec("(name|tools|model|metadata|&a|\\*a|<<)?: ?.{0,12}\n", 0..8),
        text in "\\PC{0,40}",
    ) {
        let _ = files().with_markdown("a.md", format!("---\n{}---\n{text}", fields.concat())).load("team");
        let _ = files().with_json("a.json", text.clone()).load("team");
        let _ = files().with_json("a.json", format!("{{\"a\": {text}}}")).load("team");
    }
}
