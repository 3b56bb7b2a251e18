//! Selects the findings about a text to report, and the texts that are templates. Another module reads the content of
//! the text.

use std::ops::Range;

use super::claim::{
    claims, claims_kind_of_ours, claims_policy, document_around, looks_like_manifest,
};
use super::objects::{Reading, Targets};
use super::placeholder::{Engine, action, is_of_chart, placeholder, substituting_program};
use super::source::Source;
use super::text_finding::TextFinding;
use super::typography::name_letters;
use crate::finding::{Code, FieldPath, Finding, Span};

/// Filters a finding about a text: returns the program that fills in the text later, and the reported finding. The
/// finding is not reported if it does not concern a policy or a target, or if the file is a template that the user has
/// not named.
pub(super) fn filter_finding(
    source: &Source,
    finding: TextFinding,
    only: Option<&Targets<'_>>,
) -> (Option<Engine>, Option<TextFinding>) {
    let TextFinding { span, mut finding } = finding;
    let around = document_around(source.text(), span.start as usize);
    let document = &source.text()[around.clone()];
    let line = source.line_around(span.start);
    let is_filled_in = |range: &Range<usize>| {
        is_of_chart(&document[range.clone()]) || looks_like_manifest(document)
    };
    let of_helm = action(document).filter(is_filled_in).map(|range| (range, Engine::Helm));
    // Outside of quotes a variable rarely breaks the text, so the line of the finding must contain a variable.
    let of_others = || placeholder(line).filter(|(_, engine)| *engine != Engine::Helm);
    let filled_in = of_helm.or_else(|| of_others().map(|(_, engine)| (0..0, engine)));
    let is_about_the_text = !matches!(finding.code, Code::Encoding | Code::LineEnds);
    let is_of_interest = || match only {
        None => claims_policy(document),
        Some(targets) => targets.iter().any(|(kind, name)| claims(document, kind, name)),
    };
    // A discovered template is recorded for its content, and not for the text that breaks the syntax.
    let is_noted = || match only {
        None => claims_kind_of_ours(source.text().as_bytes()),
        Some(_) => is_of_interest(),
    };
    match filled_in {
        Some((_, engine)) if is_about_the_text && source.is_discovered() => {
            (Some(engine).filter(|_| is_noted()), None)
        }
        Some((range, engine)) if is_about_the_text => {
            let begin = around.start + range.start;
            let span =
                if range.is_empty() { span } else { Span::new(begin..around.start + range.end) };
            let finding = unfilled(engine, source.text());
            (Some(engine), Some(TextFinding { span, finding: Box::new(finding) }))
        }
        _ if source.is_discovered() && !is_of_interest() => (None, None),
        _ => {
            name_letters(source, span, &mut finding);
            (None, Some(TextFinding { span, finding }))
        }
    }
}

/// Whether a template was reported already: an unreadable template has many mistakes.
pub(super) fn is_already_reported(
    reading: &Reading,
    source: usize,
    reported: &TextFinding,
) -> bool {
    reported.finding.code == Code::Template
        && reading
            .findings
            .iter()
            .rev()
            .take_while(|it| it.source == source)
            .any(|it| it.finding.code == Code::Template && it.span == Some(reported.span))
}

/// The finding about a file with this text that the user named and that is a template.
pub(crate) fn unfilled(engine: Engine, text: &str) -> Finding {
    let (problem, command) = match engine {
        Engine::Helm => (
            "the file is a Helm template; it is an object only once rendered",
            "helm template CHART".to_owned(),
        ),
        Engine::Substitution => (
            "the file has ${VARIABLES}; it is an object only once they are substituted",
            format!("{} < FILE", substituting_program(text)),
        ),
    };
    Finding::new(Code::Template, FieldPath::default(), problem)
        .with_fix(format!("check the result: {command} | almanac validate -f -"))
}
