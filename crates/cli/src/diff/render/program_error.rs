//! The message and the fix of a finding, from the standard error of a program that failed to render. The message is one
//! line, names paths as in the side, and omits advice on the program's own options.

use std::path::Path;

use crate::files::why_it_failed;
use crate::invisible::printable;

/// The maximum number of characters of an error in a message.
const MAX_CHARACTERS: usize = 600;

/// Advice that Helm prints below an error of a template. `diff` has no such flag.
const DEBUG_ADVICE: &str = "Use --debug flag to render out invalid YAML";

/// Helm prints its advice, this message, and the names of the missing dependencies. The fix repeats the advice.
const LACKS_DEPENDENCIES: &str = "found in Chart.yaml, but missing in charts/ directory";

/// The message and the fix for an error in a temporary tree.
pub(super) fn message_and_fix(error: &str, tree: &Path) -> (String, &'static str) {
    let error = error.replace(&format!("{}/", tree.display()), "");
    let error = error.replace(&tree.display().to_string(), ".");
    let line = on_one_line(&error);
    let (why, fix) = match line.find(LACKS_DEPENDENCIES) {
        Some(at) => {
            (&line[at..], "add them with `helm dependency build`, and commit its charts/ directory")
        }
        None => (&*line, "correct it, or do not render it"),
    };
    (format!("failed to render it: {}", shortened(why)), fix)
}

fn on_one_line(error: &str) -> String {
    let error = why_it_failed(error);
    let error = error.trim_start_matches("\"command failed\" err=<").trim_start_matches("Error: ");
    let lines = error.lines().map(str::trim).filter(|it| !it.is_empty() && *it != DEBUG_ADVICE);
    printable(&lines.collect::<Vec<_>>().join(" "))
}

fn shortened(line: &str) -> String {
    let mut characters = line.chars();
    let start: String = characters.by_ref().take(MAX_CHARACTERS).collect();
    if characters.next().is_some() { start + "…" } else { start }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_becomes_one_line_with_a_fix() {
        let tree = Path::new("/tmp/tree");
        let usual = "correct it, or do not render it";
        let dependencies =
            "add them with `helm dependency build`, and commit its charts/ directory";
        for (error, why, fix) in [
            (
                "Error: execution error at (shop/templates/a.yaml:3:4): no day\n\n\
                 Use --debug flag to render out invalid YAML\n",
                "execution error at (shop/templates/a.yaml:3:4): no day",
                usual,
            ),
            (
                "Error: An error occurred while checking for chart dependencies. You may need to run \
                 `helm dependency build` to fetch missing dependencies: found in Chart.yaml, but missing in \
                 charts/ directory: redis, cart\n",
                "found in Chart.yaml, but missing in charts/ directory: redis, cart",
                dependencies,
            ),
            ("Error: /tmp/tree/a.yaml:\n  in /tmp/tree\n", "a.yaml: in .", usual),
        ] {
            assert_eq!(message_and_fix(error, tree), (format!("failed to render it: {why}"), fix));
        }
    }

    #[test]
    fn a_long_error_is_cut() {
        let (message, _) = message_and_fix(&"x".repeat(MAX_CHARACTERS + 1), Path::new("/tmp/tree"));
        assert_eq!(message, format!("failed to render it: {}…", "x".repeat(MAX_CHARACTERS)));
    }
}
