//! The work of reading a large or hostile text is linear in the length of the text, and at most a few copies of a
//! rejected text.
//!
//! The work is counted in bytes that are allocated, freed or not; a test next to the code (`reading/map.rs`) counts the
//! scans that allocate nothing.

use almanac_api::reading::{Reading, Source, read_objects};

use crate::{ALLOCATOR, alone};

/// The bytes that are allocated to read a text.
fn work(text: &str) -> usize {
    let source = Source::new("test.yaml", text);
    let mut reading = Reading::default();
    let before = ALLOCATOR.stats().bytes_allocated;
    read_objects(&mut reading, source);
    ALLOCATOR.stats().bytes_allocated - before
}

/// A line for each number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).fold(String::new(), |mut text, number| {
        text.push_str(&line(number));
        text + "\n"
    })
}

/// A function that returns a text of a size.
type OfSize = fn(usize) -> String;

const READ: [(&str, OfSize); 9] = [
    ("keys", |size| lines(size, |key| format!("key{key}: 1"))),
    ("keys in JSON", |size| {
        format!("{{{}\"z\": 1}}", lines(size, |key| format!("\"k{key}\": 1,")))
    }),
    ("the same key", |size| "a: 1\n".repeat(size)),
    ("values", |size| format!("[{}1]", "1,".repeat(size))),
    ("documents", |size| "---\na: 1\n".repeat(size)),
    ("objects", |size| "---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n".repeat(size)),
    ("comments that are none", |size| "// a\n".repeat(size)),
    ("anchors and aliases", |size| lines(size, |key| format!("- &a{key} b\n- *a{key}"))),
    ("commas behind marks", |size| "- \"!,\"\n".repeat(size)),
];

const REFUSED: [(&str, OfSize); 10] = [
    ("lists", |size| "[".repeat(size)),
    ("maps", |size| "{a: ".repeat(size)),
    ("lists in lines", |size| "- ".repeat(size)),
    ("keys that are maps", |size| "? ".repeat(size)),
    ("maps in JSON", |size| "{\"a\":".repeat(size)),
    ("maps and lists in JSON", |size| "{\"a\":[".repeat(size)),
    // These texts must be scanned twice.
    ("lists behind a mark", |size| format!("- \"!,\"\n- {}", "[".repeat(size))),
    ("maps behind a mark", |size| format!("- \"!,\"\n- {}", "{a: ".repeat(size))),
    ("lines behind a mark", |size| format!("- \"!,\"\n- {}", "- ".repeat(size))),
    ("aliases", |size| format!("a: &a [x{}]\nb: [*a{}]\n", ", x".repeat(999), ", *a".repeat(size))),
];

#[test]
fn reading_is_linear_in_the_length_of_a_text_and_rejecting_is_cheap() {
    let _alone = alone();
    for (what, text) in READ {
        let (small, large) = (work(&text(10_000)), work(&text(40_000)));
        assert!(large < 6 * small, "10,000 {what} take {small} bytes, 40,000 take {large}");
    }
    for (what, text) in REFUSED {
        let (small, large) = (text(20_000), text(40_000));
        let (more_text, more) = (large.len() - small.len(), work(&large).abs_diff(work(&small)));
        assert!(more < 32 * more_text, "{more_text} more bytes of {what} take {more} more");
    }
}
