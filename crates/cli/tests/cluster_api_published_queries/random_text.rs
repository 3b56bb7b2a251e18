//! Random strings that are queries, or nearly: expressions whose types fit or not, and words that are omitted,
//! repeated, swapped or replaced.

use fastrand::Rng;

/// The type of an expression's result.
#[derive(Clone, Copy, PartialEq)]
enum Type {
    Scalar,
    Vector,
    Range,
    Text,
}

const OPERATORS: [&str; 20] = [
    "+", "-", "*", "/", "%", "^", "==", "!=", ">", "<", ">=", "<=", "and", "or", "unless", "atan2",
    "OR", "And", "</", ">/",
];
const AGGREGATIONS: [&str; 9] =
    ["sum", "max", "MIN", "avg", "group", "stddev", "stdvar", "count", "Sum"];
const NAMES: [&str; 18] = [
    "a",
    "up",
    "http_requests:rate5m",
    ":b",
    "sum",
    "offset",
    "by",
    "start",
    "inf_",
    "bool_",
    "_x",
    "without",
    "or",
    "And",
    "step",
    "fill",
    "limitk",
    "anchored",
];
const NUMBERS: [&str; 24] = [
    "1", "0", "0.5", ".5", "5.", "1e3", "1e-3", "1E+3", "0x1F", "0Xa_b", "017", "08", "1_000",
    "Inf", "NaN", "inf", "nan", "5m", "1h30m", "1d", "3s", "20ms", "1w2d", "1_0.5",
];
const DURATIONS: [&str; 12] =
    ["5m", "1h30m", "1d", "30s", "1w", "100ms", "1y", "5", "0.5", "0s", "1e3", "1s500ms"];
const TEXTS: [&str; 14] = [
    "\"\"",
    "\"x\"",
    "'y'",
    "`z`",
    "\"a\\\"b\"",
    "'a\\'b'",
    "\"\\x41\\u00e4\\101\"",
    "`a\\b`",
    "\"ü\"",
    "\"a#b\"",
    "'\\n'",
    "\"\\xff\"",
    "\"$1\"",
    "\"{,}\"",
];
const PATTERNS: [&str; 22] = [
    "\"a|b\"",
    "\".*\"",
    "\".+\"",
    "'x?'",
    "`\\d+`",
    "\"\"",
    "\"a{2,3}\"",
    "\"(?i)a\"",
    "\"[a-z]*\"",
    "\"a(b\"",
    "\"*a\"",
    "\"[b-a]\"",
    "`\\pL`",
    "`\\Q(\\E`",
    "\"a{,3}\"",
    "\"x**\"",
    "\"^$\"",
    "\"(a|)\"",
    "`\\b`",
    "\"(?P<n>a)\"",
    "\"a{1001}\"",
    "`\\C`",
];
const LABELS: [&str; 10] =
    ["job", "le", "by", "on", "__name__", "inf", "\"quoted label\"", "Sum", "bool", "_"];
const WORDS: [&str; 66] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ":",
    "@",
    "offset",
    "by",
    "without",
    "on",
    "ignoring",
    "bool",
    "group_left",
    "group_right",
    "fill",
    "fill_left",
    "start",
    "end",
    "step()",
    "range",
    "anchored",
    "smoothed",
    "=",
    "==",
    "!=",
    "=~",
    "!~",
    "!",
    "~",
    "<",
    "/",
    "#",
    "# c\n",
    "\n",
    "\"",
    "'",
    "`",
    "\\",
    ".",
    "..",
    "5",
    "5m",
    "1e",
    "0x",
    "0x1e",
    "_",
    "a",
    "inf",
    "nan",
    "sum",
    "rate",
    "and",
    "or",
    "-",
    "+",
    "^",
    "ü",
    "$",
    ";",
    "{}",
    "[5m]",
    "[5m:]",
    "max_of(1,2)",
];

/// A random string.
pub(crate) fn text(random: &mut Rng) -> String {
    let kind = any(random);
    let depth = random.u32(0..5);
    let mut text = expression(random, kind, depth);
    if random.bool() {
        for _ in 0..random.u32(1..4) {
            text = corrupted(random, &text);
        }
    }
    text
}

fn choice<'a>(random: &mut Rng, items: &[&'a str]) -> &'a str {
    random.choice(items).copied().unwrap_or_default()
}

fn any(random: &mut Rng) -> Type {
    match random.u32(0..10) {
        0 => Type::Range,
        1 => Type::Text,
        2..5 => Type::Scalar,
        _ => Type::Vector,
    }
}

/// A string with a word removed, added or replaced, or a character removed or added.
fn corrupted(random: &mut Rng, text: &str) -> String {
    let mut words = words(text);
    let at = random.usize(0..=words.len());
    let word = choice(random, &WORDS).to_owned();
    match random.u32(0..7) {
        0 | 1 if at < words.len() => {
            words.remove(at);
        }
        2 if at < words.len() => words[at] = word,
        3 if at + 1 < words.len() => words.swap(at, at + 1),
        4 if at < words.len() => words.insert(at, words[at].clone()),
        5 if !text.is_empty() => {
            let mut letters: Vec<char> = text.chars().collect();
            let at = random.usize(0..letters.len());
            if random.bool() {
                letters.remove(at);
            } else {
                let of_word: Vec<char> = word.chars().collect();
                letters.insert(at, random.choice(of_word).unwrap_or(' '));
            }
            return letters.into_iter().collect();
        }
        _ => words.insert(at, word),
    }
    words.concat()
}

/// Names, numbers and characters of other kinds.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_in_name = false;
    for letter in text.chars() {
        let is_in_name = letter.is_alphanumeric() || letter == '_';
        match words.last_mut() {
            Some(word) if is_in_name && was_in_name => word.push(letter),
            _ => words.push(letter.to_string()),
        }
        was_in_name = is_in_name;
    }
    words
}

fn expression(random: &mut Rng, wanted: Type, depth: u32) -> String {
    // Occasionally an expression of another type than the required type.
    let kind = if random.u32(0..40) == 0 { any(random) } else { wanted };
    let space = choice(random, &["", " ", " ", "\n", " # c\n"]);
    if random.u32(0..8) == 0 && depth > 0 {
        return format!("({space}{})", expression(random, kind, depth - 1));
    }
    match kind {
        Type::Scalar => scalar(random, depth),
        Type::Vector => vector(random, depth),
        Type::Range => range(random, depth),
        Type::Text => choice(random, &TEXTS).to_owned(),
    }
}

fn scalar(random: &mut Rng, depth: u32) -> String {
    if depth == 0 {
        return choice(random, &NUMBERS).to_owned();
    }
    let mut inner = |kind| expression(random, kind, depth - 1);
    let (one, other, vector) = (inner(Type::Scalar), inner(Type::Scalar), inner(Type::Vector));
    match random.u32(0..9) {
        0 | 1 => choice(random, &NUMBERS).to_owned(),
        2 => format!("{}{one}", choice(random, &["-", "+", "- "])),
        3 => format!("scalar({vector})"),
        4 => format!("{}()", choice(random, &["time", "pi", "start", "step", "end", "range"])),
        5 => format!("{}({one}, {other})", choice(random, &["max_of", "min_of"])),
        _ => {
            let bool = choice(random, &["", "", "bool "]);
            format!("{one} {} {bool}{other}", choice(random, &OPERATORS))
        }
    }
}

fn vector(random: &mut Rng, depth: u32) -> String {
    if depth == 0 {
        return selector(random);
    }
    let mut inner = |kind| expression(random, kind, depth - 1);
    let (one, other) = (inner(Type::Vector), inner(Type::Vector));
    let (number, range, text) = (inner(Type::Scalar), inner(Type::Range), inner(Type::Text));
    match random.u32(0..14) {
        0 | 1 => selector(random),
        2 => format!("-{one}"),
        3 => format!("{one} {} {number}", choice(random, &OPERATORS)),
        4 => format!("{number} {} {other}", choice(random, &OPERATORS)),
        5 | 6 => {
            let operator = choice(random, &OPERATORS);
            format!("{one} {operator} {}{other}", matching(random))
        }
        7 | 8 => {
            let name = choice(random, &AGGREGATIONS);
            match random.u32(0..4) {
                0 => format!("{name} {} ({one})", grouping(random)),
                1 => format!("{name}({one}) {}", grouping(random)),
                _ => format!("{name}({one})"),
            }
        }
        9 => {
            let names = ["topk", "bottomk", "quantile", "limitk", "limit_ratio", "TopK"];
            let (name, parameter) = match random.u32(0..5) {
                0 => ("count_values", &text),
                _ => (choice(random, &names), &number),
            };
            format!("{name}({parameter}, {one})")
        }
        10 => {
            let names =
                ["abs", "ceil", "sort", "timestamp", "hour", "absent", "round", "histogram_avg"];
            format!("{}({one})", choice(random, &names))
        }
        11 | 12 => {
            let names =
                ["rate", "increase", "max_over_time", "last_over_time", "mad_over_time", "delta"];
            format!("{}({range})", choice(random, &names))
        }
        _ => match random.u32(0..12) {
            0 => format!("clamp({one}, {number}, {number})"),
            1 => format!("label_replace({one}, {text}, {text}, {text}, {text})"),
            2 => {
                format!("label_join({one}, {text}, {text}{})", ", \"x\"".repeat(random.usize(0..3)))
            }
            3 => format!("histogram_quantile({number}, {one})"),
            4 => format!("vector({number})"),
            5 => format!("quantile_over_time({number}, {range})"),
            6 => format!("round({one}, {number})"),
            7 => format!("{}()", choice(random, &["month", "day_of_week", "hour", "year"])),
            8 => format!("info({one}, {other})"),
            9 => format!("sort_by_label({one}, {text})"),
            10 => format!("histogram_quantiles({one}, {text}, {number}, {number})"),
            _ => format!("holt_winters({range}, {number}, {number})"),
        },
    }
}

fn range(random: &mut Rng, depth: u32) -> String {
    if depth > 0 && random.bool() {
        let inner = expression(random, Type::Vector, depth - 1);
        let step = if random.bool() { duration(random) } else { String::new() };
        return format!("{inner}[{}:{step}]{}", duration(random), modifiers(random));
    }
    let selector = selector_without_modifiers(random);
    format!("{selector}[{}]{}", duration(random), modifiers(random))
}

fn duration(random: &mut Rng) -> String {
    let plain = choice(random, &DURATIONS);
    match random.u32(0..24) {
        0 => format!("{plain} {} {}", choice(random, &OPERATORS[..6]), duration(random)),
        1 => format!("({})", duration(random)),
        2 => format!("-{plain}"),
        3 => choice(random, &["step()", "range()", "max_of(5m, step())", "STEP( )"]).to_owned(),
        _ => plain.to_owned(),
    }
}

fn selector(random: &mut Rng) -> String {
    let selector = selector_without_modifiers(random);
    format!("{selector}{}", modifiers(random))
}

fn selector_without_modifiers(random: &mut Rng) -> String {
    let count = random.u32(0..4);
    let mut matchers: Vec<String> = (0..count).map(|_| matcher(random)).collect();
    if matchers.is_empty() && random.bool() {
        return choice(random, &NAMES).to_owned();
    }
    if random.u32(0..12) == 0 {
        matchers.push(choice(random, &TEXTS).to_owned());
    }
    let name = if random.u32(0..4) == 0 { "" } else { choice(random, &NAMES) };
    let end = choice(random, &["", "", "", ",", " ", "#c\n"]);
    format!("{name}{{{}{end}}}", matchers.join(choice(random, &[",", ", "])))
}

fn matcher(random: &mut Rng) -> String {
    let label = choice(random, &LABELS);
    if random.bool() {
        let operator = choice(random, &["=", "!=", " = "]);
        return format!("{label}{operator}{}", choice(random, &TEXTS));
    }
    format!("{label}{}{}", choice(random, &["=~", "!~"]), choice(random, &PATTERNS))
}

fn modifiers(random: &mut Rng) -> String {
    let mut modifiers = String::new();
    while random.u32(0..6) == 0 {
        let sign = choice(random, &["", "", "-", "+", "- -"]);
        let modifier = match random.u32(0..7) {
            0..3 => format!(" offset {sign}{}", duration(random)),
            3 => format!(" @ {sign}{}", choice(random, &NUMBERS)),
            4 => choice(random, &[" @ start()", "@end()", " @ 1609746000", "@ start"]).to_owned(),
            5 => choice(random, &[" anchored", " smoothed"]).to_owned(),
            _ => format!(" OFFSET {}", choice(random, &DURATIONS)),
        };
        modifiers.push_str(&modifier);
    }
    modifiers
}

fn grouping(random: &mut Rng) -> String {
    format!("{} {}", choice(random, &["by", "without", "BY"]), labels(random))
}

fn labels(random: &mut Rng) -> String {
    let count = random.u32(0..3);
    let labels: Vec<&str> = (0..count).map(|_| choice(random, &LABELS)).collect();
    format!("({}{})", labels.join(","), choice(random, &["", "", "", ","]))
}

fn matching(random: &mut Rng) -> String {
    let mut matching = choice(random, &["", "", "", "bool "]).to_owned();
    if random.u32(0..3) == 0 {
        matching.push_str(choice(random, &["on ", "ignoring "]));
        matching.push_str(&labels(random));
        matching.push(' ');
        let group = choice(random, &["", "", "group_left", "group_right", "Group_Left"]);
        let listed = if random.bool() { labels(random) } else { String::new() };
        if !group.is_empty() {
            matching.push_str(&[group, &listed, ""].join(" "));
        }
    }
    if random.u32(0..12) == 0 {
        let fills = ["fill(0) ", "fill_left(-1) ", "fill_right (5m) fill_left(+1) ", "fill () "];
        matching.push_str(choice(random, &fills));
    }
    matching
}
