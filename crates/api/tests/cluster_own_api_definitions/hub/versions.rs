//! An object in one version of a kind is read in the other version without loss. Also tests defaults and columns.

use almanac_harness::{Kubectl, TestResult};
use serde_json::{Value, json};

use super::{API, object, on_a_hub};

/// All fields of a placement, in the spellings of both versions.
const PLACEMENT: &str = "spec:
  clusterSets: [gold]
  numberOfClusters: 3
  predicates:
  - requiredClusterSelector:
      labelSelector: {matchLabels: {a: b}, matchExpressions: [{key: c, operator: In, values: [d]}]}
      claimSelector: {matchExpressions: [{key: e, operator: Exists}]}
      celSelector: {celExpressions: ['true']}
  prioritizerPolicy:
    mode: Exact
    configurations:
    - {name: Balance, weight: -2}
    - {scoreCoordinate: {type: BuildIn, buildIn: Steady}, weight: 3}
    - {scoreCoordinate: {type: BuiltIn, builtIn: ResourceAllocatableCPU}, weight: 1}
    - {scoreCoordinate: {type: AddOn, addOn: {resourceName: default, scoreName: cpuratio}}, weight: 1}
  spreadPolicy:
    spreadConstraints: [{topologyKey: zone, topologyKeyType: Label, maxSkew: 2, whenUnsatisfiable: DoNotSchedule}]
  tolerations: [{key: gpu, operator: Equal, value: x, effect: NoSelect, tolerationSeconds: 300}]
  decisionStrategy:
    groupStrategy:
      clustersPerDecisionGroup: 25%
      decisionGroups:
      - {groupName: canary, groupClusterSelector: {labelSelector: {matchLabels: {canary: 'yes'}}}}
  sortBy: Score
  scoreRateLimit: 5m";

const SET: &str = "spec:
  clusterSelector: {selectorType: LegacyClusterSetLabel, labelSelector: {matchLabels: {a: b}}}
  managedNamespaces: [{name: a}]";

async fn read(kubectl: &Kubectl, resource: &str, version: &str, name: &str) -> Value {
    let resource = format!("{resource}.{version}.{API}");
    let text = kubectl.run(&["get", &resource, name, "-o", "json"]).await;
    text.ok().and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default()
}

async fn write(kubectl: &Kubectl, text: &str) -> TestResult {
    kubectl.run_with_input(&["apply", "-f", "-"], text).await?;
    Ok(())
}

#[test]
fn an_object_is_equal_in_every_version_and_absent_fields_have_defaults() -> TestResult {
    on_a_hub(async |kubectl| {
        nothing_is_lost(kubectl).await?;
        defaults(kubectl).await?;
        columns(kubectl).await
    })
}

async fn nothing_is_lost(kubectl: &Kubectl) -> TestResult {
    for (kind, resource, versions, spec) in [
        ("Placement", "placements", ["v1alpha1", "v1beta1"], PLACEMENT),
        ("ManagedClusterSet", "managedclustersets", ["v1beta1", "v1beta2"], SET),
        (
            "ManagedClusterSetBinding",
            "managedclustersetbindings",
            ["v1beta1", "v1beta2"],
            "spec: {clusterSet: NAME}",
        ),
    ] {
        for (written, name) in [(versions[0], "older"), (versions[1], "newer")] {
            let text = object(written, kind, name, &spec.replace("NAME", name));
            write(kubectl, &text).await?;
            let expected = spec_of(&text);
            for version in versions {
                let found = read(kubectl, resource, version, name).await;
                assert_eq!(
                    found["spec"], expected,
                    "{kind} written as {written}, read as {version}"
                );
            }
            // An object is read and written back in one version, and then read in the other version.
            for (one, other) in [(versions[0], versions[1]), (versions[1], versions[0])] {
                let found = read(kubectl, resource, one, name).await;
                kubectl.run_with_input(&["replace", "-f", "-"], &found.to_string()).await?;
                assert_eq!(read(kubectl, resource, other, name).await["spec"], expected, "{kind}");
            }
        }
    }
    let decision = object(
        "v1alpha1",
        "PlacementDecision",
        "d",
        "status: {decisions: [{clusterName: c, reason: r}]}",
    );
    write(kubectl, &decision).await?;
    let apply = ["apply", "--server-side", "--subresource=status", "-f", "-"];
    kubectl.run_with_input(&apply, &decision).await?;
    let found = read(kubectl, "placementdecisions", "v1beta1", "d").await;
    assert_eq!(found["status"], json!({ "decisions": [{ "clusterName": "c", "reason": "r" }] }));
    Ok(())
}

/// The spec of a text, read by our own reader.
fn spec_of(text: &str) -> Value {
    let (reading, _, _) = crate::written::check(text);
    reading.objects[0].node.to_json()["spec"].clone()
}

async fn defaults(kubectl: &Kubectl) -> TestResult {
    let spec = "spec:
  prioritizerPolicy: {configurations: [{scoreCoordinate: {builtIn: Steady}}]}
  spreadPolicy: {spreadConstraints: [{topologyKey: zone, topologyKeyType: Label}]}
  tolerations: [{key: gpu}]
  decisionStrategy: {groupStrategy: {}}";
    for version in ["v1alpha1", "v1beta1"] {
        write(kubectl, &object(version, "Placement", "few", spec)).await?;
        let found = read(kubectl, "placements", version, "few").await;
        let expected = json!({
            "prioritizerPolicy": {
                "mode": "Additive",
                "configurations": [{
                    "scoreCoordinate": { "type": "BuiltIn", "builtIn": "Steady" }, "weight": 1
                }]
            },
            "spreadPolicy": { "spreadConstraints": [{
                "topologyKey": "zone", "topologyKeyType": "Label",
                "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"
            }] },
            "tolerations": [{ "key": "gpu", "operator": "Equal" }],
            "decisionStrategy": { "groupStrategy": { "clustersPerDecisionGroup": "100%" } },
            "sortBy": "ClusterName",
            "scoreRateLimit": "1m"
        });
        assert_eq!(found["spec"], expected);
        kubectl.run(&["delete", "placement", "few"]).await?;
    }
    for (version, usual) in
        [("v1beta1", "LegacyClusterSetLabel"), ("v1beta2", "ExclusiveClusterSetLabel")]
    {
        for spec in ["", "spec: {}", "spec: {clusterSelector: {}}", "spec: {clusterSelector: null}"]
        {
            write(kubectl, &object(version, "ManagedClusterSet", "few", spec)).await?;
            let found = read(kubectl, "managedclustersets", "v1beta2", "few").await;
            let expected = json!({ "clusterSelector": { "selectorType": usual } });
            assert_eq!(found["spec"], expected, "{version} {spec}");
            kubectl.run(&["delete", "mclset", "few"]).await?;
        }
    }
    write(kubectl, &object("v1", "ManagedCluster", "few", "spec: {}")).await?;
    let found = read(kubectl, "managedclusters", "v1", "few").await;
    assert_eq!(found["spec"], json!({ "leaseDurationSeconds": 60 }));
    Ok(())
}

async fn columns(kubectl: &Kubectl) -> TestResult {
    let condition = |kind: &str, reason: &str| {
        format!(
            "{{type: {kind}, status: 'True', reason: {reason}, message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}}"
        )
    };
    let placement = format!(
        "spec: {{}}\nstatus: {{numberOfSelectedClusters: 3, conditions: [{}]}}",
        condition("PlacementSatisfied", "AllDecisionsScheduled")
    );
    let set =
        format!("status: {{conditions: [{}]}}", condition("ClusterSetEmpty", "NoClusterMatched"));
    let cluster = format!(
        "spec: {{hubAcceptsClient: true, managedClusterClientConfigs: [{{url: 'https://c'}}]}}\nstatus: {{conditions: [{}, {}]}}",
        condition("ManagedClusterJoined", "Joined"),
        condition("ManagedClusterConditionAvailable", "Available")
    );
    for (version, kind, fields, resource, header, row) in [
        (
            "v1beta1",
            "Placement",
            placement,
            "placements",
            "NAME SUCCEEDED REASON SELECTEDCLUSTERS",
            "shown True AllDecisionsScheduled 3",
        ),
        ("v1beta2", "ManagedClusterSet", set, "mclset", "NAME EMPTY AGE", "shown True"),
        (
            "v1",
            "ManagedCluster",
            cluster,
            "mcl",
            "NAME HUB ACCEPTED MANAGED CLUSTER URLS JOINED AVAILABLE AGE",
            "shown true https://c True True",
        ),
    ] {
        let text = object(version, kind, "shown", &fields);
        write(kubectl, &text).await?;
        let apply = ["apply", "--server-side", "--subresource=status", "-f", "-"];
        kubectl.run_with_input(&apply, &text).await?;
        let table = kubectl.run(&["get", resource, "shown"]).await?;
        let lines = table.lines().map(|it| it.split_whitespace().collect::<Vec<_>>().join(" "));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines[0], header);
        assert!(lines[1].starts_with(row), "{table}");
    }
    Ok(())
}
