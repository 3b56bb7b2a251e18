//! Rewrites an expression with keywords of other languages into CEL: `and`, `=<`, `len(x)`. Quoted strings stay
//! unchanged. The rewritten expression is used only if it compiles. The crate `almanac-expressions` compiles it.

use std::ops::Range;

use almanac_engine::placement::Expression;

/// An edit of a string: the bytes to replace, and the replacement.
type Edit<'a> = (Range<usize>, &'a str);

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Name,
    /// A number, or a quoted string.
    Value,
    Symbol,
}

struct Word<'a> {
    kind: WordKind,
    text: &'a str,
    start: usize,
    /// The index of the other bracket of a pair.
    partner: Option<usize>,
}

impl Word<'_> {
    fn begins_operand(&self) -> bool {
        self.kind != WordKind::Symbol || matches!(self.text, "(" | "[" | "{" | "!" | "-")
    }

    fn ends_operand(&self) -> bool {
        self.kind != WordKind::Symbol || matches!(self.text, ")" | "]" | "}")
    }
}

/// The words of an expression, without spaces and comments.
struct Words<'a>(Vec<Word<'a>>);

/// Symbols of several characters. If one symbol is a prefix of another, the longer symbol comes first.
const SYMBOLS: [&str; 13] =
    ["===", "!==", "=<", "=>", "=!", "=~", "<>", "==", "!=", "<=", ">=", "&&", "||"];

/// Functions of other languages that are methods in CEL.
const METHODS: [(&str, &str); 3] =
    [("contains", ".contains("), ("startsWith", ".startsWith("), ("endsWith", ".endsWith(")];

/// The same expression in CEL; `None` if no rewritten expression compiles.
pub(super) fn in_cel(text: &str) -> Option<String> {
    let words = Words::parse(text)?;
    // A map may have a key `length`, so `length` is rewritten only if the other edits are not enough.
    [false, true].into_iter().find_map(|is_length_size| {
        let of_word = |at| words.edits(at, is_length_size);
        let rewritten = edited(text, (0..words.0.len()).flat_map(of_word).collect())?;
        Expression::compile(&rewritten).is_ok().then_some(rewritten)
    })
}

/// The string after the edits; `None` without edits.
fn edited(text: &str, mut edits: Vec<Edit<'_>>) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    edits.sort_by_key(|(at, _)| (at.start, at.end));
    let mut rewritten = String::with_capacity(text.len() + 16);
    let mut kept = 0;
    for (at, new) in edits {
        rewritten.push_str(text.get(kept..at.start)?);
        rewritten.push_str(new);
        kept = at.end;
    }
    rewritten.push_str(text.get(kept..)?);
    Some(rewritten)
}

impl<'a> Words<'a> {
    /// Splits an expression into words. `None` if a quote or a bracket is unclosed.
    fn parse(text: &'a str) -> Option<Words<'a>> {
        let mut words: Vec<Word<'a>> = Vec::new();
        let mut open: Vec<usize> = Vec::new();
        let mut start = 0;
        loop {
            let rest = text.get(start..)?;
            let Some(first) = rest.chars().next() else { break };
            let skipped = match first {
                '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                _ if first.is_whitespace() => first.len_utf8(),
                _ => 0,
            };
            if skipped > 0 {
                start += skipped;
                continue;
            }
            let (kind, length) = first_word(rest, first)?;
            let mut partner = None;
            if kind == WordKind::Symbol && matches!(first, '(' | '[' | '{') {
                open.push(words.len());
            } else if kind == WordKind::Symbol && matches!(first, ')' | ']' | '}') {
                let opening = open.pop()?;
                words[opening].partner = Some(words.len());
                partner = Some(opening);
            }
            words.push(Word { kind, text: rest.get(..length)?, start, partner });
            start += length;
        }
        open.is_empty().then_some(Words(words))
    }

    fn text(&self, at: usize) -> &'a str {
        self.0.get(at).map_or("", |word| word.text)
    }

    fn before(&self, at: usize) -> &'a str {
        at.checked_sub(1).map_or("", |before| self.text(before))
    }

    fn start(&self, at: usize) -> usize {
        self.0.get(at).map_or(0, |word| word.start)
    }

    fn range(&self, at: usize) -> Range<usize> {
        self.start(at)..self.start(at) + self.text(at).len()
    }

    /// The edits at a word.
    fn edits(&self, at: usize, is_length_size: bool) -> Vec<Edit<'a>> {
        let Some(word) = self.0.get(at) else { return Vec::new() };
        let is_member = self.before(at) == ".";
        let is_call = self.text(at + 1) == "(";
        let new = match (word.kind, word.text) {
            (WordKind::Symbol, symbol) => symbol_in_cel(symbol),
            (WordKind::Name, "length") if is_member && is_length_size => {
                Some(if is_call { "size" } else { "size()" })
            }
            (WordKind::Name, _) if is_member => None,
            (WordKind::Name, "len" | "length") if is_call => Some("size"),
            (WordKind::Name, "not" | "NOT") => return self.negation(at),
            (WordKind::Name, name)
                if is_call && METHODS.iter().any(|(known, _)| *known == name) =>
            {
                return self.method(at);
            }
            (WordKind::Name, name) if !is_call || is_connective(name) => self.name_in_cel(at, name),
            (WordKind::Name | WordKind::Value, _) => None,
        };
        new.map(|new| (self.range(at), new)).into_iter().collect()
    }

    fn name_in_cel(&self, at: usize, name: &str) -> Option<&'static str> {
        // A connective is between two operands; elsewhere the word may be the variable of a macro.
        let is_between = || {
            at.checked_sub(1).and_then(|before| self.0.get(before)).is_some_and(Word::ends_operand)
                && self.0.get(at + 1).is_some_and(Word::begins_operand)
        };
        match name {
            "and" | "AND" if is_between() => Some("&&"),
            "or" | "OR" if is_between() => Some("||"),
            "True" | "TRUE" => Some("true"),
            "False" | "FALSE" => Some("false"),
            "None" | "NULL" | "Null" | "nil" => Some("null"),
            _ => None,
        }
    }

    /// `not x` and `x not in y`. In other languages `not` binds less than a comparison, and in CEL `!` binds more, so
    /// only a single operand is negated.
    fn negation(&self, at: usize) -> Vec<Edit<'a>> {
        let without_not = self.start(at)..self.start(at + 1);
        if self.text(at + 1) == "in" {
            let (first, behind) = (self.operand_before(at), self.operand_from(at + 2));
            let (Some(first), Some(behind)) = (first, behind) else { return Vec::new() };
            if !is_boundary(self.before(first)) || !is_boundary(self.text(behind)) {
                return Vec::new();
            }
            let (start, end) = (self.start(first), self.range(behind - 1).end);
            return vec![(start..start, "!("), (without_not, ""), (end..end, ")")];
        }
        let is_alone =
            self.operand_from(at + 1).is_some_and(|behind| is_boundary(self.text(behind)));
        let is_first = is_boundary(self.before(at));
        (is_alone && is_first).then_some((without_not, "!")).into_iter().collect()
    }

    /// `contains(x, y)`, where `x` is one operand.
    fn method(&self, at: usize) -> Vec<Edit<'a>> {
        let method = METHODS.iter().find(|(name, _)| *name == self.text(at));
        let comma = self.operand_from(at + 2).filter(|comma| self.text(*comma) == ",");
        let (Some((_, method)), Some(comma)) = (method, comma) else { return Vec::new() };
        let before = self.start(at)..self.start(at + 2);
        vec![(before, ""), (self.start(comma)..self.start(comma + 1), *method)]
    }

    /// The index after an operand without operators around it: `a.b['c'].d(e)`.
    fn operand_from(&self, at: usize) -> Option<usize> {
        let first = self.0.get(at)?;
        let mut behind = match first.kind {
            WordKind::Symbol => first.partner.filter(|it| *it > at)?,
            WordKind::Name | WordKind::Value => at,
        } + 1;
        loop {
            behind = match self.text(behind) {
                "." => behind + 2,
                "(" | "[" => self.0.get(behind)?.partner? + 1,
                _ => return Some(behind),
            };
        }
    }

    /// The start index of the operand that ends before a word.
    fn operand_before(&self, at: usize) -> Option<usize> {
        let mut first = at.checked_sub(1)?;
        loop {
            let word = self.0.get(first)?;
            let before = first.checked_sub(1).and_then(|it| self.0.get(it));
            first = match (word.kind, word.text) {
                (WordKind::Symbol, "(" | "[") if before.is_some_and(Word::ends_operand) => {
                    first - 1
                }
                (WordKind::Symbol, "(" | "[" | "{") => return Some(first),
                (WordKind::Symbol, _) => word.partner?,
                _ if before.is_some_and(|it| it.text == ".") => first.checked_sub(2)?,
                _ => return Some(first),
            };
        }
    }
}

/// The first word of an expression, and its length in bytes.
fn first_word(rest: &str, first: char) -> Option<(WordKind, usize)> {
    let length_of = |is_part: fn(char) -> bool| {
        rest.find(|letter: char| !is_part(letter)).unwrap_or(rest.len())
    };
    Some(match first {
        '"' | '\'' => (WordKind::Value, quoted(rest, false)?),
        '0'..='9' => (WordKind::Value, length_of(|it| it.is_ascii_alphanumeric() || it == '.')),
        'a'..='z' | 'A'..='Z' | '_' => {
            let length = length_of(|it| it.is_ascii_alphanumeric() || it == '_');
            let (name, behind) = rest.split_at(length);
            let is_prefix = behind.starts_with(['"', '\''])
                && name.len() <= 2
                && name.chars().all(|it| "rRbB".contains(it));
            if is_prefix {
                (WordKind::Value, length + quoted(behind, name.contains(['r', 'R']))?)
            } else {
                (WordKind::Name, length)
            }
        }
        _ => {
            let symbol = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
            (WordKind::Symbol, symbol.map_or(first.len_utf8(), |symbol| symbol.len()))
        }
    })
}

/// The length in bytes of the quoted string at the start of an expression.
fn quoted(rest: &str, is_raw: bool) -> Option<usize> {
    let quote = rest.get(..1)?;
    let triple = [quote; 3].concat();
    let quotes = if rest.starts_with(&triple) { triple.as_str() } else { quote };
    let mut length = quotes.len();
    loop {
        let behind = rest.get(length..)?;
        if behind.starts_with(quotes) {
            return Some(length + quotes.len());
        }
        let mut letters = behind.chars();
        let letter = letters.next()?;
        length += letter.len_utf8();
        if letter == '\\' && !is_raw {
            length += letters.next()?.len_utf8();
        }
    }
}

fn symbol_in_cel(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "=" | "===" => "==",
        "<>" | "!==" => "!=",
        "=<" => "<=",
        "=>" => ">=",
        "&" => "&&",
        "|" => "||",
        _ => return None,
    })
}

fn is_connective(name: &str) -> bool {
    matches!(name, "and" | "AND" | "or" | "OR")
}

/// Whether a word separates conditions, or ends the expression. The word before the first and after the last word is
/// the empty word.
fn is_boundary(word: &str) -> bool {
    let is_symbol = matches!(
        word,
        "" | "(" | ")" | "[" | "]" | "{" | "}" | "," | "?" | ":" | "&&" | "||" | "&" | "|"
    );
    is_symbol || is_connective(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: &str = "managedCluster.metadata.labels";

    /// Replaces `L` by the labels of the cluster.
    fn with_labels(text: &str) -> String {
        text.replace('L', LABELS)
    }

    #[test]
    fn words_of_other_languages_are_rewritten() {
        for (written, meant) in [
            ("L['a'] = 'b'", "L['a'] == 'b'"),
            ("L['a'] === 'b'", "L['a'] == 'b'"),
            ("size(L) =< 3", "size(L) <= 3"),
            ("size(L) => 3", "size(L) >= 3"),
            ("L['a'] <> 'b'", "L['a'] != 'b'"),
            ("L['a']=='b' and L['c']=='d'", "L['a']=='b' && L['c']=='d'"),
            ("'a' in L AND ('b' in L or 'c' in L)", "'a' in L && ('b' in L || 'c' in L)"),
            ("'a' in L & 'b' in L | 'c' in L", "'a' in L && 'b' in L || 'c' in L"),
            ("not ('a' in L)", "!('a' in L)"),
            ("'a' in L and not('b' in L)", "'a' in L && !('b' in L)"),
            ("'a' not in L", "!('a' in L)"),
            ("('a' + 'b') not in L and 'c' in L", "!(('a' + 'b') in L) && 'c' in L"),
            ("L['a'] not in ['b', 'c']", "!(L['a'] in ['b', 'c'])"),
            ("len(L) > 1", "size(L) > 1"),
            ("'a,b'.split(',').length > 1", "'a,b'.split(',').size() > 1"),
            ("'a,b'.split(',').length() > 1", "'a,b'.split(',').size() > 1"),
            ("contains(L['a'], 'b')", "L['a'].contains('b')"),
            ("contains(L['a'], 'b') and len(L) = 2", "L['a'].contains('b') && size(L) == 2"),
            ("startsWith(L['a'], L['b'])", "L['a'].startsWith(L['b'])"),
            (
                "managedCluster.spec.hubAcceptsClient == True",
                "managedCluster.spec.hubAcceptsClient == true",
            ),
            ("managedCluster.spec.lease != None", "managedCluster.spec.lease != null"),
        ] {
            let meant = with_labels(meant);
            assert_eq!(in_cel(&with_labels(written)).as_deref(), Some(&*meant), "{written}");
        }
    }

    #[test]
    fn texts_in_quotes_and_fields_stay_as_they_are() {
        for (written, meant) in [
            ("L['a'] = 'x and y = z'", "L['a'] == 'x and y = z'"),
            (r#"L['a'] = "it's" and true"#, r#"L['a'] == "it's" && true"#),
            (
                r"L['a'] = r'\' and L['b'] == 'len(x) | y'",
                r"L['a'] == r'\' && L['b'] == 'len(x) | y'",
            ),
            (r"L['a'] = '\' and \'' and true", r"L['a'] == '\' and \'' && true"),
            ("L.length = 'a'", "L.length == 'a'"),
            ("L.and = L.None", "L.and == L.None"),
            ("true and true // and len(x)", "true && true // and len(x)"),
        ] {
            let meant = with_labels(meant);
            assert_eq!(in_cel(&with_labels(written)).as_deref(), Some(&*meant), "{written}");
        }
    }

    #[test]
    fn an_ambiguous_or_invalid_expression_is_not_rewritten() {
        for text in [
            "L['a'] == 'b'",
            "L['a'] =! 'b'",
            "L['a'] =~ 'b'",
            // In Python, this is `not (a == b)`; with `!`, it would be `(!a) == b`.
            "not L['a'] == 'b'",
            "L['a'] == 'b' and",
            "and",
            "L['a'] = 'b",
            "(L['a'] = 'b'",
            "contains(L['a'])",
            "contains('a' + 'b', 'c')",
            "len(L, 1) > 1",
            "1 and 2",
            "nothing = 1",
            "",
        ] {
            assert_eq!(in_cel(&with_labels(text)), None, "{text}");
        }
    }
}
