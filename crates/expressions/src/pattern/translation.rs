//! From a regular expression of Go to one of the crate that matches it. Every word is read, so that none has another
//! meaning there by accident.

use std::fmt::Write as _;

use super::size::{Atom, Group, Size, steps_to_fold};

/// The names of classes within brackets.
const NAMED_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];
/// The same pattern for the crate, and how large it is. `None` for one that Go does not know.
pub(super) fn translated(pattern: &str) -> Option<(String, Size)> {
    let named_classes_end = pattern.rfind(":]").map(|at| pattern.len() - at);
    let translated = String::with_capacity(pattern.len());
    let reader = Reader { rest: pattern, translated, named_classes_end, ignores_case: false };
    let mut translation = Translation { reader, groups: vec![Group::default()] };
    while let Some(letter) = translation.reader.next() {
        translation.go_on(letter)?;
    }
    let Translation { reader, mut groups } = translation;
    let mut whole = groups.pop().filter(|_| groups.is_empty())?;
    whole.end_atom();
    Some((reader.translated, whole.size))
}

struct Translation<'p> {
    reader: Reader<'p>,
    /// The groups that have no end yet; the first one is the pattern.
    groups: Vec<Group>,
}

impl Translation<'_> {
    /// Reads what begins with a letter.
    fn go_on(&mut self, letter: char) -> Option<()> {
        let Translation { reader, groups } = self;
        let group = groups.last_mut()?;
        let atom = match letter {
            '(' => {
                group.end_atom();
                group.add(Size::PUNCTUATION);
                if reader.open()? {
                    groups.push(Group::default());
                }
                return Some(());
            }
            ')' => {
                reader.translated.push(')');
                let mut ended = groups.pop()?;
                ended.end_atom();
                let Group { size, repeated, .. } = ended;
                // An empty group can be repeated too.
                let size = size.plus(Size::PUNCTUATION);
                groups.last_mut()?.last = Some(Atom { size, repeated, is_repeated: false });
                return Some(());
            }
            '|' => {
                group.end_atom();
                group.add(Size::PUNCTUATION);
                reader.translated.push('|');
                return Some(());
            }
            '*' | '+' | '?' => {
                reader.translated.push(letter);
                reader.take_lazy();
                return group.repeat(0, None);
            }
            '{' => {
                if let Some((least, most)) = reader.repetition() {
                    reader.take_lazy();
                    return group.repeat(least, most);
                }
                reader.letter('{')
            }
            '\\' if reader.take("Q") => {
                // Up to `\E`, letters are letters.
                let (quoted, rest) = reader.rest.split_once("\\E").unwrap_or((reader.rest, ""));
                reader.rest = rest;
                for letter in quoted.chars() {
                    group.push(reader.letter(letter));
                }
                return Some(());
            }
            '\\' => reader.escape()?,
            '[' => reader.class()?,
            '.' | '^' | '$' => {
                reader.translated.push(letter);
                Atom::from_size(if letter == '.' { Size::CLASS } else { Size::ANCHOR })
            }
            letter => reader.letter(letter),
        };
        group.push(atom);
        Some(())
    }
}

/// Whether a backslash and a letter are a class.
fn is_of_class(letter: char) -> bool {
    "dDwWsSpP".contains(letter)
}

struct Reader<'p> {
    rest: &'p str,
    translated: String,
    /// The distance of the start of the last `:]` from the end of the pattern.
    named_classes_end: Option<usize>,
    /// Whether letters stand for both cases, from here on or in a part of what follows.
    ignores_case: bool,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn take(&mut self, wanted: &str) -> bool {
        let rest = self.rest.strip_prefix(wanted);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// As many letters as there are of a kind.
    fn take_while(&mut self, is_taken: impl Fn(char) -> bool) -> &str {
        let end = self.rest.find(|letter| !is_taken(letter)).unwrap_or(self.rest.len());
        let (prefix, rest) = self.rest.split_at(end);
        self.rest = rest;
        prefix
    }

    fn take_lazy(&mut self) {
        if self.take("?") {
            self.translated.push('?');
        }
    }

    fn letter(&mut self, letter: char) -> Atom {
        let _ = write!(self.translated, "\\x{{{:x}}}", u32::from(letter));
        Atom::from_size(if self.ignores_case { Size::FOLDED_LETTER } else { Size::LETTER })
    }

    /// Reads the text after an opening bracket, and returns whether a group begins. If not, there were flags for the
    /// rest. Groups are translated as non-capturing: their matches are not used, and each capture takes memory for
    /// every letter of the pattern.
    fn open(&mut self) -> Option<bool> {
        self.translated.push_str("(?");
        if !self.take("?") {
            self.translated.push(':');
            return Some(true);
        }
        if self.take("P<") || self.take("<") {
            self.translated.push(':');
            let name = self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            return (!name.is_empty() && self.take(">")).then_some(true);
        }
        let on = self.flags();
        self.ignores_case |= on.contains('i');
        if self.take("-") {
            let off: String = self.flags();
            // The last mention counts.
            let on: String = on.chars().filter(|flag| !off.contains(*flag)).collect();
            (!off.is_empty()).then_some(())?;
            let _ = write!(self.translated, "{on}-{off}");
        } else {
            self.translated.push_str(&on);
        }
        if self.take(":") {
            self.translated.push(':');
            return Some(true);
        }
        self.take(")").then_some(())?;
        // Flags may be none.
        if self.translated.ends_with("(?") {
            self.translated.push(':');
        }
        self.translated.push(')');
        Some(false)
    }

    /// Each flag once.
    fn flags(&mut self) -> String {
        let written = self.take_while(|letter| "imsU".contains(letter));
        "imsU".chars().filter(|flag| written.contains(*flag)).collect()
    }

    /// The least and the most repetitions; `None` if the bracket is a letter.
    fn repetition(&mut self) -> Option<(usize, Option<usize>)> {
        let is_within = |letter: char| letter.is_ascii_digit() || letter == ',';
        let (inner, rest) = self.rest.split_at(self.rest.find(|letter| !is_within(letter))?);
        let rest = rest.strip_prefix('}')?;
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
            let is_padded = digits.len() > 1 && digits.starts_with('0');
            // A number that does not fit is too large in any case.
            (is_number && !is_padded).then(|| digits.parse().unwrap_or(usize::MAX))
        };
        let range = match inner.split_once(',') {
            None => number(inner).map(|times| (times, Some(times))),
            Some((least, "")) => number(least).map(|least| (least, None)),
            Some((least, most)) => number(least).zip(number(most).map(Some)),
        }?;
        self.rest = rest;
        let _ = write!(self.translated, "{{{inner}}}");
        Some(range)
    }

    /// The text after a backslash outside of a class.
    fn escape(&mut self) -> Option<Atom> {
        if self.rest.starts_with(is_of_class) {
            return self.known_class();
        }
        let anchor = match self.rest.chars().next()? {
            'A' => r"\A",
            'z' => r"\z",
            'b' => r"(?-u:\b)",
            'B' => r"(?-u:\B)",
            _ => {
                let letter = self.escaped_letter()?;
                return Some(self.letter(letter));
            }
        };
        self.next();
        self.translated.push_str(anchor);
        Some(Atom::from_size(Size::ANCHOR))
    }

    /// A class that is written with a backslash, inside or outside of brackets.
    fn known_class(&mut self) -> Option<Atom> {
        let letter = self.next()?;
        let class = match letter {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            'w' => "[0-9A-Za-z_]",
            'W' => "[^0-9A-Za-z_]",
            's' => r"[\t\n\f\r ]",
            'S' => r"[^\t\n\f\r ]",
            _ => return self.unicode_class(letter == 'P'),
        };
        self.translated.push_str(class);
        Some(Atom::from_size(Size::CLASS))
    }

    /// A category or a script of Unicode. The crate supports other properties too.
    fn unicode_class(&mut self, is_negated: bool) -> Option<Atom> {
        let (name, is_negated) = if self.take("{") {
            let negates = self.take("^");
            let (name, rest) = self.rest.split_once('}')?;
            self.rest = rest;
            (name.to_owned(), is_negated != negates)
        } else {
            (self.next()?.to_string(), is_negated)
        };
        let is_name = name.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '_');
        (is_name && !name.is_empty()).then_some(())?;
        let sign = if is_negated { 'P' } else { 'p' };
        let kind = match &*name {
            "Any" | "ASCII" => "",
            name if name.len() <= 2 => "gc=",
            _ => "sc=",
        };
        let _ = write!(self.translated, "\\{sign}{{{kind}{name}}}");
        let steps = match (self.ignores_case, &*name) {
            (false, _) => 0,
            (true, "Any") => steps_to_fold(0, u32::from(char::MAX)),
            (true, _) => Size::UNICODE_CLASS.steps,
        };
        Some(Atom::from_size(Size::UNICODE_CLASS.plus(Size { letters: 0, steps })))
    }

    /// The letter that is written with a backslash.
    fn escaped_letter(&mut self) -> Option<char> {
        let octal = |letter: char| letter.is_digit(8);
        let letter = self.next()?;
        let digits = match letter {
            'a' => return Some('\u{7}'),
            'f' => return Some('\u{c}'),
            'n' => return Some('\n'),
            'r' => return Some('\r'),
            't' => return Some('\t'),
            'v' => return Some('\u{b}'),
            // A digit alone would be a reference to a group.
            '1'..='7' if !self.rest.starts_with(octal) => return None,
            '0'..='7' => {
                let end = self.rest.find(|it| !octal(it)).unwrap_or(self.rest.len()).min(2);
                let (digits, rest) = self.rest.split_at(end);
                self.rest = rest;
                return char::from_u32(u32::from_str_radix(&format!("{letter}{digits}"), 8).ok()?);
            }
            'x' if self.take("{") => {
                let (digits, rest) = self.rest.split_once('}')?;
                self.rest = rest;
                digits
            }
            'x' => {
                let (digits, rest) = self.rest.split_at_checked(2)?;
                self.rest = rest;
                digits
            }
            letter if letter.is_ascii() && !letter.is_ascii_alphanumeric() => return Some(letter),
            _ => return None,
        };
        let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
        is_number.then(|| u32::from_str_radix(digits, 16).ok().and_then(char::from_u32))?
    }

    /// The text after a square bracket.
    fn class(&mut self) -> Option<Atom> {
        self.translated.push('[');
        if self.take("^") {
            self.translated.push('^');
        }
        let mut size = Size::CLASS;
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            is_first = false;
            let (item, start, end) = self.item_of_class()?;
            size = size.plus(item);
            if self.ignores_case {
                size = size.plus(Size { letters: 0, steps: steps_to_fold(start, end) });
            }
        }
        self.next();
        self.translated.push(']');
        Some(Atom::from_size(size))
    }

    /// A range in a class, a letter of it, or a class of its own, with its first letter and its last one. A class has
    /// all of them, or few.
    fn item_of_class(&mut self) -> Option<(Size, u32, u32)> {
        const ALL: (u32, u32) = (0, char::MAX as u32);
        const FEW: (u32, u32) = (0, 127);
        let is_named = |it: &Self| it.named_classes_end.is_some_and(|end| it.rest.len() - 2 >= end);
        if self.rest.starts_with("[:") && is_named(self) {
            let (name, rest) = self.rest.split_once(":]")?;
            self.rest = rest;
            let plain = name.strip_prefix("[:").unwrap_or(name);
            let known = plain.strip_prefix('^').unwrap_or(plain);
            NAMED_CLASSES.contains(&known).then(|| self.translated.push_str(name))?;
            self.translated.push_str(":]");
            let (start, end) = if plain.starts_with('^') { ALL } else { FEW };
            return Some((Size::CLASS, start, end));
        }
        if let Some(rest) = self.rest.strip_prefix('\\')
            && rest.starts_with(is_of_class)
        {
            let has_all = rest.starts_with(|letter: char| letter.is_ascii_uppercase())
                || rest.starts_with("p{^")
                || rest.starts_with("p{Any}");
            self.rest = rest;
            let (start, end) = if has_all { ALL } else { FEW };
            return Some((self.known_class()?.size, start, end));
        }
        let start = self.letter_of_class()?;
        let mut end = start;
        let is_range = self.rest.strip_prefix('-').is_some_and(|it| !it.starts_with(']'));
        if is_range {
            self.next();
            end = self.letter_of_class()?;
        }
        (start <= end).then_some(())?;
        let (start, end) = (u32::from(start), u32::from(end));
        let _ = write!(self.translated, "\\x{{{start:x}}}-\\x{{{end:x}}}");
        Some((Size { letters: 1, steps: 40 }, start, end))
    }

    fn letter_of_class(&mut self) -> Option<char> {
        match self.next()? {
            '\\' => self.escaped_letter(),
            letter => Some(letter),
        }
    }
}
