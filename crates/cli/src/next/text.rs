//! The next actions for a user.

use std::io::{self, Write};

use almanac_engine::{Occurrence, Value};
use almanac_forecast::merge_sentences;
use anstyle::{AnsiColor, Style};

use super::{NextEntry, Question};
use crate::cron_jobs::STARTS;
use crate::drawing::Drawing;
use crate::formulas::Formulas;
use crate::input::InputPlace;
use crate::invisible::printable;
use crate::wall_clock::civil;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();

pub(super) fn write(
    question: &Question<'_>,
    width: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let output = &mut Drawing::new(output, width);
    let (mut listed, mut last) = (0, None);
    for (place, event, count) in question.joined_events() {
        write_event(question, place, &event, count, output)?;
        (listed, last) = (listed + 1, Some(event.at()));
    }
    if listed == 0 {
        writeln!(output, "nothing happens in this period")?;
    }
    let clock_changes = question.clock_changes(listed, last);
    if !clock_changes.is_empty() {
        writeln!(output)?;
    }
    for (place, touched) in clock_changes {
        let prefix = place.name.as_ref().map_or(String::new(), |name| format!("in {name}: "));
        let line = format!("{prefix}{touched}");
        writeln!(output, "{WARNING}!{WARNING:#} {}", printable(&line))?;
    }
    let formulas = Formulas::for_input(question.input);
    for assumption in question.assumptions(merge_sentences) {
        let assumption = printable(&formulas.kept_whole(&assumption));
        writeln!(output, "{QUIET}{assumption}{QUIET:#}")?;
    }
    for placed in &question.input.findings {
        writeln!(output)?;
        question.input.write_finding(placed, output)?;
    }
    Ok(())
}

fn write_event(
    question: &Question<'_>,
    place: &InputPlace,
    event: &NextEntry<'_>,
    count: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let in_zone = civil(event.zone(&place.world), event.at());
    let yours = civil(question.zone, event.at());
    let both =
        if in_zone == yours { in_zone } else { format!("{in_zone}  {QUIET}{yours}{QUIET:#}") };
    let world = &place.world;
    let quiet_name = |name: &str| format!("  {QUIET}{}{QUIET:#}", printable(name));
    let place = place.name.as_deref().map_or(String::new(), quiet_name);
    let mark = match event.effect(world) {
        Some(_) => format!("  {WARNING}!{WARNING:#}"),
        None => String::new(),
    };
    writeln!(output, "{STRONG}{both}{STRONG:#}{place}{mark}")?;
    writeln!(output, "  {}", printable(&entry_line(event, count)))
}

/// Writes an action and the number of its pods on a line.
pub(super) fn entry_line(entry: &NextEntry<'_>, count: usize) -> String {
    let event = match entry {
        NextEntry::Event(event) => event,
        NextEntry::Start(job, _) => return format!("{} {STARTS} a Job", job.name()),
    };
    let (policy, verb) = (event.policy.identity.name(), event.what.name());
    let rule = event.rule.as_deref().unwrap_or_default();
    let value_text =
        |value: Option<&Value>| value.map_or_else(|| "unknown".to_owned(), Value::to_string);
    let sets = event.sets.iter().map(|(field, before, after)| {
        if before.as_ref() == Some(after) {
            format!("{field} stays {after}")
        } else {
            format!("{field} {} → {after}", value_text(before.as_ref()))
        }
    });
    let sets: Vec<String> = sets.collect();
    let sets = match event.what {
        Occurrence::Superseded => "another rule at the same instant replaces it".to_owned(),
        Occurrence::Missed => "too late to be applied".to_owned(),
        Occurrence::Fires
        | Occurrence::Opens
        | Occurrence::Closes
        | Occurrence::Scales
        | Occurrence::Selects
        | Occurrence::Overflows
        | Occurrence::Suffices => sets.join(", "),
    };
    let object = if event.policy.identity == event.target {
        String::new()
    } else if count > 1 {
        let plural = if count == 2 { "" } else { "s" };
        format!("{} and {} more pod{plural}: ", event.target, count - 1)
    } else {
        format!("{}: ", event.target)
    };
    format!("{policy} {rule} {verb}; {object}{sets}")
}
