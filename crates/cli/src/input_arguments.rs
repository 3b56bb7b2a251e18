//! The arguments of commands that read policies: the source, the selection and the assumptions. Reads the input.

mod assume;
mod sample;

use std::slice;

use almanac_api::exempt::EXEMPT_NAMESPACES;
use almanac_api::objects::CONFIG_NAMESPACE;
use almanac_calendar::Zone;
use almanac_engine::qos_levels::AgentSettings;
use anyhow::Context as _;
use clap::Args;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::argument_error::ArgumentError;
use crate::cluster::ClusterArguments;
use crate::completion;
use crate::files::{FileArguments, Files};
use crate::input::{ClusterRequest, Input, InputPlace};
use crate::level_format::LevelFormat;
use crate::selector::Selector;
use crate::subject::{Subject, split_words};

/// The message for an argument that does not apply to a cluster.
const FILES_ONLY: &str = "applies to files only; name them with -f or -k";

/// The source of the objects, and the conditions.
#[derive(Args, Clone)]
pub(crate) struct InputArguments {
    #[command(flatten)]
    files: FileArguments,

    #[command(flatten)]
    conditions: Conditions,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// The requested part of the objects.
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
    pub(crate) selector: Option<String>,
}

/// The requested objects, and the assumptions about them.
#[derive(Args, Clone)]
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

    /// The namespaces in which nothing is reconciled, as with `almanac controller`
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

/// The start of policies.
#[derive(Args)]
pub(crate) struct BeginningArguments {
    /// Take the policies of the files as new: they begin at --from, and firings before that set nothing
    #[arg(long)]
    new: bool,
}

impl BeginningArguments {
    /// An error for a cluster, which records the start of its policies.
    pub(crate) fn check(&self, input: &InputArguments) -> Result<(), ArgumentError> {
        let lacks_files = self.new && !input.files.are_given();
        let error = || ArgumentError::whole("--new", "", FILES_ONLY);
        if lacks_files { Err(error()) } else { Ok(()) }
    }

    /// Starts all policies at an instant, if they are new.
    pub(crate) fn apply(&self, input: &mut Input, from: Timestamp) {
        if self.new {
            input.places.iter_mut().for_each(|place| place.restart_policies(from));
        }
    }
}

impl InputArguments {
    /// The input from a source, under the default conditions.
    pub(crate) fn from_source(
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

    /// The arguments extended by the files among these words, and the remaining words, which are names of objects.
    pub(crate) fn naming(
        &self,
        words: &[String],
    ) -> Result<(InputArguments, Vec<String>), ArgumentError> {
        let has_source = self.files.are_given()
            || self.cluster.is_named()
            || self.conditions.narrowing.namespace.is_some();
        let (paths, names) = split_words(words, !has_source);
        if let Some(path) = paths.first().filter(|_| self.cluster.is_named()) {
            let message =
                "the word is a path, but a cluster is also selected; use only one of them";
            return Err(ArgumentError::whole("FILE", path, message));
        }
        let mut input = self.clone();
        input.files.file.extend(paths);
        Ok((input, names))
    }

    /// Whether files are read, and no cluster.
    pub(crate) fn are_files(&self) -> bool {
        self.files.are_given()
    }

    /// The cluster to read if no files are named.
    pub(crate) fn cluster(&self) -> &ClusterArguments {
        &self.cluster
    }

    /// The namespace to read from a cluster, by the arguments or else by these object names.
    pub(crate) fn namespace<'a>(&'a self, subjects: &'a [Subject]) -> Option<&'a str> {
        let named = || Subject::only_namespace(subjects);
        self.conditions.narrowing.namespace.as_deref().or_else(named)
    }

    /// Reads the files or the cluster; [`Input::report_notes`] reports the notes. `command` is the calling command,
    /// `checked_at` the start of checks that look ahead, `now` the time at which a cluster is read. `subjects` are
    /// the requested objects: for a cluster they determine the namespace if the arguments do not. If the command
    /// displays `CronJobs`, `cron_jobs` is the zone of `CronJobs` without a time zone.
    pub(crate) fn load(
        &self,
        command: &str,
        checked_at: Timestamp,
        now: Timestamp,
        subjects: &[Subject],
        cron_jobs: Option<Zone>,
    ) -> anyhow::Result<Input> {
        let conditions = &self.conditions;
        // The selector is checked before any input is read.
        let selector = conditions.selector()?;
        let mut input = if self.files.are_given() {
            let mut files = self.files.read()?;
            if let Some(zone) = cron_jobs {
                files.reading.cron_jobs.iter_mut().for_each(|job| job.assume_zone(zone));
            }
            conditions.input_of(files, command, checked_at)?
        } else {
            if let Some(argument) = self.files.about_files() {
                return Err(ArgumentError::whole(argument, "", FILES_ONLY).into());
            }
            let namespace = self.namespace(subjects);
            let is_about_levels =
                subjects.is_empty() || subjects.iter().any(Subject::may_be_of_levels);
            let is_about_jobs =
                subjects.is_empty() || subjects.iter().any(Subject::may_be_cron_job);
            let loaded = self.cluster.load(&ClusterRequest {
                namespace,
                config_namespace: is_about_levels.then_some(&*conditions.config_namespace),
                cron_jobs: cron_jobs.filter(|_| is_about_jobs),
                selector: selector.as_ref(),
                checked_at,
                now,
            });
            let loaded =
                loaded.context("failed to read from a cluster (to read files, name them with -f)");
            let loaded = loaded.map_err(|error| Subject::name_paths(subjects, error))?;
            conditions.applied(loaded)?
        };
        conditions.state(&mut [&mut input], now)?;
        Ok(input)
    }
}

impl Conditions {
    /// The input from files, for a command that checks the period from an instant on.
    pub(crate) fn input_of(
        &self,
        files: Files,
        command: &str,
        checked_at: Timestamp,
    ) -> anyhow::Result<Input> {
        let (namespace, selector) = (self.narrowing.namespace.as_deref(), self.selector()?);
        let files = files.narrowed(namespace, selector.as_ref());
        let files = files.with_config_namespace(&self.config_namespace);
        self.applied(Input::from_files(files, command, namespace, checked_at))
    }

    fn selector(&self) -> Result<Option<Selector>, ArgumentError> {
        let selector = self.narrowing.selector.as_deref();
        selector.map(|text| Selector::parse("--selector", text)).transpose()
    }

    /// The selected part of the input, with the settings of the processes.
    fn applied(&self, mut input: Input) -> anyhow::Result<Input> {
        input.selector = self.selector()?;
        if let Some(selector) = &input.selector {
            selector.keep(&mut input.findings, &input.reading);
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

    /// Applies the assumptions to each input with a match. Fails if no input matches.
    pub(crate) fn state(&self, inputs: &mut [&mut Input], now: Timestamp) -> anyhow::Result<()> {
        let samples = sample::read(&self.samples)?;
        if let [only] = inputs {
            sample::state(&samples, &mut only.places)?;
            return Ok(assume::assume(&self.assume, &mut only.places, now)?);
        }
        let mut places: Vec<&mut Vec<InputPlace>> =
            inputs.iter_mut().map(|input| &mut input.places).collect();
        for stated in &samples {
            in_one(&mut places, |places| sample::state(slice::from_ref(stated), places))?;
        }
        for text in &self.assume {
            in_one(&mut places, |places| assume::assume(slice::from_ref(text), places, now))?;
        }
        Ok(())
    }
}

/// Applies an assumption to the places of each input. Fails if no place accepts the assumption.
fn in_one(
    all: &mut [&mut Vec<InputPlace>],
    mut state: impl FnMut(&mut [InputPlace]) -> Result<(), ArgumentError>,
) -> Result<(), ArgumentError> {
    let mut stated: Vec<_> = all.iter_mut().map(|places| state(places)).collect();
    let is_stated = stated.iter().any(Result::is_ok);
    stated.pop().filter(|_| !is_stated).unwrap_or(Ok(()))
}
