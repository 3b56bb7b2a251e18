//! Names of objects that differ by a slip so small that one name is probably a typo of the other. The caller supplies
//! the objects, and reports the finding.
//!
//! Names that differ on purpose often differ little too: `web-1` and `web-2`, `shop-eu` and `shop-us`, `cart` and
//! `card`. So a slip is in a single word of several letters, and neither in a digit nor in the first letter.

/// The maximum number of pairs of names compared for one place or one search of directories. More comparisons would
/// take longer than all other checks.
pub(crate) const MAX_COMPARISONS: usize = 1_000_000;

/// The separators of the words of a name.
const SEPARATORS: [char; 2] = ['-', '.'];

/// The minimum length of a word with a missing, added or transposed letter.
const SHORT_WORD: usize = 4;

/// The minimum length of a word with a replaced letter: many shorter words differ in one letter.
const LONG_WORD: usize = 6;

/// The minimum length of a word that may be a truncated form of a longer word, and the maximum number of missing
/// letters.
const BEGINNING: usize = 5;
const MAX_ENDING: usize = 3;

/// The ending that turns `front` and `back` into `frontend` and `backend`.
const END: &[u8] = b"end";

/// The name that was probably meant; `None` if two names are equally near.
pub(crate) fn nearest_name<'a>(
    written: &str,
    names: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let mut nearest: Option<(usize, &'a str)> = None;
    let mut is_tied = false;
    for name in names {
        let Some(letters) = slip(written, name) else { continue };
        match nearest {
            Some((least, _)) if letters > least => {}
            Some((least, known)) if letters == least => is_tied |= known != name,
            Some(_) | None => {
                nearest = Some((letters, name));
                is_tied = false;
            }
        }
    }
    nearest.filter(|_| !is_tied).map(|(_, name)| name)
}

/// The number of letters in which two names differ; `None` unless one is probably a typo of the other.
pub(crate) fn slip(one: &str, other: &str) -> Option<usize> {
    let is_far = one.len().abs_diff(other.len()) > MAX_ENDING;
    if is_far || one == other || !have_same_start(one.as_bytes(), other.as_bytes()) {
        return None;
    }
    if letters(one).eq(letters(other)) && !letters(one).any(|it| it.is_ascii_digit()) {
        return Some(1);
    }
    let (mut words, mut of_other) = (one.split(SEPARATORS), other.split(SEPARATORS));
    let mut differing = None;
    loop {
        match (words.next(), of_other.next()) {
            (None, None) => break,
            (Some(word), Some(other)) if word == other => {}
            (Some(word), Some(other)) if differing.is_none() => differing = Some((word, other)),
            _ => return None,
        }
    }
    let (word, other) = differing?;
    slip_of_word(word.as_bytes(), other.as_bytes())
}

fn slip_of_word(one: &[u8], other: &[u8]) -> Option<usize> {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    if !have_same_start(short, long) {
        return None;
    }
    let before = in_common(short.iter(), long.iter());
    let after = in_common(short[before..].iter().rev(), long[before..].iter().rev());
    let changed = &short[before..short.len() - after];
    let into = &long[before..long.len() - after];
    if !changed.iter().chain(into).all(u8::is_ascii_lowercase) {
        return None;
    }
    let is_slip = match (changed, into) {
        ([], [_]) => short.len() >= SHORT_WORD,
        ([one, other], [first, second]) => {
            one == second && other == first && short.len() >= SHORT_WORD
        }
        ([_], [_]) => short.len() >= LONG_WORD,
        ([], ending) if after == 0 => {
            let is_ending = ending.len() <= MAX_ENDING && short.len() >= BEGINNING;
            is_ending || ending == END && short.len() >= SHORT_WORD
        }
        _ => false,
    };
    is_slip.then_some(into.len())
}

fn have_same_start(one: &[u8], other: &[u8]) -> bool {
    one.first() == other.first()
}

/// The length in bytes of the common start of two byte strings.
fn in_common<'a>(one: impl Iterator<Item = &'a u8>, other: impl Iterator<Item = &'a u8>) -> usize {
    one.zip(other).take_while(|(one, other)| one == other).count()
}

fn letters(name: &str) -> impl Iterator<Item = char> {
    name.chars().filter(|it| !SEPARATORS.contains(it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_in_one_word_is_near() {
        for (written, name) in [
            ("shop-frontend", "shop-front"),
            ("shop-front", "shop-frontend"),
            ("cart-back", "cart-backend"),
            ("shopp", "shop"),
            ("shop", "shops"),
            ("chekout", "checkout"),
            ("cehckout", "checkout"),
            ("checkoud-7", "checkout-7"),
            ("shop-wroker", "shop-worker"),
            ("queue-index", "queue-indexer"),
            ("shopfront", "shop-front"),
            ("prodd", "prod"),
            ("a.shpo", "a.shop"),
        ] {
            assert!(slip(written, name).is_some(), "{written} {name}");
            assert_eq!(slip(written, name), slip(name, written), "{written} {name}");
        }
    }

    #[test]
    fn names_that_differ_on_purpose_are_not_near() {
        for (one, other) in [
            ("shop", "shop"),
            ("web-1", "web-2"),
            ("web-1", "web-11"),
            ("web1", "web-1"),
            ("shop-v1", "shop-v2"),
            ("shop-a", "shop-b"),
            ("shop-eu", "shop-us"),
            ("web", "webs"),
            ("api", "app"),
            ("cart", "card"),
            ("shop-stage", "shop-state"),
            ("shop", "shop-db"),
            ("shop-front", "shop-front-canary"),
            ("cart-front", "shop-front"),
            ("shop-back", "shop-backup"),
            ("post", "postgres"),
            ("importer", "exporter"),
            ("internal", "external"),
            ("reader", "header"),
            ("shop-blue", "shop-green"),
            ("shop-front", "shpo-frnot"),
            ("", "a"),
            ("", "-"),
        ] {
            assert_eq!(slip(one, other), None, "{one} {other}");
            assert_eq!(slip(other, one), None, "{other} {one}");
        }
    }

    #[test]
    fn no_name_is_meant_if_two_are_equally_near() {
        let nearest = |names: &[&'static str]| nearest_name("shop-front", names.iter().copied());
        assert_eq!(nearest(&["shop-frontend", "cart"]), Some("shop-frontend"));
        assert_eq!(nearest(&["shop-frontend", "shop-fronts"]), Some("shop-fronts"));
        assert_eq!(nearest(&["shop-fronts", "shop-frot", "shop-frontend"]), None);
        assert_eq!(nearest(&["shop-fronts", "shop-fronts"]), Some("shop-fronts"));
        assert_eq!(nearest(&["shop-1", "web"]), None);
    }
}
