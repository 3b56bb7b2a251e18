//! The input of a command: the worlds of the places in files or in a cluster.
//!
//! Valid objects are used; the others become findings. The order in which files are named or found
//! makes no difference, nor whether an object was read from a file or from a cluster.

mod grouping;
mod not_found;
mod place;

use std::collections::BTreeSet;
use std::io::{self, Write};

use almanac_api::checking::{CheckContext, CheckedObject, Place, Places, check_everything};
use almanac_api::finding::Severity;
use almanac_api::reading::{PlacedFinding, ReadObject, Reading, labels};
use almanac_calendar::Zone;
use almanac_engine::{Family, PolicyName};
use jiff::Timestamp;

use self::grouping::grouped;
pub(crate) use self::grouping::together;
pub(crate) use self::place::{InputObject, InputPlace};
use crate::argument_error::ArgumentError;
use crate::drawing::{self, Drawing};
use crate::files::{Files, Note, Targets, write_notes};
use crate::findings::{self, Item};
use crate::invisible::printable;
use crate::selector::Selector;
use crate::subject::Subject;

/// The input, from files or from a cluster.
#[derive(Default)]
pub(crate) struct Input {
    /// The places, at least one. A live cluster is one place.
    pub(crate) places: Vec<InputPlace>,
    pub(crate) reading: Reading,
    /// In the order of the sources' names, and of the places in each.
    pub(crate) findings: Vec<PlacedFinding>,
    /// Objects that may matter but could not be read for lack of permission.
    pub(crate) unseen: BTreeSet<String>,
    /// The next step, if the cluster has no policies.
    pub(crate) why_empty: Option<String>,
    /// All places, which findings refer to by index.
    all_places: Vec<Place>,
    pub(crate) selector: Option<Selector>,
    notes: Vec<Note>,
}

/// A request for objects of a cluster.
#[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "no cluster is read"))]
pub(crate) struct ClusterRequest<'a> {
    /// The namespace to read; `None` for the namespace of the context.
    pub(crate) namespace: Option<&'a str>,
    /// The namespace of the policies for QoS levels; `None` if such policies are not requested.
    pub(crate) config_namespace: Option<&'a str>,
    /// The zone of `CronJobs` without a time zone; `None` if `CronJobs` are not requested.
    pub(crate) cron_jobs: Option<Zone>,
    /// The label selector of `CronJobs`.
    pub(crate) selector: Option<&'a Selector>,
    /// The start of checks that look ahead.
    pub(crate) checked_at: Timestamp,
    /// The instant at which the cluster is read.
    pub(crate) now: Timestamp,
}

impl Input {
    pub(crate) fn from_files(
        mut files: Files,
        command: &str,
        namespace: Option<&str>,
        checked_at: Timestamp,
    ) -> Input {
        files.reading.sort();
        let context = CheckContext {
            kubernetes: files.kubernetes,
            ..CheckContext::new(namespace.unwrap_or("default"), checked_at)
        };
        let mut everything = check_everything(&files.reading, context, &files.layout);
        files.complete_advice(&mut everything, command);
        let notes = files.notes(&everything, command);
        let reading = files.reading;
        let objects = std::mem::take(&mut everything.objects);
        let places = &everything.places;
        let groups = places_of(&reading, objects, places, context.namespace, &files.targets);
        Input::new(groups, reading, everything.findings, places, notes)
    }

    /// The input of these places. `named` contains all places of the checks.
    pub(crate) fn new(
        places: Vec<InputPlace>,
        reading: Reading,
        findings: Vec<PlacedFinding>,
        named: &Places,
        notes: Vec<Note>,
    ) -> Input {
        Input {
            places,
            reading,
            findings,
            all_places: named.named().to_vec(),
            notes,
            ..Input::default()
        }
    }

    /// The name of the only place with a finding; `None` if all places have it.
    pub(crate) fn place_of(&self, placed: &PlacedFinding) -> Option<&str> {
        self.all_places.get(placed.place?).map(|place| &*place.name)
    }

    /// All places, in the order of their indexes, even those without relevant objects.
    pub(crate) fn all_places(&self) -> &[Place] {
        &self.all_places
    }

    /// The findings in the JSON form of all commands.
    pub(crate) fn items(&self) -> Vec<Item<'_>> {
        self.findings.iter().map(|placed| self.item(placed)).collect()
    }

    pub(crate) fn item<'a>(&'a self, placed: &'a PlacedFinding) -> Item<'a> {
        Item::new(&self.reading, placed, self.place_of(placed))
    }

    /// Writes a finding as text.
    pub(crate) fn write_finding(
        &self,
        placed: &PlacedFinding,
        output: &mut Drawing<impl Write>,
    ) -> io::Result<()> {
        let source = &self.reading.sources[placed.source];
        findings::write_finding(output, source, placed, self.place_of(placed))
    }

    /// The files and directories that were found but not read as written.
    pub(crate) fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// Writes the notes on unread files and directories, and on unreadable objects.
    pub(crate) fn write_notes(&self, output: &mut impl Write) -> io::Result<()> {
        write_notes(&self.notes, output)?;
        let mut others = self.why_empty.iter().chain(&self.unseen);
        others.try_for_each(|note| writeln!(output, "note: {}", printable(note)))
    }

    /// Reports the notes on standard error.
    pub(crate) fn report_notes(&self) {
        // If standard error is closed, the notes are lost.
        let _ = self.write_notes(&mut drawing::standard_error());
    }

    /// Writes the notes to `kept` if given, else to standard error.
    pub(crate) fn note(&self, kept: Option<&mut Vec<u8>>) {
        match kept {
            // Writing to memory does not fail.
            Some(kept) => _ = self.write_notes(kept),
            None => self.report_notes(),
        }
    }

    /// Reports the errors of the input on standard error.
    pub(crate) fn report_errors(&self) {
        let mut output = drawing::standard_error();
        for placed in &self.findings {
            if placed.finding.severity() == Severity::Error {
                // If standard error is closed, the finding is lost.
                let _ = self.write_finding(placed, &mut output);
            }
        }
    }

    /// The selected policies of a place that match the name by their own names or by their targets.
    pub(crate) fn policies(&self, place: &InputPlace, subject: &Subject) -> Vec<PolicyName> {
        let mut policies = subject.policies(&place.world);
        policies.retain(|policy| self.is_selected(place, policy));
        policies
    }

    /// An error for the first name without a match in any place. A name that occurs in a partly unreadable text
    /// causes no error, because the findings include the errors of the text.
    pub(crate) fn check_names(&self, names: &[Subject]) -> Result<(), ArgumentError> {
        self.check_names_but(names, |_| false)
    }

    /// An error for the first name without a match, where a name may also be that of a `CronJob`.
    pub(crate) fn check_names_and_jobs(&self, names: &[Subject]) -> Result<(), ArgumentError> {
        self.check_names_but(names, |name| self.names_job(name))
    }

    /// Whether a name is that of a `CronJob`.
    pub(crate) fn names_job(&self, name: &Subject) -> bool {
        let mut jobs = self.places.iter().flat_map(|place| &place.cron_jobs);
        jobs.any(|job| name.fits(&job.identity))
    }

    fn check_names_but(
        &self,
        names: &[Subject],
        is_known: impl Fn(&Subject) -> bool,
    ) -> Result<(), ArgumentError> {
        match names.iter().find(|name| !is_known(name) && !self.may_match(name)) {
            Some(unknown) => {
                // The object may exist in an invalid form.
                self.report_errors();
                Err(unknown.not_found("NAME", &self.places))
            }
            None => Ok(()),
        }
    }

    /// Whether a name has a match, or occurs in a partly unreadable text.
    pub(crate) fn may_match(&self, name: &Subject) -> bool {
        let is_error =
            |it: &&PlacedFinding| it.object.is_none() && it.finding.severity() == Severity::Error;
        let has_name = |it: &PlacedFinding, name: &str| {
            let ends =
                |letter: char| !letter.is_ascii_alphanumeric() && !matches!(letter, '-' | '.');
            self.reading.sources[it.source].text().split(ends).any(|word| word == name)
        };
        self.places.iter().any(|place| !self.policies(place, name).is_empty())
            || self.findings.iter().filter(is_error).any(|it| has_name(it, name.name()))
    }

    /// Whether a policy matches the label selector.
    pub(crate) fn is_selected(&self, place: &InputPlace, policy: &PolicyName) -> bool {
        let labels = || place.labels(&policy.identity);
        self.selector.as_ref().is_none_or(|selector| selector.fits(labels()))
    }

    /// Whether there is a label selector.
    pub(crate) fn is_narrowed(&self) -> bool {
        self.selector.is_some()
    }

    /// The errors in the object of a policy, which make the object unusable in part or as a whole.
    pub(crate) fn errors_of(
        &self,
        place: &InputPlace,
        policy: &PolicyName,
    ) -> impl Iterator<Item = &PlacedFinding> {
        let position = place.position(&policy.identity);
        self.findings.iter().filter(move |placed| {
            position.is_some()
                && placed.object == position
                && placed.finding.severity() == Severity::Error
        })
    }

    /// The zone that all policies share; `None` if they differ. Policies for QoS levels count only if they select
    /// pods, because most users of a cluster are interested in other policies.
    pub(crate) fn only_zone(&self) -> Option<Zone> {
        let mut zones = self.places.iter().flat_map(|place| {
            let world = &place.world;
            let is_relevant = |policy: &PolicyName| {
                policy.family != Family::QosLevels || !world.footprint(policy).writes.is_empty()
            };
            world.policies().filter(is_relevant).flat_map(|policy| world.zones_of(&policy))
        });
        let (_, first) = zones.next()?;
        zones.all(|(_, zone)| zone == first).then_some(first)
    }
}

/// The places of the checked objects, each with its world. `namespace` is the default for objects without a
/// namespace; `also` contains the objects to keep in addition to the targets of policies.
pub(crate) fn places_of(
    reading: &Reading,
    checked: Vec<CheckedObject>,
    places: &Places,
    namespace: &str,
    also: &Targets,
) -> Vec<InputPlace> {
    let objects = checked.into_iter().zip(&reading.objects).map(|(checked, read)| InputObject {
        checked,
        api_version: read.api_version.to_string(),
        labels: labels(&read.node),
        names_its_namespace: names_namespace(read),
    });
    let objects: Vec<InputObject> = objects.collect();
    grouped(&objects, reading, places, namespace, also)
}

fn names_namespace(object: &ReadObject) -> bool {
    object.node.get("metadata").and_then(|it| it.get("namespace")).is_some()
}
