//! Invisible characters, which hide in text or change its direction, and text without them.

/// The code point of an invisible character, in the form of `less`; `None` for a visible one.
pub(crate) fn code_point(letter: char) -> Option<String> {
    // A variation selector only changes the look of the preceding character, and emoji contain it, so it stays.
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

/// Text for a terminal. Control characters, which could move the cursor, are replaced; invisible characters become code
/// points.
pub(crate) fn printable(text: &str) -> String {
    let mut printed = String::with_capacity(text.len());
    for letter in text.chars() {
        match code_point(letter) {
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
    fn an_invisible_character_is_printed_as_its_code_point() {
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
            assert_eq!(code_point(letter).as_deref(), expected, "{letter:?}");
        }
    }
}
