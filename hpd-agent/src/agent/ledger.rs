//! What is left of a budget: taken and given back in one place, for a run and all its descendants.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::{
    declare::{Budget, BudgetLimit},
    event::Spent,
    message::Usage,
};

/// A limit that was reached, and what it is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reached {
    pub(crate) limit: BudgetLimit,
    pub(crate) allowed: f64,
}

/// The account of one budget. What is spent on it is spent on those above it too.
#[derive(Debug)]
pub(crate) struct Ledger {
    budget: Budget,
    above: Option<Arc<Ledger>>,
    /// So long ago that the time in which a turn waited is not counted.
    started: Instant,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    live: u32,
    /// The time is in `started`.
    spent: Spent,
    active: Instant,
}

/// A child that counts as living for as long as this is there.
#[derive(Debug)]
pub(crate) struct LiveChild(Arc<Ledger>);

impl Drop for LiveChild {
    fn drop(&mut self) {
        for ledger in chain(Some(&self.0)) {
            ledger.lock().live -= 1;
        }
    }
}

fn chain(ledger: Option<&Ledger>) -> impl Iterator<Item = &Ledger> {
    std::iter::successors(ledger, |ledger| ledger.above.as_deref())
}

impl Ledger {
    /// `before`: what was spent before the turn waited, if it did.
    pub(crate) fn new(budget: Budget, above: Option<Arc<Self>>, before: Option<Spent>) -> Arc<Self> {
        let active = Instant::now();
        let spent = before.unwrap_or_default();
        let started = active.checked_sub(Duration::from_millis(spent.wall_time_ms)).unwrap_or(active);
        Arc::new(Self { budget, above, started, state: Mutex::new(State { live: 0, spent, active }) })
    }

    /// What was spent of it until now.
    pub(crate) fn spent(&self) -> Spent {
        let wall_time_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        Spent { wall_time_ms, ..self.lock().spent }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reached(&self, limit: BudgetLimit) -> Reached {
        Reached { limit, allowed: self.budget.limit(limit).unwrap_or_default() }
    }

    /// Whether one more child may begin.
    fn room(&self, state: &State) -> Result<(), Reached> {
        let is_full = |taken: u32, most: Option<u32>| most.is_some_and(|most| taken >= most);
        if is_full(state.spent.children, self.budget.max_children()) {
            return Err(self.reached(BudgetLimit::Children));
        }
        match is_full(state.live, self.budget.max_live_children()) {
            true => Err(self.reached(BudgetLimit::LiveChildren)),
            false => Ok(()),
        }
    }

    /// Whether one more child may begin, as things stand.
    pub(crate) fn has_room(&self) -> Result<(), Reached> {
        chain(Some(self)).try_for_each(|ledger| ledger.room(&ledger.lock()))
    }

    /// Counts one more child, everywhere or nowhere.
    pub(crate) fn begin_child(self: &Arc<Self>) -> Result<LiveChild, Reached> {
        for (taken, ledger) in chain(Some(self)).enumerate() {
            let mut state = ledger.lock();
            if let Err(reached) = ledger.room(&state) {
                drop(state);
                for ledger in chain(Some(self)).take(taken) {
                    let mut state = ledger.lock();
                    state.live -= 1;
                    state.spent.children -= 1;
                }
                return Err(reached);
            }
            state.live += 1;
            state.spent.children += 1;
        }
        Ok(LiveChild(Arc::clone(self)))
    }

    /// A child that waited goes on. It was counted when it began.
    pub(crate) fn resume_child(self: &Arc<Self>) -> LiveChild {
        chain(Some(self)).for_each(|ledger| ledger.lock().live += 1);
        LiveChild(Arc::clone(self))
    }

    /// Counts a model call. `cost`: 0 where it has no price.
    pub(crate) fn spend(&self, usage: Usage, cost: f64) {
        for ledger in chain(Some(self)) {
            let spent = &mut ledger.lock().spent;
            spent.tokens = spent.tokens.saturating_add(usage.total());
            spent.cost += cost;
        }
    }

    /// Whether somebody has set a limit to the cost.
    pub(crate) fn limits_cost(&self) -> bool {
        chain(Some(self)).any(|ledger| ledger.budget.max_cost().is_some())
    }

    /// Something has happened.
    pub(crate) fn touch(&self) {
        let now = Instant::now();
        for ledger in chain(Some(self)).filter(|ledger| ledger.budget.idle_time().is_some()) {
            ledger.lock().active = now;
        }
    }

    /// The depth of the deepest child.
    pub(crate) fn max_depth(&self) -> Option<u32> {
        chain(Some(self)).filter_map(|ledger| ledger.budget.max_depth()).min()
    }

    /// Whether the work may go on.
    pub(crate) fn check(&self) -> Result<(), Reached> {
        chain(Some(self)).try_for_each(|ledger| {
            let state = ledger.lock();
            if ledger.budget.max_tokens().is_some_and(|most| state.spent.tokens >= most) {
                return Err(ledger.reached(BudgetLimit::Tokens));
            }
            if ledger.budget.max_cost().is_some_and(|most| state.spent.cost >= most) {
                return Err(ledger.reached(BudgetLimit::Cost));
            }
            match ledger.deadline(&state) {
                Some((at, limit)) if at <= Instant::now() => Err(ledger.reached(limit)),
                _ => Ok(()),
            }
        })
    }

    fn deadline(&self, state: &State) -> Option<(Instant, BudgetLimit)> {
        let at = |from: Instant, time: Option<Duration>| from.checked_add(time?);
        let wall = at(self.started, self.budget.wall_time()).map(|at| (at, BudgetLimit::WallTime));
        let idle = at(state.active, self.budget.idle_time()).map(|at| (at, BudgetLimit::IdleTime));
        wall.into_iter().chain(idle).min_by_key(|(at, _)| *at)
    }

    /// Whether time is limited at all.
    pub(crate) fn limits_time(&self) -> bool {
        let limits = |budget: &Budget| budget.wall_time().is_some() || budget.idle_time().is_some();
        chain(Some(self)).any(|ledger| limits(&ledger.budget))
    }

    /// Resolves when the time is over. Only what works holds such a timer; who waits for a child has none.
    pub(crate) async fn time_is_over(self: Arc<Self>) -> Reached {
        loop {
            let next = chain(Some(&*self)).filter_map(|ledger| {
                let (at, limit) = ledger.deadline(&ledger.lock())?;
                Some((at, ledger.reached(limit)))
            });
            let Some((at, reached)) = next.min_by_key(|(at, _)| *at) else { return std::future::pending().await };
            // What happens meanwhile moves the end.
            if at <= Instant::now() {
                return reached;
            }
            tokio::time::sleep_until(at).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(tokens: u64) -> Usage {
        Usage::new(tokens, 0)
    }

    #[tokio::test(start_paused = true)]
    async fn children_are_counted_everywhere_or_nowhere() {
        let root = Ledger::new(Budget::new().with_max_live_children(2).with_max_children(3), None, None);
        let below = Ledger::new(Budget::new().with_max_live_children(1), Some(Arc::clone(&root)), None);
        let first = below.begin_child().unwrap();
        assert_eq!(below.begin_child().unwrap_err().limit, BudgetLimit::LiveChildren);
        let second = root.begin_child().unwrap();
        assert_eq!(root.has_room().unwrap_err(), Reached { limit: BudgetLimit::LiveChildren, allowed: 2.0 });
        drop(first);
        // The refusal of the inner one has not taken anything of the outer one.
        let third = root.begin_child().unwrap();
        drop((second, third));
        assert_eq!(root.has_room().unwrap_err().limit, BudgetLimit::Children);
        assert_eq!(below.begin_child().unwrap_err().limit, BudgetLimit::Children);
        assert_eq!(below.spent().children, 1);
        assert_eq!(below.lock().live, 0);
        assert_eq!(root.lock().live, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_spent_below_is_spent_above() {
        let root = Ledger::new(Budget::new().with_max_tokens(10).with_max_cost(1.0), None, None);
        let below = Ledger::new(Budget::new().with_max_tokens(4), Some(Arc::clone(&root)), None);
        assert!(below.limits_cost() && !below.limits_time());
        below.spend(usage(4), 0.5);
        assert_eq!(below.check().unwrap_err(), Reached { limit: BudgetLimit::Tokens, allowed: 4.0 });
        assert!(root.check().is_ok());
        root.spend(usage(1), 0.5);
        assert_eq!(root.check().unwrap_err().limit, BudgetLimit::Cost);
    }

    #[tokio::test(start_paused = true)]
    async fn activity_moves_the_end_of_idle_time_and_not_that_of_all_time() {
        let budget = Budget::new().with_idle_time(Duration::from_secs(10)).with_wall_time(Duration::from_secs(25));
        let root = Ledger::new(budget, None, None);
        let below = Ledger::new(Budget::new().with_max_depth(1), Some(Arc::clone(&root)), None);
        let begun = Instant::now();
        let over = tokio::spawn(Arc::clone(&below).time_is_over());
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(8)).await;
            below.touch();
            assert!(root.check().is_ok());
        }
        assert_eq!(over.await.unwrap().limit, BudgetLimit::WallTime);
        assert_eq!(begun.elapsed(), Duration::from_secs(25));
        assert_eq!(below.check().unwrap_err().limit, BudgetLimit::WallTime);

        let idle = Ledger::new(Budget::new().with_idle_time(Duration::from_secs(10)), None, None);
        assert_eq!(idle.time_is_over().await.limit, BudgetLimit::IdleTime);
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_spent_before_a_turn_waited_stays_spent() {
        let budget = Budget::new().with_max_children(2).with_max_tokens(10).with_wall_time(Duration::from_secs(10));
        let first = Ledger::new(budget.clone(), None, None);
        drop(first.begin_child().unwrap());
        first.spend(usage(6), 0.5);
        tokio::time::sleep(Duration::from_secs(4)).await;
        let spent = first.spent();
        assert_eq!((spent.children, spent.tokens, spent.cost, spent.wall_time_ms), (1, 6, 0.5, 4_000));

        // However long it waited.
        tokio::time::sleep(Duration::from_secs(1_000)).await;
        let then = Ledger::new(budget, None, Some(spent));
        then.check().unwrap();
        let going_on = then.resume_child();
        assert_eq!(then.spent().children, 1);
        assert_eq!(then.lock().live, 1);
        drop((going_on, then.begin_child().unwrap()));
        assert_eq!(then.begin_child().unwrap_err().limit, BudgetLimit::Children);
        then.spend(usage(4), 0.0);
        assert_eq!(then.check().unwrap_err().limit, BudgetLimit::Tokens);
        let begun = Instant::now();
        assert_eq!(Arc::clone(&then).time_is_over().await.limit, BudgetLimit::WallTime);
        assert_eq!(begun.elapsed(), Duration::from_secs(6));
    }
}
