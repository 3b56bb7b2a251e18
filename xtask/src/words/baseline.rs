//! The baseline: the allowed number of findings in each area. A number can only fall.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anyhow::Context as _;

/// The numbers of findings by area.
pub(crate) type Counts = BTreeMap<String, usize>;

/// An area whose count differs from the baseline.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) area: String,
    pub(crate) before: usize,
    pub(crate) now: usize,
}

/// Reads lines `COUNT AREA`.
pub(crate) fn parse(text: &str) -> anyhow::Result<Counts> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let (count, area) = line.trim().split_once(' ').unwrap_or((line, ""));
            let count = count.parse().with_context(|| format!("`{line}` is not COUNT AREA"))?;
            Ok((area.to_owned(), count))
        })
        .collect()
}

/// Writes what `parse` reads. An area without findings has no line.
pub(crate) fn render(counts: &Counts) -> String {
    let mut text =
        "# How many findings of `cargo xtask words` each area may have. Only that command \
                    writes this file,\n# with --write-baseline, and it raises no count.\n"
            .to_owned();
    for (area, count) in counts.iter().filter(|(_, count)| **count > 0) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{count} {area}");
    }
    text
}

/// The areas with more findings than before. An area without a line must not have findings.
pub(crate) fn risen(baseline: &Counts, now: &Counts) -> Vec<Change> {
    changes(baseline, now).into_iter().filter(|change| change.now > change.before).collect()
}

/// The areas with fewer findings than before.
pub(crate) fn fallen(baseline: &Counts, now: &Counts) -> Vec<Change> {
    changes(baseline, now).into_iter().filter(|change| change.now < change.before).collect()
}

fn changes(baseline: &Counts, now: &Counts) -> Vec<Change> {
    let mut areas: Vec<_> = baseline.keys().chain(now.keys()).collect();
    areas.sort();
    areas.dedup();
    let count = |counts: &Counts, area: &String| counts.get(area).copied().unwrap_or_default();
    areas
        .into_iter()
        .map(|area| Change {
            area: area.clone(),
            before: count(baseline, area),
            now: count(now, area),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&str, usize)]) -> Counts {
        counts.iter().map(|(area, count)| ((*area).to_owned(), *count)).collect()
    }

    #[test]
    fn a_written_baseline_reads_back() {
        let before = counts(&[("root", 3), ("crates/api", 12)]);
        assert_eq!(parse(&render(&before)).unwrap(), before);
        assert_eq!(parse(&render(&counts(&[("docs", 0)]))).unwrap(), counts(&[]));
    }

    #[test]
    fn a_line_without_a_count_is_an_error() {
        assert!(parse("docs 3").is_err());
    }

    #[test]
    fn a_rise_and_a_fall_are_changes() {
        let baseline = counts(&[("a", 1), ("b", 2), ("c", 3), ("e", 1)]);
        let now = counts(&[("a", 2), ("b", 2), ("c", 1), ("d", 1)]);
        let change = |area: &str, before, now| Change { area: area.to_owned(), before, now };
        assert_eq!(risen(&baseline, &now), [change("a", 1, 2), change("d", 0, 1)]);
        assert_eq!(fallen(&baseline, &now), [change("c", 3, 1), change("e", 1, 0)]);
    }
}
