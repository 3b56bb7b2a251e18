//! The rules of the lease, against an API server with faults, under a paused clock.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use almanac_stub::{Fault, ReceivedRequest, Stub};
use futures::future::join_all;
use http::{Method, StatusCode};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::*;
use crate::clock::Clock;
use crate::lease::STOP;

const WRITES_FOR: Duration = Duration::from_secs(10);
const LASTS: Duration = Duration::from_secs(15);
/// A standby checks every two seconds or slightly less often.
const LOOK: Duration = Duration::from_secs(3);

/// A machine with candidates: its clock follows that of the runtime, plus the time spent asleep.
#[derive(Clone)]
struct Machine {
    stub: Stub,
    begun: Instant,
    slept: Arc<AtomicU64>,
}

impl Machine {
    fn before(stub: &Stub) -> Self {
        Self { stub: stub.clone(), begun: Instant::now(), slept: Arc::default() }
    }

    fn clock(&self) -> Monotonic {
        let (begun, slept) = (self.begun, Arc::clone(&self.slept));
        Monotonic::from_fn(move || {
            begun.elapsed() + Duration::from_secs(slept.load(Ordering::SeqCst))
        })
    }

    fn sleeps(&self, seconds: u64) {
        self.slept.fetch_add(seconds, Ordering::SeqCst);
    }

    fn candidate(&self, identity: &str) -> Candidate {
        self.candidate_at(identity, None)
    }

    fn candidate_at(&self, identity: &str, addresses: Option<&Addresses>) -> Candidate {
        let of = |text: &str| text.to_owned();
        let options = LeaseOptions::new(of("default"), of("almanac"), of(identity));
        let addresses = addresses.cloned();
        let options = LeaseOptions { clock: self.clock(), addresses, ..options };
        let switch = Switch::new(Clock::from_fn(|| Timestamp::UNIX_EPOCH));
        let seed = identity.bytes().map(u64::from).sum();
        Candidate::new(self.stub.client(), options, Health::default(), switch, seed)
    }
}

fn lease(stub: &Stub) -> Value {
    stub.object("leases", "default", "almanac").expect("the Lease exists")
}

fn is_renewal(request: &ReceivedRequest) -> bool {
    request.method == Method::PUT && request.path.ends_with("/leases/almanac")
}

/// A Lease whose holder does not renew it.
fn held_by(holder: &str, seconds: u32) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "almanac", "namespace": "default" },
        "spec": {
            "holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": 3,
            "acquireTime": "2026-11-20T08:00:00.000000Z", "renewTime": "2026-11-20T08:00:00.000000Z",
        },
    })
}

/// A term of this length.
fn for_seconds(seconds: u64) -> impl AsyncFnOnce(Fence) {
    async move |_| sleep(Duration::from_secs(seconds)).await
}

/// The start of a candidate's term, if it starts within an hour.
async fn wins_after(candidate: &mut Candidate) -> Option<Duration> {
    let (begun, mut won) = (Instant::now(), None);
    let end = CancellationToken::new();
    let led = candidate.lead(&end, async |_| won = Some(begun.elapsed()));
    let _an_hour = timeout(Duration::from_hours(1), led).await;
    won
}

/// Leads for a minute, or as long as possible, with the given fault from the fifth second on; returns how
/// the term ended, and how long the fence stayed open after the fault.
async fn leads_while(
    stub: &Stub,
    goes_wrong: impl FnOnce(),
) -> (Result<(), LeadershipLoss>, Duration) {
    let end = CancellationToken::new();
    let mut candidate = Machine::before(stub).candidate("one");
    let open_for = Mutex::new(Duration::ZERO);
    let led = candidate.lead(&end, async |fence| {
        sleep(Duration::from_secs(5)).await;
        goes_wrong();
        let wrong = Instant::now();
        while wrong.elapsed() < Duration::from_mins(1) {
            sleep(Duration::from_millis(10)).await;
            if fence.is_open() {
                *open_for.lock().expect("the lock is not poisoned") = wrong.elapsed();
            }
        }
    });
    let led = led.await;
    (led, open_for.into_inner().expect("the lock is not poisoned"))
}

#[tokio::test(start_paused = true)]
async fn a_candidate_creates_a_missing_lease_renews_it_every_two_seconds_and_releases_it() {
    let stub = Stub::new();
    let end = CancellationToken::new();
    let term = async |fence: Fence| {
        for second in 0..60 {
            let remaining = fence.check().expect("an open fence");
            assert!(remaining > Duration::from_secs(7), "{remaining:?} left after {second} s");
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(lease(&stub)["spec"]["holderIdentity"], "one");
    };
    let led = Machine::before(&stub).candidate("one").lead(&end, term).await;
    assert_eq!(led, Ok(()));
    let renewals = stub.requests_where(is_renewal).len();
    assert!((29..=31).contains(&renewals), "{renewals}");
    assert!(lease(&stub)["spec"].get("holderIdentity").is_none_or(Value::is_null));
    let next = wins_after(&mut Machine::before(&stub).candidate("two")).await;
    assert!(next < Some(LOOK), "no candidate waits: {next:?}");
}

#[tokio::test(start_paused = true)]
async fn a_standby_finds_the_address_of_the_leader() {
    let stub = Stub::new();
    let [one, two] = ["10.0.0.1:1", "10.0.0.2:1"].map(Addresses::new);
    let end = CancellationToken::new();
    let mut leading = Machine::before(&stub).candidate_at("one", Some(&one));
    let mut standing_by = Machine::before(&stub).candidate_at("two", Some(&two));
    let led = leading.lead(&end, async |_| sleep(Duration::from_secs(20)).await);
    let looked = async {
        sleep(Duration::from_secs(1)).await;
        let stands_by = standing_by.lead(&end, async |_| {
            assert_eq!(lease(&stub)["metadata"]["annotations"]["almanac.dev/address"], two.own());
        });
        let looks = async {
            sleep(LOOK).await;
            assert_eq!(two.leader().as_deref(), Some(one.own()));
        };
        let (stood_by, ()) = tokio::join!(stands_by, looks);
        assert_eq!(stood_by, Ok(()));
        assert_eq!(
            two.leader().as_deref(),
            Some(two.own()),
            "the new leader finds its own address"
        );
    };
    let (led, ()) = tokio::join!(led, looked);
    assert_eq!(led, Ok(()));
    let mut silent = Machine::before(&stub).candidate("three");
    assert!(wins_after(&mut silent).await.is_some());
    let annotations = &lease(&stub)["metadata"]["annotations"];
    assert_eq!(
        annotations["almanac.dev/address"],
        Value::Null,
        "the address of the previous leader is removed"
    );
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_taken_only_after_no_renewal_for_the_longer_of_both_durations() {
    for (holder, seconds, lease_duration) in
        [("two", 15, 15), ("two", 40, 40), ("two", 1, 15), ("one", 15, 15)]
    {
        let stub = Stub::new();
        stub.put(held_by(holder, seconds));
        let won = wins_after(&mut Machine::before(&stub).candidate("one")).await.expect("a term");
        let lease_duration = Duration::from_secs(lease_duration);
        assert!(
            (lease_duration..lease_duration + LOOK).contains(&won),
            "{holder} {seconds}: {won:?}"
        );
        assert_eq!(lease(&stub)["spec"]["leaseTransitions"], 4);
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_without_a_holder_is_acquired_at_once() {
    let stub = Stub::new();
    stub.put(held_by("", 15));
    assert_eq!(
        wins_after(&mut Machine::before(&stub).candidate("one")).await,
        Some(Duration::ZERO)
    );
}

#[tokio::test(start_paused = true)]
async fn a_standby_is_ready_and_does_not_lead_while_another_renews() {
    let stub = Stub::new();
    let (end, machine) = (CancellationToken::new(), Machine::before(&stub));
    let [mut one, mut two] = ["one", "two"].map(|identity| machine.candidate(identity));
    two.health.set_waiting_for("the lease");
    let leads = one.lead(&end, for_seconds(600));
    let stands_by = async {
        sleep(Duration::from_millis(1)).await;
        wins_after(&mut two).await
    };
    let (led, won) = tokio::join!(leads, stands_by);
    assert_eq!(led, Ok(()));
    assert!(won.is_some_and(|won| won > Duration::from_secs(599)), "{won:?}");
    assert_eq!(two.health.waiting_for(), None);
}

#[tokio::test(start_paused = true)]
async fn when_renewals_fail_the_fence_closes_before_another_takes_the_lease() {
    let failed = Fault::respond(StatusCode::INTERNAL_SERVER_ERROR, "etcd is gone");
    for (what, fault) in [
        ("hang", Fault::hang()),
        ("are cut off", Fault::refuse()),
        ("fall silent", Fault::silence()),
        ("fail", failed),
    ] {
        let stub = Stub::new();
        let machine = Machine::before(&stub);
        let other = machine.candidate("two");
        let taken = tokio::spawn(async move {
            let mut other = other;
            sleep(Duration::from_secs(1)).await;
            wins_after(&mut other).await.map(|_| Instant::now())
        });
        let ours = |request: &ReceivedRequest| {
            is_renewal(request) && request.body["spec"]["holderIdentity"] == "one"
        };
        let (led, open_for) =
            leads_while(&stub, || stub.inject(fault.matching(ours).always())).await;
        assert_eq!(led, Err(LeadershipLoss::NotRenewed), "renewals {what}");
        assert!(open_for <= WRITES_FOR, "renewals {what}: {open_for:?}");
        assert!(open_for + LOOK > WRITES_FOR, "the fence does not close too early: {open_for:?}");
        let shut = machine.begun + Duration::from_secs(5) + open_for;
        let taken = taken.await.expect("the task does not panic").expect("a term");
        assert!(taken + WRITES_FOR >= shut + LASTS, "renewals {what}: {:?}", taken - shut);
    }
}

#[tokio::test(start_paused = true)]
async fn a_single_failed_renewal_does_no_harm() {
    let busy = || Fault::respond(StatusCode::SERVICE_UNAVAILABLE, "busy");
    for fault in [Fault::hang(), Fault::refuse(), Fault::silence(), Fault::lose_response(), busy()]
    {
        let stub = Stub::new();
        let what = format!("{fault:?}");
        let (led, _) = leads_while(&stub, || stub.inject(fault.matching(is_renewal))).await;
        assert_eq!(led, Ok(()), "{what}");
        assert_eq!(lease(&stub)["spec"]["leaseTransitions"], 0, "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_lease_that_keeps_the_holder_does_no_harm() {
    let stub = Stub::new();
    let label = json!({ "metadata": { "labels": { "team": "harbour" } } });
    let (led, _) = leads_while(&stub, || stub.change("leases", "default", "almanac", &label)).await;
    assert_eq!(led, Ok(()));
    assert_eq!(lease(&stub)["metadata"]["labels"]["team"], "harbour");
}

#[tokio::test(start_paused = true)]
async fn a_stolen_or_deleted_lease_is_noticed_at_the_next_renewal() {
    let taken: fn(&Stub) = |stub| {
        let spec = held_by("thief", 15)["spec"].clone();
        stub.change("leases", "default", "almanac", &json!({ "spec": spec }));
    };
    let deleted: fn(&Stub) = |stub| stub.delete("leases", "default", "almanac");
    for holder in ["thief", "nobody"] {
        let stub = Stub::new();
        let change = if holder == "thief" { taken } else { deleted };
        let (led, open_for) = leads_while(&stub, || change(&stub)).await;
        assert_eq!(led, Err(LeadershipLoss::To(holder.to_owned())));
        assert!(open_for <= Duration::from_secs(2), "{holder}: {open_for:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_machine_slept_finds_its_fence_closed_and_does_not_renew() {
    let stub = Stub::new();
    let machine = Machine::before(&stub);
    let end = CancellationToken::new();
    let term = async |fence: Fence| {
        sleep(Duration::from_secs(5)).await;
        let renewals = stub.requests_where(is_renewal).len();
        machine.sleeps(60);
        assert_eq!(fence.check(), Err(crate::lease::Fenced), "before anything else has run");
        sleep(Duration::from_mins(1)).await;
        panic!("the term goes on, with {renewals} renewals before");
    };
    let led = machine.candidate("one").lead(&end, term).await;
    assert_eq!(led, Err(LeadershipLoss::NotRenewed));
    let renewals = stub.requests_where(is_renewal).len();
    assert_eq!((renewals, machine.begun.elapsed().as_secs()), (2, 6));
}

#[tokio::test(start_paused = true)]
async fn a_renewal_that_is_answered_after_the_machine_slept_does_not_open_the_fence_again() {
    let stub = Stub::new();
    let machine = Machine::before(&stub);
    let sleeper = machine.clone();
    let sleeps = Fault::concurrent_change(move |_| sleeper.sleeps(11)).matching(is_renewal);
    let end = CancellationToken::new();
    let term = async |fence: Fence| {
        stub.inject(sleeps);
        while fence.is_open() {
            sleep(Duration::from_millis(100)).await;
        }
        std::future::pending::<()>().await;
    };
    let mut candidate = machine.candidate("one");
    let led = candidate.lead(&end, term);
    assert_eq!(timeout(Duration::from_secs(3), led).await, Ok(Err(LeadershipLoss::NotRenewed)));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_shut_down_while_acquiring_the_lease_releases_it() {
    let stub = Stub::new();
    let end = CancellationToken::new();
    let cancel = end.clone();
    stub.inject(Fault::concurrent_change(move |_| cancel.cancel()).method(Method::POST));
    let term = async |_| panic!("there is no term any more");
    assert_eq!(Machine::before(&stub).candidate("one").lead(&end, term).await, Ok(()));
    assert!(lease(&stub)["spec"].get("holderIdentity").is_none_or(Value::is_null));
}

#[tokio::test(start_paused = true)]
async fn a_lease_deleted_while_everything_is_stopped_is_recreated_with_the_stop() {
    let stub = Stub::new();
    let end = CancellationToken::new();
    let mut candidate = Machine::before(&stub).candidate("one");
    let stopped = json!({ "metadata": { "annotations": { STOP: "wrong values" } } });
    let term = async |_| {
        stub.change("leases", "default", "almanac", &stopped);
        sleep(Duration::from_secs(5)).await;
        stub.delete("leases", "default", "almanac");
        std::future::pending::<()>().await;
    };
    assert_eq!(candidate.lead(&end, term).await, Err(LeadershipLoss::To("nobody".to_owned())));
    assert!(candidate.switch.is_stopped());
    assert_eq!(candidate.lead(&end, for_seconds(5)).await, Ok(()));
    assert!(candidate.switch.is_stopped());
    assert_eq!(lease(&stub)["metadata"]["annotations"][STOP], "wrong values");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_not_recreated_before_its_holder_notices() {
    let stub = Stub::new();
    stub.put(held_by("two", 15));
    let mut candidate = Machine::before(&stub).candidate("one");
    let won = wins_after(&mut candidate);
    let deleted = async {
        sleep(Duration::from_secs(5)).await;
        stub.delete("leases", "default", "almanac");
    };
    let (won, ()) = tokio::join!(won, deleted);
    assert!(won.is_some_and(|won| (LASTS..LASTS + LOOK).contains(&won)), "{won:?}");
}

#[tokio::test(start_paused = true)]
async fn the_obstacle_to_acquiring_the_lease_is_reported_until_it_is_gone() {
    let stub = Stub::new();
    stub.put(held_by("two", 3600));
    let words = "leases.coordination.k8s.io \"almanac\" is forbidden";
    stub.inject(Fault::respond(StatusCode::FORBIDDEN, words).always());
    let mut candidate = Machine::before(&stub).candidate("one");
    let health = candidate.health.clone();
    let mut won = pin!(wins_after(&mut candidate));
    let mut awaited_after = async |seconds| {
        assert!(timeout(Duration::from_secs(seconds), &mut won).await.is_err());
        health.waiting_for()
    };
    assert_eq!(awaited_after(60).await, Some(format!("the lease: {words}")));
    let request = stub.requests().len();
    assert!((4..=15).contains(&request), "with pauses that grow: {request}");
    stub.clear_faults();
    stub.inject(Fault::hang().always());
    assert_eq!(awaited_after(60).await.as_deref(), Some("the lease: no response in time"));
    stub.clear_faults();
    assert_eq!(awaited_after(60).await, None);
}

#[tokio::test(start_paused = true)]
async fn no_two_candidates_lead_at_once_despite_failed_requests() {
    let mut terms = 0;
    for seed in 0..10 {
        let stub = Stub::new();
        let faults = [Fault::hang, Fault::refuse, Fault::lose_response, Fault::silence];
        for (number, fault) in faults.into_iter().enumerate() {
            let chance = Mutex::new(fastrand::Rng::with_seed(seed * 4 + number as u64));
            let strikes = move |_: &ReceivedRequest| {
                chance.lock().expect("the lock is not poisoned").u8(..10) == 0
            };
            stub.inject(fault().matching(strikes).always());
        }
        let machine = Machine::before(&stub);
        let fences: Mutex<Vec<Fence>> = Mutex::default();
        let end = CancellationToken::new();
        let candidates = ["one", "two", "three"].map(|identity| {
            let (mut candidate, fences, end) = (machine.candidate(identity), &fences, &end);
            async move {
                while !end.is_cancelled() {
                    let term = async |fence| {
                        fences.lock().expect("the lock is not poisoned").push(fence);
                        sleep(Duration::from_mins(2)).await;
                    };
                    let _lost = candidate.lead(end, term).await;
                    sleep(Duration::from_secs(1)).await;
                }
            }
        });
        let watching = async {
            while machine.begun.elapsed() < Duration::from_mins(20) {
                let open = fences
                    .lock()
                    .expect("the lock is not poisoned")
                    .iter()
                    .filter(|it| it.is_open())
                    .count();
                assert!(open <= 1, "{open} lead with seed {seed}");
                sleep(Duration::from_millis(250)).await;
            }
            end.cancel();
        };
        tokio::join!(join_all(candidates), watching);
        terms += fences.into_inner().expect("the lock is not poisoned").len();
    }
    assert!(terms > 20, "too few terms: {terms}");
}
