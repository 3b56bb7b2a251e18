//! The differences as one page that needs no network and runs no script: a paragraph and a table.

use std::io::Write;

use almanac_calendar::tzdata_version;
use almanac_forecast::PodHours;

use super::change_groups::ChangeGroup;
use super::jobs::JobChange;
use super::question::Question;
use super::table::{HEADS, hours_of};
use super::words::{incomplete, lines, peaks, period, rendered, sentence, values};
use crate::invisible::printable;
use crate::markup::escaped;

const STYLE: &str = include_str!("page/page.css");

pub(super) fn write(question: &Question<'_>, output: &mut impl Write) -> anyhow::Result<bool> {
    let (changes, summary, assumptions) = question.changes()?;
    let sides = escaped_text(&format!("{} → {}", question.old.name, question.new.name));
    write!(
        output,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" \
         content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <link rel=\"icon\" href=\"data:,\">\n\
         <title>Difference: {sides}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    )?;
    writeln!(output, "<h1>{sides}</h1>")?;
    writeln!(
        output,
        "<p class=\"period\">{}, tzdata {}</p>",
        escaped_text(&period(question)),
        tzdata_version()
    )?;
    if let Some(sentences) = incomplete(question) {
        writeln!(output, "<p class=\"incomplete\">{}</p>", escaped_text(&sentences))?;
    }
    writeln!(
        output,
        "<p class=\"summary\">{}</p>",
        escaped_text(&summary.sentence(&question.jobs.parts(), question.period))
    )?;
    if let Some(text) = rendered(question) {
        writeln!(output, "<p>{}</p>", escaped_text(&text))?;
    }
    write_changes(&changes, &question.jobs.changes, output)?;
    let [old, new] = &assumptions;
    for (side, all) in [("old", old), ("new", new)] {
        let head = format!("Assumptions about the {side} files");
        write_list(&head, &lines(all.iter()), output)?;
    }
    for (side, which) in [(question.old, "old"), (question.new, "new")] {
        let all: Vec<String> = side.input.findings.iter().map(|it| side.line_of(it)).collect();
        write_list(&format!("Findings in the {which} files"), &all, output)?;
    }
    write_list("Notes", &question.coverage.notes, output)?;
    writeln!(output, "</body>\n</html>")?;
    Ok(summary.may_differ())
}

/// Text from files, escaped so that nothing in it is markup.
fn escaped_text(text: &str) -> String {
    escaped(&printable(text)).into_owned()
}

fn write_list(head: &str, items: &[String], output: &mut impl Write) -> std::io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(output, "<h2>{head}</h2>\n<ul>")?;
    items.iter().try_for_each(|it| writeln!(output, "<li>{}</li>", escaped_text(it)))?;
    writeln!(output, "</ul>")
}

/// Writes a sentence for each change, and a table of all changes.
fn write_changes(
    changes: &[ChangeGroup],
    jobs: &[JobChange],
    output: &mut impl Write,
) -> std::io::Result<()> {
    if changes.is_empty() && jobs.is_empty() {
        return Ok(());
    }
    writeln!(output, "<ul>")?;
    for change in changes {
        let (title, sentence) = (escaped_text(&change.title()), escaped_text(&sentence(change)));
        writeln!(output, "<li><b>{title}</b>: {sentence}</li>")?;
    }
    for job in jobs {
        let (title, sentence) = (escaped_text(job.title()), escaped_text(&job.sentence()));
        writeln!(output, "<li><b>{title}</b>: {sentence}</li>")?;
    }
    writeln!(
        output,
        "</ul>\n<div class=\"wide\"><table>\n<thead><tr><th>{}</th></tr></thead>",
        HEADS.join("</th><th>")
    )?;
    changes.iter().try_for_each(|change| write_change(change, output))?;
    for job in jobs {
        let cells = job.row().map(|cell| escaped_text(&cell));
        writeln!(output, "<tbody>\n<tr><td>{}</td></tr>\n</tbody>", cells.join("</td><td>"))?;
    }
    writeln!(output, "</table></div>")
}

fn write_change(group: &ChangeGroup, output: &mut impl Write) -> std::io::Result<()> {
    let change = &group.change;
    writeln!(output, "<tbody>")?;
    let count = change.rows.len() + usize::from(change.more > 0);
    for (index, row) in change.rows.iter().enumerate() {
        let (before, after) = values(&row.first);
        write!(output, "<tr>")?;
        if index == 0 {
            let (title, field) = (escaped_text(&group.title()), change.field);
            write!(
                output,
                "<td rowspan=\"{count}\">{title}</td><td rowspan=\"{count}\" class=\"field\">{field}</td>"
            )?;
        }
        let direction = match row.growth.filter(|_| change.growth.is_some()) {
            Some(growth) if growth > PodHours::default() => " class=\"more\"",
            Some(growth) if growth < PodHours::default() => " class=\"less\"",
            _ => "",
        };
        write!(
            output,
            "<td>{}</td><td>{}</td><td>{}</td><td{direction}>{}</td>",
            escaped_text(&row.when),
            escaped_text(&before),
            escaped_text(&after),
            escaped_text(&hours_of(group, row))
        )?;
        if index == 0 {
            write!(output, "<td rowspan=\"{count}\">{}</td>", escaped_text(&peaks(change)))?;
        }
        writeln!(output, "<td>{}</td></tr>", escaped_text(&group.set_by(row)))?;
    }
    if change.more > 0 {
        writeln!(output, "<tr><td colspan=\"4\">and {} more</td><td></td></tr>", change.more)?;
    }
    writeln!(output, "</tbody>")
}
