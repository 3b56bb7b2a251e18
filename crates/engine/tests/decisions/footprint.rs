//! Islands: the policies that are connected by their reads and writes, and their order.

use almanac_engine::{
    Family, Field, Identity, PolicyName, PolicyObject, Slim, Target, Workload, World, islands,
};
use proptest::prelude::*;

use crate::support::cron::{autoscaler, bounds, rule, workload};
use crate::support::property::holds;
use crate::support::run::{add_rules, object_name};
use crate::support::schedule::{Publish as _, Schedule};

fn add_rules_of(world: &mut World, name: &str, target: &str) {
    add_rules(world, name, workload(target), &[rule("r", "3 * * * *", 5)]);
}

fn add_schedule(world: &mut World, name: &str) -> PolicyName {
    let producer = Schedule::utc(1).with(4, "hours=9", "hours=17").published();
    let object = producer.world.scheduled_capacity.policies[&producer.identity].clone();
    let identity = Identity::new("autoscaling.karpenter.sh", "MetricsProducer", "default", name);
    world.upsert(identity.clone(), Slim::ScheduledCapacity(object));
    PolicyName::new(Family::ScheduledCapacity, identity)
}

/// The islands, by the objects' own names.
fn named(world: &World) -> Vec<Vec<String>> {
    let names = |island: &Vec<PolicyName>| {
        island.iter().map(|policy| policy.identity.name().to_owned()).collect()
    };
    islands(world).iter().map(names).collect()
}

#[test]
fn policies_that_write_one_object_are_one_island_in_the_order_of_their_names() {
    let mut world = World::default();
    for (name, target) in [("c", "shop"), ("a", "shop"), ("other", "till"), ("b", "shop")] {
        add_rules_of(&mut world, name, target);
    }
    assert_eq!(named(&world), [vec!["a", "b", "c"], vec!["other"]]);
}

#[test]
fn islands_are_in_the_order_of_the_first_object_that_is_written_in_each() {
    let mut world = World::default();
    for (name, target) in [("a", "zebra"), ("z", "ape"), ("m", "mouse")] {
        add_rules_of(&mut world, name, target);
    }
    assert_eq!(named(&world), [["z"], ["m"], ["a"]]);
}

#[test]
fn the_order_in_which_a_world_was_filled_does_not_matter() {
    let objects = [("a", "zebra"), ("z", "ape"), ("m", "mouse"), ("b", "ape"), ("c", "zebra")];
    let (mut one, mut other) = (World::default(), World::default());
    for (name, target) in objects {
        add_rules_of(&mut one, name, target);
    }
    for (name, target) in objects.into_iter().rev() {
        add_rules_of(&mut other, name, target);
    }
    assert_eq!(islands(&one), islands(&other));
}

#[test]
fn an_autoscaler_and_a_workload_of_one_name_are_two_objects() {
    let mut world = World::default();
    add_rules_of(&mut world, "replicas", "shop");
    add_rules(&mut world, "bounds", autoscaler("shop"), &[bounds("r", "3 * * * *", Some(2), None)]);
    assert_eq!(islands(&world).len(), 2);
}

#[test]
fn schedules_read_nothing_and_write_only_themselves_so_each_is_an_island() {
    let mut world = World::default();
    let (shop, till) = (add_schedule(&mut world, "shop"), add_schedule(&mut world, "till"));
    add_rules_of(&mut world, "rules", "shop");
    let footprint = world.footprint(&shop);
    assert_eq!(footprint.reads, []);
    assert_eq!(footprint.writes, [(shop.identity.clone(), Field::Value)]);
    let rules = PolicyName::new(Family::CronScaling, object_name("rules"));
    // In the order of the written objects: apps before autoscaling.
    assert_eq!(islands(&world), [vec![rules], vec![shop], vec![till]]);
}

#[test]
fn rules_read_their_target_and_write_the_fields_they_can_set() {
    let mut world = World::default();
    add_rules(&mut world, "bounds", autoscaler("shop"), &[bounds("r", "3 * * * *", Some(2), None)]);
    let name = PolicyName::new(Family::CronScaling, object_name("bounds"));
    let (footprint, target) = (world.footprint(&name), autoscaler("shop").identity().clone());
    assert_eq!(footprint.reads, std::slice::from_ref(&target));
    // The bound that no rule names may have to move for the other bound.
    let expected = [(target.clone(), Field::MinReplicas), (target, Field::MaxReplicas)];
    assert_eq!(footprint.writes, expected);
}

#[test]
fn an_invalid_policy_is_an_island_that_touches_nothing() {
    let mut world = World::default();
    add_rules_of(&mut world, "rules", "shop");
    let broken = PolicyObject { policy: None, created: None, memory: None };
    world.upsert(object_name("broken"), Slim::CronScaling(broken));
    assert_eq!(named(&world), [["rules"], ["broken"]]);
    let name = PolicyName::new(Family::CronScaling, object_name("broken"));
    assert_eq!(world.footprint(&name), almanac_engine::Footprint::default());
}

#[test]
fn a_world_without_policies_has_no_islands() {
    let mut world = World::default();
    world.objects.workloads.insert(workload("shop").identity().clone(), Workload::default());
    assert_eq!(named(&world), [[""; 0]; 0]);
}

#[test]
fn a_part_of_a_world_has_only_what_its_policies_touch() {
    let mut world = World::default();
    for (name, target) in [("a", "shop"), ("b", "shop"), ("c", "till")] {
        add_rules_of(&mut world, name, target);
        let object = workload(target).identity().clone();
        world
            .objects
            .workloads
            .insert(object, Workload { replicas: Some(3), ..Workload::default() });
    }
    for island in islands(&world) {
        let part = world.part(&island);
        assert!(part.policies().eq(island.iter().cloned()));
        assert_eq!(part.objects.workloads.len(), 1);
        assert_eq!(islands(&part), [island]);
    }
}

#[test]
fn every_policy_is_in_the_one_island_of_all_that_write_its_target() {
    let name = "every_policy_is_in_the_one_island_of_all_that_write_its_target";
    let objects = prop::collection::vec((0..6_u8, prop::option::weighted(0.9, 0..4_u8)), 0..12);
    holds(name, 200, objects, |objects| {
        let mut world = World::default();
        for (name, target) in &objects {
            let (name, target) = (format!("p{name}"), target.map(|target| format!("t{target}")));
            if let Some(target) = target {
                add_rules_of(&mut world, &name, &target);
            } else {
                let broken = PolicyObject { policy: None, created: None, memory: None };
                world.upsert(object_name(&name), Slim::CronScaling(broken));
            }
        }
        let islands = islands(&world);
        let mut found: Vec<PolicyName> = islands.concat();
        found.sort();
        prop_assert!(found.iter().eq(&world.policies().collect::<Vec<_>>()), "{islands:?}");
        let target = |policy: &PolicyName| {
            let object = world.cron_scaling.policies.get(&policy.identity);
            object.and_then(|it| it.policy.as_ref()).map(|it| it.target.clone())
        };
        let targets: Vec<Option<Target>> = islands.iter().map(|it| target(&it[0])).collect();
        for (island, own) in islands.iter().zip(&targets) {
            prop_assert!(island.is_sorted() && island.iter().all(|it| target(it) == *own));
            prop_assert!(own.is_some() || island.len() == 1, "they touch nothing: {island:?}");
        }
        let written: Vec<&Target> = targets.iter().flatten().collect();
        prop_assert!(written.is_sorted_by(|one, next| one < next), "{written:?}");
        Ok(())
    });
}
