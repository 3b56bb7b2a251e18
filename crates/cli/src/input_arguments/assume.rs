//! Reads `--assume`: the initial values of fields, and scores of clusters.

mod score;

use std::collections::BTreeSet;

use almanac_engine::Field;
use jiff::Timestamp;

use crate::argument_error::ArgumentError;
use crate::input::InputPlace;
use crate::subject::Subject;

const ARGUMENT: &str = "--assume";

/// Applies the assumptions to all places with a match.
pub(super) fn assume(
    texts: &[String],
    places: &mut [InputPlace],
    now: Timestamp,
) -> Result<(), ArgumentError> {
    let mut scores = score::AssumedScores::default();
    for text in texts {
        if score::is_score(text) {
            scores.assume(text, places, now)?;
        } else {
            assume_initial_value(text, places)?;
        }
    }
    Ok(())
}

fn assume_initial_value(text: &str, places: &mut [InputPlace]) -> Result<(), ArgumentError> {
    let (subject, field, value) = parse(text)?;
    let mut has_match = false;
    for place in places {
        let world = &place.world;
        let writes = world.policies().flat_map(|policy| world.footprint(&policy).writes);
        let matches = writes.filter(|(object, written)| *written == field && subject.fits(object));
        for key in matches.collect::<BTreeSet<_>>() {
            has_match = true;
            if let Some(other) = place.initial.get(&key) {
                let object = &key.0;
                let message = format!("{field} of {object} is already assumed to be {other}");
                return Err(ArgumentError::whole(ARGUMENT, text, message));
            }
            place.initial.insert(key, value);
        }
        check_bounds(text, place)?;
    }
    if !has_match {
        let message = format!("no policy sets {field} of {}", subject.text());
        return Err(ArgumentError::whole(ARGUMENT, text, message));
    }
    Ok(())
}

/// A lower bound above the upper bound of an autoscaler is an error.
fn check_bounds(text: &str, place: &InputPlace) -> Result<(), ArgumentError> {
    let initial = &place.initial;
    for ((object, field), min) in initial.iter().filter(|((_, it), _)| *it == Field::MinReplicas) {
        let max = initial.get(&(object.clone(), Field::MaxReplicas));
        if let Some(max) = max.filter(|max| min > max) {
            let message = format!("{field} {min} is above maxReplicas {max} of {object}");
            return Err(ArgumentError::whole(ARGUMENT, text, message));
        }
    }
    Ok(())
}

fn parse(text: &str) -> Result<(Subject, Field, u32), ArgumentError> {
    let wrong = || {
        let message = "write an object, a field and a number, such as deployment/shop.replicas=3; \
                       the fields are replicas, minReplicas and maxReplicas, and the scores of an \
                       addonplacementscore";
        ArgumentError::whole(ARGUMENT, text, message)
    };
    let (place, number) = text.rsplit_once('=').ok_or_else(wrong)?;
    let (object, field) = place.rsplit_once('.').ok_or_else(wrong)?;
    let settable = Field::ALL.iter().filter(|field| field.can_be_assumed());
    let field = settable.copied().find(|it| it.name() == field).ok_or_else(wrong)?;
    let value: i32 = number.parse().map_err(|_| wrong())?;
    let value = u32::try_from(value).map_err(|_| wrong())?;
    Ok((Subject::parse(ARGUMENT, object)?, field, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_assumption_is_an_object_a_field_and_a_number() {
        let (subject, field, value) = parse("deployment/shop.v2.replicas=3").unwrap();
        assert_eq!((subject.text(), field, value), ("deployment/shop.v2", Field::Replicas, 3));
        for wrong in
            ["", "shop=3", "shop.replicas", "shop.size=3", "shop.replicas=-1", "shop.value=3"]
        {
            let error = parse(wrong).expect_err(wrong).to_string();
            assert!(error.contains("such as deployment/shop.replicas=3"), "{wrong}: {error}");
        }
    }
}
