//! Probable mistakes in policies, found by running the policies, and the messages about these mistakes.
//!
//! Nothing here reads the fields of a policy: a run observes the events under the virtual clock, and the calendar
//! supplies the facts about a schedule that time alone determines. The caller supplies the locations of rules and the
//! names of findings.

mod bounds;
mod changes;
mod days;
mod group_schedules;
mod held;
mod losers;
mod lost_values;
mod standing;
mod watch;

use std::fmt;
use std::sync::Arc;

use almanac_engine::{Field, Identity, PolicyName, Value, counted};
use jiff::{SignedDuration, Timestamp};

pub(crate) use days::days_to_run;
pub(crate) use held::RECENT;
pub use standing::standing_findings;
pub(crate) use watch::{SOON, Watch};

use crate::Writer;

/// A probable mistake in a policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ForecastFinding {
    /// The policy.
    pub policy: PolicyName,
    /// The rule by name, if the finding is about a rule.
    pub rule: Option<Arc<str>>,
    /// The kind of mistake, with its details.
    pub problem: Problem,
    /// The instants of the finding, in order.
    pub at: Vec<Timestamp>,
}

/// The kind of a probable mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// A rule is suspended or disabled.
    Suspended,
    /// A rule does not fire within the search range.
    NeverFires {
        /// The last firing of the rule.
        last: Option<Timestamp>,
    },
    /// A window does not open within the search range.
    NeverOpens {
        /// The last time it closed.
        last: Option<Timestamp>,
    },
    /// A rule was due, and each time another rule decided.
    NeverWins {
        /// The decision that replaced the first firing, as a line for users.
        because: String,
        /// The rule that decided, if it fires at the same instant.
        winner: Option<Writer>,
    },
    /// Two rules of the same rank are open at once, and the order of the list decides.
    ListOrder {
        /// The rule that wins.
        winner: Arc<str>,
        /// The value that it sets.
        value: u32,
        /// The value that the losing rule would set.
        other: u32,
        /// From when on.
        from: Timestamp,
    },
    /// Between two windows, neither is open for a short time.
    Gap {
        /// The field.
        field: Field,
        /// The object.
        target: Identity,
        /// The rule of the window after the gap.
        next: Arc<str>,
        /// The values before, within and after.
        values: [Value; 3],
        /// The start and the end of the gap.
        span: (Timestamp, Timestamp),
    },
    /// A value of a rule is lowered early. The cause is a rule of another policy or clock, or a rule that otherwise
    /// raises.
    CutShort {
        /// The object.
        target: Identity,
        /// The field of the object.
        field: Field,
        /// The writer.
        by: Writer,
        /// The instant of the write.
        since: Timestamp,
        /// The values before and after.
        values: (u32, u32),
        /// The instant of the cut.
        cut: Timestamp,
        /// The instant at which a rule of the same policy and zone would have lowered it.
        own_end: Option<Timestamp>,
        /// Whether the rule that set the value fires at most once a year, and the rule that lowers it otherwise raises.
        is_rare: bool,
    },
    /// A rule sets another value than a rule of another policy, at the same instant or while that value still applies.
    TwoWriters {
        /// The object.
        target: Identity,
        /// The field of the object.
        field: Field,
        /// The writer of the other value.
        by: Writer,
        /// The instant of that write.
        since: Timestamp,
        /// The value of that write.
        requested: u32,
        /// The values before and after.
        values: (u32, u32),
        /// The instant of the change.
        at: Timestamp,
        /// The instant at which that writer would have set something else.
        until: Option<Timestamp>,
    },
    /// A rule sets one bound so that the other must yield.
    MovesOtherBound {
        /// The autoscaler.
        target: Identity,
        /// The other bound.
        moved: Field,
        /// The values of that bound before and after.
        values: (u32, u32),
        /// The first instant.
        at: Timestamp,
    },
    /// A number of replicas is outside the bounds of the autoscaler of the workload.
    OutOfBounds {
        /// The workload.
        target: Identity,
        /// The value that it sets.
        value: u32,
        /// The instant of the write of the replicas, if the bounds are set later.
        since: Option<Timestamp>,
        /// The autoscaler.
        autoscaler: Identity,
        /// The bounds at that instant.
        bounds: (u32, u32),
        /// The first instant.
        at: Timestamp,
    },
    /// Pods find no free capacity.
    PodsWait {
        /// The number of pods at the first instant.
        pods: u32,
        /// The maximum number of pods at one instant.
        most: u32,
        /// The reason, as a line for users.
        because: Box<str>,
        /// From when on.
        at: Timestamp,
    },
    /// A score has expired, and counts as 0.
    ScoreEnded {
        /// The name of the object with the score.
        score: Arc<str>,
        /// The cluster.
        cluster: Arc<str>,
        /// The instant.
        at: Timestamp,
    },
    /// A score expires, and the placement selects other clusters.
    ScoreEnds {
        /// The placement.
        placement: Identity,
        /// The name of the object with the score.
        score: Arc<str>,
        /// The cluster.
        cluster: Arc<str>,
        /// The selections before and after.
        values: (Value, Value),
        /// The instant.
        at: Timestamp,
    },
    /// A selector selects no object, although the input contains objects of that kind.
    SelectsNothing {
        /// The index of the rule or the unit of the selector; `None` for the selector of the policy as a whole.
        position: Option<u32>,
        /// The kind of the selected objects, in the plural.
        what: &'static str,
        /// The number of such objects in the input.
        seen: usize,
    },
    /// The direction determines which of several recommendations applies, so no recommendation lasts.
    MetricsAlternate {
        /// The number of metrics.
        metrics: usize,
    },
}

impl Problem {
    /// The advice to the user.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Problem::Suspended => "remove it if it is not needed any more",
            Problem::NeverFires { .. } | Problem::NeverOpens { .. } => {
                "correct the schedule, or remove it if its time is over"
            }
            Problem::NeverWins { .. } => "remove it, or change when the other one applies",
            Problem::ListOrder { .. } => "give the one that must win a higher priority",
            Problem::Gap { .. } => "end this window when the next one opens",
            Problem::CutShort { is_rare: true, .. } => "let the rarer one fire after it",
            Problem::CutShort { own_end: None, .. } => "let it fire only when both are over",
            Problem::CutShort { .. } => "let one rule lower it, when the last of them is over",
            Problem::TwoWriters { .. } => {
                "change one of the two, so that only one sets it at a time"
            }
            Problem::MovesOtherBound { .. } => "set both bounds in this rule",
            Problem::OutOfBounds { .. } => {
                "set the bounds of the autoscaler instead of the replicas"
            }
            Problem::ScoreEnded { .. } => "renew the score, or leave validUntil out",
            Problem::PodsWait { .. } => "raise a maxCount, add nodes, or ask for fewer replicas",
            Problem::ScoreEnds { .. } => "renew the score before it ends, or leave validUntil out",
            Problem::SelectsNothing { .. } => {
                "correct the selector, or add the objects that it must select"
            }
            Problem::MetricsAlternate { .. } => {
                "write Max for both directions to have enough for every metric, or Min for both to have enough for \
                 the least"
            }
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Suspended => write!(f, "does nothing: it is suspended or disabled"),
            Problem::NeverFires { last } => never(f, "fires", ("fired", *last)),
            Problem::NeverOpens { last } => never(f, "opens", ("closed", *last)),
            Problem::NeverWins { because, .. } => write!(f, "never decides anything: {because}"),
            Problem::ListOrder { winner, value, other, from } => write!(
                f,
                "is open together with {winner}, of the same priority, from {from:.0}: {winner} sets {value} and \
                 wins over {other} only because it is listed first"
            ),
            Problem::Gap { field, target, next, values: [before, within, after], span } => write!(
                f,
                "ends at {:.0}, {:#} before {next} begins: in between, {field} of {target} goes from {before} to \
                 {within}, and then to {after}",
                span.0,
                span.1.duration_since(span.0),
            ),
            Problem::CutShort { target, field, by, since, values, cut, own_end, is_rare } => {
                changed(f, (target, *field), (by, *since), *values, *cut)?;
                if *is_rare {
                    write!(f, "; on other days, it raises it")?;
                }
                would_have_ended(f, *own_end)
            }
            Problem::TwoWriters { target, field, by, since, requested, values, at, until } => {
                two_writers(f, (target, *field), (by, *since, *requested), *values, *at)?;
                would_have_ended(f, *until)
            }
            Problem::MovesOtherBound { target, moved, values: (from, to), at } => write!(
                f,
                "at {at:.0}, sets a bound of {target} beyond the other, which is moved to fit: {moved} goes from \
                 {from} to {to}"
            ),
            Problem::OutOfBounds { target, value, since, autoscaler, bounds, at } => {
                out_of_bounds(f, (target, *value, *since), (autoscaler, *bounds), *at)
            }
            Problem::PodsWait { pods, most, because, at } => {
                let are = |count: u32| if count == 1 { "pod waits" } else { "pods wait" };
                write!(f, "from {at:.0} on, {pods} {}: {because}", are(*pods))?;
                if most > pods { write!(f, "; later, up to {most}") } else { Ok(()) }
            }
            Problem::ScoreEnded { score, cluster, at } => {
                write!(
                    f,
                    "score {score} of cluster {cluster} has ended at {at:.0}, and counts as 0"
                )
            }
            Problem::ScoreEnds { placement, score, cluster, values: (before, after), at } => {
                write!(
                    f,
                    "at {at:.0}, score {score} of cluster {cluster} ends, and {placement} selects {after} instead of \
                 {before}"
                )
            }
            Problem::SelectsNothing { what, seen, .. } => {
                write!(f, "selects nothing: of the {what} in the files ({seen}), none fits")
            }
            Problem::MetricsAlternate { metrics } => write!(
                f,
                "of {metrics} recommendations the largest applies on the way up, and the smallest on the way down: \
                 where they differ, the replicas go up and down without end"
            ),
        }
    }
}

/// Writes that a number of replicas is outside of the bounds that are set at the same instant, or later.
fn out_of_bounds(
    f: &mut fmt::Formatter<'_>,
    (target, value, since): (&Identity, u32, Option<Timestamp>),
    (autoscaler, (min, max)): (&Identity, (u32, u32)),
    at: Timestamp,
) -> fmt::Result {
    let (replicas, were) = (counted(value, "replica"), if value == 1 { "was" } else { "were" });
    match since {
        None => write!(f, "at {at:.0}, sets {replicas} of {target}, but ")?,
        Some(since) => write!(
            f,
            "at {at:.0}, sets bounds below the {replicas} of {target} that {were} set at {since:.0}: "
        )?,
    }
    let back = value.clamp(min, max.max(min));
    write!(f, "{autoscaler} keeps it between {min} and {max}, and sets it back to {back}")
}

/// Writes that two rules set one field, at one instant or in succession.
fn two_writers(
    f: &mut fmt::Formatter<'_>,
    (target, field): (&Identity, Field),
    (by, since, requested): (&Writer, Timestamp, u32),
    (from, to): (u32, u32),
    at: Timestamp,
) -> fmt::Result {
    let policy = by.policy.identity.name();
    let name = by.rule.as_deref().unwrap_or(policy);
    if since == at {
        return write!(
            f,
            "at {at:.0}, sets {field} of {target} to {to}, and {name} of {policy} sets it to {from}: only the order \
             of their names decides"
        );
    }
    if from == requested {
        return changed(f, (target, field), (by, since), (from, to), at);
    }
    write!(
        f,
        "at {at:.0}, sets {field} of {target} from {from} to {to}, though {name} of {policy} set it to {requested} at \
         {since:.0}"
    )
}

fn would_have_ended(f: &mut fmt::Formatter<'_>, end: Option<Timestamp>) -> fmt::Result {
    match end {
        Some(end) => write!(f, ", which would have ended at {end:.0}"),
        None => Ok(()),
    }
}

/// Writes the change that a rule makes to a value of another rule.
fn changed(
    f: &mut fmt::Formatter<'_>,
    (target, field): (&Identity, Field),
    (by, since): (&Writer, Timestamp),
    (from, to): (u32, u32),
    at: Timestamp,
) -> fmt::Result {
    let policy = by.policy.identity.name();
    let name = by.rule.as_deref().unwrap_or(policy);
    write!(f, "at {at:.0}, sets {field} of {target} from {from} to {to}, ")?;
    let after = at.duration_since(since);
    match after.as_hours() / 24 {
        0 | 1 => write!(f, "{after:#}")?,
        days => write!(f, "{days} days")?,
    }
    write!(f, " after {name} of {policy} set it at {since:.0}")
}

fn never(
    f: &mut fmt::Formatter<'_>,
    does: &str,
    (did, last): (&str, Option<Timestamp>),
) -> fmt::Result {
    write!(f, "never {does} within two years")?;
    match last {
        Some(last) => write!(f, "; it last {did} at {last:.0}"),
        None => Ok(()),
    }
}

/// The length of the search through the calendar.
const TWO_YEARS: SignedDuration = SignedDuration::from_hours(24 * 731);
