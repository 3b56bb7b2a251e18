//! What was asked, and the way from its parts to what is printed.
//!
//! Parts are found and drawn on several threads and printed in order, so that what is printed is
//! the same for any number of threads. How a part is drawn is left to each output.

use std::collections::BTreeSet;
use std::io::{self, Write};

use almanac_calendar::Zone;
use almanac_forecast::{Assumption, Forecast, Part, Period};

use super::in_order::in_order;
use super::progress::Progress;
use crate::input::Input;

/// What was asked, read and checked.
pub(super) struct Question<'a> {
    pub(super) input: &'a Input,
    pub(super) forecast: Forecast<'a>,
    pub(super) view: View,
    /// On how many threads it is answered.
    pub(super) threads: usize,
}

/// What time is shown, and by whose wall clock.
#[derive(Clone, Copy)]
pub(super) struct View {
    pub(super) period: Period,
    pub(super) zone: Zone,
}

/// So many bytes of what is drawn are handed over at once.
const ENOUGH: usize = 64 * 1024;

/// More than is mostly written at a time: there is room for it beyond what is enough.
const ONE_WRITE: usize = 4 * 1024;

/// What comes of a part.
struct Found {
    /// What is drawn of it, or some of that.
    drawn: Vec<u8>,
    /// What was taken for granted; there once it is drawn to the end.
    assumptions: Option<Vec<Assumption>>,
}

/// Where a part is drawn: a writer that hands over what was written whenever it is enough.
pub(super) struct Sheet<'a> {
    written: Vec<u8>,
    hand: &'a mut dyn FnMut(Found) -> anyhow::Result<()>,
}

impl Question<'_> {
    pub(super) fn is_empty(&self) -> bool {
        self.forecast.is_empty()
    }

    /// Draws every part, each with its place among them, and writes them one after the other.
    /// Returns what was taken for granted in them.
    pub(super) fn write_parts(
        &self,
        draw: impl Fn(usize, &Part, &mut Sheet<'_>) -> anyhow::Result<()> + Sync,
        output: &mut impl Write,
    ) -> anyhow::Result<BTreeSet<Assumption>> {
        let mut progress = Progress::new("forecasting", self.forecast.len());
        let mut assumptions = BTreeSet::new();
        let find_and_draw = |index, hand: &mut dyn FnMut(Found) -> anyhow::Result<()>| {
            let part = self.forecast.part(index);
            let mut sheet = Sheet { written: Vec::with_capacity(ENOUGH + ONE_WRITE), hand };
            draw(index, &part, &mut sheet)?;
            let drawn = sheet.written;
            hand(Found { drawn, assumptions: Some(part.assumptions) })
        };
        in_order(self.forecast.len(), self.threads, find_and_draw, |found| {
            output.write_all(&found.drawn)?;
            if let Some(found) = found.assumptions {
                assumptions.extend(found);
                progress.advance();
            }
            Ok(())
        })?;
        Ok(assumptions)
    }

    /// Something of each part, without drawing it.
    pub(super) fn of_each_part<T: Send>(
        &self,
        doing: &'static str,
        find: impl Fn(&Part) -> T + Sync,
    ) -> anyhow::Result<Vec<T>> {
        let mut progress = Progress::new(doing, self.forecast.len());
        let mut all = Vec::with_capacity(self.forecast.len());
        let find = |index, hand: &mut dyn FnMut(T) -> anyhow::Result<()>| {
            hand(find(&self.forecast.part(index)))
        };
        in_order(self.forecast.len(), self.threads, find, |found| {
            all.push(found);
            progress.advance();
            Ok(())
        })?;
        Ok(all)
    }

    /// Everything that is taken for granted, for a person.
    pub(super) fn assumptions(&self, found: &BTreeSet<Assumption>) -> Vec<String> {
        let found = found.iter().map(ToString::to_string);
        let input = self.input.left_out.iter().chain(&self.input.unseen);
        found.chain(input.cloned()).collect()
    }
}

impl Sheet<'_> {
    fn hand_over(&mut self, empty: Vec<u8>) -> io::Result<()> {
        let written = std::mem::replace(&mut self.written, empty);
        // What failed below was mostly a write, and which kind of failure matters further up.
        let of_writing =
            |error: anyhow::Error| error.downcast::<io::Error>().unwrap_or_else(io::Error::other);
        (self.hand)(Found { drawn: written, assumptions: None }).map_err(of_writing)
    }
}

impl Write for Sheet<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.written.extend_from_slice(bytes);
        if self.written.len() >= ENOUGH {
            // As much again is likely to come.
            self.hand_over(Vec::with_capacity(ENOUGH + ONE_WRITE))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.written.is_empty() { Ok(()) } else { self.hand_over(Vec::new()) }
    }
}
