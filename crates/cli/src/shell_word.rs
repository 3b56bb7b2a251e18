//! Words of a command, quoted for a shell.

use std::borrow::Cow;
use std::ffi::OsString;

/// The path, in quotes if a shell needs them, and never in the form of an option.
pub(crate) fn quoted(path: &str) -> Cow<'_, str> {
    if path.starts_with('-') {
        return Cow::Owned(quoted(&format!("./{path}")).into_owned());
    }
    // A string with a zero byte is not a path.
    shlex::try_quote(path).unwrap_or(Cow::Borrowed(path))
}

/// The command as the user can type it again; the program without its directory.
pub(crate) fn command(words: impl Iterator<Item = OsString>) -> String {
    let words = words.enumerate().map(|(index, word)| {
        let word = word.to_string_lossy().into_owned();
        if index > 0 {
            return word;
        }
        word.rsplit(['/', '\\']).next().unwrap_or(&word).to_owned()
    });
    let quoted = |word: String| match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => word,
    };
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::{command, quoted};

    #[test]
    fn a_command_can_be_typed_again() {
        let words = ["/usr/local/bin/almanac", "forecast", "-f", "my files", "--zone=Asia/Tokyo"];
        let text = command(words.into_iter().map(Into::into));
        assert_eq!(text, "almanac forecast -f 'my files' '--zone=Asia/Tokyo'");
    }

    #[test]
    fn a_path_is_quoted_where_a_shell_needs_it() {
        assert_eq!(quoted("clusters/prod-1/a_b.yaml"), "clusters/prod-1/a_b.yaml");
        assert_eq!(quoted("my charts/shop"), "'my charts/shop'");
        assert_eq!(quoted("-x"), "./-x");
        for path in ["it's", "a;b", "$HOME", "~", "a\"b", "#a", "*", "ä b", "a&b", ""] {
            let echoed = std::process::Command::new("sh")
                .args(["-c", &format!("printf %s {}", quoted(path))])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(echoed.stdout).unwrap(), path);
        }
    }
}
