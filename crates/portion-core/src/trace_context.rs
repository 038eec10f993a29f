//! What a caller says of the trace that a request belongs to: a `traceparent`, as
//! <https://www.w3.org/TR/trace-context/#traceparent-header> has it.

use std::ops::Range;

use crate::event::TraceContext;

/// Where the id of the caller's span stands in a `traceparent`, `00-{32 digits}-{16 digits}-{2 digits}`.
pub const PARENT_ID_RANGE: Range<usize> = 36..52;

/// A caller's span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub id: u128,
    /// The span in it.
    pub span: u64,
    /// Whether the caller keeps it.
    pub is_sampled: bool,
}

impl TraceParent {
    /// The one that a `traceparent` names. Later versions than 00 begin as that does; what they say besides is not known.
    pub fn parse(traceparent: &str) -> Option<Self> {
        let (version, rest) = traceparent.split_once('-')?;
        let (id, rest) = rest.split_once('-')?;
        let (span, rest) = rest.split_once('-')?;
        let (flags, more) = rest.split_once('-').map_or((rest, None), |(flags, more)| (flags, Some(more)));
        let is_known = match parse_hex(version, 2)? {
            0 => more.is_none(),
            version => version != 0xff,
        };
        let id = parse_hex(id, 32)?;
        let span = u64::try_from(parse_hex(span, 16)?).ok()?;
        let flags = parse_hex(flags, 2)?;
        (is_known && id != 0 && span != 0).then_some(Self { id, span, is_sampled: flags & 1 == 1 })
    }

    /// The place of our span below it.
    pub fn child(self, span: u64) -> TraceContext {
        TraceContext { id: self.id, parent: self.span, span, sampled: self.is_sampled }
    }
}

/// The id of a span as a `traceparent` has it.
pub fn format_span_id(span: u64) -> String {
    format!("{span:016x}")
}

/// The number of exactly so many lower-case hexadecimal digits.
fn parse_hex(text: &str, count: usize) -> Option<u128> {
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let whole = text.len() == count && text.bytes().all(hex);
    whole.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}
