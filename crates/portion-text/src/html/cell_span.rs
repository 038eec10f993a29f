//! The columns and rows that a cell of an HTML table spans.

/// Largest number of columns and of rows that a cell may span (HTML, 4.9.11).
const MAX_COLUMNS: usize = 1_000;
const MAX_ROWS: usize = 65_534;

/// The number of columns and rows that a cell spans, each at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSpan {
    /// Number of columns.
    pub columns: usize,
    /// Number of rows. A cell that spans the rest of its row group has the largest number.
    pub rows: usize,
}

impl CellSpan {
    /// Reads the attributes of the tag of a cell.
    ///
    /// ```
    /// use portion_text::html::CellSpan;
    ///
    /// assert_eq!(CellSpan::of_tag("td rowspan=2"), CellSpan { columns: 1, rows: 2 });
    /// ```
    pub fn of_tag(tag: &str) -> Self {
        // Zero spans to the end of the row group.
        let rows = number_attribute(tag, "rowspan").map_or(1, |rows| if rows == 0 { MAX_ROWS } else { rows });
        let columns = number_attribute(tag, "colspan").unwrap_or(1).clamp(1, MAX_COLUMNS);
        Self { columns, rows: rows.min(MAX_ROWS) }
    }
}

/// Returns the number in an attribute of a tag; `usize::MAX` if it is too large.
fn number_attribute(tag: &str, name: &str) -> Option<usize> {
    let lower = tag.to_ascii_lowercase();
    let value = |(at, _): (usize, &str)| {
        let is_start =
            lower[..at].ends_with(|c: char| c.is_ascii_whitespace() || matches!(c, '"' | '\'' | '/'));
        lower[at + name.len()..].trim_start().strip_prefix('=').filter(|_| is_start)
    };
    let value = lower.match_indices(name).find_map(value)?.trim_start().trim_start_matches(['"', '\'']);
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    (digits > 0).then(|| value[..digits].parse().unwrap_or(usize::MAX))
}

#[cfg(test)]
mod tests {
    use super::{CellSpan, MAX_COLUMNS, MAX_ROWS, number_attribute};

    #[test]
    fn an_attribute_is_found_by_its_whole_name() {
        assert_eq!(number_attribute("td class=\"rowspan-3\" ROWSPAN = '2'", "rowspan"), Some(2));
        assert_eq!(number_attribute("td aria-rowspan=2", "rowspan"), None);
    }

    #[test]
    fn spans_have_limits() {
        let check = |tag: &str, columns: usize, rows: usize| {
            assert_eq!(CellSpan::of_tag(tag), CellSpan { columns, rows }, "{tag}");
        };
        check("td", 1, 1);
        check("td colspan=0 rowspan=0", 1, MAX_ROWS);
        check("td colspan=x rowspan=''", 1, 1);
        check("td colspan=99999999999999999999 rowspan=99999999999999999999", MAX_COLUMNS, MAX_ROWS);
    }
}
