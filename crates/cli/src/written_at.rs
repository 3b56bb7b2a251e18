//! The location of a policy or of one of its rules: the file and the line.

use almanac_api::checking::placed;
use almanac_api::families::Descriptor;
use almanac_api::finding::{Code, FieldPath, Finding, Path};
use almanac_api::reading::Source;
use almanac_engine::PolicyName;

use crate::input::{Input, InputPlace};

impl Input {
    /// `policies/shop.yaml:12`; `None` for an object that was not read from a file.
    pub(crate) fn written_at(
        &self,
        place: &InputPlace,
        policy: &PolicyName,
        rule: Option<&str>,
    ) -> Option<String> {
        let object = place.position(&policy.identity)?;
        let field = rule.and_then(|rule| field_of(place, policy, rule));
        let field = field.unwrap_or_else(|| (&Path::Root.key("spec")).into());
        // The location of a finding can be in the text inside a `ConfigMap`.
        let finding = Finding::new(Code::Suspended, field, String::new());
        let placed = placed(&self.reading, object, finding);
        let source = self.reading.sources.get(placed.source)?;
        let line = source.position(placed.span?.start).line;
        Some(format!("{}:{line}", source.name()))
    }

    /// The files that were read, in order; none for a cluster.
    pub(crate) fn source_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.reading.sources.iter().map(Source::name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// The path of the field of a rule, by the rule's name.
fn field_of(place: &InputPlace, policy: &PolicyName, rule: &str) -> Option<FieldPath> {
    let schedules = place.world.schedules(policy);
    let schedule = schedules.iter().find(|it| *it.rule == *rule)?;
    let slim = place.world.slim_of(policy)?;
    Descriptor::for_family(policy.family)
        .rule_field(&slim, usize::try_from(schedule.position).ok()?)
}
