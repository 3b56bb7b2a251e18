//! The table of finding codes, each with a name that never changes.

use std::fmt;

use serde::Serialize;

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The API server would reject it, or Almanac cannot apply it.
    Error,
    /// The object is accepted, but probably not meant so.
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
        /// The code of a finding.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Code {
            $($(#[doc = $explanation])+ $variant,)+
        }

        impl Code {
            /// All codes, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// Its name in output and documentation.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The severity of a finding of this code, unless the finding is only an info.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity,)+ }
            }

            /// The meaning of the code and the fix, in a sentence or two.
            #[must_use]
            pub fn explanation(self) -> String {
                match self { $(Self::$variant => concat!($($explanation),+).trim().to_owned(),)+ }
            }
        }
    };
}

codes! {
    /// A file that does not exist, can't be read, is not text, or exceeds 64 MiB. Correct the path, or split the file.
    UnreadableFile = "unreadable-file", Error;
    /// A file is UTF-16 or Windows-1252. Save it as UTF-8.
    Encoding = "encoding", Error;
    /// The lines of a file end with a carriage return only, so kubectl reads a single document. Save it with LF line endings.
    LineEnds = "line-ends", Warning;
    /// A Helm template, or a file with `${VARIABLES}`, which is an object only once rendered. Check the output of `helm template`, `envsubst` or `flux envsubst` instead.
    Template = "template", Error;
    /// Not valid YAML or JSON. Reading stopped at the position in the message; the cause may be slightly earlier.
    Syntax = "syntax", Error;
    /// `//` does not start a comment in YAML or JSON. Use `#` in YAML; JSON has no comments.
    SlashComment = "slash-comment", Error;
    /// YAML is indented with spaces only. Replace the tab.
    Tab = "tab", Error;
    /// A key appears twice in one map; kubectl would silently use the last. Remove one of them.
    DuplicateKey = "duplicate-key", Error;
    /// An alias (`*name`) has no anchor (`&name`), contains itself, or the aliases of a document multiply beyond 100,000 values.
    Alias = "alias", Error;
    /// A document is nested deeper than 128 levels or has more than a million values. No Kubernetes object is that large.
    TooLarge = "too-large", Error;
    /// A document is not a Kubernetes object: the document is not a map, or `apiVersion` or `kind` is missing.
    NotAnObject = "not-an-object", Error;
    /// The `apiVersion` of a kind that Almanac reads has another group or version than the kind. Write the `apiVersion` in the message.
    UnknownKind = "unknown-kind", Error;
    /// A kind that is one or two letters away from a kind of the same API group that Almanac reads, such as `Placment`, or `Deploymnt` in `apps/v1`. Almanac skips it. Write the kind in the message, unless the group has such a kind. In the groups of Kubernetes that Almanac reads, all kinds are known.
    MistypedKind = "mistyped-kind", Warning;
    /// An API version that Kubernetes has removed, such as `batch/v1beta1` of a `CronJob`, `autoscaling/v2beta2` of a `HorizontalPodAutoscaler`, or `apps/v1beta2` and `extensions/v1beta1` of a `Deployment`. Write the version in the message.
    RemovedVersion = "removed-version", Warning;
    /// The same object (group, kind, namespace and name) is defined more than once. Neither definition would win reliably: remove one.
    DuplicateObject = "duplicate-object", Error;
    /// A name that Kubernetes does not accept. Use lower-case letters, digits, `-` and `.`, and start and end with a letter or digit.
    InvalidName = "invalid-name", Error;
    /// A required field is missing or empty.
    MissingField = "missing-field", Error;
    /// A field that does not exist; the API server would reject or drop the field. The field is often a typo: the fix suggests the nearest name.
    UnknownField = "unknown-field", Error;
    /// A value has the wrong type: a number where text is expected, a list where a map is expected. Text that looks like a number needs quotes.
    WrongType = "wrong-type", Error;
    /// A value that the field does not support.
    UnsupportedValue = "unsupported-value", Error;
    /// A number, a text or a list is smaller, larger, shorter or longer than allowed.
    OutOfRange = "out-of-range", Error;
    /// Two items of a list that must differ are the same.
    DuplicateItem = "duplicate-item", Error;
    /// A field has another name: a published example misspells it (`ruleName` should be `name`).
    MistypedField = "mistyped-field", Error;
    /// An API version that does not exist: `app/v1` should be `apps/v1`.
    MistypedVersion = "mistyped-version", Error;
    /// A cron expression that can't be used. Write five fields, in the dialect of a Kubernetes `CronJob`.
    Schedule = "schedule", Error;
    /// A time zone that isn't an IANA name in its published spelling, such as `Europe/Berlin`.
    TimeZone = "time-zone", Error;
    /// A time of day that can't be used. Write two digits each for the hour and the minute, such as `08:00`; the end of a window may also be `24:00`.
    TimeOfDay = "time-of-day", Error;
    /// A duration that can't be used. Write it with its units, such as `30s` or `1m30s`.
    Duration = "duration", Error;
    /// A label selector that can't be used: the selector has a key, a value or an operator that Kubernetes does not accept, or selects every pod.
    Selector = "selector", Error;
    /// A pattern that can't be used. Fields take comma-separated values, without ranges or steps, and some date must match.
    Pattern = "pattern", Error;
    /// A window that can never be open: its start and its end always coincide. For a whole day, write `00:00` and `24:00`.
    Window = "window", Error;
    /// `spec.schedule` and `spec.scheduleSpec` are two names for the same field. Keep one.
    TwoSchedules = "two-schedules", Error;
    /// The target can't be used: its kind and API version don't go together, Kubernetes has removed the version, or the kind can't be scaled.
    Target = "target", Error;
    /// A lower bound exceeds its upper bound.
    CrossedBounds = "crossed-bounds", Error;
    /// `maxDelaySeconds` must be smaller than the shortest time between two firings of the rule, or one firing would overlap the next.
    MaxDelay = "max-delay", Error;
    /// A query that Prometheus would reject: `max(a, b)` should be `max(a or b)`. Or a query that is too long or too deep, or whose regular expressions need too much memory.
    Query = "query", Error;
    /// A CEL expression that can't be used: the expression is not CEL, needs a feature that Almanac does not support, or costs too much, or the placement has too many expressions. Almanac does not evaluate a placement with such an expression, and its selection stays unchanged.
    Expression = "expression", Error;
    /// Two policies for units of nodes select the same pods of their namespace. The scheduler does not schedule such a pod. Change the selectors, or put all units in one policy.
    TwoPolicies = "two-policies", Error;
    /// A field that has no effect: on a target of this kind, in a policy without such a field, or in another letter case. Correct or remove the field, so that no user relies on it.
    IgnoredField = "ignored-field", Warning;
    /// Two rules of one object fire in the same minute with different values: the later one in the list wins.
    SameMinute = "same-minute", Warning;
    /// A cron expression names both days of the month and weekdays, and fires on a date that matches either. Keep one of the two unless both are meant.
    EitherDay = "either-day", Warning;
    /// A step in a cron expression is so long that one value is left: `*/90` in the minutes is minute 0. Write the value, or a step that divides the field.
    LongStep = "long-step", Warning;
    /// A cron expression has `?`, as in Quartz, and weekdays by number, which Quartz counts from 1 for Sunday; here, 1 is Monday, and 0 and 7 are Sunday. Write the weekdays by name.
    WeekdayNumbers = "weekday-numbers", Warning;
    /// A name starts with a typographic quotation mark, or contains an invisible character, and the character is part of the name. Both come from copied text.
    LookAlike = "look-alike", Warning;
    /// Two policies, or a policy and an autoscaler, write the same field of one target. The other one may be from Almanac, Kubernetes or another project. Each undoes the other's work. For cron rules, `lint` runs them: another policy changes a raised value before the first policy lowers the value again.
    TwoWriters = "two-writers", Warning;
    /// A policy names an object that is not in the input, but the input has an object with a similar name. The object is the target, the `MetricsProducer` in a query, or a `ManagedClusterSet`. Or the name of a `ConfigMap` with policies for QoS levels is similar to the name that the agent reads. Write the name in the message, unless the object is elsewhere.
    NoSuchTarget = "no-such-target", Warning;
    /// A policy is in a namespace that is exempt from all policies: `kube-system`, or a namespace that the annotation or label `almanac.dev/ignore` exempts. The policy does nothing. Move the policy to another namespace.
    ExemptNamespace = "exempt-namespace", Warning;
    /// A selector whose requirements contradict each other, such as two values for one label. Such a selector selects nothing.
    Contradiction = "contradiction", Warning;
    /// All nodes that a unit selects belong to better units, so no pod ever counts in the unit. Raise its priority, or narrow the other units.
    CoveredUnit = "covered-unit", Warning;
    /// With `strategy: required`, all units of a policy are closed or have no nodes of their own, so none of its pods can be scheduled.
    NoOpenUnit = "no-open-unit", Warning;
    /// A key in `matchLabelKeys` that no pod of the policy has in the files, and that no controller is known to set. Unlike in a `PodTopologySpread`, pods without the label are a group of their own.
    LabelOfNoPod = "label-of-no-pod", Warning;
    /// A pod that a policy for units of nodes governs has a deletion cost of its own. Almanac keeps this cost, so the order of the units does not determine which pod is deleted first.
    OwnDeletionCost = "own-deletion-cost", Warning;
    /// All node units of a policy together accept fewer pods than a workload gets. The number of pods is from the workload, or from the policy or autoscaler that sets its replicas. With `strategy: required`, the other pods are never scheduled.
    UnitsTooSmall = "units-too-small", Warning;
    /// A profile of kube-scheduler names the plugin `resourcepolicy`, which is not a part of kube-scheduler. A scheduler that was not built with the plugin does not start.
    SchedulerPlugin = "scheduler-plugin", Warning;
    /// A rule, or a `CronJob`, that does not fire within two years: its date is over, or comes rarely. Correct the schedule, or remove the rule. A `CronJob` with a date that does not exist, such as 31 February, is started manually, so its finding is only an info.
    NeverFires = "never-fires", Warning;
    /// A window that does not open within two years: its date is over, or comes rarely. Correct the window, or remove it.
    NeverOpens = "never-opens", Warning;
    /// Whenever a rule is due, another rule determines the value: a later rule of the same minute, a rule of another policy, or a behavior of higher priority. Remove the rule, or change the times of the other rule.
    NeverWins = "never-wins", Warning;
    /// Two behaviors of equal priority with different values are open at the same time, so their order in the list determines the value. Give the behaviors different priorities.
    ListOrder = "list-order", Warning;
    /// Between the end of one window and the start of the next, only the default or a lower window applies for at most five minutes, as with `23:59` and `00:00`. The end of a window does not belong to the window: end the first window when the second one starts.
    Gap = "gap", Warning;
    /// A rule raises a value, and a rule of another policy or another time zone lowers the value before the counterpart of the first rule does. Or a rule that raises the value on other days lowers the value that a rule sets once a year. The message has both instants and the numbers. Let one rule lower the value, after the last of the rules is over.
    CutShort = "cut-short", Warning;
    /// A rule sets one bound of an autoscaler beyond the other bound, which Almanac moves to fit. Set both bounds.
    MovesOtherBound = "moves-other-bound", Warning;
    /// A rule sets replicas outside the bounds of the workload's autoscaler, or bounds below the replicas, and the autoscaler resets the replicas immediately. Let the rules set the bounds instead.
    OutOfBounds = "out-of-bounds", Warning;
    /// From the instant at which a policy scales them so high, the pods of a namespace exceed a `ResourceQuota`: their total requests, limits or number are too high. Kubernetes does not create the pods beyond the quota. The message has the instant and the numbers, and the fix the highest number within two years. The numbers are lower bounds: only pods with a known number and known requests are counted. Raise the quota, or set fewer replicas.
    AboveQuota = "above-quota", Warning;
    /// From the instant at which a policy scales them so high, the pods together request more than all nodes in the files can allocate. Or a pod of a workload requests more than any single node can allocate. The numbers are lower bounds: the totals are compared, and pods are not placed on nodes. Cordoned nodes are excluded. Add nodes, or set fewer replicas.
    AboveCapacity = "above-capacity", Warning;
    /// A score of a cluster expires within two years, and from then on the placement selects other clusters. Or the score has expired, and its value is 0. Renew the score, or omit `validUntil`.
    ScoreEnds = "score-ends", Warning;
    /// A selector that selects nothing in the files, although the files have objects of that kind. Correct the selector, or add the objects to the files.
    SelectsNothing = "selects-nothing", Warning;
    /// An autoscaler with several metrics uses the largest recommendation for scaling up and the smallest for scaling down. If these differ, the replicas go up and down without end. Write the same `selectPolicy` for both directions.
    MetricsAlternate = "metrics-alternate", Warning;
    /// A rule or a `CronJob` that is suspended, or a policy that is disabled. Such an object does nothing; remove it if it is not needed any more.
    Suspended = "suspended", Info;
    /// A policy for units of nodes selects every pod of its namespace.
    EveryPod = "every-pod", Info;
    /// A unit of nodes with `maxCount: 0`. A closed unit accepts no pod.
    ClosedUnit = "closed-unit", Info;
    /// A cron policy of another project, such as KEDA's cron trigger or an annotation of kube-downscaler. Almanac does not apply it.
    ForeignPolicy = "foreign-policy", Info;
    /// Within a year (`lint`: two years), a clock change skips or repeats the time at which a rule fires, or a window opens or closes. The message says what happens then.
    ClockChange = "clock-change", Info;
    /// A `CronJob` that names hours or days, and no `timeZone`. The schedule follows the time zone of the kube-controller-manager, which Almanac assumes to be UTC or the value of `--cron-job-zone`. Write the intended time zone.
    AssumedZone = "assumed-zone", Info;
    /// A CEL expression whose result is never a boolean, so the expression matches nothing; or an expression with a part that always fails. Compare the result with a value, or correct the operands of that part.
    NeverHolds = "never-holds", Warning;
    /// A status that `kubectl apply` drops, although the object has no other content. Apply it with `--subresource=status`.
    DroppedStatus = "dropped-status", Warning;
    /// A comment `# almanac:ignore` names no code of a finding, or a code that doesn't exist, so the comment ignores nothing. Write the code in the brackets before the finding.
    NothingIgnored = "nothing-ignored", Warning;
    /// A part of the API that Almanac does not implement. The object is accepted, and its conditions report this.
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
    /// Whether the field's name is wrong, not its value.
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
