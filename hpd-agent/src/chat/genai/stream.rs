//! From `genai`'s events to our deltas.

use genai::chat::{ChatStreamEvent, StopReason as GenaiStop, StreamEnd, ToolCall, Usage as GenaiUsage};
use serde_json::Value;

use super::{
    provider::GenaiProvider,
    wire::{REDACTED, marked},
};
use crate::{
    chat::{ChatDelta, ChatError},
    message::{StopReason, Usage},
};

/// Turns the events of one answer into deltas. `genai` gives a tool call as ever longer snapshots (OpenAI, Anthropic) or
/// as a whole (Gemini, Ollama), signatures in pieces (Anthropic) or before the part that they belong to (Gemini), and an
/// end even for streams that were cut (Gemini, Ollama).
pub(super) struct Converter {
    provider: GenaiProvider,
    calls: Vec<Call>,
    /// The pieces of a signature that has not ended (Anthropic).
    signature: String,
    /// Signatures whose part has not come yet (Gemini), and what came in the meantime.
    signatures: Vec<String>,
    held: Vec<ChatDelta>,
}

struct Call {
    id: String,
    name: String,
    /// The arguments so far.
    text: String,
}

type Item = Result<ChatDelta, ChatError>;

impl Converter {
    pub(super) fn new(provider: GenaiProvider) -> Self {
        Self { provider, calls: Vec::new(), signature: String::new(), signatures: Vec::new(), held: Vec::new() }
    }

    pub(super) fn event(&mut self, event: ChatStreamEvent) -> Vec<Item> {
        let mut deltas = Vec::new();
        match event {
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => {}
            ChatStreamEvent::Chunk(chunk) => self.content(ChatDelta::Text(chunk.content.into()), &mut deltas),
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.content(ChatDelta::Reasoning(chunk.content.into()), &mut deltas);
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) if self.provider == GenaiProvider::Gemini => {
                // Signatures lead the pieces of one frame: what is held belongs to an earlier one.
                if !self.held.is_empty() {
                    self.flush(&mut deltas);
                }
                self.signatures.push(chunk.content);
            }
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => self.signature.push_str(&chunk.content),
            ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call, &mut deltas),
            ChatStreamEvent::End(end) => self.end(end, &mut deltas),
        }
        deltas.into_iter().map(Ok).collect()
    }

    fn content(&mut self, delta: ChatDelta, deltas: &mut Vec<ChatDelta>) {
        if self.signatures.is_empty() {
            self.flush(deltas);
            deltas.push(delta);
            return;
        }
        // The signature before it may belong to it or to a call after it. A frame has at most one piece of each kind,
        // so that what does not fit into this frame begins the next one.
        let fits = match self.held.last() {
            None => true,
            Some(ChatDelta::Reasoning(_)) => matches!(delta, ChatDelta::Text(_)),
            Some(_) => false,
        };
        if fits {
            self.held.push(delta);
        } else {
            self.flush(deltas);
            deltas.push(delta);
        }
    }

    /// Emits what was kept back.
    fn flush(&mut self, deltas: &mut Vec<ChatDelta>) {
        if !self.signature.is_empty() {
            let signature = std::mem::take(&mut self.signature);
            deltas.push(self.signature_delta(&signature));
        }
        for signature in std::mem::take(&mut self.signatures) {
            deltas.push(self.signature_delta(&signature));
        }
        deltas.append(&mut self.held);
    }

    fn signature_delta(&self, signature: &str) -> ChatDelta {
        ChatDelta::ReasoningSignature(marked(self.provider.name(), signature).into())
    }

    fn call(&mut self, call: ToolCall, deltas: &mut Vec<ChatDelta>) {
        let own = call.thought_signatures.unwrap_or_default();
        // The signatures of a frame stand in the order of its parts: those after this call's belong to later calls.
        let place = own.first().and_then(|first| self.signatures.iter().position(|signature| signature == first));
        let mut later = self.signatures.split_off(place.unwrap_or(self.signatures.len()));
        later.retain(|signature| !own.contains(signature));
        self.flush(deltas);
        self.signatures = later;
        deltas.extend(own.iter().map(|signature| self.signature_delta(signature)));
        let whole = matches!(self.provider, GenaiProvider::Gemini | GenaiProvider::Ollama);
        let text = match call.fn_arguments {
            Value::String(text) => text,
            Value::Null => String::new(),
            value => value.to_string(),
        };
        let known = if whole { None } else { self.known(&call.call_id, &call.fn_name, &text) };
        let index = known.unwrap_or(self.calls.len());
        let number = u32::try_from(index).unwrap_or(u32::MAX);
        if known.is_none() {
            // `genai` makes this form of id for a call of Gemini's that has none.
            let id =
                (!call.call_id.is_empty() && !call.call_id.starts_with("call#")).then(|| call.call_id.as_str().into());
            deltas.push(ChatDelta::ToolCallStart { index: number, id, name: call.fn_name.as_str().into() });
            self.calls.push(Call { id: call.call_id, name: call.fn_name, text: String::new() });
        }
        let Some(known) = self.calls.get_mut(index) else {
            return;
        };
        if let Some(more) = text.strip_prefix(&known.text)
            && !more.is_empty()
        {
            deltas.push(ChatDelta::ToolCallArguments { index: number, text: more.into() });
            known.text = text;
        }
    }

    /// The call that a snapshot continues. The id alone does not say it, because there are providers that give all
    /// calls the same one: what continues a call begins with what was there of it.
    fn known(&self, id: &str, name: &str, text: &str) -> Option<usize> {
        let by_id = self.calls.iter().rposition(|call| call.id == id && text.starts_with(&call.text));
        by_id.or_else(|| {
            // For a piece that repeats the name but not the id, `genai` makes up an id of the position.
            let last = self.calls.len().checked_sub(1)?;
            let call = self.calls.last()?;
            let continues = id == format!("call_{last}") && call.name == name && !call.text.is_empty();
            (continues && text.starts_with(&call.text)).then_some(last)
        })
    }

    fn end(&mut self, end: StreamEnd, deltas: &mut Vec<ChatDelta>) {
        self.flush(deltas);
        // An answer without a reason to stop did not stop by itself. The check of the stream reports it.
        let Some(reason) = end.captured_stop_reason else {
            return;
        };
        // Blocks that Anthropic shows nobody come with the end only.
        for part in end.captured_content.iter().flat_map(|content| content.custom_parts()) {
            if part.typ() == Some("redacted_thinking") {
                deltas.push(ChatDelta::ReasoningSignature(marked(REDACTED, &part.data.to_string()).into()));
            }
        }
        // Some models leave the arguments away where there are none.
        for (index, _) in self.calls.iter().enumerate().filter(|(_, call)| call.text.trim().is_empty()) {
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            deltas.push(ChatDelta::ToolCallArguments { index, text: "{}".into() });
        }
        deltas.extend(end.captured_usage.as_ref().and_then(usage).map(ChatDelta::Usage));
        deltas.push(ChatDelta::Finish(self.stop_reason(reason)));
    }

    fn stop_reason(&self, reason: GenaiStop) -> StopReason {
        match reason {
            // Several providers say `stop` although there are calls.
            GenaiStop::Completed(_) | GenaiStop::StopSequence(_) | GenaiStop::ToolCall(_) if !self.calls.is_empty() => {
                StopReason::ToolUse
            }
            GenaiStop::Completed(_) | GenaiStop::StopSequence(_) | GenaiStop::ToolCall(_) => StopReason::EndTurn,
            GenaiStop::MaxTokens(_) => StopReason::MaxTokens,
            GenaiStop::ContentFilter(_) => StopReason::Refusal,
            // A server that imitates Gemini says so; Gemini itself says `STOP`.
            GenaiStop::Other(text) if text == "FUNCTION_CALL" && !self.calls.is_empty() => StopReason::ToolUse,
            GenaiStop::Other(text) => StopReason::Other(text.into()),
        }
    }
}

/// Token counts; `None` if there are none.
fn usage(usage: &GenaiUsage) -> Option<Usage> {
    let count = |number: Option<i32>| number.and_then(|number| u64::try_from(number).ok());
    let input = count(usage.prompt_tokens);
    let details = usage.completion_tokens_details.as_ref();
    let reasoning = details.and_then(|details| count(details.reasoning_tokens));
    // Gemini leaves the sum away if there was nothing but thought.
    let output = count(usage.completion_tokens).or(reasoning);
    if input.is_none() && output.is_none() {
        return None;
    }
    let mut counts = Usage::new(input.unwrap_or_default(), output.unwrap_or_default());
    counts.reasoning_tokens = reasoning.unwrap_or_default();
    if let Some(details) = &usage.prompt_tokens_details {
        counts.cached_input_tokens = count(details.cached_tokens).unwrap_or_default();
        counts.cache_write_tokens = count(details.cache_creation_tokens).unwrap_or_default();
    }
    Some(counts)
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
