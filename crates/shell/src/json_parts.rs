//! Splits JSON into slices that can be parsed separately, without copies.
//!
//! The feature `raw_value` of `serde_json` does the same, and must stay off: with it, `Value` replaces an object whose first
//! key is `$serde_json::private::RawValue` by the JSON in its string, and users can write that key.

use std::borrow::Cow;

use serde::de::{Deserialize, Error as _, IgnoredAny};
use serde_json::{Deserializer, Error, Result};

/// The fields of an object, each with its JSON.
pub(crate) fn fields(text: &str) -> Result<Vec<(Cow<'_, str>, &str)>> {
    let mut parts = Parts { text, at: 0 };
    let mut fields = Vec::new();
    parts.expect('{')?;
    while !parts.ends_with('}', fields.is_empty())? {
        let (name, _) = parts.next::<Name<'_>>()?;
        parts.expect(':')?;
        let (_, value) = parts.next::<IgnoredAny>()?;
        fields.push((name.0, value));
    }
    parts.end()?;
    Ok(fields)
}

/// The JSON of each item of a list.
pub(crate) fn items(text: &str) -> Result<Vec<&str>> {
    let mut parts = Parts { text, at: 0 };
    let mut items = Vec::new();
    parts.expect('[')?;
    while !parts.ends_with(']', items.is_empty())? {
        items.push(parts.next::<IgnoredAny>()?.1);
    }
    parts.end()?;
    Ok(items)
}

#[derive(serde::Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

struct Parts<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parts<'a> {
    /// Parses the next value, and returns it with its JSON.
    fn next<T: Deserialize<'a>>(&mut self) -> Result<(T, &'a str)> {
        let rest = self.rest();
        let mut stream = Deserializer::from_str(rest).into_iter::<T>();
        let Some(read) = stream.next() else { return Err(ends_early()) };
        let (read, length) = (read?, stream.byte_offset());
        self.at += length;
        Ok((read, &rest[..length]))
    }

    /// Whether the list or object ends here. A comma separates parts.
    fn ends_with(&mut self, end: char, is_empty: bool) -> Result<bool> {
        let rest = self.rest();
        if rest.starts_with(end) {
            self.at += 1;
            return Ok(true);
        }
        if !is_empty {
            self.expect(',')?;
        }
        Ok(false)
    }

    fn expect(&mut self, expected: char) -> Result<()> {
        let rest = self.rest();
        if rest.is_empty() {
            return Err(ends_early());
        }
        if !rest.starts_with(expected) {
            return Err(Error::custom(format!("expected `{expected}` at byte {}", self.at)));
        }
        self.at += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        let rest = self.rest();
        if rest.is_empty() { Ok(()) } else { Err(Error::custom("trailing characters")) }
    }

    /// The rest after white space.
    fn rest(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let trimmed = rest.trim_start_matches([' ', '\n', '\t', '\r']);
        self.at += rest.len() - trimmed.len();
        trimmed
    }
}

/// The parser's error for an early end.
fn ends_early() -> Error {
    match serde_json::from_str::<IgnoredAny>("") {
        Err(error) => error,
        Ok(_) => Error::custom("EOF while parsing a value"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_object_and_a_list_are_split_without_changes() {
        let text = " {\"a\" : 1 ,\n\"b\\u0063\":[ true, {\"d\": \"}\"} ], \"\": \"\\\"\"} ";
        let read = fields(text).expect("an object");
        let read: Vec<(&str, &str)> = read.iter().map(|(name, value)| (&**name, *value)).collect();
        assert_eq!(read, [("a", "1"), ("bc", "[ true, {\"d\": \"}\"} ]"), ("", "\"\\\"\"")]);
        assert_eq!(items(read[1].1).expect("a list"), ["true", "{\"d\": \"}\"}"]);
        assert!(fields("{}").expect("an empty value").is_empty());
        assert!(items(" [ ] ").expect("an empty value").is_empty());
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(
            items(&format!("[{deep},1]")).expect("an item that is not parsed"),
            [&*deep, "1"]
        );
    }

    #[test]
    fn an_early_end_and_malformed_json_are_errors() {
        let whole = r#"{"a":[1,{"b":"c"}],"d":null}"#;
        for end in 0..whole.len() {
            let error = fields(&whole[..end]).expect_err("the JSON is cut off");
            assert!(error.is_eof(), "{}: {error}", &whole[..end]);
        }
        for wrong in [
            "[]",
            "{,}",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "{1:2}",
            "{\"a\":1}}",
            "{\"a\":1 2}",
            "{\"a\":tru}",
        ] {
            assert!(fields(wrong).is_err(), "{wrong}");
        }
        for wrong in ["{}", "[,]", "[1,]", "[1 2]", "[1]]", "[01]", "[\u{a0}1]"] {
            assert!(items(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_key_has_no_special_meaning() {
        let object = json!({ "$serde_json::private::RawValue": "{\"replicas\":5}" });
        let read: Value = serde_json::from_str(&object.to_string()).expect("valid JSON");
        assert_eq!(read, object);
    }
}
