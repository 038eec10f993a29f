//! Matches regular expressions in time linear in the text.
//!
//! A lazily built automaton searches at about one byte per nanosecond. If it cannot be used (a Unicode word
//! boundary next to a non-ASCII character) or gives up (too many states), a simulation is used, which is
//! slower in proportion to the number of positions in the expression. Both burn fuel in proportion to their
//! work. The engines are those of the crate `regex`, used directly, because that crate does not report which
//! of them it uses.

use std::ops::Range;

use regex_automata::hybrid::dfa::{Config as DfaConfig, DFA};
use regex_automata::hybrid::regex::{Builder, Cache, Regex};
use regex_automata::nfa::thompson::pikevm::{Cache as VmCache, PikeVM};
use regex_automata::nfa::thompson::{Compiler, Config as NfaConfig, NFA, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Input, MatchErrorKind, MatchKind};
use regex_syntax::hir::{Hir, HirKind};

use super::FindError;
use super::error::Fuel;

/// Largest automaton of an expression before it runs, in bytes. The crate `regex` allows 10 MiB, which takes
/// a second to build.
const MAX_NFA_BYTES: usize = 1 << 20;
/// Bytes of cached automaton states.
const MAX_CACHE_BYTES: usize = 8 << 20;
/// Largest number of positions of an expression, and the number of positions that slow its automaton down
/// once more, at worst.
const MAX_POSITIONS: usize = 2_500;
const POSITIONS_PER_SLOWDOWN: usize = 64;
/// Largest nesting depth of an expression.
const MAX_NESTING: u32 = 96;
/// Size of the first window in bytes, which grows by a factor of four, and of the largest.
const WINDOW_BYTES: (usize, usize) = (256, 1 << 20);
/// Largest number of bytes of a match beyond the end of its line.
const MAX_OVERLAP_BYTES: usize = 4 << 10;

/// A compiled regular expression.
pub(super) struct RegexEngine {
    regex: Regex,
    cache: Cache,
    vm: PikeVM,
    vm_cache: VmCache,
    /// Number of positions in the expression.
    position_count: usize,
    /// True if the automaton gave up.
    dfa_gave_up: bool,
    /// True if a match can be empty.
    matches_empty: bool,
}

impl RegexEngine {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Returns an error if the expression is malformed or too large.
    pub(super) fn new(pattern: &str, ignore_case: bool) -> Result<Self, FindError> {
        let mut syntax = regex_syntax::ParserBuilder::new();
        syntax.nest_limit(MAX_NESTING).multi_line(true).crlf(true).case_insensitive(ignore_case);
        let hir = syntax.build().parse(pattern).map_err(|error| syntax_error(pattern, &error))?;
        let (weight, empty) =
            (position_count(&hir), hir.properties().minimum_len().is_none_or(|len| len == 0));
        if weight > MAX_POSITIONS {
            return Err(FindError::TooLarge);
        }
        let nfa = |reverse: bool| {
            let config = NfaConfig::new()
                .nfa_size_limit(Some(MAX_NFA_BYTES))
                .reverse(reverse)
                .which_captures(if reverse { WhichCaptures::None } else { WhichCaptures::Implicit });
            Compiler::new().configure(config).build_from_hir(&hir).map_err(|_| FindError::TooLarge)
        };
        let (forward, backward) = (nfa(false)?, nfa(true)?);
        let prefilter = Prefilter::from_hir_prefix(MatchKind::LeftmostFirst, &hir);
        let vm = PikeVM::builder()
            .configure(PikeVM::config().prefilter(prefilter.clone()))
            .build_from_nfa(forward.clone())
            .map_err(|_| FindError::TooLarge)?;
        let config = DFA::config()
            .cache_capacity(MAX_CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true)
            .minimum_cache_clear_count(Some(4))
            .minimum_bytes_per_state(Some(10));
        let eager = config.clone().specialize_start_states(prefilter.is_some()).prefilter(prefilter);
        let (forward, backward) =
            (build_dfa(eager, forward)?, build_dfa(config.match_kind(MatchKind::All), backward)?);
        let regex = Builder::new().build_from_dfas(forward, backward);
        let (cache, vm_cache) = (regex.create_cache(), vm.create_cache());
        Ok(Self {
            regex,
            cache,
            vm,
            vm_cache,
            position_count: weight,
            dfa_gave_up: false,
            matches_empty: empty,
        })
    }

    /// Returns true if it matches empty text, which is everywhere.
    pub(super) fn can_match_empty(&self) -> bool {
        self.matches_empty
    }

    /// Returns the first match from an offset on.
    ///
    /// The search window starts small and grows, so that an expression that reads far beyond its match costs
    /// one window per match, not the rest of the text.
    pub(super) fn find(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        let (mut from, mut window) = (from, WINDOW_BYTES.0);
        loop {
            let end = window_end(text, from.saturating_add(window));
            let found = self.find_in_range(text, from..end, fuel)?;
            if end >= text.len() {
                return Ok(found);
            }
            match found {
                // The match may continue beyond the window.
                Some(found) if found.end == end && window < WINDOW_BYTES.1 => {
                    from = found.start;
                    window = window.saturating_mul(4);
                    continue;
                }
                Some(found) => return Ok(Some(found)),
                None => {}
            }
            // Only a match that continues beyond this window can still begin in it.
            from = from.max(text.ceil_char_boundary(end.saturating_sub(MAX_OVERLAP_BYTES)));
            window = window.saturating_mul(4).clamp(WINDOW_BYTES.0, WINDOW_BYTES.1);
        }
    }

    /// Returns the first match within a range of the text.
    fn find_in_range(
        &mut self,
        text: &str,
        span: Range<usize>,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        let len = span.len();
        let input = Input::new(text).span(span);
        if !self.dfa_gave_up {
            fuel.burn((len + 32).saturating_mul(1 + self.position_count / POSITIONS_PER_SLOWDOWN))?;
            match self.regex.try_search(&mut self.cache, &input) {
                Ok(found) => return Ok(found.map(|found| found.range())),
                Err(error) => self.dfa_gave_up = matches!(error.kind(), MatchErrorKind::GaveUp { .. }),
            }
        }
        fuel.burn((len + 32).saturating_mul(5 + 5 * self.position_count))?;
        let found = self.vm.find(&mut self.vm_cache, input);
        Ok(found.map(|found| found.range()))
    }
}

fn build_dfa(config: DfaConfig, nfa: NFA) -> Result<DFA, FindError> {
    DFA::builder().configure(config).build_from_nfa(nfa).map_err(|_| FindError::TooLarge)
}

/// Returns the end of a window: the end of a line, so that no match within a line is cut, or a byte in a line
/// that is too long.
fn window_end(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let near = text.len().min(at.saturating_add(MAX_OVERLAP_BYTES));
    match memchr::memchr(b'\n', &text.as_bytes()[at..near]) {
        Some(feed) => at + feed + 1,
        None => text.ceil_char_boundary(at),
    }
}

/// Returns the number of positions in an expression, all of which a simulation may visit for every byte.
/// Recursion is bounded by [`MAX_NESTING`].
fn position_count(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) | HirKind::Look(_) => 1,
        HirKind::Capture(inside) => position_count(&inside.sub),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min.saturating_add(1));
            position_count(&repeated.sub).saturating_mul(times as usize)
        }
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            all.iter().map(position_count).fold(0, usize::saturating_add)
        }
    }
}

/// Returns the error with the reason and the faulty part of the expression.
fn syntax_error(pattern: &str, error: &regex_syntax::Error) -> FindError {
    let (why, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        other => {
            return FindError::Regex { why: other.to_string(), place: pattern.chars().take(40).collect() };
        }
    };
    let (start, end) = (span.start.offset, span.end.offset);
    let place = pattern.get(start..end).filter(|place| !place.is_empty());
    // An empty location is described by the text before it.
    let place = place.unwrap_or_else(|| {
        let upto = pattern.get(..start).unwrap_or(pattern);
        &upto[upto.ceil_char_boundary(upto.len().saturating_sub(20))..]
    });
    FindError::Regex { why, place: place.chars().take(40).collect() }
}
