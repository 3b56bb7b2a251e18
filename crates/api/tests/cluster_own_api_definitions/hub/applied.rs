//! Objects as other projects write them apply unchanged, and our CRDs do not replace the CRDs of other owners.

use almanac_fixtures::designs::PLACEMENT;
use almanac_harness::{ControlPlaneOptions, TestResult, on_own_control_plane};

use super::{API, definitions, object, on_a_hub};

/// The scores of the design, unchanged except for the name of the cluster's namespace.
const SCORES: &str = "apiVersion: cluster.open-cluster-management.io/v1alpha1
kind: AddOnPlacementScore
metadata:
  name: default
  namespace: cluster1
status:
  conditions:
  - lastTransitionTime: \"2021-10-28T08:31:39Z\"
    message: AddOnPlacementScore updated successfully
    reason: AddOnPlacementScoreUpdated
    status: \"True\"
    type: AddOnPlacementScoreUpdated
  validUntil: \"2021-10-29T18:31:39Z\"
  scores:
  - name: \"cpuratio\"
    value: 88
  - name: \"memratio\"
    value: 77
  - name: \"cpu\"
    value: 66
  - name: \"mem\"
    value: 55
";

/// A cluster as its agent and the hub write it, and a placement as a client in Go writes it, with empty structures.
fn hub_objects() -> String {
    let cluster = "  labels: {cluster.open-cluster-management.io/clusterset: default, vendor: OpenShift}
  finalizers: [cluster.open-cluster-management.io/api-resource-cleanup]
spec:
  hubAcceptsClient: true
  leaseDurationSeconds: 60
  managedClusterClientConfigs: [{url: 'https://c.example.com:6443', caBundle: aGVsbG8=}]
  taints: [{key: cluster.open-cluster-management.io/unreachable, effect: NoSelect, timeAdded: null}]
status:
  version: {kubernetes: v1.31.0}
  capacity: {cpu: '4', memory: 16Gi, pods: 250}
  allocatable: {cpu: 3500m, memory: 14981Mi}
  clusterClaims: [{name: platform.open-cluster-management.io, value: AWS}]
  managedNamespaces: [{clusterSet: default, name: shared, conditions: []}]
  conditions:
  - {type: ManagedClusterJoined, status: 'True', reason: ManagedClusterJoined, message: '', lastTransitionTime: '2026-01-01T00:00:00Z'}";
    let placement = "spec:
  clusterSets: [default]
  prioritizerPolicy: {mode: Additive}
  spreadPolicy: {}
  decisionStrategy: {groupStrategy: {clustersPerDecisionGroup: 100%}}
  predicates:
  - requiredClusterSelector: {labelSelector: {matchLabels: {vendor: OpenShift}}, claimSelector: {}, celSelector: {}}
  tolerations:
  - {key: cluster.open-cluster-management.io/unreachable, operator: Exists}
  sortBy: ClusterName
  scoreRateLimit: 1m";
    let cluster =
        object("v1", "ManagedCluster", "c", cluster).replace("{name: c}\n", "\n  name: c\n");
    let set = object(
        "v1beta2",
        "ManagedClusterSet",
        "default",
        "spec: {clusterSelector: {selectorType: ExclusiveClusterSetLabel}}",
    );
    let binding =
        object("v1beta2", "ManagedClusterSetBinding", "default", "spec: {clusterSet: default}");
    [cluster, object("v1beta1", "Placement", "go", placement), set, binding].join("---\n")
}

#[test]
fn foreign_manifests_apply_unchanged_and_scores_need_a_second_apply() -> TestResult {
    on_a_hub(async |kubectl| {
        for namespace in ["cluster1", "ns1"] {
            kubectl.run(&["create", "namespace", namespace]).await?;
        }
        kubectl.run_with_input(&["apply", "-f", "-"], &format!("{SCORES}---\n{PLACEMENT}")).await?;
        let path = "jsonpath={.spec.prioritizerPolicy.configurations[0].scoreCoordinate.buildIn}";
        let found =
            kubectl.run(&["get", "placement", "placement", "-n", "ns1", "-o", path]).await?;
        assert_eq!(found, "Steady");
        let read = [
            "get",
            "addonplacementscore",
            "default",
            "-n",
            "cluster1",
            "-o",
            "jsonpath={.status.scores[1].value} {.status.validUntil}",
        ];
        assert_eq!(kubectl.run(&read).await?, " ", "a plain apply drops the status");
        let apply = ["apply", "--server-side", "--subresource=status", "-f", "-"];
        kubectl.run_with_input(&apply, SCORES).await?;
        assert_eq!(kubectl.run(&read).await?, "77 2021-10-29T18:31:39Z");
        let objects = hub_objects();
        kubectl.run_with_input(&["apply", "-f", "-"], &objects).await?;
        let cluster = objects.split("---").next().unwrap_or_default();
        kubectl.run_with_input(&apply, cluster).await?;
        let path =
            "jsonpath={.status.allocatable.cpu} {.status.capacity.pods} {.spec.taints[0].key}";
        let expected = "3500m 250 cluster.open-cluster-management.io/unreachable";
        assert_eq!(kubectl.run(&["get", "managedcluster", "c", "-o", path]).await?, expected);
        let again = kubectl.run_with_input(&["apply", "-f", "-"], &objects).await?;
        // kubectl also compares the status of the cluster, which the apply did not write.
        assert_eq!(again.matches("unchanged").count(), 3, "{again}");
        assert_eq!(crate::written::findings(&objects), [""; 0]);
        Ok(())
    })
}

/// A CRD of clusters with another owner.
const OTHERS: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: managedclusters.cluster.open-cluster-management.io}
spec:
  group: cluster.open-cluster-management.io
  names: {kind: ManagedCluster, plural: managedclusters, singular: managedcluster, listKind: ManagedClusterList}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

#[test]
fn the_definitions_of_a_hub_are_not_replaced_by_ours() -> TestResult {
    on_own_control_plane(&ControlPlaneOptions::api_only(), async |test| {
        let kubectl = test.kubectl().await?;
        let create = ["create", "--field-manager=cluster-manager", "-f", "-"];
        kubectl.run_with_input(&create, OTHERS).await?;
        let schema = "jsonpath={.spec.versions[*].schema}";
        let name = format!("managedclusters.{API}");
        let read = ["get", "crd", &name, "-o", schema];
        let before = kubectl.run(&read).await?;
        let applied = kubectl.run(&["apply", "--server-side", "-f", &definitions()]).await;
        let refusal = format!("{:#}", applied.err().unwrap_or_else(|| panic!("it is applied")));
        assert!(refusal.contains("conflict with \"cluster-manager\""), "{refusal}");
        assert_eq!(kubectl.run(&read).await?, before);
        Ok(())
    })
}
