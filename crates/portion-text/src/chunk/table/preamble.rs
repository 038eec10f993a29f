//! Comments above the rows of separated values.

/// Largest preamble, in bytes.
const MAX_PREAMBLE_BYTES: usize = 16 << 10;
const DELIMITERS: [char; 4] = [',', '\t', ';', '|'];

/// Returns the offset of the first row: after lines that begin with `#`, and blank ones among them. It is 0 without such lines.
///
/// A line `#id,name` right above the rows is their header.
///
/// ```
/// use portion_text::chunk::first_row_start;
///
/// let text = "# exported 2025\nid,name,city\n1,Ann,Oslo\n";
/// assert_eq!(&text[first_row_start(text)..], "id,name,city\n1,Ann,Oslo\n");
/// assert_eq!(first_row_start("#id,name\n1,Ann\n"), 0);
/// ```
pub fn first_row_start(text: &str) -> usize {
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let mut comment = None;
    for line in text[at..].split_inclusive('\n') {
        let is_comment = line.starts_with('#');
        let is_blank = comment.is_some() && line.trim().is_empty();
        if !is_comment && !is_blank {
            return match comment {
                Some((start, above)) if start + str::len(above) == at && is_header(above, line) => start,
                Some(_) => at,
                None => 0,
            };
        }
        if is_comment {
            comment = Some((at, line));
        }
        at += line.len();
        if at > MAX_PREAMBLE_BYTES {
            return 0;
        }
    }
    0
}

/// Returns true if a comment has a name for each cell of the row below it.
fn is_header(comment: &str, row: &str) -> bool {
    let count = |line: &str, delimiter: char| line.matches(delimiter).count();
    let delimiter = DELIMITERS.into_iter().max_by_key(|delimiter| count(row, *delimiter)).unwrap_or(',');
    let has_number = row.split(delimiter).any(|cell| cell.trim().parse::<f64>().is_ok());
    count(row, delimiter) > 0
        && count(row, delimiter) == count(comment, delimiter)
        && (has_number || !comment.starts_with("# "))
}

#[cfg(test)]
mod tests {
    use super::first_row_start;

    #[test]
    fn comments_come_before_the_rows() {
        for (text, rows) in [
            ("# by a tool\n#\n\nid,a\n1,b\n", "id,a\n1,b\n"),
            ("##format=1\n#CHROM\tPOS\nchr1\t5\n", "#CHROM\tPOS\nchr1\t5\n"),
            ("#name,city\nAnn,Oslo\n", "#name,city\nAnn,Oslo\n"),
            ("# one, two\nname,city\nAnn,Oslo\n", "name,city\nAnn,Oslo\n"),
            ("id,a\n# no comment\n", "id,a\n# no comment\n"),
            ("# only\n# comments\n", "# only\n# comments\n"),
            ("", ""),
        ] {
            assert_eq!(&text[first_row_start(text)..], rows, "{text}");
        }
    }
}
