//! The table of codes: every kind of finding there is, by a name that never changes.

use std::fmt;

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// It would be refused, or cannot be carried out.
    Error,
    /// It is accepted, but hardly what was meant.
    Warning,
    /// Worth knowing.
    Info,
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
        })
    }
}

/// Writes the table once: the enum, its names, severities and explanations, and the list of all.
macro_rules! codes {
    ($($(#[doc = $explanation:literal])+ $variant:ident = $name:literal, $severity:ident;)+) => {
        /// What kind of finding it is.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Code {
            $($(#[doc = $explanation])+ $variant,)+
        }

        impl Code {
            /// All of them, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name by which it is known in output, documentation and settings.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// How bad every finding of this code is.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }

            /// What it means and what to do, in a sentence or two.
            #[must_use]
            pub fn explanation(self) -> String {
                match self { $(Self::$variant => concat!($($explanation),+).trim().to_owned(),)+ }
            }
        }
    };
}

codes! {
    /// A file can't be read: it isn't there, isn't UTF-8 text, or is larger than 64 MiB. Correct the path, or save or split the file.
    UnreadableFile = "unreadable-file", Error;
    /// The text is no YAML, or no JSON. The place shown is where reading stopped; the cause may be a little before it.
    Syntax = "syntax", Error;
    /// `//` starts no comment in YAML or JSON. Write `#` in YAML; leave the comment out in JSON.
    SlashComment = "slash-comment", Error;
    /// YAML is indented with spaces only. Replace the tab.
    Tab = "tab", Error;
    /// A key stands twice in one map; kubectl would silently take the last. Remove one of them.
    DuplicateKey = "duplicate-key", Error;
    /// An alias (`*name`) has no anchor (`&name`), contains itself, or the aliases of a document multiply beyond 100,000 values.
    Alias = "alias", Error;
    /// A document is nested deeper than 128 levels or holds more than a million values: no Kubernetes object is like that.
    TooLarge = "too-large", Error;
    /// A document is no Kubernetes object: it isn't a map, or `apiVersion` or `kind` is missing.
    NotAnObject = "not-an-object", Error;
    /// The API group is known but has no such kind or version. Correct it as the message says.
    UnknownKind = "unknown-kind", Error;
    /// The same object (group, kind, namespace and name) was given before. Neither would win reliably: remove one.
    DuplicateObject = "duplicate-object", Error;
    /// A name is none that Kubernetes accepts: lower-case letters, digits, `-` and `.`, beginning and ending with a letter or digit.
    InvalidName = "invalid-name", Error;
    /// A field that has to be there is missing or empty.
    MissingField = "missing-field", Error;
    /// There is no such field; the API server would refuse or drop it. Often a slip of the pen: the nearest name is suggested.
    UnknownField = "unknown-field", Error;
    /// A value is of the wrong kind: a number where text is due, a list where a map is due. Text that looks like a number needs quotes.
    WrongType = "wrong-type", Error;
    /// A value is none of the few the field knows.
    UnsupportedValue = "unsupported-value", Error;
    /// A number, a text or a list is smaller, larger, shorter or longer than allowed.
    OutOfRange = "out-of-range", Error;
    /// Two items of a list that must differ are the same.
    DuplicateItem = "duplicate-item", Error;
    /// A field goes by another name here: a published example misspells it (`ruleName` is `name`).
    MistypedField = "mistyped-field", Error;
    /// An API version nobody serves: `app/v1` is `apps/v1`.
    MistypedVersion = "mistyped-version", Error;
    /// A cron expression that can't be used: five fields, in the dialect of a Kubernetes `CronJob`.
    Schedule = "schedule", Error;
    /// A time zone that isn't an IANA name in its published spelling, such as `Europe/Berlin`.
    TimeZone = "time-zone", Error;
    /// A pattern that can't be used: comma-separated values, no ranges, no steps; and some day must match it.
    Pattern = "pattern", Error;
    /// A window that can never be open: its start and its end always fall together.
    Window = "window", Error;
    /// `spec.schedule` and `spec.scheduleSpec` are two names of one thing. Keep one.
    TwoSchedules = "two-schedules", Error;
    /// What the object points to can't be what it has to be: kinds and API versions that don't go together.
    Target = "target", Error;
    /// A lower bound stands above its upper bound.
    CrossedBounds = "crossed-bounds", Error;
    /// `maxDelaySeconds` must be smaller than the shortest time between two firings of the rule, or one firing would run into the next.
    MaxDelay = "max-delay", Error;
    /// A query Prometheus would refuse: `max(a, b)` is `max(a or b)`.
    Query = "query", Error;
    /// A field that has no effect on a target of this kind. Remove it, so that nobody relies on it.
    IgnoredField = "ignored-field", Warning;
    /// Two rules of one object fire at the same minute with different values: the later one in the list wins.
    SameMinute = "same-minute", Warning;
    /// A cron expression names both days of the month and weekdays, and fires on a date that matches either. Keep one of the two unless that is meant.
    EitherDay = "either-day", Warning;
    /// A step in a cron expression is so long that one value is left: `*/90` in the minutes is minute 0. Write the value, or a step that divides the field.
    LongStep = "long-step", Warning;
    /// Two policies, or a policy and an autoscaler, write the same field of one target. They will undo each other's work.
    TwoWriters = "two-writers", Warning;
    /// A part of the design that isn't carried out here. The object is accepted and says so in its conditions.
    Unsupported = "unsupported", Warning;
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Code {
    /// Whether it is the name of the field that is at fault, not its value.
    #[must_use]
    pub fn is_about_the_key(self) -> bool {
        matches!(
            self,
            Self::UnknownField
                | Self::MistypedField
                | Self::DuplicateKey
                | Self::TwoSchedules
                | Self::IgnoredField
        )
    }
}
