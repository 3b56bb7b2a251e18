//! The assumptions of a forecast, in lines. A program receives all assumptions. A user sees similar assumptions in
//! one line, and only the first of many.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::mem;

use almanac_forecast::{Assumption, Sentence, merge_sentences};

use super::question::{Assumptions, Question};
use crate::cron_jobs;
use crate::drawing;
use crate::invisible::printable;

/// The maximum number of lines of one kind for a user; further lines are counted.
const MAX_LINES: usize = 5;

/// Sentences of one kind, each with the prefix that names its places.
type Sort = Vec<(String, Sentence)>;

impl Question<'_> {
    /// All assumptions of the forecast, each once, with its places.
    pub(super) fn assumptions(&self, found: &Assumptions) -> Vec<String> {
        let all = self.sorts_of_assumptions(found, true).into_iter().flatten();
        all.map(|(places, (_, sentence))| format!("{places}{sentence}")).collect()
    }

    /// The assumptions for a user: similar assumptions about several objects of the same places are one line. Of many
    /// similar lines, only the first are listed, with the number of omitted lines. A document that is kept also
    /// contains the notes on unreadable objects; otherwise standard error has them.
    pub(super) fn assumptions_in_short(&self, found: &Assumptions, is_kept: bool) -> Vec<String> {
        let shortened = |sort: Sort| {
            let mut of_places: BTreeMap<String, Vec<Sentence>> = BTreeMap::new();
            for (places, sentence) in sort {
                of_places.entry(places).or_default().push(sentence);
            }
            let lines = of_places.into_iter().flat_map(|(places, sentences)| {
                merge_sentences(sentences).into_iter().map(move |it| format!("{places}{it}"))
            });
            let mut lines: Vec<String> = lines.collect();
            let more = lines.len().saturating_sub(MAX_LINES);
            if more > 1 {
                lines.truncate(MAX_LINES);
                lines.push(format!("and {more} more like these (-o json lists them all)"));
            }
            lines
        };
        self.sorts_of_assumptions(found, is_kept).into_iter().flat_map(shortened).collect()
    }

    /// Writes the assumptions to standard error, for an output that cannot contain them.
    pub(super) fn report_assumptions(&self, found: &Assumptions) -> io::Result<()> {
        let mut standard_error = drawing::standard_error();
        for assumption in self.assumptions_in_short(found, false) {
            writeln!(standard_error, "assumed: {}", printable(&assumption))?;
        }
        Ok(())
    }

    /// Groups assumptions that differ only in their object.
    fn sorts_of_assumptions(&self, found: &Assumptions, has_unseen: bool) -> Vec<Sort> {
        let mut places: BTreeMap<&Assumption, Vec<usize>> = BTreeMap::new();
        for (assumption, place) in found {
            places.entry(assumption).or_default().push(*place);
        }
        let mut sorts: Vec<(mem::Discriminant<Assumption>, Sort)> = Vec::new();
        for (assumption, places) in places {
            let assumed = (self.in_places(&places), assumption.sentence());
            let sort = mem::discriminant(assumption);
            match sorts.last_mut().filter(|(known, _)| *known == sort) {
                Some((_, sentences)) => sentences.push(assumed),
                None => sorts.push((sort, vec![assumed])),
            }
        }
        let unseen = self.input.unseen.iter().filter(|_| has_unseen);
        let unseen = unseen.map(|it| (String::new(), (None, it.clone())));
        let input = [self.assumed_of_places(), unseen.collect()];
        sorts.into_iter().map(|(_, sentences)| sentences).chain(input).collect()
    }

    /// The assumptions about whole places, about omitted objects, and about `CronJobs`.
    fn assumed_of_places(&self) -> Sort {
        let mut all: Vec<(Sentence, Vec<usize>)> = Vec::new();
        let mut known: BTreeMap<Sentence, usize> = BTreeMap::new();
        for (number, of_place) in self.forecasts.iter().enumerate() {
            let assumed = of_place.place.assumed.iter().map(|(_, assumed)| assumed);
            let sentences =
                of_place.place.begins.iter().chain(assumed).chain(&of_place.place.left_out);
            let sentences = sentences.map(|it| (None, it.clone()));
            let of_jobs = cron_jobs::notes(of_place.cron_jobs.iter().copied());
            for sentence in sentences.chain(of_jobs) {
                let index = *known.entry(sentence.clone()).or_insert(all.len());
                match all.get_mut(index) {
                    Some((_, places)) if places.last() == Some(&number) => {}
                    Some((_, places)) => places.push(number),
                    None => all.push((sentence, vec![number])),
                }
            }
        }
        all.into_iter().map(|(sentence, places)| (self.in_places(&places), sentence)).collect()
    }
}
