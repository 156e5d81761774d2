use super::*;
use crate::{
    chat::{Schema, ToolSet, ToolSpec},
    id::{MessageId, ToolName as Name},
    message::{ResultMetadata, ToolOutput},
};

fn id(message: u128, index: u32) -> CallId {
    CallId::new(MessageId::from_u128(message), index)
}

fn assistant_of(parts: impl IntoIterator<Item = Part>) -> Message {
    Message::of(MessageId::generate(), Role::Assistant, parts)
}

fn call(id: CallId, provider_id: Option<&str>) -> Part {
    let call = ToolCall::new(id, "t", "{\"a\":1}");
    Part::ToolCall(match provider_id {
        Some(provider_id) => call.with_provider_id(provider_id),
        None => call,
    })
}

fn result(call_id: CallId, output: ToolOutput) -> Message {
    let result = ToolResult { call_id, name: "t".into(), output, metadata: ResultMetadata::default() };
    Message::of(MessageId::generate(), Role::Tool, [Part::ToolResult(result)])
}

fn ok(call_id: CallId) -> Message {
    result(call_id, ToolOutput::new("ok"))
}

fn of(messages: impl IntoIterator<Item = Message>) -> ChatRequest {
    ChatRequest::new(messages.into_iter().map(Arc::new).collect())
}

fn asking(provider: GenaiProvider, asked: &ChatRequest, model: &str) -> Result<(GenaiRequest, GenaiOptions), String> {
    request(provider, provider.schema_profile(false), asked, model)
}

fn wire(provider: GenaiProvider, asked: &ChatRequest) -> GenaiRequest {
    asking(provider, asked, "model").unwrap().0
}

fn wire_options(provider: GenaiProvider, options: ChatOptions, model: &str) -> GenaiOptions {
    asking(provider, &of([Message::user("q")]).with_options(options), model).unwrap().1
}

/// The ids of the calls and of the results, in order.
fn ids(request: &GenaiRequest) -> (Vec<String>, Vec<String>) {
    let calls = request.messages.iter().flat_map(|message| message.content.tool_calls());
    let results = request.messages.iter().flat_map(|message| message.content.tool_responses());
    (calls.map(|call| call.call_id.clone()).collect(), results.map(|result| result.call_id.clone()).collect())
}

#[test]
fn a_provider_that_reuses_its_ids_does_no_harm() {
    let (a, b, c, d) = (id(1, 0), id(1, 1), id(2, 0), id(3, 0));
    let conversation = || {
        of([
            Message::user("q"),
            assistant_of([call(a, Some("call_0")), call(b, Some("call_0"))]),
            ok(a),
            ok(b),
            assistant_of([call(c, Some("call_0"))]),
            ok(c),
            assistant_of([call(d, None)]),
            ok(d),
        ])
    };
    let (calls, results) = ids(&wire(GenaiProvider::OpenAi, &conversation()));
    assert_eq!(calls, ["call_0".to_owned(), b.to_string(), c.to_string(), d.to_string()]);
    assert_eq!(results, calls);
    assert_eq!(ids(&wire(GenaiProvider::OpenAi, &conversation())).0, calls);
}

#[test]
fn ids_that_are_not_accepted_everywhere_are_replaced() {
    for bad in ["", "call#t#0", "a b", &"x".repeat(41)] {
        let a = id(1, 0);
        let asked = of([Message::user("q"), assistant_of([call(a, Some(bad))]), ok(a)]);
        assert_eq!(ids(&wire(GenaiProvider::Anthropic, &asked)).0, [a.to_string()], "{bad}");
    }
}

#[test]
fn results_of_one_message_go_together_except_to_ollama() {
    let (a, b) = (id(1, 0), id(1, 1));
    let asked =
        of([Message::user("q"), assistant_of([call(a, None), call(b, None)]), ok(a), ok(b), Message::user("r")]);
    assert_eq!(wire(GenaiProvider::Anthropic, &asked).messages.len(), 4);
    assert_eq!(wire(GenaiProvider::Ollama, &asked).messages.len(), 5);
}

#[test]
fn what_a_model_wrote_badly_is_sent_well() {
    let a = id(1, 0);
    for arguments in ["{\"a\":", "[1]", "\"x\"", ""] {
        let bad = Part::ToolCall(ToolCall::new(a, "get weather!", arguments));
        let asked = wire(GenaiProvider::OpenAi, &of([Message::user("q"), assistant_of([bad]), ok(a)]));
        let calls = asked.messages[1].content.tool_calls();
        assert_eq!((calls[0].fn_name.as_str(), &calls[0].fn_arguments), ("get_weather_", &json!({})));
    }
    assert_eq!(legal_name(""), "unknown");
    assert_eq!(legal_name(&"é".repeat(99)), "_".repeat(64));
}

#[test]
fn blank_text_and_lone_thoughts_are_left_away() {
    let thought = Part::Reasoning(Reasoning::new("hm"));
    let a = id(1, 0);
    let messages = [
        Message::user("q"),
        assistant_of([thought]),
        Message::user("q"),
        assistant_of([Part::Text("\n".into()), Part::Text("x".into()), Part::Text("y".into()), call(a, None)]),
        ok(a),
    ];
    let asked = wire(GenaiProvider::Anthropic, &of(messages));
    assert_eq!(asked.messages.len(), 4);
    assert_eq!(asked.messages[2].content.texts(), ["xy"]);
}

#[test]
fn thoughts_go_back_to_who_thought_them() {
    let a = id(1, 0);
    let signed = |mark: &str| Part::Reasoning(Reasoning::new("deep").with_signature(marked(mark, "s:1")));
    let redacted =
        Part::Reasoning(Reasoning::new("").with_signature(marked(REDACTED, r#"{"type":"redacted_thinking"}"#)));
    let plain = Part::Reasoning(Reasoning::new("plain"));
    let parts = [signed("anthropic"), redacted, signed("gemini"), plain, call(a, None)];
    let asked = of([Message::user("q"), assistant_of(parts), ok(a)]);
    let sent = |provider| {
        let asked = wire(provider, &asked);
        let content = &asked.messages[1].content;
        let own = |texts: Vec<&str>| texts.into_iter().map(str::to_owned).collect::<Vec<_>>();
        (own(content.thought_signatures()), own(content.reasoning_contents()), content.custom_parts().len())
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(sent(GenaiProvider::Anthropic), (texts(&["s:1"]), texts(&["deep"]), 1));
    assert_eq!(sent(GenaiProvider::Gemini), (texts(&["s:1"]), texts(&[]), 0));
    assert_eq!(sent(GenaiProvider::DeepSeek), (texts(&[]), texts(&["plain"]), 0));
    assert_eq!(sent(GenaiProvider::OpenAi), (texts(&[]), texts(&[]), 0));
}

#[test]
fn thoughts_of_earlier_turns_do_not_go_to_deepseek() {
    let a = id(1, 0);
    let plain = Part::Reasoning(Reasoning::new("plain"));
    let asked = of([Message::user("q"), assistant_of([plain, call(a, None)]), ok(a), Message::user("next")]);
    assert!(wire(GenaiProvider::DeepSeek, &asked).messages[1].content.reasoning_contents().is_empty());
}

#[test]
fn anthropic_learns_that_a_call_failed() {
    let a = id(1, 0);
    let failed = result(a, ToolOutput::error("no"));
    let asked = of([Message::user("q"), assistant_of([call(a, None)]), failed]);
    let asked = wire(GenaiProvider::Anthropic, &asked);
    let block = asked.messages[2].content.custom_parts()[0].data().clone();
    assert_eq!(block["is_error"], true);
    assert_eq!(block["tool_use_id"], a.to_string());
}

#[test]
fn anthropic_is_told_of_tools_that_are_gone() {
    let a = id(1, 0);
    let asked = of([Message::user("q"), assistant_of([call(a, None)]), ok(a)]);
    let (chat, options) = asking(GenaiProvider::Anthropic, &asked, "model").unwrap();
    assert_eq!(chat.tools.map(|tools| tools.len()), Some(1));
    assert_eq!(options.tool_choice, Some(GenaiChoice::None));
    assert!(asking(GenaiProvider::OpenAi, &asked, "model").unwrap().0.tools.is_none());
}

fn with_tools(choice: ToolChoice) -> ChatRequest {
    let tool = |name| ToolSpec::new(Name::new(name).unwrap(), "d", Schema::from_static(r#"{"type":"object"}"#));
    let options = ChatOptions { tool_choice: choice, ..ChatOptions::default() };
    of([Message::user("q")]).with_tools(ToolSet::from_iter([tool("a"), tool("web_search")])).with_options(options)
}

#[test]
fn tool_choices() {
    let sent = |provider, choice| {
        let (chat, options) = asking(provider, &with_tools(choice), "model").unwrap();
        (chat.tools.unwrap_or_default().len(), options.tool_choice)
    };
    let one = || ToolChoice::Tool(Name::new("a").unwrap());
    assert_eq!(sent(GenaiProvider::OpenAi, ToolChoice::Auto), (2, None));
    assert_eq!(sent(GenaiProvider::OpenAi, ToolChoice::Required), (2, Some(GenaiChoice::Required)));
    assert_eq!(sent(GenaiProvider::OpenAi, one()), (2, Some(GenaiChoice::tool("a"))));
    assert_eq!(sent(GenaiProvider::Ollama, ToolChoice::None), (0, None));
    assert_eq!(sent(GenaiProvider::Ollama, one()), (1, None));
    let web_search = asking(GenaiProvider::Gemini, &with_tools(ToolChoice::Auto), "model").unwrap().0.tools.unwrap();
    assert_eq!(web_search[1].name, ToolName::Custom("web_search".to_owned()));
}

#[test]
fn efforts() {
    let with = |provider, effort: &str, model| {
        let effort = (!effort.is_empty()).then(|| effort.into());
        wire_options(provider, ChatOptions { effort, ..ChatOptions::default() }, model)
    };
    let high = with(GenaiProvider::Gemini, "high", "m");
    assert!(matches!(high.reasoning_effort, Some(ReasoningEffort::High)));
    assert_eq!(high.capture_reasoning_content, Some(true));
    assert_eq!(with(GenaiProvider::Gemini, "", "m").capture_reasoning_content, Some(false));
    let odd = with(GenaiProvider::OpenAi, "ultra", "m");
    assert_eq!(odd.extra_body, Some(json!({"reasoning_effort": "ultra"})));
    let kept = with(GenaiProvider::OpenAiCompatible, "", "mistral-medium");
    assert!(matches!(kept.reasoning_effort, Some(ReasoningEffort::Budget(0))));
    assert!(with(GenaiProvider::OpenAiCompatible, "", "qwen").reasoning_effort.is_none());
    let asked =
        of([Message::user("q")]).with_options(ChatOptions { effort: Some("ultra".into()), ..ChatOptions::default() });
    assert!(asking(GenaiProvider::Anthropic, &asked, "m").unwrap_err().contains("ultra"));
    let options = ChatOptions { effort: Some("2000".into()), ..ChatOptions::default() };
    let asked = of([Message::user("q")]).with_options(options);
    assert!(asking(GenaiProvider::OpenAi, &asked, "m").unwrap_err().contains("2000"));
    assert!(asking(GenaiProvider::Anthropic, &asked, "m").is_ok());
}

#[test]
fn ollama_refuses_extra_options() {
    let options = ChatOptions { extra: Map::from_iter([("top_k".to_owned(), json!(1))]), ..ChatOptions::default() };
    let asked = of([Message::user("q")]).with_options(options);
    assert!(asking(GenaiProvider::Ollama, &asked, "m").unwrap_err().contains("top_k"));
    assert_eq!(asking(GenaiProvider::OpenAi, &asked, "m").unwrap().1.extra_body, Some(json!({"top_k": 1})));
}

#[test]
fn schemas_have_the_form_that_the_provider_takes() {
    let schema = r#"{"type":"object","properties":{"days":{"type":"integer","format":"uint8","default":3}}}"#;
    let tool = ToolSpec::new(Name::new("forecast").unwrap(), "d", Schema::from_static(schema));
    let asked = of([Message::user("q")]).with_tools(ToolSet::from_iter([tool]));
    let sent = |provider: GenaiProvider, strict| {
        let profile = provider.schema_profile(strict);
        let tool = request(provider, profile, &asked, "m").unwrap().0.tools.unwrap().remove(0);
        assert_eq!(tool.schema.as_ref(), asked.tools[0].schema().wire(profile).ok(), "{provider}");
        (tool.strict, tool.schema.unwrap()["properties"]["days"].clone())
    };
    for provider in GenaiProvider::ALL {
        let days = sent(provider, false);
        let expected = match provider {
            GenaiProvider::Gemini => {
                json!({"type": "integer", "description": "Default: 3.", "minimum": 0, "maximum": 255})
            }
            _ => json!({"type": "integer", "format": "uint8", "default": 3}),
        };
        assert_eq!(days, (None, expected), "{provider}");
    }
    let (strict, days) = sent(GenaiProvider::OpenAi, true);
    assert_eq!((strict, &days["type"]), (Some(true), &json!(["integer", "null"])));
}

#[test]
fn alternatives_of_strict_mode_begin_with_what_tells_them_apart() {
    let schema = r#"{"type":"object","properties":{"step":{"oneOf":[
        {"type":"object","properties":{"x":{"type":"string"},"kind":{"const":"a"}},"required":["x","kind"]},
        {"type":"object","properties":{"x":{"type":"string"},"kind":{"const":"b"}},"required":["x","kind"]}
    ]}},"required":["step"]}"#;
    let schema = Schema::from_static(schema);
    let form = schema.wire(SchemaProfile::OpenAiStrict).unwrap();
    for alternative in form["properties"]["step"]["anyOf"].as_array().unwrap() {
        // `genai` brings the feature of the JSON library that keeps members in their order.
        let names: Vec<_> = alternative["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["kind", "x"]);
        assert_eq!(alternative["required"], json!(["kind", "x"]));
    }
}

#[test]
fn a_tool_that_the_provider_does_not_take_is_named() {
    let schema = Schema::from_static(r#"{"type":"object","properties":{"a":true,"b":{"type":"object"}}}"#);
    let tool = ToolSpec::new(Name::new("forecast").unwrap(), "d", schema);
    let asked = of([Message::user("q")]).with_tools(ToolSet::from_iter([tool]));
    let text = request(GenaiProvider::OpenAi, SchemaProfile::OpenAiStrict, &asked, "m").unwrap_err();
    for part in ["`forecast`", "`a`", "`b`", "strict mode"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}
