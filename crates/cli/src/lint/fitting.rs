//! Findings about scheduled capacity that exceeds a quota or the nodes of a place, each with a code and a location.

use almanac_api::finding::{Code, Finding, Path};
use almanac_api::reading::{PlacedFinding, Reading};
use almanac_engine::{Bounding, Demand};
use almanac_forecast::{Excess, Fit, Forecast, Period};

use super::over_time::{FindingsByObject, rule_field};
use crate::forecast::in_order::{collected, threads};
use crate::input::InputPlace;

/// The findings about demands that exceed the capacity of their places. A demand contains the index of its place.
pub(super) fn findings(
    reading: &Reading,
    places: &[InputPlace],
    demands: &[Demand],
    period: Period,
) -> anyhow::Result<Vec<PlacedFinding>> {
    let mut by_object = FindingsByObject::default();
    for (number, demand) in demands.iter().enumerate() {
        let Some(place) = places.iter().find(|it| it.numbers.contains(&number)) else { continue };
        for (object, finding) in for_place(place, demand, period)? {
            by_object.add(object, finding, number);
        }
    }
    Ok(by_object.placed_findings(reading, demands.len()).collect())
}

fn for_place(
    place: &InputPlace,
    demand: &Demand,
    period: Period,
) -> anyhow::Result<Vec<(usize, Finding)>> {
    let forecast = Forecast::new(&place.world, period, place.initial.clone());
    let fit = Fit::new(&forecast, demand);
    let of_group = |group| -> Vec<(usize, Finding)> {
        let excesses = fit.excesses(group);
        excesses.iter().filter_map(|it| finding(place, it)).collect()
    };
    let of_groups = collected("adding up", fit.len(), threads(), of_group)?;
    Ok(of_groups.into_iter().flatten().collect())
}

/// The object of the policy that causes the excess, and the finding at its rule.
fn finding(place: &InputPlace, excess: &Excess<'_>) -> Option<(usize, Finding)> {
    let code = match excess.allowance.by {
        Bounding::Quota(_) => Code::AboveQuota,
        Bounding::Nodes { .. } | Bounding::EachNode { .. } => Code::AboveCapacity,
    };
    let policy = &excess.by.policy;
    let object = place.position(&policy.identity)?;
    let field = rule_field(place, policy, excess.by.rule.as_ref());
    let field = field.unwrap_or_else(|| (&Path::Root.key("spec")).into());
    let finding = Finding::new(code, field, excess.to_string());
    Some((object, finding.with_fix(excess.advice()).with_instants(excess.instants())))
}
