use std::sync::Arc;

use super::*;
use crate::event::{AgentScope, CustomEvent, EventBody, EventSource, SubAgentOrigin, TextDelta};

fn source() -> Arc<EventSource> {
    Arc::new(EventSource::root(Arc::new(AgentScope::root("a".into(), AgentId::new("a").unwrap()))))
}

fn event(name: &str) -> Arc<Event> {
    let custom = CustomEvent { name: name.into(), value: Arc::default(), call_id: None, durable: true };
    Arc::new(Event::new(source(), EventBody::Custom(Box::new(custom))))
}

fn key(session: &str, thread: &str) -> ThreadKey {
    ThreadKey::new(session, thread).unwrap()
}

fn header(session: &str, thread: &str) -> Arc<ThreadHeader> {
    Arc::new(ThreadHeader::conversation(key(session, thread), AgentId::new("a").unwrap()))
}

fn create(thread: &str, names: &[&str]) -> Append {
    Append::create(header("s", thread), names.iter().map(|name| event(name)).collect())
}

fn append(thread: &str, expected: Expected, names: &[&str]) -> Append {
    Append::new(key("s", thread), expected, names.iter().map(|name| event(name)).collect())
}

async fn names(store: &MemorySessionStore, thread: &str, generation: Option<u64>) -> Vec<String> {
    let records = store.read(key("s", thread), generation, 1, 100).await.unwrap();
    let name = |record: &Record| match record.event.body() {
        EventBody::Custom(custom) => custom.name.to_string(),
        other => panic!("unexpected: {other:?}"),
    };
    records.iter().map(name).collect()
}

#[tokio::test]
async fn a_batch_over_threads_is_committed_whole_or_not_at_all() {
    let store = MemorySessionStore::new();
    store.commit(Batch::new(vec![create("a", &["1"]), create("b", &["1"])])).await.unwrap();
    let good = append("a", Expected::Exactly(1), &["2"]);
    for (bad, code) in [
        (append("b", Expected::Exactly(0), &["2"]), "commit_conflict"),
        (append("nowhere", Expected::Any, &["2"]), "thread_not_found"),
        (create("b", &["2"]), "thread_exists"),
        (append("a", Expected::Any, &["2"]), "invalid_batch"),
    ] {
        let error = store.commit(Batch::new(vec![good.clone(), bad])).await.unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(names(&store, "a", None).await, ["1"]);
        assert_eq!(names(&store, "b", None).await, ["1"]);
    }
    store.commit(Batch::new(vec![good, append("b", Expected::Any, &["2"])])).await.unwrap();
    assert_eq!(names(&store, "a", None).await, ["1", "2"]);
    assert_eq!(names(&store, "b", None).await, ["1", "2"]);
}

#[tokio::test]
async fn a_batch_that_is_submitted_again_changes_nothing() {
    let store = MemorySessionStore::new();
    let batch = || Batch { id: CommitId::from_u128(7), ..Batch::new(vec![create("a", &["1"])]) };
    let first = store.commit(batch()).await.unwrap();
    assert_eq!(store.commit(batch()).await.unwrap(), first);
    assert_eq!(names(&store, "a", None).await, ["1"]);
    for n in 0..4_000 {
        let _ = n;
        store.commit(Batch::new(vec![append("a", Expected::Any, &[])])).await.unwrap();
    }
    assert_eq!(store.commit(batch()).await.unwrap(), first, "it is remembered for 4,096 commits");
}

#[tokio::test]
async fn an_append_can_demand_the_last_event_it_has_seen() {
    let store = MemorySessionStore::new();
    let (one, other) = (event("1"), event("1"));
    store.commit(Batch::new(vec![Append::create(header("s", "a"), vec![one.clone()])])).await.unwrap();
    let after = |event: &Event| Batch::new(vec![append("a", Expected::Any, &["2"]).with_after(event.id())]);
    assert_eq!(store.commit(after(&other)).await.unwrap_err().code(), "thread_replaced");
    store.commit(after(&one)).await.unwrap();
    assert_eq!(store.commit(after(&one)).await.unwrap_err().code(), "thread_replaced");
}

#[tokio::test]
async fn live_events_are_not_journaled() {
    let store = MemorySessionStore::new();
    let delta = TextDelta { message_id: crate::id::MessageId::generate(), delta: "x".into() };
    let live = Arc::new(Event::new(source(), EventBody::TextDelta(delta)));
    let batch = Batch::new(vec![Append::create(header("s", "a"), vec![live])]);
    assert_eq!(store.commit(batch).await.unwrap_err().code(), "invalid_batch");
}

#[tokio::test]
async fn a_new_generation_hides_the_old_one_which_stays_readable() {
    let store = MemorySessionStore::new();
    store.commit(Batch::new(vec![create("a", &["1", "2"])])).await.unwrap();
    let begin = append("a", Expected::Exactly(2), &["summary"]).beginning_a_generation();
    store.commit(Batch::new(vec![begin])).await.unwrap();
    assert_eq!(names(&store, "a", None).await, ["summary"]);
    assert_eq!(names(&store, "a", Some(2)).await, ["summary"]);
    assert_eq!(names(&store, "a", Some(1)).await, ["1", "2"]);
    for missing in [0, 3] {
        assert!(store.read(key("s", "a"), Some(missing), 1, 10).await.is_err());
    }
    let [thread] = store.threads(ThreadQuery::key(key("s", "a"))).await.unwrap().try_into().unwrap();
    assert_eq!((thread.generation, thread.len), (2, 1));
    store.commit(Batch::new(vec![append("a", Expected::Exactly(1), &["3"])])).await.unwrap();
    assert_eq!(names(&store, "a", None).await, ["summary", "3"]);
}

#[tokio::test]
async fn reading_goes_by_number_and_limit() {
    let store = MemorySessionStore::new();
    let all = ["1", "2", "3", "4", "5"];
    store.commit(Batch::new(vec![create("a", &all)])).await.unwrap();
    for (from, limit, expected) in [(1, 2, &all[0..2]), (4, 10, &all[3..5]), (6, 10, &[]), (0, 1, &all[0..1])] {
        let records = store.read(key("s", "a"), None, from, limit).await.unwrap();
        assert_eq!(records.len(), expected.len());
        assert_eq!(records.first().map(|record| record.sequence), expected.first().map(|_| from.max(1)));
    }
}

#[tokio::test]
async fn threads_are_listed_by_what_is_asked() {
    let store = MemorySessionStore::new();
    let mut child = (*header("other", "child")).clone();
    child.visibility = crate::event::Visibility::Hidden;
    child.thread_kind = crate::event::ThreadKind::SubAgent;
    child.origin = Some(SubAgentOrigin {
        parent_session_id: key("s", "a").session_id,
        parent_thread_id: key("s", "a").thread_id,
        parent_tool_call_id: crate::id::CallId::new(crate::id::MessageId::generate(), 0),
        invocation_id: crate::id::InvocationId::generate(),
        sub_agent_name: crate::id::ToolName::new("child").unwrap(),
        sub_agent_source_kind: "SuppliedAgentConfiguration".into(),
        context_policy: crate::event::ResolvedContext::Isolated,
    });
    let child = Arc::new(child);
    let appends = vec![create("b", &[]), create("a", &[]), Append::create(child, vec![])];
    store.commit(Batch::new(appends)).await.unwrap();
    let found = async |query: ThreadQuery| -> Vec<String> {
        store.threads(query).await.unwrap().iter().map(|thread| thread.header.key.to_string()).collect()
    };
    assert_eq!(found(ThreadQuery::default()).await, ["s/a", "s/b"]);
    assert_eq!(found(ThreadQuery { include_hidden: true, ..ThreadQuery::default() }).await.len(), 3);
    assert_eq!(found(ThreadQuery::children_of(key("s", "a"))).await, ["other/child"]);
    assert_eq!(found(ThreadQuery::session(key("s", "a").session_id)).await, ["s/a", "s/b"]);
    assert_eq!(found(ThreadQuery { limit: 1, ..ThreadQuery::default() }).await, ["s/a"]);
    assert_eq!(found(ThreadQuery { after: Some(key("s", "a")), ..ThreadQuery::default() }).await, ["s/b"]);
    assert!(found(ThreadQuery::key(key("s", "nowhere"))).await.is_empty());
}

#[tokio::test]
async fn notices_are_added_and_consumed_with_their_batch_and_once() {
    let store = MemorySessionStore::new();
    let notice = |n: u128| OutboxEntry::new(EventId::from_u128(n), key("s", "a"), format!("{n}"));
    let mut batch = Batch::new(vec![create("a", &[])]);
    batch.enqueue = vec![notice(2), notice(1)];
    store.commit(batch).await.unwrap();
    let mut again = Batch::new(vec![]);
    again.enqueue = vec![notice(1), notice(3)];
    store.commit(again).await.unwrap();
    let payloads = async |query| -> Vec<String> {
        store.outbox(query).await.unwrap().iter().map(|entry| entry.payload.to_string()).collect()
    };
    assert_eq!(payloads(OutboxQuery::recipient(key("s", "a"))).await, ["2", "1", "3"]);
    assert!(payloads(OutboxQuery::recipient(key("s", "b"))).await.is_empty());
    // A batch that fails consumes nothing.
    let mut failing = Batch::new(vec![append("a", Expected::Exactly(9), &["x"])]);
    failing.consume = vec![super::super::OutboxCursor::new(EventId::from_u128(2))];
    store.commit(failing).await.unwrap_err();
    assert_eq!(payloads(OutboxQuery::default()).await.len(), 3);
    let mut consuming = Batch::new(vec![append("a", Expected::Any, &["x"])]);
    consuming.consume = vec![super::super::OutboxCursor::new(EventId::from_u128(2))];
    store.commit(consuming).await.unwrap();
    assert_eq!(payloads(OutboxQuery::default()).await, ["1", "3"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_belongs_to_one_owner_until_it_expires_and_fences_the_one_before() {
    let store = MemorySessionStore::new();
    let ttl = Duration::from_secs(10);
    let (one, other) = (OwnerId::generate(), OwnerId::generate());
    store.commit(Batch::new(vec![create("a", &[])])).await.unwrap();
    let fence = store.acquire(key("s", "a"), one, ttl).await.unwrap();
    assert_eq!(store.acquire(key("s", "a"), one, ttl).await.unwrap(), fence);
    let held = store.acquire(key("s", "a"), other, ttl).await.unwrap_err();
    assert!(matches!(held, LeaseError::Held { remaining, .. } if remaining == ttl), "{held}");
    let write = |fence: &Fence| Batch::new(vec![append("a", Expected::Any, &["x"]).with_fence(fence.clone())]);
    store.commit(write(&fence)).await.unwrap();

    tokio::time::advance(Duration::from_secs(8)).await;
    store.renew(vec![fence.clone()], ttl).await.unwrap();
    tokio::time::advance(Duration::from_secs(8)).await;
    assert!(store.acquire(key("s", "a"), other, ttl).await.is_err());
    tokio::time::advance(Duration::from_secs(3)).await;
    let taken = store.acquire(key("s", "a"), other, ttl).await.unwrap();
    assert!(taken.token > fence.token);
    assert_eq!(store.commit(write(&fence)).await.unwrap_err().code(), "lease_lost");
    assert_eq!(store.renew(vec![taken.clone(), fence.clone()], ttl).await.unwrap_err().code(), "lease_lost");
    // Giving back what was lost takes nothing from the new owner.
    store.release(fence).await.unwrap();
    store.commit(write(&taken)).await.unwrap();
    store.release(taken.clone()).await.unwrap();
    assert_eq!(store.commit(write(&taken)).await.unwrap_err().code(), "lease_lost");
}

#[tokio::test]
async fn a_change_wakes_who_waits_for_it() {
    let store = Arc::new(MemorySessionStore::new());
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.changed(Position(0)).await.unwrap() }
    });
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    let committed = store.commit(Batch::new(vec![create("a", &[])])).await.unwrap();
    assert_eq!(waiting.await.unwrap(), committed.position);
    assert_eq!(store.changed(Position(0)).await.unwrap(), committed.position);
}

#[tokio::test]
async fn deleting_a_session_deletes_all_of_it() {
    let store = MemorySessionStore::new();
    let mut batch = Batch::new(vec![create("a", &["1"]), Append::create(header("t", "a"), vec![])]);
    batch.enqueue = vec![OutboxEntry::new(EventId::generate(), key("s", "a"), "x")];
    store.commit(batch).await.unwrap();
    store.acquire(key("s", "a"), OwnerId::generate(), Duration::from_secs(60)).await.unwrap();
    store.delete_session(key("s", "a").session_id).await.unwrap();
    assert!(store.read(key("s", "a"), None, 1, 1).await.is_err());
    assert!(store.outbox(OutboxQuery::default()).await.unwrap().is_empty());
    store.acquire(key("s", "a"), OwnerId::generate(), Duration::from_secs(60)).await.unwrap();
    assert_eq!(store.threads(ThreadQuery::default()).await.unwrap().len(), 1);
    store.delete_session(key("s", "a").session_id).await.unwrap();
}

#[tokio::test]
async fn definitions_have_versions() {
    let store = MemoryAgentStore::new();
    let id = AgentId::new("x.a").unwrap();
    let record = |text: &str| AgentRecord::new(id.clone(), text);
    assert_eq!(store.save(record("1"), ExpectedVersion::Absent).await.unwrap(), 1);
    for wrong in [ExpectedVersion::Absent, ExpectedVersion::Exactly(2)] {
        let error = store.save(record("2"), wrong).await.unwrap_err();
        assert_eq!(error.code(), "agent_version_conflict");
    }
    assert_eq!(store.save(record("2"), ExpectedVersion::Exactly(1)).await.unwrap(), 2);
    assert_eq!(&*store.load(id.clone()).await.unwrap().unwrap().definition, "2");
    let versions = store.versions(id.clone()).await.unwrap();
    assert_eq!(
        versions.iter().map(|record| (record.version, &*record.definition)).collect::<Vec<_>>(),
        [(1, "1"), (2, "2")]
    );
    store.save(AgentRecord::new(AgentId::new("y").unwrap(), "3"), ExpectedVersion::Any).await.unwrap();
    let query = AgentQuery { prefix: Some("x.".to_owned()), ..AgentQuery::default() };
    assert_eq!(store.list(query).await.unwrap().len(), 1);
    let query = AgentQuery { after: Some(id.clone()), ..AgentQuery::default() };
    assert_eq!(store.list(query).await.unwrap().len(), 1);
    assert!(store.delete(id.clone(), ExpectedVersion::Exactly(1)).await.is_err());
    store.delete(id.clone(), ExpectedVersion::Exactly(2)).await.unwrap();
    assert_eq!(store.delete(id.clone(), ExpectedVersion::Any).await.unwrap_err().code(), "agent_not_found");
    assert!(store.load(id).await.unwrap().is_none());
}
