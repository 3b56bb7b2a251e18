//! The error about a name without a match, with the names that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use almanac_api::objects::AGENT_CONFIGS;
use almanac_engine::{Identity, World};

use super::InputPlace;
use crate::argument_error::ArgumentError;
use crate::shell_word::quoted;
use crate::subject::{POD, Subject, called};

/// A version of the files: its name, and its places.
pub(crate) type Version<'a> = (&'static str, &'a [InputPlace]);

impl Subject {
    /// The error for a name without a match.
    pub(crate) fn not_found(&self, argument: &'static str, places: &[InputPlace]) -> ArgumentError {
        self.not_found_in(argument, &[("", places)])
    }

    /// The error for a name without a match in several versions of the files. Names that some versions lack are
    /// marked.
    pub(crate) fn not_found_in(
        &self,
        argument: &'static str,
        versions: &[Version<'_>],
    ) -> ArgumentError {
        let message = if self.is_of_pod() { no_pod(versions) } else { no_policy(versions) };
        let message = match self.similar(places_of(versions).flat_map(|it| identities(&it.world))) {
            Some(similar) => format!("{message}; did you mean {similar}?"),
            None => message,
        };
        if Path::new(&self.text).exists() {
            let path = quoted(&self.text);
            let message = format!("{message}; the name is a path: to read it, write -f {path}");
            return ArgumentError::whole(argument, &self.text, message);
        }
        ArgumentError::whole(argument, &self.text, message)
    }
}

fn places_of<'a>(versions: &'a [Version<'_>]) -> impl Iterator<Item = &'a InputPlace> {
    versions.iter().flat_map(|(_, places)| places.iter())
}

fn no_policy(versions: &[Version<'_>]) -> String {
    let policies = |place: &InputPlace| -> Vec<String> {
        place.world.policies().map(|policy| called(&policy.identity)).collect()
    };
    match first_of(versions, policies) {
        Some(known) => format!("no policy or target matches; the policies are {known}"),
        None => "no policy or target matches; there are no usable policies".to_owned(),
    }
}

fn no_pod(versions: &[Version<'_>]) -> String {
    let is_about_pods =
        |world: &World| !world.qos_levels.policies.is_empty() || !world.units.policies.is_empty();
    if !places_of(versions).any(|place| is_about_pods(&place.world)) {
        let [(design, _), (installed, _)] = AGENT_CONFIGS;
        return format!(
            "no pod matches; pods are read only where there is a ResourcePolicy, or there are policies for QoS \
             levels in a ConfigMap {design} or {installed}"
        );
    }
    let pods = |place: &InputPlace| -> Vec<String> {
        let all = place
            .world
            .objects
            .pods
            .keys()
            .chain(place.world.units.extra.pods_and_nodes.pods.keys());
        all.filter(|pod| pod.kind() == POD).map(called).collect()
    };
    match first_of(versions, pods) {
        Some(known) => format!("no pod matches; the pods are {known}"),
        None => "no pod matches; there are no pods".to_owned(),
    }
}

/// The first few names in some versions, in their order. A name that only one of several versions has is marked. `None`
/// if there are no names.
fn first_of(
    versions: &[Version<'_>],
    names: impl Fn(&InputPlace) -> Vec<String>,
) -> Option<String> {
    let mut versions_with: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for (version, places) in versions {
        for name in places.iter().flat_map(&names) {
            versions_with.entry(name).or_default().insert(version);
        }
    }
    let marked = |(name, with): (String, BTreeSet<&str>)| match with.first() {
        Some(only) if with.len() < versions.len() => format!("{name} (only in the {only} files)"),
        _ => name,
    };
    let mut first: Vec<String> = versions_with.into_iter().take(9).map(marked).collect();
    if first.len() == 9 {
        "…".clone_into(&mut first[8]);
    }
    (!first.is_empty()).then(|| first.join(", "))
}

/// The objects that can be named: policies, their targets, and pods with the objects that represent them.
fn identities(world: &World) -> impl Iterator<Item = Identity> {
    let policies = world.policies().flat_map(|policy| {
        let target = world.target_of(&policy);
        let target = target.map(|reference| reference.target.identity().clone());
        [Some(policy.identity), target].into_iter().flatten()
    });
    policies
        .chain(world.objects.pods.keys().cloned())
        .chain(world.units.extra.pods_and_nodes.pods.keys().cloned())
}
