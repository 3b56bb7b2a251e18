//! The words of an expression: names, symbols, numbers and texts. Spaces and comments are left out.

use std::str::FromStr;

use crate::source::{CompileError, error_at, shortened};

/// A word, and its position.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The kind of a word. Numbers are read where their sign is known.
#[derive(PartialEq, Debug)]
pub(super) enum Kind {
    Name,
    Symbol(&'static str),
    Int,
    Uint,
    Double,
    Text(String),
    Bytes(Vec<u8>),
    End,
}

/// Of two of which one is the beginning of the other, the longer one is first.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!",
    "?", ":", "+", "*", "/", "%",
];
/// Names that are symbols.
const WORDS: [&str; 4] = ["in", "true", "false", "null"];

pub(super) struct Tokens<'a> {
    pub(super) text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Tokens<'a> {
        Tokens { text, at: 0 }
    }

    /// The next word.
    pub(super) fn next(&mut self) -> Result<Token, CompileError> {
        self.skip_space();
        let start = self.at;
        let bytes = self.rest();
        let (kind, length) = match bytes {
            [] => (Kind::End, 0),
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => number(bytes),
            [b'"' | b'\'', ..] => self.quoted(false, false)?,
            [b'r' | b'R', b'"' | b'\'', ..] => self.quoted(true, false)?,
            [b'b' | b'B', b'"' | b'\'', ..] => self.quoted(false, true)?,
            [b'b' | b'B', b'r' | b'R', b'"' | b'\'', ..] => self.quoted(true, true)?,
            [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] => self.name(),
            _ => {
                let is_next = |symbol: &&&str| bytes.starts_with(symbol.as_bytes());
                let Some(symbol) = SYMBOLS.iter().find(is_next) else {
                    let found = self.text[start..].chars().next().unwrap_or_default();
                    let message = match found {
                        '=' if !bytes.get(1).is_some_and(|it| b"<>!~".contains(it)) => {
                            "two values are compared with ==, not with =".to_owned()
                        }
                        _ => format!("{found:?} has no place in an expression"),
                    };
                    return Err(error_at(self.text, start, message));
                };
                (Kind::Symbol(symbol), symbol.len())
            }
        };
        self.at = start + length;
        Ok(Token { kind, start, end: self.at })
    }

    fn rest(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        loop {
            self.at += match self.rest() {
                [b' ' | b'\t' | b'\n' | b'\r' | 0x0c, ..] => 1,
                [b'/', b'/', comment @ ..] => 2 + count(comment, |byte| byte != b'\n'),
                _ => return,
            };
        }
    }

    fn name(&self) -> (Kind, usize) {
        let length = count(self.rest(), |byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let name = &self.text[self.at..self.at + length];
        let word = WORDS.iter().find(|word| **word == name);
        (word.map_or(Kind::Name, |word| Kind::Symbol(word)), length)
    }

    /// A text or bytes in quotes, one or three at each end.
    fn quoted(&self, is_raw: bool, is_bytes: bool) -> Result<(Kind, usize), CompileError> {
        let whole = &self.text[self.at..];
        let content = whole.trim_start_matches(|letter: char| letter.is_ascii_alphabetic());
        let quote = &content[..1];
        let quotes = [quote; 3].concat();
        let is_triple = content.starts_with(&quotes);
        let quotes = if is_triple { &*quotes } else { quote };
        let mut rest = &content[quotes.len()..];
        let mut bytes = Vec::new();
        let here = |rest: &str| self.text.len() - rest.len();
        while !rest.starts_with(quotes) {
            let mut letters = rest.chars();
            match letters.next() {
                Some('\\') if !is_raw => {
                    let (length, escaped) =
                        escaped(letters.as_str(), is_bytes).ok_or_else(|| {
                            let shown: String = rest.chars().take(2).collect();
                            error_at(
                                self.text,
                                here(rest),
                                format!("{shown} is not a valid escape in a text"),
                            )
                        })?;
                    bytes.extend(escaped);
                    rest = &letters.as_str()[length..];
                    continue;
                }
                Some('\r') if is_triple => {
                    bytes.push(b'\n');
                    rest = letters.as_str();
                    rest = rest.strip_prefix('\n').unwrap_or(rest);
                    continue;
                }
                Some('\n' | '\r') | None if !is_triple => {
                    return Err(error_at(self.text, self.at, "the text has no end in its line"));
                }
                None => return Err(error_at(self.text, self.at, "the text has no end")),
                Some(letter) => {
                    bytes.extend(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
            rest = letters.as_str();
        }
        let length = whole.len() - rest.len() + quotes.len();
        Ok((
            if is_bytes {
                Kind::Bytes(bytes)
            } else {
                Kind::Text(String::from_utf8_lossy(&bytes).into_owned())
            },
            length,
        ))
    }
}

fn count(bytes: &[u8], is_counted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| is_counted(**byte)).count()
}

fn number(bytes: &[u8]) -> (Kind, usize) {
    let digits = |from: usize| count(&bytes[from.min(bytes.len())..], |byte| byte.is_ascii_digit());
    let is_next = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|byte| any.contains(byte));
    let hexadecimal = match bytes {
        [b'0', b'x', rest @ ..] => count(rest, |byte| byte.is_ascii_hexdigit()),
        _ => 0,
    };
    let mut is_double = false;
    let mut length = if hexadecimal > 0 { hexadecimal + 2 } else { digits(0) };
    if hexadecimal == 0 {
        if is_next(length, b".") && digits(length + 1) > 0 {
            (is_double, length) = (true, length + 1 + digits(length + 1));
        }
        let exponent = length + 1 + usize::from(is_next(length + 1, b"+-"));
        if is_next(length, b"eE") && digits(exponent) > 0 {
            (is_double, length) = (true, exponent + digits(exponent));
        }
    }
    match is_double {
        true => (Kind::Double, length),
        false if is_next(length, b"uU") => (Kind::Uint, length + 1),
        false => (Kind::Int, length),
    }
}

/// The text after a backslash: its length, and the bytes that it means.
fn escaped(rest: &str, is_bytes: bool) -> Option<(usize, Vec<u8>)> {
    let letter = rest.chars().next()?;
    let plain = match letter {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '"' | '\'' | '\\' | '?' | '`' => u8::try_from(letter).ok()?,
        _ => {
            let (start, end, base) = match letter {
                '0'..='3' => (0, 3, 8),
                'x' | 'X' => (1, 3, 16),
                'u' if !is_bytes => (1, 5, 16),
                'U' if !is_bytes => (1, 9, 16),
                _ => return None,
            };
            let digits = rest.get(start..end)?;
            let are_digits = digits.chars().all(|digit| digit.is_digit(base));
            let number = are_digits.then(|| u32::from_str_radix(digits, base).ok())??;
            let bytes = match u8::try_from(number) {
                Ok(byte) if is_bytes => vec![byte],
                _ => char::from_u32(number)?.to_string().into_bytes(),
            };
            return Some((end, bytes));
        }
    };
    Some((1, vec![plain]))
}

/// A number as it is written, with its sign.
pub(super) fn parsed<N: FromStr>(
    text: &str,
    is_negative: bool,
    in_hexadecimal: impl Fn(&str) -> Option<N>,
) -> Result<N, String> {
    let sign = if is_negative { "-" } else { "" };
    let number = match text.strip_prefix("0x") {
        Some(digits) => in_hexadecimal(&format!("{sign}{digits}")),
        None => format!("{sign}{text}").parse().ok(),
    };
    number.ok_or_else(|| format!("the number {sign}{} is too large", shortened(text)))
}
