//! The files to check: the common arguments of commands that check, and the findings of each object.

use almanac_api::checking::{CheckContext, CheckedReading, check_everything};
use almanac_api::reading::{PlacedFinding, labels};
use almanac_calendar::Zone;
use clap::{Args, ValueHint};
use clap_complete::ArgValueCandidates;
use jiff::Timestamp;

use super::Report;
use crate::argument_error::ArgumentError;
use crate::completion;
use crate::display_zone;
use crate::files::{FileArguments, Files};
use crate::moment;
use crate::selector::Selector;

/// The command with findings over time.
pub(crate) const LINT: &str = "lint";

/// The files to check, and the start of checks that look ahead.
#[derive(Args)]
pub(crate) struct CheckArguments {
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

    /// The instant from which checks look ahead: RFC 3339, a date or time in the zone of `ALMANAC_ZONE` or
    /// almanac.toml, else in UTC, or relative to now, such as tomorrow, monday or +2h [default: now]
    #[arg(long, value_name = "INSTANT", allow_hyphen_values = true)]
    from: Option<String>,
}

/// The files, and the findings about single objects and about the objects of a place together.
pub(crate) struct Checked {
    /// The command that checks.
    command: &'static str,
    pub(crate) files: Files,
    pub(crate) everything: CheckedReading,
    /// The namespace of objects without a namespace.
    pub(crate) namespace: String,
    /// The start of checks that look ahead.
    pub(crate) from: Timestamp,
    selector: Option<Selector>,
    is_narrowed: bool,
}

impl From<FileArguments> for CheckArguments {
    /// Requests all objects in these files and directories.
    fn from(files: FileArguments) -> CheckArguments {
        CheckArguments { named: Vec::new(), files, namespace: None, selector: None, from: None }
    }
}

impl CheckArguments {
    /// Reads and checks the files, by default those of the current directory.
    pub(crate) fn check(&self, command: &'static str, now: Timestamp) -> anyhow::Result<Checked> {
        let from = match &self.from {
            Some(text) => {
                let zone = display_zone::chosen(None)?.unwrap_or(Zone::utc());
                moment::instant("--from", text, now, zone)?
            }
            None => now,
        };
        let selector = self.selector.as_deref().map(|text| Selector::parse("--selector", text));
        let selector = selector.transpose()?;
        let mut files = self.files.clone();
        files.adds_up_pods = command == LINT;
        files.file.extend(self.named.iter().cloned());
        if !files.are_given() {
            files.file.push(".".to_owned());
        }
        let namespace = self.namespace.as_deref();
        let is_narrowed = namespace.is_some() || selector.is_some() || files.names_places();
        let mut files = files.read()?.narrowed_to_check(namespace, selector.as_ref());
        files.reading.sort();
        let namespace = namespace.unwrap_or("default").to_owned();
        let kubernetes = files.kubernetes;
        let context = CheckContext { kubernetes, ..CheckContext::new(&namespace, from) };
        let mut everything = check_everything(&files.reading, context, &files.layout);
        files.complete_advice(&mut everything, command);
        Ok(Checked { command, files, everything, namespace, from, selector, is_narrowed })
    }

    /// Standard input can be read once, and fixes cannot be written to it.
    pub(crate) fn refuse_standard_input(
        &self,
        argument: &'static str,
    ) -> Result<(), ArgumentError> {
        let named = self.files.file.iter().chain(&self.named);
        let message = "standard input cannot be written to; name the files";
        let mut refused = named.filter(|it| *it == "-");
        refused.next().map_or(Ok(()), |it| Err(ArgumentError::whole(argument, it, message)))
    }
}

impl Checked {
    /// Keeps the findings about the requested objects.
    pub(crate) fn narrow(&mut self) {
        if let Some(selector) = &self.selector {
            selector.keep(&mut self.everything.findings, &self.files.reading);
            let objects = &self.files.reading.objects;
            self.everything.checked.retain(|it| selector.fits(Some(&labels(&objects[*it].node))));
        }
    }

    /// All findings within the request, in order.
    pub(crate) fn report(mut self) -> Report {
        self.narrow();
        let Checked { command, files, mut everything, is_narrowed, .. } = self;
        // Stable, so that findings at one position stay in order.
        let place = |placed: &PlacedFinding| (placed.source, placed.span.map(|span| span.start));
        everything.findings.sort_by_key(place);
        let notes = files.notes(&everything, command);
        let excluded = files.excluded_paths().count();
        Report {
            command,
            excluded,
            reading: files.reading,
            everything,
            notes,
            is_narrowed,
            ignored: 0,
            fixed: Vec::new(),
        }
    }
}
