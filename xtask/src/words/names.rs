//! The names that a Rust file defines: items, fields, variants, parameters and variables. Uses of a name are not
//! checked, because a rename starts at the definition.

use super::rust::Code;

/// A definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Name<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    pub(crate) line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Type,
    Function,
    Other,
}

/// All definitions in the code, in no particular order.
pub(crate) fn names<'a>(code: &[Code<'a>]) -> Vec<Name<'a>> {
    let mut names = Vec::new();
    for (at, keyword) in code.iter().enumerate() {
        let next = at + 1;
        match keyword.text {
            "fn" => {
                define(code, next, Kind::Function, &mut names);
                parameters(code, next, &mut names);
            }
            "struct" | "union" | "enum" => {
                define(code, next, Kind::Type, &mut names);
                members(code, next, keyword.text == "enum", &mut names);
            }
            "trait" | "type" => define(code, next, Kind::Type, &mut names),
            "mod" | "const" | "static" => define(code, next, Kind::Other, &mut names),
            "let" => variables(code, next, &mut names),
            _ => {}
        }
    }
    names
}

fn define<'a>(code: &[Code<'a>], at: usize, kind: Kind, names: &mut Vec<Name<'a>>) {
    let name = code.get(at).filter(|it| it.text != "mut").or_else(|| code.get(at + 1));
    names.extend(name.filter(|it| is_name(it.text)).map(|it| Name::new(kind, *it)));
}

/// The variables of `let a`, `let mut a` and `let (a, mut b)`. Variables in other patterns mostly repeat the names of
/// fields.
fn variables<'a>(code: &[Code<'a>], at: usize, names: &mut Vec<Name<'a>>) {
    for (index, token) in code.iter().enumerate().skip(at) {
        let is_pattern = code.get(index + 1).is_some_and(|it| matches!(it.text, "(" | "{"));
        match token.text {
            "(" | "," | "mut" | "ref" | "&" => {}
            name if is_name(name) && !is_pattern && starts_lowercase(name) => {
                names.push(Name::new(Kind::Other, *token));
            }
            _ => return,
        }
    }
}

/// The parameters of a function whose name is at `at`: each word before a colon, inside the first
/// parentheses after the generic parameters.
fn parameters<'a>(code: &[Code<'a>], at: usize, names: &mut Vec<Name<'a>>) {
    let (mut angles, mut parentheses) = (0_usize, 0_usize);
    for index in at + 1..code.len() {
        let previous = code[index - 1].text;
        match code[index].text {
            "<" if parentheses == 0 => angles += 1,
            ">" if parentheses == 0 && previous != "-" => angles = angles.saturating_sub(1),
            "(" if angles == 0 => parentheses += 1,
            ")" if angles == 0 => {
                parentheses = parentheses.saturating_sub(1);
                if parentheses == 0 {
                    return;
                }
            }
            "{" | ";" if parentheses == 0 => return,
            name if parentheses == 1 && starts_lowercase(name) && is_before_colon(code, index) => {
                names.push(Name::new(Kind::Other, code[index]));
            }
            _ => {}
        }
    }
}

/// The fields of a struct and the variants of an enum, with the fields of the variants.
fn members<'a>(code: &[Code<'a>], at: usize, is_enum: bool, names: &mut Vec<Name<'a>>) {
    let (mut braces, mut others) = (0_usize, 0_usize);
    for index in at + 1..code.len() {
        let previous = code[index - 1].text;
        let name = code[index].text;
        match name {
            "{" => braces += 1,
            "}" if braces <= 1 => return,
            "}" => braces -= 1,
            "(" | "[" => others += 1,
            ")" | "]" => others = others.saturating_sub(1),
            ";" if braces == 0 => return,
            _ if braces == 0 || others > 0 || !is_name(name) => {}
            _ if is_enum && braces == 1 => {
                // Right after the brace, a comma or an attribute.
                if matches!(previous, "{" | "," | "]" | "}") {
                    names.push(Name::new(Kind::Other, code[index]));
                }
            }
            _ if is_before_colon(code, index) => {
                names.push(Name::new(Kind::Other, code[index]));
            }
            _ => {}
        }
    }
}

/// Whether a single colon follows, not a path's double one.
fn is_before_colon(code: &[Code<'_>], index: usize) -> bool {
    let is_colon = |at: usize| code.get(at).is_some_and(|it| it.text == ":");
    is_colon(index + 1) && !is_colon(index + 2) && (index == 0 || !is_colon(index - 1))
}

fn is_name(text: &str) -> bool {
    const KEYWORDS: [&str; 8] = ["fn", "mut", "ref", "unsafe", "extern", "async", "else", "_"];
    text.starts_with(|it: char| it.is_alphabetic() || it == '_') && !KEYWORDS.contains(&text)
}

fn starts_lowercase(text: &str) -> bool {
    text.starts_with(|it: char| it.is_lowercase() || it == '_')
}

impl<'a> Name<'a> {
    fn new(kind: Kind, code: Code<'a>) -> Self {
        Self { kind, text: code.text, line: code.line }
    }

    /// The name as separate words, in lower case.
    pub(crate) fn words(&self) -> String {
        let mut words = String::with_capacity(self.text.len() + 8);
        let mut was_lowercase = false;
        for character in self.text.chars() {
            if character == '_' {
                words.push(' ');
            } else {
                if was_lowercase && character.is_uppercase() {
                    words.push(' ');
                }
                words.extend(character.to_lowercase());
            }
            was_lowercase = character.is_lowercase() || character.is_ascii_digit();
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::rust::parts;

    fn defined(text: &str) -> Vec<&str> {
        let code = parts(text).code;
        names(&code).into_iter().map(|name| name.text).collect()
    }

    #[test]
    fn items_are_definitions() {
        let text =
            "mod a; const B: u8 = 1; static mut C: u8 = 1; trait D {} type E = u8; fn f() {}";
        assert_eq!(defined(text), ["a", "B", "C", "D", "E", "f"]);
        assert_eq!(defined("const fn g() {} let h: fn(u8) = i;"), ["g", "h"]);
    }

    #[test]
    fn variables_are_definitions_and_patterns_are_not() {
        assert_eq!(defined("let a = b; let mut c: D = e;"), ["a", "c"]);
        assert_eq!(defined("let (a, mut b) = c; let Some(d) = e else { f };"), ["a", "b"]);
        assert_eq!(defined("let Told { shown, .. } = x;"), [""; 0]);
    }

    #[test]
    fn fields_and_variants_are_definitions() {
        let text = "pub struct A<T> { pub(crate) b: c::D<T>, #[e(f)] g: Box<dyn Fn(h) -> i> }";
        assert_eq!(defined(text), ["A", "b", "g"]);
        let text = "enum A { #[b] C, D(e), F { g: h }, I = 1 }\nlet j = K { l: m };";
        assert_eq!(defined(text), ["A", "C", "D", "F", "g", "I", "j"]);
        assert_eq!(defined("struct A; struct B(C); fn d() {}"), ["A", "B", "d"]);
    }

    #[test]
    fn parameters_are_definitions() {
        let text = "fn a<F: Fn(b) -> c>(&self, mut d: e::F, g: impl Fn(h) -> i) -> j { k(l) }";
        assert_eq!(defined(text), ["a", "d", "g"]);
    }

    #[test]
    fn a_name_is_read_as_words() {
        let words = |text| Name { kind: Kind::Other, text, line: 1 }.words();
        assert_eq!(words("FINDINGS_TOLD"), "findings told");
        assert_eq!(words("StandingOut2Go"), "standing out2 go");
        assert_eq!(words("as_it_is"), "as it is");
    }
}
