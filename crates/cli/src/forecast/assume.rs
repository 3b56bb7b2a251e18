//! Reading `--assume`: what holds at the beginning.

use std::collections::BTreeSet;

use almanac_engine::{Field, Identity, World};
use almanac_forecast::AssumedValues;

use crate::argument_error::ArgumentError;
use crate::subject::Subject;

const ARGUMENT: &str = "--assume";

pub(super) fn read(texts: &[String], world: &World) -> Result<AssumedValues, ArgumentError> {
    let mut assumed = AssumedValues::new();
    for text in texts {
        let (subject, field, value) = parse(text)?;
        let written = world.policies().flat_map(|policy| world.footprint(&policy).writes);
        let meant: BTreeSet<(Identity, Field)> =
            written.filter(|(object, of)| *of == field && subject.fits(object)).collect();
        if meant.is_empty() {
            let message = format!("no policy sets {field} of {}", subject.text());
            return Err(ArgumentError::whole(ARGUMENT, text, message));
        }
        for place in meant {
            if let Some(other) = assumed.get(&place) {
                let object = &place.0;
                let message = format!("{field} of {object} is already assumed to be {other}");
                return Err(ArgumentError::whole(ARGUMENT, text, message));
            }
            assumed.insert(place, value);
        }
        check_bounds(text, &assumed)?;
    }
    Ok(assumed)
}

/// No autoscaler has a lower bound above its upper one.
fn check_bounds(text: &str, assumed: &AssumedValues) -> Result<(), ArgumentError> {
    for ((object, field), min) in assumed.iter().filter(|((_, it), _)| *it == Field::MinReplicas) {
        let max = assumed.get(&(object.clone(), Field::MaxReplicas));
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
                       the fields are replicas, minReplicas and maxReplicas";
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
