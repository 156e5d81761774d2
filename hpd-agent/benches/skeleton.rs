//! How much of the speed of a bare skeleton the library keeps: rates of both in one run, and their ratio.
//!
//! `cargo bench -p hpd-agent --bench skeleton`
//!
//! Fails if a rate is less than a third of the skeleton's. Both take turns, and the best round of each counts: what
//! else the machine does meanwhile makes rounds slower, never faster.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a bench prints, and stops if it cannot go on")]

mod support;

use std::{process::ExitCode, sync::Arc, time::Instant};

use hpd_agent::{event::Event, store::ThreadQuery};
use support::{Conversation, DELEGATIONS_PER_CONVERSATION, Subject};
use tokio::runtime::Runtime;

const ROUNDS: usize = 12;
const LEAST_RATIO: f64 = 1.0 / 3.0;

struct Case<'a> {
    name: &'static str,
    runtime: &'a Runtime,
    /// The history that the child is forked from; `None`: a new session for each delegation.
    history: Option<&'a [Arc<Event>]>,
    at_once: bool,
}

impl Case<'_> {
    /// Delegations per second in one round.
    fn rate(&self, subject: &Subject) -> f64 {
        let conversations = |count: usize| {
            let events = self.history.unwrap_or_default();
            self.runtime.block_on(async {
                let mut conversations = Vec::with_capacity(count);
                for _ in 0..count {
                    conversations.push(subject.conversation(events).await);
                }
                conversations
            })
        };
        let end = |conversations: Vec<Conversation>| {
            self.runtime.block_on(async {
                for conversation in conversations {
                    conversation.end().await;
                }
            });
        };
        match (self.at_once, self.history) {
            (false, None) => {
                let count = 4 * DELEGATIONS_PER_CONVERSATION;
                self.per_second(count, async {
                    for _ in 0..count {
                        subject.delegate_anew().await;
                    }
                })
            }
            (false, Some(_)) => {
                let mut conversations = conversations(4);
                let rate = self.per_second(4 * DELEGATIONS_PER_CONVERSATION, async {
                    for conversation in &mut conversations {
                        for _ in 0..DELEGATIONS_PER_CONVERSATION {
                            conversation.delegate().await;
                        }
                    }
                });
                end(conversations);
                rate
            }
            (true, None) => self.per_second(64 * 64, support::at_once(subject, 64)),
            (true, Some(_)) => {
                let mut conversations = conversations(64);
                let rate = self.per_second(64 * 64, async {
                    conversations = support::at_once_in(std::mem::take(&mut conversations), 64).await;
                });
                end(conversations);
                rate
            }
        }
    }

    fn per_second(&self, count: usize, work: impl Future<Output = ()>) -> f64 {
        let started = Instant::now();
        self.runtime.block_on(work);
        count as f64 / started.elapsed().as_secs_f64()
    }
}

/// What the journals of one delegation say: for each event its type and the length of its text. Ids have one length.
async fn said(subject: &Subject) -> Vec<(u32, String, usize)> {
    let (store, thread) = subject.delegate_once().await;
    let mut said = Vec::new();
    for thread in store.threads(ThreadQuery::session(thread.session_id)).await.expect("the threads") {
        let records = store.read(thread.header.key.clone(), None, 1, usize::MAX).await.expect("the records");
        said.extend(records.into_iter().map(|record| {
            let (event, text) = (&record.event, record.event.to_json().expect("an event is JSON"));
            (event.source().agent.depth, event.type_name().to_owned(), text.len())
        }));
    }
    said
}

fn main() -> ExitCode {
    let (one, two) = (support::one_thread(), support::two_threads());
    let history = support::history(10_000);
    let forked = Some(history.as_slice());
    let cases = [
        Case { name: "one after the other, new sessions", runtime: &one, history: None, at_once: false },
        Case { name: "one after the other, forked from 10,000", runtime: &one, history: forked, at_once: false },
        Case { name: "64 at once on 2 threads, new sessions", runtime: &two, history: None, at_once: true },
        Case { name: "64 at once on 2 threads, forked from 10,000", runtime: &two, history: forked, at_once: true },
    ];
    one.block_on(async {
        let (library, skeleton) = (Subject::library().await, Subject::skeleton().await);
        assert_eq!(said(&library).await, said(&skeleton).await, "the skeleton journals the same");
    });
    println!("delegations per second                            library   skeleton  ratio");
    let mut enough = true;
    for case in cases {
        let (library, skeleton) = one.block_on(async { (Subject::library().await, Subject::skeleton().await) });
        let mut best = (0f64, 0f64);
        for _ in 0..ROUNDS {
            best = (best.0.max(case.rate(&library)), best.1.max(case.rate(&skeleton)));
        }
        let ratio = best.0 / best.1;
        enough &= ratio >= LEAST_RATIO;
        println!("{:46} {:10.0} {:10.0} {ratio:6.2}", case.name, best.0, best.1);
    }
    if enough {
        return ExitCode::SUCCESS;
    }
    println!("a rate is less than a third of the skeleton's");
    ExitCode::FAILURE
}
