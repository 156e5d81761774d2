//! Making a model call its tools: small local ones write a call as text unless they have to call.

use std::sync::Arc;

use hpd_agent::{
    chat::{
        BoxFuture, ChatClient, ChatError, ChatOptions, ChatRequest, ChatStream, ClientInfo, ModelInfo, ToolChoice,
        ToolSet, ToolSpec,
    },
    history::History,
    message::{Message, Role},
};

/// A client whose model has to call each of its tools once before it may answer the user's message.
///
/// Small models lose the thread when they see their own calls: they repeat them, as text, or have nothing to say in the
/// end. So each call is asked for as if it were the first one, with the tools that are left, and in the end the model is
/// told the results in plain words. Requests without tools, as those of children that have none, are left as they are.
pub struct MustCall {
    client: Arc<dyn ChatClient>,
}

impl MustCall {
    /// The same client, steered.
    #[must_use]
    pub fn new(client: Arc<dyn ChatClient>) -> Self {
        Self { client }
    }
}

fn steer(mut request: ChatRequest) -> ChatRequest {
    if request.tools.is_empty() {
        return request;
    }
    let asked = request.history.iter().rposition(|message| message.role() == Role::User).map_or(0, |at| at + 1);
    let mut history: History = request.history.iter().take(asked).cloned().collect();
    let made = || request.history.iter().skip(asked);
    let called =
        |tool: &ToolSpec| made().flat_map(|message| message.calls()).any(|call| &*call.name == tool.name().as_str());
    let left: ToolSet = request.tools.iter().filter(|tool| !called(tool)).cloned().collect();

    let mut options = ChatOptions::clone(&request.options);
    options.tool_choice = if left.is_empty() { ToolChoice::None } else { ToolChoice::Required };
    if left.is_empty() {
        let results = made().flat_map(|message| message.results());
        let results: String =
            results.map(|result| format!("The result of `{}`:\n\n{}\n\n", result.name, result.output.text())).collect();
        history.push(Arc::new(Message::user(format!("{results}All tools have been called. Write the answer now."))));
    }
    request.history = history;
    request.with_tools(left).with_options(options)
}

impl ChatClient for MustCall {
    fn info(&self) -> &ClientInfo {
        self.client.info()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ChatError>> {
        self.client.stream(steer(request))
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelInfo>, ChatError>> {
        self.client.models()
    }
}

#[cfg(test)]
mod tests {
    use hpd_agent::{
        chat::Schema,
        id::{CallId, MessageId, ToolName},
        message::{Part, ToolCall, ToolOutput, ToolResult},
        testing::RequestChecker,
    };

    use super::*;

    /// A call and its result.
    fn round(name: &str) -> [Message; 2] {
        let id = MessageId::generate();
        let call = ToolCall::new(CallId::new(id, 0), name, "{}");
        let result = ToolResult::new(call.id, name, ToolOutput::new("done"));
        let message = Message::of(id, Role::Assistant, [Part::ToolCall(call)]);
        [message, Message::of(MessageId::generate(), Role::Tool, [Part::ToolResult(result)])]
    }

    /// The names of the tools, the choice, the number of messages, and the text of the last one.
    fn steered(tools: &[&str], messages: &[&[Message]]) -> (Vec<String>, ToolChoice, usize, String) {
        let schema = Schema::from_static(r#"{"type":"object","properties":{}}"#);
        let tools = tools.iter().map(|name| ToolSpec::new(ToolName::new(*name).unwrap(), "A tool.", schema.clone()));
        let history = messages.iter().flat_map(|messages| messages.iter().cloned().map(Arc::new)).collect();
        let request = steer(ChatRequest::new(history).with_tools(tools.collect()));
        assert_eq!(RequestChecker::check(&request), Ok(()));
        let names = request.tools.iter().map(|tool| tool.name().to_string()).collect();
        let last = request.history.last().unwrap().text().into_owned();
        (names, request.options.tool_choice.clone(), request.history.len(), last)
    }

    #[test]
    fn each_tool_is_asked_for_as_the_first_one_and_the_results_are_told_in_the_end() {
        let asked = [Message::user("Go.")];
        let (a, b) = (round("a"), round("b"));
        let both = ["a", "b"];
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let go = || "Go.".to_owned();
        assert_eq!(steered(&both, &[&asked]), (names(&both), ToolChoice::Required, 1, go()));
        assert_eq!(steered(&both, &[&asked, &a]), (names(&["b"]), ToolChoice::Required, 1, go()));
        let (tools, choice, messages, last) = steered(&both, &[&asked, &a, &b]);
        assert_eq!((tools, choice, messages), (vec![], ToolChoice::None, 2));
        assert!(last.starts_with("The result of `a`:\n\ndone\n\nThe result of `b`:\n\ndone\n\n"), "{last}");
        // The next message of the user begins anew, after all that was said before.
        let more = steered(&both, &[&asked, &a, &b, &[Message::assistant("Done.")], &asked]);
        assert_eq!(more, (names(&both), ToolChoice::Required, 7, go()));
        assert_eq!(steered(&[], &[&asked]), (vec![], ToolChoice::Auto, 1, go()));
    }
}
