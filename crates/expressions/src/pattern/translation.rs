//! From a regular expression of Go to one of the crate that matches it. Every word is read, so that none has another
//! meaning there by accident.

use std::fmt::Write as _;

/// How often a part may be repeated at most, all repetitions around it together.
const MOST_REPEATED: usize = 1000;
/// The names of classes within brackets.
const NAMED_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];
/// About how many letters a class of Unicode is worth.
const SIZE_OF_CLASS: usize = 32;

/// The same pattern for the crate, and how many letters it has, each as often as it is repeated. `None` for one that
/// Go does not know.
pub(super) fn translated(pattern: &str) -> Option<(String, usize)> {
    let reader = Reader { rest: pattern, translated: String::with_capacity(pattern.len()) };
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
                groups.last_mut()?.last = Some(Atom { size, repeated, is_repeated: false });
                return Some(());
            }
            '|' => {
                group.end_atom();
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
                Atom::one()
            }
            letter => reader.letter(letter),
        };
        group.push(atom);
        Some(())
    }
}

/// What has been read of a group.
#[derive(Default)]
struct Group {
    /// What a repetition that is next repeats.
    last: Option<Atom>,
    size: usize,
    /// How often a part of it is repeated at most.
    repeated: usize,
}

struct Atom {
    size: usize,
    repeated: usize,
    is_repeated: bool,
}

impl Atom {
    fn one() -> Atom {
        Atom { size: 1, repeated: 1, is_repeated: false }
    }

    fn class() -> Atom {
        Atom { size: SIZE_OF_CLASS, ..Atom::one() }
    }
}

impl Group {
    fn push(&mut self, atom: Atom) {
        self.end_atom();
        self.last = Some(atom);
    }

    /// Repeats what is last, which no other repetition does, so often at least and at most.
    fn repeat(&mut self, least: usize, most: Option<usize>) -> Option<()> {
        let atom = self.last.as_mut().filter(|atom| !atom.is_repeated)?;
        let times = most.unwrap_or(least);
        let is_known = least <= times && times <= MOST_REPEATED;
        atom.is_repeated = true;
        atom.repeated = atom.repeated.saturating_mul(times.max(1));
        atom.size = atom.size.saturating_mul(times.max(1));
        (is_known && atom.repeated <= MOST_REPEATED).then_some(())
    }

    fn end_atom(&mut self) {
        if let Some(Atom { size, repeated, .. }) = self.last.take() {
            self.size = self.size.saturating_add(size.max(1));
            self.repeated = self.repeated.max(repeated);
        }
    }
}

/// Whether a backslash and a letter are a class.
fn is_of_class(letter: char) -> bool {
    "dDwWsSpP".contains(letter)
}

struct Reader<'p> {
    rest: &'p str,
    translated: String,
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
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn take_lazy(&mut self) {
        if self.take("?") {
            self.translated.push('?');
        }
    }

    fn letter(&mut self, letter: char) -> Atom {
        let _ = write!(self.translated, "\\x{{{:x}}}", u32::from(letter));
        Atom::one()
    }

    /// What follows an opening bracket: whether a group begins. If not, there were flags for what follows.
    fn open(&mut self) -> Option<bool> {
        self.translated.push('(');
        if !self.take("?") {
            return Some(true);
        }
        if self.take("P<") || self.take("<") {
            let name = self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
            return (!name.is_empty() && self.take(">")).then_some(true);
        }
        self.translated.push('?');
        let on = self.flags();
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

    /// How often at least and at most; `None` if the bracket is a letter.
    fn repetition(&mut self) -> Option<(usize, Option<usize>)> {
        let (inner, rest) = self.rest.split_once('}')?;
        let number = |digits: &str| {
            let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit());
            let is_padded = digits.len() > 1 && digits.starts_with('0');
            // What is too large is so in any case.
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

    /// What follows a backslash outside of a class.
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
        Some(Atom::one())
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
        Some(Atom::one())
    }

    /// A category or a script of Unicode. The crate knows other properties too.
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
        Some(Atom::class())
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

    /// What follows a square bracket.
    fn class(&mut self) -> Option<Atom> {
        self.translated.push('[');
        if self.take("^") {
            self.translated.push('^');
        }
        let mut size = 0;
        let mut is_first = true;
        while is_first || !self.rest.starts_with(']') {
            is_first = false;
            size += 1;
            if self.rest.starts_with("[:") && self.rest[2..].contains(":]") {
                let (name, rest) = self.rest.split_once(":]")?;
                self.rest = rest;
                let plain = name.trim_start_matches("[:");
                let is_known = NAMED_CLASSES.contains(&plain.strip_prefix('^').unwrap_or(plain));
                is_known.then(|| self.translated.push_str(name))?;
                self.translated.push_str(":]");
                continue;
            }
            if let Some(rest) = self.rest.strip_prefix('\\')
                && rest.starts_with(is_of_class)
            {
                self.rest = rest;
                size += self.known_class()?.size;
                continue;
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
        }
        self.next();
        self.translated.push(']');
        Some(Atom { size, ..Atom::one() })
    }

    fn letter_of_class(&mut self) -> Option<char> {
        match self.next()? {
            '\\' => self.escaped_letter(),
            letter => Some(letter),
        }
    }
}
