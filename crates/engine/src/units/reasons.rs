//! Why the pods of a policy are where they are, and how to say it.

use std::sync::Arc;

use super::{ResourcePolicy, Unit};
use crate::{Identity, Reason, World};

/// Why the pods of a policy are where they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cause {
    /// Units that have as many pods as they may, and others come after them.
    pub full: UnitSet,
    /// Units that may have more and of which no node has room.
    pub lacking: UnitSet,
    /// Units that have room, although pods are in others that come after them.
    pub free: UnitSet,
    /// 0 without any pods in units, 1 with some.
    pub placed: u32,
    /// How many pods are outside all units.
    pub outside: u32,
    /// How many pods find no unit with room.
    pub pending: u32,
    /// How many pods wait because several policies select them.
    pub conflicting: u32,
    /// Whether it is told why so many wait, and not where the others are.
    pub is_about_waiting: bool,
}

/// Units of a policy, by their positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct UnitSet(pub(super) u64);

impl UnitSet {
    /// Whether a unit is among them.
    #[must_use]
    pub fn contains(self, place: usize) -> bool {
        u32::try_from(place)
            .ok()
            .and_then(|place| self.0.checked_shr(place))
            .is_some_and(|it| it & 1 == 1)
    }

    /// The units, in the order of the policy.
    fn of(self, policy: &ResourcePolicy) -> impl Iterator<Item = &Unit> {
        let units = policy.units.iter().enumerate();
        units.filter(move |(place, _)| self.contains(*place)).map(|(_, unit)| unit)
    }
}

/// A reason as a line for a person.
#[must_use]
pub fn render(policy: &ResourcePolicy, reason: &Reason<Cause>) -> String {
    let cause = reason.cause;
    if cause.is_about_waiting && cause.pending == 0 && cause.conflicting == 0 {
        return "every pod has a place".to_owned();
    }
    let mut because = Vec::new();
    let (closed, full): (Vec<&Unit>, Vec<&Unit>) =
        cause.full.of(policy).partition(|unit| unit.max == Some(0));
    let names = |units: &mut dyn Iterator<Item = &Unit>| units.map(quoted).collect::<Vec<_>>();
    let (closed, names_of_full) =
        (names(&mut closed.into_iter()), names(&mut full.iter().copied()));
    if !full.is_empty() {
        let caps: Vec<String> = full.iter().map(|unit| unit.max.unwrap_or(0).to_string()).collect();
        let each = if policy.group_keys.is_empty() { "" } else { " of a group" };
        let at = format!("full at {} pods{each}", caps.join(" and "));
        because.extend(told("", &names_of_full, &format!(" is {at}"), &format!(" are {at}")));
    }
    because.extend(told("", &closed, " is closed", " are closed"));
    let lacking = names(&mut cause.lacking.of(policy));
    because.extend(told("no node of ", &lacking, " has room", " has room"));
    let free = names(&mut cause.free.of(policy));
    because.extend(told(
        "",
        &free,
        " has room, but pods stay where they are",
        " have room, but pods stay where they are",
    ));
    let mut so = Vec::new();
    let last = reason.rule.and_then(|rule| policy.units.get(usize::try_from(rule).ok()?));
    if let Some(last) =
        last.filter(|_| !(full.is_empty() && closed.is_empty() && lacking.is_empty()))
    {
        so.push(format!("pods go to unit {}", quoted(last)));
    }
    let counted = [
        (cause.outside, "outside all units"),
        (cause.pending, "pending"),
        (cause.conflicting, "pending because several policies select them"),
    ];
    so.extend(counted.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| {
        format!("{} {} {what}", pods(number), if number == 1 { "is" } else { "are" })
    }));
    match (because.is_empty(), so.is_empty()) {
        (true, true) if cause.placed == 0 => "there are no pods".to_owned(),
        (true, true) => "every pod has a place in the best unit".to_owned(),
        (true, false) => so.join(", "),
        (false, true) => because.join("; "),
        (false, false) => format!("{}: {}", because.join("; "), so.join(", ")),
    }
}

fn quoted(unit: &Unit) -> String {
    format!("\"{}\"", unit.name)
}

fn pods(number: u32) -> String {
    if number == 1 { "1 pod".to_owned() } else { format!("{number} pods") }
}

/// `unit "a" is full`, or `units "a" and "b" are full`; nothing without a unit.
fn told(before: &str, units: &[String], one: &str, several: &str) -> Option<String> {
    let (last, others) = units.split_last()?;
    Some(if others.is_empty() {
        format!("{before}unit {last}{one}")
    } else {
        format!("{before}units {} and {last}{several}", others.join(", "))
    })
}

/// The unit of a reason by name, and the reason as a line for a person.
pub(crate) fn describe(
    world: &World,
    identity: &Identity,
    reason: &Reason<Cause>,
) -> Option<(Option<Arc<str>>, String)> {
    let policy = world.resource_policies.get(identity)?.policy.as_deref()?;
    let unit = reason.rule.and_then(|rule| policy.units.get(usize::try_from(rule).ok()?));
    Some((unit.map(|unit| Arc::clone(&unit.name)), render(policy, reason)))
}
