//! The turns after a simulation is limited to some policies.

use almanac_engine::{PolicyObject, Slim};
use almanac_fixtures::{at, names, rules, schedules};

use super::*;

#[test]
fn only_the_policies_that_go_on_have_turns() {
    let mut world = World::default();
    let hourly = [rules::rule("more", "0 * * * *", 5)];
    let hourly = rules::checked(names::workload("shop"), &hourly, &[]);
    let busy = names::cron_federated_hpa("busy").identity;
    world.upsert(busy, Slim::CronScaling(PolicyObject::new(hourly)));
    let daily = schedules::Schedule::utc(1).with(5, "hours=9", "hours=17").checked();
    let calm = names::metrics_producer("calm");
    let identity = calm.identity.clone();
    world.upsert(identity, Slim::ScheduledCapacity(PolicyObject::new(daily)));
    let from = at("2026-03-02T00:00:00Z");
    let mut simulation = Simulation::start(world, from, &AssumedValues::new());
    simulation.go_on_with(std::slice::from_ref(&calm));
    let end = at("2026-03-03T00:00:00Z");
    let policies: BTreeSet<PolicyName> =
        std::iter::from_fn(|| simulation.step(end)).map(|step| step.policy).collect();
    assert_eq!(policies, BTreeSet::from([calm]));
}
