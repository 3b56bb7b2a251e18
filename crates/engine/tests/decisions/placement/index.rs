//! The placements that read an object, and their connections: an index has the same result as a scan of all
//! placements.

use std::collections::BTreeSet;

use almanac_engine::placement::{
    Cluster, ClusterSelector, ClusterSet, Expression, ExpressionReaders, HubObject, Placement,
    PlacementState, PrioritizerMode,
};
use almanac_engine::{
    Family, Field, Footprint, Identity, Influences, PolicyName, PolicyObject, Slim, World,
};
use almanac_fixtures::placements::{object, placement, scores};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::monday;
use crate::support::property::holds;

const NAMES: [&str; 3] = ["a", "b", "c"];
const NAMESPACES: [&str; 2] = ["default", "default-2"];
const SCORES: [&str; 2] = ["x", "y"];
const EXPRESSIONS: [&str; 3] = [
    "true",
    "managedCluster.scores('x').size() > 0",
    "managedCluster.scores(managedCluster.status.zone == 'x' ? 'x' : 'y').size() > 0",
];

/// A change of a world: an object, or its absence.
#[derive(Clone, Debug)]
enum Change {
    Policy(Identity, Option<Box<Placement>>),
    Object(Identity, Option<Box<HubObject>>),
}

fn a_placement() -> impl Strategy<Value = Placement> {
    let score = select(&["Balance", "Steady", "x/cpu", "y/cpu"][..]);
    let standing = select(vec![
        PlacementState::Active,
        PlacementState::Disabled,
        PlacementState::Terminating,
        PlacementState::Unusable,
    ]);
    let expression = option::of(select(&EXPRESSIONS[..]));
    let sets = vec(select(&NAMES[..]), 0..2);
    (option::of(1..3_u32), vec(score, 0..3), standing, expression, sets).prop_map(
        |(number, scores, standing, expression, sets)| {
            let scores: Vec<_> = scores.into_iter().map(|score| (score, 1)).collect();
            let expressions = expression.map(|it| Expression::compile(it).unwrap());
            let predicates = expressions.map(|it| ClusterSelector {
                expressions: [it].into(),
                ..ClusterSelector::default()
            });
            Placement {
                standing,
                cluster_sets: sets.into_iter().map(Into::into).collect(),
                predicates: predicates.into_iter().collect(),
                ..placement(number, PrioritizerMode::Exact, &scores)
            }
        },
    )
}

fn a_change() -> impl Strategy<Value = Change> {
    let (name, namespace) = (|| select(&NAMES[..]), || select(&NAMESPACES[..]));
    let policy = (name(), namespace(), option::weighted(0.8, a_placement())).prop_map(
        |(name, namespace, spec)| {
            Change::Policy(object("Placement", namespace, name), spec.map(Box::new))
        },
    );
    let set = select(vec![ClusterSet::ByName, ClusterSet::Empty, ClusterSet::Unusable]);
    let set = (name(), option::weighted(0.8, set))
        .prop_map(|(name, it)| (object("ManagedClusterSet", "", name), it.map(HubObject::Set)));
    let binding =
        (name(), namespace(), option::weighted(0.8, name())).prop_map(|(name, namespace, set)| {
            let binding = object("ManagedClusterSetBinding", namespace, name);
            (binding, set.map(|set| HubObject::Binding(set.into())))
        });
    let cluster = (name(), option::weighted(0.8, name())).prop_map(|(name, set)| {
        let of_set = |set: &str| Cluster { set: Some(set.into()), ..Cluster::default() };
        let cluster = set.map(|it| HubObject::Cluster(of_set(it)));
        (object("ManagedCluster", "", name), cluster)
    });
    let scores = (name(), select(&SCORES[..]), any::<bool>()).prop_map(|(cluster, name, exist)| {
        let scores = exist.then(|| HubObject::Scores(scores(&[("cpu", 1)], None)));
        (object("AddOnPlacementScore", cluster, name), scores)
    });
    let hub = prop_oneof![set, binding, cluster, scores];
    prop_oneof![policy, hub.prop_map(|(identity, it)| Change::Object(identity, it.map(Box::new)))]
}

fn make(world: &mut World, change: Change) {
    match change {
        Change::Policy(identity, Some(spec)) => {
            world.upsert(identity, Slim::Placement(PolicyObject::new(*spec)));
        }
        Change::Policy(identity, None) => {
            world.remove_policy(&PolicyName::new(Family::Placement, identity));
        }
        Change::Object(identity, Some(it)) => world.upsert(identity, Slim::Hub(*it)),
        Change::Object(identity, None) => world.remove(&identity),
    }
}

/// Every placement with a spec.
fn all(world: &World) -> Vec<(&Identity, &Placement)> {
    let all = world.placement.policies.iter();
    all.filter_map(|(identity, it)| Some((identity, it.policy.as_deref()?))).collect()
}

/// The sets that a placement names and that are bound to its namespace.
fn sets<'w>(world: &'w World, identity: &Identity, policy: &Placement) -> BTreeSet<&'w str> {
    let bound = world.placement.extra.hub.bindings.get(identity.namespace());
    let bound = bound.into_iter().flat_map(|it| it.values());
    let is_named = |set: &&str| {
        policy.cluster_sets.is_empty() || policy.cluster_sets.iter().any(|it| **it == **set)
    };
    bound.map(|it| &**it).filter(is_named).collect()
}

fn may_select(world: &World, identity: &Identity, policy: &Placement, cluster: &str) -> bool {
    let hub = &world.placement.extra.hub;
    hub.clusters.get(cluster).is_some_and(|cluster| {
        let members = |set: &&str| hub.sets.get(*set).is_some_and(|it| it.contains(set, cluster));
        sets(world, identity, policy).iter().any(members)
    })
}

fn scanned(world: &World, changed: &Identity) -> Vec<PolicyName> {
    let (namespace, name) = (changed.namespace(), changed.name());
    let reads = |identity: &Identity, policy: &Placement| match changed.kind() {
        "ManagedCluster" => may_select(world, identity, policy, name),
        "ManagedClusterSet" => sets(world, identity, policy).contains(name),
        "ManagedClusterSetBinding" => identity.namespace() == namespace,
        _ => {
            let prefix = format!("AddOn/{name}/");
            let mut sources = policy.prioritizers.iter().map(|it| it.score.to_string());
            let is_read = policy.reads_scores(name) || sources.any(|it| it.starts_with(&prefix));
            is_read && may_select(world, identity, policy, namespace)
        }
    };
    let readers = all(world).into_iter().filter(|(identity, policy)| {
        matches!(policy.standing, PlacementState::Active | PlacementState::Unusable)
            && reads(identity, policy)
    });
    readers.map(|(it, _)| PolicyName::new(Family::Placement, it.clone())).collect()
}

fn scanned_by_expressions(world: &World, cluster: &str) -> Vec<PolicyName> {
    let reads_cluster = |policy: &Placement| {
        policy.standing == PlacementState::Active
            && policy.predicates.iter().any(|it| !it.expressions.is_empty())
    };
    let readers = all(world).into_iter().filter(|(identity, policy)| {
        reads_cluster(policy) && may_select(world, identity, policy, cluster)
    });
    readers.map(|(it, _)| PolicyName::new(Family::Placement, it.clone())).collect()
}

/// Objects of every kind.
fn objects() -> Vec<Identity> {
    let of_name = NAMES.iter().flat_map(|name| {
        let scores = SCORES.iter().map(|it| object("AddOnPlacementScore", name, it));
        let bindings = NAMESPACES.iter().map(|it| object("ManagedClusterSetBinding", it, name));
        let alone = ["ManagedCluster", "ManagedClusterSet"].map(|kind| object(kind, "", name));
        scores.chain(bindings).chain(alone).collect::<Vec<_>>()
    });
    of_name.collect()
}

#[test]
fn the_index_of_placements_equals_a_scan_of_all() {
    let name = "the_index_of_placements_equals_a_scan_of_all";
    holds(name, 200, vec(a_change(), 0..40), |changes| {
        let mut world = World::default();
        for change in changes {
            make(&mut world, change);
            for object in objects() {
                let readers: Vec<PolicyName> = world.readers_of_object(&object).collect();
                prop_assert_eq!(readers, scanned(&world, &object), "{}", object);
            }
            for cluster in NAMES {
                let reading: Vec<_> =
                    ExpressionReaders::for_cluster(world.view(), cluster).names().collect();
                prop_assert_eq!(reading, scanned_by_expressions(&world, cluster), "{}", cluster);
            }
            let usable = all(&world).into_iter().filter(|(_, it)| it.is_usable());
            let usable: Vec<_> = usable.collect();
            let is_connected = usable.iter().any(|(_, it)| it.balances());
            let first = usable.first().filter(|_| is_connected);
            for (identity, policy) in &usable {
                let policy_name = PolicyName::new(Family::Placement, (*identity).clone());
                let footprint = Footprint {
                    reads: first.iter().map(|(first, _)| (*first).clone()).collect(),
                    writes: vec![((*identity).clone(), Field::Clusters)],
                };
                prop_assert_eq!(world.footprint(&policy_name), footprint, "{:?}", policy);
                let at = monday("12:00");
                let due = Influences::default().due(&world, &policy_name, at);
                let others = usable
                    .iter()
                    .filter(|(other, it)| other != identity && it.selects_by_balance());
                let others: Vec<_> = others
                    .map(|(it, _)| (PolicyName::new(Family::Placement, (*it).clone()), at))
                    .collect();
                prop_assert_eq!(due, others);
            }
        }
        Ok(())
    });
}
