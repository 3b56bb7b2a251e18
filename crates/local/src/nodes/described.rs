//! Nodes from a description, which are kept from run to run. The provider ID identifies a described node: it
//! contains the name of the node and cannot be set on a real machine later. No other node is changed or removed.
//!
//! Additions of other field managers to such a node stay: labels, taints and cordoning.

use std::collections::{BTreeMap, BTreeSet};

use almanac_shell::following::{Deliveries, Delivery, Selection};
use anyhow::{Context as _, Result, bail};
use k8s_openapi::api::core::v1::{Node, NodeCondition, Taint};
use kube::api::{Api, ApiResource, ListParams, Patch, PatchParams};
use kube::{Client, ResourceExt};
use serde_json::{Value, json};

use super::heartbeat::{self, MANAGER};
use super::simulator::{
    NodeSimulator, RunningNodes, WELL, at_once, conditions_of, delete_if_there, delete_only,
    report_conditions, take_leases, was_lost,
};
use super::spec::NodeSpec;

/// The annotation with the taints of a node from the description, to distinguish them from the taints of
/// other field managers.
const TAINTS: &str = "almanac.dev/described-taints";

impl NodeSimulator {
    /// Makes the described nodes of a cluster match the specs, and serves the pods that are bound to them. An existing
    /// node keeps its pods, and a node that is no longer described is removed. Returns an error, before any write, if a
    /// node that is not simulated has one of the names.
    pub async fn described(client: &Client, specs: &[NodeSpec]) -> Result<Self> {
        let mut objects = Vec::new();
        for spec in specs {
            objects.extend(spec.objects()?);
        }
        let names: Vec<_> = objects.iter().map(ResourceExt::name_any).collect();
        let nodes = Api::<Node>::all(client.clone());
        let present = nodes.list(&ListParams::default()).await.context("failed to list nodes")?;
        let (mut former, others): (BTreeMap<_, _>, BTreeMap<_, _>) = present
            .into_iter()
            .map(|node| (node.name_any(), node))
            .partition(|(_, node)| is_described(node));
        ensure_free(&names, &others)?;
        // The node controller treats a node without a Lease as lost.
        take_leases(client, &names).await?;
        let apply = objects.into_iter().map(|node| {
            let former = former.remove(&node.name_any());
            apply(nodes.clone(), node, former)
        });
        let apply: Vec<_> = apply.collect();
        at_once(apply).await?;
        at_once(former.into_values().map(|node| remove(client, node))).await?;
        let running_nodes = RunningNodes::default();
        running_nodes.with(|running| running.extend(names.iter().cloned()));
        let mut simulator = Self::serving(client, running_nodes.clone(), names, None);
        simulator.add_task(keep_ready(client.clone(), running_nodes));
        Ok(simulator)
    }
}

fn provider_id(name: &str) -> String {
    format!("simulated://described/{name}")
}

fn is_described(node: &Node) -> bool {
    let id = node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref());
    id.is_some_and(|id| id == provider_id(&node.name_any()))
}

fn ensure_free(names: &[String], others: &BTreeMap<String, Node>) -> Result<()> {
    let existing: Vec<_> = names.iter().filter(|name| others.contains_key(*name)).collect();
    let Some(first) = existing.first() else { return Ok(()) };
    let more = match existing.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    bail!(
        "names in use by nodes that are not described: {first}{more}; these nodes are unchanged; give the described \
         nodes another name, or remove these nodes if nothing uses them"
    )
}

async fn apply(nodes: Api<Node>, node: Node, mut former: Option<Node>) -> Result<()> {
    let name = node.name_any();
    let failed = || format!("failed to apply node {name}");
    let applied = PatchParams::apply(MANAGER).force();
    loop {
        let object = Patch::Apply(object(&node, former.as_ref()));
        match nodes.patch(&name, &applied, &object).await {
            Ok(_) => break,
            // Controllers change the taints of a node often.
            Err(kube::Error::Api(status)) if status.code == 409 => {
                former = nodes.get_opt(&name).await.with_context(failed)?;
                let other = former.iter().filter(|node| !is_described(node));
                let others = other.map(|node| (name.clone(), node.clone())).collect();
                ensure_free(std::slice::from_ref(&name), &others)?;
            }
            Err(error) => return Err(error).with_context(failed),
        }
    }
    let status = Patch::Apply(status(&node, former.as_ref()));
    nodes.patch_status(&name, &applied, &status).await.with_context(failed)?;
    Ok(())
}

/// A node without its status. Taints can only be applied as a whole, so the taints of other field managers are
/// included. The resource version prevents the loss of a concurrent change.
fn object(node: &Node, former: Option<&Node>) -> Value {
    let own = taints(node);
    let before = former.and_then(|it| it.annotations().get(TAINTS));
    let before: BTreeSet<&str> = before.iter().flat_map(|it| it.split(',')).collect();
    let ours: BTreeSet<String> = own.iter().map(identity).collect();
    let of_others = former.into_iter().flat_map(taints).filter(|taint| {
        let identity = identity(taint);
        !before.contains(&*identity) && !ours.contains(&identity)
    });
    let named: Vec<String> = ours.iter().cloned().collect();
    let name = node.name_any();
    let mut metadata = json!({
        "name": name, "labels": node.labels(), "annotations": {TAINTS: named.join(",")},
    });
    if let Some(version) = former.and_then(ResourceExt::resource_version) {
        metadata["resourceVersion"] = version.into();
    }
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": metadata,
        "spec": {
            "providerID": provider_id(&name),
            "taints": own.iter().cloned().chain(of_others).collect::<Vec<Taint>>(),
        },
    })
}

fn taints(node: &Node) -> Vec<Taint> {
    node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default()
}

/// The key and effect of a taint, unique on a node.
fn identity(taint: &Taint) -> String {
    format!("{}:{}", taint.key, taint.effect)
}

/// The status of a node. An unchanged condition keeps its transition time.
fn status(node: &Node, former: Option<&Node>) -> Value {
    let mut status = node.status.clone().unwrap_or_default();
    for condition in status.conditions.iter_mut().flatten() {
        let same =
            |it: &&NodeCondition| (&it.type_, &it.status) == (&condition.type_, &condition.status);
        if let Some(before) = former.and_then(|node| conditions_of(node).find(same)) {
            condition.last_transition_time.clone_from(&before.last_transition_time);
        }
    }
    let metadata = json!({"name": node.name_any()});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status})
}

/// Removes a node and its lease. The controller manager deletes the pods of the removed node.
async fn remove(client: &Client, node: Node) -> Result<()> {
    let name = node.name_any();
    let removed = delete_only(&Api::all(client.clone()), &name, node.uid()).await;
    if removed.with_context(|| format!("failed to remove node {name}"))? {
        delete_if_there(&heartbeat::leases(client), &name).await?;
    }
    Ok(())
}

/// Makes lost nodes ready again, as after the sleep of the machine, and stops serving nodes that
/// were deleted.
async fn keep_ready(client: Client, running_nodes: RunningNodes) {
    let resource = ApiResource::erase::<Node>(&());
    let mut nodes = Deliveries::begin(client.clone(), resource, Selection::default());
    while let Some(delivery) = nodes.receive().await {
        match delivery {
            Delivery::Listed(node) | Delivery::Changed(node) => {
                let Ok(node) = node.try_parse::<Node>() else { continue };
                let name = node.name_any();
                if running_nodes.has(&name) && was_lost(&node) {
                    // A failed report is retried at the next change of the node and at the next watch.
                    let _ = report_conditions(&client, &name, true, WELL).await;
                }
            }
            Delivery::Gone(node) => {
                let name = node.name_any();
                if running_nodes.with(|names| names.remove(&name)) {
                    let _ = delete_if_there(&heartbeat::leases(&client), &name).await;
                }
            }
            Delivery::ListBegins | Delivery::ListComplete => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::spec::TaintEffect;
    use super::*;

    fn described(spec: &NodeSpec) -> Node {
        spec.node("sail-0").expect("a node")
    }

    /// The node in the API server after the apply, with these taints.
    fn applied(spec: &NodeSpec, taints: &Value) -> Node {
        let mut applied = object(&described(spec), None);
        applied["spec"]["taints"] = taints.clone();
        applied["metadata"]["resourceVersion"] = "7".into();
        serde_json::from_value(applied).expect("a node")
    }

    fn keys(object: &Value) -> Vec<&str> {
        let taints = object["spec"]["taints"].as_array().expect("taints");
        taints.iter().filter_map(|taint| taint["key"].as_str()).collect()
    }

    #[test]
    fn a_node_is_described_only_if_its_provider_id_has_its_own_name() {
        let ours = applied(&NodeSpec::named("sail"), &json!([]));
        assert!(is_described(&ours));
        for id in [None, Some("simulated://described/sail-1"), Some("simulated://shop/sail/sail-0")]
        {
            let mut other = ours.clone();
            other.spec.get_or_insert_default().provider_id = id.map(str::to_owned);
            assert!(!is_described(&other), "{id:?}");
            let others = BTreeMap::from([(other.name_any(), other)]);
            let error =
                ensure_free(&["sail-0".to_owned()], &others).expect_err("the name is taken");
            assert!(
                error
                    .to_string()
                    .starts_with("names in use by nodes that are not described: sail-0"),
                "{error}"
            );
        }
    }

    #[test]
    fn taints_of_others_stay_and_taints_of_the_former_description_are_removed() {
        let before = NodeSpec::named("sail").taint("night", "", TaintEffect::NoSchedule).taint(
            "spot",
            "yes",
            TaintEffect::NoSchedule,
        );
        let there = json!([
            {"key": "night", "effect": "NoSchedule"},
            {"key": "spot", "value": "yes", "effect": "NoSchedule"},
            {"key": "spot", "effect": "NoExecute"},
            {"key": "by-hand", "effect": "NoSchedule"},
        ]);
        let now = described(&NodeSpec::named("sail").taint("spot", "no", TaintEffect::NoSchedule));
        let object = object(&now, Some(&applied(&before, &there)));
        assert_eq!(keys(&object), ["spot", "spot", "by-hand"]);
        assert_eq!(object["spec"]["taints"][0]["value"], "no");
        assert_eq!(object["metadata"]["annotations"][TAINTS], "spot:NoSchedule");
        assert_eq!(object["metadata"]["resourceVersion"], "7");
    }

    #[test]
    fn a_condition_that_has_not_changed_keeps_the_time_of_its_last_change() {
        let spec = NodeSpec::named("sail");
        let long_ago = "2026-01-01T00:00:00Z";
        let mut before = applied(&spec, &json!([]));
        before.status = serde_json::from_value(json!({"conditions": [
            {"type": "Ready", "status": "Unknown", "lastTransitionTime": long_ago},
            {"type": "DiskPressure", "status": "False", "lastTransitionTime": long_ago},
        ]}))
        .expect("a status");
        let status = status(&described(&spec), Some(&before));
        let conditions = status["status"]["conditions"].as_array().expect("conditions");
        let since = |kind: &str| {
            let found = conditions.iter().find(|it| it["type"] == kind);
            found.expect(kind)["lastTransitionTime"].as_str().expect("a time").to_owned()
        };
        assert_eq!(since("DiskPressure"), long_ago);
        assert_ne!(since("Ready"), long_ago);
    }
}
