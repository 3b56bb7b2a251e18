//! Names of absent objects that nearly match a present one: targets, schedules of queries, cluster sets. A name without
//! a near match is not reported, as its object may be elsewhere.

use std::collections::BTreeSet;
use std::ops::Bound;

use almanac_engine::metric_scaling::{Condition, Label, Matcher, Selects};
use almanac_engine::placement::{Cluster, HubObject};
use almanac_engine::{Identity, PolicyObject, Slim, Target};

use super::object::CheckedObject;
use crate::finding::{Code, FieldPath, Finding, Path, Severity};
use crate::kinds::Kind;
use crate::near_name::{MAX_COMPARISONS, nearest_name};
use crate::objects::CLUSTER_SET_LABEL;
use crate::reading::{Node, Reading, values_of};

/// The cluster sets of every hub, whether or not they are in the input.
const BUILT_IN_SETS: [&str; 2] = ["default", "global"];

/// Checks the names that the objects of one cluster use. `others` are the names of the other objects in that cluster.
/// `unread` are the names in texts that cannot be parsed; an object with such a name may exist.
pub(super) fn check_names<'a>(
    objects: impl Iterator<Item = (usize, &'a CheckedObject)> + Clone,
    others: impl Iterator<Item = &'a Identity>,
    unread: &BTreeSet<&str>,
) -> Vec<(usize, Finding)> {
    let references = objects.clone().flat_map(|(index, object)| references(index, object));
    let references: Vec<Reference> = references.collect();
    if references.is_empty() {
        return Vec::new();
    }
    let own = objects.filter_map(|(_, object)| object.identity.as_ref());
    let mut search = Search::new(own.chain(others).collect());
    let finding = |Reference { index, field, sought, also }: Reference| {
        let (missing, there) = search.near(&sought)?;
        if unread.contains(missing.name()) {
            return None;
        }
        let message = format!("{missing} is not in the input, but {there} is");
        let fix = format!("write {}{also} if that is meant", there.name());
        Some((index, Finding::new(Code::NoSuchTarget, field, message).with_fix(fix)))
    };
    references.into_iter().filter_map(finding).collect()
}

/// The names of the objects that are not checked, each with its source: objects of kinds that Almanac does not read,
/// and those that cannot be used as written.
pub(super) fn unchecked_names(
    reading: &Reading,
    checked: &[CheckedObject],
    namespace: &str,
) -> Vec<(Identity, usize)> {
    let others = reading.others.iter().chain(&reading.similar);
    let others = others.map(|it| (it.identity(namespace), it.source));
    let objects = reading.objects.iter().zip(checked);
    let unusable = objects.filter(|(_, checked)| checked.identity.is_none());
    let unusable = unusable.filter_map(|(object, _)| {
        let metadata = object.node.get("metadata")?;
        let text = |key: &str| metadata.get(key).and_then(Node::as_text);
        let namespace = text("namespace").filter(|it| !it.is_empty()).unwrap_or(namespace);
        Some((object.kind.identity(namespace, text("name")?), object.source))
    });
    others.chain(unusable).collect()
}

/// The names in texts that cannot be read to their end.
pub(super) fn unread_names(reading: &Reading) -> BTreeSet<&str> {
    let is_broken = |code: Code| {
        matches!(code, Code::Syntax | Code::SlashComment | Code::Tab | Code::Alias | Code::TooLarge)
    };
    let syntax_errors = reading.findings.iter().filter(|it| is_broken(it.finding.code));
    let templates = reading.templates.iter().map(|it| it.source);
    let sources: BTreeSet<usize> = syntax_errors.map(|it| it.source).chain(templates).collect();
    let texts = sources.into_iter().map(|source| reading.sources[source].text());
    texts.flat_map(|text| values_of(text, "name")).collect()
}

/// A reference of an object to another object by name.
struct Reference {
    /// The index of the object with the reference.
    index: usize,
    field: FieldPath,
    sought: Sought,
    /// The other locations of the name, as the end of a sentence.
    also: &'static str,
}

/// The object that a name refers to.
enum Sought {
    /// An object with one of these names; the first name is used unless more is known.
    Object(Vec<Identity>),
    /// A schedule of this name in any namespace.
    Schedule(Box<str>),
}

fn references(index: usize, object: &CheckedObject) -> Vec<Reference> {
    let mut references = Vec::new();
    let mut name = |field: FieldPath, sought: Sought| {
        references.push(Reference { index, field, sought, also: "" });
    };
    let spec = Path::Root.key("spec");
    if let Some(target) = object.scales.as_ref().or(object.named.as_ref()).map(Target::identity) {
        let reference = spec.key("scaleTargetRef");
        name(reference.key("name").into(), Sought::Object(vec![target.clone()]));
    }
    match &object.slim {
        Some(Slim::MetricScaling(PolicyObject { policy: Some(policy), .. })) => {
            let list = spec.key("metrics");
            for (position, metric) in policy.metrics.iter().enumerate() {
                let item = list.index(position);
                let prometheus = item.key("prometheus");
                for sought in metric.query.names.iter().filter_map(schedule) {
                    name(prometheus.key("query").into(), sought);
                }
            }
        }
        Some(Slim::Placement(PolicyObject { policy: Some(policy), .. })) if is_sound(object) => {
            let namespace = object.identity.as_ref().map_or("", Identity::namespace);
            let list = spec.key("clusterSets");
            for (position, set) in policy.cluster_sets.iter().enumerate() {
                // The set may be defined elsewhere than its binding.
                let binding = Kind::ManagedClusterSetBinding.identity(namespace, set);
                let field = list.index(position).into();
                name(field, Sought::Object(vec![cluster_set(set), binding]));
            }
        }
        Some(Slim::Hub(HubObject::Cluster(Cluster { set: Some(set), .. }))) => {
            let metadata = Path::Root.key("metadata");
            let labels = metadata.key("labels");
            name(labels.key(CLUSTER_SET_LABEL).into(), Sought::Object(vec![cluster_set(set)]));
        }
        Some(Slim::Hub(HubObject::Binding(set))) => {
            let field = spec.key("clusterSet").into();
            let sought = Sought::Object(vec![cluster_set(set)]);
            references.push(Reference { index, field, sought, also: ", also as metadata.name" });
        }
        _ => {}
    }
    references
}

fn is_sound(object: &CheckedObject) -> bool {
    !object.findings.iter().any(|it| it.severity() == Severity::Error)
}

fn cluster_set(name: &str) -> Identity {
    Kind::ManagedClusterSet.identity("", name)
}

/// The schedule that a query names; `None` if it names no single schedule.
fn schedule(selects: &Selects) -> Option<Sought> {
    match selects {
        Selects::One(schedule) => Some(Sought::Object(vec![schedule.clone()])),
        Selects::Matching(matchers) => match &**matchers {
            [Matcher { label: Label::Name, condition: Condition::Equals(name) }] => {
                Some(Sought::Schedule(name.clone()))
            }
            _ => None,
        },
    }
}

/// Searches the names of one cluster. Each name with the same first letter is compared.
struct Search<'a> {
    known: BTreeSet<&'a Identity>,
    /// The names of the schedules in all namespaces.
    schedules: BTreeSet<&'a str>,
    /// The number of pairs that may still be compared.
    remaining: usize,
}

impl<'a> Search<'a> {
    fn new(known: BTreeSet<&'a Identity>) -> Search<'a> {
        let kind = Some(Kind::MetricsProducer);
        let schedules = known.iter().copied().filter(|it| Kind::for_object(it) == kind);
        let schedules = schedules.map(Identity::name).collect();
        Search { known, schedules, remaining: MAX_COMPARISONS }
    }

    /// The missing object, and the present object with a similar name.
    fn near(&mut self, sought: &Sought) -> Option<(Identity, Identity)> {
        match sought {
            Sought::Object(names) => {
                let is_here = |it: &Identity| {
                    let is_set = Kind::for_object(it) == Some(Kind::ManagedClusterSet);
                    self.known.contains(it) || is_set && BUILT_IN_SETS.contains(&it.name())
                };
                if names.iter().any(is_here) {
                    return None;
                }
                names.iter().find_map(|it| Some((it.clone(), self.nearest(it)?)))
            }
            Sought::Schedule(name) => {
                let kind = Kind::MetricsProducer;
                let near = self.nearest_schedule(name)?;
                Some((kind.identity("", name), kind.identity("", near)))
            }
        }
    }

    fn nearest(&mut self, written: &Identity) -> Option<Identity> {
        let as_named = |name: String| {
            Identity::new(written.group(), written.kind(), written.namespace(), name)
        };
        let (first, next) = initial(written.name())?;
        let (from, to) = (as_named(first), as_named(next));
        let near = self.known.range::<Identity, _>((Bound::Included(&from), Bound::Excluded(&to)));
        let names = near.map(|it| it.name());
        compared(&mut self.remaining, written.name(), names).map(|it| as_named(it.to_owned()))
    }

    fn nearest_schedule(&mut self, written: &str) -> Option<&'a str> {
        if self.schedules.contains(written) {
            return None;
        }
        let (first, next) = initial(written)?;
        let bounds = (Bound::Included(&*first), Bound::Excluded(&*next));
        let names = self.schedules.range::<str, _>(bounds).copied();
        compared(&mut self.remaining, written, names)
    }
}

/// The first letter of a name, and the letter after that in the alphabet: the range of all names with this first
/// letter.
fn initial(name: &str) -> Option<(String, String)> {
    let first = *name.as_bytes().first().filter(|it| it.is_ascii())?;
    Some((char::from(first).to_string(), char::from(first + 1).to_string()))
}

/// The nearest of these names; `None` if the search must compare more pairs than remain.
fn compared<'n>(
    remaining: &mut usize,
    written: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let most = *remaining;
    let names = names.take(most).inspect(|_| *remaining -= 1);
    let near = nearest_name(written, names);
    near.filter(|_| *remaining > 0)
}
