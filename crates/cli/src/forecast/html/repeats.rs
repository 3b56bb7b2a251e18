//! A column of numbers that stores a repetition once: most values repeat a week, and most `CronJobs` one step.
//!
//! A pair `[back, count]` among the numbers stands for `count` more numbers, each equal to the number `back`
//! positions before. [`super::columns`] defines the meaning of the numbers, and `page/data.js` reads the column.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The minimum number of numbers that a pair stands for; fewer numbers are not shorter as a pair.
const MIN_COUNT: usize = 4;

/// The maximum number of earlier positions to compare, the nearest first. Most repetitions have fewer days.
const COMPARED: usize = 32;

/// The column as JSON.
pub(super) fn column(numbers: &[usize]) -> Value {
    let mut known: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
    let (mut items, mut at) = (Vec::new(), 0);
    while at < numbers.len() {
        let places = beginning(numbers, at).and_then(|it| known.get(it));
        let places = places.into_iter().flat_map(|it| it.iter().rev().take(COMPARED));
        let (mut back, mut count) = (0, 0);
        for place in places {
            let same = numbers[*place..].iter().zip(&numbers[at..]);
            let length = same.take_while(|(one, other)| one == other).count();
            if length > count {
                (back, count) = (at - place, length);
            }
        }
        // Later positions of a repetition equal earlier ones.
        let new = if count < MIN_COUNT { 1 } else { count.min(back) };
        for place in at..at + new {
            if let Some(beginning) = beginning(numbers, place) {
                known.entry(beginning).or_default().push(place);
            }
        }
        if count < MIN_COUNT {
            items.push(json!(numbers[at]));
            at += 1;
        } else {
            items.push(json!([back, count]));
            at += count;
        }
    }
    Value::Array(items)
}

/// The first numbers of a repetition that starts at this index.
fn beginning(numbers: &[usize], at: usize) -> Option<&[usize]> {
    numbers.get(at..at + MIN_COUNT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An independent reader: a pair is resolved number by number.
    fn read(column: &Value) -> Vec<usize> {
        let mut numbers: Vec<usize> = Vec::new();
        let number = |it: &Value| usize::try_from(it.as_u64().unwrap()).unwrap();
        for item in column.as_array().unwrap() {
            let Some(pair) = item.as_array() else {
                numbers.push(number(item));
                continue;
            };
            let (back, count) = (number(&pair[0]), number(&pair[1]));
            assert!((1..=numbers.len()).contains(&back) && count >= MIN_COUNT, "{item}");
            for _ in 0..count {
                numbers.push(numbers[numbers.len() - back]);
            }
        }
        numbers
    }

    #[test]
    fn one_step_that_repeats_is_a_pair() {
        assert_eq!(column(&vec![0; 100_000]), json!([0, [1, 99_999]]));
        assert_eq!(column(&[]), json!([]));
        assert_eq!(column(&[5, 5, 5, 5]), json!([5, 5, 5, 5]));
    }

    #[test]
    fn weeks_are_written_once_with_what_is_different_in_one_of_them() {
        let week = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 4, 5];
        let mut year = week.repeat(52);
        year[24 * 20 + 7] = 9;
        let written = column(&year);
        assert_eq!(read(&written), year);
        assert!(written.to_string().len() < 100, "{written}");
    }

    #[test]
    fn any_column_reads_back_as_it_was() {
        // Numbers that look random, the same in each run.
        let mut state = 7_usize;
        for (length, different) in (0..200).flat_map(|it| [(it, 2), (it, 3), (it * 7, 5)]) {
            let mut numbers = Vec::new();
            for _ in 0..length {
                state = state.wrapping_mul(25_214_903_917).wrapping_add(11) % (1 << 48);
                numbers.push((state >> 20) % different);
            }
            assert_eq!(read(&column(&numbers)), numbers);
        }
    }
}
