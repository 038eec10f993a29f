//! Parses the `traceparent` header, the trace that a request belongs to:
//! <https://www.w3.org/TR/trace-context/#traceparent-header>.
//!
//! ```
//! use portion_core::trace_context::TraceParent;
//!
//! let caller = TraceParent::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01").unwrap();
//! assert_eq!((caller.span, caller.is_sampled), (0x00f0_67aa_0ba9_02b7, true));
//! assert_eq!(caller.child(1).parent, caller.span);
//! ```

use std::ops::Range;

use crate::event::TraceContext;

/// Byte range of the caller's span id in a `traceparent`, `00-{32 digits}-{16 digits}-{2 digits}`.
pub const PARENT_ID_RANGE: Range<usize> = 36..52;

/// The caller's span, as given in a `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceParent {
    /// Id of the trace.
    pub id: u128,
    /// Id of the span in the trace.
    pub span: u64,
    /// True if the caller records the trace.
    pub is_sampled: bool,
}

impl TraceParent {
    /// Parses a `traceparent`. Versions after 00 begin with the same fields; the rest of them is ignored.
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

    /// Returns the trace context of a span of ours, as a child of this one.
    pub fn child(self, span: u64) -> TraceContext {
        TraceContext { id: self.id, parent: self.span, span, sampled: self.is_sampled }
    }
}

/// Formats the id of a span as in a `traceparent`.
pub fn format_span_id(span: u64) -> String {
    format!("{span:016x}")
}

/// Parses a number of exactly `count` lower-case hexadecimal digits.
fn parse_hex(text: &str, count: usize) -> Option<u128> {
    let hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let whole = text.len() == count && text.bytes().all(hex);
    whole.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}
