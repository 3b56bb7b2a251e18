//! The tooltip of a stretch of time: its start and end, its writer and its reason.
//!
//! There are millions of stretches, but neighboring stretches share most instants and reasons, so these are cached.

use std::io::{self, Write};
use std::sync::Arc;

use almanac_forecast::Origin;
use jiff::Timestamp;

use super::escaped;
use crate::forecast::drawn::Stretch;
use crate::forecast::instants::Instants;
use crate::forecast::position_in;
use crate::forecast::question::View;
use crate::forecast::text::writer_name;
use crate::wall_clock::civil;

pub(super) struct Stories {
    view: View,
    instants: Instants,
    /// The end of the last written stretch.
    last: Time,
    /// The rendered writer and reason of each origin.
    reasons: Vec<(Arc<Origin>, String)>,
}

/// An instant, for a person and for a program.
struct Time {
    at: Timestamp,
    civil: String,
    instant: Vec<u8>,
}

impl Stories {
    pub(super) fn new(view: View) -> Stories {
        let mut instants = Instants::default();
        let last = Time::new(view.period.from(), view, &mut instants);
        Stories { view, instants, last, reasons: Vec::new() }
    }

    /// Ends the tag of a shape with its meaning. `label` is the value. `name` is the name of the value, if a series
    /// has several values. Both are escaped.
    pub(super) fn write(
        &mut self,
        stretch: &Stretch<'_>,
        name: Option<&str>,
        label: &str,
        output: &mut impl Write,
    ) -> io::Result<()> {
        let to = Time::new(stretch.to, self.view, &mut self.instants);
        let mut from = std::mem::replace(&mut self.last, to);
        if from.at != stretch.from {
            from = Time::new(stretch.from, self.view, &mut self.instants);
        }
        output.write_all(b" data-from=\"")?;
        output.write_all(&from.instant)?;
        output.write_all(b"\" data-to=\"")?;
        output.write_all(&self.last.instant)?;
        let (from, to) = (&from.civil, &self.last.civil);
        match name {
            None => write!(output, "\" data-value=\"{label}\"><title>{label}")?,
            Some(name) => write!(
                output,
                "\" data-name=\"{name}\" data-value=\"{label}\"><title>{name} {label}"
            )?,
        }
        let reason = reason(&mut self.reasons, stretch.origin);
        writeln!(output, "\n{from} to {to}\n{reason}</title></rect>")
    }
}

impl Time {
    fn new(at: Timestamp, view: View, instants: &mut Instants) -> Time {
        let mut instant = Vec::new();
        instants.append(at, &mut instant);
        Time { at, civil: civil(view.zone, at), instant }
    }
}

fn reason<'a>(known: &'a mut Vec<(Arc<Origin>, String)>, origin: &Arc<Origin>) -> &'a str {
    let is_same = |(known, _): &(Arc<Origin>, String)| Arc::ptr_eq(known, origin);
    let index = position_in(known, is_same, || {
        let writer = writer_name(origin).map_or(String::new(), |name| format!("{name}\n"));
        (Arc::clone(origin), escaped(&format!("{writer}{}", origin.reason)).into_owned())
    });
    &known[index].1
}
