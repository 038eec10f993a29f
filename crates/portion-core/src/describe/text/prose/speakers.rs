//! Finds the speakers of a transcript, `Name: …`, on separate lines or on one.

use memchr::memchr_iter;

use super::sentences::{Sentence, Sentences};

/// Smallest number of turns of a transcript, and largest number of sentences per turn.
const MIN_TURNS: usize = 10;
const MAX_SENTENCES_PER_TURN: usize = 10;
/// Largest number of names counted, and of speakers listed.
const MAX_NAMES: usize = 300;
const MAX_SPEAKERS: usize = 8;
/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 60;

/// Returns the speakers with their number of turns, the most frequent first. Returns none if the text is not
/// a transcript.
///
/// In a transcript, sentences are split so that each turn begins one.
pub(super) fn find<'a>(sentences: &mut Sentences<'a>) -> Vec<(&'a str, usize)> {
    let all = std::mem::take(&mut sentences.all);
    let names = frequent_names(all.iter().filter_map(|sentence| speaker_name(sentence.text)));
    let turns: usize = names.iter().map(|(_, turns)| turns).sum();
    if names.len() < 2 || turns < MIN_TURNS || turns * MAX_SENTENCES_PER_TURN < all.len() {
        sentences.all = all;
        return Vec::new();
    }
    for sentence in all {
        split_turns(sentence, &names, sentences);
    }
    let known = |name: &&str| names.iter().any(|(known, _)| known == name);
    let mut turns = Vec::new();
    for sentence in &mut sentences.all {
        if let Some(name) = speaker_name(sentence.text).filter(known) {
            sentence.speaker_bytes = sentence.text.find([':', '：']).map_or(0, |colon| colon + 1);
            turns.push(name);
        }
    }
    let mut speakers = frequent_names(turns.into_iter());
    speakers.truncate(MAX_SPEAKERS);
    speakers
}

/// Returns the names that occur more than once, the most frequent first.
fn frequent_names<'a>(names: impl Iterator<Item = &'a str>) -> Vec<(&'a str, usize)> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for name in names {
        if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == name) {
            *count += 1;
        } else if counts.len() < MAX_NAMES {
            counts.push((name, 1));
        }
    }
    counts.retain(|(_, count)| *count > 1);
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

/// Splits a sentence before each name that is followed by a colon.
fn split_turns<'a>(sentence: Sentence<'a>, names: &[(&str, usize)], sentences: &mut Sentences<'a>) {
    let text = sentence.text;
    let mut from = 0;
    for colon in memchr_iter(b':', text.as_bytes()) {
        let ahead = &text[from..colon];
        let longest = names.iter().filter(|(name, _)| {
            ahead.strip_suffix(name).is_some_and(|before| before.ends_with(char::is_whitespace))
        });
        if let Some((name, _)) = longest.max_by_key(|(name, _)| name.len()) {
            let start = colon - name.len();
            sentences.push(&text[from..start]);
            from = start;
        }
    }
    sentences.push(&text[from..]);
}

/// Returns the name at the beginning of a sentence: `Ann:`, `Grad A:`, `Hon. Ann Lee (Ottawa):`.
fn speaker_name(sentence: &str) -> Option<&str> {
    let head = &sentence[..sentence.floor_char_boundary(2 * MAX_NAME_BYTES)];
    let label = &head[..head.find([':', '：'])?];
    let name = label.split('(').next().unwrap_or_default().trim_end();
    let is_letter = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '\'' | '’');
    let is_capital = |word: &str| word.starts_with(|c: char| !c.is_lowercase());
    let is_name = name.len() <= MAX_NAME_BYTES
        && name.starts_with(char::is_alphabetic)
        && name.chars().all(is_letter)
        && name.split(' ').count() <= 5
        && name.split(' ').all(is_capital);
    is_name.then_some(name)
}
