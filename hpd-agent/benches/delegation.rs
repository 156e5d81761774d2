//! Delegations per second. One delegation: the parent's model calls a subagent, the child's model answers, the
//! parent's model answers, everything is journaled in memory. The model takes no time.
//!
//! `cargo bench -p hpd-agent --bench delegation`

#![allow(clippy::expect_used, reason = "a bench that cannot go on has to stop")]

mod support;

use std::sync::Arc;

use divan::{Bencher, counter::ItemsCount};
use hpd_agent::event::Event;
use support::{Conversation, DELEGATIONS_PER_CONVERSATION as DELEGATIONS, Subject};
use tokio::runtime::Runtime;

fn main() {
    divan::main();
}

/// Conversations that are deleted after the clock has stopped.
struct Conversations<'a>(&'a Runtime, Vec<Conversation>);

impl<'a> Conversations<'a> {
    fn begin(runtime: &'a Runtime, subject: &Subject, history: &[Arc<Event>], count: usize) -> Self {
        let all = runtime.block_on(async {
            let mut all = Vec::with_capacity(count);
            for _ in 0..count {
                all.push(subject.conversation(history).await);
            }
            all
        });
        Self(runtime, all)
    }
}

impl Drop for Conversations<'_> {
    fn drop(&mut self) {
        self.0.block_on(async {
            for conversation in self.1.drain(..) {
                conversation.end().await;
            }
        });
    }
}

#[divan::bench(sample_count = 40, sample_size = 1)]
fn one_after_the_other_in_new_sessions(bencher: Bencher<'_, '_>) {
    let runtime = support::one_thread();
    let subject = runtime.block_on(Subject::library());
    bencher.counter(ItemsCount::new(DELEGATIONS)).bench_local(|| {
        runtime.block_on(async {
            for _ in 0..DELEGATIONS {
                subject.delegate_anew().await;
            }
        });
    });
}

#[divan::bench(sample_count = 40, sample_size = 1, args = [0, 10_000])]
fn one_after_the_other_forked_from(bencher: Bencher<'_, '_>, messages: usize) {
    let runtime = support::one_thread();
    let (subject, history) = (runtime.block_on(Subject::library()), support::history(messages));
    bencher
        .counter(ItemsCount::new(DELEGATIONS))
        .with_inputs(|| Conversations::begin(&runtime, &subject, &history, 1))
        .bench_local_refs(|conversations| {
            runtime.block_on(async {
                for conversation in &mut conversations.1 {
                    for _ in 0..DELEGATIONS {
                        conversation.delegate().await;
                    }
                }
            });
        });
}

#[divan::bench(sample_count = 40, sample_size = 1)]
fn at_once_64_on_2_threads_in_new_sessions(bencher: Bencher<'_, '_>) {
    let runtime = support::two_threads();
    let subject = runtime.block_on(Subject::library());
    bencher.counter(ItemsCount::new(64usize * 64)).bench_local(|| runtime.block_on(support::at_once(&subject, 64)));
}

#[divan::bench(sample_count = 40, sample_size = 1, args = [0, 10_000])]
fn at_once_64_on_2_threads_forked_from(bencher: Bencher<'_, '_>, messages: usize) {
    let runtime = support::two_threads();
    let (subject, history) = (runtime.block_on(Subject::library()), support::history(messages));
    bencher
        .counter(ItemsCount::new(64usize * 64))
        .with_inputs(|| Conversations::begin(&runtime, &subject, &history, 64))
        .bench_local_refs(|conversations| {
            let all = std::mem::take(&mut conversations.1);
            conversations.1 = runtime.block_on(support::at_once_in(all, 64));
        });
}
