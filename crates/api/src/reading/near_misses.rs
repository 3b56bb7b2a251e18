//! Near misses: objects with another version or a misspelled kind of an object that Almanac reads. `kinds` recognizes
//! these objects, and `envelope` composes the findings; this module selects the findings to report.

use super::cron_jobs;
use super::envelope::{is_nearly_a_policy, mistyped};
use super::objects::{ConditionalFinding, ReadObject, Reading, name_of};
use super::other_object::OtherObject;
use crate::finding::Finding;
use crate::kinds::{Kind, is_group_of_ours};
use crate::tree::Node;

impl Reading {
    /// Records an object whose `apiVersion` or `kind` is similar to that of an object that Almanac reads.
    pub(super) fn take_mistyped(
        &mut self,
        source: usize,
        node: &Node,
        (api_version, kind): (&str, &str),
        (field, meant): (&str, &str),
    ) {
        let (written, version, named) =
            if field == "kind" { (kind, api_version, meant) } else { (api_version, meant, kind) };
        self.similar.extend(OtherObject::read(version, named, source, node));
        let finding = mistyped(field, written, kind, meant);
        if !self.report_near_miss(source, node, named, finding) {
            return;
        }
        // Other mistakes in the object could only be reported after this mistake is fixed.
        let policy_kind = Kind::written(kind).filter(|it| is_group_of_ours(it.group()));
        if let Some(kind) = policy_kind.filter(|_| field == "apiVersion") {
            let (api_version, node) = (api_version.into(), node.clone());
            self.objects.push(ReadObject { kind, api_version, source, node });
        }
    }

    /// Reports a finding about a near miss of a kind, and returns whether the report is unconditional. In a discovered
    /// file, an object that matters only to policies is reported only if a policy scales it.
    pub(super) fn report_near_miss(
        &mut self,
        source: usize,
        node: &Node,
        kind: &str,
        finding: Finding,
    ) -> bool {
        let name = name_of(node);
        let is_reported = !self.sources[source].is_discovered()
            || is_nearly_a_policy(node)
            || matters_by_itself(kind, name);
        if is_reported {
            self.report(source, node, finding);
        } else {
            let finding = self.placed(source, node, finding);
            self.conditional_findings.push(ConditionalFinding {
                kind: kind.into(),
                name: name.into(),
                finding,
            });
        }
        is_reported
    }
}

/// Whether Almanac displays or follows objects of a kind and a name that no policy scales.
fn matters_by_itself(kind: &str, name: &str) -> bool {
    match Kind::written(kind) {
        Some(Kind::ConfigMap) => Kind::ConfigMap.is_of_interest(name),
        Some(kind) => kind == Kind::HorizontalPodAutoscaler,
        None => kind == cron_jobs::WORD,
    }
}
