//! Formats the figures of the report.

/// Formats a whole number with separators: `1,234,567`.
pub(super) fn grouped(number: usize) -> String {
    portion_telemetry::show::grouped(number as u64)
}

/// Formats a duration: `0.4 ms`, `27 ms`, `1.3 s`.
pub(super) fn duration_text(milliseconds: f64) -> String {
    match milliseconds {
        short if short < 10.0 => format!("{short:.1} ms"),
        middling if middling < 1_000.0 => format!("{middling:.0} ms"),
        long => format!("{:.1} s", long / 1_000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_at_a_glance() {
        for (number, expect) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), expect);
        }
        for (time, expect) in [(0.42, "0.4 ms"), (27.4, "27 ms"), (1_300.0, "1.3 s")] {
            assert_eq!(duration_text(time), expect);
        }
    }
}
