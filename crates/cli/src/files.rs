//! The world of the files a user names.
//!
//! What is in order is taken; what is not becomes a finding. The order in which files are named or
//! found makes no difference to anything that follows.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use almanac_api::checking::{CheckedObject, Meaning, Setting, check_everything};
use almanac_api::finding::{Code, Severity};
use almanac_api::reading::{Node, PlacedFinding, ReadObject, Reading, files};
use almanac_calendar::Zone;
use almanac_engine::cron_scaling::Target;
use almanac_engine::{Identity, PolicyObject, World};
use clap::Args;
use jiff::Timestamp;

/// Which files are read, and how.
#[derive(Args)]
pub(crate) struct FileArguments {
    /// A file, a folder and all below it, a pattern such as 'teams/*.yaml', or - for standard input
    #[arg(short, long = "filename", value_name = "PATH", required = true)]
    file: Vec<String>,

    /// The namespace of objects that name none
    #[arg(short, long, value_name = "NAMESPACE", default_value = "default")]
    namespace: String,
}

/// Everything the files say.
pub(crate) struct Files {
    pub(crate) world: World,
    pub(crate) reading: Reading,
    /// In the order of the files' names, and of the places in each.
    pub(crate) findings: Vec<PlacedFinding>,
    /// What is not forecast, though it is written: autoscalers that follow a query.
    pub(crate) left_out: Vec<String>,
    api_versions: BTreeMap<Identity, String>,
}

impl FileArguments {
    /// Reads the files. `now` is where checks that look ahead begin.
    pub(crate) fn load(&self, now: Timestamp) -> anyhow::Result<Files> {
        let mut reading = files::read(&self.file, io::stdin())?;
        put_in_order(&mut reading);
        let setting = Setting { namespace: &self.namespace, now };
        let (checked, findings) = check_everything(&reading, setting);
        let mut loaded = Files {
            world: World::default(),
            findings,
            left_out: Vec::new(),
            api_versions: BTreeMap::new(),
            reading: Reading::default(),
        };
        let given_twice = given_twice(&checked);
        for (object, checked) in reading.objects.iter().zip(checked) {
            let Some(identity) = checked.identity else { continue };
            loaded.note_api_version(&identity, object);
            if let Some(meaning) = checked.meaning
                && !given_twice.contains(&identity)
            {
                loaded.add(identity, meaning, &object.node);
            }
        }
        loaded.reading = reading;
        Ok(loaded)
    }
}

impl Files {
    /// Whether something was found that somebody should know.
    pub(crate) fn has_findings(&self) -> bool {
        self.findings.iter().any(|placed| placed.finding.severity() != Severity::Info)
    }

    /// The `apiVersion` an object is written in, or else the usual one of its kind.
    pub(crate) fn api_version(&self, identity: &Identity) -> String {
        if let Some(written) = self.api_versions.get(identity) {
            return written.clone();
        }
        match identity.group() {
            "" => "v1".to_owned(),
            "autoscaling" => "autoscaling/v2".to_owned(),
            group if group.ends_with(".karmada.io") || group.ends_with(".karpenter.sh") => {
                format!("{group}/v1alpha1")
            }
            group => format!("{group}/v1"),
        }
    }

    /// The zone that all policies follow, if it is one.
    pub(crate) fn only_zone(&self) -> Option<Zone> {
        let schedules = self.world.scheduled_capacities.values().map(|it| it.policy.zone);
        let rules = self.world.cron_scalings.values().flat_map(|it| &it.policy.rules);
        let mut zones = schedules.chain(rules.map(|rule| rule.firings.zone()));
        let first = zones.next()?;
        zones.all(|zone| zone == first).then_some(first)
    }

    fn add(&mut self, identity: Identity, meaning: Meaning, node: &Node) {
        match meaning {
            Meaning::ScheduledCapacity(policy) => {
                let object = PolicyObject { policy, created: None, memory: None };
                self.world.scheduled_capacities.insert(identity, object);
            }
            // Of a policy without a usable rule there is nothing to say but its findings.
            Meaning::CronScaling(policy) if policy.rules.is_empty() => {}
            Meaning::CronScaling(policy) => {
                let written = text_at(node, &["spec", "scaleTargetRef", "apiVersion"]);
                let target = policy.target.identity().clone();
                if let Some(written) = written {
                    self.api_versions.entry(target).or_insert(written);
                }
                let object = PolicyObject { policy, created: None, memory: None };
                self.world.cron_scalings.insert(identity, object);
            }
            Meaning::HorizontalAutoscaler(target) => {
                self.left_out.push(follows_a_query(&identity, &target));
            }
            Meaning::Autoscaler(autoscaler, _) => {
                self.world.autoscalers.insert(identity, autoscaler);
            }
            Meaning::Workload(workload) => {
                self.world.workloads.insert(identity, workload);
            }
        }
    }

    fn note_api_version(&mut self, identity: &Identity, object: &ReadObject) {
        self.api_versions.insert(identity.clone(), object.api_version.to_string());
    }
}

fn follows_a_query(identity: &Identity, target: &Target) -> String {
    format!("{identity} follows a query; what it does to {} is not forecast", target.identity())
}

fn text_at(node: &Node, keys: &[&str]) -> Option<String> {
    let found = keys.iter().try_fold(node, |node, key| node.get(key))?;
    found.as_text().map(str::to_owned)
}

/// Neither of two objects of one name can be relied on.
fn given_twice(checked: &[CheckedObject]) -> BTreeSet<Identity> {
    let is_second = |object: &&CheckedObject| {
        object.findings.iter().any(|finding| finding.code == Code::DuplicateObject)
    };
    checked.iter().filter(is_second).filter_map(|object| object.identity.clone()).collect()
}

/// Orders files by their names and objects by their places, whatever order they were given in.
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
