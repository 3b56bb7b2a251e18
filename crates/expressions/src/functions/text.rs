//! Strings. Positions in strings are counted in characters.

use super::{Arguments, Function};
use crate::failure::Failure;
use crate::types::Type;
use crate::value::{Text, Value};

const TEXT: Type = Type::Text;
const TEXTS: Type = Type::List(&Type::Text);

pub(super) const FUNCTIONS: &[Function] = &[
    Function::global("size", &[TEXT], Type::Int, |it| Ok(Value::count(length(it.text(0))))),
    Function::method("size", &[TEXT], Type::Int, |it| Ok(Value::count(length(it.text(0))))),
    Function::method("contains", &[TEXT, TEXT], Type::Bool, |it| {
        Ok(Value::Bool(it.text(0).contains(it.text(1))))
    }),
    Function::method("startsWith", &[TEXT, TEXT], Type::Bool, |it| {
        Ok(Value::Bool(it.text(0).starts_with(it.text(1))))
    }),
    Function::method("endsWith", &[TEXT, TEXT], Type::Bool, |it| {
        Ok(Value::Bool(it.text(0).ends_with(it.text(1))))
    }),
    Function::method("charAt", &[TEXT, Type::Int], TEXT, char_at),
    Function::method("indexOf", &[TEXT, TEXT], Type::Int, |it| index_of(it, 0)),
    Function::method("indexOf", &[TEXT, TEXT, Type::Int], Type::Int, |it| index_of(it, it.int(2))),
    Function::method("lastIndexOf", &[TEXT, TEXT], Type::Int, |it| {
        let last = i64::try_from(length(it.text(0))).unwrap_or(i64::MAX);
        match it.text(0) {
            text if !it.text(1).is_empty() && text.len() < it.text(1).len() => Ok(Value::Int(-1)),
            _ if it.text(1).is_empty() => Ok(Value::Int(last)),
            _ => last_index_of(it, last - 1),
        }
    }),
    Function::method("lastIndexOf", &[TEXT, TEXT, Type::Int], Type::Int, |it| {
        last_index_of(it, it.int(2))
    }),
    Function::method("lowerAscii", &[TEXT], TEXT, |it| {
        new_text(it, it.text(0).to_ascii_lowercase())
    }),
    Function::method("upperAscii", &[TEXT], TEXT, |it| {
        new_text(it, it.text(0).to_ascii_uppercase())
    }),
    Function::method("reverse", &[TEXT], TEXT, |it| {
        new_text(it, it.text(0).chars().rev().collect())
    }),
    Function::method("trim", &[TEXT], TEXT, |it| new_text(it, it.text(0).trim().to_owned())),
    Function::method("replace", &[TEXT, TEXT, TEXT], TEXT, |it| replace(it, usize::MAX)),
    Function::method("replace", &[TEXT, TEXT, TEXT, Type::Int], TEXT, |it| {
        replace(it, usize::try_from(it.int(3)).unwrap_or(usize::MAX))
    }),
    Function::method("split", &[TEXT, TEXT], TEXTS, |it| split(it, usize::MAX)),
    Function::method("split", &[TEXT, TEXT, Type::Int], TEXTS, |it| {
        split(it, usize::try_from(it.int(2)).unwrap_or(usize::MAX))
    }),
    Function::method("substring", &[TEXT, Type::Int], TEXT, |it| {
        substring(it, it.int(1), i64::try_from(length(it.text(0))).unwrap_or(i64::MAX))
    }),
    Function::method("substring", &[TEXT, Type::Int, Type::Int], TEXT, |it| {
        if it.int(1) > it.int(2) {
            return Err(Failure::other("a substring ends before it begins"));
        }
        substring(it, it.int(1), it.int(2))
    }),
    Function::method("join", &[TEXTS], TEXT, |it| join(it, "")),
    Function::method("join", &[TEXTS, TEXT], TEXT, |it| join(it, it.text(1))),
    Function::global("strings.quote", &[TEXT], TEXT, |it| new_text(it, quoted(it.text(0)))),
];

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A new string, with the steps to create it.
fn new_text<'v>(it: &Arguments<'_, 'v>, text: String) -> Result<Value<'v>, Failure> {
    it.meter.spend_on(&text)?;
    Ok(Value::text(text))
}

fn out_of_range(position: i64) -> Failure {
    Failure::other(format!("the position {position} is out of range"))
}

/// The start of a character, or the end of the string, in bytes.
fn offset(text: &str, position: i64) -> Option<usize> {
    let position = usize::try_from(position).ok()?;
    let starts = text.char_indices().map(|(start, _)| start);
    starts.chain(std::iter::once(text.len())).nth(position)
}

fn char_at<'v>(it: &Arguments<'_, 'v>) -> Result<Value<'v>, Failure> {
    let start = offset(it.text(0), it.int(1)).ok_or_else(|| out_of_range(it.int(1)))?;
    let letter = it.text(0)[start..].chars().next();
    Ok(Value::text(letter.map(String::from).unwrap_or_default()))
}

fn index_of<'v>(it: &Arguments<'_, 'v>, from: i64) -> Result<Value<'v>, Failure> {
    let (text, part) = (it.text(0), it.text(1));
    it.meter.spend_on(text)?;
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    if from < 0 {
        return Err(out_of_range(from));
    }
    let Some(start) = offset(text, from) else { return Ok(Value::Int(-1)) };
    let found = text[start..].find(part);
    Ok(found.map_or(Value::Int(-1), |found| Value::count(length(&text[..start + found]))))
}

/// The last start of a part of a string, at or before a position.
fn last_index_of<'v>(it: &Arguments<'_, 'v>, from: i64) -> Result<Value<'v>, Failure> {
    let (text, part) = (it.text(0), it.text(1));
    it.meter.spend_on(text)?;
    if part.is_empty() {
        return Ok(Value::Int(from));
    }
    if from < 0 {
        return Err(out_of_range(from));
    }
    let Some(last) = offset(text, from).filter(|start| *start < text.len()) else {
        return Ok(Value::Int(-1));
    };
    // The end of the last possible match, at a character boundary.
    let end = (0..=text.len().min(last + part.len())).rev().find(|end| text.is_char_boundary(*end));
    let found = text[..end.unwrap_or_default()].rfind(part);
    Ok(found.map_or(Value::Int(-1), |found| Value::count(length(&text[..found]))))
}

fn replace<'v>(it: &Arguments<'_, 'v>, times: usize) -> Result<Value<'v>, Failure> {
    let (text, old, new) = (it.text(0), it.text(1), it.text(2));
    // Each possible position is found and replaced separately.
    let places = text.len() / old.len().max(1) + 1;
    let longest = text.len().saturating_add(new.len().saturating_mul(places));
    it.meter.spend(longest / 16 + places.min(times) / 4)?;
    Ok(Value::text(text.replacen(old, new, times)))
}

fn split<'v>(it: &Arguments<'_, 'v>, parts: usize) -> Result<Value<'v>, Failure> {
    let (text, separator) = (it.text(0), it.text(1));
    it.meter.spend(text.len())?;
    let part = |part: &str| Value::text(part);
    if parts == 0 {
        return Value::list([]);
    }
    if !separator.is_empty() {
        return Value::list(text.splitn(parts, separator).map(part));
    }
    // Splits into characters; the last part contains the rest.
    let mut rest = text;
    let mut letters = Vec::new();
    while let Some(letter) = rest.chars().next() {
        if letters.len() + 1 == parts {
            break;
        }
        let (letter, after) = rest.split_at(letter.len_utf8());
        letters.push(part(letter));
        rest = after;
    }
    if !rest.is_empty() {
        letters.push(part(rest));
    }
    Value::list(letters)
}

fn substring<'v>(it: &Arguments<'_, 'v>, start: i64, end: i64) -> Result<Value<'v>, Failure> {
    let text = it.text(0);
    let from = offset(text, start).ok_or_else(|| out_of_range(start))?;
    let to = offset(text, end).ok_or_else(|| out_of_range(end))?;
    if let Value::Text(Text::Stored(stored)) = it.value(0) {
        return Ok(Value::Text(Text::Stored(&stored[from..to])));
    }
    new_text(it, text[from..to].to_owned())
}

fn join<'v>(it: &Arguments<'_, 'v>, separator: &str) -> Result<Value<'v>, Failure> {
    let mut joined = String::new();
    for (position, item) in it.list(0).iter().enumerate() {
        let Value::Text(item) = item else {
            return Err(Failure::other(format!(
                "join is not for a list with {}",
                item.type_name()
            )));
        };
        if position > 0 {
            joined.push_str(separator);
        }
        joined.push_str(&item);
        it.meter.spend(1 + (item.len() + separator.len()) / 16)?;
    }
    Ok(Value::text(joined))
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}
