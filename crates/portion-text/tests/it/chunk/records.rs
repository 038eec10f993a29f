//! Chunks of JSON lines and tables of separated values: whole records.

use portion_text::chunk::ChunkLimits;
use proptest::prelude::*;

use super::rules::check;
use super::{Chars, chunks};

#[test]
fn lines_of_json_stay_whole() {
    check(
        "json",
        60,
        "{\"id\": 1, \"name\": \"Ann\"}\n{\"id\": 2, \"name\": \"Bo\"}\n¦{\"id\": 3, \"name\": \"Cy\", \"more\": [1, 2]}\n{\"id\": 4}\n",
    );
}

#[test]
fn a_line_of_json_too_long_is_cut_between_its_values() {
    let member = |index: usize| format!("\"key {index:03}\": \"a, b, and {{c\"");
    let text = format!("{{{}", (0..40).map(member).collect::<Vec<_>>().join(", "));
    let limits = ChunkLimits { counter: &Chars(1), max_tokens: 200, max_lines: 200, max_bytes: 65_536 };
    let cut = chunks(&text, &limits);
    assert!(cut.len() > 3 && cut[1..].iter().all(|chunk| chunk.starts_with("\"key ")), "{cut:?}");
}

#[test]
fn rows_stay_whole() {
    check(
        "table",
        50,
        "id,name,note\n1,Ann,\"first line\nsecond, line\"\n¦2,Bo,\"says \"\"no\"\"\n\nagain\"\n3,Cy,none\n4,Di,\"\"\n¦5,Ed,none\n6,Fay,\"\"\n",
    );
    check("table", 30, "id\tname\n1\tAnn and Bo\n2\tCy\n¦3\tDi and Ed\n4\tFay\n");
}

#[test]
fn an_unpaired_quote_is_a_character() {
    check("table", 40, "size\tname\tfor\n5\t\"5 inch\ta\n6\t6\tb\n¦7\t7 inch\tc\n8\t8\td\n");
}

#[test]
fn a_row_too_large_is_cut_between_its_fields() {
    check("table", 31, "a,b,c\n1,2,3\n4,5,6\n¦alpha beta gamma,delta epsilon,¦zeta eta\n7,8,9\n");
}

proptest! {
    #[test]
    fn a_row_that_fits_is_whole(notes in prop::collection::vec("[a-z\n,]{0,30}", 3..60)) {
        let row = |(index, note): (usize, &String)| format!("#{index},\"{note}\",end\r\n");
        let text = format!("id,note,last\r\n{}", notes.iter().enumerate().map(row).collect::<String>());
        let limits = ChunkLimits { counter: &Chars(1), max_tokens: 90, max_lines: 200, max_bytes: 65_536 };
        let cut = chunks(&text, &limits);
        prop_assert!(cut[1..].iter().all(|chunk| chunk.starts_with('#')), "{cut:?}");
    }
}
