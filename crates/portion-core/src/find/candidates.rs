//! Where in JSON, as it is written, a match may be: all other values need not be looked at.

use memchr::memmem::Finder;

use super::FindError;
use super::ahead::Ahead;
use super::engine::Engine;
use super::fuel::Fuel;
use super::pattern::Matcher;

/// The places of a JSON text at which a value may begin to match, found as they are asked for.
pub(super) struct Candidates {
    spelled: Spelled,
    /// What an escape begins with that may stand for a character of the pattern.
    escapes: Finder<'static>,
    next: Nearest,
}

/// The next stretch and the next escape from the last place asked for on, where it was looked for; `usize::MAX` where
/// there is none.
pub(super) type Nearest = [Option<usize>; 2];

/// The first escape by its number in a text; `usize::MAX` where there is none.
pub(super) fn first_escape(text: &str) -> usize {
    memchr::memmem::find(text.as_bytes(), b"\\u").unwrap_or(usize::MAX)
}

enum Spelled {
    /// Anywhere.
    Anyhow,
    /// Where this stands.
    As(Box<Finder<'static>>),
    /// Where this matches.
    Like(Box<Engine>),
    /// Where one of these stands and no letter or digit follows.
    Words(Ahead),
}

impl Candidates {
    fn of(matcher: &Matcher) -> Self {
        let (spelled, escapes) = match matcher.spelled_in_json() {
            None => (Spelled::Anyhow, "\\u"),
            // An escaped ASCII character is `\u00` and two digits.
            Some((stretch, false)) => {
                let escapes = if stretch.is_ascii() { "\\u00" } else { "\\u" };
                (Spelled::As(Box::new(Finder::new(stretch).into_owned())), escapes)
            }
            Some((stretch, true)) => {
                let engine = Engine::new(&regex_syntax::escape(stretch), true);
                (engine.map_or(Spelled::Anyhow, |engine| Spelled::Like(Box::new(engine))), "\\u")
            }
        };
        Self { spelled, escapes: Finder::new(escapes).into_owned(), next: [None; 2] }
    }

    /// The same where it is known what comes first in the text.
    pub(super) fn known(matcher: &Matcher, nearest: Nearest) -> Self {
        Self { next: nearest, ..Self::of(matcher) }
    }

    /// What comes first in a text of which that is the first escape; `None` where nothing can match in it.
    pub(super) fn nearest(
        matcher: &Matcher,
        text: &str,
        escape: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Nearest>, FindError> {
        let mut candidates = Self::known(matcher, [None, Some(escape)]);
        Ok(candidates.from(text, 0, fuel)?.map(|_| candidates.next))
    }

    /// Where one of some words may be, none of which holds a character that JSON must escape.
    pub(super) fn of_words(words: &[String]) -> Result<Self, FindError> {
        let escapes = Finder::new("\\u").into_owned();
        Ok(Self { spelled: Spelled::Words(Ahead::of(words)?), escapes, next: [None; 2] })
    }

    /// The first one from a byte on; the bytes asked for ascend.
    pub(super) fn from(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<usize>, FindError> {
        let [stretch, escape] = &mut self.next;
        let passed = |next: &Option<usize>| next.is_none_or(|at| at < from);
        if passed(stretch) {
            let rest = || text.as_bytes().get(from..).unwrap_or_default();
            let found = match &mut self.spelled {
                Spelled::Anyhow => return Ok((from < text.len()).then_some(from)),
                Spelled::As(finder) => finder.find(rest()).map(|at| from + at),
                Spelled::Like(engine) => {
                    let from = text.ceil_char_boundary(from);
                    engine.find(text, from, fuel)?.map(|found| found.start)
                }
                Spelled::Words(words) => word(words, text, from, fuel)?,
            };
            *stretch = Some(found.unwrap_or(usize::MAX));
            fuel.burn(found.unwrap_or(text.len()).saturating_sub(from) / 16 + 16)?;
        }
        if passed(escape) {
            let found = self.escapes.find(text.as_bytes().get(from..).unwrap_or_default());
            *escape = Some(found.map_or(usize::MAX, |at| from + at));
        }
        Ok(self.next.iter().flatten().copied().min().filter(|at| *at < text.len()))
    }
}

/// The first of some words from a byte on that no letter or digit follows.
fn word(words: &mut Ahead, text: &str, from: usize, fuel: &mut Fuel<'_>) -> Result<Option<usize>, FindError> {
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
