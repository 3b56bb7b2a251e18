//! Lists and runs of values in a sentence.

/// `a`, `a and b`, `a, b and c`; or with another word than "and".
pub(super) fn joined(items: &[String], word: &str) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} {word} {last}", most.join(", ")),
    }
}

/// The values by name, with a run of three or more neighbors as `a to c`: `a, b, f to k and z`.
pub(super) fn listed<T: Copy + Into<i32>>(values: &[T], name: impl Fn(T) -> String) -> String {
    let follows = |one: &T, next: &T| (*one).into() + 1 == (*next).into();
    let items: Vec<String> = values
        .chunk_by(follows)
        .flat_map(|run| match run {
            [first, _, .., last] => vec![format!("{} to {}", name(*first), name(*last))],
            few => few.iter().map(|it| name(*it)).collect(),
        })
        .collect();
    joined(&items, "and")
}

/// The positions of the bits that are set.
pub(super) fn members(bits: u64) -> Vec<u8> {
    (0..64).filter(|bit| bits >> bit & 1 == 1).collect()
}

/// The ends of a run of three or more neighbors without a hole.
pub(super) fn run(values: &[u8]) -> Option<(u8, u8)> {
    let (&[first, ..], &[.., last]) = (values, values) else {
        return None;
    };
    (step(values) == Some(1)).then_some((first, last))
}

/// The step between three or more values that are evenly spread.
pub(super) fn step(values: &[u8]) -> Option<u8> {
    let &[first, second, _, ..] = values else {
        return None;
    };
    let step = second - first;
    values.is_sorted_by(|one, next| next - one == step).then_some(step)
}

/// The step between values that are evenly spread from 0 to just below `end`, such as 15 for
/// 0, 15, 30 and 45 below 60.
pub(super) fn even_step(values: &[u8], end: u8) -> Option<u8> {
    let step = end / u8::try_from(values.len()).ok().filter(|count| *count > 1)?;
    let even = values.iter().zip(0_u8..).all(|(value, index)| *value == index * step);
    (even && end.is_multiple_of(step) && usize::from(end / step) == values.len()).then_some(step)
}

/// `1st`, `2nd`, `3rd`, `4th`.
pub(super) fn ordinal(value: u8) -> String {
    let suffix = match (value % 10, value / 10) {
        (_, 1) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{value}{suffix}")
}
