//! The queries and expressions of policies in messages for a user: users copy them, so no line is broken inside one.
//!
//! Messages contain the formulas unchanged, among other words. `wrapping` decides the line breaks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::drawing::UNBROKEN;
use crate::input::Input;

/// All formulas with a space, by the text before the first space, the longest first.
#[derive(Default)]
pub(crate) struct Formulas(BTreeMap<String, Vec<String>>);

impl Formulas {
    /// The formulas of the policies of all places.
    pub(crate) fn for_input(input: &Input) -> Formulas {
        let mut all = Formulas::default();
        for place in &input.places {
            for scaling in
                place.world.metric_scaling.policies.values().filter_map(|it| it.policy.as_ref())
            {
                scaling.metrics.iter().for_each(|metric| all.add(&metric.query.text));
            }
            for placement in
                place.world.placement.policies.values().filter_map(|it| it.policy.as_ref())
            {
                let expressions = placement.predicates.iter().flat_map(|it| it.expressions.iter());
                expressions.for_each(|expression| all.add(&expression.to_string()));
            }
        }
        for formulas in all.0.values_mut() {
            formulas.sort_unstable_by_key(|it| Reverse(it.len()));
        }
        all
    }

    fn add(&mut self, formula: &str) {
        let Some((first, _)) = formula.split_once(' ') else { return };
        let known = self.0.entry(first.to_owned()).or_default();
        if !known.iter().any(|it| it == formula) {
            known.push(formula.to_owned());
        }
    }

    /// The text with spaces inside formulas marked as unbreakable.
    pub(crate) fn kept_whole(&self, text: &str) -> String {
        let mut kept = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let first = rest.split(' ').next().unwrap_or_default();
            let candidates = self.0.get(first).into_iter().flatten();
            let known = candidates.map(String::as_str).find(|it| rest.starts_with(*it));
            let (word, after) = rest.split_at(known.unwrap_or(first).len());
            kept.extend(word.chars().map(|letter| if letter == ' ' { UNBROKEN } else { letter }));
            rest = after.trim_start_matches(' ');
            kept.push_str(&after[..after.len() - rest.len()]);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_inside_a_formula_do_not_break_a_line_and_others_do() {
        let mut formulas = Formulas::default();
        let long = "sum(a) / sum(b{c=\"d e\"})";
        for formula in [long, "sum(a) / 2", "up"] {
            formulas.add(formula);
        }
        let shown = |text: &str| formulas.kept_whole(text).replace(UNBROKEN, "_");
        let whole = long.replace(' ', "_");
        assert_eq!(
            shown(&format!("web: {long} is 3,  at most")),
            format!("web: {whole} is 3,  at most")
        );
        assert_eq!(shown(&format!("{long}; sum(a) / 2")), format!("{whole}; sum(a)_/_2"));
        for text in ["sum(a) is 3", " up / 2 ", ""] {
            assert_eq!(shown(text), text);
        }
    }
}
