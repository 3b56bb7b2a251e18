//! Durations: of ranges, subqueries and offsets. A duration may be an expression with operators of its own.

use super::lexer::Kind;
use super::parser::Parser;
use super::{MAX_NESTED, Refusal};

/// More seconds than fit 63 bits as nanoseconds.
const TOO_LONG: f64 = 9_223_372_036.854_776;
/// The precedences of a sum, a product and a power. `^` is grouped from the right, and a sign before a power applies to
/// the whole power.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const POWER: u8 = 3;

/// The seconds of a duration; `None` for an expression, which Prometheus evaluates later.
type Seconds = Option<f64>;

/// A part whose duration comes next.
enum Pending {
    Parenthesis,
    /// The first argument of `max_of` or `min_of`.
    First,
    /// The second argument of `max_of` or `min_of`.
    Second,
    Sign {
        negates: bool,
    },
    Operator {
        binds: u8,
        divides: bool,
        at: usize,
    },
}

/// The precedence of an operator.
fn precedence(kind: &Kind) -> Option<(u8, bool)> {
    match kind {
        Kind::Symbol("+" | "-") => Some((SUM, false)),
        Kind::Symbol("*") => Some((PRODUCT, false)),
        Kind::Symbol("/" | "%") => Some((PRODUCT, true)),
        Kind::Symbol("^") => Some((POWER, false)),
        _ => None,
    }
}

impl Parser<'_, '_> {
    /// The duration of a range or a step.
    pub(super) fn positive_duration(&mut self) -> Result<(), Refusal> {
        let at = self.next.start;
        if self.duration(Vec::new(), true)?.is_some_and(|seconds| seconds <= 0.0) {
            return Err(self.refusal(at, "a duration of 0 or less is not valid"));
        }
        Ok(())
    }

    /// The duration of an offset. Without parentheses it ends before an operator: `a offset 5m + 2` is a sum.
    pub(super) fn offset_duration(&mut self) -> Result<Seconds, Refusal> {
        let negates = self.next.kind == Kind::Symbol("-");
        if !negates && self.next.kind != Kind::Symbol("+") {
            let is_open = self.next.kind == Kind::Symbol("(");
            return self.duration(Vec::new(), is_open);
        }
        self.advance();
        if matches!(self.next.kind, Kind::Symbol("+" | "-")) {
            return self.duration(vec![Pending::Sign { negates }], true);
        }
        let seconds = self.duration(Vec::new(), false)?;
        Ok(seconds.map(|seconds| if negates { -seconds } else { seconds }))
    }

    /// A duration, with the operators after it if `goes_on`. Operators that wait for an operand are on a stack.
    fn duration(&mut self, mut pending: Vec<Pending>, goes_on: bool) -> Result<Seconds, Refusal> {
        loop {
            if pending.len() > MAX_NESTED {
                return Err(self.too_deep(self.next.start));
            }
            let is_first = pending.is_empty();
            let token = self.advance();
            let mut seconds = match token.kind {
                Kind::Symbol(sign @ ("+" | "-")) if goes_on || !is_first => {
                    pending.push(Pending::Sign { negates: sign == "-" });
                    continue;
                }
                Kind::Symbol("(") => {
                    pending.push(Pending::Parenthesis);
                    continue;
                }
                Kind::Keyword("max_of" | "min_of") => {
                    self.expect("(")?;
                    pending.push(Pending::First);
                    continue;
                }
                Kind::Keyword("step" | "range") => {
                    self.expect("(")?;
                    self.expect(")")?;
                    None
                }
                Kind::Number(seconds) if seconds.abs() > TOO_LONG => {
                    return Err(self.refusal(token.start, "a duration is longer than 292 years"));
                }
                Kind::Number(seconds) => Some(seconds),
                _ => return Err(self.unexpected(&token)),
            };
            if self.is_complete(&mut pending, &mut seconds, goes_on)? {
                return Ok(seconds);
            }
        }
    }

    /// Reads the part after a duration. Returns whether the duration is complete, or another duration must follow.
    fn is_complete(
        &mut self,
        pending: &mut Vec<Pending>,
        seconds: &mut Seconds,
        goes_on: bool,
    ) -> Result<bool, Refusal> {
        loop {
            if pending.is_empty() && !goes_on {
                return Ok(true);
            }
            if let Some((binds, divides)) = precedence(&self.next.kind) {
                self.reduce_durations(pending, seconds, binds)?;
                let at = self.advance().start;
                pending.push(Pending::Operator { binds, divides, at });
                return Ok(false);
            }
            self.reduce_durations(pending, seconds, 0)?;
            match pending.pop() {
                None => return Ok(true),
                Some(Pending::First) => {
                    self.expect(",")?;
                    pending.push(Pending::Second);
                    return Ok(false);
                }
                Some(_) => {
                    self.expect(")")?;
                    *seconds = None;
                }
            }
        }
    }

    /// Completes the pending parts that bind the last duration more strongly than the next part, or from the left.
    fn reduce_durations(
        &self,
        pending: &mut Vec<Pending>,
        seconds: &mut Seconds,
        next: u8,
    ) -> Result<(), Refusal> {
        if next >= POWER {
            return Ok(());
        }
        while let Some(last) = pending.last() {
            match last {
                Pending::Sign { negates } => {
                    *seconds = seconds.map(|it| if *negates { -it } else { it });
                }
                Pending::Operator { binds, divides, at } if *binds >= next => {
                    if *divides && *seconds == Some(0.0) {
                        return Err(self.refusal(*at, "a duration is divided by 0"));
                    }
                    *seconds = None;
                }
                _ => break,
            }
            pending.pop();
        }
        Ok(())
    }
}
