//! Predicates with expressions: their selections, scores that expire under them, and the reports of both.

use std::sync::Arc;

use almanac_engine::placement::{
    Cluster, ClusterSelector, Document, Expression, ExpressionReaders, HubChange, HubObject,
    Placement, PrioritizerMode, Scores, hub_change, reads_otherwise,
};
use almanac_engine::{Identity, PolicyName};
use almanac_fixtures::placements::{
    add_cluster, add_placement, add_scores, cluster, cluster_selector, object, placement,
    placement_name, scores, taint, toleration, with_object,
};

use crate::support::monday;
use crate::support::placements::Fleet;

/// Selects by these expressions: all of a predicate, or those of a second predicate.
pub(super) fn by(predicates: &[&[&str]]) -> Placement {
    let predicates = predicates.iter().map(|expressions| ClusterSelector {
        expressions: expressions.iter().map(|it| Expression::compile(it).unwrap()).collect(),
        ..ClusterSelector::default()
    });
    Placement { predicates: predicates.collect(), ..placement(None, PrioritizerMode::Exact, &[]) }
}

/// A cluster whose object has this version and these zones.
pub(super) fn cluster_of(version: &str, zones: &[&str]) -> Cluster {
    let zones: Vec<String> = zones.iter().map(|it| format!("{it:?}")).collect();
    let status = format!("{{\"version\": {version:?}, \"zones\": [{}]}}", zones.join(","));
    with_object(cluster(""), &status)
}

fn three(it: Placement) -> Fleet {
    Fleet::new(&[], it)
        .with("a", cluster_of("v1.30.0", &["x", "y"]))
        .with("b", cluster_of("v1.31.4", &["y"]))
        .with("c", cluster_of("none", &[]))
}

const NEW: &str = "semver(managedCluster.status.version, true).isGreaterThan(semver('1.30.5'))";

#[test]
fn all_expressions_of_one_of_the_predicates_must_be_true() {
    let in_y = "managedCluster.status.zones.exists(z, z == 'y')";
    assert_eq!(three(by(&[&[in_y]])).selects(), "a b");
    assert_eq!(three(by(&[&[in_y, NEW]])).selects(), "b");
    assert_eq!(three(by(&[&[NEW], &["managedCluster.status.zones == []"]])).selects(), "b c");
    let mut both = by(&[&[in_y]]);
    both.predicates[0].labels = cluster_selector("region=eu", "").labels;
    assert_eq!(three(both).selects(), "", "labels have to match as well");
    assert_eq!(three(by(&[&[]])).selects(), "a b c");
}

#[test]
fn an_expression_that_fails_or_is_not_boolean_does_not_match_with_a_reason() {
    let fleet = three(by(&[&[NEW]]));
    let expected = [
        "b Won: rank 1 of 1: total 0".to_owned(),
        format!("a Excluded: no predicate matches: the expression {NEW} is false"),
        format!(
            "c Excluded: no predicate matches: the expression {NEW} has no result: \"none\" is not a valid \
             semantic version such as 1.30.2"
        ),
    ];
    assert_eq!(fleet.explained(monday("12:00")), expected);
    let mut odd = by(&[&["true", "managedCluster.status.version"]]);
    let labels = cluster_selector("region=eu", "");
    odd.predicates = odd.predicates.iter().cloned().chain([labels]).collect();
    let fleet = Fleet::new(&[], odd).with("a", cluster_of("v1", &[]));
    let expected = [
        "a Excluded: no predicate matches: the expression managedCluster.status.version has no result: the \
      result is not a boolean, but of type string; or labels region=eu",
    ];
    assert_eq!(fleet.explained(monday("12:00")), expected);
}

pub(super) const BUSY: &str =
    "managedCluster.scores('default').exists(s, s.name == 'load' && s.value > 50)";
pub(super) const NOT_BUSY: &str = "managedCluster.scores('default').all(s, s.value <= 50)";

/// Clusters with one score each, in an object that is valid until some time.
fn loaded(it: Placement, of: &[(&str, i64, Option<&str>)]) -> Fleet {
    let mut fleet = Fleet::new(&[], it);
    for (name, load, until) in of {
        fleet = fleet.with(name, cluster(""));
        let values = scores(&[("load", *load)], until.map(monday));
        add_scores(&mut fleet.world, name, "default", values);
    }
    fleet
}

#[test]
fn an_expired_score_is_absent_from_the_list_and_named_in_the_reason() {
    let clusters = [("a", 90, Some("11:00")), ("b", 90, Some("12:30")), ("c", 90, None)];
    let busy = loaded(by(&[&[BUSY]]), &clusters);
    assert_eq!(busy.selects(), "b c");
    let expired =
        "AddOnPlacementScore default was valid until 2026-03-02T11:00:00Z, so it has no scores";
    assert_eq!(
        busy.explained(monday("12:00"))[2],
        format!("a Excluded: no predicate matches: the expression {BUSY} is false; {expired}")
    );
    let not_busy = loaded(by(&[&[NOT_BUSY]]), &clusters);
    assert_eq!(not_busy.selects(), "a", "of an empty list, everything is true");
    let lines = not_busy.explained(monday("12:00"));
    assert_eq!(lines[0], format!("a Won: rank 1 of 1: total 0; {expired}"));
}

#[test]
fn without_the_object_there_is_no_result() {
    let fleet = loaded(by(&[&[NOT_BUSY]]), &[("a", 10, None)]).with("b", cluster(""));
    assert_eq!(fleet.selects(), "a");
    let why = "has no result: there is no AddOnPlacementScore default";
    assert!(fleet.explained(monday("12:00"))[1].ends_with(why));
}

#[test]
fn a_placement_wakes_when_a_score_expires_that_one_of_its_expressions_has_read() {
    let clusters = [("a", 90, Some("13:00")), ("b", 10, Some("14:00")), ("c", 90, None)];
    let wake_at = |it: Placement| {
        let fleet = loaded(it, &clusters);
        fleet.decide(monday("12:00")).wake_at
    };
    assert_eq!(wake_at(by(&[&[BUSY]])), Some(monday("13:00")));
    assert_eq!(wake_at(by(&[&[NOT_BUSY]])), Some(monday("13:00")), "an excluded one may come back");
    assert_eq!(wake_at(by(&[&["false", BUSY]])), None, "it has not been read");
    assert_eq!(wake_at(by(&[&["true"], &[BUSY]])), None);
    assert_eq!(wake_at(by(&[&["true || managedCluster.scores('default') == []"]])), None);
    assert_eq!(wake_at(by(&[&["managedCluster.scores('other') == [] || true"]])), None);
    let mut fleet = loaded(by(&[&[NOT_BUSY]]), &clusters);
    for (time, selected, next) in
        [("12:00", "b", Some("13:00")), ("13:00", "a b", Some("14:00")), ("14:00", "a b", None)]
    {
        let turn = fleet.turn(monday(time));
        assert_eq!(turn.wake_at, next.map(monday), "{time}");
        assert!(fleet.decisions()[0].ends_with(&format!(": {selected}")), "{time}");
    }
}

#[test]
fn the_earlier_of_a_score_and_a_toleration_wakes() {
    let mut it = by(&[&[BUSY]]);
    it.tolerations = [toleration("down", Some(1800))].into();
    let mut fleet = loaded(it, &[("a", 90, Some("13:00"))]);
    assert_eq!(fleet.decide(monday("12:00")).wake_at, Some(monday("13:00")));
    let tainted =
        Cluster { taints: [taint("down:NoSelect", Some(monday("12:00")))].into(), ..cluster("") };
    add_cluster(&mut fleet.world, "a", tainted);
    assert_eq!(fleet.decide(monday("12:00")).wake_at, Some(monday("12:30")));
}

#[test]
fn a_change_names_the_scores_that_have_expired_under_an_expression() {
    let mut fleet = loaded(by(&[&[NOT_BUSY]]), &[("a", 90, Some("13:00")), ("b", 10, None)]);
    fleet.turn(monday("12:00"));
    let turn = fleet.turn(monday("13:00"));
    let [recorded] = &turn.recorded[..] else { panic!("{:?}", turn.recorded) };
    let (_, rule) = recorded.occurrence(&fleet.world, &Fleet::name().identity).unwrap();
    assert_eq!(rule.as_deref(), Some("AddOn/default"));
    let (_, why) = turn.effects[0].reason.render(&fleet.world, &Fleet::name().identity).unwrap();
    assert_eq!(why, "the scores AddOn/default of a, which an expression reads, have expired");
}

#[test]
fn a_changed_score_touches_the_placements_whose_expressions_may_read_it() {
    let mut fleet = loaded(by(&[&[BUSY]]), &[("a", 90, None)]);
    add_placement(&mut fleet.world, "any", by(&[&["managedCluster.scores('de' + 'fault') == []"]]));
    add_placement(&mut fleet.world, "other", by(&[&["managedCluster.scores('other') == []"]]));
    add_placement(&mut fleet.world, "none", by(&[&["true"]]));
    let readers = |changed: Identity| {
        let readers = fleet.world.readers_of_object(&changed);
        readers.map(|it: PolicyName| it.identity.name().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(readers(object("AddOnPlacementScore", "a", "default")), ["any", "web"]);
    assert_eq!(readers(object("AddOnPlacementScore", "a", "other")), ["any", "other"]);
    assert_eq!(readers(object("AddOnPlacementScore", "elsewhere", "default")), [""; 0]);
    assert_eq!(placement_name("web"), Fleet::name());
}

#[test]
fn a_cluster_without_fields_fails_every_expression_that_reads_them() {
    let bare = Cluster { object: Document::default(), ..cluster("") };
    let fleet = Fleet::new(&[], by(&[&["managedCluster.metadata.name == 'a'"]])).with("a", bare);
    assert_eq!(fleet.selects(), "");
}

#[test]
fn data_for_expressions_affects_only_placements_whose_result_differs() {
    let ready = "managedCluster.status.ready";
    let mut fleet = three(by(&[&[ready]]));
    let cases = [("busy", BUSY), ("zones", "managedCluster.status.zones.size() > 1")];
    for (name, expression) in cases {
        add_placement(&mut fleet.world, name, by(&[&[expression]]));
    }
    add_placement(&mut fleet.world, "all", Placement::default());
    let is_ready = |ready: bool, beats: u32| {
        let status = format!("{{\"ready\": {ready}, \"zones\": [], \"beats\": {beats}}}");
        with_object(cluster(""), &status)
    };
    let mut changed = |to: Cluster| {
        let a = object("ManagedCluster", "", "a");
        let change = hub_change(fleet.world.view(), &a, &HubObject::Cluster(to.clone()));
        let readers = ExpressionReaders::for_cluster(fleet.world.view(), "a");
        let after = Arc::new(to.clone());
        let concerned = readers.concerned(&fleet.cluster("a"), &after, monday("12:00"));
        add_cluster(&mut fleet.world, "a", to);
        let concerned: Vec<&str> = concerned.iter().map(|it| it.identity.name()).collect();
        (change, concerned.join(" "))
    };
    let only_read = HubChange::ReadByExpressions;
    assert_eq!(changed(is_ready(true, 1)), (only_read, "web zones".to_owned()));
    assert_eq!(changed(is_ready(true, 1)).0, HubChange::None);
    assert_eq!(changed(is_ready(true, 2)), (only_read, String::new()), "a heartbeat");
    assert_eq!(changed(is_ready(false, 3)), (only_read, "web".to_owned()));
    let labeled = Cluster { labels: cluster("a=b").labels, ..is_ready(false, 3) };
    assert_eq!(changed(labeled).0, HubChange::Any);
}

#[test]
fn the_explanation_of_a_cluster_is_bounded() {
    let long = "x".repeat(10_000);
    let queries = "semver(managedCluster.status.version).major() == 1";
    let predicates: Vec<[&str; 1]> = vec![[queries]; 8];
    let predicates: Vec<&[&str]> = predicates.iter().map(|it| &it[..]).collect();
    let fleet = Fleet::new(&[], by(&predicates)).with("a", cluster_of(&long, &[]));
    let lines = fleet.explained(monday("12:00"));
    assert!(lines[0].contains("has no result") && lines[0].len() < 2_500, "{lines:?}");
    assert!(lines[0].ends_with("; nor do 4 more"), "{lines:?}");
    let labels: Vec<String> = (0..1_000).map(|it| format!("label-{it}")).collect();
    let many =
        Placement { predicates: [cluster_selector(&labels.join(","), "")].into(), ..by(&[]) };
    let lines = Fleet::new(&["a"], many).explained(monday("12:00"));
    assert!(lines[0].contains("label-0") && lines[0].len() < 600, "{lines:?}");
}

#[test]
fn some_of_many_objects_with_expired_scores_are_named() {
    let names: Vec<String> = (0..9).map(|it| format!("scores-{it}")).collect();
    let queries: Vec<String> =
        names.iter().map(|it| format!("managedCluster.scores('{it}') == []")).collect();
    let mut fleet = Fleet::new(&["a"], by(&[&[&queries.join(" && ")]]));
    for name in &names {
        add_scores(&mut fleet.world, "a", name, scores(&[("load", 1)], Some(monday("11:00"))));
    }
    let lines = fleet.explained(monday("12:00"));
    assert!(lines[0].contains("AddOnPlacementScore scores-2 was valid"), "{lines:?}");
    assert!(lines[0].ends_with("; 6 more have expired as well"), "{lines:?}");
}

#[test]
fn an_undated_taint_is_listed_while_its_cluster_matches_despite_another_taint() {
    let mut it = by(&[&[BUSY]]);
    it.tolerations = [toleration("down", Some(60))].into();
    let mut fleet = loaded(it, &[("a", 90, Some("13:00"))]);
    let taints = [taint("gone:NoSelect", None), taint("down:NoSelect", None)];
    let tainted = Cluster { taints: taints.into(), ..cluster("") };
    add_cluster(&mut fleet.world, "a", tainted);
    let decision = fleet.decide(monday("12:00"));
    assert_eq!(decision.undated, ["a".into()]);
    assert_eq!(decision.wake_at, Some(monday("13:00")), "it is not reported from then on");
    assert_eq!(fleet.decide(monday("13:00")).undated, []);
    let mut either = by(&[&[BUSY], &["true"]]);
    either.tolerations = [toleration("down", Some(60))].into();
    fleet.set(either);
    assert_eq!(fleet.decide(monday("12:00")).wake_at, None, "it matches all the same");
}

#[test]
fn scores_with_an_unreadable_end_never_count_and_are_named_in_the_reason() {
    let mut it = by(&[&[NOT_BUSY], &["true"]]);
    it.prioritizers = placement(None, PrioritizerMode::Exact, &[("default/load", 1)]).prioritizers;
    let mut fleet = Fleet::new(&["a"], it);
    add_scores(&mut fleet.world, "a", "default", scores(&[("load", 90)], Some(Scores::UNREADABLE)));
    let lines = fleet.explained(monday("12:00"));
    let why = "has a validUntil that cannot be read";
    assert_eq!(
        lines,
        [format!(
            "a Won: rank 1 of 1: total 0 (AddOn/default/load 0 x 1); AddOn/default/load counts 0: it {why}; \
             AddOnPlacementScore default {why}, so it has no scores"
        )]
    );
}

#[test]
fn a_change_of_scores_affects_readers_of_new_or_earlier_expiring_scores() {
    let mut fleet = loaded(by(&[&[BUSY]]), &[("a", 90, Some("13:00"))]);
    let ranked = |score| placement(None, PrioritizerMode::Exact, &[(score, 1)]);
    add_placement(&mut fleet.world, "load", ranked("default/load"));
    add_placement(&mut fleet.world, "cpu", ranked("default/cpu"));
    let object = object("AddOnPlacementScore", "a", "default");
    let concerned = |values: &[(&str, i64)], until: Option<&str>| {
        let after = scores(values, until.map(monday));
        let names = ["web", "load", "cpu"].into_iter().filter(|name| {
            let name = placement_name(name);
            reads_otherwise(
                fleet.world.view(),
                &name.identity,
                &object,
                Some(&after),
                monday("12:00"),
            )
        });
        names.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(concerned(&[("load", 90)], Some("14:00")), "");
    assert_eq!(concerned(&[("load", 90)], None), "");
    assert_eq!(concerned(&[("load", 90)], Some("12:30")), "web load cpu");
    assert_eq!(concerned(&[("load", 90)], Some("11:30")), "web load cpu");
    assert_eq!(concerned(&[("load", 91)], Some("13:00")), "web load");
    assert_eq!(concerned(&[("load", 90), ("cpu", 1)], None), "web cpu");
    assert!(reads_otherwise(
        fleet.world.view(),
        &placement_name("web").identity,
        &object,
        None,
        monday("12:00")
    ));
}
