//! Counts that noise can't touch: allocations and bytes per delegation, heap per waiting child, the cost of building.
//!
//! `cargo bench -p hpd-agent --bench allocations`

mod support;

use std::{alloc::System, time::Instant};

use hpd_agent::agent::Agent;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const DELEGATIONS: usize = 2_000;

async fn delegate(agent: &Agent, session: Option<&str>) {
    let run = match session {
        None => agent.run("Summarise"),
        Some(session) => agent.thread(session, "main").run("Summarise"),
    };
    let result = run.await.expect("the run answers");
    if session.is_none() {
        agent.delete_session(result.session_id()).await.expect("the session is deleted");
    }
}

async fn measure(name: &str, agent: &Agent, session: Option<&str>) {
    for _ in 0..64 {
        delegate(agent, session).await;
    }
    let region = Region::new(ALLOCATOR);
    let started = Instant::now();
    for _ in 0..DELEGATIONS {
        delegate(agent, session).await;
    }
    let elapsed = started.elapsed().as_secs_f64();
    let stats = region.change();
    println!(
        "{name:28} {:6.1} allocations {:8.0} bytes a delegation, {:8.0} a second",
        (stats.allocations + stats.reallocations) as f64 / DELEGATIONS as f64,
        stats.bytes_allocated as f64 / DELEGATIONS as f64,
        DELEGATIONS as f64 / elapsed
    );
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async {
        let agent = support::agent().await;
        measure("empty history", &agent, None).await;
        support::thread_with_history(&agent, "s10000", 10_000).await;
        measure("forked from 10,000 messages", &agent, Some("s10000")).await;
    });
}
