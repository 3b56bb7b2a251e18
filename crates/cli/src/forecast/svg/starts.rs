//! The Job starts of a `CronJob` as a picture: a mark for each start, or one mark for starts that are too close
//! together.

use std::io::Write;

use super::series::place;
use super::{LEFT, LETTERS, escaped};
use crate::cron_jobs::ShownCronJob;
use crate::forecast::question::View;
use crate::shortening::shortened;
use crate::wall_clock::civil;

/// The height of a row with the starts of one `CronJob`.
pub(super) const HEIGHT: u32 = 48;

const MARK: f64 = 16.0;
/// The minimum distance of two marks; closer marks are merged.
const APART: f64 = 3.0;

pub(super) fn write_starts(
    view: View,
    in_place: Option<&str>,
    job: &ShownCronJob,
    top: f64,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let in_place = in_place.map_or(String::new(), |name| format!("{name}: "));
    let title = format!("{in_place}{}", job.described());
    let y = top + 14.0;
    writeln!(output, "<g role=\"group\" aria-label=\"{}\">", escaped(&title))?;
    let title = shortened(&title, LETTERS);
    let title = escaped(&title);
    writeln!(output, "<text class=\"title\" x=\"{LEFT}\" y=\"{y:.2}\">{title}</text>")?;
    let mut starts = job.starts(view.period).peekable();
    let y = top + 24.0;
    if starts.peek().is_none() {
        let y = y + 12.0;
        let reason = job.why_nothing();
        let reason = escaped(&reason);
        writeln!(output, "<text class=\"quiet\" x=\"{LEFT}\" y=\"{y:.2}\">{reason}</text>")?;
    }
    while let Some(first) = starts.next() {
        let (mut last, mut count) = (first, 1_usize);
        while let Some(at) = starts.next_if(|at| place(view, *at) - place(view, last) < APART) {
            (last, count) = (at, count + 1);
        }
        let (x, end) = (place(view, first) - 1.0, place(view, last) + 1.0);
        let when = |at| civil(job.zone(), at);
        let text = match count {
            1 => format!("starts a Job\n{}", when(first)),
            count => format!("starts {count} Jobs\n{} to {}", when(first), when(last)),
        };
        writeln!(
            output,
            "<rect class=\"bar\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{MARK:.2}\" \
             data-from=\"{first}\" data-to=\"{last}\"><title>{}</title></rect>",
            end - x,
            escaped(&text)
        )?;
    }
    writeln!(output, "</g>")?;
    Ok(())
}
