//! The rules of the work queue, under a paused clock.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use almanac_fixtures::names::{cron_federated_hpa as policy, deployment};
use tokio::sync::mpsc;

use super::*;

fn nothing(_: &PolicyName) -> Vec<Lane> {
    Vec::new()
}

/// A queue on a clock that follows the runtime's (paused) one.
fn queue() -> Arc<WorkQueue> {
    let start = tokio::time::Instant::now();
    let now = move || {
        Timestamp::UNIX_EPOCH
            + SignedDuration::try_from(start.elapsed()).expect("the duration is short")
    };
    Arc::new(WorkQueue::new(Clock::from_fn(now)))
}

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("the instant is in range")
}

/// Runs turns that take a second each and return the given next instants; returns the turns, each with its start
/// second.
async fn run(
    queue: &Arc<WorkQueue>,
    seconds: u64,
    next: impl Fn(&PolicyName) -> Option<Timestamp>,
) -> Vec<(i64, PolicyName)> {
    run_in_lanes(queue, seconds, nothing, next).await
}

/// Runs such turns for policies in lanes.
async fn run_in_lanes(
    queue: &Arc<WorkQueue>,
    seconds: u64,
    lanes: impl Fn(&PolicyName) -> Vec<Lane>,
    next: impl Fn(&PolicyName) -> Option<Timestamp>,
) -> Vec<(i64, PolicyName)> {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let end = CancellationToken::new();
    let clock = queue.clock.clone();
    let turn = |policy: PolicyName| {
        let (sender, next, now) = (sender.clone(), next(&policy), clock.now().as_second());
        async move {
            sender.send((now, policy)).expect("a receiver exists");
            tokio::time::sleep(Duration::from_secs(1)).await;
            next
        }
    };
    let stop = async {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        end.cancel();
    };
    tokio::join!(queue.run(8, None, end.clone(), lanes, turn), stop);
    drop(sender);
    let mut turns = Vec::new();
    while let Some(turn) = receiver.recv().await {
        turns.push(turn);
    }
    turns
}

#[tokio::test(start_paused = true)]
async fn a_turn_runs_at_the_requested_instant() {
    let queue = queue();
    queue.wake(&policy("a"));
    let turns = run(&queue, 30, |_| Some(at(20))).await;
    let expected = [(0, policy("a")), (20, policy("a"))];
    assert_eq!(turns[..2], expected);
}

#[tokio::test(start_paused = true)]
async fn a_policy_woken_during_its_turn_gets_another_turn() {
    let queue = queue();
    queue.wake(&policy("a"));
    let wakes = Arc::clone(&queue);
    let woken = AtomicUsize::new(0);
    let turns = run(&queue, 10, move |_| {
        if woken.fetch_add(1, Ordering::SeqCst) == 0 {
            wakes.wake(&policy("a"));
            wakes.wake(&policy("a"));
        }
        None
    });
    let turns = turns.await;
    assert_eq!(turns.len(), 2, "{turns:?}");
    assert_eq!(turns[1].0, 1, "after the first turn, which takes a second");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_policy_gets_no_more_turns() {
    let queue = queue();
    queue.wake(&policy("a"));
    queue.wake(&policy("b"));
    queue.remove(&policy("b"));
    let removing = Arc::clone(&queue);
    let turns = run(&queue, 30, move |policy| {
        removing.remove(policy);
        Some(at(5))
    });
    assert_eq!(turns.await, [(0, policy("a"))]);
    assert!(queue.is_quiet());
}

#[tokio::test(start_paused = true)]
async fn a_panicking_turn_is_retried_later_and_affects_no_other() {
    let queue = queue();
    queue.wake(&policy("falls"));
    queue.wake(&policy("stands"));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let end = CancellationToken::new();
    let clock = queue.clock.clone();
    let turn = |policy: PolicyName| {
        let (sender, now) = (sender.clone(), clock.now().as_second());
        async move {
            sender.send((now, policy.identity.name().to_owned())).expect("a receiver exists");
            assert!(policy.identity.name() != "falls", "on purpose");
            None
        }
    };
    let stop = async {
        tokio::time::sleep(Duration::from_secs(40)).await;
        end.cancel();
    };
    tokio::join!(queue.run(8, None, end.clone(), nothing, turn), stop);
    drop(sender);
    let mut turns = Vec::new();
    while let Some(turn) = receiver.recv().await {
        turns.push(turn);
    }
    let expected = [(0, "falls"), (0, "stands"), (30, "falls")];
    assert_eq!(turns, expected.map(|(at, name)| (at, name.to_owned())));
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_is_both_due_and_woken_gets_one_turn() {
    let queue = queue();
    queue.lock().agenda.set(&policy("a"), Some(at(0)));
    queue.wake(&policy("a"));
    assert_eq!(run(&queue, 10, |_| None).await, [(0, policy("a"))]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_requested_for_the_past_runs_immediately() {
    let queue = queue();
    queue.lock().agenda.set(&policy("a"), Some(at(5)));
    let policy_name = AtomicUsize::new(0);
    let past =
        move |_: &PolicyName| (policy_name.fetch_add(1, Ordering::SeqCst) == 0).then(|| at(5));
    assert_eq!(run(&queue, 10, past).await, [(5, policy("a")), (6, policy("a"))]);
}

#[tokio::test(start_paused = true)]
async fn every_policy_gets_a_turn_once_a_fast_clock_is_corrected() {
    let start = tokio::time::Instant::now();
    let clock = Clock::from_fn(move || {
        let elapsed = SignedDuration::try_from(start.elapsed()).expect("the duration is short");
        let ahead = if elapsed.as_secs() < 6 { 720 * 3600 } else { 0 };
        at(ahead) + elapsed
    });
    let queue = Arc::new(WorkQueue::new(clock));
    queue.wake(&policy("a"));
    let next = at(720 * 3600 + 3600);
    let turns = run(&queue, 30, |_| Some(next)).await;
    let put_right = turns.iter().filter(|(second, _)| *second < 30).count();
    assert_eq!((turns.len(), put_right), (2, 1), "{turns:?}");
}

#[tokio::test(start_paused = true)]
async fn waking_all_brings_every_later_turn_forward() {
    let queue = queue();
    queue.lock().agenda.set(&policy("a"), Some(at(1000)));
    queue.wake_all();
    assert_eq!(run(&queue, 10, |_| None).await, [(0, policy("a"))]);
}

#[tokio::test(start_paused = true)]
async fn the_longest_overdue_policy_runs_first() {
    let queue = queue();
    for (name, due) in [("a", 10), ("b", 10), ("c", 12), ("d", 11)] {
        queue.lock().agenda.set(&policy(name), Some(at(due)));
    }
    let started = Arc::new(Mutex::new(Vec::new()));
    let (end, clock) = (CancellationToken::new(), queue.clock.clone());
    let turn = |policy: PolicyName| {
        let (started, now) = (Arc::clone(&started), clock.now().as_second());
        async move {
            started.lock().expect("no task panics").push((now, policy.identity.name().to_owned()));
            tokio::time::sleep(Duration::from_secs(5)).await;
            None
        }
    };
    let stop = async {
        tokio::time::sleep(Duration::from_secs(40)).await;
        end.cancel();
    };
    tokio::join!(queue.run(1, None, end.clone(), nothing, turn), stop);
    let expected = [(10, "a"), (15, "b"), (20, "d"), (25, "c")];
    let started = started.lock().expect("no task panics").clone();
    assert_eq!(started, expected.map(|(second, name)| (second, name.to_owned())));
}

fn target_of(policy: &PolicyName) -> Vec<Lane> {
    let target = if policy.identity.name().starts_with("other") { "other" } else { "shop" };
    vec![Lane::Object(deployment(target))]
}

#[tokio::test(start_paused = true)]
async fn policies_of_one_target_take_their_turns_for_an_instant_in_the_order_of_their_names() {
    let queue = queue();
    for name in ["c", "a", "other", "b"] {
        queue.lock().agenda.set(&policy(name), Some(at(5)));
    }
    let turns = run_in_lanes(&queue, 60, target_of, |_| None).await;
    let expected = [(5, "a"), (5, "other"), (6, "b"), (7, "c")];
    assert_eq!(turns, expected.map(|(second, name)| (second, policy(name))));
}

#[tokio::test(start_paused = true)]
async fn a_policy_deleted_while_held_up_by_another_gets_no_turn() {
    let queue = queue();
    for name in ["a", "b", "c"] {
        queue.wake(&policy(name));
    }
    let dropping = Arc::clone(&queue);
    let lanes = move |policy_name: &PolicyName| {
        // When the last policy is called, the first policy already has its turn.
        if policy_name.identity.name() == "c" {
            dropping.remove(&policy("b"));
        }
        target_of(policy_name)
    };
    let turns = run_in_lanes(&queue, 60, lanes, |_| None).await;
    assert_eq!(turns, [(0, policy("a")), (1, policy("c"))]);
}

#[tokio::test(start_paused = true)]
async fn a_turn_is_brought_forward_but_never_delayed_nor_added_to_a_running_turn() {
    let queue = queue();
    let [early, late, new] = ["early", "late", "new"].map(policy);
    {
        let mut state = queue.lock();
        state.agenda.set(&early, Some(at(2)));
        state.agenda.set(&late, Some(at(50)));
    }
    for policy in [&early, &late, &new] {
        queue.bring_forward(policy, at(5));
    }
    let during = {
        let (queue, early) = (Arc::clone(&queue), early.clone());
        async move {
            tokio::time::sleep(Duration::from_millis(2_500)).await;
            queue.bring_forward(&early, at(3));
        }
    };
    let (turns, ()) = tokio::join!(run(&queue, 20, |_| None), during);
    assert_eq!(turns, [(2, early), (5, late), (5, new)]);
}

#[tokio::test(start_paused = true)]
async fn the_next_turn_is_brought_forward_while_a_turn_is_running() {
    let queue = queue();
    queue.wake(&policy("a"));
    let during = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        queue.bring_next_forward(&policy("a"), at(9));
        queue.bring_next_forward(&policy("a"), at(5));
        queue.bring_next_forward(&policy("a"), at(7));
    };
    let (turns, ()) = tokio::join!(run(&queue, 8, |_| Some(at(20))), during);
    assert_eq!(turns, [(0, policy("a")), (5, policy("a"))]);
}

#[tokio::test(start_paused = true)]
async fn deleted_policies_without_a_turn_leave_no_entries() {
    let queue = queue();
    let queued = || {
        let state = queue.lock();
        (state.due.len() + state.woken.len(), state.is_waiting.len(), state.agenda.len())
    };
    queue.wake(&policy("first"));
    for number in 0..1_000 {
        for name in ["again".to_owned(), format!("goes-{number}")] {
            queue.bring_forward(&policy(&name), at(20));
            queue.wake(&policy(&name));
            queue.remove(&policy(&name));
        }
    }
    queue.wake(&policy("last"));
    let (names, waiting, later) = queued();
    assert!(names <= 2 * waiting + SPARE, "{names} names of {waiting} policies");
    assert_eq!((waiting, later), (2, 0));
    assert_eq!(run(&queue, 10, |_| None).await, [(0, policy("first")), (0, policy("last"))]);
    assert_eq!(queued(), (0, 0, 0));
    let state = queue.lock();
    assert!(state.due.capacity().max(state.woken.capacity()) <= 2 * SPARE);
}
