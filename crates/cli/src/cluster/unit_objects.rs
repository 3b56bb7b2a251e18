//! The pods, the nodes and the workloads that policies for units of nodes are about. They are read only where there are
//! such policies, which are left out where pods or nodes cannot be read: without these, every unit would seem empty.

use std::collections::BTreeSet;

use almanac_api::kinds::{Kind, Role};
use almanac_api::slim;
use almanac_engine::Identity;
use almanac_engine::units::UnitObject;
use kube::api::DynamicObject;

use super::requests::{LookupResult, Requests, of_core};
use super::{FetchedObject, Seen, identity_of};

/// One of them.
pub(super) type SeenUnitObject = (Identity, UnitObject);

/// The groups of the workloads whose templates are read.
const WORKLOADS: [&str; 2] = ["", "apps"];

/// Lists the pods, nodes and workloads, if there are policies for units among the objects. Returns the workloads, which have replicas as
/// well.
pub(super) async fn list(
    requests: &Requests,
    objects: &mut Vec<FetchedObject>,
    seen: &mut Seen,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    if !objects.iter().any(|it| it.kind == Kind::ResourcePolicy) {
        return Ok(Vec::new());
    }
    let nodes = requests.list_slim(&of_core("Node", "nodes"), None, node).await?;
    let pods = list_pods(requests, seen).await?;
    let mut missing = Vec::new();
    for (answer, right) in [(nodes, "nodes"), (pods, "pods")] {
        match answer {
            LookupResult::Found(found) => seen.unit_objects.extend(found),
            LookupResult::Absent => missing.push(format!("the cluster does not serve {right}")),
            LookupResult::Forbidden(_) => {
                missing.push(format!("missing permission to list {right}"));
            }
        }
    }
    if !missing.is_empty() {
        seen.unit_objects.clear();
        objects.retain(|it| it.kind != Kind::ResourcePolicy);
        let (shown, place) = (Kind::ResourcePolicy.display_name(), requests.place());
        for why in missing {
            seen.unseen.insert(format!("no {shown} in {place} was read: {why}"));
        }
        return Ok(Vec::new());
    }
    list_workloads(requests, seen).await
}

/// The pods of all namespaces, since those use capacity of nodes, too; or else of those in scope.
async fn list_pods(
    requests: &Requests,
    seen: &mut Seen,
) -> anyhow::Result<LookupResult<Vec<SeenUnitObject>>> {
    let resource = of_core("Pod", "pods");
    let everywhere = requests.list_slim(&resource, None, pod).await?;
    let LookupResult::Forbidden(_) = everywhere else { return Ok(everywhere) };
    let here = requests.list_slim(&resource, Some(requests.scope()), pod).await?;
    if matches!(here, LookupResult::Found(_)) {
        let place = requests.place();
        seen.unseen.insert(format!(
            "no Pod outside {place} was read, so how much room nodes have is not known: missing permission to list \
             pods in all namespaces"
        ));
    }
    Ok(here)
}

async fn list_workloads(
    requests: &Requests,
    seen: &mut Seen,
) -> anyhow::Result<Vec<(Kind, Vec<DynamicObject>)>> {
    let mut found = Vec::new();
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
                seen.unit_objects.extend(templates);
                let numbers = objects.iter().filter_map(|object| {
                    let number = slim::first_number(&object.data["spec"])?;
                    Some((identity_of(kind, object), UnitObject::FirstNumber(number)))
                });
                seen.unit_objects.extend(numbers);
                found.push((kind, objects));
            }
            LookupResult::Absent => {}
            LookupResult::Forbidden(_) => {
                let (right, place) = (kind.resource_name(), requests.place());
                seen.unseen.insert(format!(
                    "no {} in {place} was read, so which pods they make is not known: missing permission to list \
                     {right}",
                    kind.display_name()
                ));
            }
        }
    }
    Ok(found)
}

/// Notes the targets whose pods are unknown: the templates of kinds for which Almanac has no type are not read.
pub(super) fn tell_unknown_templates(objects: &[FetchedObject], seen: &mut Seen) {
    let Seen { scales, unseen, .. } = seen;
    let namespaces: BTreeSet<Option<&str>> = objects
        .iter()
        .filter(|it| it.kind == Kind::ResourcePolicy)
        .map(|it| it.object.metadata.namespace.as_deref())
        .collect();
    let targets = scales.keys().filter(|it| namespaces.contains(&Some(it.namespace())));
    unseen.extend(targets.map(|target| {
        format!("the pods that {target} is going to make are not counted in units: its template is read only from files")
    }));
}

#[expect(clippy::needless_pass_by_value, reason = "nothing else is kept of it")]
fn pod(object: DynamicObject) -> Option<SeenUnitObject> {
    let (namespace, name) =
        (object.metadata.namespace.as_deref()?, object.metadata.name.as_deref()?);
    let pod = UnitObject::Pod(Box::new(slim::watched_unit_pod(&object)));
    Some((Identity::new("", "Pod", namespace, name), pod))
}

#[expect(clippy::needless_pass_by_value, reason = "nothing else is kept of it")]
fn node(object: DynamicObject) -> Option<SeenUnitObject> {
    let node = UnitObject::Node(slim::watched_unit_node(&object));
    Some((Identity::new("", "Node", "", object.metadata.name.as_deref()?), node))
}
