//! The reasons for the level of a pod.

use almanac_engine::qos_levels::{LeftAlone, QosLevels};
use almanac_engine::{Identity, Verdict};
use almanac_fixtures::levels::{config_map, level_policy, pod_name};

use crate::support::levels::{Cluster, FIRST};
use crate::support::{instant, monday};

fn cluster() -> Cluster {
    let mut disabled = level_policy("off", "09:00", "17:00", "a=b", 1);
    disabled.is_enabled = false;
    Cluster::new([
        level_policy("noon", "12:00", "13:00", "a=b", -1),
        disabled,
        level_policy("day", "09:00", "17:00", "a", 0),
        level_policy("later", "08:00", "18:00", "a=b", 2),
        level_policy("web", "09:00", "17:00", "a=c", 1),
    ])
    .with("pod", "a=b", Some("1"))
}

/// Each verdict in a line, with the policy and the span.
fn explained(cluster: &Cluster, object: Option<&Identity>, time: &str) -> Vec<String> {
    let (config, now) = (config_map(FIRST), monday(time));
    let reasons = match object {
        None => cluster.world.explain(&config, now),
        Some(object) => cluster.world.explain_object(&config, object, now),
    };
    let time = |at: Option<jiff::Timestamp>| match at {
        Some(at) => at.to_string().replace("2026-03-02T", "").replace(":00Z", ""),
        None => "-".to_owned(),
    };
    let line = |it: &almanac_engine::RuleExplanation| {
        let rule = it.rule.as_deref().unwrap_or("");
        let (since, until) = (time(it.since), time(it.until));
        format!("{rule} {:?} {since} to {until}: {}", it.verdict, it.message)
    };
    reasons.iter().map(line).collect()
}

#[test]
fn every_policy_of_the_list_has_its_verdict() {
    let pod = pod_name("pod");
    let expected = [
        "noon Inactive 2026-03-01T13:00 to 12:00: open from 12:00 to 13:00 every day (UTC): closed",
        "off Inactive - to -: disabled",
        "day Won 09:00 to 12:00: open from 09:00 to 17:00 every day (UTC): open",
        "later Lost 08:00 to 18:00: open from 08:00 to 18:00 every day (UTC): open, but day is listed \
         before it",
        "web Excluded - to -: the policy selects other pods: a=c",
    ];
    assert_eq!(explained(&cluster(), Some(&pod), "11:00"), expected);
}

#[test]
fn a_winner_has_won_since_the_previous_policy_closed() {
    let reasons =
        cluster().world.explain_object(&config_map(FIRST), &pod_name("pod"), monday("14:00"));
    let winner = reasons.iter().find(|it| it.verdict == Verdict::Won).unwrap();
    assert_eq!(winner.rule.as_deref(), Some("day"));
    assert_eq!((winner.since, winner.until), (Some(monday("13:00")), Some(monday("17:00"))));
}

#[test]
fn a_pod_has_its_own_level_while_no_policy_for_it_is_open() {
    let cluster = cluster();
    let own = &explained(&cluster, Some(&pod_name("pod")), "07:00")[0];
    let night = "2026-03-01T18:00 to 08:00";
    assert_eq!(
        own,
        &format!(" Won {night}: no policy for the pod is open, so it has its own level")
    );
    let mut bare = Cluster::new([]).with("pod", "a=b", None);
    let own = &explained(&bare, Some(&pod_name("pod")), "07:00")[0];
    assert_eq!(own, " Won - to -: there are no policies, so the pod has its own level");
    bare.restart(QosLevels::unusable());
    let unknown = explained(&bare, Some(&pod_name("pod")), "07:00");
    let line = " Error - to -: the list of policies cannot be used, so the pod is unchanged";
    assert_eq!(unknown, [line]);
}

#[test]
fn an_unchanged_pod_has_a_reason() {
    let mut cluster = cluster();
    cluster.pod("pod").left_alone = Some(LeftAlone::Terminating);
    let why = explained(&cluster, Some(&pod_name("pod")), "11:00");
    assert_eq!(why, [" Excluded - to -: the pod is unchanged; the pod is being deleted"]);
}

#[test]
fn a_config_map_without_pods_lists_its_open_policies() {
    let config = config_map(FIRST).identity;
    for object in [None, Some(&config)] {
        let lines = explained(&cluster(), object, "11:00");
        assert_eq!(
            lines[2],
            "day Won 09:00 to 17:00: open from 09:00 to 17:00 every day (UTC): open; a at level 0"
        );
        assert_eq!(lines.len(), 5);
    }
}

#[test]
fn clock_changes_are_explained_for_enabled_policies() {
    let berlin = |name: &str| {
        almanac_fixtures::levels::level_policy_in(
            "Europe/Berlin",
            name,
            "02:30",
            "04:00",
            "a=b",
            -1,
        )
    };
    let mut disabled = berlin("off");
    disabled.is_enabled = false;
    let cluster = Cluster::new([disabled, berlin("on")]);
    let (from, to) = (instant("2026-03-01T00:00:00Z"), instant("2026-04-01T00:00:00Z"));
    let effects = cluster.world.clock_effects(&config_map(FIRST), from, to);
    assert!(!effects.is_empty());
    assert!(effects.iter().all(|it| &*it.rule == "on" && it.position == 1), "{effects:?}");
}
