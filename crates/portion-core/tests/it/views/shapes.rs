//! Tables with totals, envelopes, and content that must not look empty.

use super::resolving::{check, shown};

fn report(rows: usize) -> String {
    let names: Vec<String> = (0..6).map(|i| format!("\"c{i}\"")).collect();
    let row = |row: usize| {
        format!("[{}]", (0..6).map(|i| (row * 10 + i).to_string()).collect::<Vec<_>>().join(","))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    let totals =
        |times: usize| format!("[{}]", (0..6).map(|i| (times + i).to_string()).collect::<Vec<_>>().join(","));
    format!(
        "{{\"status\":\"success\",\"result\":{{\"columns\":[{}],\"rows\":[{}],\"totals\":{},\"stats\":{{\"mean\":{}}},\"pair\":[1,2]}}}}",
        names.join(","),
        rows.join(","),
        totals(100),
        totals(200)
    )
}

#[test]
fn per_column_values_follow_their_columns() {
    check(
        &report(2),
        &[("fields", "\"c1,c4\"")],
        r#"{"status":"success","result":{"columns":["c1","c4"],"rows":[[1,4],[11,14]],"totals":[101,104],"stats":{"mean":[201,204]},"pair":[1,2]}}"#,
    );
}

#[test]
fn few_columns_need_a_member_with_a_known_name() {
    let report = r#"{"columns":["a","b"],"rows":[[1,2],[3,4]],"totals":[4,6],"range":["x","y"]}"#;
    check(
        report,
        &[("fields", "\"b\"")],
        r#"{"columns":["b"],"rows":[[2],[4]],"totals":[6],"range":["x","y"]}"#,
    );
}

const BOOKING: &str = r#"{"status":"success","result":{"id":7,"status":"confirmed","guest":{"name":"Ada"}}}"#;

#[test]
fn fields_apply_to_the_core_object() {
    check(BOOKING, &[("fields", "\"status\"")], r#"{"result":{"status":"confirmed"}}"#);
    check(BOOKING, &[("fields", "\"guest.name,id\"")], r#"{"result":{"id":7,"guest":{"name":"Ada"}}}"#);
    check(BOOKING, &[("fields", "\"/status\"")], r#"{"status":"success"}"#);
    check(BOOKING, &[("fields", "\"result.status\"")], r#"{"result":{"status":"confirmed"}}"#);
    check(BOOKING, &[("section", "\"guest\"")], r#"{"name":"Ada"}"#);
    check(BOOKING, &[("path", "\"/status\"")], "success");
}

#[test]
fn a_field_that_only_the_envelope_has_is_found_there() {
    let booking = r#"{"count":1,"result":{"id":7,"status":"confirmed"}}"#;
    check(booking, &[("fields", "\"count\"")], r#"{"count":1}"#);
    // An object with an identity of its own is not an envelope.
    let record = r#"{"id":1,"status":"open","data":{"status":"x"}}"#;
    check(record, &[("fields", "\"status\"")], r#"{"status":"open"}"#);
}

#[test]
fn content_never_looks_empty() {
    let list = r#"[{"id":1,"status":"open"},{"name":"b","lines":[{"p":1},{"q":2}]}]"#;
    check(
        list,
        &[("fields", "\"status\"")],
        r#"[{"id":1,"status":"open"},{"name":"b"}]"#.replace("\"id\":1,", "").as_str(),
    );
    check(list, &[("fields", "\"lines.p\"")], r#"[{"id":1},{"lines":[{"p":1},{"q":2}]}]"#);
}

#[test]
fn an_api_path_with_operations_shows_some_of_them() {
    let text = "word ".repeat(60);
    let operation = |i: usize| format!("{{\"operationId\":\"op{i}\",\"description\":\"{text}\"}}");
    let path = |i: usize| {
        let method = ["get", "post", "put", "delete", "patch", "head"][if i == 17 { 5 } else { i % 4 }];
        format!("\"/path{i}\":{{\"{method}\":{}}}", operation(i))
    };
    let paths: Vec<String> = (0..400).map(path).collect();
    let shown = shown(&format!("{{\"paths\":{{{}}}}}", paths.join(",")), &[]);
    assert!(shown.contains("/path17") && !shown.contains("{}"), "{shown}");
}
