//! Rust files and their tokens.
//!
//! Checks search for a word in these tokens: a word in a comment or a string never counts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Directories without sources of this project.
const SKIPPED_FOLDERS: &[&str] = &["target", "node_modules"];

/// A file of the workspace and its contents.
pub(crate) struct Source {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// Reads every Rust file under a directory, in order of their paths.
pub(crate) fn read_all(folder: &Path) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<std::io::Result<Vec<_>>>)
        .with_context(|| format!("failed to list {}", folder.display()))?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !SKIPPED_FOLDERS.contains(&&*name) {
            sources.extend(read_all(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path)
                .with_context(|| format!("failed to read {}", path.display()))?;
            sources.push(Source { path, text });
        }
    }
    Ok(sources)
}

/// Every word of a source text (names and keywords), in order.
pub(crate) fn words(text: &str) -> anyhow::Result<Vec<String>> {
    Ok(words_of(tokens(text)?))
}

/// Every word among tokens, in order.
pub(crate) fn words_of(tokens: TokenStream) -> Vec<String> {
    let mut words = Vec::new();
    collect_words(tokens, &mut words);
    words
}

/// The names of the tests in a source text: functions under an attribute that ends in `test`.
pub(crate) fn test_names(text: &str) -> anyhow::Result<Vec<String>> {
    Ok(tests(text)?.into_iter().map(|test| test.name).collect())
}

/// The names of the tests that run only on request: those with `#[ignore]`.
pub(crate) fn ignored_tests(text: &str) -> anyhow::Result<Vec<String>> {
    let ignored = tests(text)?.into_iter().filter(|test| test.is_ignored);
    Ok(ignored.map(|test| test.name).collect())
}

struct Test {
    name: String,
    is_ignored: bool,
}

fn tests(text: &str) -> anyhow::Result<Vec<Test>> {
    let mut tests = Vec::new();
    collect_tests(tokens(text)?, &mut tests);
    Ok(tests)
}

/// The tokens of a source text.
pub(crate) fn tokens(text: &str) -> anyhow::Result<TokenStream> {
    text.parse().map_err(|error| anyhow::anyhow!("not Rust source: {error}"))
}

fn collect_words(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(word) => words.push(word.to_string()),
            TokenTree::Group(group) => collect_words(group.stream(), words),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

fn collect_tests(tokens: TokenStream, tests: &mut Vec<Test>) {
    let mut is_test = false;
    let mut is_ignored = false;
    let mut after_fn = false;
    let mut after_hash = false;
    for token in tokens {
        let is_attribute = std::mem::take(&mut after_hash);
        match token {
            TokenTree::Punct(mark) => after_hash = mark.as_char() == '#',
            TokenTree::Group(group) if is_attribute => {
                is_test |= is_test_attribute(group.stream());
                is_ignored |= is_ignoring_attribute(group.stream());
            }
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                collect_tests(group.stream(), tests);
            }
            TokenTree::Ident(word) if after_fn => {
                after_fn = false;
                let is_ignored = std::mem::take(&mut is_ignored);
                if std::mem::take(&mut is_test) {
                    tests.push(Test { name: word.to_string(), is_ignored });
                }
            }
            TokenTree::Ident(word) => after_fn = word == "fn",
            TokenTree::Group(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// `test`, `tokio::test`, `tokio::test(start_paused = true)`; not `cfg(test)`.
fn is_test_attribute(tokens: TokenStream) -> bool {
    let path = tokens.into_iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
    path.last().is_some_and(|token| matches!(token, TokenTree::Ident(word) if word == "test"))
}

/// `ignore`, `ignore = "why"`, `cfg_attr(windows, ignore)`; not `should_panic(expected = "ignore")`.
fn is_ignoring_attribute(tokens: TokenStream) -> bool {
    let words = words_of(tokens);
    match words.first().map(String::as_str) {
        Some("ignore") => true,
        Some("cfg_attr") => words.iter().any(|word| word == "ignore"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments_and_strings_do_not_count() {
        let text = "//! async\n/// async\nfn f() { /* async */ g(\"async\") }";
        let words = words(text).unwrap();
        assert!(!words.contains(&"async".to_owned()), "{words:?}");
        assert!(words.contains(&"g".to_owned()));
    }

    #[test]
    fn tests_are_found_by_their_attribute() {
        let text = r#"
            #[test] fn plain() { fn inner() {} }
            fn not_one() {}
            #[tokio::test(flavor = "multi_thread")]
            #[ignore]
            pub async fn with_a_runtime() {}
            #[cfg(test)]
            mod tests { #[test] fn nested() {} }
        "#;
        assert_eq!(test_names(text).unwrap(), ["plain", "with_a_runtime", "nested"]);
    }

    #[test]
    fn ignored_tests_are_distinguished_from_those_that_run() {
        let text = r##"
            #[test] #[ignore] fn plain() {}
            #[ignore = "slow"] #[tokio::test] async fn with_a_reason() {}
            #[cfg_attr(windows, ignore)] #[test] fn somewhere() {}
            proptest! { #[test] #[ignore] fn drawn(seed in any::<u8>()) {} }
            // #[ignore]
            #[test] #[should_panic(expected = "ignore")] fn runs() { ignore("#[ignore]") }
            #[ignore] fn no_test() {}
            #[test] fn runs_too() {}
        "##;
        let ignored = ["plain", "with_a_reason", "somewhere", "drawn"];
        assert_eq!(ignored_tests(text).unwrap(), ignored);
    }

    #[test]
    fn a_file_that_is_not_rust_is_an_error() {
        assert!(words("fn f( {").is_err());
    }
}
