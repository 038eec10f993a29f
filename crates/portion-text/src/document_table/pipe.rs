//! Pipe tables of Markdown.

use portion_json::span::Span;

use super::{DocumentTable, MAX_CELLS, MAX_TABLES, TableFormat};

/// Returns the pipe tables of a text.
pub(super) fn find(text: &str) -> Vec<DocumentTable> {
    let mut found = Vec::new();
    let (mut at, mut header, mut in_code) = (0, None::<usize>, false);
    let mut open: Option<(usize, usize, usize)> = None;
    for line in text.split_inclusive('\n') {
        let (start, trimmed) = (at, line.trim());
        at += line.len();
        in_code ^= trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let is_row = !in_code && trimmed.contains('|');
        if let Some((first, rows, _)) = open {
            if is_row {
                open = Some((first, rows + 1, at));
                continue;
            }
            close_pipe_table(open.take(), &mut found);
        }
        match header.take() {
            Some(first) if is_row && is_delimiter_row(trimmed) => open = Some((first, 0, at)),
            _ => header = is_row.then_some(start),
        }
    }
    close_pipe_table(open, &mut found);
    found
}

fn close_pipe_table(open: Option<(usize, usize, usize)>, found: &mut Vec<DocumentTable>) {
    if let Some((start, rows @ 1.., end)) = open
        && found.len() < MAX_TABLES
    {
        let row_count = rows + 1;
        found.push(DocumentTable { span: Span::new(start, end), format: TableFormat::Pipe, row_count });
    }
}

/// Returns true for the second line of a pipe table: `|---|:-:|`.
fn is_delimiter_row(line: &str) -> bool {
    let mut cells = line.trim_matches('|').split('|').map(str::trim).peekable();
    cells.peek().is_some()
        && cells.all(|cell| {
            let dashes = cell.trim_start_matches(':').trim_end_matches(':');
            !dashes.is_empty() && dashes.bytes().all(|b| b == b'-')
        })
}

/// Returns true if a text begins with a pipe table or a table with a rule, which could be read as separated values.
pub fn is_pipe_table(text: &str) -> bool {
    let is_rule = |line: &str| line.contains("-+-") && line.bytes().all(|byte| matches!(byte, b'-' | b'+'));
    let second = text.lines().nth(1).map(str::trim).filter(|line| line.len() < 4_096);
    second.is_some_and(|line| is_delimiter_row(line) || is_rule(line))
}

/// Returns the cells of each line of a table but the one below the header.
pub(super) fn rows(table: &str) -> Vec<Vec<String>> {
    table.lines().enumerate().filter(|(at, _)| *at != 1).map(|(_, line)| pipe_cells(line)).collect()
}

/// Returns the cells of a line of a pipe table.
fn pipe_cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let (mut cells, mut cell, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '|' if !escaped => cells.push(std::mem::take(&mut cell)),
            '|' => {
                cell.pop();
                cell.push('|');
            }
            c => cell.push(c),
        }
        escaped = c == '\\' && !escaped;
    }
    if !cell.trim().is_empty() {
        cells.push(cell);
    }
    cells.into_iter().take(MAX_CELLS).map(|cell| plain_markdown(cell.trim())).collect()
}

/// Returns the text of a cell without emphasis and code marks around it, and of a link its text.
fn plain_markdown(cell: &str) -> String {
    let mut text = cell;
    for mark in ["**", "__", "`", "*"] {
        let inner = text.strip_prefix(mark).and_then(|rest| rest.strip_suffix(mark));
        text = inner.filter(|inner| !inner.is_empty() && !inner.contains(mark)).unwrap_or(text);
    }
    let link =
        text.strip_prefix('[').and_then(|rest| rest.strip_suffix(')')).and_then(|rest| rest.split_once("]("));
    link.filter(|(label, target)| !label.contains(']') && !target.contains(')'))
        .map_or(text, |(label, _)| label)
        .to_owned()
}
