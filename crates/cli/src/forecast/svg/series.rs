//! One series as a picture: a number as steps, a string as labeled bands, names as labeled thin rows, and numbers by
//! name as steps for each name. Above them are the rules and the highlights. Many steps that are too narrow are drawn
//! by pixels (see [`by_pixel`]).

mod by_pixel;

use std::io::Write;

use jiff::Timestamp;

use self::by_pixel::{Piece, legend, pieces};
use super::stories::Stories;
use super::styles::Styles;
use super::{CHARACTER, LEFT, LENGTH, LETTERS, LINE, escaped};
use crate::forecast::agreeing::Drawn;
use crate::forecast::drawn::{Block, DrawnValue, Kind, Stretch, blocks};
use crate::forecast::question::View;
use crate::forecast::{highlights, story};
use crate::shortening::shortened;
use crate::wrapping::wrapped;

const BAR: f64 = 56.0;
const BAND: f64 = 28.0;
/// The height of the letters above a step, and of the marks of highlights.
const ABOVE: f64 = 22.0;
/// The distance of two thin rows.
const THIN: u32 = 24;
/// The space below a block.
const GAP: u32 = 16;
/// The minimum distance of two marks; closer marks are merged.
const APART: f64 = 8.0;

/// The height of a series, in the units of the picture.
pub(super) fn height(view: View, most_steps: usize, drawn: &Drawn<'_>) -> u32 {
    let blocks = blocks(drawn.series);
    let lines = Head::new(view, most_steps, drawn, &blocks).lines();
    let lines = u32::try_from(lines).unwrap_or(u32::MAX / LINE / 2);
    lines * LINE + blocks.iter().map(height_of_block).sum::<u32>()
}

fn height_of_block(block: &Block<'_>) -> u32 {
    LINE + GAP
        + match block.kind() {
            Kind::Number if block.stretches.len() > 1 => 78,
            // A block without changes needs no scale.
            Kind::Number | Kind::Text => 50,
            Kind::Names => {
                22 + THIN * u32::try_from(block.rows().len()).unwrap_or(u32::MAX / THIN / 2)
            }
        }
}

/// The lines above a series.
struct Head {
    /// The values and their times in a long period, and the highlights.
    sentences: Vec<(&'static str, String)>,
    /// The legend of the rules, in lines.
    legend: Vec<Vec<(String, String)>>,
}

impl Head {
    fn new(view: View, most_steps: usize, drawn: &Drawn<'_>, blocks: &[Block<'_>]) -> Head {
        let story = story::for_long(drawn.series, view).map(|text| ("", text));
        let highlights = highlights::sentences(drawn, view).into_iter().map(|it| {
            if it.is_contested {
                ("warning", format!("! {}", it.text))
            } else {
                ("quiet", format!("~ {}", it.text))
            }
        });
        let in_lines = |(class, text): (&'static str, String)| {
            let lines = wrapped(&text, LETTERS).into_iter().enumerate();
            lines.map(move |(index, line)| {
                (class, if index == 0 { line } else { format!("\u{2003}{line}") })
            })
        };
        let sentences = story.into_iter().chain(highlights).flat_map(in_lines).collect();
        let mut lines: Vec<Vec<(String, String)>> = Vec::new();
        let mut room = 0;
        for (class, name) in legend(view, most_steps, blocks, &Styles::for_series(drawn)) {
            let name = shortened(&name, LETTERS - 5);
            let length = name.chars().count() + 5;
            if let Some(line) = lines.last_mut().filter(|_| room >= length) {
                line.push((class, name));
            } else {
                lines.push(vec![(class, name)]);
                room = LETTERS;
            }
            room -= length;
        }
        Head { sentences, legend: lines }
    }

    fn lines(&self) -> usize {
        self.sentences.len() + self.legend.len()
    }
}

pub(super) fn write_series(
    (view, most_steps): (View, usize),
    place: Option<&str>,
    drawn: &Drawn<'_>,
    mut top: f64,
    output: &mut impl Write,
) -> anyhow::Result<()> {
    let Drawn { title: object, series, .. } = drawn;
    let styles = Styles::for_series(drawn);
    let mut stories = Stories::new(view);
    let blocks = blocks(series);
    let numbers = blocks.iter().flat_map(|block| &block.stretches).filter_map(Stretch::number);
    // One scale for all names, so that they can be compared.
    let highest = numbers.max().unwrap_or(0).max(1);
    let mut head = Some(Head::new(view, most_steps, drawn, &blocks));
    for block in &blocks {
        let name = block.name.map_or(String::new(), |name| format!(", {name}"));
        let place = place.map_or(String::new(), |place| format!("{place}: "));
        let title = format!("{place}{object} {}{name}", series.field);
        writeln!(output, "<g role=\"group\" aria-label=\"{}\">", escaped(&title))?;
        let title = shortened(&title, LETTERS);
        let title = escaped(&title);
        let baseline = top + 16.0;
        writeln!(output, "<text class=\"title\" x=\"{LEFT}\" y=\"{baseline:.2}\">{title}</text>")?;
        let mut body = top + f64::from(LINE);
        let is_first = head.is_some();
        if let Some(head) = head.take() {
            body = write_head(&head, body, output)?;
        }
        let (styles, stories) = (&styles, &mut stories);
        let mut picture = Picture { view, most_steps, styles, stories, output };
        match block.kind() {
            Kind::Number if block.stretches.len() > 1 => {
                picture.write_steps(block, highest, body + ABOVE + BAR)?;
            }
            Kind::Number | Kind::Text => picture.write_bands(block, body + ABOVE)?,
            Kind::Names => picture.write_rows(block, body + ABOVE)?,
        }
        if is_first {
            picture.write_marks(drawn, body + 2.0)?;
        }
        writeln!(output, "</g>")?;
        top = body + f64::from(height_of_block(block) - LINE);
    }
    Ok(())
}

/// Writes the lines and returns the bottom edge.
fn write_head(head: &Head, top: f64, output: &mut impl Write) -> anyhow::Result<f64> {
    let mut top = top;
    for (class, line) in &head.sentences {
        let (line, y) = (escaped(line), top + 16.0);
        writeln!(output, "<text class=\"{class}\" x=\"{LEFT}\" y=\"{y:.2}\">{line}</text>")?;
        top += f64::from(LINE);
    }
    for line in &head.legend {
        let mut x = LEFT;
        for (class, name) in line {
            let y = top + 4.0;
            let baseline = top + 16.0;
            writeln!(
                output,
                "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"20\" height=\"14\"/>\
                 <text class=\"quiet\" x=\"{:.2}\" y=\"{baseline:.2}\">{}</text>",
                x + 26.0,
                escaped(name)
            )?;
            let length = u16::try_from(name.chars().count()).unwrap_or(u16::MAX);
            x += (f64::from(length) + 5.0) * CHARACTER;
        }
        top += f64::from(LINE);
    }
    Ok(top)
}

/// The horizontal position of an instant.
pub(super) fn place(view: View, at: Timestamp) -> f64 {
    let from = view.period.from();
    let seconds = |to: Timestamp| to.duration_since(from).as_secs_f64();
    LEFT + LENGTH * seconds(at) / seconds(view.period.to())
}

fn class_of(styles: &Styles<'_>, stretch: &Stretch<'_>) -> String {
    match stretch.shown {
        DrawnValue::Unknown | DrawnValue::Nothing => "unknown".to_owned(),
        DrawnValue::Number(_) | DrawnValue::Text(_) | DrawnValue::Names(_) => {
            styles.class(stretch.origin)
        }
    }
}

struct Picture<'a, W> {
    view: View,
    /// The maximum number of steps of a block or a row that are drawn singly.
    most_steps: usize,
    styles: &'a Styles<'a>,
    stories: &'a mut Stories,
    output: &'a mut W,
}

/// The shape of a stretch, with its label.
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
        let mut label_end = f64::NEG_INFINITY;
        for piece in pieces(self.view, self.most_steps, &block.stretches) {
            let stretch = match piece {
                Piece::One(stretch) => stretch,
                Piece::Many(stretches) => {
                    let name = name.as_deref();
                    self.write_lowest_and_highest(stretches, name, highest, base)?;
                    continue;
                }
            };
            let share = match stretch.shown {
                DrawnValue::Number(number) => f64::from(number) / f64::from(highest),
                DrawnValue::Nothing => 0.0,
                _ => 0.5,
            };
            // A value of zero is a line on the ground.
            let height = (share * BAR).max(1.0);
            let step = Shape::new(self.view, stretch, base - height, height);
            self.write_shape(&step, stretch, name.as_deref())?;
            if step.has_room_for_its_label(label_end) {
                label_end = step.middle() + step.label_width() / 2.0;
                // The label is in its step, or above the step if it does not fit.
                let fits = step.width >= step.label_width() && step.height >= 20.0;
                self.write_label(&step, if fits { step.y + 17.0 } else { step.y - 4.0 })?;
            }
        }
        Ok(())
    }

    fn write_bands(&mut self, block: &Block<'_>, y: f64) -> anyhow::Result<()> {
        for piece in pieces(self.view, self.most_steps, &block.stretches) {
            let stretch = match piece {
                Piece::One(stretch) => stretch,
                Piece::Many(stretches) => {
                    self.write_values_by_pixel(stretches, y, BAND)?;
                    continue;
                }
            };
            let mut band = Shape::new(self.view, stretch, y, BAND);
            self.write_shape(&band, stretch, None)?;
            if let Some(label) = band.as_much_of_its_label_as_fits() {
                band.label = label;
                self.write_label(&band, y + 20.0)?;
            }
        }
        Ok(())
    }

    fn write_rows(&mut self, block: &Block<'_>, top: f64) -> anyhow::Result<()> {
        let tops = (0_u32..).map(|index| top + f64::from(index * THIN));
        for (row, y) in block.rows().iter().zip(tops) {
            let height = f64::from(THIN - 3);
            for piece in pieces(self.view, self.most_steps, row) {
                match piece {
                    Piece::One(stretch) => {
                        let shape = Shape::new(self.view, stretch, y, height);
                        self.write_shape(&shape, stretch, None)?;
                    }
                    Piece::Many(stretches) => self.write_values_by_pixel(stretches, y, height)?,
                }
            }
            if let Some(first) = row.first() {
                let label = shortened(&first.shown.to_string(), LETTERS);
                let (x, y, label) = (LEFT + 4.0, y + 16.0, escaped(&label));
                writeln!(
                    self.output,
                    "<text class=\"value\" x=\"{x:.2}\" y=\"{y:.2}\">{label}</text>"
                )?;
            }
        }
        Ok(())
    }

    /// Writes a line for rules whose value another rule overrides, and a mark where no rule determines the value.
    fn write_marks(&mut self, drawn: &Drawn<'_>, y: f64) -> anyhow::Result<()> {
        let mut last: Option<(&str, f64, f64)> = None;
        for (from, to, is_contested) in highlights::spans(drawn) {
            let (x, end) = (place(self.view, from), place(self.view, to));
            let class = if is_contested { "contested" } else { "overlap" };
            if let Some((_, _, known)) = last.as_mut().filter(|it| it.0 == class && x - it.2 < 1.0)
            {
                *known = end;
                continue;
            }
            self.write_mark(last.replace((class, x, end)), y)?;
        }
        self.write_mark(last, y)
    }

    fn write_mark(&mut self, mark: Option<(&str, f64, f64)>, y: f64) -> anyhow::Result<()> {
        let Some((class, x, end)) = mark else { return Ok(()) };
        if end - x >= APART {
            // Thin or thick, to be distinct without colors.
            let (width, height) = (end - x, if class == "overlap" { 3 } else { 6 });
            writeln!(
                self.output,
                "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" height=\"{height}\"/>"
            )?;
        } else {
            let x = f64::midpoint(x, end) - 5.0;
            writeln!(self.output, "<path class=\"{class}\" d=\"M{x:.2} {y:.2}h10l-5 8z\"/>")?;
        }
        Ok(())
    }

    fn write_shape(
        &mut self,
        shape: &Shape,
        stretch: &Stretch<'_>,
        name: Option<&str>,
    ) -> anyhow::Result<()> {
        let Shape { x, y, width, height, label } = shape;
        let class = class_of(self.styles, stretch);
        write!(
            self.output,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{width:.2}\" \
             height=\"{height:.2}\""
        )?;
        self.stories.write(stretch, name, &escaped(label), self.output)?;
        Ok(())
    }

    fn write_label(&mut self, shape: &Shape, y: f64) -> anyhow::Result<()> {
        let (x, label) = (shape.middle(), escaped(&shape.label));
        writeln!(
            self.output,
            "<text class=\"value number\" x=\"{x:.2}\" y=\"{y:.2}\">{label}</text>"
        )?;
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

    /// Whether the label does not overlap the previous label, whose end is `label_end`.
    fn has_room_for_its_label(&self, label_end: f64) -> bool {
        self.width >= 8.0 && self.middle() - self.label_width() / 2.0 >= label_end
    }

    fn as_much_of_its_label_as_fits(&self) -> Option<String> {
        let room = (1..=100_u16)
            .rev()
            .find(|characters| f64::from(*characters) * CHARACTER + 6.0 <= self.width)?;
        let shortened = shortened(&self.label, usize::from(room));
        // One or two letters do not identify a label.
        (shortened == self.label || room >= 4).then_some(shortened)
    }
}
