//! The dates that the webhook adds to taints, and the permission to bind a set of clusters.

use almanac_fixtures::hub;
use almanac_harness::{Kubectl, Observation, OwnTest, PATIENCE, TestResult, await_condition};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::documented::shell_blocks;
use crate::reading::get;
use crate::webhook::desk::{ADDING, Applied, Desk, at_a_desk, at_the_desk, await_refusal, in_shop};

const LAST_YEAR: &str = "2025-11-26T06:00:00Z";

fn cluster(name: &str, taints: &Value) -> Value {
    let spec = json!({"hubAcceptsClient": true, "taints": taints});
    hub::hub_object("v1", "ManagedCluster", name, &spec)
}

/// Applies a cluster; returns the `timeAdded` of its first taint.
async fn dated(desk: &Desk<'_>, name: &str, taints: &Value) -> anyhow::Result<Option<Timestamp>> {
    let applied = desk.apply(&cluster(name, taints)).await?;
    assert!(applied.is_done, "{}", applied.stderr);
    let stored = get(&desk.kubectl, &["managedcluster", name]).await?;
    Ok(stored["spec"]["taints"][0]["timeAdded"].as_str().map(str::parse).transpose()?)
}

/// Waits until the API server has loaded a configuration. A taint that was stored without a date stays without it.
async fn await_dates(desk: &Desk<'_>, prefix: &str, is_expected: bool) -> TestResult {
    let taints = json!([{"key": "power", "effect": "NoSelect"}]);
    let mut number = 0;
    await_condition("new taints to be dated, or not", PATIENCE, async || {
        number += 1;
        let date = dated(desk, &format!("{prefix}-{number}"), &taints).await?;
        Ok(Observation::from_bool(date.is_some() == is_expected, format!("{date:?}")))
    })
    .await
}

#[test]
fn the_webhook_dates_taints_unless_open_cluster_management_does() -> TestResult {
    // API servers call webhooks in this order. The second webhook refuses a taint that already has a date.
    assert!(ADDING[1] > "managedclustermutators.admission.cluster.open-cluster-management.io");
    at_the_desk(&[], async |desk| {
        await_dates(desk, "probe", true).await?;
        let before = Timestamp::now() - SignedDuration::from_secs(2);
        let old = json!({"key": "old", "effect": "NoSelect", "timeAdded": LAST_YEAR});
        let dark = json!({"key": "power", "effect": "NoSelect"});
        let date = dated(desk, "east", &json!([dark, old])).await?;
        assert!(date.is_some_and(|it| it >= before && it <= Timestamp::now()), "{date:?}");
        let stored = get(&desk.kubectl, &["managedcluster", "east"]).await?;
        assert_eq!(stored["spec"]["taints"][1]["timeAdded"], LAST_YEAR);
        // A second apply of the same file changes nothing.
        assert_eq!(dated(desk, "east", &json!([dark, old])).await?, date);
        let old =
            json!({"key": "old", "value": "very", "effect": "NoSelect", "timeAdded": LAST_YEAR});
        let date = dated(desk, "east", &json!([old])).await?;
        assert!(date.is_some_and(|it| it >= before), "a changed taint is new: {date:?}");
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "placement-lock", "namespace": "default"},
            "spec": {
                "holderIdentity": "placement-controller", "leaseDurationSeconds": 3600,
                "renewTime": format!("{:.6}", Timestamp::now()),
            },
        });
        assert!(desk.apply(&lease).await?.is_done);
        await_dates(desk, "left", false).await
    })
}

/// Binds a set, as a user with permission to create and label bindings in a namespace.
async fn bind(desk: &Desk<'_>, user: &str, set: &str, label: &str) -> anyhow::Result<Applied> {
    let spec = json!({"clusterSet": set});
    let mut binding = hub::hub_object("v1beta2", "ManagedClusterSetBinding", set, &spec);
    binding["metadata"]["labels"] = json!({"label": label});
    let file = desk.write(&in_shop(binding))?;
    let apply = format!("kubectl apply --server-side -f {file} --as={user} --as-group=shop");
    let output = desk.shell(&apply).await?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok(Applied { is_done: output.status.success(), stderr })
}

#[test]
fn binding_a_set_requires_permission_also_while_the_webhook_is_down() -> TestResult {
    let withheld = "mutatingwebhookconfigurations";
    let change = async |_: &OwnTest, kubectl: &Kubectl| {
        let resource = "/rules/8/resources/1";
        let patch = json!([
            {"op": "test", "path": resource, "value": withheld}, {"op": "remove", "path": resource},
        ]);
        let patch = format!("--patch={patch}");
        kubectl.run(&["patch", "clusterrole", "almanac-webhook", "--type=json", &patch]).await?;
        Ok(())
    };
    at_a_desk(change, &[], async |desk| {
        desk.withheld.set(withheld);
        // Without permission for the configuration that dates taints, the webhook still checks objects.
        await_refusal(desk).await?;
        desk.webhook.pause()?;
        let granted = desk
            .shell(
                "kubectl create role bindings -n shop --verb=create,get,patch,update \
                 --resource=managedclustersetbindings.cluster.open-cluster-management.io
                 kubectl create rolebinding bindings -n shop --role=bindings --group=shop",
            )
            .await?;
        assert!(granted.status.success(), "{}", String::from_utf8_lossy(&granted.stderr));
        // The API server loads a new policy and a new role after a delay.
        let expected = "you may not bind the ManagedClusterSet other; have a ClusterRole bound to you with verbs: \
                        [create], resources: [managedclustersets/bind], resourceNames: [other]";
        await_condition("another set to be refused", PATIENCE, async || {
            let applied = bind(desk, "jo", "other", "first").await?;
            assert!(!applied.is_done || applied.stderr.is_empty(), "{}", applied.stderr);
            Ok(Observation::from_bool(applied.stderr.contains(expected), applied.stderr))
        })
        .await?;
        let [grant] = &shell_blocks("docs/placements.md", "Who may bind a set")?[..] else {
            anyhow::bail!("there is another number of blocks");
        };
        let granted = desk.shell(grant).await?;
        assert!(granted.status.success(), "{}", String::from_utf8_lossy(&granted.stderr));
        await_condition("the set to be bound", PATIENCE, async || {
            let applied = bind(desk, "jo", "fleet", "first").await?;
            Ok(Observation::from_bool(applied.is_done, applied.stderr))
        })
        .await?;
        assert!(!bind(desk, "jo", "other", "first").await?.is_done, "it may bind only this set");
        let revoked = desk.shell("kubectl delete clusterrolebinding bind-fleet").await?;
        assert!(revoked.status.success());
        // The labels of an existing binding can still change.
        let applied = bind(desk, "jo", "fleet", "second").await?;
        assert!(applied.is_done, "{}", applied.stderr);
        desk.webhook.resume()?;
        desk.webhook.await_ready().await
    })
}
