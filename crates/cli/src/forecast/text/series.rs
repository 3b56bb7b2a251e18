//! One series for a user: its lanes over a ruler, and below them the values, their writers and the reasons.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use almanac_forecast::{Segment, Series, Total};

use super::{MARGIN, QUIET, STRONG, VALUE, WARNING, writer_name};
use crate::forecast::agreeing::Drawn;
use crate::forecast::drawn::{Block, blocks};
use crate::forecast::lanes::lanes;
use crate::forecast::question::View;
use crate::forecast::ruler::Mark;
use crate::forecast::{highlights, story};
use crate::formulas::Formulas;
use crate::invisible::printable;
use crate::shortening::distinguished;
use crate::text_width::display_width;
use crate::wall_clock::civil;
use crate::wrapping::wrapped;

/// The minimum width of the labels of lanes.
const LABEL: usize = MARGIN - 2;

/// The area in which a series is drawn.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) view: View,
    pub(super) marks: &'a [Mark],
    /// The number of columns right of the usual margin.
    pub(super) columns: usize,
    pub(super) formulas: &'a Formulas,
}

/// Printable lines of text with names from files or clusters.
fn printable_lines(text: &str, width: usize) -> Vec<String> {
    wrapped(&printable(text), width)
}

pub(super) fn write_series(
    room: Room<'_>,
    drawn: &Drawn<'_>,
    output: &mut impl Write,
) -> io::Result<()> {
    let Drawn { title, series, .. } = drawn;
    let mut warning = warning(series);
    if let Some(sentence) = story::for_long(series, room.view) {
        write_title(room, &format!("{title} {}", series.field), warning.take(), output)?;
        for line in printable_lines(&sentence, room.columns + MARGIN - 4) {
            writeln!(output, "  {VALUE}{line}{VALUE:#}")?;
        }
    } else {
        let blocks = blocks(series);
        for block in &blocks {
            let name = block.name.map_or(String::new(), |name| format!(", {name}"));
            write_title(room, &format!("{title} {}{name}", series.field), warning.take(), output)?;
            write_lanes(room, block, output)?;
        }
        if blocks.len() > 1 {
            // The lines from here on are about all blocks.
            writeln!(output)?;
        }
    }
    write_reasons(room, series, output)?;
    write_highlights(room, drawn, output)?;
    write_totals(room, series, output)
}

/// The object of the series, and whether several policies set it.
fn write_title(
    room: Room<'_>,
    title: &str,
    warning: Option<String>,
    output: &mut impl Write,
) -> io::Result<()> {
    writeln!(output)?;
    for (index, line) in printable_lines(title, room.columns + MARGIN - 2).iter().enumerate() {
        writeln!(output, "{}{STRONG}{line}{STRONG:#}", if index == 0 { "" } else { "  " })?;
    }
    let warning = warning.map(|warning| printable_lines(&warning, room.columns + MARGIN - 2));
    for (index, line) in warning.iter().flatten().enumerate() {
        match index {
            0 => writeln!(output, "{WARNING}!{WARNING:#} {line}")?,
            _ => writeln!(output, "  {line}")?,
        }
    }
    Ok(())
}

/// Writes the highlights, with a warning if no policy determines the value.
fn write_highlights(room: Room<'_>, drawn: &Drawn<'_>, output: &mut impl Write) -> io::Result<()> {
    for highlight in highlights::sentences(drawn, room.view) {
        let lines = printable_lines(&highlight.text, room.columns + MARGIN - 6);
        for (index, line) in lines.iter().enumerate() {
            match (index, highlight.is_contested) {
                (0, true) => writeln!(output, "  {WARNING}!{WARNING:#} {line}")?,
                (0, false) => writeln!(output, "  {QUIET}~{QUIET:#} {line}")?,
                _ => writeln!(output, "    {line}")?,
            }
        }
    }
    Ok(())
}

/// Writes the pod totals of a series.
fn write_totals(room: Room<'_>, series: &Series, output: &mut impl Write) -> io::Result<()> {
    let totals = series.totals();
    if !series.field.counts_pods() || totals.values().all(|total| total.peak == 0) {
        return Ok(());
    }
    let text = |(name, Total { peak, hours }): (&Option<Arc<str>>, &Total)| {
        let prefix = name.as_ref().map_or(String::new(), |name| format!("{name}: "));
        let pods = if *peak == 1 { "pod" } else { "pods" };
        format!("{prefix}{hours} pod-hours, at most {peak} {pods}")
    };
    let texts: Vec<String> = totals.iter().map(text).collect();
    for line in printable_lines(&texts.join("; "), room.columns + MARGIN - 4) {
        writeln!(output, "  {STRONG}{line}{STRONG:#}")?;
    }
    Ok(())
}

fn warning(series: &Series) -> Option<String> {
    let policies = series.policies();
    let names: Vec<String> = policies.iter().map(ToString::to_string).collect();
    let several = || format!("set by {} policies: {}", names.len(), names.join(" and "));
    (names.len() > 1).then(several)
}

fn write_lanes(room: Room<'_>, block: &Block<'_>, output: &mut impl Write) -> io::Result<()> {
    let lanes = lanes(block);
    let labels: Vec<String> = lanes.iter().map(|lane| printable(&lane.label())).collect();
    let widest = labels.iter().map(|label| display_width(label)).max().unwrap_or(0);
    let most = (room.columns / 3).max(LABEL);
    let label_width = widest.clamp(LABEL, most);
    // The lanes shrink by the extra width of the labels.
    let columns = room.columns - (label_width - LABEL);
    let room = Room { columns, ..room };
    writeln!(output, "{QUIET}{}{QUIET:#}", ruler(room, label_width + 2))?;
    for (lane, label) in lanes.iter().zip(distinguished(&labels, most)) {
        let before = label_width.saturating_sub(display_width(&label));
        let strokes = lane.strokes(block, room.view.period, columns);
        let strokes = strokes.trim_end();
        writeln!(output, "{:before$}{label} {QUIET}┤{QUIET:#}{VALUE}{strokes}{VALUE:#}", "")?;
    }
    Ok(())
}

/// The labels of the marks, each starting above the character that contains its instant.
fn ruler(room: Room<'_>, margin: usize) -> String {
    let (period, columns) = (room.view.period, room.columns);
    let start = period.from().as_nanosecond();
    let length = period.to().as_nanosecond() - start;
    let mut line = " ".repeat(margin);
    for mark in room.marks {
        let column = (mark.at.as_nanosecond() - start) * columns as i128 / length;
        let column = margin + usize::try_from(column).unwrap_or(0);
        let used = line.chars().count();
        if column >= used && column + 1 + mark.label.len() <= margin + columns {
            line += &" ".repeat(column - used);
            line.push('╷');
            line += &mark.label;
        }
    }
    line
}

/// Writes each value with its writer, the reason, and the times.
fn write_reasons(room: Room<'_>, series: &Series, output: &mut impl Write) -> io::Result<()> {
    for segments in groups_of_segments(series) {
        let Some(first) = segments.first() else { continue };
        let value = first.value.as_ref().map_or("unknown".to_owned(), ToString::to_string);
        let name = writer_name(&first.origin).map_or(String::new(), |name| format!("{name}: "));
        let reason = room.formulas.kept_whole(&format!("{name}{}", first.origin.reason));
        let reason = printable_lines(&reason, room.columns);
        let when = printable_lines(&when(room.view, &segments), room.columns);
        let value = printable(&value);
        let mut value = value.as_str();
        if display_width(value) > LABEL {
            // A value that does not fit next to the reason is in the line above.
            for line in printable_lines(value, room.columns + MARGIN - 4) {
                writeln!(output, "  {VALUE}{line}{VALUE:#}")?;
            }
            value = "";
        }
        for line in reason {
            let before = LABEL.saturating_sub(display_width(value));
            writeln!(output, "{:before$}{VALUE}{value}{VALUE:#}  {line}", "")?;
            value = "";
        }
        for line in when {
            writeln!(output, "{:MARGIN$}{QUIET}{line}{QUIET:#}", "")?;
        }
    }
    Ok(())
}

/// The segments grouped by value and writer, in the order of the first segment of each group.
fn groups_of_segments(series: &Series) -> Vec<Vec<&Segment>> {
    let mut groups: Vec<Vec<&Segment>> = Vec::new();
    let mut places = BTreeMap::new();
    for segment in &series.segments {
        let key = (&segment.value, &segment.origin.writer);
        let place = *places.entry(key).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Vec::new());
        }
        groups[place].push(segment);
    }
    groups
}

fn when(view: View, segments: &[&Segment]) -> String {
    let from = view.period.from();
    let (before, later): (Vec<&Segment>, Vec<&Segment>) =
        segments.iter().partition(|segment| segment.from == from);
    let at = |segment: &Segment| civil(view.zone, segment.from);
    let begins = if before.is_empty() { "" } else { "from the start" };
    match later[..] {
        [] => begins.to_owned(),
        [only] if begins.is_empty() => at(only),
        [only] => format!("{begins}, then {}", at(only)),
        [first, .., last] => {
            let then = if begins.is_empty() { "" } else { ", then " };
            let (first, last, times) = (at(first), at(last), later.len());
            format!("{begins}{then}{times} times: {first} … {last}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::kinds::{self, assert_written_down};
    use crate::forecast::ruler::marks;

    fn written(all: &[Series]) -> String {
        let (view, columns) = (kinds::view(), 66);
        let marks = marks(view.period, view.zone, 66.0);
        let room = Room { view, marks: &marks, columns, formulas: &Formulas::default() };
        let mut output = anstream::StripStream::new(Vec::new());
        for series in all {
            write_series(room, &Drawn::for_series(series), &mut output).unwrap();
        }
        String::from_utf8(output.into_inner()).unwrap()
    }

    #[test]
    fn values_of_each_kind_have_their_own_lanes() {
        assert_written_down("kinds.txt", &written(&kinds::series_of_every_kind()));
    }

    #[test]
    fn lanes_fit_the_width_however_long_a_name_is() {
        let written = written(&kinds::hostile_series());
        let lanes: Vec<&str> = written.lines().filter(|line| line.contains('┤')).collect();
        assert_eq!(lanes.len(), 3 + 3 + 3);
        for lane in lanes {
            assert!(display_width(lane) <= 66 + MARGIN, "{lane}");
        }
    }
}
