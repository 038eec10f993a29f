//! Joins several JSON-RPC responses in one body.

/// Joins responses. A single response is returned unchanged; several become one array, into which arrays are
/// flattened. If `batch` is set, an array was posted, and the result is an array.
pub(crate) fn join_responses<'a>(responses: impl IntoIterator<Item = &'a [u8]>, batch: bool) -> Vec<u8> {
    let responses: Vec<&[u8]> = responses.into_iter().collect();
    match responses.as_slice() {
        [] => return Vec::new(),
        [single] if !batch || single.trim_ascii_start().first() == Some(&b'[') => return single.to_vec(),
        _ => {}
    }
    let inside = responses.iter().map(|response| {
        let response = response.trim_ascii();
        response.strip_prefix(b"[").and_then(|response| response.strip_suffix(b"]")).unwrap_or(response)
    });
    let inside: Vec<&[u8]> = inside.collect();
    [b"[", inside.join(&b',').as_slice(), b"]"].concat()
}

#[cfg(test)]
mod tests {
    use super::join_responses;

    fn check(answers: &[&str], batch: bool, expect: &str) {
        let joined = join_responses(answers.iter().map(|answer| answer.as_bytes()), batch);
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
