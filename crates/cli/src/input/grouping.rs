//! Groups the objects that were read by cluster. Clusters that receive the same objects become one place.

use std::collections::BTreeSet;
use std::mem;

use almanac_api::checking::Places;
use almanac_api::families::Descriptor;
use almanac_api::kinds::{Kind, Role};
use almanac_api::reading::Reading;
use almanac_engine::{Identity, Target};

use super::place::{InputObject, InputPlace};
use crate::cron_jobs;
use crate::files::Targets;

/// The maximum number of names in the name of a group of places.
const MAX_NAMES: usize = 3;

/// The places of the objects that were read. Places with the same policies and targets are merged.
pub(super) fn grouped(
    objects: &[InputObject],
    reading: &Reading,
    places: &Places,
    namespace: &str,
    also: &Targets,
) -> Vec<InputPlace> {
    let mut groups: Vec<Group> = Vec::new();
    let folder = |source: usize| reading.sources[source].folder();
    let objects_of = places.split(reading.objects.iter().map(|it| folder(it.source)));
    let others_of = places.split(reading.others.iter().map(|it| folder(it.source)));
    let pods_of = places.split(reading.pods.iter().map(|it| folder(it.source)));
    let nodes_of = places.split(reading.nodes.iter().map(|it| folder(it.source)));
    let mut jobs_of = places.split(reading.cron_jobs.iter().map(|it| folder(it.source)));
    let further = others_of.into_iter().zip(pods_of.into_iter().zip(nodes_of));
    for (place, (own, (others, (pods, nodes)))) in objects_of.into_iter().zip(further).enumerate() {
        let matters = relevant_objects(objects, &own, also);
        let cron_jobs = jobs_of.get_mut(place).map(mem::take).unwrap_or_default();
        let is_of_units = |it: &usize| objects[*it].checked.kind == Kind::ResourcePolicy;
        let has_units = matters.iter().any(is_of_units);
        let about_pods = matters.iter().any(|it| objects[*it].checked.kind.reads_pods());
        let is_also = |it: &usize| is_named(&reading.pods[*it].identity(namespace), also);
        let is_of_interest = |it: &usize| about_pods || !also.is_empty() && is_also(it);
        let pods: Vec<usize> = pods.into_iter().filter(is_of_interest).collect();
        let nodes = if about_pods { nodes } else { Vec::new() };
        let is_relevant = !matters.is_empty() || !pods.is_empty();
        if !is_relevant && cron_jobs.is_empty() && places.are_several() {
            continue;
        }
        let mut wanted: BTreeSet<Identity> =
            matters.iter().filter_map(|it| target(objects, *it)).cloned().collect();
        let makers = pods.iter().filter(|_| has_units).map(|index| &reading.pods[*index]);
        wanted.extend(makers.filter(|it| it.pod.is_template).map(|it| it.identity(namespace)));
        let matters_too = |index: &usize| {
            let other = &reading.others[*index];
            other.is_exempt_namespace() || wanted.contains(&other.identity(namespace))
        };
        let others: Vec<usize> = others.into_iter().filter(matters_too).collect();
        let content = Content { positions: matters, others, pods, nodes, cron_jobs };
        match groups.iter_mut().find(|group| group.content == content) {
            Some(group) => group.places.push(place),
            None => groups.push(Group { content, places: vec![place] }),
        }
    }
    if groups.is_empty() {
        groups.push(Group::default());
    }
    let are_several = groups.len() > 1;
    let input_place = |Group { content, places: indexes }: Group| {
        let Content { positions, others, pods, nodes, cron_jobs } = content;
        let names: Vec<&str> = indexes.iter().map(|place| places.name(*place)).collect();
        let name = are_several.then(|| together(&names));
        let own = positions.iter().map(|position| (*position, &objects[*position]));
        let mut place = InputPlace::new(own, name);
        place.stands_for = names.into_iter().map(str::to_owned).collect();
        place.numbers = indexes;
        place.add_cron_jobs(cron_jobs.iter().map(|it| &reading.cron_jobs[*it]), namespace);
        cron_jobs::add_locations(&mut place.cron_jobs, &reading.sources);
        place.add_targets(others.iter().map(|index| &reading.others[*index]), namespace);
        let pods = || pods.iter().map(|index| &reading.pods[*index]);
        let nodes = || nodes.iter().map(|index| &reading.nodes[*index]);
        if !place.world.qos_levels.policies.is_empty() || !also.is_empty() {
            place.add_pods(pods(), nodes(), namespace);
        }
        if !place.world.units.policies.is_empty() {
            place.add_unit_objects(pods(), nodes(), namespace);
        }
        place
    };
    groups.into_iter().map(input_place).collect()
}

/// The name of several merged places.
pub(crate) fn together(names: &[&str]) -> String {
    let more = names.len().saturating_sub(MAX_NAMES);
    let name = names[..names.len() - more].join(", ");
    if more > 0 { format!("{name} and {more} more") } else { name }
}

/// The objects of a place, by their indexes in the input.
#[derive(Default, PartialEq)]
struct Content {
    positions: Vec<usize>,
    others: Vec<usize>,
    pods: Vec<usize>,
    nodes: Vec<usize>,
    cron_jobs: Vec<usize>,
}

/// A group of places with the same content.
#[derive(Default)]
struct Group {
    content: Content,
    places: Vec<usize>,
}

fn target(objects: &[InputObject], position: usize) -> Option<&Identity> {
    let checked = &objects[position].checked;
    checked.scales.as_ref().or(checked.named.as_ref()).map(Target::identity)
}

fn is_named(object: &Identity, names: &Targets) -> bool {
    !names.is_empty() && names.contains(&(object.kind().to_owned(), object.name().to_owned()))
}

/// The policies among objects, their targets, other objects that act on these targets, and the objects of `also`.
fn relevant_objects(objects: &[InputObject], here: &[usize], also: &Targets) -> Vec<usize> {
    let is_policy = |position: &usize| objects[*position].checked.kind.is_policy();
    let is_also = |position: &usize| {
        objects[*position].checked.identity.as_ref().is_some_and(|it| is_named(it, also))
    };
    let policies: Vec<usize> = here.iter().copied().filter(is_policy).collect();
    if policies.is_empty() {
        return here.iter().copied().filter(is_also).collect();
    }
    let targets: BTreeSet<&Identity> =
        policies.iter().filter_map(|policy| target(objects, *policy)).collect();
    let descriptor = |policy: &usize| Descriptor::for_kind(objects[*policy].checked.kind);
    let read_kinds: BTreeSet<Kind> =
        policies.iter().filter_map(descriptor).flat_map(|it| it.reads).copied().collect();
    let is_of_units = |position: &usize| objects[*position].checked.kind == Kind::ResourcePolicy;
    let has_units = policies.iter().any(is_of_units);
    let matters = |position: &usize| {
        let checked = &objects[*position].checked;
        let is_target = checked.identity.as_ref().is_some_and(|it| targets.contains(it));
        let makes_pods = matches!(checked.kind.role(), Role::Workload { .. } | Role::Bounds);
        // An object that keeps a target within bounds affects the target too.
        let bounds_target =
            checked.scales.as_ref().is_some_and(|it| targets.contains(it.identity()));
        let is_read = read_kinds.contains(&checked.kind);
        let is_of_policies = is_policy(position) || is_target || is_read || bounds_target;
        is_of_policies || has_units && makes_pods || is_also(position)
    };
    here.iter().copied().filter(matters).collect()
}
