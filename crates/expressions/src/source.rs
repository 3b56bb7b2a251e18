//! From a text to its syntax tree, which the crate `cel` reads. What is too long or too deeply nested for it is
//! refused before it sees it.

use std::fmt;

use cel::Env;
use cel::common::ast::{IdedExpr, SourceInfo};

/// How many bytes an expression has at most.
const MOST_BYTES: usize = 16 * 1024;
/// How deeply it is nested at most: in brackets, and in operators that are applied to the result of others.
pub(crate) const MOST_NESTED: usize = 64;

/// Why an expression cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    /// What is wrong.
    pub message: String,
    /// Where in the expression.
    pub position: Option<Position>,
}

/// A position in an expression, counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl CompileError {
    pub(crate) fn new(message: impl Into<String>) -> CompileError {
        CompileError { message: message.into(), position: None }
    }

    fn at(mut self, position: Option<Position>) -> CompileError {
        self.position = position;
        self
    }
}

impl std::error::Error for CompileError {}

/// `there is no function matchess, at column 38`.
impl fmt::Display for CompileError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        match self.position {
            None => Ok(()),
            Some(Position { line: 1, column }) => write!(formatter, ", at column {column}"),
            Some(Position { line, column }) => {
                write!(formatter, ", at line {line}, column {column}")
            }
        }
    }
}

/// The syntax tree of an expression.
pub(crate) struct Source<'a> {
    text: &'a str,
    info: SourceInfo,
}

impl<'a> Source<'a> {
    /// Reads an expression. Its macros are calls, as they are written.
    pub(crate) fn parse(text: &'a str) -> Result<(IdedExpr, Source<'a>), CompileError> {
        if text.len() > MOST_BYTES {
            return Err(CompileError::new(format!("it has more than {MOST_BYTES} bytes")));
        }
        if let Some(start) = too_deep(text) {
            let message = format!("it is nested more than {MOST_NESTED} levels deep");
            return Err(CompileError::new(message).at(Some(position(text, start))));
        }
        match Env::default().parser().parse_with_source_info(text) {
            Ok((expression, info)) => Ok((expression, Source { text, info })),
            Err(errors) => Err(syntax_error(text, &errors)),
        }
    }

    /// An error at a part of the expression.
    pub(crate) fn error(&self, part: u64, message: impl Into<String>) -> CompileError {
        let start = self.info.offset_for(part).and_then(|(start, _)| usize::try_from(start).ok());
        CompileError::new(message).at(start.map(|start| position(self.text, start)))
    }
}

/// The first thing that is wrong, without the list of all that would be right.
fn syntax_error(text: &str, errors: &cel::ParseErrors) -> CompileError {
    let Some(first) = errors.errors.first() else {
        return CompileError::new("it is no expression");
    };
    let message = first.msg.lines().next().unwrap_or_default();
    let message = message.split(" expecting ").next().unwrap_or(message);
    let message = message.strip_prefix("Syntax error: ").unwrap_or(message);
    let place = |part: isize| usize::try_from(part).ok().filter(|part| *part > 0);
    let position = place(first.pos.0).zip(place(first.pos.1));
    let position = position.map(|(line, column)| Position { line, column });
    let is_end = message.contains("<EOF>");
    CompileError::new(if is_end { "it ends too early, or goes on after its end" } else { message })
        .at(position.or_else(|| is_end.then(|| self::position(text, text.len()))))
}

/// Where a byte is.
fn position(text: &str, start: usize) -> Position {
    let start =
        (0..=start.min(text.len())).rev().find(|it| text.is_char_boundary(*it)).unwrap_or_default();
    let before = &text[..start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// What has been read of one level of brackets.
#[derive(Clone, Copy, Default)]
struct Level {
    /// The operators and members since what they are applied to began.
    applied: usize,
    /// The conditions of which this is a branch.
    branches: usize,
}

/// Where an expression becomes too deeply nested. It is at most as deep as is counted here: no operator is taken
/// to be stronger than another one.
fn too_deep(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut levels = vec![Level::default()];
    let mut outer = 0;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        let is_inner = levels.len() > 1;
        let Some(level) = levels.last_mut() else { return Some(start) };
        match byte {
            b'"' | b'\'' => at = end_of_text(bytes, start),
            b'/' if bytes.get(at) == Some(&b'/') => {
                at = bytes[at..]
                    .iter()
                    .position(|it| *it == b'\n')
                    .map_or(bytes.len(), |end| at + end);
            }
            b'(' | b'[' | b'{' => {
                level.applied += 1;
                outer += level.applied + level.branches;
                levels.push(Level::default());
            }
            b')' | b']' | b'}' if is_inner => {
                levels.pop();
                let level = levels.last().copied().unwrap_or_default();
                outer -= level.applied + level.branches;
            }
            b',' => *level = Level::default(),
            b'&' | b'|' if bytes.get(at) == Some(&byte) => {
                at += 1;
                level.applied = 0;
            }
            b'?' => {
                level.applied = 0;
                level.branches += 1;
            }
            b'.' | b'!' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' => {
                level.applied += 1;
            }
            b'i' if bytes[start..].starts_with(b"in") => level.applied += 1,
            _ => {}
        }
        let level = levels.last().copied().unwrap_or_default();
        if outer + level.applied + level.branches > MOST_NESTED {
            return Some(start);
        }
    }
    None
}

/// Where a text in quotes ends that begins here.
fn end_of_text(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let triple = [quote; 3];
    let is_triple = bytes[start..].starts_with(&triple);
    // An `r` before the quotes, alone or beside a `b`: backslashes are letters.
    let before = &bytes[..start];
    let is_prefix = |letter: &u8| matches!(letter, b'r' | b'R' | b'b' | b'B');
    let prefix = before.iter().rev().take_while(|it| it.is_ascii_alphanumeric() || **it == b'_');
    let prefix: Vec<&u8> = prefix.collect();
    let is_raw = prefix.len() <= 2
        && prefix.iter().all(|it| is_prefix(it))
        && prefix.iter().any(|it| it.eq_ignore_ascii_case(&b'r'));
    let mut at = start + if is_triple { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' if !is_raw => at += 1,
            byte if byte == quote && !is_triple => return at + 1,
            _ if is_triple && bytes[at..].starts_with(&triple) => return at + 3,
            // A text ends with its line, unless it has three quotes.
            b'\n' if !is_triple => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}
