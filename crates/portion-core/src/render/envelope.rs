//! A portion in an envelope: what is shown and what is told of it as one JSON object, `{items,nextCursor,meta}`,
//! `{summary,meta}` or `{content,chunkIndex,totalChunks,nextCursor,metadata}`.
//!
//! The values are the bytes that would be shown without it. What stands around a list is no item: it is told beside the
//! rest of what is known of the list, in `meta.beside`.

use serde_json::{Map, Value};

use super::drawn::{Drawn, Listed};
use crate::policy::MetadataStyle;
use crate::scan::quote;

/// The MIME type of what is put in an envelope.
pub(super) const MIME: &str = "application/json";

/// What was drawn and its notice in one object.
pub(super) fn wrapped(drawn: &Drawn, notice: &Map<String, Value>, style: MetadataStyle) -> String {
    let mut meta = notice.get("meta").and_then(Value::as_object).cloned().unwrap_or_default();
    let total = style.key("totalCount");
    if let (Some(count), false) = (notice.get(&total), meta.contains_key(&total)) {
        meta.insert(total, count.clone());
    }
    let next = style.key("nextCursor");
    let next = notice.get(&next).map(|cursor| member(&next, &cursor.to_string()));
    let body = || if drawn.json { drawn.body.clone() } else { quote(&drawn.body) };
    let mut members = Vec::new();
    match drawn.kind {
        "page" => {
            let Listed { items, beside } =
                drawn.listed.clone().unwrap_or_else(|| Listed { items: body(), beside: String::new() });
            let told = Value::Object(meta).to_string();
            let told = match beside.as_str() {
                "" => told,
                beside => format!("{{\"beside\":{beside},{}", told.strip_prefix('{').unwrap_or("}")),
            };
            members.push(member("items", &items));
            members.extend(next);
            members.push(member("meta", &told));
        }
        "summary" => {
            members.push(member("summary", &body()));
            members.extend(next);
            members.push(member("meta", &Value::Object(meta).to_string()));
        }
        _ => {
            members.push(member("content", &body()));
            for key in ["chunkIndex", "totalChunks"].map(|key| style.key(key)) {
                members.extend(meta.shift_remove(&key).map(|value| member(&key, &value.to_string())));
            }
            members.extend(next);
            members.push(member("metadata", &Value::Object(meta).to_string()));
        }
    }
    format!("{{{}}}", members.join(","))
}

fn member(key: &str, json: &str) -> String {
    format!("\"{key}\":{json}")
}
