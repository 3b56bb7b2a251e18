//! The sum of all changes: the numbers of values and `CronJobs` that differ or are not compared, and the pod-hours.

use almanac_engine::counted;
use almanac_forecast::{PodHours, Presence};

use super::rows::{Change, Unit};
use super::words::{a_week, listed};

/// The numbers of compared, changed and skipped values, `CronJobs`, paths and directories, with the pod-hours.
#[derive(Clone, Copy, Default)]
pub(super) struct Summary {
    /// The number of compared fields.
    pub(super) fields: usize,
    /// The number of fields that were not compared, because an object on the new side cannot be used.
    pub(super) unclear: usize,
    /// The number of files and directories that differ and are not compared.
    pub(super) uncompared: usize,
    /// The number of directories that could not be rendered.
    pub(super) unrendered: usize,
    /// The number of compared `CronJobs`, and the number of `CronJobs` that start Jobs at other times.
    pub(super) jobs: usize,
    pub(super) jobs_changed: usize,
    /// The number of `CronJobs` that were not compared, because an object on the new side cannot be used.
    pub(super) jobs_unclear: usize,
    pub(super) changed: usize,
    pub(super) added: usize,
    pub(super) removed: usize,
    pub(super) pods: PodHours,
    pub(super) nodes: PodHours,
    pub(super) at_least: PodHours,
}

impl Summary {
    pub(super) fn add(&mut self, change: &Change) {
        match change.presence {
            Presence::Both => self.changed += 1,
            Presence::Added => self.added += 1,
            Presence::Removed => self.removed += 1,
        }
        let Some(growth) = change.growth else { return };
        match Unit::for_field(&change.target, change.field) {
            Some(Unit::Pods) => self.pods = self.pods + growth,
            Some(Unit::Nodes) => self.nodes = self.nodes + growth,
            Some(Unit::AtLeast) => self.at_least = self.at_least + growth,
            Some(Unit::InUnits | Unit::Waiting) | None => {}
        }
    }

    fn is_changed(&self) -> bool {
        self.changed + self.added + self.removed + self.jobs_changed > 0
    }

    /// Whether a value differs, or may differ because it is not compared.
    pub(super) fn may_differ(&self) -> bool {
        self.is_changed() || self.unclear + self.jobs_unclear > 0
    }

    /// The counts in words: `3 of 12 values change, 1 is new and 2 are no longer set`. `jobs` contains the parts about
    /// `CronJobs`.
    pub(super) fn counted(&self, jobs: &[String]) -> String {
        let is = |count| if count == 1 { "is" } else { "are" };
        let paths = |count: usize| match count {
            1 => "1 path that differs".to_owned(),
            _ => format!("{count} paths that differ"),
        };
        let unclear = self.unclear;
        if self.fields + unclear + self.jobs + self.jobs_unclear == 0 {
            let (uncompared, unrendered) = (self.uncompared, self.unrendered);
            let mut parts = Vec::new();
            parts.extend((uncompared > 0).then(|| format!("Not compared: {}", paths(uncompared))));
            let of_dirs = || format!("Not rendered: {}", directories(unrendered));
            parts.extend((unrendered > 0).then(of_dirs));
            return match &*parts {
                [] => "Neither side has a policy that can be forecast".to_owned(),
                parts => parts.join("; "),
            };
        }
        if !self.is_changed() {
            return self.unchanged(&paths);
        }
        let common = self.fields - self.added - self.removed;
        let mut parts = Vec::new();
        if self.changed > 0 {
            let verb = if self.changed == 1 { "changes" } else { "change" };
            parts.push(format!("{} of {} {verb}", self.changed, counted(common, "value")));
        } else if common > 0 {
            parts.push(format!("none of {} changes", counted(common, "value")));
        }
        if self.added > 0 {
            parts.push(format!("{} {} newly set by a policy", self.added, is(self.added)));
        }
        if self.removed > 0 {
            parts.push(format!("{} {} no longer set by any", self.removed, is(self.removed)));
        }
        parts.extend_from_slice(jobs);
        parts.extend((unclear > 0).then(|| format!("{unclear} {} not compared", is(unclear))));
        let of_jobs = || format!("{} not compared", self.unclear_jobs());
        parts.extend((self.jobs_unclear > 0).then(of_jobs));
        let uncompared = self.uncompared;
        let of_paths = || format!("{} {} not compared", paths(uncompared), is(uncompared));
        parts.extend((uncompared > 0).then(of_paths));
        parts.extend(self.unrendered_part());
        let text = listed(&parts);
        let mut characters = text.chars();
        characters
            .next()
            .map_or_else(String::new, |it| it.to_uppercase().to_string() + characters.as_str())
    }

    /// The headline without known changes.
    fn unchanged(&self, paths: &dyn Fn(usize) -> String) -> String {
        let is_not = |count| if count == 1 { "is not" } else { "are not" };
        let (jobs, values) = (self.jobs + self.jobs_unclear, self.fields + self.unclear);
        let mut compared = Vec::new();
        if values > 0 || jobs == 0 {
            compared.push(counted(self.fields, "value"));
        }
        if jobs > 0 {
            compared.push(counted(self.jobs, "CronJob"));
        }
        let mut parts = vec![format!("{} compared", listed(&compared))];
        let (unclear, uncompared) = (self.unclear, self.uncompared);
        parts.extend((unclear > 0).then(|| format!("{unclear} {}", is_not(unclear))));
        parts.extend((self.jobs_unclear > 0).then(|| format!("{} not", self.unclear_jobs())));
        let of_paths = || format!("{} {}", paths(uncompared), is_not(uncompared));
        parts.extend((uncompared > 0).then(of_paths));
        parts.extend(self.unrendered_part());
        let verdict = if parts.len() == 1 { "Nothing changes" } else { "No change is known" };
        format!("{verdict}: {}", parts.join(", "))
    }

    /// The number of directories that are not rendered: `1 directory is not rendered`; `None` if it is 0.
    fn unrendered_part(&self) -> Option<String> {
        let count = self.unrendered;
        let is = if count == 1 { "is" } else { "are" };
        (count > 0).then(|| format!("{} {is} not rendered", directories(count)))
    }

    /// The number of `CronJobs` that are not compared, with the verb: `1 CronJob is`.
    fn unclear_jobs(&self) -> String {
        let is = if self.jobs_unclear == 1 { "is" } else { "are" };
        format!("{} {is}", counted(self.jobs_unclear, "CronJob"))
    }

    /// The counts and the pod-hours: `3 of 12 values change; +2,432 pod-hours a week`.
    pub(super) fn sentence(&self, jobs: &[String], period: almanac_forecast::Period) -> String {
        let mut parts = vec![self.counted(jobs)];
        parts.extend(self.hours(period));
        parts.join("; ")
    }

    /// The growth in each unit with a difference: `+2,432 pod-hours a week`.
    pub(super) fn hours(&self, period: almanac_forecast::Period) -> Vec<String> {
        let sums =
            [(self.pods, Unit::Pods), (self.nodes, Unit::Nodes), (self.at_least, Unit::AtLeast)];
        let some = sums.into_iter().filter(|(hours, _)| *hours != PodHours::default());
        some.map(|(hours, unit)| a_week(hours.a_week(period), unit)).collect()
    }
}

/// A number of directories: `1 directory`.
fn directories(count: usize) -> String {
    if count == 1 { "1 directory".to_owned() } else { format!("{count} directories") }
}
