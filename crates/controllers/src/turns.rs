//! Whose turn it is: one policy after the other, each when it asked for it, or when something about
//! it has changed.
//!
//! No policy has two turns at once, and many have theirs at the same time. What a turn consists of
//! is not known here.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use almanac_engine::{Agenda, Identity};
use almanac_shell::clock::Clock;
use almanac_shell::endpoints::Heart;
use futures::FutureExt as _;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// A turn that fell over is taken again after so long.
const AFTER_A_PANIC: SignedDuration = SignedDuration::from_secs(30);
/// How often there is a sign of life when there is nothing to do.
const BEATS_EVERY: Duration = Duration::from_secs(10);

/// Who has a turn to come.
pub(crate) struct Turns {
    clock: Clock,
    state: Mutex<State>,
    changed: Notify,
    /// How many turns there were; the number of a turn tells its lines in the log from others.
    taken: AtomicU64,
}

#[derive(Default)]
struct State {
    agenda: Agenda,
    /// Those whose turn is now, in the order in which they came.
    waiting: VecDeque<Identity>,
    /// The same, each once. Who is not in here any more has had the turn, or is gone.
    is_waiting: BTreeSet<Identity>,
    /// Those who have theirs, and what has come for them meanwhile.
    under_way: BTreeMap<Identity, Meanwhile>,
}

/// What has come for a policy while it had its turn.
#[derive(Clone, Copy, Default)]
struct Meanwhile {
    /// It was woken, or its time has come.
    is_wanted: bool,
    /// It is gone, so that whatever it asks for at the end of its turn is not for anybody.
    is_gone: bool,
}

impl Turns {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, state: Mutex::default(), changed: Notify::new(), taken: AtomicU64::new(0) }
    }

    /// Gives a policy a turn now.
    pub(crate) fn wake(&self, policy: &Identity) {
        self.lock().wait(policy);
        self.changed.notify_one();
    }

    /// Takes the policy's turn away, for it is gone.
    pub(crate) fn forget(&self, policy: &Identity) {
        let mut state = self.lock();
        state.agenda.set(policy, None);
        state.is_waiting.remove(policy);
        if let Some(meanwhile) = state.under_way.get_mut(policy) {
            *meanwhile = Meanwhile { is_wanted: false, is_gone: true };
        }
    }

    /// Gives everybody a turn now who has asked for one later.
    pub(crate) fn hurry(&self) {
        let mut state = self.lock();
        while let Some(policy) = state.agenda.take_due(Timestamp::MAX) {
            state.wait(&policy);
        }
        self.changed.notify_one();
    }

    /// Whether nobody has a turn now, or waits for it.
    pub(crate) fn is_quiet(&self) -> bool {
        let state = self.lock();
        state.is_waiting.is_empty() && state.under_way.is_empty()
    }

    /// Gives everybody their turns until the token ends, so many at once; then waits for those that
    /// are under way. A turn says when the policy wants its next one.
    pub(crate) async fn run<Turn>(
        &self,
        at_once: usize,
        heart: Option<&Heart>,
        end: CancellationToken,
        turn: impl Fn(Identity) -> Turn,
    ) where
        Turn: Future<Output = Option<Timestamp>> + Send + 'static,
    {
        let mut under_way = JoinSet::new();
        while !end.is_cancelled() {
            while under_way.len() < at_once
                && let Some(policy) = self.take()
            {
                let number = self.taken.fetch_add(1, Ordering::Relaxed);
                let span = tracing::info_span!("turn", object = %policy, reconcile = number);
                let turn = AssertUnwindSafe(turn(policy.clone())).catch_unwind();
                under_way.spawn(async move { (policy, turn.await) }.instrument(span));
            }
            if let Some(heart) = heart {
                heart.beat();
            }
            let is_full = under_way.len() >= at_once;
            tokio::select! {
                () = end.cancelled() => {}
                Some(ended) = under_way.join_next() => self.end(ended),
                () = self.changed.notified(), if !is_full => {}
                () = self.next_is_due(), if !is_full => {}
                () = tokio::time::sleep(BEATS_EVERY) => {}
            }
        }
        while let Some(ended) = under_way.join_next().await {
            self.end(ended);
        }
    }

    fn end(&self, ended: Result<Ended, tokio::task::JoinError>) {
        // A task of this set neither panics nor is aborted while the set is there.
        let Ok((policy, outcome)) = ended else { return };
        let next = outcome.unwrap_or_else(|_| {
            tracing::error!(object = %policy, "a turn fell over; it is taken again later");
            self.clock.now().saturating_add(AFTER_A_PANIC).ok()
        });
        let mut state = self.lock();
        let meanwhile = state.under_way.remove(&policy).unwrap_or_default();
        state.agenda.set(&policy, next.filter(|_| !meanwhile.is_gone));
        if meanwhile.is_wanted {
            state.wait(&policy);
        }
    }

    fn take(&self) -> Option<Identity> {
        let now = self.clock.now();
        let mut state = self.lock();
        while let Some(policy) = state.agenda.take_due(now) {
            if state.under_way.contains_key(&policy) {
                state.wait(&policy);
                continue;
            }
            state.is_waiting.remove(&policy);
            state.under_way.insert(policy.clone(), Meanwhile::default());
            return Some(policy);
        }
        loop {
            let policy = state.waiting.pop_front()?;
            if !state.is_waiting.remove(&policy) {
                continue;
            }
            // What it asked for before, it asks for again at the end of this turn.
            state.agenda.set(&policy, None);
            state.under_way.insert(policy.clone(), Meanwhile::default());
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Ended = (Identity, Result<Option<Timestamp>, Box<dyn std::any::Any + Send>>);

impl State {
    fn wait(&mut self, policy: &Identity) {
        if let Some(meanwhile) = self.under_way.get_mut(policy) {
            *meanwhile = Meanwhile { is_wanted: true, is_gone: false };
        } else if self.is_waiting.insert(policy.clone()) {
            self.waiting.push_back(policy.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use tokio::sync::mpsc;

    use super::*;

    fn policy(name: &str) -> Identity {
        Identity::new("autoscaling.karmada.io", "CronFederatedHPA", "default", name)
    }

    /// Turns over a clock that goes with the (paused) runtime's.
    fn turns() -> Arc<Turns> {
        let begin = tokio::time::Instant::now();
        let now = move || {
            Timestamp::UNIX_EPOCH + SignedDuration::try_from(begin.elapsed()).expect("it is short")
        };
        Arc::new(Turns::new(Clock::of(now)))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("it is in range")
    }

    /// Runs turns that take a second each and want the next one when they are told; what came of
    /// them, with the second in which they began.
    async fn run(
        turns: &Arc<Turns>,
        seconds: u64,
        next: impl Fn(&Identity) -> Option<Timestamp>,
    ) -> Vec<(i64, Identity)> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let end = CancellationToken::new();
        let clock = turns.clock.clone();
        let turn = |policy: Identity| {
            let (sender, next, now) = (sender.clone(), next(&policy), clock.now().as_second());
            async move {
                sender.send((now, policy)).expect("somebody listens");
                tokio::time::sleep(Duration::from_secs(1)).await;
                next
            }
        };
        let stop = async {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            end.cancel();
        };
        tokio::join!(turns.run(8, None, end.clone(), turn), stop);
        drop(sender);
        let mut took = Vec::new();
        while let Some(turn) = receiver.recv().await {
            took.push(turn);
        }
        took
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_comes_when_it_was_asked_for() {
        let turns = turns();
        turns.wake(&policy("a"));
        let took = run(&turns, 30, |_| Some(at(20))).await;
        let expected = [(0, policy("a")), (20, policy("a"))];
        assert_eq!(took[..2], expected);
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_woken_during_a_turn_has_another_one_after_it() {
        let turns = turns();
        turns.wake(&policy("a"));
        let wakes = Arc::clone(&turns);
        let woken = AtomicUsize::new(0);
        let took = run(&turns, 10, move |_| {
            if woken.fetch_add(1, Ordering::SeqCst) == 0 {
                wakes.wake(&policy("a"));
                wakes.wake(&policy("a"));
            }
            None
        });
        let took = took.await;
        assert_eq!(took.len(), 2, "{took:?}");
        assert_eq!(took[1].0, 1, "after the first one, which takes a second");
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_gone_has_no_turn_any_more_whatever_it_asked_for() {
        let turns = turns();
        turns.wake(&policy("a"));
        turns.wake(&policy("b"));
        turns.forget(&policy("b"));
        let forgets = Arc::clone(&turns);
        let took = run(&turns, 30, move |policy| {
            forgets.forget(policy);
            Some(at(5))
        });
        assert_eq!(took.await, [(0, policy("a"))]);
        assert!(turns.is_quiet());
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_falls_over_is_taken_again_later_and_harms_nobody_else() {
        let turns = turns();
        turns.wake(&policy("falls"));
        turns.wake(&policy("stands"));
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let end = CancellationToken::new();
        let clock = turns.clock.clone();
        let turn = |policy: Identity| {
            let (sender, now) = (sender.clone(), clock.now().as_second());
            async move {
                sender.send((now, policy.name().to_owned())).expect("somebody listens");
                assert!(policy.name() != "falls", "on purpose");
                None
            }
        };
        let stop = async {
            tokio::time::sleep(Duration::from_secs(40)).await;
            end.cancel();
        };
        tokio::join!(turns.run(8, None, end.clone(), turn), stop);
        drop(sender);
        let mut took = Vec::new();
        while let Some(turn) = receiver.recv().await {
            took.push(turn);
        }
        let expected = [(0, "falls"), (0, "stands"), (30, "falls")];
        assert_eq!(took, expected.map(|(at, name)| (at, name.to_owned())));
    }

    #[tokio::test(start_paused = true)]
    async fn who_is_due_and_woken_has_one_turn() {
        let turns = turns();
        turns.lock().agenda.set(&policy("a"), Some(at(0)));
        turns.wake(&policy("a"));
        assert_eq!(run(&turns, 10, |_| None).await, [(0, policy("a"))]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_asks_for_the_past_is_taken_again_at_once() {
        let turns = turns();
        turns.lock().agenda.set(&policy("a"), Some(at(5)));
        let asked = AtomicUsize::new(0);
        let past = move |_: &Identity| (asked.fetch_add(1, Ordering::SeqCst) == 0).then(|| at(5));
        assert_eq!(run(&turns, 10, past).await, [(5, policy("a")), (6, policy("a"))]);
    }

    #[tokio::test(start_paused = true)]
    async fn in_a_hurry_nobody_waits_for_a_later_turn() {
        let turns = turns();
        turns.lock().agenda.set(&policy("a"), Some(at(1000)));
        turns.hurry();
        assert_eq!(run(&turns, 10, |_| None).await, [(0, policy("a"))]);
    }
}
