//! Splits the words of a command into paths to read and names of objects.
//!
//! A word that can be both is a path if it exists, and a name if another argument selects the input.

use std::path::Path;

use almanac_api::kinds::kind_named;

/// Standard input.
const STANDARD_INPUT: &str = "-";

/// The paths among the words, and the names. `may_be_paths` decides about a word that can be both.
pub(crate) fn split_words(words: &[String], may_be_paths: bool) -> (Vec<String>, Vec<String>) {
    let mut follows_kind = false;
    words.iter().cloned().partition(|word| {
        let (kind, _) = word.split_once('/').unwrap_or((word.as_str(), ""));
        let names_kind = kind_named(kind).is_some();
        let is_path = word == STANDARD_INPUT
            || is_surely_a_path(word)
            || may_be_paths && !follows_kind && !names_kind && Path::new(word).exists();
        // As in `deployment web`.
        follows_kind |= kind_named(word).is_some();
        is_path
    })
}

/// Whether a word can only be a path.
pub(super) fn is_surely_a_path(text: &str) -> bool {
    let is_file = [".yaml", ".yml", ".json"].iter().any(|end| text.ends_with(end));
    let is_there = || text.len() > 1 && Path::new(text).exists();
    is_file
        || text.starts_with(['.', '~'])
        || (text.starts_with('/') || text.ends_with('/')) && is_there()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str, may_be_paths: bool) -> String {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        split_words(&words, may_be_paths).1.join(" ")
    }

    #[test]
    fn a_word_that_can_only_be_a_path_is_one() {
        for line in ["shop.yaml", "teams/*.yaml", "./shop", "../shop", "src/", "-"] {
            assert_eq!(names(line, false), "", "{line}");
        }
    }

    #[test]
    fn an_existing_file_is_a_path_unless_a_flag_names_the_input() {
        // Tests run in the directory of the crate.
        assert_eq!(names("src tests/offline shop", true), "shop");
        assert_eq!(names("src tests/offline shop", false), "src tests/offline shop");
    }

    #[test]
    fn a_word_with_or_after_a_kind_is_a_name_even_if_such_a_file_exists() {
        for line in ["deployment src", "deployment/src", "deploy", "cronjob/src tests/offline"] {
            let expected = line.split(' ').next().unwrap_or_default();
            let found = names(line, true);
            assert!(found.starts_with(expected), "{line}: {found}");
        }
        assert_eq!(names("deployment src", true), "deployment src");
    }
}
