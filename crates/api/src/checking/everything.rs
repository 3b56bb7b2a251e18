//! Checks everything that was read: each object, then the objects of each place together.
//!
//! For files found in a directory, only findings about policies and their targets are reported.

use std::collections::{BTreeMap, BTreeSet};

use almanac_engine::Identity;

use super::misnamed::{check_names, unchecked_names, unread_names};
use super::object::{CheckContext, CheckedObject, check};
use super::places::{Layout, Places};
use super::pods_together::{LocatedFinding, check_pods_together};
use super::together::{check_against_foreign, check_together};
use super::units_together::{GovernedPod, check_units_together};
use crate::finding::{Code, Finding, Path, Severity, Span};
use crate::kinds::{Kind, Recognition, recognize};
use crate::objects::CONFIG_NAMESPACE;
use crate::reading::{
    CronJob, Engine, ForeignScaler, Locator, PlacedFinding, ReadObject, Reading, Template,
    claims_kind_of_ours, name_letters, placeholder, unfilled,
};

/// The result of checking a whole reading.
#[derive(Clone, Debug)]
pub struct CheckedReading {
    /// The objects, in the order of [`Reading::objects`].
    pub objects: Vec<CheckedObject>,
    /// The findings, including those about files, in the order of their locations.
    pub findings: Vec<PlacedFinding>,
    /// The files that are templates, in the order of the sources.
    pub templates: Vec<Template>,
    /// The places, one per cluster.
    pub places: Places,
    /// The indexes of the checked objects: in files found in a directory, only policies and their targets are checked.
    pub checked: Vec<usize>,
}

/// Checks all objects of a reading, alone and together.
#[must_use]
pub fn check_everything(
    reading: &Reading,
    context: CheckContext<'_>,
    layout: &Layout,
) -> CheckedReading {
    // The agent reads its ConfigMap from a namespace of its own.
    let config_namespace = layout.config_namespace.as_deref().unwrap_or(CONFIG_NAMESPACE);
    let of_agent = CheckContext { namespace: config_namespace, ..context };
    let check = |object: &ReadObject| match object.kind {
        Kind::ConfigMap => check(object, of_agent),
        _ => check(object, context),
    };
    let mut checked: Vec<_> = reading.objects.iter().map(check).collect();
    let mut templates = reading.templates.clone();
    let target_names = reading.targets();
    for (object, checked) in reading.objects.iter().zip(&mut checked) {
        // An object with a wrong version is used for its findings only.
        if !matches!(recognize(&object.api_version, object.kind.name()), Recognition::Supported(_))
        {
            (checked.identity, checked.slim, checked.scales) = (None, None, None);
        }
        if let Some((engine, finding)) = as_template(reading, object, checked) {
            let is_discovered = reading.sources[object.source].is_discovered();
            let template = Template { source: object.source, engine };
            templates
                .extend(is_template_reported(reading, object, &target_names).then_some(template));
            let of_template = if is_discovered { Vec::new() } else { vec![finding] };
            *checked = unfilled_object(checked, of_template);
        }
    }
    templates.sort();
    templates.dedup();
    let foreign = foreign_writers(reading, &checked, context);
    let places = places_of(reading, &checked, &foreign, context, layout);
    let targets = targets(&checked, Kind::is_ours);
    let together = checked_by_place(reading, &checked, &places, &foreign, context);
    let mut findings = file_findings(reading, &targets, &places);
    let mut objects_checked = Vec::new();
    // One finding covers all objects of a file.
    let mut with_statuses = BTreeSet::new();
    for (index, (object, checked)) in reading.objects.iter().zip(&mut checked).enumerate() {
        let source = &reading.sources[object.source];
        let of_place = together.get(&index).into_iter().flatten();
        if drops_status(object) && with_statuses.insert(object.source) {
            checked.findings.push(dropped_status(object));
        }
        let own_count = checked.findings.len();
        checked.findings.extend(of_place.clone().map(|(finding, _)| finding.clone()));
        let in_places = vec![None; own_count].into_iter().chain(of_place.map(|(_, place)| *place));
        let matters = !source.is_discovered()
            || object.kind.is_ours()
            || checked.identity.as_ref().is_some_and(|it| targets.contains(it));
        let is_requested = belongs_somewhere(reading, object.source, &places);
        let is_checked = matters || checked.scales.is_some();
        if is_checked && is_requested {
            objects_checked.push(index);
        }
        let locator = Locator::new(source, object);
        for (finding, place) in checked.findings.iter_mut().zip(in_places) {
            let span = locator.locate(finding);
            name_letters(source, span, finding);
            if is_requested && (matters || finding.code == Code::TwoWriters) {
                let (source, finding) = (object.source, finding.clone().with_some_fix());
                let (object, span) = (Some(index), Some(span));
                findings.push(PlacedFinding { source, span, finding, object, place });
            }
        }
    }
    report_duplicate_pods(reading, &checked, &places, context.namespace, &mut findings);
    findings.sort_by_key(|finding| (finding.source, finding.span.map(|span| span.start)));
    CheckedReading { objects: checked, findings, templates, places, checked: objects_checked }
}

/// Whether a plain `kubectl apply` drops the only content of an object. An object that a cluster has printed is not
/// meant to be applied.
fn drops_status(object: &ReadObject) -> bool {
    let is_printed = object.node.get("metadata").is_some_and(|it| it.get("uid").is_some());
    object.kind == Kind::AddOnPlacementScore && object.node.get("status").is_some() && !is_printed
}

fn dropped_status(object: &ReadObject) -> Finding {
    let kind = object.kind.name();
    let why = format!("kubectl apply drops the status, and an {kind} has no other content");
    let fix = "create the objects first, then apply the file again with --server-side --subresource=status";
    Finding::new(Code::DroppedStatus, Path::Root.key("status"), why).with_fix(fix)
}

/// Whether an error in an object is only due to a placeholder that is not filled in yet.
fn as_template(
    reading: &Reading,
    object: &ReadObject,
    checked: &CheckedObject,
) -> Option<(Engine, Finding)> {
    let source = &reading.sources[object.source];
    let errors = checked.findings.iter().filter(|it| it.severity() == Severity::Error);
    let locator = Locator::new(source, object);
    let mut texts = errors.map(|finding| (finding, source.slice(locator.locate(finding))));
    let (finding, engine) =
        texts.find_map(|(finding, text)| Some((finding, placeholder(text)?.1)))?;
    let field = finding.field.clone();
    Some((engine, Finding { field, ..unfilled(engine, source.text()) }))
}

/// An object whose content is unknown until its placeholders are filled in.
fn unfilled_object(checked: &CheckedObject, findings: Vec<Finding>) -> CheckedObject {
    let CheckedObject { kind, is_marked, .. } = *checked;
    CheckedObject {
        identity: None,
        slim: None,
        scales: None,
        named: None,
        kind,
        findings,
        is_marked,
    }
}

/// Whether a template is reported: the user named its file, or the file has a policy, an autoscaler or a target.
fn is_template_reported(
    reading: &Reading,
    object: &ReadObject,
    targets: &BTreeSet<(&str, &str)>,
) -> bool {
    let source = &reading.sources[object.source];
    let name = || object.node.get("metadata")?.get("name")?.as_text();
    let is_target = || name().is_some_and(|it| targets.contains(&(object.kind.name(), it)));
    !source.is_discovered() || claims_kind_of_ours(source.text().as_bytes()) || is_target()
}

/// The targets of the objects whose kinds match.
fn targets(checked: &[CheckedObject], matches: impl Fn(Kind) -> bool) -> BTreeSet<Identity> {
    let scaling = checked.iter().filter(|object| matches(object.kind));
    scaling.filter_map(|object| Some(object.scales.as_ref()?.identity().clone())).collect()
}

/// The places, derived from the policies, the autoscalers and their targets.
fn places_of(
    reading: &Reading,
    checked: &[CheckedObject],
    foreign: &[ForeignWriter],
    context: CheckContext<'_>,
    layout: &Layout,
) -> Places {
    let targets = targets(checked, |_| true);
    let writes = |object: &CheckedObject| object.scales.is_some() || object.kind.is_policy();
    let folder = |source: usize| reading.sources[source].folder();
    let objects = checked.iter().zip(&reading.objects).filter_map(|(checked, object)| {
        let identity = checked.identity.as_ref()?;
        let matters = writes(checked) || targets.contains(identity);
        Some((identity, folder(object.source)?)).filter(|_| matters)
    });
    let others: Vec<(Identity, usize)> =
        reading.others.iter().map(|it| (it.identity(context.namespace), it.source)).collect();
    let others = others.iter().filter(|(identity, _)| targets.contains(identity));
    let others = others.filter_map(|(identity, source)| Some((identity, folder(*source)?)));
    let foreign = foreign.iter().filter_map(|it| Some((&it.identity, folder(it.source)?)));
    Places::derive(layout, objects.chain(others).chain(foreign))
}

/// An object of another project that scales the target of a policy or an autoscaler.
struct ForeignWriter {
    identity: Identity,
    target: Identity,
    /// The name in a message.
    writer: String,
    source: usize,
    span: Span,
}

fn foreign_writers(
    reading: &Reading,
    checked: &[CheckedObject],
    CheckContext { namespace, .. }: CheckContext<'_>,
) -> Vec<ForeignWriter> {
    let targets = targets(checked, |_| true);
    let writer = |it: &ForeignScaler| ForeignWriter {
        identity: it.identity(namespace),
        target: it.target(namespace),
        writer: it.display_name(namespace),
        source: it.source,
        span: it.span,
    };
    let writers = reading.foreign.iter().map(writer);
    writers.filter(|it| targets.contains(&it.target)).collect()
}

/// A finding, and the only place to which it applies; `None` if it applies to all places.
type InPlace = (Finding, Option<usize>);

/// Findings that depend on all objects of a place, by object.
fn checked_by_place(
    reading: &Reading,
    checked: &[CheckedObject],
    places: &Places,
    foreign: &[ForeignWriter],
    context: CheckContext<'_>,
) -> BTreeMap<usize, Vec<InPlace>> {
    let line = |source: usize, span: Span| line_of(reading, source, span);
    let written_at = |index: usize| {
        let object = &reading.objects[index];
        line(object.source, object.node.span)
    };
    let mut findings: BTreeMap<usize, Vec<(Finding, Vec<usize>)>> = BTreeMap::new();
    let folders = reading.objects.iter().map(|it| reading.sources[it.source].folder());
    let foreign_folders = foreign.iter().map(|it| reading.sources[it.source].folder());
    let pod_folders = reading.pods.iter().map(|it| reading.sources[it.source].folder());
    let pods_of = places.split(pod_folders);
    let both = places.split(folders).into_iter().zip(places.split(foreign_folders));
    let names = unchecked_names(reading, checked, context.namespace);
    let name_folders = names.iter().map(|(_, source)| reading.sources[*source].folder());
    let rest = pods_of.into_iter().zip(places.split(name_folders));
    let unread = unread_names(reading);
    for (place, ((here, foreign_here), (pods, names_here))) in both.zip(rest).enumerate() {
        let here = here.into_iter().map(|index| (index, &checked[index]));
        let writers = foreign_here.into_iter().map(|index| &foreign[index]);
        let writers = writers
            .map(|it| (it.target.clone(), (it.writer.clone(), line(it.source, it.span))))
            .collect();
        let against_foreign = check_against_foreign(here.clone(), &writers);
        let pods = pods.into_iter().map(|index| (index, &reading.pods[index]));
        let pods = pods.map(|(index, pod)| {
            let identity = pod.identity(context.namespace);
            GovernedPod { identity, pod: &pod.unit_pod, index }
        });
        let pod_written_at = |index: usize| {
            let pod = &reading.pods[index];
            line(pod.source, pod.span)
        };
        let of_units = check_units_together(here.clone(), pods, written_at, pod_written_at);
        let names_here = names_here.into_iter().map(|index| &names[index].0);
        let misnamed = check_names(here.clone(), names_here, &unread);
        let of_pairs = check_together(here, written_at).into_iter().chain(against_foreign);
        for (index, finding) in of_pairs.chain(of_units).chain(misnamed) {
            let of_object = findings.entry(index).or_default();
            match of_object.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, in_places)) => in_places.push(place),
                None => of_object.push((finding, vec![place])),
            }
        }
    }
    let in_place = |(finding, in_places): (Finding, Vec<usize>)| {
        let is_everywhere = in_places.len() == places.count();
        (finding, in_places.first().copied().filter(|_| !is_everywhere))
    };
    findings
        .into_iter()
        .map(|(index, all)| (index, all.into_iter().map(in_place).collect()))
        .collect()
}

/// The findings about the files themselves.
fn file_findings(
    reading: &Reading,
    targets: &BTreeSet<Identity>,
    places: &Places,
) -> Vec<PlacedFinding> {
    let names: BTreeSet<(&str, &str)> = targets.iter().map(|it| (it.kind(), it.name())).collect();
    let conditional_findings =
        reading.conditional_findings.iter().filter(|it| names.contains(&(&*it.kind, &*it.name)));
    let foreign = reading.foreign_policies.iter().map(|it| &it.finding);
    let of_jobs = reading.cron_jobs.iter().flat_map(|it| &it.findings);
    let of_text = reading.findings.iter().chain(conditional_findings.map(|it| &it.finding));
    let all = of_text.chain(foreign).chain(of_jobs);
    all.filter(|it| belongs_somewhere(reading, it.source, places)).cloned().collect()
}

/// Reports pods and nodes that are defined twice, where policies read them.
fn report_duplicate_pods(
    reading: &Reading,
    checked: &[CheckedObject],
    places: &Places,
    namespace: &str,
    findings: &mut Vec<PlacedFinding>,
) {
    let folder = |source: usize| reading.sources[source].folder();
    let objects_of = places.split(reading.objects.iter().map(|it| folder(it.source)));
    let pods_of = places.split(reading.pods.iter().map(|it| folder(it.source)));
    let nodes_of = places.split(reading.nodes.iter().map(|it| folder(it.source)));
    let by_place = objects_of.into_iter().zip(pods_of.into_iter().zip(nodes_of));
    for (place, (objects, (pods, nodes))) in by_place.enumerate() {
        if !objects.iter().any(|it| checked[*it].kind.reads_pods()) {
            continue;
        }
        let line = |source: usize, span: Span| line_of(reading, source, span);
        let duplicates = check_pods_together(reading, (&pods, &nodes), namespace, line);
        let place = Some(place).filter(|_| places.count() > 1);
        for LocatedFinding { source, span, finding } in duplicates {
            // Duplicates of some kinds are reported with the object already, and so are duplicates of any kind in
            // another place.
            let is_same =
                |it: &PlacedFinding| it.source == source && it.finding.message == finding.message;
            let is_reported = findings.iter().any(is_same);
            if !is_reported && belongs_somewhere(reading, source, places) {
                findings.push(PlacedFinding {
                    source,
                    span: Some(span),
                    finding,
                    object: None,
                    place,
                });
            }
        }
    }
}

pub(super) fn line_of(reading: &Reading, source: usize, span: Span) -> String {
    let source = &reading.sources[source];
    format!("{}:{}", source.name(), source.position(span.start).line)
}

/// Whether a file belongs to a requested place.
pub(super) fn belongs_somewhere(reading: &Reading, source: usize, places: &Places) -> bool {
    !places.holding(reading.sources[source].folder()).is_empty()
}

impl CheckedReading {
    /// The files with checked objects, those that the user named, and those with findings.
    #[must_use]
    pub fn files(&self, reading: &Reading) -> BTreeSet<usize> {
        let named_files =
            (0..reading.sources.len()).filter(|it| !reading.sources[*it].is_discovered());
        let named_files =
            named_files.filter(|source| belongs_somewhere(reading, *source, &self.places));
        let of_objects = self.checked.iter().map(|object| reading.objects[*object].source);
        let of_jobs = self.cron_jobs(reading).map(|job| job.source);
        named_files
            .chain(of_objects)
            .chain(of_jobs)
            .chain(self.sources_of_bounds(reading))
            .chain(self.findings.iter().map(|it| it.source))
            .collect()
    }

    /// The `CronJobs` that were checked.
    pub fn cron_jobs<'a>(&'a self, reading: &'a Reading) -> impl Iterator<Item = &'a CronJob> {
        reading.cron_jobs.iter().filter(|job| belongs_somewhere(reading, job.source, &self.places))
    }

    /// The source of each quota and limit range that was checked.
    pub fn sources_of_bounds<'a>(
        &'a self,
        reading: &'a Reading,
    ) -> impl Iterator<Item = usize> + 'a {
        let quotas = reading.quotas.iter().map(|it| it.source);
        let sources = quotas.chain(reading.limit_ranges.iter().map(|it| it.source));
        sources.filter(|source| belongs_somewhere(reading, *source, &self.places))
    }

    /// The name of the only place to which a finding applies.
    #[must_use]
    pub fn place_of(&self, placed: &PlacedFinding) -> Option<&str> {
        placed.place.map(|place| self.places.name(place))
    }
}
