//! The displayed period and zone: the arguments that several commands share.

use almanac_calendar::Zone;
use almanac_forecast::Period;
use clap::Args;
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::argument_error::ArgumentError;
use crate::completion;
use crate::display_zone;
use crate::moment;
use crate::wall_clock::civil;
use crate::zone_name;

/// The period, and the zone in which it is displayed.
#[derive(Args)]
pub(crate) struct PeriodArguments {
    /// Start of the period: RFC 3339, a date or time in the zone, or relative to now, such as tomorrow,
    /// monday or +2h [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,

    /// End of the period, in the same format as --from
    #[arg(long, value_name = "INSTANT", conflicts_with = "period", allow_hyphen_values = true)]
    to: Option<String>,

    // Each command has its own default and describes it.
    #[arg(long = "for", value_name = "PERIOD", allow_hyphen_values = true)]
    period: Option<String>,

    /// The time zone to display, or local for this machine's [default: that of `ALMANAC_ZONE` or almanac.toml, else
    /// the policies' zone if they share one, else UTC]
    #[arg(
        long,
        value_name = "ZONE",
        allow_hyphen_values = true,
        add = ArgValueCandidates::new(completion::displayed_zones)
    )]
    zone: Option<String>,
}

impl PeriodArguments {
    /// The zone to display, by the argument, the environment or the settings; `None` if all are unset.
    pub(crate) fn zone(&self) -> anyhow::Result<Option<Zone>> {
        display_zone::chosen(self.zone.as_deref())
    }

    /// The zone of the argument.
    pub(crate) fn zone_here(&self) -> Result<Option<Zone>, ArgumentError> {
        self.zone.as_deref().map(|name| zone_name::named("--zone", name)).transpose()
    }

    /// The zone argument as typed.
    pub(crate) fn typed_zone(&self) -> Option<&str> {
        self.zone.as_deref()
    }

    /// Whether the end of the period is given.
    pub(crate) fn has_end(&self) -> bool {
        self.to.is_some() || self.period.is_some()
    }

    /// The present, at its whole minute unless `--from` is given.
    pub(crate) fn present(&self, now: Timestamp) -> Timestamp {
        let second = now.as_second();
        let minute = Timestamp::from_second(second - second.rem_euclid(60)).unwrap_or(now);
        if self.from.is_none() { minute } else { now }
    }

    /// The start of the period. A civil time is in the displayed zone.
    pub(crate) fn from(&self, now: Timestamp, zone: Zone) -> Result<Timestamp, ArgumentError> {
        self.from.as_deref().map_or(Ok(now), |text| moment::instant("--from", text, now, zone))
    }

    /// The whole period, of the length `usual` unless its end is given.
    pub(crate) fn period(
        &self,
        usual: &str,
        now: Timestamp,
        zone: Zone,
    ) -> Result<Period, ArgumentError> {
        let from = self.from(now, zone)?;
        let to = match self.end(from, now, zone)? {
            Some(to) => to,
            None => moment::end_of_period("--for", usual, from, zone)?,
        };
        let empty = || ArgumentError::whole("--for", usual, "a period must be longer than zero");
        Period::new(from, to).ok_or_else(empty)
    }

    /// The given end of the period, after `from`; `None` if not given.
    pub(crate) fn end(
        &self,
        from: Timestamp,
        now: Timestamp,
        zone: Zone,
    ) -> Result<Option<Timestamp>, ArgumentError> {
        if let Some(text) = &self.to {
            let to = moment::instant("--to", text, now, zone)?;
            if to <= from {
                let after = civil(zone, from);
                let message =
                    format!("the period ends before it starts; give a time after {after}");
                return Err(ArgumentError::whole("--to", text, message));
            }
            return Ok(Some(to));
        }
        let Some(text) = &self.period else { return Ok(None) };
        let to = moment::end_of_period("--for", text, from, zone)?;
        let empty = || ArgumentError::whole("--for", text, "a period must be longer than zero");
        if to > from { Ok(Some(to)) } else { Err(empty()) }
    }
}

/// The time zone of a name, or an error about the argument.
pub(crate) fn zone(argument: &'static str, name: &str) -> Result<Zone, ArgumentError> {
    Zone::named(name).map_err(|error| ArgumentError::whole(argument, name, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_of_now_is_a_whole_minute_and_a_stated_one_is_kept() {
        let now: Timestamp = "2026-11-23T08:00:59Z".parse().unwrap();
        let minute: Timestamp = "2026-11-23T08:00:00Z".parse().unwrap();
        let mut arguments = PeriodArguments { from: None, to: None, period: None, zone: None };
        assert_eq!(arguments.present(now), minute);
        assert_eq!(arguments.present(minute), minute);
        arguments.from = Some("now".to_owned());
        assert_eq!(arguments.present(now), now);
    }
}
