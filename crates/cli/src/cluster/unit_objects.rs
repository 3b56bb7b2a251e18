//! The pods, nodes and workloads of policies for node units. These objects are read only for a cluster with such
//! policies. If pods or nodes cannot be read, the policies are left out: every unit would appear empty.

use std::collections::BTreeSet;

use almanac_api::kinds::{Kind, Role};
use almanac_api::slim;
use almanac_engine::Identity;
use almanac_engine::units::UnitObject;
use kube::api::DynamicObject;

use super::requests::{LookupResult, Requests, core_resource};
use super::{ExtraObjects, FetchedObject, identity_of};

/// A pod, a node, or data of a workload.
pub(super) type ListedUnitObject = (Identity, UnitObject);

/// The groups of the workloads whose templates are read.
const WORKLOADS: [&str; 2] = ["", "apps"];

/// Lists the pods, nodes and workloads if the objects contain policies for units. Returns the workloads for their
/// replicas.
pub(super) async fn list(
    requests: &Requests,
    objects: &mut Vec<FetchedObject>,
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    if !objects.iter().any(|it| it.kind == Kind::ResourcePolicy) {
        return Ok(Vec::new());
    }
    let nodes = requests.list_slim(&core_resource("Node", "nodes"), None, node).await?;
    let pods = list_pods(requests, extras).await?;
    let mut missing = Vec::new();
    for (result, right) in [(nodes, "nodes"), (pods, "pods")] {
        match result {
            LookupResult::Found(found) => extras.unit_objects.extend(found),
            LookupResult::Absent => missing.push(format!("the cluster does not serve {right}")),
            LookupResult::Forbidden(_) => {
                missing.push(format!("missing permission to list {right}"));
            }
        }
    }
    if !missing.is_empty() {
        extras.unit_objects.clear();
        objects.retain(|it| it.kind != Kind::ResourcePolicy);
        let (shown, place) = (Kind::ResourcePolicy.display_name(), requests.place());
        for why in missing {
            extras.unseen.insert(format!("no {shown} in {place} was read: {why}"));
        }
        return Ok(Vec::new());
    }
    list_workloads(requests, extras).await
}

/// The pods of all namespaces, because all pods use capacity of nodes; only the pods in scope if listing all is
/// forbidden.
async fn list_pods(
    requests: &Requests,
    extras: &mut ExtraObjects,
) -> anyhow::Result<LookupResult<Vec<ListedUnitObject>>> {
    let resource = core_resource("Pod", "pods");
    let all_pods = requests.list_slim(&resource, None, pod).await?;
    let LookupResult::Forbidden(_) = all_pods else { return Ok(all_pods) };
    let pods_in_scope = requests.list_slim(&resource, Some(requests.scope()), pod).await?;
    if matches!(pods_in_scope, LookupResult::Found(_)) {
        let place = requests.place();
        extras.unseen.insert(format!(
            "no Pod outside {place} was read, so the free capacity of the nodes is unknown: missing permission to list \
             pods in all namespaces"
        ));
    }
    Ok(pods_in_scope)
}

async fn list_workloads(
    requests: &Requests,
    extras: &mut ExtraObjects,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    let mut workloads = Vec::new();
    let is_workload = |kind: &Kind| {
        WORKLOADS.contains(&kind.group()) && matches!(kind.role(), Role::Workload { .. })
    };
    for kind in Kind::ALL.iter().copied().filter(is_workload) {
        match requests.list(kind).await? {
            LookupResult::Found(objects) => {
                let templates = objects.iter().filter_map(|object| {
                    let pod = slim::unit_template(object, kind.name())?;
                    Some((identity_of(kind, object), UnitObject::Template(Box::new(pod))))
                });
                extras.unit_objects.extend(templates);
                let numbers = objects.iter().filter_map(|object| {
                    let number = slim::first_number(&object.data["spec"])?;
                    Some((identity_of(kind, object), UnitObject::FirstNumber(number)))
                });
                extras.unit_objects.extend(numbers);
                workloads.push((kind, objects));
            }
            LookupResult::Absent => {}
            LookupResult::Forbidden(_) => {
                let (right, place) = (kind.resource_name(), requests.place());
                extras.unseen.insert(format!(
                    "no {} in {place} was read, so which pods they create is unknown: missing permission to list \
                     {right}",
                    kind.display_name()
                ));
            }
        }
    }
    Ok(workloads)
}

/// Notes the targets with unknown pods: the templates of kinds for which Almanac has no type are not read.
pub(super) fn note_unknown_templates(objects: &[FetchedObject], extras: &mut ExtraObjects) {
    let ExtraObjects { scales, unseen, .. } = extras;
    let namespaces: BTreeSet<Option<&str>> = objects
        .iter()
        .filter(|it| it.kind == Kind::ResourcePolicy)
        .map(|it| it.object.metadata.namespace.as_deref())
        .collect();
    let targets = scales.keys().filter(|it| namespaces.contains(&Some(it.namespace())));
    unseen.extend(targets.map(|target| {
        format!("the future pods of {target} are not counted in units: its template is read only from files")
    }));
}

#[expect(clippy::needless_pass_by_value, reason = "only these fields are kept")]
fn pod(object: DynamicObject) -> Option<ListedUnitObject> {
    let (namespace, name) =
        (object.metadata.namespace.as_deref()?, object.metadata.name.as_deref()?);
    let pod = UnitObject::Pod(Box::new(slim::watched_unit_pod(&object)));
    Some((Identity::new("", "Pod", namespace, name), pod))
}

#[expect(clippy::needless_pass_by_value, reason = "only these fields are kept")]
fn node(object: DynamicObject) -> Option<ListedUnitObject> {
    let node = UnitObject::Node(slim::watched_unit_node(&object));
    Some((Identity::new("", "Node", "", object.metadata.name.as_deref()?), node))
}
