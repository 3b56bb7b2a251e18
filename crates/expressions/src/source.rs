//! The reason that an expression cannot be used, and its position.

use std::fmt;

/// The maximum number of bytes of an expression.
pub(crate) const MAX_BYTES: usize = 16 * 1024;
/// The maximum nesting: of brackets, and of operators that are applied to the results of other operators.
pub(crate) const MAX_NESTED: usize = 100;
/// The maximum number of characters of quoted text in a message.
const MAX_SHOWN: usize = 80;

/// The reason that an expression cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    /// The message about the problem.
    pub message: String,
    /// The position in the expression.
    pub position: Option<Position>,
    /// Whether the expression would be usable if it or the previous expressions were shorter or simpler.
    pub is_too_much: bool,
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
        CompileError { message: message.into(), position: None, is_too_much: false }
    }

    pub(crate) fn too_much(self) -> CompileError {
        CompileError { is_too_much: true, ..self }
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

/// An error at a byte of an expression.
pub(crate) fn error_at(text: &str, at: usize, message: impl Into<String>) -> CompileError {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let position = Position {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    };
    CompileError { message: message.into(), position: Some(position), is_too_much: false }
}

/// A text for a message: long texts are cut off.
pub(crate) fn shortened(text: &str) -> std::borrow::Cow<'_, str> {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}
