//! The cost of functions: every one of them, so that none is added whose work is not counted.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Function, all, call};
use crate::meter::{MAX_STEPS, Meter};
use crate::network::Network;
use crate::quantity::Quantity;
use crate::types::Type;
use crate::url::Url;
use crate::value::{List, Map, Value};
use crate::version::Version;

/// The length of an argument that is not read, and of one that is.
const SHORT: usize = 8;
const LONG: usize = 512;

/// Of which parts a text is made for a function, and how many steps it takes at least for each thousand letters: for
/// those that do more than go through it.
const TEXTS: &[(&str, Text, usize)] = &[
    ("bytes", Text::repeating("a"), 124),
    ("cidr", Text::repeating("1"), 62),
    ("double", Text::repeating("9"), 1_000),
    ("duration", Text::repeating("0s"), 300),
    ("ip", Text::repeating("1"), 62),
    ("isSemver", Text { start: "1.2.3-", part: "a.", end: "b" }, 1_000),
    ("isURL", Text { start: "/", part: "é", end: "" }, 1_000),
    ("join", Text::repeating("a"), 62),
    ("lowerAscii", Text::repeating("a"), 124),
    ("parseJSON", Text { start: "[", part: "0,", end: "0]" }, 1_000),
    ("quantity", Text::repeating("1"), 62),
    ("replace", Text::repeating("a"), 180),
    ("reverse", Text::repeating("a"), 124),
    ("semver", Text { start: "1.2.3-", part: "a.", end: "b" }, 1_000),
    ("split", Text::repeating("a"), 1_000),
    ("strings.quote", Text::repeating("\""), 186),
    ("timestamp", Text { start: "2026-03-02T12:00:00.", part: "1", end: "Z" }, 62),
    ("trim", Text::repeating("a"), 124),
    ("upperAscii", Text::repeating("a"), 124),
    ("url", Text { start: "/", part: "é", end: "" }, 1_000),
];

/// The functions that go through a text, or to a position in it, and do no more with it.
const READ: [&str; 19] = [
    "bool",
    "charAt",
    "contains",
    "endsWith",
    "find",
    "findAll",
    "indexOf",
    "int",
    "ip.isCanonical",
    "isCIDR",
    "isIP",
    "isQuantity",
    "lastIndexOf",
    "matches",
    "size",
    "startsWith",
    "string",
    "substring",
    "uint",
];

struct Text {
    start: &'static str,
    part: &'static str,
    end: &'static str,
}

impl Text {
    const fn repeating(part: &'static str) -> Text {
        Text { start: "", part, end: "" }
    }

    fn long(&self, length: usize) -> String {
        let Text { start, part, end } = self;
        [*start, &part.repeat(length.div_ceil(part.len())), *end].concat()
    }
}

/// An argument of a type that is so long; `None` for a type all values of which are short.
fn argument(function: &Function, takes: Type, length: usize) -> Option<Value<'static>> {
    let one_to = |length: usize| (1..).take(length).map(Value::Int);
    let list = |item: Value<'static>| Value::list(vec![item; length]).unwrap();
    let written = TEXTS.iter().find(|(name, ..)| *name == function.name);
    Some(match takes {
        // A parameter of any type gets a text, because a text may be long.
        Type::Text | Type::Any | Type::Dyn | Type::Other => {
            Value::text(written.map_or("a".repeat(length), |(_, text, _)| text.long(length)))
        }
        Type::Bytes => Value::Bytes(vec![b'a'; length].into()),
        Type::List(Type::Any | Type::Ordered | Type::Summed) => {
            Value::list(one_to(length)).unwrap()
        }
        Type::List(Type::Text) => list(Value::text("a")),
        Type::List(Type::Optional(_)) => list(Value::some(Value::Int(1)).unwrap()),
        Type::Map(..) => Value::map(one_to(length).map(|key| (key.clone(), key))).unwrap(),
        Type::Version => {
            let text = Text { start: "1.2.3-", part: "a.", end: "b" }.long(length);
            Value::Version(Arc::new(Version::parse(&text).unwrap()))
        }
        Type::Url => {
            let text = Text { start: "http://h/?", part: "&", end: "" }.long(length);
            Value::Url(Arc::new(Url::parse(&text).unwrap()))
        }
        Type::List(_) => panic!("{} takes a list of a new type", function.name),
        Type::Optional(_)
        | Type::Ordered
        | Type::Summed
        | Type::Null
        | Type::Meta
        | Type::Bool
        | Type::Int
        | Type::Uint
        | Type::Double
        | Type::Timestamp
        | Type::Duration
        | Type::Quantity
        | Type::Ip
        | Type::Network => return None,
    })
}

/// An argument of a type all values of which are short.
fn short(takes: Type) -> Value<'static> {
    let address = "10.0.0.1".parse().unwrap();
    match takes {
        Type::Bool => Value::Bool(true),
        Type::Uint => Value::Uint(1),
        Type::Double => Value::Double(1.5),
        Type::Timestamp => Value::Timestamp(Timestamp::UNIX_EPOCH),
        Type::Duration => Value::Duration(SignedDuration::from_secs(1)),
        Type::Quantity => Value::Quantity(Quantity::from(1)),
        Type::Ip => Value::Ip(address),
        Type::Network => Value::Network(Network { address, prefix: 8 }),
        Type::Optional(_) => Value::some(Value::Int(1)).unwrap(),
        _ => Value::Int(1),
    }
}

/// The steps of a call with one argument of this length, and its result.
fn called(
    function: &'static Function,
    long: usize,
    length: usize,
) -> (usize, Option<Value<'static>>) {
    let of = |(position, takes): (usize, &Type)| {
        let length = if position == long { length } else { SHORT };
        argument(function, *takes, length).unwrap_or_else(|| short(*takes))
    };
    let values: Vec<Value<'static>> = function.takes.iter().enumerate().map(of).collect();
    let meter = Meter::new();
    let result = call(&[function], &values.iter().collect::<Vec<_>>(), &meter);
    assert!(meter.remaining_steps() > 0, "{function:?} takes too many steps to compare them");
    (MAX_STEPS - meter.remaining_steps(), result.ok())
}

/// Every function with the position of every argument of it that may be long.
fn with_long_arguments() -> impl Iterator<Item = (&'static Function, usize)> {
    let is_long =
        |function, position: &usize| argument(function, function.takes[*position], SHORT).is_some();
    all().flat_map(move |it| {
        (0..it.takes.len()).filter(move |at| is_long(it, at)).map(move |at| (it, at))
    })
}

#[test]
fn twice_as_long_an_argument_takes_more_steps_in_every_function() {
    for (function, long) in with_long_arguments() {
        let (once, twice) = (called(function, long, LONG).0, called(function, long, 2 * LONG).0);
        let name = function.name;
        assert!(
            twice >= once + LONG / 16,
            "{name} takes {once} steps for argument {long} of length {LONG}, and {twice} for twice that"
        );
    }
}

#[test]
fn what_does_more_with_a_text_than_go_through_it_takes_steps_for_that() {
    for function in all().filter(|it| matches!(it.takes, [Type::Text | Type::List(Type::Text), ..]))
    {
        let name = function.name;
        let Some((_, text, least)) = TEXTS.iter().find(|it| it.0 == name) else {
            assert!(READ.contains(&name), "list what {name} does with a text");
            continue;
        };
        let (length, steps) = (text.long(2 * LONG).len(), called(function, 0, 2 * LONG).0);
        assert!(steps >= least * length / 1_000, "{name} takes {steps} steps for {length} letters");
    }
}

/// The number of texts, items and letters of a value: sixteen letters count as one.
fn value_size(value: &Value<'_>) -> usize {
    let of_text = |length: usize| 1 + length / 16;
    match value {
        Value::Text(text) => of_text(text.len()),
        Value::Bytes(bytes) => of_text(bytes.len()),
        Value::List(List::Made(items, _)) => items.iter().map(|it| 1 + value_size(it)).sum(),
        Value::Map(map @ Map::Made(_)) => {
            map.iter().map(|(key, value)| 1 + value_size(&key) + value_size(&value)).sum()
        }
        Value::Version(version) => version.steps(),
        Value::Url(url) => of_text(url.length()),
        _ => 0,
    }
}

#[test]
fn no_function_returns_more_than_its_steps_allow() {
    for (function, long) in with_long_arguments() {
        let (steps, result) = called(function, long, 2 * LONG);
        // A value that is passed on takes no steps to make.
        let is_passed_on = function.takes.contains(&function.returns)
            || matches!(function.returns, Type::Optional(_) | Type::Dyn)
                && function.name != "parseJSON";
        if let (Some(result), false) = (result, is_passed_on) {
            let value_size = value_size(&result);
            assert!(
                value_size <= 2 * steps + 4,
                "{} makes {value_size} in {steps} steps",
                function.name
            );
        }
    }
}
