//! Runs that wait until their thread is free.

use std::sync::Arc;

use hpd_agent::{
    agent::Thread,
    prelude::*,
    testing::{Hold, Reply, ScriptedChatClient},
};
use serde_json::json;

use crate::faults::ends;
use crate::support::{agent, children};

async fn texts(thread: &Thread) -> Vec<String> {
    thread.messages().await.unwrap().iter().map(|message| message.text().into_owned()).collect()
}

async fn queued(agent: &Agent, thread: &Thread) -> usize {
    agent.runtime_state(thread.key().unwrap()).await.unwrap().queued_runs
}

/// Goes on at the moment at which a run has ended, before anybody who waits for its thread.
async fn over(run: &mut Run) {
    while run.next().await.unwrap().event.type_name() != "THREAD_EXECUTION_FINISHED" {}
}

#[tokio::test(start_paused = true)]
async fn runs_that_wait_get_the_thread_in_the_order_of_their_starts() {
    let hold = Hold::new();
    let replies = ["1", "2", "3", "4"].map(|text| Reply::text(text).held_by(&hold));
    let agent = agent(&ScriptedChatClient::replies(replies)).await;
    let thread = agent.thread("s", "main");
    let mut runs = vec![thread.run("a"), thread.run("b").queued(), thread.run("c").queued(), thread.run("d").queued()];
    runs.iter_mut().for_each(Run::start);
    assert_eq!(queued(&agent, &thread).await, 3);
    // Who does not wait is refused, however the first one ends.
    assert_eq!(thread.run("x").await.unwrap_err().code(), "thread_busy");
    hold.release();
    for (run, text) in runs.into_iter().rev().zip(["4", "3", "2", "1"]) {
        assert_eq!(ends("a queued run", run.into_future()).await.unwrap().text(), text);
    }
    assert_eq!(texts(&thread).await, ["a", "1", "b", "2", "c", "3", "d", "4"]);
    assert_eq!(queued(&agent, &thread).await, 0);
}

/// Not even one that starts at the very moment at which the thread is handed on.
#[tokio::test(start_paused = true)]
async fn nobody_comes_before_those_who_wait() {
    // As a task, which comes in turn with those of the runs.
    let test = async {
        let hold = Hold::new();
        let script = ScriptedChatClient::replies([Reply::text("1").held_by(&hold), Reply::text("2"), Reply::text("3")]);
        let agent = agent(&script).await;
        let thread = agent.thread("s", "main");
        let (mut first, mut second) = (thread.run("a"), thread.run("b").queued());
        first.start();
        second.start();
        // All of them wait before the first one goes on.
        hold.reached(1).await;
        tokio::task::yield_now().await;
        hold.release();
        over(&mut first).await;
        assert_eq!(queued(&agent, &thread).await, 0);
        assert_eq!(thread.run("x").await.unwrap_err().code(), "thread_busy");
        assert_eq!(thread.run("c").queued().await.unwrap().text(), "3");
        assert_eq!(second.await.unwrap().text(), "2");
    };
    tokio::spawn(test).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_that_waits_can_be_cancelled_or_dropped() {
    let hold = Hold::new();
    let script = ScriptedChatClient::replies([Reply::text("1").held_by(&hold), Reply::text("2")]);
    let agent = agent(&script).await;
    let thread = agent.thread("s", "main");
    let mut first = thread.run("a");
    first.start();
    let mut cancelled = thread.run("b").queued();
    let mut events = cancelled.subscribe();
    cancelled.start();
    let mut dropped = thread.run("c").queued();
    dropped.start();
    let mut last = thread.run("d").queued();
    last.start();
    assert_eq!(queued(&agent, &thread).await, 3);
    drop(dropped);
    cancelled.cancel();
    assert_eq!(ends("a cancelled run", cancelled.into_future()).await.unwrap_err().code(), "cancelled");
    assert!(ends("its events", events.next()).await.is_none());
    tokio::task::yield_now().await;
    assert_eq!(queued(&agent, &thread).await, 1);
    hold.release();
    assert_eq!(ends("the last", last.into_future()).await.unwrap().text(), "2");
    first.await.unwrap();
    assert_eq!(texts(&thread).await, ["a", "1", "d", "2"]);
}

/// The turn of a run that goes at the same moment passes to the next one.
#[tokio::test(start_paused = true)]
async fn a_turn_is_not_lost_with_a_run_that_goes_when_it_comes() {
    // As a task, which comes in turn with those of the runs.
    let test = async {
        let hold = Hold::new();
        let script = ScriptedChatClient::replies([Reply::text("1").held_by(&hold), Reply::text("2")]);
        let agent = agent(&script).await;
        let thread = agent.thread("s", "main");
        let mut runs = [thread.run("a"), thread.run("b").queued(), thread.run("c").queued()];
        runs.iter_mut().for_each(Run::start);
        let [mut first, second, third] = runs;
        // All of them wait before the first one goes on.
        hold.reached(1).await;
        tokio::task::yield_now().await;
        hold.release();
        over(&mut first).await;
        // The thread belongs to the second one, which has not noticed yet.
        assert_eq!(queued(&agent, &thread).await, 1);
        drop(second);
        assert_eq!(ends("the third", third.into_future()).await.unwrap().text(), "2");
        assert_eq!(texts(&thread).await, ["a", "1", "c", "2"]);
    };
    tokio::spawn(test).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_run_waits_for_one_that_fails_and_then_goes_on() {
    let hold = Hold::new();
    let script = ScriptedChatClient::replies([
        Reply::error(hpd_agent::chat::ChatErrorKind::Other, "no").held_by(&hold),
        Reply::text("2"),
    ]);
    let agent = agent(&script).await;
    let thread = agent.thread("s", "main");
    let (mut first, mut second) = (thread.run("a"), thread.run("b").queued());
    first.start();
    second.start();
    hold.release();
    assert!(first.await.is_err());
    assert_eq!(ends("the second", second.into_future()).await.unwrap().text(), "2");
}

#[tokio::test(start_paused = true)]
async fn a_run_on_a_free_thread_waits_for_nothing() {
    let agent = agent(&ScriptedChatClient::texts(["1", "2"])).await;
    assert_eq!(agent.run("a").queued().await.unwrap().text(), "1");
    assert_eq!(agent.thread("s", "main").run("a").queued().await.unwrap().text(), "2");
}

/// A child's thread is busy while the tree works on it, and free as soon as the child has ended, though the tree goes on.
#[tokio::test(start_paused = true)]
async fn a_run_waits_for_a_child_inside_of_a_running_tree() {
    let (of_child, of_root) = (Hold::new(), Hold::new());
    let script = ScriptedChatClient::route()
        .when_system_contains("fresh", [Reply::text("child").held_by(&of_child), Reply::text("more")])
        .otherwise([Reply::tool_call("fresh", json!({"input": "x"})), Reply::text("done").held_by(&of_root)]);
    let agent = agent(&script).await;
    let main = agent.thread("s", "main");
    let mut tree = main.run("go");
    tree.start();
    of_child.reached(1).await;
    let [header] = children(&agent, main.key().unwrap()).await.try_into().unwrap();
    let child = agent.thread(&header.key.session_id, &header.key.thread_id).existing();
    assert_eq!(child.run("x").await.unwrap_err().code(), "thread_busy");
    let mut waiting = child.run("and?").queued();
    waiting.start();
    assert_eq!(queued(&agent, &child).await, 1);
    of_child.release();
    assert_eq!(ends("the queued run", waiting.into_future()).await.unwrap().text(), "more");
    assert_eq!(texts(&child).await, ["x", "child", "and?", "more"]);
    of_root.release();
    assert_eq!(tree.await.unwrap().text(), "done");
}

/// So it is when the tree is gone with its child.
#[tokio::test(start_paused = true)]
async fn a_run_waits_for_a_child_that_is_cancelled_with_its_tree() {
    let script = ScriptedChatClient::route()
        .when_system_contains("fresh", [Reply::pending(), Reply::text("more")])
        .otherwise([Reply::tool_call("fresh", json!({"input": "x"}))]);
    let agent = agent(&script).await;
    let main = agent.thread("s", "main");
    let mut tree = main.run("go");
    while tree.next().await.unwrap().agent().depth == 0 {}
    let [header] = children(&agent, main.key().unwrap()).await.try_into().unwrap();
    let mut waiting = agent.thread(&header.key.session_id, &header.key.thread_id).run("and?").queued();
    waiting.start();
    drop(tree);
    assert_eq!(ends("the queued run", waiting.into_future()).await.unwrap().text(), "more");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_runs_queue_for_one_thread_and_all_of_them_get_it() {
    let agent = agent(&ScriptedChatClient::from_fn(|_| Reply::text("yes"))).await;
    let thread = agent.thread("s", "main");
    let mut runs = Vec::new();
    for number in 0..200 {
        let thread = thread.clone();
        runs.push(tokio::spawn(async move {
            let mut run = thread.run("go").queued();
            run.start();
            if number % 3 == 0 {
                tokio::task::yield_now().await;
                drop(run);
                return;
            }
            run.await.unwrap();
        }));
    }
    for run in runs {
        run.await.unwrap();
    }
    let thread = Arc::new(thread);
    thread.run("last").queued().await.unwrap();
    assert_eq!(queued(&agent, &thread).await, 0);
    assert!(thread.messages().await.unwrap().len() >= 2 * 134);
}
