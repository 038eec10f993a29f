//! Where in JSON, as it is written, a match may be: all other values need not be looked at.

use memchr::memmem::Finder;

use super::FindError;
use super::engine::Engine;
use super::fuel::Fuel;
use super::pattern::Matcher;

/// The places of a JSON text at which a value may begin to match, found as they are asked for.
pub(super) struct Candidates {
    spelled: Spelled,
    /// What an escape begins with that may stand for a character of the pattern.
    escapes: Finder<'static>,
    /// The next of each from the last place asked for on, where it was looked for.
    next: [Option<usize>; 2],
}

enum Spelled {
    /// Anywhere.
    Anyhow,
    /// Where this stands.
    As(Box<Finder<'static>>),
    /// Where this matches.
    Like(Box<Engine>),
}

impl Candidates {
    pub(super) fn of(matcher: &Matcher) -> Self {
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

    /// Where any of an expression's matches may be, none of which holds a character that JSON must escape.
    pub(super) fn like(engine: Engine) -> Self {
        let escapes = Finder::new("\\u").into_owned();
        Self { spelled: Spelled::Like(Box::new(engine)), escapes, next: [None; 2] }
    }

    /// The first one from a byte on; the bytes asked for ascend.
    pub(super) fn from(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel,
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
