//! The forecast as one page that needs no network: the JSON of the contract, and the script that
//! draws it.
//!
//! The page holds exactly what `-o json` prints, so the two cannot disagree; and beside it, which of its series
//! are drawn as one.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use almanac_calendar::Zone;
use almanac_forecast::{Part, Period};
use serde_json::{Value, json};

use super::question::{Question, View, Which};
use super::{agreeing, json};
use crate::markup::escaped;
use crate::wall_clock::civil;

const STYLE: &str = include_str!("page/page.css");
const DRAWN: &str = include_str!("page/drawn.js");
const SCRIPT: &str = include_str!("page/page.js");
const BODY: &str = include_str!("page/body.html");

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let View { period, zone } = question.view;
    let title = format!("{} to {}", civil(zone, period.from()), civil(zone, period.to()));
    let title = escaped(&title);
    write!(
        output,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>Forecast: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{BODY}"
    )?;
    output.write_all(b"<script type=\"application/json\" id=\"clock\">")?;
    write!(InScript(&mut *output), "{}", clock(period, zone))?;
    output.write_all(b"</script>\n<script type=\"application/json\" id=\"forecast\">")?;
    let lanes = Lanes::default();
    let note = |which: Which<'_>, part: &Part| lanes.note(which, part);
    json::write_and_note(question, note, &mut InScript(&mut *output))?;
    output.write_all(b"</script>\n<script type=\"application/json\" id=\"lanes\">")?;
    write!(InScript(&mut *output), "{}", lanes.of_all())?;
    write!(output, "</script>\n<script>\n{DRAWN}{SCRIPT}</script>\n</body>\n</html>\n")?;
    Ok(())
}

/// Which series are drawn as one, in each part, and how many series the part has.
#[derive(Default)]
struct Lanes(Mutex<BTreeMap<usize, (usize, Vec<Lane>)>>);

/// What it is of, and the positions of its series in the part.
type Lane = (String, Vec<usize>);

impl Lanes {
    fn note(&self, which: Which<'_>, part: &Part) {
        let place = which.place.name.as_ref().map_or(String::new(), |name| format!("{name}: "));
        let drawn = agreeing::drawn(&which.place.world, &part.series).into_iter();
        let lanes = drawn.filter(|drawn| drawn.positions.len() > 1);
        let lanes = lanes.map(|drawn| (format!("{place}{}", drawn.title), drawn.positions));
        let of_part = (part.series.len(), lanes.collect());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(which.index, of_part);
    }

    /// The same over all parts, which are written in the order of their numbers.
    fn of_all(self) -> Value {
        let (mut before, mut all) = (0, Vec::new());
        for (count, lanes) in
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner).into_values()
        {
            for (title, positions) in lanes {
                let series: Vec<usize> = positions.into_iter().map(|it| before + it).collect();
                all.push(json!({ "title": title, "series": series }));
            }
            before += count;
        }
        Value::Array(all)
    }
}

/// What the wall clock of the zone shows, by our own time zone database: a browser's may differ.
fn clock(period: Period, zone: Zone) -> Value {
    let first = json!({ "at": period.from(), "offset": zone.offset(period.from()).seconds() });
    let changes = zone
        .changes(period.from(), period.to())
        .map(|change| json!({ "at": change.at, "offset": change.after.seconds() }));
    let offsets: Vec<Value> = std::iter::once(first).chain(changes).collect();
    json!({ "zone": zone.name(), "offsets": offsets })
}

/// Writes JSON so that nothing in it can end the script it stands in. In JSON a `<` stands only in
/// text, where it may be written as an escape.
struct InScript<W>(W);

impl<W: Write> Write for InScript<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for (index, part) in bytes.split(|byte| *byte == b'<').enumerate() {
            if index > 0 {
                self.0.write_all(b"\\u003c")?;
            }
            self.0.write_all(part)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_a_script_cannot_end_it() {
        let mut output = Vec::new();
        InScript(&mut output).write_all(b"\"</script><script>\"").unwrap();
        assert_eq!(output, b"\"\\u003c/script>\\u003cscript>\"");
        let text: String = serde_json::from_slice(&output).unwrap();
        assert_eq!(text, "</script><script>");
    }
}
