//! Reads delimiter-separated values (RFC 4180): CSV, TSV, and values separated by semicolons or bars.
//!
//! ```
//! use portion_text::chunk::chunker_for;
//! use portion_text::delimited::detect;
//!
//! let text = "id,name\n1,\"Lee, Ann\"\n2,Bo\n";
//! let format = detect(text, chunker_for(text)).expect("separated values");
//! let mut rows = format.reader(text);
//! assert_eq!(format.column_names(&rows.next_row().expect("a header")), ["id", "name"]);
//! assert_eq!(rows.next_row().expect("a row").cell(1), Some("Lee, Ann"));
//! ```

use csv_core::{ReadRecordResult, Reader, ReaderBuilder};
use portion_json::span::Span;

use crate::chunk::{Chunker, TextKind, first_row_start};
use crate::document_table::is_pipe_table;
use crate::names::{UniqueNames, are_years};

/// Rows and bytes that are sampled for detection, and the minimum number of rows.
const SAMPLE_ROWS: usize = 20;
const SAMPLE_BYTES: usize = 64 << 10;
const MIN_ROWS: usize = 2;
/// Maximum columns. Further cells of a row belong to none.
pub const MAX_COLUMNS: usize = 1_900;

/// The format of delimited text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelimitedFormat {
    /// The byte between two cells.
    pub delimiter: u8,
    /// True if the first row has the names of the columns.
    pub has_header: bool,
    /// Offset of the first row, after comments.
    pub start: usize,
    /// True if quotes around cells are none of their text. A program that does not quote may begin a cell with one.
    pub is_quoted: bool,
    /// True if cells are padded with spaces.
    pub is_padded: bool,
}

/// Detects delimited text that is neither a log nor a pipe table: nine in ten rows have as many cells as the first one. Two
/// columns need a row of distinct names.
pub fn detect(text: &str, chunker: &dyn Chunker) -> Option<DelimitedFormat> {
    // Lines of JSON and statements have commas, and so have tables with rules.
    let begins_with = |word: &str| {
        text.trim_start().get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word))
    };
    if chunker.kind() == TextKind::Log
        || text.starts_with('\u{1b}')
        || is_pipe_table(text)
        || begins_with("{")
        || begins_with("insert into ")
    {
        return None;
    }
    // Samples whole lines only: an unclosed quote must not cause a scan of the whole text.
    let sample = text.get(..text.floor_char_boundary(SAMPLE_BYTES))?;
    let sample = if sample.len() < text.len() { &sample[..sample.rfind('\n')?] } else { sample };
    let start = first_row_start(sample);
    // A heading of Markdown looks like a comment.
    if start > 0 && chunker.kind() != TextKind::Table {
        return None;
    }
    [b',', b'\t', b';', b'|'].into_iter().find_map(|delimiter| {
        let plain =
            DelimitedFormat { delimiter, has_header: false, start, is_quoted: false, is_padded: false };
        let quoted = detect_delimiter(sample, DelimitedFormat { is_quoted: true, ..plain });
        // The whole text is only read if its start is a table.
        let read = if quoted.is_some() { text } else { sample };
        if quotes_close(&read[start..], delimiter) {
            return quoted;
        }
        detect_delimiter(sample, plain).or(quoted)
    })
}

/// Returns true if each quote that begins a cell has another one that ends it.
fn quotes_close(text: &str, delimiter: u8) -> bool {
    let bytes = text.as_bytes();
    let is_edge = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at)).is_none_or(|b| *b == delimiter || matches!(b, b'\n' | b'\r'))
    };
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'"', &bytes[at..]) {
        let open = at + found;
        at = open + 1;
        if !is_edge(open.checked_sub(1)) {
            continue;
        }
        loop {
            let Some(found) = memchr::memchr(b'"', &bytes[at..]) else { return false };
            at += found + 1;
            if bytes.get(at) != Some(&b'"') {
                break;
            }
            at += 1;
        }
        if !is_edge(Some(at)) {
            return false;
        }
    }
    true
}

fn detect_delimiter(sample: &str, format: DelimitedFormat) -> Option<DelimitedFormat> {
    let delimiter = format.delimiter;
    let mut rows = format.reader(sample);
    let header = rows.next_row()?;
    let names: Vec<&str> = header.cells().collect();
    let width = names.len();
    let is_number = |name: &&str| name.trim().parse::<f64>().is_ok();
    let years: Vec<usize> = (0..width).filter(|at| is_number(&names[*at])).collect();
    let has_years_in = |row: &[&str]| are_years(years.iter().filter_map(|at| row.get(*at).copied()));
    let mut has_years = has_years_in(&names);
    let has_words = names.iter().any(|name| !name.trim().is_empty() && !is_number(name));
    let has_header = (years.is_empty() || has_years) && has_words;
    let mut distinct: Vec<&str> = names.iter().map(|name| name.trim()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    let is_named = has_header
        && distinct.len() == width
        && distinct.iter().all(|name| !name.is_empty() && name.len() <= 64);
    // Running text contains commas too.
    let spaced = names.iter().skip(1).filter(|name| name.starts_with(' ')).count();
    let is_running = delimiter == b',' && spaced * 2 > width;
    if width < 2 || !is_named && (width < 3 || is_running || names.iter().any(|name| name.len() > 64)) {
        return None;
    }
    let mut columns = vec![ColumnForms::default(); width];
    let (mut row_count, mut alike) = (0, 0);
    while row_count < SAMPLE_ROWS {
        let Some(row) = rows.next_row() else { break };
        let has_empty_end = row.len() == width + 1 && row.cell(width) == Some("");
        row_count += 1;
        alike += usize::from(row.len() == width || has_empty_end);
        // A row that repeats the names is none.
        if row.text == header.text {
            continue;
        }
        let cells: Vec<&str> = row.cells().collect();
        has_years &= !has_years_in(&cells);
        for (at, (column, cell)) in columns.iter_mut().zip(cells).enumerate() {
            // A year is like all numbers.
            if !has_years || !years.contains(&at) {
                column.add(names[at], cell);
            }
        }
    }
    let count =
        |is: fn(&ColumnForms, usize) -> bool| columns.iter().filter(|column| is(column, row_count)).count();
    // A first row like the others is none of names.
    let is_like_rows = count(|column, rows| column.like_name * 2 >= rows) * 2 >= width
        || count(|column, _| column.same >= MIN_ROWS) > 0;
    let has_numbers = count(|column, rows| column.numbers * 2 >= rows) > 0;
    if is_running && (is_like_rows || !has_numbers) || is_like_rows && width < 3 {
        return None;
    }
    let is_padded = matches!(delimiter, b'\t' | b'|')
        && names.iter().filter(|name| name.starts_with(' ') || name.ends_with(' ')).count() * 2 > width;
    // One row below names that programs give, with a number or of several columns.
    let is_identifier = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    let is_single = row_count == 1
        && alike == 1
        && is_named
        && names.iter().all(is_identifier)
        && (columns.iter().any(|column| column.numbers > 0) || width > 2);
    (is_single || alike >= MIN_ROWS && alike * 10 >= row_count * 9).then_some(DelimitedFormat {
        has_header: has_header && (years.is_empty() || has_years) && !is_like_rows,
        is_padded,
        ..format
    })
}

/// Counts of the values below a cell of the first row.
#[derive(Clone, Default)]
struct ColumnForms {
    /// Values that are like that cell: a path or address, a hash, or the same but for digits.
    like_name: usize,
    /// Values that are the same as that cell.
    same: usize,
    numbers: usize,
}

impl ColumnForms {
    fn add(&mut self, name: &str, value: &str) {
        let is_place = ['/', '@'].iter().any(|sign| name.contains(*sign) && value.contains(*sign));
        let are_hashes = name.len() == value.len() && is_hash(name) && is_hash(value);
        let is_like = is_place || are_hashes || without_digits(name).eq(without_digits(value));
        self.like_name += usize::from(is_like);
        self.same += usize::from(name == value && !name.trim().is_empty());
        self.numbers += usize::from(value.trim().parse::<f64>().is_ok());
    }
}

/// Shortest hash, in hexadecimal digits.
const MIN_HASH_DIGITS: usize = 7;

fn is_hash(text: &str) -> bool {
    text.len() >= MIN_HASH_DIGITS && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Yields the parts of a text between its digits.
fn without_digits(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty())
}

impl DelimitedFormat {
    /// Creates a format of rows without a header, at the start of a text.
    pub fn of_rows(delimiter: u8) -> Self {
        Self { delimiter, has_header: false, start: 0, is_quoted: true, is_padded: false }
    }

    /// Returns a reader of the rows, the first one included.
    pub fn reader(self, text: &str) -> DelimitedReader<'_> {
        let reader = ReaderBuilder::new().delimiter(self.delimiter).quoting(self.is_quoted).build();
        DelimitedReader { text, offset: self.start, reader, is_padded: self.is_padded }
    }

    /// Returns a reader of one row of the text.
    pub fn row_reader(self, row: &str) -> DelimitedReader<'_> {
        Self { start: 0, ..self }.reader(row)
    }

    /// Returns the names of the columns, and the rows below them. A row that repeats the names, as at the top of a page, is none.
    pub fn columns_and_rows(self, text: &str) -> (Vec<String>, impl Iterator<Item = DelimitedRow>) {
        let mut reader = self.reader(text);
        let first = reader.next_row().unwrap_or_default();
        let names = self.column_names(&first);
        let (header, first) = if self.has_header { (Some(first), None) } else { (None, Some(first)) };
        let rows = first.into_iter().chain(std::iter::from_fn(move || reader.next_row()));
        let is_header = move |row: &DelimitedRow| {
            header.as_ref().is_some_and(|header| row.ends == header.ends && row.text == header.text)
        };
        (names, rows.filter(move |row| !is_header(row)))
    }

    /// Returns the unique names of the columns; those without a name in the first row are numbered.
    pub fn column_names(self, first: &DelimitedRow) -> Vec<String> {
        let cells = first.cells().take(MAX_COLUMNS).enumerate();
        let mut columns: Vec<String> = cells
            .map(|(at, name)| {
                let name = name.trim().trim_start_matches('\u{feff}');
                let is_named = self.has_header && !name.is_empty();
                if is_named { name.to_owned() } else { format!("column_{}", at + 1) }
            })
            .collect();
        // A delimiter at the end of every row begins no column.
        let has_empty_end = first.cells().last().is_some_and(str::is_empty);
        if self.has_header && first.len() == columns.len() && has_empty_end {
            columns.pop();
        }
        UniqueNames::number_variants(&mut columns);
        let mut names = UniqueNames::default();
        columns.iter().map(|name| names.unique(name)).collect()
    }
}

/// The unquoted cells of one row.
#[derive(Debug, Default)]
pub struct DelimitedRow {
    /// The cells, one after the other.
    pub text: Vec<u8>,
    /// The end of each cell in them.
    pub ends: Vec<usize>,
    /// Span of the row in the text that was read.
    pub span: Span,
}

impl DelimitedRow {
    /// Returns the number of cells.
    #[expect(clippy::len_without_is_empty, reason = "a row has at least one cell")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns a cell.
    pub fn cell(&self, at: usize) -> Option<&str> {
        let start = at.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        // Cells are split at ASCII bytes, so each is valid UTF-8.
        std::str::from_utf8(self.text.get(start..*self.ends.get(at)?)?).ok()
    }

    /// Returns true for a rule below the names of the columns: `--- | :---: | ----`.
    fn is_rule(&self) -> bool {
        let dashes = |cell: &str| {
            let dashes = cell.trim().trim_matches(':');
            dashes.bytes().all(|b| b == b'-').then_some(dashes.len()).filter(|count| *count > 0)
        };
        let lengths: Option<Vec<usize>> = self.cells().map(dashes).collect();
        lengths.is_some_and(|lengths| lengths.len() > 1 && lengths.iter().any(|length| *length > 1))
    }

    /// Returns the row without white space around its cells.
    fn trimmed(self) -> Self {
        let mut trimmed = Self { text: Vec::new(), ends: Vec::new(), span: self.span };
        for cell in self.cells() {
            trimmed.text.extend_from_slice(cell.trim().as_bytes());
            trimmed.ends.push(trimmed.text.len());
        }
        trimmed
    }

    /// Yields all cells.
    pub fn cells(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|at| self.cell(at).unwrap_or_default())
    }
}

/// Reads one row after another.
pub struct DelimitedReader<'a> {
    text: &'a str,
    offset: usize,
    reader: Reader,
    is_padded: bool,
}

/// Returns true for a line that ends the rows above it: the end of a block of code, or `(300 rows)`.
fn is_end(line: &[u8]) -> bool {
    let counted = line.strip_prefix(b"(").and_then(|rest| rest.split(|b| *b == b' ').next());
    let is_count = counted.is_some_and(|count| !count.is_empty() && count.iter().all(u8::is_ascii_digit));
    let is_rest = std::str::from_utf8(line).is_ok_and(|line| rest_line(line).is_some());
    line == b"```" || is_rest || is_count && (line.ends_with(b" rows)") || line.ends_with(b" rows affected)"))
}

/// Returns the last line of a text, if it stands for rows that were left out: `... 380 more rows truncated`.
pub fn rest_line(text: &str) -> Option<&str> {
    let last = text.trim_end().lines().next_back()?.trim();
    let words =
        last.strip_prefix("...").or_else(|| last.strip_prefix('…')).or_else(|| last.strip_prefix('['))?;
    let says = |word| words.contains(word);
    (says(" more") || says("truncated") || says("omitted")).then_some(last)
}

impl DelimitedReader<'_> {
    /// Returns the next row. A rule of dashes is none.
    pub fn next_row(&mut self) -> Option<DelimitedRow> {
        std::iter::from_fn(|| self.next_line()).find(|row| !row.is_rule())
    }

    fn next_line(&mut self) -> Option<DelimitedRow> {
        let mut row = DelimitedRow { text: vec![0; 256], ends: vec![0; 32], span: Span::default() };
        let (start, mut written, mut ended) = (self.offset, 0, 0);
        loop {
            let input = self.text.as_bytes().get(self.offset..)?;
            let (result, read, wrote, ends) =
                self.reader.read_record(input, row.text.get_mut(written..)?, row.ends.get_mut(ended..)?);
            (self.offset, written, ended) = (self.offset + read, written + wrote, ended + ends);
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::OutputFull => row.text.resize(row.text.len() * 2, 0),
                ReadRecordResult::OutputEndsFull => row.ends.resize(row.ends.len() * 2, 0),
                // An empty input signals the end to the reader.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::End => return None,
            }
        }
        row.text.truncate(written);
        row.ends.truncate(ended);
        row.span = Span::new(start, self.offset);
        if row.len() == 1 && is_end(&row.text) {
            return None;
        }
        Some(if self.is_padded { row.trimmed() } else { row })
    }
}

#[cfg(test)]
mod tests {
    use super::detect;
    use crate::chunk::chunker_for;

    /// `header`: true or false for a table with a header or without, `None` for a text that is no table.
    fn check(line: impl Fn(usize) -> String, header: Option<bool>) {
        let text = (0..60).map(&line).collect::<Vec<_>>().join("\n");
        let found = detect(&text, chunker_for(&text));
        assert_eq!(found.map(|format| format.has_header), header, "{}", line(0));
    }

    #[test]
    fn lines_that_have_commas_are_no_table() {
        check(|n| format!("src/f{n}.c:{n}: int a, b, c = foo({n}, 1);"), None);
        check(|n| format!("INSERT INTO t (id, name, qty) VALUES ({n}, 'n{n}', {n})"), None);
        check(|n| format!("id={n}, name=n{n}, qty={n}"), None);
        check(|n| format!("- a point about {n}, and another one"), None);
        check(
            |n| format!("{{\"id\": {n}, \"v\": {n}, \"tags\": [\"x\"]}}{}", if n == 40 { "x" } else { "" }),
            None,
        );
        let psql = |n: usize| match n {
            0 | 30 => " id | name".to_owned(),
            1 | 31 => "----+------".to_owned(),
            n => format!("  {n} | n{n}"),
        };
        check(psql, None);
    }

    #[test]
    fn years_name_columns() {
        let row = |n: usize| format!("Country {n},C{n},{},{},{}", n * 3, n + 2000, n * 5);
        check(|n| if n == 0 { "country,code,2019,2020,2021".to_owned() } else { row(n) }, Some(true));
        check(|n| if n == 0 { "country,code,2019,2020,7".to_owned() } else { row(n) }, Some(false));
        check(|n| format!("Name {n},{},{}", 1950 + n, 1951 + n), Some(false));
    }

    #[test]
    fn a_quote_that_is_not_closed_is_text() {
        let check = |text: &str, count: usize, second: &str| {
            let format = detect(text, chunker_for(text)).expect("a table");
            let (_, rows) = format.columns_and_rows(text);
            let rows: Vec<_> = rows.collect();
            assert_eq!((rows.len(), rows[1].cell(1)), (count, Some(second)), "{text}");
        };
        check("id\ttitle\tn\n1\ta\t1\n2\t\"b\t2\n3\tc\t3\n", 3, "\"b");
        check("id\ttitle\tn\n1\ta\t1\n2\t\"b\" c\t2\n3\tc\t3\n", 3, "\"b\" c");
        check("id\ttitle\tn\n1\ta\t1\n2\t\"b\nc\"\t2\n3\tc\t3\n", 3, "b\nc");
        check("id,title,n\n1,a,1\n2,\"b, c\",2\n3,c,3\n", 3, "b, c");
        check("id,title,n\n1,a,1\n2,\"b,2\n3,c,3\n", 3, "\"b");
        check(
            "NAME  \tSTATUS  \tN\na     \tok      \t1\nb     \tfailed  \t2\nc     \tok      \t3\n",
            3,
            "failed",
        );
        let rows = "1,a,1\n2,b,2\n".repeat(20);
        check(&format!("Rows:\n\n```csv\nid,title,n\n{rows}```\n"), 40, "b");
        check("sep=,\nid,title,n\n1,a,1\n2,b,2\n3,c,3\n", 3, "b");
    }

    #[test]
    fn names_differ_from_the_values_below_them() {
        let below = |names: &'static str, row: fn(usize) -> String| {
            check(move |n| if n == 0 { names.to_owned() } else { row(n) }, Some(true));
        };
        below("id,name,city", |n| format!("{n},n{n},Oslo"));
        below("id, name, qty", |n| format!("{n}, n{n}, {n}"));
        below("name;note", |n| format!("n{n};a note"));
        below("name;mail;km/h", |n| format!("n{n};n{n}@x.org;{n}"));
        check(|n| format!("{n},n{n},Oslo"), Some(false));
        check(|n| format!("k{n},n{n},Oslo"), Some(false));
        // The values of the first row recur, or are paths and hashes as those below them.
        let words = |n: usize| ["alpha", "beta", "gamma"][n % 3];
        check(move |n| format!("{}|{}|x{}", words(n), words(n + n / 3), "y".repeat(n % 7)), Some(false));
        check(move |n| format!("M\tsrc/{}/f.rs", words(n)), None);
        check(
            move |n| format!("{:040x}\trefs/{}\t{}", n + 0x1abc_def0, words(n), "z".repeat(n % 9)),
            Some(false),
        );
    }

    #[test]
    fn rules_and_counts_of_rows_are_no_rows() {
        for (names, rule) in [
            ("id | name | n", "--- | --- | ---"),
            ("id,name,n", "--,----,-"),
            ("id\tname\tn", "--\t----\t--"),
        ] {
            let delimiter = names.trim_start_matches("id").split("name").next().expect("a delimiter");
            let rows: Vec<String> = (0..60).map(|n| format!("{n}{delimiter}n{n}{delimiter}{n}")).collect();
            let text = format!("Result:\n\n{names}\n{rule}\n{}\n\n(60 rows)\n", rows.join("\n"));
            let format = detect(&text, chunker_for(&text)).expect("a table");
            let (columns, rows) = format.columns_and_rows(&text);
            let last: Vec<String> = rows.last().expect("rows").cells().map(str::to_owned).collect();
            assert_eq!(
                (columns, last),
                (vec!["id".into(), "name".into(), "n".into()], vec!["59".into(), "n59".into(), "59".into()]),
                "{names}"
            );
        }
    }
}
