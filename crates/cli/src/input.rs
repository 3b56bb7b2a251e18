//! The input of a command: files or a cluster, as the worlds of the places in it.
//!
//! What is valid is used; what is not becomes a finding. The order in which files are named or
//! found makes no difference, nor whether an object was read from a file or from a cluster.

mod assume;
mod place;
mod sample;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::slice;

use almanac_api::checking::{CheckContext, CheckedObject, Place, Places, check_everything};
use almanac_api::exempt::EXEMPT_NAMESPACES;
use almanac_api::finding::Severity;
use almanac_api::objects::CONFIG_NAMESPACE;
use almanac_api::reading::{CronJob, PlacedFinding, ReadObject, Reading, labels};
use almanac_calendar::Zone;
use almanac_engine::qos_levels::{self, AgentSettings};
use almanac_engine::{Family, PolicyName, Slim};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use self::place::grouped;
pub(crate) use self::place::{InputObject, InputPlace, together};
use crate::argument_error::ArgumentError;
use crate::cluster::{ClusterArguments, Fetched, Wanted};
use crate::completion;
use crate::files::{FileArguments, Files, Note, Targets, write_notes};
use crate::findings::{self, Item};
use crate::selector::Selector;
use crate::subject::Subject;

/// Where the objects come from.
#[derive(Args)]
pub(crate) struct InputArguments {
    #[command(flatten)]
    files: FileArguments,

    #[command(flatten)]
    conditions: Conditions,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Which of the objects are asked about.
#[derive(Args, Clone)]
pub(crate) struct Narrowing {
    /// Only this namespace; in files, objects without a namespace are taken to be in it [default: all
    /// of the files; of a cluster, the one that all names share, or the context's]
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        add = ArgValueCandidates::new(completion::namespaces)
    )]
    pub(crate) namespace: Option<String>,

    /// Only policies that match this label selector, as with kubectl
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
}

/// What is asked about, and under which conditions.
#[derive(Args)]
pub(crate) struct Conditions {
    #[command(flatten)]
    narrowing: Narrowing,

    /// The result of a query of an autoscaler that can't be evaluated here, such as 'sum(queue)=12'
    #[arg(long = "sample", value_name = "PROMQL=NUMBER")]
    samples: Vec<String>,

    /// What to assume: an initial value, such as deployment/shop.replicas=3, or a score of a cluster, such as
    /// addonplacementscore/east/default.cpuratio=90
    #[arg(long, value_name = "NAME.FIELD=VALUE")]
    assume: Vec<String>,

    /// The namespaces in which nothing is carried out, as with `almanac controller`
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        default_values = EXEMPT_NAMESPACES
    )]
    exempt_namespaces: Vec<String>,

    /// The namespace of the configuration of Volcano's agent; in files, also of one that names none
    #[arg(long, value_name = "NAMESPACE", default_value = CONFIG_NAMESPACE)]
    config_namespace: String,

    /// How QoS levels are written: as numbers, or as the names that Volcano's agent reads
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LevelFormat::Number)]
    qos_level_format: LevelFormat,
}

/// How QoS levels are written.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum LevelFormat {
    Number,
    Name,
}

impl From<LevelFormat> for qos_levels::LevelFormat {
    fn from(chosen: LevelFormat) -> Self {
        match chosen {
            LevelFormat::Number => qos_levels::LevelFormat::Number,
            LevelFormat::Name => qos_levels::LevelFormat::Name,
        }
    }
}

/// The input, from files or from a cluster.
pub(crate) struct Input {
    /// The places, at least one. A live cluster is one place.
    pub(crate) places: Vec<InputPlace>,
    pub(crate) reading: Reading,
    /// In the order of the sources' names, and of the places in each.
    pub(crate) findings: Vec<PlacedFinding>,
    /// What may matter but could not be read for lack of permission.
    pub(crate) unseen: BTreeSet<String>,
    /// All places, which findings name by a number.
    all_places: Vec<Place>,
    selector: Option<Selector>,
    notes: Vec<Note>,
}

impl InputArguments {
    /// From there, under the usual conditions.
    pub(crate) fn of(
        files: FileArguments,
        narrowing: Narrowing,
        cluster: ClusterArguments,
    ) -> InputArguments {
        let conditions = Conditions {
            narrowing,
            samples: Vec::new(),
            assume: Vec::new(),
            exempt_namespaces: EXEMPT_NAMESPACES.map(str::to_owned).to_vec(),
            config_namespace: CONFIG_NAMESPACE.to_owned(),
            qos_level_format: LevelFormat::Number,
        };
        InputArguments { files, conditions, cluster }
    }

    /// Reads the files or the cluster. `command` is the calling command, `checked_at` the start of
    /// checks that look ahead, `now` the time at which a cluster is read, and `subjects` the requested
    /// objects: for a cluster they determine the namespace if nothing else does. If the command shows `CronJobs`,
    /// `cron_jobs` is the zone that those follow that name none.
    pub(crate) fn load(
        &self,
        command: &str,
        checked_at: Timestamp,
        now: Timestamp,
        subjects: &[Subject],
        cron_jobs: Option<Zone>,
    ) -> anyhow::Result<Input> {
        let conditions = &self.conditions;
        // Before anything is read.
        let selector = conditions.selector()?;
        let mut input = if self.files.are_given() {
            let mut files = self.files.read()?;
            if let Some(zone) = cron_jobs {
                files.reading.cron_jobs.iter_mut().for_each(|job| job.assume_zone(zone));
            }
            let input = conditions.input_of(files, command, checked_at)?;
            input.tell_notes();
            input
        } else {
            if let Some(argument) = self.files.about_files() {
                let message = "applies to files only; name them with -f or -k";
                return Err(ArgumentError::whole(argument, "", message).into());
            }
            let named = || Subject::only_namespace(subjects);
            let namespace = conditions.narrowing.namespace.as_deref().or_else(named);
            let is_about_levels =
                subjects.is_empty() || subjects.iter().any(Subject::may_be_of_levels);
            let is_about_jobs =
                subjects.is_empty() || subjects.iter().any(Subject::may_be_cron_job);
            let fetched = self.cluster.fetch(Wanted {
                namespace,
                config_namespace: is_about_levels.then_some(&*conditions.config_namespace),
                has_cron_jobs: cron_jobs.is_some() && is_about_jobs,
                checked_at,
            });
            let mut fetched = fetched.map_err(|error| Subject::name_paths(subjects, error))?;
            let is_selected =
                |job: &CronJob| selector.as_ref().is_none_or(|it| it.fits(Some(&job.labels)));
            fetched.cron_jobs.retain(is_selected);
            for job in &mut fetched.cron_jobs {
                job.assume_zone(cron_jobs.unwrap_or(Zone::utc()));
            }
            conditions.applied(Input::of_cluster(fetched, now))?
        };
        conditions.state(&mut [&mut input], now)?;
        Ok(input)
    }
}

impl Conditions {
    /// The input that files are, for a command that checks what is to come from an instant on.
    pub(crate) fn input_of(
        &self,
        files: Files,
        command: &str,
        checked_at: Timestamp,
    ) -> anyhow::Result<Input> {
        let (namespace, selector) = (self.narrowing.namespace.as_deref(), self.selector()?);
        let files = files.narrowed(namespace, selector.as_ref());
        let files = files.with_config_namespace(&self.config_namespace);
        self.applied(Input::of_files(files, command, namespace, checked_at))
    }

    fn selector(&self) -> Result<Option<Selector>, ArgumentError> {
        let selector = self.narrowing.selector.as_deref();
        selector.map(|text| Selector::parse("--selector", text)).transpose()
    }

    /// The same input, with only what is selected, and as the processes run that carry it out.
    fn applied(&self, mut input: Input) -> anyhow::Result<Input> {
        input.selector = self.selector()?;
        if let Some(selector) = &input.selector {
            keep_selected(&mut input.findings, &input.reading, selector);
        }
        for place in &mut input.places {
            place.exempt(&self.exempt_namespaces);
            place.run_agent(AgentSettings {
                config_namespace: Some(self.config_namespace.as_str().into()),
                level_format: self.qos_level_format.into(),
            });
        }
        Ok(input)
    }

    /// States what is assumed, in each input in which it means something. It has to in one of them.
    pub(crate) fn state(&self, inputs: &mut [&mut Input], now: Timestamp) -> anyhow::Result<()> {
        if let [only] = inputs {
            sample::state(&self.samples, &mut only.places)?;
            return Ok(assume::assume(&self.assume, &mut only.places, now)?);
        }
        let mut places: Vec<&mut Vec<InputPlace>> =
            inputs.iter_mut().map(|input| &mut input.places).collect();
        for text in &self.samples {
            in_one(&mut places, |places| sample::state(slice::from_ref(text), places))?;
        }
        for text in &self.assume {
            in_one(&mut places, |places| assume::assume(slice::from_ref(text), places, now))?;
        }
        Ok(())
    }
}

/// Does something to the places of each input, which has to be possible in one of them.
fn in_one(
    all: &mut [&mut Vec<InputPlace>],
    mut state: impl FnMut(&mut [InputPlace]) -> Result<(), ArgumentError>,
) -> Result<(), ArgumentError> {
    let mut stated: Vec<_> = all.iter_mut().map(|places| state(places)).collect();
    let is_stated = stated.iter().any(Result::is_ok);
    stated.pop().filter(|_| !is_stated).unwrap_or(Ok(()))
}

impl Input {
    fn of_files(
        mut files: Files,
        command: &str,
        namespace: Option<&str>,
        checked_at: Timestamp,
    ) -> Input {
        files.reading.sort();
        let context = CheckContext::new(namespace.unwrap_or("default"), checked_at);
        let mut everything = check_everything(&files.reading, context, &files.layout);
        files.complete_advice(&mut everything, command);
        let notes = files.notes(&everything, command);
        let reading = files.reading;
        let objects = std::mem::take(&mut everything.objects);
        let places = &everything.places;
        let groups = places_of(&reading, objects, places, context.namespace, &files.targets);
        Input {
            places: groups,
            findings: everything.findings,
            unseen: BTreeSet::new(),
            all_places: places.named().to_vec(),
            selector: None,
            notes,
            reading,
        }
    }

    fn of_cluster(fetched: Fetched, now: Timestamp) -> Input {
        let Fetched { objects, reading, findings, cron_jobs, seen, .. } = fetched;
        let mut place = InputPlace::of(&objects, None);
        place.world.seen_at = Some(now);
        for namespace in &seen.marked_namespaces {
            place.mark_namespace(namespace);
        }
        for (target, workload) in seen.scales {
            place.world.upsert(target, Slim::Workload(workload));
        }
        place.add_seen(seen.pods, seen.nodes);
        place.add_seen_fleet(seen.fleet);
        place.find_texts(&reading);
        place.add_cron_jobs(cron_jobs.iter(), "");
        Input {
            places: vec![place],
            reading,
            findings,
            unseen: seen.unseen,
            all_places: Places::one().named().to_vec(),
            selector: None,
            notes: Vec::new(),
        }
    }

    /// What the place is called in which alone a finding holds.
    pub(crate) fn place_of(&self, placed: &PlacedFinding) -> Option<&str> {
        self.all_places.get(placed.place?).map(|place| &*place.name)
    }

    /// All places, in the order of their numbers: also those in which nothing matters.
    pub(crate) fn all_places(&self) -> &[Place] {
        &self.all_places
    }

    /// The findings as every command tells them to a program.
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
        output: &mut impl Write,
    ) -> io::Result<()> {
        let source = &self.reading.sources[placed.source];
        findings::write_finding(output, source, placed, self.place_of(placed))
    }

    /// Reports on standard error what was found and not read as it stands.
    pub(crate) fn tell_notes(&self) {
        // Where nobody can be told, there is nothing better to do.
        let _ = write_notes(&self.notes, &mut anstream::stderr().lock());
    }

    /// Reports on standard error what could not be read.
    pub(crate) fn tell_unseen(&self) {
        for unseen in &self.unseen {
            anstream::eprintln!("note: {unseen}");
        }
    }

    /// Reports on standard error what is wrong with the input.
    fn tell_errors(&self) {
        let mut output = anstream::stderr();
        for placed in &self.findings {
            if placed.finding.severity() == Severity::Error {
                // Nobody is left to tell when standard error is closed.
                let _ = self.write_finding(placed, &mut output);
            }
        }
    }

    /// Whether the name matches the policy or its target, and the policy is selected.
    pub(crate) fn policies(&self, place: &InputPlace, subject: &Subject) -> Vec<PolicyName> {
        let mut policies = subject.policies(&place.world);
        policies.retain(|policy| self.is_selected(place, policy));
        policies
    }

    /// An error for the first name without a match in any place. One that a text contains of which something
    /// could not be read has none: what is wrong with the text is among the findings.
    pub(crate) fn check_names(&self, names: &[Subject]) -> Result<(), ArgumentError> {
        self.check_names_but(names, |_| false)
    }

    /// The same, where a name may also be that of a `CronJob`.
    pub(crate) fn check_names_and_jobs(&self, names: &[Subject]) -> Result<(), ArgumentError> {
        let jobs = || self.places.iter().flat_map(|place| &place.cron_jobs);
        self.check_names_but(names, |name| jobs().any(|job| name.fits(&job.identity)))
    }

    fn check_names_but(
        &self,
        names: &[Subject],
        is_known: impl Fn(&Subject) -> bool,
    ) -> Result<(), ArgumentError> {
        match names.iter().find(|name| !is_known(name) && !self.knows(name)) {
            Some(unknown) => {
                // The object may be there, in a form that cannot be used.
                self.tell_errors();
                self.tell_unseen();
                Err(unknown.not_found("NAME", &self.places))
            }
            None => Ok(()),
        }
    }

    /// Whether a name has a match, or is in a text of which something could not be read.
    pub(crate) fn knows(&self, name: &Subject) -> bool {
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

    /// What is wrong with the object of a policy, so that some of it or nothing can be used.
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

    /// The zone that all policies follow, if it is one. Those for levels count if there are pods of theirs: most
    /// who look at a cluster ask about something else.
    pub(crate) fn only_zone(&self) -> Option<Zone> {
        let mut zones = self.places.iter().flat_map(|place| {
            let world = &place.world;
            let counts = |policy: &PolicyName| {
                policy.family != Family::QosLevels || !world.footprint(policy).writes.is_empty()
            };
            world.policies().filter(counts).flat_map(|policy| world.zones_of(&policy))
        });
        let (_, first) = zones.next()?;
        zones.all(|(_, zone)| zone == first).then_some(first)
    }
}

/// The places of what was read and checked, each with its world. `namespace` is the one of objects that name none;
/// `also` is what matters beside what policies scale.
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

/// Removes the findings about objects that do not match the label selector.
pub(crate) fn keep_selected(
    findings: &mut Vec<PlacedFinding>,
    reading: &Reading,
    selector: &Selector,
) {
    findings.retain(|placed| {
        let object = placed.object.and_then(|position| reading.objects.get(position));
        object.is_none_or(|object| selector.fits(Some(&labels(&object.node))))
    });
}

fn names_namespace(object: &ReadObject) -> bool {
    object.node.get("metadata").and_then(|it| it.get("namespace")).is_some()
}
