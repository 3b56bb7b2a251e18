//! Names cut to a width, with an ellipsis. Callers that cut a name must print the whole name elsewhere.

use std::collections::BTreeMap;

use unicode_width::UnicodeWidthChar as _;

use crate::text_width::display_width;

const ELLIPSIS: &str = "…";

/// A name of at most this width. The middle of a longer name is removed, because names differ at their ends.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    let kept = most.saturating_sub(1);
    cut(name, most, kept.div_ceil(2))
}

/// A sentence on one line of at most this width: first its names are cut, then its end.
#[cfg(any(feature = "cluster", test))]
pub(crate) fn on_one_line(sentence: &str, most: usize) -> String {
    // The minimum width of a cut name; times and most kinds are shorter.
    const SHORTEST: usize = 12;
    let words: Vec<&str> = sentence.split(' ').collect();
    let longest = words.iter().map(|word| display_width(word)).max().unwrap_or_default();
    let with_words_of = |width| distinguished(&words, width).join(" ");
    let fits = (SHORTEST..=longest).rev().map(with_words_of).find(|it| display_width(it) <= most);
    fits.unwrap_or_else(|| cut(&with_words_of(SHORTEST), most, most.saturating_sub(1)))
}

/// Names cut to at most this width. Different names stay different.
pub(crate) fn distinguished<S: AsRef<str>>(names: &[S], most: usize) -> Vec<String> {
    let kept = most.saturating_sub(1);
    let heads = [kept.div_ceil(2)].into_iter().chain((0..=kept).rev());
    for head in heads {
        let all: Vec<String> = names.iter().map(|name| cut(name.as_ref(), most, head)).collect();
        if are_distinct(names, &all) {
            return all;
        }
    }
    numbered(names, most)
}

/// Whether different names are still different after the cut.
fn are_distinct<S: AsRef<str>>(names: &[S], all: &[String]) -> bool {
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    all.iter().zip(names).all(|(short, name)| {
        let name: &str = name.as_ref();
        *known.entry(short.as_str()).or_insert(name) == name
    })
}

/// Names with a number instead of the end, for names that differ only in the middle.
fn numbered<S: AsRef<str>>(names: &[S], most: usize) -> Vec<String> {
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    let one = |name: &S| {
        let name: &str = name.as_ref();
        if display_width(name) <= most {
            return name.to_owned();
        }
        let next = numbers.len() + 1;
        let number = *numbers.entry(name.to_owned()).or_insert(next);
        let tail = format!("{ELLIPSIS}{number}");
        head_of(name, most.saturating_sub(display_width(&tail))).to_owned() + &tail
    };
    names.iter().map(one).collect()
}

/// A name of at most this width. The prefix of a cut name has `head` columns.
fn cut(name: &str, most: usize, head: usize) -> String {
    if display_width(name) <= most {
        return name.to_owned();
    }
    let tail = most.saturating_sub(1).saturating_sub(head);
    format!("{}{ELLIPSIS}{}", head_of(name, head), tail_of(name, tail))
}

/// The longest prefix that fits, with the combining marks of its last character.
fn head_of(name: &str, most: usize) -> &str {
    let mut used = 0;
    let end = name.char_indices().find(|(_, letter)| {
        used += letter.width().unwrap_or(0);
        used > most
    });
    end.map_or(name, |(at, _)| &name[..at])
}

/// The longest suffix that fits. A combining mark is cut together with its character.
fn tail_of(name: &str, most: usize) -> &str {
    let mut used = 0;
    let mut begin = name.len();
    for (at, letter) in name.char_indices().rev() {
        let width = letter.width().unwrap_or(0);
        used += width;
        if used > most {
            break;
        }
        if width > 0 {
            begin = at;
        }
    }
    &name[begin..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_is_cut_in_the_middle() {
        let shortened_to = |most| shortened("europe-west1-a", most);
        assert_eq!(shortened_to(14), "europe-west1-a");
        assert_eq!(shortened_to(9), "euro…t1-a");
        assert_eq!(shortened_to(8), "euro…1-a");
        assert_eq!(shortened_to(1), "…");
        assert_eq!(shortened("äöüßäöüß", 5), "äö…üß");
    }

    #[test]
    fn a_long_sentence_is_cut_in_its_names_before_its_end() {
        let sentence = "in 5m: Deployment shop/web-of-the-shop → 8";
        assert_eq!(on_one_line(sentence, 42), sentence);
        assert_eq!(on_one_line(sentence, 36), "in 5m: Deployment shop/we…e-shop → 8");
        assert_eq!(on_one_line(sentence, 20), "in 5m: Deployment s…");
        assert_eq!(on_one_line("東京", 3), "東…");
        assert_eq!(on_one_line("", 3), "");
    }

    #[test]
    fn wide_characters_and_marks_are_cut_by_display_width() {
        assert_eq!(shortened("東京大阪名古屋", 7), "東…屋");
        assert_eq!(shortened("a\u{308}bcdee\u{308}f\u{308}", 5), "a\u{308}b…e\u{308}f\u{308}");
        for most in 1..20 {
            let short = shortened("東京🚀fru\u{308}h-大阪-名古屋", most);
            assert!(display_width(&short) <= most, "{most}: {short}");
        }
    }

    #[test]
    fn names_that_differ_still_differ_when_they_are_cut() {
        let (long, other) = ("a".repeat(253), "b".repeat(253));
        let middle = |letter: &str| format!("{long}{letter}{long}");
        let (x, y, z) = (middle("x"), middle("y"), middle("z"));
        let cases: [[&str; 3]; 4] = [
            ["europe-west1-prod-a", "europe-west2-prod-a", "europe-west3-prod-a"],
            [&x, &y, &z],
            [&long, &other, &long],
            ["shop", "shop", "shop"],
        ];
        for names in cases {
            for most in [8, 16, 40] {
                let short = distinguished(&names, most);
                assert!(short.iter().all(|it| display_width(it) <= most), "{short:?}");
                for (one, name) in short.iter().zip(names) {
                    for (another, other) in short.iter().zip(names) {
                        assert_eq!(one == another, name == other, "{short:?}");
                    }
                }
            }
        }
        assert_eq!(distinguished(&["", ""], 0), ["", ""]);
        assert_eq!(distinguished(&["ab", "cd"], 0).len(), 2);
    }
}
