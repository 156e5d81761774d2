//! What the fields of a definition mean.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::{Map, Value};

use super::{
    Definition, DefinitionFiles, DefinitionProblem, cut, place,
    value::{Given, Name, Wrong},
};
use crate::{
    chat::{ChatConfig, ChatOptions},
    compaction::ForkCompaction,
    declare::{
        AgentConfig, AgentInvocationModePolicy, BackgroundNotification, DeniedTool, FileEntry, Origin, Recursion,
        SubAgent, SubAgentAvailability, SubAgentContextPolicy, SubAgentLifecycle, Written, exclusive,
    },
    error::nearest,
    id::rules,
};

/// The fields that Claude Code documents, and that mean the same here.
const SHARED: &[&str] = &[
    "name",
    "description",
    "prompt",
    "tools",
    "disallowedTools",
    "model",
    "maxTurns",
    "background",
    "effort",
    "color",
    "permissionMode",
];

/// The fields of our own, named like the arguments of `#[subagent]`, in both ways of writing them.
const OWN: &[(&str, &str)] = &[
    ("agent_id", "agentId"),
    ("context", "context"),
    ("invocation_mode", "invocationMode"),
    ("availability", "availability"),
    ("recursion", "recursion"),
    ("lifecycle", "lifecycle"),
    ("fork_compaction", "forkCompaction"),
    ("background_notification", "backgroundNotification"),
    ("tool_harnesses", "toolHarnesses"),
    ("metadata", "metadata"),
];

/// The fields that Claude Code documents and that there is nothing for here, with what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("skills", "there are no skills: write what the agent has to know into its prompt"),
    ("mcpServers", "there are no MCP servers: give the agent a harness whose functions call the server"),
    ("hooks", "there are no hooks: decide about calls with a permission policy, and follow them as events"),
    ("memory", "there is no memory folder: give the agent a harness with functions that keep notes"),
    ("isolation", "there are no working copies: `context: Isolated` gives the agent a session of its own"),
    (
        "initialPrompt",
        "it is for the agent of a whole session, which a subagent never is: give the text to `Agent::run`",
    ),
    ("experimental", "what is in it belongs to another program: remove it"),
];

/// So many names of harnesses are told.
const MOST_NAMES: usize = 10;

const EFFORTS: &[&str] = &["low", "medium", "high", "xhigh", "max"];
const COLORS: &[&str] = &["red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"];

/// A definition that is a subagent.
pub(super) struct Loaded {
    pub(super) name: String,
    pub(super) sub_agent: SubAgent,
    pub(super) origin: Origin,
}

/// The subagent that a definition describes.
pub(super) fn sub_agent(
    files: &DefinitionFiles,
    definition: Definition,
    problems: &mut Vec<DefinitionProblem>,
) -> Option<Loaded> {
    let before = problems.len();
    let Definition { path, line, key, fields, body } = definition;
    let name = key.map(|text| Name { text, line });
    let mut draft = Draft { in_markdown: body.is_some(), name, prompt: body, ..Draft::default() };
    let mut seen: Vec<(&'static str, u32)> = Vec::new();
    for field in fields {
        let at = place(&path, field.line);
        let Some(name) = known(&field.name) else {
            let near = nearest(&field.name, all_names());
            problems.push(DefinitionProblem::UnknownField { at, field: cut(&field.name), near });
            continue;
        };
        if let Some((_, first)) = seen.iter().find(|(other, _)| *other == name) {
            problems.push(DefinitionProblem::TwiceInOne { at, field: field.name, first: *first });
            continue;
        }
        seen.push((name, field.line));
        // As in the arguments of a call, null is the same as nothing.
        if !field.value.is_null()
            && let Err(Wrong(wrong)) = draft.set(name, Given { path: Arc::clone(&path), field })
        {
            draft.wrong.push(name);
            problems.extend(wrong);
        }
    }
    let (name, sub_agent) = draft.finish(files, &path, line, problems)?;
    (problems.len() == before).then(|| Loaded { name, sub_agent, origin: Origin::File { path, line } })
}

/// The one name of a field that may be written in two ways.
fn known(written: &str) -> Option<&'static str> {
    let own = OWN.iter().find(|(snake, camel)| written == *snake || written == *camel).map(|(snake, _)| *snake);
    let shared = || SHARED.iter().copied().find(|name| written == *name);
    own.or_else(shared).or_else(|| REFUSED.iter().map(|(name, _)| *name).find(|name| written == *name))
}

/// What to do instead of a field that there is nothing for.
fn advice(refused: &str) -> &'static str {
    REFUSED.iter().find(|(name, _)| *name == refused).map_or("remove it", |(_, advice)| advice)
}

fn all_names() -> impl Iterator<Item = &'static str> {
    let own = OWN.iter().flat_map(|(snake, camel)| [*snake, *camel]);
    SHARED.iter().copied().chain(own).chain(REFUSED.iter().map(|(name, _)| *name))
}

/// What was read of a definition so far.
#[derive(Default)]
struct Draft {
    /// The prompt stands after the fields.
    in_markdown: bool,
    /// Fields with a value that was refused: they are not missing.
    wrong: Vec<&'static str>,
    name: Option<Name>,
    description: Option<String>,
    prompt: Option<String>,
    tools: Option<Vec<Name>>,
    denied: Vec<Name>,
    model: Option<(String, String)>,
    effort: Option<String>,
    max_turns: Option<u32>,
    background: Option<(String, bool)>,
    color: Option<(String, String)>,
    agent_id: Option<String>,
    context: Option<SubAgentContextPolicy>,
    invocation_mode: Option<AgentInvocationModePolicy>,
    availability: Option<SubAgentAvailability>,
    recursion: Option<Recursion>,
    fork_compaction: Option<(String, ForkCompaction)>,
    background_notification: Option<(String, BackgroundNotification)>,
    harnesses: Vec<Name>,
    metadata: Map<String, Value>,
}

impl Draft {
    fn set(&mut self, name: &'static str, given: Given) -> Result<(), Wrong> {
        use AgentInvocationModePolicy as Mode;
        use SubAgentContextPolicy as Context;
        use SubAgentLifecycle as Lifecycle;
        match name {
            "name" => {
                let text = given.text()?;
                match &self.name {
                    Some(Name { text: key, .. }) if *key != text => {
                        return Err(given.wrong(format!("`{}`, the name that it stands under", cut(key))).into());
                    }
                    _ => self.name = Some(Name { text, line: given.field.line }),
                }
            }
            "description" => self.description = Some(given.text()?),
            "prompt" if self.in_markdown => {
                return Err(given.refused("`prompt`", "the text after the front matter is the prompt").into());
            }
            "prompt" => self.prompt = Some(given.text()?.trim().to_owned()),
            "tools" => self.tools = Some(given.tools()?),
            "disallowedTools" => self.denied = given.denied_tools()?,
            "model" => self.model = Some((given.text()?, given.at())),
            "effort" => self.effort = Some(given.one_of(EFFORTS)?),
            "maxTurns" => self.max_turns = Some(given.number()?),
            "background" => self.background = Some((given.at(), given.flag()?)),
            "color" => self.color = Some((given.at(), given.one_of(COLORS)?)),
            "permissionMode" => given.permission_mode()?,
            "agent_id" => {
                let id = given.text()?;
                rules::agent_id(&id).map_err(|rule| given.wrong(rule))?;
                self.agent_id = Some(id);
            }
            "context" => {
                self.context = Some(given.choice(&[
                    ("Fork", Context::Fork),
                    ("Fresh", Context::Fresh),
                    ("Isolated", Context::Isolated),
                    ("ModelChoice", Context::ModelChoice),
                ])?);
            }
            "invocation_mode" => {
                self.invocation_mode = Some(given.choice(&[
                    ("SynchronousOnly", Mode::SynchronousOnly),
                    ("BackgroundOnly", Mode::BackgroundOnly),
                    ("ModelChoice", Mode::ModelChoice),
                ])?);
            }
            "availability" => self.availability = Some(given.availability()?),
            "recursion" => {
                let choices = [("Guarded", Recursion::Guarded), ("Allowed", Recursion::Allowed)];
                self.recursion = Some(given.choice(&choices)?);
            }
            "lifecycle" => {
                let choices = [("OneShot", Lifecycle::OneShot), ("Continuable", Lifecycle::Continuable)];
                if given.choice(&choices)? == Lifecycle::Continuable {
                    let advice = "in this version an agent ends with its answer: leave it out";
                    return Err(given.refused("`lifecycle: Continuable`", advice).into());
                }
            }
            "fork_compaction" => {
                let choices = [("Inherit", ForkCompaction::Inherit), ("Disable", ForkCompaction::Disable)];
                let compaction = given.choice_or_object(&choices)?;
                if matches!(compaction, ForkCompaction::Apply(_)) {
                    let advice = "this version cannot apply it: write `Inherit` or `Disable`";
                    return Err(given.refused(format!("a specification in `{}`", given.field.name), advice).into());
                }
                self.fork_compaction = Some((given.at(), compaction));
            }
            "background_notification" => {
                let notification = given.choice_or_object(&[("None", BackgroundNotification::None)])?;
                self.background_notification = Some((given.at(), notification));
            }
            "tool_harnesses" => self.harnesses = given.names()?,
            "metadata" => self.metadata = given.metadata()?,
            refused => given.unless_empty(advice(refused))?,
        }
        Ok(())
    }

    /// The subagent, if nothing is missing. `path` and `line`: where the definition begins.
    fn finish(
        self,
        files: &DefinitionFiles,
        path: &Arc<str>,
        line: u32,
        problems: &mut Vec<DefinitionProblem>,
    ) -> Option<(String, SubAgent)> {
        let mut required = |field, text: Option<&str>, what| {
            let text = text.filter(|text| !text.trim().is_empty()).map(str::to_owned);
            if text.is_none() && !self.wrong.contains(&field) {
                problems.push(DefinitionProblem::Missing { at: place(path, line), what });
            }
            text
        };
        let name = self.name.as_ref().map(|name| name.text.as_str());
        let (name_as, description) = match self.in_markdown {
            true => (
                "name: write `name: …`, the name of the tool",
                "description: write `description: …`, when the agent is to be used",
            ),
            false => (
                "name: write it as `\"name\": \"…\"`, the name of the tool",
                "description: write it as `\"description\": \"…\"`, when the agent is to be used",
            ),
        };
        let name = required("name", name, name_as);
        let description = required("description", self.description.as_deref(), description);
        let prompt = match self.in_markdown {
            true => "prompt: write it after the front matter",
            false => "prompt: write it as `\"prompt\": \"…\"`",
        };
        let prompt = required("prompt", self.prompt.as_deref(), prompt);
        if let (Some(text), Some(Name { line, .. })) = (&name, &self.name)
            && let Err(expected) = self.legal_name(text)
        {
            let (at, found) = (place(path, *line), format!("the text `{}`", cut(text)));
            problems.push(DefinitionProblem::WrongValue { at, field: "name".to_owned(), found, expected });
        }
        let harnesses = self.carried(files, (path, line), problems);
        let chat = self.chat(files).map_err(|problem| problems.push(problem)).ok();
        let mode = self.mode().map_err(|problem| problems.push(problem)).ok();
        let metadata = self.labels().map_err(|problem| problems.push(problem)).ok();
        // As in the programs that these files come from: such an agent knows what it is told, and nothing else.
        let context = self.context.unwrap_or(SubAgentContextPolicy::Fresh);
        if let Some(mode) = mode {
            problems.extend(self.excluded(context, mode.unwrap_or_default()));
        }

        let (name, description, prompt) = (name?, description?, prompt?);
        let (chat, mode, metadata) = (chat?, mode?, metadata?);
        let mut config = AgentConfig::new(name.as_str()).with_system_instructions(prompt);
        if let Some(chat) = chat {
            config = config.with_chat(chat);
        }
        if let Some(turns) = self.max_turns {
            config = config.with_max_iterations(turns);
        }
        let agent_id = self.agent_id.as_deref().unwrap_or(&name);
        let mut sub_agent =
            SubAgent::from_config(agent_id, config).with_description(description).with_context_policy(context);
        if let Some(mode) = mode {
            sub_agent = sub_agent.with_invocation_mode(mode);
        }
        if let Some(availability) = self.availability {
            sub_agent = sub_agent.with_availability(availability);
        }
        if let Some(recursion) = self.recursion {
            sub_agent = sub_agent.with_recursion(recursion);
        }
        if let Some((_, compaction)) = self.fork_compaction {
            sub_agent = sub_agent.with_fork_compaction(compaction);
        }
        if let Some((_, notification)) = self.background_notification {
            sub_agent = sub_agent.with_background_notification(notification);
        }
        sub_agent = metadata.into_iter().fold(sub_agent, |child, (key, value)| child.with_metadata(key, value));
        sub_agent = harnesses.into_iter().fold(sub_agent, SubAgent::with_file_entry);
        let origin = |line| Origin::File { path: Arc::clone(path), line };
        let denied =
            self.denied.iter().map(|tool| DeniedTool { name: tool.text.as_str().into(), origin: origin(tool.line) });
        Some((name, sub_agent.with_denied_tools(denied.collect())))
    }

    /// The rules for the name of a tool, and those for the id of the agent if it has no other.
    fn legal_name(&self, name: &str) -> Result<(), String> {
        rules::tool_name(name)?;
        if self.agent_id.is_some() || self.wrong.contains(&"agent_id") {
            return Ok(());
        }
        rules::agent_id(name).map_err(|rule| {
            format!("{rule}, where it is the id of the agent too (or give the agent another id with `agent_id`)")
        })
    }

    /// Policies that mean nothing beside the others.
    fn excluded(&self, context: SubAgentContextPolicy, mode: AgentInvocationModePolicy) -> Vec<DefinitionProblem> {
        let compaction = self.fork_compaction.as_ref();
        let compaction = compaction.map(|(at, compaction)| (at, exclusive::fork_compaction(compaction, context)));
        let notification = self.background_notification.as_ref();
        let notification = notification.map(|(at, _)| (at, exclusive::background_notification(mode)));
        let all = [compaction, notification].into_iter().flatten();
        let problem = |at: &String, excluded: exclusive::Excluded| DefinitionProblem::Excluded {
            at: at.clone(),
            text: excluded.what,
            remedy: excluded.remedy.to(Written::File),
        };
        all.filter_map(|(at, checked)| checked.err().map(|excluded| problem(at, excluded))).collect()
    }

    /// The entries by which the agent has its harnesses. `line`: where the definition begins.
    fn carried(
        &self,
        files: &DefinitionFiles,
        (path, line): (&Arc<str>, u32),
        problems: &mut Vec<DefinitionProblem>,
    ) -> Vec<FileEntry> {
        if ["tools", "tool_harnesses", "disallowedTools"].iter().any(|field| self.wrong.contains(field)) {
            return Vec::new();
        }
        let meant = |tool: &str| files.tools.get(tool).cloned().unwrap_or_else(|| tool.into());
        let entry = |written: &str, harness, line, is_tool: bool| FileEntry {
            written: written.into(),
            harness,
            origin: Origin::File { path: Arc::clone(path), line },
            tools: is_tool.then(|| Arc::clone(&files.tools)),
        };
        let mut given: Vec<FileEntry> = match &self.tools {
            Some(tools) => tools.iter().map(|tool| entry(&tool.text, meant(&tool.text), tool.line, true)).collect(),
            None => files.default_harnesses.iter().map(|name| entry(name, Arc::clone(name), line, false)).collect(),
        };
        let own = |name: &Name| entry(&name.text, name.text.as_str().into(), name.line, false);
        given.extend(self.harnesses.iter().map(own));
        let denied: HashSet<&str> = self.denied.iter().map(|tool| tool.text.as_str()).collect();
        let before = given.len();
        given.retain(|entry| !denied.contains(&*entry.written));
        let told = problems.len();
        let kept: HashMap<&str, &str> = given.iter().rev().map(|entry| (&*entry.harness, &*entry.written)).collect();
        for tool in &self.denied {
            let harness = meant(&tool.text);
            if let Some(other) = kept.get(&*harness) {
                problems.push(DefinitionProblem::DeniedAndGiven {
                    at: place(path, tool.line),
                    tool: cut(&tool.text),
                    harness: harness.to_string(),
                    other: (*other).to_owned(),
                });
            }
        }
        if let ([first, ..], true, true) = (self.denied.as_slice(), before > 0, problems.len() == told)
            && before == given.len()
        {
            let has = given.iter().take(MOST_NAMES).map(|entry| format!("`{}`", cut(&entry.written)));
            let more = if before > MOST_NAMES { ", and more" } else { "" };
            let has = format!("{}{more}", has.collect::<Vec<_>>().join(", "));
            problems.push(DefinitionProblem::DeniesNothing { at: place(path, first.line), has });
        }
        given
    }

    fn chat(&self, files: &DefinitionFiles) -> Result<Option<ChatConfig>, DefinitionProblem> {
        let chat = match &self.model {
            Some((model, at)) if model != "inherit" => {
                Some(files.models.get(model.as_str()).cloned().ok_or_else(|| {
                    let known = files.models.keys().map(|name| name.to_string()).collect();
                    DefinitionProblem::UnknownModel { at: at.clone(), model: cut(model), known }
                })?)
            }
            _ => None,
        };
        let Some(effort) = &self.effort else { return Ok(chat) };
        let mut chat = chat.unwrap_or_else(|| ChatConfig::inherited(ChatOptions::default()));
        chat.options.effort = Some(effort.as_str().into());
        Ok(Some(chat))
    }

    fn mode(&self) -> Result<Option<AgentInvocationModePolicy>, DefinitionProblem> {
        let only = AgentInvocationModePolicy::BackgroundOnly;
        match (&self.background, self.invocation_mode) {
            (Some((_, true)), None) => Ok(Some(only)),
            (Some((at, background)), Some(mode)) if *background != (mode == only) => {
                let (field, other) = ("background", "invocation_mode");
                Err(DefinitionProblem::Contradiction { at: at.clone(), field, other })
            }
            (_, mode) => Ok(mode),
        }
    }

    /// The metadata, with the color by which people tell agents apart.
    fn labels(&self) -> Result<Map<String, Value>, DefinitionProblem> {
        let mut metadata = self.metadata.clone();
        if let Some((at, color)) = &self.color {
            let color = Value::from(color.as_str());
            if metadata.insert("color".to_owned(), color.clone()).is_some_and(|other| other != color) {
                let (field, other) = ("color", "metadata");
                return Err(DefinitionProblem::Contradiction { at: at.clone(), field, other });
            }
        }
        Ok(metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_known_by_its_names_only() {
        let mut names: Vec<_> = all_names().collect();
        assert!(names.iter().all(|name| known(name).is_some()));
        names.sort_unstable();
        names.dedup();
        // `context`, `availability`, `recursion`, `lifecycle` and `metadata` are written in one way.
        assert_eq!(names.len(), SHARED.len() + 2 * OWN.len() + REFUSED.len() - 5);
        assert_eq!(known("agentId"), Some("agent_id"));
        assert_eq!(known("Name"), None);
    }
}
