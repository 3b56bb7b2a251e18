//! The size of a pattern: the cost of compiling it, and of comparing a text with it.

/// The maximum number of repetitions of a part, including the enclosing repetitions.
const MAX_REPEATED: usize = 1000;

/// The size of a pattern, or of a part of it, multiplied by its repetitions.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Size {
    /// The number of characters of the pattern, and of the transitions between them: a character of a string is
    /// compared with all of these at worst.
    pub(super) letters: usize,
    /// The steps to compile the pattern.
    pub(super) steps: usize,
}

impl Size {
    pub(super) const LETTER: Size = Size { letters: 1, steps: 20 };
    /// A letter in either case.
    pub(super) const FOLDED_LETTER: Size = Size { letters: 1, steps: 80 };
    /// A place between letters.
    pub(super) const ANCHOR: Size = Size { letters: 1, steps: 40 };
    /// A class of a few ranges.
    pub(super) const CLASS: Size = Size { letters: 1, steps: 100 };
    /// A class of Unicode, of some hundreds of ranges.
    pub(super) const UNICODE_CLASS: Size = Size { letters: 32, steps: 6_000 };
    /// An element that leads from letters to others: a group, another alternative, a repetition.
    pub(super) const PUNCTUATION: Size = Size { letters: 1, steps: 20 };

    pub(super) fn plus(self, other: Size) -> Size {
        Size {
            letters: self.letters.saturating_add(other.letters),
            steps: self.steps.saturating_add(other.steps),
        }
    }

    fn times(self, times: usize) -> Size {
        Size {
            letters: self.letters.saturating_mul(times),
            steps: self.steps.saturating_mul(times),
        }
    }
}

/// The last letter of Unicode that has an upper and a lower case.
const LAST_IN_CASES: u32 = 0x1_e943;

/// The steps to find every letter from one to another in either case, which looks at them one by one.
pub(super) fn steps_to_fold(start: u32, end: u32) -> usize {
    let is_before = |letter: u32| letter.min(LAST_IN_CASES + 1);
    let in_cases = is_before(end + 1) - is_before(start);
    let others = end + 1 - start - in_cases;
    usize::try_from(in_cases / 3 + others / 24).unwrap_or(usize::MAX)
}

/// The part of a group so far.
#[derive(Default)]
pub(super) struct Group {
    /// The operand of the next repetition.
    pub(super) last: Option<Atom>,
    pub(super) size: Size,
    /// The maximum number of repetitions of a part of the group.
    pub(super) repeated: usize,
}

/// An operand of a repetition.
pub(super) struct Atom {
    pub(super) size: Size,
    pub(super) repeated: usize,
    pub(super) is_repeated: bool,
}

impl Atom {
    pub(super) fn from_size(size: Size) -> Atom {
        Atom { size, repeated: 1, is_repeated: false }
    }
}

impl Group {
    pub(super) fn push(&mut self, atom: Atom) {
        self.end_atom();
        self.last = Some(atom);
    }

    /// Repeats what is last, which no other repetition does, so often at least and at most.
    pub(super) fn repeat(&mut self, least: usize, most: Option<usize>) -> Option<()> {
        let atom = self.last.as_mut().filter(|atom| !atom.is_repeated)?;
        let times = most.unwrap_or(least);
        let is_known = least <= times && times <= MAX_REPEATED;
        atom.is_repeated = true;
        atom.repeated = atom.repeated.saturating_mul(times.max(1));
        atom.size = atom.size.times(times.max(1)).plus(Size::PUNCTUATION);
        (is_known && atom.repeated <= MAX_REPEATED).then_some(())
    }

    pub(super) fn add(&mut self, size: Size) {
        self.size = self.size.plus(size);
    }

    pub(super) fn end_atom(&mut self) {
        if let Some(Atom { size, repeated, .. }) = self.last.take() {
            self.add(size);
            self.repeated = self.repeated.max(repeated);
        }
    }
}
