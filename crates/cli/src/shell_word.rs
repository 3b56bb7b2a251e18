//! A path as a word of a command that somebody is advised to run in a shell.

use std::borrow::Cow;

/// The path in quotes, if a shell would take it for anything else without; and never as an option.
pub(crate) fn quoted(path: &str) -> Cow<'_, str> {
    if path.starts_with('-') {
        return Cow::Owned(quoted(&format!("./{path}")).into_owned());
    }
    // A text with a zero byte is not a path.
    shlex::try_quote(path).unwrap_or(Cow::Borrowed(path))
}

#[cfg(test)]
mod tests {
    use super::quoted;

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
