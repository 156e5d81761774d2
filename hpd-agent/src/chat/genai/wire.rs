//! From our requests to `genai`'s.

use std::{
    collections::{HashMap, HashSet},
    str::FromStr,
    sync::Arc,
};

use genai::{
    adapter::AdapterKind,
    chat::{
        ChatMessage, ChatOptions as GenaiOptions, ChatRequest as GenaiRequest, ContentPart, MessageContent,
        ReasoningEffort, Tool, ToolCall as GenaiCall, ToolChoice as GenaiChoice, ToolName, ToolResponse,
    },
};
use serde_json::{Map, Value, json};

use super::provider::GenaiProvider;
use crate::{
    chat::{ChatOptions, ChatRequest, SchemaProfile, ToolChoice},
    history::History,
    id::CallId,
    message::{Message, Part, Reasoning, Role, ToolCall, ToolResult},
};

/// The mark on the signature of a block that Anthropic shows nobody; what follows is the block as JSON.
pub(super) const REDACTED: &str = "anthropic-redacted";

/// Tools of Gemini's own, which `genai` takes a tool of that name for.
const GEMINI_OWN: [&str; 4] = ["googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext"];

/// A signature with the name of the provider that made it: nobody else accepts it.
pub(super) fn marked(mark: &str, signature: &str) -> String {
    format!("{mark}:{signature}")
}

/// What `genai` is asked, or a sentence that says what this provider cannot be asked.
pub(super) fn request(
    provider: GenaiProvider,
    profile: SchemaProfile,
    request: &ChatRequest,
    model: &str,
) -> Result<(GenaiRequest, GenaiOptions), String> {
    let mut chat = GenaiRequest::new(messages(provider, &request.history));
    if !request.system.is_empty() {
        chat.system = Some(request.system.to_string());
    }
    let mut options = options(provider, &request.options, model)?;
    let mut tools = tools(provider, profile, request)?;
    let mut choice = request.options.tool_choice.clone();
    if provider == GenaiProvider::Ollama {
        // It knows no choice: what must not be called is not shown.
        match &choice {
            ToolChoice::None => tools.clear(),
            ToolChoice::Tool(name) => tools.retain(|tool| tool.name == ToolName::Custom(name.to_string())),
            ToolChoice::Auto | ToolChoice::Required => {}
        }
        choice = ToolChoice::Auto;
    }
    if tools.is_empty() && provider == GenaiProvider::Anthropic {
        // It refuses calls in a conversation whose request names no tools.
        tools = stand_ins(&request.history);
        choice = ToolChoice::None;
    }
    if !tools.is_empty() {
        options.tool_choice = match choice {
            ToolChoice::Auto => None,
            ToolChoice::Required => Some(GenaiChoice::Required),
            ToolChoice::None => Some(GenaiChoice::None),
            ToolChoice::Tool(name) => Some(GenaiChoice::tool(name.to_string())),
        };
        chat.tools = Some(tools);
    }
    Ok((chat, options))
}

fn options(provider: GenaiProvider, options: &ChatOptions, model: &str) -> Result<GenaiOptions, String> {
    let mut wire = GenaiOptions::default().with_capture_usage(true).with_capture_tool_calls(true);
    wire.temperature = options.temperature;
    wire.max_tokens = options.max_tokens;
    let mut extra = options.extra.clone();
    if provider == GenaiProvider::Ollama && !extra.is_empty() {
        let names: Vec<_> = extra.keys().map(String::as_str).collect();
        return Err(format!("Ollama can't be sent the extra options {}", names.join(", ")));
    }
    let mut thinks = false;
    match &options.effort {
        Some(effort) => match ReasoningEffort::from_str(effort) {
            Ok(ReasoningEffort::Budget(_)) if provider.speaks_openai() => {
                return Err(format!("`{effort}` is no effort for {provider}: it takes words, no number of tokens"));
            }
            Ok(effort) => {
                thinks = !matches!(effort, ReasoningEffort::Zero | ReasoningEffort::Budget(0));
                wire.reasoning_effort = Some(effort);
            }
            Err(_) if provider.speaks_openai() => {
                extra.insert("reasoning_effort".to_owned(), Value::from(&**effort));
            }
            Err(_) => {
                return Err(format!("`{effort}` is no effort: expected none, minimal, low, medium, high, xhigh, max"));
            }
        },
        // Without an effort, `genai` takes the end of a name like `mistral-medium` for one and cuts it off. A budget keeps
        // it from that, and OpenAI's protocol has no place for one.
        None if provider.adapter() == AdapterKind::OpenAI && ReasoningEffort::from_model_name(model).0.is_some() => {
            wire.reasoning_effort = Some(ReasoningEffort::Budget(0));
        }
        None => {}
    }
    // Gemini's models that don't think refuse to be asked for thoughts.
    wire.capture_reasoning_content = Some(thinks || provider != GenaiProvider::Gemini);
    if !extra.is_empty() {
        wire.extra_body = Some(Value::Object(extra));
    }
    Ok(wire)
}

fn tools(provider: GenaiProvider, profile: SchemaProfile, request: &ChatRequest) -> Result<Vec<Tool>, String> {
    let tools = request.tools.iter().map(|tool| {
        let name = tool.name().to_string();
        if provider == GenaiProvider::Gemini && GEMINI_OWN.contains(&name.as_str()) {
            return Err(format!("a tool can't be called `{name}`: Gemini has one of that name"));
        }
        let schema = tool.schema().wire(profile).map_err(|problems| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("the schema of tool `{name}`: {}", problems.join("; "))
        })?;
        let wire = Tool::new(ToolName::Custom(name)).with_description(tool.description()).with_schema(schema.clone());
        Ok(if profile == SchemaProfile::OpenAiStrict { wire.with_strict(true) } else { wire })
    });
    tools.collect()
}

/// Tools for the names that the conversation calls, for a request that has none.
fn stand_ins(history: &History) -> Vec<Tool> {
    let mut names: Vec<String> = Vec::new();
    for call in history.iter().flat_map(|message| message.calls()) {
        let name = legal_name(&call.name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let tool = |name| {
        let tool = Tool::new(ToolName::Custom(name)).with_description("Not available any more.");
        tool.with_schema(json!({"type": "object", "properties": {}}))
    };
    names.into_iter().map(tool).collect()
}

fn messages(provider: GenaiProvider, history: &History) -> Vec<ChatMessage> {
    // What was thought before the last question is of no use to anybody.
    let turn = history.iter().rposition(|message| message.role() == Role::User).unwrap_or_default();
    let mut ids = WireIds::new(provider);
    let mut wire: Vec<ChatMessage> = Vec::with_capacity(history.len());
    let mut results: Vec<ContentPart> = Vec::new();
    for (index, message) in history.iter().enumerate() {
        if message.role() == Role::Tool {
            for result in message.results() {
                let part = result_part(provider, result, ids.of_result(result));
                if provider == GenaiProvider::Ollama {
                    // `genai` sends one result of a message to it.
                    wire.push(ChatMessage::tool(MessageContent::from_parts(vec![part])));
                } else {
                    results.push(part);
                }
            }
            continue;
        }
        if !results.is_empty() {
            wire.push(ChatMessage::tool(MessageContent::from_parts(std::mem::take(&mut results))));
        }
        if message.role() == Role::User {
            wire.push(ChatMessage::user(message.text().into_owned()));
        } else if let Some(parts) = assistant(provider, message, index > turn, &mut ids) {
            wire.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
        }
    }
    if !results.is_empty() {
        wire.push(ChatMessage::tool(MessageContent::from_parts(results)));
    }
    wire
}

/// The parts of an assistant's message; `None` if nothing is left that a provider accepts. `current`: it belongs to the
/// turn that goes on.
fn assistant(provider: GenaiProvider, message: &Message, current: bool, ids: &mut WireIds) -> Option<Vec<ContentPart>> {
    let mut parts: Vec<ContentPart> = Vec::with_capacity(message.parts().len());
    let mut says_something = false;
    let calls = message.calls().next().is_some();
    for part in message.parts() {
        match part {
            Part::Text(text) if text.trim().is_empty() => {}
            Part::Text(text) => {
                says_something = true;
                match parts.last_mut() {
                    Some(ContentPart::Text(before)) => before.push_str(text),
                    _ => parts.push(ContentPart::Text(text.to_string())),
                }
            }
            Part::Reasoning(reasoning) => thought(provider, reasoning, current && calls, &mut parts),
            Part::ToolCall(call) => {
                says_something = true;
                parts.push(ContentPart::ToolCall(GenaiCall {
                    call_id: ids.of_call(call),
                    fn_name: legal_name(&call.name),
                    fn_arguments: arguments(&call.arguments),
                    thought_signatures: None,
                }));
            }
            Part::ToolResult(_) => {}
        }
    }
    says_something.then_some(parts)
}

/// Thoughts go back to who thought them, and only where they are wanted.
fn thought(provider: GenaiProvider, reasoning: &Reasoning, in_tool_turn: bool, parts: &mut Vec<ContentPart>) {
    let wants_plain = in_tool_turn && provider.speaks_openai() && provider != GenaiProvider::OpenAi;
    match reasoning.signature.as_deref().and_then(|signature| signature.split_once(':')) {
        Some((mark, signature)) if mark == provider.name() => {
            parts.push(ContentPart::ThoughtSignature(signature.to_owned()));
            if provider == GenaiProvider::Anthropic {
                // `genai` pairs the two by their order.
                parts.push(ContentPart::ReasoningContent(reasoning.text.to_string()));
            }
        }
        Some((REDACTED, block)) if provider == GenaiProvider::Anthropic => {
            if let Ok(block) = serde_json::from_str(block) {
                parts.push(ContentPart::from_custom(block, None));
            }
        }
        // DeepSeek and others want it back while tools are being called, and at no other time; OpenAI never.
        None if wants_plain && reasoning.signature.is_none() && !reasoning.text.is_empty() => {
            parts.push(ContentPart::ReasoningContent(reasoning.text.to_string()));
        }
        _ => {}
    }
}

fn result_part(provider: GenaiProvider, result: &ToolResult, id: String) -> ContentPart {
    let text = result.output.text();
    if provider == GenaiProvider::Anthropic && result.output.is_error() {
        // `genai` has no way to say that a call failed, but sends any block as it is.
        let block = json!({"type": "tool_result", "tool_use_id": id, "content": text, "is_error": true});
        return ContentPart::from_custom(block, None);
    }
    ContentPart::ToolResponse(ToolResponse::new(id, text).with_fn_name(legal_name(&result.name)))
}

/// Providers accept objects only; what a model wrote instead is of no use to it.
fn arguments(text: &str) -> Value {
    serde_json::from_str::<Map<String, Value>>(text).map_or_else(|_| Value::Object(Map::new()), Value::Object)
}

/// A name that every provider accepts, for what a model wrote.
fn legal_name(name: &str) -> String {
    let legal = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = name.chars().take(64).map(legal).collect();
    if name.is_empty() { "unknown".to_owned() } else { name }
}

/// The ids of calls on the wire: the same for a call and its result, unique within a request, and the same in every
/// request that begins with the same messages.
struct WireIds {
    provider: GenaiProvider,
    used: HashSet<Arc<str>>,
    by_call: HashMap<CallId, String>,
}

impl WireIds {
    fn new(provider: GenaiProvider) -> Self {
        Self { provider, used: HashSet::new(), by_call: HashMap::new() }
    }

    fn of_call(&mut self, call: &ToolCall) -> String {
        let id = match &call.provider_id {
            Some(id) if legal_id(id) && self.used.insert(Arc::clone(id)) => id.to_string(),
            // Gemini's calls often have no id; `genai` sends none for one of this form.
            None if self.provider == GenaiProvider::Gemini => {
                format!("call#{}#{}", legal_name(&call.name), call.id.index())
            }
            _ => call.id.to_string(),
        };
        self.by_call.insert(call.id, id.clone());
        id
    }

    fn of_result(&self, result: &ToolResult) -> String {
        self.by_call.get(&result.call_id).cloned().unwrap_or_else(|| result.call_id.to_string())
    }
}

/// Whether all providers accept it: Anthropic wants these characters, OpenAI at most 40 of them.
fn legal_id(id: &str) -> bool {
    (1..=40).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
