//! The forecast as one page that needs no network: a document, its data, its style and its script.
//!
//! The data are columns (see [`columns`]); the script is the modules, one after the other. The content
//! security policy of the page allows no other script and no requests.

mod columns;
mod modules;
mod repeats;

use std::io::{self, Write};

use almanac_calendar::{Zone, tzdata_version};
use almanac_forecast::Period;
use serde_json::{Value, json};

use self::modules::{SCRIPT, hash_source};
use super::WHY_EMPTY;
use super::question::{Question, View};
use crate::markup::escaped;
use crate::wall_clock::civil;

const STYLE: &str = include_str!("page/page.css");
const BODY: &str = include_str!("page/body.html");

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<()> {
    let View { period, zone } = question.view;
    let title = format!("{} to {}", civil(zone, period.from()), civil(zone, period.to()));
    let title = escaped(&title);
    let (style, script) = (hash_source(STYLE), hash_source(&SCRIPT));
    write!(
        output,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         base-uri 'none'; form-action 'none'; style-src '{style}'; script-src '{script}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>Forecast: {title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{BODY}"
    )?;
    output.write_all(b"<script type=\"application/json\" id=\"about\">")?;
    write!(InScript(&mut *output), "{}", about(question))?;
    output.write_all(b"</script>\n<script type=\"application/json\" id=\"forecast\">")?;
    columns::write(question, &mut InScript(&mut *output))?;
    write!(output, "</script>\n<script type=\"module\">{}</script>\n</body>\n</html>\n", *SCRIPT)?;
    Ok(())
}

/// The head of the page: its period, its clock and its origin.
fn about(question: &Question<'_>) -> Value {
    let View { period, zone } = question.view;
    json!({
        "from": period.from().as_millisecond(),
        "to": period.to().as_millisecond(),
        "zone": zone.name(),
        "offsets": offsets(period, zone),
        "tzdata": tzdata_version(),
        "made": question.invocation.at.as_millisecond(),
        "command": question.invocation.by,
        "empty": question.is_empty().then_some(WHY_EMPTY),
        "sources": question.input.source_names(),
    })
}

/// The offsets of the zone, by our own time zone database, because a browser's may differ: pairs of an instant and the
/// offset from UTC in seconds from then on.
fn offsets(period: Period, zone: Zone) -> Vec<[i64; 2]> {
    let first = [period.from().as_millisecond(), zone.offset(period.from()).seconds().into()];
    let changes = zone
        .changes(period.from(), period.to())
        .map(|change| [change.at.as_millisecond(), change.after.seconds().into()]);
    std::iter::once(first).chain(changes).collect()
}

/// Writes JSON so that nothing in it can end the surrounding script. In JSON a `<` occurs only in strings, where it
/// may be escaped.
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
