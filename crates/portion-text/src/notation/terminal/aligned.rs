//! Reads tables whose columns stand below their names with nothing but spaces between them, as `kubectl`, `docker`, `ps`, `df`,
//! `pip list` and pandas print them.
//!
//! Columns are where no line has a sign between two of them, whether values stand left or right. A name of two words is one
//! column if nothing stands below its second word.

use std::ops::Range;

/// Fewer columns than these are a table only if their names are in capitals, or have a rule below.
const MIN_COLUMNS: usize = 3;
/// Columns of values that are told apart by spaces alone.
const MIN_WORDS: usize = 6;

/// The names of the columns, and the cells of each row.
pub(super) type Columns<'a> = (Vec<&'a str>, Vec<Vec<&'a str>>);

/// Returns true for a line that may have the names of columns.
pub(super) fn is_header(line: &str) -> bool {
    let is_name = |word: &str| {
        word.starts_with(|c: char| c.is_alphabetic() || "%#_".contains(c))
            && word.chars().all(|c| c.is_alphanumeric() || "_-/()%#:.".contains(c))
            && !word.ends_with(['.', ':'])
    };
    let mut words = line.split_whitespace();
    line.trim().contains("  ") && words.clone().count() > 1 && words.all(is_name) || is_in_capitals(line)
}

fn is_in_capitals(line: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || " _-/()%.:".contains(c);
    line.trim().contains("  ")
        && line.trim_start().starts_with(|c: char| c.is_ascii_uppercase())
        && line.chars().all(is_sign)
}

/// Reads the table whose names are in the first line. A line of dashes may stand below them.
pub(super) fn columns_of<'a>(lines: &[&'a str]) -> Option<Columns<'a>> {
    let (header, rows) = lines.split_first().filter(|(header, _)| is_header(header))?;
    let is_rule = |line: &&&str| line.contains("--") && line.chars().all(|c| c == '-' || c == ' ');
    let is_ruled = rows.first().filter(is_rule).is_some();
    let rows = &rows[usize::from(is_ruled)..];
    let (names, rows) = by_place(header, rows).or_else(|| by_words(header, rows))?;
    let has_dots = |row: &Vec<&str>| row.iter().any(|cell| matches!(*cell, "..." | ".."));
    let is_table = names.len() >= MIN_COLUMNS || names.len() == 2 && (is_ruled || is_in_capitals(header));
    (is_table && !rows.iter().any(has_dots)).then_some((names, rows))
}

/// Reads columns between which no line has a sign.
fn by_place<'a>(header: &'a str, rows: &[&'a str]) -> Option<Columns<'a>> {
    let mut is_used: Vec<bool> = Vec::new();
    for line in rows.iter().chain([&header]) {
        for (at, _) in line.chars().enumerate().filter(|(_, c)| *c != ' ') {
            if at >= is_used.len() {
                is_used.resize(at + 1, false);
            }
            is_used[at] = true;
        }
    }
    let mut places: Vec<Range<usize>> = Vec::new();
    for at in (0..is_used.len()).filter(|at| is_used[*at]) {
        match places.last_mut().filter(|place| place.end == at) {
            Some(place) => place.end += 1,
            None => places.push(at..at + 1),
        }
    }
    let places = with_names(places, header, rows)?;
    let cells = |line: &'a str| places.iter().map(|place| cell(line, place)).collect::<Vec<_>>();
    let mut names = cells(header);
    if names[0].is_empty() {
        names[0] = "index";
    }
    let rows: Vec<_> = rows.iter().map(|line| cells(line)).collect();
    // A row without its first value goes on with the one above; a long value moves those behind it below other names.
    let is_joined = |(at, name): (usize, &&str)| {
        name.contains("  ") || name.contains(' ') && rows.iter().all(|row| row[at].contains(' '))
    };
    let is_read = rows.iter().all(|row| !row[0].is_empty()) && !names.iter().enumerate().any(is_joined);
    is_read.then_some((names, rows))
}

/// Joins each place without a name, or without values, to the one before it.
fn with_names(places: Vec<Range<usize>>, header: &str, rows: &[&str]) -> Option<Vec<Range<usize>>> {
    let mut named: Vec<Range<usize>> = Vec::new();
    for place in places {
        let is_column =
            !cell(header, &place).is_empty() && rows.iter().any(|line| !cell(line, &place).is_empty());
        match named.last_mut() {
            Some(last) if !is_column => last.end = place.end,
            _ => named.push(place),
        }
    }
    // A mark before the first name belongs to it.
    if let [first, second, ..] = &mut named[..]
        && cell(header, first).is_empty()
        && rows.iter().any(|line| cell(line, first).is_empty())
    {
        second.start = first.start;
        named.remove(0);
    }
    (named.len() > 1).then_some(named)
}

/// Returns what a line has in a range of characters, without the spaces around it.
fn cell<'a>(line: &'a str, place: &Range<usize>) -> &'a str {
    let offset = |at: usize| {
        if line.is_ascii() {
            at.min(line.len())
        } else {
            line.char_indices().nth(at).map_or(line.len(), |(at, _)| at)
        }
    };
    line[offset(place.start)..offset(place.end)].trim()
}

/// Reads columns of words, the last of which has the rest of the line: `ps` prints long numbers beside their place.
fn by_words<'a>(header: &'a str, rows: &[&'a str]) -> Option<Columns<'a>> {
    let names: Vec<&str> = header.split_whitespace().collect();
    let cells = |line: &&'a str| {
        let mut cells: Vec<&str> = Vec::with_capacity(names.len());
        let mut rest = line.trim_start();
        for _ in 1..names.len() {
            let (cell, after) = rest.split_once(' ')?;
            cells.push(cell);
            rest = after.trim_start();
        }
        cells.push(rest.trim_end());
        Some(cells)
    };
    let rows: Vec<Vec<&str>> = rows.iter().map(cells).collect::<Option<_>>()?;
    let is_number = |row: &Vec<&str>, at: usize| row[at].parse::<f64>().is_ok();
    let kinds = |at| rows.iter().filter(move |row| is_number(row, at)).count();
    // Values with spaces would move numbers to other columns.
    let is_clear = (0..names.len() - 1).all(|at| kinds(at) == 0 || kinds(at) == rows.len());
    let has_numbers = (0..names.len() - 1).filter(|at| kinds(*at) > 0).count() > 1;
    (names.len() >= MIN_WORDS && is_clear && has_numbers).then_some((names, rows))
}
