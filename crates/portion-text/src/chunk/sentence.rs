//! Finds the starts of sentences, in any script, from punctuation alone.

use std::ops::Range;

use super::chunker::Line;
use super::{Boundary, BoundaryLevel};

/// Abbreviations after which an upper-case word does not begin a sentence (English, German, French,
/// Spanish; lower case, without the last full stop).
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "art", "bzw", "ca", "capt", "cf", "col", "dr", "e.g", "eq", "fig", "figs", "gen", "gov",
    "hon", "i.e", "inc", "jr", "lib", "lt", "mme", "mr", "mrs", "ms", "mt", "no", "nos", "nr", "pp", "prof",
    "rep", "rev", "sec", "sen", "sgt", "sr", "sra", "st", "u.a", "usw", "viz", "vol", "vs", "z.b", "d.h",
    "abs", "aufl", "bd", "bspw", "chr", "dez", "dipl", "evtl", "feb", "geb", "ggf", "hr", "hrsg", "ing",
    "inkl", "jan", "jh", "jhd", "jur", "med", "mio", "mrd", "okt", "phil", "sept", "sog", "str", "tel",
    "vgl", "zzgl",
];
/// German words before a number with a full stop that is an ordinal: `am 3. Mai`, `im 19. Jahrhundert`.
const BEFORE_ORDINALS: &[&str] = &[
    "ab", "am", "beim", "bis", "das", "dem", "den", "der", "des", "die", "dieses", "im", "ins", "seit",
    "und", "vom", "zum", "zur",
];
/// German words after such a number.
const AFTER_ORDINALS: &[&str] = &[
    "Januar",
    "Jänner",
    "Februar",
    "März",
    "April",
    "Mai",
    "Juni",
    "Juli",
    "August",
    "September",
    "Oktober",
    "November",
    "Dezember",
    "Auflage",
    "Jahrhundert",
    "Kapitel",
    "Klasse",
    "Quartal",
    "Stock",
];
/// Maximum bytes of an abbreviation before a full stop.
const MAX_ABBREVIATION_BYTES: usize = 24;
/// Length in bytes from which a line of a line-based text is treated as running text.
const LONG_LINE_BYTES: usize = 400;

/// Returns the byte offsets of the sentences of a running text, without the first one.
pub fn sentence_starts(text: &str) -> Vec<usize> {
    let mut boundaries = Vec::new();
    mark_sentences(text, 0..text.len(), &mut boundaries);
    boundaries.into_iter().map(|boundary| boundary.offset).collect()
}

/// Adds a boundary at each sentence start in a range, except the first one.
pub(super) fn mark_sentences(text: &str, range: Range<usize>, boundaries: &mut Vec<Boundary>) {
    let mut at = range.start;
    while let Some(c) = text[at..range.end].chars().next() {
        let stop = at;
        at += c.len_utf8();
        if !is_narrow_stop(c) && !is_wide_stop(c) {
            continue;
        }
        let rest = &text[at..range.end];
        let stops = rest.len() - rest.trim_start_matches(|c| is_narrow_stop(c) || is_wide_stop(c)).len();
        let rest = &rest[stops..];
        let closers = closers_len(rest, is_wide_stop(c));
        let rest = &rest[closers..];
        let gap = rest.len() - rest.trim_start().len();
        let Some(next) = rest[gap..].chars().next() else { return };
        let only_dot = c == '.' && stops == 0;
        let ends = if gap == 0 {
            is_wide_stop(c) && (closers == 0 || is_opener(next))
        } else {
            let single = only_dot && closers == 0;
            let (before, after) = (&text[range.start..stop], &rest[gap..]);
            !(next.is_lowercase() || single && (is_abbreviation(before) || is_ordinal(before, after)))
        };
        at += stops + closers + gap;
        if ends {
            // The indentation of the next line belongs to that line.
            let indent = rest[..gap].rfind('\n').map_or(0, |feed| gap - feed - 1);
            boundaries.push(Boundary { offset: at - indent, level: BoundaryLevel::Sentence });
        }
    }
}

/// Adds the sentence boundaries inside each line that is long enough to be running text.
pub(super) fn mark_long_lines<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    text: &str,
    boundaries: &mut Vec<Boundary>,
) {
    for line in lines.filter(|line| line.text.len() >= LONG_LINE_BYTES) {
        mark_sentences(text, line.start..line.start + line.text.len(), boundaries);
    }
}

/// Returns true if a sentence ends in a line or at its end.
pub(super) fn has_sentence_end(line: &Line) -> bool {
    let mut boundaries = Vec::new();
    mark_sentences(line.text, 0..line.text.len(), &mut boundaries);
    is_complete(line.text) || !boundaries.is_empty()
}

/// Returns true if a paragraph ends with a complete sentence.
pub(super) fn is_complete(paragraph: &str) -> bool {
    let content = paragraph.trim_end().trim_end_matches(is_closer);
    content.ends_with(|c| is_narrow_stop(c) || is_wide_stop(c) || matches!(c, ':' | '：'))
}

/// Returns true for stops that end a sentence if white space follows.
fn is_narrow_stop(c: char) -> bool {
    matches!(
        c,
        '.' | '!'
            | '?'
            | '…'
            | '؟'
            | '۔'
            | '।'
            | '॥'
            | '։'
            | '።'
            | '។'
            | '။'
            | '‼'
            | '⁇'
            | '⁉'
            | '⁈'
    )
}

/// Returns true for stops of scripts without spaces between sentences.
fn is_wide_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '．' | '｡')
}

fn is_closer(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | ')'
            | ']'
            | '}'
            | '*'
            | '_'
            | '`'
            | '”'
            | '’'
            | '»'
            | '›'
            | '」'
            | '』'
            | '）'
            | '】'
            | '》'
    )
}

fn is_opener(c: char) -> bool {
    matches!(c, '「' | '『' | '“' | '（' | '【' | '《')
}

/// Counts the bytes of closing quotes and brackets right after a stop, including the space that French
/// puts before `»`. In scripts without spaces between sentences, `“` opens the next one.
fn closers_len(rest: &str, wide: bool) -> usize {
    let closes = |c: char| is_closer(c) || !wide && matches!(c, '“' | '«' | '‹');
    let tail = rest.trim_start_matches(closes);
    let spaced = tail.trim_start_matches([' ', '\u{a0}', '\u{202f}']);
    let quote = spaced.strip_prefix(['»', '›']).filter(|after| after.starts_with(char::is_whitespace));
    rest.len() - quote.unwrap_or(tail).len()
}

/// Returns true if the full stop makes the number before it an ordinal, as in German.
fn is_ordinal(before: &str, after: &str) -> bool {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(MAX_ABBREVIATION_BYTES))..];
    let ahead = near.trim_end_matches(|c: char| c.is_ascii_digit());
    let word = |text: &str| text.rsplit(|c: char| !c.is_alphabetic()).next().map(str::to_lowercase);
    let next = after.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
    matches!(near.len() - ahead.len(), 1 | 2)
        && ahead.ends_with(char::is_whitespace)
        && (AFTER_ORDINALS.contains(&next)
            || word(ahead.trim_end()).is_some_and(|word| BEFORE_ORDINALS.contains(&word.as_str())))
}

/// Returns true if the full stop after this text belongs to its last word: `Dr`, an initial, the number
/// of a list item.
fn is_abbreviation(before: &str) -> bool {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(MAX_ABBREVIATION_BYTES))..];
    let word = &near[near
        .rfind(|c: char| !c.is_alphanumeric() && c != '.')
        .map_or(0, |at| near.ceil_char_boundary(at + 1))..];
    let mut chars = word.chars();
    match (chars.next(), chars.next()) {
        (None, _) => false,
        // An initial, or one of several abbreviated words: `z. B.`, `i. d. R.`, `د. أحمد`.
        (Some(initial), None) if initial.is_alphabetic() => initial != 'I',
        _ if word.bytes().all(|b| b.is_ascii_digit()) => {
            let ahead = near[..near.len() - word.len()].trim_end_matches([' ', '\t', '>', '#']);
            ahead.ends_with('\n') || ahead.is_empty() && near.len() == before.len()
        }
        _ => {
            let lower = word.to_lowercase();
            ABBREVIATIONS.contains(&lower.as_str()) || is_initials(word)
        }
    }
}

/// Matches `U.S`, `J.R.R`.
fn is_initials(word: &str) -> bool {
    word.contains('.')
        && word.split('.').all(|part| part.chars().count() == 1 && part.starts_with(char::is_alphabetic))
}
