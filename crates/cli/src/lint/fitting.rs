//! Whether what is scheduled fits: what exceeds a quota or the nodes of a place, as findings with a code and a location.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::thread;

use almanac_api::checking::placed;
use almanac_api::finding::{Code, Finding, Path};
use almanac_api::reading::{PlacedFinding, Reading};
use almanac_engine::{Bounding, Demand};
use almanac_forecast::{Excess, Fit, Forecast, Period};

use super::over_time::rule_field;
use crate::forecast::in_order::in_order;
use crate::forecast::progress::Progress;
use crate::input::InputPlace;

/// The findings about demands that do not fit in the places that have them, by the index of the place. A finding of
/// every place is reported once, and a finding of some of them with the first.
pub(super) fn findings(
    reading: &Reading,
    places: &[InputPlace],
    demands: &[Demand],
    period: Period,
) -> anyhow::Result<Vec<PlacedFinding>> {
    let mut found: BTreeMap<usize, Vec<(Finding, Vec<usize>)>> = BTreeMap::new();
    for (number, demand) in demands.iter().enumerate() {
        let Some(place) = places.iter().find(|it| it.numbers.contains(&number)) else { continue };
        for (object, finding) in of_place(place, demand, period)? {
            let of_object = found.entry(object).or_default();
            match of_object.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, numbers)) => numbers.push(number),
                None => of_object.push((finding, vec![number])),
            }
        }
    }
    let all =
        found.into_iter().flat_map(|(object, all)| all.into_iter().map(move |it| (object, it)));
    let told = all.map(|(object, (finding, numbers))| {
        let place = numbers.first().copied().filter(|_| numbers.len() < demands.len());
        PlacedFinding { place, ..placed(reading, object, finding) }
    });
    Ok(told.collect())
}

fn of_place(
    place: &InputPlace,
    demand: &Demand,
    period: Period,
) -> anyhow::Result<Vec<(usize, Finding)>> {
    let forecast = Forecast::new(&place.world, period, place.initial.clone());
    let fit = Fit::new(&forecast, demand);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let mut progress = Progress::new("adding up", fit.len());
    let mut found = Vec::new();
    let run = |group, hand: &mut dyn FnMut(Vec<(usize, Finding)>) -> anyhow::Result<()>| {
        let excesses = fit.excesses(group);
        hand(excesses.iter().filter_map(|it| finding(place, it)).collect())
    };
    in_order(fit.len(), threads, run, |of_group| {
        found.extend(of_group);
        progress.advance();
        Ok(())
    })?;
    Ok(found)
}

/// The object of the policy that brings it about, and what is reported at its rule.
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
