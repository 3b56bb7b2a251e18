//! Any text at all is accepted or rejected, never a panic, and errors have positions.

use almanac_calendar::{Cron, DailyWindow, Pattern, PatternText, Zone};
use proptest::prelude::*;
use proptest::sample::select;

/// Passes a text to every parser.
fn show_to_every_parser(text: &str) {
    let places = [
        Cron::parse(text).err().map(|error| (error.span(), error.to_string())),
        DailyWindow::parse(text, "06:00").err().map(|error| (error.span(), error.to_string())),
        DailyWindow::parse("22:00", text).err().map(|error| (error.span(), error.to_string())),
        Zone::named(text).err().map(|error| (error.span(), error.to_string())),
    ];
    for (span, message) in places.into_iter().flatten().chain(pattern_places(text)) {
        assert!(text.get(span.clone()).is_some(), "{span:?} is no part of {text:?}: {message}");
        // A message is for one line of a terminal, not an echo of all that was typed.
        assert!(!message.contains(char::is_control), "{message:?}");
        assert!(message.split(' ').count() >= 5, "{message:?} says nothing of its own");
        assert!(message.chars().count() < 400, "{message}");
    }
}

fn pattern_places(text: &str) -> Vec<(std::ops::Range<usize>, String)> {
    let none = PatternText::default();
    [
        PatternText { minutes: Some(text), ..none },
        PatternText { hours: Some(text), ..none },
        PatternText { days: Some(text), ..none },
        PatternText { months: Some(text), ..none },
        PatternText { weekdays: Some(text), ..none },
        PatternText { years: Some(text), ..none },
    ]
    .into_iter()
    .filter_map(|texts| Pattern::parse(texts).err())
    .map(|error| (error.span(), error.to_string()))
    .collect()
}

/// Bytes of any kind, read as a program reads a file it does not trust.
fn any_bytes() -> impl Strategy<Value = String> {
    prop::collection::vec(any::<u8>(), 0..10_240)
        .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// Texts made of what schedules are made of.
fn almost_schedules() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "0",
        "1",
        "7",
        "24",
        "59",
        "60",
        "99999999999999999999",
        "-1",
        "-",
        ",",
        "/",
        "*",
        "?",
        " ",
        "  ",
        "\t",
        ":",
        "L",
        "W",
        "#",
        "@",
        "@daily",
        "@every 5m",
        "TZ=",
        "CRON_TZ=UTC ",
        "cron(",
        "rate(5 minutes)",
        ")",
        " # ",
        "H",
        "2026",
        "jan",
        "mon",
        "MON-fri",
        "*/5",
        "1-5/2",
        "5/0",
        "09:00",
        "24:00",
        "é",
        "٣",
        "\u{0}",
        "\u{feff}",
        "\n",
    ]);
    prop::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat())
}

/// Something that is accepted, with one place changed.
fn changed_expressions() -> impl Strategy<Value = String> {
    let whole = select(vec![
        "0 9 * * mon-fri",
        "*/15 1-3 ? jan,dec 7",
        "@monthly",
        "22:00",
        "Mon,Tue,Wed",
        "0,30",
        "1, 2 ,3",
        "Europe/Berlin",
        "2026,2027",
    ]);
    (whole, any::<prop::sample::Index>(), any::<char>(), 0..3_u8).prop_map(
        |(whole, place, new, how)| {
            let mut letters: Vec<char> = whole.chars().collect();
            let place = place.index(letters.len());
            match how {
                0 => letters[place] = new,
                1 => letters.insert(place, new),
                _ => {
                    letters.remove(place);
                }
            }
            letters.into_iter().collect()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_accepted_or_rejected(text in any_bytes()) {
        show_to_every_parser(&text);
    }

    #[test]
    fn near_schedules_are_accepted_or_rejected(text in almost_schedules()) {
        show_to_every_parser(&text);
    }

    #[test]
    fn changed_expressions_are_accepted_or_rejected(text in changed_expressions()) {
        show_to_every_parser(&text);
    }
}

#[test]
fn long_and_hostile_texts_are_accepted_or_rejected() {
    let list = |item: &str| [item].repeat(5_000).join(",");
    for item in ["5", "1-5", "0-59/1", "*/2", "", "x", "99999999999", "mon", "-", "1/"] {
        let list = list(item);
        show_to_every_parser(&list);
        show_to_every_parser(&format!("{list} * * * *"));
        show_to_every_parser(&format!("0 0 * * {list}"));
    }
    for piece in [
        " ", "* ", "@", "0", "/", "-", ",", "#", "TZ=", "TZ= ", " #", "cron(", "L", "\t", "é",
        "24:", "'", ";",
    ] {
        show_to_every_parser(&piece.repeat(10_000));
    }
    // 5,000 equal items are one item.
    assert!(Cron::parse(&format!("{} * * * *", list("5"))).is_ok());
}
