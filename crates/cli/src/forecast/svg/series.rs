//! One series as a picture: a number as steps, a text as bands with their texts, names as thin rows
//! with their names, and numbers by name as steps for each name.

use std::collections::BTreeSet;
use std::io::Write;

use almanac_forecast::Series;
use jiff::Timestamp;

use super::stories::Stories;
use super::{CHARACTER, LEFT, LENGTH, LETTERS, LINE, escaped};
use crate::forecast::agreeing::Drawn;
use crate::forecast::drawn::{Block, Kind, Shown, Stretch, blocks};
use crate::forecast::lanes::shortened;
use crate::forecast::question::View;
use crate::forecast::story;
use crate::forecast::text::wrapped;

/// From the top of a block to its bars, if none of them needs a label above it.
const TITLE: f64 = 24.0;
const BAR: f64 = 56.0;
const BAND: f64 = 24.0;
/// From one thin row to the next.
const THIN: u32 = 20;

/// How high a series is, in the units of the picture.
pub(super) fn height(view: View, series: &Series) -> u32 {
    let lines = u32::try_from(sentence(series, view).len()).unwrap_or(0);
    lines * LINE + blocks(series).iter().map(height_of_block).sum::<u32>()
}

/// What the series is when, in lines, where the period is long.
fn sentence(series: &Series, view: View) -> Vec<String> {
    story::for_long(series, view).map_or_else(Vec::new, |told| wrapped(&told, LETTERS))
}

fn height_of_block(block: &Block<'_>) -> u32 {
    match block.kind() {
        Kind::Number => 104,
        Kind::Text => 68,
        Kind::Names => {
            let rows = u32::try_from(block.rows().len()).unwrap_or(u32::MAX / THIN / 2);
            44 + THIN * rows
        }
    }
}

pub(super) fn write_series(
    view: View,
    place: Option<&str>,
    drawn: &Drawn<'_>,
    mut top: f64,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let mut stories = Stories::new(view);
    let Drawn { title: of, series, .. } = drawn;
    let blocks = blocks(series);
    let numbers = blocks.iter().flat_map(|block| &block.stretches).filter_map(Stretch::number);
    // One scale for all names, so that they can be compared.
    let highest = numbers.max().unwrap_or(0).max(1);
    let mut sentence = sentence(series, view);
    for block in &blocks {
        let name = block.name.map_or(String::new(), |name| format!(", {name}"));
        let place = place.map_or(String::new(), |place| format!("{place}: "));
        let title = format!("{place}{of} {}{name}", series.field);
        writeln!(output, "<g role=\"group\" aria-label=\"{}\">", escaped(&title))?;
        let title = shortened(&title, LETTERS);
        let title = escaped(&title);
        let baseline = top + 14.0;
        writeln!(output, "<text class=\"title\" x=\"{LEFT}\" y=\"{baseline:.2}\">{title}</text>")?;
        for line in sentence.drain(..) {
            top += f64::from(LINE);
            let (line, y) = (escaped(&line), top + 14.0);
            writeln!(output, "<text x=\"{LEFT}\" y=\"{y:.2}\">{line}</text>")?;
        }
        let mut picture = Picture { view, stories: &mut stories, output };
        match block.kind() {
            Kind::Number => picture.write_steps(block, highest, top + 32.0 + BAR)?,
            Kind::Text => picture.write_bands(block, top + TITLE)?,
            Kind::Names => picture.write_rows(block, top + TITLE)?,
        }
        writeln!(output, "</g>")?;
        top += f64::from(height_of_block(block));
    }
    Ok(())
}

/// Where an instant stands.
pub(super) fn place(view: View, at: Timestamp) -> f64 {
    let from = view.period.from();
    let seconds = |to: Timestamp| to.duration_since(from).as_secs_f64();
    LEFT + LENGTH * seconds(at) / seconds(view.period.to())
}

struct Picture<'a, W> {
    view: View,
    stories: &'a mut Stories,
    output: &'a mut W,
}

/// Where a stretch is drawn, and what is written at it.
struct Shape {
    x: f64,
    width: f64,
    y: f64,
    height: f64,
    label: String,
}

impl<W: Write> Picture<'_, W> {
    fn write_steps(&mut self, block: &Block<'_>, highest: u32, base: f64) -> anyhow::Result<()> {
        let name = block.name.map(escaped);
        let mut labelled = f64::NEG_INFINITY;
        for stretch in &block.stretches {
            let share = match stretch.shown {
                Shown::Number(number) => f64::from(number) / f64::from(highest),
                Shown::Nothing => 0.0,
                _ => 0.5,
            };
            // What is zero is a line on the ground.
            let height = (share * BAR).max(1.0);
            let step = Shape::new(self.view, stretch, base - height, height);
            self.write_shape(&step, stretch, name.as_deref(), "")?;
            if step.has_room_for_its_label(labelled) {
                labelled = step.middle() + step.label_width() / 2.0;
                // In its step, or above it when it does not fit.
                let fits = step.width >= step.label_width() && step.height >= 16.0;
                self.write_label(&step, if fits { step.y + 13.0 } else { step.y - 3.0 })?;
            }
        }
        Ok(())
    }

    fn write_bands(&mut self, block: &Block<'_>, y: f64) -> anyhow::Result<()> {
        let texts = block.stretches.iter().filter_map(|stretch| match stretch.shown {
            Shown::Text(text) => Some(text),
            _ => None,
        });
        let texts: Vec<&str> = texts.collect::<BTreeSet<_>>().into_iter().collect();
        for stretch in &block.stretches {
            let mut band = Shape::new(self.view, stretch, y, BAND);
            let place = texts.iter().position(|text| stretch.shown == Shown::Text(text));
            let strength = place.map_or(1.0, |place| strength(place, texts.len()));
            self.write_shape(&band, stretch, None, &format!(" fill-opacity=\"{strength:.2}\""))?;
            if let Some(label) = band.as_much_of_its_label_as_fits() {
                band.label = label;
                self.write_label(&band, y + 16.0)?;
            }
        }
        Ok(())
    }

    fn write_rows(&mut self, block: &Block<'_>, top: f64) -> anyhow::Result<()> {
        let tops = (0_u32..).map(|index| top + f64::from(index * THIN));
        for (row, y) in block.rows().iter().zip(tops) {
            for stretch in row {
                let shape = Shape::new(self.view, stretch, y, f64::from(THIN - 4));
                self.write_shape(&shape, stretch, None, "")?;
            }
            if let Some(first) = row.first() {
                let label = shortened(&first.shown.to_string(), LETTERS);
                let (x, y, label) = (LEFT + 4.0, y + 12.0, escaped(&label));
                writeln!(
                    self.output,
                    "<text pointer-events=\"none\" x=\"{x:.2}\" y=\"{y:.2}\">{label}</text>"
                )?;
            }
        }
        Ok(())
    }

    fn write_shape(
        &mut self,
        shape: &Shape,
        stretch: &Stretch<'_>,
        name: Option<&str>,
        attributes: &str,
    ) -> anyhow::Result<()> {
        let Shape { x, y, width, height, label } = shape;
        let is_something = !matches!(stretch.shown, Shown::Unknown | Shown::Nothing);
        let class = if is_something { "bar" } else { "unknown" };
        write!(
            self.output,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" \
             height=\"{height:.2}\"{attributes}"
        )?;
        self.stories.write(stretch, name, &escaped(label), self.output)?;
        Ok(())
    }

    fn write_label(&mut self, shape: &Shape, y: f64) -> anyhow::Result<()> {
        let (x, label) = (shape.middle(), escaped(&shape.label));
        writeln!(self.output, "<text class=\"number\" x=\"{x:.2}\" y=\"{y:.2}\">{label}</text>")?;
        Ok(())
    }
}

impl Shape {
    fn new(view: View, stretch: &Stretch<'_>, y: f64, height: f64) -> Shape {
        let (x, end) = (place(view, stretch.from), place(view, stretch.to));
        Shape { x, width: (end - x).max(0.5), y, height, label: stretch.shown.to_string() }
    }

    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    fn label_width(&self) -> f64 {
        let length = self.label.chars().count();
        f64::from(u16::try_from(length).unwrap_or(u16::MAX)) * CHARACTER + 6.0
    }

    /// Whether the label stands clear of the one before, which ends there.
    fn has_room_for_its_label(&self, labelled: f64) -> bool {
        self.width >= 6.0 && self.middle() - self.label_width() / 2.0 >= labelled
    }

    fn as_much_of_its_label_as_fits(&self) -> Option<String> {
        let room = (1..=100_u16)
            .rev()
            .find(|characters| f64::from(*characters) * CHARACTER + 6.0 <= self.width)?;
        let shortened = shortened(&self.label, usize::from(room));
        // One or two letters tell nothing.
        (shortened == self.label || room >= 4).then_some(shortened)
    }
}

/// How strongly one of so many texts is coloured: their order from faint to full.
fn strength(place: usize, texts: usize) -> f64 {
    let number = |it: usize| f64::from(u16::try_from(it).unwrap_or(u16::MAX));
    0.4 + 0.6 * number(place + 1) / number(texts)
}
