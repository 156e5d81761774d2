//! What noise can't touch: allocations and bytes of a delegation, memory of a waiting child, the cost of building an
//! agent with 1,000 subagents; and beside it what no runtime can avoid, the encoding of a long request.
//!
//! `cargo bench -p hpd-agent --bench allocations`

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a bench prints, and stops if it cannot go on")]

#[path = "support/held.rs"]
mod held;
mod support;
#[path = "support/thousand.rs"]
mod thousand;

use std::{alloc::System, sync::Arc, time::Instant};

use held::Held;
use hpd_agent::{
    agent::{Agent, Run},
    event::EventBody,
    history::History,
    message::Role,
};
use serde::Serialize;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, Stats, StatsAlloc};
use support::{DELEGATIONS_PER_CONVERSATION, Subject, skeleton::Skeleton};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const CHILDREN: usize = 10_000;

fn live(stats: &Stats) -> f64 {
    stats.bytes_allocated as f64 - stats.bytes_deallocated as f64
}

fn allocations(stats: &Stats) -> f64 {
    (stats.allocations + stats.reallocations) as f64
}

/// The resident memory of this process in bytes; 0 where there is no such file.
fn resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<f64>().ok());
    kib.unwrap_or_default() * 1024.0
}

async fn per_delegation() {
    println!("per delegation                            allocations    bytes");
    let row = |name: &str, stats: Stats, count: usize| {
        let count = count as f64;
        println!("{name:42} {:10.1} {:8.0}", allocations(&stats) / count, stats.bytes_allocated as f64 / count);
    };
    for (whose, subject) in [("library", Subject::library().await), ("skeleton", Subject::skeleton().await)] {
        for _ in 0..64 {
            subject.delegate_anew().await;
        }
        let count = 4 * DELEGATIONS_PER_CONVERSATION;
        let region = Region::new(ALLOCATOR);
        for _ in 0..count {
            subject.delegate_anew().await;
        }
        row(&format!("{whose}, new session"), region.change(), count);
        for messages in [0, 10_000] {
            let mut conversation = subject.conversation(&support::history(messages)).await;
            // Continue until the journal's own list has just grown: it grows rarely, but by much.
            for _ in 0..DELEGATIONS_PER_CONVERSATION {
                conversation.delegate().await;
            }
            let region = Region::new(ALLOCATOR);
            for _ in 0..DELEGATIONS_PER_CONVERSATION {
                conversation.delegate().await;
            }
            row(&format!("{whose}, forked from {messages} messages"), region.change(), DELEGATIONS_PER_CONVERSATION);
            conversation.end().await;
        }
    }
}

/// How parents and children stand to each other.
#[derive(Clone, Copy, PartialEq)]
enum Family {
    /// Each child has a parent of its own.
    ParentEach,
    /// One parent has all children.
    OneParent,
}

/// One way in which children wait.
struct Waiting {
    name: &'static str,
    family: Family,
    /// How many messages each child is forked from.
    history: usize,
}

const WAITING: [Waiting; 3] = [
    Waiting { name: "parent and child", family: Family::ParentEach, history: 0 },
    Waiting { name: "child alone", family: Family::OneParent, history: 0 },
    Waiting { name: "child alone, forked from 1,000 messages", family: Family::OneParent, history: 1_000 },
];

impl Waiting {
    fn parents(&self) -> usize {
        if self.family == Family::OneParent { 1 } else { CHILDREN }
    }

    fn client(&self) -> Arc<Held> {
        Held::new(CHILDREN, (self.family == Family::OneParent).then_some(CHILDREN))
    }

    /// What the journal keeps of it: the skeleton commits the same events and forgets everything else.
    async fn journal(&self) -> f64 {
        let skeleton = Skeleton::of(&support::agent().await, self.client()).await;
        let mut threads = Vec::new();
        for _ in 0..self.parents() {
            threads.push(match self.history {
                0 => skeleton.new_thread(support::new_session()),
                messages => skeleton.thread_of(&support::history(messages)).await,
            });
        }
        let region = Region::new(ALLOCATOR);
        for (number, mut thread) in threads.into_iter().enumerate() {
            skeleton.begin_delegation(&mut thread, number.to_string().into()).await;
        }
        live(&region.change())
    }

    /// Lets all children wait, measures, and lets them go. Returns the heap and the resident memory of the waiting.
    async fn hold(&self) -> (f64, f64) {
        let client = self.client();
        let agent = support::agent_with(Arc::clone(&client)).await;
        let thread = match self.history {
            0 => None,
            messages => Some(support::thread_of(&**agent.session_store(), &support::history(messages)).await),
        };
        let start = |number: usize| match &thread {
            None => agent.run(number.to_string()),
            Some(key) => agent.thread(key.session_id.clone(), key.thread_id.clone()).run(number.to_string()),
        };
        let before = resident();
        let region = Region::new(ALLOCATOR);
        let mut runs: Vec<Run> = (0..self.parents()).map(start).collect();
        for run in &mut runs {
            run.start();
        }
        while client.waiting() < CHILDREN {
            tokio::task::yield_now().await;
        }
        let measured = (live(&region.change()), resident() - before);

        client.release();
        let mut ended = 0;
        for run in runs {
            ended += usize::from(run.await.expect("the run answers").text() == "done");
        }
        assert_eq!(ended, self.parents(), "every run ends");
        assert_eq!(client.asked_once(), CHILDREN, "every child is asked, and none twice");
        measured
    }

    /// The resident memory, in a process of its own: in this one there is free memory left from what ran before.
    fn resident(number: usize) -> f64 {
        let program = std::env::current_exe().expect("this program");
        let output = std::process::Command::new(program).args([RESIDENT, &number.to_string()]).output();
        let text = String::from_utf8(output.expect("it ran").stdout).expect("a number");
        text.trim().parse().expect("a number")
    }
}

/// The argument with which this program only measures resident memory.
const RESIDENT: &str = "--resident-memory-of";

async fn waiting() {
    println!("\nper waiting child, {CHILDREN} at once                heap  journal  resident, both");
    for (number, waiting) in WAITING.iter().enumerate() {
        let journal = waiting.journal().await;
        let (heap, _) = waiting.hold().await;
        let each = |bytes: f64| bytes / CHILDREN as f64;
        let resident = each(Waiting::resident(number));
        println!("{:42} {:10.0} {:8.0} {resident:15.0}", waiting.name, each(heap - journal), each(journal));
    }
}

async fn building() {
    println!("\nbuilding an agent with 1,000 subagents");
    let mut best = f64::MAX;
    for _ in 0..20 {
        let started = Instant::now();
        let agent = thousand::build().await;
        best = best.min(started.elapsed().as_secs_f64());
        drop(agent);
    }
    let region = Region::new(ALLOCATOR);
    let agent: Agent = thousand::build().await;
    let stats = region.change();
    println!(
        "{:.3} ms, {:.0} allocations, {:.2} MB allocated, {:.2} MB kept",
        best * 1e3,
        allocations(&stats),
        stats.bytes_allocated as f64 / 1e6,
        live(&stats) / 1e6
    );
    drop(agent);
}

/// A message in OpenAI's form.
#[derive(Serialize)]
struct Encoded<'a> {
    role: &'static str,
    content: std::borrow::Cow<'a, str>,
}

fn encode(history: &History) -> String {
    let messages: Vec<_> = history
        .iter()
        .map(|message| Encoded {
            role: if message.role() == Role::Assistant { "assistant" } else { "user" },
            content: message.text(),
        })
        .collect();
    serde_json::to_string(&messages).expect("messages are JSON")
}

fn encoding() {
    let messages = support::history(10_000).into_iter().filter_map(|event| match event.body() {
        EventBody::TurnStarted(started) => Some(Arc::clone(&started.message)),
        _ => None,
    });
    let history: History = messages.collect();
    let best = |work: &dyn Fn() -> usize| {
        let rounds = (0..50).map(|_| {
            let started = Instant::now();
            std::hint::black_box(work());
            started.elapsed().as_secs_f64()
        });
        rounds.fold(f64::MAX, f64::min) * 1e6
    };
    let bytes = encode(&history).len();
    println!("\na request of 10,000 messages ({:.2} MB of JSON)", bytes as f64 / 1e6);
    println!("{:10.1} µs to encode it in OpenAI's form", best(&|| encode(&history).len()));
    println!("{:10.1} µs to look at every message once", best(&|| history.iter().map(|m| m.parts().len()).sum()));
    println!(
        "{:10.3} µs to fork it",
        best(&|| {
            for _ in 0..1_000 {
                std::hint::black_box(history.clone());
            }
            0
        }) / 1e3
    );
}

fn main() {
    let mut arguments = std::env::args().skip_while(|argument| argument != RESIDENT).skip(1);
    let only = arguments.next().and_then(|number| WAITING.get(number.parse::<usize>().ok()?));
    support::one_thread().block_on(async {
        if let Some(only) = only {
            println!("{}", only.hold().await.1);
            return;
        }
        per_delegation().await;
        waiting().await;
        building().await;
        encoding();
    });
}
