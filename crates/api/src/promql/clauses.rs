//! The clauses of an operand or an operator: label matchers, modifiers of time, and lists of labels.

use super::lexer::{Kind, Token, excerpt};
use super::parser::{Modifiers, Parser, Shape};
use super::{Comparison, METRIC_NAME, Matcher, Node, Refusal, Selector, Type};

/// More seconds than fit 63 bits.
const TOO_LATE: f64 = 9_223_372_036_854_775_808.0;

/// The matching of the elements of two operands.
#[derive(Default)]
pub(super) struct Matching {
    pub(super) is_bool: bool,
    /// The labels of `on` (true) or `ignoring` (false).
    pub(super) labels: Option<(bool, Vec<String>)>,
    /// The labels of `group_left` or `group_right`.
    pub(super) group: Option<Vec<String>>,
    pub(super) fills: bool,
}

impl Matching {
    pub(super) fn matches_labels(&self) -> bool {
        self.labels.is_some() || self.fills
    }
}

impl Parser<'_, '_> {
    /// A selector, from after the brace or the name.
    pub(super) fn selector(&mut self, start: usize, name: Option<&str>) -> Result<(), Refusal> {
        let mut matchers = Vec::new();
        let mut selects_all = name.is_none();
        if name.is_none() || self.take("{") {
            while !self.take("}") {
                let (matcher, matches_empty) = self.matcher()?;
                matchers.push(matcher);
                selects_all &= matches_empty;
                if !self.take(",") {
                    self.expect("}")?;
                    break;
                }
            }
        }
        if let Some(name) = name {
            if matchers.iter().any(|matcher| matcher.label == METRIC_NAME) {
                return Err(self.refusal(start, "the name of the metric is there twice"));
            }
            matchers.push(Matcher::for_name(name.to_owned()));
        }
        if selects_all {
            self.unselective.push(start);
        }
        let shape = Shape::Selector { has_name: name.is_some(), modifiers: Modifiers::default() };
        let node = Node::Selector(Selector { matchers, is_modified: false });
        self.push(Type::Vector, start, shape, node);
        Ok(())
    }

    /// Parses a label matcher, and returns whether it selects series without the label.
    fn matcher(&mut self) -> Result<(Matcher, bool), Refusal> {
        let token = self.advance();
        let (label, may_be_metric) = match token.kind {
            Kind::Name => (self.text[token.start..token.end].to_owned(), false),
            Kind::Text { value, .. } => (value, true),
            _ => return Err(self.unexpected(&token)),
        };
        let comparison = match self.next.kind {
            Kind::Symbol("=") => Comparison::Equals,
            Kind::Symbol("!=") => Comparison::Differs,
            Kind::Symbol("=~") => Comparison::Matches,
            Kind::Symbol("!~") => Comparison::MatchesNot,
            _ if may_be_metric => {
                let is_empty = label.is_empty();
                return Ok((Matcher::for_name(label), is_empty));
            }
            _ => return Err(self.unexpected(&self.next)),
        };
        self.advance();
        let token = self.advance();
        let Kind::Text { value, is_utf8 } = token.kind else {
            return Err(self.unexpected(&token));
        };
        let matches_empty = match comparison {
            Comparison::Equals => value.is_empty(),
            Comparison::Differs => !value.is_empty(),
            Comparison::Matches | Comparison::MatchesNot => {
                let checked = if is_utf8 { self.patterns.matches_empty(&value) } else { None };
                let Some(matches_empty) = checked else {
                    let message = format!("{} is not a regular expression", excerpt(&value));
                    return Err(self.refusal(token.start, &message));
                };
                let negates = comparison == Comparison::MatchesNot;
                matches_empty.is_some_and(|matches_empty| matches_empty != negates)
            }
        };
        Ok((Matcher { label, comparison, value }, matches_empty))
    }

    /// Labels in parentheses.
    fn labels(&mut self) -> Result<Vec<String>, Refusal> {
        let mut labels = Vec::new();
        self.expect("(")?;
        while !self.take(")") {
            let token = self.advance();
            labels.push(match token.kind {
                // `without` is the only keyword that must be quoted here.
                Kind::Keyword("without") => return Err(self.unexpected(&token)),
                Kind::Name | Kind::Keyword(_) => self.text[token.start..token.end].to_owned(),
                Kind::Text { value, is_utf8: true } if !value.is_empty() => value,
                _ => return Err(self.unexpected(&token)),
            });
            if !self.take(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(labels)
    }

    pub(super) fn groups_next(&self) -> bool {
        matches!(self.next.kind, Kind::Keyword("by" | "without"))
    }

    /// Parses the labels by which an aggregation groups, and returns whether it groups.
    pub(super) fn grouping(&mut self) -> Result<bool, Refusal> {
        let groups = self.groups_next();
        if groups {
            self.advance();
            self.labels()?;
        }
        Ok(groups)
    }

    /// The clauses after an operator between two operands.
    pub(super) fn matching(&mut self) -> Result<Matching, Refusal> {
        let mut matching = Matching { is_bool: self.take("bool"), ..Matching::default() };
        let is_on = self.take("on");
        if is_on || self.take("ignoring") {
            matching.labels = Some((is_on, self.labels()?));
            if self.take("group_left") || self.take("group_right") {
                let has_labels = self.next.kind == Kind::Symbol("(");
                matching.group = Some(if has_labels { self.labels()? } else { Vec::new() });
            }
        }
        let sides = [("fill", ""), ("fill_left", "fill_right"), ("fill_right", "fill_left")];
        if let Some((_, other)) = sides.into_iter().find(|(side, _)| self.take(side)) {
            self.fill_value()?;
            if self.take(other) {
                self.fill_value()?;
            }
            matching.fills = true;
        }
        Ok(matching)
    }

    fn fill_value(&mut self) -> Result<(), Refusal> {
        self.expect("(")?;
        self.number_without_sign()?;
        self.expect(")")
    }

    /// Parses a number, and ignores its sign, which has no effect here.
    fn number_without_sign(&mut self) -> Result<f64, Refusal> {
        let _ = self.take("+") || self.take("-");
        let token = self.advance();
        let Kind::Number(number) = token.kind else { return Err(self.unexpected(&token)) };
        Ok(number)
    }

    /// `[5m]` or `[1h:5m]`.
    pub(super) fn range(&mut self) -> Result<(), Refusal> {
        let at = self.advance().start;
        self.positive_duration()?;
        let is_subquery = self.take(":");
        if is_subquery && self.next.kind != Kind::Symbol("]") {
            self.positive_duration()?;
        }
        self.expect("]")?;
        let Some(operand) = self.operands.last_mut() else { return Ok(()) };
        if is_subquery {
            if operand.result != Type::Vector {
                let message = format!("a subquery of {} is not possible", operand.result);
                return Err(self.refusal(at, &message));
            }
            (operand.result, operand.shape) = (Type::Range, Shape::Subquery(Modifiers::default()));
            self.nodes.push(Node::Subquery);
            return Ok(());
        }
        let message = match operand.shape {
            Shape::Selector { modifiers, .. }
                if !modifiers.has_offset && !modifiers.has_instant =>
            {
                (operand.result, operand.shape) = (Type::Range, Shape::Range(modifiers));
                if let Some(Node::Selector(selector)) = self.nodes.pop() {
                    self.nodes.push(Node::Range(selector));
                }
                return Ok(());
            }
            Shape::Selector { .. } => "'offset' and '@' come after a range",
            _ => "a range is only possible after a selector; '[5m:]' is a subquery",
        };
        Err(self.refusal(at, message))
    }

    /// `offset 5m`. An offset of 0 is treated as absent.
    pub(super) fn offset(&mut self) -> Result<(), Refusal> {
        let word = self.advance();
        let seconds = self.offset_duration()?;
        let is_zero = seconds.is_some_and(|seconds| (seconds * 1e9).round() == 0.0);
        self.modify(&word, |modifiers| {
            let is_first = !modifiers.has_offset;
            modifiers.has_offset |= !is_zero;
            is_first
        })
    }

    /// `@ 1609746000` or `@ end()`.
    pub(super) fn at_modifier(&mut self) -> Result<(), Refusal> {
        let word = self.advance();
        let is_boundary = self.take("start") || self.take("end");
        if is_boundary {
            self.expect("(")?;
            self.expect(")")?;
        } else {
            let at = self.next.start;
            let seconds = self.number_without_sign()?;
            if seconds.is_nan() || seconds >= TOO_LATE {
                return Err(self.refusal(at, "the time after '@' is out of bounds"));
            }
        }
        self.modify(&word, |modifiers| {
            modifiers.has_instant |= !is_boundary;
            !std::mem::replace(&mut modifiers.has_at, true)
        })
    }

    /// `anchored` or `smoothed`, which do not apply to a subquery.
    pub(super) fn edges(&mut self, edges: &'static str) -> Result<(), Refusal> {
        let word = self.advance();
        let is_subquery =
            matches!(self.operands.last().map(|it| it.shape), Some(Shape::Subquery(_)));
        self.modify(&word, |modifiers| {
            let known = *modifiers.edges.get_or_insert(edges);
            known == edges && !is_subquery
        })
    }

    /// Changes the modifiers of the last operand, if it accepts another modifier.
    fn modify(
        &mut self,
        word: &Token,
        change: impl FnOnce(&mut Modifiers) -> bool,
    ) -> Result<(), Refusal> {
        let shape = self.operands.last_mut().map(|operand| &mut operand.shape);
        let Some(
            Shape::Selector { modifiers, .. }
            | Shape::Range(modifiers)
            | Shape::Subquery(modifiers),
        ) = shape
        else {
            let why = "is only possible directly after a selector, a range or a subquery";
            let message = format!("'{}' {why}", &self.text[word.start..word.end]);
            return Err(self.refusal(word.start, &message));
        };
        if !change(modifiers) {
            return Err(self.unexpected(word));
        }
        if let Some(Node::Selector(selector) | Node::Range(selector)) = self.nodes.last_mut() {
            selector.is_modified = true;
        }
        Ok(())
    }
}

impl Matcher {
    fn for_name(value: String) -> Matcher {
        let (label, comparison) = (METRIC_NAME.to_owned(), Comparison::Equals);
        Matcher { label, comparison, value }
    }
}
