//! Tables of queries and refusals, and random texts.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

fn parse(text: &str) -> Result<ParsedQuery, Refusal> {
    super::parse(text, &mut PatternBudget::default())
}

fn result(text: &str) -> Result<Type, String> {
    parse(text).map(|parsed| parsed.result).map_err(|refusal| refusal.message)
}

/// The nodes as text, in the order of evaluation.
fn nodes(text: &str) -> String {
    let rendered = |node: &Node| match node {
        Node::Number(number) => number.to_string(),
        Node::Text => "text".to_owned(),
        Node::Selector(selector) => selector.matchers.last().unwrap().value.clone(),
        Node::Range(_) => "range".to_owned(),
        Node::Subquery => "subquery".to_owned(),
        Node::Negation => "negated".to_owned(),
        Node::Binary { operator, .. } => (*operator).to_owned(),
        Node::Aggregation { name, operands, .. } | Node::Call { name, operands } => {
            format!("{name}/{operands}")
        }
    };
    let parsed = parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
    parsed.nodes.iter().map(rendered).collect::<Vec<_>>().join(" ")
}

fn number(text: &str) -> f64 {
    let parsed = parse(text).unwrap_or_else(|refusal| panic!("{text}: {refusal:?}"));
    let [Node::Number(number)] = &*parsed.nodes else { panic!("{text}: {:?}", parsed.nodes) };
    *number
}

/// Runs a test on a thread whose stack is too small for recursion over a long query.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(test).unwrap();
    thread.join().unwrap();
}

#[test]
fn operators_bind_as_in_prometheus() {
    for (text, order) in [
        ("1 + 2 * 3", "1 2 3 * +"),
        ("1 - 2 - 3", "1 2 - 3 -"),
        ("2 ^ 3 ^ 2", "2 3 2 ^ ^"),
        ("-2 ^ 2", "2 2 ^ negated"),
        ("-2 * 3", "2 negated 3 *"),
        ("2 ^ -3 * 4", "2 3 negated ^ 4 *"),
        ("a or b and c unless d", "a b c and d unless or"),
        ("a > bool 1 + 2", "a 1 2 + >"),
        ("a == 1 < 2", "a 1 == 2 <"),
        ("a atan2 b % c", "a b atan2 c %"),
        ("+a", "a"),
        ("-a[5m:] offset 1h", ""),
        ("sum(a) by (x) + topk by (y) (1, b)", "a sum/1 1 b topk/2 +"),
        ("max(rate(a[5m]) or b[1h:1m] @ end())", ""),
        ("max(rate(a[5m]) or b)", "range rate/1 b or max/1"),
        ("a offset 5m + 2", "a 2 +"),
        ("a offset (5m) + 2", "a"),
        ("a offset -(5m) + 2", "a 2 +"),
        ("sum_over_time((a + b)[1h:5m] offset 1d)", "a b + subquery sum_over_time/1"),
    ] {
        match order {
            "" => assert!(parse(text).is_err(), "{text}"),
            order => assert_eq!(nodes(text), order, "{text}"),
        }
    }
}

#[test]
fn numbers_are_read_as_prometheus_reads_them() {
    for (text, value) in [
        ("1_000.5", 1_000.5),
        (".5e3", 500.0),
        ("5.", 5.0),
        ("0x1F", 31.0),
        ("0x_1e2", 482.0),
        ("017", 15.0),
        ("018", 18.0),
        ("9223372036854775808", 9_223_372_036_854_775_808.0),
        ("1h30m", 5_400.0),
        ("1s500ms", 1.5),
        ("iNf", f64::INFINITY),
    ] {
        assert_eq!(number(text).to_bits(), value.to_bits(), "{text}");
    }
    assert!(number("NaN").is_nan());
    for text in [
        "1e", "1e999", "1__0", "1_", "0x", "0x1e", "0x1e+5", "0x1.5", "1.5h", "1m1h", "5hs",
        "293y", "1.2.3", "5m5", "0b1", "1a",
    ] {
        assert!(parse(text).is_err(), "{text}");
    }
}

#[test]
fn every_result_has_a_type() {
    for (text, kind) in [
        ("1 + scalar(a)", Type::Scalar),
        ("1 == bool 2", Type::Scalar),
        ("a == 2", Type::Vector),
        ("1 + on() a", Type::Vector),
        ("-(1)", Type::Scalar),
        ("(a[5m])", Type::Range),
        ("a[5m:]", Type::Range),
        ("'a'", Type::Text),
        ("vector(1)", Type::Vector),
        ("count_values('x', a)", Type::Vector),
        ("month()", Type::Vector),
        ("info(a, {b=''})", Type::Vector),
    ] {
        assert_eq!(result(text), Ok(kind), "{text}");
    }
}

#[test]
fn the_whole_language_is_accepted() {
    for text in [
        "sum",
        "by + offset * without",
        "Sum By (SUM, \"a b\", on) (up)",
        "start{end='1'} @ end() offset -5m",
        "rate(a @ end()[5m])",
        "{b!~\"x\", 'quoted label'=`\\d`, \"metric\" , } offset 1m",
        "{\"metric with space\"}",
        "{__name__=~\"a.+\"}",
        "a:b:c + :d",
        "a # comment\n + # another\n b",
        "a[5m # comment\n]",
        "a[5m + step() * 2 : max_of(1m, range())]",
        "rate(a[(0)]) or rate((b)[1h:])",
        "a smoothed[5m] @ -1.5 offset step()",
        "rate(a[5m] anchored)",
        "a * on (x, y) group_left (z) b",
        "a * ignoring () group_right b",
        "a + fill (1) b / fill_right (-1) fill_left (5m) c",
        "fill + fill_left",
        "a </ 5 >/ b",
        "label_replace(a, 'x', '$1', \"y\", `(.*)`)",
        "label_join(a, 'x', ',', 'y', 'z', 'w')",
        "histogram_quantile(0.9, sum by (le) (rate(a_bucket[5m])))",
        "holt_winters(a[1h], 0.5, 0.5)",
        "a offset 0s offset 5m",
        "a{b=\"\\u00e4\\x41\\101\\\"\"}",
        "a @ 1609746000.123 > inf",
    ] {
        assert!(parse(text).is_ok(), "{text}: {:?}", parse(text));
    }
}

#[test]
fn a_refusal_names_the_word_and_the_line() {
    for (text, message) in [
        ("# nothing", "there is no expression"),
        ("a b", "unexpected \"b\", after \"a\""),
        ("a +\n", "unexpected end, after \"a +\""),
        ("sum(\n  rate(a[5m])\n) / / 2", "unexpected \"/\" in line 3, after \") /\""),
        ("1 + max((a)", "unclosed \"max(\", after \"1 +\""),
        ("1 + (a", "unclosed \"(\", after \"1 +\""),
        ("a)", "unexpected \")\", after \"a\""),
        ("max(a,)", "unexpected \")\", after \"max(a,\""),
        ("a{b}", "unexpected \"}\", after \"a{b\""),
        ("a{b=c}", "unexpected \"c\", after \"a{b=\""),
        ("a{b='c'", "unexpected end, after \"a{b='c'\""),
        ("a[5x]", "\"5x\" is not a number or duration, after \"a[\""),
        (
            "http.requests",
            "unexpected \".\"; write a name that has it as {\"NAME\"}, after \"http\"",
        ),
        ("a == 'b", "a text does not end, after \"a ==\""),
        ("a{b=\"\\d\"}", "an escape in a text is not valid, after \"a{b=\""),
        ("sum by (without) (a)", "unexpected \"without\", after \"sum by (\""),
        ("bool", "unexpected \"bool\""),
        (
            "aaaaaaaaaaaaaaa + bbbbbbbbbbbbbbb + ccccccccccccccc d",
            "unexpected \"d\", after \"…\" and \"bbbbbbbbbbbb + ccccccccccccccc\"",
        ),
    ] {
        assert_eq!(result(text), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn operands_of_the_wrong_type_are_refused_with_their_types() {
    for (text, message) in [
        ("nothing(a)", "no function is \"nothing\""),
        ("RATE(a[5m])", "no function is \"RATE\""),
        ("rate(a)", "rate takes a range here, not a vector"),
        ("abs(a[5m])", "abs takes a vector here, not a range"),
        ("rate(a[5m],\n1)", "rate takes 1 argument, not 2 in line 1"),
        ("label_join(a, 'b')", "label_join takes 3 or more arguments, not 2"),
        ("label_join(a, 'b', 'c', 1)", "label_join takes a text here, not a number"),
        ("round(a, 1, 2)", "round takes 1 to 2 arguments, not 3"),
        ("sum()", "sum takes 1 argument, not 0"),
        ("topk(a)", "topk takes 2 arguments, not 1"),
        ("topk(a, b)", "topk takes a number here, not a vector"),
        ("max(3)", "max takes a vector here, not a number"),
        ("1 > 2", "'>' between numbers needs 'bool' after it"),
        ("a + bool b", "'bool' is only possible after a comparison, not after '+'"),
        ("a or 3", "'or' takes two vectors, not a number"),
        ("a + 'b'", "'+' takes numbers and vectors, not a text"),
        ("a[5m] + 1", "'+' takes numbers and vectors, not a range"),
        ("-'a'", "a sign is not possible before a text"),
        ("1 + on (x) a", "only vectors are matched by labels or filled after '+'"),
        ("a and on (x) group_left b", "'and' neither groups nor fills"),
        ("a * on (x) group_left (x) b", "the label x is in both lists after '*'"),
        ("3[5m]", "a range is only possible after a selector; '[5m:]' is a subquery"),
        ("a offset 5m [5m]", "'offset' and '@' come after a range"),
        ("a @ 5 [5m]", "'offset' and '@' come after a range"),
        ("3[5m:]", "a subquery of a number is not possible"),
        ("a[0s]", "a duration of 0 or less is not valid"),
        ("a[5m / 0]", "a duration is divided by 0"),
        ("a offset 1e10", "a duration is longer than 292 years"),
        ("a @ NaN", "the time after '@' is out of bounds"),
        (
            "(a) offset 5m",
            "'offset' is only possible directly after a selector, a range or a subquery",
        ),
        ("a offset 5m offset 5m", "unexpected \"offset\", after \"a offset 5m\""),
        ("a[5m:] anchored", "unexpected \"anchored\", after \"a[5m:]\""),
        ("{}", "a selector needs a matcher that no empty label meets"),
        ("{a=~'.*'}", "a selector needs a matcher that no empty label meets"),
        ("a{__name__='b'}", "the name of the metric is there twice"),
        ("a{b=~'('}", "\"(\" is not a regular expression"),
        ("info(a, b)", "the second argument of info is label matchers in braces"),
    ] {
        assert_eq!(result(text), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn commas_between_vectors_are_joined() {
    for (text, joined) in [
        ("max(a, b)", "max(a or b)"),
        ("1 + min by (x) ( a{x=',',} ,b[5m:] , c)", ""),
        ("1 + min by (x) ( a{x=',',} ,f , c)", "1 + min by (x) ( a{x=',',} or f or c)"),
        ("max(a, 3)", ""),
    ] {
        let meant = parse(text).unwrap_err().joined.unwrap_or_default();
        assert_eq!(meant, joined, "{text}");
    }
}

#[test]
fn a_query_that_is_too_long_or_too_deep_is_refused_before_parsing() {
    let too_long = "longer than 4096 characters";
    for text in ["max(", "(", "-", "+1", "a or ", "2^", "a[1m:", "{", "ü", "info(", "[", "\"", "#"]
    {
        let text = text.repeat(100_000);
        on_small_stack(move || assert_eq!(result(&text), Err(too_long.to_owned()), "{text:.10}"));
    }
    for word in ["max(", "(", "abs((", "a[1m+(", "a[-", "a[1^", "a offset -+-", "a + topk(1,"] {
        let (first, again) = word.split_at(word.rfind(['[', ' ']).map_or(0, |at| at + 1));
        let text = format!("{first}{}", again.repeat((4096 - first.len()) / again.len()));
        on_small_stack(move || {
            let refusal = parse(&text).unwrap_err();
            assert_eq!(refusal.message, "nested more than 100 levels deep", "{text:.10}");
            assert!(refusal.fix.is_some_and(|fix| fix.contains("recording rule")));
        });
    }
}

#[test]
fn the_longest_allowed_query_is_parsed_on_a_small_stack() {
    for (first, again, last) in [
        ("a", "+1", ""),
        ("a", " or a", ""),
        ("", "-", "a"),
        ("", "2^", "a"),
        ("a", "[1m:]", ""),
        ("max(a", " or a", ")"),
        ("vector(1", "^-2", ")"),
        ("a{", "b=\"\",", "}"),
        ("sum by (", "b,", ") (a)"),
    ] {
        let times = (MAX_CHARACTERS - first.len() - last.len()) / again.len();
        let text = format!("{first}{}{last}", again.repeat(times));
        on_small_stack(move || {
            let is_subquery_of_range = text.starts_with("a[1m:][");
            assert_eq!(parse(&text).is_err(), is_subquery_of_range, "{text:.20}");
        });
    }
    let nested = format!("{}a{}", "(".repeat(MAX_NESTED), ")".repeat(MAX_NESTED));
    assert_eq!(result(&nested), Ok(Type::Vector));
    // Closed parentheses do not count as open brackets.
    assert_eq!(result(&["(1)"; 150].join("+")), Ok(Type::Scalar));
}

/// Words of queries, and some words that no query has.
static WORDS: [&str; 58] = [
    "a",
    "sum",
    "rate",
    "info",
    "max",
    "topk",
    "(",
    ")",
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "=",
    "=~",
    "!~",
    "!=",
    "==",
    "+",
    "-",
    "*",
    "/",
    "^",
    "or",
    "and",
    "on",
    "ignoring",
    "group_left",
    "by",
    "without",
    "bool",
    "offset",
    "@",
    "5m",
    "1",
    "0x1e",
    "1e5",
    "\"x\"",
    "'",
    "`",
    "\"\\",
    "\"(\"",
    "#",
    "\n",
    " ",
    ".",
    "ü",
    "\u{fffd}",
    "start",
    "end()",
    "step()",
    "fill",
    "smoothed",
    "[5m:]",
    "\"\\pL\"",
];

/// A random character, or a word.
fn words() -> impl Strategy<Value = String> {
    let word = prop_oneof![4 => select(&WORDS[..]).prop_map(str::to_owned), 1 => "\\PC"];
    proptest::collection::vec(word, 0..60).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused_at_a_word(text in words()) {
        match parse(&text) {
            Err(refusal) => {
                prop_assert!(text.is_char_boundary(refusal.at), "{refusal:?}");
                prop_assert!(refusal.message.len() < 1000, "{refusal:?}");
            }
            Ok(parsed) => prop_assert!(parsed.nodes.len() <= text.len()),
        }
    }

    #[test]
    fn brackets_around_a_query_change_nothing(text in words()) {
        if let Ok(parsed) = parse(&text) {
            // A newline ends a possible comment before the bracket.
            let around = parse(&format!("({text}\n)")).map(|around| (around.result, around.nodes.len()));
            prop_assert_eq!(around, Ok((parsed.result, parsed.nodes.len())));
        }
    }
}

#[test]
fn the_same_query_may_have_other_spaces_comments_and_quotes() {
    for (one, other) in [
        ("sum(queue)", " sum ( queue ) # all of them"),
        ("sum by (a) (up{b=\"c\"})", "SUM BY(a)(up{b='c'})"),
        ("rate(x[5m]) + 1", "rate(x[300s])+1.0"),
        ("nan", "NaN"),
        ("not $ a query", " not $ a query"),
    ] {
        assert!(is_same_query(one, other), "{one}");
    }
    for (one, other) in [("up", "Up"), ("a b", "ab"), ("up", "up + 1"), ("1", "2"), ("$ a", "$  a")]
    {
        assert!(!is_same_query(one, other), "{one}");
    }
}
