//! The length of sentences and paragraphs.

/// The maximum length of a sentence in words. The goal is 25 words.
const MAX_WORDS: usize = 35;
const MAX_SENTENCES: usize = 6;

/// Abbreviations that end with a period and end no sentence.
const ABBREVIATIONS: [&str; 10] =
    ["e.g.", "i.e.", "etc.", "vs.", "cf.", "approx.", "resp.", "No.", "Fig.", "St."];

/// A sentence, or a paragraph, that is too long.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooLong {
    /// The start in the paragraph, in bytes.
    pub(crate) at: usize,
    /// `40 words`, `7 sentences`.
    pub(crate) length: String,
    pub(crate) advice: &'static str,
}

/// Checks a paragraph without markup.
pub(crate) fn check(text: &str) -> Vec<TooLong> {
    let mut found = Vec::new();
    let mut sentences = 0;
    let (mut start, mut words) = (0, 0);
    let mut chunks = chunks(text).peekable();
    while let Some((at, chunk)) = chunks.next() {
        if words == 0 {
            start = at;
        }
        words += count_words(chunk);
        let next = chunks.peek().map(|(_, next)| *next);
        if words == 0 || !next.is_none_or(|next| ends_between(chunk, next)) {
            continue;
        }
        sentences += 1;
        if words > MAX_WORDS {
            let advice = "split the sentence; at most 35 words, better 25";
            found.push(TooLong { at: start, length: format!("{words} words"), advice });
        }
        words = 0;
    }
    if sentences > MAX_SENTENCES {
        let advice = "split the paragraph; at most 6 sentences";
        found.push(TooLong { at: 0, length: format!("{sentences} sentences"), advice });
    }
    found
}

/// The chunks between spaces, with their offsets. Removed markup alone is not a chunk.
fn chunks(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let start = text.as_ptr().addr();
    let is_seen = |chunk: &&str| chunk.contains(|it| it != '\0');
    let chunks = text.split_whitespace().filter(is_seen);
    chunks.map(move |chunk| (chunk.as_ptr().addr() - start, chunk))
}

/// Whether a sentence ends between two chunks: after `.`, `!` or `?`, if a capital or a digit
/// follows. Brackets and quotes around do not count.
fn ends_between(chunk: &str, next: &str) -> bool {
    if chunk.ends_with('|') {
        return true;
    }
    let end = chunk.trim_end_matches(['"', '\'', ')', ']', '*', '_', '\0']);
    let opening = next.trim_start_matches(['"', '\'', '(', '[', '*', '_', '`', '\0']);
    let is_abbreviation =
        ABBREVIATIONS.contains(&chunk.trim_start_matches(['"', '\'', '(', '[', '*', '\0']));
    end.ends_with(['.', '!', '?'])
        && !is_abbreviation
        && opening.starts_with(|it: char| it.is_ascii_uppercase() || it.is_ascii_digit())
}

/// Words start with a letter or a digit. Marks inside of a word do not split the word: `a-b`, `a/b`, `1.5`.
fn count_words(chunk: &str) -> usize {
    let is_inner = |it: char| {
        it.is_alphanumeric() || matches!(it, '_' | '\'' | '’' | '-' | '.' | '/' | ':' | '\0')
    };
    chunk
        .split(|it| !is_inner(it))
        .filter(|part| part.contains(|it: char| it.is_ascii_alphanumeric()))
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(text: &str) -> Vec<String> {
        check(text).into_iter().map(|it| it.length).collect()
    }

    #[test]
    fn a_sentence_over_35_words_is_too_long() {
        let words = |count| vec!["word"; count].join(" ");
        assert_eq!(lengths(&format!("{}.", words(35))), [""; 0]);
        assert_eq!(lengths(&format!("{}.", words(36))), ["36 words"]);
        assert_eq!(lengths(&format!("{}. A {}.", words(35), words(34))), [""; 0]);
        assert_eq!(lengths(&format!("{}. a {}.", words(20), words(20))), ["41 words"]);
    }

    #[test]
    fn a_long_sentence_is_reported_at_its_start() {
        let found = check(&format!("One. Two {}.", vec!["word"; 36].join("\n")));
        assert_eq!(found[0].at, 5);
    }

    #[test]
    fn a_paragraph_over_6_sentences_is_too_long() {
        assert_eq!(lengths("A. B! C? (D.) \"E.\" F."), [""; 0]);
        assert_eq!(lengths("A. B! C? (D.) \"E.\" F. G."), ["7 sentences"]);
        assert_eq!(lengths("A, e.g. B. i.e. C. 1. 2. 3."), [""; 0]);
    }

    #[test]
    fn words_are_counted_as_a_reader_does() {
        assert_eq!(count_words("a-b/c:1.5"), 1);
        assert_eq!(count_words("(a,b)"), 2);
        assert_eq!(count_words("—"), 0);
        assert_eq!(count_words("user’s"), 1);
    }
}
