//! The policy clock as arguments, for the processes of `almanac up`.

use almanac_api::policy_clock::PolicyClock;
use clap::Args;
use jiff::{SignedDuration, Timestamp};

/// The setting of the policy clock relative to the machine's clock.
#[derive(Args, Clone)]
pub(crate) struct ClockArguments {
    /// Offset of the policy clock from the machine's
    #[arg(long = "clock-offset", value_name = "DURATION", hide = true, allow_hyphen_values = true)]
    offset: Option<SignedDuration>,

    /// Speed of the policy clock, in seconds per second
    #[arg(long = "clock-rate", value_name = "N", hide = true, requires = "since")]
    rate: Option<u32>,

    /// The instant at which the policy clock got that speed, by the machine's clock
    #[arg(long = "clock-since", value_name = "INSTANT", hide = true, requires = "rate")]
    since: Option<Timestamp>,
}

impl ClockArguments {
    /// The setting of the clock.
    pub(crate) fn setting(&self) -> PolicyClock {
        let setting = PolicyClock::ahead_by(self.offset.unwrap_or_default());
        match (self.since, self.rate) {
            (Some(since), Some(rate)) => setting.faster(since, rate),
            _ => setting,
        }
    }

    /// The arguments that set this clock.
    pub(crate) fn for_clock(clock: PolicyClock) -> Self {
        if clock == PolicyClock::REAL {
            return Self { offset: None, rate: None, since: None };
        }
        let since = clock.since();
        let ahead = clock.shown_at(since).duration_since(since);
        Self { offset: Some(ahead), rate: Some(clock.rate()), since: Some(since) }
    }

    /// The arguments that set this clock, as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let offset = self.offset.map(|offset| format!("--clock-offset={offset:#}"));
        let since = self.since.map(|since| format!("--clock-since={since}"));
        let rate = self.rate.map(|rate| format!("--clock-rate={rate}"));
        [offset, since, rate].into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        clock: ClockArguments,
    }

    #[test]
    fn a_clock_survives_the_arguments_that_carry_it() {
        let since: Timestamp = "2026-03-02T12:00:00.123456789Z".parse().expect("an instant");
        let ahead = PolicyClock::ahead_by(SignedDuration::new(-86_400, -5));
        for clock in [PolicyClock::REAL, ahead.faster(since, 1), ahead.faster(since, 6000)] {
            let words = std::iter::once("almanac".to_owned())
                .chain(ClockArguments::for_clock(clock).words());
            assert_eq!(Words::parse_from(words).clock.setting(), clock);
        }
    }
}
