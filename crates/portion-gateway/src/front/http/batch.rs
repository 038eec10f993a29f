//! Several answers in one body.

/// One answer is the body as it is; several are an array, those that are arrays themselves being parts of it. `batch`: an
/// array was posted, and so is answered.
pub(crate) fn join_responses<'a>(answers: impl IntoIterator<Item = &'a [u8]>, batch: bool) -> Vec<u8> {
    let answers: Vec<&[u8]> = answers.into_iter().collect();
    match answers.as_slice() {
        [] => return Vec::new(),
        [one] if !batch || one.trim_ascii_start().first() == Some(&b'[') => return one.to_vec(),
        _ => {}
    }
    let inside = answers.iter().map(|answer| {
        let answer = answer.trim_ascii();
        answer.strip_prefix(b"[").and_then(|answer| answer.strip_suffix(b"]")).unwrap_or(answer)
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
