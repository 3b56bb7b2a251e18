//! The exemptions, `words-exemptions.txt`: accepted findings, each with its reason.

use anyhow::{Context as _, ensure};

use super::Finding;

const EXEMPTIONS: &str = include_str!("../../words-exemptions.txt");

/// The number of exemptions must be below this limit.
const LIMIT: usize = 40;

/// An accepted word in a file.
#[derive(Debug)]
pub(crate) struct Exemption {
    path: String,
    word: String,
}

pub(crate) fn load() -> anyhow::Result<Vec<Exemption>> {
    parse(EXEMPTIONS).context("failed to read xtask/words-exemptions.txt")
}

/// Reads lines `PATH: WORD: REASON`.
fn parse(text: &str) -> anyhow::Result<Vec<Exemption>> {
    let mut exemptions = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let mut parts = line.splitn(3, ": ").map(str::trim);
        let [Some(path), Some(word), Some(reason)] = [(); 3].map(|()| parts.next()) else {
            anyhow::bail!("`{line}` is not PATH: WORD: REASON");
        };
        ensure!(
            !path.is_empty() && !word.is_empty() && reason.contains(' '),
            "`{line}` has no reason; write it after the word"
        );
        exemptions.push(Exemption { path: path.to_owned(), word: word.to_lowercase() });
    }
    let count = exemptions.len();
    ensure!(count < LIMIT, "{count} exemptions; at most {} may exist, so change a text", LIMIT - 1);
    Ok(exemptions)
}

impl Exemption {
    fn covers(&self, finding: &Finding<'_>) -> bool {
        finding.path == self.path && finding.word.to_lowercase() == self.word
    }
}

/// Removes the exempt findings. Returns a message for each exemption without a finding.
pub(crate) fn apply(exemptions: &[Exemption], findings: &mut Vec<Finding<'_>>) -> Vec<String> {
    let unneeded = exemptions
        .iter()
        .filter(|exemption| !findings.iter().any(|finding| exemption.covers(finding)))
        .map(|Exemption { path, word }| {
            format!("xtask/words-exemptions.txt: {path}: {word}: no such finding; remove the line")
        })
        .collect();
    findings.retain(|finding| !exemptions.iter().any(|exemption| exemption.covers(finding)));
    unneeded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tests::finding;

    #[test]
    fn there_are_fewer_than_40_exemptions_each_with_a_reason() {
        load().unwrap();
        let many = |count: usize| "a.md: told: it is a name\n".repeat(count);
        assert!(parse(&many(39)).is_ok());
        assert!(parse(&many(40)).is_err());
    }

    #[test]
    fn an_exemption_without_a_reason_is_an_error() {
        for line in ["a.md: told", "a.md: told: ", "a.md: told: because", "told"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }

    #[test]
    fn an_exemption_covers_its_word_in_its_file() {
        let exemptions = parse("a.md: Told: it is a name").unwrap();
        let mut findings = vec![
            finding("a.md", 1, "told"),
            finding("a.md", 2, "news"),
            finding("b.md", 1, "told"),
        ];
        assert_eq!(apply(&exemptions, &mut findings), [""; 0]);
        let remaining: Vec<_> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(remaining, ["a.md:2: news: advice", "b.md:1: told: advice"]);
    }

    #[test]
    fn an_exemption_that_covers_nothing_is_a_finding() {
        let exemptions = parse("a.md: told: it is a name").unwrap();
        let messages = apply(&exemptions, &mut vec![finding("b.md", 1, "told")]);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].contains("a.md: told: no such finding"), "{messages:?}");
    }
}
