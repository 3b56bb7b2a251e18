//! The reasons for a verdict, as lines for users.

use std::fmt::Write as _;

use super::refusals::{conflict_message, count_of_pods, kept_places, short};
use super::usage::UnitIndex;
use super::verdicts::{FilterOutcome, Verdict, Verdicts};
use crate::few;
use crate::units::Unit;
use crate::units::slots::NodeId;

/// The verdict on the nodes of a unit, or on the nodes outside all units.
pub(in crate::units) struct OnUnit<'v> {
    /// The unit; `None` for the nodes outside.
    pub(in crate::units) unit: Option<&'v Unit>,
    pub(in crate::units) verdict: Verdict,
    /// Whether any of the nodes is a candidate.
    pub(in crate::units) is_candidate: bool,
    pub(in crate::units) why: String,
}

impl FilterOutcome<'_> {
    /// The reason that all candidates are refused; `None` if it depends on the node.
    #[must_use]
    pub fn why_refused(&self) -> Option<String> {
        match self {
            FilterOutcome::NotServing => {
                Some("this replica does not decide at the moment".to_owned())
            }
            FilterOutcome::UnknownPod => {
                Some("no ResourcePolicy decides on a pod that is unknown or gone".to_owned())
            }
            FilterOutcome::NotPending => Some(
                "no ResourcePolicy decides on a pod that is on a node or being bound to one"
                    .to_owned(),
            ),
            FilterOutcome::Conflict(policies) => Some(conflict_message(policies)),
            FilterOutcome::Untouched | FilterOutcome::ByNode(_) => None,
        }
    }
}

impl Verdicts<'_> {
    /// The verdict on the nodes of each unit, in the order of the policy; last, on the nodes outside all units.
    pub(in crate::units) fn by_unit(&self) -> impl Iterator<Item = OnUnit<'_>> {
        let units = self.usage.policy.units.iter().map(Some).chain([None]);
        let verdicts = self.of_units.iter().copied().chain([self.of_outside]);
        let all = units.zip(verdicts).zip(&self.is_candidate).enumerate();
        all.map(|(index, ((unit, verdict), is_candidate))| OnUnit {
            unit,
            verdict,
            is_candidate: *is_candidate,
            why: self.why_unit(unit.map(|_| index)),
        })
    }

    /// The reason for the verdict on a node, as a line for users. All nodes of a unit have the same reason.
    #[must_use]
    pub fn reason(&self, node: Option<NodeId>) -> String {
        match node {
            Some(node) => self.why_unit(self.usage.unit_of(node).index()),
            None => {
                format!("the node is still unknown to ResourcePolicy {}", short(self.policy()))
            }
        }
    }

    fn why_unit(&self, index: Option<usize>) -> String {
        let policy = short(self.policy());
        let indexed_unit =
            index.and_then(|index| Some((index, self.usage.policy.units.get(index)?)));
        let Some((index, unit)) = indexed_unit else { return self.why_outside(&policy) };
        let unit_name = format!("unit \"{}\" of ResourcePolicy {policy}", unit.name);
        let is_as_good = self
            .chosen
            .iter()
            .any(|chosen| self.usage.policy.units[*chosen].priority == unit.priority);
        match self.of_units[index] {
            Verdict::Closed => format!("{unit_name} is closed: its maxCount is 0"),
            Verdict::Full => format!("{unit_name} is full: {}", self.count_of(index)),
            Verdict::Chosen => format!("{unit_name} has room: {}", self.count_of(index)),
            _ if !self.is_candidate[index] => {
                format!("{unit_name} has room, and none of its nodes is a candidate")
            }
            _ if is_as_good => format!(
                "{unit_name} holds all its free capacity for other pods: {}",
                self.count_of(index)
            ),
            _ => format!("{unit_name} comes after {}, which has room", self.chosen_units()),
        }
    }

    fn why_outside(&self, policy: &str) -> String {
        match self.of_outside {
            Verdict::Outside => format!(
                "the node is in no unit of ResourcePolicy {policy}, whose strategy is required"
            ),
            Verdict::Chosen => {
                format!("no unit of ResourcePolicy {policy} among the candidates has room")
            }
            _ => format!(
                "the node is in no unit of ResourcePolicy {policy}, and {} has room",
                self.chosen_units()
            ),
        }
    }

    fn chosen_units(&self) -> String {
        let name = |index: &usize| format!("\"{}\"", self.usage.policy.units[*index].name);
        let names: Vec<String> = self.chosen.iter().map(name).collect();
        match &names[..] {
            [name] => format!("unit {name}"),
            _ => format!("one of the units {}", few(names)),
        }
    }

    /// `7 of 10 pods with pod-template-hash=abc, and 1 on the way`.
    fn count_of(&self, index: usize) -> String {
        let unit_usage = self.group.unit_usage(UnitIndex::new(Some(index)));
        let mut text = count_of_pods(unit_usage.used, self.usage.policy.units[index].max);
        text.push_str(&self.usage.describe(&self.group.key));
        if unit_usage.leased > 0 {
            let _ = write!(text, ", and {} on the way", unit_usage.leased);
        }
        text.push_str(&kept_places(self.own.kept_ahead(unit_usage, index)));
        text
    }
}
