//! The difference to another list of findings: the entries that this check does not report.

use std::collections::BTreeMap;

use super::Finding;

/// The lines of the list without a finding here.
///
/// A line is `PATH:LINE: WORD…`, or `PATH:LINE: [KIND] WORD…`; other lines count as missing. A line matches a finding
/// if one of both words is a prefix of the other, and if the line is that of the word or of its paragraph. Each finding
/// matches at most one line of the list.
pub(crate) fn missing<'a>(list: &'a str, findings: &[Finding<'_>]) -> Vec<&'a str> {
    let mut by_location: BTreeMap<(&str, usize), Vec<usize>> = BTreeMap::new();
    for (index, finding) in findings.iter().enumerate() {
        for line in [finding.line, finding.paragraph] {
            let here = by_location.entry((finding.path.as_str(), line)).or_default();
            // Both line numbers may be equal.
            if here.last() != Some(&index) {
                here.push(index);
            }
        }
    }
    let mut is_taken = vec![false; findings.len()];
    let mut missing = Vec::new();
    for line in list.lines().filter(|line| !line.is_empty()) {
        let found = parse(line).and_then(|(path, number, text)| {
            let text = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
            let candidates = by_location.get(&(path, number))?.iter().copied();
            let start = text.split(':').next().unwrap_or_default();
            let is_same = |index: &usize| {
                let word = findings[*index].word.to_lowercase();
                !is_taken[*index] && (text.starts_with(&word) || word.starts_with(start))
            };
            // The longest match: a shorter finding may match another line.
            candidates.filter(is_same).max_by_key(|index| findings[*index].word.len())
        });
        match found {
            Some(index) => is_taken[index] = true,
            None => missing.push(line),
        }
    }
    missing
}

fn parse(line: &str) -> Option<(&str, usize, &str)> {
    let (location, text) = line.split_once(": ")?;
    let (path, number) = location.rsplit_once(':')?;
    let text = match text.strip_prefix('[').and_then(|text| text.split_once("] ")) {
        Some((_, text)) => text,
        None => text,
    };
    Some((path, number.parse().ok()?, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::finding;

    #[test]
    fn a_line_with_a_finding_is_not_missing() {
        let findings = [finding("a.md", 3, "so many"), finding("a.md", 3, "told")];
        let list = "a.md:3: [tell] Told: it was told\na.md:3: so many of them\n";
        assert_eq!(missing(list, &findings), [""; 0]);
    }

    #[test]
    fn the_line_of_the_paragraph_is_the_same_location() {
        let findings = [Finding { paragraph: 2, ..finding("a.md", 3, "told") }];
        assert_eq!(missing("a.md:2: told", &findings), [""; 0]);
        assert_eq!(missing("a.md:1: told", &findings), ["a.md:1: told"]);
    }

    #[test]
    fn each_finding_counts_once() {
        let findings = [finding("a.md", 3, "told")];
        assert_eq!(missing("a.md:3: told\na.md:3: told\n", &findings), ["a.md:3: told"]);
    }

    #[test]
    fn another_word_file_or_form_is_missing() {
        let findings = [finding("a.md", 3, "told")];
        for line in ["a.md:3: news", "b.md:3: told", "told"] {
            assert_eq!(missing(line, &findings), [line]);
        }
    }
}
