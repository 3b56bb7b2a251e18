//! Characters without a look of their own, which hide in text or turn it around, and text without them.

/// Such a character by its number, as `less` shows it; `None` for any other one.
pub(crate) fn shown(letter: char) -> Option<String> {
    // A variation selector, which only selects the look of the letter before, may stay: emoji have it.
    let is_invisible = matches!(
        letter,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'
            | '\u{1160}'
            | '\u{17b4}'
            | '\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    );
    is_invisible.then(|| format!("<U+{:04X}>", u32::from(letter)))
}

/// Control characters would move the cursor, or worse; invisible ones are shown by their numbers.
pub(crate) fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for letter in text.chars() {
        match shown(letter) {
            Some(number) => printed.push_str(&number),
            None if letter == '\t' => printed.push(' '),
            None if letter.is_control() => printed.push('\u{fffd}'),
            None => printed.push(letter),
        }
    }
    printed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_shown_by_its_number() {
        for (letter, expected) in [
            ('\u{200b}', Some("<U+200B>")),
            ('\u{202e}', Some("<U+202E>")),
            ('\u{e0041}', Some("<U+E0041>")),
            ('\u{ad}', Some("<U+00AD>")),
            ('a', None),
            ('ü', None),
            ('é', None),
            ('\u{fe0f}', None),
        ] {
            assert_eq!(shown(letter).as_deref(), expected, "{letter:?}");
        }
    }
}
