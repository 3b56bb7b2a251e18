//! The paths in a file that start at the root of its crate, and the re-exports of the root.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::source::{tokens, words_of};

/// The targets of the paths in a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Paths {
    /// The first names after the root.
    pub(super) names: BTreeSet<String>,
    /// The modules in separate files that are compiled for tests only.
    pub(super) only_tests: Vec<Vec<String>>,
}

impl Paths {
    /// The paths in the text of a module with this path from the root.
    pub(super) fn read(text: &str, module: &[String]) -> anyhow::Result<Paths> {
        let mut paths = Paths::default();
        paths.collect(tokens(text)?, module);
        Ok(paths)
    }

    fn collect(&mut self, stream: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut rest = &tokens[..];
        while let Some((token, after)) = rest.split_first() {
            rest = match (token, after) {
                (TokenTree::Punct(mark), [TokenTree::Group(attribute), item @ ..])
                    if mark.as_char() == '#' && is_for_tests(attribute) =>
                {
                    self.skip_item(item, module)
                }
                (
                    TokenTree::Ident(word),
                    [TokenTree::Ident(name), TokenTree::Group(inside), rest @ ..],
                ) if word == "mod" => {
                    let inner = [module, &[name.to_string()]].concat();
                    self.collect(inside.stream(), &inner);
                    rest
                }
                (TokenTree::Ident(word), _) if word == "crate" => self.take_path(after, 0),
                (TokenTree::Ident(word), _) if word == "super" => {
                    self.take_path(after, module.len().saturating_sub(1))
                }
                (TokenTree::Group(group), _) => {
                    self.collect(group.stream(), module);
                    after
                }
                _ => after,
            };
        }
    }

    /// Records the target of a path that starts at this module, and returns the tokens after the path.
    fn take_path<'t>(&mut self, mut rest: &'t [TokenTree], mut below: usize) -> &'t [TokenTree] {
        while let Some([TokenTree::Ident(word), after @ ..]) = after_colons(rest)
            && word == "super"
        {
            below = below.saturating_sub(1);
            rest = after;
        }
        match after_colons(rest) {
            Some([TokenTree::Ident(name), after @ ..]) if below == 0 => {
                self.names.insert(name.to_string());
                after
            }
            Some([TokenTree::Group(group), after @ ..]) if below == 0 => {
                let list: Vec<TokenTree> = group.stream().into_iter().collect();
                for item in list.split(is_comma) {
                    if let Some(TokenTree::Ident(name)) = item.first() {
                        self.names.insert(name.to_string());
                    }
                }
                after
            }
            _ => rest,
        }
    }

    /// Skips an item that is compiled for tests only, and returns the tokens after the item.
    fn skip_item<'t>(&mut self, mut rest: &'t [TokenTree], module: &[String]) -> &'t [TokenTree] {
        while let Some((token, after)) = rest.split_first() {
            if let (TokenTree::Ident(word), [TokenTree::Ident(name), TokenTree::Punct(_), ..]) =
                (token, after)
                && word == "mod"
            {
                self.only_tests.push([module, &[name.to_string()]].concat());
            }
            rest = after;
            let ends = match token {
                TokenTree::Punct(mark) => matches!(mark.as_char(), ';' | ','),
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Ident(_) | TokenTree::Literal(_) => false,
            };
            if ends {
                break;
            }
        }
        rest
    }
}

/// The names that the text of a root re-exports or imports, each with its module.
pub(super) fn exported(text: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let tokens: Vec<TokenTree> = tokens(text)?.into_iter().collect();
    let mut names = BTreeMap::new();
    for statement in tokens.split(|token| is_punct(token, ';')) {
        let is_use = |token: &TokenTree| matches!(token, TokenTree::Ident(word) if word == "use");
        if let Some(start) = statement.iter().position(is_use) {
            take_names(&statement[start + 1..], None, &mut names);
        }
    }
    Ok(names)
}

/// The names that a part of a `use` imports, if that part or an earlier part names a module.
fn take_names(part: &[TokenTree], module: Option<&str>, names: &mut BTreeMap<String, String>) {
    for item in part.split(is_comma) {
        let name = |token: &TokenTree| match token {
            TokenTree::Ident(word) if word != "crate" && word != "self" => Some(word.to_string()),
            _ => None,
        };
        let segments: Vec<String> = item.iter().filter_map(name).collect();
        let module = module.or(segments.first().map(String::as_str));
        match (item.last(), module, segments.last()) {
            (Some(TokenTree::Group(group)), module, _) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                take_names(&inner, module, names);
            }
            (_, Some(module), Some(name)) => {
                names.insert(name.clone(), module.to_owned());
            }
            _ => {}
        }
    }
}

/// The tokens after `::`.
fn after_colons(tokens: &[TokenTree]) -> Option<&[TokenTree]> {
    match tokens {
        [one, other, rest @ ..] if is_punct(one, ':') && is_punct(other, ':') => Some(rest),
        _ => None,
    }
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn is_comma(token: &TokenTree) -> bool {
    is_punct(token, ',')
}

/// `cfg(test)`, `cfg(all(test, unix))`; not `cfg(not(test))`, nor `cfg(any(test, unix))`.
fn is_for_tests(attribute: &Group) -> bool {
    let words = words_of(attribute.stream());
    let has = |word: &str| words.iter().any(|other| other == word);
    words.first().is_some_and(|first| first == "cfg") && has("test") && !has("not") && !has("any")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str, module: &[&str]) -> Vec<String> {
        let module: Vec<String> = module.iter().map(|name| (*name).to_owned()).collect();
        Paths::read(text, &module).unwrap().names.into_iter().collect()
    }

    #[test]
    fn paths_are_found_in_uses_expressions_attributes_and_macros() {
        let text = "use crate::{a::A, b}; #[with(crate::c::f)] fn f(x: crate::d::D) -> u8 { \
                    g!(crate::e::E) } pub(crate) fn h() {} // crate::not\n const S: &str = \"crate::no\";";
        assert_eq!(names(text, &["own"]), ["a", "b", "c", "d", "e"]);
    }

    #[test]
    fn a_path_over_super_counts_if_it_reaches_the_root() {
        let text = "use super::near; use super::super::{a, b::B}; mod inner { use super::super::super::c; }";
        assert_eq!(names(text, &["own", "child"]), ["a", "b", "c"]);
        assert_eq!(names("use super::a;", &["own"]), ["a"]);
    }

    #[test]
    fn what_only_tests_are_built_with_does_not_count() {
        let text =
            "#[cfg(test)] use crate::a; #[cfg(not(test))] use crate::b; #[cfg(test)] mod tests;";
        assert_eq!(names(text, &["own"]), ["b"]);
        let paths = Paths::read(text, &["own".to_owned()]).unwrap();
        assert_eq!(paths.only_tests, [["own", "tests"]]);
    }

    #[test]
    fn a_re_export_leads_to_the_module_that_is_named_first() {
        let exported = exported("mod a; pub use a::{b::{C, D as E}, F}; use crate::g::h;").unwrap();
        let expected = [("C", "a"), ("E", "a"), ("F", "a"), ("h", "g")];
        let expected = expected.map(|(name, module)| (name.to_owned(), module.to_owned()));
        assert_eq!(exported, BTreeMap::from(expected));
    }
}
