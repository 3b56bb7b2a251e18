//! The maximum duration of parsing, over many strings that are slow to accept or reject.
//!
//! `cargo run --release -p almanac-oracle --example slowest_text [SEED]`. The example prints the durations and does not
//! judge: the goal is under a millisecond for any string of up to 10 kB.

use std::hint::black_box;
use std::time::{Duration, Instant};

use almanac_calendar::{Cron, DailyWindow, Pattern, PatternText, PatternWindow, Zone};
use fastrand::Rng;

const MAX_BYTES: usize = 10_240;
const RANDOM_TEXTS: usize = 20_000;
/// The number of measurements of a string. The result is the shortest duration, because other load on the machine
/// causes the rest.
const REPEATS: usize = 5;

const PIECES: [&str; 40] = [
    "0",
    "1",
    "7",
    "24",
    "59",
    "60",
    "999999999999",
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
    "Europe/",
    "Berlin",
    "0-59",
];

const VALID: [&str; 8] = [
    "0 9 * * mon-fri",
    "*/15 1-3 ? jan,dec 7",
    "@monthly",
    "22:00",
    "Mon,Tue,Wed",
    "0,30",
    "Europe/Berlin",
    "2026,2027",
];

/// A parser; returns whether the string was accepted.
type Parser = fn(&str) -> bool;

const PARSERS: [(&str, Parser); 10] = [
    ("cron", |text| Cron::parse(text).is_ok()),
    ("daily start", |text| DailyWindow::parse(text, "06:00").is_ok()),
    ("daily end", |text| DailyWindow::parse("22:00", text).is_ok()),
    ("minutes", |text| pattern(PatternText { minutes: Some(text), ..PatternText::default() })),
    ("hours", |text| pattern(PatternText { hours: Some(text), ..PatternText::default() })),
    ("days", |text| pattern(PatternText { days: Some(text), ..PatternText::default() })),
    ("months", |text| pattern(PatternText { months: Some(text), ..PatternText::default() })),
    ("weekdays", |text| pattern(PatternText { weekdays: Some(text), ..PatternText::default() })),
    ("years", |text| pattern(PatternText { years: Some(text), ..PatternText::default() })),
    ("zone", |text| Zone::named(text).is_ok()),
];

fn pattern(texts: PatternText<'_>) -> bool {
    Pattern::parse(texts).is_ok()
}

fn random_text(rng: &mut Rng) -> String {
    match rng.u8(0..3) {
        0 => {
            let length = rng.usize(0..MAX_BYTES);
            let bytes: Vec<_> = std::iter::repeat_with(|| rng.u8(..)).take(length).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => {
            let pieces = rng.usize(0..2_000);
            let mut text = String::new();
            for _ in 0..pieces {
                text.push_str(PIECES[rng.usize(0..PIECES.len())]);
            }
            text
        }
        _ => {
            let mut text: Vec<char> = VALID[rng.usize(0..VALID.len())].chars().collect();
            for _ in 0..rng.usize(1..4) {
                text.insert(rng.usize(0..=text.len()), rng.char(..));
            }
            text.into_iter().collect()
        }
    }
}

/// Slow strings: the slowest parts, repeated up to the maximum length.
fn hostile_texts() -> Vec<String> {
    let mut texts = Vec::new();
    for item in ["5", "1-5", "0-59/1", "*/2", "*", "", "x", "59999999999", "mon", "mon-sat", "1/"] {
        let items = (MAX_BYTES - 8) / (item.len() + 1);
        let list = vec![item; items].join(",");
        texts.push(format!("{list} * * * *"));
        texts.push(format!("0 0 * * {list}"));
        texts.push(list);
    }
    let rising: Vec<_> = (1970..2999).map(|year| year.to_string()).collect();
    texts.push(rising.join(","));
    texts.extend(VALID.map(|text| text.repeat(MAX_BYTES / text.len())));
    texts.extend(PIECES.map(|piece| piece.repeat(MAX_BYTES / piece.len())));
    // Nearly the name of a zone, for the search for the nearest name.
    texts.push(format!("America/Argentina/{}", "Buenos_Aire".repeat(900)));
    texts.push("America/Argentina/ComodRivadavi".to_owned());
    // Well formed but never firing, or as rare as can be.
    texts.extend(["0 0 31 2,4,6,9,11 *", "0 0 30 2 ?", "0 0 29 2 *"].map(str::to_owned));
    texts
}

fn best_time(parse: Parser, text: &str) -> (Duration, bool) {
    let mut best = Duration::MAX;
    let mut accepted = false;
    for _ in 0..REPEATS {
        let started = Instant::now();
        accepted = black_box(parse(black_box(text)));
        best = best.min(started.elapsed());
    }
    (best, accepted)
}

fn start_of(text: &str) -> String {
    let start: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    format!("{} bytes, \"{start}\"", text.len())
}

fn main() {
    let seed = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    let mut rng = Rng::with_seed(seed);
    let mut texts = hostile_texts();
    texts.extend(std::iter::repeat_with(|| random_text(&mut rng)).take(RANDOM_TEXTS));
    println!("seed {seed}: {} texts, best of {REPEATS} times", texts.len());
    // The zone tables are built once, and are not part of parsing.
    black_box(Zone::all().count());
    for (name, parse) in PARSERS {
        let worst = texts
            .iter()
            .map(|text| (best_time(parse, text), text))
            .max_by_key(|((time, _), _)| *time);
        if let Some(((time, accepted), text)) = worst {
            let verdict = if accepted { "accepted" } else { "rejected" };
            println!("{name:12} {time:>12?}  {verdict}: {}", start_of(text));
        }
    }
    report_rare_patterns();
}

/// Patterns whose single fields are valid; only their combination decides whether the pattern is valid.
fn report_rare_patterns() {
    let every_year: Vec<_> = (1970..=2999).map(|year| year.to_string()).collect();
    let years = every_year.join(",");
    let leap_monday = PatternText {
        days: Some("29"),
        months: Some("2"),
        weekdays: Some("1"),
        ..PatternText::default()
    };
    let never = PatternText { days: Some("30"), years: Some(&years), ..leap_monday };
    let rare = PatternText { years: Some("2072"), ..leap_monday };
    for (name, start, end) in [
        ("29 Feb, Mon", leap_monday, leap_monday),
        ("never", never, rare),
        ("two rare", rare, leap_monday),
    ] {
        let best = (0..REPEATS)
            .map(|_| {
                let started = Instant::now();
                let window = Pattern::parse(black_box(start))
                    .and_then(|start| Ok((start, Pattern::parse(black_box(end))?)))
                    .map(|(start, end)| PatternWindow::new(start, end).is_ok());
                black_box(window.is_ok());
                started.elapsed()
            })
            .min()
            .unwrap_or_default();
        println!("{name:12} {best:>12?}  a pattern window");
    }
}
