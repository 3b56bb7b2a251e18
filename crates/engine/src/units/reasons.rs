//! The reasons for the assignment of a policy's pods, and their messages.

use super::{ResourcePolicy, Space, Unit};
use crate::{NAMED, Reason, counted, few, few_joined};

/// The reasons for the assignment of a policy's pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cause {
    /// Units at their caps, so that pods are in later units.
    pub full: UnitSet,
    /// Units with more pods than their caps.
    pub over: UnitSet,
    /// Units below their caps that have no nodes.
    pub without_nodes: UnitSet,
    /// Units below their caps of which all nodes are cordoned.
    pub cordoned: UnitSet,
    /// Units below their caps of which no node has free capacity.
    pub lacking: UnitSet,
    /// Units with free capacity, although pods are in later units.
    pub free: UnitSet,
    /// 0 without pods in units, 1 with pods.
    pub placed: u32,
    /// The number of pods outside all units.
    pub outside: u32,
    /// The number of pods for which no unit has free capacity.
    pub pending: u32,
    /// The number of pods that are pending because several policies select them.
    pub conflicting: u32,
    /// The number of pods that are pending because they have scheduling gates.
    pub gated: u32,
    /// The free capacity of the nodes outside all units for the pending pods; `None` if the pods may not use these
    /// nodes.
    pub space_outside: Option<Space>,
    /// Whether the message explains pending pods, and not the location of the others.
    pub is_about_waiting: bool,
}

/// A set of units of a policy, by their positions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct UnitSet(pub(super) u64);

impl UnitSet {
    /// Whether the set contains a unit.
    #[must_use]
    pub fn contains(self, unit_index: usize) -> bool {
        u32::try_from(unit_index)
            .ok()
            .and_then(|unit_index| self.0.checked_shr(unit_index))
            .is_some_and(|it| it & 1 == 1)
    }

    fn and_not(self, other: UnitSet) -> UnitSet {
        UnitSet(self.0 & !other.0)
    }

    /// Splits the units by a predicate into those that fulfill it, and the others.
    fn split(self, policy: &ResourcePolicy, is_true: impl Fn(&Unit) -> bool) -> (UnitSet, UnitSet) {
        let units = (0_u32..).zip(&policy.units);
        let those = units.filter(|(_, unit)| is_true(unit));
        let those =
            those.fold(0, |all, (unit_index, _)| all | 1_u64.checked_shl(unit_index).unwrap_or(0));
        (UnitSet(self.0 & those), UnitSet(self.0 & !those))
    }

    /// The units, in the order of the policy.
    fn units_of(self, policy: &ResourcePolicy) -> impl Iterator<Item = &Unit> {
        let units = policy.units.iter().enumerate();
        units.filter(move |(unit_index, _)| self.contains(*unit_index)).map(|(_, unit)| unit)
    }
}

/// A reason as a line for users.
#[must_use]
pub fn render(policy: &ResourcePolicy, reason: &Reason<Cause>) -> String {
    let cause = reason.cause;
    if cause.is_about_waiting && cause.pending + cause.conflicting + cause.gated == 0 {
        return "every pod has a place".to_owned();
    }
    let because = because(policy, cause);
    let mut so = Vec::new();
    let last = reason.rule.and_then(|rule| policy.units.get(usize::try_from(rule).ok()?));
    let kept_from = [cause.full, cause.without_nodes, cause.cordoned, cause.lacking];
    if let Some(last) = last.filter(|_| kept_from != [UnitSet::default(); 4]) {
        so.push(format!("pods go to unit {}", quoted(last)));
    }
    let them = |number: u32, one: &'static str, several| if number == 1 { one } else { several };
    let pending = [
        (cause.outside, "outside all units"),
        (cause.pending, "pending"),
        (
            cause.conflicting,
            them(
                cause.conflicting,
                "pending because several policies select it",
                "pending because several policies select them",
            ),
        ),
        (
            cause.gated,
            them(
                cause.gated,
                "pending because of its scheduling gates",
                "pending because of their scheduling gates",
            ),
        ),
    ];
    so.extend(pending.into_iter().filter(|(number, _)| *number > 0).map(|(number, what)| {
        format!("{} {} {what}", counted(number, "pod"), if number == 1 { "is" } else { "are" })
    }));
    match (because.is_empty(), so.is_empty()) {
        (true, true) if cause.placed == 0 => "there are no pods".to_owned(),
        (true, true) => "every pod has a place in the best unit".to_owned(),
        (true, false) => so.join(", "),
        (false, true) => because.join("; "),
        (false, false) => format!("{}: {}", because.join("; "), so.join(", ")),
    }
}

/// The messages about full units, and about units over their caps.
fn because(policy: &ResourcePolicy, cause: Cause) -> Vec<String> {
    let names = |units: UnitSet| units.units_of(policy).map(quoted).collect::<Vec<_>>();
    let each = if policy.group_keys.is_empty() { "" } else { " of a group" };
    // `full at 3 and 5 pods`
    let at_caps = |units: UnitSet, what: &str| {
        let caps: Vec<u32> = units.units_of(policy).filter_map(|unit| unit.max).collect();
        let pods = if caps.last() == Some(&1) { "pod" } else { "pods" };
        format!("{what} {} {pods}{each}", few_joined(caps, " and "))
    };
    let closed = |unit: &Unit| unit.max == Some(0);
    let (closed, full) = cause.full.and_not(cause.over).split(policy, closed);
    let at = at_caps(full, "full at");
    let [over, over_their] =
        ["over its cap of", "over their caps of"].map(|what| at_caps(cause.over, what));
    let mut because = Vec::new();
    because.extend(clause("", &names(full), &format!(" is {at}"), &format!(" are {at}")));
    because.extend(clause(
        "",
        &names(cause.over),
        &format!(" is {over}"),
        &format!(" are {over_their}"),
    ));
    because.extend(clause("", &names(closed), " is closed", " are closed"));
    because.extend(clause("", &names(cause.without_nodes), " has no nodes", " have no nodes"));
    let cordoned = names(cause.cordoned);
    because.extend(clause("all nodes of ", &cordoned, " are cordoned", " are cordoned"));
    because.extend(clause("no node of ", &names(cause.lacking), " has room", " has room"));
    because.extend(match cause.space_outside {
        Some(Space::NoNodes) => Some("there are no other nodes".to_owned()),
        Some(Space::Cordoned) => Some("all other nodes are cordoned".to_owned()),
        Some(Space::Taken) => Some("no other node has room".to_owned()),
        Some(Space::Free) | None => None,
    });
    because.extend(clause(
        "",
        &names(cause.free),
        " has room, but pods stay on their nodes",
        " have room, but pods stay on their nodes",
    ));
    because
}

impl Cause {
    /// The set of the units whose nodes have this free capacity for a pod.
    pub(super) fn set_of(&mut self, space: Space) -> &mut UnitSet {
        match space {
            Space::NoNodes => &mut self.without_nodes,
            Space::Cordoned => &mut self.cordoned,
            Space::Taken => &mut self.lacking,
            Space::Free => &mut self.free,
        }
    }
}

fn quoted(unit: &Unit) -> String {
    format!("\"{}\"", unit.name)
}

/// `unit "a" is full`, or `units "a" and "b" are full`; `None` without a unit.
fn clause(before: &str, units: &[String], one: &str, several: &str) -> Option<String> {
    let (last, others) = units.split_last()?;
    Some(match others {
        [] => format!("{before}unit {last}{one}"),
        others if others.len() < NAMED => {
            format!("{before}units {} and {last}{several}", few(others))
        }
        _ => format!("{before}units {}{several}", few(units)),
    })
}
