//! Placeholders that another program fills in later: Helm's `{{ … }}` and Flux's `${…}`.

use std::ops::Range;

/// The program that fills in a template.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Engine {
    /// `helm template`, and other programs that render Go templates.
    Helm,
    /// `envsubst`, and Flux' substitution after a build.
    Substitution,
}

/// A file that contains no objects until a program fills it in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Template {
    /// The index of the source in [`super::Reading::sources`].
    pub source: usize,
    /// The program that fills in the file.
    pub engine: Engine,
}

/// The first placeholder in a text.
pub(crate) fn placeholder(text: &str) -> Option<(Range<usize>, Engine)> {
    let of_helm = action(text).map(|range| (range, Engine::Helm));
    let variable = variable(text).map(|range| (range, Engine::Substitution));
    [of_helm, variable].into_iter().flatten().min_by_key(|(range, _)| range.start)
}

/// The first `{{ … }}` that is not in a comment.
pub(super) fn action(text: &str) -> Option<Range<usize>> {
    text.match_indices("{{").find_map(|(start, _)| {
        let line = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let is_comment = text[line..start].trim_start().starts_with('#');
        let end = start + text[start..].find("}}")? + 2;
        (!is_comment).then_some(start..end)
    })
}

/// Whether an action belongs to a chart, and not to another program with `{{ … }}`.
pub(super) fn is_of_chart(action: &str) -> bool {
    const WORDS: [&str; 8] =
        ["if", "range", "with", "include", "template", "define", "end", "toYaml"];
    const OBJECTS: [&str; 5] = [".Values", ".Release", ".Chart", ".Capabilities", ".Template"];
    let inside = action.trim_matches(['{', '}', '-', ' ']);
    let first = inside.split_whitespace().next().unwrap_or_default();
    WORDS.contains(&first) || OBJECTS.iter().any(|object| inside.contains(object))
}

/// The first `${NAME}` or `${NAME:=default}`.
fn variable(text: &str) -> Option<Range<usize>> {
    variables(text).next()
}

fn variables(text: &str) -> impl Iterator<Item = Range<usize>> {
    text.match_indices("${").filter_map(|(start, _)| {
        let inside = &text[start + 2..];
        let end = inside.find('}')?;
        let name = inside[..end].split(':').next().unwrap_or_default();
        let is_name = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            && name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
        is_name.then_some(start..start + 2 + end + 1)
    })
}

/// The program that substitutes the variables of a text. GNU's `envsubst` does not replace `${NAME:=default}`. Only
/// Flux replaces this form, by a command of its own.
#[must_use]
pub fn substituting_program(text: &str) -> &'static str {
    let has_default = variables(text).any(|range| text[range].contains(':'));
    if has_default { "flux envsubst" } else { "envsubst" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_placeholder(text: &str) -> Option<(&str, Engine)> {
        placeholder(text).map(|(range, engine)| (&text[range], engine))
    }

    #[test]
    fn placeholders_of_helm_and_flux_are_found() {
        assert_eq!(
            first_placeholder("a: {{ .Values.b }}"),
            Some(("{{ .Values.b }}", Engine::Helm))
        );
        assert_eq!(
            first_placeholder("# {{ a }}\n  {{- end }}\n"),
            Some(("{{- end }}", Engine::Helm))
        );
        assert_eq!(first_placeholder("a: ${PEAK}"), Some(("${PEAK}", Engine::Substitution)));
        assert_eq!(first_placeholder("a: ${peak:=5}"), Some(("${peak:=5}", Engine::Substitution)));
        assert_eq!(first_placeholder("${A} {{ b }}"), Some(("${A}", Engine::Substitution)));
    }

    #[test]
    fn defaults_are_for_flux_to_substitute() {
        assert_eq!(substituting_program("a: ${PEAK}\nb: ${OTHER}"), "envsubst");
        for text in ["a: ${PEAK}\nb: ${OTHER:=3}", "a: ${PEAK:-3}", "a: ${PEAK:0:2}"] {
            assert_eq!(substituting_program(text), "flux envsubst", "{text}");
        }
    }

    #[test]
    fn lookalikes_of_placeholders_are_not() {
        for text in ["a: {b: {}}", "$PEAK", "${}", "${a-b}", "${1}", "{{ open", "# {{ a }}", "${A"]
        {
            assert_eq!(first_placeholder(text), None, "{text}");
        }
    }
}
