//! Tables of HTML.

use std::collections::BTreeMap;
use std::ops::Range;

use portion_json::span::Span;

use super::{DocumentTable, MAX_CELLS, MAX_COUNTED_ROWS, MAX_TABLES};

/// Returns the tables of a text.
pub(super) fn find(text: &str) -> Vec<DocumentTable> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = find_tag(text, at..text.len(), "<table").filter(|_| found.len() < MAX_TABLES) {
        let end = find_tag(text, start..text.len(), "</table").unwrap_or(text.len());
        let first = find_tag(text, start..end, "<tr");
        let row_count = std::iter::successors(first, |row| find_tag(text, row + 3..end, "<tr"))
            .take(MAX_COUNTED_ROWS)
            .count();
        if row_count > 1 {
            found.push(DocumentTable { span: Span::new(start, end), is_html: true, row_count });
        }
        at = (end + 1).min(text.len());
        while !text.is_char_boundary(at) {
            at += 1;
        }
    }
    found
}

/// Returns the offset of a tag in a range, whatever its case.
fn find_tag(text: &str, range: Range<usize>, tag: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes.get(range.clone())?).map(|at| range.start + at).find(|at| {
        let name =
            bytes.get(*at..at + tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag.as_bytes()));
        name && bytes.get(at + tag.len()).is_none_or(|next| !next.is_ascii_alphanumeric())
    })
}

/// Returns the rows of an HTML table. A cell that spans columns or rows is repeated in each.
pub(super) fn rows(text: &str, table: Span, should_stop: &dyn Fn(usize) -> bool) -> Option<Vec<Vec<String>>> {
    let (mut rows, end) = (Vec::new(), table.end as usize);
    let mut budget = MAX_REPEATED_BYTES;
    // Cells of earlier rows that span further ones: the number of rows that are left, by column.
    let mut spanning: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    let mut next = find_tag(text, table.start as usize..end, "<tr");
    while let Some(start) = next {
        next = find_tag(text, start + 3..end, "<tr");
        let row_end = next.unwrap_or(end);
        let (mut cells, mut at) = (Vec::new(), start + 3);
        while let Some(cell) = first_cell(text, at..row_end) {
            let stop = first_cell(text, cell + 3..row_end).unwrap_or(row_end);
            let html = text.get(cell..stop).unwrap_or_default();
            let tag = html.split('>').next().unwrap_or_default();
            let (columns, row_count) = (span_of(tag, "colspan"), span_of(tag, "rowspan"));
            let plain = html_text(html);
            take_spanning(&mut spanning, &mut cells, &mut budget);
            for repeat in 0..columns {
                if cells.len() >= MAX_CELLS || repeat > 0 && !spend(&mut budget, &plain) {
                    break;
                }
                if row_count > 1 {
                    spanning.insert(cells.len(), (row_count, plain.clone()));
                }
                cells.push(plain.clone());
            }
            at = cell + 3;
        }
        take_spanning(&mut spanning, &mut cells, &mut budget);
        spanning.retain(|_, (row_count, _)| {
            *row_count -= 1;
            *row_count > 0
        });
        rows.push(cells);
        if should_stop(rows.len()) {
            return None;
        }
    }
    Some(rows)
}

/// Appends the cells of earlier rows that span this row at its next columns.
fn take_spanning(
    spanning: &mut BTreeMap<usize, (usize, String)>,
    cells: &mut Vec<String>,
    budget: &mut usize,
) {
    while let Some((_, plain)) = spanning.get(&cells.len())
        && spend(budget, plain)
    {
        cells.push(plain.clone());
    }
}

/// Takes the bytes of a repeated cell from the budget of a table; false if it is spent.
fn spend(budget: &mut usize, plain: &str) -> bool {
    let rest = budget.checked_sub(plain.len() + size_of::<String>());
    *budget = rest.unwrap_or(0);
    rest.is_some()
}

/// Largest number of bytes of the repeated cells of a table.
const MAX_REPEATED_BYTES: usize = 4 << 20;
/// Largest number of columns or rows that a cell may span.
const MAX_SPAN: usize = 100;

/// Returns the number in an attribute of a tag, between 1 and [`MAX_SPAN`].
fn span_of(tag: &str, attribute: &str) -> usize {
    let tag = tag.to_ascii_lowercase();
    let value = tag.split_once(attribute).and_then(|(_, rest)| rest.trim_start().strip_prefix('='));
    let value = value.unwrap_or_default().trim_start().trim_start_matches(['"', '\'']);
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value[..digits].parse().unwrap_or(1).clamp(1, MAX_SPAN)
}

fn first_cell(text: &str, range: Range<usize>) -> Option<usize> {
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'<', bytes.get(range.clone())?).map(|at| range.start + at).find(|at| {
        let is_name = bytes
            .get(at + 1..at + 3)
            .is_some_and(|name| name.eq_ignore_ascii_case(b"td") || name.eq_ignore_ascii_case(b"th"));
        is_name && bytes.get(at + 3).is_none_or(|next| !next.is_ascii_alphanumeric())
    })
}

/// Returns the text of HTML without tags, with entities decoded and white space collapsed.
fn html_text(html: &str) -> String {
    let (mut plain, mut in_tag) = (String::new(), false);
    for c in html.chars() {
        match c {
            '<' => in_tag = true,
            '>' if in_tag => {
                in_tag = false;
                plain.push(' ');
            }
            c if !in_tag => plain.push(c),
            _ => {}
        }
    }
    let entities = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&amp;", "&"),
    ];
    let decoded = entities
        .iter()
        .fold(plain, |text, (entity, by)| if text.contains('&') { text.replace(entity, by) } else { text });
    decoded.split_whitespace().collect::<Vec<_>>().join(" ")
}
