//! Tests of tables of HTML.

use super::find;

/// Compares the rows of the first table, cells separated by bars, and its number of rows; nothing if there is no table.
fn check(table: &str, expect: &[&str]) {
    let text = format!("<p>x</p><table>{table}</table><p>y</p>");
    let found = find(&text);
    let rows = found.first().and_then(|table| table.rows(&text, &|_| false)).unwrap_or_default();
    let rows: Vec<String> = rows.iter().map(|row| row.join("|")).collect();
    assert_eq!(rows, expect, "{table}");
    if let Some(table) = found.first() {
        assert_eq!(table.row_count, rows.len(), "{text}");
    }
}

#[test]
fn rows_of_headers_are_joined() {
    let expect = ["Region|Sales 2024|Sales 2025", "North|1|2"];
    let first = "<tr><th rowspan=2>Region</th><th colspan=\"2\">Sales</th></tr>";
    check(&format!("{first}<tr><th>2024<th>2025</tr><tr><td>North<td>1<td>2</tr>"), &expect);
    check(&format!("{first}<tr><td>2024<td>2025</tr><tr><td>North<td>1<td>2</tr>"), &expect);
    check(
        &format!(
            "<thead>{first}<tr><td>2024</td><td>2025</td></tr></thead><tbody><tr><th>North</th><td>1</td><td>2</td></tr></tbody>"
        ),
        &expect,
    );
    check("<tr><td rowspan=2>Region<td colspan=2>Sales<tr><td>2024<td>2025<tr><td>North<td>1<td>2", &expect);
    check(
        "<tr><th colspan=2>A</th><th>B</th></tr><tr><th>x</th><th>y</th><th></th></tr><tr><td>1<td>2<td>3</tr>",
        &["A x|A y|B", "1|2|3"],
    );
}

#[test]
fn one_cell_above_the_names_is_no_name() {
    check(
        "<tr><th colspan=2>Sizes of 2025</th></tr><tr><th>Name</th><th>Size</th></tr><tr><td>a<td>1</tr>",
        &["Name|Size", "a|1"],
    );
    check(
        "<tr><td colspan=2>Sizes</td></tr><tr><td>Name<td>Size</tr><tr><td>a<td>1</tr>",
        &["Name|Size", "a|1"],
    );
}

#[test]
fn empty_rows_above_the_names_are_no_names() {
    check("<tr></tr><tr><th>City<th>Pop</tr><tr><td>Rome<td>3</tr>", &["City|Pop", "Rome|3"]);
}

#[test]
fn repeated_headers_are_no_rows() {
    let names = "<tr><th>City<th>Pop</tr>";
    check(
        &format!("{names}<tr><td>Rome<td>3</tr>{names}<tr><td>Bari<td>1</tr>"),
        &["City|Pop", "Rome|3", "Bari|1"],
    );
    check(&names.repeat(2), &[]);
}

#[test]
fn only_the_attributes_for_spans_count() {
    check(
        "<tr><th>a<th>b</tr><tr><td class=\"rowspan-2\" rowspan=\"2\">x<td>1</tr><tr><td>2</tr>",
        &["a|b", "x|1", "x|2"],
    );
    check("<tr><th>a<th>b</tr><tr><td aria-rowspan=3>x<td>1</tr><tr><td>y<td>2</tr>", &["a|b", "x|1", "y|2"]);
}

#[test]
fn a_table_with_too_many_repeated_cells_is_not_read_in_part() {
    let cells = "<td colspan=1000>".to_owned() + &"x".repeat(4_000);
    let text = format!("<table><tr><th>a<th>b</tr>{}</table>", format!("<tr>{cells}<td>y</tr>").repeat(40));
    assert_eq!(find(&text)[0].rows(&text, &|_| false), None);
}

#[test]
fn a_header_that_is_not_clear_is_no_table() {
    check("<tr><td rowspan=2>Fruit<td>Apple</tr><tr><td>Pear</tr><tr><td>Root<td>Beet</tr>", &[]);
    check(
        "<tr><td>x<td colspan=2>Sales</tr><tr><td>Region<td>2024<td>2025</tr><tr><td>North<td>1<td>2</tr>",
        &[],
    );
    check("<tr><th rowspan=3>Group</th><th>A</th></tr><tr><td>1</tr><tr><td>2</tr>", &[]);
    check("<tr><th>a</th><th>b</th></tr>", &[]);
    check("", &[]);
}

#[test]
fn cells_are_repeated_where_they_span() {
    check(
        "<tr><th>a<th>b<th>c</tr><tr><td rowspan=2>x<td>1<td>2</tr><tr><td colspan=2>3</tr><tr><td>y<td>4<td>5</tr>",
        &["a|b|c", "x|1|2", "x|3|3", "y|4|5"],
    );
    check(
        "<tr><th>a<th>b</tr><tr><td rowspan=0>x<td>1</tr><tr><td>2</tr><tr><td>3</tr>",
        &["a|b", "x|1", "x|2", "x|3"],
    );
    // No cell spans rows of another group.
    check(
        "<tr><th>a<th>b</tr><tbody><tr><td rowspan=9>x<td>1</tr></tbody><tbody><tr><td>y<td>2</tr></tbody>",
        &["a|b", "x|1", "y|2"],
    );
    // The heading of a group is no value of each column.
    check("<tr><th>a<th>b</tr><tr><th colspan=2>2024</tr><tr><td>x<td>1</tr>", &["a|b", "2024", "x|1"]);
}

#[test]
fn rows_without_records_are_left_out() {
    check(
        "<tr><th>a<th>b</tr><tr><td>x<td>1</tr><tr></tr><!-- <tr><td>n<td>0</tr> --><tr><td>y<td>2</tr>",
        &["a|b", "x|1", "y|2"],
    );
}

#[test]
fn a_table_around_another_is_none() {
    check("<tr><td><table><tr><th>a</tr><tr><td>1</tr></table></td></tr><tr><td>x</td></tr>", &["a", "1"]);
}
