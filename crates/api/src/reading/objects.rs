//! Converts documents to objects: expands lists, recognizes kinds, and records foreign objects by name.
//!
//! All content of a file that the user named is read. Of a file found in a directory, only the policies and their
//! targets are read; the rest is skipped.

use std::collections::BTreeSet;

use super::agent_config_name;
use super::cron_jobs::{CronJob, check_cron_job};
use super::envelope::{envelope, is_nearly_a_policy, removed};
use super::foreign::{self, ForeignPolicy, ForeignScaler};
use super::limits;
use super::other_object::OtherObject;
use super::placeholder::Template;
use super::pods::{ReadNode, ReadPod};
use super::quotas::{ReadLimitRange, ReadQuota};
use super::reported::{filter_finding, is_already_reported};
use super::scheduler_profile;
use super::source::Source;
use super::stream;
use super::text_finding::more_mistakes;
use super::typography::name_letters;
use crate::finding::{Finding, Span};
use crate::kinds::{Kind, Recognition, recognize, removed_version};
use crate::tree::Node;

/// An object of a kind that Almanac reads, as written.
#[derive(Clone, Debug)]
pub struct ReadObject {
    /// The kind of the object.
    pub kind: Kind,
    /// The `apiVersion` of the object.
    pub api_version: Box<str>,
    /// The index of the source in [`Reading::sources`].
    pub source: usize,
    /// The whole object.
    pub node: Node,
}

/// A finding and its location.
#[derive(Clone, PartialEq, Debug)]
pub struct PlacedFinding {
    /// The index of the source in [`Reading::sources`].
    pub source: usize,
    /// The location in the source; `None` when the finding is about the whole file.
    pub span: Option<Span>,
    /// The finding itself.
    pub finding: Finding,
    /// The index of the object in [`Reading::objects`]; `None` for a finding about the text.
    pub object: Option<usize>,
    /// The index of the only place to which the finding applies; `None` if it applies to all.
    pub place: Option<usize>,
}

impl PlacedFinding {
    /// A finding about a text, for all places.
    #[must_use]
    pub fn new(source: usize, span: Option<Span>, finding: Finding) -> PlacedFinding {
        let finding = finding.with_some_fix();
        PlacedFinding { source, span, finding, object: None, place: None }
    }
}

/// A finding about an object that is a near miss of a kind. The finding is of interest only if some policy scales the
/// intended kind.
#[derive(Clone, Debug)]
pub(crate) struct ConditionalFinding {
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) finding: PlacedFinding,
}

/// The numbers of files and objects of no interest that were skipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Skipped {
    /// The number of discovered files without a policy, an autoscaler or a target.
    pub files: usize,
    /// The number of objects of unknown kinds, in the files that were read.
    pub objects: usize,
}

/// The sources, objects and findings of all files.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The files, in the order they were read.
    pub sources: Vec<Source>,
    /// The objects, in the order they were written.
    pub objects: Vec<ReadObject>,
    /// Mistakes in the files as such.
    pub findings: Vec<PlacedFinding>,
    /// The objects of unknown kinds that have names, in the order they were written.
    pub others: Vec<OtherObject>,
    /// The pods, and the workloads whose templates stand for pods.
    pub pods: Vec<ReadPod>,
    /// The nodes.
    pub nodes: Vec<ReadNode>,
    /// The objects of other projects that set the replicas of a target.
    pub foreign: Vec<ForeignScaler>,
    /// The findings about the policies of other projects.
    pub foreign_policies: Vec<ForeignPolicy>,
    /// The `CronJobs`, in the order they were written.
    pub cron_jobs: Vec<CronJob>,
    /// The quotas.
    pub quotas: Vec<ReadQuota>,
    /// The limit ranges.
    pub limit_ranges: Vec<ReadLimitRange>,
    /// Discovered files that contain no objects before another program has filled them in.
    pub templates: Vec<Template>,
    /// Counts of the skipped files and objects.
    pub skipped: Skipped,
    pub(crate) conditional_findings: Vec<ConditionalFinding>,
    /// Objects of which only the names are needed: the name is similar to that of a target, or the object is a near
    /// miss.
    pub(crate) similar: Vec<OtherObject>,
    /// The number of findings about objects of the current text that are only counted.
    unreported: usize,
    /// Whether the total demand of all pods is needed. Only then are quotas read.
    adds_up_pods: bool,
}

/// Reads the objects of a text and adds them to the reading.
pub fn read_objects(reading: &mut Reading, source: Source) {
    read(reading, source, None);
}

/// Reads only the targets in a discovered file, each by its kind and its name. For objects that are `similar` to
/// targets, only the names are recorded.
pub fn read_targets(
    reading: &mut Reading,
    source: Source,
    targets: &Targets<'_>,
    similar: &Targets<'_>,
) {
    read(reading, source, Some(Only { targets, similar }));
}

/// The scaled objects, by kind and name.
pub(super) type Targets<'a> = BTreeSet<(&'a str, &'a str)>;

/// The objects to read in a file without policies.
#[derive(Clone, Copy)]
struct Only<'a> {
    targets: &'a Targets<'a>,
    similar: &'a Targets<'a>,
}

fn read(reading: &mut Reading, mut source: Source, only: Option<Only<'_>>) {
    let index = reading.sources.len();
    let documents = stream::read(source.text());
    let findings = source.take_mistake().into_iter().chain(documents.findings);
    let sizes = |it: &Reading| {
        let findings = it.findings.len()
            + it.conditional_findings.len()
            + it.foreign_policies.len()
            + it.similar.len();
        // Pods and nodes matter only to policies about pods, which were read before.
        let pods = if only.is_some() { it.pods.len() + it.nodes.len() } else { 0 };
        let bounds = it.quotas.len() + it.limit_ranges.len();
        [it.objects.len(), it.others.len(), findings, pods, it.cron_jobs.len(), bounds]
    };
    let before = sizes(reading);
    let pods = (reading.pods.len(), reading.nodes.len());
    let mut template = None;
    for finding in findings {
        let (engine, reported) = filter_finding(&source, finding, only.map(|it| it.targets));
        template = engine.or(template);
        let reported = reported.filter(|it| !is_already_reported(reading, index, it));
        let placed = reported.map(|it| PlacedFinding::new(index, Some(it.span), *it.finding));
        reading.findings.extend(placed);
    }
    reading.sources.push(source);
    for document in documents.documents {
        reading.take(index, &document, only);
    }
    reading.report_remaining(index);
    reading.templates.extend(template.map(|engine| Template { source: index, engine }));
    let is_of_interest = template.is_some() || before != sizes(reading);
    if !is_of_interest && reading.sources[index].is_discovered() {
        reading.sources.pop();
        reading.pods.truncate(pods.0);
        reading.nodes.truncate(pods.1);
        reading.skipped.files += 1;
    }
}

impl Reading {
    /// An empty reading; quotas are read only if the total demand of all pods is needed.
    #[must_use]
    pub fn new(adds_up_pods: bool) -> Reading {
        Reading { adds_up_pods, ..Reading::default() }
    }

    /// Whether quotas are read.
    #[must_use]
    pub fn adds_up_pods(&self) -> bool {
        self.adds_up_pods
    }

    /// Sorts sources by their names and objects by their locations, regardless of the reading order.
    pub fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        order.sort_by(|one, other| self.sources[*one].name().cmp(self.sources[*other].name()));
        let mut new_index = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            new_index[*old] = new;
        }
        let mut sources: Vec<_> =
            std::mem::take(&mut self.sources).into_iter().zip(&new_index).collect();
        sources.sort_by_key(|(_, index)| **index);
        self.sources = sources.into_iter().map(|(source, _)| source).collect();
        let of_objects = self.objects.iter_mut().map(|it| &mut it.source);
        let of_others = self.others.iter_mut().chain(&mut self.similar).map(|it| &mut it.source);
        let of_foreign = self.foreign.iter_mut().map(|it| &mut it.source);
        let of_pods = self.pods.iter_mut().map(|it| &mut it.source);
        let of_nodes = self.nodes.iter_mut().map(|it| &mut it.source);
        let of_findings = self.findings.iter_mut().map(|it| &mut it.source);
        let of_conditional = self.conditional_findings.iter_mut().map(|it| &mut it.finding.source);
        let of_jobs = self.cron_jobs.iter_mut().flat_map(|job| {
            let of_findings = job.findings.iter_mut().map(|it| &mut it.source);
            of_findings.chain([&mut job.source])
        });
        let of_policies = self.foreign_policies.iter_mut().map(|it| &mut it.finding.source);
        let of_templates = self.templates.iter_mut().map(|it| &mut it.source);
        let of_quotas = self.quotas.iter_mut().map(|it| &mut it.source);
        let of_ranges = self.limit_ranges.iter_mut().map(|it| &mut it.source);
        let of_all = of_objects.chain(of_others).chain(of_findings).chain(of_conditional);
        let of_all = of_all.chain(of_pods).chain(of_nodes).chain(of_quotas).chain(of_ranges);
        for source in of_all.chain(of_templates).chain(of_foreign).chain(of_policies).chain(of_jobs)
        {
            *source = new_index[*source];
        }
        self.objects.sort_by_key(|object| (object.source, object.node.span.start));
        // The sort is stable, so the `CronJobs` of a source stay in order.
        self.cron_jobs.sort_by_key(|job| job.source);
        self.foreign.sort_by_key(|scaler| (scaler.source, scaler.span.start));
    }

    /// The objects that autoscalers and policies scale, by kind and name. Policies with other mistakes are included.
    #[must_use]
    pub fn targets(&self) -> Targets<'_> {
        self.objects.iter().filter_map(target_of).collect()
    }

    /// The objects that policies and autoscalers in the groups of policies scale.
    #[must_use]
    pub fn targets_of_policies(&self) -> Targets<'_> {
        let policies = self.objects.iter().filter(|object| object.kind.is_ours());
        policies.filter_map(target_of).collect()
    }

    pub(super) fn report(&mut self, source: usize, node: &Node, finding: Finding) {
        let reported = self.findings.iter().rev().take_while(|it| it.source == source);
        if reported.take(limits::FINDINGS_A_FILE).count() == limits::FINDINGS_A_FILE {
            self.unreported += 1;
            return;
        }
        let finding = self.placed(source, node, finding);
        self.findings.push(finding);
    }

    /// Reports the number of findings about objects of a source that are only counted.
    fn report_remaining(&mut self, source: usize) {
        let more = std::mem::take(&mut self.unreported);
        let last = self.findings.last().and_then(|placed| placed.span).filter(|_| more > 0);
        let count = last.map(|span| PlacedFinding::new(source, Some(span), more_mistakes(more)));
        self.findings.extend(count);
    }

    pub(super) fn placed(&self, source: usize, node: &Node, mut finding: Finding) -> PlacedFinding {
        let span = node.locate(&finding.field, finding.code.is_about_the_key());
        name_letters(&self.sources[source], span, &mut finding);
        PlacedFinding::new(source, Some(span), finding)
    }

    fn take(&mut self, source: usize, node: &Node, only: Option<Only<'_>>) {
        let is_discovered = self.sources[source].is_discovered();
        self.take_pods(source, node, only);
        if let Some(finding) = scheduler_profile::finding(node) {
            self.report(source, node, finding);
        }
        match envelope(node) {
            Err(_) if is_discovered && !is_nearly_a_policy(node) => {}
            Err(finding) => self.report(source, node, finding),
            Ok((_, kind)) if kind.ends_with("List") && is_list(node) => {
                self.open_list(source, node, only);
            }
            Ok((api_version, kind)) => self.take_object(source, node, (api_version, kind), only),
        }
    }

    fn take_object(
        &mut self,
        source: usize,
        node: &Node,
        (api_version, kind): (&str, &str),
        only: Option<Only<'_>>,
    ) {
        let recognition = recognize(api_version, kind);
        let meant = match &recognition {
            Recognition::Mistyped { field: "kind", meant } => meant.as_str(),
            _ => kind,
        };
        let name = (meant, name_of(node));
        if let Some(only) = only.filter(|it| !it.targets.contains(&name)) {
            let similar = OtherObject::read(api_version, meant, source, node);
            self.similar.extend(similar.filter(|_| only.similar.contains(&name)));
            self.skipped.objects += 1;
            return;
        }
        let is_foreign = self.take_foreign(source, node);
        match recognition {
            Recognition::Supported(kind) if kind.is_of_interest(name_of(node)) => {
                let (api_version, node) = (api_version.into(), node.clone());
                self.objects.push(ReadObject { kind, api_version, source, node });
            }
            Recognition::Supported(_) | Recognition::Other
                if self.take_cron_job(source, (api_version, kind), node)
                    || self.take_bound(source, api_version, kind, node) => {}
            Recognition::Supported(_) | Recognition::Other => {
                if let Some(finding) = agent_config_name::finding(node) {
                    self.report(source, node, finding);
                }
                if let Some(version) = removed_version(api_version, kind) {
                    let finding = removed(api_version, kind, version);
                    self.report_near_miss(source, node, kind, finding);
                }
                self.others.extend(OtherObject::read(api_version, kind, source, node));
                self.skipped.objects += usize::from(!is_foreign);
            }
            Recognition::Mistyped { field, meant } => match removed_version(api_version, kind) {
                Some(version) => {
                    let finding = removed(api_version, kind, version);
                    self.report_near_miss(source, node, kind, finding);
                    self.similar.extend(OtherObject::read(api_version, kind, source, node));
                }
                None => {
                    self.take_mistyped(source, node, (api_version, kind), (field, meant.as_str()));
                }
            },
        }
    }

    /// Records a `CronJob`, and returns whether the object is one.
    fn take_cron_job(
        &mut self,
        source: usize,
        (api_version, kind): (&str, &str),
        node: &Node,
    ) -> bool {
        let Some(mut job) = CronJob::read(api_version, kind, source, node) else { return false };
        let (starts, findings) = check_cron_job(node);
        job.starts = starts;
        let version = removed_version(api_version, kind);
        let of_version = version.map(|version| removed(api_version, kind, version));
        let findings = of_version.into_iter().chain(findings);
        job.findings = findings.map(|it| self.placed(source, node, it)).collect();
        self.cron_jobs.push(job);
        true
    }

    /// Records a quota or a limit range, and returns whether the object is one.
    fn take_bound(&mut self, source: usize, api_version: &str, kind: &str, node: &Node) -> bool {
        if !self.adds_up_pods {
            return false;
        }
        let quota = ReadQuota::read(api_version, kind, source, node);
        let range = ReadLimitRange::read(api_version, kind, source, node);
        let is_bound = quota.is_some() || range.is_some();
        self.quotas.extend(quota);
        self.limit_ranges.extend(range);
        is_bound
    }

    /// Records the content of an object for the controllers of other projects, and returns whether the object is a
    /// policy.
    fn take_foreign(&mut self, source: usize, node: &Node) -> bool {
        self.foreign.extend(ForeignScaler::read(source, node));
        let finding = foreign::finding(node).map(|it| self.placed(source, node, it));
        let policy = finding.map(|it| ForeignPolicy::new(node, it));
        let is_policy = policy.is_some();
        self.foreign_policies.extend(policy);
        is_policy
    }

    /// Whether pods are needed, for policies about QoS levels or node units, or for bounds of the total demand.
    #[must_use]
    pub fn needs_pods(&self) -> bool {
        self.bounds_pods() && self.objects.iter().any(|object| object.kind.is_policy())
            || self.objects.iter().any(|object| object.kind.reads_pods())
    }

    /// Whether the total demand of all pods is needed, and a quota or a node bounds the demand.
    #[must_use]
    pub fn bounds_pods(&self) -> bool {
        let has_amounts = |it: &ReadNode| it.node.allocatable.is_some();
        self.adds_up_pods && (!self.quotas.is_empty() || self.nodes.iter().any(has_amounts))
    }

    /// Records the pods and nodes on which policies about pods depend.
    fn take_pods(&mut self, source: usize, node: &Node, only: Option<Only<'_>>) {
        let Ok((api_version, kind)) = envelope(node) else { return };
        let is_other = |only: Only<'_>| !only.targets.contains(&(kind, name_of(node)));
        if only.is_some_and(is_other) && !self.needs_pods() {
            return;
        }
        self.pods.extend(ReadPod::read(api_version, kind, source, node));
        self.nodes.extend(ReadNode::read(api_version, kind, source, node));
    }

    fn open_list(&mut self, source: usize, node: &Node, only: Option<Only<'_>>) {
        let items = node.get("items").and_then(Node::as_list).unwrap_or_default();
        for item in items {
            self.take(source, item, only);
        }
    }
}

fn target_of(object: &ReadObject) -> Option<(&str, &str)> {
    let reference = object.node.get("spec")?.get("scaleTargetRef")?;
    Some((reference.get("kind")?.as_text()?, reference.get("name")?.as_text()?))
}

pub(super) fn name_of(node: &Node) -> &str {
    let name = node.get("metadata").and_then(|metadata| metadata.get("name"));
    name.and_then(Node::as_text).unwrap_or_default()
}

fn is_list(node: &Node) -> bool {
    node.get("items").is_some_and(|items| items.as_list().is_some())
}
