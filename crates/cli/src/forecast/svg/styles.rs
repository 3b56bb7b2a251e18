//! The colors and patterns of rules, as on the page: six colors and twelve patterns, so that rules are also distinct
//! without colors.

use std::fmt::Write as _;

use almanac_forecast::{Origin, Writer};

use crate::forecast::agreeing::Drawn;

const STYLES: usize = 12;

/// The colors of areas and of the lines around them: light, then dark.
const COLORS: [[&str; 4]; 6] = [
    ["#bcd7f2", "#2b6cb0", "#1d4468", "#7db8ee"],
    ["#f5d9b4", "#9a5b0c", "#55401c", "#e5b567"],
    ["#c5e6c8", "#2d7a3a", "#1f4d29", "#85cf92"],
    ["#e3cdf0", "#7a3f9d", "#46295a", "#cf9ff0"],
    ["#f7c9cf", "#a8324a", "#5c2430", "#f29aac"],
    ["#c4e7e6", "#1d7371", "#174a49", "#7fd1cf"],
];
const PATTERNS: [&str; STYLES] = [
    "",
    "M-1 7L7 -1",
    "M2 3h2v2h-2z",
    "M-1 -1L7 7",
    "M0 3H6",
    "M3 0V6",
    "M0 3H6M3 0V6",
    "M-1 7L7 -1M-1 -1L7 7",
    "M1 1h1v1h-1zM4 4h1v1h-1z",
    "M0 1H6M0 4H6",
    "M1 0V6M4 0V6",
    "M3 1l2 2l-2 2l-2 -2z",
];

/// The light styles, and the dark styles that differ from them.
pub(super) fn sheet() -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    for (color, [fill, line, dark_fill, dark_line]) in COLORS.iter().enumerate() {
        let _ = write!(light, ".f{color}{{fill:{fill}}}.l{color}{{stroke:{line};fill:none}}");
        let _ = write!(dark, ".f{color}{{fill:{dark_fill}}}.l{color}{{stroke:{dark_line}}}");
    }
    for style in 0..STYLES {
        let [_, line, _, dark_line] = COLORS[style % COLORS.len()];
        let _ = write!(light, ".rule{style}{{fill:url(#style{style});stroke:{line}}}");
        let _ = write!(dark, ".rule{style}{{stroke:{dark_line}}}");
    }
    format!("{light}@media(prefers-color-scheme:dark){{{dark}}}")
}

/// The fill patterns of the styles.
pub(super) fn patterns() -> String {
    let mut patterns = String::from("<defs>");
    for (style, lines) in PATTERNS.iter().enumerate() {
        let color = style % COLORS.len();
        let _ = write!(
            patterns,
            "<pattern id=\"style{style}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <rect class=\"f{color}\" width=\"6\" height=\"6\"/>"
        );
        if !lines.is_empty() {
            let _ =
                write!(patterns, "<path class=\"l{color}\" stroke-opacity=\".55\" d=\"{lines}\"/>");
        }
        patterns.push_str("</pattern>");
    }
    patterns.push_str("</defs>");
    patterns
}

/// The rules of a series, in the order of their first steps.
pub(super) struct Styles<'a> {
    writers: Vec<&'a Writer>,
    idle: &'a [Writer],
}

impl<'a> Styles<'a> {
    pub(super) fn for_series(drawn: &'a Drawn<'_>) -> Styles<'a> {
        let mut writers: Vec<&Writer> = Vec::new();
        for writer in drawn.series.segments.iter().filter_map(|it| it.origin.writer.as_ref()) {
            if !writers.contains(&writer) && !drawn.idle.contains(writer) {
                writers.push(writer);
            }
        }
        Styles { writers, idle: &drawn.idle }
    }

    /// The CSS class of a value, by the rule that has set it; `nobody` without a rule.
    pub(super) fn class(&self, origin: &Origin) -> String {
        let writer = origin.writer.as_ref().filter(|it| !self.idle.contains(it));
        let place = writer.and_then(|writer| self.writers.iter().position(|it| *it == writer));
        place.map_or_else(|| "nobody".to_owned(), |place| format!("rule{}", place % STYLES))
    }

    /// The classes with the names of the rules; empty for fewer than two classes.
    pub(super) fn legend(&self) -> Vec<(String, String)> {
        let policies = self.writers.iter().map(|it| &it.policy);
        let is_one = policies.clone().all(|it| Some(it) == policies.clone().next());
        let named = |(place, writer): (usize, &&Writer)| {
            let policy = writer.policy.identity.name();
            let name = match &writer.rule {
                Some(rule) if is_one => rule.to_string(),
                Some(rule) => format!("{policy} {rule}"),
                None => policy.to_owned(),
            };
            (format!("rule{}", place % STYLES), name)
        };
        let mut legend: Vec<_> = self.writers.iter().enumerate().map(named).collect();
        if !self.idle.is_empty() {
            legend.push(("nobody".to_owned(), "no rule is open".to_owned()));
        }
        if legend.len() > 1 { legend } else { Vec::new() }
    }
}
