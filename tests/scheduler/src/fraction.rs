//! Exact fractions, for the scores.

use std::ops::{Div, Mul, Sub};

/// A fraction, never reduced: the terms of scores are far below the limits of the integers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fraction {
    above: i128,
    /// The denominator, never zero.
    below: i128,
}

impl Fraction {
    pub(crate) fn whole(number: i128) -> Fraction {
        Fraction { above: number, below: 1 }
    }

    /// The integer part: truncates towards zero.
    pub(crate) fn trunc(self) -> i128 {
        self.above / self.below
    }
}

impl Sub for Fraction {
    type Output = Fraction;

    fn sub(self, other: Fraction) -> Fraction {
        Fraction {
            above: self.above * other.below - other.above * self.below,
            below: self.below * other.below,
        }
    }
}

impl Mul for Fraction {
    type Output = Fraction;

    fn mul(self, other: Fraction) -> Fraction {
        Fraction { above: self.above * other.above, below: self.below * other.below }
    }
}

impl Div for Fraction {
    type Output = Fraction;

    fn div(self, other: Fraction) -> Fraction {
        Fraction { above: self.above * other.below, below: self.below * other.above }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fraction_is_truncated_towards_zero() {
        let half = Fraction::whole(1) / Fraction::whole(2);
        let scaled = |above, below| {
            let ratio = Fraction::whole(above) / Fraction::whole(below);
            ((ratio - half) * Fraction::whole(200)).trunc()
        };
        assert_eq!([scaled(6, 10), scaled(1, 3), scaled(2, 3), scaled(0, 7)], [20, -33, 33, -100]);
    }
}
