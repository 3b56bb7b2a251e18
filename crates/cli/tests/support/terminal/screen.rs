//! A model of the screen of a terminal, with the escape sequences that `almanac up` prints. Any other sequence is an
//! error. Each character occupies one column.

use std::mem;

use anyhow::bail;

/// The prefix of sequences that move the cursor, clear or color.
const ESCAPE: char = '\u{1b}';

/// The behavior of rows when the width changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rows {
    /// A line is broken into rows as wide as the terminal; the cursor keeps its position in the line.
    Rewrapped,
    /// Characters beyond the last column are lost.
    Cut,
}

/// The rows of a terminal, from the first printed row.
pub(crate) struct Screen {
    on_resize: Rows,
    columns: usize,
    rows: Vec<Row>,
    row: usize,
    column: usize,
    /// The first row of the line that contained the cursor when the width changed.
    since_resize: usize,
    /// The rows since then that were too narrow for a line.
    overflowed: Vec<String>,
    /// An incomplete character or sequence.
    unread: Vec<u8>,
}

#[derive(Default)]
struct Row {
    cells: Vec<char>,
    /// Whether the line continues in the next row.
    goes_on: bool,
}

impl Screen {
    pub(crate) fn new(columns: usize, on_resize: Rows) -> Screen {
        Screen {
            on_resize,
            columns,
            rows: vec![Row::default()],
            row: 0,
            column: 0,
            since_resize: 0,
            overflowed: Vec::new(),
            unread: Vec::new(),
        }
    }

    /// Draws the output of a program.
    pub(crate) fn show(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.unread.extend_from_slice(bytes);
        let complete = match str::from_utf8(&self.unread) {
            Ok(text) => text.len(),
            Err(error) => error.valid_up_to(),
        };
        let after = self.unread.split_off(complete);
        let text = String::from_utf8(mem::replace(&mut self.unread, after))?;
        let mut rest = text.as_str();
        while let Some(letter) = rest.chars().next() {
            let mut length = letter.len_utf8();
            if letter == ESCAPE {
                let Some(end) = rest.find(|it: char| it.is_ascii_alphabetic()) else {
                    self.unread.splice(..0, rest.bytes());
                    return Ok(());
                };
                length = end + 1;
                self.obey(&rest[..length])?;
            } else {
                self.put(letter);
            }
            rest = &rest[length..];
        }
        Ok(())
    }

    fn obey(&mut self, sequence: &str) -> anyhow::Result<()> {
        match sequence {
            // Clears from the cursor to the end of the screen.
            "\u{1b}[J" => {
                let row = &mut self.rows[self.row];
                row.cells.truncate(self.column);
                row.goes_on = false;
                self.rows.truncate(self.row + 1);
            }
            // Clears the row of the cursor.
            "\u{1b}[2K" => self.rows[self.row].cells.clear(),
            _ if sequence.ends_with('m') => {}
            _ => bail!("the screen does not know {sequence:?}"),
        }
        Ok(())
    }

    fn put(&mut self, letter: char) {
        match letter {
            '\r' => self.column = 0,
            '\n' => self.go_down(),
            _ => {
                if self.column >= self.columns {
                    self.rows[self.row].goes_on = true;
                    self.overflowed.push(self.rows[self.row].text());
                    self.go_down();
                    self.column = 0;
                }
                let cells = &mut self.rows[self.row].cells;
                if cells.len() <= self.column {
                    cells.resize(self.column + 1, ' ');
                }
                cells[self.column] = letter;
                self.column += 1;
            }
        }
    }

    fn go_down(&mut self) {
        self.row += 1;
        if self.row == self.rows.len() {
            self.rows.push(Row::default());
        }
    }

    /// Changes the width.
    pub(crate) fn resize(&mut self, columns: usize) {
        self.columns = columns;
        match self.on_resize {
            Rows::Rewrapped => self.rewrap(),
            Rows::Cut => {
                self.rows.iter_mut().for_each(|row| row.cells.truncate(columns));
                self.column = self.column.min(columns);
            }
        }
        self.overflowed.clear();
        self.since_resize = self.row;
        while self.since_resize > 0 && self.rows[self.since_resize - 1].goes_on {
            self.since_resize -= 1;
        }
    }

    fn rewrap(&mut self) {
        let (columns, row_of_cursor) = (self.columns, self.row);
        let mut rows: Vec<Row> = Vec::new();
        // A line, and the position of the cursor in the line.
        let (mut line, mut cursor) = (Vec::new(), None);
        for (index, row) in mem::take(&mut self.rows).into_iter().enumerate() {
            if index == row_of_cursor {
                cursor = Some(line.len() + self.column);
            }
            line.extend(row.cells);
            if row.goes_on {
                continue;
            }
            let count = line.len().div_ceil(columns).max(1);
            if let Some(at) = cursor.take() {
                let row = (at / columns).min(count - 1);
                (self.row, self.column) = (rows.len() + row, (at - row * columns).min(columns));
            }
            for row in 0..count {
                let cells = line.iter().skip(row * columns).take(columns).copied().collect();
                rows.push(Row { cells, goes_on: row + 1 < count });
            }
            line.clear();
        }
        self.rows = rows;
    }

    /// The rows that were drawn since the width changed, and the line that contained the cursor then.
    pub(crate) fn since_resize(&self) -> Vec<String> {
        let mut rows: Vec<String> = self.rows[self.since_resize..].iter().map(Row::text).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// The rows since the change of the width that were too narrow for a line.
    pub(crate) fn overflowed(&self) -> &[String] {
        &self.overflowed
    }
}

impl Row {
    fn text(&self) -> String {
        self.cells.iter().collect::<String>().trim_end().to_owned()
    }
}
