//! The house style, as far as it is visible in the text of a Rust file.

use super::Finding;

/// The number of lines above which a file causes a warning.
const COMFORTABLE_LINES: usize = 400;
const MAX_LINES: usize = 600;

/// Marks of unfinished work, each in two parts, so that this file does not contain the marks.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

pub(super) fn check(place: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !text.starts_with("//!") {
        let message = "must open with `//!`: what the file does and what it leaves to others";
        findings.push(Finding::error(place, message));
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        let message = format!("has {lines} lines; the maximum is {MAX_LINES}, so split the file");
        findings.push(Finding::error(place, message));
    } else if lines > COMFORTABLE_LINES {
        let message = format!("has {lines} lines; consider a split above {COMFORTABLE_LINES}");
        findings.push(Finding::warning(place, message));
    }
    for (line, text) in (1..).zip(text.lines()) {
        let is_letter = |c: char| c.is_alphanumeric() || c == '_';
        if let Some(mark) = text.split(|c| !is_letter(c)).find(|word| UNFINISHED.contains(word)) {
            let message = format!("`{mark}`: finish the work, or remove the mark");
            findings.push(Finding::error(&format!("{place}:{line}"), message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(lines: usize) -> String {
        "//! A file.\n".repeat(lines)
    }

    #[test]
    fn a_file_opens_with_its_purpose() {
        assert_eq!(check("a.rs", "//! Does a thing.\n"), []);
        assert!(check("a.rs", "use std::fs;\n")[0].message.starts_with("must open with"));
        assert!(check("a.rs", "")[0].message.starts_with("must open with"));
    }

    #[test]
    fn a_long_file_is_a_warning_and_a_very_long_file_an_error() {
        assert_eq!(check("a.rs", &file_of(400)), []);
        let warning = Finding::warning("a.rs", "has 401 lines; consider a split above 400");
        assert_eq!(check("a.rs", &file_of(401)), [warning]);
        let error = Finding::error("a.rs", "has 601 lines; the maximum is 600, so split the file");
        assert_eq!(check("a.rs", &file_of(601)), [error]);
    }

    #[test]
    fn a_mark_of_unfinished_work_is_an_error_at_its_line() {
        for mark in UNFINISHED {
            let findings = check("a.rs", &format!("//! A file.\n// {mark}: more\n"));
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].place, "a.rs:2");
        }
        assert_eq!(check("a.rs", "//! A file.\nconst AUTODOC: u8 = 1;\n"), []);
    }
}
