//! `CronJob` of Kubernetes: the instants at which it starts Jobs. Kubernetes reconciles it; Almanac only displays it
//! next to the effects of policies.

mod starts;

use std::collections::BTreeMap;

use almanac_calendar::{Firings, Zone};
use almanac_engine::Identity;

pub(super) use self::starts::check_cron_job;
use super::objects::PlacedFinding;
use super::placeholder::placeholder;
use crate::finding::{FieldPath, Path, Span};
use crate::kinds::group_and_version;
use crate::tree::{Node, Value};

/// The word without which a text has no `CronJob`.
pub(super) const WORD: &str = "CronJob";

const GROUP: &str = "batch";

/// A `CronJob`: its schedule alone.
#[derive(Clone, Debug)]
pub struct CronJob {
    /// Its `apiVersion`.
    pub api_version: Box<str>,
    /// The namespace it names, if it names one.
    pub namespace: Option<Box<str>>,
    /// Its name.
    pub name: Box<str>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// The instants at which it starts a Job.
    pub starts: Starts,
    /// Whether it names a time zone. Otherwise the time zone of the kube-controller-manager applies, which is UTC
    /// unless an option gives another.
    pub names_zone: bool,
    /// Whether it fires at the same minutes of every hour, so that the zone hardly matters.
    pub is_hourly: bool,
    /// The location of its schedule.
    pub schedule_at: Span,
    /// The field that suspends it, if it is suspended.
    pub suspended_at: Option<Span>,
    /// Whether a start may be skipped, because of its `concurrencyPolicy`.
    pub may_skip: bool,
    /// The index of its source in [`super::Reading::sources`].
    pub source: usize,
    /// The findings about it.
    pub findings: Vec<PlacedFinding>,
}

/// The instants at which a `CronJob` starts Jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Starts {
    /// At these instants.
    At(Firings),
    /// In intervals since its creation or its last start, which files do not contain: `@every 1h`.
    Every(Box<str>),
    /// Never by itself: at a date that does not exist. Its Jobs are started manually.
    Never,
    /// Unknown: the schedule is not valid.
    Unusable,
}

impl CronJob {
    /// Reads all fields but those that determine when it starts Jobs. `None` for another kind, for one without a name,
    /// and for one with placeholders.
    pub(super) fn read(
        api_version: &str,
        kind: &str,
        source: usize,
        node: &Node,
    ) -> Option<CronJob> {
        if group_and_version(api_version).0 != GROUP || kind != WORD {
            return None;
        }
        let metadata = node.get("metadata")?;
        let text = |node: &Node, key: &str| {
            let text = node.get(key).and_then(Node::as_text).filter(|text| !text.is_empty());
            text.map(Box::from)
        };
        let spec = node.get("spec");
        let of_spec = |key: &str| spec.and_then(|spec| spec.get(key));
        let is_filled_in = ["schedule", "timeZone"].into_iter().all(|key| {
            of_spec(key).and_then(Node::as_text).is_none_or(|text| placeholder(text).is_none())
        });
        let schedule = of_spec("schedule").and_then(Node::as_text).unwrap_or_default();
        let at = |field: FieldPath| node.locate(&field, false);
        let policy: Option<Box<str>> = spec.and_then(|spec| text(spec, "concurrencyPolicy"));
        Some(CronJob {
            api_version: api_version.into(),
            namespace: text(metadata, "namespace"),
            name: text(metadata, "name").filter(|_| is_filled_in)?,
            labels: super::labels(node),
            starts: Starts::Unusable,
            names_zone: of_spec("timeZone").is_some_and(|zone| zone.value != Value::Null),
            is_hourly: is_hourly(schedule),
            schedule_at: at(CronJob::schedule_field()),
            suspended_at: of_spec("suspend")
                .filter(|it| it.value == Value::Bool(true))
                .map(|_| at(CronJob::suspend_field())),
            may_skip: policy.is_some_and(|policy| &*policy != "Allow"),
            source,
            findings: Vec::new(),
        })
    }

    /// The field with the schedule.
    #[must_use]
    pub fn schedule_field() -> FieldPath {
        (&Path::Root.key("spec").key("schedule")).into()
    }

    /// The field that suspends it.
    #[must_use]
    pub fn suspend_field() -> FieldPath {
        (&Path::Root.key("spec").key("suspend")).into()
    }

    /// Whether it is suspended, so that it starts nothing.
    #[must_use]
    pub fn is_suspended(&self) -> bool {
        self.suspended_at.is_some()
    }

    /// Sets the assumed zone, if the `CronJob` names none.
    pub fn assume_zone(&mut self, zone: Zone) {
        if let Starts::At(firings) = &mut self.starts
            && !self.names_zone
        {
            *firings = firings.cron().clone().in_zone(zone);
        }
    }

    /// Its identity, in the namespace that it names, or else in the given one.
    #[must_use]
    pub fn identity(&self, namespace: &str) -> Identity {
        Identity::new(GROUP, WORD, self.namespace.as_deref().unwrap_or(namespace), &*self.name)
    }
}

/// Whether an expression names nothing but minutes.
fn is_hourly(schedule: &str) -> bool {
    let mut fields = schedule.split_whitespace();
    match fields.next() {
        Some(word) if word.starts_with('@') => word == "@hourly",
        Some(_) => fields.all(|it| it == "*" || it == "?"),
        None => false,
    }
}
