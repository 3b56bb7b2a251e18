//! The paragraphs of Markdown and of doc comments. Each list item, heading and table cell is a paragraph. Code blocks
//! and link definitions are skipped.

/// Consecutive lines of prose.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Paragraph {
    /// The lines, without the marker of a list item or a quote.
    pub(crate) text: String,
    /// The number of the first line.
    pub(crate) line: usize,
    pub(crate) is_heading: bool,
}

/// Reads numbered lines. The numbers may have gaps.
pub(crate) fn paragraphs<'a>(lines: impl IntoIterator<Item = (usize, &'a str)>) -> Vec<Paragraph> {
    let mut reader = Reader::default();
    for (number, line) in lines {
        reader.read(number, line);
    }
    reader.finish();
    reader.paragraphs
}

#[derive(Default)]
struct Reader<'a> {
    paragraphs: Vec<Paragraph>,
    open: Option<Paragraph>,
    /// The mark that ends the code block.
    fence: Option<&'a str>,
}

impl<'a> Reader<'a> {
    fn read(&mut self, number: usize, line: &'a str) {
        let content = line.trim();
        if let Some(fence) = self.fence {
            if content.starts_with(fence) {
                self.fence = None;
            }
            return;
        }
        if content.starts_with("```") || content.starts_with("~~~") {
            self.finish();
            self.fence = content.get(..3);
        } else if content.is_empty() || is_link_definition(content) {
            self.finish();
        } else if content.starts_with('#') {
            self.finish();
            self.add(number, content.trim_start_matches('#').trim(), true);
            self.finish();
        } else if content.starts_with('|') {
            self.finish();
            for cell in cells(content) {
                self.add(number, cell, false);
                self.finish();
            }
        } else if let Some(item) = list_item(line) {
            self.finish();
            self.add(number, item, false);
        } else {
            self.add(number, content.trim_start_matches(['>', ' ']), false);
        }
    }

    fn add(&mut self, line: usize, text: &str, is_heading: bool) {
        match &mut self.open {
            Some(open) => {
                open.text.push('\n');
                open.text.push_str(text);
            }
            None => self.open = Some(Paragraph { text: text.to_owned(), line, is_heading }),
        }
    }

    fn finish(&mut self) {
        self.paragraphs.extend(self.open.take());
    }
}

fn is_link_definition(content: &str) -> bool {
    content.starts_with('[') && content.contains("]: ")
}

/// The text after `- `, `* `, `+ `, `1. ` or `1) `.
fn list_item(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let without_digits = line.trim_start_matches(|it: char| it.is_ascii_digit());
    let marks: &[char] =
        if without_digits.len() < line.len() { &['.', ')'] } else { &['-', '*', '+'] };
    let rest = without_digits.strip_prefix(marks)?;
    rest.starts_with(char::is_whitespace).then(|| rest.trim())
}

/// The cells of a table row with text; no cells for the line below the head.
fn cells(row: &str) -> Vec<&str> {
    if row.chars().all(|it| matches!(it, '|' | ':' | '-' | ' ')) {
        return Vec::new();
    }
    let row = row.trim_matches('|');
    let mut cells = Vec::new();
    let mut start = 0;
    for (at, _) in row.match_indices('|').filter(|(at, _)| !row[..*at].ends_with('\\')) {
        cells.push(row[start..at].trim());
        start = at + 1;
    }
    cells.push(row[start..].trim());
    cells.retain(|cell| !cell.is_empty());
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, String)> {
        let paragraphs = paragraphs((1..).zip(text.lines()));
        paragraphs.into_iter().map(|it| (it.line, it.text)).collect()
    }

    fn expected(paragraphs: &[(usize, &str)]) -> Vec<(usize, String)> {
        paragraphs.iter().map(|(line, text)| (*line, (*text).to_owned())).collect()
    }

    #[test]
    fn an_empty_line_ends_a_paragraph() {
        assert_eq!(read("a\nb\n\n> c\n> d"), expected(&[(1, "a\nb"), (4, "c\nd")]));
    }

    #[test]
    fn each_list_item_is_a_paragraph() {
        let text = "- a\n  b\n2. c\n* d\n-e";
        assert_eq!(read(text), expected(&[(1, "a\nb"), (3, "c"), (4, "d\n-e")]));
    }

    #[test]
    fn each_table_cell_is_a_paragraph() {
        let text = "| a | b \\| c |\n|---|:--|\n| | d |";
        assert_eq!(read(text), expected(&[(1, "a"), (1, "b \\| c"), (3, "d")]));
    }

    #[test]
    fn a_heading_is_marked() {
        let paragraphs = paragraphs([(4, "## What follows"), (5, "text")]);
        assert!(paragraphs[0].is_heading);
        assert_eq!(paragraphs[0].text, "What follows");
        assert!(!paragraphs[1].is_heading);
    }

    #[test]
    fn code_blocks_and_link_definitions_are_left_out() {
        assert_eq!(read("a\n```sh\ntold\n```\n[b]: c\nd"), expected(&[(1, "a"), (6, "d")]));
        assert_eq!(read("~~~\ntold\n```\n~~~\nd"), expected(&[(5, "d")]));
    }
}
