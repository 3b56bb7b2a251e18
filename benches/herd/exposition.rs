//! Reads figures from the text expositions of almanac and of the API server.

use std::collections::BTreeMap;

/// The samples of an exposition, by name and labels as in the exposition.
#[derive(Default)]
pub(crate) struct Exposition {
    samples: BTreeMap<String, f64>,
}

impl Exposition {
    /// Keeps the samples whose names start with one of these prefixes.
    pub(crate) fn read(text: &str, names: &[&str]) -> Self {
        let samples = text
            .lines()
            .filter(|line| names.iter().any(|name| line.starts_with(name)))
            .filter_map(|line| {
                let (name, value) = line.rsplit_once(' ')?;
                Some((name.to_owned(), value.parse().ok()?))
            })
            .collect();
        Self { samples }
    }

    /// The sum of the samples of that name with all of these labels.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let fits = |sample: &str| {
            sample.split('{').next() == Some(name)
                && labels.iter().all(|(label, value)| label_of(sample, label) == Some(value))
        };
        self.samples.iter().filter(|(sample, _)| fits(sample)).map(|(_, value)| value).sum()
    }

    /// The increase since the earlier exposition, without unchanged samples.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let grown = self.samples.iter().filter_map(|(name, value)| {
            let more = value - before.samples.get(name).copied().unwrap_or_default();
            (more > 0.0).then(|| (name.clone(), more))
        });
        Self { samples: grown.collect() }
    }

    /// All samples in the order of their names.
    pub(crate) fn samples(&self) -> impl Iterator<Item = (&str, f64)> {
        self.samples.iter().map(|(name, value)| (name.as_str(), *value))
    }
}

/// The value of a label of a sample.
pub(crate) fn label_of<'a>(sample: &'a str, label: &str) -> Option<&'a str> {
    let (_, labels) = sample.split_once('{')?;
    let mut rest = labels;
    loop {
        let (name, after) = rest.split_once("=\"")?;
        let (value, after) = after.split_once('"')?;
        if name.trim_start_matches(',') == label {
            return Some(value);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_summed_over_all_unspecified_labels() {
        let text = "# HELP x\nx_total{code=\"200\",purpose=\"a\"} 3\n\
                    x_total{code=\"409\",purpose=\"a\"} 4\nx_total{code=\"200\",purpose=\"b\"} 5\n";
        let read = Exposition::read(text, &["x_"]);
        assert!((read.sum("x_total", &[("purpose", "a")]) - 7.0).abs() < 1e-9);
        assert!((read.sum("x_total", &[("code", "200")]) - 8.0).abs() < 1e-9);
    }
}
