//! Text for a user, line by line: broken between words at the width of the terminal, and drawn with ASCII if the
//! locale has no other characters. The user's own text keeps its characters.

use std::borrow::Cow;
use std::env;
use std::io::{self, Write};
use std::mem;
use std::sync::LazyLock;

use crate::text_width;
use crate::wrapping::hanging;

/// Marks an unbreakable space; it is printed as a space. No text contains this value, because it is not a character.
pub(crate) const UNBROKEN: char = '\u{fdd0}';

/// Whether the first set variable of `LC_ALL`, `LC_CTYPE` and `LANG` names a locale with another
/// encoding than UTF-8. If none is set, as in many containers, UTF-8 is assumed.
static LACKS_UNICODE: LazyLock<bool> = LazyLock::new(|| {
    let locales = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().filter_map(|name| env::var(name).ok());
    locales
        .into_iter()
        .find(|locale| !locale.is_empty())
        .is_some_and(|locale| lacks_unicode(&locale))
});

fn lacks_unicode(locale: &str) -> bool {
    let locale = locale.split('@').next().unwrap_or_default();
    match locale.split_once('.') {
        Some((_, characters)) => !matches!(&*characters.to_ascii_lowercase(), "utf-8" | "utf8"),
        None => matches!(locale, "C" | "POSIX"),
    }
}

/// Replaces each character with ASCII of the same width, except for an arrow, which is between words.
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

/// A writer of text in lines of at most a width, drawn with the characters of the locale.
pub(crate) struct Drawing<W: Write> {
    output: W,
    width: usize,
    lacks_unicode: bool,
    /// The text of the unfinished line.
    line: Vec<u8>,
}

/// A writer of text for standard error.
pub(crate) fn standard_error() -> Drawing<impl Write> {
    Drawing::new(anstream::stderr().lock(), text_width::for_stderr())
}

/// Reports a line on standard error. If that is closed, there is nowhere to report it.
pub(crate) fn report(line: &str) {
    let _ = writeln!(standard_error(), "{line}");
}

impl<W: Write> Drawing<W> {
    pub(crate) fn new(output: W, width: usize) -> Drawing<W> {
        Drawing { output, width, lacks_unicode: *LACKS_UNICODE, line: Vec::new() }
    }

    /// The number of columns of a line.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Writes the line so far. Bytes that are not text are written unchanged.
    fn end_line(&mut self) -> io::Result<()> {
        let line = mem::take(&mut self.line);
        let Ok(text) = str::from_utf8(&line) else { return self.output.write_all(&line) };
        let (text, end) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
        let text =
            if self.lacks_unicode { Cow::Owned(in_ascii(text)) } else { Cow::Borrowed(text) };
        // A line has at least as many bytes as columns.
        let lines = if text.len() <= self.width {
            text
        } else {
            Cow::Owned(hanging(&text, self.width).join("\n"))
        };
        if lines.contains(UNBROKEN) {
            return write!(self.output, "{}{end}", lines.replace(UNBROKEN, " "));
        }
        write!(self.output, "{lines}{end}")
    }
}

impl<W: Write> Write for Drawing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") {
                self.end_line()?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.end_line()?;
        self.output.flush()
    }
}

impl<W: Write> Drop for Drawing<W> {
    fn drop(&mut self) {
        // Complete lines are written already, and their errors are known.
        let _ = self.end_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, width: usize, lacks_unicode: bool) -> String {
        let mut written = Vec::new();
        let mut drawing = Drawing { output: &mut written, width, lacks_unicode, line: Vec::new() };
        // A character, and a style, may come in two parts.
        for byte in text.as_bytes() {
            drawing.write_all(&[*byte]).unwrap();
        }
        drop(drawing);
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn a_locale_lacks_unicode_only_if_it_names_another_encoding() {
        for locale in ["C", "POSIX", "de_DE.ISO-8859-1", "de_DE.iso88591@euro"] {
            assert!(lacks_unicode(locale), "{locale}");
        }
        for locale in ["C.UTF-8", "en_US.utf8", "de_DE.UTF-8@euro", "en_US"] {
            assert!(!lacks_unicode(locale), "{locale}");
        }
    }

    #[test]
    fn line_drawing_becomes_ascii_and_other_text_stays() {
        let text = "┤━╸·\u{1b}[0m früh 1 → 2\na…b";
        assert_eq!(drawn(text, 80, true), "|=-.\u{1b}[0m früh 1 -> 2\na~b");
        assert_eq!(drawn(text, 80, false), text);
    }

    #[test]
    fn each_line_is_broken_at_the_width_and_empty_lines_stay() {
        assert_eq!(
            drawn("one two\n\n  three four\nx", 10, false),
            "one two\n\n  three\n    four\nx"
        );
        for width in [0, 1, 10, 20] {
            let words = drawn("one two\n  three", width, false);
            let words: Vec<&str> = words.split_whitespace().collect();
            assert_eq!(words, ["one", "two", "three"], "{width}");
        }
    }

    #[test]
    fn bytes_that_are_not_text_stay_unchanged() {
        let mut written = Vec::new();
        let mut drawing = Drawing::new(&mut written, 1);
        drawing.write_all(b"\xff \xfe\n").unwrap();
        drop(drawing);
        assert_eq!(written, b"\xff \xfe\n");
    }
}
