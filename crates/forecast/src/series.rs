//! A field over time: contiguous segments.

use std::sync::Arc;

use almanac_engine::{Field, Identity, PolicyName, Value};
use jiff::Timestamp;

use crate::{LastWrite, Origin, Period};

/// One field of one object over a period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// The object.
    pub target: Identity,
    /// The field.
    pub field: Field,
    /// The segments: adjacent and covering the period. Neighbors differ in their value or in their writer.
    pub segments: Vec<Segment>,
}

/// A stretch of time with one value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Segment {
    /// The first instant of the segment.
    pub from: Timestamp,
    /// The first instant after the segment.
    pub to: Timestamp,
    /// The value; `None` when it is unknown.
    pub value: Option<Value>,
    /// The writer and the reason.
    pub origin: Arc<Origin>,
}

impl Series {
    /// A series that starts with the initial value, which lasts to the end unless it is changed.
    pub(crate) fn start(
        target: Identity,
        field: Field,
        write: &LastWrite,
        period: Period,
    ) -> Series {
        let segment = Segment {
            from: period.from(),
            to: period.to(),
            value: write.value.clone(),
            origin: Arc::clone(&write.origin),
        };
        Series { target, field, segments: vec![segment] }
    }

    /// Changes the value from an instant on. That instant must not be earlier than the last change.
    pub(crate) fn change(&mut self, at: Timestamp, value: &Value, origin: &Arc<Origin>) {
        let same = |segment: &Segment| {
            segment.value.as_ref() == Some(value)
                && (Arc::ptr_eq(&segment.origin, origin) || segment.origin.writer == origin.writer)
        };
        let Some(last) = self.segments.last_mut() else { return };
        if same(last) {
            return;
        }
        let to = last.to;
        if last.from < at {
            last.to = at;
        } else {
            // Of two writes at one instant, only the last one is visible.
            self.segments.pop();
            if let Some(before) = self.segments.last_mut().filter(|before| same(before)) {
                before.to = to;
                return;
            }
        }
        let origin = Arc::clone(origin);
        self.segments.push(Segment { from: at, to, value: Some(value.clone()), origin });
    }

    /// The segment that contains an instant.
    #[must_use]
    pub fn at(&self, at: Timestamp) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.from <= at);
        self.segments[..after].last().filter(|segment| at < segment.to)
    }

    /// All writers of the field in the period, in the order of their first segments.
    #[must_use]
    pub fn policies(&self) -> Vec<&PolicyName> {
        let mut policies: Vec<&PolicyName> = Vec::new();
        for segment in &self.segments {
            if let Some(writer) = &segment.origin.writer
                && !policies.contains(&&writer.policy)
            {
                policies.push(&writer.policy);
            }
        }
        policies
    }
}
