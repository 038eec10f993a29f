//! Finds the end of a JSON value in a body that arrives piece by piece.

/// Reads a body up to the end of its first object or array.
#[derive(Debug, Default)]
pub(crate) struct JsonEnd {
    depth: usize,
    is_in_string: bool,
    is_escaped: bool,
    has_ended: bool,
}

impl JsonEnd {
    /// Reads the next bytes.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.has_ended {
                return;
            }
            self.read_byte(*byte);
        }
    }

    /// Returns true if the value has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn read_byte(&mut self, byte: u8) {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' if self.is_in_string => self.is_escaped = true,
            b'"' => self.is_in_string = !self.is_in_string,
            _ if self.is_in_string => {}
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.has_ended = self.depth == 0;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::JsonEnd;

    #[test]
    fn the_end_is_found_however_the_body_is_split() {
        let check = |body: &str, expect: bool| {
            for size in 1..=body.len().max(1) {
                let mut end = JsonEnd::default();
                body.as_bytes().chunks(size).for_each(|chunk| end.read(chunk));
                assert_eq!(end.has_ended(), expect, "{body} in {size}");
            }
        };
        check("", false);
        check(r#"{"a":"}\"]","b":[1,{}"#, false);
        check("{\"a\":[\"]\"]} \n", true);
        check("{}\n{\"a\"", true);
        check("7 ", false);
    }
}
