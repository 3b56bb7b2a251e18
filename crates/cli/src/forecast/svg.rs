//! The forecast as a picture: a row a series, a step a segment, with the reasons as tooltips.
//!
//! Heights and written numbers carry the values; colour only helps. Light and dark follow the
//! reader's own setting.

use std::io::Write;

use almanac_forecast::{Field, Segment, Series};
use jiff::Timestamp;

use super::ruler::marks;
use super::text::{in_zone, who};
use super::{Question, WHY_EMPTY};
use crate::wall_clock::civil;

const WIDTH: u32 = 1200;
const LEFT: f64 = 16.0;
const LENGTH: f64 = 1168.0;
const HEAD: u32 = 64;
const ROW: u32 = 104;
const BAR: f64 = 56.0;
const CHARACTER: f64 = 7.0;

const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#1c2733}.quiet{fill:#5b6b7b}.title{font-weight:600}\
.page{fill:#fff}.mark{stroke:#d5dde5}.bar{fill:#bcd7f2;stroke:#2b6cb0}.number{text-anchor:middle}\
.unknown{fill:none;stroke:#8a97a5;stroke-dasharray:4 3}\
@media(prefers-color-scheme:dark){text{fill:#e4ebf2}.quiet{fill:#9badbe}.page{fill:#10161d}\
.mark{stroke:#2b3845}.bar{fill:#1d4468;stroke:#7db8ee}}";

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let rows = rows(question);
    let height = HEAD + ROW * rows + 8;
    writeln!(
        output,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>"
    )?;
    let (period, zone) = (question.period(), question.zone);
    let (from, to) = (civil(zone, period.from()), civil(zone, period.to()));
    let title = escaped(&format!("{from} to {to}{}", in_zone(zone)));
    writeln!(output, "<title>{title}</title>")?;
    writeln!(output, "<text class=\"title\" x=\"{LEFT}\" y=\"22\">{title}</text>")?;
    for mark in marks(period, zone, LENGTH / CHARACTER) {
        let x = place(question, mark.at);
        let bottom = height - 8;
        writeln!(
            output,
            "<line class=\"mark\" x1=\"{x:.2}\" x2=\"{x:.2}\" y1=\"36\" y2=\"{bottom}\"/>\
             <text class=\"quiet\" x=\"{:.2}\" y=\"48\">{}</text>",
            x + 3.0,
            escaped(&mark.label)
        )?;
    }
    let mut top = f64::from(HEAD);
    for part in question.parts() {
        for series in &part.series {
            write_series(question, series, top, output)?;
            top += f64::from(ROW);
        }
    }
    if rows == 0 {
        let why = escaped(WHY_EMPTY);
        writeln!(output, "<text x=\"{LEFT}\" y=\"60\">{why}</text>")?;
    }
    writeln!(output, "</svg>")?;
    Ok(())
}

fn write_series(
    question: &Question<'_>,
    series: &Series,
    top: f64,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let name = escaped(&format!("{} {}", series.target, series.field));
    writeln!(output, "<g aria-label=\"{name}\">")?;
    writeln!(output, "<text class=\"title\" x=\"{LEFT}\" y=\"{:.2}\">{name}</text>", top + 14.0)?;
    let highest = series.segments.iter().filter_map(|it| it.value).max().unwrap_or(0).max(1);
    let base = top + 32.0 + BAR;
    let mut labelled = f64::NEG_INFINITY;
    for segment in &series.segments {
        let step = Step::of(question, segment, highest, base);
        write_step(question, segment, &step, output)?;
        if step.has_room_for_its_label(labelled) {
            labelled = step.middle() + step.label_width() / 2.0;
            write_label(&step, output)?;
        }
    }
    writeln!(output, "</g>")?;
    Ok(())
}

/// Where a segment is drawn, and what is written at it.
struct Step {
    x: f64,
    width: f64,
    y: f64,
    height: f64,
    label: String,
}

impl Step {
    fn of(question: &Question<'_>, segment: &Segment, highest: u32, base: f64) -> Step {
        let (x, end) = (place(question, segment.from), place(question, segment.to));
        // What is zero is a line on the ground.
        let share = segment.value.map_or(0.5, |value| f64::from(value) / f64::from(highest));
        let height = (share * BAR).max(1.0);
        let label = segment.value.map_or("unknown".to_owned(), |value| value.to_string());
        Step { x, width: (end - x).max(0.5), y: base - height, height, label }
    }

    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    fn label_width(&self) -> f64 {
        f64::from(u16::try_from(self.label.len()).unwrap_or(u16::MAX)) * CHARACTER + 6.0
    }

    /// Whether the label stands clear of the one before, which ends there.
    fn has_room_for_its_label(&self, labelled: f64) -> bool {
        self.width >= 6.0 && self.middle() - self.label_width() / 2.0 >= labelled
    }
}

fn write_step(
    question: &Question<'_>,
    segment: &Segment,
    step: &Step,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let class = if segment.value.is_some() { "bar" } else { "unknown" };
    let story = escaped(&story(question, segment));
    let (from, to) = (segment.from, segment.to);
    let Step { x, width, y, height, label } = step;
    writeln!(
        output,
        "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" \
         height=\"{height:.2}\" data-from=\"{from}\" data-to=\"{to}\" data-value=\"{label}\">\
         <title>{story}</title></rect>"
    )?;
    Ok(())
}

/// In its step, or above it when it does not fit.
fn write_label(step: &Step, output: &mut impl Write) -> anyhow::Result<()> {
    let fits = step.width >= step.label_width() && step.height >= 16.0;
    let (x, y) = (step.middle(), if fits { step.y + 13.0 } else { step.y - 3.0 });
    let label = &step.label;
    writeln!(output, "<text class=\"number\" x=\"{x:.2}\" y=\"{y:.2}\">{label}</text>")?;
    Ok(())
}

/// Value, time, who and why, in lines.
fn story(question: &Question<'_>, segment: &Segment) -> String {
    let value = segment.value.map_or("unknown".to_owned(), |value| value.to_string());
    let (from, to) = (civil(question.zone, segment.from), civil(question.zone, segment.to));
    let who = who(&segment.origin).map_or(String::new(), |who| format!("{who}\n"));
    format!("{value}\n{from} to {to}\n{who}{}", segment.origin.reason)
}

fn place(question: &Question<'_>, at: Timestamp) -> f64 {
    let period = question.period();
    let seconds = |to: Timestamp| to.duration_since(period.from()).as_secs_f64();
    LEFT + LENGTH * seconds(at) / seconds(period.to())
}

/// How many series there are, known before they are found.
fn rows(question: &Question<'_>) -> u32 {
    let scalings = &question.given.world.cron_scalings;
    let fields = question.forecast.targets().map(|(_, writers)| {
        let scaling = writers.iter().find_map(|writer| scalings.get(*writer));
        scaling.map_or(1, |object| Field::of_target(&object.policy.target).len())
    });
    u32::try_from(fields.sum::<usize>()).unwrap_or(u32::MAX / ROW)
}

/// Text as XML and HTML have it.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
