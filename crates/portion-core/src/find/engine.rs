//! Regular expressions in time linear in the text.
//!
//! A lazily built automaton does the work at about a byte a nanosecond. Where it cannot (a Unicode word boundary beside a
//! character beyond ASCII) or gives up (more states than are worth keeping) a simulation does, which takes as many
//! times longer as the expression has places to be at: both burn fuel in proportion. The engines are those
//! of the crate `regex`, taken one by one, since that crate does not tell which of them is at work.

use std::ops::Range;

use regex_automata::hybrid::dfa::{Config as DfaConfig, DFA};
use regex_automata::hybrid::regex::{Builder, Cache, Regex};
use regex_automata::nfa::thompson::pikevm::{Cache as VmCache, PikeVM};
use regex_automata::nfa::thompson::{Compiler, Config as NfaConfig, NFA, WhichCaptures};
use regex_automata::util::prefilter::Prefilter;
use regex_automata::{Input, MatchErrorKind, MatchKind};
use regex_syntax::hir::{Hir, HirKind};

use super::FindError;
use super::fuel::Fuel;

/// Bytes of an expression's automaton before it is run. The crate `regex` allows 10 MiB, which takes a second to build.
const NFA_BYTES: usize = 1 << 20;
/// Bytes of states that are kept while it is run.
const CACHE_BYTES: usize = 8 << 20;
/// Places an expression may have, and how many make its automaton as much slower again, at worst.
const PLACES: usize = 2_500;
const SLOWER: usize = 64;
/// How deep an expression may nest.
const NEST: u32 = 96;
/// Bytes that are looked at first, then four times as many, up to the last.
const WINDOW: (usize, usize) = (256, 1 << 20);
/// A match that goes on beyond its line has at most so many bytes.
const OVERLAP: usize = 4 << 10;

/// A regular expression that has been made ready.
pub(super) struct Engine {
    regex: Regex,
    cache: Cache,
    vm: PikeVM,
    vm_cache: VmCache,
    /// Places that the expression can be at, at once.
    weight: usize,
    /// Whether the automaton gave up.
    tired: bool,
    /// Whether a match can be empty.
    empty: bool,
}

impl Engine {
    /// Makes an expression ready.
    ///
    /// # Errors
    /// Where it is malformed, or too large.
    pub(super) fn new(pattern: &str, ignore_case: bool) -> Result<Self, FindError> {
        let mut syntax = regex_syntax::ParserBuilder::new();
        syntax.nest_limit(NEST).multi_line(true).crlf(true).case_insensitive(ignore_case);
        let hir = syntax.build().parse(pattern).map_err(|error| malformed(pattern, &error))?;
        let (weight, empty) = (weight(&hir), hir.properties().minimum_len().is_none_or(|len| len == 0));
        if weight > PLACES {
            return Err(FindError::TooLarge);
        }
        let nfa = |reverse: bool| {
            let config = NfaConfig::new()
                .nfa_size_limit(Some(NFA_BYTES))
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
            .cache_capacity(CACHE_BYTES)
            .skip_cache_capacity_check(true)
            .unicode_word_boundary(true)
            .minimum_cache_clear_count(Some(4))
            .minimum_bytes_per_state(Some(10));
        let eager = config.clone().specialize_start_states(prefilter.is_some()).prefilter(prefilter);
        let (forward, backward) = (dfa(eager, forward)?, dfa(config.match_kind(MatchKind::All), backward)?);
        let regex = Builder::new().build_from_dfas(forward, backward);
        let (cache, vm_cache) = (regex.create_cache(), vm.create_cache());
        Ok(Self { regex, cache, vm, vm_cache, weight, tired: false, empty })
    }

    /// Whether it matches an empty text, which is everywhere.
    pub(super) fn matches_nothing(&self) -> bool {
        self.empty
    }

    /// The first match from a byte on.
    ///
    /// What is looked at grows from a small window, so that an expression which reads on long after its match costs a
    /// window a match, not the rest of the text.
    pub(super) fn find(
        &mut self,
        text: &str,
        from: usize,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        let (mut from, mut window) = (from, WINDOW.0);
        loop {
            let end = window_end(text, from.saturating_add(window));
            let found = self.within(text, from..end, fuel)?;
            if end >= text.len() {
                return Ok(found);
            }
            match found {
                // It may go on beyond the window.
                Some(found) if found.end == end && window < WINDOW.1 => {
                    from = found.start;
                    window = window.saturating_mul(4);
                    continue;
                }
                Some(found) => return Ok(Some(found)),
                None => {}
            }
            // Only a match that goes on beyond this window can still begin in it.
            from = from.max(text.ceil_char_boundary(end.saturating_sub(OVERLAP)));
            window = window.saturating_mul(4).clamp(WINDOW.0, WINDOW.1);
        }
    }

    /// The first match that lies in a stretch of the text.
    fn within(
        &mut self,
        text: &str,
        span: Range<usize>,
        fuel: &mut Fuel<'_>,
    ) -> Result<Option<Range<usize>>, FindError> {
        let len = span.len();
        let input = Input::new(text).span(span);
        if !self.tired {
            fuel.burn((len + 32).saturating_mul(1 + self.weight / SLOWER))?;
            match self.regex.try_search(&mut self.cache, &input) {
                Ok(found) => return Ok(found.map(|found| found.range())),
                Err(error) => self.tired = matches!(error.kind(), MatchErrorKind::GaveUp { .. }),
            }
        }
        fuel.burn((len + 32).saturating_mul(5 + 5 * self.weight))?;
        let found = self.vm.find(&mut self.vm_cache, input);
        Ok(found.map(|found| found.range()))
    }
}

fn dfa(config: DfaConfig, nfa: NFA) -> Result<DFA, FindError> {
    DFA::builder().configure(config).build_from_nfa(nfa).map_err(|_| FindError::TooLarge)
}

/// Where a window ends: with a line, so that no match within a line is cut, or in a line that is too long for that.
fn window_end(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    let near = text.len().min(at.saturating_add(OVERLAP));
    match memchr::memchr(b'\n', &text.as_bytes()[at..near]) {
        Some(feed) => at + feed + 1,
        None => text.ceil_char_boundary(at),
    }
}

/// How many places an expression has: what a simulation of it may be at with every byte. The recursion is bounded by
/// [`NEST`].
fn weight(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) | HirKind::Look(_) => 1,
        HirKind::Capture(inside) => weight(&inside.sub),
        HirKind::Repetition(repeated) => {
            let times = repeated.max.unwrap_or(repeated.min.saturating_add(1));
            weight(&repeated.sub).saturating_mul(times as usize)
        }
        HirKind::Concat(all) | HirKind::Alternation(all) => {
            all.iter().map(weight).fold(0, usize::saturating_add)
        }
    }
}

/// What is wrong with an expression, and where.
fn malformed(pattern: &str, error: &regex_syntax::Error) -> FindError {
    let (why, span) = match error {
        regex_syntax::Error::Parse(error) => (error.kind().to_string(), *error.span()),
        regex_syntax::Error::Translate(error) => (error.kind().to_string(), *error.span()),
        other => {
            return FindError::Regex { why: other.to_string(), place: pattern.chars().take(40).collect() };
        }
    };
    let (start, end) = (span.start.offset, span.end.offset);
    let place = pattern.get(start..end).filter(|place| !place.is_empty());
    // A place without width is told by what leads up to it.
    let place = place.unwrap_or_else(|| {
        let upto = pattern.get(..start).unwrap_or(pattern);
        &upto[upto.ceil_char_boundary(upto.len().saturating_sub(20))..]
    });
    FindError::Regex { why, place: place.chars().take(40).collect() }
}
