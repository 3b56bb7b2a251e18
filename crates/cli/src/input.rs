//! The world of what a user gives: files, or a cluster.
//!
//! What is in order is taken; what is not becomes a finding. The order in which files are named or
//! found makes no difference to anything that follows, and neither does it whether an object was
//! read from a file or from a cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use almanac_api::checking::{CheckContext, CheckedObject, check_everything};
use almanac_api::finding::{Code, Finding, Severity};
use almanac_api::kinds::{Kind, Role};
use almanac_api::reading::{Node, OtherObject, PlacedFinding, ReadObject, Reading, files};
use almanac_calendar::Zone;
use almanac_engine::{Identity, PolicyName, Slim, Workload, World};
use clap::Args;
use jiff::Timestamp;

use crate::cluster::{ClusterArguments, Fetched};
use crate::subject::Subject;

/// Where the objects come from.
#[derive(Args)]
pub(crate) struct InputArguments {
    /// A file, a directory (searched recursively), a glob such as 'teams/*.yaml', or - for standard
    /// input [default: none; read from the cluster]
    #[arg(short, long = "filename", value_name = "PATH", value_hint = clap::ValueHint::AnyPath)]
    file: Vec<String>,

    /// With files: the namespace of objects that have none [default: default]. Without: the
    /// namespace to read [default: the one that all names share, or the context's]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Everything that is given, by files or by a cluster.
pub(crate) struct Input {
    pub(crate) world: World,
    pub(crate) reading: Reading,
    /// In the order of the sources' names, and of the places in each.
    pub(crate) findings: Vec<PlacedFinding>,
    /// What is not forecast, though it is written: autoscalers that follow a query.
    pub(crate) left_out: BTreeSet<String>,
    /// What may matter and could not be looked at, for want of a right.
    pub(crate) unseen: BTreeSet<String>,
    api_versions: BTreeMap<Identity, String>,
    /// What is wrong with each object.
    of_objects: BTreeMap<Identity, Vec<Finding>>,
}

impl InputArguments {
    /// Reads the files, or else asks the cluster. `checked_at` is where checks that look ahead begin,
    /// `now` is when a cluster is seen, and `subjects` is what is asked about: in a cluster they say
    /// where to look when nothing else does.
    pub(crate) fn load(
        &self,
        checked_at: Timestamp,
        now: Timestamp,
        subjects: &[Subject],
    ) -> anyhow::Result<Input> {
        if self.file.is_empty() {
            let named = || Subject::only_namespace(subjects);
            let namespace = self.namespace.as_deref().or_else(named);
            return Ok(Input::of_cluster(self.cluster.fetch(namespace, checked_at)?, now));
        }
        let namespace = self.namespace.as_deref().unwrap_or("default");
        let reading = files::read(&self.file, io::stdin())?;
        Ok(Input::of_files(reading, CheckContext::new(namespace, checked_at)))
    }
}

impl Input {
    fn of_files(mut reading: Reading, context: CheckContext<'_>) -> Input {
        put_in_order(&mut reading);
        let (checked, findings) = check_everything(&reading, context);
        let versions = reading.objects.iter().map(|object| object.api_version.to_string());
        let mut input = Input::of(checked.into_iter().zip(versions).collect());
        input.findings = findings;
        input.add_targets(&reading.others, context.namespace);
        input.reading = reading;
        input
    }

    fn of_cluster(fetched: Fetched, now: Timestamp) -> Input {
        let Fetched { objects, reading, findings, seen, .. } = fetched;
        let mut input = Input::of(objects);
        input.world.seen_at = Some(now);
        for (target, workload) in seen.scales {
            input.world.hold(target, Slim::Workload(workload));
        }
        (input.reading, input.findings, input.unseen) = (reading, findings, seen.unseen);
        input
    }

    /// The world of objects, each with the `apiVersion` it is written in. Files and clusters meet
    /// here, and are treated alike from here on.
    fn of(objects: Vec<(CheckedObject, String)>) -> Input {
        let mut input = Input {
            world: World::default(),
            reading: Reading::default(),
            findings: Vec::new(),
            left_out: BTreeSet::new(),
            unseen: BTreeSet::new(),
            api_versions: BTreeMap::new(),
            of_objects: BTreeMap::new(),
        };
        let duplicates = duplicates(&objects);
        for (checked, api_version) in objects {
            let Some(identity) = checked.identity else { continue };
            input.api_versions.insert(identity.clone(), api_version);
            if duplicates.contains(&identity) {
                continue;
            }
            if let (Role::QueryScaler, Some(target)) = (checked.kind.role(), &checked.scales) {
                let target = target.identity();
                let left_out =
                    format!("{identity} scales by a query; its effect on {target} is not forecast");
                input.left_out.insert(left_out);
            }
            if let Some(slim) = checked.slim {
                input.world.hold(identity.clone(), slim);
            }
            input.of_objects.insert(identity, checked.findings);
        }
        for reference in input.world.policies().filter_map(|it| input.world.target_of(&it)) {
            let (target, written) = (reference.target.identity(), reference.api_version);
            input.api_versions.entry(target.clone()).or_insert_with(|| written.to_string());
        }
        input
    }

    /// Adds those objects of kinds we do not know that a policy targets.
    fn add_targets(&mut self, others: &[OtherObject], namespace: &str) {
        let references = self.world.policies().filter_map(|it| self.world.target_of(&it));
        let targets: BTreeSet<Identity> =
            references.map(|reference| reference.target.identity().clone()).collect();
        for other in others {
            let identity = other.identity(namespace);
            if targets.contains(&identity) {
                let workload = Workload { replicas: other.replicas };
                self.world.hold(identity, Slim::Workload(workload));
            }
        }
    }

    /// Whether something was found that somebody should know.
    pub(crate) fn has_findings(&self) -> bool {
        self.findings.iter().any(|placed| placed.finding.severity() != Severity::Info)
    }

    /// What is wrong with the object of a policy, so that some of it or nothing can be used.
    pub(crate) fn errors_of(&self, policy: &PolicyName) -> impl Iterator<Item = &Finding> {
        let findings = self.of_objects.get(&policy.identity).into_iter().flatten();
        findings.filter(|finding| finding.severity() == Severity::Error)
    }

    /// The same with their places.
    pub(crate) fn placed_errors_of(
        &self,
        policy: &PolicyName,
    ) -> impl Iterator<Item = &PlacedFinding> {
        let identity = &policy.identity;
        let is_the_object = |object: &&ReadObject| {
            let metadata = |key| object.node.get("metadata").and_then(|it| it.get(key));
            let text = |key| metadata(key).and_then(Node::as_text);
            object.kind.name() == identity.kind()
                && text("name") == Some(identity.name())
                && text("namespace").is_none_or(|namespace| namespace == identity.namespace())
        };
        let objects: Vec<&ReadObject> = self.reading.objects.iter().filter(is_the_object).collect();
        let errors: Vec<&Finding> = self.errors_of(policy).collect();
        self.findings.iter().filter(move |placed| {
            let is_in = |object: &&ReadObject| {
                let whole = object.node.span;
                object.source == placed.source
                    && placed.span.is_none_or(|it| whole.start <= it.start && it.end <= whole.end)
            };
            errors.contains(&&placed.finding) && objects.iter().any(is_in)
        })
    }

    /// The `apiVersion` an object is written in, or in which a policy names it.
    pub(crate) fn api_version(&self, identity: &Identity) -> String {
        let written = self.api_versions.get(identity).cloned();
        let usual = || Kind::of_object(identity).map(Kind::api_version);
        written.or_else(usual).unwrap_or_else(|| identity.group().to_owned())
    }

    /// The zone that all policies follow, if it is one.
    pub(crate) fn only_zone(&self) -> Option<Zone> {
        let policies = self.world.policies();
        let mut zones = policies.flat_map(|policy| self.world.zones_of(&policy));
        let (_, first) = zones.next()?;
        zones.all(|(_, zone)| zone == first).then_some(first)
    }
}

/// Neither of two objects of one name can be relied on.
fn duplicates(objects: &[(CheckedObject, String)]) -> BTreeSet<Identity> {
    let is_second = |object: &&CheckedObject| {
        object.findings.iter().any(|finding| finding.code == Code::DuplicateObject)
    };
    let checked = objects.iter().map(|(checked, _)| checked);
    checked.filter(is_second).filter_map(|object| object.identity.clone()).collect()
}

/// Orders sources by their names and objects by their places, whatever order they were given in.
fn put_in_order(reading: &mut Reading) {
    let mut order: Vec<usize> = (0..reading.sources.len()).collect();
    order.sort_by(|one, other| reading.sources[*one].name().cmp(reading.sources[*other].name()));
    let mut place = vec![0; order.len()];
    for (new, old) in order.iter().enumerate() {
        place[*old] = new;
    }
    let mut sources: Vec<_> =
        std::mem::take(&mut reading.sources).into_iter().zip(&place).collect();
    sources.sort_by_key(|(_, place)| **place);
    reading.sources = sources.into_iter().map(|(source, _)| source).collect();
    for object in &mut reading.objects {
        object.source = place[object.source];
    }
    for finding in &mut reading.findings {
        finding.source = place[finding.source];
    }
    reading.objects.sort_by_key(|object| (object.source, object.node.span.start));
}
