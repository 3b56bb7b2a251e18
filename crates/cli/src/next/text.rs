//! What comes next for a person.

use std::io::{self, Write};

use almanac_engine::{Occurrence, Value};
use almanac_forecast::Event;
use anstyle::Style;

use super::Question;
use crate::drawing::Drawing;
use crate::validate;
use crate::wall_clock::civil;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> io::Result<()> {
    let output = &mut Drawing::new(output);
    let mut listed = 0;
    for event in question.events() {
        write_event(question, &event, output)?;
        listed += 1;
    }
    if listed == 0 {
        writeln!(output, "nothing happens in this period")?;
    }
    for placed in &question.input.findings {
        writeln!(output)?;
        let source = &question.input.reading.sources[placed.source];
        validate::text::write_finding(output, source, placed)?;
    }
    Ok(())
}

fn write_event(question: &Question<'_>, event: &Event, output: &mut impl Write) -> io::Result<()> {
    let zone = question.zone_of(event);
    let there = civil(zone, event.at);
    let yours = civil(question.zone, event.at);
    let both = if there == yours { there } else { format!("{there}  {QUIET}{yours}{QUIET:#}") };
    let (policy, what) = (event.policy.identity.name(), event.what.name());
    let rule = event.rule.as_deref().unwrap_or_default();
    writeln!(output, "{STRONG}{both}{STRONG:#}")?;
    let known =
        |value: Option<&Value>| value.map_or_else(|| "unknown".to_owned(), Value::to_string);
    let sets = event.sets.iter().map(|(field, before, after)| {
        if before.as_ref() == Some(after) {
            format!("{field} stays {after}")
        } else {
            format!("{field} {} → {after}", known(before.as_ref()))
        }
    });
    let sets: Vec<String> = sets.collect();
    let sets = match event.what {
        Occurrence::Superseded => "another rule at the same instant takes its place".to_owned(),
        Occurrence::Missed => "too late to be carried out".to_owned(),
        Occurrence::Fires | Occurrence::Opens | Occurrence::Closes => sets.join(", "),
    };
    let of = if event.policy.identity == event.target {
        String::new()
    } else {
        format!("{}: ", event.target)
    };
    writeln!(output, "  {policy} {rule} {what}; {of}{sets}")
}
