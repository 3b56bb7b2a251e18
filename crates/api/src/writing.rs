//! From JSON to YAML that reads back as the same JSON, for the definitions we print.

use libyaml_safer::{Emitter, Encoding, Event, MappingStyle, ScalarStyle, SequenceStyle};
use serde_json::Value;

use crate::reading::{MERGE_KEY, reads_as_text};

/// Why nothing could be written.
#[derive(Debug, thiserror::Error)]
#[error("failed to write YAML: {0}")]
pub struct WriteError(libyaml_safer::Error);

/// Writes each value as a document of its own.
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
            emitter.emit(Event::mapping_start(None, None, true, MappingStyle::Block))?;
            for (key, value) in fields {
                emit_text(emitter, key)?;
                emit_value(emitter, value)?;
            }
            emitter.emit(Event::mapping_end())
        }
        Value::Array(items) => {
            emitter.emit(Event::sequence_start(None, None, true, SequenceStyle::Block))?;
            for item in items {
                emit_value(emitter, item)?;
            }
            emitter.emit(Event::sequence_end())
        }
        Value::String(text) => emit_text(emitter, text),
        other => emitter.emit(Event::scalar(
            None,
            None,
            &other.to_string(),
            true,
            true,
            ScalarStyle::Plain,
        )),
    }
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
