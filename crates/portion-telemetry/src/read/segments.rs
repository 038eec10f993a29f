//! Splits a time span into hours, minutes and the rest at both ends.

use std::ops::Range;

use crate::rollup::Grain;

/// Part of a span and the roll-ups that answer it. `None` means single requests.
pub(super) type Segment = (Option<Grain>, Range<i64>);

/// Splits a span in microseconds by the given grains, the longest first. Each grain comes with the first time from
/// which it is kept.
pub(super) fn split(span: Range<i64>, grains: &[(Grain, i64)]) -> Vec<Segment> {
    let Some(((grain, first), shorter)) = grains.split_first() else {
        return if span.is_empty() { Vec::new() } else { vec![(None, span)] };
    };
    let inner = grain.ceiling(span.start.max(*first))..grain.floor(span.end);
    if inner.is_empty() {
        return split(span, shorter);
    }
    let mut segments = split(span.start..inner.start, shorter);
    let after = split(inner.end..span.end, shorter);
    segments.push((Some(*grain), inner));
    segments.extend(after);
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_then_minutes_then_what_is_left() {
        let minute = Grain::Minute.length();
        let check = |span: Range<i64>, grains: &[(Grain, i64)], expect: &[(Option<Grain>, Range<i64>)]| {
            let segments = split(span.clone(), grains);
            assert_eq!(segments, expect, "{span:?}");
            let ends = segments.iter().map(|(_, piece)| piece.end);
            let joined = segments.iter().map(|(_, piece)| piece.start).skip(1).zip(ends);
            assert!({ joined }.all(|(start, end)| start == end), "nothing is left out or comes twice");
        };
        let (hours, minutes, raw) = (Some(Grain::Hour), Some(Grain::Minute), None);
        let both = [(Grain::Hour, 0), (Grain::Minute, 0)];
        check(7..7, &both, &[]);
        check(3..7, &both, &[(raw, 3..7)]);
        check(0..i64::MAX, &[], &[(raw, 0..i64::MAX)]);
        check(0..60 * minute, &both, &[(hours, 0..60 * minute)]);
        check(0..60 * minute, &both[1..], &[(minutes, 0..60 * minute)]);
        check(
            minute / 2..3 * minute + 5,
            &both,
            &[(raw, minute / 2..minute), (minutes, minute..3 * minute), (raw, 3 * minute..3 * minute + 5)],
        );
        check(
            58 * minute - 1..121 * minute + 1,
            &both,
            &[
                (raw, 58 * minute - 1..58 * minute),
                (minutes, 58 * minute..60 * minute),
                (hours, 60 * minute..120 * minute),
                (minutes, 120 * minute..121 * minute),
                (raw, 121 * minute..121 * minute + 1),
            ],
        );
        check(
            58 * minute..121 * minute,
            &[(Grain::Hour, 0), (Grain::Minute, 120 * minute)],
            &[
                (raw, 58 * minute..60 * minute),
                (hours, 60 * minute..120 * minute),
                (minutes, 120 * minute..121 * minute),
            ],
        );
    }
}
