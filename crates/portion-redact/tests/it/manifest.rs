//! Tests redaction of Kubernetes secrets, whose data have names of any kind.

use super::check;

fn check_hidden(text: &str, named: &[&str]) {
    check("secrets", text, &text.replace("aHVudGVyMg==", "[redacted]"), named);
}

#[test]
fn secrets_in_json() {
    check_hidden(r#"{"kind":"Secret","data":{"db":"aHVudGVyMg=="}}"#, &["data.db"]);
    check_hidden(
        r#"{"apiVersion":"v1","data":{"db":"aHVudGVyMg==","url":"aHVudGVyMg=="},"kind":"Secret","metadata":{"name":"a"}}"#,
        &["data.db", "data.url"],
    );
    check_hidden(
        r#"{"kind":"List","items":[{"kind":"ConfigMap","data":{"db":"x"}},{"stringData":{"db":"aHVudGVyMg=="},"kind":"Secret"}]}"#,
        &["items.stringData.db"],
    );
    // A manifest as a string, as annotations contain it.
    check_hidden(r#"{"last":"{\"kind\":\"Secret\",\"data\":{\"db\":\"aHVudGVyMg==\"}}"}"#, &["data.db"]);
    check("secrets", r#"{"kind":"ConfigMap","data":{"db":"x"}}"#, "-", &[]);
    check("secrets", r#"{"spec":{"kind":"Secret","name":"a"},"data":{"db":"x"}}"#, "-", &[]);
    check("phone", r#"{"kind":"Secret","data":{"db":"x"}}"#, "-", &[]);
}

#[test]
fn secrets_in_yaml() {
    check_hidden("kind: Secret\ndata:\n  db: aHVudGVyMg==\n", &["db"]);
    check_hidden(
        "apiVersion: v1\ndata:\n  db: aHVudGVyMg==\n  \"tls.crt\": aHVudGVyMg==\nkind: \"Secret\"\nmetadata:\n  name: a\n",
        &["db", "tls.crt"],
    );
    for mark in ["", "\u{feff}"] {
        check_hidden(&format!("{mark}kind: Secret\ndata:\n  a: aHVudGVyMg==\n"), &["a"]);
        check_hidden(&format!("{mark}data:\n  a: aHVudGVyMg==\nkind: Secret\n"), &["a"]);
    }
    // Items of a list, documents of a stream, and blocks of several lines.
    check_quoted(
        "items:\n- apiVersion: v1\n  data:\n    db: aHVudGVyMg==\n  kind: Secret\n- apiVersion: v1\n  data:\n    db: x\n  kind: ConfigMap\n",
        &["items.data.db"],
    );
    check_quoted(
        "kind: ConfigMap\ndata:\n  db: x\n---\nstringData:\n  db: |\n    aHVudGVyMg==\n    aHVudGVyMg==\n\n  b: aHVudGVyMg==\nkind: Secret\n---\ndata:\n  db: x\n",
        &["stringData.db", "stringData.b"],
    );
    check("secrets", "kind: ConfigMap\ndata:\n  db: x\n", "-", &[]);
    check("secrets", "subjects:\n- kind: Secret\n  name: a\ndata:\n  db: x\n", "-", &[]);
    check("phone", "kind: Secret\ndata:\n  db: x\n", "-", &[]);
}

#[test]
fn comments_in_manifests() {
    for kind in ["Secret # c", "\"Secret\" # c", "'Secret'\t# c: d"] {
        check_hidden(&format!("kind: {kind}\ndata:\n  a: aHVudGVyMg==\n"), &["a"]);
        check_hidden(&format!("data: # c\n  a: aHVudGVyMg==\nkind: {kind}\n"), &["a"]);
    }
    check_hidden(
        "kind: Secret\ndata:\n  # c\n  a: aHVudGVyMg==\n# unindented\n  b: aHVudGVyMg==\n",
        &["a", "b"],
    );
    check_quoted(
        "data:\n # c\n  a: aHVudGVyMg==\n# unindented\n  b: aHVudGVyMg==\n# d\nkind: Secret\n---\ndata:\n  a: x\n",
        &["data.a", "data.b"],
    );
    check_quoted(
        "items:\n- kind: Secret\n# unindented\n  data:\n    # c\n    a: aHVudGVyMg==\n# kind: Secret\n- kind: ConfigMap\n  data:\n    a: x\n",
        &["items.data.a"],
    );
    check_hidden(
        "kind: SecretList # c\n# unindented\nitems:\n- data:\n# unindented\n    a: aHVudGVyMg==\n",
        &["a"],
    );
    // A block has no comments, and members in comments are hidden.
    check_hidden(
        "kind: Secret\ndata:\n  a: |\n    aHVudGVyMg==\n# c\n  # b: aHVudGVyMg==\n  c: aHVudGVyMg==\n",
        &["a", "c"],
    );
    check("secrets", "kind: ConfigMap # no Secret\ndata:\n  a: x\n", "-", &[]);
    check("secrets", "kind: Secret#1\ndata:\n  a: x\n", "-", &[]);
}

#[test]
fn lists_of_secrets_whose_items_have_no_kind() {
    check_hidden(
        r#"{"kind":"SecretList","items":[{"metadata":{},"data":{"db":"aHVudGVyMg=="},"type":"Opaque"},{"stringData":{"b":"aHVudGVyMg=="}}]}"#,
        &["items.data.db", "items.stringData.b"],
    );
    check_hidden(
        r#"{"items":[{"data":{"db":"aHVudGVyMg=="}}],"apiVersion":"v1","kind":"SecretList"}"#,
        &["items.data.db"],
    );
    check_quoted(
        "apiVersion: v1\nitems:\n- data:\n    db: aHVudGVyMg==\n  metadata:\n    name: a\n- metadata:\n    name: b\n  data:\n    b: aHVudGVyMg==\nkind: SecretList\nmetadata:\n  data: x\n",
        &["items.data.db", "items.data.b"],
    );
    check_hidden(
        "kind: SecretList\nitems:\n  - metadata:\n      name: a\n    stringData:\n      db: aHVudGVyMg==\n    type: Opaque\nmetadata: {}\n",
        &["db"],
    );
    check("secrets", r#"{"kind":"ConfigMapList","items":[{"data":{"db":"x"}}]}"#, "-", &[]);
    check(
        "secrets",
        r#"{"kind":"SecretList","other":[{"data":{"db":"x"}}],"items":[{"a":{"data":{"db":"x"}}}]}"#,
        "-",
        &[],
    );
}

#[test]
fn data_in_braces() {
    check_hidden("kind: Secret\ndata: {db: aHVudGVyMg==, \"x\":aHVudGVyMg==}\ntype: Opaque\n", &["db", "x"]);
    check_hidden("data: {\n  db: aHVudGVyMg==,\n  x: aHVudGVyMg==\n}\nkind: Secret\n", &["db", "x"]);
    check("secrets", "kind: ConfigMap\ndata: {db: x}\n", "-", &[]);
    // Quotes in quotes, comments, and values that are no secrets.
    check_hidden(
        "kind: Secret\ndata: {a: \"aHVudGVyMg==\", 'it''s': 'aHVudGVyMg==', n: null, e: \"\"} # c: d\ntype: Opaque\n",
        &["a", "it''s"],
    );
    for value in [r#""x\"y, z: w""#, r#""x\\""#, "'it''s, c: d'", "'x: \"y'"] {
        let text = format!("kind: Secret\nstringData: {{a: {value}, b: hunter2}}\ntype: Opaque\n");
        let inside = &value[1..value.len() - 1];
        check(
            "secrets",
            &text,
            &text.replace(inside, "[redacted]").replace("hunter2", "[redacted]"),
            &["a", "b"],
        );
    }
    // Cut off.
    check_hidden("kind: Secret\ndata: {db: aHVudGVyMg==, x: aHVudGVyMg==", &["db", "x"]);
}

#[test]
fn data_in_json_below_lines() {
    check(
        "secrets",
        "kind: Secret\napiVersion: v1\ndata: {\"a\": \"c3dvcmRmaXNo\", \"b\": \"aHVudGVyMg==\"}",
        "kind: Secret\napiVersion: v1\ndata: {\"a\": \"[redacted]\", \"b\": \"[redacted]\"}",
        &["a", "b"],
    );
    check(
        "secrets",
        "data: {\"a\": \"c3dvcmRmaXNo\", \"b\": \"aHVudGVyMg==\"}\nkind: Secret\n",
        "data: {\"a\": \"[redacted]\", \"b\": \"[redacted]\"}\nkind: Secret\n",
        &["a", "b"],
    );
    check("secrets", "kind: ConfigMap\ndata: {\"a\": \"c3dvcmRmaXNo\", \"b\": \"x\"}", "-", &[]);
}

#[test]
fn manifests_in_braces() {
    check_hidden("{apiVersion: v1, kind: Secret, data: {password: aHVudGVyMg==}}", &["password"]);
    check_hidden(
        "{\n  apiVersion: v1,\n  data: {db: aHVudGVyMg==, 'it''s': 'aHVudGVyMg==', n: null}, # data\n  kind: 'Secret',\n  metadata: {name: db}\n}\n",
        &["db", "it''s"],
    );
    check_quoted(
        "- {kind: ConfigMap, data: {db: x}}\n- {kind: Secret, stringData: {db: aHVudGVyMg==}}\n",
        &["stringData.db"],
    );
    check_hidden(
        "{kind: SecretList, items: [{metadata: {name: a}, data: {db: aHVudGVyMg==}}, {stringData: {b: \"aHVudGVyMg==\"}}]}",
        &["db", "b"],
    );
    // Cut off, and after braces of other things.
    check_hidden("if x { {kind: Secret, data: {db: aHVudGVyMg==, b: aHVudGVyMg==", &["db", "b"]);
    check("secrets", "{kind: ConfigMap, data: {db: x}}", "-", &[]);
    check("secrets", "{spec: {kind: Secret, name: a}, data: {db: x}}", "-", &[]);
    check("secrets", "{kind: SecretList, other: [{data: {db: x}}]}", "-", &[]);
    check("phone", "{kind: Secret, data: {db: x}}", "-", &[]);
}

/// Checks YAML that is read as data: its values stay texts.
fn check_quoted(text: &str, named: &[&str]) {
    check("secrets", text, &text.replace("aHVudGVyMg==", "\"[redacted]\""), named);
}
