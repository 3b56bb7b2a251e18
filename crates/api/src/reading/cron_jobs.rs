//! The `CronJobs` of Kubernetes and the instants at which they start Jobs. Kubernetes reconciles them; Almanac only
//! displays them next to the effects of policies.

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

/// The word that every text with a `CronJob` contains.
pub(super) const WORD: &str = "CronJob";

const GROUP: &str = "batch";

/// The schedule of a `CronJob`; the template of its Jobs is not read.
#[derive(Clone, Debug)]
pub struct CronJob {
    /// The `apiVersion` of the object.
    pub api_version: Box<str>,
    /// The namespace in the object; `None` if absent.
    pub namespace: Option<Box<str>>,
    /// The name of the object.
    pub name: Box<str>,
    /// The labels of the object.
    pub labels: BTreeMap<String, String>,
    /// The instants of the Job starts.
    pub starts: Starts,
    /// Whether the `CronJob` names a time zone. Otherwise the time zone of the kube-controller-manager applies, which
    /// is UTC unless an option sets another.
    pub names_zone: bool,
    /// Whether the schedule fires at the same minutes of every hour, so that the time zone hardly matters.
    pub is_hourly: bool,
    /// The location of the schedule.
    pub schedule_at: Span,
    /// The location of the field that suspends the `CronJob`; `None` if it is not suspended.
    pub suspended_at: Option<Span>,
    /// Whether Kubernetes may skip a start, because of the `concurrencyPolicy`.
    pub may_skip: bool,
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// The findings about the `CronJob`.
    pub findings: Vec<PlacedFinding>,
}

/// The instants at which a `CronJob` starts Jobs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Starts {
    /// At the firings of a schedule.
    At(Firings),
    /// In intervals since the creation or the last start, such as `@every 1h`. Files do not contain these instants.
    Every(Box<str>),
    /// Never: the date of the schedule does not exist. Users start the Jobs manually.
    Never,
    /// Unknown: the schedule is not valid.
    Unusable,
}

impl CronJob {
    /// Reads all fields except those that determine the starts of Jobs. `None` for another kind, and for an object
    /// without a name or with placeholders.
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

    /// The field that suspends a `CronJob`.
    #[must_use]
    pub fn suspend_field() -> FieldPath {
        (&Path::Root.key("spec").key("suspend")).into()
    }

    /// Whether the `CronJob` is suspended and starts no Jobs.
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

    /// The identity in the namespace of the object, or in the given namespace if that is absent.
    #[must_use]
    pub fn identity(&self, namespace: &str) -> Identity {
        Identity::new(GROUP, WORD, self.namespace.as_deref().unwrap_or(namespace), &*self.name)
    }
}

/// Whether an expression restricts only the minutes.
fn is_hourly(schedule: &str) -> bool {
    let mut fields = schedule.split_whitespace();
    match fields.next() {
        Some(word) if word.starts_with('@') => word == "@hourly",
        Some(_) => fields.all(|it| it == "*" || it == "?"),
        None => false,
    }
}
