//! The world of what a user gives: files, or a cluster.
//!
//! What is in order is taken; what is not becomes a finding. The order in which files are named or
//! found makes no difference to anything that follows, and neither does it whether an object was
//! read from a file or from a cluster.

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

use crate::cluster::{ClusterArguments, Fetched, Seen};
use crate::subject::Subject;

/// Where the objects come from.
#[derive(Args)]
pub(crate) struct GivenArguments {
    /// A file, a folder and all below it, a pattern such as 'teams/*.yaml', or - for standard
    /// input [default: none, and the cluster is asked]
    #[arg(short, long = "filename", value_name = "PATH")]
    file: Vec<String>,

    /// With files: the namespace of objects that name none [default: default]. Without: the
    /// namespace to look into [default: the one all names say, or the context's]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,

    #[command(flatten)]
    cluster: ClusterArguments,
}

/// Everything that is given, by files or by a cluster.
pub(crate) struct Given {
    pub(crate) world: World,
    pub(crate) reading: Reading,
    /// In the order of the sources' names, and of the places in each.
    pub(crate) findings: Vec<PlacedFinding>,
    /// What is not forecast, though it is written: autoscalers that follow a query.
    pub(crate) left_out: BTreeSet<String>,
    /// What may matter and could not be looked at, for want of a right.
    pub(crate) unseen: BTreeSet<String>,
    api_versions: BTreeMap<Identity, String>,
}

impl GivenArguments {
    /// Reads the files, or else asks the cluster. `now` is where checks that look ahead begin, and
    /// `subjects` is what is asked about: in a cluster they say where to look when nothing else does.
    pub(crate) fn load(&self, now: Timestamp, subjects: &[Subject]) -> anyhow::Result<Given> {
        let (reading, seen) = if self.file.is_empty() {
            let named = || Subject::only_namespace(subjects);
            let namespace = self.namespace.as_deref().or_else(named);
            let Fetched { reading, seen, .. } = self.cluster.fetch(namespace)?;
            (reading, seen)
        } else {
            (files::read(&self.file, io::stdin())?, Seen::default())
        };
        let namespace = self.namespace.as_deref().unwrap_or("default");
        let mut given = Given::check(reading, Setting { namespace, now });
        // Last, because these have no text that a finding could be about.
        given.world.workloads.extend(seen.scales);
        given.unseen = seen.unseen;
        Ok(given)
    }
}

impl Given {
    /// Checks what was read. Files and clusters meet here, and are treated alike from here on.
    fn check(mut reading: Reading, setting: Setting<'_>) -> Given {
        put_in_order(&mut reading);
        let (checked, findings) = check_everything(&reading, setting);
        let mut given = Given {
            world: World::default(),
            findings,
            left_out: BTreeSet::new(),
            unseen: BTreeSet::new(),
            api_versions: BTreeMap::new(),
            reading: Reading::default(),
        };
        let given_twice = given_twice(&checked);
        for (object, checked) in reading.objects.iter().zip(checked) {
            let Some(identity) = checked.identity else { continue };
            given.note_api_version(&identity, object);
            if let Some(meaning) = checked.meaning
                && !given_twice.contains(&identity)
            {
                given.add(identity, meaning, &object.node);
            }
        }
        given.reading = reading;
        given
    }

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
                self.left_out.insert(follows_a_query(&identity, &target));
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
