//! Durations: of ranges, subqueries and offsets. A duration may be an expression with operators of its own.

use super::lexer::Kind;
use super::parser::Parser;
use super::{MOST_NESTED, Refusal};

/// More seconds than 63 bits hold as nanoseconds.
const TOO_LONG: f64 = 9_223_372_036.854_776;
/// How strongly a sum binds, a product, and `^`, before which a sign comes.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const POWER: u8 = 3;

/// The seconds of a duration; `None` for an expression, which Prometheus evaluates later.
type Seconds = Option<f64>;

impl Parser<'_> {
    /// The duration of a range or a step.
    pub(super) fn positive_duration(&mut self) -> Result<(), Refusal> {
        let at = self.next.start;
        if self.duration(SUM, 0)?.is_some_and(|seconds| seconds <= 0.0) {
            return Err(self.refusal(at, "a duration has to be more than 0"));
        }
        Ok(())
    }

    /// The duration of an offset. What is not in parentheses ends before an operator: `a offset 5m + 2` is a sum.
    pub(super) fn offset_duration(&mut self) -> Result<Seconds, Refusal> {
        let negates = self.next.kind == Kind::Symbol("-");
        let is_signed = negates || self.next.kind == Kind::Symbol("+");
        if !is_signed {
            let is_open = self.next.kind == Kind::Symbol("(");
            return if is_open { self.duration(SUM, 0) } else { self.plain_duration(0) };
        }
        self.advance();
        if !matches!(self.next.kind, Kind::Symbol("+" | "-")) {
            let seconds = self.plain_duration(0)?;
            return Ok(seconds.map(|seconds| if negates { -seconds } else { seconds }));
        }
        let seconds = self.duration(POWER, 0)?;
        self.operators(seconds.map(|seconds| if negates { -seconds } else { seconds }), SUM, 0)
    }

    /// A duration up to an operator that binds less than another one.
    fn duration(&mut self, least: u8, depth: usize) -> Result<Seconds, Refusal> {
        if depth == MOST_NESTED {
            return Err(self.too_deep(self.next.start));
        }
        let seconds = match self.next.kind {
            Kind::Symbol(sign @ ("+" | "-")) => {
                self.advance();
                let seconds = self.duration(POWER, depth + 1)?;
                seconds.map(|seconds| if sign == "-" { -seconds } else { seconds })
            }
            _ => self.plain_duration(depth)?,
        };
        self.operators(seconds, least, depth)
    }

    /// A duration without operators, except in brackets.
    fn plain_duration(&mut self, depth: usize) -> Result<Seconds, Refusal> {
        let token = self.advance();
        match token.kind {
            Kind::Number(seconds) if seconds.abs() > TOO_LONG => {
                return Err(self.refusal(token.start, "a duration is longer than 292 years"));
            }
            Kind::Number(seconds) => return Ok(Some(seconds)),
            Kind::Symbol("(") => {
                self.duration(SUM, depth + 1)?;
            }
            Kind::Keyword("step" | "range") => self.expect("(")?,
            Kind::Keyword("max_of" | "min_of") => {
                self.expect("(")?;
                self.duration(SUM, depth + 1)?;
                self.expect(",")?;
                self.duration(SUM, depth + 1)?;
            }
            _ => return Err(self.unexpected(&token)),
        }
        self.expect(")")?;
        Ok(None)
    }

    /// The operators after a duration, and their right sides.
    fn operators(
        &mut self,
        mut seconds: Seconds,
        least: u8,
        depth: usize,
    ) -> Result<Seconds, Refusal> {
        loop {
            let (binds, right) = match self.next.kind {
                Kind::Symbol("+" | "-") => (SUM, PRODUCT),
                Kind::Symbol("*" | "/" | "%") => (PRODUCT, POWER),
                // From the right.
                Kind::Symbol("^") => (POWER, POWER),
                _ => return Ok(seconds),
            };
            if binds < least {
                return Ok(seconds);
            }
            let operator = self.advance();
            let divisor = self.duration(right, depth + 1)?;
            if matches!(operator.kind, Kind::Symbol("/" | "%")) && divisor == Some(0.0) {
                return Err(self.refusal(operator.start, "a duration is divided by 0"));
            }
            seconds = None;
        }
    }
}
