//! Placements and the objects that they select from: the files of the designs, the findings about others, and their
//! slim forms.

#![expect(clippy::panic, reason = "what fails here fails the test")]

use crate::written::{check_one, fails_like, fails_only, findings, messages, only_message};
use almanac_engine::Slim;
use almanac_engine::placement::{
    ClusterSet, Expression, GroupSize, HubObject, Placement, PlacementState, ScoreSource, Scores,
};
use almanac_fixtures::designs::PLACEMENT;

const API: &str = "cluster.open-cluster-management.io";

/// A placement with this spec, in flow form.
fn placement(spec: &str) -> String {
    format!("apiVersion: {API}/v1beta1\nkind: Placement\nmetadata: {{name: web}}\nspec: {spec}\n")
}

fn policy_of(text: &str) -> Option<Placement> {
    match check_one(text).slim {
        Some(Slim::Placement(object)) => {
            object.policy.map(|it| it.as_ref().clone()).filter(Placement::is_usable)
        }
        other => panic!("{other:?} is no placement"),
    }
}

fn hub_object(text: &str) -> Option<HubObject> {
    match check_one(text).slim {
        Some(Slim::Hub(object)) => Some(object),
        None => None,
        other => panic!("{other:?} is of no hub"),
    }
}

/// The scores of a placement with their weights: `Steady 3, AddOn/default/cpuratio 1`.
fn scores(text: &str) -> String {
    let policy = policy_of(text).unwrap_or_else(|| panic!("{:?}", findings(text)));
    let scores = policy.prioritizers.iter().map(|it| format!("{} {}", it.score, it.weight));
    scores.collect::<Vec<_>>().join(", ")
}

#[test]
fn the_placement_of_the_design_is_accepted_as_it_is_written() {
    assert_eq!(findings(PLACEMENT), [""; 0]);
    assert_eq!(scores(PLACEMENT), "Steady 3, AddOn/default/cpuratio 1");
    assert_eq!(policy_of(PLACEMENT).unwrap().number_of_clusters, Some(3));
}

#[test]
fn built_in_scores_have_the_names_of_both_versions_and_the_coordinate_outweighs_the_name() {
    let config = |config: &str| {
        placement(&format!("{{prioritizerPolicy: {{mode: Exact, configurations: [{config}]}}}}"))
    };
    for (written, expected) in [
        ("{scoreCoordinate: {type: BuiltIn, builtIn: Balance}}", "Balance 1"),
        ("{scoreCoordinate: {builtIn: Balance}, weight: 2}", "Balance 2"),
        ("{scoreCoordinate: {type: '', buildIn: Balance}}", "Balance 1"),
        ("{scoreCoordinate: {type: BuildIn, builtIn: Balance}}", "Balance 1"),
        ("{name: ResourceAllocatableCPU, weight: -10}", "ResourceAllocatableCPU -10"),
        ("{name: Balance, scoreCoordinate: {builtIn: Steady}}", "Steady 1"),
        ("{name: Balance, scoreCoordinate: {type: BuiltIn}}", "Balance 1"),
        ("{name: Balance, weight: 0}", ""),
    ] {
        assert_eq!(scores(&config(written)), expected, "{written}");
    }
    assert_eq!(scores(&placement("{}")), "Balance 1, Steady 1");
    assert_eq!(scores(&placement("{prioritizerPolicy: {mode: ''}}")), "Balance 1, Steady 1");
}

#[test]
fn mistakes_of_a_placement_are_reported_and_none_of_it_is_used() {
    let config = |config: &str| format!("{{prioritizerPolicy: {{configurations: [{config}]}}}}");
    for (spec, message) in [
        ("{numberOfClusters: -1}".to_owned(), "out-of-range spec.numberOfClusters: Invalid value: -1: must be greater than or equal to 0"),
        ("{prioritizerPolicy: {mode: Exactly}}".to_owned(), "unsupported-value spec.prioritizerPolicy.mode: Unsupported value: \"Exactly\": supported values: \"Additive\", \"Exact\", \"\""),
        (config("{name: Balanced}"), "unsupported-value spec.prioritizerPolicy.configurations[0].name: Unsupported value: \"Balanced\": supported values: \"Balance\", \"Steady\", \"ResourceAllocatableCPU\", \"ResourceAllocatableMemory\", \"\""),
        (config("{weight: 1}"), "missing-field spec.prioritizerPolicy.configurations[0].scoreCoordinate.builtIn: Required value: one of Balance, Steady, ResourceAllocatableCPU, ResourceAllocatableMemory"),
        (config("{scoreCoordinate: {type: AddOn}}"), "missing-field spec.prioritizerPolicy.configurations[0].scoreCoordinate.addOn: Required value: a score of an add-on needs the names of its objects and of the score"),
        (config("{name: Steady}, {scoreCoordinate: {buildIn: Steady}}"), "duplicate-item spec.prioritizerPolicy.configurations[1]: Duplicate value: \"Steady\": each score has one weight"),
        (config("{name: Steady, weight: 11}"), "out-of-range spec.prioritizerPolicy.configurations[0].weight: Invalid value: 11: must be less than or equal to 10"),
        ("{tolerations: [{value: x}]}".to_owned(), "missing-field spec.tolerations[0].key: Required value: without a key, the operator must be Exists, which tolerates every taint"),
        ("{tolerations: [{operator: Exists, value: x}]}".to_owned(), "unsupported-value spec.tolerations[0].value: Forbidden: the operator Exists tolerates any value, so it takes none"),
        ("{tolerations: [{key: x, operator: Exist}]}".to_owned(), "unsupported-value spec.tolerations[0].operator: Unsupported value: \"Exist\": supported values: \"Exists\", \"Equal\""),
        ("{predicates: [{requiredClusterSelector: {celSelector: {celExpressions: ['true', managedCluster.metadata.name.matchess('a')]}}}]}".to_owned(), "expression spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[1]: Invalid value: \"managedCluster.metadata.name.matchess('a')\": there is no function matchess, at column 38"),
        ("{predicates: [{requiredClusterSelector: {claimSelector: {matchExpressions: [{key: a, operator: Is}]}}}]}".to_owned(), "unsupported-value spec.predicates[0].requiredClusterSelector.claimSelector.matchExpressions[0].operator: Unsupported value: \"Is\": supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\""),
        ("{decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 0%}}}".to_owned(), "out-of-range spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup: Invalid value: \"0%\": must be a number of clusters, or a percentage from 1% to 100%"),
        ("{decisionStrategy: {groupStrategy: {decisionGroups: [{groupName: a, groupClusterSelector: {}}]}}}".to_owned(), "invalid-name spec.decisionStrategy.groupStrategy.decisionGroups[0].groupName: Invalid value: \"a\": the name of a group is a label of its decisions: 2 to 63 letters, digits, '-', '_' and '.', with a letter or a digit at both ends"),
    ] {
        let text = placement(&spec);
        assert_eq!(only_message(&text), message);
        assert_eq!(policy_of(&text), None, "{spec}");
    }
}

#[test]
fn fields_without_effect_are_reported_and_the_rest_is_used() {
    for (spec, message) in [
        (
            "{spreadPolicy: {spreadConstraints: [{topologyKey: zone, topologyKeyType: Label}]}}",
            "unsupported spec.spreadPolicy: not supported yet: clusters are not spread",
        ),
        (
            "{predicates: [{requiredClusterSelector: {celSelector: {celExpressions: [size('a')]}}}]}",
            "never-holds spec.predicates[0].requiredClusterSelector.celSelector.celExpressions[0]: the expression is never true, because its type is int",
        ),
        (
            "{sortBy: Score}",
            "unsupported spec.sortBy: not supported yet: decisions are in the order of the clusters' names",
        ),
        (
            "{scoreRateLimit: 5m}",
            "unsupported spec.scoreRateLimit: not supported yet: decisions have no scores to update",
        ),
        (
            "{tolerations: [{key: a, operator: Exists, effect: NoSelectIfNew, tolerationSeconds: 1}]}",
            "ignored-field spec.tolerations[0].tolerationSeconds: tolerationSeconds has no effect on taints that are only for new clusters",
        ),
    ] {
        let text = placement(spec);
        assert_eq!(only_message(&text), message);
        assert!(policy_of(&text).is_some(), "{spec}");
    }
    let usual = "{sortBy: ClusterName, scoreRateLimit: 1m, spreadPolicy: {}}";
    assert_eq!(findings(&placement(usual)), [""; 0]);
}

#[test]
fn groups_have_a_size_in_clusters_or_in_percent() {
    let size = |written: &str| {
        let spec = format!(
            "{{decisionStrategy: {{groupStrategy: {{clustersPerDecisionGroup: {written}}}}}}}"
        );
        policy_of(&placement(&spec)).map(|it| it.group_size)
    };
    assert_eq!(size("25%"), Some(GroupSize::Percent(25)));
    assert_eq!(size("10"), Some(GroupSize::Clusters(10)));
    for bad in ["'10'", "101%", "-1", "25.5%", "many"] {
        assert_eq!(size(bad), None, "{bad}");
    }
}

#[test]
fn a_placement_can_be_disabled_and_its_name_has_to_fit_in_a_label() {
    let disabled = "metadata: {name: web, annotations: {cluster.open-cluster-management.io/experimental-scheduling-disable: 'true'}}";
    let text = placement("{}").replace("metadata: {name: web}", disabled);
    assert_eq!(policy_of(&text).unwrap().standing, PlacementState::Disabled);
    let long = placement("{}").replace("name: web", &format!("name: {}", "w".repeat(64)));
    fails_like(&long, "invalid-name metadata.name: ");
    assert_eq!(policy_of(&long), None);
}

#[test]
fn a_score_in_a_status_is_read_and_reported_as_dropped_by_apply() {
    let scores = |namespace: &str, items: &str| {
        format!(
            "apiVersion: {API}/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {{name: default, namespace: {namespace}}}\n\
             status:\n  validUntil: '2021-10-29T18:31:39Z'\n  scores: [{items}]\n"
        )
    };
    let text = scores("cluster1", "{name: cpuratio, value: 88}, {name: memratio, value: -100}");
    fails_only(
        &text,
        "dropped-status status: kubectl apply drops the status, and an AddOnPlacementScore has no other content",
    );
    let two = format!("{text}---\n{}", text.replace("cluster1", "cluster2"));
    assert_eq!(messages(&two).len(), 1, "once a file");
    let Some(HubObject::Scores(read)) = hub_object(&text) else { panic!("{text}") };
    assert_eq!(read.get("memratio").map(almanac_engine::placement::Score::get), Some(-100));
    assert_eq!(read.valid_until, Some("2021-10-29T18:31:39Z".parse().unwrap()));
    for (namespace, items, message) in [
        (
            "c",
            "{prioritizer: memratio, value: 77}",
            "mistyped-field status.scores[0].prioritizer: Unknown field: the name of a score is its name",
        ),
        (
            "c",
            "{name: a, value: 101}",
            "out-of-range status.scores[0].value: Invalid value: \"101\": must be a whole number from -100 to 100",
        ),
        (
            "c",
            "{name: a, value: 1}, {name: a, value: 2}",
            "duplicate-item status.scores[1].name: Duplicate value: \"a\": the first one is used",
        ),
        (
            "c",
            "{value: 1}",
            "missing-field status.scores[0].name: Required value: every score needs a name",
        ),
        (
            "{managed cluster namespace}",
            "{name: a}",
            "wrong-type metadata.namespace: Invalid value: {…}: must be text, not a map",
        ),
    ] {
        let messages = messages(&scores(namespace, items));
        assert!(messages.iter().any(|it| it == message), "{messages:#?}");
    }
}

#[test]
fn scores_with_an_unreadable_end_do_not_count() {
    let text = format!(
        "apiVersion: {API}/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {{name: default, namespace: c}}\n\
         status: {{validUntil: tomorrow, scores: [{{name: a, value: 1}}]}}\n"
    );
    let Some(HubObject::Scores(read)) = hub_object(&text) else { panic!("{text}") };
    assert_eq!(read.valid_until, Some(Scores::UNREADABLE));
}

#[test]
fn a_cluster_is_known_by_its_labels_claims_taints_and_what_it_can_allocate() {
    let text = format!(
        "apiVersion: {API}/v1\nkind: ManagedCluster\nmetadata:\n  name: c\n  \
         labels: {{{API}/clusterset: fleet, region: eu}}\nspec:\n  hubAcceptsClient: true\n  \
         taints: [{{key: gpu, value: x, effect: NoSelect, timeAdded: '2026-01-01T00:00:00Z'}}]\n\
         status: {{allocatable: {{cpu: 1500m, memory: 4}}, capacity: {{cpu: 2, memory: 4}}, \
         clusterClaims: [{{name: id, value: x.y}}]}}\n"
    );
    assert_eq!(findings(&text), [""; 0]);
    let Some(HubObject::Cluster(cluster)) = hub_object(&text) else { panic!("{text}") };
    assert_eq!((cluster.set.as_deref(), cluster.labels.get("region")), (Some("fleet"), Some("eu")));
    assert_eq!(cluster.claims.get("id"), Some("x.y"));
    assert_eq!(cluster.taints[0].to_string(), "gpu=x:NoSelect");
    let billionths = [cluster.allocatable_cpu, cluster.allocatable_memory];
    let billionths = billionths.map(|it| it.map(almanac_engine::placement::Quantity::billionths));
    assert_eq!(billionths, [Some(1_500_000_000), Some(4_000_000_000)]);
    // Open Cluster Management ranks no cluster by a resource without a capacity.
    let Some(HubObject::Cluster(cluster)) = hub_object(&text.replace("{cpu: 2, ", "{")) else {
        panic!("{text}")
    };
    assert!(cluster.allocatable_cpu.is_none() && cluster.allocatable_memory.is_some());
    fails_like(&text.replace("1500m", "many"), "wrong-type status.allocatable.cpu: ");
    fails_like(&text.replace("cpu: 2,", "cpu: many,"), "wrong-type status.capacity.cpu: ");
}

#[test]
fn instants_that_others_have_written_count_to_the_nanosecond_and_however_old_they_are() {
    let cluster = format!(
        "apiVersion: {API}/v1\nkind: ManagedCluster\nmetadata: {{name: east}}\n\
         spec: {{taints: [{{key: down, effect: NoSelect, timeAdded: '1969-07-20T20:17:40.5Z'}}]}}\n"
    );
    let Some(HubObject::Cluster(cluster)) = hub_object(&cluster) else { panic!("{cluster}") };
    let added = "1969-07-20T20:17:40.5Z".parse().ok();
    assert_eq!((cluster.taints[0].added, added.is_some()), (added, true));
    let scores = format!(
        "apiVersion: {API}/v1alpha1\nkind: AddOnPlacementScore\nmetadata: {{name: default, namespace: c, uid: a}}\n\
         status: {{validUntil: '2026-11-23T12:00:00.9Z', scores: [{{name: cpu, value: 1}}]}}\n"
    );
    let Some(HubObject::Scores(scores)) = hub_object(&scores) else { panic!("{scores}") };
    assert_eq!(scores.valid_until, "2026-11-23T12:00:00.9Z".parse().ok());
}

#[test]
fn the_key_of_a_label_or_claim_is_never_empty() {
    for selector in [
        "labelSelector: {matchExpressions: [{key: '', operator: DoesNotExist}]}",
        "labelSelector: {matchLabels: {'': x}}",
        "claimSelector: {matchExpressions: [{key: '', operator: Exists}]}",
    ] {
        let text =
            placement(&format!("{{predicates: [{{requiredClusterSelector: {{{selector}}}}}]}}"));
        assert!(only_message(&text).contains("must not be empty"), "{text}");
        assert_eq!(policy_of(&text), None, "{text}");
    }
}

#[test]
fn expressions_read_the_whole_cluster_with_what_open_cluster_management_always_has_there() {
    let text = format!(
        "apiVersion: {API}/v1\nkind: ManagedCluster\nmetadata:\n  name: c\n  managedFields: [{{manager: x}}]\n  \
         labels: {{region: eu}}\nspec: {{}}\nstatus: {{allocatable: {{cpu: 4, memory: 16Gi}}, other: [1, {{a: b}}]}}\n"
    );
    let Some(HubObject::Cluster(cluster)) = hub_object(&text) else { panic!("{text}") };
    assert_eq!(
        format!("{:?}", cluster.object),
        "{\"metadata\": {\"creationTimestamp\": null, \"labels\": {\"region\": \"eu\"}, \"name\": \"c\"}, \
         \"spec\": {\"hubAcceptsClient\": false, \"leaseDurationSeconds\": 60}, \
         \"status\": {\"allocatable\": {\"cpu\": \"4\", \"memory\": \"16Gi\"}, \"conditions\": null, \
         \"version\": {}}}"
    );
}

#[test]
fn expressions_are_compiled_with_the_placement() {
    let cel = |expressions: &str| {
        placement(&format!(
            "{{predicates: [{{requiredClusterSelector: {{celSelector: {{celExpressions: [{expressions}]}}}}}}]}}"
        ))
    };
    let policy = policy_of(&cel("\"managedCluster.metadata.name == 'a'\", 'true'")).unwrap();
    let written: Vec<&str> =
        policy.predicates[0].expressions.iter().map(Expression::text).collect();
    assert_eq!(written, ["managedCluster.metadata.name == 'a'", "true"]);
    let long = format!("'{}'", "x".repeat(20_000));
    let message = only_message(&cel(&long));
    assert!(
        message.ends_with("the expression has more than 16384 bytes") && message.len() < 400,
        "{message:.400}"
    );
}

#[test]
fn the_expressions_of_a_placement_are_bounded_in_number_and_length_all_together() {
    let predicates = |count: usize, expression: &str| {
        let one = format!(
            "{{requiredClusterSelector: {{celSelector: {{celExpressions: [{expression}, {expression}]}}}}}}"
        );
        placement(&format!("{{predicates: [{}]}}", vec![one; count].join(", ")))
    };
    assert!(policy_of(&predicates(50, "'true'")).is_some());
    let at = |predicate: usize, expression: usize| {
        format!(
            "expression spec.predicates[{predicate}].requiredClusterSelector.celSelector.celExpressions[{expression}]: "
        )
    };
    let message = only_message(&predicates(60, "'true'"));
    assert!(message.starts_with(&at(50, 0)), "{message}");
    assert!(message.ends_with("a placement has at most 100 expressions"), "{message}");
    let long = format!("\"managedCluster.metadata.name != '{}'\"", "x".repeat(15_000));
    assert!(policy_of(&predicates(2, &long)).is_some());
    let found = messages(&predicates(3, &long));
    assert!(found[0].starts_with(&at(2, 0)), "{found:?}");
    assert!(found[0].ends_with("the expressions of a placement have at most 65536 bytes in all"));
}

#[test]
fn a_set_has_the_clusters_that_name_it_or_those_with_its_labels() {
    let set = |selector: &str| {
        let text = format!(
            "apiVersion: {API}/v1beta2\nkind: ManagedClusterSet\nmetadata: {{name: gold}}\n\
             spec: {{clusterSelector: {selector}}}\n"
        );
        match hub_object(&text) {
            Some(HubObject::Set(set)) => set,
            other => panic!("{other:?} {:?}", findings(&text)),
        }
    };
    for by_name in
        ["{}", "{selectorType: ExclusiveClusterSetLabel}", "{selectorType: LegacyClusterSetLabel}"]
    {
        assert_eq!(set(by_name), ClusterSet::ByName, "{by_name}");
    }
    let ClusterSet::Selected(all) = set("{selectorType: LabelSelector, labelSelector: {}}") else {
        panic!("it selects by labels")
    };
    assert!(all.is_everything());
    // As in Kubernetes, an empty selector selects everything, and an absent selector selects nothing.
    for nothing in
        ["{selectorType: LabelSelector}", "{selectorType: LabelSelector, labelSelector: null}"]
    {
        assert_eq!(set(nothing), ClusterSet::Empty, "{nothing}");
    }
    for unusable in [
        "{selectorType: Name}",
        "{selectorType: LabelSelector, labelSelector: {matchLabels: {a: '-'}}}",
    ] {
        assert_eq!(set(unusable), ClusterSet::Unusable, "{unusable}");
    }
}

#[test]
fn a_binding_has_the_name_of_its_set() {
    let binding = |name: &str| {
        format!(
            "apiVersion: {API}/v1beta1\nkind: ManagedClusterSetBinding\n\
             metadata: {{name: {name}, namespace: ns1}}\nspec: {{clusterSet: gold}}\n"
        )
    };
    assert_eq!(hub_object(&binding("gold")), Some(HubObject::Binding("gold".into())));
    fails_like(&binding("other"), "invalid-name metadata.name: ");
    assert_eq!(hub_object(&binding("other")), None);
}

#[test]
fn a_decision_has_its_placement_its_group_and_its_clusters() {
    let text = format!(
        "apiVersion: {API}/v1beta1\nkind: PlacementDecision\nmetadata:\n  name: web-decision-1\n  labels:\n    \
         {API}/placement: web\n    {API}/decision-group-name: canary\n    {API}/decision-group-index: '2'\n\
         status: {{decisions: [{{clusterName: a, reason: ''}}, {{clusterName: b}}]}}\n"
    );
    assert_eq!(findings(&text), [""; 0]);
    let Some(HubObject::Decision(decision)) = hub_object(&text) else { panic!("{text}") };
    assert_eq!((decision.placement.as_deref(), decision.group_index), (Some("web"), Some(2)));
    assert_eq!((&*decision.group, decision.clusters.len()), ("canary", 2));
}

#[test]
fn a_score_is_named_as_it_is_printed() {
    let source = ScoreSource::AddOn { resource: "default".into(), score: "cpuratio".into() };
    assert!(scores(PLACEMENT).contains(&source.to_string()));
}
