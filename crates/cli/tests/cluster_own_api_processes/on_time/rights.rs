//! The permissions of the controller: a service account without permission to scale, which a test
//! grants namespace by namespace.

use almanac_harness::{OwnTest, ServiceAccountAccess, TestResult};
use anyhow::Result;

use crate::controller::Cluster;

/// The account of the controller.
pub(crate) const ACCOUNT: &str = "system:serviceaccount:default:almanac";

/// All permissions that the controller needs, except for scaling Deployments.
const RIGHTS: &str = r"
apiVersion: v1
kind: ServiceAccount
metadata: {name: almanac}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: almanac}
rules:
- apiGroups: [autoscaling.karmada.io, autoscaling.karpenter.sh]
  resources: [cronfederatedhpas, metricsproducers, horizontalautoscalers, scalablenodegroups]
  verbs: [list, watch]
- apiGroups: [autoscaling.karmada.io, autoscaling.karpenter.sh]
  resources: [cronfederatedhpas/status, metricsproducers/status, horizontalautoscalers/status]
  verbs: [patch]
- {apiGroups: [apps], resources: [deployments], verbs: [list, watch]}
- {apiGroups: [apps], resources: [deployments/scale], verbs: [get]}
- {apiGroups: [example.org], resources: [rollouts/scale, fleets/scale, widgets/scale], verbs: [get, patch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get, create, update, patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: almanac}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: almanac}
subjects: [{kind: ServiceAccount, namespace: default, name: almanac}]
";

/// Permission to scale the Deployments of a namespace.
const TO_SCALE: &str = r"
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: almanac}
rules:
- {apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: almanac}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: almanac}
subjects: [{kind: ServiceAccount, namespace: default, name: almanac}]
";

/// Creates the account, and returns access with its permissions.
pub(crate) async fn access(test: &OwnTest, cluster: &Cluster) -> Result<ServiceAccountAccess> {
    cluster.create_text("default", RIGHTS).await?;
    test.service_account("default", "almanac").await
}

/// Allows the account to scale the Deployments of a namespace.
pub(crate) async fn grant_scaling(cluster: &Cluster, namespace: &str) -> TestResult {
    cluster.create_text(namespace, TO_SCALE).await
}
