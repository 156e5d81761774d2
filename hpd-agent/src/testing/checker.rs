//! Refuses what real providers refuse.

use std::{collections::HashSet, fmt, sync::Arc};

use serde_json::{Map, Value};

use crate::{
    chat::{
        BoxFuture, ChatClient, ChatError, ChatErrorKind, ChatRequest, ChatStream, ClientInfo, ModelInfo, ToolChoice,
        ToolSpec,
    },
    history::History,
    id::CallId,
    message::{Message, Part, Role},
};

/// A client that looks at every request before it passes it on, and refuses what at least one of the large providers
/// refuses: with [`ChatErrorKind::InvalidRequest`] and a text that names every broken rule and the message.
///
/// Put it around a scripted client in tests, so that a conversation that would only fail in production fails there.
///
/// ```
/// # use std::sync::Arc;
/// # use hpd_agent::{chat::*, history::History, message::Message, testing::*};
/// let conversation = History::from_iter([
///     Arc::new(Message::user("Hi.")),
///     Arc::new(Message::assistant("Hello.")),
/// ]);
/// let violations = RequestChecker::check(&ChatRequest::new(conversation)).err().unwrap_or_default();
/// assert_eq!(violations.first().map(|v| (v.rule(), v.message_index())), Some((Rule::EndsWithAssistant, Some(1))));
///
/// let _client = RequestChecker::new(Arc::new(ScriptedChatClient::texts(["…"])));
/// ```
pub struct RequestChecker {
    client: Arc<dyn ChatClient>,
}

/// What a request has to obey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// There has to be a message, and the first one has to be the user's.
    BeginsWithUser,
    /// The last message must not be the assistant's.
    EndsWithAssistant,
    /// Two assistant messages must not follow each other.
    ConsecutiveAssistant,
    /// A message needs text, a tool call or a tool result.
    EmptyMessage,
    /// Calls belong to the assistant's messages, results to a tool's, nothing else to either of them.
    PartInWrongRole,
    /// A call needs exactly one result, directly after the message that called.
    MissingResult,
    /// Results come in the order of the calls.
    ResultOrder,
    /// A result needs a call in the message before it.
    ResultWithoutCall,
    /// A call has one result.
    DuplicateResult,
    /// Two calls must not have the same id.
    DuplicateCallId,
    /// A tool's name has to match `^[a-zA-Z0-9_-]{1,64}$`.
    ToolName,
    /// Two tools must not have the same name.
    DuplicateTool,
    /// A tool needs a description.
    ToolDescription,
    /// A tool's schema has to be that of a JSON object.
    ToolSchema,
    /// A tool that has to be called has to be there.
    ToolChoice,
}

/// One rule that a request breaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    rule: Rule,
    message_index: Option<usize>,
    text: String,
}

impl Violation {
    /// The rule.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The position of the message in the history, from 0. `None` for rules about tools.
    #[must_use]
    pub fn message_index(&self) -> Option<usize> {
        self.message_index
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message_index {
            Some(index) => write!(f, "message {index}: {} ({:?})", self.text, self.rule),
            None => write!(f, "{} ({:?})", self.text, self.rule),
        }
    }
}

impl RequestChecker {
    /// A checker in front of `client`.
    #[must_use]
    pub fn new(client: impl ChatClient) -> Self {
        Self { client: Arc::new(client) }
    }

    /// Looks at a request.
    ///
    /// # Errors
    ///
    /// All rules that it breaks, in order of the messages, then of the tools.
    pub fn check(request: &ChatRequest) -> Result<(), Vec<Violation>> {
        let mut found = Found(Vec::new());
        found.conversation(&request.history);
        found.pairs(&request.history);
        found.0.sort_by_key(|violation| violation.message_index);
        found.tools(&request.tools, &request.options.tool_choice);
        if found.0.is_empty() { Ok(()) } else { Err(found.0) }
    }
}

impl ChatClient for RequestChecker {
    fn info(&self) -> &ClientInfo {
        self.client.info()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        match Self::check(&request) {
            Ok(()) => self.client.stream(request),
            Err(violations) => {
                let texts: Vec<_> = violations.iter().map(Violation::to_string).collect();
                let error = ChatError::new(self.info(), ChatErrorKind::InvalidRequest, texts.join("; "));
                Box::pin(std::future::ready(Err(error)))
            }
        }
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        self.client.models()
    }
}

impl fmt::Debug for RequestChecker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestChecker").field("info", self.client.info()).finish()
    }
}

struct Found(Vec<Violation>);

impl Found {
    fn message(&mut self, rule: Rule, index: usize, text: impl Into<String>) {
        self.0.push(Violation { rule, message_index: Some(index), text: text.into() });
    }

    fn tool(&mut self, rule: Rule, text: impl Into<String>) {
        self.0.push(Violation { rule, message_index: None, text: text.into() });
    }

    /// The roles and the content of messages by themselves.
    fn conversation(&mut self, history: &History) {
        match history.iter().next().map(|message| message.role()) {
            Some(Role::User) => {}
            Some(role) => self.message(Rule::BeginsWithUser, 0, format!("the conversation begins with {role:?}")),
            None => self.message(Rule::BeginsWithUser, 0, "there are no messages"),
        }
        let mut before = None;
        for (index, message) in history.iter().enumerate() {
            let role = message.role();
            if role == Role::Assistant && before == Some(Role::Assistant) {
                self.message(Rule::ConsecutiveAssistant, index, "the assistant speaks twice in a row");
            }
            let blank = !message.has_text() && message.calls().next().is_none() && message.results().next().is_none();
            if blank {
                self.message(Rule::EmptyMessage, index, "the message has no text, no tool call and no tool result");
            }
            for part in message.parts() {
                let fits = match part {
                    Part::Text(_) => role != Role::Tool,
                    Part::Reasoning(_) | Part::ToolCall(_) => role == Role::Assistant,
                    Part::ToolResult(_) => role == Role::Tool,
                };
                if !fits {
                    let part = match part {
                        Part::Text(_) => "text",
                        Part::Reasoning(_) => "reasoning",
                        Part::ToolCall(_) => "a tool call",
                        Part::ToolResult(_) => "a tool result",
                    };
                    self.message(Rule::PartInWrongRole, index, format!("{part} in a message of role {role:?}"));
                }
            }
            before = Some(role);
        }
        if before == Some(Role::Assistant) {
            let last = history.len().saturating_sub(1);
            self.message(Rule::EndsWithAssistant, last, "the conversation ends with the assistant");
        }
    }

    /// Calls and their results.
    fn pairs(&mut self, history: &History) {
        let mut ids: HashSet<CallId> = HashSet::new();
        let mut messages = history.iter().enumerate().peekable();
        while let Some((index, message)) = messages.next() {
            if message.role() == Role::Tool {
                for result in message.results() {
                    let text = format!("the result of `{}` ({}) follows no call", result.name, result.call_id);
                    self.message(Rule::ResultWithoutCall, index, text);
                }
                continue;
            }
            let calls: Vec<(CallId, &str)> = message.calls().map(|call| (call.id, &*call.name)).collect();
            for (id, name) in &calls {
                if !ids.insert(*id) {
                    let text = format!("the call id {id} (tool `{name}`) occurred before");
                    self.message(Rule::DuplicateCallId, index, text);
                }
            }
            let mut results: Vec<(usize, CallId, &str)> = Vec::new();
            if !calls.is_empty() {
                while let Some((at, message)) = messages.next_if(|(_, message)| message.role() == Role::Tool) {
                    results.extend(message.results().map(|result| (at, result.call_id, &*result.name)));
                }
            }
            self.results(index, message, &calls, &results);
        }
    }

    /// The results that directly follow the calls of one message.
    fn results(
        &mut self,
        index: usize,
        message: &Message,
        calls: &[(CallId, &str)],
        results: &[(usize, CallId, &str)],
    ) {
        let position = |id: CallId| calls.iter().position(|(call, _)| *call == id);
        let mut answered: HashSet<CallId> = HashSet::new();
        let mut furthest = None;
        for &(at, id, name) in results {
            match position(id) {
                None => {
                    let text = format!("the result of `{name}` ({id}) answers no call of message {index}");
                    self.message(Rule::ResultWithoutCall, at, text);
                }
                Some(_) if !answered.insert(id) => {
                    self.message(Rule::DuplicateResult, at, format!("a second result for `{name}` ({id})"));
                }
                Some(place) => {
                    if furthest.is_some_and(|furthest| place < furthest) {
                        let text = format!("the result of `{name}` ({id}) is not in the order of the calls");
                        self.message(Rule::ResultOrder, at, text);
                    }
                    furthest = furthest.max(Some(place));
                }
            }
        }
        for call in message.calls().filter(|call| !answered.contains(&call.id)) {
            let text = format!("the call of `{}` ({}) has no result directly after it", call.name, call.id);
            self.message(Rule::MissingResult, index, text);
        }
    }

    fn tools(&mut self, tools: &[ToolSpec], choice: &ToolChoice) {
        let mut names = HashSet::new();
        for tool in tools {
            let name = tool.name();
            if let Err(rule) = crate::id::rules::tool_name(name.as_str()) {
                self.tool(Rule::ToolName, format!("the tool name `{name}` is not {rule}"));
            }
            if !names.insert(name) {
                self.tool(Rule::DuplicateTool, format!("there are two tools `{name}`"));
            }
            if tool.description().trim().is_empty() {
                self.tool(Rule::ToolDescription, format!("the tool `{name}` has no description"));
            }
            if let Err(problem) = object_schema(tool.schema().value()) {
                self.tool(Rule::ToolSchema, format!("the schema of the tool `{name}` {problem}"));
            }
        }
        match choice {
            ToolChoice::Tool(name) if !names.contains(name) => {
                self.tool(Rule::ToolChoice, format!("the tool `{name}` has to be called but is not there"));
            }
            ToolChoice::Required if tools.is_empty() => {
                self.tool(Rule::ToolChoice, "a tool has to be called but there are none");
            }
            _ => {}
        }
    }
}

const TYPES: [&str; 7] = ["array", "boolean", "integer", "null", "number", "object", "string"];

/// Whether a value is a schema of an object as providers accept it at the top.
fn object_schema(schema: &Value) -> Result<(), String> {
    let Value::Object(schema) = schema else {
        return Err("is no JSON object".to_owned());
    };
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {}
        Some(other) if TYPES.contains(&other) => return Err(format!("has type `{other}` instead of `object`")),
        Some(other) => return Err(format!("has the unknown type `{other}`")),
        None => return Err("has no `\"type\": \"object\"`".to_owned()),
    }
    if let Some(key) = ["oneOf", "anyOf", "allOf", "enum", "not"].iter().find(|key| schema.contains_key(**key)) {
        return Err(format!("has `{key}` at the top"));
    }
    let Some(Value::Object(properties)) = schema.get("properties") else {
        return Err("has no `properties` that are an object".to_owned());
    };
    for (name, property) in properties {
        types(property).map_err(|problem| format!("has a property `{name}` that {problem}"))?;
    }
    required(schema, properties)
}

fn required(schema: &Map<String, Value>, properties: &Map<String, Value>) -> Result<(), String> {
    let names = match schema.get("required") {
        None => return Ok(()),
        Some(Value::Array(names)) => names,
        Some(_) => return Err("has a `required` that is no list".to_owned()),
    };
    for name in names {
        match name.as_str() {
            Some(name) if properties.contains_key(name) => {}
            Some(name) => return Err(format!("requires `{name}`, which is no property")),
            None => return Err("requires something that is no name".to_owned()),
        }
    }
    Ok(())
}

/// Whether the type of a property, if it says one, exists.
fn types(property: &Value) -> Result<(), String> {
    let fields = match property {
        Value::Object(fields) => fields,
        Value::Bool(_) => return Ok(()),
        _ => return Err("is no schema".to_owned()),
    };
    let known = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let legal = match fields.get("type") {
        None => true,
        Some(Value::Array(several)) => !several.is_empty() && several.iter().all(known),
        Some(one) => known(one),
    };
    if legal { Ok(()) } else { Err("has an unknown type".to_owned()) }
}

#[cfg(test)]
#[path = "checker_tests.rs"]
mod tests;
