//! Reads `--sample`: the results of queries, because there is no Prometheus.

use almanac_api::is_same_query;
use almanac_engine::metric_scaling::{FiniteNumber, SampleProblem, answer};

use crate::argument_error::ArgumentError;
use crate::input::InputPlace;

const ARGUMENT: &str = "--sample";

/// The result of a query.
pub(super) struct Stated<'a> {
    /// The text of the first argument with the query.
    text: &'a str,
    query: &'a str,
    numbers: Vec<f64>,
}

/// Reads all samples. A query may have several samples.
pub(super) fn read(texts: &[String]) -> Result<Vec<Stated<'_>>, ArgumentError> {
    let mut all: Vec<Stated<'_>> = Vec::new();
    for text in texts {
        let (query, number) = parse(text)?;
        match all.iter_mut().find(|stated| is_same_query(stated.query, query)) {
            Some(stated) => stated.numbers.push(number),
            None => all.push(Stated { text, query, numbers: vec![number] }),
        }
    }
    Ok(all)
}

/// Uses these results for the queries wherever they occur.
pub(super) fn state(all: &[Stated<'_>], places: &mut [InputPlace]) -> Result<(), ArgumentError> {
    for stated in all {
        let is_query = |query: &str| is_same_query(query, stated.query);
        let counts = places
            .iter_mut()
            .map(|place| answer(&mut place.world.metric_scaling, is_query, &stated.answer()));
        if counts.sum::<usize>() == 0 {
            let message = "no usable HorizontalAutoscaler has this query";
            return Err(ArgumentError::whole(ARGUMENT, stated.text, message));
        }
    }
    Ok(())
}

impl Stated<'_> {
    /// The sample that an autoscaler receives.
    fn answer(&self) -> Result<FiniteNumber, SampleProblem> {
        match self.numbers[..] {
            [number] => FiniteNumber::new(number).ok_or(SampleProblem::NotFinite),
            ref several => {
                let count = u32::try_from(several.len()).unwrap_or(u32::MAX);
                Err(SampleProblem::SeveralSamples { count })
            }
        }
    }
}

/// A query may contain equals signs; the number cannot.
fn parse(text: &str) -> Result<(&str, f64), ArgumentError> {
    let wrong = || {
        let message = "write a query, as in the autoscaler, and a number, such as \
                       'sum(queue)=12'";
        ArgumentError::whole(ARGUMENT, text, message)
    };
    let (query, number) = text.rsplit_once('=').ok_or_else(wrong)?;
    let number = number.trim().parse().map_err(|_| wrong())?;
    Some((query.trim(), number)).filter(|(query, _)| !query.is_empty()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_query_and_a_number() {
        assert_eq!(parse("up{job=\"a\"} = -1.5").unwrap(), ("up{job=\"a\"}", -1.5));
        for wrong in ["", "up", "=3", "up=", "up=many", "up{a=\"1\"}"] {
            let error = parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("such as 'sum(queue)=12'"), "{wrong}: {error}");
        }
    }

    #[test]
    fn infinite_and_repeated_samples_fail_as_in_prometheus() {
        let texts = ["a=NaN", "b=+Inf", "sum( c )=1", "sum(c)=2"].map(str::to_owned);
        let answers: Vec<_> = read(&texts).unwrap().iter().map(Stated::answer).collect();
        let not_finite = || Err(SampleProblem::NotFinite);
        let several = Err(SampleProblem::SeveralSamples { count: 2 });
        assert_eq!(answers, [not_finite(), not_finite(), several]);
    }
}
