//! From documents to objects: lists are opened, kinds recognized, strangers noted by name.
//!
//! A file that somebody named is held to account for all of it. Of one that was found in a folder only
//! what it says of policies and their targets counts: the rest of it is passed over.

use std::collections::BTreeSet;

use super::cron_jobs::CronJob;
use super::envelope::{envelope, mistyped};
use super::foreign::{self, ForeignPolicy, ForeignScaler};
use super::limits;
use super::other_object::OtherObject;
use super::placeholder::Template;
use super::pods::{ReadNode, ReadPod};
use super::reported::{is_said_already, to_be_told};
use super::scheduler_profile;
use super::source::{Source, Span};
use super::stream;
use super::text_finding::more_mistakes;
use super::tree::Node;
use super::typography::name_letters;
use crate::checking::check_cron_job;
use crate::finding::Finding;
use crate::kinds::{Kind, Recognised, group_and_version, is_group_of_ours, recognise};

/// One object of a kind we know, as it was written.
#[derive(Clone, Debug)]
pub struct ReadObject {
    /// Which of the kinds we know.
    pub kind: Kind,
    /// Its `apiVersion`.
    pub api_version: Box<str>,
    /// Which source it came from: a position in [`Reading::sources`].
    pub source: usize,
    /// The whole object.
    pub node: Node,
}

/// A finding, and where it is.
#[derive(Clone, PartialEq, Debug)]
pub struct PlacedFinding {
    /// Which source: a position in [`Reading::sources`].
    pub source: usize,
    /// Where in the source; `None` when it is about the file as a whole.
    pub span: Option<Span>,
    /// What.
    pub finding: Finding,
    /// The object it is about: a position in [`Reading::objects`]; `None` when it is about the text.
    pub object: Option<usize>,
    /// In which place it holds, if it holds in one of several only: a position among them.
    pub place: Option<usize>,
}

impl PlacedFinding {
    /// A finding about a text, in whatever place that is.
    #[must_use]
    pub fn new(source: usize, span: Option<Span>, finding: Finding) -> PlacedFinding {
        let finding = finding.with_some_fix();
        PlacedFinding { source, span, finding, object: None, place: None }
    }
}

/// A finding about an object that is none of ours as it stands. Whether it is of interest depends on
/// whether some policy scales what it was meant to be.
#[derive(Clone, Debug)]
pub(crate) struct Doubtful {
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
    pub(crate) finding: PlacedFinding,
}

/// What was read or looked at and is of no interest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PassedOver {
    /// Files that were found, with nothing in them that is a policy, an autoscaler or a target.
    pub files: usize,
    /// Objects of kinds we do not know, in the files that were read.
    pub objects: usize,
}

/// Everything that was read.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// The files, in the order they were read.
    pub sources: Vec<Source>,
    /// The objects, in the order they were written.
    pub objects: Vec<ReadObject>,
    /// What is wrong with the files as such.
    pub findings: Vec<PlacedFinding>,
    /// The objects of kinds we don't know, as far as they have names, in the order they were written.
    pub others: Vec<OtherObject>,
    /// The pods, and the workloads whose templates stand for pods.
    pub pods: Vec<ReadPod>,
    /// The nodes.
    pub nodes: Vec<ReadNode>,
    /// What other projects have that sets the replicas of something.
    pub foreign: Vec<ForeignScaler>,
    /// What is told of the policies of other projects.
    pub foreign_policies: Vec<ForeignPolicy>,
    /// The `CronJobs`, in the order they were written.
    pub cron_jobs: Vec<CronJob>,
    /// Files that were found and are no objects before another program has filled them in.
    pub templates: Vec<Template>,
    /// What was passed over.
    pub passed_over: PassedOver,
    pub(crate) doubtful: Vec<Doubtful>,
    /// How many findings about objects of the text that is being read are only counted.
    unreported: usize,
}

/// Reads the objects of a text and adds them to what was read.
pub fn read_objects(reading: &mut Reading, source: Source) {
    read(reading, source, None);
}

/// Reads of a file that was found the objects that are targets, each by its kind and its name.
pub fn read_targets(reading: &mut Reading, source: Source, targets: &Targets<'_>) {
    read(reading, source, Some(targets));
}

/// What is scaled, by kind and name.
pub(super) type Targets<'a> = BTreeSet<(&'a str, &'a str)>;

fn read(reading: &mut Reading, mut source: Source, only: Option<&Targets<'_>>) {
    let index = reading.sources.len();
    let documents = stream::read(source.text());
    let findings = source.take_mistake().into_iter().chain(documents.findings);
    let sizes = |it: &Reading| {
        let told = it.findings.len() + it.doubtful.len() + it.foreign_policies.len();
        // Pods and nodes matter to policies about pods only, and those have been read by then.
        let pods = if only.is_some() { it.pods.len() + it.nodes.len() } else { 0 };
        [it.objects.len(), it.others.len(), told, pods, it.cron_jobs.len()]
    };
    let before = sizes(reading);
    let pods = (reading.pods.len(), reading.nodes.len());
    let mut template = None;
    for finding in findings {
        let (engine, told) = to_be_told(&source, finding, only);
        template = engine.or(template);
        let told = told.filter(|told| !is_said_already(reading, index, told));
        let placed = told.map(|it| PlacedFinding::new(index, Some(it.span), *it.finding));
        reading.findings.extend(placed);
    }
    reading.sources.push(source);
    for document in documents.documents {
        reading.take(index, document, only);
    }
    reading.report_remaining(index);
    reading.templates.extend(template.map(|engine| Template { source: index, engine }));
    let is_of_interest = template.is_some() || before != sizes(reading);
    if !is_of_interest && reading.sources[index].is_found() {
        reading.sources.pop();
        reading.pods.truncate(pods.0);
        reading.nodes.truncate(pods.1);
        reading.passed_over.files += 1;
    }
}

impl Reading {
    /// Orders sources by their names and objects by their places, whatever order they were read in.
    pub fn sort(&mut self) {
        let mut order: Vec<usize> = (0..self.sources.len()).collect();
        order.sort_by(|one, other| self.sources[*one].name().cmp(self.sources[*other].name()));
        let mut place = vec![0; order.len()];
        for (new, old) in order.iter().enumerate() {
            place[*old] = new;
        }
        let mut sources: Vec<_> =
            std::mem::take(&mut self.sources).into_iter().zip(&place).collect();
        sources.sort_by_key(|(_, place)| **place);
        self.sources = sources.into_iter().map(|(source, _)| source).collect();
        let of_objects = self.objects.iter_mut().map(|it| &mut it.source);
        let of_others = self.others.iter_mut().map(|it| &mut it.source);
        let of_foreign = self.foreign.iter_mut().map(|it| &mut it.source);
        let of_pods = self.pods.iter_mut().map(|it| &mut it.source);
        let of_nodes = self.nodes.iter_mut().map(|it| &mut it.source);
        let of_findings = self.findings.iter_mut().map(|it| &mut it.source);
        let of_doubtful = self.doubtful.iter_mut().map(|it| &mut it.finding.source);
        let of_jobs = self.cron_jobs.iter_mut().flat_map(|job| {
            let of_findings = job.findings.iter_mut().map(|it| &mut it.source);
            of_findings.chain([&mut job.source])
        });
        let of_policies = self.foreign_policies.iter_mut().map(|it| &mut it.finding.source);
        let of_templates = self.templates.iter_mut().map(|it| &mut it.source);
        let of_all = of_objects.chain(of_others).chain(of_findings).chain(of_doubtful);
        let of_all = of_all.chain(of_pods).chain(of_nodes);
        for source in of_all.chain(of_templates).chain(of_foreign).chain(of_policies).chain(of_jobs)
        {
            *source = place[*source];
        }
        self.objects.sort_by_key(|object| (object.source, object.node.span.start));
        // Stable, so that those of a source stay in order.
        self.cron_jobs.sort_by_key(|job| job.source);
        self.foreign.sort_by_key(|scaler| (scaler.source, scaler.span.start));
    }

    /// What autoscalers and policies scale, by kind and name, whatever else is wrong with them.
    #[must_use]
    pub fn targets(&self) -> Targets<'_> {
        self.objects.iter().filter_map(target_of).collect()
    }

    fn tell(&mut self, source: usize, node: &Node, finding: Finding) {
        let told = self.findings.iter().rev().take_while(|it| it.source == source);
        if told.take(limits::FINDINGS_A_FILE).count() == limits::FINDINGS_A_FILE {
            self.unreported += 1;
            return;
        }
        let finding = self.placed(source, node, finding);
        self.findings.push(finding);
    }

    /// Reports the number of findings about objects of a source that are only counted.
    fn report_remaining(&mut self, source: usize) {
        let more = std::mem::take(&mut self.unreported);
        let last = self.findings.last().and_then(|told| told.span).filter(|_| more > 0);
        let told = last.map(|span| PlacedFinding::new(source, Some(span), more_mistakes(more)));
        self.findings.extend(told);
    }

    fn placed(&self, source: usize, node: &Node, mut finding: Finding) -> PlacedFinding {
        let span = node.locate(&finding.field, finding.code.is_about_the_key());
        name_letters(&self.sources[source], span, &mut finding);
        PlacedFinding::new(source, Some(span), finding)
    }

    fn take(&mut self, source: usize, node: Node, only: Option<&Targets<'_>>) {
        let is_found = self.sources[source].is_found();
        self.take_pods(source, &node, only.is_some());
        if let Some(finding) = scheduler_profile::told(&node) {
            self.tell(source, &node, finding);
        }
        match envelope(&node) {
            Err(_) if is_found && !is_nearly_a_policy(&node) => {}
            Err(finding) => self.tell(source, &node, finding),
            Ok((_, kind)) if kind.ends_with("List") && is_list(&node) => {
                self.open_list(source, &node, only);
            }
            Ok((_, kind)) if only.is_some_and(|it| !it.contains(&(kind, name_of(&node)))) => {
                self.passed_over.objects += 1;
            }
            Ok((api_version, kind)) => {
                let recognised = recognise(api_version, kind);
                let api_version: Box<str> = api_version.into();
                let is_told = self.take_foreign(source, &node);
                match recognised {
                    Recognised::Supported(kind) if kind.is_of_interest(name_of(&node)) => {
                        self.objects.push(ReadObject { kind, api_version, source, node });
                    }
                    Recognised::Supported(_) | Recognised::Other
                        if self.take_cron_job(source, &api_version, kind, &node) => {}
                    Recognised::Supported(_) | Recognised::Other => {
                        self.others.extend(OtherObject::read(&api_version, kind, source, &node));
                        self.passed_over.objects += usize::from(!is_told);
                    }
                    Recognised::Mistyped { field, meant } => {
                        let written = if field == "kind" { kind } else { &*api_version };
                        let finding = mistyped(field, written, kind, &meant);
                        if is_found && !is_nearly_a_policy(&node) {
                            let finding = self.placed(source, &node, finding);
                            let (kind, name) = (kind.into(), name_of(&node).into());
                            self.doubtful.push(Doubtful { kind, name, finding });
                        } else {
                            self.tell(source, &node, finding);
                            // What else is wrong with it would only show once this is corrected.
                            let ours =
                                Kind::written(kind).filter(|it| is_group_of_ours(it.group()));
                            if let Some(kind) = ours.filter(|_| field == "apiVersion") {
                                self.objects.push(ReadObject { kind, api_version, source, node });
                            }
                        }
                    }
                }
            }
        }
    }

    /// Takes a `CronJob`, and returns whether it is one.
    fn take_cron_job(&mut self, source: usize, api_version: &str, kind: &str, node: &Node) -> bool {
        let Some(mut job) = CronJob::read(api_version, kind, source, node) else { return false };
        let (starts, findings) = check_cron_job(node);
        job.starts = starts;
        job.findings = findings.into_iter().map(|it| self.placed(source, node, it)).collect();
        self.cron_jobs.push(job);
        true
    }

    /// Takes what an object says to the controllers of other projects, and returns whether it is a policy.
    fn take_foreign(&mut self, source: usize, node: &Node) -> bool {
        self.foreign.extend(ForeignScaler::read(source, node));
        let told = foreign::told(node).map(|finding| self.placed(source, node, finding));
        let policy = told.map(|finding| ForeignPolicy::new(node, finding));
        let is_told = policy.is_some();
        self.foreign_policies.extend(policy);
        is_told
    }

    /// Whether there are policies about pods: about their levels, or about the nodes that they use.
    #[must_use]
    pub fn has_policies_about_pods(&self) -> bool {
        let is_about_pods = |kind: Kind| matches!(kind, Kind::ConfigMap | Kind::ResourcePolicy);
        self.objects.iter().any(|object| is_about_pods(object.kind))
    }

    /// Takes what policies about pods depend on.
    fn take_pods(&mut self, source: usize, node: &Node, is_for_policies: bool) {
        let Ok((api_version, kind)) = envelope(node) else { return };
        if is_for_policies && !self.has_policies_about_pods() {
            return;
        }
        self.pods.extend(ReadPod::read(api_version, kind, source, node));
        self.nodes.extend(ReadNode::read(api_version, kind, source, node));
    }

    fn open_list(&mut self, source: usize, node: &Node, only: Option<&Targets<'_>>) {
        let items = node.get("items").and_then(Node::as_list).unwrap_or_default();
        for item in items {
            self.take(source, item.clone(), only);
        }
    }
}

fn target_of(object: &ReadObject) -> Option<(&str, &str)> {
    let reference = object.node.get("spec")?.get("scaleTargetRef")?;
    Some((reference.get("kind")?.as_text()?, reference.get("name")?.as_text()?))
}

fn name_of(node: &Node) -> &str {
    let name = node.get("metadata").and_then(|metadata| metadata.get("name"));
    name.and_then(Node::as_text).unwrap_or_default()
}

/// Whether something that is no object of ours was probably meant to be a policy: by the half of its
/// kind that is there, or by the group.
fn is_nearly_a_policy(node: &Node) -> bool {
    if let Some(items) = node.as_list() {
        return items.iter().any(is_nearly_a_policy);
    }
    if scheduler_profile::told(node).is_some() {
        return true;
    }
    let text = |key: &str| node.get(key).and_then(Node::as_text).unwrap_or_default();
    let kind = Kind::ALL.iter().find(|kind| kind.name() == text("kind"));
    kind.is_some_and(|kind| is_group_of_ours(kind.group()))
        || is_group_of_ours(group_and_version(text("apiVersion")).0)
}

fn is_list(node: &Node) -> bool {
    node.get("items").is_some_and(|items| items.as_list().is_some())
}
