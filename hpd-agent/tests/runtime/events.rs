//! Live events: deltas, order, slow subscribers, the wire form.

use hpd_agent::{
    event::{CallType, EventBody},
    testing::{Reply, ScriptedChatClient},
};
use serde_json::{Value, json};

use crate::support::{agent, journal};

#[tokio::test]
async fn text_reasoning_and_calls_stream_with_their_ids() {
    let script = ScriptedChatClient::replies([
        Reply::reasoning("let me think")
            .and_text("I ask.")
            .and_tool_call("summarizer", json!({"input": "x"}))
            .in_chunks(3),
        Reply::text("child text").in_chunks(2),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let mut run = agent.run("go");
    let (mut text, mut reasoning, mut arguments, mut child) =
        (String::new(), String::new(), String::new(), String::new());
    let mut call = None;
    let mut message = None;
    let mut ended = 0;
    while let Some(envelope) = run.next().await {
        let depth = envelope.agent().depth;
        match envelope.body() {
            EventBody::ModelRequest(request) if message.is_none() => message = Some(request.message_id),
            EventBody::TextDelta(delta) if depth == 1 => child.push_str(&delta.delta),
            EventBody::TextDelta(delta) if Some(delta.message_id) == message => text.push_str(&delta.delta),
            EventBody::ReasoningDelta(delta) => reasoning.push_str(&delta.delta),
            EventBody::ToolCallStart(start) => {
                assert_eq!((&*start.name, start.call_type), ("summarizer", CallType::SubAgent));
                assert_eq!(Some(start.call_id.message()), message);
                call = Some(start.call_id);
            }
            EventBody::ToolCallArgs(args) => {
                assert_eq!(Some(args.call_id), call);
                arguments.push_str(&args.delta);
            }
            EventBody::ToolCallEnd(end) => {
                assert_eq!(Some(end.call_id), call);
                ended += 1;
            }
            EventBody::ModelResponse(response) if depth == 0 && call.is_some() && ended == 1 => {
                ended += 1;
                assert_eq!(response.message.calls().next().map(|c| c.id), call);
            }
            _ => {}
        }
        assert_eq!(envelope.sequence.is_some(), envelope.body().is_durable());
    }
    assert_eq!((text.as_str(), reasoning.as_str(), child.as_str()), ("I ask.", "let me think", "child text"));
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({"input": "x"}));
    assert_eq!(ended, 2);
}

#[tokio::test]
async fn a_slow_subscriber_gets_every_durable_event_and_the_number_of_live_ones_that_it_missed() {
    let pieces = 6_000;
    let script = ScriptedChatClient::replies([
        Reply::tool_call("summarizer", json!({"input": "x"})),
        Reply::text("a".repeat(pieces)).in_chunks(pieces),
        Reply::text("done"),
    ]);
    let agent = agent(&script).await;
    let run = agent.run("go");
    let mut events = run.subscribe();
    // Nothing is read before the run is over.
    let result = run.await.unwrap();
    let (mut durable, mut live, mut missed) = (vec![], 0, 0);
    while let Some(envelope) = events.next().await {
        match envelope.body() {
            EventBody::EventsMissed(events) => missed += events.count,
            body if body.is_durable() => durable.push((envelope.agent().depth, envelope.sequence.unwrap().get())),
            _ => live += 1,
        }
    }
    let of_root: Vec<u64> = durable.iter().filter(|(depth, _)| *depth == 0).map(|(_, n)| *n).collect();
    assert_eq!(of_root, (1..=12).collect::<Vec<_>>());
    let of_child: Vec<u64> = durable.iter().filter(|(depth, _)| *depth == 1).map(|(_, n)| *n).collect();
    assert_eq!(of_child, (1..=7).collect::<Vec<_>>());
    assert!(missed > 0);
    // The call's three, the child's pieces and the root's one.
    assert_eq!(live + missed, 3 + pieces as u64 + 1);
    assert_eq!(journal(&agent, result.thread()).await.len(), 12);
}

#[tokio::test]
async fn an_envelope_is_written_with_its_place() {
    let script = ScriptedChatClient::texts(["done"]);
    let agent = agent(&script).await;
    let mut run = agent.thread("s", "main").run("go");
    let mut number = 0;
    while let Some(envelope) = run.next().await {
        let json: Value = serde_json::from_str(&envelope.to_json().unwrap()).unwrap();
        assert_eq!(json["version"], "1.0");
        assert_eq!(json["type"], envelope.event.type_name());
        assert_eq!((&json["sessionId"], &json["threadId"]), (&json!("s"), &json!("main")));
        assert_eq!(json["metadata"]["agentName"], "Coordinator");
        number += u64::from(envelope.sequence.is_some());
        let expected = if envelope.sequence.is_some() { json!(number) } else { Value::Null };
        assert_eq!(json["threadSequenceNumber"], expected);
        // No key twice, which many parsers refuse.
        let Keys(mut keys) = serde_json::from_str(&envelope.to_json().unwrap()).unwrap();
        keys.sort();
        keys.dedup_by(|one, other| {
            assert_ne!(one, other, "in {json}");
            false
        });
        assert!(!json.as_object().unwrap().values().any(Value::is_null), "{json}");
    }
    assert!(number > 5);
}

/// The keys of a JSON object, as often as they occur.
struct Keys(Vec<String>);

impl<'de> serde::Deserialize<'de> for Keys {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> serde::de::Visitor<'de> for Object {
            type Value = Keys;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Keys, A::Error> {
                let mut keys = vec![];
                while let Some((key, serde::de::IgnoredAny)) = map.next_entry()? {
                    keys.push(key);
                }
                Ok(Keys(keys))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
