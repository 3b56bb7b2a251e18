//! Schedules that are only renamed, and whose values policies in the input read.
//!
//! Readers depend on such a value, not on its name. A value that no policy in the input reads has readers
//! elsewhere, and those readers rely on its name.

use almanac_engine::{Field, Identity};

use super::comparison::SeriesByPlace;
use super::stretch::difference;

/// Removes the values that policies in the input read from one schedule before and from another after, if the values
/// are always equal. Returns the number of removed values.
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
