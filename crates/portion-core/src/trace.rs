//! What a caller says of the trace that a request belongs to: a `traceparent`, as
//! <https://www.w3.org/TR/trace-context/#traceparent-header> has it.

use std::ops::Range;

use crate::event::Trace;

/// Where the id of the caller's span stands in a `traceparent`, `00-{32 digits}-{16 digits}-{2 digits}`.
pub const SPAN: Range<usize> = 36..52;

/// A caller's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parent {
    /// The trace.
    pub id: u128,
    /// The span in it.
    pub span: u64,
    /// Whether the caller keeps it.
    pub sampled: bool,
}

impl Parent {
    /// The one that a `traceparent` names. Later versions than 00 begin as that does; what they say besides is not known.
    pub fn of(traceparent: &str) -> Option<Self> {
        let (version, rest) = traceparent.split_once('-')?;
        let (id, rest) = rest.split_once('-')?;
        let (span, rest) = rest.split_once('-')?;
        let (flags, more) = rest.split_once('-').map_or((rest, None), |(flags, more)| (flags, Some(more)));
        let is_known = match digits(version, 2)? {
            0 => more.is_none(),
            version => version != 0xff,
        };
        let id = digits(id, 32)?;
        let span = u64::try_from(digits(span, 16)?).ok()?;
        let flags = digits(flags, 2)?;
        (is_known && id != 0 && span != 0).then_some(Self { id, span, sampled: flags & 1 == 1 })
    }

    /// The place of our span below it.
    pub fn with(self, span: u64) -> Trace {
        Trace { id: self.id, parent: self.span, span, sampled: self.sampled }
    }
}

/// The id of a span as a `traceparent` has it.
pub fn span_id(span: u64) -> String {
    format!("{span:016x}")
}

/// The number of exactly so many lower-case hexadecimal digits.
fn digits(text: &str, count: usize) -> Option<u128> {
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let whole = text.len() == count && text.bytes().all(hex);
    whole.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}
