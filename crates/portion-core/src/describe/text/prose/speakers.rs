//! Who speaks in a transcript, `Name: …`, on lines of their own or all on one.

use memchr::memchr_iter;

use super::sentences::{Sentence, Sentences};

/// Turns that make a text a transcript, if one in so many sentences begins one.
const MIN_TURNS: usize = 10;
const MAX_SENTENCES_PER_TURN: usize = 10;
/// Names that are looked at, and speakers that are told.
const MAX_NAMES: usize = 300;
const MAX_SPEAKERS: usize = 8;
/// Bytes of a name.
const MAX_NAME_BYTES: usize = 60;

/// The speakers with the number of their turns, the most talkative first; none where the text is no transcript.
///
/// In a transcript each turn then begins a sentence.
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

/// Those names that occur more than once, the most frequent first.
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

/// Cuts a sentence before each name in it that a colon follows.
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

/// The name at the beginning of a sentence: `Ann:`, `Grad A:`, `Hon. Ann Lee (Ottawa):`.
fn speaker_name(said: &str) -> Option<&str> {
    let head = &said[..said.floor_char_boundary(2 * MAX_NAME_BYTES)];
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
