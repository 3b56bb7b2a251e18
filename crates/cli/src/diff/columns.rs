//! A table as wide as the terminal. Cells are broken into lines. Names that are still too wide are cut, so that
//! different names still differ.

use crate::shortening::distinguished;
use crate::text_width::{display_width, padded};
use crate::wrapping::{widest_part, wrapped};

/// The number of columns.
const COUNT: usize = 8;

/// The columns that contain names: the first and the last.
const NAME_COLUMNS: [usize; 2] = [0, COUNT - 1];

const GAP: &str = "  ";

/// The maximum width of a column, so that a long name does not move the other columns out of sight.
const MAX_WIDTH: usize = 60;

/// The minimum width to which names are cut.
const MIN_NAME_WIDTH: usize = 20;

/// The lines of each row; `None` if the values do not fit next to each other.
pub(super) fn laid_out(rows: &[[String; COUNT]], width: usize) -> Option<Vec<Vec<String>>> {
    let widths = widths(rows, width)?;
    let mut rows = rows.to_vec();
    for column in NAME_COLUMNS {
        cut_names(&mut rows, column, widths[column]);
    }
    Some(rows.iter().map(|row| lines(row, &widths)).collect())
}

/// The width of each column. The widest column shrinks until all fit, down to its widest word.
fn widths(rows: &[[String; COUNT]], width: usize) -> Option<[usize; COUNT]> {
    let most = |column: usize, width: fn(&str) -> usize| {
        rows.iter().map(|row| width(&row[column])).max().unwrap_or_default()
    };
    let least: [usize; COUNT] = std::array::from_fn(|column| {
        let least = most(column, widest_part);
        if NAME_COLUMNS.contains(&column) { least.min(MIN_NAME_WIDTH) } else { least }
    });
    let mut widths: [usize; COUNT] =
        std::array::from_fn(|column| most(column, display_width).min(MAX_WIDTH).max(least[column]));
    let available = width.saturating_sub(GAP.len() * (COUNT - 1));
    while widths.iter().sum::<usize>() > available {
        let shrinks = (0..COUNT).filter(|column| widths[*column] > least[*column]);
        let widest = shrinks.max_by_key(|column| widths[*column])?;
        widths[widest] -= 1;
    }
    Some(widths)
}

/// Cuts the words that are wider than their column.
fn cut_names(rows: &mut [[String; COUNT]], column: usize, width: usize) {
    let words: Vec<String> =
        rows.iter().flat_map(|row| row[column].split(' ')).map(str::to_owned).collect();
    let mut short = distinguished(&words, width).into_iter();
    for row in rows {
        let count = row[column].split(' ').count();
        row[column] = short.by_ref().take(count).collect::<Vec<_>>().join(" ");
    }
}

fn lines(row: &[String; COUNT], widths: &[usize; COUNT]) -> Vec<String> {
    let cells: Vec<Vec<String>> =
        row.iter().zip(widths).map(|(cell, width)| wrapped(cell, *width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let line = |index: usize| {
        let parts = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| padded(cell.get(index).map_or("", String::as_str), *width));
        parts.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(names: [&str; 2]) -> Vec<[String; COUNT]> {
        let when = "Sat 08:00 to Mon 08:00, each week";
        let row = |name: &str| {
            let target = &*format!("Deployment.apps default/{name}");
            let set_by = &*format!("hours {name} → hours {name}");
            [target, "replicas", when, "10", "2", "-384", "", set_by].map(str::to_owned)
        };
        names.map(row).to_vec()
    }

    #[test]
    fn a_table_that_fits_has_a_line_for_each_row() {
        let all = laid_out(&rows(["web", "shop"]), 200).unwrap();
        assert!(all.iter().all(|lines| lines.len() == 1), "{all:?}");
        assert!(
            all[0][0].starts_with("Deployment.apps default/web   replicas  Sat 08:00"),
            "{all:?}"
        );
    }

    #[test]
    fn a_narrow_table_breaks_cells_between_words_and_cuts_no_value() {
        let all = laid_out(&rows(["web", "東京"]), 80).unwrap();
        for lines in &all {
            assert!(lines.iter().all(|line| display_width(line) <= 80), "{all:?}");
            let words: Vec<&str> = lines.iter().flat_map(|it| it.split_whitespace()).collect();
            for word in ["Deployment.apps", "replicas", "10", "2", "-384", "each", "hours"] {
                assert!(words.contains(&word), "{word}: {all:?}");
            }
        }
    }

    #[test]
    fn long_names_are_cut_and_differ() {
        let long = "n".repeat(250);
        let (one, other) = (format!("{long}-one"), format!("{long}-two"));
        let all = laid_out(&rows([&one, &other]), 100).unwrap();
        assert!(all.iter().flatten().all(|line| display_width(line) <= 100), "{all:?}");
        assert_ne!(all[0], all[1]);
    }

    #[test]
    fn a_table_whose_values_do_not_fit_has_no_layout() {
        for width in [0, 1, 10, 20, 40] {
            assert!(laid_out(&rows(["web", "shop"]), width).is_none(), "{width}");
        }
    }
}
