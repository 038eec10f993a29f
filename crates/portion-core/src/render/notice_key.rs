//! The key of a notice inside an object of the payload.

use portion_json::path::value_at;
use portion_json::span::Span;

/// Returns the key under which a notice is nested in an object that has a key of the notice already: `portion`, with
/// underscores appended until the object has no such key.
///
/// ```
/// use portion_core::render::nested_notice_key;
///
/// assert_eq!(nested_notice_key(r#"{"meta":1}"#), "portion");
/// assert_eq!(nested_notice_key(r#"{"meta":1,"portion":2}"#), "portion_");
/// ```
pub fn nested_notice_key(object: &str) -> String {
    let all = Span::new(0, object.len());
    let mut key = "portion".to_owned();
    while value_at(object, all, &key).is_some() {
        key.push('_');
    }
    key
}
