//! What is drawn with other characters than those of ASCII, drawn with ASCII where the locale has no
//! others. What users wrote themselves, in whichever letters, is left as it is.

use std::env;
use std::io::{self, Write};
use std::sync::LazyLock;

/// Whether `LC_ALL`, `LC_CTYPE` or `LANG`, the first of them that says anything, names a locale whose
/// characters are not those of UTF-8. Where none says anything, as in many containers, nothing is
/// known against them.
static LACKS_UNICODE: LazyLock<bool> = LazyLock::new(|| {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    said.into_iter().find(|locale| !locale.is_empty()).is_some_and(|locale| lacks_unicode(&locale))
});

fn lacks_unicode(locale: &str) -> bool {
    let locale = locale.split('@').next().unwrap_or_default();
    match locale.split_once('.') {
        Some((_, characters)) => !matches!(&*characters.to_ascii_lowercase(), "utf-8" | "utf8"),
        None => matches!(locale, "C" | "POSIX"),
    }
}

/// A text as the locale can show it.
pub(crate) fn drawn(text: String) -> String {
    if *LACKS_UNICODE { in_ascii(&text) } else { text }
}

/// As wide as what it is drawn for, except for an arrow, which stands between words.
fn in_ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '━' => plain.push('='),
            '╸' | '╺' => plain.push('-'),
            '·' => plain.push('.'),
            '┤' | '╷' => plain.push('|'),
            '…' => plain.push('~'),
            '→' => plain.push_str("->"),
            '✓' => plain.push('+'),
            '✗' => plain.push('x'),
            other => plain.push(other),
        }
    }
    plain
}

/// A writer of text that is drawn as the locale can show it.
pub(crate) struct Drawing<W> {
    output: W,
    lacks_unicode: bool,
}

impl<W: Write> Drawing<W> {
    pub(crate) fn new(output: W) -> Drawing<W> {
        Drawing { output, lacks_unicode: *LACKS_UNICODE }
    }
}

impl<W: Write> Write for Drawing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.lacks_unicode {
            return self.output.write(bytes);
        }
        // A character that comes in two parts is nothing that is drawn.
        let whole = str::from_utf8(bytes).map_or_else(|error| error.valid_up_to(), str::len);
        match str::from_utf8(&bytes[..whole]) {
            Ok(text) if whole > 0 => {
                self.output.write_all(in_ascii(text).as_bytes())?;
                Ok(whole)
            }
            _ => self.output.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locale_lacks_unicode_when_it_says_so() {
        for locale in ["C", "POSIX", "de_DE.ISO-8859-1", "de_DE.iso88591@euro"] {
            assert!(lacks_unicode(locale), "{locale}");
        }
        for locale in ["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro", "en_US"] {
            assert!(!lacks_unicode(locale), "{locale}");
        }
    }

    #[test]
    fn line_drawing_becomes_ascii_and_other_text_stays() {
        let mut plain = Drawing { output: Vec::new(), lacks_unicode: true };
        plain.write_all("┤━╸·\u{1b}[0m früh 1 → 2".as_bytes()).unwrap();
        // Cut within a character.
        let (head, tail) = "a…b".as_bytes().split_at(2);
        plain.write_all(head).unwrap();
        plain.write_all(tail).unwrap();
        let text = String::from_utf8(plain.output).unwrap();
        assert_eq!(text, "|=-.\u{1b}[0m früh 1 -> 2a…b");
        let mut whole = Drawing { output: Vec::new(), lacks_unicode: false };
        whole.write_all("┤━".as_bytes()).unwrap();
        assert_eq!(whole.output, "┤━".as_bytes());
    }
}
