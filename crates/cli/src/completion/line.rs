//! The command line that the user is typing, as far as the candidates depend on it: the files and the kubeconfig that
//! the line names.

use std::env;
use std::ffi::OsString;
use std::path::Path;

/// The words of the line, but for the program's name.
pub(crate) struct Line(Vec<String>);

impl Line {
    /// The line that a shell or kubectl completes.
    pub(crate) fn typed() -> Line {
        let given: Vec<OsString> = env::args_os().skip(1).collect();
        // A script puts the line after two dashes; kubectl passes only the line.
        let begin = given.iter().position(|word| word == "--").map_or(0, |dashes| dashes + 1);
        Line::from_words(given[begin..].iter().map(|word| word.to_string_lossy()))
    }

    fn from_words(words: impl Iterator<Item = impl AsRef<str>>) -> Line {
        Line(words.map(|word| unquoted(word.as_ref())).collect())
    }

    /// The files and directories to read: named with a flag, or else words that are existing paths.
    pub(super) fn files(&self) -> Vec<String> {
        let named: Vec<String> = self.paths(Some("-f"), "--filename").collect();
        if !named.is_empty() {
            return named;
        }
        // The last word is the word to complete.
        let whole = self.0.iter().take(self.0.len().saturating_sub(1)).skip(1);
        whole.map(|word| in_home(word)).filter(|path| Path::new(path).exists()).collect()
    }

    /// Whether a flag names files.
    pub(super) fn has_files(&self) -> bool {
        self.paths(Some("-f"), "--filename").next().is_some()
    }

    /// The paths after a command that belong to no flag. Every flag has a value but for the switches.
    pub(super) fn operands(&self, command: &str, switches: &[&str]) -> Vec<String> {
        let has_it_inside =
            |flag: &str| flag.contains('=') || !flag.starts_with("--") && flag.len() > 2;
        let takes_next =
            |it: &str| it.starts_with('-') && !has_it_inside(it) && !switches.contains(&it);
        let words = self.0.iter().map(String::as_str);
        let mut words = words.skip_while(|word| *word != command);
        let mut before = words.next();
        let mut operands = Vec::new();
        for word in words {
            if !word.starts_with('-') && !before.is_some_and(takes_next) {
                operands.push(in_home(word));
            }
            before = Some(word);
        }
        operands
    }

    /// The paths that a flag names.
    pub(crate) fn paths(
        &self,
        short: Option<&'static str>,
        long: &'static str,
    ) -> impl Iterator<Item = String> {
        self.values(short, long).map(in_home)
    }

    /// The values of a flag, in the next word or in the same.
    fn values(
        &self,
        short: Option<&'static str>,
        long: &'static str,
    ) -> impl Iterator<Item = &str> {
        let next = self.0.iter().skip(1).map(String::as_str).chain([""]);
        let values = self.0.iter().zip(next).filter_map(move |(word, next)| {
            if word == long || Some(word.as_str()) == short {
                return Some(next);
            }
            let of_long = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
            of_long.or_else(|| word.strip_prefix(short?))
        });
        values.filter(|value| !value.is_empty())
    }
}

/// A word without the quotes that bash and zsh leave around it; fish leaves none.
fn unquoted(word: &str) -> String {
    match shlex::split(word).as_deref() {
        Some([one]) => one.clone(),
        _ => word.to_owned(),
    }
}

/// Expands `~/`, which the shell has not expanded yet.
fn in_home(path: &str) -> String {
    match (path.strip_prefix("~/"), env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(words: &[&str]) -> Line {
        Line::from_words(words.iter())
    }

    #[test]
    fn files_are_named_in_every_way_in_which_a_flag_takes_a_value() {
        let named = line(&["almanac", "next", "-f", "a", "-fb", "--filename", "c", "--filename=d"]);
        assert_eq!(named.files(), ["a", "b", "c", "d"]);
        let quoted =
            line(&["next", "-f", "'my files'", "-f", "my\\ files", "-f", "our files", "-f"]);
        assert_eq!(quoted.files(), ["my files", "my files", "our files"]);
        assert_eq!(line(&["next", "--files", "a", "shop"]).files(), [""; 0]);
    }

    #[test]
    fn a_word_after_a_command_is_an_operand_unless_it_is_a_flag_or_its_value() {
        let operands = |words: &[&str]| line(words).operands("diff", &["--fail-on-change"]);
        let words = ["almanac", "diff", "old", "--fail-on-change", "new", "--only", "shop"];
        assert_eq!(operands(&words), ["old", "new"]);
        let words = ["diff", "-o", "json", "--for=7d", "old", "-ojson", "new", "--only", ""];
        assert_eq!(operands(&words), ["old", "new"]);
        assert_eq!(operands(&["almanac", "next", "old"]), [""; 0]);
    }

    #[test]
    fn the_last_kubeconfig_wins() {
        let last = |line: &Line| line.paths(None, "--kubeconfig").last();
        let two = line(&["next", "--kubeconfig", "a", "--kubeconfig=b", "-n", "c"]);
        assert_eq!(last(&two).as_deref(), Some("b"));
        assert_eq!(last(&line(&["next"])), None);
    }
}
