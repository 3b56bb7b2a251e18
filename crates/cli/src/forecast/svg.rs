//! The forecast as a picture: the series below each other over one time axis, with the reasons as
//! tooltips, and below them the Job starts of `CronJobs`.
//!
//! Heights and written values carry the information; color only helps. Light and dark follow the
//! reader's own setting.

mod series;
mod starts;
mod stories;
mod styles;

use std::io::Write;

use almanac_engine::Field;

use self::series::{height, place, write_series};
use self::starts::write_starts;
use super::WHY_EMPTY;
use super::agreeing::Drawn;
use super::question::{Assumptions, PlaceForecast, Question, View};
use super::ruler::marks;
use super::text::in_zone;
use crate::input::InputPlace;
use crate::markup::escaped;
use crate::wall_clock::civil;
use crate::wrapping::wrapped;

/// The width of the picture. It is narrow relative to its letters, so that they are readable when a page displays the
/// picture at half its width.
const WIDTH: u32 = 760;
const LEFT: f64 = 16.0;
const LENGTH: f64 = 728.0;
const HEAD: u32 = 72;
/// The height of a line of text.
const LINE: u32 = 22;
const CHARACTER: f64 = 8.6;
/// The approximate number of steps of a picture that are drawn individually with a title, and the minimum per block.
const STEPS: usize = 4500;
const STEPS_OF_BLOCK: usize = 15;
/// The number of characters in a line.
const LETTERS: usize = 84;

/// The font size is 16. At half the width of the picture it is 8.
const STYLE: &str = "\
text{font:16px system-ui,sans-serif;fill:#1c2733;pointer-events:none}.quiet{fill:#566575}.title{font-weight:600}\
.page{fill:#fff}.mark{stroke:#d5dde5}.number{text-anchor:middle}\
.value{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-opacity:.75;stroke-linejoin:round}\
.bar{fill:#bcd7f2;stroke:#2b6cb0}.nobody{fill:#f4f7fa;stroke:#8a97a5;stroke-dasharray:2 2}\
.unknown{fill:none;stroke:#8a97a5;stroke-dasharray:4 3}.overlap{fill:#566575}\
.at-most{fill:#bcd7f2}.at-least{fill:#2b6cb0;fill-opacity:.55}.warning,.contested{fill:#8a4b00}\
@media(prefers-color-scheme:dark){text{fill:#e4ebf2}.quiet,.overlap{fill:#9badbe}.page{fill:#10161d}\
.mark{stroke:#2b3845}.value{stroke:#10161d}.bar{fill:#1d4468;stroke:#7db8ee}\
.nobody{fill:#1a232d;stroke:#9badbe}.at-most{fill:#1d4468}.at-least{fill:#7db8ee}\
.warning,.contested{fill:#e5b567}}";

/// The sort key of a row, the same as on the page, and the height of the row.
type MeasuredRow = ((String, String, Field), u32);

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let view = question.view;
    let targets: usize = question.forecasts.iter().map(|it| it.forecast.targets().count()).sum();
    let most_steps = (STEPS / targets.max(1)).max(STEPS_OF_BLOCK);
    // The position of a row depends on the heights of the rows before it.
    let measured = question.map_parts("measuring", |number, context, part| {
        let assumptions = part.assumptions.iter().map(|it| (it.clone(), number));
        let rows = question.drawn(context, part);
        let rows = rows.iter().map(|drawn| measure((view, most_steps), context.place, drawn));
        (rows.collect::<Vec<_>>(), assumptions.collect::<Vec<_>>())
    })?;
    let (rows, assumptions): (Vec<Vec<MeasuredRow>>, Vec<_>) = measured.into_iter().unzip();
    let notes = notes(question, &assumptions.into_iter().flatten().collect());
    let (tops, height_of_all) = tops(&rows);
    let end_of_series = HEAD + height_of_all;
    let jobs: usize = question.forecasts.iter().map(|it| it.cron_jobs.len()).sum();
    let below = end_of_series
        + u32::try_from(jobs).unwrap_or(u32::MAX / starts::HEIGHT / 2) * starts::HEIGHT;
    let height = below + u32::try_from(notes.len()).unwrap_or(u32::MAX / LINE / 2) * LINE + 8;
    write_head(view, height, output)?;
    question.write_parts(
        |context, part, part_writer| {
            let tops = tops.get(context.index).into_iter().flatten();
            for (drawn, top) in question.drawn(context, part).iter().zip(tops) {
                let (place, top) = (context.place.name.as_deref(), f64::from(*top));
                write_series((view, most_steps), place, drawn, top, part_writer)?;
            }
            Ok(())
        },
        output,
    )?;
    let mut top = f64::from(end_of_series);
    for PlaceForecast { place, cron_jobs, .. } in &question.forecasts {
        for job in cron_jobs {
            write_starts(view, place.name.as_deref(), job, top, output)?;
            top += f64::from(starts::HEIGHT);
        }
    }
    for (note, line) in notes.iter().zip(1..) {
        let (note, y) = (escaped(note), below + line * LINE - 4);
        writeln!(output, "<text class=\"quiet\" x=\"{LEFT}\" y=\"{y}\">{note}</text>")?;
    }
    if question.is_empty() {
        let why = escaped(WHY_EMPTY);
        writeln!(output, "<text x=\"{LEFT}\" y=\"72\">{why}</text>")?;
    }
    writeln!(output, "</svg>")?;
    Ok(())
}

/// The text below the series, in lines: clock changes, assumptions, and findings.
fn notes(question: &Question<'_>, assumptions: &Assumptions) -> Vec<String> {
    let clock_changes = question.clock_changes().into_iter().map(|(place, touched)| {
        let prefix = place.name.as_ref().map_or(String::new(), |name| format!("in {name}: "));
        format!("! {prefix}{touched}")
    });
    let assumed = question.assumptions_in_short(assumptions, true).into_iter();
    let findings = question.input.items().into_iter().map(|it| it.in_a_line());
    let all = clock_changes.chain(assumed.map(|it| format!("assumed: {it}"))).chain(findings);
    let lines = all.flat_map(|note| {
        let lines = wrapped(&note, LETTERS).into_iter().enumerate();
        lines.map(|(index, line)| if index == 0 { line } else { format!("\u{2003}{line}") })
    });
    lines.collect()
}

/// Writes the page, the title and the marks, down to the end of the last series.
fn write_head(view: View, height: u32, output: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        output,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"group\">\n<style>{STYLE}{}</style>\n{}\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>",
        styles::sheet(),
        styles::patterns()
    )?;
    let View { period, zone } = view;
    let (from, to) = (civil(zone, period.from()), civil(zone, period.to()));
    let title = format!("{from} to {to}{}", in_zone(zone));
    let title = escaped(&title);
    writeln!(output, "<title>{title}</title>")?;
    let about = "The values that policies set over time. Each step has a title of its own: its value, start \
                 and end, the policy that sets it, and the reason. Many steps that are too narrow for that are drawn by \
                 pixels, with one title; the page and JSON have each of them.";
    writeln!(output, "<desc>{about}</desc>")?;
    writeln!(output, "<text class=\"title\" x=\"{LEFT}\" y=\"24\">{title}</text>")?;
    for mark in marks(period, zone, LENGTH / CHARACTER) {
        let x = place(view, mark.at);
        let bottom = height - 8;
        writeln!(
            output,
            "<line class=\"mark\" x1=\"{x:.2}\" x2=\"{x:.2}\" y1=\"36\" y2=\"{bottom}\"/>\
             <text class=\"quiet\" x=\"{:.2}\" y=\"54\">{}</text>",
            x + 3.0,
            escaped(&mark.label)
        )?;
    }
    Ok(())
}

fn measure(
    (view, most_steps): (View, usize),
    place: &InputPlace,
    drawn: &Drawn<'_>,
) -> MeasuredRow {
    let target = &drawn.series.target;
    let group =
        [place.name.as_deref().unwrap_or(""), target.namespace(), target.kind()].join(" · ");
    ((group, drawn.title.clone(), drawn.series.field), height(view, most_steps, drawn))
}

/// The top of each row of each part, in the order of the page, and the height of all rows.
fn tops(parts: &[Vec<MeasuredRow>]) -> (Vec<Vec<u32>>, u32) {
    let mut tops: Vec<Vec<u32>> = parts.iter().map(|rows| vec![HEAD; rows.len()]).collect();
    let all = parts.iter().enumerate().flat_map(|(part, rows)| {
        rows.iter().enumerate().map(move |(row, (key, height))| (key, part, row, *height))
    });
    let mut all: Vec<_> = all.collect();
    all.sort();
    let mut above = 0;
    for (_, part, row, height) in all {
        tops[part][row] += above;
        above += height;
    }
    (tops, above)
}

#[cfg(test)]
mod tests {
    use almanac_forecast::Series;

    use super::*;
    use crate::forecast::kinds::{self, assert_written_down};

    fn drawn(series: &[Series]) -> String {
        let (view, all) = (kinds::view(), series.iter().map(Drawn::for_series).collect::<Vec<_>>());
        let mut output = Vec::new();
        let heights = all.iter().map(|it| height(view, STEPS, it)).sum::<u32>();
        write_head(view, HEAD + heights + 8, &mut output).unwrap();
        let mut top = HEAD;
        for drawn in &all {
            write_series((view, STEPS), None, drawn, f64::from(top), &mut output).unwrap();
            top += height(view, STEPS, drawn);
        }
        output.extend_from_slice(b"</svg>\n");
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn values_of_each_kind_are_drawn_differently() {
        assert_written_down("kinds.svg", &drawn(&kinds::series_of_every_kind()));
    }

    #[test]
    fn hostile_names_are_escaped() {
        let picture = drawn(&kinds::hostile_series());
        assert!(!picture.contains("<script"), "{picture}");
        assert!(picture.contains("&lt;/script&gt;&lt;script&gt;alert(&quot;it's&quot;)"));
        assert!(picture.contains("a &quot;b&quot; &amp; 'c' \\ \u{fffd}"));
        for text in picture.lines().filter(|line| line.starts_with("<text")) {
            assert!(text.chars().count() < 250, "too long to be read: {text}");
        }
    }

    #[test]
    fn rows_stand_below_each_other_in_the_order_of_the_page() {
        let row = |group: &str, title: &str, height| {
            ((group.to_owned(), title.to_owned(), Field::Replicas), height)
        };
        let parts = [vec![row("b", "x", 10), row("a", "z", 20)], vec![row("a", "y", 40)]];
        assert_eq!(tops(&parts), (vec![vec![132, 112], vec![72]], 70));
    }

    #[test]
    fn letters_are_legible_at_half_the_size() {
        assert!(STYLE.starts_with("text{font:16px "));
        let widest = "m".repeat(LETTERS).len();
        assert!(f64::from(u16::try_from(widest).unwrap()) * CHARACTER <= LENGTH);
    }
}
