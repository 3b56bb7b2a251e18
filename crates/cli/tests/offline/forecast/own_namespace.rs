//! A user with permission to write policies in one namespace cannot change another namespace, with any family of
//! policies.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::forecast::running::{PRESENT, almanac, folder_with, segments};
use crate::running::{list, word};

/// The objects of another user, which must not change.
const VICTIM: &str = r"
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: victim}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: web}]}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSet
metadata: {name: fleet}
spec: {}
---
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: fleet, namespace: victim}
spec: {clusterSet: fleet}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: east, labels: {cluster.open-cluster-management.io/clusterset: fleet}}
spec: {}
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: MetricsProducer
metadata: {name: none, namespace: NAMESPACE}
spec: {schedule: {defaultReplicas: 1, behaviors: []}}
";

/// A policy of each family that targets these objects. An API server drops `REACH`, because no kind has such a field.
const ATTACKER: &str = r#"
apiVersion: autoscaling.karmada.io/v1alpha1
kind: CronFederatedHPA
metadata: {name: rules, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: webREACH}
  rules: [{name: none, schedule: "0 9 * * *", targetReplicas: 0}]
---
apiVersion: autoscaling.karpenter.sh/v1alpha1
kind: HorizontalAutoscaler
metadata: {name: autoscaler, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: webREACH}
  minReplicas: 1
  maxReplicas: 9
  metrics:
  - prometheus:
      query: karpenter_scheduled_capacity{name="none",namespace="NAMESPACE"}
      target: {type: AverageValue, value: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: volcano-agent-config, namespace: NAMESPACE}
data:
  config.yaml: |
    {"globalConfig": {"timeBasedQoSPolicies": [{
      "name": "down", "startTime": "09:00", "endTime": "17:00", "targetQoSLevel": -1,
      "selector": {"matchLabels": {"app": "web"}}
    }]}}
---
apiVersion: scheduling.sigs.x-k8s.io/v1alpha1
kind: ResourcePolicy
metadata: {name: units, namespace: NAMESPACE}
spec:
  podSelector: {matchLabels: {app: web}}
  units: [{name: one, maxCount: 1}]
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: clusters, namespace: NAMESPACE}
spec: {clusterSets: [fleet]}
"#;

/// The fields that the policies change if they are in a namespace.
fn changed(namespace: &str, reach: &str) -> BTreeSet<String> {
    let policies = format!("{VICTIM}---{ATTACKER}").replace("NAMESPACE", namespace);
    let policies = policies.replace("REACH", reach);
    let folder =
        folder_with(&format!("own-{namespace}-{}", reach.len()), &[("all.yaml", &policies)]);
    let arguments = ["forecast", "-f", "all.yaml", "--from", PRESENT, "--for", "2d", "-o", "json"];
    let output =
        almanac(&folder, &[&arguments[..], &["--config-namespace", "victim"]].concat()).json();
    let series = list(&output["series"]).iter();
    let field = |series: &Value| {
        let target = &series["target"];
        let [namespace, kind] =
            ["namespace", "kind"].map(|it| target[it].as_str().unwrap_or_default());
        let mut values = segments(series).into_iter().map(|(_, value)| value);
        let selects = values.any(|it| it.as_array().is_none_or(|list| !list.is_empty()));
        selects.then(|| format!("{namespace} {kind} {}", word(&series["field"])))
    };
    series.filter_map(field).collect()
}

#[test]
fn a_policy_changes_nothing_outside_its_namespace() {
    let own = changed("victim", "");
    for field in ["victim Deployment replicas", "victim Placement clusters"] {
        assert!(own.contains(field), "a permitted change is missing: {own:?}");
    }
    for reach in ["", ", namespace: victim"] {
        let of_others = changed("attacker", reach);
        let reached = of_others.iter().filter(|it| !it.starts_with("attacker "));
        assert_eq!(reached.count(), 0, "{of_others:?}");
        assert!(!of_others.contains("attacker Placement clusters"), "{of_others:?}");
    }
}

#[test]
fn a_target_of_another_namespace_cannot_be_written_down() {
    let policies =
        ATTACKER.replace("NAMESPACE", "attacker").replace("REACH", ", namespace: victim");
    let folder = folder_with("own-named", &[("all.yaml", &policies)]);
    let command = ["validate", "-f", "all.yaml", "--from", PRESENT];
    let output = almanac(&folder, &command).ended(1).stdout;
    let refused =
        "error[unknown-field]: spec.scaleTargetRef.namespace: Unknown field: no such field here";
    assert_eq!(output.matches(refused).count(), 2, "{output}");
}
