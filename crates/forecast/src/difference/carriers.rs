//! Schedules whose numbers policies here read, and which have only got another name.
//!
//! Such a number is there to be read, and what its readers do with it is what counts, under whatever name they find
//! it. If nothing here reads it, somebody else does, and the name is part of what they rely on.

use almanac_engine::{Field, Identity};

use super::comparison::SeriesByPlace;
use super::stretch::difference;

/// Removes the numbers that policies here read from one schedule before and from another one after, if they are always
/// the same; returns how many.
pub(super) fn remove_renamed(
    before: &mut SeriesByPlace,
    after: &mut SeriesByPlace,
    is_read_before: impl Fn(&Identity) -> bool,
    is_read_after: impl Fn(&Identity) -> bool,
) -> usize {
    let gone = only_in(before, after, is_read_before);
    let mut new = only_in(after, before, is_read_after);
    let mut removed = 0;
    for place in gone {
        let is_same = |other: &(Identity, Field)| {
            let both = before.get(&place).zip(after.get(other));
            both.is_some_and(|(one, other)| difference(Some(one), Some(other)).is_none())
        };
        if let Some(position) = new.iter().position(is_same) {
            after.remove(&new.swap_remove(position));
            before.remove(&place);
            removed += 1;
        }
    }
    removed
}

fn only_in(
    one: &SeriesByPlace,
    other: &SeriesByPlace,
    is_read: impl Fn(&Identity) -> bool,
) -> Vec<(Identity, Field)> {
    let places = one.keys().filter(|place| !other.contains_key(*place));
    places.filter(|(object, field)| *field == Field::Value && is_read(object)).cloned().collect()
}
