//! Tables with totals, envelopes, and content that must not look empty.

use super::resolving::{check, shown, shown_error};

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

/// A booking in an envelope, of which one member is nearly all.
fn detailed_booking(before: &str) -> String {
    let details: Vec<String> = (0..30).map(|n| format!("\"d{n}\":\"{}\"", "word ".repeat(12))).collect();
    format!(
        "{{\"status\":\"success\",\"result\":{{{before}\"guestName\":\"Ada\",\"details\":{{{}}}}}}}",
        details.join(",")
    )
}

#[test]
fn fields_are_those_of_the_nearest_object_that_has_them() {
    for identity in ["\"id\":7,", "\"bookingNumber\":7,"] {
        let booking = detailed_booking(identity);
        let name = identity.split('"').nth(1).expect("a name");
        let both = format!("\"{name},guestName\"");
        check(&booking, &[("fields", &both)], &format!("{{\"result\":{{{identity}\"guestName\":\"Ada\"}}}}"));
        check(
            &booking,
            &[("fields", "\"details.d3\"")],
            &format!("{{\"result\":{{\"details\":{{\"d3\":\"{}\"}}}}}}", "word ".repeat(12)),
        );
        check(
            &booking,
            &[("fields", "\"d3\"")],
            &format!("{{\"result\":{{\"details\":{{\"d3\":\"{}\"}}}}}}", "word ".repeat(12)),
        );
        check(&booking, &[("fields", "\"status\"")], r#"{"status":"success"}"#);
        let error = shown_error(&booking, "\"guestNme\"");
        assert!(error.starts_with("field_unknown") && error.contains("did you mean guestName?"), "{error}");
    }
    // One object that has all of them comes before several that have one each.
    let page =
        r#"{"status":"ok","meta":{"n":1},"data":{"id":7,"status":"open","text":"word word word word word"}}"#;
    check(page, &[("fields", "\"id,status\"")], r#"{"data":{"id":7,"status":"open"}}"#);
    check(page, &[("fields", "\"status\"")], r#"{"status":"ok"}"#);
    check(page, &[("fields", "\"n\"")], r#"{"meta":{"n":1}}"#);
}

#[test]
fn fields_of_records_are_those_of_the_nearest_object_that_has_them() {
    let edges = r#"[{"node":{"id":1,"name":"a","owner":{"name":"x"}}},{"node":{"id":2,"name":"b","owner":{"name":"y"}}}]"#;
    check(edges, &[("fields", "\"name\"")], r#"[{"node":{"name":"a"}},{"node":{"name":"b"}}]"#);
    check(
        edges,
        &[("fields", "\"owner.name\"")],
        r#"[{"node":{"owner":{"name":"x"}}},{"node":{"owner":{"name":"y"}}}]"#,
    );
    let list = r#"{"total":2,"items":[{"id":1,"name":"a"},{"id":2,"name":"b"}]}"#;
    check(list, &[("fields", "\"id,total\"")], r#"{"total":2,"items":[{"id":1},{"id":2}]}"#);
    // The name of the list is the whole list, whatever is named beside it.
    for names in ["\"items\"", "\"items,total\""] {
        check(list, &[("fields", names)], list);
    }
    check(list, &[("fields", "\"items.name\"")], r#"{"total":2,"items":[{"name":"a"},{"name":"b"}]}"#);
    check(list, &[("fields", "\"total\"")], r#"{"total":2}"#);
    // Two objects are as near: neither is meant.
    let pair = r#"[{"guest":{"name":"a"},"host":{"name":"b"}}]"#;
    assert!(shown_error(pair, "\"name\"").starts_with("field_unknown"));
}

#[test]
fn fields_around_a_long_list_are_those_of_the_nearest_object_that_has_them() {
    let notes: Vec<String> = (0..300).map(|n| format!("\"note {n}: {}\"", "word ".repeat(6))).collect();
    let booking = format!(
        "{{\"status\":\"success\",\"result\":{{\"id\":5,\"guestName\":\"Ada\",\"status\":\"new\",\"details\":{{\"notes\":[{}]}}}}}}",
        notes.join(",")
    );
    check(&booking, &[("fields", "\"id,guestName\"")], r#"{"result":{"id":5,"guestName":"Ada"}}"#);
    check(&booking, &[("fields", "\"status\"")], r#"{"result":{"status":"new"}}"#);
    check(&booking, &[("fields", "\"/status\"")], r#"{"status":"success"}"#);
    check(&booking, &[("fields", "\"result.id\"")], r#"{"result":{"id":5}}"#);
    for names in ["\"details\"", "\"details.notes\"", "\"id,details\""] {
        let page = shown(&booking, &[("fields", names)]);
        assert!(page.contains("note 0:") && page.contains("note 9:"), "{names}: {page}");
    }
    let rows: Vec<String> = (0..200).map(|n| format!("{{\"id\":{n},\"name\":\"n{n}\"}}")).collect();
    let list = format!(
        "{{\"status\":\"ok\",\"result\":{{\"rows\":[{}],\"owner\":{{\"name\":\"o\"}}}}}}",
        rows.join(",")
    );
    check(&list, &[("fields", "\"owner.name\"")], r#"{"result":{"owner":{"name":"o"}}}"#);
    assert!(shown(&list, &[("fields", "\"name\"")]).contains(r#"{"name":"n1"}"#));
    assert!(shown_error(&list, "\"owner.nme\"").starts_with("field_unknown"));
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
