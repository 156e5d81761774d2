//! What a delegation may take: counts of the allocator, which the machine's load does not change.
//!
//! A test binary of its own, with one test, because the allocator counts for the whole process.

#[path = "../benches/support/mod.rs"]
mod support;

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use support::{Conversation, Subject};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MOST_ALLOCATIONS: usize = 150;
const MOST_BYTES: usize = 20_000;
const DELEGATIONS: usize = 101;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Taken {
    bytes: usize,
    allocations: usize,
}

/// The median: lists that grow make some delegations dearer than others.
fn median(mut all: Vec<Taken>) -> Taken {
    all.sort_unstable();
    all.get(all.len() / 2).copied().unwrap_or(Taken { bytes: usize::MAX, allocations: usize::MAX })
}

fn mean(all: &[Taken]) -> Taken {
    let sum = |of: fn(&Taken) -> usize| all.iter().map(of).sum::<usize>() / all.len();
    Taken { bytes: sum(|taken| taken.bytes), allocations: sum(|taken| taken.allocations) }
}

async fn counted(work: impl Future<Output = ()>) -> Taken {
    let region = Region::new(ALLOCATOR);
    work.await;
    let stats = region.change();
    Taken { bytes: stats.bytes_allocated, allocations: stats.allocations + stats.reallocations }
}

async fn in_conversation(mut conversation: Conversation) -> Vec<Taken> {
    let mut all = Vec::with_capacity(DELEGATIONS);
    for _ in 0..DELEGATIONS {
        all.push(counted(conversation.delegate()).await);
    }
    conversation.end().await;
    all
}

#[tokio::test]
async fn a_delegation_stays_within_its_budget_however_long_the_history() {
    let library = Subject::library().await;
    library.delegate_anew().await;
    let mut anew = Vec::with_capacity(DELEGATIONS);
    for _ in 0..DELEGATIONS {
        anew.push(counted(library.delegate_anew()).await);
    }
    let short = in_conversation(library.conversation(&[]).await).await;
    let long = in_conversation(library.conversation(&support::history(10_000)).await).await;

    for (name, all) in [("in a new session", &anew), ("in a short thread", &short), ("forked from 10,000", &long)] {
        let taken = mean(all);
        assert!(taken.allocations <= MOST_ALLOCATIONS, "{name}: {taken:?}");
        assert!(taken.bytes <= MOST_BYTES, "{name}: {taken:?}");
    }
    let (short, long) = (median(short), median(long));
    assert!(short.allocations.abs_diff(long.allocations) <= 1, "{short:?} {long:?}");
    assert!(short.bytes.abs_diff(long.bytes) <= 64, "{short:?} {long:?}");
}
