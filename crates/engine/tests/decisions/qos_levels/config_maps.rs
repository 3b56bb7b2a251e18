//! Two `ConfigMaps`, and none.

use almanac_engine::qos_levels::{AgentSettings, QosLevels};
use almanac_engine::{Exemptions, World, islands};
use almanac_fixtures::levels::{config_map, level_policy, levels};

use crate::support::levels::{Cluster, FIRST, SECOND};
use crate::support::monday;

fn cluster() -> Cluster {
    let mut cluster = Cluster::new([level_policy("p", "09:00", "10:00", "a=b", -1)]).with(
        "pod",
        "a=b",
        Some("1"),
    );
    cluster.configure(SECOND, levels([level_policy("q", "09:00", "10:00", "a=b", 2)]));
    cluster
}

fn turn_of_second(cluster: &mut Cluster) -> bool {
    let second = config_map(SECOND);
    cluster.turn_of(&second, monday("09:30"), World::apply).is_some()
}

#[test]
fn the_config_map_of_the_design_takes_precedence() {
    let mut cluster = cluster();
    assert!(!turn_of_second(&mut cluster));
    cluster.turn("09:30");
    assert_eq!(cluster.shows("pod"), "-1 1 p -1");
    assert_eq!(islands(&cluster.world).len(), 1, "one would count without the other");
    let why = cluster.world.why_not_applied(&config_map(SECOND)).unwrap();
    assert_eq!(
        why,
        "not applied; ConfigMap volcano-system/volcano-agent-config exists too, and takes precedence"
    );
}

#[test]
fn an_existing_config_map_takes_precedence_even_if_unusable() {
    let mut cluster = cluster();
    cluster.restart(QosLevels::unusable());
    assert!(!turn_of_second(&mut cluster));
    assert!(cluster.turn("09:30").done.is_empty());
}

#[test]
fn the_second_config_map_takes_effect_when_the_first_is_deleted() {
    let mut cluster = cluster();
    cluster.turn("09:30");
    cluster.delete_config(FIRST);
    assert!(turn_of_second(&mut cluster));
    assert_eq!(cluster.shows("pod"), "2 1 q 2");
    cluster.delete_config(SECOND);
    cluster.turn("09:40");
    assert_eq!(cluster.shows("pod"), "1 - - -", "without any, the pod gets its level back");
}

#[test]
fn a_config_map_in_another_namespace_is_ignored() {
    let mut cluster = cluster();
    let elsewhere = Some("kube-agents".into());
    cluster.world.qos_levels.extra =
        AgentSettings { config_namespace: elsewhere, ..AgentSettings::default() };
    assert!(cluster.turn_of(&config_map(FIRST), monday("09:30"), World::apply).is_none());
    let why = cluster.world.why_not_applied(&config_map(FIRST)).unwrap();
    assert_eq!(why, "not applied; the agent's ConfigMap is in the namespace kube-agents");
}

#[test]
fn an_exempt_config_map_neither_sets_nor_restores_a_level() {
    let mut cluster = cluster();
    cluster.turn("09:30");
    cluster.world.objects.exempt = Exemptions::for_namespaces(["volcano-system"]).into();
    assert!(cluster.turn_of(&config_map(FIRST), monday("11:00"), World::apply).is_none());
}
