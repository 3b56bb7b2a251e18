//! The forecast as a picture: the series below each other over one time axis, with the reasons as
//! tooltips, and below them when `CronJobs` start Jobs.
//!
//! Heights and written values carry what is told; colour only helps. Light and dark follow the
//! reader's own setting.

mod series;
mod starts;
mod stories;

use std::io::Write;

use self::series::{height, place, write_series};
use self::starts::write_starts;
use super::WHY_EMPTY;
use super::agreeing::{self, Drawn};
use super::question::{Assumptions, OfPlace, Question, View};
use super::ruler::marks;
use super::text::{in_zone, wrapped};
use crate::markup::escaped;
use crate::wall_clock::civil;

/// Narrow for its letters, so that they can still be read when it is shown at half the width of a page.
const WIDTH: u32 = 760;
const LEFT: f64 = 16.0;
const LENGTH: f64 = 728.0;
const HEAD: u32 = 64;
/// The height of a line of text.
const LINE: u32 = 18;
const CHARACTER: f64 = 7.0;
/// So many letters fit beside each other.
const LETTERS: usize = 104;

const STYLE: &str = "\
text{font:12px system-ui,sans-serif;fill:#1c2733}.quiet{fill:#5b6b7b}.title{font-weight:600}\
.page{fill:#fff}.mark{stroke:#d5dde5}.bar{fill:#bcd7f2;stroke:#2b6cb0}.number{text-anchor:middle}\
.unknown{fill:none;stroke:#8a97a5;stroke-dasharray:4 3}\
@media(prefers-color-scheme:dark){text{fill:#e4ebf2}.quiet{fill:#9badbe}.page{fill:#10161d}\
.mark{stroke:#2b3845}.bar{fill:#1d4468;stroke:#7db8ee}}";

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let view = question.view;
    // Where a part stands depends on how high those before it are, so that is found first.
    let measured = question.of_each_part("measuring", |number, place, part| {
        let assumptions = part.assumptions.iter().map(|it| (it.clone(), number));
        let height = height_of_all(view, &agreeing::drawn(&place.world, &part.series));
        (height, assumptions.collect::<Vec<_>>())
    })?;
    let (heights, assumptions): (Vec<u32>, Vec<_>) = measured.into_iter().unzip();
    let notes = notes(question, &assumptions.into_iter().flatten().collect());
    let end_of_series = HEAD + heights.iter().sum::<u32>();
    let jobs: usize = question.forecasts.iter().map(|it| it.cron_jobs.len()).sum();
    let below = end_of_series
        + u32::try_from(jobs).unwrap_or(u32::MAX / starts::HEIGHT / 2) * starts::HEIGHT;
    let height = below + u32::try_from(notes.len()).unwrap_or(u32::MAX / LINE / 2) * LINE + 8;
    let tops = tops(&heights);
    write_head(view, height, output)?;
    question.write_parts(
        |which, part, sheet| {
            let mut top = tops.get(which.index).copied().unwrap_or(HEAD);
            for drawn in agreeing::drawn(&which.place.world, &part.series) {
                write_series(view, which.place.name.as_deref(), &drawn, f64::from(top), sheet)?;
                top += self::series::height(view, drawn.series);
            }
            Ok(())
        },
        output,
    )?;
    let mut top = f64::from(end_of_series);
    for OfPlace { place, cron_jobs, .. } in &question.forecasts {
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
        writeln!(output, "<text x=\"{LEFT}\" y=\"60\">{why}</text>")?;
    }
    writeln!(output, "</svg>")?;
    Ok(())
}

/// What stands below the series, in lines: clock changes, what is assumed, and findings.
fn notes(question: &Question<'_>, assumptions: &Assumptions) -> Vec<String> {
    let clock_changes = question.clock_changes().into_iter().map(|(place, touched)| {
        let of = place.name.as_ref().map_or(String::new(), |name| format!("in {name}: "));
        format!("! {of}{touched}")
    });
    let assumed = question.assumptions_in_short(assumptions).into_iter();
    let findings = question.input.items().into_iter().map(|it| it.in_a_line());
    let all = clock_changes.chain(assumed.map(|it| format!("assumed: {it}"))).chain(findings);
    let lines = all.flat_map(|note| {
        let lines = wrapped(&note, LETTERS).into_iter().enumerate();
        lines.map(|(index, line)| if index == 0 { line } else { format!("\u{2003}{line}") })
    });
    lines.collect()
}

/// The page, the title and the marks, down to where the last series ends.
fn write_head(view: View, height: u32, output: &mut impl Write) -> anyhow::Result<()> {
    writeln!(
        output,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"group\">\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"{WIDTH}\" height=\"{height}\"/>"
    )?;
    let View { period, zone } = view;
    let (from, to) = (civil(zone, period.from()), civil(zone, period.to()));
    let title = format!("{from} to {to}{}", in_zone(zone));
    let title = escaped(&title);
    writeln!(output, "<title>{title}</title>")?;
    let about = "What policies set over time. Each step has a title of its own: its value, since when and until \
                 when it holds, who sets it and why.";
    writeln!(output, "<desc>{about}</desc>")?;
    writeln!(output, "<text class=\"title\" x=\"{LEFT}\" y=\"22\">{title}</text>")?;
    for mark in marks(period, zone, LENGTH / CHARACTER) {
        let x = place(view, mark.at);
        let bottom = height - 8;
        writeln!(
            output,
            "<line class=\"mark\" x1=\"{x:.2}\" x2=\"{x:.2}\" y1=\"36\" y2=\"{bottom}\"/>\
             <text class=\"quiet\" x=\"{:.2}\" y=\"48\">{}</text>",
            x + 3.0,
            escaped(&mark.label)
        )?;
    }
    Ok(())
}

fn height_of_all(view: View, drawn: &[Drawn<'_>]) -> u32 {
    drawn.iter().map(|drawn| height(view, drawn.series)).sum()
}

/// Where each part begins.
fn tops(heights: &[u32]) -> Vec<u32> {
    let above = heights.iter().scan(HEAD, |top, height| {
        let begins = *top;
        *top += height;
        Some(begins)
    });
    above.collect()
}

#[cfg(test)]
mod tests {
    use almanac_forecast::Series;

    use super::*;
    use crate::forecast::kinds::{self, assert_written_down};

    fn drawn(series: &[Series]) -> String {
        let (view, all) = (kinds::view(), series.iter().map(Drawn::of).collect::<Vec<_>>());
        let mut output = Vec::new();
        write_head(view, HEAD + height_of_all(view, &all) + 8, &mut output).unwrap();
        let mut top = HEAD;
        for drawn in &all {
            write_series(view, None, drawn, f64::from(top), &mut output).unwrap();
            top += height(view, drawn.series);
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
    fn parts_are_stacked_vertically() {
        assert_eq!(tops(&[104, 208, 68]), [64, 168, 376]);
    }
}
