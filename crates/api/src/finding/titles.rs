//! Titles of findings, for alerts, which are too short for the explanation.
//!
//! A title has fewer than 80 characters, since a list of alerts cuts off longer ones. Explanations are in `codes`, and
//! fixes in `fix`.

use super::Code;

impl Code {
    /// The title, a short sentence: the first sentence of the explanation, unless that is too long.
    #[must_use]
    pub fn title(self) -> String {
        if let Some(title) = self.own_title() {
            return title.to_owned();
        }
        let explanation = self.explanation();
        explanation.split_inclusive(". ").next().unwrap_or_default().trim().to_owned()
    }

    /// The title of a code whose explanation begins with a long sentence.
    fn own_title(self) -> Option<&'static str> {
        self.title_of_text().or_else(|| self.title_of_object()).or_else(|| self.title_over_time())
    }

    /// The titles of findings about a text and its values.
    fn title_of_text(self) -> Option<&'static str> {
        Some(match self {
            Self::LineEnds => "The lines of a file end with a carriage return only.",
            Self::Template => "A template or a file with variables, which is not rendered yet.",
            Self::Alias => "A YAML alias without an anchor, or aliases that multiply too often.",
            Self::TooLarge => "A document is nested too deeply, or has too many values.",
            Self::NotAnObject => "A document is not a Kubernetes object.",
            Self::UnknownKind => "The group or version of an object is not that of its kind.",
            Self::MistypedKind => "A kind that is nearly one that Almanac reads.",
            Self::RemovedVersion => "An API version that Kubernetes has removed.",
            Self::WrongType => "A value has the wrong type.",
            Self::MistypedField => "A field has another name.",
            Self::TimeZone => "A time zone that is not an IANA name.",
            Self::Selector => "A label selector that can't be used.",
            Self::Expression => "A CEL expression that can't be used.",
            Self::EitherDay => "A cron expression fires on either of two kinds of days.",
            Self::LongStep => "A step in a cron expression leaves only one value.",
            Self::WeekdayNumbers => "A cron expression numbers weekdays, perhaps as Quartz does.",
            Self::LookAlike => "A name contains a confusable or an invisible character.",
            Self::NeverHolds => "A CEL expression that is never true.",
            Self::NothingIgnored => "A comment that ignores nothing.",
            _ => return None,
        })
    }

    /// The titles of findings about an object, or about several objects together.
    fn title_of_object(self) -> Option<&'static str> {
        Some(match self {
            Self::Target => "The target can't be used.",
            Self::MaxDelay => "The longest delay of a rule reaches its next firing.",
            Self::IgnoredField => "A field that has no effect.",
            Self::TwoWriters => "Two policies or autoscalers write the same field.",
            Self::NoSuchTarget => "A policy names an object that is not in the input.",
            Self::ExemptNamespace => "A policy is in a namespace that is exempt from all policies.",
            Self::Contradiction => "A selector whose requirements contradict each other.",
            Self::CoveredUnit => "A unit that never counts a pod.",
            Self::NoOpenUnit => "A policy whose pods can't be scheduled: no unit is open.",
            Self::LabelOfNoPod => "A key in `matchLabelKeys` that no pod has.",
            Self::SchedulerPlugin => "A profile of kube-scheduler names a plugin it does not have.",
            Self::SelectsNothing => "A selector that selects nothing in the files.",
            Self::ForeignPolicy => "A cron policy of another project.",
            _ => return None,
        })
    }

    /// The titles of findings about behavior over time.
    fn title_over_time(self) -> Option<&'static str> {
        Some(match self {
            Self::SameMinute => "Two rules of one object fire in the same minute.",
            Self::UnitsTooSmall => "The units of nodes of a policy take too few pods.",
            Self::NeverFires => "A rule or a `CronJob` that does not fire within two years.",
            Self::NeverOpens => "A window that does not open within two years.",
            Self::NeverWins => "A rule that never decides anything.",
            Self::ListOrder => "Only their order in the list decides between two behaviors.",
            Self::Gap => "At most five minutes between two windows.",
            Self::CutShort => "Another rule changes the value of a rule too early.",
            Self::MovesOtherBound => "A rule sets one bound of an autoscaler beyond the other one.",
            Self::OutOfBounds => "A rule sets a value that the autoscaler sets back immediately.",
            Self::AboveQuota => "The pods of a namespace exceed its quota.",
            Self::AboveCapacity => "The pods request more than the nodes can allocate.",
            Self::ScoreEnds => "A score of a cluster ends.",
            Self::MetricsAlternate => "An autoscaler whose metrics move the replicas up and down.",
            Self::ClockChange => "A clock change skips or repeats the time of a rule or window.",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_title_is_a_short_sentence_of_its_own() {
        let mut titles = BTreeSet::new();
        for code in Code::ALL {
            let title = code.title();
            assert!(title.chars().count() < 80, "{code}: {title}");
            assert!(title.ends_with('.') && title.len() > 10, "{code}: {title}");
            assert!(titles.insert(title), "{code}");
        }
    }
}
