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
    // Items of a list, documents of a stream, and blocks of several lines.
    check_hidden(
        "items:\n- apiVersion: v1\n  data:\n    db: aHVudGVyMg==\n  kind: Secret\n- apiVersion: v1\n  data:\n    db: x\n  kind: ConfigMap\n",
        &["db"],
    );
    check_hidden(
        "kind: ConfigMap\ndata:\n  db: x\n---\nstringData:\n  db: |\n    aHVudGVyMg==\n    aHVudGVyMg==\n\n  b: aHVudGVyMg==\nkind: Secret\n---\ndata:\n  db: x\n",
        &["db", "b"],
    );
    check("secrets", "kind: ConfigMap\ndata:\n  db: x\n", "-", &[]);
    check("secrets", "subjects:\n- kind: Secret\n  name: a\ndata:\n  db: x\n", "-", &[]);
    check("phone", "kind: Secret\ndata:\n  db: x\n", "-", &[]);
}
