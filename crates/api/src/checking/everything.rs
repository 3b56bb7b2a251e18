//! Checking everything that was read: each object, then all of them together.

use super::object::{CheckContext, CheckedObject, check};
use super::together::check_together;
use crate::finding::Finding;
use crate::reading::{PlacedFinding, Reading};

/// Checks all objects. The checked objects are in the order of [`Reading::objects`]; the findings,
/// those about the files among them, in the order of their places.
#[must_use]
pub fn check_everything(
    reading: &Reading,
    context: CheckContext<'_>,
) -> (Vec<CheckedObject>, Vec<PlacedFinding>) {
    let mut checked: Vec<_> = reading.objects.iter().map(|object| check(object, context)).collect();
    let place = |index: usize| {
        let object = &reading.objects[index];
        let source = &reading.sources[object.source];
        format!("{}:{}", source.name(), source.position(object.node.span.start).line)
    };
    let together = check_together(&checked, place);
    let mut findings = reading.findings.clone();
    for ((object, checked), further) in reading.objects.iter().zip(&mut checked).zip(together) {
        checked.findings.extend(further);
        findings.extend(
            checked.findings.iter().map(|finding| placed(object.source, &object.node, finding)),
        );
    }
    findings.sort_by_key(|finding| (finding.source, finding.span.map(|span| span.start)));
    (checked, findings)
}

fn placed(source: usize, node: &crate::reading::Node, finding: &Finding) -> PlacedFinding {
    let span = node.locate(&finding.field, finding.code.is_about_the_key());
    PlacedFinding { source, span: Some(span), finding: finding.clone() }
}
