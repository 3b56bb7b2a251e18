//! The work queue, which schedules turns. A policy has a turn at the instant that its last turn returned, and after
//! each change of its inputs.
//!
//! No policy has two turns at the same time. Policies have their turns concurrently, except for those in one lane, as
//! of an object that they write. Turns of one lane run one after the other, for one instant in the order of their
//! names, as in a forecast. The callers define what a turn does.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Display;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_engine::{Agenda, Family, Identity, PolicyName};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Heartbeat;
use futures::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// The delay before a turn is retried after a panic.
const PANIC_RETRY_DELAY: SignedDuration = SignedDuration::from_secs(30);
/// A clock that goes back further than this was wrong before. A policy with an instant computed by it might wait for a
/// month.
const CLOCK_SET_BACK: SignedDuration = SignedDuration::from_mins(1);
/// The maximum number of queued names of policies that no longer wait, and of names for which empty queues keep memory.
const SPARE: usize = 64;
/// The interval of heartbeats when idle.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// The items of a queue: policies, or other objects with a name.
pub(crate) trait QueueName: Ord + Clone + Display + Send + 'static {}

impl<Name: Ord + Clone + Display + Send + 'static> QueueName for Name {}

/// Runs one turn at a time.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Lane {
    /// The turns that write an object.
    Object(Identity),
    /// The turns of a family that depend on what its other policies have decided.
    Decisions(Family),
    /// The turns with costly decisions, in several lanes. One such decision is made at a time, so they would occupy all
    /// concurrent turns.
    Costly(u64),
}

/// The policies with an upcoming turn.
pub(crate) struct WorkQueue<Name = PolicyName> {
    clock: Clock,
    state: Mutex<State<Name>>,
    changed: Notify,
    /// The number of turns so far; the number of a turn identifies its lines in the log.
    taken: AtomicU64,
}

struct State<Name> {
    agenda: Agenda<Name>,
    /// Due policies, the longest overdue first. They run before woken ones.
    due: VecDeque<Name>,
    /// Woken policies, in order of arrival.
    woken: VecDeque<Name>,
    /// All waiting policies, each once. A queued name that is missing here has had its turn, or is deleted.
    is_waiting: BTreeSet<Name>,
    /// Policies that wait for another policy in the same lane, in order of arrival.
    held_up: BTreeMap<Lane, Vec<Name>>,
    /// The lanes of running turns.
    in_use: BTreeSet<Lane>,
    /// Running turns.
    under_way: BTreeMap<Name, UnderWay>,
    /// The last reading of the clock.
    looked_at: Option<Timestamp>,
}

/// A running turn, and the events of its policy since the turn started.
#[derive(Clone, Default)]
struct UnderWay {
    lanes: Vec<Lane>,
    /// The policy was woken, or is due.
    is_wanted: bool,
    /// The instant to which its next turn was brought forward.
    next: Option<Timestamp>,
    /// The policy is deleted, so the next turn that it requests is dropped.
    is_gone: bool,
}

impl<Name> Default for State<Name> {
    fn default() -> Self {
        Self {
            agenda: Agenda::default(),
            due: VecDeque::new(),
            woken: VecDeque::new(),
            is_waiting: BTreeSet::new(),
            held_up: BTreeMap::new(),
            in_use: BTreeSet::new(),
            under_way: BTreeMap::new(),
            looked_at: None,
        }
    }
}

impl<Name: QueueName> WorkQueue<Name> {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, state: Mutex::default(), changed: Notify::new(), taken: AtomicU64::new(0) }
    }

    /// The current time on the policy clock.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Gives a policy a turn now.
    pub(crate) fn wake(&self, policy: &Name) {
        self.lock().wait(policy);
        self.changed.notify_one();
    }

    /// Gives a policy a turn at an instant or before, and another turn if one is running.
    pub(crate) fn wake_at(&self, policy: &Name, at: Timestamp) {
        if at > self.now() { self.bring_next_forward(policy, at) } else { self.wake(policy) }
    }

    /// Gives a policy a turn at an instant, unless it has an earlier turn. A running turn itself returns when the next
    /// turn is due.
    pub(crate) fn bring_forward(&self, policy: &Name, at: Timestamp) {
        let mut state = self.lock();
        if state.under_way.contains_key(policy) || state.is_waiting.contains(policy) {
            return;
        }
        state.agenda.bring_forward(policy, at);
        self.changed.notify_one();
    }

    /// Gives a policy a turn at an instant, as [`Self::bring_forward`] does, but even during a running turn: the
    /// running turn may have read its inputs already.
    pub(crate) fn bring_next_forward(&self, policy: &Name, at: Timestamp) {
        if let Some(turn) = self.lock().under_way.get_mut(policy) {
            turn.next = Some(turn.next.map_or(at, |known| known.min(at)));
            return;
        }
        self.bring_forward(policy, at);
    }

    /// Removes a deleted policy.
    pub(crate) fn remove(&self, policy: &Name) {
        let mut state = self.lock();
        state.agenda.set(policy, None);
        state.is_waiting.remove(policy);
        if let Some(turn) = state.under_way.get_mut(policy) {
            (turn.is_wanted, turn.is_gone) = (false, true);
        }
        state.drop_skipped();
    }

    /// Brings every later turn forward to now.
    pub(crate) fn wake_all(&self) {
        self.lock().wake_all();
        self.changed.notify_one();
    }

    /// Whether no turn is running or waiting.
    pub(crate) fn is_quiet(&self) -> bool {
        let state = self.lock();
        state.is_waiting.is_empty() && state.under_way.is_empty()
    }

    /// Removes all waiting policies, and returns them.
    #[cfg(test)]
    pub(crate) fn take_waiting(&self) -> BTreeSet<Name> {
        std::mem::take(&mut self.lock().is_waiting)
    }

    /// Runs turns until the token is canceled, up to `at_once` at a time; then waits for those in progress. A turn
    /// returns when the next turn is due; `lanes` returns the lanes that it needs.
    pub(crate) async fn run<Turn>(
        &self,
        at_once: usize,
        heartbeat: Option<&Heartbeat>,
        end: CancellationToken,
        lanes: impl Fn(&Name) -> Vec<Lane>,
        turn: impl Fn(Name) -> Turn,
    ) where
        Turn: Future<Output = Option<Timestamp>> + Send + 'static,
    {
        let mut under_way = JoinSet::new();
        while !end.is_cancelled() {
            while under_way.len() < at_once
                && let Some(policy) = self.take(&lanes)
            {
                let number = self.taken.fetch_add(1, Ordering::Relaxed);
                let span = tracing::info_span!("turn", object = %policy, reconcile = number);
                let turn = AssertUnwindSafe(turn(policy.clone())).catch_unwind();
                under_way.spawn(async move { (policy, turn.await) }.instrument(span));
            }
            if let Some(heartbeat) = heartbeat {
                heartbeat.beat();
            }
            let is_full = under_way.len() >= at_once;
            tokio::select! {
                () = end.cancelled() => {}
                Some(ended) = under_way.join_next() => self.end(ended),
                () = self.changed.notified(), if !is_full => {}
                () = self.next_is_due(), if !is_full => {}
                () = tokio::time::sleep(HEARTBEAT_INTERVAL) => {}
            }
        }
        while let Some(ended) = under_way.join_next().await {
            self.end(ended);
        }
    }

    fn end(&self, ended: Result<EndedTurn<Name>, tokio::task::JoinError>) {
        // A task of this set neither panics nor is aborted while the set exists.
        let Ok((policy, outcome)) = ended else { return };
        let next = outcome.unwrap_or_else(|_| {
            tracing::error!(object = %policy, "reconcile panicked; retrying in 30s");
            self.clock.now().saturating_add(PANIC_RETRY_DELAY).ok()
        });
        let mut state = self.lock();
        let turn = state.under_way.remove(&policy).unwrap_or_default();
        let next = next.into_iter().chain(turn.next).min();
        state.agenda.set(&policy, next.filter(|_| !turn.is_gone));
        for lane in &turn.lanes {
            state.in_use.remove(lane);
            let held_up = state.held_up.remove(lane).unwrap_or_default();
            held_up.into_iter().rev().for_each(|policy| state.due.push_front(policy));
        }
        if turn.is_wanted {
            state.wait(&policy);
        }
    }

    fn take(&self, lanes: impl Fn(&Name) -> Vec<Lane>) -> Option<Name> {
        let now = self.clock.now();
        {
            let mut state = self.lock();
            let looked_at = state.looked_at.replace(now);
            if looked_at.is_some_and(|before| before.duration_since(now) > CLOCK_SET_BACK) {
                state.wake_all();
            }
            state.queue_due(now);
        }
        loop {
            let policy = self.lock().next_waiting()?;
            // Called without the lock: the callee may lock something that is locked while waking.
            let lanes = lanes(&policy);
            let mut state = self.lock();
            if !state.is_waiting.contains(&policy) {
                continue;
            }
            if let Some(lane) = lanes.iter().find(|lane| state.in_use.contains(*lane)) {
                state.held_up.entry(lane.clone()).or_default().push(policy);
                continue;
            }
            state.is_waiting.remove(&policy);
            // The end of this turn sets the next instant.
            state.agenda.set(&policy, None);
            state.in_use.extend(lanes.iter().cloned());
            state.under_way.insert(policy.clone(), UnderWay { lanes, ..UnderWay::default() });
            return Some(policy);
        }
    }

    async fn next_is_due(&self) {
        let next = self.lock().agenda.next();
        match next {
            Some(at) => self.clock.sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<Name>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type EndedTurn<Name> = (Name, Result<Option<Timestamp>, Box<dyn std::any::Any + Send>>);

impl<Name: QueueName> State<Name> {
    fn wait(&mut self, policy: &Name) {
        if let Some(turn) = self.under_way.get_mut(policy) {
            (turn.is_wanted, turn.is_gone) = (true, false);
        } else if self.is_waiting.insert(policy.clone()) {
            self.woken.push_back(policy.clone());
        }
    }

    fn wake_all(&mut self) {
        while let Some(policy) = self.agenda.take_due(Timestamp::MAX) {
            self.wait(&policy);
        }
    }

    /// Queues the policies that are due, after the policies that became due before.
    fn queue_due(&mut self, now: Timestamp) {
        while let Some(policy) = self.agenda.take_due(now) {
            self.is_waiting.insert(policy.clone());
            self.due.push_back(policy);
        }
    }

    /// The policy that has waited longest and still needs a turn.
    fn next_waiting(&mut self) -> Option<Name> {
        while let Some(policy) = self.due.pop_front().or_else(|| self.woken.pop_front()) {
            if self.is_waiting.contains(&policy) {
                return Some(policy);
            }
        }
        // Thousands of policies are rarely woken at the same time.
        self.due.shrink_to(SPARE);
        self.woken.shrink_to(SPARE);
        None
    }

    /// Removes names that would be skipped, once they are most of those in the queues. While no turn can start, nothing
    /// else removes them.
    fn drop_skipped(&mut self) {
        if self.due.len() + self.woken.len() <= 2 * self.is_waiting.len() + SPARE {
            return;
        }
        let mut names = BTreeSet::new();
        for queue in [&mut self.due, &mut self.woken] {
            queue.retain(|name| self.is_waiting.contains(name) && names.insert(name.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
