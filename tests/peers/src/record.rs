//! The record: the results of Kubernetes in a file, with the seed of the cases, the version of Kubernetes and a digest
//! of the cases. The digest prevents a comparison with results for other cases.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde_json::Value;

const TITLE: &str = "# Kubernetes' answers to random cases. Written by: cargo xtask peers";

/// The recorded results of Kubernetes for all cases.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// The version of Kubernetes that computed the results.
    pub kubernetes: String,
    /// The seed of the random cases.
    pub seed: u64,
    /// A digest of all cases, from [`Self::digest_of`].
    pub digest: String,
    /// The replicas after each step of each case, in order.
    pub answers: Vec<Vec<u32>>,
}

/// A line that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordError {
    pub(crate) line: usize,
    pub(crate) wanted: &'static str,
}

impl Record {
    /// A digest of the cases: the same in every run, and different for other cases.
    #[must_use]
    pub fn digest_of<'a>(cases: impl IntoIterator<Item = &'a Value>) -> String {
        // FNV-1a: stable over machines and versions.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for case in cases {
            for byte in format!("{case}\n").bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        }
        format!("{hash:016x}")
    }
}

/// One line for each case; equal results of consecutive steps are written once, with the number of steps.
impl fmt::Display for Record {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { kubernetes, seed, digest, answers } = self;
        writeln!(formatter, "{TITLE}\nkubernetes {kubernetes}\nseed {seed}\nasked {digest}")?;
        for case in answers {
            let mut line = String::new();
            for stretch in case.chunk_by(|one, next| one == next) {
                let separator = if line.is_empty() { "" } else { " " };
                write!(line, "{separator}{}", stretch[0])?;
                if stretch.len() > 1 {
                    write!(line, "*{}", stretch.len())?;
                }
            }
            writeln!(formatter, "{line}")?;
        }
        Ok(())
    }
}

impl FromStr for Record {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<Record, RecordError> {
        let mut lines = (1..).zip(text.lines());
        let mut field = |name: &'static str| {
            let (line, text) = lines.next().unwrap_or_default();
            text.strip_prefix(name).map(str::trim).ok_or(RecordError { line, wanted: name })
        };
        field(TITLE)?;
        let kubernetes = field("kubernetes ")?.to_owned();
        let seed = field("seed ")?;
        let seed = seed.parse().map_err(|_| RecordError { line: 3, wanted: "a number" })?;
        let digest = field("asked ")?.to_owned();
        let answers = lines.map(|(line, text)| {
            let stretches = text.split(' ').map(|stretch| {
                let (replicas, steps) = stretch.split_once('*').unwrap_or((stretch, "1"));
                Some(std::iter::repeat_n(replicas.parse().ok()?, steps.parse().ok()?))
            });
            let all: Option<Vec<_>> = stretches.collect();
            let all = all.ok_or(RecordError { line, wanted: "replicas, such as `3*20 5`" })?;
            Ok(all.into_iter().flatten().collect())
        });
        let answers = answers.collect::<Result<_, _>>()?;
        Ok(Record { kubernetes, seed, digest, answers })
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RecordError { line, wanted } = self;
        write!(formatter, "failed to read line {line}: wanted {wanted}; run `cargo xtask peers`")
    }
}

impl std::error::Error for RecordError {}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record() -> Record {
        Record {
            kubernetes: "1.36.2".to_owned(),
            seed: 7,
            digest: Record::digest_of([&json!({ "replicas": 1 })]),
            answers: vec![vec![5], vec![3, 3, 3, 40, 3]],
        }
    }

    #[test]
    fn a_written_record_reads_back() {
        let text = record().to_string();
        assert!(text.ends_with("\n5\n3*3 40 3\n"), "{text}");
        assert_eq!(text.parse(), Ok(record()));
    }

    #[test]
    fn a_line_that_cannot_be_read_is_named() {
        let text = record().to_string();
        for (part, other, line) in
            [("seed 7", "sed 7", 3), ("seed 7", "seed x", 3), ("3*3", "3*x", 6)]
        {
            let error = text.replace(part, other).parse::<Record>().unwrap_err();
            assert_eq!(error.line, line, "{error}");
        }
    }

    #[test]
    fn different_cases_have_different_digests() {
        let other = Record::digest_of([&json!({ "replicas": 2 })]);
        assert_ne!(other, record().digest);
    }
}
