//! The assumptions of a forecast about a placement, in words.

use crate::{Identity, Presumption};

/// The assumption that a placement with an unknown selection selects nothing.
#[must_use]
pub fn unknown_selection(placement: &Identity, why: &str) -> Presumption {
    let sentence = format!("{placement} has an unknown selection: {why}");
    Presumption::new(4, [placement], sentence).with_subject(placement.to_string())
}

/// The assumption that nothing is selected yet, so that a placement selects when a run starts.
#[must_use]
pub fn first_selection(placement: &Identity) -> Presumption {
    let sentence = format!("{placement} has no decisions yet, and selects at the start");
    Presumption::new(5, [placement], sentence).with_subject(placement.to_string())
}
