//! `almanac validate`: the checks of the webhook, offline.

pub(crate) mod json;
pub(crate) mod text;

use std::io::Write;
use std::process::ExitCode;

use almanac_api::checking::{CheckContext, Everything, check_everything, clock_changes};
use almanac_api::reading::{PlacedFinding, Reading, labels};
use almanac_calendar::Zone;
use clap::{Args, ValueEnum, ValueHint};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use crate::completion;
use crate::files::{FileArguments, Note};
use crate::input::keep_selected;
use crate::moment;
use crate::outcome::{FailOn, exit_codes};
use crate::selector::Selector;

/// Check policies in files, without a cluster
///
/// Finds what the API server and the admission webhook would reject, and what they would accept with a
/// warning. In directories, hidden and ignored files are skipped, and so is whatever is neither a policy nor
/// an autoscaler nor a target of one; a file that is named has to be a Kubernetes object. Without arguments,
/// checks the current directory.
#[derive(Args)]
#[command(after_help = concat!("Examples:
  almanac validate
  almanac validate clusters/ --exclude testdata --fail-on warning
  almanac validate shop.yaml 'teams/*/scaling.yaml' -o json
  almanac validate -k overlays/prod
  kubectl get cronfhpa -A -o yaml | almanac validate -f -

", exit_codes!()))]
pub(crate) struct ValidateArguments {
    /// Files and directories, as with -f
    #[arg(value_name = "FILE", value_hint = ValueHint::AnyPath)]
    named: Vec<String>,

    #[command(flatten)]
    files: FileArguments,

    /// Only this namespace; objects without a namespace are taken to be in it [default: all, and
    /// `default` for objects without one]
    #[arg(
        short,
        long,
        value_name = "NAMESPACE",
        add = ArgValueCandidates::new(completion::namespaces)
    )]
    namespace: Option<String>,

    /// Only objects that match this label selector, as with kubectl
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,

    /// The instant from which checks look ahead: RFC 3339, a date or time in UTC, or relative to now,
    /// such as tomorrow, monday or +2h [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,

    #[command(flatten)]
    fail_on: FailOn,

    /// Output format
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

/// What was checked, with the result.
struct Checked {
    reading: Reading,
    everything: Everything,
    notes: Vec<Note>,
    /// Whether only some of it was asked about.
    is_narrowed: bool,
}

pub(crate) fn run(
    arguments: &ValidateArguments,
    now: Timestamp,
    output: &mut impl Write,
) -> anyhow::Result<ExitCode> {
    let now = match &arguments.from {
        Some(text) => moment::instant("--from", text, now, Zone::utc())?,
        None => now,
    };
    let selector = arguments.selector.as_deref().map(|text| Selector::parse("--selector", text));
    let selector = selector.transpose()?;
    let mut files = arguments.files.clone();
    files.file.extend(arguments.named.iter().cloned());
    if !files.are_given() {
        files.file.push(".".to_owned());
    }
    let namespace = arguments.namespace.as_deref();
    let is_narrowed = namespace.is_some() || selector.is_some() || files.names_places();
    let mut files = files.read()?.narrowed(namespace, selector.as_ref());
    files.reading.sort();
    let context = CheckContext::new(namespace.unwrap_or("default"), now);
    let mut everything = check_everything(&files.reading, context, &files.layout);
    files.complete_advice(&mut everything, "validate");
    let met = clock_changes(&files.reading, &everything, now);
    everything.findings.extend(met);
    // Stable, so that what was found about one position stays in order.
    let place = |placed: &PlacedFinding| (placed.source, placed.span.map(|span| span.start));
    everything.findings.sort_by_key(place);
    if let Some(selector) = &selector {
        keep_selected(&mut everything.findings, &files.reading, selector);
        let objects = &files.reading.objects;
        everything.checked.retain(|it| selector.fits(Some(&labels(&objects[*it].node))));
    }
    let notes = files.notes(&everything, "validate");
    let checked = Checked { reading: files.reading, everything, notes, is_narrowed };
    match arguments.output {
        Output::Text => text::write(output, &checked)?,
        Output::Json => json::write(output, &checked)?,
    }
    Ok(arguments.fail_on.code(&checked.everything.findings))
}
