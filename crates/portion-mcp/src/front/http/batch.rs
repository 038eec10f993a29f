//! Joins several JSON-RPC messages in one body.

/// Joins messages. A single message is returned unchanged; several become one array, into which arrays are
/// flattened. If `batch` is set, the result is an array, as for responses to an array.
pub(crate) fn join_messages<'a>(messages: impl IntoIterator<Item = &'a [u8]>, batch: bool) -> Vec<u8> {
    let messages: Vec<&[u8]> = messages.into_iter().collect();
    match messages.as_slice() {
        [] => return Vec::new(),
        [single] if !batch || single.trim_ascii_start().first() == Some(&b'[') => return single.to_vec(),
        _ => {}
    }
    let inside = messages.iter().map(|message| {
        let message = message.trim_ascii();
        message.strip_prefix(b"[").and_then(|message| message.strip_suffix(b"]")).unwrap_or(message)
    });
    let inside: Vec<&[u8]> = inside.collect();
    [b"[", inside.join(&b',').as_slice(), b"]"].concat()
}

#[cfg(test)]
mod tests {
    use super::join_messages;

    fn check(answers: &[&str], batch: bool, expect: &str) {
        let joined = join_messages(answers.iter().map(|answer| answer.as_bytes()), batch);
        assert_eq!(String::from_utf8_lossy(&joined), expect);
    }

    #[test]
    fn a_batch_is_answered_by_an_array() {
        check(&[], false, "");
        check(&["{} "], false, "{} ");
        check(&["{}"], true, "[{}]");
        check(&[" [{},{}]"], true, " [{},{}]");
        check(&["[{\"a\":1}]", "{\"b\":[2]} "], true, "[{\"a\":1},{\"b\":[2]}]");
        check(&["{}", "{}"], false, "[{},{}]");
    }
}
