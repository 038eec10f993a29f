//! Where in JSON, as it is written, a match may be: all other values need not be looked at.

use memchr::memmem::Finder;

use super::FindError;
use super::fuel::Fuel;
use super::pattern::Matcher;
use super::regex_engine::RegexEngine;
use super::word_scanner::WordScanner;

/// The places of a JSON text at which a value may begin to match, found as they are asked for.
pub(super) struct Candidates {
    prefilter: Prefilter,
    /// What an escape begins with that may stand for a character of the pattern.
    escape_finder: Finder<'static>,
    positions: NextPositions,
}

/// The next stretch and the next escape from the last place asked for on, where it was looked for; `usize::MAX` where
/// there is none.
pub(super) type NextPositions = [Option<usize>; 2];

/// The first escape by its number in a text; `usize::MAX` where there is none.
pub(super) fn first_escape(text: &str) -> usize {
    memchr::memmem::find(text.as_bytes(), b"\\u").unwrap_or(usize::MAX)
}

enum Prefilter {
    /// Anywhere.
    Anywhere,
    /// Where this stands.
    Literal(Box<Finder<'static>>),
    /// Where this matches.
    Regex(Box<RegexEngine>),
    /// Where one of these stands and no letter or digit follows.
    Words(WordScanner),
}

impl Candidates {
    fn new(matcher: &Matcher) -> Self {
        let (spelled, escapes) = match matcher.longest_unescaped() {
            None => (Prefilter::Anywhere, "\\u"),
            // An escaped ASCII character is `\u00` and two digits.
            Some((stretch, false)) => {
                let escapes = if stretch.is_ascii() { "\\u00" } else { "\\u" };
                (Prefilter::Literal(Box::new(Finder::new(stretch).into_owned())), escapes)
            }
            Some((stretch, true)) => {
                let engine = RegexEngine::new(&regex_syntax::escape(stretch), true);
                (engine.map_or(Prefilter::Anywhere, |engine| Prefilter::Regex(Box::new(engine))), "\\u")
            }
        };
        Self { prefilter: spelled, escape_finder: Finder::new(escapes).into_owned(), positions: [None; 2] }
    }

    /// The same where it is known what comes first in the text.
    pub(super) fn with_positions(matcher: &Matcher, nearest: NextPositions) -> Self {
        Self { positions: nearest, ..Self::new(matcher) }
    }

    /// What comes first in a text of which that is the first escape; `None` where nothing can match in it.
    pub(super) fn first_positions(
        matcher: &Matcher,
        text: &str,
        escape: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<NextPositions>, FindError> {
        let mut candidates = Self::with_positions(matcher, [None, Some(escape)]);
        Ok(candidates.next_from(text, 0, fuel)?.map(|_| candidates.positions))
    }

    /// Where one of some words may be, none of which holds a character that JSON must escape.
    pub(super) fn of_words(words: &[String]) -> Result<Self, FindError> {
        let escapes = Finder::new("\\u").into_owned();
        Ok(Self {
            prefilter: Prefilter::Words(WordScanner::new(words)?),
            escape_finder: escapes,
            positions: [None; 2],
        })
    }

    /// The first one from a byte on; the bytes asked for ascend.
    pub(super) fn next_from(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<usize>, FindError> {
        let [stretch, escape] = &mut self.positions;
        let passed = |next: &Option<usize>| next.is_none_or(|at| at < from);
        if passed(stretch) {
            let rest = || text.as_bytes().get(from..).unwrap_or_default();
            let found = match &mut self.prefilter {
                Prefilter::Anywhere => return Ok((from < text.len()).then_some(from)),
                Prefilter::Literal(finder) => finder.find(rest()).map(|at| from + at),
                Prefilter::Regex(engine) => {
                    let from = text.ceil_char_boundary(from);
                    engine.find(text, from, fuel)?.map(|found| found.start)
                }
                Prefilter::Words(words) => find_whole_word(words, text, from, fuel)?,
            };
            *stretch = Some(found.unwrap_or(usize::MAX));
            fuel.burn(found.unwrap_or(text.len()).saturating_sub(from) / 16 + 16)?;
        }
        if passed(escape) {
            let found = self.escape_finder.find(text.as_bytes().get(from..).unwrap_or_default());
            *escape = Some(found.map_or(usize::MAX, |at| from + at));
        }
        Ok(self.positions.iter().flatten().copied().min().filter(|at| *at < text.len()))
    }
}

/// The first of some words from a byte on that no letter or digit follows.
fn find_whole_word(
    words: &mut WordScanner,
    text: &str,
    from: usize,
    fuel: &mut Fuel<'_>,
) -> Result<Option<usize>, FindError> {
    let mut from = text.ceil_char_boundary(from);
    while let Some(found) = words.find(text, from, fuel)? {
        let alphanumeric = |at: usize| text.as_bytes().get(at).is_some_and(u8::is_ascii_alphanumeric);
        if !(alphanumeric(found.end) && alphanumeric(found.end.saturating_sub(1))) {
            return Ok(Some(found.start));
        }
        from = text.ceil_char_boundary(found.start + 1);
    }
    Ok(None)
}
