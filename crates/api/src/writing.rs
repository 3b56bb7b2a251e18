//! Converts JSON to YAML that reads back as the same JSON: a whole value, or a stream of JSON.

use std::io::{self, Write};

use libyaml_safer::{Emitter, Encoding, Event, MappingStyle, ScalarStyle, SequenceStyle};
use serde_json::Value;

use crate::reading::{MERGE_KEY, reads_as_text};

/// The error of a failed conversion to YAML.
#[derive(Debug, thiserror::Error)]
#[error("failed to write YAML: {0}")]
pub struct WriteError(libyaml_safer::Error);

/// Writes each value as a separate document.
pub fn to_yaml(documents: &[Value]) -> Result<String, WriteError> {
    let mut bytes = Vec::new();
    let mut emitter = Emitter::new();
    emitter.set_output_string(&mut bytes);
    emitter.set_width(100);
    emitter.set_unicode(true);
    emit(&mut emitter, documents).map_err(WriteError)?;
    drop(emitter);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A writer that accepts JSON and writes the same document as YAML. The output is written immediately, so the memory
/// does not grow with the document.
pub struct JsonAsYaml<'a> {
    emitter: Emitter<'a>,
    /// The bytes of the current string or number so far.
    scalar: Vec<u8>,
    part: DocumentPart,
}

/// The part of the document to which the next byte of JSON belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DocumentPart {
    Structure,
    Text,
    /// After a backslash in a string.
    Escape,
    /// A number, a boolean or `null`.
    Word,
}

impl<'a> JsonAsYaml<'a> {
    /// Starts the document.
    ///
    /// # Errors
    ///
    /// If nothing can be written to the output.
    pub fn begin(output: &'a mut dyn Write) -> io::Result<JsonAsYaml<'a>> {
        let mut emitter = Emitter::new();
        emitter.set_output(output);
        emitter.set_width(-1);
        emitter.set_unicode(true);
        emitter.emit(Event::stream_start(Encoding::Utf8)).map_err(into_io_error)?;
        emitter.emit(Event::document_start(None, &[], true)).map_err(into_io_error)?;
        Ok(JsonAsYaml { emitter, scalar: Vec::new(), part: DocumentPart::Structure })
    }

    /// Ends the document.
    ///
    /// # Errors
    ///
    /// If the rest cannot be written to the output.
    pub fn end(mut self) -> io::Result<()> {
        self.emitter.emit(Event::document_end(true)).map_err(into_io_error)?;
        self.emitter.emit(Event::stream_end()).map_err(into_io_error)?;
        self.emitter.flush().map_err(into_io_error)
    }

    fn take(&mut self, byte: u8) -> io::Result<()> {
        match (self.part, byte) {
            (DocumentPart::Text, b'"') => {
                self.scalar.push(byte);
                let text: String = serde_json::from_slice(&self.scalar)?;
                emit_text(&mut self.emitter, &text).map_err(into_io_error)?;
                self.part = DocumentPart::Structure;
            }
            (DocumentPart::Text | DocumentPart::Escape, _) => {
                self.scalar.push(byte);
                let begins_escape = self.part == DocumentPart::Text && byte == b'\\';
                self.part = if begins_escape { DocumentPart::Escape } else { DocumentPart::Text };
            }
            (DocumentPart::Structure, b'"') => {
                self.scalar = vec![byte];
                self.part = DocumentPart::Text;
            }
            (_, b'{' | b'}' | b'[' | b']' | b',' | b':' | b' ' | b'\t' | b'\r' | b'\n') => {
                if self.part == DocumentPart::Word {
                    let word = String::from_utf8_lossy(&self.scalar);
                    emit_word(&mut self.emitter, &word).map_err(into_io_error)?;
                    self.part = DocumentPart::Structure;
                }
                let event = match byte {
                    b'{' => start_of_mapping(),
                    b'}' => Event::mapping_end(),
                    b'[' => start_of_sequence(),
                    b']' => Event::sequence_end(),
                    _ => return Ok(()),
                };
                self.emitter.emit(event).map_err(into_io_error)?;
            }
            (_, _) => {
                if self.part == DocumentPart::Structure {
                    self.scalar.clear();
                    self.part = DocumentPart::Word;
                }
                self.scalar.push(byte);
            }
        }
        Ok(())
    }
}

impl Write for JsonAsYaml<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        bytes.iter().try_for_each(|byte| self.take(*byte))?;
        Ok(bytes.len())
    }

    /// Does nothing, since a scalar is written once complete.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Converts an error to the error of the underlying writer if that failed: callers distinguish its kinds.
fn into_io_error(error: libyaml_safer::Error) -> io::Error {
    io::Error::try_from(error).unwrap_or_else(io::Error::other)
}

fn start_of_mapping() -> Event {
    Event::mapping_start(None, None, true, MappingStyle::Block)
}

fn start_of_sequence() -> Event {
    Event::sequence_start(None, None, true, SequenceStyle::Block)
}

fn emit(emitter: &mut Emitter<'_>, documents: &[Value]) -> Result<(), libyaml_safer::Error> {
    emitter.emit(Event::stream_start(Encoding::Utf8))?;
    for document in documents {
        emitter.emit(Event::document_start(None, &[], false))?;
        emit_value(emitter, document)?;
        emitter.emit(Event::document_end(true))?;
    }
    emitter.emit(Event::stream_end())?;
    emitter.flush()
}

fn emit_value(emitter: &mut Emitter<'_>, value: &Value) -> Result<(), libyaml_safer::Error> {
    match value {
        Value::Object(fields) => {
            emitter.emit(start_of_mapping())?;
            for (key, value) in fields {
                emit_text(emitter, key)?;
                emit_value(emitter, value)?;
            }
            emitter.emit(Event::mapping_end())
        }
        Value::Array(items) => {
            emitter.emit(start_of_sequence())?;
            for item in items {
                emit_value(emitter, item)?;
            }
            emitter.emit(Event::sequence_end())
        }
        Value::String(text) => emit_text(emitter, text),
        other => emit_word(emitter, &other.to_string()),
    }
}

/// A number, a boolean or `null`.
fn emit_word(emitter: &mut Emitter<'_>, word: &str) -> Result<(), libyaml_safer::Error> {
    emitter.emit(Event::scalar(None, None, word, true, true, ScalarStyle::Plain))
}

fn emit_text(emitter: &mut Emitter<'_>, text: &str) -> Result<(), libyaml_safer::Error> {
    let style = if text.contains('\n') {
        ScalarStyle::Literal
    } else if reads_as_text(text) && text != MERGE_KEY {
        ScalarStyle::Plain
    } else {
        ScalarStyle::DoubleQuoted
    };
    emitter.emit(Event::scalar(None, None, text, true, true, style))
}
