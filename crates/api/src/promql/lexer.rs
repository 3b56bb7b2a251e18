//! The words of a query: names, keywords, symbols, numbers and strings. Spaces and comments are skipped.

use super::MAX_REPEATED;
use super::number::{is_of_word, number};

/// A word, and its range in the query.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The kind of a word.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Kind {
    Symbol(&'static str),
    /// A keyword, in lower case; the query may have capitals.
    Keyword(&'static str),
    Name,
    /// A number; a duration is its number of seconds.
    Number(f64),
    /// A quoted string. Bytes that are not UTF-8 after unescaping become replacement characters.
    Text {
        value: String,
        is_utf8: bool,
    },
    End,
    /// Not a word, and the problem.
    Invalid(String),
}

/// If one symbol is a prefix of another, the longer symbol comes first.
const SYMBOLS: [&str; 26] = [
    "==", "=~", "=", "!=", "!~", "<=", "</", "<", ">=", ">/", ">", "+", "-", "*", "/", "%", "^",
    "@", "(", ")", "{", "}", "[", "]", ",", ":",
];

/// Names with a meaning, unless they are in braces.
const KEYWORDS: &str = "and or unless atan2 sum avg count min max group stddev stdvar topk bottomk \
                        count_values quantile limitk limit_ratio offset smoothed anchored by \
                        without on ignoring group_left group_right fill fill_left fill_right bool \
                        start end step range max_of min_of";

/// The surroundings of the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    /// Neither braces nor brackets.
    Expression,
    /// The braces of a selector: every name is one of a label.
    Braces,
    /// The brackets of a range or a subquery: a colon is a symbol. A comment is only possible after a number.
    Brackets { had_number: bool },
}

pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    around: Around,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, at: 0, around: Around::Expression }
    }

    /// The next word; after the last word, always [`Kind::End`].
    pub(super) fn next(&mut self) -> Token {
        self.skip_space();
        let start = self.at;
        let rest = &self.text[start..];
        let (kind, length) = match rest.as_bytes() {
            [] => (Kind::End, 0),
            [b'0'..=b'9', ..] | [b'.', b'0'..=b'9', ..] => self.number(rest),
            [b'"' | b'\'' | b'`', ..] => quoted(rest),
            [b'a'..=b'z' | b'A'..=b'Z' | b'_', ..] => self.name(rest),
            [b':', ..] if self.around == Around::Expression => self.name(rest),
            _ => self.symbol(rest),
        };
        self.at = start + length;
        Token { kind, start, end: self.at }
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.text[self.at..].trim_start_matches([' ', '\t', '\n', '\r']);
            self.at = self.text.len() - rest.len();
            let may_comment = self.around != Around::Brackets { had_number: false };
            if !may_comment || !rest.starts_with('#') {
                return;
            }
            self.at += rest.find(['\n', '\r']).unwrap_or(rest.len());
        }
    }

    fn number(&mut self, rest: &str) -> (Kind, usize) {
        if let Around::Brackets { had_number } = &mut self.around {
            *had_number = true;
        }
        if let Some((number, end)) = number(rest) {
            return (Kind::Number(number), end);
        }
        let end = rest.find(|letter| !is_of_word(letter) && letter != '.');
        let written = &rest[..end.unwrap_or(rest.len())];
        (Kind::Invalid(format!("{} is not a number or duration", excerpt(written))), 0)
    }

    fn name(&self, rest: &str) -> (Kind, usize) {
        let may_have_colon = self.around == Around::Expression;
        let is_of_name = |letter| is_of_word(letter) || may_have_colon && letter == ':';
        let end = rest.find(|letter| !is_of_name(letter));
        let (word, rest) = rest.split_at(end.unwrap_or(rest.len()));
        let keyword = KEYWORDS.split(' ').find(|it| it.eq_ignore_ascii_case(word));
        let kind = match (self.around, keyword) {
            (Around::Braces, _) => Kind::Name,
            // A metric may have one of these names, as these keywords are newer than others.
            (_, Some("fill" | "fill_left" | "fill_right")) if !is_before_parenthesis(rest) => {
                Kind::Name
            }
            (_, Some(keyword)) => Kind::Keyword(keyword),
            (Around::Expression, None) if word.eq_ignore_ascii_case("inf") => {
                Kind::Number(f64::INFINITY)
            }
            (Around::Expression, None) if word.eq_ignore_ascii_case("nan") => {
                Kind::Number(f64::NAN)
            }
            (_, None) => Kind::Name,
        };
        (kind, word.len())
    }

    fn symbol(&mut self, rest: &str) -> (Kind, usize) {
        let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) else {
            let letter = rest.chars().next().unwrap_or_default();
            let hint = if letter == '.' || letter.is_alphanumeric() {
                "; write a name that has it as {\"NAME\"}"
            } else {
                ""
            };
            return (Kind::Invalid(format!("unexpected {:?}{hint}", letter.to_string())), 0);
        };
        match *symbol {
            "{" => self.around = Around::Braces,
            "[" => self.around = Around::Brackets { had_number: false },
            "}" | "]" => self.around = Around::Expression,
            _ => {}
        }
        (Kind::Symbol(symbol), symbol.len())
    }
}

fn is_before_parenthesis(rest: &str) -> bool {
    rest.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('(')
}

/// A word in a message, truncated if it is long.
pub(super) fn excerpt(word: &str) -> String {
    match word.char_indices().nth(MAX_REPEATED) {
        Some((end, _)) => format!("{:?}…", &word[..end]),
        None => format!("{word:?}"),
    }
}

/// The quoted string at the start of a text, and its length in bytes with the quotes.
fn quoted(rest: &str) -> (Kind, usize) {
    let mut letters = rest.chars();
    let quote = letters.next().unwrap_or_default();
    let mut value = Vec::new();
    let invalid = |why: &str| (Kind::Invalid(why.to_owned()), 0);
    loop {
        let letter = match letters.next() {
            Some(letter) if letter == quote => break,
            Some('\\') if quote != '`' => {
                let Some(bytes) = escaped(&mut letters, quote) else {
                    return invalid("an escape in a text is not valid");
                };
                value.extend(bytes);
                continue;
            }
            Some('\n') if quote != '`' => return invalid("a text does not end in its line"),
            None => return invalid("a text does not end"),
            Some(char::REPLACEMENT_CHARACTER) => return invalid("a text has U+FFFD in it"),
            Some(letter) => letter,
        };
        value.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
    }
    let length = rest.len() - letters.as_str().len();
    let is_utf8 = str::from_utf8(&value).is_ok();
    let value = String::from_utf8_lossy(&value).into_owned();
    (Kind::Text { value, is_utf8 }, length)
}

/// The bytes of an escape, after its backslash. An octal or `\x` escape is a byte, not a character.
fn escaped(letters: &mut std::str::Chars<'_>, quote: char) -> Option<Vec<u8>> {
    let rest = letters.as_str();
    let kind = letters.next()?;
    let byte = match kind {
        'a' => 0x07,
        'b' => 0x08,
        'f' => 0x0c,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 0x0b,
        '\\' => b'\\',
        letter if letter == quote => return Some(letter.to_string().into_bytes()),
        '0'..='7' | 'x' | 'u' | 'U' => {
            let (start, length, base) = match kind {
                'x' => (1, 2, 16),
                'u' => (1, 4, 16),
                'U' => (1, 8, 16),
                _ => (0, 3, 8),
            };
            let digits = rest.get(start..start + length)?;
            *letters = rest[start + length..].chars();
            let are_digits = digits.chars().all(|digit| digit.is_digit(base));
            let number = u32::from_str_radix(digits, base).ok().filter(|_| are_digits)?;
            if matches!(kind, 'u' | 'U') {
                return Some(char::from_u32(number)?.to_string().into_bytes());
            }
            u8::try_from(number).ok()?
        }
        _ => return None,
    };
    Some(vec![byte])
}
