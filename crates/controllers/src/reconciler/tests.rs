//! Turns against a slow API server; a real one cannot be slowed down at will.

mod costly;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use almanac_api::kinds::Kind;
use almanac_engine::cron_scaling::FiringOutcome;
use almanac_engine::{Family, Identity, PolicyName};
use almanac_fixtures::{names, objects};
use almanac_shell::budget::{Urgency, WriteBudget, WriteLimits};
use almanac_shell::clock::Clock;
use almanac_shell::event_log::{EventLog, EventMetrics};
use almanac_shell::following::Follower as _;
use almanac_shell::lease::{Fence, Switch};
use almanac_shell::writer::{WriteMetrics, Writer};
use almanac_stub::{Fault, ReceivedRequest, Stub};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{CostlyDecisions, Reconciler};
use crate::bench::hooks;
use crate::cluster::Cluster;
use crate::families::Families;
use crate::policies::{PolicyFollower, UnwrittenStatuses, WorkQueues};
use crate::targets::Targets;
use crate::upstream::Upstreams;
use crate::work_queue::WorkQueue;

/// A clock that shows the seconds that were last set.
#[derive(Clone)]
struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    fn set(&self, at: &str) {
        let at: Timestamp = at.parse().expect("the instant is valid");
        self.0.store(at.as_second(), Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let shown = Arc::clone(&self.0);
        let second = move || Timestamp::from_second(shown.load(Ordering::SeqCst));
        Clock::from_fn(move || second().expect("the instant is in range"))
    }
}

/// An API server with one Deployment; the clock advances while it is scaled.
fn stub(shown: ManualClock, scaled_until: &'static str) -> Stub {
    let stub = Stub::new();
    stub.put(crate::bench::target("apps/v1", "Deployment", "shop"));
    let takes_time = Fault::concurrent_change(move |_| shown.set(scaled_until));
    stub.inject(
        takes_time.matching(ReceivedRequest::is_write).path_contains("/shop/scale").always(),
    );
    stub
}

fn two_rules() -> Value {
    let rules =
        [objects::rule("nine", "0 9 * * *", 3), objects::rule("a minute later", "1 9 * * *", 5)];
    let target = objects::target("apps/v1", "Deployment", "shop");
    objects::stored(objects::cron_federated_hpa("shop", &target, &json!(rules)), "1", 1, 1)
}

/// A controller with one object, and the parts that the tests use.
struct Stage {
    shown: ManualClock,
    cluster: Arc<Cluster>,
    budget: WriteBudget,
    follower: PolicyFollower,
    switch: Switch,
    controller: Reconciler,
}

impl Stage {
    /// One write at a time, at 09:00.
    fn set(scaled_until: &'static str) -> Self {
        let shown = ManualClock(Arc::default());
        shown.set("2026-11-20T09:00:00Z");
        let clock = shown.clock();
        let client = stub(shown.clone(), scaled_until).client();
        let cluster = Arc::new(Cluster::default());
        let [turns, statuses] = [(); 2].map(|()| Arc::new(WorkQueue::new(clock.clone())));
        let budget = WriteBudget::new(WriteLimits { at_once: 1, ..WriteLimits::default() });
        let metrics = WriteMetrics::default();
        let writer = Writer::new(client.clone(), Fence::open(), budget.clone(), metrics);
        let (events, _) = EventLog::new(writer.clone(), "test", &EventMetrics::default());
        let hooks = hooks(&client, &writer, &cluster);
        let targets = Targets::new(client, writer, Arc::clone(&cluster), Arc::clone(&turns), false);
        let woken = WorkQueues {
            turns: Arc::clone(&turns),
            statuses: Arc::clone(&statuses),
            samples: None,
        };
        let (mut follower, _) = PolicyFollower::new(
            Family::CronScaling,
            clock.clone(),
            UnwrittenStatuses::default(),
            Arc::clone(&cluster),
            woken,
        );
        follower.begin_list();
        follower.upsert(object(two_rules()));
        let switch = Switch::new(clock.clone());
        let controller = Reconciler {
            cluster: Arc::clone(&cluster),
            targets: Arc::new(targets),
            hooks,
            turns,
            statuses,
            families: Families::default(),
            events,
            clock,
            switch: switch.clone(),
            upstreams: Upstreams::default(),
            costly_decisions: CostlyDecisions::default(),
        };
        Self { shown, cluster, budget, follower, switch, controller }
    }

    /// Runs a turn whose write must wait for another write, and causes an event during the wait; returns the replicas
    /// after that, and the next turn.
    async fn wait_while(
        mut self,
        during_wait: impl FnOnce(&mut PolicyFollower, &ManualClock),
    ) -> (Option<u32>, Option<Timestamp>, Self) {
        let permit = self.budget.permit(Urgency::Capacity).await;
        let policy = policy();
        let mut turn = Box::pin(self.controller.take_turn(&policy));
        while self.budget.waiting() == 0 {
            let moment = std::time::Duration::from_millis(10);
            let over = tokio::time::timeout(moment, &mut turn).await;
            assert!(over.is_err(), "the turn is over without a write");
        }
        during_wait(&mut self.follower, &self.shown);
        drop(permit);
        let next = turn.await;
        let replicas = self.cluster.lock().world.objects.workloads[&target()].replicas;
        (replicas, next, self)
    }
}

fn object(value: Value) -> kube::api::DynamicObject {
    serde_json::from_value(value).expect("the object is valid")
}

fn policy() -> PolicyName {
    names::cron_federated_hpa("shop")
}

fn target() -> Identity {
    names::deployment("shop")
}

#[tokio::test(start_paused = true)]
async fn a_queued_write_that_is_still_wanted_is_sent() {
    let stage = Stage::set("2026-11-20T09:00:01Z");
    let (replicas, next, _) = stage.wait_while(|_, _| {}).await;
    assert_eq!(replicas, Some(3));
    assert_eq!(next, Some("2026-11-20T09:01:00Z".parse().expect("the instant is valid")));
}

#[tokio::test(start_paused = true)]
async fn a_queued_write_is_not_sent_once_the_rules_are_suspended() {
    let suspend = |follower: &mut PolicyFollower, _: &ManualClock| {
        let mut edited = two_rules();
        edited["metadata"]["generation"] = json!(2);
        edited["metadata"]["resourceVersion"] = json!("2");
        for rule in edited["spec"]["rules"].as_array_mut().expect("the rules are a list") {
            rule["suspend"] = json!(true);
        }
        follower.upsert(object(edited));
    };
    let (replicas, ..) = Stage::set("2026-11-20T09:00:01Z").wait_while(suspend).await;
    assert_eq!(replicas, Some(1));
}

#[tokio::test(start_paused = true)]
async fn a_queued_write_is_not_sent_once_the_object_is_deleted() {
    let delete =
        |follower: &mut PolicyFollower, _: &ManualClock| follower.delete(object(two_rules()));
    let (replicas, next, _) = Stage::set("2026-11-20T09:00:01Z").wait_while(delete).await;
    assert_eq!((replicas, next), (Some(1), None));
}

#[tokio::test(start_paused = true)]
async fn a_queued_write_has_no_effect_on_a_new_object_of_the_same_name() {
    let replace = |follower: &mut PolicyFollower, _: &ManualClock| {
        follower.delete(object(two_rules()));
        let mut another = two_rules();
        another["metadata"]["uid"] = json!("2");
        another["metadata"]["resourceVersion"] = json!("2");
        follower.upsert(object(another));
    };
    let (replicas, next, stage) = Stage::set("2026-11-20T09:00:01Z").wait_while(replace).await;
    assert_eq!((replicas, next), (Some(1), None));
    let cluster = stage.cluster.lock();
    let memory = &cluster.world.cron_scaling.policies[&policy().identity].memory;
    assert!(memory.is_none(), "the policy had no turn yet");
}

#[tokio::test(start_paused = true)]
async fn a_missing_watched_target_is_awaited_through_its_watch() {
    let stage = Stage::set("2026-11-20T09:00:01Z");
    stage.shown.set("2026-11-20T08:30:00Z");
    let mut without = two_rules();
    without["metadata"]["generation"] = json!(2);
    without["metadata"]["resourceVersion"] = json!("2");
    without["spec"]["scaleTargetRef"]["name"] = json!("missing");
    let Stage { mut follower, controller, .. } = stage;
    follower.upsert(object(without));
    let next = controller.take_turn(&policy()).await;
    assert_eq!(next, Some("2026-11-20T09:00:00Z".parse().expect("the instant is valid")));
}

#[tokio::test(start_paused = true)]
async fn a_queued_write_past_its_deadline_is_not_sent_and_the_firing_is_missed() {
    let too_late = |_: &mut PolicyFollower, shown: &ManualClock| shown.set("2026-11-20T09:05:01Z");
    let (replicas, next, stage) = Stage::set("2026-11-20T09:05:01Z").wait_while(too_late).await;
    assert_eq!(replicas, Some(1));
    assert!(next.is_some_and(|next| next <= stage.controller.clock.now()), "a turn immediately");
    stage.controller.take_turn(&policy()).await;
    let locked = stage.cluster.lock();
    let object = &locked.world.cron_scaling.policies[&policy().identity];
    let nine = &object.memory.as_ref().expect("a turn has run").rules[0];
    assert_eq!(nine.executions[0].ending, FiringOutcome::Missed);
}

#[tokio::test(start_paused = true)]
async fn a_queued_write_is_never_sent_after_even_a_brief_stop() {
    let stage = Stage::set("2026-11-20T09:00:05Z");
    let switch = stage.switch.clone();
    let stop = move |_: &mut PolicyFollower, shown: &ManualClock| {
        switch.update(Some("wrong values"));
        shown.set("2026-11-20T09:00:04Z");
        switch.update(None);
    };
    let (replicas, next, stage) = stage.wait_while(stop).await;
    assert_eq!(replicas, Some(1));
    assert!(
        next.is_some_and(
            |next| next <= "2026-11-20T09:00:05Z".parse().expect("the instant is valid")
        )
    );
    stage.shown.set("2026-11-20T09:00:05Z");
    let next = stage.controller.take_turn(&policy()).await;
    let replicas = stage.cluster.lock().world.objects.workloads[&target()].replicas;
    assert_eq!((replicas, endings(&stage)), (Some(1), vec![FiringOutcome::Stopped]));
    assert_eq!(next, Some("2026-11-20T09:01:00Z".parse().expect("the instant is valid")));
}

#[tokio::test(start_paused = true)]
async fn a_firing_due_while_stopped_is_recorded_and_the_next_firing_is_applied() {
    let stage = Stage::set("2026-11-20T09:01:01Z");
    stage.switch.update(Some("wrong values"));
    stage.controller.take_turn(&policy()).await;
    assert_eq!(endings(&stage), [FiringOutcome::Stopped]);
    assert!(stage.cluster.lock().world.objects.workloads.is_empty(), "no target was read");
    stage.switch.update(None);
    stage.shown.set("2026-11-20T09:01:00Z");
    stage.controller.take_turn(&policy()).await;
    assert_eq!(stage.cluster.lock().world.objects.workloads[&target()].replicas, Some(5));
}

/// The endings of the firings of the first rule, newest first.
fn endings(stage: &Stage) -> Vec<FiringOutcome> {
    let locked = stage.cluster.lock();
    let object = &locked.world.cron_scaling.policies[&policy().identity];
    let nine = &object.memory.as_ref().expect("a turn has run").rules[0];
    nine.executions.iter().map(|it| it.ending.clone()).collect()
}

#[tokio::test]
async fn a_rule_that_falls_due_during_another_firing_has_its_turn_immediately() {
    let stage = Stage::set("2026-11-20T09:02:30Z");
    let next = stage.controller.take_turn(&policy()).await;
    assert_eq!(next, Some("2026-11-20T09:01:00Z".parse().expect("the instant is valid")));
    let locked = stage.cluster.lock();
    let replicas = locked.world.objects.workloads[&target()].replicas;
    assert_eq!(replicas, Some(3), "the first firing was applied");
}

/// Checks the status queue while the write of a firing waits.
fn no_status_write_is_queued(
    stage: &Stage,
) -> impl FnOnce(&mut PolicyFollower, &ManualClock) + use<> {
    let statuses = Arc::clone(&stage.controller.statuses);
    move |_: &mut PolicyFollower, _: &ManualClock| {
        assert!(statuses.is_quiet(), "a status write is requested while the write still waits");
    }
}

#[tokio::test(start_paused = true)]
async fn a_firing_queues_one_status_write_even_after_a_stop() {
    let mut stage = Stage::set("2026-11-20T09:00:01Z");
    stage.shown.set("2026-11-20T08:30:00Z");
    stage.switch.update(Some("wrong values"));
    stage.switch.update(None);
    stage.controller.take_turn(&policy()).await;
    stage.shown.set("2026-11-20T09:00:00Z");
    stage.controller.statuses = Arc::new(WorkQueue::new(stage.controller.clock.clone()));
    let check = no_status_write_is_queued(&stage);
    stage.wait_while(check).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_policy_is_rechecked_while_everything_is_stopped() {
    let mut stage = Stage::set("2026-11-20T09:00:01Z");
    let mut edited = two_rules();
    edited["metadata"]["generation"] = json!(2);
    edited["metadata"]["resourceVersion"] = json!("2");
    for rule in edited["spec"]["rules"].as_array_mut().expect("the rules are a list") {
        rule["suspend"] = json!(true);
    }
    edited["spec"]["scaleTargetRef"]["apiVersion"] = json!("unknown.example.com/v1");
    edited["spec"]["scaleTargetRef"]["kind"] = json!("Thing");
    stage.follower.upsert(object(edited));
    assert!(stage.controller.take_turn(&policy()).await.is_some());
    stage.switch.update(Some("wrong values"));
    assert!(stage.controller.take_turn(&policy()).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_invalid_policy_is_reported_while_everything_is_stopped() {
    let mut stage = Stage::set("2026-11-20T09:00:01Z");
    stage.switch.update(Some("wrong values"));
    let mut edited = two_rules();
    edited["metadata"]["generation"] = json!(2);
    edited["metadata"]["resourceVersion"] = json!("2");
    edited["spec"]["scaleTargetRef"] = json!({});
    stage.follower.upsert(object(edited));
    stage.controller.statuses = Arc::new(WorkQueue::new(stage.controller.clock.clone()));
    stage.controller.take_turn(&policy()).await;
    assert!(!stage.controller.statuses.is_quiet(), "the status reports the mistake");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_has_its_turns_while_everything_is_stopped() {
    let stage = Stage::set("2026-11-20T09:00:01Z");
    stage.switch.update(Some("wrong values"));
    let day = json!({ "replicas": 5, "start": { "hours": "8" }, "end": { "hours": "20" } });
    let schedule = json!({ "timezone": "UTC", "defaultReplicas": 1, "behaviors": [day] });
    let schedule = objects::stored(objects::metrics_producer("nodes", &schedule), "u", 1, 1);
    let clock = stage.controller.clock.clone();
    let turns = || Arc::new(WorkQueue::new(clock.clone()));
    let woken = WorkQueues {
        turns: turns(),
        statuses: Arc::clone(&stage.controller.statuses),
        samples: None,
    };
    let (family, cluster) = (Family::ScheduledCapacity, Arc::clone(&stage.cluster));
    let (mut follower, _) =
        PolicyFollower::new(family, clock.clone(), UnwrittenStatuses::default(), cluster, woken);
    follower.upsert(object(schedule));
    let kind = Kind::for_family(family);
    let nodes = PolicyName::new(family, kind.identity("default", "nodes"));
    let next = stage.controller.take_turn(&nodes).await;
    assert_eq!(next, Some("2026-11-20T20:00:00Z".parse().expect("the instant is valid")));
}
