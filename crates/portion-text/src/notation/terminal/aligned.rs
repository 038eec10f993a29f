//! Reads tables whose columns stand below their names with nothing but spaces between them, as `kubectl`, `docker`, `ps`, `df`,
//! `pip list` and pandas print them.
//!
//! Columns are where no line has a sign between two of them, whether values stand left or right. A name of two words is one
//! column if nothing stands below its second word.

use std::ops::Range;

use super::is_rule;

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
    // Tabs separate values themselves.
    let has_tab = || line.contains('\t');
    let mut words = line.split_whitespace();
    line.trim().contains("  ") && words.clone().count() > 1 && words.all(is_name) && !has_tab()
        || is_in_capitals(line)
}

pub(super) fn is_in_capitals(line: &str) -> bool {
    let is_sign = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || " _-/()%.:".contains(c);
    line.trim().contains("  ")
        && line.trim_start().starts_with(|c: char| c.is_ascii_uppercase())
        && line.chars().all(is_sign)
}

/// Reads the table whose names are in the first line. A rule may stand below them, and tell the columns.
pub(super) fn columns_of<'a>(lines: &[&'a str]) -> Option<Columns<'a>> {
    let (header, rows) = lines.split_first()?;
    let rule = rows.first().filter(|line| is_rule(line) && !line.contains(['+', '|']));
    let rows = &rows[usize::from(rule.is_some())..];
    // One long rule tells no columns.
    let rule = rule.filter(|rule| rule.trim().contains(' '));
    if rule.is_none() && !is_header(header) {
        return None;
    }
    let by_words = || if rule.is_none() { by_words(header, rows) } else { None };
    let (names, rows) = by_place(header, rule.copied(), rows).or_else(by_words)?;
    let has_dots = |row: &Vec<&str>| row.iter().any(|cell| matches!(*cell, "..." | ".."));
    let is_table =
        names.len() >= MIN_COLUMNS || names.len() == 2 && (rule.is_some() || is_in_capitals(header));
    (is_table && !rows.iter().any(has_dots)).then_some((names, rows))
}

/// Reads columns between which no line has a sign.
fn by_place<'a>(header: &'a str, rule: Option<&'a str>, rows: &[&'a str]) -> Option<Columns<'a>> {
    let is_space = |c: char| c == ' ';
    let is_used = used_places(rows.iter().chain([&header]).chain(&rule), is_space);
    let has_name = used_places([&rule.unwrap_or(header)].into_iter(), char::is_whitespace);
    let has_value = used_places(rows.iter(), char::is_whitespace);
    let mut places: Vec<Range<usize>> = Vec::new();
    for at in (0..is_used.len()).filter(|at| is_used[*at]) {
        match places.last_mut().filter(|place| place.end == at) {
            Some(place) => place.end += 1,
            None => places.push(at..at + 1),
        }
    }
    let has = |used: &[bool], place: &Range<usize>| {
        used.get(place.start..place.end.min(used.len())).is_some_and(|used| used.contains(&true))
    };
    let is_column =
        |place: &Range<usize>| has(&has_name, place) && (rule.is_some() || has(&has_value, place));
    let mut places = joined(places, is_column);
    // A mark before the first name belongs to it.
    let is_empty = |line: &str, place: &Range<usize>| cells(line, std::slice::from_ref(place))[0].is_empty();
    if let [first, second, ..] = &mut places[..]
        && is_empty(header, first)
        && rows.iter().any(|line| is_empty(line, first))
    {
        second.start = first.start;
        places.remove(0);
    }
    let mut names = cells(header, &places);
    if rule.is_none() && names.first()?.is_empty() {
        names[0] = "index";
    }
    let rows: Vec<_> = rows.iter().map(|line| cells(line, &places)).collect();
    // A long value moves those behind it below other names. Where two spaces are between columns, one is between words.
    let is_wide = places.windows(2).all(|pair| pair[1].start - pair[0].end > 1);
    let is_joined = |(at, name): (usize, &&str)| {
        name.contains("  ") || !is_wide && name.contains(' ') && rows.iter().all(|row| row[at].contains(' '))
    };
    let is_clear = match rule {
        Some(rule) => rule.split_whitespace().count() == names.len(),
        None => !names.iter().enumerate().any(is_joined),
    };
    // A row without its first value goes on with the one above.
    (names.len() > 1 && is_clear && rows.iter().all(|row| !row[0].is_empty())).then_some((names, rows))
}

/// Joins each place that is no column to the one before it.
fn joined(places: Vec<Range<usize>>, is_column: impl Fn(&Range<usize>) -> bool) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for place in places {
        match joined.last_mut() {
            Some(last) if !is_column(&place) => last.end = place.end,
            _ => joined.push(place),
        }
    }
    joined
}

/// Returns true for each place at which a line has a sign that is no space.
fn used_places<'l, 'a: 'l>(
    lines: impl Iterator<Item = &'l &'a str>,
    is_space: fn(char) -> bool,
) -> Vec<bool> {
    let mut is_used = Vec::new();
    for line in lines {
        for (at, _) in line.chars().enumerate().filter(|(_, c)| !is_space(*c)) {
            if at >= is_used.len() {
                is_used.resize(at + 1, false);
            }
            is_used[at] = true;
        }
    }
    is_used
}

/// Returns what a line has in ranges of characters, one after another, without the spaces around it. The line is read once.
fn cells<'a>(line: &'a str, places: &[Range<usize>]) -> Vec<&'a str> {
    let mut offsets = line.char_indices().map(|(offset, _)| offset);
    let mut passed = 0;
    let mut offset = |place: usize| {
        let found = offsets.nth(place - passed).unwrap_or(line.len());
        passed = place + 1;
        found
    };
    let cell = |place: &Range<usize>| {
        let start = offset(place.start);
        line[start..offset(place.end)].trim()
    };
    places.iter().map(cell).collect()
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
