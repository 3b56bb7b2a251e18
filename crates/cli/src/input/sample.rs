//! Reading `--sample`: what a query is answered where there is no Prometheus to ask.

use almanac_engine::metric_scaling::FiniteNumber;

use super::InputPlace;
use crate::argument_error::ArgumentError;

const ARGUMENT: &str = "--sample";

/// Lets queries have these answers wherever they are asked.
pub(super) fn state(texts: &[String], places: &mut [InputPlace]) -> Result<(), ArgumentError> {
    let mut stated: Vec<&str> = Vec::new();
    for text in texts {
        let (query, answer) = parse(text)?;
        if stated.contains(&query) {
            let message = "the query has a value already";
            return Err(ArgumentError::whole(ARGUMENT, text, message));
        }
        stated.push(query);
        let asking = places.iter_mut().map(|place| place.world.answer(query, answer));
        if asking.sum::<usize>() == 0 {
            let message = "no usable HorizontalAutoscaler has this query";
            return Err(ArgumentError::whole(ARGUMENT, text, message));
        }
    }
    Ok(())
}

/// A query may have equals signs of its own; the number has none.
fn parse(text: &str) -> Result<(&str, FiniteNumber), ArgumentError> {
    let wrong = || {
        let message = "write a query, as in the autoscaler, and a number, such as \
                       'sum(queue)=12'";
        ArgumentError::whole(ARGUMENT, text, message)
    };
    let (query, number) = text.rsplit_once('=').ok_or_else(wrong)?;
    let number = number.trim().parse().ok().and_then(FiniteNumber::new).ok_or_else(wrong)?;
    Some((query.trim(), number)).filter(|(query, _)| !query.is_empty()).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_a_query_and_a_finite_number() {
        let (query, answer) = parse("up{job=\"a\"} = -1.5").unwrap();
        assert_eq!((query, answer.get()), ("up{job=\"a\"}", -1.5));
        for wrong in ["", "up", "=3", "up=", "up=many", "up=NaN", "up=inf", "up{a=\"1\"}"] {
            let error = parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("such as 'sum(queue)=12'"), "{wrong}: {error}");
        }
    }
}
