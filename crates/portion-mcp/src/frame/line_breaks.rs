//! Puts messages on one line. JSON has raw line breaks only between tokens, where a space means the same.

use memchr::memchr2;

/// Replaces raw line breaks by spaces, in place, and returns their number.
pub(crate) fn replace_line_breaks(mut message: &mut [u8]) -> usize {
    let mut breaks = 0;
    while let Some(at) = memchr2(b'\n', b'\r', message) {
        message[at] = b' ';
        breaks += 1;
        message = &mut message[at + 1..];
    }
    breaks
}

#[cfg(test)]
mod tests {
    use super::replace_line_breaks;

    fn check(message: &str, expect: &str, breaks: usize) {
        let mut bytes = message.as_bytes().to_vec();
        assert_eq!(replace_line_breaks(&mut bytes), breaks);
        assert_eq!(String::from_utf8_lossy(&bytes), expect);
    }

    #[test]
    fn line_breaks_become_spaces() {
        check("{\"a\":\"\\n\"}", "{\"a\":\"\\n\"}", 0);
        check("{\r\n \"a\": 1\n}\n", "{   \"a\": 1 } ", 4);
        check("\n\r[]", "  []", 2);
        check("", "", 0);
    }
}
