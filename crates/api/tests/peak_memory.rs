//! The peak memory of reading a text, counted in allocated bytes. The count covers the whole process, so this program
//! has one test. The tests in `memory` count all allocations of reading.

use std::fmt::Write;

use almanac_api::reading::{Reading, Source, read_objects};
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// The limits that `reading::limits` states.
const BYTES_PER_BYTE: usize = 64;
const BYTES_IN_ADDITION: usize = 4_000_000;

/// Each text has about this many bytes, so that lists of single values have just grown to twice their size.
const SIZE: usize = 1_060_000;

/// The peak number of bytes of reading a text, including the result.
fn peak(text: &str) -> usize {
    ALLOCATOR.reset_peak_usage();
    let before = ALLOCATOR.current_usage();
    let mut reading = Reading::default();
    read_objects(&mut reading, Source::new("test.yaml", text));
    let held = ALLOCATOR.peak_usage() - before;
    drop(reading);
    held
}

/// A part for each number, until the text is long enough.
fn parts(size: usize, part: impl Fn(usize) -> String) -> String {
    (0..)
        .scan(0, |length, number| {
            let part = part(number);
            *length += part.len();
            (*length <= size).then_some(part)
        })
        .collect()
}

fn repeated(part: &str) -> String {
    part.repeat(SIZE / part.len())
}

/// Nested lists with an anchor each, around many values.
fn nested_anchors(levels: usize, size: usize) -> String {
    let opened = (0..levels).fold(String::new(), |mut text, level| {
        // Writing to a string cannot fail.
        let _ = write!(text, "[&a{level} ");
        text
    });
    format!("x: {opened}[{}1]{}\n", "1,".repeat(size / 2), "]".repeat(levels))
}

/// A list that is repeated as often as aliases may expand.
fn aliases() -> String {
    let list = format!("a: &a [{}]\n", vec!["text"; 99].join(", "));
    let repeated = parts(SIZE - list.len(), |number| {
        let alias = if number < 990 { "*a" } else { "aa" };
        format!("- {alias}\n")
    });
    format!("{list}b:\n{repeated}")
}

fn shapes() -> Vec<(&'static str, String)> {
    vec![
        ("nested anchors around values", nested_anchors(120, SIZE)),
        ("nested anchors on a small text", nested_anchors(120, 400_000)),
        ("anchors on values", format!("[{}]", parts(SIZE, |number| format!("&a{number} b,")))),
        ("aliases", aliases()),
        ("values", format!("[{}1]", repeated("1,"))),
        ("lists of one value", format!("[{}1]", repeated("[1],"))),
        ("maps of one key without a value", format!("[{}a:]", repeated("a:,"))),
        ("maps of one key", format!("[{}1]", repeated("{a},"))),
        ("the same key", format!("{{{}a}}", repeated("a,"))),
        ("different keys", format!("{{{}z: 1}}", parts(SIZE, |number| format!("{number:x},")))),
        ("maps in JSON", format!("{{\"a\":[{}1]}}", repeated("{\"\":1},"))),
        ("text", format!("a: \"{}\"\n", "b".repeat(SIZE))),
        ("documents", repeated("---\n1\n")),
        ("documents in JSON", repeated("{}")),
        (
            "items that are no objects",
            format!("apiVersion: v1\nkind: List\nitems: [{}1]\n", repeated("1,")),
        ),
        ("comments in JSON", format!("{{{}\"a\": 1}}", repeated("//\n"))),
        ("a mistake behind JSON", format!("{{\"a\":[{}1]}} x", repeated("1,"))),
        ("a mistake in every document", repeated("---\n]\n")),
        ("aliases of a long text", {
            format!("a: &a {}\nb: [{}]\n", "b".repeat(SIZE / 2), "*a,".repeat(SIZE / 6))
        }),
        ("nested merged maps", {
            let opened = parts(2_000, |level| format!("{{<<: &a{level} "));
            let levels = opened.matches('{').count();
            let keys = parts(SIZE - 10_000, |number| format!("k{number}: 1, "));
            format!("x: {opened}{{{keys}}}{}\n", "}".repeat(levels))
        }),
        ("merged maps", format!("a: &a {{b: 1}}\nc:\n{}", "- {<<: *a}\n".repeat(33_000))),
    ]
}

#[test]
fn reading_takes_memory_in_proportion_to_the_text() {
    let mut beyond = Vec::new();
    for (what, text) in shapes() {
        let held = peak(&text);
        let per_byte = held.saturating_sub(BYTES_IN_ADDITION) / text.len();
        eprintln!("{what}: {} bytes of text, {held} bytes held, {per_byte} a byte", text.len());
        if held > BYTES_PER_BYTE * text.len() + BYTES_IN_ADDITION {
            beyond.push(what);
        }
    }
    assert!(beyond.is_empty(), "these take more than the limit: {beyond:?}");
}
