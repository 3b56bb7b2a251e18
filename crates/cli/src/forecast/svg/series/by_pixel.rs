//! Draws steps by pixels if they are too narrow to be distinct: of numbers the highest and the lowest of each pixel,
//! of strings and names the value that fills the pixel. One title counts these steps. [`super`] draws wider steps.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::io::Write;
use std::ops::{Range, RangeInclusive};

use jiff::Timestamp;

use super::{Picture, class_of, place};
use crate::forecast::drawn::{Block, DrawnValue, Kind, Stretch};
use crate::forecast::question::View;
use crate::forecast::svg::styles::Styles;
use crate::markup::escaped;
use crate::wall_clock::civil;

/// The minimum width of a step for its value. If too many steps are wider, the width is doubled.
const NARROW: f64 = 8.0;
/// The minimum number of successive narrow steps that are drawn by pixels.
const MANY: usize = 3;
/// The maximum number of listed values in a title.
const NAMED: usize = 5;

/// The length of the time axis in pixels; its start and the maximum height of a number, in tenths.
const PIXELS: u16 = 728;
const TENTHS: i64 = 10;
const LEFT: i64 = 160;
const BAR: i64 = 560;

/// A piece of a block or of a row.
pub(super) enum Piece<'b, 'a> {
    One(&'b Stretch<'a>),
    /// Several steps that are drawn by pixels.
    Many(&'b [Stretch<'a>]),
}

/// Splits stretches so that at most `most_steps` of the pieces are single steps.
pub(super) fn pieces<'b, 'a>(
    view: View,
    most_steps: usize,
    stretches: &'b [Stretch<'a>],
) -> Vec<Piece<'b, 'a>> {
    let mut narrow = NARROW;
    loop {
        let pieces = narrow_steps_merged(view, narrow, stretches);
        let steps = pieces.iter().filter(|it| matches!(it, Piece::One(_))).count();
        // Fewer steps are never drawn by pixels.
        if steps <= most_steps.max(MANY) {
            return pieces;
        }
        narrow *= 2.0;
    }
}

fn narrow_steps_merged<'b, 'a>(
    view: View,
    narrow: f64,
    stretches: &'b [Stretch<'a>],
) -> Vec<Piece<'b, 'a>> {
    let width = |from, to| place(view, to) - place(view, from);
    let is_narrow = |it: &Stretch<'_>| width(it.from, it.to) < narrow;
    let is_close = |one: &Stretch<'_>, other: &Stretch<'_>| {
        is_narrow(one) && is_narrow(other) && width(one.to, other.from) < narrow
    };
    let piece = |chunk: &'b [Stretch<'a>]| {
        if chunk.len() < MANY {
            chunk.iter().map(Piece::One).collect::<Vec<_>>()
        } else {
            vec![Piece::Many(chunk)]
        }
    };
    stretches.chunk_by(is_close).flat_map(piece).collect()
}

/// The classes of the drawing with their names: rules with steps or whole pixels, and the meaning of other pixels.
pub(super) fn legend(
    view: View,
    most_steps: usize,
    blocks: &[Block<'_>],
    styles: &Styles<'_>,
) -> Vec<(String, String)> {
    let (mut has_numbers, mut has_others) = (false, false);
    let mut drawn = BTreeSet::new();
    for block in blocks {
        let kind = block.kind();
        let rows = if kind == Kind::Names { block.rows() } else { Vec::new() };
        let whole = (kind != Kind::Names).then_some(block.stretches.as_slice());
        let all = rows.iter().map(Vec::as_slice).chain(whole);
        for piece in all.flat_map(|it| pieces(view, most_steps, it)) {
            match piece {
                Piece::One(stretch) => {
                    drawn.insert(class_of(styles, stretch));
                }
                Piece::Many(_) if kind == Kind::Number => has_numbers = true,
                Piece::Many(stretches) => {
                    has_others = true;
                    let spans = Grid::new(view, stretches).spans(styles, stretches);
                    drawn.extend(spans.into_iter().map(|(class, ..)| class));
                }
            }
        }
    }
    let mut legend = styles.legend();
    if has_numbers || has_others {
        legend.retain(|(class, _)| drawn.contains(class));
    }
    let (at_least, at_most) = ("at-least".to_owned(), "at-most".to_owned());
    if has_numbers {
        legend.push((at_least, "all the time of a pixel".to_owned()));
        legend.push((at_most, "at some time of it".to_owned()));
    } else if drawn.contains(&at_most) {
        legend.push((at_most, "more than one value in a pixel".to_owned()));
    }
    legend
}

impl<W: Write> Picture<'_, W> {
    /// Writes numbers as two areas: up to the highest of each pixel, and inside it up to the lowest. An unknown value
    /// is drawn as zero.
    pub(super) fn write_lowest_and_highest(
        &mut self,
        stretches: &[Stretch<'_>],
        name: Option<&str>,
        highest: u32,
        base: f64,
    ) -> anyhow::Result<()> {
        let grid = Grid::new(self.view, stretches);
        let pixels = grid.pixels(stretches);
        let area = |number: fn(&[Stretch<'_>]) -> u32| {
            let ends = pixels.iter().map(|(pixel, within)| {
                (grid.edges(*pixel).1, rise(number(&stretches[within.clone()]), highest))
            });
            outline(grid.from, base, ends)
        };
        let paths = [("at-most", area(most)), ("at-least", area(least))];
        self.write_paths(stretches, name, paths.iter().map(|(class, path)| (*class, path.as_str())))
    }

    /// Writes a value that fills a pixel in the style of its rule, and other pixels in a style of their own.
    pub(super) fn write_values_by_pixel(
        &mut self,
        stretches: &[Stretch<'_>],
        y: f64,
        height: f64,
    ) -> anyhow::Result<()> {
        let grid = Grid::new(self.view, stretches);
        let mut paths: BTreeMap<String, (String, i64)> = BTreeMap::new();
        for (class, x, end) in grid.spans(self.styles, stretches) {
            let begin = || (format!("M{} {y}", Tenths(grid.from)), grid.from);
            let (path, before) = paths.entry(class).or_insert_with(begin);
            let (step, width) = (Tenths(x - *before), Tenths(end - x));
            let _ = write!(path, "m{step} 0h{width}v{height}h-{width}z");
            *before = x;
        }
        let paths = paths.iter().map(|(class, (path, _))| (class.as_str(), path.as_str()));
        self.write_paths(stretches, None, paths)
    }

    fn write_paths<'p>(
        &mut self,
        stretches: &[Stretch<'_>],
        name: Option<&str>,
        paths: impl Iterator<Item = (&'p str, &'p str)>,
    ) -> anyhow::Result<()> {
        let (Some(first), Some(last)) = (stretches.first(), stretches.last()) else {
            return Ok(());
        };
        let (from, to, count) = (first.from, last.to, stretches.len());
        let zone = self.view.zone;
        let values = values(stretches);
        let values = escaped(&values);
        // The name is escaped already.
        let name = name.map_or(String::new(), |name| format!("{name}: "));
        writeln!(
            self.output,
            "<g data-from=\"{from}\" data-to=\"{to}\" data-steps=\"{count}\"><title>{name}{count} steps: {values}\n\
             {} to {}\ntoo narrow to be drawn one by one</title>",
            civil(zone, from),
            civil(zone, to)
        )?;
        for (class, path) in paths {
            writeln!(self.output, "<path class=\"{class}\" d=\"{path}\"/>")?;
        }
        writeln!(self.output, "</g>")?;
        Ok(())
    }
}

/// The pixels of the time axis that stretches cover.
struct Grid {
    /// The start and the length of the period, in nanoseconds.
    start: i128,
    length: i128,
    /// The start and the end of the stretches.
    first: Option<Timestamp>,
    last: Option<Timestamp>,
    /// The horizontal positions of the start and the end of the stretches, in tenths.
    from: i64,
    to: i64,
}

impl Grid {
    fn new(view: View, stretches: &[Stretch<'_>]) -> Grid {
        let start = view.period.from().as_nanosecond();
        let length = view.period.to().as_nanosecond() - start;
        let first = stretches.first().map(|it| it.from);
        let last = stretches.last().map(|it| it.to);
        let mut grid = Grid { start, length, first, last, from: LEFT, to: LEFT };
        grid.from = first.map_or(LEFT, |it| grid.x(it));
        grid.to = last.map_or(LEFT, |it| grid.x(it));
        grid
    }

    /// The distance of an instant from the start, scaled so that a pixel has the length of the period.
    fn scaled(&self, at: Timestamp) -> i128 {
        (at.as_nanosecond() - self.start) * i128::from(PIXELS)
    }

    /// The position of an instant, in tenths.
    fn x(&self, at: Timestamp) -> i64 {
        let scaled = self.scaled(at) * i128::from(TENTHS) + self.length / 2;
        LEFT + i64::try_from(scaled.div_euclid(self.length)).unwrap_or(0)
    }

    /// The pixels that a stretch touches. The end of a stretch is exclusive.
    fn touched(&self, stretch: &Stretch<'_>) -> RangeInclusive<i64> {
        let pixel = |scaled: i128| i64::try_from(scaled.div_euclid(self.length)).unwrap_or(0);
        pixel(self.scaled(stretch.from))..=pixel(self.scaled(stretch.to) - 1)
    }

    /// Each pixel that stretches touch, with these stretches.
    fn pixels(&self, stretches: &[Stretch<'_>]) -> Vec<(i64, Range<usize>)> {
        let mut all: Vec<(i64, Range<usize>)> = Vec::new();
        for (index, stretch) in stretches.iter().enumerate() {
            for pixel in self.touched(stretch) {
                match all.last_mut() {
                    Some((known, within)) if *known == pixel => within.end = index + 1,
                    _ => all.push((pixel, index..index + 1)),
                }
            }
        }
        all
    }

    /// The classes of values that fill pixels, and of other pixels, each with its start and its end.
    fn spans(&self, styles: &Styles<'_>, stretches: &[Stretch<'_>]) -> Vec<(String, i64, i64)> {
        let mut spans: Vec<(String, i64, i64)> = Vec::new();
        for (pixel, within) in self.pixels(stretches) {
            let within = &stretches[within];
            let alone = within.first().filter(|_| self.is_of_one(pixel, within));
            let class = alone.map_or_else(|| "at-most".to_owned(), |it| class_of(styles, it));
            let (x, end) = self.edges(pixel);
            match spans.last_mut() {
                Some((known, _, last)) if *known == class && *last == x => *last = end,
                _ => spans.push((class, x, end)),
            }
        }
        spans
    }

    /// The start and the end of a pixel, in tenths.
    fn edges(&self, pixel: i64) -> (i64, i64) {
        let edge = |pixel: i64| (LEFT + pixel * TENTHS).clamp(self.from, self.to);
        (edge(pixel), edge(pixel + 1))
    }

    /// Whether one value of one rule fills a pixel.
    fn is_of_one(&self, pixel: i64, within: &[Stretch<'_>]) -> bool {
        let (Some(first), Some(last)) = (within.first(), within.last()) else { return false };
        let edge = |pixel: i64| i128::from(pixel) * self.length;
        let begins = Some(first.from) == self.first || self.scaled(first.from) <= edge(pixel);
        let ends = Some(last.to) == self.last || self.scaled(last.to) >= edge(pixel + 1);
        let is_same =
            |it: &Stretch<'_>| it.shown == first.shown && it.origin.writer == first.origin.writer;
        begins
            && ends
            && within.iter().all(is_same)
            && within.windows(2).all(|two| two[0].to == two[1].from)
    }
}

fn most(stretches: &[Stretch<'_>]) -> u32 {
    stretches.iter().filter_map(Stretch::number).max().unwrap_or(0)
}

fn least(stretches: &[Stretch<'_>]) -> u32 {
    stretches.iter().map(|it| it.number().unwrap_or(0)).min().unwrap_or(0)
}

/// The height of a number, in tenths. Zero is a line on the baseline.
fn rise(number: u32, highest: u32) -> i64 {
    let (number, highest) = (i64::from(number), i64::from(highest.max(1)));
    ((number * BAR + highest / 2) / highest).max(TENTHS)
}

/// An area on the baseline, from the end and the value of each height.
fn outline(from: i64, base: f64, heights: impl Iterator<Item = (i64, i64)>) -> String {
    let mut path = format!("M{} {base}", Tenths(from));
    let (mut drawn, mut x, mut height) = (from, from, 0);
    for (end, next) in heights {
        if next != height {
            if x > drawn {
                let _ = write!(path, "h{}", Tenths(x - drawn));
            }
            let _ = write!(path, "v{}", Tenths(height - next));
            (drawn, height) = (x, next);
        }
        x = end;
    }
    let _ = write!(path, "h{}v{}z", Tenths(x - drawn), Tenths(height));
    path
}

/// The range of the numbers, and the first other values.
fn values(stretches: &[Stretch<'_>]) -> String {
    let numbers = || stretches.iter().filter_map(Stretch::number);
    let range = numbers()
        .min()
        .zip(numbers().max())
        .map(|(low, high)| if low == high { low.to_string() } else { format!("{low} to {high}") });
    let mut others: Vec<DrawnValue<'_>> = Vec::new();
    for shown in stretches.iter().filter(|it| it.number().is_none()).map(|it| it.shown) {
        if others.len() <= NAMED && !others.contains(&shown) {
            others.push(shown);
        }
    }
    let more = (others.len() > NAMED).then(|| "and others".to_owned());
    let others = others.iter().take(NAMED).map(ToString::to_string);
    range.into_iter().chain(others).chain(more).collect::<Vec<_>>().join(", ")
}

/// Formats a number of tenths in the shortest form.
struct Tenths(i64);

impl fmt::Display for Tenths {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        match (self.0.unsigned_abs() / 10, self.0.unsigned_abs() % 10) {
            (whole, 0) => write!(formatter, "{sign}{whole}"),
            (0, rest) => write!(formatter, "{sign}.{rest}"),
            (whole, rest) => write!(formatter, "{sign}{whole}.{rest}"),
        }
    }
}

#[cfg(test)]
mod tests;
