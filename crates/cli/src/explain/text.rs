//! An explanation for a person.

use std::io::{self, Write};

use almanac_api::families::Descriptor;
use almanac_api::reading::PlacedFinding;
use almanac_engine::{
    Field, Inactive, RankedRequest, RequestOutcome, RuleExplanation, Value, Verdict,
};
use almanac_forecast::{Explanation, LastWrite};
use anstyle::{AnsiColor, Style};

use super::ExplainedTarget;
use crate::drawing::Drawing;
use crate::formulas::Formulas;
use crate::input::Input;
use crate::invisible::printable;
use crate::wall_clock::civil;

const STRONG: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();
const WON: Style = AnsiColor::Green.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();

pub(super) fn write(
    input: &Input,
    answers: &[ExplainedTarget<'_>],
    why_empty: &str,
    width: usize,
    output: &mut impl Write,
) -> io::Result<()> {
    let output = &mut Drawing::new(output, width);
    if answers.is_empty() {
        writeln!(output, "{why_empty}")?;
    }
    let formulas = Formulas::for_input(input);
    for (index, explained) in answers.iter().enumerate() {
        if index > 0 {
            writeln!(output)?;
        }
        if let Some(name) = &explained.place.name {
            writeln!(output, "{STRONG}In {}{STRONG:#}", printable(name))?;
        }
        write_explained(explained, &formulas, output)?;
    }
    let is_printed = |placed: &PlacedFinding| {
        answers.iter().any(|explained| explained.findings().any(|printed| printed == placed))
    };
    for placed in input.findings.iter().filter(|placed| !is_printed(placed)) {
        writeln!(output)?;
        input.write_finding(placed, output)?;
    }
    Ok(())
}

fn write_explained(
    explained: &ExplainedTarget<'_>,
    formulas: &Formulas,
    output: &mut Drawing<impl Write>,
) -> io::Result<()> {
    let explanation = &explained.explanation;
    let at = civil(explained.zone, explanation.at);
    let policy = printable(&explanation.policy.to_string());
    writeln!(output, "{STRONG}{policy}{STRONG:#} at {at}")?;
    let is_own_target = explanation.policy.identity == explanation.target;
    let name = printable(&explanation.target.to_string());
    let target = if is_own_target { String::new() } else { format!(" of {name}") };
    for (field, write) in &explanation.values {
        write_value(explained, *field, &target, write, output)?;
    }
    if let Some(unit) = explained.unit().map(printable) {
        // A pod without a node has only a next unit.
        let is_there = explanation.reasons.first().is_some_and(|it| it.verdict == Verdict::Won);
        let next = if is_there { "" } else { "next " };
        writeln!(output, "{next}unit{target} is {STRONG}{unit}{STRONG:#}")?;
    } else if explanation.values.is_empty() && !is_own_target {
        writeln!(output, "{STRONG}{name}{STRONG:#}")?;
    }
    writeln!(output)?;
    for reason in &explanation.reasons {
        write_reason(explained, reason, formulas, output)?;
    }
    write_requests(explained, output)?;
    if !explanation.values.is_empty() || explained.assumptions().next().is_some() {
        writeln!(output)?;
    }
    // An unknown value may change unseen.
    let is_unknown = explanation.values.iter().all(|(_, write)| write.value.is_none());
    match &explanation.next {
        None if is_unknown => {}
        None => writeln!(output, "Nothing changes within a year.")?,
        Some(next) => {
            let before = explanation.values.iter().map(|(_, write)| write.value.as_ref());
            let changed: Vec<String> = next
                .values
                .iter()
                .zip(before)
                .filter(|((_, after), before)| after.as_ref() != *before)
                .map(|((field, after), before)| {
                    format!("{field} {} → {}", value_text(before), value_text(after.as_ref()))
                })
                .collect();
            let at = civil(explained.zone, next.at);
            let changed = printable(&changed.join(", "));
            writeln!(output, "{STRONG}Next{STRONG:#} {at}: {changed}")?;
        }
    }
    for touched in explained.clock_changes() {
        let touched = printable(&touched.to_string());
        writeln!(output, "{WARNING}!{WARNING:#} {touched}")?;
    }
    for assumption in explained.assumptions() {
        let assumption = printable(&formulas.kept_whole(&assumption));
        writeln!(output, "{QUIET}Assumption: {assumption}{QUIET:#}")?;
    }
    for placed in explained.findings() {
        writeln!(output)?;
        explained.input.write_finding(placed, output)?;
    }
    Ok(())
}

fn write_value(
    explained: &ExplainedTarget<'_>,
    field: Field,
    target: &str,
    write: &LastWrite,
    output: &mut impl Write,
) -> io::Result<()> {
    let since =
        write.since.map_or(String::new(), |at| format!(", since {}", civil(explained.zone, at)));
    let value = printable(&value_text(write.value.as_ref()));
    writeln!(output, "{field}{target} is {STRONG}{value}{STRONG:#}{since}")
}

fn write_reason(
    explained: &ExplainedTarget<'_>,
    reason: &RuleExplanation,
    formulas: &Formulas,
    output: &mut impl Write,
) -> io::Result<()> {
    let (mark, style, verdict) = match reason.verdict {
        Verdict::Won => ('✓', WON, "won"),
        Verdict::Lost => ('✗', QUIET, "lost"),
        Verdict::Inactive => ('·', QUIET, "inactive"),
        Verdict::Excluded => ('-', QUIET, "excluded"),
        Verdict::Error => ('!', ERROR, "error"),
    };
    let Explanation { policy, target, .. } = &explained.explanation;
    let nouns = Descriptor::for_family(policy.family).nouns;
    let whole = match reason.verdict {
        Verdict::Error => "the object",
        _ if *target == policy.identity => nouns.policy,
        _ => nouns.object,
    };
    let rule = printable(reason.rule.as_deref().unwrap_or(whole));
    writeln!(output, "  {style}{mark} {verdict:<8}{style:#}  {STRONG}{rule}{STRONG:#}")?;
    let message = printable(&formulas.kept_whole(&reason.message));
    writeln!(output, "              {message}")?;
    let since = reason.since.map(|at| format!("since {}", civil(explained.zone, at)));
    let until = reason.until.map(|at| format!("until {}", civil(explained.zone, at)));
    let span: Vec<String> = since.into_iter().chain(until).collect();
    if !span.is_empty() {
        writeln!(output, "              {QUIET}{}{QUIET:#}", span.join(", "))?;
    }
    Ok(())
}

/// The maximum number of listed requests for a field, apart from the winner and the explained policy.
const MAX_REQUESTS: usize = 10;

/// Writes the requests for each field with several requests. A single request adds nothing to the reasons.
fn write_requests(explained: &ExplainedTarget<'_>, output: &mut impl Write) -> io::Result<()> {
    let several = explained.explanation.requests.iter().filter(|(_, ranked)| ranked.len() > 1);
    for (field, ranked) in several {
        writeln!(output)?;
        writeln!(output, "{STRONG}Requests{STRONG:#} for {field}")?;
        let mut remaining = MAX_REQUESTS;
        let mut omitted = 0;
        for (index, ranked) in ranked.iter().enumerate() {
            let is_own = ranked.request.policy == explained.explanation.policy;
            if index > 0 && !is_own && remaining == 0 {
                omitted += 1;
                continue;
            }
            remaining -= usize::from(index > 0 && !is_own);
            write_request(explained, ranked, output)?;
        }
        if omitted > 0 {
            writeln!(output, "  {QUIET}and {omitted} more; list them with -o json{QUIET:#}")?;
        }
    }
    Ok(())
}

fn write_request(
    explained: &ExplainedTarget<'_>,
    ranked: &RankedRequest,
    output: &mut impl Write,
) -> io::Result<()> {
    let RankedRequest { request, outcome } = ranked;
    let (mark, style) = match outcome {
        RequestOutcome::Won(_) => ('✓', WON),
        RequestOutcome::Equal { .. } => ('=', QUIET),
        RequestOutcome::Lost { .. } | RequestOutcome::Replaced => ('✗', QUIET),
        RequestOutcome::Inactive(Inactive::Exempt(_)) => ('-', QUIET),
        RequestOutcome::Inactive(_) => ('·', QUIET),
    };
    let (name, policy) = (outcome.name(), printable(&request.policy.to_string()));
    writeln!(output, "  {style}{mark} {name:<8}{style:#}  {STRONG}{policy}{STRONG:#}")?;
    let value = request.value.as_ref().map(|it| format!("{it}; ")).unwrap_or_default();
    let message = printable(&format!("{value}{outcome}"));
    writeln!(output, "              {message}")?;
    if let Some(at) = request.since {
        let since = civil(explained.zone, at);
        writeln!(output, "              {QUIET}since {since}{QUIET:#}")?;
    }
    Ok(())
}

fn value_text(value: Option<&Value>) -> String {
    value.map_or_else(|| "unknown".to_owned(), Value::to_string)
}
