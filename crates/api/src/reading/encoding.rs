//! Decodes the bytes of a file. Text that is not UTF-8 is decoded too, so that one run reports the encoding and all
//! other mistakes.

use encoding_rs::{Encoding, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::text_finding::TextFinding;
use crate::finding::{Code, Span};

/// The number of bytes that are examined for UTF-16 without a byte order mark.
const SAMPLE: usize = 256;

/// The text, and the finding about its encoding.
pub(super) fn decode(bytes: Vec<u8>) -> (String, Option<TextFinding>) {
    if let Some(encoding) = utf_16(&bytes) {
        let (text, _) = encoding.decode_with_bom_removal(&bytes);
        let finding = wrong_encoding(Span::default(), encoding);
        return (text.into_owned(), Some(finding));
    }
    match String::from_utf8(bytes) {
        Ok(text) => line_ends(text),
        Err(error) => {
            let readable = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            if bytes.contains(&0) {
                let finding =
                    TextFinding::new(Code::UnreadableFile, Span::default(), "the file is not text")
                        .with_fix("name a YAML or JSON file, or leave this one out with --exclude");
                return (String::new(), Some(finding));
            }
            // Decoding does not change UTF-8, so the rest keeps its position.
            let mut text = String::from_utf8_lossy(&bytes[..readable]).into_owned();
            let (rest, _) = WINDOWS_1252.decode_without_bom_handling(&bytes[readable..]);
            let first = rest.chars().next().map_or(0, char::len_utf8);
            text.push_str(&rest);
            let span = Span::new(readable..readable + first);
            (text, Some(wrong_encoding(span, WINDOWS_1252)))
        }
    }
}

/// Replaces the line ends of old Macs by the usual ones, so that lines have numbers.
pub(super) fn line_ends(text: String) -> (String, Option<TextFinding>) {
    if !text.contains('\r') || text.contains('\n') {
        return (text, None);
    }
    let first = text.find('\r').unwrap_or_default();
    let finding = TextFinding::new(
        Code::LineEnds,
        Span::new(first..first + 1),
        "lines end with a carriage return only, so kubectl finds no '---' line",
    );
    (text.replace('\r', "\n"), Some(finding.with_fix("save the file with LF line endings")))
}

fn wrong_encoding(span: Span, encoding: &'static Encoding) -> TextFinding {
    let name = encoding.name();
    let name = if encoding == WINDOWS_1252 { "Windows-1252" } else { name };
    let seems = if encoding == WINDOWS_1252 { "seems to be" } else { "is" };
    let message = format!("the file is not UTF-8: it {seems} {name}");
    TextFinding::new(Code::Encoding, span, message)
        .with_fix(format!("save it as UTF-8, for example with iconv -f {name} -t UTF-8"))
}

/// The byte order of a UTF-16 text, by its byte order mark or the positions of its zero bytes.
fn utf_16(bytes: &[u8]) -> Option<&'static Encoding> {
    match bytes {
        [0xff, 0xfe, ..] => return Some(UTF_16LE),
        [0xfe, 0xff, ..] => return Some(UTF_16BE),
        _ => {}
    }
    let sample = &bytes[..bytes.len().min(SAMPLE)];
    let pairs = sample.chunks_exact(2).len();
    let zeros = |index: usize| sample.chunks_exact(2).filter(|pair| pair[index] == 0).count();
    // Nearly all characters of manifests have a zero in exactly one of the two bytes.
    let is_mostly = |zeros: usize| pairs > 0 && zeros * 10 >= pairs * 9;
    match (zeros(0), zeros(1)) {
        (0, second) if is_mostly(second) => Some(UTF_16LE),
        (first, 0) if is_mostly(first) => Some(UTF_16BE),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8]) -> (String, Option<String>) {
        let (text, finding) = decode(bytes.to_vec());
        let decoded = finding.map(|it| {
            let at = it.span.start;
            format!("{at} {} {}", it.finding.code, it.finding.message)
        });
        (text, decoded)
    }

    fn utf_16_of(text: &str, bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(bytes).collect()
    }

    #[test]
    fn utf_16_is_recognized_and_read_with_and_without_a_byte_order_mark() {
        for (bytes, name) in [
            (utf_16_of("\u{feff}kind: ä", u16::to_le_bytes), "UTF-16LE"),
            (utf_16_of("\u{feff}kind: ä", u16::to_be_bytes), "UTF-16BE"),
            (utf_16_of("kind: ä", u16::to_le_bytes), "UTF-16LE"),
            (utf_16_of("kind: ä", u16::to_be_bytes), "UTF-16BE"),
        ] {
            let message = format!("0 encoding the file is not UTF-8: it is {name}");
            assert_eq!(decoded(&bytes), ("kind: ä".to_owned(), Some(message)));
        }
    }

    #[test]
    fn windows_1252_is_reported_where_it_begins() {
        let (text, decoded) = decoded(b"# ok: \xc3\xa4\n# caf\xe9 \x96\n");
        assert_eq!(text, "# ok: ä\n# café –\n");
        let message = "14 encoding the file is not UTF-8: it seems to be Windows-1252";
        assert_eq!(decoded.as_deref(), Some(message));
    }

    #[test]
    fn binary_content_is_not_read() {
        let (text, decoded) = decoded(b"\x7fELF\x02\x01\x01\x00\x00\xff\xfe");
        assert_eq!(text, "");
        assert!(decoded.is_some_and(|it| it.contains("is not text")));
    }

    #[test]
    fn lines_ending_in_bare_carriage_returns_are_numbered() {
        let (text, decoded) = decoded(b"a: b\rc: d\r");
        assert_eq!(text, "a: b\nc: d\n");
        assert!(decoded.is_some_and(|it| it.starts_with("4 line-ends ")));
        assert_eq!(super::decode(b"a: b\r\nc: d\r\n".to_vec()).1.map(|it| it.span), None);
    }
}
