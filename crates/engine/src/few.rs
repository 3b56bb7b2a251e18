//! Lists in messages that name a few items and count the rest, and counts of items.

use std::fmt::Display;

/// The maximum number of names in a message.
pub const NAMED: usize = 5;

/// `1 pod`, `7 pods`.
#[must_use]
pub fn counted<Count: Display + Copy + PartialEq + From<u8>>(count: Count, what: &str) -> String {
    let plural = if count == Count::from(1) { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// `a, b, c, d, e and 12 more`.
#[must_use]
pub fn few(names: impl IntoIterator<Item = impl Display>) -> String {
    few_joined(names, ", ")
}

/// Joins names with a separator: `a; b; c; d; e; and 12 more`, `a or b or c or d or e or 12 more`.
#[must_use]
pub fn few_joined(names: impl IntoIterator<Item = impl Display>, separator: &str) -> String {
    let mut all = names.into_iter();
    let first: Vec<String> = all.by_ref().take(NAMED).map(|name| name.to_string()).collect();
    let first = first.join(separator);
    match all.count() {
        0 => first,
        more if separator == ", " => format!("{first} and {more} more"),
        more if separator == "; " => format!("{first}; and {more} more"),
        more => format!("{first}{separator}{more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_has_no_plural() {
        assert_eq!([0_u32, 1, 2].map(|it| counted(it, "pod")), ["0 pods", "1 pod", "2 pods"]);
        assert_eq!(counted(1_usize, "replica"), "1 replica");
    }

    #[test]
    fn a_list_names_a_few_and_counts_the_rest() {
        assert_eq!(few([""; 0]), "");
        assert_eq!(few(["a", "b"]), "a, b");
        assert_eq!(few(1..=5), "1, 2, 3, 4, 5");
        assert_eq!(few(1..=17), "1, 2, 3, 4, 5 and 12 more");
        assert_eq!(few_joined(1..=6, "; "), "1; 2; 3; 4; 5; and 1 more");
        assert_eq!(few_joined(1..=6, " or "), "1 or 2 or 3 or 4 or 5 or 1 more");
    }
}
