//! Which instants of a schedule a clock change has moved, or shows twice.

use almanac_calendar::{ClockEffect, Effect};
use jiff::{SignedDuration, Timestamp};

use super::schedule::Happening;

/// The clock changes that may touch the instants still to come.
///
/// Instants are asked about in order of time, so a change that is over is never looked at again:
/// a long period costs no more for each instant than a short one.
pub(super) struct Touches<'a> {
    effects: &'a [ClockEffect],
}

impl<'a> Touches<'a> {
    /// Among these effects, which are in order of time.
    pub(super) fn among(effects: &'a [ClockEffect]) -> Touches<'a> {
        Touches { effects }
    }

    /// The effect that has touched what happens at an instant, which is not before the last one
    /// asked about.
    pub(super) fn at(&mut self, at: Timestamp, happening: Happening) -> Option<&'a ClockEffect> {
        let is_over = |effect: &ClockEffect| since(effect, at) >= reach(effect);
        while let [first, rest @ ..] = self.effects
            && is_over(first)
        {
            self.effects = rest;
        }
        let has_begun = |effect: &&ClockEffect| since(effect, at) >= -reach(effect);
        let mut near = self.effects.iter().take_while(has_begun);
        near.find(|effect| touches(effect, at, happening))
    }
}

/// How long an instant lies after a clock change; negative before it.
fn since(effect: &ClockEffect, at: Timestamp) -> SignedDuration {
    at.duration_since(effect.change.at)
}

/// How long before and after a clock change instants can be touched by it.
fn reach(effect: &ClockEffect) -> SignedDuration {
    effect.change.shift().abs()
}

fn touches(effect: &ClockEffect, at: Timestamp, happening: Happening) -> bool {
    let (since, reach) = (since(effect, at), reach(effect));
    match (effect.effect, happening) {
        (Effect::RunsLate { .. }, Happening::Fires)
        | (Effect::OpensLate { .. }, Happening::Opens)
        | (Effect::ClosesLate { .. }, Happening::Closes) => since.is_zero(),
        (Effect::RunsOnce { .. }, Happening::Fires)
        | (Effect::OpensFirst { .. }, Happening::Opens)
        | (Effect::ClosesFirst { .. }, Happening::Closes) => -reach <= since && since.is_negative(),
        (Effect::Twice { .. }, Happening::Fires) => -reach <= since && since < reach,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use almanac_calendar::{DailyWindow, Windows, Zone};

    use super::*;

    /// The notes on what happens in 2026.
    fn notes_of_2026(windows: &Windows) -> Vec<String> {
        let (from, to) =
            ("2026-01-01T00:00:00Z".parse().unwrap(), "2027-01-01T00:00:00Z".parse().unwrap());
        let effects: Vec<ClockEffect> = windows.clock_effects(from, to).collect();
        let mut touches = Touches::among(&effects);
        let happenings = windows.between(from, to).map(|change| {
            (change.at, if change.opens { Happening::Opens } else { Happening::Closes })
        });
        happenings
            .filter_map(|(at, happening)| Some(touches.at(at, happening)?.to_string()))
            .collect()
    }

    #[test]
    fn an_opening_and_a_closing_in_one_fold_have_a_note_of_their_own() {
        let zone = Zone::named("America/New_York").unwrap();
        let windows = DailyWindow::parse("01:15", "01:45").unwrap().in_zone(zone);
        let touched = notes_of_2026(&windows);
        let first = |verb: &str, time: &str| {
            format!("the window {verb} the first time the clock shows {time}")
        };
        assert_eq!(touched.len(), 2, "{touched:?}");
        assert!(touched[0].ends_with(&first("opens", "01:15")), "{touched:?}");
        assert!(touched[1].ends_with(&first("closes", "01:45")), "{touched:?}");
    }
}
